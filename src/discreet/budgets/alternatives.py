"""Other people's ways to an epsilon, to compare with; each with the assumption it needs.

Lee and Clifton (2011): the whole population and all its values are public, exactly one person is
left out of the data, and the adversary asks who. To keep every posterior at or below a,

    ε = (ΔT/Δv) log((n−1) a/(1−a)),

with n the population, ΔT the sensitivity of the statistic and Δv the largest difference it can make
which of two people is left out. "Exactly one is missing" ties every person to every other, which
breaks K&R's assumption 2: their comparison value for it (ε = 0.41 at n = 4, a = 1/3) does not hold
there: with Laplace noise of scale ΔT/ε on the sum of 1, −1, −1, −1 the posterior reaches 0.43.

Naive: ½ log r, from r ≤ e^{2ε} at every prior (K&R eq. 7; log r under replace and local, where
r ≤ e^ε); safe, and smaller than it need be wherever a tolerance allows more at some priors.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.errors import InputError
from discreet.frames import JsonReady
from discreet.guarantees import Adjacency
from discreet.promises.tolerance import check_ratio
from discreet.rounding import down, up


def naive(ratio: float, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> float:
    """Return ½ log r, rounded down; log r under replace and local.

    >>> round(naive(3), 4), round(naive(3, Adjacency.REPLACE), 4)
    (0.5493, 1.0986)
    """
    share = 0.5 if adjacency is Adjacency.ADD_REMOVE else 1.0
    return down(share * math.log1p(check_ratio(ratio) - 1))


def lee_clifton_rule(
    people: int, posterior: float, *, sensitivity: float, contrast: float
) -> float:
    """Return (ΔT/Δv) log((n−1) a/(1−a)), rounded down: ΔT the sensitivity, Δv the contrast.

    >>> round(lee_clifton_rule(4, 1 / 3, sensitivity=1, contrast=1), 4)
    0.4055
    """
    if isinstance(people, bool) or people != int(people) or people < 2:
        raise InputError("budgets.population", population=people)
    if not 1 / people < posterior < 1:
        least = 1 / people
        raise InputError("budgets.posterior_of_population", posterior=posterior, least=least)
    for name, value in (("sensitivity", sensitivity), ("contrast", contrast)):
        if not (value > 0 and math.isfinite(value)):
            raise InputError("budgets.not_positive", name=name, value=value)
    odds = down((people - 1) * posterior / (1 - posterior))
    return max(0.0, down(sensitivity / contrast * math.log(odds)))


@dataclass(frozen=True, slots=True)
class LeeClifton(JsonReady):
    """Lee and Clifton's ε for a public population, and what K&R's rule would do there.

    `sensitivity` is ΔT, `contrast` Δv. `ours` is K&R's ε for the same limit, which assumes that the
    others are independent of the one who is missing, and `ours_reaches` the posterior that Laplace
    noise by it can lead to, since they are not.
    """

    people: int
    posterior: float
    sensitivity: float
    contrast: float
    epsilon: float
    ours: float
    ours_reaches: float


_STATISTICS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "sum": math.fsum,
    "variance": statistics.pvariance,
    "max": max,
    "min": min,
}
_MOST = 200


def lee_clifton(
    population: Sequence[float],
    posterior: float,
    statistic: str | Callable[[Sequence[float]], float] = "mean",
) -> LeeClifton:
    """Return Lee and Clifton's ε for a public population from which one person is left out.

    ΔT and Δv follow from every way to leave out one person, and a second one (K&R (40), (41)).

    >>> absent = [1, 2, 3, 10]
    >>> round(lee_clifton(absent, 1 / 3).epsilon, 4)
    0.3829
    >>> round(lee_clifton(absent, 1 / 3, "median").epsilon, 4)
    1.6219
    """
    people = [float(value) for value in population]
    n = len(people)
    if not 3 <= n <= _MOST or not all(map(math.isfinite, people)):
        raise InputError("budgets.public_population", people=n, most=_MOST)
    if isinstance(statistic, str) and statistic not in _STATISTICS:
        known = ", ".join(_STATISTICS)
        raise InputError("budgets.population_statistic", name=statistic, known=known)
    value = _STATISTICS[statistic] if isinstance(statistic, str) else statistic
    one_less = [people[:i] + people[i + 1 :] for i in range(n)]
    values = [value(rest) for rest in one_less]
    contrast = max(values) - min(values)
    if contrast == 0:
        raise InputError("budgets.no_contrast")
    sensitivity = max(
        abs(whole - value(rest[:j] + rest[j + 1 :]))
        for rest, whole in zip(one_less, values, strict=True)
        for j in range(n - 1)
    )
    ours = lee_clifton_rule(n, posterior, sensitivity=1, contrast=1)
    return LeeClifton(
        people=n,
        posterior=posterior,
        sensitivity=sensitivity,
        contrast=contrast,
        epsilon=lee_clifton_rule(n, posterior, sensitivity=sensitivity, contrast=contrast),
        ours=ours,
        ours_reaches=up(reached(values, sensitivity / ours) if ours else 1 / n),
    )


def reached(values: Sequence[float], scale: float) -> float:
    """Return the largest posterior of who is missing, under Laplace noise of this scale.

    `values` are those of the statistic with each person left out in turn, equally likely before.
    Between two values the posterior of each rises or falls throughout, so an output equal to one of
    them is the worst.
    """
    worst = 0.0
    for output in values:
        weights = [math.exp(-abs(output - value) / scale) for value in values]
        worst = max(worst, max(weights) / math.fsum(weights))
    return worst
