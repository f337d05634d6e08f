"""What a release to report on is made from: people, a spec, an account."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import release
from discreet.reports import folder
from discreet.reports.folder import Report, report
from discreet.reports.page import pictures

# What an account can hold: each is a fixture.
KINDS = ("pure", "approximate", "concentrated", "mixed", "records", "synthetic", "planned")


def people() -> pa.Table:
    rows = [
        (f"p{i}", "north" if (i + j) % 3 else "south", 10.0 * j)
        for i in range(60)
        for j in range(3)
    ]
    person, county, cost = zip(*rows, strict=True)
    return pa.table({"person": list(person), "county": list(county), "cost": list(cost)})


COUNT: dict[str, Any] = {
    "count": "rows",
    "by": ["county"],
    "keys": {"county": ["north", "south", "west"]},
}
BASE: dict[str, Any] = {
    "account": "people",
    "purpose": "visits by county",
    "protect": {"unit": "person", "column": "person", "rows": 2},
    "statistics": [COUNT],
    "ledger": "sqlite:///ledger.db",
    "output": "out",
    "about": {
        "name": "Visits <by> county",
        "curators": ["An Agency"],
        "region": "Nowhere",
        "description": "Counts.",
        "intended_use": "Teaching.",
    },
}


@dataclass(frozen=True)
class Made:
    """A release, where it is, and how to make it again."""

    release_id: str
    home: Path

    @property
    def ledger(self) -> str:
        return f"sqlite:///{self.home / 'ledger.db'}"

    @property
    def output(self) -> Path:
        return self.home / "out"

    @property
    def folder(self) -> Path:
        return self.output / self.release_id

    def copied(self, to: Path) -> Made:
        """A copy that a test may change."""
        shutil.copytree(self.home, to / "copy")
        return Made(self.release_id, to / "copy")


def opened(home: Path, **terms: Any) -> Ledger:
    ledger = Ledger.open(f"sqlite:///{home / 'ledger.db'}")
    said: dict[str, Any] = {
        "unit": "person",
        "adjacency": "add-remove",
        "filter": "pure",
        "cap": PureDP(3.0),
        "approver": "A. Approver",
        "reason": "test",
    }
    ledger.open_account("people", **(said | terms))
    return ledger


def made(home: Path, spec: dict[str, Any], **how: Any) -> Made:
    found = release(spec, data=people(), folder=home, confirm=lambda _: True, **how)
    return Made(found.release_id, home)  # type: ignore[union-attr]


def reported(made: Made) -> tuple[Made, Report]:
    """A copy of a release, and its report, made once for all tests: only to be read."""
    return _reported(made, folder.pictures is pictures)


@cache
def _reported(made: Made, drawn: bool) -> tuple[Made, Report]:
    copy = made.copied(made.home.with_name(f"{made.home.name}-{made.release_id}-{drawn}"))
    with pytest.MonkeyPatch.context() as one:  # several copies are reported from: each is the first
        one.setenv("DISCREET_STATE", str(copy.home.with_name("state")))
        return copy, report(copy.release_id, ledger=copy.ledger)


def own_report(made: Made, to: Path) -> tuple[Made, Report]:
    """A copy of both that a test may change."""
    first, found = reported(made)
    copy = first.copied(to)
    files = tuple(copy.home / path.relative_to(first.home) for path in found.files)
    return copy, replace(found, folder=copy.folder / found.folder.name, files=files)
