"""The statement of a release: every fact that a regulator or a colleague asks for.

It is made from the stored release and the ledger, and from nothing else: making it again changes no
released number. As JSON it follows `statement.schema.json`; `markdown` writes it for people,
`registry` as a record of the public registry of deployments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.explanations.figures import amount
from discreet.explanations.risks import Risk, promise_facts, risk_of
from discreet.explanations.sentences import AUDIENCES, Audience, check_audience, sentence
from discreet.explanations.stored import Stored
from discreet.explanations.topics import (
    guarantee_text,
    neighbours,
    not_protected,
    pure_against_approximate,
)
from discreet.ledger.accounts import remaining_dict
from discreet.ledger.promises import made_promises
from discreet.promises import Unit
from discreet.words import catalogue

__all__ = ["FORMAT", "Statement", "cap_text", "release_text", "statement", "statement_schema"]

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Statement:
    """The facts of one release, and the beliefs that they imply."""

    stored: Stored
    facts: Mapping[str, Any]
    risk: Risk | None

    @property
    def release_id(self) -> str:
        """Which release."""
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
        return json.dumps(self.facts, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def __repr__(self) -> str:
        return f"Statement({self.release_id!r}, {self.facts['guarantee']['variant']})"


def statement_schema() -> dict[str, Any]:
    """Return the JSON Schema that a statement follows."""
    path = Path(__file__).parent / "statement.schema.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def statement(stored: Stored) -> Statement:
    """Return the statement of a stored release."""
    protect = stored.said["unit"]
    subject = _unit(stored)
    unit, made = str(subject), made_promises(stored.entries)
    risk = risk_of(stored, subject, made)
    said = catalogue().say
    facts: dict[str, Any] = {
        "format": FORMAT,
        "identity": _identity(stored),
        "guarantee": _guarantee(stored),
        "unit": {
            "unit": protect["unit"],
            "subject": unit,
            "columns": list(protect.get("column", ())),
            "adjacency": protect["adjacency"],
            "neighbours": said(f"statement.neighbours.{protect['adjacency']}", unit=unit),
        },
        "contribution_bounds": _contributions(stored),
        "data_domain": _domain(stored),
        "bases": list(_bases(stored)),
        "invariants": _invariants(stored),
        "model": {
            "name": said("statement.model.name"),
            "trust": said("statement.model.trust", unit=unit),
        },
        "composition": {
            "filter": stored.account.filter.value,
            "rule": said(f"statement.composition.{stored.account.filter.value}"),
            "within": said("statement.composition.within"),
        },
        "spending": _spending(stored),
        "processing": _processing(stored),
        "mechanisms": _mechanisms(stored),
        "library": stored.said.get("made_with"),
        "floating_point": said(f"statement.floats.{_kind(stored)}"),
        "accuracy": list(stored.said.get("plan", {}).get("accuracy", [])),
        "biases": list(_biases(stored)),
        "promises": promise_facts(stored, made),
        "learned": None if risk is None else risk.learned.to_dict(),
        "risk": None if risk is None else risk.to_dict(),
        "not_covered": [
            {"name": name, "text": text}
            for name, text in not_protected(
                "regulator", protect["unit"], unpromised=stored.unpromised
            )
        ],
        "hashes": {
            "spec": stored.said["spec_hash"],
            "output": stored.output_hash,
            "files": dict(stored.hashes),
        },
    }
    facts["texts"] = _texts(stored, facts, risk, unit)
    return Statement(stored, facts, risk)


def _unit(stored: Stored) -> Unit:
    """The unit by the name that the account gave it, or by its columns."""
    protect = stored.said["unit"]
    own = Unit.of(protect["unit"], protect.get("name"), tuple(protect.get("column", ())))
    return stored.account.called(own)


def _kind(stored: Stored) -> str:
    return "synthetic" if stored.synthetic else "table"


def _identity(stored: Stored) -> dict[str, Any]:
    said, spec = stored.said, stored.said.get("spec", {})
    about = spec.get("publication", spec.get("about", {}))
    curators = about.get("curators", ())
    return {
        "release_id": stored.release_id,
        "made": said["made"],
        "account": said["account"],
        "purpose": said["purpose"],
        "name": about.get("name"),
        "curators": [curators] if isinstance(curators, str) else list(curators),
        "region": about.get("region"),
        "description": about.get("description"),
        "intended_use": about.get("intended_use"),
        "product": catalogue().say(f"statement.product_{_kind(stored)}"),
    }


def _guarantee(stored: Stored) -> dict[str, Any]:
    """Return the promise of this release by itself."""
    if not stored.promised:
        return {
            "variant": catalogue().say("statement.variant_none"),
            "kind": "none",
            "epsilon": None,
            "delta": None,
            "rho": None,
            "reason": stored.said.get("reason"),
        }
    spent = stored.said["spent"]
    kind = "pure"
    if spent["rho"] is not None:
        kind = "concentrated"
    elif spent["delta"]:
        kind = "approximate"
    return {
        "variant": catalogue().say(f"kind.{kind}.name"),
        "kind": kind,
        **{name: spent[name] for name in ("epsilon", "delta", "rho")},
    }


def _contributions(stored: Stored) -> dict[str, Any]:
    plan = stored.said.get("plan")
    if plan is not None:
        return dict(plan["contributions"])
    rows = stored.said["unit"].get("rows", 1)
    return {"records": {"rows": rows, "adjacency": stored.said["unit"]["adjacency"]}}


def _column_of(entry: Mapping[str, Any]) -> str | None:
    """The column that a statistic measures."""
    for kind in ("sum", "mean", "variance", "quantile", "histogram", "randomized"):
        if kind in entry:
            return str(entry[kind])
    return str(entry["of"]) if "of" in entry else None


def _domain(stored: Stored) -> str:
    spec = stored.said["spec"]
    names = list(stored.said["unit"].get("column", ()))
    for entry in spec.get("statistics", ()):
        names += [*entry.get("by", ()), *([c] if (c := _column_of(entry)) else [])]
    names += spec.get("columns", ()) if stored.synthetic else ()
    columns = ", ".join(dict.fromkeys(names))
    return catalogue().say(f"statement.domain.{_kind(stored)}", columns=columns)


def _bases(stored: Stored) -> Iterator[dict[str, str]]:
    """Where everything comes from that could have come from the data."""
    say, spec = catalogue().say, stored.said["spec"]
    if stored.synthetic:
        for column in spec.get("columns", ()):
            name = say("statement.bases.keys", column=column)
            yield {"what": name, "basis": say("statement.bases.listed"), "kind": "public"}
        name = say("statement.bases.records_of")
        yield {"what": name, "basis": say("statement.bases.records"), "kind": "public"}
        return
    thresholds = {
        call["statistic"]: call["threshold"]
        for call in stored.said["plan"]["calls"]
        if call.get("threshold") is not None
    }
    seen = set()
    for entry, name in zip(spec["statistics"], stored.said["explanations"], strict=True):
        for fact in _bases_of(entry, name, thresholds):
            if fact["what"] not in seen:
                seen.add(fact["what"])
                yield fact


def _bases_of(
    entry: Mapping[str, Any], name: str, thresholds: Mapping[str, int]
) -> Iterator[dict[str, str]]:
    say, keys = catalogue().say, entry.get("keys", {})
    for column in entry.get("by", ()):
        what = say("statement.bases.keys", column=column)
        if "discover" in keys:
            found = thresholds.get(name) or next(iter(thresholds.values()), 0)
            basis = say("statement.bases.paid", threshold=f"{found:,}")
            yield {"what": what, "basis": basis, "kind": "paid"}
        else:
            where = "file" if isinstance(keys.get(column), str) else "listed"
            yield {"what": what, "basis": say(f"statement.bases.{where}"), "kind": "public"}
    column, declared = _column_of(entry) or name, say("statement.bases.declared")
    if "bounds" in entry:
        what = say("statement.bases.bounds", column=column)
        yield {"what": what, "basis": declared, "kind": "public"}
    if "candidates" in entry or "bins" in entry:
        what = say("statement.bases.candidates", column=column)
        yield {"what": what, "basis": declared, "kind": "public"}
    if name in thresholds:
        what = say("statement.bases.threshold_of", statistic=name)
        yield {"what": what, "basis": say("statement.bases.threshold"), "kind": "public"}


def _invariants(stored: Stored) -> str:
    """What is published without noise."""
    n = stored.said.get("n")
    if n is None:
        return catalogue().say("statement.invariants.none")
    return catalogue().say("statement.invariants.size", n=f"{n:,}")


def _spending(stored: Stored) -> dict[str, Any]:
    account = stored.account
    return {
        "this": dict(stored.said["spent"]),
        "account_then": dict(stored.said["account_spent"]),
        "account_now": account.spent.to_dict("up"),
        "cap": remaining_dict(account.cap),
        "remaining": remaining_dict(account.remaining),
        "charges": [
            {
                "entry": entry.seq,
                "at": entry.at,
                "kind": entry.kind,
                "purpose": entry.said.get("purpose"),
                "release_id": entry.release_id,
                "spent": None if entry.spent is None else entry.spent.to_dict("up"),
            }
            for entry in stored.charges
        ],
        "entry": {"seq": stored.entry.seq, "hash": stored.entry.hash, "at": stored.entry.at},
        "commit": {"seq": stored.commit.seq, "hash": stored.commit.hash},
        "approved_by": stored.opened.said.get("approver"),
        "head": stored.head,
        "entries": len(stored.chain),
    }


def _processing(stored: Stored) -> dict[str, str]:
    say, spec = catalogue().say, stored.said["spec"]
    before = [say(f"statement.processing.{spec.get('nulls', 'drop')}")]
    if stored.said["unit"]["unit"] != "record":
        before.append(say("statement.processing.bounding"))
    after = "after_synthetic" if stored.synthetic else "after"
    return {"before": " ".join(before), "after": say(f"statement.processing.{after}")}


def _mechanisms(stored: Stored) -> list[dict[str, Any]]:
    if not stored.synthetic:
        return [dict(call) for call in stored.said["plan"]["calls"]]
    law = stored.said["synthesizer"]
    return [
        {"statistic": "records", "part": "records", "mechanism": "Dirichlet–multinomial", **law}
    ]


def _biases(stored: Stored) -> Iterator[dict[str, Any]]:
    """Which biases there are; their size is known only where it was paid for."""
    say, spec = catalogue().say, stored.said["spec"]
    if stored.synthetic:
        yield {"kind": "blur", "text": say("statement.bias.blur"), "size": None}
    if stored.said["unit"]["unit"] != "record":
        yield {"kind": "bounding", "text": say("statement.bias.bounding"), "size": None}
    for entry in spec.get("statistics", ()):
        if "bounds" in entry:
            low, high = (f"{float(end):g}" for end in entry["bounds"])
            text = say(
                "statement.bias.clipping", column=_column_of(entry) or "", low=low, high=high
            )
            yield {"kind": "clipping", "text": text, "size": None}
        if "discover" in entry.get("keys", {}):
            yield {"kind": "suppression", "text": say("statement.bias.suppression"), "size": None}
    if spec.get("nulls", "drop") == "drop":
        yield {"kind": "nulls", "text": say("statement.bias.nulls"), "size": None}


def release_text(
    facts: Mapping[str, Any], audience: Audience = "public", unit: str = "one person"
) -> str:
    """Return what a release is and what it cost, from the facts of its statement."""
    say, identity, spending = catalogue().say, facts["identity"], facts["spending"]
    if check_audience(audience) == "public":
        alike = neighbours(facts["unit"]["adjacency"], unit)["alike"]
        opening = say("release.public", purpose=identity["purpose"], alike=alike)
        return f"{opening} {say('release.public_spent')}"
    nothing = say("release.nothing_left")
    return say(
        f"release.{audience}",
        release_id=identity["release_id"],
        account=identity["account"],
        spent=amount(spending["this"], "up", nothing),
        account_spent=amount(spending["account_now"], "up", nothing),
        filter=facts["composition"]["filter"],
        remaining=cap_text(spending["remaining"]),
    )


def cap_text(said: Mapping[str, Any]) -> str:
    """Return a cap, or what is left of it; rounded down."""
    if said.get("unbounded"):
        return catalogue().say("statement.label.no_cap")
    return amount(dict(said), "down", catalogue().say("release.nothing_left"))


def _texts(
    stored: Stored, facts: Mapping[str, Any], risk: Risk | None, unit: str
) -> dict[str, str]:
    """Return what the release says to each audience, in a few paragraphs."""
    if risk is None:
        return {audience: str(stored.said.get("reason", "")) for audience in AUDIENCES}
    belief, total = risk.headline, stored.total()
    found: dict[str, str] = {}
    for audience in AUDIENCES:
        parts = [release_text(facts, audience, unit)]
        parts += [] if audience == "public" else [guarantee_text(total, audience, unit)]
        parts += [sentence(belief, audience), pure_against_approximate(belief, audience)]
        found[audience] = "\n\n".join(parts)
    return found
