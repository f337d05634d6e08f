"""The statement of a release, or of an account: every fact that a regulator or colleague asks for.

It is made from the stored release and the ledger, and from nothing else: making it again changes no
released number. That of an account has its history instead of what one release says. As JSON that
of a release follows `statement.schema.json`; `written` has both as Markdown, and a release as a
record of the public registry of deployments, `page` as HTML. Each belief carries the parameters
that it follows from, so that anyone can recompute it: the kind of guarantee and its numbers, the
adjacency, the prior, and how often the bound may fail.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.beliefs import Prior, explain
from discreet.budgets.limits import limits_of
from discreet.composition import loss_of
from discreet.errors import DiscreetError, GuaranteeError
from discreet.guarantees import Adjacency, Guarantee, PureDP
from discreet.ledger.promises import MadePromise, made_promises
from discreet.promises import Promise, Unit
from discreet.releases.engines.base import Number, fields
from discreet.releases.rows import columns_read, keys_known, rows_told, sample_told
from discreet.releases.spec import Spec
from discreet.releases.statistics.base import Statistic
from discreet.releases.statistics.cut import clipped_told
from discreet.releases.statistics.derived import Change, Derived
from discreet.releases.statistics.margins import Margins
from discreet.reports import verifier
from discreet.reports.sentences import (
    AUDIENCES,
    Audience,
    check_audience,
    guarantee_text,
    looks_text,
    not_protected,
    pure_against_approximate,
    sentence,
)
from discreet.reports.stored import Books, Stored
from discreet.rounding import decimal_down, percent
from discreet.statements import Learned, learned
from discreet.statements.presenter import cut_line, left_out_lines, quoted
from discreet.statements.tables import limits_in, stated_amount, stated_limit
from discreet.words import say

FORMAT = 2


# -- what may be learned


def promise_facts(
    stored: Books, made: Sequence[MadePromise], chain: verifier.Chain
) -> list[dict[str, Any]]:
    """Return every promise of the account, with what became of it and which prior binds it.

    Of a release, also whether the promise speaks of it (`Account.covers`).
    """
    found = []
    for one in made:
        promise = one.registered.promise(stored.account)
        binding = limits_of(promise).binding
        about: dict[str, Any] = {"about": promise.about}
        about["binding"] = {"p": binding.p, "q": binding.q}
        if stored.release_id is not None:
            about["covers"] = chain.account.covers(stored.release_id, one.registered.id)
        found.append(one.to_dict() | about)
    return found


def _risk(found: Learned, promises: Sequence[Promise], total: dict[str, Any]) -> dict[str, Any]:
    """The beliefs under everything charged to an account, and what was promised of them."""
    first = found.first
    return {
        "total": total,
        "sided": first.sided,
        "strength": first.strength,
        "method": first.method,
        "beliefs": list(_beliefs(found, promises)),
        "worst": {
            "difference": first.worst_difference.to_dict(),
            "ratio": first.worst_ratio.to_dict(),
        },
        "beyond": None if first.beyond is None else first.beyond.to_dict(),
        "by_confidence": [row.to_dict() for row in first.at_confidence],
        "assumptions": first.assumptions.to_dict(),
    }


def _beliefs(found: Learned, promises: Sequence[Promise]) -> Iterator[dict[str, Any]]:
    """One row a belief, with all that is needed to recompute it."""
    for row in found.rows:
        for about, belief in row.beliefs():
            prior, bounds = belief.prior, belief.posterior
            if prior is not None and bounds is not None:
                yield {
                    "about": about,
                    "own": row.own,
                    "p": prior.p,
                    "q": prior.q,
                    "lower": bounds.lower,
                    "upper": bounds.upper,
                    "holds_with": belief.holds_with,
                    "joined": _joined(found.total, prior, about),
                    "tolerated": _tolerated(promises, prior),
                }


def _joined(total: Guarantee, prior: Prior, about: str) -> float | None:
    if total.adjacency is not Adjacency.ADD_REMOVE or about != "membership":
        return None
    return loss_of(total).right_guess(prior.pq)


def _tolerated(promises: Sequence[Promise], prior: Prior) -> float | None:
    """Return the posterior that the promises allow at a prior they speak of; rounded down."""
    found = []
    for promise in promises:
        for _, part in promise.parts:
            box = part.box
            inside = box.p0 <= prior.p <= box.p1 and box.q0 <= prior.q <= box.q1
            if not inside or not hasattr(part, "ratio_at"):
                continue
            try:
                found.append(part.ratio_at(prior.p, prior.q) * prior.pq)
            except DiscreetError:
                continue
    return min(1.0, decimal_down(min(found), 12)) if found else None


# -- the statement


@dataclass(frozen=True, slots=True)
class Statement:
    """The facts of one release or account, and the beliefs that they imply."""

    stored: Books
    facts: Mapping[str, Any]
    learned: Learned | None

    @property
    def release_id(self) -> str | None:
        """Which release; None if it is about an account."""
        return self.stored.release_id

    @property
    def subject(self) -> str:
        """What is protected, as the subject of a sentence."""
        return str(self.facts["unit"]["subject"])

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as JSON-ready values."""
        return dict(self.facts)

    def to_json(self) -> str:
        """Return the statement as text, the same every time."""
        return text_of_json(self.facts)

    def __repr__(self) -> str:
        return f"Statement({self.release_id!r}, {self.facts['guarantee']['variant']})"


def purpose_of(facts: Mapping[str, Any]) -> str:
    """Return what a statement is about, in a few words."""
    identity = facts["identity"]
    if "purpose" in identity:
        return str(identity["purpose"])
    return say("statements.whole_account", account=identity["account"])


def text_of_json(said: Mapping[str, Any]) -> str:
    """Return the one text of a JSON file of a report."""
    return json.dumps(said, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def statement_schema() -> dict[str, Any]:
    """Return the JSON Schema that a statement follows."""
    path = Path(__file__).parent / "statement.schema.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def statement(stored: Stored) -> Statement:
    """Return the statement of a stored release."""
    unit = str(_unit(stored))
    same, chain = verifier.repeated(dict(stored.said)), stored.walked()
    whole, found = _account_facts(stored, _unit(stored), chain)
    kind = same["guarantee"]["kind"]
    name = "statements.variant_none" if kind == "none" else f"reports.kind.{kind}.name"
    facts: dict[str, Any] = {
        "format": FORMAT,
        "identity": same["identity"] | {"product": say(f"statements.product_{_kind(stored)}")},
        "guarantee": {"variant": say(name)} | same["guarantee"],
        "contribution_bounds": same["contribution_bounds"],
        "data_domain": _domain(stored),
        "bases": _bases(stored),
        "invariants": _invariants(stored),
        **whole,
        "unit": same["unit"] | whole["unit"],
        "composition": whole["composition"] | {"within": say("statements.composition.within")},
        "spending": verifier.spending_of(dict(stored.said), chain),
        "processing": _processing(stored),
        "mechanisms": same["mechanisms"],
        "library": same["library"],
        "floating_point": say(f"statements.floats.{_kind(stored)}"),
        "accuracy": same["accuracy"],
        "biases": _each_once(list(_biases(stored))),
        "hashes": {
            **same["hashes"],
            "output": stored.output_hash,
            "files": dict(stored.hashes),
        },
    }
    facts["texts"] = _texts(stored, facts, found, unit)
    return Statement(stored, facts, found)


def account_statement(books: Books) -> Statement:
    """Return the statement of an account: everything charged to it, promised of it and decided."""
    chain, subject = books.walked(), books.account.subject
    whole, found = _account_facts(books, subject, chain)
    total = verifier.total_of(chain.account.spent, chain.account.terms)
    kind = "curve" if total["kind"] == "approximate-concentrated" else total["kind"]
    facts: dict[str, Any] = {
        "format": FORMAT,
        "identity": {"account": books.account.name},
        "guarantee": {"variant": say(f"reports.kind.{kind}.name")} | total,
        **whole,
        "spending": verifier.spending_of(None, chain),
        "history": chain.account.history,
    }
    facts["texts"] = _texts(books, facts, found, str(subject))
    return Statement(books, facts, found)


def _account_facts(
    books: Books, subject: Unit, chain: verifier.Chain
) -> tuple[dict[str, Any], Learned | None]:
    """Return what a statement says of the account, of a release or not, and what may be learned."""
    account, unit, made = books.account, str(subject), made_promises(books.entries)
    promises = [one.registered.promise(account) for one in made if one.withdrawn is None]
    gone = [one.registered.promise(account) for one in made if one.withdrawn is not None]
    found = learned(books.total(), subject, promises, gone) if books.promised else None
    if found is None and books.promised:
        raise GuaranteeError("reports.nothing_to_state", total=books.total())
    total = verifier.total_of(chain.account.spent, chain.account.terms)
    unpromised = books.unpromised
    open_to = not_protected("regulator", account.unit, promises=promises, unpromised=unpromised)
    facts = {
        "unit": {
            "unit": account.unit,
            "subject": unit,
            "adjacency": account.adjacency.value,
            "neighbours": say(f"statements.neighbours.{account.adjacency.value}", unit=unit),
        },
        "model": {
            "name": say("statements.model.name"),
            "trust": say("statements.model.trust", unit=unit),
        },
        "composition": {
            "filter": account.filter.value,
            "rule": say(f"statements.composition.{account.filter.value}"),
        },
        "promises": promise_facts(books, made, chain),
        "learned": None if found is None else found.to_dict(),
        "risk": None if found is None else _risk(found, promises, total),
        "not_covered": [{"name": name, "text": text} for name, text in open_to],
    }
    return facts, found


def _unit(stored: Stored) -> Unit:
    """The unit by the name that the account gave it, or by its columns."""
    protect = stored.said["unit"]
    own = Unit.of(protect["unit"], protect.get("name"), tuple(protect.get("column", ())))
    return stored.account.called(own)


def _kind(stored: Stored) -> str:
    return "synthetic" if stored.synthetic else "table"


def _spec(stored: Stored) -> Spec:
    """The spec as it was stored: where the data and the ledger are may have been left out."""
    return Spec.model_validate({"ledger": "-", **stored.said["spec"]})


def _measured(stored: Stored) -> tuple[Statistic, ...]:
    """The statistics that noise was drawn for; none of a synthetic file."""
    named = () if stored.synthetic else _spec(stored).named()
    return tuple(table for entry in named for table in entry.tables())


def _domain(stored: Stored) -> str:
    """The columns of the data that the release depends on."""
    names = list(stored.said["unit"].get("column", ()))
    for one in _measured(stored):
        read = (field.column for measure in one.measures() for field in fields(measure))
        names += (*one.grouped_by, *read)
    if stored.synthetic:
        names += stored.said["spec"].get("columns", ())
    else:
        names = list(columns_read(_spec(stored), names))
    columns = ", ".join(dict.fromkeys(names))
    return say(f"statements.domain.{_kind(stored)}", columns=columns)


def _basis(what: str, about: str, basis: str, kind: str = "public", **said: str) -> dict[str, str]:
    """One row: where something comes from that could have come from the data."""
    return {
        "what": say(f"statements.bases.{what}", about=about),
        "basis": say(f"statements.bases.{basis}", **said),
        "kind": kind,
    }


def _bases(stored: Stored) -> list[dict[str, str]]:
    """Where everything comes from that could have come from the data, each once."""
    if stored.synthetic:
        columns = stored.said["spec"].get("columns", ())
        rows = [_basis("keys", column, "listed") for column in columns]
        return [*rows, _basis("records_of", "", "records")]
    thresholds = {
        (call["statistic"], call["part"]): call["threshold"]
        for call in stored.said["plan"]["calls"]
        if call.get("threshold") is not None
    }
    spec = _spec(stored)
    per_unit = spec.per_unit
    listed = {c for entry in spec.statistics for one in entry.tables() for c in one.public_keys}
    made = keys_known(spec.let, per_unit).keys() - listed
    rows = [_basis("bounds", name, "declared") for name, one in per_unit.items() if one.bounds]
    for statistic in _measured(stored):
        rows += _bases_of(statistic, thresholds, made)
    return _each_once(rows)


def _each_once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for place, row in enumerate(rows) if row not in rows[:place]]


def _bases_of(
    statistic: Statistic,
    thresholds: Mapping[tuple[str, str], int],
    made: Collection[str],
) -> Iterator[dict[str, str]]:
    name, known = str(statistic.name), statistic.public_keys
    paid = {column: sought.part for sought in statistic.sought for column in sought.columns}
    for column in statistic.grouped_by:
        if column in paid:  # perhaps by another statistic
            others = (found for (_, part), found in thresholds.items() if part == paid[column])
            threshold = thresholds.get((name, paid[column])) or next(others, 0)
            yield _basis("keys", column, "paid", "paid", threshold=f"{threshold:,}")
        elif column in made:
            yield _basis("keys", column, "made")
        else:
            yield _basis("keys", column, "file" if isinstance(known[column], str) else "listed")
    for column in statistic.extra if isinstance(statistic, Margins) else ():
        yield _basis("keys", column, "file")
    for field in (field for measure in statistic.measures() for field in fields(measure)):
        yield _basis(
            "bounds" if isinstance(field, Number) else "candidates", field.column, "declared"
        )
    if any(payer == name for payer, _ in thresholds):
        yield _basis("threshold_of", name, "threshold")


def _invariants(stored: Stored) -> str:
    """What is published without noise."""
    n = stored.said.get("n")
    if n is None:
        return say("statements.invariants.none")
    return say("statements.invariants.size", n=f"{n:,}")


def _processing(stored: Stored) -> dict[str, str]:
    spec = stored.said["spec"]
    before = [] if stored.synthetic else [*rows_told(_spec(stored))]
    before.append(say(f"statements.processing.{spec.get('nulls', 'drop')}"))
    if stored.said["unit"]["unit"] != "record":
        kind = "gathering" if spec.get("per_unit") else "bounding"
        before.append(say(f"statements.processing.{kind}"))
    mixed = any(one.mixes for one in _measured(stored))
    after = "after_synthetic" if stored.synthetic else "after_fitted" if mixed else "after"
    return {"before": " ".join(before), "after": say(f"statements.processing.{after}")}


def _sampled(sample: Mapping[str, Any], spent: Mapping[str, Any]) -> str:
    """Say what may be believed of someone who may be in the sample, is in it, or is not."""
    found = sample_told(sample, spent)
    beliefs = {}
    for name in ("charge", "inside"):
        at = Prior(0.5) if found[name].adjacency is Adjacency.ADD_REMOVE else Prior(1.0, 0.5)
        most = explain(found[name], at).posterior
        beliefs[name] = percent(1.0 if most is None else most.upper, "up", 1)
    pure = isinstance(found["charge"], PureDP)
    values = {"design": found["design"], "budget": found["budget"]}
    values["surely"] = "" if pure else say("statements.bias.sampling_surely")
    return say("statements.bias.sampling", **values, **beliefs)


def _biases(stored: Stored) -> Iterator[dict[str, Any]]:
    """Which biases there are; their size is known only where it was paid for."""
    spec = stored.said["spec"]
    if stored.synthetic:
        yield {"kind": "blur", "text": say("statements.bias.blur"), "size": None}
    if sample := spec.get("sample"):
        yield {"kind": "sampling", "text": _sampled(sample, stored.said["spent"]), "size": None}
    joined = any(not one.get("public") for one in spec.get("join", ()))
    if stored.said["unit"]["unit"] != "record" and (joined or not spec.get("per_unit")):
        text = say("statements.bias.bounding") if joined else _left_out(stored)
        if text:
            yield _sized("bounding", text, stored, "rows")
    for statistic in _measured(stored):
        for column, text in clipped_told(statistic):
            yield _sized("clipping", text, stored, column)
        if statistic.sought:
            yield {"kind": "suppression", "text": say("statements.bias.suppression"), "size": None}
    if spec.get("nulls", "drop") == "drop":
        yield {"kind": "nulls", "text": say("statements.bias.nulls"), "size": None}


def _left_out(stored: Stored) -> str:
    """Say which statistics lose something to limits, and which nothing; nothing if none does.

    What is made of released numbers loses what they lose.
    """
    bounds = stored.said.get("plan", {}).get("contributions", {})
    if stored.synthetic or any("left_out" not in one for one in bounds.values()):
        return say("statements.bias.bounding")
    losing = {name for name, one in bounds.items() if one["left_out"] is not None}
    made, nothing = [], []
    for one in _spec(stored).named():
        nothing += [name for table in one.tables() if (name := str(table.name)) not in losing]
        if not isinstance(one, Derived):
            continue
        if losing & {one.name_of(key) for key in one.sources()}:
            made.append(str(one.name))
        elif not isinstance(one, Change):  # of an earlier release that is not known here
            nothing.append(str(one.name))
    lines = left_out_lines(bounds)
    if lines and made:
        lines.append(say("statements.bias.made", statistics=quoted(made)))
    if lines and nothing:
        lines.append(say("statements.bias.nothing", statistics=quoted(nothing)))
    return " ".join(lines)


def _sized(kind: str, text: str, stored: Stored, about: str) -> dict[str, Any]:
    """Return a bias with how many units it concerns, where that was paid for."""
    found = (row for row in stored.said.get("cut") or () if row["about"] == about)
    size = [row for row in found if row["units"] is not None]  # asked only if a key was found
    return {"kind": kind, "text": " ".join([text, *map(cut_line, size)]), "size": size or None}


def release_text(
    facts: Mapping[str, Any], audience: Audience = "public", unit: str = "one person"
) -> str:
    """Return what a release is and what it cost, from the facts of its statement."""
    identity, spending = facts["identity"], facts["spending"]
    kind = "release" if "release_id" in identity else "account"
    if check_audience(audience) == "public":
        alike = verifier.looks_alike(facts["learned"])
        looks = looks_text(alike, facts["unit"]["adjacency"], unit)
        opening = say(f"reports.{kind}.public", purpose=purpose_of(facts), looks=looks)
        return f"{opening} {say('reports.release.public_spent')}"
    limits = limits_in(facts)
    values = {
        "account": identity["account"],
        "account_spent": stated_amount(spending["account_now"], *limits),
        "filter": facts["composition"]["filter"],
        "remaining": stated_limit(spending["remaining"]),
    }
    if kind == "release":
        spent = stated_amount(spending["this"], *limits)
        values |= {"release_id": identity["release_id"], "spent": spent}
    return say(f"reports.{kind}.{audience}", **values)


def _texts(
    stored: Books, facts: Mapping[str, Any], found: Learned | None, unit: str
) -> dict[str, str]:
    """Return what the release says to each audience, in a few paragraphs."""
    if found is None:
        return dict.fromkeys(AUDIENCES, str(stored.said.get("reason", "")))
    belief, texts = found.headline, dict[str, str]()
    for audience in AUDIENCES:
        parts = [release_text(facts, audience, unit)]
        parts += [] if audience == "public" else [guarantee_text(found.total, audience, unit)]
        parts += [sentence(belief, audience), pure_against_approximate(belief, audience)]
        texts[audience] = "\n\n".join(parts)
    return texts
