"""What is made and kept in the documentation is current: pictures, numbers of the papers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gallery
import pytest
from papers import filled
from papers.all import FIGURES, TABLES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_papers_page_has_the_computed_numbers() -> None:
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    assert filled(page, TABLES) == page, "run: python examples/papers docs/papers.md"
    assert page.count("\n| ") > 40


def test_the_papers_page_shows_every_figure() -> None:
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    shown = re.findall(r"\(images/([^)]+)\)", page)
    assert sorted(shown) == sorted(gallery.file_of(name) for name in FIGURES)


@pytest.mark.slow
def test_the_pictures_are_current(figures: dict[str, Callable[[], Any]]) -> None:
    kept = json.loads((DOCS / "images" / "numbers.json").read_text(encoding="utf-8"))
    drawn = gallery.IDEAS | figures
    assert set(kept) == set(drawn)
    for name, draw in drawn.items():
        assert (DOCS / "images" / gallery.file_of(name)).stat().st_size > 1000
        said = f"{name} shows other numbers now; run: python examples/gallery.py docs/images"
        assert gallery.fingerprint(draw()) == kept[name], said


def test_a_fingerprint_sees_a_changed_number() -> None:

    class Chart:
        def __init__(self, value: float) -> None:
            self.value = value

        def to_dict(self, validate: bool) -> dict[str, object]:
            return {"name": "view_3", "data": {"values": [{"name": "a", "x": self.value}]}}

    assert gallery.fingerprint(Chart(0.5)) == gallery.fingerprint(Chart(0.5 + 1e-12))
    assert gallery.fingerprint(Chart(0.5)) != gallery.fingerprint(Chart(0.501))
