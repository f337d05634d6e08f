"""Priors that follow from public figures: how common a sensitive value is, how large the sample.

`sensitive` declares the set S of Kazan and Reiter and gives q, the prior of the sensitive value:

    sensitive:
      values: [C18, C19, C20]         # or ranges: [[0, 20], [90, 100]], or within: 0.05
      shares: diagnoses.csv           # public shares, or a mapping from value to share
      source: Cancer registry, annual report 2024

A table of shares has the columns `value,share`, or `low,high,share` for numbers, and may have a
column `group`. Ranges take every class that they touch for the largest q, and those that they
cover for the smallest. `within: 0.05` is the set of numbers within 5 % of a person's own, whatever
that is: q lies between that of the rarest and of the most common place. Over several groups q is
their whole range.

`sampled: {units: 5000, of: 100000, source: …}` gives p, the prior of being in the data, for people
who may or may not be among those sampled. Sampling enters p or the budget, never both.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.errors import ToleranceError
from discreet.reading import text_of
from discreet.words import say

KEYS = frozenset({"sensitive", "sampled", "basis"})
_SENSITIVE = {"values", "ranges", "within", "shares", "source"}
_SAMPLED = {"units", "of", "source"}
_SUM = 1e-6


@dataclass(frozen=True, slots=True)
class _Class:
    """One line of a table of shares: a value, or the numbers from `low` to below `high`."""

    value: str
    low: float
    high: float
    share: float
    group: str


def priors_in(given: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], list[str]]:
    """Return the keys of a promise with its priors worked out, and what each of them rests on."""
    keys = {key: value for key, value in given.items() if key not in KEYS}
    basis = list(given.get("basis", []))
    if (sampled := given.get("sampled")) is not None:
        _refuse(keys, ("p", "box"), "sampled")
        keys["p"], said = _sampled(sampled)
        basis.append(said)
    if (sensitive := given.get("sensitive")) is not None:
        _refuse(keys, ("q", "box", "values_known"), "sensitive")
        (low, high), said = _sensitive(sensitive, folder)
        basis.append(said)
        if low == high:
            keys["q"] = low
        else:
            p = 1.0 if keys.get("about") == "value" else keys.pop("p", None)
            if keys.pop("about", None) == "membership":
                raise ToleranceError("promises.shares_and_membership")
            keys["box"] = [p or 0.0, p or 1.0, low, high]
            keys.pop("p", None)
    return keys, basis


def _refuse(keys: Mapping[str, Any], others: tuple[str, ...], name: str) -> None:
    if twice := [other for other in others if other in keys]:
        raise ToleranceError("promises.prior_twice", name=name, other=twice[0])


def _checked(name: str, given: Any, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or set(given) - known:
        said = {"known": ", ".join(sorted(known)), "example": say(f"promises.shares_like.{name}")}
        raise ToleranceError("promises.shares_keys", name=name, value=given, **said)
    source = given.get("source")
    if not isinstance(source, str) or not source.strip():
        raise ToleranceError("promises.no_source", name=name)
    return given


def _sampled(given: Any) -> tuple[float, str]:
    keys = _checked("sampled", given, _SAMPLED)
    units: Any = keys.get("units")
    of: Any = keys.get("of")
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (units, of))
    if not whole or not 0 < units <= of:
        raise ToleranceError("promises.sampled", units=units, of=of)
    # Rounded up: a promise at a prior says nothing of a larger one.
    p = min(1.0, math.nextafter(units / of, math.inf))
    said = say("promises.basis.sampled", units=units, of=of, source=keys["source"])
    return p, said


def _sensitive(given: Any, folder: Path | None) -> tuple[tuple[float, float], str]:
    keys = _checked("sensitive", given, _SENSITIVE)
    named = [key for key in ("values", "ranges", "within") if key in keys]
    if len(named) != 1:
        raise ToleranceError("promises.one_set")
    classes = _classes(keys.get("shares"), folder)
    groups: dict[str, list[_Class]] = {}
    for one in classes:
        groups.setdefault(one.group, []).append(one)
    for name, lines in groups.items():
        if math.fsum(line.share for line in lines) > 1 + _SUM:
            raise ToleranceError("promises.shares_sum", group=name)
    ends = [_share(named[0], keys[named[0]], lines) for lines in groups.values()]
    low, high = min(low for low, _ in ends), min(1.0, max(high for _, high in ends))
    if high <= 0:
        raise ToleranceError("promises.nobody_sensitive")
    said = say(
        "promises.basis.sensitive",
        which=say(f"promises.basis.{named[0]}", said=_written(keys[named[0]])),
        share=" to ".join(dict.fromkeys(f"{100 * end:.4g} %" for end in (low, high))),
        source=keys["source"],
    )
    return (low, high), said


def _written(given: Any) -> str:
    if not isinstance(given, list):
        return f"{100 * given:g} %"
    return ", ".join(
        " to ".join(map(str, one)) if isinstance(one, list) else str(one) for one in given
    )


def _share(kind: str, wanted: Any, lines: list[_Class]) -> tuple[float, float]:
    """Return the smallest and the largest share of the set in one group."""
    if kind == "values":
        if not isinstance(wanted, list) or not wanted:
            raise ToleranceError("promises.set_values")
        texts = {str(value) for value in wanted}
        if missing := sorted(texts - {line.value for line in lines}):
            raise ToleranceError("promises.no_share", value=missing[0])
        share = math.fsum(line.share for line in lines if line.value in texts)
        return share, share
    if kind == "ranges":
        pairs = wanted if isinstance(wanted, list) else [wanted]
        if not pairs or not all(
            isinstance(x, list) and len(x) == 2 and x[0] <= x[1] for x in pairs
        ):
            raise ToleranceError("promises.set_ranges")
        inside = [o for o in lines if any(a <= o.low and o.high <= b for a, b in pairs)]
        touched = [o for o in lines if any(a < o.high and o.low <= b for a, b in pairs)]
        return math.fsum(o.share for o in inside), math.fsum(o.share for o in touched)
    if isinstance(wanted, bool) or not isinstance(wanted, (int, float)) or not 0 < wanted < 1:
        raise ToleranceError("promises.set_within", within=wanted)
    # Of a number x the set is [x(1−w), x(1+w)]. Between the places where one of its ends lies at an
    # end of a class, the classes that it touches and those that it covers stay the same.
    ends = {end for o in lines for end in (o.low, o.high) if math.isfinite(end) and end > 0}
    places = sorted({end / (1 + sign * wanted) for end in ends for sign in (-1, 0, 1)})
    middles = [(a + b) / 2 for a, b in pairwise(places)]
    lowest, highest = 1.0, 0.0
    for x in [*places, *middles]:
        if not any(o.low <= x < o.high and o.share > 0 for o in lines):
            continue
        a, b = x * (1 - wanted), x * (1 + wanted)
        highest = max(highest, math.fsum(o.share for o in lines if a < o.high and o.low <= b))
        lowest = min(lowest, math.fsum(o.share for o in lines if a <= o.low and o.high <= b))
    return min(lowest, highest), highest


def _classes(given: Any, folder: Path | None) -> list[_Class]:
    if isinstance(given, Mapping):
        return [_class({"value": str(k), "share": v}) for k, v in given.items()]
    if not isinstance(given, str):
        raise ToleranceError("promises.no_shares")
    text = text_of((folder or Path()) / given, say("promises.basis.table"), ToleranceError)
    try:
        rows = list(csv.DictReader(io.StringIO(text), strict=True))
    except csv.Error:
        raise ToleranceError("promises.no_shares") from None
    if (
        not rows
        or "share" not in rows[0]
        or not ({"value"} <= set(rows[0]) or {"low", "high"} <= set(rows[0]))
    ):
        raise ToleranceError("promises.no_shares")
    return [_class(row) for row in rows]


def _class(row: Mapping[str, Any]) -> _Class:
    try:
        share = float(row["share"])
        low, high = (float(row.get(end) or math.nan) for end in ("low", "high"))
    except (TypeError, ValueError):
        raise ToleranceError("promises.bad_share") from None
    if not 0 <= share <= 1 or ("value" not in row and not low < high):
        raise ToleranceError("promises.bad_share")
    return _Class(str(row.get("value", "")), low, high, share, str(row.get("group") or ""))
