"""The pages say what there is."""

from __future__ import annotations

import re
from pathlib import Path

from stories import Made

from discreet.reports.facts import statement_schema
from discreet.reports.folder import report

DOCS = Path(__file__).parents[2] / "docs"


def named(section: str) -> set[str]:
    """The keys in the table of a section of the page on the statement."""
    text = (DOCS / "statement.md").read_text(encoding="utf-8")
    table = text.split(f"## {section}\n")[1].split("\n## ")[0]
    first = re.findall(r"^\| (`[^|]+) \|", table, re.M)
    return set(re.findall(r"`([a-z_]+)`", " ".join(first)))


def test_the_page_on_the_statement_names_every_key_and_no_other() -> None:
    assert named("What is in it") == set(statement_schema()["properties"])


def test_the_page_on_the_statement_names_every_fact_of_a_promise() -> None:
    one = statement_schema()["properties"]["promises"]["items"]
    assert named("Promises") == set(one["properties"]) == set(one["required"])


def test_the_page_on_the_report_names_every_file(pure: Made) -> None:
    text = (DOCS / "report.md").read_text(encoding="utf-8")
    for path in report(pure.release_id, ledger=pure.ledger).files:
        assert f"`{path.name}`" in text
