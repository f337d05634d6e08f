"""What a release costs as it grows: constants fitted at three sizes, and what they predict.

The model is a straight line for each part: seconds = fixed + slope × size, both at least zero, by
least squares of relative errors (large sizes would drown the small ones otherwise). Shuffle volume
is read from Spark's own event log. The fitted constants go into docs/scale.md, with predictions for
a billion rows and ten thousand releases a day.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import data, ledger, release, spark, tables
from benchmarks.contest import Contender, Prepared, Size, Task
from benchmarks.ledger import HANDS

TITLE = "Constants of the cost model"
ABOUT = (
    "Each part at three sizes; the lines fitted through them, and what they predict, stand in "
    "[scale](scale.md)."
)
KINDS = {
    "duckdb": "rows, one machine",
    "light": "rows, one machine, few to cut",
    "spark": "rows, Spark with two workers",
    "noise": "cells of noise",
    "sqlite": "releases in a SQLite ledger",
    "postgresql": "releases in a PostgreSQL ledger",
    "sqlite-many": f"releases in a SQLite ledger, {HANDS} processes at once",
    "postgresql-many": f"releases in a PostgreSQL ledger, {HANDS} processes at once",
    "bare-many": f"times two durable inserts in PostgreSQL, {HANDS} processes at once",
    "verify": "releases verified in a SQLite ledger",
}


def points(size: Size) -> dict[str, list[int]]:
    """Return the three sizes of each part."""
    rows = size.cut(size.rows)
    thirds = [rows // 16, rows // 4, rows]
    if size.quick:
        few = {kind: [4, 8, 16] for kind in KINDS}
        return few | {kind: [500, 1000, 2000] for kind in ("duckdb", "light", "spark", "noise")}
    return {
        "duckdb": thirds,
        "light": thirds,
        "spark": thirds,
        "noise": [10_000, 50_000, 250_000],
        "sqlite": [50, 150, 450],
        "postgresql": [50, 150, 450],
        "sqlite-many": [80, 240, 480],
        "postgresql-many": [80, 240, 480],
        "bare-many": [80, 240, 480],
        "verify": [200, 600, 1800],
    }


def _noise(cells: int) -> Prepared:
    from discreet.noise import discrete_laplace

    discrete_laplace([0], 1.0)
    return Prepared(lambda: discrete_laplace([0] * cells, 10.0))


def _ledger(name: str, releases: int, hands: int) -> Prepared:
    product = "sqlite" if name == "sqlite" else "postgresql"
    return ledger.prepared(product, releases, hands, bare=name == "bare")


def _verify(releases: int) -> Prepared:
    folder = Path(tempfile.mkdtemp(prefix="discreet-scale-"))
    url = f"sqlite:///{folder / 'ledger.db'}"
    book = ledger.opened(url)
    ledger.spender(url)(releases)

    def run() -> None:
        assert book.verify().verified

    return Prepared(run, close=lambda: shutil.rmtree(folder, ignore_errors=True))


def _light(source: Path) -> Callable[[], Prepared]:
    return lambda: release.bounded_by(source, data.LIGHT_LIMIT)


def make(size: Size) -> None:
    """Make the data."""
    data.write_truth(size.data)
    for n in points(size)["duckdb"]:
        data.heavy(size.data, n)


def contenders(size: Size) -> list[Contender]:
    """Return every part at its three sizes."""
    listed: list[Contender] = []

    def add(kind: str, n: int, prepare: Callable[[], Prepared], **more: Any) -> None:
        task = Task(f"{kind}-{n}", f"{n:,} {KINDS[kind]}")
        turns = more.pop("turns", 1)
        listed.append(Contender(task, "Discreet", prepare, ours=True, turns=turns, **more))

    for kind, sizes in points(size).items():
        for n in sizes:
            if kind == "duckdb":
                add(kind, n, release.bounded(data.heavy(size.data, n)), turns=2)
            elif kind == "light":
                add(kind, n, _light(data.heavy(size.data, n)), turns=2)
            elif kind == "spark":
                source = data.heavy(size.data, n)
                add(kind, n, lambda s=source: spark.ours(size.data, s), needs=spark.not_ours)
            elif kind == "noise":
                add(kind, n, lambda n=n: _noise(n), turns=2)
            elif kind == "verify":
                add(kind, n, lambda n=n: _verify(n))
            else:
                name, many = kind.removesuffix("-many"), kind.endswith("-many")
                add(
                    kind,
                    n,
                    lambda n=n, name=name, many=many: _ledger(name, n, HANDS if many else 1),
                    needs=None if name == "sqlite" else ledger.no_postgresql,
                )
    return listed


def line(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Fit value = fixed + slope × size, neither below zero, least squares of relative errors."""
    weights = [1 / (value * value) for value in values]
    total = sum(weights)
    x = sum(w * s for w, s in zip(weights, sizes, strict=True)) / total
    y = sum(w * v for w, v in zip(weights, values, strict=True)) / total
    spread = sum(w * (s - x) ** 2 for w, s in zip(weights, sizes, strict=True))
    joint = sum(w * (s - x) * (v - y) for w, s, v in zip(weights, sizes, values, strict=True))
    slope = joint / spread if spread > 0 else 0.0
    if slope <= 0:
        return y, 0.0
    if y - slope * x >= 0:
        return y - slope * x, slope
    # Through nothing: the best slope alone.
    squares = sum(w * s * s for w, s in zip(weights, sizes, strict=True))
    return 0.0, sum(w * s * v for w, s, v in zip(weights, sizes, values, strict=True)) / squares


def fitted(rows: Sequence[Any]) -> dict[str, tuple[float, float]]:
    """Return the fixed part and the slope of every kind that was measured."""
    found: dict[str, tuple[float, float]] = {}
    kinds: dict[str, list[Any]] = {}
    for row in rows:
        kinds.setdefault(row.task.rsplit("-", 1)[0], []).append(row)
    for kind, measured in kinds.items():
        told = [r for r in measured if r.seconds is not None]
        if len(told) < 2:
            continue
        sizes = [float(r.task.rsplit("-", 1)[1]) for r in told]
        found[kind] = line(sizes, [r.seconds for r in told])
        shuffled = [(r.figures or {}).get("shuffle bytes") for r in told]
        if all(shuffled):
            found[f"{kind} shuffle"] = line(sizes, [float(b) for b in shuffled if b])
    return found


def _rate(slope: float, what: str) -> str:
    if slope <= 0:
        return "no more with size, here"
    return f"{slope * 1e6:,.3g} µs {what}" if slope < 1e-3 else f"{slope * 1e3:,.3g} ms {what}"


_BILLION, _DAILY, _DAY = 1e9, 10_000, 86_400


def constants(found: dict[str, tuple[float, float]]) -> str:
    """Return the table of constants."""
    lines = ["| part | fixed | each |", "|---|---:|---:|"]
    for kind, (fixed, slope) in found.items():
        if kind.endswith(" shuffle"):
            lines.append(f"| shuffle volume on Spark | – | {slope:,.3g} bytes a row |")
            continue
        each = "a row" if kind in ("duckdb", "light", "spark") else "a cell"
        each = each if kind in ("duckdb", "light", "spark", "noise") else "a release"
        lines.append(f"| {KINDS[kind]} | {fixed:,.3g} s | {_rate(slope, each)} |")
    return "\n".join(lines)


def predicted(found: dict[str, tuple[float, float]]) -> str:
    """Return what the lines say about a billion rows and ten thousand releases a day."""

    def minutes(kind: str, size: float) -> str:
        fixed, slope = found[kind]
        seconds = fixed + slope * size
        return f"{seconds / 60:,.1f} minutes" if seconds >= 90 else f"{seconds:,.1f} seconds"

    lines = []
    if "duckdb" in found:
        lines.append(
            f"- **A billion rows on one machine**, most persons above the limit: "
            f"{minutes('duckdb', _BILLION)} if the sort stays in memory or on a fast disk."
        )
    if "light" in found:
        lines.append(f"- The same where few rows have to be cut: {minutes('light', _BILLION)}.")
    if "spark" in found:
        lines.append(
            f"- **A billion rows on Spark with two workers**: {minutes('spark', _BILLION)}; divide "
            "by the workers over two, and add what the network takes."
        )
    if "spark shuffle" in found:
        volume = found["spark shuffle"][1] * _BILLION / 1e9
        lines.append(
            f"- Bounding moves {volume:,.0f} GB between the workers for a billion rows: "
            f"{volume * 8 / 10:,.0f} seconds of one 10 Gbit/s link, divided by the links."
        )
    if "noise" in found:
        lines.append(f"- Noise for a million cells: {minutes('noise', 1e6)}, on one core.")
    lines += [_ledger_words(kind, found[kind]) for kind in _LEDGERS if kind in found]
    if "verify" in found:
        year = found["verify"][0] + found["verify"][1] * _DAILY * 365
        lines.append(
            f"- Verifying a year of ten thousand releases a day: {year / 3600:,.1f} hours from the "
            "first entry on."
        )
    return "\n".join(lines)


_LEDGERS = ("sqlite", "sqlite-many", "postgresql", "postgresql-many", "bare-many")


def _ledger_words(kind: str, constants: tuple[float, float]) -> str:
    slope = constants[1]
    what = KINDS[kind][0].upper() + KINDS[kind][1:]
    if slope <= 0:
        return f"- {what}: no rate could be fitted."
    day = _DAILY * slope
    return (
        f"- {what}: {1 / slope:,.0f} a second (each two transactions); ten thousand a day keep it "
        f"busy for {day:,.0f} seconds, {100 * day / _DAY:.2g} % of the day."
    )


def conclude(rows: Sequence[Any], docs: Path | None) -> str:
    """Fit, print, and write the block of docs/scale.md."""
    found = fitted(rows)
    when = f"Measured on {tables.today()}, {tables.machine()}."
    block = f"{constants(found)}\n\n{predicted(found)}\n\n{when}"
    print(block, flush=True)
    if docs is not None and (docs / "scale.md").exists():
        tables.write_section(docs / "scale.md", "measured", block)
    return ""
