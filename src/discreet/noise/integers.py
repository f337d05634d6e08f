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
from typing import Any, TypeAlias, TypeVar

from discreet.errors import InputError
from discreet.laws import DiscreteGaussian, Geometric, Mechanism
from discreet.noise.calibration import WIDEST

__all__ = [
    "CHUNK",
    "Progress",
    "Sampler",
    "discrete_gaussian",
    "discrete_laplace",
    "sampler",
    "sampler_of",
]

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


Sampler: TypeAlias = Callable[..., list[int]]
"""Adds noise to whole numbers: `sampler(values, scale, progress=None)`."""

_SAMPLERS: dict[type[Mechanism], Sampler] = {}
SamplerT = TypeVar("SamplerT", bound=Sampler)


def sampler(law: type[Mechanism]) -> Callable[[SamplerT], SamplerT]:
    """Register the sampler of a law; a law from outside the package registers its own this way."""

    def registered(function: SamplerT) -> SamplerT:
        _SAMPLERS[law] = function
        return function

    return registered


def sampler_of(law: type[Mechanism]) -> Sampler:
    """Return the sampler of a law.

    >>> sampler_of(Geometric) is discrete_laplace
    True
    """
    return _SAMPLERS[law]


@sampler(Geometric)
def discrete_laplace(
    values: Sequence[int], scale: float, *, progress: Progress | None = None
) -> list[int]:
    """Return the values, each with its own discrete Laplace noise of that scale.

    >>> len(discrete_laplace([5, 0, 12], 2.0))
    3
    """
    return _add("laplace", values, _scale("the Laplace scale", scale), progress)


@sampler(DiscreteGaussian)
def discrete_gaussian(
    values: Sequence[int], sigma: float, *, progress: Progress | None = None
) -> list[int]:
    """Return the values, each with its own discrete Gaussian noise of that parameter.

    >>> len(discrete_gaussian([5, 0, 12], 2.0))
    3
    """
    return _add("gaussian", values, _scale("sigma", sigma), progress)
