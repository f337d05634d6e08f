"""The pages on strengths and on δ run as they are printed."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["strengths.md", "delta.md"])
def test_the_page_runs(page: str) -> None:
    results = doctest.testfile(str(DOCS / page), module_relative=False)
    assert results.attempted > 0
    assert results.failed == 0
