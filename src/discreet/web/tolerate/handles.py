"""Handles on the curve and on the map: where each stands, what it says aloud, what it changes.

A handle belongs to one blank of one condition. The curve has belief before across and belief after
up, both as probabilities; a handle moves along one of the two. The map has p across and q up; what
a condition tolerates changes there along lines of equal pq, and a handle stands on such a line:

| blank  | its line on the map     | which is where                                        |
|--------|-------------------------|-------------------------------------------------------|
| after  | pq = after/fold         | the fold takes over from the belief after             |
| fold   | pq = 1/fold             | so many times the belief before is already certainty  |
| points | pq = 1 − points         | so many points more are already certainty             |
| before | p = before              | the one belief that the condition speaks of           |

Where both p and q are free the handle moves along the diagonal, else along the one that is free.
The browser tells where a handle was dragged to, or how many steps it was moved by the keyboard, and
the state that follows is made here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel

from discreet.errors import InputError
from discreet.web.sentences import Asked, Condition
from discreet.words import say

# How far the axis of belief before may reach; that of belief after reaches further.
_REACHES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_FARTHEST_FOLD = 100.0
_MAP = "map."  # how the name of a handle on the map begins


class Handle(BaseModel):
    """A slider on a chart."""

    name: str
    label: str
    along: Literal["across", "up", "diagonal"]
    x: float
    y: float
    low: float
    high: float
    value: float
    text: str


def axis(asked: Asked, wanted: float | None = None) -> tuple[float, float]:
    """Return how far the two axes reach, so that every handle is seen; `wanted` if it can be."""
    needed = max((_needed(condition) for condition in asked.conditions), default=1.0)
    roomy = next((reach for reach in _REACHES if reach >= 1.6 * needed), 1.0)
    top = roomy if wanted is None else max(wanted, min(1.0, needed))
    top = next((reach for reach in _REACHES if reach >= top), 1.0)
    return top, min(1.0, 4 * top)


def farther(top: float | None) -> float | None:
    """Return the next reach of the axis of belief before."""
    return None if top is None else next((reach for reach in _REACHES if reach > top), 1.0)


def _needed(condition: Condition) -> float:
    p = condition.surely_in
    match condition.kind:
        case "posterior":
            before = condition.before / 100 * (p if condition.worry == "value" else 1.0)
            return max(before, condition.after / 400)
        case "unless":
            corner = condition.after / 100 / max(condition.fold, 1.0)
            return max(min(2 * corner, p), condition.after / 300)
        case "difference":
            return max(p, condition.points / 300)
        case _:
            return p


def handles(asked: Asked, top: float, high: float) -> list[Handle]:
    """Return the handles of all conditions on a curve that reaches to `top` and `high`."""
    return _named(asked, [_of(condition, top, high) for condition in asked.conditions])


def map_handles(asked: Asked) -> list[Handle]:
    """Return the handles of all conditions on the map of p and q."""
    return _named(asked, [_on_map(condition) for condition in asked.conditions])


def edges(asked: Asked) -> list[float]:
    """Return the values of pq along which the handles of the map that move both ways stand."""
    return [one.x * one.y for one in map_handles(asked) if one.along == "diagonal"]


def _named(asked: Asked, found: list[list[Handle]]) -> list[Handle]:
    out: list[Handle] = []
    for place, ones in enumerate(found, 1):
        end = "" if place == 1 else str(place)
        for one in ones:
            label = one.label
            if len(asked.conditions) > 1:
                label = say("web.handle.of_condition", label=label, place=place)
            out.append(one.model_copy(update={"name": one.name + end, "label": label}))
    return out


def _on_map(condition: Condition) -> list[Handle]:
    """The handles of one condition on the map; those of the curve say what is spoken."""
    spoken = {one.name: one for one in _of(condition, 1.0, 1.0)}
    lines = {
        "after": condition.after / 100 / max(condition.fold, 1.0),
        "fold": 1 / max(condition.fold, 1.0),
        "points": 1 - condition.points / 100,
    }
    out = []
    for blank in condition.used():
        handle = spoken.get(blank)
        if handle is None or (blank == "after" and condition.kind == "posterior"):
            continue
        if blank == "before":
            x, y = (
                (condition.surely_in, condition.before / 100)
                if condition.worry == "value"
                else (condition.before / 100, 0.5 if condition.worry == "both" else 1.0)
            )
            along = "up" if condition.worry == "value" else "across"
        else:
            along, x, y = _along(condition, min(1.0, lines[blank]))
        label = say("web.handle.on_map", label=handle.label)
        out.append(
            handle.model_copy(
                update={"name": _MAP + blank, "label": label, "along": along, "x": x, "y": y}
            )
        )
    return out


def _along(condition: Condition, product: float) -> tuple[str, float, float]:
    """How a handle moves on the map, and the place with this pq on its way."""
    match condition.worry:
        case "in":
            return "across", product, 1.0
        case "value":
            p = condition.surely_in
            return "up", p, min(1.0, product / p)
        case _:
            return "diagonal", product**0.5, product**0.5


def _of(condition: Condition, top: float, high: float) -> list[Handle]:
    """The handles of one condition on the curve."""
    p, after, fold = condition.surely_in, condition.after / 100, max(condition.fold, 1.0)
    match condition.kind:
        case "posterior":
            scale = p if condition.worry == "value" else 1.0
            before = condition.before / 100 * scale
            return [
                _handle(condition, "after", before, min(after, high), 100 * high),
                _handle(condition, "before", before, 0.0, 100 * min(1.0, top / scale)),
            ]
        case "unless":
            flat = min(after / fold, top) / 2
            sloped = _fold(condition, after, top, high)
            return [_handle(condition, "after", flat, min(after, high), 100 * high), *sloped]
        case "ratio":
            return _fold(condition, 0.0, top, high)
        case "difference":
            x = 0.4 * min(top, p)
            y = min(high, x + condition.points / 100)
            return [_handle(condition, "points", x, y, 100 * (high - x))]
        case _:
            return []


def _handle(condition: Condition, blank: str, x: float, y: float, high: float) -> Handle:
    """The handle of one blank: where it stands, and how far its value reaches."""
    value = getattr(condition, blank)
    return Handle(
        name=blank,
        label=say(f"web.handle.{blank}"),
        along="across" if blank in ("before", "fold") else "up",
        x=x,
        y=y,
        low=1.0 if blank == "fold" else 0.0,
        high=high,
        value=value,
        text=say(f"web.handle.{blank}_is", value=value),
    )


def _fold(condition: Condition, above: float, top: float, high: float) -> list[Handle]:
    """The handle on the slope, which stays at its height while it is dragged sideways."""
    fold = max(condition.fold, 1.0)
    y = (above + min(high, fold * min(top, condition.surely_in))) / 2
    return [_handle(condition, "fold", y / fold, y, _FARTHEST_FOLD)] if y > above else []


def moved(
    asked: Asked, name: str, place: tuple[float, float] | None, steps: int, wanted: float | None
) -> Asked:
    """Return the state after a handle was dragged to a place, or moved by steps of the keyboard."""
    on_map = name.startswith(_MAP)
    known = map_handles(asked) if on_map else handles(asked, *axis(asked, wanted))
    handle = next((one for one in known if one.name == name), None)
    if handle is None:
        raise InputError("web.handle.unknown")
    number = int(name[-1]) if name[-1].isdigit() else 1
    blank = name.removeprefix(_MAP).rstrip("0123456789")
    condition = asked.conditions[number - 1]
    if place is None:
        value = _stepped(blank, handle, steps)
    elif on_map:
        value = _dragged_on_map(condition, blank, place)
    else:
        value = _dragged(condition, handle, place)
    blanks: dict[str, Any] = {blank: _kept(condition, blank, value)}
    changed = replace(condition, **blanks)
    rest = list(asked.conditions)
    rest[number - 1] = changed
    return replace(asked, conditions=tuple(rest))


def _stepped(blank: str, handle: Handle, steps: int) -> float:
    steps = max(-1000, min(1000, steps))
    return handle.value + steps * _step(blank, handle)


def _step(blank: str, handle: Handle) -> float:
    """How much one press of a key, or one pixel, is worth: a round number."""
    if blank == "fold":
        return 0.1
    return 0.1 if handle.high <= 25 else 0.5 if handle.high <= 60 else 1.0


def _dragged(condition: Condition, handle: Handle, place: tuple[float, float]) -> float:
    x, y = place
    match handle.name.rstrip("0123456789"):
        case "fold":
            return y / max(x, 1e-6)  # at the height where the hand took it
        case "points":
            return 100 * (y - handle.x)
        case "before":
            scale = condition.surely_in if condition.worry == "value" else 1.0
            return 100 * x / max(scale, 1e-9)
        case _:
            return 100 * y


def _dragged_on_map(condition: Condition, blank: str, place: tuple[float, float]) -> float:
    x, y = (min(1.0, max(1e-6, part)) for part in place)
    match blank:
        case "before":
            return 100 * (y if condition.worry == "value" else x)
        case "fold":
            return 1 / (x * y)
        case "points":
            return 100 * (1 - x * y)
        case _:
            return 100 * x * y * condition.fold


def _kept(condition: Condition, blank: str, value: float) -> float:
    """Round a value to what can be read, and keep it where a budget exists."""
    p = 100 * condition.surely_in
    small = 0.1
    if blank == "fold":
        return round(min(max(value, 1.1), _FARTHEST_FOLD), 1)
    if blank == "before":
        most = condition.after - small
        if condition.worry == "value":
            most = most * 100 / p
        return round(min(max(value, small), most, 99.9), 1)
    least = small
    if condition.kind == "posterior" and blank == "after":
        least += condition.before * (p / 100 if condition.worry == "value" else 1.0)
    return round(min(max(value, least), 99.9), 1)
