"""The verifier's arithmetic: against the library, written apart, and against brute force."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from discreet.beliefs import Prior, explain
from discreet.budgets import limits
from discreet.budgets.keeping import rectangle
from discreet.errors import DiscreetError, GuaranteeError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import Amount
from discreet.promises import Promise, promise_in
from discreet.reports import verifier
from losses import right_guess
from soaking import examples, some_of

fixed = settings(derandomize=True, deadline=None, max_examples=examples(150))
chances = st.floats(1e-3, 1.0)
ratios = st.floats(-4, 3).map(lambda x: 1 + math.exp(x))


@st.composite
def boxes(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.integers(0, 6))
    if kind == 0:
        return {}
    if kind < 3:
        return {"about": ("membership", "value")[kind - 1]}
    if kind == 3:
        return {"p": draw(chances)}
    if kind == 4:
        return {"q": draw(chances)}
    if kind == 5:
        return {"p": draw(chances), "q": draw(chances)}
    ends = [draw(st.floats(0.0, 1.0)) for _ in range(4)]
    return {"box": [*sorted(ends[:2]), *sorted(ends[2:])]}


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.integers(0, 5))
    if kind == 4:
        alone = draw(st.booleans())
        return {"counterfactual": draw(ratios), "counts_sensitive_only": alone}
    if kind == 5:
        ps, qs = sorted({0.0, 1.0, draw(chances)}), sorted({0.0, 1.0, draw(chances)})
        rows = [[p, q, draw(ratios)] for p in ps for q in qs]
        return {"table": rows} | draw(boxes())
    found: dict[str, Any] = [
        {"ratio": draw(ratios)},
        {"difference": draw(st.floats(0.005, 0.99))},
        {"posterior": draw(chances)},
        {"posterior": draw(st.floats(0.0, 1.0)), "unless_ratio": draw(ratios)},
    ][kind]
    return found | draw(boxes())


@st.composite
def promises(draw: st.DrawFn, surely: dict[str, Any] | None = None) -> Promise:
    keys = draw(shapes())
    how = draw(st.integers(0, 9))
    if how == 0:
        keys = {"all": [keys, draw(shapes())]}
    elif how == 1:
        keys = {"groups": {"a": keys, "b": draw(shapes())}}
    keys |= {"every_output": True} if surely is None else surely
    keys |= {"sided": draw(st.sampled_from(["one", "two"]))}
    keys |= {"related": draw(st.sampled_from([1, 1, 1, 2, 3]))}
    if surely is None and keys["related"] == 1:
        near = st.sampled_from([{}, {}, {"odds": 1.3, "neighbours": 4}, {"odds": 5, "chain": True}])
        keys |= draw(near)
    keys |= {"adjacency": draw(st.sampled_from(["add-remove", "add-remove", "replace"]))}
    try:
        return promise_in(keys)
    except DiscreetError:
        assume(False)
        raise


def stored(promise: Promise) -> dict[str, Any]:
    """The keys as an entry has them."""
    found: dict[str, Any] = json.loads(json.dumps(promise.to_mapping(of_whom=False)))
    return found


def found_limits(promise: Promise) -> Any:
    try:
        return limits.limits_of(promise)
    except DiscreetError:
        assume(False)


# -- how large the losses may be


@fixed
@given(promises())
def test_the_limits_are_those_of_the_library(promise: Promise) -> None:
    theirs = found_limits(promise)
    mine = verifier.limits_of(stored(promise), promise.adjacency.value)
    assert mine.steps == theirs.steps
    pairs = (
        (mine.one, theirs.one, theirs.one_upper),
        (mine.two, theirs.two, theirs.two_upper),
    )
    for own, lower, upper in pairs:
        assert (own is None) == (lower is None)
        if own is None or lower > 300:  # as good as no limit at all
            continue
        assert own <= upper * (1 + 1e-9)
        assert own >= lower * (1 - 1e-6)


@fixed
@given(
    promises(),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=8, max_size=8),
)
@example(promise_in({"difference": 0.2, "every_output": True}), [(1.0, 0.4), (1.0, 0.6)])
@example(promise_in({"ratio": 3, "p": 0.5, "q": 1, "every_output": True}), [(0, 0)])
def test_no_prior_of_the_box_breaks_what_the_limits_allow(
    promise: Promise, places: list[tuple[float, float]]
) -> None:
    """Theorem 1 itself, at priors all over the box."""
    found_limits(promise)
    both = promise.sided == "two"
    for leaf in verifier.leaves(stored(promise), promise.adjacency.value):
        if leaf.shape == "counterfactual":
            continue
        epsilon = min(verifier.pure_budget(leaf, both), 300.0)
        p0, p1, q0, q1 = leaf.box
        for x, y in [*places, (0, 0), (0, 1), (1, 0), (1, 1)]:
            p, q = p0 + x * (p1 - p0), q0 + y * (q1 - q0)
            s = p * q
            if s < 1e-9:
                continue
            up = s * verifier.ratio_bound(epsilon, 2 * epsilon, p, q)
            down = s * verifier.ratio_bound(-epsilon, -2 * epsilon, p, q)
            most, least = allowed(leaf, p, q)
            assert up <= most * (1 + 1e-9) + 1e-12
            if both:
                assert down >= least * (1 - 1e-9) - 1e-12


def allowed(leaf: Any, p: float, q: float) -> tuple[float, float]:
    """The largest posterior that a tolerance allows, and the least where it speaks of falls."""
    s, x = p * q, leaf.value
    if leaf.shape == "ratio":
        return s * x, s / x
    if leaf.shape == "difference":
        return s + x, s - x
    if leaf.shape == "posterior":
        return (x if leaf.unless is None else max(x, s * leaf.unless)), 0.0
    cells = [
        ratio for (a, b, c, d), ratio in verifier.table_cells(leaf) if a <= p <= b and c <= q <= d
    ]
    return s * min(cells), 0.0


# -- whether a total keeps a promise


def total_of(rule: str, limit: dict[str, float], adjacency: str, factor: float) -> dict[str, Any]:
    amount = {
        name: Decimal(repr(value * (1 if name == "delta" else factor)))
        for name, value in limit.items()
    }
    return verifier.total_of(amount, {"filter": rule, "adjacency": adjacency})


@settings(fixed, max_examples=examples(250))
@given(
    promises(surely={"confidence": 0.99}),
    st.sampled_from([0.9, 0.99, 0.9999]),
    st.sampled_from(["pure", "basic", "zcdp"]),
    st.sampled_from([0.0, 1e-9, 1e-6, 1e-3]),
)
def test_a_limit_keeps_its_promise_and_hardly_more_does(
    promise: Promise, confidence: float, rule: str, delta: float
) -> None:
    keys = stored(promise) | {"confidence": confidence}
    adjacency = promise.adjacency.value
    again = promise_in(keys | {"adjacency": adjacency})
    delta = 0.0 if rule == "pure" else delta
    try:
        limit = rectangle(again, rule, delta)
    except DiscreetError:
        assume(False)
    lead = limit["rho" if rule == "zcdp" else "epsilon"]
    assume(1e-8 < lead < 50)
    assert verifier.keeps(keys, total_of(rule, limit, adjacency, 1.0))
    if rule == "basic" and delta == 0:
        return  # pure DP, which the verifier takes for what it is: for every output
    assert not verifier.keeps(keys, total_of(rule, limit, adjacency, 1 + 1e-5))


@fixed
@given(promises(), st.sampled_from(["pure", "basic"]))
def test_for_every_output_nothing_but_pure_dp_within_the_limits(
    promise: Promise, rule: str
) -> None:
    try:
        limit = rectangle(promise, rule, 0.0)
    except DiscreetError:
        assume(False)
    assume(limit["epsilon"] < 300)
    keys, adjacency = stored(promise), promise.adjacency.value
    assert verifier.keeps(keys, total_of(rule, limit, adjacency, 1.0))
    assert not verifier.keeps(keys, total_of(rule, limit, adjacency, 1 + 1e-7))
    with_delta = {"epsilon": limit["epsilon"] / 2, "delta": 1e-12}
    assert not verifier.keeps(keys, total_of("basic", with_delta, adjacency, 1.0))
    assert not verifier.keeps(keys, total_of("zcdp", {"rho": 1e-6}, adjacency, 1.0))


@fixed
@given(
    st.sampled_from([0.01, 0.05, 0.3, 0.5, 0.8]),
    st.floats(0.02, 0.98),
    st.sampled_from(["pure", "basic", "zcdp"]),
    st.sampled_from([0.0, 1e-6, 1e-3]),
    st.sampled_from(["add-remove", "replace"]),
)
def test_on_average_a_limit_keeps_its_promise(
    q: float, share: float, rule: str, delta: float, adjacency: str
) -> None:
    keys = {"posterior": q + share * (1 - q), "p": 1.0, "q": q, "on_average": True}
    promise = promise_in(keys | {"adjacency": adjacency})
    delta = 0.0 if rule == "pure" else delta
    try:
        limit = rectangle(promise, rule, delta)
    except DiscreetError:
        assume(False)
    assert verifier.keeps(stored(promise), total_of(rule, limit, adjacency, 1.0))
    # Of δ-approximate zCDP the verifier knows more than its curve.
    more = 1.5 if rule == "zcdp" and delta else 1 + 1e-5
    assert not verifier.keeps(stored(promise), total_of(rule, limit, adjacency, more))


# -- beliefs


def total_dict(stated: Any, kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "epsilon": getattr(stated, "epsilon", None),
        "delta": getattr(stated, "delta", None),
        "rho": getattr(stated, "rho", None),
        "adjacency": "add-remove",
    }


def account(**amounts: float) -> Any:
    """What an account of δ-approximate zCDP has promised."""
    found = Account.opened(
        "a", unit="person", adjacency="add-remove", filter="zcdp", cap=None, period=None
    )
    return found.promise(Amount.of(**amounts))


MIXED = {
    "kind": "approximate-concentrated", "epsilon": None, "delta": 1e-6, "rho": 0.03,
    "adjacency": "add-remove",
}  # fmt: skip
STATED = [
    (PureDP(0.7), total_dict(PureDP(0.7), "pure")),
    (ApproxDP(1.1, 1e-6), total_dict(ApproxDP(1.1, 1e-6), "approximate")),
    (ApproxDP(0.01, 1e-3), total_dict(ApproxDP(0.01, 1e-3), "approximate")),
    (ZCDP(0.03), total_dict(ZCDP(0.03), "concentrated")),
    (ZCDP(0.9), total_dict(ZCDP(0.9), "concentrated")),
    (account(rho=0.03, delta=1e-6), MIXED),
]
CONFIDENCES = [0.95, 0.99, 0.9999]
BELIEVED = [0.001, 0.1, 0.5, 0.9]


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize(("stated", "total"), STATED)
def test_the_beliefs_are_those_of_the_library(stated: Any, total: Any, confidence: float) -> None:
    """Two implementations of the same theorems, written apart."""
    failure = verifier.failure_of(confidence)
    if (total["delta"] or 0.0) >= failure:
        with pytest.raises(GuaranteeError, match="confidence"):
            explain(stated, 0.5, confidence=confidence)
        return
    # The library takes a second for a mixed guarantee: there each confidence has another p.
    turn = CONFIDENCES.index(confidence)
    for p in some_of(BELIEVED, turn) if total is MIXED else BELIEVED:
        for prior in (Prior(p), Prior(1.0, p), Prior(p, 0.3)):
            belief = explain(stated, prior, confidence=confidence).posterior
            assert belief is not None
            lower, upper = verifier.beliefs(total, prior.p, prior.q, failure)
            assert belief.upper >= upper - 1e-9
            assert belief.lower <= lower + 1e-9
            both = prior.p < 1 and prior.q < 1 and total["kind"] != "pure"
            assert belief.upper <= upper + (1e-3 if both else 1e-5)
            if not both:
                assert belief.lower >= lower - 1e-5


@fixed
@given(st.floats(-9, 1.5), st.floats(0.001, 0.999))
def test_a_guess_under_zcdp_is_that_of_the_library(log_rho: float, kappa: float) -> None:
    rho = math.exp(log_rho)
    stated = right_guess(ZCDP(rho), kappa)
    assert verifier.zcdp_guess(rho, kappa) == pytest.approx(stated, abs=1e-9)
    assert verifier.gaussian_guess(rho, kappa) <= stated + 1e-12


@fixed
@given(st.floats(1e-3, 3), st.floats(0, 1e-2), st.floats(0.001, 0.999))
def test_a_guess_under_approximate_dp_is_the_definition(
    epsilon: float, delta: float, kappa: float
) -> None:
    total = total_dict(ApproxDP(epsilon, delta), "approximate")
    truth = min(
        1.0,
        math.exp(epsilon) * kappa + delta,
        1 - math.exp(-epsilon) * (1 - delta - kappa),
    )
    assert verifier.guess_bound(total, 1, kappa) == pytest.approx(truth, abs=1e-12)


# -- sentences and names


@fixed
@given(promises(surely={"confidence": 0.99}))
def test_a_sentence_has_the_figures_of_its_keys(promise: Promise) -> None:
    keys, adjacency = stored(promise), promise.adjacency.value
    assert verifier.name_of(keys) == promise.id
    assert verifier.about_of(keys, adjacency) == promise.about
    names = [str(promise.unit), *verifier.group_names(keys)]
    figures = verifier.figures(keys, adjacency)
    assert verifier.tells(promise.sentence(), figures, names)
    other = verifier.figures(keys | {"confidence": 0.5}, adjacency)
    assert not verifier.tells(promise.sentence(), other, names)


@pytest.mark.parametrize(
    ("keys", "change"),
    [
        ({"posterior": 0.12, "p": 0.05, "q": 1.0}, {"posterior": 0.2}),
        ({"posterior": 0.12, "p": 0.05, "q": 1.0}, {"p": 0.1}),
        ({"posterior": 0.12, "p": 0.05, "q": 1.0}, {"p": 0.005}),
        ({"ratio": 3.0}, {"ratio": 13.0}),
        ({"ratio": 13.0}, {"ratio": 3.0}),
        ({"ratio": 3.0, "q": 0.5}, {"q": 0.25}),
        ({"difference": 0.2}, {"difference": 0.1}),
        ({"difference": 0.2, "box": [0.0, 0.1, 0.0, 1.0]}, {"box": [0.0, 1.0, 0.0, 1.0]}),
        ({"posterior": 0.25, "unless_ratio": 3.0}, {"unless_ratio": 4.0}),
        ({"counterfactual": 4.0}, {"counterfactual": 8.0}),
        ({"ratio": 3.0, "related": 2}, {"related": 3}),
        ({"profile": "1 + 2*p"}, {"profile": "1 + 9*p"}),
        ({"table": [[0, 1, 3], [1, 1, 2]], "q": 1.0}, {"table": [[0, 1, 3]]}),
    ],
)
def test_a_figure_that_the_sentence_lacks_is_noticed(keys: Any, change: Any) -> None:
    sentence = promise_in(keys).sentence()
    figures = verifier.figures(keys, "add-remove")
    assert verifier.tells(sentence, figures, ["one person"])
    changed = verifier.figures(keys | change, "add-remove")
    assert not verifier.tells(sentence, changed, ["one person"])


def test_beside_a_key_that_is_not_known_everything_else_is_checked() -> None:
    known = {"ratio": 3.0, "every_output": True}
    for keys in (
        known | {"more": 1},
        {"all": [{"ratio": 3.0}, {"more": 1}], "every_output": True},
        {"groups": {"a": {"ratio": 3.0, "more": 1}}, "every_output": True},
    ):
        assert verifier.strange_in(keys) == ["more"]
        for epsilon in (0.1, 0.5, 0.6, 2.0):
            total = total_dict(PureDP(epsilon), "pure")
            assert verifier.keeps(keys, total) == verifier.keeps(known, total)
        figures = verifier.figures(keys, "add-remove")
        assert verifier.tells("at most 3-fold, and 7 %", figures, [], others=True)
        assert not verifier.tells("at most 2-fold, and 7 %", figures, [], others=True)


def test_a_promise_that_says_nothing_is_refused() -> None:
    for keys in (
        {"every_output": True},
        {"ratio": 3, "box": [1, 0, 0, 1]},
    ):
        with pytest.raises(ValueError, match="promise"):
            verifier.leaves(keys)
    with pytest.raises(ValueError, match="how surely"):
        verifier.keeps({"ratio": 3.0}, total_dict(ApproxDP(2.0, 1e-3), "approximate"))


@pytest.mark.parametrize(
    ("text", "p", "q"),
    [
        ("max(0.25/(p*q), 3) if p*q < 0.2 else 1.5", 0.1, 0.5),
        ("max(0.25/(p*q), 3) if p*q < 0.2 else 1.5", 0.9, 0.5),
        ("2 if 0.1 < p <= 0.5 and not q > 0.5 else exp(-p) + sqrt(q)**2 + 1", 0.3, 0.4),
        ("inf if p == 1 or q != 1 else min(3, 2 + log(1/p))", 0.3, 1.0),
        ("-(-3)", 0.3, 1.0),
    ],
)
def test_formulas_are_read_as_the_library_reads_them(text: str, p: float, q: float) -> None:
    import ast

    from discreet.promises import Formula

    names = {"p": p, "q": q, "inf": math.inf}
    again = verifier.value_of(ast.parse(text, mode="eval"), names)
    assert again == pytest.approx(Formula(text).ratio_at(p, q), rel=1e-15)


def test_a_formula_can_do_nothing_else() -> None:
    import ast

    for text in ("__import__('os')", "p.real", "[p]", "(lambda: p)()", "p if q else open('x')"):
        with pytest.raises((ValueError, KeyError)):
            verifier.value_of(ast.parse(text, mode="eval"), {"p": 0.5, "q": 0.0, "inf": math.inf})
