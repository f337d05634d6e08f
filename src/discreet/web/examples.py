"""Situations to try the whole way with: invented data, a promise, and a spec that can be charged.

The rows are made by arithmetic from a fixed seed: the same everywhere, and nobody's.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.words import say

if TYPE_CHECKING:
    from discreet.web.workfolder import Workfolder

Rows = Callable[[Random], Iterator[tuple[object, ...]]]
_COUNTIES = ("Ashford", "Brook", "Carrow", "Dale")
_AGES = ("0-17", "18-64", "65+")
_DISTRICTS = ("Centre", "Harbour", "Hill", "Mill", "Station")
_SCHOOLS = ("East", "North", "South", "West")
_TEAMS = ("Care", "Finance", "IT", "Transport")
_MEMBERSHIP = {"about": "membership", "every_output": True}


def _visits(luck: Random) -> Iterator[tuple[object, ...]]:
    for person in range(400):
        home, age = luck.choice(_COUNTIES), luck.choices(_AGES, (2, 5, 3))[0]
        for _ in range(luck.choice((1, 1, 2, 4))):
            yield f"p{person:03}", home, age, round(luck.expovariate(1 / 90), 2)


def _residents(luck: Random) -> Iterator[tuple[object, ...]]:
    for person in range(400):
        size = luck.choices(range(1, 8), (30, 33, 15, 13, 6, 2, 1))[0]
        yield f"r{person:03}", luck.choices(_DISTRICTS, (9, 6, 4, 3, 2))[0], size


def _pupils(luck: Random) -> Iterator[tuple[object, ...]]:
    for person in range(600):
        mark = min(100, max(0, round(luck.gauss(64, 15))))
        yield f"s{person:03}", luck.choice(_SCHOOLS), luck.choice(("no", "no", "no", "yes")), mark


def _staff(luck: Random) -> Iterator[tuple[object, ...]]:
    for person in range(600):
        pay = min(9_000, 100 * round(luck.lognormvariate(3.6, 0.35)))
        yield f"e{person:03}", luck.choice(_TEAMS), luck.choice(("f", "m")), pay


def _answers(luck: Random) -> Iterator[tuple[object, ...]]:
    for person in range(1000):
        age = luck.choice(("under 45", "45 or more"))
        smokes = luck.choices(("no", "yes"), (8, 2) if age == "under 45" else (9, 1))[0]
        yield f"a{person:03}", luck.choice(("f", "m")), age, smokes


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation: the columns of its data, how rows are made, its promise and its statistics."""

    name: str
    columns: tuple[str, ...]
    rows: Rows
    protect: Mapping[str, Any]
    tolerance: Mapping[str, Any]
    statistics: tuple[Mapping[str, Any], ...] = ()
    file: Mapping[str, Any] | None = None
    """What a synthetic file of it has, where that is what is released."""

    @property
    def title(self) -> str:
        """What it is called."""
        return say(f"web.example.{self.name}.title")

    @property
    def about(self) -> str:
        """Who publishes what there."""
        return say(f"web.example.{self.name}.about")

    def data(self) -> bytes:
        """Return its rows as CSV."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows(Random(self.name)))  # noqa: S311  nobody's data, and no noise
        return out.getvalue().encode()

    def spec(self, source: str) -> dict[str, Any]:
        """Return a spec for its data: a file, or one of four releases under its promise."""
        asked: Mapping[str, Any] = self.file or {
            "series": {"releases": 4},
            "statistics": [dict(one) for one in self.statistics],
            "mechanism": "auto",
            "interval": 0.95,
        }
        return {
            "account": f"example-{self.name}",
            "purpose": say(f"web.example.{self.name}.purpose"),
            "source": source,
            "protect": {"unit": "person", "adjacency": "add-remove", **self.protect},
            "tolerance": dict(self.tolerance),
            **asked,
            "ledger": "sqlite:///example.db",
            "output": "example-releases",
        }


def _by(column: str, keys: tuple[str, ...]) -> dict[str, Any]:
    return {"by": [column], "keys": {column: list(keys)}}


SITUATIONS = {
    one.name: one
    for one in (
        Situation(
            "hospital",
            ("patient", "county", "age", "cost"),
            _visits,
            {"column": "patient", "rows": 2, "groups": 1},
            {"posterior": 0.12, "p": 0.05, **_MEMBERSHIP},
            (
                {"count": "units", **_by("county", _COUNTIES)},
                {
                    "sum": "cost",
                    "bounds": [0, 200],
                    "resolution": 1,
                    "weight": 2,
                    **_by("age", _AGES),
                },
            ),
        ),
        Situation(
            "census",
            ("resident", "district", "household_size"),
            _residents,
            {"column": "resident", "rows": 1},
            {"posterior": 0.25, "unless_ratio": 3, **_MEMBERSHIP},
            (
                {"count": "rows", **_by("district", _DISTRICTS)},
                {"histogram": "household_size", "edges": [1, 2, 3, 4, 5, 8]},
            ),
        ),
        Situation(
            "school",
            ("pupil", "school", "support", "mark"),
            _pupils,
            {"column": "pupil", "rows": 1},
            {"difference": 0.2, **_MEMBERSHIP},
            (
                {"count": "rows", **_by("support", ("no", "yes"))},
                {"mean": "mark", "bounds": [0, 100], "resolution": 1, "weight": 3},
            ),
        ),
        Situation(
            "payroll",
            ("employee", "team", "gender", "salary"),
            _staff,
            {"column": "employee", "rows": 1},
            {"posterior": 0.75, "p": 0.5, **_MEMBERSHIP},
            (
                {"count": "rows", **_by("team", _TEAMS)},
                {
                    "mean": "salary",
                    "bounds": [0, 9000],
                    "resolution": 100,
                    "weight": 4,
                    **_by("gender", ("f", "m")),
                },
            ),
        ),
        Situation(
            "survey",
            ("respondent", "gender", "age", "smokes"),
            _answers,
            {"column": "respondent", "rows": 1, "adjacency": "replace"},
            {"ratio": 20, "about": "value", "every_output": True},
            file={
                "columns": ["gender", "age", "smokes"],
                "keys": {
                    "gender": ["f", "m"],
                    "age": ["under 45", "45 or more"],
                    "smokes": ["no", "yes"],
                },
                "n_synthetic": 50,
                "n": 1000,
            },
        ),
    )
}


def situations(*, synthetic: bool = False) -> dict[str, Situation]:
    """Return the situations whose release is a table, or a synthetic file."""
    return {name: one for name, one in SITUATIONS.items() if bool(one.file) == synthetic}


def begin(folder: Workfolder, name: str) -> dict[str, Any]:
    """Put the data of a situation into the folder, where they are not yet, and return its spec."""
    if name not in SITUATIONS:
        raise InputError("web.example.unknown", names=", ".join(SITUATIONS))
    found = SITUATIONS[name]
    data, file = found.data(), f"example-{name}.csv"
    path = folder.root / file
    if not path.is_file() or path.read_bytes() != data:
        file = folder.receive(file, io.BytesIO(data))
    return found.spec(file)
