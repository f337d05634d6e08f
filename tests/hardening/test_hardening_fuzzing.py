"""Fuzzing by coverage: it reaches what chance does not, reports what it finds, and parsers hold."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from benchmarks import fuzzing
from benchmarks.fuzzing import PARSERS, Parser, changed, fuzzed

from discreet.errors import DiscreetError, InputError
from discreet.releases import formula
from soaking import examples

LOCK = """
def read(text, folder):
    if text[:1] == "4":
        if text[1:2] == "7":
            if text[2:3] == "2":
                raise KeyError(text)
"""


def _locked(tmp_path: Path) -> Parser:
    place = tmp_path / "lock.py"
    place.write_text(LOCK)
    found: dict[str, object] = {}
    exec(compile(LOCK, str(place), "exec"), found)  # noqa: S102
    return Parser(found["read"], ("x",))  # type: ignore[arg-type]


def test_texts_that_reach_new_lines_lead_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three right signs in a row are found one by one; without coverage they are not."""
    parser = _locked(tmp_path)
    monkeypatch.setattr(fuzzing, "_ROOT", "no such place")
    assert not fuzzed(parser, 12_000, seed=1).faults
    monkeypatch.setattr(fuzzing, "_ROOT", str(tmp_path))
    found = fuzzed(parser, 12_000, seed=1)
    (fault,) = found.faults
    assert fault.startswith("KeyError at read:")
    assert found.faults[fault].startswith("472")
    assert len(found.kept) >= 3


def test_a_refusal_of_several_lines_is_a_fault() -> None:
    def read(*_: object) -> None:
        raise InputError("one\ntwo")

    assert list(fuzzed(Parser(read, ("x",)), 1, seed=1).faults) == ["refused at length"]


@pytest.mark.parametrize("name", PARSERS)
def test_every_parser_reads_or_refuses(name: str, tmp_path: Path) -> None:
    for text in PARSERS[name].seeds:
        PARSERS[name].read(text, tmp_path)  # a refusal would leave nothing to begin with
    found = fuzzed(PARSERS[name], examples(100), seed=2)
    assert not found.faults
    assert found.runs == examples(100) + len(PARSERS[name].seeds)


def test_what_fuzzing_found(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        formula.parse("a > 2 and b ('north\n('north\n")
    assert "\n" not in str(refused.value)
    survey = f"question: x\nanswers: [a, b]\nepsilon: 1\n{'k' * 5000}: 1"
    with pytest.raises(InputError) as refused:
        PARSERS["survey"].read(survey, tmp_path)
    assert len(str(refused.value)) < 3000
    with pytest.raises(DiscreetError, match="header"):
        PARSERS["source in CSV"].read("a,b,b\0\n1,2,3\n", tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("formula of a promise", "region"):
            for text in ("3if p>q else 2", "R<=1and RR<=2"):
                try:
                    PARSERS[name].read(text, Path())
                except InputError:
                    continue


def test_changes_are_drawn_from_a_seed() -> None:
    import random

    made = [changed("a: 1\n", ["b: 2"], random.Random(3)) for _ in range(2)]  # noqa: S311
    assert made[0] == made[1] != "a: 1\n"
