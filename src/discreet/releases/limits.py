"""A limit of rows chosen from the data, and paid for: `rows: {choose: [1, 2, 5, 10, 20]}`.

With m_u the rows of unit u and R₁ < … < R_k the limits to choose among, the limit R loses

    lost(R) = Σ_u min(m_u, R_k) − min(m_u, R)

rows. Its score is −lost(R) − noise(R), where noise(R), public, is how many rows the noise of the
release at that limit amounts to: of each number the mean size of its noise, in rows, over all
cells. The score is thus about the total error of a table of counts, of the wrong sign.

Sensitivity. A unit adds min(m, R_k) − min(m, R) to lost(R), which lies between 0 and R_k − R, so
between 0 and Δ = R_k − R₁ whatever its m. Adding or removing a unit moves every score by at most Δ,
and all of them in one direction: a selection then loses Δ/s instead of 2Δ/s (as for any monotone
score). Replacing a unit moves a score by at most Δ, one way or the other: 2Δ/s.

The choice has a weight among those of the statistics. What they get does not depend on the limit
that is chosen, so the whole charge is known before a row is read; only their noise follows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.guarantees import Adjacency
from discreet.noise import noisy_max
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, Engine, Query
from discreet.releases.statistics.base import Part

if TYPE_CHECKING:
    from discreet.releases.planning import Plan

LIMIT = "protect.rows"
"""The name of the call in a plan."""


def limit_part(limits: Sequence[int], adjacency: Adjacency) -> Part:
    """Return the mechanism call that chooses one of rising limits."""
    moves = limits[-1] - limits[0]
    monotone = adjacency is not Adjacency.REPLACE
    return Part.of_choice("choice", [moves], Fraction(1), monotone=monotone)


def lost_rows(kept: Sequence[int]) -> list[int]:
    """Return lost(R) from the rows that each limit keeps, the largest limit last."""
    return [kept[-1] - rows for rows in kept]


def noise_in_rows(plan: Plan) -> int:
    """Return how many rows the noise of a plan amounts to: a mean over its calls on numbers."""
    sizes = []
    for planned in plan.statistics:
        if planned.statistic.counts_units:
            continue
        cells = 1 if planned.cells is None else len(planned.cells)
        for call in plan.calls(planned.name).values():
            part = call.asked.part
            if part.form == "numbers" and call.asked.threshold is None:
                row = part.l1 / Fraction(planned.contribution.l1())  # what one row adds at most
                sizes.append(cells * call.sd / math.sqrt(2) / max(float(row), 1e-300))
    return round(math.fsum(sizes) / len(sizes)) if sizes else 0


def chosen_limit(plan: Plan, alternatives: Mapping[int, Plan], engine: Engine) -> int:
    """Choose a limit on the data, by the call that the plan has for it."""
    adjacency = Adjacency.of(plan.spec.protect.adjacency)
    unit = plan.spec.protect.column

    def kept(limit: int) -> Any:
        bounds = Contribution(limit, 1, limit, adjacency)
        return engine.measure(Query(unit, None, bounds, (Counting("rows"),)))["rows"][0]

    limits = list(alternatives)
    lost = lost_rows([kept(limit) for limit in limits])
    scores = [
        -rows - noise_in_rows(alternatives[limit]) for rows, limit in zip(lost, limits, strict=True)
    ]
    call = plan.calls(LIMIT)["choice"]
    law = "exponential" if call.mechanism == "exponential" else "permute-and-flip"
    return limits[noisy_max(scores, call.scale, law=law)]  # type: ignore[arg-type]
