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
row. Nor is there anything to rank where all groups of a unit count, as over no more than G public
cells. If c = 1, groups are rows, and one look back by min(R, G) does both.

An engine that works in many places has no one sort of all rows: there (`numbered`) the rows of each
unit are numbered after all, which needs one exchange of rows by unit, and groups are ranked by
their best row in a window instead of a join.

For every assignment of priorities, what is kept of a unit depends on its own rows and priorities
alone, since rows of other units never decide whether the row R before belongs to the unit, nor what
number a row has among its own.

Where only rows are limited, DuckDB and Spark do the same in arrays (`bounding_arrays`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any, TypeAlias

import ibis

from discreet.releases.contributions import Contribution

GROUP = "_group"
PRIORITY = "_priority"
_KEPT = "_kept"
_FIRST = "_first"
_PLACE = "_place"
_BEST = "_best"

Table: TypeAlias = Any
Materialize: TypeAlias = Callable[[Table], Table]


def _looking_back(rows: Table, within: list[str], by: dict[str, int]) -> Table:
    """Add columns that are true where the row some places back is of another combination.

    `by` names each new column with how many places back it looks, among rows sorted by the columns
    `within` and then by priority.
    """
    order = ibis.window(order_by=[rows[name] for name in (*within, PRIORITY)])
    looks = {
        f"{name}_{place}": rows[column].lag(back).over(order)
        for name, back in by.items()
        for place, column in enumerate(within)
    }
    seen = rows.mutate(**looks)
    differs = {}
    for name in by:
        differs[name] = reduce(
            or_,
            (
                seen[f"{name}_{place}"].isnull() | (seen[f"{name}_{place}"] != seen[column])
                for place, column in enumerate(within)
            ),
        )
    return seen.mutate(**differs).drop(*looks)


@ibis.udf.agg.builtin(name="row_number", signature=((), "int64"))  # type: ignore[untyped-decorator]
def _row_number() -> None:
    """SQL's own, counted from one: engines know how to cut a window short only as it stands."""


def _numbered(rows: Table, within: list[str]) -> Table:
    """Add the place of every row by priority, from one, in its combination of columns."""
    order = ibis.cumulative_window(
        group_by=[rows[name] for name in within], order_by=rows[PRIORITY]
    )
    return rows.mutate(**{_PLACE: _row_number().over(order)})


def best_numbered(rows: Table, within: list[str], most: int) -> Table:
    """Keep the `most` best rows of each combination of columns, by their number in it."""
    seen = _numbered(rows, within)
    return seen.filter(seen[_PLACE] <= most).drop(_PLACE)


def first_in_order(keys: Table, most: int, below: int) -> Table:
    """Keep the first `most` of each unit, of sorted integers with their unit above so many bits."""
    order = ibis.window(order_by=keys[PRIORITY])
    seen = keys.mutate(**{_FIRST: keys[PRIORITY].lag(most).over(order)})
    other = (seen[_FIRST] ^ seen[PRIORITY]) >> below != 0
    return seen.filter(seen[_FIRST].isnull() | other).drop(_FIRST)


def _bounded_by_number(rows: Table, unit: list[str], R: int, G: int, c: int) -> Table:
    most = min(R, c)
    if not (G < R and c > 1):
        if c < R:
            rows = best_numbered(rows, [*unit, GROUP], c)
        return best_numbered(rows, unit, R if c > 1 else min(R, G))
    groups = ibis.window(group_by=[rows[name] for name in (*unit, GROUP)])
    seen = _numbered(rows.mutate(**{_BEST: rows[PRIORITY].min().over(groups)}), [*unit, GROUP])
    seen = seen.filter(seen[_PLACE] <= most).drop(_PLACE)
    # Groups are ranked by their best row; the group itself makes the ranks differ where those tie.
    order = ibis.window(group_by=[seen[name] for name in unit], order_by=[seen[_BEST], seen[GROUP]])
    ranked = seen.mutate(**{_PLACE: ibis.dense_rank().over(order)})
    rows = ranked.filter(ranked[_PLACE] < G).drop(_PLACE, _BEST)
    return best_numbered(rows, unit, R) if G * most > R else rows


def _best(rows: Table, within: list[str], most: int) -> Table:
    """Keep the `most` best rows of each combination of the columns `within`."""
    seen = _looking_back(rows, within, {_KEPT: most})
    return seen.filter(seen[_KEPT]).drop(_KEPT)


def bounded(
    rows: Table,
    unit: list[str],
    contribution: Contribution,
    materialize: Materialize,
    *,
    numbered: bool = False,
) -> Table:
    """Return the rows that are kept; `rows` has the unit's columns, a group and a priority.

    `materialize` stores an expression, for the one case in which rows are needed twice: priorities
    that are drawn must be drawn once.
    """
    R, G, c = contribution.rows, contribution.ranked, contribution.rows_per_group
    if numbered:
        return _bounded_by_number(rows, unit, R, G, c)
    most = min(R, c)
    if G < R and c > 1:
        # Rank groups by their best row, which is the first of its group in the same sort that
        # limits the group to c rows.
        seen = _looking_back(rows, [*unit, GROUP], {_KEPT: most, _FIRST: 1})
        seen = materialize(seen.filter(seen[_KEPT]).drop(_KEPT))
        groups = _best(seen.filter(seen[_FIRST]).select(*unit, GROUP, PRIORITY), unit, G)
        rows = seen.semi_join(groups, [*unit, GROUP]).drop(_FIRST)
        return _best(rows, unit, R) if G * most > R else rows
    if c < R:
        rows = _best(rows, [*unit, GROUP], c)
    return _best(rows, unit, R if c > 1 else min(R, G))
