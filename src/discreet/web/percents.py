"""Percentages, as people type them, and probabilities, as everything else counts them."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["percentage", "share"]


def share(percent: float) -> float:
    """Return the probability that a percentage is, as if its decimals had been written down.

    >>> share(99.99), share(12.3)
    (0.9999, 0.123)
    """
    return float(Decimal(repr(float(percent))) / 100)


def percentage(probability: float) -> float:
    """Return the percentage that a probability is, the other way round.

    >>> percentage(0.07), percentage(0.999999)
    (7.0, 99.9999)
    """
    return float(Decimal(repr(float(probability))) * 100)
