"""The facts of a statement as people read them: lines by their labels, and tables.

Everything here is made from JSON-ready facts, so that a stored release renders the same every time,
and so that Markdown, page and registry record cannot disagree: each prints these lines and tables.

Figures are as people read them: frequencies in a crowd, rounded outward. An upper bound is rounded
up and a lower bound down, so that what is said is never stronger than what was proved. A prior is
shown as it was given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from discreet.guarantees import Adjacency, amount, figures_added, figures_apart
from discreet.promises import Counterfactual, Promise
from discreet.rounding import FIGURES, decimal_down, decimal_up, number, percent
from discreet.words import say

Facts: TypeAlias = Mapping[str, Any]
Side: TypeAlias = Literal["up", "down"]
_ABOUT = ("membership", "value", "both", "guess")
_FIGURES = {
    "value",
    "low",
    "high",
    "number",
    "cost",
    "spent",
    "count",
    "before",
    "after",
    "least",
    "joined",
    "without",
}


# -- figures


def _rounded(x: float, side: Side, digits: int) -> float:
    return decimal_up(x, digits) if side == "up" else decimal_down(x, digits)


def frequency(x: float, side: Side, crowd: int | None = None) -> str:
    """Return a probability as a frequency, rounded outward.

    The crowd is as large as x needs; or it is given, so that several frequencies can be compared.

    >>> frequency(0.5249, "up"), frequency(0.0004, "up"), frequency(0.0126, "up")
    ('53 in 100', '4 in 10,000', '1.3 in 100')
    """
    of = crowd or crowd_for(x)
    return _of(many(x, side, of), of)


def many(x: float, side: Side, crowd: int) -> str:
    """Return how many of a crowd a probability is, with as many decimals as two figures need.

    Two figures of x, and one of its complement; two decimals at the most.

    >>> [many(x, "up", 100) for x in (0.3333, 0.0126, 0.0013, 0.9912, 0.99999)]
    ['34', '1.3', '0.13', '99.2', '100']
    """
    x = min(1.0, max(0.0, x))
    least, more = min(x / 10, 1 - x) * crowd, 0
    while more < 2 and 0 < least * 10**more < 1 - 1e-9:
        more += 1
    digits = len(str(crowd)) - 1
    shown = f"{round(_rounded(x, side, digits + more) * crowd, more):,.{more}f}"
    return shown.rstrip("0").rstrip(".") if more else shown


def counted(x: float, side: Side, crowd: int) -> int:
    """Return how many whole ones of a crowd a probability is, rounded outward."""
    digits = len(str(crowd)) - 1
    return round(_rounded(min(1.0, max(0.0, x)), side, digits) * crowd)


def _of(count: str, crowd: int) -> str:
    return say("frequency.of", count=count, crowd=f"{crowd:,}")


def crowd_for(*probabilities: float) -> int:
    """Return the crowd, 100 to 1,000,000, in which each probability is one at least.

    >>> crowd_for(0.3, 0.9995), crowd_for(0.05, 0.0023)
    (100, 1000)
    """
    of = 100
    while of < 1_000_000 and any(0 < x * of < 1 - 1e-9 for x in probabilities):
        of *= 10
    return of


def plain(x: float, crowd: int) -> str:
    """Return a prior as a frequency, as it was given: no side to round to."""
    return _of(f"{x * crowd:,.6g}", crowd)


def share(x: float, side: Side) -> str:
    """Return a probability as a percentage with at most one decimal, rounded to a side.

    >>> share(0.12, "up"), share(0.1234, "up")
    ('12 %', '12.4 %')
    """
    return percent(x, side, 1).replace(".0 %", " %")


def times(x: float, side: Side = "up") -> str:
    """Return a ratio with two decimals, rounded outward."""
    return "∞" if math.isinf(x) else f"{_rounded(x, side, 2):,.2f}"


def chance(holds_with: float) -> str:
    """Return how often a bound may fail: 1 in 100, 5 in 100, 1 in 10,000.

    >>> chance(0.99), chance(0.9999)
    ('1 in 100', '1 in 10,000')
    """
    failing = decimal_up(1 - holds_with, 12)
    of = 100
    while of < 10**9 and failing * of < 1 - 1e-9:
        of *= 10
    return _of(f"{decimal_up(failing * of, 1):,.6g}", of)


def level(x: float) -> str:
    """Return a confidence with as many decimals as it needs: 99 %, 99.99 %, 99.9999 %."""
    digits = max(0, len(f"{100 * x:.10f}".rstrip("0").partition(".")[2]))
    return percent(x, "down", digits)


def whole_up(x: float) -> str:
    """Return an expected number, rounded up to a whole one where that is no exaggeration."""
    return f"{decimal_up(x, 0):,.0f}" if x >= 1 else f"{decimal_up(x, 3):g}"


def decimals(x: float, side: Side, digits: int = 4) -> str:
    """Return a number with fixed decimals, rounded outward."""
    return f"{_rounded(x, side, digits):.{digits}f}"


# -- tables


@dataclass(frozen=True, slots=True)
class Table:
    """Names of columns, rows of cells, and which columns hold figures."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: tuple[bool, ...]

    @classmethod
    def of(cls, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
        """Return the table whose columns have these names in the catalogue."""
        names = tuple(say(f"statements.column.{name}") for name in columns)
        figures = tuple(name in _FIGURES for name in columns)
        return cls(names, tuple(tuple(row) for row in rows), figures)

    def markdown(self) -> list[str]:
        """Return the table as lines of Markdown."""
        lines = [f"| {' | '.join(map(flat, self.names))} |", "|" + "---|" * len(self.names)]
        return lines + [f"| {' | '.join(map(flat, row))} |" for row in self.rows]


def flat(text: object) -> str:
    """Return a text that people gave so that it stays in its line or its cell, and stays a text.

    No HTML, link or remote image comes of it, nor of an address that a reader would make a link.
    """
    whole = re.sub(r"([\\\[\]|])", r"\\\1", " ".join(str(text).split())).replace("<", "&lt;")
    return whole.replace("://", ":\\//").replace("www.", "www\\.")


# -- what was promised, and what may be learned


def own_promises(promises: Sequence[Facts]) -> list[Facts]:
    """Return the promises that speak of a release: not those withdrawn before it was charged.

    Of an account, those in force.
    """
    return [one for one in promises if one.get("covers", not one.get("withdrawn"))]


def titled(name: str, promises: Sequence[Facts], purpose: str) -> str:
    """Return the title of a statement by what it is: of what was promised, or may be learned."""
    return say(f"{name}{'' if own_promises(promises) else '_without'}", purpose=purpose)


def promise_lines(promises: Sequence[Facts], spent: str = "", *, plain: bool = False) -> list[str]:
    """Return what was promised, a line each, with what became of it; in Markdown, or plain.

    `spent` is what the account has spent by now, told where it is more than a promise allowed.

    A promise that was withdrawn before the release was charged was never one of this release: it
    is told last, as an earlier one. So it is of an account, which has those in force.
    """
    written = str if plain else flat
    if not promises:
        return [say("statements.promise.none")]
    own = own_promises(promises)
    lines = [] if own else [say("statements.promise.none_now")]
    for one in (*own, *(one for one in promises if one not in own)):
        gone, line = one.get("withdrawn"), written(one["sentence"])
        broken = one.get("kept") is False
        told: dict[str, Any] = {"sentence": line}
        line = line if plain else f"**{line}**"
        if gone:
            told |= {k: written(" ".join(str(gone[k]).split())) for k in ("approver", "reason")}
            told["at"], kind = str(gone["at"])[:10], "_broken" * broken
            beyond = [exceeded_text(one["limit"], spent)] if one.get("exceeded") else []
            if one in own:
                line = say("statements.promise.until", at=told["at"], sentence=line)
                ended = say(f"statements.promise.withdrawn{kind}", **told)
                line = " ".join([line, *beyond, ended])
            else:
                line = " ".join([say(f"statements.promise.earlier{kind}", **told), *beyond])
        elif broken:
            line += " " + say("statements.promise.broken")
        lines.append(line)
    if sum("confidence" in one.get("keys", {}) for one in promises) > 1:
        lines.append(say("statements.promise.not_jointly"))
    return lines


def exceeded_text(limit: Mapping[str, str], spent: str) -> str:
    """Say that more is spent than a promise allowed that was withdrawn; how much, if that is said.

    `limit` is in exact decimals, as an entry keeps it.
    """
    from discreet.ledger.amounts import Amount

    if not spent:
        return say("statements.promise.exceeded")
    allowed = Amount.restored(limit).limit_text()
    return say("statements.promise.exceeded_by", spent=spent, limit=allowed)


def restored_lines(
    restored: Sequence[Facts], *, plain: bool = False, told: str = "line"
) -> list[str]:
    """Return that entries of the ledger were lost, a line for each time; in Markdown, or plain."""
    written = str if plain else flat
    return [
        say(
            f"statements.restored.{told}",
            entry=one["entry"],
            at=str(one["at"])[:10],
            lost=", ".join(one["lost"]),
            **{name: written(one[name]) for name in ("approver", "reason")},
        )
        for one in restored
    ]


def compared(promises: Sequence[Promise], unit: str, where: str = "account") -> str:
    """Say how the figures beside promises compare with them: what is promised, and what is not."""
    if not promises:
        return ""
    found = [_about(part, unit) for promise in promises for part in promise.each]
    joined = say("statements.compared.joined")
    free, named = (
        joined.join(dict.fromkeys(what for what, names in found if names == said))
        for said in (False, True)
    )
    named = named and say("statements.compared.named", what=named)
    what = joined.join(filter(None, (free, named)))
    larger = say("statements.compared.larger", many=len(promises))
    if any("unless_ratio" in part.to_mapping() for one in promises for _, part in one.parts):
        larger += " " + say("statements.compared.unless")
    return say(f"statements.compared.{where}", many=len(promises), what=what, larger=larger)


def _about(promise: Promise, unit: str) -> tuple[str, bool]:
    """What one part of a promise is about, and whether it names the beliefs before."""
    [(_, part)] = promise.parts
    central = promise.adjacency is Adjacency.ADD_REMOVE
    kind: str = promise.about
    free = {"membership": ("p",), "value": ("q",), "both": ("p", "q")}[kind]
    ends = ((getattr(part.box, f"{x}0"), getattr(part.box, f"{x}1")) for x in free)
    named = any(low > 0 or high < 1 for low, high in ends)
    if promise.on_average:
        kind = "on_average"
    elif isinstance(part, Counterfactual) and central:
        kind, named = "counterfactual", False
    elif kind == "both" and named:
        kind = "both_named"
    return say(f"statements.compared.{kind}", unit=unit), named


def compared_lines(promises: Sequence[Facts], facts: Facts | None) -> list[str]:
    """Return how what may be learned compares with the promises of an account; a line, or none."""
    bound = [] if facts is None else promises_in(promises, facts["adjacency"])
    return [compared(bound, str(facts["unit"]))] if facts is not None and bound else []


def promises_in(promises: Sequence[Facts], adjacency: str) -> list[Promise]:
    """Return the promises that facts state and that were not withdrawn."""
    from discreet.ledger.promises import read_promise

    where = Adjacency.of(adjacency)
    return [read_promise(one["keys"], where) for one in promises if not one.get("withdrawn")]


def sensitive_lines(
    promises: Sequence[Facts], adjacency: str, sensitive: object = None
) -> list[str]:
    """Say which value is meant, if a promise is about one and nothing says which are sensitive."""
    said = sensitive or any(one["keys"].get("basis") for one in promises)
    about = {promise.about for promise in promises_in(promises, adjacency)}
    return [] if said or about <= {"membership"} else [say("statements.promise.any_value")]


def values_open(promises: Sequence[Promise]) -> bool:
    """Whether no promise in force covers a value of a unit known to be in the data."""
    return all(promise.values_open for promise in promises)


def membership_open(promises: Sequence[Promise]) -> bool:
    """Whether no promise in force covers whether a unit is in the data."""
    return all(promise.membership_open for promise in promises)


def learned_table(facts: Facts) -> Table:
    """Return what may be learned at each prior, from the smallest; the events are the columns."""
    rows = sorted(facts["rows"], key=lambda row: float(row["prior"]))
    columns = [about for about in _ABOUT if any(row[about] is not None for row in rows)]
    names = [say("statements.learned.before")]
    names += [say(f"statements.learned.{about}", unit=facts["unit"]) for about in columns]
    body = (
        tuple("–" if row[x] is None else share(row[x], "up") for x in ("prior", *columns))
        for row in rows
    )
    return Table(tuple(names), tuple(body), (True,) * len(names))


def learned_lines(facts: Facts | None) -> list[str]:
    """Return the table as Markdown, with how often it holds below it."""
    if facts is None:
        return [say("statements.learned.nothing")]
    lines = [*learned_table(facts).markdown(), "", flat(probability_text(facts))]
    return lines + [line for told in guess_lines(facts) for line in ("", told)]


def guess_lines(facts: Facts) -> list[str]:
    """Return what the last column of the table means, a guess on average; a line, or none."""
    there = any(row["guess"] is not None for row in facts["rows"])
    return [say("statements.learned.guess_told")] * there


def joining_table(beliefs: Sequence[Facts]) -> Table | None:
    """Return the chances with the unit left out, and at most with it in; none under replace."""
    rows = [
        (share(row["p"] * row["q"], "up"), share(row["joined"], "up"))
        for row in sorted(beliefs, key=lambda row: float(row["p"] * row["q"]))
        if row["joined"] is not None
    ]
    return Table.of(("without", "joined"), rows) if rows else None


def gaussian_lines(mu: float | None) -> list[str]:
    """Return μ of the Gaussian noise of a release as a paragraph; nothing without any."""
    return [] if mu is None else [say("statements.learned.gaussian", mu=number(mu, "up")), ""]


def probability_text(facts: Facts) -> str:
    """Return how often the bounds hold."""
    sure = facts["holds_with"]
    if sure == 1:
        return say("statements.learned.always", unit=facts["unit"])
    shown = f"{100 * sure:.10g} %"
    return say("statements.learned.confident", unit=facts["unit"], level=shown)


# -- every fact that is said in one line


def stated_amount(said: Facts, *limits: Facts) -> str:
    """Return what was spent; rounded up, in figures that pass no limit that it is within."""
    return amount(said, "up", say("statements.nothing"), figures_apart(said, *limits))


def promised_limits(promises: Iterable[Facts]) -> list[dict[str, float]]:
    """Return the limits of promises as numbers; facts have them as exact decimals."""
    return [
        {name: float(x) for name, x in one["limit"].items() if x is not None}
        for one in promises
        if one.get("limit")
    ]


def limits_in(facts: Facts) -> list[Facts]:
    """Return what limits spending, by the facts of a statement: the cap, and each promise."""
    return [facts["spending"].get("cap") or {}, *promised_limits(facts.get("promises", ()))]


def stated_limit(said: Facts, figures: int = FIGURES) -> str:
    """Return a cap, or what is left of it; rounded down."""
    if said.get("unbounded"):
        return say("statements.no_cap")
    return amount(said, "down", say("statements.nothing"), figures)


def lines_of(facts: Facts) -> dict[str, str]:
    """Return every fact that is said in one line, by the name of its label."""
    spending, unit, model = facts["spending"], facts["unit"], facts["model"]
    composition, risk = facts["composition"], facts["risk"]
    cap, limits = spending["cap"], limits_in(facts)
    lines = {
        "account": facts["identity"]["account"],
        "variant": facts["guarantee"]["variant"],
        "unit": _unit(unit),
        "neighbours": unit["neighbours"],
        "model": f"{model['name']}. {model['trust']}",
        "now": stated_amount(spending["account_now"], *limits),
        "cap": stated_limit(
            cap, figures_added(spending["account_now"], spending["remaining"], cap)
        ),
        "remaining": stated_limit(spending["remaining"]),
        "composition": f"{composition['rule']} {composition.get('within', '')}".strip(),
        "approved": f"{approver_of(spending)}; {approvals_text(facts)}",
        "head": f"`{spending['head']}`",
        "as_of": moment(spending["as_of"]),
    }
    if risk is not None:
        sure = all(row["holds_with"] == 1 for row in risk["beliefs"])
        lines["adversary"] = say(f"statement.limits.adversary_{'weak' if sure else 'strong'}")
        if risk["beyond"] is not None:
            lines["beyond"] = _beyond(risk["beyond"])
    return lines if "history" in facts else lines | _release_lines(facts, limits)


def approver_of(spending: Facts) -> str:
    """Return who opened the account, with its cap and the promises made then."""
    return str(spending["approved_by"] or "–")


def approved_promises(facts: Facts) -> list[bool]:
    """Return, of each promise that stands first, whether it was approved with the account.

    One that came with a release, or with a plan, has no approver in the ledger.
    """
    rows = [row for row in facts["spending"]["approvals"] if row["kind"] == "promise"]
    named = {(row["promise_id"], row["at"]) for row in rows}
    return [(one.get("id"), one.get("at")) in named for one in own_promises(facts["promises"])]


def approvals_text(facts: Facts) -> str:
    """Return when and why the account was opened, and who raised its cap, when and why.

    Then of which promises nobody is recorded as the approver.
    """
    found = []
    for row in facts["spending"]["approvals"]:
        if row["kind"] in ("open", "grant"):
            add = stated_limit(row["add"]) if "add" in row else ""
            name = row["kind"] + "_period" * (row.get("which") == "period")
            told = {k: " ".join(str(row[k]).split()) for k in ("approver", "reason")}
            told["at"] = row["at"][:10]
            found.append(say(f"statements.approval.{name}", add=add, **told))
    promises = approved_promises(facts)
    which = "promise" if len(promises) == 1 else "promise_of"
    for place, approved in enumerate(promises, 1):
        if not approved:
            found.append(say(f"statements.approval.{which}", place=place, count=len(promises)))
    return "; ".join(found)


def _release_lines(facts: Facts, limits: Sequence[Facts]) -> dict[str, str]:
    """The lines that are about one release."""
    identity, spending, missing = facts["identity"], facts["spending"], say("statements.not_stated")
    return {
        "release": identity["release_id"],
        "made": identity["made"],
        "name": identity["name"] or missing,
        "curators": ", ".join(identity["curators"]) or missing,
        "region": identity["region"] or missing,
        "product": identity["product"],
        "parameters": stated_amount(facts["guarantee"], *limits),
        "bounds": _bounds(facts["contribution_bounds"]),
        "domain": facts["data_domain"],
        "invariants": facts["invariants"],
        "this": stated_amount(spending["this"], *limits),
        "then": stated_amount(spending["account_then"], *limits),
        "entry": f"{spending['entry']['seq']}, `{spending['entry']['hash']}`",
        "before": facts["processing"]["before"],
        "after": facts["processing"]["after"],
        "library": _library(facts["library"]),
        "floats": facts["floating_point"],
    }


def moment(at: str) -> str:
    """Return when an entry was written, to the second: entries of one day are told apart."""
    return f"{at[:10]} {at[11:19]} UTC"


def _unit(unit: Facts) -> str:
    """The unit, with the columns that name it."""
    names = ", ".join(unit.get("columns", ())) if unit["unit"] != "partition" else ""
    subject, many = str(unit["subject"]), len(unit.get("columns", ()))
    return (
        say("statements.unit_columns", unit=subject, names=names, many=many) if names else subject
    )


def _bounds(bounds: Facts) -> str:
    """The contribution bounds, those that are alike together."""
    together: dict[str, list[str]] = {}
    for name, bound in bounds.items():
        names = ("gathered",) if bound.get("gathered") else ("rows", "groups", "rows_per_group")
        kept = {key: bound[key] for key in names if bound.get(key)}
        words = ", ".join(say(f"statements.bound.{key}", n=value) for key, value in kept.items())
        together.setdefault(words, []).append(name)
    if len(together) == 1:
        return next(iter(together))
    return "; ".join(f"{words} ({', '.join(names)})" for words, names in together.items())


def _library(library: Mapping[str, str] | None) -> str:
    if not library:
        return say("statements.not_recorded")
    return ", ".join(f"{name} {version}" for name, version in library.items())


def _beyond(beyond: Facts) -> str:
    people, up_to = f"{beyond['people']:,}", whole_up(beyond["up_to"])
    return say("statement.limits.beyond", people=people, up_to=up_to)


# -- every fact that is a table


def tables_of(facts: Facts) -> dict[str, Table]:
    """Return the tables of a statement, by the name of their section."""
    if "history" in facts:
        return {"releases": _releases(facts), "decisions": _decisions(facts)}
    accuracy = (
        (row["statistic"], accuracy_text(row), level(row["interval"])) for row in facts["accuracy"]
    )
    return {
        "mechanisms": Table.of(
            ("statistic", "part", "mechanism", "sensitivity", "scale"),
            map(_mechanism, facts["mechanisms"]),
        ),
        "accuracy": Table.of(("statistic", "accuracy", "confidence"), accuracy),
        "bases": Table.of(("what", "basis"), ((b["what"], b["basis"]) for b in facts["bases"])),
        "versions": Table.of(("file", "hash"), facts["hashes"]["files"].items()),
    }


def _releases(facts: Facts) -> Table:
    """Everything charged: releases, with what became of them, plans, and what others made."""
    history, limits = facts["history"], limits_in(facts)
    stored = {row["release_id"] for row in history if row["kind"] == "commit"}
    rows, made = [], dict[str, str]()
    for row in history:
        if row["kind"] == "promise":
            made[row["promise_id"]] = str(row["entry"])
        if row["kind"] not in ("reserve", "slot", "charge", "plan"):
            continue
        plan = row.get("plan_id")
        name, output = row.get("release_id") or plan, "–"
        if row["kind"] in ("reserve", "slot"):
            output = say(f"statements.history.{'stored' if name in stored else 'lost'}")
        cost = stated_amount(row["cost"], *limits) if "cost" in row else "–"
        kind = say(f"statements.history.{row['kind']}", slot=row.get("slot"), plan_id=plan)
        under = ", ".join(made[one] for one in row["promises"])
        under = under or say("statements.history.no_promise")
        when, who = moment(row["at"]), row.get("who") or "–"
        told = (row["entry"], when, name, kind, row["purpose"], who, cost, output, under)
        rows.append([*map(str, told), stated_amount(row["spent"], *limits)])
    columns = ("number", "at", "release", "kind", "purpose", "who", "cost", "output", "under")
    return Table.of((*columns, "spent"), rows)


def _decisions(facts: Facts) -> Table:
    """Who opened the account, raised its cap, made and withdrew a promise, and why.

    Also who answered for lost entries of the ledger.
    """
    sentences = {one["id"]: one["sentence"] for one in facts["promises"]}
    now = facts["spending"]["account_now"]
    rows, lost = [], [row | {"kind": "restore"} for row in facts["spending"]["restored"]]
    for row in sorted((*facts["history"], *lost), key=lambda row: int(row["entry"])):
        if row["kind"] in ("open", "grant", "promise", "withdraw", "restore"):
            values = {"sentence": sentences.get(row.get("promise_id"))}
            values |= {"add": stated_limit(row["add"])} if "add" in row else {}
            if "cap" in row:
                values["cap"] = stated_limit(row["cap"], figures_apart(now, row["cap"]))
            what = say(f"statements.history.{row['kind']}", **values)
            told = (row["entry"], moment(row["at"]), what, row.get("approver"), row.get("reason"))
            rows.append(["–" if cell is None else str(cell) for cell in told])
    return Table.of(("number", "at", "what", "approver", "reason"), rows)


def _mechanism(call: Facts) -> tuple[str, ...]:
    made = (call["statistic"], call["part"], call["mechanism"])
    if "l1" not in call:
        return (*made, "–", f"α = {call.get('alpha', '')}")
    return (*made, sensitivity_text(call), f"{call['scale']:,.6g}")


def sensitivity_text(call: Facts, figures: int = 6) -> str:
    """Return the sensitivity that the noise of a call follows: L1 where it is paid in ε."""
    norm = "l2" if call["epsilon"] is None else "l1"
    return f"{norm.upper()} {call[norm]:,.{figures}g}"


def accuracy_text(row: Facts) -> str:
    """By how much a statistic may be off, as far as that is known beforehand."""
    if "half_width" in row:
        return number(row["half_width"], "up")
    if "score_within" in row:
        score, candidates = number(row["score_within"], "up"), f"{row['candidates']:,}"
        return say("statements.accuracy.score", score=score, candidates=candidates)
    if "ranks" in row:
        name = "tied" if "ties" in row else "ranks"
        off = say(f"statements.accuracy.{name}", ranks=number(row["ranks"], "up"))
        reach = reach_text(row)
        return f"{off}; {reach}. {say('statements.accuracy.spread')}" if reach else off
    found = []
    for size in row.get("assumed", ()):
        if "half_width" in size:
            width = number(size["half_width"], "up", 3)
            if "of_value" in size:
                share = percent(size["of_value"], "up", 1)
                width = say("statements.accuracy.plus", width=width, share=share)
            group = group_text(row, size[row.get("by", "rows")])
            found.append(say("statements.accuracy.assumed", width=width, group=group))
        else:
            found.append(_rank_share(size))
    if found and "worst_case" in row:
        found[-1] = say("statements.accuracy.worst_case", off=found[-1])
    if "only_bounds" in row:
        found.append(only_bounds_text(row))
    return "; ".join(found)


def reach_text(row: Facts) -> str:
    """How far the interval of a quantile reaches; nothing of other statistics."""
    if "interval_ranks" not in row:
        return ""
    reach, sizes = number(row["interval_ranks"], "up", 3), row["interval_assumed"]
    shares = [_rank_share(size) for size in sizes if size["rank_share"] < 1]
    if all_of := [size["rows"] for size in sizes if size["rank_share"] >= 1]:
        shares.append(say("statements.accuracy.tells_nothing", rows=max(all_of)))
    return say("statements.accuracy.reach", ranks=reach, shares="; ".join(shares))


def only_bounds_text(row: Facts) -> str:
    """In which groups nothing is known, as far as sizes were tried."""
    return say("statements.accuracy.only_bounds", group=group_text(row, row["only_bounds"]))


def group_text(row: Facts, size: float) -> str:
    """Groups of a size, which is what `by` says: rows, unless it says otherwise."""
    by = row.get("by", "rows")
    return say(f"statements.accuracy.of_{by}", **{by: size})


def _rank_share(size: Facts) -> str:
    share = percent(size["rank_share"], "up", 1)
    return say("statements.accuracy.rank", share=share, rows=size["rows"])
