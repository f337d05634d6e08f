"""The page on interchange runs: its code, and the two files that it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from discreet.composition.events import curve_of_distribution, curve_of_event, event_of

TEXT = (Path(__file__).parents[2] / "docs" / "interchange.md").read_text(encoding="utf-8")


def _blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL)


def test_its_code_runs() -> None:
    names: dict[str, object] = {}
    for block in _blocks("python"):
        exec(block, names)  # noqa: S102
    assert round(names["choice"].epsilon, 4) == 0.5493  # type: ignore[attr-defined]


def test_its_files_read() -> None:
    event, distribution = map(json.loads, _blocks("json"))
    assert 0 < curve_of_event(event_of(event)).at(1.0).delta < 1
    # P(loss 0.1) = 0.6, so at ε = 0 δ is 0.6 (1 − e^-0.1).
    assert curve_of_distribution(distribution).at(0.0).delta == pytest.approx(0.0570975, rel=1e-5)
