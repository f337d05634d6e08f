"""What every law checks of its parameters, NaN first."""

from __future__ import annotations

import math
from numbers import Real

from discreet.errors import InputError


def positive(name: str, value: float) -> float:
    """Return the value if it is a positive finite number, or say that it must be."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError("laws.not_a_number", name=name, value=value)
    if math.isnan(value) or math.isinf(value) or value <= 0:
        raise InputError("laws.not_positive", name=name, value=value)
    return float(value)


def probability(name: str, value: float) -> float:
    """Return the value if it lies strictly between 0 and 1, or say that it must."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < 1:
        raise InputError("laws.outside_unit", name=name, value=value)
    return float(value)


def whole(name: str, value: float, low: int = 1) -> int:
    """Return the value as an int if it is a whole number, `low` or more, or say that it must be."""
    fits = not isinstance(value, bool) and isinstance(value, Real)
    if not fits or math.isnan(value) or math.isinf(value) or value != int(value) or value < low:
        raise InputError("laws.not_whole", name=name, value=value, low=low)
    return int(value)
