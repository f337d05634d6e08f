"""One contract for every sampler: the law in laws/ (or an enumeration), and its support.

Failure probabilities. Each law is tested once by Dvoretzky–Kiefer–Wolfowitz (rigorous: the
empirical distribution function of n draws is off by more than √(log(2/β)/2n) with probability at
most β) with β = 1e-8, and once by chi-square at level 1e-8 on cells of expectation 50 or more
(asymptotic). With ten samplers a correct one fails somewhere with probability below 2.1e-7.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import pytest
from scipy import stats

from discreet import noise
from discreet.errors import InputError
from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.noise import samplers
from discreet.releases.pricing import Asked, Priced
from discreet.releases.statistics.values import Part

LEVEL = 1e-8
DRAWS = 20_000


@dataclass(frozen=True)
class Sampler:
    name: str
    draw: Callable[[int], list[int]]
    mass: Callable[[int], float]
    low: int
    high: int


def _geometric(scale: float) -> Callable[[int], float]:
    law = Geometric(1 / scale)
    return lambda n: law.tail(n) - law.tail(n + 1)


def _gaussian(sigma: float) -> Callable[[int], float]:
    law = DiscreteGaussian(sigma)
    return lambda n: law.tail(n) - law.tail(n + 1)


def _softmax(scores: list[int], scale: float) -> Callable[[int], float]:
    weights = [math.exp(score / scale) for score in scores]
    return lambda i: weights[i] / math.fsum(weights) if 0 <= i < len(scores) else 0.0


def _permute_and_flip(scores: list[int], scale: float) -> Callable[[int], float]:
    """By enumeration: visit candidates in random order, stop at each with e^{(u−max)/s}."""
    stop = [math.exp((score - max(scores)) / scale) for score in scores]
    orders = list(permutations(range(len(scores))))
    found = [0.0] * len(scores)
    for order in orders:
        left = 1.0
        for i in order:
            found[i] += left * stop[i] / len(orders)
            left *= 1 - stop[i]
    return lambda i: found[i] if 0 <= i < len(scores) else 0.0


SCORES = [0, 3, 5, 5]
ANSWERS = [0, 1, 2]
KEEP = Fraction(5, 8)

SAMPLERS = [
    Sampler(
        "discrete laplace, narrow",
        lambda n: noise.discrete_laplace([0] * n, 0.7),
        _geometric(0.7),
        -40,
        40,
    ),
    Sampler(
        "discrete laplace, wide",
        lambda n: noise.discrete_laplace([0] * n, 12.5),
        _geometric(12.5),
        -400,
        400,
    ),
    Sampler(
        "discrete gaussian, narrow",
        lambda n: noise.discrete_gaussian([0] * n, 0.6),
        _gaussian(0.6),
        -12,
        12,
    ),
    Sampler(
        "discrete gaussian, wide",
        lambda n: noise.discrete_gaussian([0] * n, 9.25),
        _gaussian(9.25),
        -120,
        120,
    ),
    Sampler(
        "exponential mechanism",
        lambda n: [noise.noisy_max(SCORES, 2.0, law="exponential") for _ in range(n)],
        _softmax(SCORES, 2.0),
        0,
        3,
    ),
    Sampler(
        "permute and flip",
        lambda n: [noise.noisy_max(SCORES, 2.0, law="permute-and-flip") for _ in range(n)],
        _permute_and_flip(SCORES, 2.0),
        0,
        3,
    ),
    Sampler(
        "bernoulli",
        lambda n: [int(noise.bernoulli(Fraction(2, 7))) for _ in range(n)],
        lambda i: {0: 5 / 7, 1: 2 / 7}[i],
        0,
        1,
    ),
    Sampler("uniform", lambda n: noise.uniforms(11, n).tolist(), lambda i: 1 / 11, 0, 10),
    Sampler(
        "hypergeometric",
        lambda n: [noise.hypergeometric(10, 4, 5) for _ in range(n)],
        lambda i: math.comb(4, i) * math.comb(6, 5 - i) / math.comb(10, 5),
        0,
        4,
    ),
    Sampler(
        "multinomial",
        lambda n: [
            i
            for i, hits in enumerate(noise.multinomial(n, [1, Fraction(5, 2), 0, 3]))
            for _ in range(hits)
        ],
        lambda i: [2 / 13, 5 / 13, 0.0, 6 / 13][i],
        0,
        3,
    ),
    Sampler(
        "randomized response",
        lambda n: [noise.randomize(1, ANSWERS, KEEP) for _ in range(n)],
        lambda i: [3 / 16, 10 / 16, 3 / 16][i],
        0,
        2,
    ),
]
by_name = pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.name)


@by_name
def test_the_law_is_a_law(sampler: Sampler) -> None:
    total = math.fsum(sampler.mass(n) for n in range(sampler.low, sampler.high + 1))
    assert total == pytest.approx(1, abs=1e-9)


@by_name
def test_draws_follow_the_law(sampler: Sampler) -> None:
    drawn = sampler.draw(DRAWS)
    assert len(drawn) == DRAWS
    seen = Counter(drawn)
    support = range(sampler.low, sampler.high + 1)
    assert set(seen) <= set(support)
    expected = [DRAWS * sampler.mass(n) for n in support]
    observed = [seen[n] for n in support]

    off, here = 0.0, 0.0
    for found, wanted in zip(observed, expected, strict=True):
        here += (found - wanted) / DRAWS
        off = max(off, abs(here))
    assert off <= math.sqrt(math.log(2 / LEVEL) / (2 * DRAWS))

    cells: list[list[float]] = [[0.0, 0.0]]
    for found, wanted in zip(observed, expected, strict=True):
        cells[-1][0] += found
        cells[-1][1] += wanted
        if cells[-1][1] >= 50:
            cells.append([0.0, 0.0])
    rest = cells.pop()
    cells[-1] = [cells[-1][0] + rest[0], cells[-1][1] + rest[1]]
    statistic = sum((found - wanted) ** 2 / wanted for found, wanted in cells)
    assert stats.chi2.sf(statistic, len(cells) - 1) > LEVEL


@pytest.mark.parametrize("draw", [noise.discrete_laplace, noise.discrete_gaussian])
def test_every_integer_can_come_even_where_doubles_are_sparse(
    draw: Callable[..., list[int]],
) -> None:
    """At a scale of 2^52 doubles near the noise are even or sparser; a floating sampler shows it.

    Each of the draws beyond 2^53 is odd with probability one half (to within e^-2π²), so that all
    are even with probability below 2^-40 once there are 40 of them; fewer than 40 such draws in
    4,000 has probability below 1e-100 (each is beyond with probability above 4 %).
    """
    far = [n for n in draw([0] * 4_000, 2.0**52) if abs(n) > 2**53]
    assert len(far) >= 40
    assert any(n % 2 for n in far)


def test_a_floating_sampler_would_be_caught() -> None:
    """The control of the test above: an inverse-CDF sampler in doubles never gives an odd one."""
    coin = random.Random(7)  # noqa: S311
    drawn = [round(2.0**52 * math.log(coin.random())) for _ in range(4_000)]
    far = [n for n in drawn if abs(n) > 2**53]
    assert len(far) >= 40
    assert not any(n % 2 for n in far)


def test_noise_is_added_exactly_to_numbers_that_no_double_holds() -> None:
    """2^60 + 1 is no double: a floating sum would round it to 2^60 before the noise came."""
    value = 2**100 + 1
    released = noise.discrete_laplace([value] * 2_000, 2.0)
    residues = {n - value for n in released}
    # P(|N| > 60) < 1e-12 a draw; each of −2 … 2 is missed by 2,000 draws with probability < 1e-60.
    assert {-2, -1, 0, 1, 2} <= residues
    assert max(map(abs, residues)) < 100


def test_noise_comes_in_chunks_with_progress() -> None:
    told: list[tuple[int, int]] = []
    size = 2 * 10_000 + 5
    released = noise.discrete_laplace(
        [7] * size, 1.0, progress=lambda done, total: told.append((done, total))
    )
    assert len(released) == size
    assert told == [(10_000, size), (20_000, size), (size, size)]


def test_two_draws_differ() -> None:
    """Equal vectors of 200 have probability below (1/10)^200: no seed hides anywhere."""
    assert noise.discrete_laplace([0] * 200, 10.0) != noise.discrete_laplace([0] * 200, 10.0)
    assert noise.uniforms(2**62, 50).tolist() != noise.uniforms(2**62, 50).tolist()


def test_a_law_is_drawn_by_the_sampler_registered_for_it() -> None:
    class Coin:
        """Noise of one or minus one."""

    with pytest.raises(InputError, match="no sampler for Coin"):
        noise.add_noise(Coin(), [1, 2])

    @noise.register_sampler(Coin)
    def toss(law: Coin, size: int) -> list[int]:
        return [1 if noise.bernoulli(Fraction(1, 2)) else -1 for _ in range(size)]

    told: list[tuple[int, int]] = []
    drawn = noise.add_noise(Coin(), [10] * 25_000, progress=lambda *now: told.append(now))
    assert set(drawn) == {9, 11}
    assert told == [(10_000, 25_000), (20_000, 25_000), (25_000, 25_000)]
    assert noise.sampler_of(Coin()) is toss


@pytest.mark.parametrize("scale", [0.7, 6.0, 49.0, 1e9 / 3, 2.0**52])
def test_geometric_noise_has_exactly_the_scale_of_its_call(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scale that is an ulp short would cost more than was charged."""
    part = Part("count", "numbers", Fraction(1), Fraction(1))
    call = Priced(Asked("s", part, Fraction(1)), "geometric", scale, 1.0, None)
    seen: list[float] = []

    def measured(law: str, used: float, part: int) -> Callable[[list[int]], list[int]]:
        seen.append(used)
        return list

    monkeypatch.setattr(samplers, "_measurement", measured)
    assert noise.add_noise(call.law, [0]) == [0]
    assert seen == [scale]
    assert call.law.sd == Geometric(1 / scale).sd


@pytest.mark.parametrize("size", [0, 1, 1_999, 4_000, 9_001, 23_456])
def test_every_value_has_noise_of_its_own_however_the_draws_are_shared_out(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads with the same noise would repeat it.

    At this scale two values are equal with probability 1.25e-10. Of the 2.8e8 pairs of the longest
    list more than three are equal with probability below 1e-7 (Poisson, mean 0.034).
    """
    monkeypatch.setattr("discreet.noise.samplers.os.cpu_count", lambda: 3)
    drawn = noise.add_noise(Geometric(5e-10), [0] * size)
    assert len(drawn) == size
    assert len(set(drawn)) >= size - 3
