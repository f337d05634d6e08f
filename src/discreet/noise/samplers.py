"""Noise from OpenDP: on whole numbers, by the law of the noise, and for the choice of a best score.

Numbers. Discrete Laplace of scale b: P(N = n) ∝ e^{-|n|/b}. Discrete Gaussian of parameter σ:
P(N = n) ∝ e^{-n²/(2σ²)}. Both are drawn exactly, over rationals, by the sampler of Canonne, Kamath
and Steinke (2020): a scale given as a float is taken as the rational number it is. The noise is
drawn around zero and added here in Python's whole numbers. A sum of any size is therefore exact,
and no released value is cut off at the edge of a machine word; only the *noise* has to fit one, so
scales above 2^52 are refused.

A sampler is registered for the class of a law, `(law, size) -> whole numbers`, and `add_noise`
draws by it: a law from outside the package registers in the same way.

Choices. Two laws, both over whole-number scores u and a scale s:

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
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeAlias, TypeVar

from discreet.errors import InputError
from discreet.laws.calibration import WIDEST
from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.laws.registry import released_laws

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (done, total) after every chunk."""

Sampler: TypeAlias = Callable[[Any, int], Sequence[int]]
"""Draws so many independent whole numbers by a law."""

CHUNK = 10_000
"""Values drawn in one call: about a tenth of a second between two signs of progress."""

# So many draws are worth a thread of their own.
_PART = 2_000
_EDGE = 2**62
_WEIGHED = 2.0**40
_SAMPLERS: dict[type[Any], Sampler] = {}

Draw = TypeVar("Draw", bound=Sampler)


def register_sampler(law: type[Any]) -> Callable[[Draw], Draw]:
    """Return a decorator for the sampler of a class of laws: `(law, size) -> whole numbers`."""

    def registered(sampler: Draw) -> Draw:
        _SAMPLERS[law] = sampler
        return sampler

    return registered


def sampler_of(law: Any) -> Sampler:
    """Return the sampler of a law; refuse one that cannot be drawn."""
    if type(law) not in _SAMPLERS:
        raise InputError("noise.no_sampler", law=type(law).__name__)
    return _SAMPLERS[type(law)]


def add_noise(law: Any, values: Sequence[int], *, progress: Progress | None = None) -> list[int]:
    """Return the values, each with noise of its own by that law.

    >>> len(add_noise(DiscreteGaussian(2.0), [5, 0, 12]))
    3
    """
    draw = sampler_of(law)
    return _added(lambda size: draw(law, size), values, progress)


def _added(
    draw: Callable[[int], Sequence[int]], values: Sequence[int], progress: Progress | None
) -> list[int]:
    total = len(values)
    released: list[int] = []
    for start in range(0, total, CHUNK):
        chunk = values[start : start + CHUNK]
        noise = draw(len(chunk))
        released.extend(int(value) + drawn for value, drawn in zip(chunk, noise, strict=True))
        if progress is not None:
            progress(len(released), total)
    return released


@lru_cache(maxsize=64)
def _measurement(law: str, scale: float, part: int = 0) -> Callable[[list[int]], Any]:
    """Return OpenDP's mechanism; each part of a draw has its own."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "laplace":
        return dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=scale)  # type: ignore[no-any-return]
    if law == "gaussian":
        return dp.m.make_gaussian(vectors, dp.l2_distance(T=float), scale=scale)  # type: ignore[no-any-return]
    measures = {
        "permute-and-flip": dp.max_divergence,
        "exponential": dp.zero_concentrated_divergence,
    }
    return dp.m.make_noisy_max(vectors, dp.linf_distance(T="i64"), measures[law](), scale=scale)  # type: ignore[no-any-return]


def _zeros(law: str, scale: float, size: int) -> list[int]:
    """Return so many draws around zero."""
    if math.isnan(scale) or not 0 < scale <= WIDEST:
        raise InputError("noise.scale", law=law, scale=scale)
    # OpenDP draws outside of Python's lock, so that each processor can draw a part.
    threads = max(1, min(os.cpu_count() or 1, size // _PART))
    sizes = [size // threads + (part < size % threads) for part in range(threads)]
    draws = [
        partial(_measurement(law, float(scale), part), [0] * n) for part, n in enumerate(sizes)
    ]
    if threads == 1:
        return list(draws[0]())
    with ThreadPoolExecutor(threads) as pool:
        return [n for drawn in pool.map(lambda draw: draw(), draws) for n in drawn]


@register_sampler(Geometric)
def _geometric(law: Geometric, size: int) -> list[int]:
    scale = law.scale
    while Fraction(scale) * Fraction(law.epsilon) < law.sensitivity:
        scale = math.nextafter(scale, math.inf)
    return _zeros("laplace", scale, size)


@register_sampler(DiscreteGaussian)
def _discrete_gaussian(law: DiscreteGaussian, size: int) -> list[int]:
    return _zeros("gaussian", law.sigma, size)


def discrete_laplace(
    values: Sequence[int], scale: float, *, progress: Progress | None = None
) -> list[int]:
    """Return the values, each with its own discrete Laplace noise of that scale.

    >>> len(discrete_laplace([5, 0, 12], 2.0))
    3
    """
    return _added(lambda size: _zeros("laplace", scale, size), values, progress)


def discrete_gaussian(
    values: Sequence[int], sigma: float, *, progress: Progress | None = None
) -> list[int]:
    """Return the values, each with its own discrete Gaussian noise of that parameter.

    >>> len(discrete_gaussian([5, 0, 12], 2.0))
    3
    """
    return _added(lambda size: _zeros("gaussian", sigma, size), values, progress)


def noisy_max(scores: Sequence[int], scale: float, *, law: str = "exponential") -> int:
    """Return the index of the score that is highest after noise of that scale.

    >>> noisy_max([0, 0, 10_000], 1.0)
    2
    """
    if not scores:
        raise InputError("noise.no_scores")
    if math.isnan(scale) or not 0 < scale < math.inf:
        raise InputError("noise.selection_scale", scale=scale)
    top = max(scores)
    # Only differences of scores matter. Counting from the top keeps them small, and a score so far
    # below that it does not fit a machine word is cut where it cannot be selected anyway.
    return int(_measurement(law, float(scale))([max(score - top, -_EDGE) for score in scores]))


def weighted_choice(logarithms: Sequence[float]) -> int:
    """Return an index, each with a weight of this logarithm; −∞ for what is never chosen.

    A logarithm is taken in whole multiples of 2^−40, below the largest.

    >>> weighted_choice([-math.inf, 0.0, -math.inf])
    1
    """
    top = max(logarithms)
    places = [place for place, one in enumerate(logarithms) if one > -math.inf]
    scores = [round((logarithms[place] - top) * _WEIGHED) for place in places]
    return places[noisy_max(scores, _WEIGHED) if len(scores) > 1 else 0]


DRAWS, FAILURE = 2_000, 1e-9


def self_test(draws: int = DRAWS) -> Iterator[tuple[str, bool, int]]:
    """Yield for each law its name, whether what is drawn here fits it, and how many were drawn.

    The empirical distribution of n draws is within √(log(2/β)/2n) of the true one everywhere, with
    probability at least 1 − β (Dvoretzky, Kiefer and Wolfowitz 1956; Massart 1990), β = 1e-9.
    """
    reach = math.sqrt(math.log(2 / FAILURE) / (2 * draws))
    for law in (one.of_scale(3.0) for one in released_laws().values()):
        drawn = sorted(add_noise(law, [0] * draws))
        upto = {value: place for place, value in enumerate(drawn, start=1)}
        off = max(abs(count / draws - law.cdf(value)) for value, count in upto.items())
        yield type(law).__name__, off <= reach, draws
