"""From rows to a table, once the charge is in the ledger.

    find keys that were paid for ─ bound and aggregate ─ noise ─ answers ─ table

A limit of rows is chosen from the data, and paid for: `rows: {choose: [1, 2, 5, 10, 20]}`. With m_u
the rows of unit u and R₁ < … < R_k the limits to choose among, the limit R loses

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

`draw` is the one way from an engine to published numbers: a release takes it once, an audit many
times on data of its own, watching each call of a mechanism through `observe`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from discreet.guarantees import Adjacency
from discreet.noise import add_noise, noisy_max, weighted_choice
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Cells, Counting, Engine, Query
from discreet.releases.planning import LIMIT, Plan, Planned
from discreet.releases.pricing import Priced
from discreet.releases.rows import condition
from discreet.releases.statistics.base import DRAWN
from discreet.releases.statistics.cut import outer_ends
from discreet.releases.statistics.values import Noisy, Result
from discreet.releases.tables import BESIDE, STATISTIC, Table, table_of, uncollected
from discreet.words import say

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with (what, done, total) while something long is on its way."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One call of a mechanism, with what lies behind it: for the eyes of an audit alone.

    `true` is None where the call chose among scores instead of adding noise to numbers.
    """

    planned: Planned
    call: Priced
    cells: Cells | None
    true: Sequence[int] | None
    noisy: Noisy


Observe: TypeAlias = Callable[[Drawn], None]


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
            if part.form == "numbers" and not call.asked.keys:
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


@uncollected()
def draw(
    plan: Plan,
    engine: Engine,
    *,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> Table:
    """Measure what a plan asks, add noise, and read the answers; find keys first, if any."""
    tell, engine = _teller(progress), _watched(engine, progress)
    plan = with_found_keys(plan, engine, progress)
    drawn: dict[str, Result] = {}
    for group in passes(plan.statistics):
        drawn |= {one.name: one for one in _answered(plan, engine, group, tell, observe)}
    results = [drawn[planned.name] for planned in plan.statistics]
    return table_of([*results, *_derived(plan, results)], plan.columns())


def completed(plan: Plan, table: Table) -> Table:
    """Return a table with the intervals that follow from it alone: of twins, and of what was cut.

    It is a step of its own since an audit draws thousands of tables and needs none of them.
    """
    if plan.spec.cut is None and not any(one.statistic.mixes for one in plan.statistics):
        return table
    ends: dict[str, list[Any]] = {name: [None] * len(table) for name in BESIDE}
    places: dict[str, list[int]] = {}
    for place, name in enumerate(table.columns[STATISTIC]):
        places.setdefault(str(name), []).append(place)
    value, low, high = (table.columns[n] for n in ("value", "interval_low", "interval_high"))
    cut = {n: value[at[0]] for n, at in places.items() if n.startswith("cut/")}
    for planned in plan.statistics:
        own = places.get(planned.name, [])
        if not own:  # no key was found
            continue
        published = [table.columns["published"][place] for place in own]
        calls = plan.calls(planned.name)
        twins = planned.statistic.twin_ends(published, calls, plan.spec.interval)
        both = [(low[place], high[place]) for place in own]
        outer = outer_ends(plan, planned, [value[place] for place in own], both, cut)
        for kind, found in (("published", twins), ("outer", outer)):
            for place, (least, most) in zip(own, found or (), strict=False):
                ends[f"{kind}_low"][place], ends[f"{kind}_high"][place] = least, most
    for name, column in ends.items():
        table = table.beside(name, column)
    return table


def _derived(plan: Plan, results: Sequence[Result]) -> Iterator[Result]:
    """Make what follows from released numbers; nothing is measured for it and no noise drawn."""
    if not plan.derived:
        return
    known = {one.name: one for one in plan.statistics if one.statistic.adds is not None}
    released = {
        result.name: known[result.name].released(result, plan.calls(result.name))
        for result in results
        if result.name in known
    }
    for make in plan.derived.values():
        yield make(released, plan.spec.interval)


_Tell: TypeAlias = Callable[..., None]
"""Tells how far something is: the name of its text, done, total, and the text's values."""


def _teller(progress: Progress | None) -> _Tell:
    """Return what tells progress in words; where nobody asks, no words are made."""

    def tell(name: str, done: int, total: int, **values: str) -> None:
        if progress is not None:
            progress(say(name, **values), done, total)

    return tell


def _watched(engine: Engine, progress: Progress | None) -> Engine:
    """Return an engine that tells how far its queries are, if it can and somebody asks."""
    watched = getattr(engine, "watched", None)
    return engine if progress is None or watched is None else watched(progress)


def passes(statistics: tuple[Planned, ...]) -> list[list[Planned]]:
    """Gather the statistics that share one pass: the same cells, the same bounds."""
    passes: dict[Any, list[Planned]] = {}
    for planned in statistics:
        shared = (planned.by, planned.cells, planned.contribution, planned.where)
        passes.setdefault(shared, []).append(planned)
    return list(passes.values())


def query_of(plan: Plan, group: Sequence[Planned], priority: str | None = None) -> Query:
    """Return what the engine is asked for the statistics of one pass."""
    return Query(
        unit=plan.spec.protect.column,
        cells=group[0].cells,
        contribution=group[0].contribution,
        measures=tuple(m for planned in group for m in planned.statistic.measures()),
        priority=priority,
    )


def measures_of(plan: Plan, engine: Engine, group: Sequence[Planned]) -> dict[str, Any]:
    """Return what the engine answers for the statistics of one pass, before any noise."""
    return meeting(engine, group[0].where).measure(query_of(plan, group))


def meeting(engine: Engine, where: str | None) -> Engine:
    """Return the rows that meet a condition."""
    if where is None:
        return engine
    found: Engine = engine.filtered(condition(where, engine.columns))  # type: ignore[attr-defined]
    return found


def with_found_keys(plan: Plan, engine: Engine, progress: Progress | None = None) -> Plan:
    """Return a plan with the keys that it pays for: those that enough units have.

    Noise goes on the number of units of every key, and those at or above the threshold are found;
    of too many, the ones with the largest noisy numbers.
    """
    if not any(planned.open for planned in plan.statistics):
        return plan
    tell, engine, keys = _teller(progress), _watched(engine, progress), {}
    for search, call in plan.searches.items():
        rows = meeting(engine, search.where)
        found = rows.find_keys(plan.spec.protect.column, search.sought.columns, search.contribution)
        noisy = with_noise(call, found.units, partial(tell, "releases.progress.keys"))
        least = call.threshold or 0
        places = [
            place
            for place, (units, count) in enumerate(zip(found.units, noisy, strict=True))
            if units > 0 and count >= least
        ]
        places.sort(key=lambda place: -noisy[place])
        keys[search] = rows.reveal(found, places[: search.sought.most])
    return plan.with_keys(keys)


def _answered(
    plan: Plan,
    engine: Engine,
    group: list[Planned],
    tell: _Tell,
    observe: Observe | None,
) -> list[Result]:
    """Answer the statistics of one pass."""
    cells = group[0].cells
    if cells is not None and not len(cells):
        return [
            Result(p.name, p.shown(cells), p.statistic.extra, [[]] if p.statistic.overall else [])
            for p in group
        ]
    tell("releases.progress.measuring", 0, 1)
    found = measures_of(plan, engine, group)
    tell("releases.progress.measuring", 1, 1)
    results = []
    for planned in group:
        confidence = plan.confidence(planned.name)
        noisy: dict[str, Noisy] = {}
        seen = {**found, planned.statistic.measure_name(DRAWN): noisy}
        for name, call in plan.calls(planned.name).items():
            over = None if planned.statistic.overall else cells
            drawn = _drawn(planned, call, over, seen, confidence, tell)
            if observe is not None:
                observe(drawn)
            noisy[name] = drawn.noisy
        rows = planned.statistic.rows(noisy, plan.spec.interval)
        results.append(Result(planned.name, planned.shown(cells), planned.statistic.extra, rows))
    return results


def _drawn(
    planned: Planned,
    call: Priced,
    cells: Cells | None,
    measured: Mapping[str, Any],
    confidence: float,
    tell: _Tell,
) -> Drawn:
    part = call.asked.part
    drawing = partial(tell, "releases.progress.noise", statistic=planned.name)
    if part.form == "numbers":
        numbers = planned.statistic.numbers(part.name, measured)
        values = with_noise(call, numbers, drawing)
        noisy = Noisy(values, call.half_width(confidence), call.sd, call.law)
        return Drawn(planned, call, cells, numbers, noisy)
    if part.joint:
        found = planned.statistic.chosen(part.name, measured, weighted_choice, call.scale)
        return Drawn(planned, call, cells, None, Noisy(found, 0, call.sd))
    chosen = []
    scores = planned.statistic.scores(part.name, measured)
    for done, cell in enumerate(scores, start=1):
        chosen.append(noisy_max(cell, call.scale, law=call.mechanism))
        drawing(done, len(scores))
    return Drawn(planned, call, cells, None, Noisy(chosen, 0, call.sd))


def with_noise(
    call: Priced, numbers: Sequence[int], progress: Callable[[int, int], None] | None = None
) -> list[int]:
    """Add the noise of a call to whole numbers."""
    return add_noise(call.law, numbers, progress=progress)
