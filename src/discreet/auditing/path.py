"""The real path of a release, run on generated data: bounding, aggregation, noise, table.

A spec is raised to the audit's budget (`raised`): the mechanism, the weights, the bounds and the
keys stay as they are. The source is never opened. Columns are of the types that the source has: all
text for a CSV file, numbers as doubles otherwise.

A trial runs the pipeline's own code from the first query to the finished table. Bounding and
aggregation cost a hundred times what noise costs, so `Replay` lets the engine do them a few times
for each data set, each time with fresh priorities, and every trial takes one of those results at
random; noise, thresholds and tables are made anew in every trial. That is sound: the people around
the target are within their bounds, so a right engine gives the same numbers for them each time, and
each result differs from the neighbour's by no more than the sensitivity. Engines are also compared
under coupled priorities, number by number (`checks`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.auditing.events import Name, Sample, collected
from discreet.guarantees import ApproxDP, PureDP
from discreet.laws.registry import usual_noise
from discreet.releases.contributions import Contribution
from discreet.releases.drawing import Drawn, chosen_limit, draw
from discreet.releases.engines import is_csv
from discreet.releases.engines.base import Column, Found, KeySet, Labels, Query, fields
from discreet.releases.planning import LIMIT, Plan, plan_of
from discreet.releases.spec import Budget, Spec
from discreet.releases.tables import VALUES, Table
from discreet.words import say

PRIORITY = "_audit_priority"


def columns_of(spec: Spec) -> dict[str, Column]:
    """Return the columns that a spec names, with the types that its source gives them."""
    text = is_csv(spec.located or "")
    found: dict[str, Column] = {}
    tables = [table for entry in spec.named() for table in entry.tables()]
    for asked in (used for table in tables for m in table.measures() for used in fields(m)):
        numeric: Column = "untyped" if text else "number"
        found[asked.column] = "text" if isinstance(asked, Labels) else numeric
    for table in tables:
        found |= dict.fromkeys(table.grouped_by, "text")
    return found | dict.fromkeys(spec.protect.column, "text")


def raised(spec: Spec, epsilon: float) -> Plan:
    """Return the plan of a spec with its budget at the audit's ε, and nothing else changed.

    A budget in ρ becomes ε²/2, which is what pure ε costs in ρ. What `mechanism: auto` chose at
    the spec's own budget is kept. A wanted accuracy (`within`) becomes a weight in proportion to
    the price that it has now. A sample is left out: everyone counts as drawn.
    """
    spec = spec.model_copy(update={"sample": None})
    columns = columns_of(spec)
    now = plan_of(spec, columns)
    charges = now.pricing.charges
    delta = sum(c.delta for c in charges if isinstance(c, ApproxDP))
    if all(isinstance(c, PureDP) for c in charges):
        budget = Budget(epsilon=epsilon)
    elif len(charges) == 1 and isinstance(charges[0], ApproxDP):
        given = None if spec.budget is None else spec.budget.delta
        budget = Budget(epsilon=epsilon, delta=max(delta, given or 0.0))
    else:
        budget = Budget(rho=epsilon**2 / 2)
    mechanism = spec.mechanism
    if budget.delta is not None and mechanism == "auto":
        through_rho = any(call.rho is not None for call in now.pricing.calls)
        mechanism = usual_noise("rho" if through_rho else "epsilon").released_as
    changes = {
        "tolerance": None,
        "promise": None,
        "budget": budget,
        "series": None,
        "mechanism": mechanism,
        "statistics": tuple(_weighted(entry, now) for entry in spec.named()),
    }
    changed = spec.model_copy(update=changes)
    changed._folder = spec.folder
    return plan_of(changed, columns)


def _weighted(entry: Any, now: Plan) -> Any:
    if entry.within is None:
        return entry
    calls = now.pricing.calls
    price = {c.asked.statistic: c.epsilon or c.rho or 0.0 for c in calls if c.asked.within}
    rest = [c for c in calls if not c.asked.within]
    unit = 1.0
    if rest:
        weights = sum(
            (c.asked.weight_in("epsilon" if c.rho is None else "rho") for c in rest), Fraction(0)
        )
        unit = sum(c.epsilon or c.rho or 0.0 for c in rest) / float(weights)
    return entry.model_copy(update={"within": None, "weight": price[str(entry.name)] / unit})


@contextmanager
def opened(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Column]) -> Iterator[Any]:
    """Open an engine on generated rows."""
    import pyarrow as pa

    from discreet.releases.engines.duckdb import DuckDB

    types = {"number": pa.float64()}
    named = {name: types.get(kind, pa.string()) for name, kind in columns.items()}
    if any(PRIORITY in row for row in rows):
        named[PRIORITY] = pa.float64()
    table = pa.table({n: pa.array([row.get(n) for row in rows], t) for n, t in named.items()})
    engine = DuckDB.of(table)
    try:
        yield engine
    finally:
        engine.close()


class Replay:
    """An engine that answers with results of the real one, a few fresh ones for each question."""

    def __init__(self, engine: Any, draws: int) -> None:
        self._engine = engine
        self._draws = draws
        self._turn = 0
        self._known: dict[Any, Any] = {}

    def next(self) -> None:
        """Begin a trial: one of the results, each equally likely."""
        # Which stored result a trial reads protects nobody; noise comes from the pipeline.
        self._turn = random.randrange(self._draws)  # noqa: S311

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns and their types."""
        return self._engine.columns  # type: ignore[no-any-return]

    def _once(self, question: Any, ask: Any) -> Any:
        if question not in self._known:
            self._known[question] = ask()
        return self._known[question]

    def measure(self, query: Query) -> Any:
        """Bound, aggregate, and return every measure by name."""
        return self._once((self._turn, query), lambda: self._engine.measure(query))

    def find_keys(
        self, unit: tuple[str, ...], by: tuple[str, ...], contribution: Contribution
    ) -> Found:
        """Count the units of every key in the data."""
        question = (self._turn, "find", by, contribution)
        ask = lambda: self._engine.find_keys(unit, by, contribution)  # noqa: E731
        return self._once(question, ask)  # type: ignore[no-any-return]

    def reveal(self, found: Found, places: Sequence[int]) -> KeySet:
        """Return the keys at those places."""
        question = ("reveal", id(found), tuple(places))
        return self._once(question, lambda: self._engine.reveal(found, places))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Leave the engine to who opened it."""


@dataclass
class Seen:
    """What one trial gave: numbers published, the true ones behind them, the noise, the rows.

    `atoms` has the largest probability of a number under the law of each call.
    """

    values: dict[Name, float] = field(default_factory=dict)
    true: dict[Name, float] = field(default_factory=dict)
    noise: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    atoms: dict[tuple[str, str], float] = field(default_factory=dict)
    shape: tuple[Any, ...] = ()


def trial(plan: Plan, engine: Any) -> Seen:
    """Make the release once, charged to nobody, and return what an adversary sees of it."""
    seen = Seen()
    if plan.limits:
        limit = chosen_limit(plan, plan.limits, engine)
        plan, seen.values[LIMIT, "choice"] = plan.limits[limit], float(limit)
    table = draw(plan, engine, observe=lambda drawn: _watch(drawn, seen))
    seen.shape = _shape(table)
    seen.values |= _published(table)
    return seen


def _watch(drawn: Drawn, seen: Seen) -> None:
    """Keep what one call of a mechanism gave, with the true numbers behind it."""
    planned, part, values = drawn.planned, drawn.call.asked.part, drawn.noisy.values
    # A call on a margin of a grid has cells of its own: they are told apart by their places.
    cells = drawn.cells
    keys: Sequence[tuple[str, ...]] = cells.keys if isinstance(cells, KeySet) else ((),)
    deep = max(1, len(values) // max(1, len(keys)))
    names = [
        (planned.name, part.name, *keys[min(place // deep, len(keys) - 1)], str(place % deep))
        for place in range(len(values))
    ]
    seen.values |= zip(names, map(float, values), strict=True)
    if drawn.true is not None:
        seen.true |= zip(names, map(float, drawn.true), strict=False)
        pairs = zip(values, drawn.true, strict=False)
        seen.noise[planned.name, part.name] = tuple(a - b for a, b in pairs)
        seen.atoms[planned.name, part.name] = drawn.call.law.prob_exact


def _shape(table: Table) -> tuple[Any, ...]:
    """Return which rows are published, and which of their values are there."""
    labels = [values for name, values in table.columns.items() if name not in VALUES]
    there = [tuple(v is None for v in table.columns[name]) for name in VALUES]
    return (tuple(zip(*labels, strict=True)), *there)


def _published(table: Table) -> dict[Name, float]:
    """Return the numbers of the table by row; two rows of one name would be a fault of its own."""
    labels = [values for name, values in table.columns.items() if name not in VALUES]
    found: dict[Name, float] = {}
    for place, key in enumerate(zip(*labels, strict=True)):
        row = tuple("" if part is None else part for part in key)
        for name in VALUES:
            printed = table.columns[name][place]
            if printed is not None:
                found[("table", name, *row)] = float(printed)
    return found


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with (what, done, total) every hundred releases."""

_REMEMBERED = 2000


class Releases:
    """Releases of each data set, made when asked for; engines stay open between."""

    def __init__(
        self,
        plan: Plan,
        columns: Mapping[str, Column],
        data: Mapping[str, Sequence[Mapping[str, Any]]],
        draws: int,
        progress: Progress | None,
    ) -> None:
        self._plan, self._columns, self._data, self._draws = plan, columns, data, draws
        self._progress = progress
        self._codes: dict[Hashable, int] = {}
        self._open: dict[str, tuple[Any, Replay]] = {}
        self.noise: list[Seen] = []
        self.shapes: dict[str, set[Any]] = {}
        self.count = 0

    def of(self, name: str, size: int) -> Sample:
        """Release a data set so many times."""
        if name not in self._open:
            manager = opened(self._data[name], self._columns)
            replay = Replay(manager.__enter__(), self._draws)
            self._open[name] = (manager, replay)
        _, replay = self._open[name]
        seen = []
        sums: dict[Name, list[float]] = {}
        for done in range(1, size + 1):
            replay.next()
            one = trial(self._plan, replay)
            seen.append((one.values, one.shape))
            for key, number in one.true.items():
                sums.setdefault(key, []).append(number)
            if len(self.noise) < _REMEMBERED:
                self.noise.append(one)
            if self._progress is not None and done % 100 == 0:
                self._progress(say("auditing.progress", data=name), done, size)
        self.count += size
        self.shapes.setdefault(name, set()).update(shape for _, shape in seen)
        true = {key: math.fsum(numbers) / len(numbers) for key, numbers in sums.items()}
        return collected(seen, self._codes, true)

    def close(self) -> None:
        """Let go of the engines."""
        for manager, _ in self._open.values():
            manager.__exit__(None, None, None)
