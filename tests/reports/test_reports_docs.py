"""The pages say what there is."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

from stories import Made, reported

import discreet
from discreet.reports import verifier
from discreet.reports.facts import statement_schema

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
    _, made = reported(pure)
    for path in made.files:
        place = path.relative_to(made.folder)
        assert f"`{place if len(place.parts) == 1 else f'{place.parts[0]}/'}`" in text


def test_the_page_on_the_report_has_the_hash_of_the_current_verifier() -> None:
    """Whoever changes verifier.py writes its hash into the row of the current version."""
    script = Path(verifier.__file__).read_bytes()
    row = f"| {discreet.__version__} | `{hashlib.sha256(script).hexdigest()}` |"
    assert row in (DOCS / "report.md").read_text(encoding="utf-8")


def test_the_commands_on_the_pages_print_that_hash() -> None:
    for page in ("report.md", "guides/regulator.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        (told,) = re.findall(r'python3 -I -c "(import hashlib.*?)"', text)
        command = [sys.executable, "-I", "-c", told, verifier.__file__]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert f"| `{done.stdout.strip()}` |" in (DOCS / "report.md").read_text(encoding="utf-8")
