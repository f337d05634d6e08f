"""Trace every numeral of a text to the result that it came from, by perturbing the result.

Each number of the result is changed, one at a time and by several amounts; each digit in its texts
is changed too. A numeral that no change moves came from nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from discreet.errors import DiscreetError

NUMERAL = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
FACTORS = (0.93, 1.09, 0.31, 1.7, 1e-4)


def perturbed(value: Any) -> Iterator[Any]:
    """Yield the value with one number in it changed."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        yield from (value + 1, value * 3)
    elif isinstance(value, float):
        yield from (value * factor for factor in FACTORS)
        yield value + 0.137
        yield 1 - (1 - value) * 0.003  # a probability near one moves by what it lacks
    elif isinstance(value, str):
        if NUMERAL.search(value):
            yield re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), value)
    elif isinstance(value, (tuple, list)):
        for place, entry in enumerate(value):
            for other in perturbed(entry):
                yield type(value)([*value[:place], other, *value[place + 1 :]])
    elif isinstance(value, dict):
        for key, entry in value.items():
            for other in perturbed(entry):
                yield {**value, key: other}
    elif is_dataclass(value):
        for field in fields(value):
            for other in perturbed(getattr(value, field.name)):
                try:
                    yield replace(value, **{field.name: other})  # type: ignore[type-var]
                except DiscreetError:
                    continue


def untraced(write: Callable[[Any], str], result: Any) -> list[str]:
    """Return the numerals of a text that no perturbation of the result moves."""
    text = write(result)
    said = NUMERAL.findall(text)
    moved = [False] * len(said)
    for other in perturbed(result):
        try:
            now = NUMERAL.findall(write(other))
        except (DiscreetError, ValueError, OverflowError):
            continue
        if len(now) == len(said):
            moved = [m or a != b for m, a, b in zip(moved, said, now, strict=True)]
    return [numeral for numeral, m in zip(said, moved, strict=True) if not m]
