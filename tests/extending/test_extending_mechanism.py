"""A mechanism added from outside the package (`toy_mechanism.py`): a bit flipped by chance."""

from __future__ import annotations

import json
import math
from unittest.mock import patch

import pytest

from discreet import compose, explain, horizon, plan
from discreet.cli import main
from discreet.composition import loss_of
from discreet.errors import InputError
from discreet.laws import Geometric, kind_of, names, register, registry
from discreet.noise import sampler_of

with patch.dict(registry.KINDS):  # other tests see the mechanisms of the package alone
    names()
    from toy_mechanism import FlippedBit

    KIND = registry.KINDS["flipped-bit"]


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    names()
    monkeypatch.setattr(registry, "KINDS", dict(registry.KINDS))
    register(KIND)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    with pytest.raises(SystemExit) as done:
        main([*arguments, "--json"])
    assert not done.value.code
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_it_is_added_up_by_its_own_loss() -> None:
    many = compose([(FlippedBit(0.05), 365)], delta=1e-6)
    assert many.others["curve"] == loss_of((Geometric(0.05), 365)).epsilon(1e-6)  # the same law
    assert compose([(FlippedBit(0.1), 3), (Geometric(0.2), 2)], delta=1e-6).epsilon < 0.7
    assert explain(FlippedBit(0.5), 0.1).posterior.upper < 0.16
    assert horizon(FlippedBit(0.1), 0.5, posterior_limit=0.9).releases == 22
    assert loss_of(FlippedBit(0.1)).steps(2).one_step(0.01).epsilon_prime == pytest.approx(0.2)


def test_it_is_planned_for_by_its_name() -> None:
    planned = plan(12, ratio=3, mechanism="flipped-bit", confidence=0.99, about="membership")
    assert (
        planned.budgets
        == plan(12, ratio=3, mechanism="geometric", confidence=0.99, about="membership").budgets
    )
    assert planned.accuracy.words.startswith("The answer is flipped")
    assert kind_of("flipped-bit").label == "an answer that is flipped by chance"


def test_commands_know_it(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--mechanism", "flipped-bit", "--epsilon", "0.5")
    assert said(capsys, "explain", *given, "--prior", "0.1")["holds_with"] == 1
    many = said(capsys, "compose", *given, "--times", "10", "--delta", "1e-6")
    assert many["others"]["curve"] == pytest.approx(4.07, abs=1)  # type: ignore[index]
    limits = ("--mechanism", "flipped-bit", "--releases", "12", "--ratio", "3")
    assert said(capsys, "plan", *limits)["accuracy"]["mechanism"] == "flipped-bit"  # type: ignore[index]


def test_its_sampler_is_found_by_its_law() -> None:
    law = FlippedBit(math.log(3))
    drawn = sampler_of(law)(law, 1000)
    assert set(drawn) == {0, 1}
    assert 100 < sum(drawn) < 400  # 250 ± 11 × 13.7: fails once in 10^27


def test_a_name_is_taken_once() -> None:
    with pytest.raises(InputError, match="already"):
        register(KIND)
