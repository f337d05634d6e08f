"""What the commands say of a promise on average: its own figure, and what one output may tell."""

import math
import re
from typing import Any

import pytest

from discreet import choose
from discreet.cli import main
from discreet.promises import AllOf, Box, Posterior
from discreet.statements.presenter import decided_by, implied_table
from discreet.web.sentences import asked_of
from discreet.web.tolerate import answer

VALUE: dict[str, Any] = {"about": "value", "q": 0.05, "on_average": True}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main([*words, "--about", "value", "--q", "0.05", "--on-average"])
    assert caught.value.code in (0, None)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "rate"),
    [
        (["--posterior", "0.12"], "12 %"),
        (["--ratio", "3"], "15 %"),
        (["--posterior", "0.25", "--unless-ratio", "3"], "25 %"),
    ],
)
def test_who_decides_it_is_told_the_rate_that_is_promised(capsys, flags, rate):
    """It told what one output may do (23.3 %), as if the 12 % that were promised were passed."""
    out = said(capsys, "choose", *flags)
    [line] = [line for line in out.splitlines() if "decided by" in line]
    assert f"their guess is right at most {rate} of the time, on average" in line
    assert re.search(r"; one output may make them [0-9.]+ % sure", line)
    assert "they may become" not in out
    header = next(line for line in out.splitlines() if "belief before" in line)
    assert re.split(r"  +", header.strip())[1:] == [
        "a guess is right on average, at most",
        "after one output, at most",
    ]


def test_both_columns_are_bounds_of_their_own():
    found = choose(posterior=0.12, answers=20, **VALUE)
    factor = math.exp(found.epsilon)
    for row in found.implied:
        kappa = row["prior"]
        truth = min(factor * kappa, 1 - (1 - kappa) / factor)
        assert truth <= found.right_guess_at(kappa) <= truth * (1 + 1e-9)
        assert found.right_guess_at(kappa) <= row["posterior"] + 1e-12
    assert found.right_guess_at(0.05) <= 0.12


def test_with_delta_one_output_is_bounded_with_a_probability():
    found = choose(posterior=0.12, delta=1e-6, **VALUE)
    assert "with probability 99 %, one output makes them at most 23.3 % sure" in decided_by(found)
    header, _ = implied_table(found)
    assert header[-1] == "after one output, at most, with probability 99 %"


def test_the_adversary_that_binds_is_that_of_the_average():
    """For every output 80 % → 90 % is the stricter of the two; on average 50 % → 70 % is."""
    parts = (Posterior(0.9, Box(1, 1, 0.8, 0.8)), Posterior(0.7, Box(1, 1, 0.5, 0.5)))
    assert choose(AllOf(parts), about=None).binding.q == 0.8
    found = choose(AllOf(parts), on_average=True)
    assert found.epsilon == pytest.approx(math.log(0.5 / 0.3), rel=1e-9)
    assert found.binding.q == 0.5
    assert "right at most 70 % of the time" in decided_by(found)


def test_a_horizon_names_its_columns(capsys):
    out = said(capsys, "horizon", "--posterior", "0.12", "--rho", "0.01")
    assert "right guesses, on average ≤" in out
    assert "posterior ≤" not in out
    assert "at any prior" not in out


def test_the_page_tells_them_apart():
    asked = asked_of({"posterior": 0.12, "p": 1.0, "q": 0.05, "on_average": True, "answers": 20})
    assert asked is not None
    found = answer(asked, frozen="tolerance: {posterior: 0.12, p: 1.0, q: 0.05}")
    assert "12\N{NO-BREAK SPACE}% of the time" in found.binding
    assert found.implied_header[2] == "after one output, at most"
    assert "right" in found.spoken
    assert found.how["budget"].formula.count("κ") == 3
    chart = found.charts["tolerated"]["datasets"]
    [spot] = chart["binding"]
    assert 0.12 * (1 - 1e-9) <= spot["after"] <= 0.12  # where the curves touch
    assert any(
        row[0].replace("\N{NO-BREAK SPACE}", " ").endswith("after one output, at most")
        for row in found.compared
    )
