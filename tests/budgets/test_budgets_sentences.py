"""Every sentence of this room reads as one: of its errors, its warnings and its reasons.

What each says (the value, the rule, the next step) is tested beside the thing it speaks of; here
its form is: one space between words, no word in capitals but an initialism, a capital where a
sentence of a warning begins, and a full stop at its end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import choose
from discreet.beliefs.one_prior import range_for_ratio
from discreet.budgets.alternatives import lee_clifton_rule
from discreet.budgets.finding import Search
from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.promises import Box, Counterfactual, Formula, Function, Groups, Posterior, Ratio
from discreet.promises.unit import KINDS
from discreet.words import say

INITIALISMS = {"KSZ", "DP"}


def assert_reads(sentence: str, *, capital: bool) -> None:
    assert set(re.findall(r"[A-Z]{2,}", sentence)) <= INITIALISMS, sentence
    assert "  " not in sentence
    assert sentence == sentence.strip()
    assert sentence.endswith((".", "?", ")."))
    assert sentence[0].isupper() is capital, sentence
    for after in re.findall(r"[.?] (\w)", sentence):
        assert after.isupper() or after.isdigit(), sentence


REFUSALS: dict[str, Callable[[], Any]] = {
    "population": lambda: lee_clifton_rule(1, 0.5, sensitivity=1, contrast=1),
    "posterior": lambda: lee_clifton_rule(4, 0.2, sensitivity=1, contrast=1),
    "contrast": lambda: lee_clifton_rule(4, 0.5, sensitivity=1, contrast=-1),
    "delta": lambda: choose(Ratio(3), delta=2),
    "no room": lambda: choose(Posterior(math.nextafter(0.25, 1), Box(0.25, 0.25, 1, 1))),
    "counterfactual": lambda: choose(Counterfactual(1.0)),
    "confidence": lambda: choose(Ratio(3), confidence=0.9),
    "every output": lambda: choose(Ratio(3), every_output=True, delta=1e-6),
    "not in": lambda: choose(Posterior(0.5, Box(0.1, 0.25, 1, 1)), adjacency="local"),
    "ratio": lambda: range_for_ratio(0.5, 0.5, 1.0),
    "found": lambda: Search().offer(np.array([0.0]), np.ones(1), np.ones(1)),
    "singular": lambda: choose("2 + 1/(p - 0.5)**2"),
    "certainty": lambda: choose(
        Function(lambda p, q: 2 - p * q, monotone_p="decreasing", monotone_q="decreasing")
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    with pytest.raises(DiscreetError) as refused:
        REFUSALS[name]()
    assert_reads(str(refused.value), capital=False)


def warned() -> dict[str, str]:
    """One choice for every warning there is, by its first words."""
    whole = choose(Ratio(3, Box(0.2, 0.2)), sided="one")
    short = replace(
        whole,
        guarantee=PureDP(0.5),
        certificate=replace(whole.certificate, lower=0.5, upper=0.6),
    )
    choices = [
        choose(Posterior(1.0, Box(0.1, 0.5, 1, 1))),
        whole,
        short,
        choose(Groups((("a", Ratio(2)), ("b", Ratio(3)))), sided="one"),
        choose(Function(lambda p, q: 5 + p, Box(0.2, 0.5, 0.1, 0.4))),
    ]
    return {" ".join(said.split()[:3]): said for choice in choices for said in choice.warnings}


def test_warnings() -> None:
    said = warned()
    assert set(said) == {
        "This promise limits",
        "At priors of",
        "The promise covers",
        "The promise does",
        "The search stopped",
        "Groups have unequal",
        "Not certified: nothing",
    }
    for sentence in (
        *said.values(),
        *(say(f"budgets.question.{kind}", unit="one person") for kind in KINDS),
    ):
        assert_reads(sentence, capital=True)


def test_what_each_warning_is_about() -> None:
    said = warned()
    assert "allows a posterior of 100 % or more" in said["This promise limits"]
    assert "the table of other beliefs" in said["The promise covers"]
    assert "larger one may be" in said["The search stopped"]
    assert "strictest" in said["Groups have unequal"]
    assert "reviewed" in said["Groups have unequal"]


def test_the_reason_of_a_choice_that_is_not_proved() -> None:
    reason = choose(Function(lambda p, q: 5 + p)).certificate.reason
    assert reason is not None
    assert_reads(reason, capital=False)
    assert choose(Formula("3 + p")).certificate.reason is None
