"""Boxes that second derivatives prove at once, and guards of roots and divisors.

Derivatives are compared with mpmath's differences at forty digits; what a box is said to keep is
held against Theorem 1 of Kazan and Reiter at many of its priors.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.budgets.bowls import _NotSmooth, _Proof, bowl
from discreet.budgets.search import search
from discreet.budgets.structure import guarded, reciprocal
from discreet.errors import FormulaError
from discreet.promises import Box
from discreet.promises.formula import evaluate, parse
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(60))
SMOOTH = [
    "2 + 8*((p-0.4)**2 + (q-0.3)**2)",
    "1 + 0.2*sqrt(1/(p*q))",
    "1.5 + 2*(p-0.6)**2 + exp(-3*q) + (q-0.2)**2",
    "1.3 + (p-0.3)**2/(1+q) + 2*(q-0.7)**2",
    "2 - log(1 + p*q) + 3*(p-q)**2 + (q-0.5)**2",
    "1.2 + (p*q)**-0.5/5 + (p - 0.5)**2",
]
NAMES = {"sqrt": mp.sqrt, "exp": mp.exp, "log": mp.log}


def exact(text: str, p: mp.mpf, q: mp.mpf) -> mp.mpf:
    return eval(text, {"__builtins__": {}}, {"p": p, "q": q, **NAMES})  # noqa: S307


@STEADY
@given(
    st.sampled_from(SMOOTH),
    st.tuples(st.floats(0.05, 0.9), st.floats(0.05, 0.9)),
    st.floats(0, 0.1),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
    st.sampled_from([["p"], ["q"], ["p", "q"]]),
)
def test_derivatives_hold_over_the_whole_box(text, corner, wide, at, free):
    sides = {name: (x, x + (wide if name in free else 0)) for name, x in zip("pq", corner)}  # noqa: B905
    jet = _Proof(parse(text), sides, free).jet(parse(text), sides)
    p, q = (low + share * (high - low) for (low, high), share in zip(sides.values(), at))  # noqa: B905
    p, q = (min(max(x, low), high) for x, (low, high) in zip((p, q), sides.values()))  # noqa: B905
    orders = {"p": [(1, 0), (2, 0)], "q": [(0, 1), (0, 2)]}
    wanted = [(0, 0), *(orders[name][0] for name in free)]
    wanted += {"p": [(2, 0)], "q": [(0, 2)], "pq": [(2, 0), (1, 1), (0, 2)]}["".join(free)]
    with mp.workdps(40):
        for span, order in zip(jet, wanted, strict=True):
            low, high = span or (0.0, 0.0)
            true = mp.diff(lambda x, y: exact(text, x, y), (mp.mpf(p), mp.mpf(q)), order)
            if order == (0, 0):
                true = exact(text, mp.mpf(p), mp.mpf(q))
            room = mp.mpf(10) ** -15 * (1 + abs(true))  # of mpmath's differences
            assert low - room <= true <= high + room
            if wide == 0:  # and they are no wider than rounding
                assert high - low <= 1e-11 * (1 + abs(true))


@STEADY
@given(st.sampled_from(SMOOTH), st.data())
def test_what_a_bowl_keeps_is_kept_at_every_prior_of_it(text, data):
    found = search(parse(text), Box(0, 1, 0, 1))
    piece = data.draw(st.sampled_from([Box(0, 1, 0, 1), Box(found.p, found.p, 0, 1)]))
    found = search(parse(text), piece)
    short = data.draw(st.sampled_from([1e-9, 1e-7, 1e-4, 1e-2]))
    proved = bowl(
        reciprocal(parse(text)), piece, (found.p, found.q), lambda best: best * (1 - short)
    )
    assume(proved is not None)
    assert proved.p[0] <= proved.at[0] <= proved.p[1]
    assert proved.q[0] <= proved.at[1] <= proved.q[1]
    with mp.workdps(40):
        u = mp.exp(-mp.mpf(proved.epsilon * (1 - short)))
        for i in range(13):
            for j in range(13):
                p = mp.mpf(proved.p[0]) + (mp.mpf(proved.p[1]) - proved.p[0]) * i / 12
                q = mp.mpf(proved.q[0]) + (mp.mpf(proved.q[1]) - proved.q[0]) * j / 12
                kept = p * q + u * u * (1 - q) * p + u * (1 - p)
                assert exact(text, p, q) * kept >= 1


@pytest.mark.parametrize("text", SMOOTH[:2])
def test_a_bowl_does_not_prove_what_is_not_so(text):
    found = search(parse(text), Box(0, 1, 0, 1))
    for piece in (Box(0, 1, 0, 1), Box(found.p, found.p, 0, 1)):
        near = (found.p, found.q)
        W = reciprocal(parse(text))
        assert bowl(W, piece, near, lambda best: best * (1 + 1e-9)) is None
    assert bowl(W, piece, near, lambda best: best * (1 - 1e-9)) is not None


def test_kinks_and_missing_values_are_no_bowls():
    sides = {"p": (0.2, 0.6), "q": (0.3, 0.3)}
    for text in (
        "max(p, 0.4)",
        "sqrt(p - 0.3)",
        "1/(p - 0.3)",
        "log(p - 0.3)",
        "2 if p < q else 3",
    ):
        with pytest.raises(_NotSmooth):
            _Proof(parse(text), sides, ["p"]).jet(parse(text), sides)


GUARDED = [
    ("1.5+sqrt(p-q) if p>q else 2", 0.3731984874503),
    ("2 if p<=q else 1.5+(p-q)**0.5", 0.3731984874503),
    ("1.5+sqrt(p-q) if not (p<=q) else 2", 0.3731984874503),
    ("1.5+sqrt(1-p-q) if p+q<1 else 2", 0.5 * math.log(1.5)),
    ("1.2+1/(p-q) if p>q else 3", 0.5 * math.log(2.2)),
    ("1.2+(p-q)**-2 if p>q and q>=0 else 3", 0.5 * math.log(2.2)),
    ("1.5+sqrt(p*p-.3) if p*p>.3 else 2", None),
    ("1.6+sqrt(3*p-3*q)/2 if p>q else 2", None),
]


@pytest.mark.parametrize(("text", "least"), GUARDED)
def test_a_condition_guards_the_root_that_it_keeps(text, least):
    found = search(parse(text), Box(0, 1, 0, 1))
    assert found.upper - found.lower <= 1e-6
    if least is not None:
        assert found.lower <= least <= found.upper + 1e-12
    u = math.exp(-found.lower)
    for p in (i / 97 for i in range(1, 98)):
        for q in (i / 89 for i in range(1, 90)):
            asked = evaluate(parse(text), p, q)
            assert asked * (p * q + u * u * (1 - q) * p + u * (1 - p)) >= 1 - 1e-12


@pytest.mark.parametrize(
    "text",
    [
        "1.5+sqrt(q-p) if p>q else 2",
        "1.5+sqrt(p-q-0.1) if p>q else 2",
        "1.5+sqrt(p-q) if p>q or q>0.2 else 2",
        "1.5+sqrt(p-q) if p!=q else 2",
        "10+1/(p-q) if p>=q else 2",
        "1.5+sqrt((p-q)*(q-p)) if p>q else 2",
    ],
)
def test_a_condition_guards_nothing_else(text):
    with pytest.raises(FormulaError):
        search(parse(text), Box(0, 1, 0, 1))


@STEADY
@given(st.sampled_from([text for text, _ in GUARDED]), st.floats(1e-9, 1), st.floats(1e-9, 1))
def test_a_guard_changes_no_value(text, p, q):
    assert evaluate(guarded(parse(text)), p, q) == evaluate(parse(text), p, q)


def test_arguments_are_compared_with_exact_numbers():
    """0.1 + 0.2 is not 0.3 in doubles: p − 0.3 is not kept by p > 0.1 + 0.2, nor need it be."""
    assert Fraction(0.1) + Fraction(0.2) > Fraction(0.3)
    kept = guarded(parse("1.5+sqrt(p-0.3) if p > 0.1+0.2 else 2"))
    assert "max" in repr(kept)  # 0.1 + 0.2 is above: p − 0.3 is larger than what the test keeps
    left = guarded(parse("1.5+sqrt(p-0.1-0.2) if p > 0.3 else 2"))
    assert "max" not in repr(left)
