"""What promises cost: errors against the law of the noise, decisions against brute force."""

from __future__ import annotations

import contextlib
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import choose, cost
from discreet.cli import main
from discreet.errors import InputError
from discreet.laws import Geometric
from soaking import examples

ROOT = Path(__file__).parents[2]
DURHAM = {"denominator": 4012, "per": 1000, "target": 6.0, "away": [0.25, 0.5, 1, 2]}


def printed(*words: str) -> dict[str, Any]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as way_out:
        main([*words, "--json"])
    return {"exit": way_out.value.code or 0, **json.loads(said.getvalue())}


@pytest.mark.parametrize(
    ("promise", "epsilon", "sd", "switched"),
    [
        ({"posterior": 0.5, "unless_ratio": 5}, 2.1972, 0.530, (0.1, 0.0111, 1.4e-4, 2.1e-8)),
        ({"posterior": 0.25, "unless_ratio": 2}, 0.8472, 1.620, (0.3, 0.1286, 0.0236, 8.0e-4)),
        ({"ratio": 1.2}, 0.1823, 7.746, (0.4545, 0.3788, 0.2631, 0.1269)),
    ],
)
def test_example_3_comes_out(promise: Any, epsilon: float, sd: float, switched: Any) -> None:
    """Kazan and Reiter, Example 3: the reference values of the paper, as corrected."""
    (one,) = cost(promise | {"q": 1}, **DURHAM)
    assert math.floor(one.epsilon * 1e4) / 1e4 == epsilon
    assert one.errors["count"]["rmse"] == pytest.approx(sd, abs=5e-4)
    above = [switch for switch in one.switch if switch.decision == "above"]
    assert [switch.distance for switch in above] == [1, 2, 4, 8]
    assert [switch.chance for switch in above] == pytest.approx(switched, rel=0.05, abs=5e-5)


def test_a_confidence_without_delta_is_sent_to_where_it_gains_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On one count it gains nothing: it said to give a δ, which costs slightly more."""
    file = tmp_path / "ps.yaml"
    file.write_text("{posterior: 0.12, p: 0.05, q: 1, confidence: 0.99}")
    said = printed("cost", "--file", str(file))["error"]
    assert said["code"] == "input"
    assert "On a single count a confidence gains nothing" in said["next"]
    command = "discreet plan --releases K --confidence 0.99 --mechanism gaussian"
    assert f"`{command}`" in said["next"]
    capsys.readouterr()
    words = command.replace("K", "12").split()[1:]
    planned = printed(*words, "--posterior", "0.12", "--prior", "0.05")
    every = printed("plan", "--releases", "12", "--posterior", "0.12", "--prior", "0.05")
    assert planned["accuracy"]["sd"] < every["accuracy"]["sd"]
    one, sure = (
        cost({"posterior": 0.12, "p": 0.05, "q": 1}),
        choose({"posterior": 0.12, "p": 0.05, "q": 1, "delta": 1e-6, "confidence": 0.99}),
    )
    assert sure.epsilon < one[0].epsilon


@settings(deadline=None, max_examples=examples(40))
@given(st.floats(0.02, 5), st.integers(1, 4), st.integers(1, 30))
def test_ranks_agree_with_every_pair_of_noises(epsilon: float, size: int, gap: int) -> None:
    law = Geometric(epsilon, size)
    far = math.ceil(40 / (epsilon / size))
    noise = [(n, math.exp(law.log_density(n))) for n in range(-min(far, 3000), min(far, 3000) + 1)]
    if far > 3000:
        return
    tails = {n: law.tail(n) for n in range(gap - far, gap + far + 2)}
    reverse = math.fsum(p * tails[n + gap + 1] for n, p in noise)
    equal = math.fsum(p * math.exp(law.log_density(n + gap)) for n, p in noise)
    assert law.prob_reversed(gap) == pytest.approx((reverse, equal), rel=1e-9, abs=1e-15)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.floats(0.05, 4),
    st.integers(1, 5000),
    st.floats(0, 100),
    st.lists(st.floats(1e-3, 50), min_size=1, max_size=3),
)
def test_switching_is_the_chance_of_the_other_side(
    epsilon: float, births: int, target: float, away: list[float]
) -> None:
    """Every count that noise gives, with its verdict: the target is met at it or below."""
    choice = choose({"ratio": math.exp(2 * epsilon)})
    asked: dict[str, Any] = {"denominator": births, "per": 1000, "target": target, "away": away}
    (one,) = cost(choice, **asked)
    law = Geometric(choice.epsilon)
    limit = math.floor(target * births / 1000 + 1e-6)
    far = math.ceil(36 / choice.epsilon)
    for switch in one.switch:
        met = switch.count <= limit
        assert met == (switch.decision == "below")
        other = math.fsum(
            math.exp(law.log_density(n))
            for n in range(-far - abs(switch.distance), far + abs(switch.distance) + 1)
            if (switch.count + n <= limit) != met
        )
        assert switch.chance == pytest.approx(other, rel=1e-9, abs=1e-14)


def test_tables_hold_in_every_cell() -> None:
    (one,) = cost({"ratio": 3}, cells=[1, 10, 1000])
    law = Geometric(one.epsilon)
    for said in one.errors["tables"]:
        t = said["all_within_95"]
        assert law.prob_within(t) ** said["cells"] >= 0.95 - 1e-12
        assert law.prob_within(t - 1) ** said["cells"] < 0.95
        assert said["sum_rmse"] == pytest.approx(law.sd * math.sqrt(said["cells"]))


def test_a_promise_that_limits_nothing_has_no_noise() -> None:
    (one,) = cost({"posterior": 1.0, "p": 0.1}, target=5, away=[1], gaps=[1])
    said = one.to_dict()
    assert (said["epsilon"], said["unbounded"]) == (None, True)
    assert {switch.chance for switch in one.switch} == {0.0}
    assert said["errors"]["count"] == {"rmse": 0.0, "within_95": 0, "prob_exact": 1.0}


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"away": [1]}, "no target"),
        ({"target": math.nan}, "target is nan"),
        ({"target": 5, "away": [0]}, "away is 0"),
        ({"gaps": [0]}, "gaps is 0"),
        ({"cells": [1.5]}, "cells is 1.5"),
        ({"denominator": 0}, "denominator is 0"),
        ({"adjacency": "local"}, "randomizes an answer"),
    ],
)
def test_what_cannot_be_asked_is_refused(how: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        cost({"ratio": 3}, **how)


def test_the_command_takes_flags_files_and_lists(tmp_path: Path) -> None:
    durham = ["--file", str(ROOT / "examples" / "cost" / "durham.yaml")]
    found = printed("cost", *durham)["promises"]
    assert len(found) == 12
    assert len(found[0]["switch"]) == 8
    assert round(found[-1]["epsilon"], 3) == 2.197
    lone = tmp_path / "lone.yaml"
    lone.write_text("{ratio: 3}")
    both = printed("cost", "--file", str(lone), *durham, "--q", "0.5")["promises"]
    assert len(both) == 13
    assert len(both[0]["switch"]) == 8  # the target is that of all
    alone = printed("cost", "--ratio", "3", "--target", "10", "--away", "1")["promises"]
    assert [one["decision"] for one in alone[0]["switch"]] == ["above", "below"]
    assert printed("cost")["exit"] == 2
    for wrong in ("{promises: 3}", "{promises: []}", "{ratio: 3, nonsense: 1}"):
        lone.write_text(wrong)
        refused = printed("cost", "--file", str(lone))
        assert (refused["exit"], set(refused["error"])) == (2, {"code", "message", "next"})


def test_what_is_printed_names_each_promise(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cost", "--file", str(ROOT / "examples" / "cost" / "durham.yaml")])
    out = capsys.readouterr().out
    assert "L. Nobody becomes more than 50 % sure" in out
    assert "2.1972  0.530" in out
    assert "rate 6.25 (count 25)  45.5\N{NO-BREAK SPACE}%" in out


def test_unlike_promises_are_not_ranked() -> None:
    member, value = {"ratio": 3, "about": "membership"}, {"ratio": 3, "about": "value"}
    sure = member | {"confidence": 0.95, "delta": 1e-6}
    assert cost(member, member | {"ratio": 2}).unlike is None
    assert "what is guessed (membership, value)" in str(cost(member, value).unlike)
    said = str(cost(member, sure).unlike)
    assert "how surely they hold (for every output, with probability 0.95)" in said
    assert "guessed" not in said
    assert "rises, rises and falls" in str(cost(member | {"sided": "one"}, member).unlike)
    assert "do not rank them" in said
    assert cost(member, value).to_dict()["unlike"] == cost(member, value).unlike


def test_a_confidence_that_gains_nothing_is_said_below_the_table() -> None:
    """ε came out smaller than for every output, with no word."""
    pure, sure = {"ratio": 3}, {"ratio": 3, "confidence": 0.99, "delta": 1e-6}
    assert cost(pure).no_gain is None
    both = cost(pure, sure)
    assert both[1].epsilon < both[0].epsilon
    assert str(both.no_gain).startswith("On a single count a confidence gains nothing.")
    assert both.to_dict()["no_gain"] == both.no_gain


def test_the_delta_of_one_file_is_not_that_of_another(tmp_path: Path) -> None:
    """A promise for every output stays one, whatever stands in the file beside it."""
    always, sure = tmp_path / "always.yaml", tmp_path / "sure.yaml"
    always.write_text("{ratio: 3}")
    sure.write_text("{ratio: 3, confidence: 0.95, delta: 1.0e-6}")
    both = tmp_path / "both.yaml"
    both.write_text("promises: [{ratio: 3}, {ratio: 3, confidence: 0.95, delta: 1.0e-6}]")
    for files in ([always, sure], [both]):
        flags = [word for file in files for word in ("--file", str(file))]
        found = printed("cost", *flags)["promises"]
        assert "every possible output" in found[0]["sentence"]
        assert "probability 95 %" in found[1]["sentence"]
        assert found[0]["epsilon"] == choose(ratio=3).epsilon
