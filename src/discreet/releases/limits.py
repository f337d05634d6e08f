"""A limit of rows chosen from the data, and paid for: `rows: {choose: [1, 2, 5, 10, 20]}`.

With m_u the rows of unit u and R₁ < … < R_k the limits to choose among, the limit R loses

    lost(R) = Σ_u min(m_u, R_k) − min(m_u, R)

rows. Its cost is lost(R) + noise(R), where noise(R), public, is how many rows the noise of the
release at that limit amounts to: of each number the mean size of its noise, in rows, over all
cells. The cost is thus about the total error of a table of counts. The score of a limit is what it
saves beside each other one, for each row that the two limits are apart,

    score(R_i) = min over j ≠ i of (cost(R_j) − cost(R_i)) / |R_i − R_j|, rounded down,

which is 0 or more for the best limit alone, up to ties. (lost(R_i) − lost(R_j)) / (R_j − R_i) is
how many units have more rows than the limit, on average between the two.

Sensitivity. A unit of m rows adds min(m, R_i) − min(m, R_j) to lost(R_j) − lost(R_i), which for
R_i > R_j lies between 0 and R_i − R_j, whatever m. So adding, removing or replacing a unit moves
each quotient by at most 1; so their minimum, and a number rounded down moves by at most 1 where it
moves by at most 1 before. Scores move both ways: a selection loses 2/s. The largest limit does not
enter: a list with a limit of 100 chooses between 5 and 10 as well as one without.

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


def limit_part() -> Part:
    """Return the mechanism call that chooses one of several limits."""
    return Part.of_choice("choice", [1], Fraction(1), monotone=False)


def limit_scores(limits: Sequence[int], kept: Sequence[int], noise: Sequence[int]) -> list[int]:
    """Return the score of each limit, from the rows that each keeps and its noise in rows."""
    cost = [added - rows for rows, added in zip(kept, noise, strict=True)]  # up to a constant
    places = range(len(limits))
    return [
        min((cost[j] - cost[i]) // abs(limits[i] - limits[j]) for j in places if j != i)
        for i in places
    ]


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
    noise = [noise_in_rows(one) for one in alternatives.values()]
    scores = limit_scores(limits, [kept(limit) for limit in limits], noise)
    call = plan.calls(LIMIT)["choice"]
    return limits[noisy_max(scores, call.scale, law=call.mechanism)]
