"""How cost grows: with rows, groups, releases, cells, ledger entries and pieces, a chart each.

Every point is a contender like any other: the same work on both sides, in processes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from statistics import linear_regression
from typing import Any

from benchmarks import accounting, data, ledger, release
from benchmarks.contest import Contender, Prepared, Size, Task

TITLE = "How cost grows"
ABOUT = (
    "The same tasks at rising sizes. Rows and groups: count and clipped sum, at most 5 rows a "
    "person, noise and all. Releases: ε at δ = 1e-6 of so many Laplace releases. Cells: a table "
    "with so many public cells, noise and all. Entries: ten releases charged and committed in a "
    "SQLite ledger that has so many entries, beside as many durable inserts into a bare table. "
    "Pieces: the budget for the least of so many smooth profiles. The "
    "power of the size is the slope of the line on logarithmic axes."
)
# What is drawn: the axis, and the title of its chart.
AXES = {
    "rows": ("rows", "Seconds against rows"),
    "groups": ("public groups", "Seconds against groups"),
    "releases": ("releases", "Seconds against releases"),
    "cells": ("public cells", "Seconds against cells"),
    "entries": ("entries in the ledger", "Seconds against entries"),
    "pieces": ("pieces", "Seconds against pieces of a formula"),
}


def points(size: Size) -> dict[str, list[int]]:
    """Return the sizes at which each is measured."""
    rows = size.cut(size.rows)
    if size.quick:
        few = {"rows": [1000, 2000], "groups": [10, 100], "releases": [10, 100], "cells": [500]}
        return few | {"entries": [10, 100], "pieces": [1, 2]}
    return {
        "rows": [rows // 40, rows // 20, rows // 10, rows // 5, rows // 2, rows],
        "groups": [10, 100, 1_000, 10_000, 100_000],
        "releases": [10, 100, 1_000, 10_000, 100_000],
        "cells": [1_000, 10_000, 100_000, 500_000],
        "entries": [10, 1_000, 100_000, 1_000_000],
        "pieces": [1, 3, 10, 30, 50],
    }


def _chosen(pieces: int) -> Callable[[], Prepared]:
    """Choose for the least of so many bowls, each with its own bottom."""
    places = [(i + 0.5) / pieces for i in range(pieces)]
    bowls = [f"{2 + x:.3f}+8*((p-{x:.3f})**2+(q-0.3)**2)" for x in places]
    profile = f"min({', '.join(bowls)}, 9)"

    def prepare() -> Prepared:
        from discreet import choose

        choose(profile)
        return Prepared(lambda: choose(profile).epsilon)

    return prepare


def _many(releases: int) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        from discreet.composition import loss_of
        from discreet.laws import Laplace

        def run() -> float:
            accounting.forget()
            return loss_of((Laplace(_each(releases)), releases)).epsilon(accounting.DELTA)

        run()
        return Prepared(run)

    return prepare


def _many_pld(releases: int) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        from dp_accounting.pld import privacy_loss_distribution as pld

        def run() -> float:
            one = pld.from_laplace_mechanism(1 / _each(releases))
            return float(one.self_compose(releases).get_epsilon_for_delta(accounting.DELTA))

        run()
        return Prepared(run)

    return prepare


def _ten(entries: int, *, bare: bool) -> Callable[[], Prepared]:
    return lambda: ledger.prepared("sqlite", 10, bare=bare, entries=entries)


def _each(releases: int) -> float:
    """The ε of one release, smaller where there are many: the whole stays of the same size."""
    return float(1.0 / releases**0.5)


def _sources(size: Size) -> dict[str, dict[int, Path]]:
    at = points(size)
    tenth = max(size.cut(size.rows) // 10, 1000)
    return {
        "rows": {n: data.heavy(size.data, n) for n in at["rows"]},
        "groups": {n: data.heavy(size.data, tenth, n) for n in at["groups"]},
        "cells": {n: data.heavy(size.data, tenth) for n in at["cells"]},
    }


def make(size: Size) -> None:
    """Make the data."""
    _sources(size)


def contenders(size: Size) -> list[Contender]:
    """Return every point."""
    sources = _sources(size)
    listed: list[Contender] = []

    def add(kind: str, n: int, name: str, prepare: Callable[[], Prepared], **more: Any) -> None:
        task = Task(f"{kind}-{n}", f"{n:,} {AXES[kind][0]}")
        listed.append(Contender(task, name, prepare, turns=more.pop("turns", 2), **more))

    def sql(query: str, source: Path) -> Callable[[], Prepared]:
        return lambda: release.duckdb_query(query, source)

    for n, source in sources["rows"].items():
        add("rows", n, "Discreet", release.bounded(source), ours=True)
        add("rows", n, "GROUP BY, no privacy", sql(release.FLOOR, source), package="duckdb")
        add("rows", n, "count per person", sql(release.PER_PERSON, source), package="duckdb")
        add("rows", n, "row_number, no noise", sql(release.WINDOW, source), turns=1)
    for n, source in sources["groups"].items():
        add("groups", n, "Discreet", release.bounded(source, n), ours=True)
        add("groups", n, "GROUP BY, no privacy", sql(release.FLOOR, source))
    for n in points(size)["releases"]:
        add("releases", n, "Discreet", _many(n), ours=True, repeats=3)
        add(
            "releases",
            n,
            "dp-accounting, loss distribution",
            _many_pld(n),
            package="dp-accounting",
            turns=1,
        )
    for n in points(size)["pieces"]:
        add("pieces", n, "Discreet", _chosen(n), ours=True, repeats=3)
    for n in points(size)["entries"]:
        add("entries", n, "Discreet", _ten(n, bare=False), ours=True)
        add("entries", n, "bare INSERT", _ten(n, bare=True), package="sqlite3")
    for n, source in sources["cells"].items():
        add("cells", n, "Discreet", release.many_cells(source, n), ours=True, turns=1)
    return listed


def conclude(rows: Sequence[Any], docs: Path | None) -> str:
    """Draw a chart for each axis, and return the words that show them."""
    if docs is None:
        return ""
    lines = []
    for kind, (axis, title) in AXES.items():
        measured = [
            {"size": int(row.task.split("-")[1]), "seconds": row.seconds, "who": row.name}
            for row in rows
            if row.task.startswith(f"{kind}-") and row.seconds is not None
        ]
        if not measured:
            continue
        draw(measured, axis, title, docs / "images" / f"growth-{kind}.png")
        lines.append(f"![{title}](images/growth-{kind}.png)")
        lines.append(exponents(measured))
    return "\n\n".join(lines)


def slopes(measured: list[dict[str, Any]]) -> dict[str, float]:
    """Return each contender's power of the size: the slope of the line through its logarithms."""
    found = {}
    for who in dict.fromkeys(point["who"] for point in measured):
        of = [(log(p["size"]), log(p["seconds"])) for p in measured if p["who"] == who]
        if len({x for x, _ in of}) > 1:
            found[who] = linear_regression(*zip(*of, strict=True)).slope
    return found


def exponents(measured: list[dict[str, Any]]) -> str:
    """Say how cost grows with size, for each contender."""
    said = [f"{who}: size to the power {slope:.2f}" for who, slope in slopes(measured).items()]
    return f"Seconds grow with {'; '.join(said)}." if said else ""


def draw(measured: list[dict[str, Any]], axis: str, title: str, target: Path) -> Path:
    """Draw seconds against size on logarithmic axes, one line a contender, named with its power."""
    import altair as alt

    from discreet.charts import COLOURS, save, styled

    powers = {who: f"{who} (power {slope:.2f})" for who, slope in slopes(measured).items()}
    measured = [point | {"who": powers.get(point["who"], point["who"])} for point in measured]
    names = list(dict.fromkeys(point["who"] for point in measured))
    tens = [10.0**k for k in range(-6, 12)]  # ticks between them would crowd each other
    both = alt.Scale(type="log")
    base = alt.Chart(alt.Data(values=measured)).encode(
        x=alt.X("size:Q", scale=both, title=axis, axis=alt.Axis(format="~s", values=tens)),
        y=alt.Y("seconds:Q", scale=both, title="seconds", axis=alt.Axis(format="~g", values=tens)),
        color=alt.Color(
            "who:N",
            scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])),
            sort=names,
            title=None,
        ),
        shape=alt.Shape("who:N", sort=names, title=None, scale=alt.Scale(domain=names)),
    )
    drawn = (base.mark_line(strokeWidth=2) + base.mark_point(filled=True, size=60)).properties(
        width=440, height=280
    )
    told = "Both axes are logarithmic: a line rising one for one is cost in proportion"
    return save(styled(drawn, title, told), target)
