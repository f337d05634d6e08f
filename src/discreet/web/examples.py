"""Situations to try the whole way with: invented data, a promise, and a spec that can be charged.

The rows are made by arithmetic from a fixed seed: the same everywhere, and nobody's. What is
released of them, and under which promise, stands in examples.yaml.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.reading import yaml_values
from discreet.words import say

if TYPE_CHECKING:
    from discreet.web.workfolder import Workfolder

Rows = Callable[[Random], Iterator[tuple[object, ...]]]
_COUNTIES = ("Ashford", "Brook", "Carrow", "Dale")
_AGES = ("0-17", "18-64", "65+")
_DISTRICTS = ("Centre", "Harbour", "Hill", "Mill", "Station")
_SCHOOLS = ("East", "North", "South", "West")
_TEAMS = ("Care", "Finance", "IT", "Transport")


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


_ROWS: dict[str, Rows] = {
    "hospital": _visits,
    "census": _residents,
    "school": _pupils,
    "payroll": _staff,
    "survey": _answers,
}


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation: the columns of its data, and what is released of them."""

    name: str
    columns: tuple[str, ...]
    asked: Mapping[str, Any]

    @property
    def synthetic(self) -> bool:
        """Whether a synthetic file is what is released."""
        return "statistics" not in self.asked

    def data(self) -> bytes:
        """Return its rows as CSV."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(_ROWS[self.name](Random(self.name)))  # noqa: S311  nobody's data, no noise
        return out.getvalue().encode()

    def spec(self, source: str) -> dict[str, Any]:
        """Return a spec for its data: a file, or one of four releases under its promise."""
        return {
            "account": f"example-{self.name}",
            "purpose": say(f"web.example.{self.name}.purpose"),
            "source": source,
            **self.asked,
            "ledger": "sqlite:///example.db",
            "output": "example-releases",
        }


@cache
def known() -> dict[str, Situation]:
    """Return the situations by name."""
    text = Path(__file__).with_suffix(".yaml").read_text("utf-8")
    said = yaml_values(text, "examples.yaml")
    return {name: Situation(name, tuple(one["columns"]), one["spec"]) for name, one in said.items()}


def situations(*, synthetic: bool = False) -> dict[str, Situation]:
    """Return the situations whose release is a table, or a synthetic file."""
    return {name: one for name, one in known().items() if one.synthetic == synthetic}


def begin(folder: Workfolder, name: str) -> dict[str, Any]:
    """Put the data of a situation into the folder, where they are not yet, and return its spec."""
    if name not in known():
        raise InputError("web.example.unknown", names=", ".join(known()))
    found = known()[name]
    data, file = found.data(), f"example-{name}.csv"
    path = folder.root / file
    if not path.is_file() or path.read_bytes() != data:
        file = folder.receive(file, io.BytesIO(data))
    return found.spec(file)
