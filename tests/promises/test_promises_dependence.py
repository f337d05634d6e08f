"""Units whose data depend on each other: enumerated attackers who do not know the others."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet import choose, plan
from discreet.errors import DiscreetError, InputError, ToleranceError
from discreet.promises import Promise
from discreet.promises.dependence import Dependence
from discreet.promises.keys import promise_in
from discreet.promises.shapes import Ratio
from soaking import examples

exact = settings(derandomize=True, deadline=None, max_examples=examples(160))


def loss(weights: dict[tuple[int, ...], float], f: dict[tuple[int, ...], float], i: int) -> float:
    """The largest |log P(o | x_i = a)/P(o | x_i = b)|, by summing over everything."""
    found: dict[int, list[float]] = {}
    for x, w in weights.items():
        total = found.setdefault(x[i], [0.0, 0.0])
        total[0] += w * f[x]
        total[1] += w
    means = [math.log(top / bottom) for top, bottom in found.values()]
    return max(means) - min(means)


def outputs(n: int, values: int, epsilon: float) -> list[dict[tuple[int, ...], float]]:
    """Outputs of ε-DP mechanisms: a change of one unit changes each at most e^ε-fold."""
    states = list(product(range(values), repeat=n))
    counts = [
        {x: math.exp(-epsilon * abs(sum(v > 0 for v in x) - o)) for x in states}
        for o in range(-1, n + 2)
    ]
    corner = [
        {x: math.exp(-epsilon * sum(a != b for a, b in zip(x, y, strict=True))) for x in states}
        for y in states[:: max(1, len(states) // 7)]
    ]
    return counts + corner


@exact
@given(st.integers(2, 5), st.floats(0.05, 1.5), st.data())
def test_no_attacker_learns_more_on_any_graph(n: int, epsilon: float, data: st.DataObject) -> None:
    """Yes or no, with any strengths on any graph: the bound of the largest of them holds."""
    pairs = list(combinations(range(n), 2))
    some = st.sampled_from([0.0, 0.0, 0.2, -0.3, 0.6])
    strengths = data.draw(st.lists(some, min_size=len(pairs), max_size=len(pairs)))
    joined = {pair: J for pair, J in zip(pairs, strengths, strict=True) if J}
    assume(joined)
    alone = data.draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n))
    neighbours = max(sum(i in pair for pair in joined) for i in range(n))
    odds = math.exp(max(map(abs, joined.values())))
    try:
        stated = Dependence(odds, neighbours)
    except InputError:
        assume(False)
    weights = {
        x: math.exp(
            sum(h * v for h, v in zip(alone, x, strict=True))
            + sum(J * x[i] * x[j] for (i, j), J in joined.items())
        )
        for x in product((0, 1), repeat=n)
    }
    bound = stated.raised(epsilon, epsilon)
    for f in outputs(n, 2, epsilon):
        assert max(loss(weights, f, i) for i in range(n)) <= bound + 1e-9


@exact
@given(st.integers(3, 6), st.integers(2, 3), st.floats(0.05, 1.5), st.data())
def test_no_attacker_learns_more_on_a_chain(
    n: int, values: int, epsilon: float, data: st.DataObject
) -> None:
    """Chains of two or three values with any kernel; the strength is the kernel's own."""
    if values == 3:
        n = min(n, 5)
    row = st.lists(st.floats(0.05, 1), min_size=values, max_size=values)
    rows = data.draw(st.lists(row, min_size=values, max_size=values))
    kernel = [[cell / sum(cells) for cell in cells] for cells in rows]
    first = data.draw(row)
    odds = max(
        kernel[a][x] * kernel[b][y] / (kernel[a][y] * kernel[b][x])
        for a, b, x, y in product(range(values), repeat=4)
    )
    assume(odds > 1 + 1e-9)
    weights = {
        x: first[x[0]] * math.prod(kernel[a][b] for a, b in pairwise(x))
        for x in product(range(values), repeat=n)
    }
    bound = Dependence(odds, chain=True).raised(epsilon, epsilon)
    for f in outputs(n, values, epsilon):
        assert max(loss(weights, f, i) for i in range(n)) <= bound + 1e-9


@exact
@given(
    st.floats(1.01, 50),
    st.booleans(),
    st.integers(1, 4),
    st.floats(0.01, 5),
    st.sampled_from([1, 2]),
)
def test_what_is_lowered_stays_within_the_limit(
    odds: float, chain: bool, neighbours: int, limit: float, weight: int
) -> None:
    try:
        stated = Dependence(odds, chain=True) if chain else Dependence(odds, neighbours)
    except InputError:
        assume(False)
    own = stated.lowered(limit, weight)
    assume(own > 0)
    assert stated.raised(own, weight * own) <= limit * (1 + 1e-9)
    # and nothing is wasted
    assert stated.raised(own * 1.001, weight * own * 1.001) > limit


def attacked(epsilon: float) -> float:
    """Five people in a row infect each other; the count of the infected is published.

    Returns how many times an attacker's odds about the one in the middle change at the most. They
    know the chain and none of the people.
    """
    stay, n = 2 / 3, 5  # the odds ratio of neighbours is 4
    weights = {
        x: math.prod(stay if a == b else 1 - stay for a, b in pairwise(x))
        for x in product((0, 1), repeat=n)
    }
    counts = ({x: math.exp(-epsilon * abs(sum(x) - o)) for x in weights} for o in range(n + 1))
    return math.exp(max(loss(weights, f, 2) for f in counts))


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_the_independent_bound_is_broken_and_the_corrected_one_kept(adjacency: str) -> None:
    """Odds may change 3-fold. A count moves by one step if a value changes, or someone leaves."""
    promise = {"counterfactual": 3, "adjacency": adjacency, "every_output": True}
    if adjacency == "add-remove":
        promise |= {"counts_sensitive_only": True}
    independent = choose(promise).epsilon
    assert attacked(independent) > 3.5
    corrected = choose(promise | {"odds": 4, "chain": True}).epsilon
    assert attacked(corrected) <= 3
    assert choose(promise | {"related": 5}).epsilon < corrected


def test_what_is_shown_at_other_priors_counts_the_dependence() -> None:
    keys = {"ratio": 3, "p": 0.5, "q": 1}
    plain, dependent = choose(keys), choose(keys | {"odds": 1.5, "neighbours": 3})
    assert dependent.epsilon < plain.epsilon
    assert dependent.implied[3]["posterior"] == pytest.approx(plain.implied[3]["posterior"])
    assert plain.question is not None
    assert dependent.question is None


def test_keys_read_back() -> None:
    for keys in ({"odds": 1.5, "neighbours": 3}, {"odds": 4.0, "chain": True}):
        promise = promise_in({"ratio": 3} | keys)
        assert promise_in(promise.to_mapping()) == promise
        assert keys.items() <= promise.to_mapping().items()
    assert "at most 1.5-fold" in promise_in({"ratio": 3, "odds": 1.5, "neighbours": 3}).sentence()


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"odds": 1, "neighbours": 2}, "above 1"),
        ({"odds": True, "neighbours": 2}, "above 1"),
        ({"odds": 2}, "either neighbours or chain"),
        ({"neighbours": 2}, "either neighbours or chain"),
        ({"chain": True}, "either neighbours or chain"),
        ({"odds": 2, "neighbours": 3, "chain": True}, "either neighbours or chain"),
        ({"odds": 2, "neighbours": 0}, "1 or more"),
        ({"odds": 2, "neighbours": 8}, "too strong"),
        ({"odds": 1.1, "neighbours": 2, "related": 3}, "one of them"),
        ({"odds": 1.1, "neighbours": 2, "confidence": 0.9}, "not proved"),
    ],
)
def test_what_makes_no_sense_is_refused(keys: dict[str, object], says: str) -> None:
    with pytest.raises(DiscreetError, match=says):
        promise_in({"ratio": 3} | keys)


def test_what_is_not_proved_is_refused() -> None:
    promise = Promise(Ratio(3), dependence=Dependence(1.2, 2))
    with pytest.raises(ToleranceError, match="not proved"):
        choose(promise, delta=1e-6)
    with pytest.raises(ToleranceError, match="not proved"):
        plan(promise, releases=3, budget="rho")
    each = plan(promise, releases=3).per_release["epsilon"]
    assert each * 3 == pytest.approx(choose(promise).epsilon)
