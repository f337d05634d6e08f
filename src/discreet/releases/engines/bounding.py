"""Contribution bounding, as one sort and a look R rows back (an Ibis expression, for any engine).

Rule. Every row has a priority. A unit's groups are ranked by their best row, and G of them kept;
in each the c best rows are kept, and of those the R best.

How. The obvious query numbers the rows of each unit, `row_number() over (partition by unit order by
priority)`: an engine then makes a partition for each of millions of units. Instead all rows are
sorted once by (unit, priority), and a row is kept if and only if the row R places before it belongs
to another unit: `lag(unit, R) over (order by unit, priority) is distinct from unit`. The same look
back by c over (unit, group, priority) keeps c rows a group.

Steps that cannot bind are left out. If G ≥ R, ranking groups changes nothing: a row among a unit's
R best has fewer than R groups whose best row is better, for each of those would itself be a better
row. If c = 1, groups are rows, and one look back by min(R, G) does both.

For every assignment of priorities, what is kept of a unit depends on its own rows and priorities
alone, since rows of other units never decide whether the row R before belongs to the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import ibis

from discreet.releases.contributions import Contribution

__all__ = ["GROUP", "PRIORITY", "Materialize", "bounded"]

GROUP = "_group"
PRIORITY = "_priority"

Table: TypeAlias = Any
Materialize: TypeAlias = Callable[[Table], Table]


def _best(rows: Table, within: list[str], most: int, priority: str = PRIORITY) -> Table:
    """Keep the `most` best rows of each combination of the columns `within`."""
    order = [*within, priority]
    looks = {
        f"_before_{place}": rows[column]
        .lag(most)
        .over(ibis.window(order_by=[rows[name] for name in order]))
        for place, column in enumerate(within)
    }
    seen = rows.mutate(**looks)
    other = None
    for column, before in zip(within, looks, strict=True):
        differs = seen[before].isnull() | (seen[before] != seen[column])
        other = differs if other is None else other | differs
    return seen.filter(other).drop(*looks)


def bounded(
    rows: Table, unit: list[str], contribution: Contribution, materialize: Materialize
) -> Table:
    """Return the rows that are kept; `rows` has the unit's columns, a group and a priority.

    `materialize` stores an expression, for the one case in which rows are needed twice: priorities
    that are drawn must be drawn once.
    """
    R, G, c = contribution.rows, contribution.groups, contribution.rows_per_group
    rank_groups, limit_groups = G < R and c > 1, c < R
    if rank_groups:
        rows = materialize(rows)
    if limit_groups:
        rows = _best(rows, [*unit, GROUP], c)
    if rank_groups:
        best = rows.group_by([*unit, GROUP]).agg(_best=rows[PRIORITY].min())
        kept = _best(best, unit, G, "_best")
        rows = rows.semi_join(kept, [*unit, GROUP])
    most = R if c > 1 else min(R, G)
    if not (rank_groups and limit_groups and G * c <= R):
        rows = _best(rows, unit, most)
    return rows
