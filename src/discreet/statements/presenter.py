"""How results look: what a budget is written like, and which rows a table of facts has.

The page, the command line and notebooks call these, so that one number looks the same everywhere.
Spending is rounded up, what is left down; a bound on belief is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from discreet.beliefs import Prior
from discreet.guarantees import added, amount, figures_apart
from discreet.promises import CONFIDENCE
from discreet.rounding import FIGURES, decimal_down, decimal_up, percent
from discreet.statements.tables import (
    accuracy_text,
    learned_table,
    only_bounds_text,
    probability_text,
    promised_limits,
    reach_text,
    share,
)
from discreet.words import say

if TYPE_CHECKING:
    from discreet.budgets import Choice
    from discreet.errors import DiscreetError
    from discreet.ledger import Account, Amount, Entry, Standing

Facts = list[tuple[str, str]]


def amount_text(
    said: Mapping[str, Any] | None, side: Literal["up", "down"], figures: int = FIGURES
) -> str:
    """Return an amount of budget to six figures: spending rounded up, what is left down.

    >>> amount_text({"epsilon": 1.2992829841302607, "delta": 1e-6, "rho": None}, "up")
    'ε = 1.29929, δ = 1e-06'
    """
    if not said or said.get("unbounded"):
        return say("presenter.no_cap")
    return amount(said, side, "", figures)


def decided_by(choice: Choice) -> str:
    """Say in words which adversary decides a budget, and how sure they may become."""
    if math.isinf(choice.epsilon):
        return say("presenter.decided.nobody")
    p, q = choice.binding.p, choice.binding.q
    who = someone(p, q, choice.promise.unit.name)
    if choice.binding.name:
        who += f" ({choice.binding.name})"
    if not choice.binding.attained:
        return say("presenter.decided.limit", who=who)
    after = percent(choice.posterior_at(Prior(p, q)), "up", 1)
    if choice.promise.on_average:
        rate, sure = share(choice.right_guess_at(q), "up"), _surely_after_one(choice)
        which = "average" if sure is None else "average_surely"
        said = say(f"presenter.decided.{which}", who=who, rate=rate, after=after, sure=sure)
    else:
        said = say("presenter.decided.attained", who=who, after=after)
    return said[0].upper() + said[1:]


def _surely_after_one(choice: Choice) -> str | None:
    """With what probability a posterior holds after one output; None if after every one."""
    if not getattr(choice.guarantee, "delta", 0.0):
        return None
    return percent(choice.confidence or CONFIDENCE, "down")


def someone(p: float, q: float, unit: str) -> str:
    """Say who someone with these beliefs is: how likely the unit is in, and the value then."""
    which = "vanishing_in" if p == 0 else "known_in" if p == 1 else "chance_in"
    who = say(f"presenter.decided.{which}", unit=unit, chance=f"{100 * p:.3g} %")
    if q == 1:
        return who
    which = "vanishing_value" if q == 0 else "chance_value"
    value = say(f"presenter.decided.{which}", chance=f"{100 * q:.3g} %")
    return say("presenter.decided.and_value", who=who, value=value)


def spent_and_cap(
    spent: Amount, cap: Amount | None, promised: Iterable[Amount] = ()
) -> tuple[str, str]:
    """Return what is spent and its cap, which contradict neither each other nor a promise."""
    if cap is None:
        texts = (spent.beside(limit)[0] for limit in promised)
        return max(texts, key=len, default=spent_text(spent)), limit_text(None)
    return spent.beside(cap, *promised)


def cost_text(cost: Amount | None, account: Account | None) -> str:
    """Return what a charge costs, in figures that pass no cap and no promise that it is within."""
    if cost is None:
        return ""
    if account is None:
        return spent_text(cost)
    limits = [*account.promises.values(), *filter(None, [account.cap])]
    left = [limit.minus(account.spent) for limit in limits]  # what fits in it is no more than it
    return spent_and_cap(cost, account.cap, [*account.promises.values(), *left])[0]


def charged_as(entry: Entry) -> str:
    """Return what was given to be charged, if it says more than the price; else nothing."""
    parts, priced = entry.said["charge"], entry.cost
    in_rho = priced is not None and priced.rho is not None
    if not any(one.get("mechanism") or (one.get("rho") is not None) != in_rho for one in parts):
        return ""
    told = ({name: one.get(name) for name in ("epsilon", "delta", "rho")} for one in parts)
    amounts = (amount_text(given, "up") for given in told)
    named = (one.get("mechanism") for one in parts)
    return "; ".join(", ".join(filter(None, both)) for both in zip(amounts, named, strict=True))


def spends_text(said: Mapping[str, Any]) -> str:
    """Return what a release spends, in figures that pass no limit that is shown with it.

    `said` is a dry run, with what is left and the promises' limits, or a stored release.
    """
    return amount_text(said["spent"], "up", figures_spent(said))


def figures_spent(said: Mapping[str, Any]) -> int:
    """Return with how many figures a release says what it spends: `spends_text`."""
    left = said.get("remaining") or {}
    cap = added(said.get("account_spent") or {}, left) or left
    return figures_apart(said["spent"], cap, *promised_limits(said.get("promises", ())))


def spent_text(amount: Amount) -> str:
    """Return what is spent, rounded up."""
    return amount_text(amount.to_dict("up"), "up")


def limit_text(amount: Amount | None) -> str:
    """Return a cap, or what is left of one, rounded down; of none, that there is no limit."""
    if amount is None:
        return say("presenter.no_limit")
    return amount_text(amount.to_dict("down"), "down")


def who_text(said: Mapping[str, Any]) -> str:
    """Return who an entry of the ledger names, and as what: who approved it, or who charged it."""
    if said.get("approver"):
        return say("presenter.entry.approved", name=said["approver"])
    return say("presenter.entry.charged", name=said["who"]) if said.get("who") else ""


def opening_cap(said: Mapping[str, Any], spent: Amount) -> str:
    """Return the cap that an account was opened with, in words, of the entry that opened it.

    It is told in figures that what is `spent` does not seem to pass.
    """
    from discreet.ledger import Amount

    cap = said["standing"].get("cap")
    if cap is None:
        return say("presenter.entry.without_cap")
    return say("presenter.entry.cap", cap=spent.beside(Amount.restored(cap))[1])


def left_text(left: Amount | None, cost: Amount | None = None) -> str:
    """Return what is left, rounded down, in figures that no `cost` that fits in it seems to pass.

    >>> from discreet.ledger import Amount
    >>> left_text(Amount.of(epsilon=0.3248204), Amount.of(epsilon=0.3248203))
    'ε = 0.3248204'
    """
    if left is None or cost is None:
        return limit_text(left)
    figures = figures_apart(cost.floats("up"), left.floats("down"))
    return amount_text(left.to_dict("down"), "down", figures)


def budget_text(epsilon: float) -> str:
    """Return a budget as it is recommended: rounded down, to four decimals or more.

    >>> budget_text(1.29928), budget_text(0.000012345), budget_text(float("inf"))
    ('1.2992', '0.00001234', 'unbounded')
    """
    if math.isinf(epsilon):
        return say("presenter.unbounded")
    digits = max(4, 3 - math.floor(math.log10(epsilon))) if epsilon > 0 else 4
    return f"{decimal_down(epsilon, digits):.{digits}f}"


def bound_text(x: float) -> str:
    """Return a bound on a belief in percent, rounded up to two decimals.

    >>> bound_text(0.750001), bound_text(0.99999999), bound_text(0.5)
    ('75.01 %', '> 99.99 %', '50 %')
    """
    if x > 0.9999:
        return "> 99.99 %"
    return f"{100 * decimal_up(x, 4):.6g} %"


def belief_text(x: float) -> str:
    """Return a belief that was reached in percent, rounded down to two decimals.

    >>> [belief_text(x) for x in (0.1, 0.154828, 0.99995, 1.0)]
    ['10 %', '15.48 %', '> 99.99 %', '100 %']
    """
    return "> 99.99 %" if 0.9999 < x < 1 else f"{100 * decimal_down(x, 4):.6g} %"


def chance_text(share: float) -> str:
    """Return a probability of the noise in percent, with a figure or two.

    >>> [chance_text(x).replace(chr(0xa0), " ") for x in (0.571, 0.0001, 1e-7)]
    ['57.1 %', '0.01 %', '< 0.001 %']
    """
    if 0 < share < 1e-5:
        return "< 0.001\N{NO-BREAK SPACE}%"
    digits = ".1f" if share >= 0.0005 else ".1g"
    return f"{100 * share:{digits}}\N{NO-BREAK SPACE}%"


def spaced_text(x: float) -> str:
    """Return a number with signs that mean the same in every country: no comma, and spaces.

    >>> [spaced_text(x).replace(chr(0x202f), " ") for x in (10000, 1234.5, 0.001)]
    ['10 000', '1 234.5', '0.001']
    """
    return f"{x:,.15g}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def time_text(releases: int, per_year: int) -> str:
    """Return how long so many releases take, to the nearest month, or day within a year.

    >>> time_text(27, 12), time_text(12, 12), time_text(3, 365), time_text(3, 1)
    ('2 years 3 months', '1 year', '3 days', '3 years')
    """
    if per_year > 12 and releases < per_year:
        days = (730 * releases + per_year) // (2 * per_year) or 1
        return say("presenter.days", days=days)
    months = (24 * releases + per_year) // (2 * per_year)
    parts = [say("presenter.years", years=months // 12)] if months >= 12 else []
    parts += [say("presenter.months", months=months % 12)] if months % 12 else []
    return " ".join(parts) or say("presenter.short")


def implied_table(choice: Choice) -> tuple[list[str], list[list[str]]]:
    """Return what a budget allows at other priors: its columns, and a row for each prior.

    A budget for whether someone is in the data lets more be learned of a value, by who knows that.
    Under a promise on average, what it limits stands beside what one output may tell.
    """
    columns: dict[str, Callable[[Mapping[str, float]], float]] = {"prior": lambda row: row["prior"]}
    sure = None
    if choice.promise.on_average:
        sure = _surely_after_one(choice)
        after = "one_output" if sure is None else "one_output_surely"
        columns["guess"] = lambda row: choice.right_guess_at(row["prior"])
        columns[after] = lambda row: row["posterior"]
    else:
        columns["posterior"] = lambda row: row["posterior"]
    if choice.promise.about != "value":
        columns["known_in"] = lambda row: choice.posterior_at(Prior(1.0, row["prior"]))
    cells = [
        [percent(value(row), "up", int(name != "prior")) for name, value in columns.items()]
        for row in choice.implied
    ]
    return [say(f"presenter.implied.{name}", sure=sure) for name in columns], cells


def assumption_rows(assumptions: Mapping[str, str]) -> list[list[str]]:
    """Return what a result rests on, a row each: what it is about, and what is assumed."""
    return [[say(f"presenter.rests_on.{name}"), said] for name, said in assumptions.items()]


def accuracy_lines(said: Mapping[str, Any], pay: str = "pay") -> list[str]:
    """Return how accurate each statistic is, a line for each, and what that leaves out.

    Quantiles with the same error share a line, and what holds for all of them is said once. This is
    for the publisher, and says how to publish more until a release is made (`pay`, or `pay_by_flag`
    where there is a flag for it); statements have `cut_lines` alone.
    """
    together: dict[tuple[str, str], list[str]] = {}
    for row in said["accuracy"]:
        own = "" if "interval_ranks" in row else row["statistic"]
        together.setdefault((own, accuracy(row, spread=False)), []).append(row["statistic"])
    lines = [
        ": ".join(filter(None, (", ".join(names), off))) for (_, off), names in together.items()
    ]
    if any("interval_ranks" in row for row in said["accuracy"]):
        lines.append(f"{say('statements.accuracy.spread')}.")
    sized = any("assumed" in row or "interval_assumed" in row for row in said["accuracy"])
    lines += [say("presenter.accuracy.counted")] if sized and said["cut"] != [] else []
    return [*lines, *cut_lines(said), *_advice(said, pay)]


def _advice(said: Mapping[str, Any], pay: str) -> list[str]:
    """Return how to publish what is cut, or how useful it will be; nothing after a release."""
    if said.get("release_id") is not None:
        return []
    if said["cut"] is None:
        return [say(f"presenter.cut.{pay}")]
    asked = {row["name"] for row in said["cut"]}
    widths = [row.get("half_width") for row in said["accuracy"] if row["statistic"] in asked]
    most = max(filter(None, widths), default=None)
    return [] if most is None else [say("presenter.cut.weigh", most=most)]


def cut_lines(said: Mapping[str, Any]) -> list[str]:
    """Return what intervals leave out, and how many units that concerns where it was paid for.

    `said` is a dry run, a stored release, or anything else that has their `cut`.
    """
    bounds, cut = _bounds_in(said), said.get("cut")
    found = [*left_out_lines(bounds), *([] if cut is None else map(cut_line, cut))]
    if cut is None:
        found.append(_unpaid(bounds))
    return [say("presenter.cut.noise_alone"), *found] if found else []


def _bounds_in(said: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = (said.get("plan") or said).get("contributions", {})
    return found


def _unpaid(bounds: Mapping[str, Mapping[str, Any]]) -> str:
    """Say in which statistics units lose rows or have values clipped: how many is not known."""
    losing, clipping = (
        quoted(name for name, one in bounds.items() if one.get(key))
        for key in ("left_out", "clipped")
    )
    both = "_both" if losing and clipping else "_losing" if losing else "_clipping" * bool(clipping)
    return say(f"presenter.cut.unpaid{both}", losing=losing, clipping=clipping)


def quoted(names: Iterable[str]) -> str:
    """Return names in quotation marks, with commas between them."""
    return ", ".join(f"“{name}”" for name in names)


def left_out_lines(bounds: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what limits leave out of statistics, by the bounds of each: those alike together.

    They are the `contributions` of a dry run or of a stored release.
    """
    together: dict[str, list[str]] = {}
    for name, one in bounds.items():
        if (found := one.get("left_out")) is not None:
            line = _left_out(found, one["groups"])
            together.setdefault(line, []).append(name)
    return [f"{quoted(names)}: {line}" for line, names in together.items()]


def _left_out(found: Mapping[str, str], groups: int) -> str:
    of, off = found["of"], say(f"presenter.left_out.off.{found['values']}")
    line = say(f"presenter.left_out.{of}", groups=groups, off=off)
    if of != "combinations":
        uneven = groups > 1 and of != "units"
        return f"{line} {say('presenter.left_out.uneven')}" if uneven else line
    sums = "once" if groups == 1 else "again"
    return f"{line} {say(f'presenter.left_out.{sums}', groups=groups)}"


def cut_line(row: Mapping[str, Any]) -> str:
    """Return one answer of what was cut, in a line."""
    if row["units"] is None:
        return say("presenter.cut.asked", name=row["name"], text=row["text"])
    ends = {"low": row["interval_low"], "high": row["interval_high"]}
    line = say("presenter.cut.found", units=row["units"], text=row["text"], **ends)
    if row["at_most"] is None:
        return line
    return f"{line} {say('presenter.cut.at_most', most=row['at_most'])}"


def accuracy(row: Mapping[str, Any], *, spread: bool = True) -> str:
    """Return how accurate one statistic will be, without its name.

    With `spread` it says for which values the interval of a quantile is told.
    """
    later = ("only_bounds", "interval_ranks")
    off = accuracy_text({name: value for name, value in row.items() if name not in later})
    how = "off" if "half_width" in row else "off_assumed"
    parts = [say(f"presenter.accuracy.{how}", off=off, interval=row["interval"])] if off else []
    if reach := reach_text(row):
        parts.append(f"{reach}. {say('statements.accuracy.spread')}" if spread else reach)
    if "only_bounds" in row:
        parts.append(only_bounds_text(row))
    if "lead_for_even_odds" in row:
        lead, units = row["lead_for_even_odds"], math.ceil(row["lead_in_units"])
        parts[-1:] = [
            ". ".join((*parts[-1:], say("presenter.accuracy.lead", lead=lead, units=units)))
        ]
    if "sampling_sd" in row:
        parts.append(say("presenter.accuracy.sampling", sd=row["sampling_sd"]))
    return "; ".join(parts)


def promise_line(one: Standing, *, foreseen: bool = False) -> str:
    """Return where an account stands under a promise: the sentence, used, fitting, kept.

    It may stand there only once a release is made that is `foreseen`.
    """
    when = "_after" if foreseen else ""
    used = say(f"presenter.promise.used{when}", share=one.used)
    parts = [one.sentence, used]
    if one.fits_again is not None:
        parts[-1] += say(f"presenter.promise.more{when}", releases=one.fits_again)
    parts[-1] += "."
    return " ".join(parts if one.kept else [*parts, say("presenter.promise.broken")])


def standing_facts(
    account: Account, promises: Sequence[Standing] = (), after: Account | None = None
) -> Facts:
    """Return where an account stands: before a charge, and, with `after`, what it would leave."""
    owner = say(
        "presenter.account.protects",
        name=account.name,
        unit=str(account.subject),
        adjacency=account.adjacency.value,
    )
    promised = account.promises.values()
    used, most = spent_and_cap(account.spent, account.cap, promised)
    left = limit_text(account.remaining)
    if after is not None and after.cap is not None:  # as exactly as what it would leave needs
        _, most = spent_and_cap(after.spent, after.cap)
        if account.remaining is not None:
            _, left = spent_and_cap(after.spent.minus(account.spent), account.remaining)
    facts = [
        (say("presenter.account.is"), owner),
        (say("presenter.account.composition"), account.filter.value),
        (say("presenter.account.spent"), used),
        *(
            (say("presenter.account.promise"), promise_line(one, foreseen=after is not None))
            for one in promises
        ),
    ]
    if account.cap is None:
        return [*facts, (say("presenter.account.cap"), say("presenter.account.without_cap"))]
    facts += [
        (say("presenter.account.cap"), most),
        (say("presenter.account.left"), left),
    ]
    if after is not None and after.remaining is not None:
        facts.append((say("presenter.account.left_after"), limit_text(after.remaining)))
    return facts


def refusal_facts(error: DiscreetError, account: Account | None, spent: Mapping[str, Any]) -> Facts:
    """Return the amounts of a charge that is refused: needed, spent, capped, left, fitting."""
    from discreet.errors import BudgetExceeded
    from discreet.ledger import OverBudget

    if isinstance(error, OverBudget):
        fits = say("presenter.refused.nothing_fits")
        if error.fits is not None:
            fits = amount_text(error.fits.guarantee.to_dict(), "down")
        told = error.needs.needed_beside(error.spent, error.cap)
        return [
            *((say(f"presenter.refused.{name}"), text) for name, text in told.items()),
            (say("presenter.account.left"), limit_text(error.left)),
            (say("presenter.refused.fits"), fits),
        ]
    if isinstance(error, BudgetExceeded) and account is not None:
        figures = figures_apart(spent, *(one.to_dict("down") for one in account.promises.values()))
        return [
            (say("presenter.refused.needs"), amount_text(spent, "up", figures)),
            (say("presenter.refused.spent"), spent_text(account.spent)),
        ]
    return []


def learned_facts(facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what may be learned as a table: the names of its columns, its rows, how often."""
    if facts is None:
        return None
    table = learned_table(facts)
    return {"names": table.names, "rows": table.rows, "holds": probability_text(facts)}
