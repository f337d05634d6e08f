"""Sentences: every numeral comes from the belief, rounded outward; the unit is the subject."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import Prior, explain
from discreet.composition import loss_of
from discreet.errors import InputError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.laws import Gaussian, Geometric
from discreet.reports.sentences import sentence
from discreet.statements.tables import crowd_for, frequency
from soaking import examples

fixed = settings(derandomize=True, deadline=None, max_examples=examples(300))
AUDIENCES = ["public", "technical", "regulator"]


def value_of(text: str) -> float:
    count, of = text.split(" in ")
    return float(count.replace(",", "")) / int(of.replace(",", ""))


@fixed
@given(st.floats(0, 1), st.sampled_from(["up", "down"]))
def test_frequencies_round_outward_and_stay_close(x: float, side: str) -> None:
    shown = value_of(frequency(x, side))  # type: ignore[arg-type]
    slack = 1e-12
    if side == "up":
        assert x - slack <= shown <= 1
    else:
        assert 0 <= shown <= x + slack
    assert abs(shown - x) <= 1 / crowd_for(x) + slack


@pytest.mark.parametrize(
    ("x", "side", "text"),
    [
        (0.5249, "up", "53 in 100"),
        (0.4750, "down", "47 in 100"),
        (0.05, "up", "5 in 100"),
        (0.9902, "up", "99.1 in 100"),
        (0.0123, "up", "1.3 in 100"),
        (1.0, "up", "100 in 100"),
        (0.0, "down", "0 in 100"),
    ],
)
def test_frequencies(x: float, side: str, text: str) -> None:
    assert frequency(x, side) == text  # type: ignore[arg-type]


def test_example_1_1_for_the_public() -> None:
    text = sentence(explain(ApproxDP(0.1, 1e-7), 0.5))
    assert "at most 53 in 100" in text
    assert "at least 47 in 100" in text
    assert "1 in 100 cases" in text
    assert not re.search(r"[ερδ]|epsilon|delta|-DP", text)


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("stated", [PureDP(0.5), ApproxDP(0.5, 1e-6), ZCDP(0.02), Gaussian(5.0)])
@pytest.mark.parametrize("prior", [None, Prior(0.3), Prior(0.3, 0.4)])
def test_the_unit_is_the_subject(audience: str, stated: object, prior: Prior | None) -> None:
    text = sentence(explain(stated, prior, unit="one visit"), audience)  # type: ignore[arg-type]
    assert "one visit" in text
    assert not re.search(r"\b(a|one) person\b", text)


def test_the_regulator_reads_how_often_it_may_fail() -> None:
    text = sentence(explain(ApproxDP(0.1, 1e-7), 0.5, people=50_000), "regulator")
    assert "Of 50,000 units expect up to 500 beyond the bound." in text
    for level in ("99 %", "99.99 %", "99.9999 %"):
        assert f"{level}: at most" in text
    assert "Not promised" in text
    certain = sentence(explain(PureDP(0.1), 0.5), "regulator")
    assert "for every possible output" in certain
    assert "expect up to" not in certain


def test_technical_names_theorem_and_strength() -> None:
    text = sentence(explain(Gaussian(5.0), 0.5), "technical")
    assert "KSZ Theorem 3.9" in text
    assert "(curve)" in text
    assert "as released" in text  # the exact bound, shown beside


def test_one_sided_says_nothing_of_the_lower_end() -> None:
    text = sentence(explain(ApproxDP(0.1, 1e-7), 0.5, sided="one"))
    assert "at least" not in text


def test_a_chance_that_counts_every_output_is_told_from_a_belief_that_may_fail() -> None:
    """Sixty releases: at most 74 in 100 believe it, and something bad has at most 98 in 100."""
    text = sentence(explain(loss_of((Geometric(0.05), 60)), 0.5, strength="exact"))
    assert "98 in 100 with them in. This answers another question than the limit" in text
    assert "It never fails: it also counts the rare cases" in text
    assert "never fails" not in sentence(explain(PureDP(0.5), 0.5))


def test_unknown_audience() -> None:
    with pytest.raises(InputError, match="audience is"):
        sentence(explain(PureDP(0.1), 0.5), "everyone")  # type: ignore[arg-type]


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("prior", [None, 0.5, Prior(0.5, 0.2), 1e-9, 1.0])
@pytest.mark.parametrize(
    "stated", [PureDP(float("inf")), PureDP(0.0), ApproxDP(1e4, 1e-6), ZCDP(1e4), ZCDP(1e-300)]
)
def test_extremes_are_still_sentences(audience: str, prior: object, stated: object) -> None:
    text = sentence(explain(stated, prior), audience)  # type: ignore[arg-type]
    assert text.endswith((".", ")"))
    assert "nan" not in text
    assert "inf " not in text.replace("inf-DP", "")
