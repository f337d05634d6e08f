"""Words: readable, traced to results, rounded outward, the unit their subject."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_grade import HARDEST, grade
from tracing import untraced

from discreet.beliefs import Prior, explain
from discreet.errors import InputError
from discreet.guarantees import ZCDP, ApproxDP, ProbabilisticDP, PureDP, amount
from discreet.laws import Gaussian
from discreet.promises import Unit, promise_in
from discreet.reports.sentences import (
    AUDIENCES,
    answer,
    guarantee_text,
    not_protected,
    pure_against_approximate,
    sentence,
    series_text,
    worry,
)
from discreet.rounding import number
from discreet.statements.tables import crowd_for, many
from losses import right_guess
from soaking import examples, some_of

fixed = settings(derandomize=True, deadline=None, max_examples=examples(200))
PROMISES = [
    PureDP(0.5),
    ApproxDP(1.0, 1e-6),
    ZCDP(0.02),
    ProbabilisticDP(1.2, 1e-5),
    Gaussian(5.0),
    PureDP(0.7, adjacency="replace"),  # type: ignore[arg-type]
]
PRIORS = [None, Prior(0.3), Prior(0.0023), Prior(0.3, 0.4)]


def public_texts() -> list[str]:
    texts = [text for unit in ("person", "record", "partition") for _, text in _not(unit)]
    for stated in PROMISES:
        for prior in PRIORS:
            belief = explain(stated, prior)
            texts.append(sentence(belief))
            texts.append(pure_against_approximate(belief))
            if prior is not None:
                texts.append(series_text(belief, belief, 3, 12))
                texts += [answer(belief, knows).text for knows in ("everyone else", "a hunch")]
        texts.append(guarantee_text(belief.guarantee))
    return texts


def _not(unit: str) -> Any:
    return not_protected("public", unit)


def test_the_public_texts_are_easy_enough_to_read() -> None:
    grades = {text: grade(text) for text in public_texts()}
    hardest = max(grades, key=lambda text: grades[text])
    assert grades[hardest] <= HARDEST, hardest


def test_the_measure_of_reading_tells_easy_from_hard() -> None:
    assert grade("The cat sat on the mat. It was fat.") < 2
    assert grade("Differentially private mechanisms guarantee indistinguishability.") > 20


def test_the_public_texts_have_no_symbols() -> None:
    for text in public_texts():
        assert not re.search(r"[εδρ]|epsilon|delta|-DP|posterior|prior\b", text), text


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("stated", PROMISES, ids=str)
def test_every_numeral_comes_from_the_belief(stated: Any, prior: Any) -> None:
    belief = explain(stated, prior, people=50_000)
    for audience in some_of(AUDIENCES, PROMISES.index(stated) + PRIORS.index(prior)):
        assert untraced(partial(sentence, audience=audience), belief) == []
        assert untraced(partial(pure_against_approximate, audience=audience), belief) == []


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("stated", PROMISES[:4], ids=str)
def test_every_numeral_of_a_promise_comes_from_it(stated: Any, audience: Any) -> None:
    # The theorem that a technical text cites, and 1−δ, are names of things, not results.
    citation = re.compile(r"KSZ Theorem 3\.9|1−δ|α > 1")

    def text(promise: Any) -> str:
        return citation.sub("", guarantee_text(promise, audience))

    assert untraced(text, stated) == []


@pytest.mark.parametrize("audience", AUDIENCES)
def test_every_numeral_of_a_series_comes_from_it(audience: Any) -> None:
    def text(result: Any) -> str:
        prior, now, end, k, total = result
        return series_text(
            explain(PureDP(now), prior), explain(PureDP(end), prior), k, total, audience
        )

    # The theorem's number is the belief's, as its own test shows.
    assert untraced(lambda r: text(r).replace("K&R Theorem 1", ""), (0.3, 0.1, 1.2, 3, 12)) == []


@pytest.mark.parametrize("knows", ["everyone else", "a hunch"])
@pytest.mark.parametrize("stated", PROMISES, ids=str)
def test_every_numeral_of_a_worry_comes_from_it(stated: Any, knows: Any) -> None:
    belief = explain(stated, Prior(0.3))
    assert untraced(lambda b: answer(b, knows).text, belief) == []
    # The figures are a hundred, always.
    assert set(untraced(lambda b: answer(b, knows).icons.text, belief)) <= {"100"}


def test_a_tracing_that_finds_a_planted_numeral() -> None:
    belief = explain(PureDP(0.5), 0.3)
    assert untraced(lambda b: sentence(b) + " It is 17 times better.", belief) == ["17"]


@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("stated", PROMISES, ids=str)
def test_the_unit_is_the_subject_everywhere(stated: Any, audience: Any) -> None:
    unit = str(Unit.of("partition", columns=("patient_id", "day")))
    belief = explain(stated, 0.3, unit=unit)
    texts = [
        sentence(belief, audience),
        guarantee_text(belief.guarantee, audience, unit),
        answer(belief).text,
    ]
    if belief.holds_with < 1:
        texts.append(pure_against_approximate(belief, audience))
    for text in texts:
        assert unit in text
        assert not re.search(r"\b(a|one) person\b|\byou\b", text)


def test_an_unknown_audience_is_refused() -> None:
    with pytest.raises(InputError, match="audience is"):
        not_protected("everyone")  # type: ignore[arg-type]


def test_what_is_not_protected_names_the_five_things() -> None:
    for audience in AUDIENCES:
        names = " ".join(name for name, _ in not_protected(audience)).lower()
        for asked in ("groups", "relatives", "raw data", "taken", "world"):
            assert asked in names


def test_a_promise_about_membership_leaves_values_open() -> None:
    """Its budget lets a belief about a value change by two steps, and it promises nothing there."""
    asked = {"membership": True, "value": False, "both": False}
    for about, open_to in asked.items():
        promise = promise_in({"ratio": 3, "about": about})
        for audience in AUDIENCES:
            found = dict(not_protected(audience, promises=[promise]))
            assert ("Values" in found) == open_to
    assert "Values" in dict(not_protected(promises=[promise_in({"posterior": 0.12, "p": 0.05})]))
    both = [promise_in({"ratio": 3, "about": about}) for about in ("membership", "value")]
    assert "Values" not in dict(not_protected("public", promises=both))
    assert "Values" in dict(not_protected("public", promises=[]))  # none is in force


# -- joining or staying out


@fixed
@given(st.floats(0, 12), st.floats(0, 0.5), st.floats(0, 1))
def test_joining_is_what_the_definition_allows(epsilon: float, delta: float, x: float) -> None:
    """By brute force: no pair of laws on two outcomes that is (ε, δ)-DP does more."""
    joined = right_guess(ApproxDP(epsilon, delta), x)
    y = min(1.0, joined + 1e-9 + 1e-6 * joined)
    if y < 1:  # just above the bound, the definition is broken one way or the other
        grow = math.exp(epsilon)
        broken = y > grow * x + delta or (1 - x) > grow * (1 - y) + delta
        assert broken
    inside = max(0.0, joined * (1 - 1e-9) - 1e-9)
    grow = math.exp(epsilon)
    assert inside <= grow * x + delta + 1e-9
    assert (1 - x) <= grow * (1 - inside) + delta + 1e-9 * grow


@fixed
@given(st.floats(-16, 3), st.floats(-16, 0), st.floats(-16, 0))
def test_joining_is_never_stated_below_the_truth(epsilon: float, delta: float, x: float) -> None:
    """At 50 digits, also where everything is small."""
    import mpmath as mp

    epsilon, delta, x = 10**epsilon, 10**delta, 10**x
    with mp.workdps(50):
        e, d, without = map(mp.mpf, (epsilon, delta, x))
        truth = min(1, mp.exp(e) * without + d, 1 - mp.exp(-e) * (1 - d - without))
        assert right_guess(ApproxDP(epsilon, delta), x) >= truth
        truth = min(1, mp.exp(e) * without, 1 - mp.exp(-e) * (1 - without))
        assert right_guess(PureDP(epsilon), x) >= truth


@fixed
@given(st.floats(1e-6, 3), st.floats(0.001, 0.999))
def test_joining_under_zcdp_is_above_the_gaussian_truth(rho: float, x: float) -> None:
    """The Gaussian mechanism is ρ-zCDP; its best test of size x has power Φ(Φ⁻¹(x) + √(2ρ))."""
    from statistics import NormalDist

    law = NormalDist()
    truth = law.cdf(law.inv_cdf(x) + math.sqrt(2 * rho))
    assert right_guess(ZCDP(rho), x) >= truth - 1e-12


# -- a person's own worry


def test_a_worry_in_words_and_figures() -> None:
    found = worry(PureDP(math.log(3)), 0.5)
    assert (found.icons.before, found.icons.after) == (50, 75)
    assert "at most 75 in 100" in found.text
    assert "knows all the data except one person" in found.text
    hunch = worry(PureDP(math.log(3)), 0.5, knows="a hunch")
    assert "only a hunch" in hunch.text
    assert "Families" in hunch.text
    assert "25 more" in found.icons.text


def test_a_hunch_against_a_promise_that_may_fail_says_who_it_is_proved_for() -> None:
    text = worry(ApproxDP(0.5, 1e-6), 0.3, knows="a hunch").text
    assert "for someone who knows all the rest" in text
    assert "1 in 100 cases" in text


@fixed
@given(st.floats(0.001, 0.999), st.floats(0, 5))
def test_icons_are_rounded_outward(prior: float, epsilon: float) -> None:
    found = worry(PureDP(epsilon), prior)
    assert found.belief.posterior is not None
    assert found.icons.before <= 100 * prior + 1e-9
    assert found.icons.after >= 100 * found.belief.posterior.upper - 1e-9
    assert 0 <= found.icons.before <= found.icons.after <= 100


def test_worries_that_cannot_be() -> None:
    with pytest.raises(InputError, match="knows is"):
        worry(PureDP(1), 0.3, knows="nothing")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs a prior"):
        answer(explain(PureDP(1)))
    with pytest.raises(InputError, match="Release 13 of 12"):
        series_text(explain(PureDP(1), 0.3), explain(PureDP(1), 0.3), 13, 12)
    with pytest.raises(InputError, match="the same prior"):
        series_text(explain(PureDP(1), 0.3), explain(PureDP(1), 0.4), 1, 12)


# -- figures


@fixed
@given(st.floats(1e-300, 1e300), st.integers(2, 6))
def test_numbers_are_rounded_to_their_side(x: float, figures: int) -> None:
    up, down = (float(number(x, side, figures).replace(",", "")) for side in ("up", "down"))  # type: ignore[arg-type]
    assert down <= x * (1 + 1e-12)
    assert up >= x * (1 - 1e-12)
    assert up - down <= 2.1 * abs(x) * 10.0 ** (1 - figures)


def test_the_least_number_is_shown() -> None:
    assert number(5e-324, "up") == "5e-324"
    assert number(1.25e-320, "up", 2) == "1.3e-320"


def test_amounts() -> None:
    assert amount({"epsilon": None, "delta": None, "rho": None}, "up", "nothing") == "nothing"
    assert amount({"epsilon": 1.2992831, "rho": None}, "up", "") == "ε = 1.29929"
    assert amount({"epsilon": 1.2992831, "rho": None}, "down", "") == "ε = 1.29928"


@fixed
@given(
    st.floats(0, 1),
    st.sampled_from([100, 1_000, 10_000, 1_000_000]),
    st.sampled_from(["up", "down"]),
)
def test_a_count_is_rounded_outward_and_shows_two_figures(x: float, crowd: int, side: Any) -> None:
    """The oracle is decimal arithmetic on the digits that are shown."""
    shown = many(x, side, crowd).replace(",", "")
    count, true = Decimal(shown), Decimal(x) * crowd
    off = count - true if side == "up" else true - count
    assert off >= -Decimal(x) * crowd * Decimal("1e-12")
    assert len(shown.partition(".")[2]) <= 2
    if 1 <= true <= crowd - 1:
        assert off <= max(Decimal(1), true / 10) if true >= 10 else off <= Decimal("0.1")
    assert 0 <= count <= crowd


@fixed
@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=3))
def test_one_crowd_is_enough_for_all(probabilities: list[float]) -> None:
    crowd = crowd_for(*probabilities)
    assert crowd in (10**k for k in range(2, 7))
    assert all(many(x, "up", crowd) != "0" for x in probabilities)
    if min(probabilities) >= 0.01:
        assert crowd == 100  # whatever the slider of a hundred shows, its answers show too


def test_that_figures_hold_always_says_which_figures() -> None:
    """On the page it is a paragraph of its own: "they" referred to nothing in it."""
    said = pure_against_approximate(explain(PureDP(0.5)))
    assert said == "These figures hold whatever the noise turns out to be."
