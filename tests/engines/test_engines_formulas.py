"""Formulas on every engine: the same values, against a reading of the tree in plain Python."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import SpecError
from discreet.releases import formula
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, KeySet, Labels, Query, Tally
from discreet.releases.formula import Term, parse, resolve
from discreet.releases.rows import Feature
from soaking import soaked

ONE = Contribution()
DAY, MOMENT = datetime.date, datetime.datetime
COLUMNS: dict[str, pa.Array] = {
    "age": pa.array([5, 18, 70, None, -3, 2**62, 0, 65], pa.int64()),
    "cost": pa.array([1.5, math.nan, math.inf, 1.7e308, 5e-324, -0.0, None, 1e-120]),
    "rate": pa.array([0.0, 2.0, -math.inf, 1e-310, 5e-324, 0.1, 3.0, 1e200]),
    "county": pa.array(["North", "south", "x'y", None, "", "ÄÖ\\n", "%s", "n" * 2000]),
    "day": pa.array(
        [
            DAY(2026, 1, 31),
            DAY(1, 1, 1),
            DAY(9999, 12, 31),
            None,
            DAY(2024, 2, 29),
            DAY(1582, 10, 10),
            DAY(1970, 1, 1),
            DAY(2026, 11, 16),
        ]
    ),
    "at": pa.array(
        [
            MOMENT(2026, 1, 31, 23, 59, 59, 999999),
            MOMENT(1, 1, 1),
            MOMENT(9999, 12, 31, 23, 59, 59),
            None,
            MOMENT(1969, 12, 31, 23),
            MOMENT(2000, 1, 1),
            MOMENT(1500, 1, 1, 12),
            MOMENT(2026, 11, 16, 7, 30),
        ],
        pa.timestamp("us"),
    ),
    "in": pa.array([True, False, None, True, False, True, False, None]),
}
ROWS = 8
FORMULAS = [
    "age >= 18",
    "age = 4611686018427387904",
    "age in (5, 18) or age is null",
    "not (age < 18)",
    "age between 0 and 65",
    "cost > 1",
    "cost is null",
    "cost * cost >= 0",
    "cost / rate > 1",
    "1 / (age - 18) > 0",
    "cost + rate - cost = rate",
    "cost * rate * cost * rate >= 0",
    "rate / cost is null",
    "floor(cost) = 1",
    "abs(rate) > 0.05",
    "-age < 0",
    "county = 'North'",
    "county in ('x''y', '%s', 'ÄÖ\\n')",
    "lower(county) = 'north'",
    "lower(county) = 'Äö\\n'",
    "county < 'n'",
    "county != ''",
    "day < '2025-01-01'",
    "month(day) = 12",
    "weekday(day) = 1",
    "year(day) < 1600",
    "day(day) = 29",
    "hour(at) = 23",
    "at >= '2026-01-31'",
    "at = '1969-12-31'",
    "year(at) = 9999",
    "weekday(at) > 5",
    "day - '2024-02-29' > 700",
    "at - day = 0",
    "day - at < 0",
    "(day - '1970-01-01') * 2 - 5 > age",
    "'9999-12-31' - day >= 3652058",
    "`in` and age > 0",
    "not `in`",
    "if(`in`, age, 0) > 1",
    "if(age > 10, 'old', 'young') = 'young'",
    "bin(age, [0, 18, 65]) = '18-65'",
    "bin(cost, [0, 1], ['low', 'high']) = 'low'",
    "bin(age, [0]) is null",
    "true",
    "1 / 0 > 1",
    "age > 1e18",
]


# A query is dear on a cluster: there, conditions are asked together, and each alone in a soak.
EACH = [
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("spark", marks=[pytest.mark.xdist_group("spark_running"), pytest.mark.soak]),
]


def _ordinary(value: float | None) -> float | None:
    if value is None:
        return None
    near = (value + 1e-100) - 1e-100
    return near if abs(near) <= 1e150 else None


def _python(term: Term, row: dict[str, Any]) -> Any:
    """Return the value of a formula in one row, by its tree and nothing of the engines."""
    if term.op == "constant":
        return term.value
    if term.op == "column":
        value = row[term.value]
        return None if isinstance(value, float) and math.isnan(value) else value
    parts = [_python(part, row) for part in term.parts]
    if term.op == "is null":
        return parts[0] is None
    if term.op in ("and", "or"):
        decides = term.op == "or"
        if decides in parts:
            return decides
        return None if None in parts else not decides
    if term.op == "if":
        return parts[1] if parts[0] else parts[2]
    if parts[0] is None or (term.op != "in" and None in parts):
        return None
    first = parts[0]
    match term.op:
        case "not":
            return not first
        case "in":
            return first in parts[1:]
        case "=" | "!=" | "<" | "<=" | ">" | ">=":
            left, right = (p.encode() if isinstance(p, str) else p for p in parts)
            return {
                "=": left == right,
                "!=": left != right,
                "<": left < right,
                "<=": left <= right,
                ">": left > right,
                ">=": left >= right,
            }[term.op]
        case "days":
            return (parts[0] - parts[1]).days
        case "+" | "-" | "*" | "/":
            x, y = map(_ordinary, parts)
            if x is None or y is None or (term.op == "/" and y == 0):
                return None
            return {"+": add, "-": sub, "*": mul, "/": truediv}[term.op](x, y)
        case "abs":
            return abs(first)
        case "floor":
            return float(math.floor(first)) if abs(first) <= 2**53 else None
        case "lower":
            return "".join(c.lower() if c.isascii() else c for c in first)
        case "bin":
            below = [label for edge, label in term.value if first >= edge]
            return below[-1] if below else None
        case "as number":
            return float(first)
        case "as date":
            return first.date() if isinstance(first, MOMENT) else first
        case "weekday":
            return first.isoweekday()
    return getattr(first, term.op)


@pytest.fixture(scope="session")
def table() -> pa.Table:
    return pa.table({"unit": list(range(ROWS)), **COLUMNS})


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("opened", EACH, indirect=True, scope="session")
def test_a_condition_keeps_the_same_rows_everywhere(
    opened: Callable[[pa.Table], Any], table: pa.Table, text: str, engines_once: dict[Any, Any]
) -> None:
    engine = engines_once.setdefault(opened, None) or opened(table)
    engines_once[opened] = engine
    term = resolve(parse(text), engine.columns, wanted="boolean")
    wanted = [i for i, row in enumerate(table.to_pylist()) if _python(term, row) is True]
    cells = KeySet(("unit",), tuple((str(i),) for i in range(ROWS)))
    found = engine.filtered(term).measure(Query((), cells, ONE, (Counting("n"),)))["n"]
    assert [i for i, n in enumerate(found) if n] == wanted
    # The same as a derived column, of which the truth is counted.
    known = [str(_python(term, row)).lower() for row in table.to_pylist()]
    derived = engine.computed({"met": term})
    labels = Tally("t", Labels("met", ("true", "false")))
    assert derived.measure(Query((), None, ONE, (labels,)))["t"] == [
        [known.count("true"), known.count("false")]
    ]


@pytest.mark.parametrize("first", range(0, len(FORMULAS), 14))
def test_conditions_asked_at_once_are_met_by_the_same_rows(
    opened: Callable[[pa.Table], Any], table: pa.Table, engines_once: dict[Any, Any], first: int
) -> None:
    """Derived columns, of which the truth is told of each row: a few of them in one query."""
    engine = engines_once.setdefault(opened, None) or opened(table)
    engines_once[opened] = engine
    asked = {
        f"met {place}": resolve(parse(text), engine.columns, wanted="boolean")
        for place, text in enumerate(FORMULAS[first : first + 14])
    }
    measures = tuple(Tally(name, Labels(name, ("true", "false"))) for name in asked)
    cells = KeySet(("unit",), tuple((str(i),) for i in range(ROWS)))
    found = engine.computed(asked).measure(Query((), cells, ONE, measures))
    for name, term in asked.items():
        known = [_python(term, row) for row in table.to_pylist()]
        told = [[int(met is True), int(met is False)] for met in known]
        assert found[name] == told, FORMULAS[first + int(name.split()[1])]


@pytest.fixture(scope="module")
def engines_once() -> dict[Any, Any]:
    """Engines on the table, by what opened them: each opens it once."""
    return {}


def test_features_are_gathered_from_all_rows_of_a_unit(
    opened: Callable[[pa.Table], Any],
) -> None:
    table = pa.table(
        {
            "who": ["a", "a", "b", "b", "b", None, "c", "ä"],
            "cost": [1.5, 250.0, None, math.nan, -5.0, 7.0, math.inf, None],
            "code": ["C18", "x", "x", None, "y", "C18", None, "C18"],
            "day": [DAY(2026, 1, d) for d in range(1, 9)],
            # U+10000 comes after U+FFFD, though not in UTF-16, and small letters after capitals.
            "town": ["\N{LINEAR B SYLLABLE B008 A}", "\ufffd", "a", "Z", None, "0", "", None],
        }
    )
    engine = opened(table)
    asked = {
        "visits": Feature(count="true"),
        "dear": Feature(count="cost > 1"),
        "spent": Feature(sum="cost", bounds=(0.0, 100.0), resolution=0.5),
        "ill": Feature(any="code = 'C18'"),
        "only": Feature(all="code = 'C18'"),
        "most": Feature(max="cost"),
        "first": Feature(min="day"),
        "low": Feature(min="town"),
        "high": Feature(max="town"),
        "worst": Feature(max="if(cost > 1, 'Zero', 'any')"),
    }
    features = {name: one.resolved(engine.columns, {}) for name, one in asked.items()}
    units = engine.per_unit(("who",), features)
    assert (units.columns["first"], units.columns["high"]) == ("moment", "text")
    wanted = {
        "visits": {"1": 2, "2": 1, "3": 1},
        "dear": {"0": 2, "1": 1, "2": 1},
        "ill": {"true": 2, "false": 2},
        "only": {"true": 1, "false": 3},
        "spent": {"101.5": 1, "0.0": 1, "100.0": 1},
        "most": {"250.0": 1, "-5.0": 1, "inf": 1},
        "first": {"2026-01-01": 1, "2026-01-03": 1, "2026-01-07": 1, "2026-01-08": 1},
        "low": {"\ufffd": 1, "Z": 1, "": 1, "\N{LINEAR B SYLLABLE B008 A}": 0, "a": 0},
        "high": {"\N{LINEAR B SYLLABLE B008 A}": 1, "a": 1, "": 1, "\ufffd": 0, "Z": 0},
        "worst": {"Zero": 2, "any": 2},
    }
    for name, counts in wanted.items():
        cells = KeySet((name,), tuple((key,) for key in (*counts, "9")))
        found = units.measure(Query(("who",), cells, ONE, (Counting("n"),)))["n"]
        assert dict(zip(counts, found, strict=False)) == counts, name


@pytest.mark.parametrize("unit", ["name", "number"])
def test_a_sample_has_all_rows_of_a_unit_or_none(
    opened: Callable[[pa.Table], Any], unit: str
) -> None:
    """On every engine: 600 units of two rows at a chance of one third (Hoeffding, below 1e-12)."""
    count = 600
    table = {
        "name": pa.array([f"ünit {i}" for i in range(count)] * 2),
        "number": pa.array([i - 300 for i in range(count)] * 2, pa.int64()),
    }
    drawn = opened(pa.table(table)).sampled((unit,), Fraction(1, 3))
    rows = Query((), None, ONE, (Counting("rows"),))
    once = Query((unit,), None, ONE, (Counting("rows"),))
    (all_rows,), (units,) = drawn.measure(rows)["rows"], drawn.measure(once)["rows"]
    assert all_rows == 2 * units
    assert abs(units - count / 3) <= math.sqrt(count * math.log(2e12) / 2)
    source = opened(pa.table(table))
    assert source.units((unit,)) == count
    for size in (0, 1, 17, count) if soaked() else (0, 17):
        fixed = source.sampled_units((unit,), size)
        assert fixed.measure(once)["rows"] == [size]
        assert fixed.measure(rows)["rows"] == [2 * size]


def test_a_long_chain_of_differences_is_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part was typed twice, and so were its own: 2^n times for n of them."""
    typed, many = formula._Types.typed, []

    def counted(self: Any, term: Term) -> Term:
        many.append(term.op)
        return typed(self, term)

    monkeypatch.setattr(formula._Types, "typed", counted)
    with pytest.raises(SpecError, match="nested"):
        resolve(parse("-".join(["age"] * 16)), {"age": "integer"})
    assert len(many) == 31
