"""The list of attacks fits the code: what stands against each is there, and so is its test."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.mends import ROOT, mends


def test_every_mend_of_the_list_is_there_once_with_its_test() -> None:
    """That its test fails without it is shown by `python -m benchmarks.mends`, in `make soak`."""
    found = mends()  # refuses lines that are not in their file exactly once
    assert len(found) >= 75
    for mend in found:
        file, _, name = mend.test.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {name.partition('[')[0]}(" in text, mend.test


def test_every_promise_of_the_list_is_one_of_the_page_on_security() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = re.findall(r"^\| ([A-Z][^|]+?) \|", page, re.MULTILINE)
    for mend in mends():
        assert any(promise.startswith(mend.promise) for promise in promises), mend.promise
