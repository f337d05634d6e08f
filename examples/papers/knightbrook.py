"""Knightbrook, *Differential Privacy from the Ground Up* (2022): its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet import Prior, PureDP, choose, explain
from discreet.laws import RandomizedResponse
from papers import Row, rounded_down, rounded_up

__all__ = ["rows"]


def rows() -> Iterator[Row]:
    """Return the numbers of the survey and of the “reasonable value”."""
    yield Row(
        "survey",
        "coin-flip survey: chance of the true answer at ε = log 3",
        "3/4",
        lambda: f"{RandomizedResponse(math.log(3)).prob_true:.4f}",
    )
    yield Row(
        "“a reasonable value”",
        "from 50 % to at most 75 %: ε",
        "log 3 = 1.0986",
        lambda: rounded_down(choose({"preset": "half-to-three-quarters"}).epsilon),
    )
    yield Row(
        "the same",
        "belief after at ε = log 3, from 50 %",
        "75 %",
        lambda: (
            rounded_up(100 * explain(PureDP(math.log(3)), Prior(0.5)).posterior.upper, 1) + " %"
        ),
    )
