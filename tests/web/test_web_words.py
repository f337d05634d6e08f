"""Every text of the page is in the catalogue: of its templates, and of its scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet.web
from discreet.web.screens import templates
from discreet.words import catalogue

ROOM = Path(discreet.web.__file__).parent
TEMPLATES = sorted((ROOM / "templates").glob("*.html"))
SCRIPTS = sorted((ROOM / "static").glob("*.js"))
# What is no sentence: names of programs and files, and names that stay the same everywhere.
_SHORT = {"Discreet", "UTC", "verify.py", "generic", "curve", "exact", "epsilon", "delta", "rho"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_has_no_words_of_its_own(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", " ", text, flags=re.DOTALL)
    shown = re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*[A-Za-z]{3}[^"]*)"', text)
    shown += re.sub(r"<[^>]*>", "\n", text).split("\n")
    words = {
        one.strip(" ·.,=") for one in shown if re.search("[A-Za-z]{3}", one) and "aria-" not in one
    }
    assert words <= _SHORT, words - _SHORT


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_text_that_a_template_names_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    templates.get_template(path.name)
    names = re.findall(r'"(web\.[a-z_]+(?:\.[a-z_]+)*)"', text)
    whole = [name for name in names if not name.endswith("_")]  # the others are completed
    assert not [name for name in whole if not catalogue("en").has(name)]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_text_that_a_script_says_comes_with_the_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    known = catalogue("en").entry("web.script")
    assert set(re.findall(r'\bsay\("(\w+)"', text)) <= set(known)
    code = re.sub(r"//[^\n]*", "", text)
    literals = re.findall(r'"([^"\n]*)"|`([^`]*)`', code)
    spoken = [
        one or other for one, other in literals if re.search(r"[A-Z][a-z]+ [a-z]+ ", one or other)
    ]
    assert not spoken, spoken
