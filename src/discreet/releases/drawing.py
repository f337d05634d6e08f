"""From rows to a table, once the charge is in the ledger.

    find keys that were paid for ─ bound and aggregate ─ noise ─ answers ─ table

`draw` is the one way from an engine to published numbers: a release takes it once, an audit many
times on data of its own, watching each call of a mechanism through `observe`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.errors import DataError
from discreet.noise import discrete_laplace, noisy_max, sampler_of
from discreet.releases.engines.base import Engine, KeySet, Labels, Query
from discreet.releases.planning import KEYS, Plan, Planned
from discreet.releases.pricing import Priced
from discreet.releases.statistic import Noisy
from discreet.releases.tables import Table, table_of

__all__ = ["Drawn", "Observe", "Progress", "draw", "passes", "query_of", "with_noise"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with (what, done, total) while something long is on its way."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One call of a mechanism, with what lies behind it: for the eyes of an audit alone.

    `true` is None where the call chose among scores instead of adding noise to numbers.
    """

    planned: Planned
    call: Priced
    cells: KeySet | None
    true: Sequence[int] | None
    noisy: Noisy


Observe: TypeAlias = Callable[[Drawn], None]


def draw(
    plan: Plan,
    engine: Engine,
    *,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> Table:
    """Measure what a plan asks, add noise, and read the answers."""
    tell = progress or _silent
    _refuse_nulls(plan, engine)
    found: dict[tuple[str, ...], KeySet] = {}
    results = []
    for group in passes(plan.statistics):
        cells = group[0].cells
        if group[0].found_by is not None:
            by = group[0].by
            if by not in found:
                found[by] = _found(plan, engine, group[0], tell)
            cells = found[by]
        results += _answered(plan, engine, group, cells, tell, observe)
    order = {planned.name: place for place, planned in enumerate(plan.statistics)}
    results.sort(key=lambda result: order[result[0]])
    return table_of(results, plan.columns())


def _silent(what: str, done: int, total: int) -> None:
    """Show no progress."""


def passes(statistics: tuple[Planned, ...]) -> list[list[Planned]]:
    """Gather the statistics that share one pass: the same cells, the same bounds."""
    passes: dict[Any, list[Planned]] = {}
    for planned in statistics:
        cells = planned.cells.keys if planned.cells is not None else planned.found_by
        passes.setdefault((planned.by, cells, planned.contribution), []).append(planned)
    return list(passes.values())


def query_of(
    plan: Plan, group: Sequence[Planned], cells: KeySet | None, priority: str | None = None
) -> Query:
    """Return what the engine is asked for the statistics of one pass."""
    return Query(
        unit=plan.spec.protect.column,
        cells=cells,
        contribution=group[0].contribution,
        measures=tuple(m for planned in group for m in planned.statistic.measures()),
        priority=priority,
    )


def _refuse_nulls(plan: Plan, engine: Engine) -> None:
    if plan.spec.nulls != "refuse":
        return
    texts, numbers = list(plan.spec.protect.column), []
    for planned in plan.statistics:
        texts += planned.by
        fields = [m.field for m in planned.statistic.measures() if m.field is not None]
        texts += [field.column for field in fields if isinstance(field, Labels)]
        numbers += [field.column for field in fields if not isinstance(field, Labels)]
    missing = engine.missing(set(texts), set(numbers))
    if missing is not None:
        raise DataError(
            f"column {missing!r} has missing values, and the spec says nulls: refuse. Fill "
            "them in, or say nulls: drop."
        )


def _found(plan: Plan, engine: Engine, planned: Planned, tell: Progress) -> KeySet:
    """Find the keys that enough units have, by noisy counts and the threshold paid for."""
    call = plan.calls(str(planned.found_by))[KEYS]
    found = engine.find_keys(plan.spec.protect.column, planned.by, planned.contribution)
    noisy = discrete_laplace(
        found.units, call.scale, progress=lambda done, total: tell("finding keys", done, total)
    )
    least = call.threshold or 0
    places = [
        place
        for place, (units, count) in enumerate(zip(found.units, noisy, strict=True))
        if units > 0 and count >= least
    ]
    return engine.reveal(found, places)


def _answered(
    plan: Plan,
    engine: Engine,
    group: list[Planned],
    cells: KeySet | None,
    tell: Progress,
    observe: Observe | None,
) -> list[Any]:
    """Answer the statistics of one pass."""
    if cells is not None and not len(cells):
        return [(p.name, cells, p.statistic.extra, []) for p in group]
    tell("bounding and aggregating", 0, 1)
    measured = engine.measure(query_of(plan, group, cells))
    tell("bounding and aggregating", 1, 1)
    results = []
    for planned in group:
        confidence = plan.confidences[planned.name]
        noisy: dict[str, Noisy] = {}
        for name, call in plan.calls(planned.name).items():
            if name == KEYS:
                continue
            drawn = _drawn(planned, call, cells, measured, confidence, tell)
            if observe is not None:
                observe(drawn)
            noisy[name] = drawn.noisy
        answers = planned.statistic.answers(noisy, plan.spec.interval)
        results.append((planned.name, cells, planned.statistic.extra, answers))
    return results


def _drawn(
    planned: Planned,
    call: Priced,
    cells: KeySet | None,
    measured: Mapping[str, Any],
    confidence: float,
    tell: Progress,
) -> Drawn:
    part = call.asked.part
    what = f"drawing noise for {planned.name}"
    if part.form == "numbers":
        numbers = planned.statistic.numbers(part.name, measured)
        values = with_noise(call, numbers, lambda done, total: tell(what, done, total))
        return Drawn(
            planned, call, cells, numbers, Noisy(values, call.half_width(confidence), call.sd)
        )
    chosen = []
    scores = planned.statistic.scores(part.name, measured)
    law = "exponential" if call.mechanism == "exponential" else "permute-and-flip"
    for done, cell in enumerate(scores, start=1):
        chosen.append(noisy_max(cell, call.scale, law=law))  # type: ignore[arg-type]
        tell(what, done, len(scores))
    return Drawn(planned, call, cells, None, Noisy(chosen, 0, call.sd))


def with_noise(
    call: Priced, numbers: Sequence[int], progress: Callable[[int, int], None] | None = None
) -> list[int]:
    """Add the noise of a call to whole numbers."""
    return sampler_of(type(call.law))(numbers, call.scale, progress=progress)
