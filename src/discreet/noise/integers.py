"""Integer noise for vectors: discrete Laplace and discrete Gaussian, drawn by OpenDP.

Law. Discrete Laplace of scale b: P(N = n) ∝ e^{-|n|/b}. Discrete Gaussian of parameter σ:
P(N = n) ∝ e^{-n²/(2σ²)}. Both are drawn exactly, over rationals, by the sampler of Canonne, Kamath
and Steinke (2020): a scale given as a float is taken as the rational number it is.

The noise is drawn around zero and added here in Python's whole numbers. A sum of any size is
therefore exact, and no released value is cut off at the edge of a machine word; only the *noise*
has to fit one, so scales above 2^52 are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from discreet.errors import InputError
from discreet.noise.calibration import WIDEST

__all__ = ["CHUNK", "Progress", "discrete_gaussian", "discrete_laplace"]

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) after every chunk."""

CHUNK = 10_000
"""Values drawn in one call of OpenDP: about a tenth of a second between two signs of progress."""


def _scale(name: str, value: float) -> float:
    if math.isnan(value) or not 0 < value <= WIDEST:
        raise InputError(
            f"{name} is {value!r}; it must be positive and at most 2^52. "
            "Choose a coarser resolution or a larger budget."
        )
    return float(value)


@lru_cache(maxsize=64)
def _measurement(law: str, scale: float) -> Callable[[list[int]], list[int]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    drawn: Any
    if law == "laplace":
        drawn = dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=scale)
    else:
        drawn = dp.m.make_gaussian(vectors, dp.l2_distance(T=float), scale=scale)
    return drawn  # type: ignore[no-any-return]


def _add(law: str, values: Sequence[int], scale: float, progress: Progress | None) -> list[int]:
    measurement = _measurement(law, scale)
    total = len(values)
    released: list[int] = []
    for start in range(0, total, CHUNK):
        chunk = values[start : start + CHUNK]
        noise = measurement([0] * len(chunk))
        released.extend(int(value) + drawn for value, drawn in zip(chunk, noise, strict=True))
        if progress is not None:
            progress(len(released), total)
    return released


def discrete_laplace(
    values: Sequence[int], scale: float, *, progress: Progress | None = None
) -> list[int]:
    """Return the values, each with its own discrete Laplace noise of that scale.

    >>> len(discrete_laplace([5, 0, 12], 2.0))
    3
    """
    return _add("laplace", values, _scale("the Laplace scale", scale), progress)


def discrete_gaussian(
    values: Sequence[int], sigma: float, *, progress: Progress | None = None
) -> list[int]:
    """Return the values, each with its own discrete Gaussian noise of that parameter.

    >>> len(discrete_gaussian([5, 0, 12], 2.0))
    3
    """
    return _add("gaussian", values, _scale("sigma", sigma), progress)
