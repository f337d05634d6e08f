"""The statement of a release: what was promised, on one page, from the stored release alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import GuaranteeError
from discreet.guarantees import ApproxDP, Guarantee, PureDP, amount
from discreet.rounding import number, percent

__all__ = ["SUBJECTS", "learnable", "statement"]

SUBJECTS = {
    "person": "one person",
    "record": "one record",
    "partition": "one unit",
}
_PRIORS = (0.01, 0.1, 0.3, 0.5)
_CONFIDENCES = (0.99, 0.9, 0.5)


def learnable(total: Guarantee, subject: str) -> list[dict[str, Any]]:
    """Return what an adversary who knows all the rest may come to believe, at some priors.

    Where δ is too large for the usual confidence the next lower one is stated; where it bounds no
    belief at all, nothing is. The charge has been made by then, so nothing here may refuse.
    """
    from discreet.beliefs import explain

    for confidence in _CONFIDENCES:
        try:
            beliefs = [explain(total, p, confidence=confidence, unit=subject) for p in _PRIORS]
        except GuaranteeError:
            continue
        return [
            {"prior": p, "posterior": belief.posterior.upper, "holds_with": belief.holds_with}
            for p, belief in zip(_PRIORS, beliefs, strict=True)
            if belief.posterior is not None
        ]
    return []


def statement(said: Mapping[str, Any], total: Guarantee) -> str:
    """Return the statement of a release as Markdown; `total` is what the account has promised."""
    unit, account = said["unit"], said["account"]
    subject = SUBJECTS[unit["unit"]]
    all_of_it = amount(said["account_spent"], "up", "nothing")
    lines = [
        f"# What this release promises: {said['purpose']}",
        "",
        f"- **Release** {said['release_id']}, made {said['made']}",
        f"- **Protected unit**: {subject}{_columns(unit)}; neighbours: {_neighbours(unit)}",
        f"- **This release spends** {amount(said['spent'], 'up', 'nothing')}",
        f"- **Spent so far on account {account}, this included**: {all_of_it}",
        f"- **Remaining**: {_remaining(said)}",
        *_sensitive(said),
        f"- **Ledger head** after the charge: `{said['head']}`",
        "",
        "## What may be learned",
        "",
        f"About {subject} in the data, an adversary who knows everything else may come to believe, "
        "from this and all earlier releases of the account together, no more than:",
        "",
        "| believed before | believed after, at most |",
        "|---|---|",
        *(
            f"| {percent(row['prior'], 'up')} | {percent(row['posterior'], 'up', 1)} |"
            for row in said["learnable"]
        ),
        "",
        _probability(total, said["learnable"]),
        "",
        "## How the numbers were made",
        "",
        f"At most {_bounds(said)} of {subject} count in a statistic; which ones is left to chance. "
        f"{said['plan']['mechanism'][:1].upper()}{said['plan']['mechanism'][1:]}",
        "",
        "| statistic | part | mechanism | sensitivity | scale | ε | ρ |",
        "|---|---|---|---|---|---|---|",
        *(_call(call) for call in said["plan"]["calls"]),
        "",
        f"Intervals hold with probability {said['interval']:g} over the noise; they do not cover "
        "rows left out by bounding, values clipped to their bounds, or rows without a unit.",
        "",
        "## What is not protected",
        "",
        f"- What is true of a group whether or not {subject} is in it; that may be learned.",
        "- What is published elsewhere, from other data or under another account.",
        f"- Anything beyond {subject}: {_beyond(unit)}",
        "",
    ]
    return "\n".join(lines)


def _columns(unit: Mapping[str, Any]) -> str:
    names = unit.get("column") or []
    return f" ({', '.join(names)})" if names else ""


def _sensitive(said: Mapping[str, Any]) -> list[str]:
    """Return a line for the set S of the papers, as the spec words it, if it does."""
    words = said["spec"].get("sensitive")
    return [] if words is None else [f"- **Taken as sensitive**: {' '.join(words.split())}"]


def _neighbours(unit: Mapping[str, Any]) -> str:
    if unit["adjacency"] == "replace":
        return "data in which the unit's rows are replaced by others"
    return "data with and without the unit"


def _bounds(said: Mapping[str, Any]) -> str:
    found = {(c["rows"], c["groups"]) for c in said["plan"]["contributions"].values()}
    rows, groups = max(r for r, _ in found), max(g for _, g in found)
    return f"{rows} row{'s' * (rows > 1)} in {groups} group{'s' * (groups > 1)}"


def _remaining(said: Mapping[str, Any]) -> str:
    left = said["remaining"]
    if left.get("unbounded"):
        return "the account has no lifetime cap; nothing limits later releases"
    return amount(left, "down", "nothing")


def _probability(total: Guarantee, rows: list[dict[str, Any]]) -> str:
    if isinstance(total, PureDP) or (isinstance(total, ApproxDP) and total.delta == 0):
        return (
            "This holds for every possible output, over the noise, whether or not the unit is in."
        )
    if not rows:
        return (
            "The δ spent on this account is too large for any statement about beliefs: what was "
            "published may give one unit away."
        )
    sure = min(row["holds_with"] for row in rows)
    return (
        f"This holds for each unit with probability {sure:g} over the noise, whether or not it is "
        "in the data; for a few outputs more may be learned."
    )


def _beyond(unit: Mapping[str, Any]) -> str:
    if unit["unit"] == "person":
        return "families, households and other groups of people together."
    return "a person with several of them is protected less than one of them is."


def _call(call: Mapping[str, Any]) -> str:
    def price(value: float | None) -> str:
        return "" if value is None else number(value, "up")

    gaussian = call["mechanism"] in ("gaussian", "exponential")
    sensitivity = f"L2 {call['l2']:.4g}" if gaussian else f"L1 {call['l1']:.4g}"
    return (
        f"| {call['statistic']} | {call['part']} | {call['mechanism']} | {sensitivity} | "
        f"{call['scale']:.4g} | {price(call['epsilon'])} | {price(call['rho'])} |"
    )
