"""What a choice among candidates does, for scores that are supposed; and factors of a ratio."""

from __future__ import annotations

import contextlib
import io
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import Prior
from discreet.beliefs.bounds import decomposed, ratio
from discreet.cli import main
from discreet.errors import InputError
from discreet.laws import Exponential
from soaking import examples

PUMPKINS = {price: price * sum(bid >= price for bid in (1, 1, 1, 3)) for price in range(1, 101)}


def printed(*words: str) -> dict[str, Any]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit):
        main([*words, "--json"])
    return dict(json.loads(said.getvalue()))


@settings(deadline=None, max_examples=examples(50))
@given(
    st.floats(0.05, 5),
    st.floats(0.5, 20),
    st.lists(st.tuples(st.floats(0, 50), st.floats(-1, 1)), min_size=1, max_size=6),
)
def test_a_choice_is_private(epsilon: float, size: float, pairs: Any) -> None:
    """Scores that move by at most Δ move the log of every probability by at most ε."""
    law = Exponential(epsilon, size)
    one = law.probabilities([score for score, _ in pairs])
    two = law.probabilities([score + size * moved for score, moved in pairs])
    assert math.fsum(one) == pytest.approx(1)
    for p, q in zip(one, two, strict=True):
        assert p <= q * math.exp(epsilon) * (1 + 1e-9) + 1e-300


def test_pumpkins_are_priced_nearly_at_random() -> None:
    """Four bidders, a cap of 100, ε = log 3 (Knightbrook): the best of 100 prices has 1.02 %."""
    law = Exponential(math.log(3), 100)
    chances = law.probabilities(list(PUMPKINS.values()))
    weights = [3 ** (score / 200) for score in PUMPKINS.values()]
    assert chances == pytest.approx([w / sum(weights) for w in weights])
    assert max(chances) < 0.0103
    assert law.lead_for_even_odds(100) == pytest.approx(200 / math.log(3) * math.log(99))


def test_from_the_lead_on_the_best_is_as_likely_as_all_others() -> None:
    law = Exponential(0.7, 3)
    lead = law.lead_for_even_odds(9)
    assert law.probabilities([lead, *[0.0] * 8])[0] == pytest.approx(0.5)
    for wrong in ([], [math.nan], [math.inf]):
        with pytest.raises(InputError):
            law.probabilities(wrong)


def test_the_command_warns() -> None:
    flags = ["explain", "--mechanism", "exponential", "--sensitivity", "100"]
    scores = [word for score in (4, 2, 3, 0) for word in ("--score", str(score))]
    vague = printed(*flags, "--epsilon", "1.0986", *scores)["choice"]
    assert vague["nearly_random"]
    assert not printed(*flags, "--epsilon", "400", *scores)["choice"]["nearly_random"]
    refused = printed("explain", "--epsilon", "1", *scores)
    assert refused["error"]["code"] == "input"


@settings(deadline=None, max_examples=examples(80))
@given(st.floats(0.01, 5), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_the_factors_of_the_ratio_are_those_of_one_output(
    epsilon: float, p: float, q: float
) -> None:
    """K&R (5), at the output that is e^ε likelier with the value in, and e^-ε with another."""
    weights = {"value": p * q * math.exp(epsilon), "other": p * (1 - q) * math.exp(-epsilon)}
    total = sum(weights.values()) + 1 - p
    being_in = sum(weights.values()) / total
    of_value = weights["value"] / sum(weights.values())
    found = decomposed(epsilon, Prior(p, q))
    assert found == pytest.approx((being_in / p, of_value / q), rel=1e-9)
    assert math.prod(found) == pytest.approx(ratio(epsilon, Prior(p, q))[1], rel=1e-9)
