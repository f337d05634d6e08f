"""The statement of a release: what was promised, on one page, from the stored release alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.guarantees import amount
from discreet.rounding import number
from discreet.statements import gaussian_lines, learned_lines, promise_lines
from discreet.words import catalogue

__all__ = ["statement"]


def statement(said: Mapping[str, Any]) -> str:
    """Return the statement of a release as Markdown."""
    unit, account, subject = said["unit"], said["account"], said["unit_name"]
    all_of_it = amount(said["account_spent"], "up", "nothing")
    lines = [
        f"# What this release promises: {said['purpose']}",
        "",
        *_paragraphs(promise_lines(said["promises"])),
        "## What may be learned",
        "",
        catalogue().say("statement.learned.lead", unit=subject),
        "",
        *learned_lines(said["learned"]),
        "",
        "## What was spent",
        "",
        f"- **Release** {said['release_id']}, made {said['made']}",
        f"- **Protected unit**: {subject}{_columns(unit)}; neighbours: {_neighbours(unit)}",
        f"- **This release spends** {amount(said['spent'], 'up', 'nothing')}",
        f"- **Spent so far on account {account}, this included**: {all_of_it}",
        f"- **Remaining**: {_remaining(said)}",
        *_sensitive(said),
        f"- **Ledger head** after the charge: `{said['head']}`",
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
        *gaussian_lines(said.get("gaussian_mu")),
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


def _paragraphs(lines: list[str]) -> list[str]:
    return [part for line in lines for part in (line, "")]


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


def _beyond(unit: Mapping[str, Any]) -> str:
    if unit["unit"] in ("person", "household"):
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
