"""The statement of a release: what was promised, on one page, from the stored release alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from discreet.guarantees import amount
from discreet.rounding import FIGURES, number
from discreet.statements import gaussian_lines, learned_lines, promise_lines
from discreet.statements.presenter import cut_lines
from discreet.statements.tables import flat, sensitivity_text
from discreet.words import say


def _say(name: str, **values: Any) -> str:
    return say(f"release_statement.{name}", **values)


def statement(said: Mapping[str, Any]) -> str:
    """Return the statement of a release as Markdown; what people wrote stays a text in it."""
    unit, subject, plan = said["unit"], flat(said["unit_name"]), said["plan"]
    promised = [part for line in promise_lines(said["promises"]) for part in (line, "")]
    total = partial(amount, nothing=_say("nothing"))
    lines = [
        _say("title", purpose=flat(said["purpose"])),
        "",
        *promised,
        _say("learned"),
        "",
        say("statement.learned.lead", unit=subject),
        "",
        *learned_lines(said["learned"]),
        "",
        _say("spent"),
        "",
        _say("made", release=said["release_id"], at=said["made"]),
        _say("unit", unit=subject, columns=_columns(unit), neighbours=_neighbours(unit)),
        _say("this", amount=total(said["spent"], "up")),
        _say("so_far", account=flat(said["account"]), amount=total(said["account_spent"], "up")),
        _say("remaining", amount=_remaining(said)),
        *_sensitive(said),
        _say("head", head=said["head"]),
        "",
        _say("how"),
        "",
        _say("bounded", unit=subject, mechanism=_sentence(plan["mechanism"]), **_bounds(plan)),
        "",
        _say("calls"),
        "|---|---|---|---|---|---|---|",
        *(_call(call) for call in plan["calls"]),
        "",
        *gaussian_lines(said.get("gaussian_mu")),
        *_found(plan),
        _say("intervals", interval=said["interval"]),
        *(f"- {flat(line)}" for line in cut_lines(said["cut"])),
        "",
        _say("unprotected"),
        "",
        _say("of_groups", unit=subject),
        _say("elsewhere"),
        _say("beyond", unit=subject, what=_beyond(unit)),
        "",
    ]
    return "\n".join(lines)


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _columns(unit: Mapping[str, Any]) -> str:
    names = unit.get("column") or []
    return f" ({flat(', '.join(names))})" if names else ""


def _sensitive(said: Mapping[str, Any]) -> list[str]:
    """Return a line for the set S of the papers, as the spec words it, if it does."""
    words = said["spec"].get("sensitive")
    return [] if words is None else [_say("sensitive", words=flat(words))]


def _found(plan: Mapping[str, Any]) -> list[str]:
    """Return a line for each search for keys: what was found is shown, and nothing else counts."""
    searches = [call for call in plan["calls"] if "threshold" in call]
    said = [
        _say("found", statistic=flat(c["statistic"]), part=flat(c["part"]), units=c["threshold"])
        for c in searches
    ]
    return [*said, ""] if said else []


def _neighbours(unit: Mapping[str, Any]) -> str:
    return _say(f"neighbours.{unit['adjacency']}")


def _bounds(plan: Mapping[str, Any]) -> dict[str, int]:
    found = {(c["rows"], c["groups"]) for c in plan["contributions"].values()}
    return {"rows": max(r for r, _ in found), "groups": max(g for _, g in found)}


def _remaining(said: Mapping[str, Any]) -> str:
    left = said["remaining"]
    return _say("no_cap") if left.get("unbounded") else amount(left, "down", _say("nothing"))


def _beyond(unit: Mapping[str, Any]) -> str:
    people = unit["unit"] in ("person", "household")
    return _say("beyond_person" if people else "beyond_record")


def _call(call: Mapping[str, Any]) -> str:
    def price(value: float | None) -> str:
        return "" if value is None else number(value, "up", FIGURES)

    sensitivity = sensitivity_text(call, 4)
    name = f"{flat(call['statistic'])} | {flat(call['part'])}"
    return (
        f"| {name} | {call['mechanism']} | {sensitivity} | "
        f"{call['scale']:.4g} | {price(call['epsilon'])} | {price(call['rho'])} |"
    )
