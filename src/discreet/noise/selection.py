"""Selection: the index of the highest score, by noisy max (OpenDP).

Two laws, both over whole-number scores u and a scale s:

- `permute-and-flip` (McKenna and Sheldon 2020): exponential noise of scale s is added to every
  score. Pure DP; its expected error is never above the exponential mechanism's, at best half.
- `exponential` (McSherry and Talwar 2007): Gumbel noise of scale s, which selects i with
  probability e^{u_i/s}/Σ e^{u_j/s}. The same ε; and zCDP of only ε²/8, so it is the one to take
  where ρ is what is spent.

OpenDP compares the noisy scores lazily, digit by digit, until one is above the others: the law is
exact, and no floating-point noise is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from discreet.errors import InputError

__all__ = ["SelectionLaw", "noisy_max"]

SelectionLaw: TypeAlias = Literal["permute-and-flip", "exponential"]

_EDGE = 2**62


@lru_cache(maxsize=64)
def _measurement(law: SelectionLaw, scale: float) -> Callable[[list[int]], int]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measures = {
        "permute-and-flip": dp.max_divergence(),
        "exponential": dp.zero_concentrated_divergence(),
    }
    drawn: Any = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64"),
        measures[law],
        scale=scale,
    )
    return drawn  # type: ignore[no-any-return]


def noisy_max(scores: Sequence[int], scale: float, *, law: SelectionLaw = "exponential") -> int:
    """Return the index of the score that is highest after noise of that scale.

    >>> noisy_max([0, 0, 10_000], 1.0)
    2
    """
    if not scores:
        raise InputError("there are no scores; a selection needs at least one candidate.")
    if math.isnan(scale) or not 0 < scale < math.inf:
        raise InputError(f"the selection scale is {scale!r}; it must be positive and finite.")
    top = max(scores)
    # Only differences of scores matter. Counting from the top keeps them small, and a score so far
    # below that it does not fit a machine word is cut where it cannot be selected anyway.
    return _measurement(law, float(scale))([max(score - top, -_EDGE) for score in scores])
