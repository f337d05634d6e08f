"""Intruders and links, against Bayes' rule and against every pair of rows, in exact fractions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DataError, InputError
from discreet.synthetic import Cells, Synthesizer, assess, assess_counts, linkage, risk
from discreet.synthetic.records import Intruder, expected_risk_increase, one_in_population, seen_by
from soaking import examples

CHECK = settings(derandomize=True, deadline=None, max_examples=examples(60))
CELLS = Cells.of({"a": ["x", "y"], "b": ["1", "2", "3"]}, impossible=[{"a": "y", "b": "3"}])


def posterior(x, s, law, t, prior, sampled):
    """The beliefs about where a target of cell t is, by enumerating in, where, and out; exact."""
    alphas = [law.alpha * w for w in (law.weights or [1] * len(x))]
    sampled = Fraction(sampled)

    def likelihood(counts):
        total = sum(counts) + sum(alphas)
        value = Fraction(1)
        for count, alpha, hits in zip(counts, alphas, s, strict=True):
            value *= ((count + alpha) / total) ** hits
        return value

    others = list(x)
    others[t] -= 1
    out = likelihood(others) if sampled < 1 else 0
    weight = {}
    for k, share in prior.items():
        counts = list(others)
        counts[k] += 1
        weight[k] = share * (sampled * likelihood(counts) + (1 - sampled) * out)
    return {k: value / sum(weight.values()) for k, value in weight.items()}


def likeliest(beliefs):
    return [k for k, value in beliefs.items() if value == max(beliefs.values())]


@st.composite
def cases(draw):
    size = CELLS.size
    x = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any))
    s = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any))
    weights = draw(st.none() | st.lists(st.integers(1, 5), min_size=size, max_size=size))
    law = Synthesizer.of(draw(st.floats(0.5, 40)), n_synthetic=sum(s), cells=size, weights=weights)
    beliefs = draw(st.sampled_from([{}, {"b": {"1": 5, "2": 2}}, {"a": {"y": 7}, "b": {"3": 4}}]))
    known = draw(st.sampled_from([[], ["a"], ["b"]]))
    return (
        x,
        s,
        law,
        {"beliefs": beliefs, "known": known, "sampled": draw(st.sampled_from([1, 0.25]))},
    )


@CHECK
@given(cases())
def test_what_an_intruder_believes_and_guesses_is_bayes_rule(case):
    x, s, law, given_ = case
    intruder = Intruder.of("one", given_)
    labels = [CELLS.label(k) for k in range(CELLS.size)]
    weight = [
        math.prod(given_["beliefs"].get(c, {}).get(v, 1) for c, v in label.items())
        for label in labels
    ]
    rivals = {
        t: [k for k in range(len(x)) if all(labels[k][c] == labels[t][c] for c in intruder.known)]
        for t in range(len(x))
    }
    if all(len(rivals[t]) == 1 for t in range(len(x)) if x[t]):
        return  # everybody was certain before
    found = seen_by(intruder, np.array(x), np.array(s), CELLS, law)
    n, total = sum(x), Counter()
    largest = 0.0
    for t, count in enumerate(x):
        if not count:
            continue
        prior = {k: Fraction(weight[k], sum(weight[j] for j in rivals[t])) for k in rivals[t]}
        after = posterior(x, s, law, t, prior, intruder.sampled)
        largest = max(largest, float(after[t]))
        drawn, alike = sum(s[k] for k in rivals[t]), sum(x[k] for k in rivals[t]) - 1
        mine = {"before": prior[t], "after": after[t], "matched": drawn > 0}
        mine["attributed"] = Fraction(s[t], max(drawn, 1))
        mine["from_others"] = Fraction(count - 1, max(alike, 1))
        for when, beliefs in (("before", prior), ("after", after)):
            guesses = likeliest(beliefs)
            apart = [sum(labels[t][c] != labels[k][c] for c in labels[t]) for k in guesses]
            mine[f"right_{when}"] = Fraction(t in guesses, len(guesses))
            mine[f"distance_{when}"] = Fraction(sum(apart), len(guesses))
        for key, value in mine.items():
            total[key] += Fraction(value) * count
    for key, value in total.items():
        assert found[key] == pytest.approx(float(value / n), rel=1e-9, abs=1e-12), key
    assert found["largest"] == pytest.approx(largest, rel=1e-9)


def test_the_chance_to_be_in_the_data_scales_the_risk():
    """At the rate 1 it is the plain risk; towards 0 nothing is learned; a law by hand agrees."""
    x, s = [40, 1, 9], [20, 6, 4]
    law = Synthesizer.of(60.0, n_synthetic=30, cells=3)

    def by_hand(counts):
        share = (counts + law.alphas) / (counts.sum() + law.alphas.sum())
        return float(np.array(s) @ np.log(share))

    plain = risk(x, s, synthesizer=law)
    shifts = []
    for sampled in (1.0, 0.5, 0.1, 1e-12):
        ours = risk(x, s, synthesizer=law, sampled=sampled)
        assert ours.shift == pytest.approx(
            risk(x, s, log_likelihood=by_hand, sampled=sampled).shift
        )
        shifts.append(abs(ours.shift).max())
    assert risk(x, s, synthesizer=law, sampled=1.0).shift == pytest.approx(plain.shift)
    assert shifts == sorted(shifts, reverse=True)
    assert shifts[-1] < 1e-3
    for bad in (0.0, 1.5, math.nan):
        with pytest.raises(InputError, match="sampled"):
            risk(x, s, synthesizer=law, sampled=bad)


def matches(truth, copies):
    """Reiter and Mitra's three measures, from the match probability of every row; exact."""
    n, m = len(truth), len(copies)
    expected, unique, right = Fraction(0), 0, 0
    for j, key in enumerate(truth):
        chance = [
            sum(
                (Fraction(copy[i] == key, m * max(copy.count(key), 1)) for copy in copies),
                Fraction(0),
            )
            for i in range(n)
        ]
        if not any(chance):
            continue
        best = [i for i, value in enumerate(chance) if value == max(chance)]
        expected += Fraction(j in best, len(best))
        unique += len(best) == 1
        right += best == [j]
    return expected, unique, right


@CHECK
@given(st.data())
def test_links_are_those_of_every_pair_of_rows(data):
    n, m = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 3))
    keys = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    truth, copies = data.draw(keys), [data.draw(keys) for _ in range(m)]
    found = linkage(truth, np.array(copies).T)
    expected, unique, right = matches(truth, copies)
    assert found.expected_matches == pytest.approx(float(expected))
    assert (found.unique_matches, found.true_matches) == (unique, right)
    assert found.false_match_rate == (None if not unique else pytest.approx(1 - right / unique))


def test_a_file_left_as_it_is_links_all_that_are_unique():
    found = linkage([1, 2, 2, 3], [1, 2, 2, 3], sampled=1.0)
    assert (
        found.expected_matches,
        found.unique_matches,
        found.true_match_rate,
        found.false_match_rate,
    ) == (3, 2, 0.5, 0)
    assert found.expected_matches_sampled == pytest.approx(3)


@pytest.mark.parametrize("rate", [1e-4, 0.05, 0.3, 0.5, 0.9, 1.0])
def test_one_in_the_population_is_its_sum(rate):
    counts = [0, 1, 2, 5, 64, 65, 300]
    for f, value in zip(counts, one_in_population(counts, rate), strict=True):
        if f == 0:
            continue
        with mpmath.workdps(30):
            phi = mpmath.mpf(rate)
            expected = phi**f / f * mpmath.hyp2f1(f, f, f + 1, 1 - phi)
        assert value == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("weights", [(1, 1), (1, 3), (5, 2)])
def test_unequal_weights_cost_what_the_smallest_costs(weights):
    """Every pair of neighbours and every file, in exact fractions (M&R, (9))."""
    law = Synthesizer.of(2.0, n_synthetic=3, weights=weights)
    no, yes = (law.alpha * w for w in weights)
    largest = 0.0
    for x, s in product(range(4), range(4)):
        one = ((x + 1 + yes) ** s) * ((3 - x + no) ** (3 - s))
        other = ((x + yes) ** s) * ((4 - x + no) ** (3 - s))
        largest = max(largest, abs(math.log(one / other)))
    assert largest <= law.epsilon
    assert largest == pytest.approx(law.epsilon, rel=1e-6)
    assert law == Synthesizer.from_dict(law.to_dict())
    for wrong in ([0, 1], [1], [1, 2.5]):
        with pytest.raises(InputError, match="weights"):
            Synthesizer.from_dict(law.to_dict() | {"weights": wrong})
    weight = law.integer_weights([4, 1])
    assert Fraction(weight[0], weight[1]) == (4 + no) / (1 + yes)


def test_expected_risk_with_unequal_weights_is_the_double_sum():
    n, drawn, epsilon, w, p0 = 7, 5, 9.0, 0.3, 0.2
    law = Synthesizer.of(epsilon, n_synthetic=drawn, weights=(4, 1))
    total = 0.0
    for x, s in product(range(n + 1), range(drawn + 1)):
        share = (x + law.alphas[1]) / (n + law.alphas.sum())
        chance = math.comb(n, x) * p0**x * (1 - p0) ** (n - x)
        chance *= math.comb(drawn, s) * share**s * (1 - share) ** (drawn - s)
        found = risk([n - x, x], [drawn - s, s], synthesizer=law).absolute(w)
        total += chance * max(0.0, float(found[1] if x else found[0]) - w)
    ours = expected_risk_increase(
        p0, epsilon=epsilon, n=n, n_synthetic=drawn, prior=w, weights=(4, 1)
    )
    assert ours == pytest.approx(total, rel=1e-6)


# -- from files

PEOPLE = pa.table({"id": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"], "age": ["o", "y", "y", "y"]})
SPEC = {
    "account": "a",
    "purpose": "test",
    "protect": {"unit": "person", "column": "id", "rows": 1, "adjacency": "replace"},
    "budget": {"epsilon": 1},
    "columns": ["sex", "age"],
    "keys": {"sex": ["f", "m"], "age": ["o", "y"]},
    "n_synthetic": 4,
    "ledger": "sqlite:///ledger.db",
    "output": "out",
}


def test_a_partially_synthetic_file_is_linked_by_its_unit():
    file = pa.table({"id": [4, 2, 1, 3], "sex": ["m", "f", "f", "m"], "age": ["o", "y", "o", "y"]})
    found = assess(SPEC, file, data=PEOPLE, link=True, known=["sex", "age"], sampled=0.5)
    assert found.to_dict()["expected_matches"] == 3  # 4 is taken for 3
    assert found.true_match_rate == 0.75
    assert found.false_match_rate == 0.25
    assert 0 < found.expected_matches_sampled < found.expected_matches
    twice = pa.concat_tables([file, file]).append_column("copy", [[1] * 4 + [2] * 4])
    again = assess(SPEC, twice, data=PEOPLE, link=True, known=["sex", "age"])
    assert (again.copies, again.expected_matches) == (2, 3)
    for wrong in (file.slice(1), pa.concat_tables([file, file])):
        with pytest.raises(DataError, match="one row for each unit"):
            assess(SPEC, wrong, data=PEOPLE, link=True, known=["sex"])
    for wrong, says in (
        ({"candidate": file}, "what the intruder knows"),
        ({}, "nothing to judge"),
        ({"epsilons": [1.0]}, "for one file"),
        ({"candidate": file, "region": "R <= 1"}, "have neither"),
    ):
        with pytest.raises(InputError, match=says):
            assess(SPEC, data=PEOPLE, link=True, **wrong)


@pytest.mark.parametrize(
    "given_",
    [
        3,
        {"knows": ["sex"]},
        {"known": "sex"},
        {"beliefs": {"sex": 3}},
        {"beliefs": 1},
        {"known": 5},
        {"sampled": "x"},
        [],
    ],
)
def test_an_intruder_that_cannot_be_read(given_):
    with pytest.raises(InputError, match="must be a mapping"):
        Intruder.of("x", given_)


def test_the_risk_that_is_shown_is_at_the_prior_that_is_judged():
    judged = assess(
        [95, 5],
        epsilons=[50.0],
        region="R <= 0.5",
        n_synthetic=50,
        candidates=3,
        priors=[0.02, 0.1],
    )
    (row,) = judged.rows
    assert row["prior"] == 0.1
    assert (row["largest"] > 0.5) == (row["inside"] < 3)


def test_digits_lost_are_given_for_every_level():
    lost = assess_counts([40, 5, 9, 3, 3], [8, 2, 1, 1, 0], epsilon=30, cells=CELLS).lost()
    assert [(row["column"], row["level"]) for row in lost] == [
        *(("a", level) for level in "xy"),
        *(("b", level) for level in "123"),
    ]
    assert all(row["lost"] > 0 for row in lost)
