"""A release with OpenDP alone: the part of such a script that is the same for every release.

The formulas that turn tallies into scores and noisy numbers into values are also what statistics
use (`releases.statistics`): a script and a release compute the same.

`discreet release FILE --as-opendp SCRIPT` copies this file into the script, and writes below it
what the spec asks for. Nothing of Discreet is imported here, so that the script runs where only
OpenDP is installed (and DuckDB, to read Parquet).
"""
# -- copied from here on

from __future__ import annotations

import csv
import math
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, product
from pathlib import Path
from typing import Any

Row = dict[str, "str | None"]
Kept = list[tuple[int, Row]]
Cells = list[tuple[str, ...]]

Place = Callable[[Row], "int | None"]


def stop(why: str) -> Any:
    """End with a sentence; never with a value of the data."""
    sys.exit(f"{Path(sys.argv[0]).name}: {why}")


# ------------------------------------------------------------------ noise, and what it costs


def vectors() -> Any:
    """The domain of all noise: vectors of whole numbers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.vector_domain(dp.atom_domain(T="i64"))


def within(cost: float, budget: float, name: str) -> None:
    """Refuse noise that costs more than its budget by OpenDP's own account of it."""
    if not cost <= budget * (1 + 1e-9):
        stop(f"{name} would cost {cost!r} of a budget of {budget!r}; nothing was read.")


def laplace(name: str, *, scale: float, l1: int, epsilon: float) -> Any:
    """Discrete Laplace noise of this scale on whole numbers that one unit moves by l1 at most."""
    import opendp.prelude as dp

    drawn = dp.m.make_laplace(vectors(), dp.l1_distance(T="i64"), scale=scale)
    within(drawn.map(l1), epsilon, name)
    return lambda numbers: [n + d for n, d in zip(numbers, drawn([0] * len(numbers)), strict=True)]


def gaussian(name: str, *, scale: float, l2_squared: int, rho: float) -> Any:
    """Discrete Gaussian noise on whole numbers that one unit moves by √l2_squared at most."""
    import opendp.prelude as dp

    drawn = dp.m.make_gaussian(vectors(), dp.l2_distance(T=float), scale=scale)
    within(drawn.map(math.nextafter(math.sqrt(l2_squared), math.inf)), rho, name)
    return lambda numbers: [n + d for n, d in zip(numbers, drawn([0] * len(numbers)), strict=True)]


def selection(
    name: str,
    *,
    scale: float,
    changes: Sequence[int],
    monotonic: bool,
    epsilon: float | None = None,
    rho: float | None = None,
) -> Any:
    """The index of a high score; `changes` is the most that a unit moves a score of each group."""
    import opendp.prelude as dp

    # Exponential noise under pure DP (permute-and-flip), Gumbel noise under zCDP.
    measure = dp.max_divergence() if rho is None else dp.zero_concentrated_divergence()
    metric = dp.linf_distance(T="i64", monotonic=monotonic)
    drawn: Any = dp.m.make_noisy_max(vectors(), metric, measure, scale=scale)
    cost = math.fsum(drawn.map(change) for change in changes)
    within(cost, (epsilon if rho is None else rho) or 0.0, name)
    return drawn


# ------------------------------------------------------------------ rows

WRITTEN: dict[str, Any] = {
    "delimiter": ",", "encoding": "utf-8", "nulls": (), "decimal": ".", "grouping": "",
    "columns": (), "whole": (),
}  # fmt: skip
"""How a CSV file is written, as the spec declares it. `columns` are those that are used, and
`whole` those of them that are declared as whole numbers."""


def text(value: Any) -> str | None:
    """A cell as text; nothing for null."""
    if value is None or value == "":
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def read(path: str) -> list[Row]:
    """Read a CSV file, or a Parquet file through DuckDB, as texts."""
    if path.lower().endswith((".parquet", ".pq")):
        import duckdb

        found = duckdb.connect().execute("select * from read_parquet(?)", [path])
        names = [column[0] for column in found.description or ()]
        WRITTEN.update(decimal=".", grouping="")
        expect(names)
        return [
            {name: text(value) for name, value in zip(names, row, strict=True)}
            for row in found.fetchall()
        ]
    encoding = {"utf-8": "utf-8-sig"}.get(WRITTEN["encoding"], WRITTEN["encoding"])
    try:
        with open(path, encoding=encoding, newline="") as lines:
            header, *body = list(csv.reader(lines, delimiter=WRITTEN["delimiter"], strict=True))
    except (UnicodeError, ValueError, csv.Error):
        stop(f"the data are no Parquet file, and no CSV file in {WRITTEN['encoding']}.")
    expect(header)
    if any(len(row) != len(header) for row in body):
        stop(
            f"a row has not as many cells as the header, with {WRITTEN['delimiter']!r} between "
            "them, as the spec says."
        )
    rows = [{name: text(v) for name, v in zip(header, row, strict=True)} for row in body]
    for row in rows:
        row.update({name: None for name, value in row.items() if value in WRITTEN["nulls"]})
        row.update({name: whole(row[name]) for name in WRITTEN["whole"]})
    return rows


def expect(names: Sequence[str]) -> None:
    """Stop where the data lack a column that is used."""
    missing = [name for name in WRITTEN["columns"] if name not in names]
    if missing:
        how = f"{WRITTEN['encoding']}, with {WRITTEN['delimiter']!r} between columns"
        stop(f"the data have no column {missing[0]!r}. The spec says of a CSV file: {how}.")


def ungrouped(value: str) -> str:
    """A number without the signs between thousands, if they stand where they belong."""
    signs, mark = f"[{WRITTEN['grouping']}]", f"[{WRITTEN['decimal']}]"
    grouped = f"[ ]*[+-]?[0-9]{{1,3}}({signs}[0-9]{{3}})+({mark}[0-9]*)?[ ]*"
    if not WRITTEN["grouping"] or not re.fullmatch(grouped, value):
        return value
    return re.sub(signs, "", value)


def whole(value: str | None) -> str | None:
    """A whole number in its one spelling; nothing for what is none."""
    plain = ungrouped(value or "")
    return str(int(plain)) if re.fullmatch("-?[0-9]{1,18}", plain) else None


def cells_of(*keys: Sequence[str]) -> Cells:
    """Every combination of the public keys, in order."""
    return list(product(*keys))


def placed(rows: Iterable[Row], by: Sequence[str], cells: Cells) -> Kept:
    """The rows that fall in a cell, with its number."""
    number = {key: place for place, key in enumerate(cells)}
    found: Kept = []
    for row in rows:
        key = [row[name] for name in by]
        place = None if None in key else number.get(tuple(map(str, key)))
        if place is not None:
            found.append((place, row))
    return found


def bounded(
    kept: Kept, unit: Sequence[str], *, rows: int, groups: int, rows_per_group: int
) -> Kept:
    """Keep of each unit, at random, so many groups, rows in each, and rows in all."""
    if not unit:
        return kept
    units: dict[tuple[str, ...], Kept] = {}
    for place, row in kept:
        name = tuple(row[column] or "" for column in unit)
        if all(name):
            units.setdefault(name, []).append((place, row))
    left: Kept = []
    for mine in units.values():
        secrets.SystemRandom().shuffle(mine)
        first = set(list(dict.fromkeys(place for place, _ in mine))[:groups])
        taken: Counter[int] = Counter()
        for place, row in mine:
            room = taken[place] < rows_per_group and taken.total() < rows
            if place in first and room:
                taken[place] += 1
                left.append((place, row))
    return left


def found_keys(
    data: Iterable[Row],
    unit: Sequence[str],
    by: Sequence[str],
    *,
    groups: int,
    threshold: int,
    noise: Any,
) -> Cells:
    """The keys whose noisy number of units reaches the threshold."""
    rows = [row for row in data if all(row[name] for name in (*by, *unit))]
    cells = sorted({tuple(row[name] or "" for name in by) for row in rows})
    kept = bounded(placed(rows, by, cells), unit, rows=groups, groups=groups, rows_per_group=1)
    noisy = noise(counts(kept, len(cells)))
    return [key for key, count in zip(cells, noisy, strict=True) if count >= threshold]


# ------------------------------------------------------------------ fields: a whole number, or none


def decimal(value: str | None) -> float | None:
    """A text as a number; nothing if it is none."""
    plain = ungrouped(value or "")
    if WRITTEN["decimal"] == ",":
        plain = "" if "." in plain else plain.replace(",", ".")
    try:
        found = math.nan if "_" in plain else float(plain)
    except ValueError:
        return None
    return None if math.isnan(found) else found


def multiple(column: str, low: int, high: int, step: float) -> Place:
    """A column clipped and rounded to whole multiples of a step."""

    def place(row: Row) -> int | None:
        x = decimal(row[column])
        return None if x is None else math.floor(min(max(x / step, low), high) + 0.5)

    return place


def between(column: str, edges: Sequence[float]) -> Place:
    """The place of a column between rising edges, the last one closed."""

    def place(row: Row) -> int | None:
        x = decimal(row[column])
        if x is None or not edges[0] <= x <= edges[-1]:
            return None
        return sum(x >= edge for edge in edges[:-1]) - 1

    return place


def ladder(column: str, start: float, step: float, size: int, cap: float) -> Place:
    """The highest step that a column reaches; a millionth of a step is forgiven."""

    def place(row: Row) -> int | None:
        x = decimal(row[column])
        if x is None or x > cap + step * 1e-6:
            return None
        at = math.floor((max(x, start - step) - start) / step + 1e-6)
        return min(size - 1, at) if at >= 0 else None

    return place


def label(column: str, labels: Sequence[str]) -> Place:
    """The place of a column in a list."""
    place = {name: i for i, name in enumerate(labels)}
    return lambda row: place.get(row[column] or "")


# ------------------------------------------------------------------ whole-number aggregates


def counts(kept: Kept, cells: int, field: Place | None = None) -> list[int]:
    """Rows in each cell; with a field, those where it is something."""
    found = [0] * cells
    for place, row in kept:
        found[place] += field is None or field(row) is not None
    return found


def sums(kept: Kept, cells: int, field: Place, centre: int = 0, power: int = 1) -> list[int]:
    """Sums of (y − centre) to a power in each cell, in whole numbers."""
    found = [0] * cells
    for place, row in kept:
        y = field(row)
        found[place] += 0 if y is None else (y - centre) ** power
    return found


def tally(kept: Kept, cells: int, field: Place, size: int, low: int = 0) -> list[list[int]]:
    """Rows with each value of a field, from low upward, a list a cell."""
    found = [[0] * size for _ in range(cells)]
    for place, row in kept:
        y = field(row)
        if y is not None:
            found[place][y - low] += 1
    return found


# ------------------------------------------------------------------ from noisy numbers to values


def average(total: int, count: int, reach: int, *, signed: bool) -> Fraction:
    """A noisy sum over a noisy count, kept within what the bounds allow."""
    low = -reach if signed else 0
    return min(max(Fraction(total, max(count, 1)), Fraction(low)), Fraction(reach))


def spread(squares: int, total: int, count: int, reach: int) -> Fraction:
    """The mean of squares less the square of the mean, kept within what the bounds allow."""
    mean = average(total, count, reach, signed=True)
    second = average(squares, count, reach**2, signed=False)
    return min(max(second - mean**2, Fraction(0)), Fraction(reach**2))


def unbiased(given: Sequence[int], keep: Fraction) -> list[Fraction]:
    """How many hold each answer truly, from randomized answers kept with that probability."""
    lie = (1 - keep) / (len(given) - 1)
    return [(n - lie * sum(given)) / (keep - lie) for n in given]


def ranks(tallied: Sequence[int], at: Fraction) -> list[int]:
    """The scores of a quantile: how many ranks each value is from a share `at`, 0 if it is one."""
    a, b, total, below, scores = at.numerator, at.denominator, sum(tallied), 0, []
    for count in tallied:
        scores.append(-max(0, b * below - a * total, a * total - b * (below + count)))
        below += count
    return scores


def revenues(tallied: Sequence[int], prices: Sequence[int]) -> list[int]:
    """The scores of prices: each times those who bid at least that much."""
    at_least = list(accumulate(reversed(tallied)))[::-1]
    return [price * bidders for price, bidders in zip(prices, at_least, strict=True)]


class Table:
    """The rows of the release, printed as CSV."""

    def __init__(self, groups: Sequence[str]) -> None:
        self.groups = groups
        self.rows: list[list[str]] = []

    def add(self, name: str, by: dict[str, str], value: Fraction | int | None) -> None:
        """Add one value."""
        shown = "" if value is None else self.shown(Fraction(value))
        self.rows.append([name, *(by.get(group, "") for group in self.groups), shown])

    @staticmethod
    def shown(value: Fraction) -> str:
        """A fraction as a decimal: exactly if it has at most 15 places, else six digits."""
        for digits in range(16):
            whole = value * 10**digits
            if whole.denominator == 1:
                sign, size = "-" if whole < 0 else "", str(abs(int(whole))).rjust(digits + 1, "0")
                return f"{sign}{size}" if not digits else f"{sign}{size[:-digits]}.{size[-digits:]}"
        return f"{float(value):.6g}"

    def write(self, out: Any) -> None:
        """Write the table."""
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["statistic", *self.groups, "value"])
        writer.writerows(self.rows)
