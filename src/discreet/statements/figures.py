"""Figures as people read them: frequencies in a crowd, rounded outward.

An upper bound is rounded up and a lower bound down, so that what is said is never stronger than
what was proved. A prior is shown as it was given.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from discreet.rounding import decimal_down, decimal_up, percent
from discreet.words import catalogue

Side: TypeAlias = Literal["up", "down"]


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
    rounded = (decimal_up if side == "up" else decimal_down)(x, digits + more)
    shown = f"{round(rounded * crowd, more):,.{more}f}"
    return shown.rstrip("0").rstrip(".") if more else shown


def counted(x: float, side: Side, crowd: int) -> int:
    """Return how many whole ones of a crowd a probability is, rounded outward."""
    digits = len(str(crowd)) - 1
    rounded = (decimal_up if side == "up" else decimal_down)(min(1.0, max(0.0, x)), digits)
    return round(rounded * crowd)


def _of(count: str, crowd: int) -> str:
    return catalogue().say("frequency.of", count=count, crowd=f"{crowd:,}")


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
    if math.isinf(x):
        return "∞"
    value = decimal_up(x, 2) if side == "up" else decimal_down(x, 2)
    return f"{value:,.2f}"


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
    return f"{(decimal_up if side == 'up' else decimal_down)(x, digits):.{digits}f}"
