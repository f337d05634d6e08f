"""Hundreds of edits of a report folder, each found: a sample of what `make soak` tries."""

from __future__ import annotations

import re
from pathlib import Path

import kept
import mutations
import pytest

from discreet.reports.folder import report
from soaking import soaked

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("story", "step", "least"),
    [
        ("membership", 27, 111),
        pytest.param("membership", 3, 1000, marks=pytest.mark.soak),
        ("approximate", 81, 0),
        pytest.param("approximate", 9, 0, marks=pytest.mark.soak),
    ],
)
def test_every_single_edit_of_a_report_is_found(
    tmp_path: Path, story: str, step: int, least: int
) -> None:
    made = kept.STORIES[story](tmp_path)
    folder = report(made.release_id, ledger=made.ledger).folder
    found = mutations.tried(folder, made.ledger, mutations.edits(folder)[::step])
    assert found.missed == ()
    assert found.edits >= least


def test_every_single_edit_of_the_report_of_an_account_is_found(tmp_path: Path) -> None:
    made = kept.history(tmp_path)
    folder = report(account="people", ledger=made.ledger).folder
    found = mutations.tried(folder, made.ledger, mutations.edits(folder)[:: 5 if soaked() else 30])
    assert found.missed == ()


def test_the_docs_list_what_the_folder_alone_does_not_show() -> None:
    text = (DOCS / "report.md").read_text(encoding="utf-8")
    told = text[text.index("## What it cannot show") :]
    listed = re.split(r"\|(?![^(]*\))", mutations.TEXTS["statement.json"].pattern)
    for name in (re.sub(r"[^a-z_].*", "", part) for part in listed):
        assert f"`{name}" in told, name
    for name in mutations.PROSE:
        assert f"`{name}`" in told
