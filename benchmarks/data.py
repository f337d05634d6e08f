"""The data of releases, made once a run: rows of persons in groups, each with a cost.

- heavy: a tenth as many persons as rows. With at most five rows a person most persons have more;
  with at most fourteen, one in twelve has.
- skewed: one person in ten has more than five rows, but these have four fifths of all rows.
- exact: 10,000 persons with five rows each. Nothing has to be cut there, so what a release differs
  by from the true counts and sums is its noise.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["GROUPS", "LIGHT_LIMIT", "LIMIT", "exact", "heavy", "rms", "skewed"]

LIMIT, LIGHT_LIMIT, GROUPS = 5, 14, 500
EXACT_PERSONS = 10_000


def _written(target: Path, columns: str, rows: int) -> Path:
    if not target.exists():
        import duckdb

        part = target.with_suffix(".part")
        with duckdb.connect(config={"preserve_insertion_order": "false"}) as connection:
            connection.execute(
                f"copy (select {columns} from range({rows}) t(i)) to '{part}' (format parquet)"  # noqa: S608
            )
        part.rename(target)
    return target


def heavy(folder: Path, rows: int, groups: int = GROUPS) -> Path:
    """Return the file where persons have ten rows on average."""
    columns = (
        f"cast(floor(random() * {rows // 10}) as int) person, "
        f"cast(floor(random() * {groups}) as int) grp, random() * 500 cost"
    )
    return _written(folder / f"heavy-{rows}-{groups}.parquet", columns, rows)


def skewed(folder: Path, rows: int) -> Path:
    """Return the file where few persons have most rows."""
    persons = rows // 10
    many = persons // 10
    # Nine persons in ten have two rows on average, one in ten the rest of them.
    few = 2 * (persons - many) / rows
    columns = (
        f"cast(case when random() < {few} then floor(random() * {persons - many}) "
        f"else {persons - many} + floor(random() * {many}) end as int) person, "
        f"cast(floor(random() * {GROUPS}) as int) grp, random() * 500 cost"
    )
    return _written(folder / f"skewed-{rows}.parquet", columns, rows)


def exact(folder: Path) -> Path:
    """Return the file in which nobody has too many rows, and costs are whole."""
    columns = (
        f"cast(i // {LIMIT} as int) person, cast(floor(random() * {GROUPS}) as int) grp, "
        "floor(random() * 501) cost"
    )
    return _written(folder / "exact.parquet", columns, EXACT_PERSONS * LIMIT)


def rms(folder: Path, counts: dict[int, float], sums: dict[int, float]) -> str:
    """Say by how much released counts and sums of the exact file are off, root mean square.

    What is true is read from a file beside it, since a peer's environment has no engine of ours.
    """
    import json
    import math

    truth = json.loads((folder / "exact.json").read_text())

    def off(released: dict[int, float], place: int) -> float:
        squares = [(released[int(group)] - true[place]) ** 2 for group, true in truth.items()]
        return math.sqrt(sum(squares) / len(squares))

    return f"±{off(counts, 0):.3g} a count, ±{off(sums, 1):,.0f} a sum"


def write_truth(folder: Path) -> None:
    """Write the true counts and sums of the exact file."""
    import json

    import duckdb

    found = duckdb.sql(
        f"select grp, count(*), sum(cost) from '{exact(folder)}' group by 1"  # noqa: S608
    ).fetchall()
    (folder / "exact.json").write_text(json.dumps({group: [n, s] for group, n, s in found}))
