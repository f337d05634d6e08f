"""Noise to look at: values held fixed while a budget moves; an illustration and no release.

Notation. u_i = i·φ mod 1 with φ the golden ratio, a sequence spread evenly over (0, 1) (a Kronecker
sequence; Niederreiter 1992, chapter 3). Value i of a law is its quantile at u_i, so the same i is
the same piece of luck for every law: where the budget grows, every value moves towards 0 and none
jumps (common random numbers). Nothing is drawn, and no secret is involved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

from discreet.laws.checks import whole

__all__ = ["illustrated"]

_GOLDEN = (math.sqrt(5) - 1) / 2
Value = TypeVar("Value", int, float, covariant=True)


class _Law(Protocol[Value]):
    @property
    def quantile(self) -> Callable[[float], Value]: ...


def illustrated(law: _Law[Value], size: int = 40) -> tuple[Value, ...]:
    """Return `size` values that stand for a law's noise, each at its own fixed place.

    >>> from discreet.laws.geometric import Geometric
    >>> illustrated(Geometric(1.0), 6)
    (0, -1, 1, 0, -2, 0)
    >>> illustrated(Geometric(0.5), 6)
    (0, -1, 2, 0, -3, 1)
    """
    whole("size", size)
    return tuple(law.quantile(math.fmod(i * _GOLDEN, 1.0)) for i in range(1, size + 1))
