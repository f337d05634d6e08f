"""Rounding to the safe side: budgets down, bounds up, printed figures outward.

A double-precision result of a stable formula is off by a few units in the last place. `down` and
`up` move it past that error, so that the inequality it stands for holds exactly and not only
nearly. Every caller says how many ulps its formula may be off (`ULPS` covers a dozen operations).

>>> down(1.0) < 1.0 < up(1.0)
True
>>> percent(0.47497, "down"), percent(0.52503, "up")
('47 %', '53 %')
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Literal

__all__ = [
    "FIGURES",
    "ULPS",
    "decimal_down",
    "decimal_up",
    "down",
    "exact_text",
    "number",
    "percent",
    "up",
]

ULPS = 16
FIGURES = 6
"""Figures of an ε, δ or ρ that people read: the same everywhere; spent up, allowed down."""
_ULP = 2.0**-52


def down(x: float, ulps: int = ULPS) -> float:
    """Return a float at most x, `ulps` units in the last place below it (inf and 0 stay)."""
    if x == 0 or math.isinf(x):
        return x
    return math.nextafter(x - abs(x) * (ulps * _ULP), -math.inf)


def up(x: float, ulps: int = ULPS) -> float:
    """Return a float at least x, `ulps` units in the last place above it (inf and 0 stay)."""
    return -down(-x, ulps)


def decimal_down(x: float, digits: int) -> float:
    """Return x cut to `digits` decimals, below x by less than one unit of the last of them.

    The few ulps by which `up` and `down` move a result are not shown: 0.75 that was moved to
    0.7500000000000027 to be safe prints as 0.75 again, which is what it stands for.

    >>> decimal_down(1.29999, 2), decimal_down(-0.001, 2), decimal_down(down(0.75), 2)
    (1.29, -0.01, 0.75)
    """
    if math.isinf(x):
        return x
    nearest = round(x, digits)
    if nearest <= x + 64 * _ULP * abs(x):
        return nearest
    return round(nearest - 10.0**-digits, digits)


def decimal_up(x: float, digits: int) -> float:
    """Return x raised to `digits` decimals; `decimal_down` from above.

    >>> decimal_up(1.2501, 2), decimal_up(up(0.75), 2)
    (1.26, 0.75)
    """
    return -decimal_down(-x, digits)


def percent(x: float, side: Literal["up", "down"], digits: int = 0) -> str:
    """Return x as a percentage rounded outward: `up` for an upper bound, `down` for a lower one.

    >>> percent(0.5249792, "up", 2)
    '52.50 %'
    >>> percent(0.07, "up")
    '7 %'
    """
    rounded = (decimal_up if side == "up" else decimal_down)(100 * x, digits)
    return f"{rounded:.{digits}f} %"


def belief_percent(x: float) -> str:
    """Return an upper bound of a belief in whole percent; with a figure more where that is 100 %.

    >>> belief_percent(0.356), belief_percent(0.9957), belief_percent(0.99999), belief_percent(1.0)
    ('36 %', '99.6 %', '100 %', '100 %')
    """
    shown = (percent(x, "up", digits) for digits in range(3))
    return next((text for text in shown if not text.startswith("100")), percent(x, "up"))


def exact_text(share: float) -> str:
    """Return how often a count stays exact: rounded down, since more would sound better than it is.

    >>> exact_text(0.26794919), exact_text(0.5), exact_text(0.00012), exact_text(0.0)
    ('26.7 %', '50.0 %', '0.01 %', '0.0 %')
    """
    small = 0 < share < 0.0005
    return f"{number(100 * share, 'down', 1)} %" if small else percent(share, "down", 1)


def number(x: float, side: Literal["up", "down"], figures: int = 4) -> str:
    """Return a number with so many figures, rounded to a side.

    >>> number(1.29928, "up"), number(0.700717, "down"), number(1e-6, "up"), number(28.0, "up")
    ('1.300', '0.7007', '1e-06', '28')
    >>> number(up(0.06), "up"), number(9.9999e-15, "up")
    ('0.06', '1e-14')
    """
    if x == 0 or math.isinf(x):
        return "0" if x == 0 else "∞"
    if not 1e-4 <= abs(x) < 1e6:
        return _scientific(x, side, figures)
    digits = max(0, figures - 1 - math.floor(math.log10(abs(x))))
    rounded = (decimal_up if side == "up" else decimal_down)(x, digits)
    text = f"{rounded:,.{digits}f}"
    # A number that is shown whole needs no zeros to say how far it was rounded.
    whole = abs(rounded - x) <= 64 * _ULP * abs(x)
    return text.rstrip("0").rstrip(".") if whole and "." in text else text


def _scientific(x: float, side: Literal["up", "down"], figures: int) -> str:
    power = math.floor(math.log10(abs(x)))
    mantissa = float(Decimal(repr(x)).scaleb(-power))  # 10.0**-324 would be 0
    rounded = (decimal_up if side == "up" else decimal_down)(mantissa, figures - 1)
    if abs(rounded) >= 10:
        rounded, power = rounded / 10, power + 1
    text = f"{rounded:.{figures - 1}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}e{power:+03d}"
