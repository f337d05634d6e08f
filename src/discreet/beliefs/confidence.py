"""Confidence 1 − δ' and the probability δ' with which a bound may fail.

δ' is taken from the decimal that the caller wrote: 1 − 0.99 is 0.010000000000000009 in doubles,
which is above the 0.01 that was meant and so on the unsafe side.

>>> failure_of(0.99), failure_of(0.999999)
(0.01, 1e-06)
"""

from __future__ import annotations

import math

from discreet.errors import InputError


def failure_of(confidence: float) -> float:
    """Return δ' = 1 − confidence, for a confidence strictly between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)):
        raise InputError("beliefs.confidence_not_a_number", confidence=confidence)
    if math.isnan(confidence) or not 0 < confidence < 1:
        raise InputError("beliefs.confidence_out_of_range", confidence=confidence)
    from decimal import Decimal

    return float(1 - Decimal(repr(float(confidence))))
