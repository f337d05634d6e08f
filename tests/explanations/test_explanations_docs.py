"""The pages say what there is."""

from __future__ import annotations

import re
from pathlib import Path

from stories import Made

from discreet.explanations.reporting import report
from discreet.explanations.statements import statement_schema

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_on_the_statement_names_every_key_and_no_other() -> None:
    text = (DOCS / "statement.md").read_text(encoding="utf-8")
    table = text.split("## What is in it")[1].split("## Risk")[0]
    assert set(re.findall(r"^\| `([a-z_]+)` \|", table, re.M)) == set(
        statement_schema()["properties"]
    )


def test_the_page_on_the_report_names_every_file(pure: Made) -> None:
    text = (DOCS / "report.md").read_text(encoding="utf-8")
    for path in report(pure.release_id, ledger=pure.ledger).files:
        assert f"`{path.name}`" in text
