"""Closed forms on boxes of ordinary priors, against a plain search over each box.

The search solves Theorem 1 for ε by bisection at every point of a grid, on the kink pq = a/r where
the profile has one, and at the prior that the closed form names; nothing is shared with the code
under test. A closed form must not lie above any of them, and must be met where it says.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.promises import Box, Difference, Posterior, PosteriorUnlessRatio, Ratio
from discreet.promises.shapes.ratio import constant_ratio
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(150))
TINY = 1e-9


def largest(p: np.ndarray, q: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """The ε at which 1/(pq + e^{-2ε}(1−q)p + e^{-ε}(1−p)) reaches the ratio, by bisection."""
    u_low, u_high = np.zeros_like(p), np.ones_like(p)
    for _ in range(80):
        u = (u_low + u_high) / 2
        kept = p * q + u * u * (1 - q) * p + u * (1 - p) >= 1 / ratio
        u_low, u_high = np.where(kept, u_low, u), np.where(kept, u, u_high)
    with np.errstate(divide="ignore"):
        return np.where(p * q * ratio >= 1 - 1e-12, np.inf, -np.log(u_high))


def profile(tolerance, p, q):
    s = p * q
    match tolerance:
        case Ratio(ratio, _):
            return np.full_like(s, ratio)
        case Posterior(a, _):
            return a / s
        case PosteriorUnlessRatio(a, r, _):
            return np.maximum(a / s, r)
        case Difference(b, _):
            return 1 + b / s
    raise AssertionError


def grid(box: Box, kink: float | None) -> tuple[np.ndarray, np.ndarray]:
    ps = np.linspace(max(box.p0, TINY), box.p1, 41)
    qs = np.linspace(max(box.q0, TINY), box.q1, 41)
    p, q = (axis.ravel() for axis in np.meshgrid(ps, qs))
    if kink is not None:
        low, high = max(box.p0, kink / box.q1, TINY), min(box.p1, kink / max(box.q0, TINY))
        if low <= high:
            on = np.linspace(low, high, 201)
            p, q = np.append(p, on), np.append(q, np.clip(kink / on, box.q0, box.q1))
    return p, q


def check(tolerance, known: bool = True) -> None:
    found = tolerance.closed_form()
    assert (found is not None) is known
    if found is None:
        return
    assert found.method.startswith("closed form: ")
    kink = None
    if isinstance(tolerance, PosteriorUnlessRatio) and tolerance.posterior < 1:
        kink = tolerance.posterior / tolerance.ratio
    p, q = grid(tolerance.box, kink)
    searched = float(largest(p, q, profile(tolerance, p, q)).min())
    assert found.lower <= found.upper
    # Bisection is good to 1e-15 or so of u; a grid errs upward only.
    assert found.lower <= searched + 1e-12
    there = np.array([max(found.p, TINY)]), np.array([max(found.q, TINY)])
    assert tolerance.box.contains(*(float(x[0]) for x in there)) or not found.attained
    met = float(largest(*there, profile(tolerance, *there))[0])
    if math.isinf(found.lower):
        assert math.isinf(searched)
    else:
        slack = 1e-8 * max(1.0, met) if found.attained else 1e-5
        assert met == pytest.approx(found.lower, abs=slack)
        assert found.upper == pytest.approx(found.lower, abs=1e-8 * max(1.0, met))


ends = st.floats(0.001, 1.0)


@st.composite
def boxes(draw) -> Box:
    p0, p1 = sorted((draw(ends), draw(ends)))
    q0, q1 = sorted((draw(ends), draw(ends)))
    return Box(
        draw(st.sampled_from([0.0, p0])),
        draw(st.sampled_from([1.0, p1])),
        draw(st.sampled_from([0.0, q0])),
        draw(st.sampled_from([1.0, q1])),
    )


@STEADY
@given(boxes(), st.floats(1.01, 20))
@example(Box(0.2, 0.9, 0.25, 1.0), 3.0)  # q0 (r + 1) = 1: every p is as bad
@example(Box(0.2, 0.9, 0.22, 1.0), 3.0)
@example(Box(0.2, 0.9, 0.28, 1.0), 3.0)
def test_one_ratio_everywhere(box: Box, ratio: float) -> None:
    check(Ratio(ratio, box))


@STEADY
@given(boxes(), st.floats(0.01, 1))
@example(Box(0.1, 0.3, 0.5, 0.5), 1.0)
def test_one_posterior_everywhere(box: Box, share: float) -> None:
    highest = box.p1 * box.q1
    if highest < 0.999:
        check(Posterior(highest + (1 - highest) * share, box))


@STEADY
@given(boxes(), st.floats(0.01, 1), st.floats(1.01, 20))
@example(Box(0.0, 0.2, 0.0, 0.4), 0.25, 3.0)  # the posterior binds alone
@example(Box(0.5, 0.9, 0.5, 0.9), 0.25, 3.0)  # the ratio binds alone
@example(Box(0.0, 0.5, 0.0, 1.0), 0.25, 3.0)  # the kink on the edge p = p1
@example(Box(0.0, 1.0, 0.2, 1.0), 0.25, 3.0)  # on q = q0, the ratio at its far end
@example(Box(0.0, 1.0, 0.24, 1.0), 0.25, 3.0)
@example(Box(0.0, 1.0, 0.26, 1.0), 0.25, 3.0)  # the kink on the edge q = q0
@example(Box(0.0, 1.0, 0.6, 1.0), 0.25, 3.0)
@example(Box(0.1, 0.9, 0.1, 0.9), 1.0, 3.0)  # a posterior of 1 bounds nothing
@example(Box(0.02, 0.06, 0.02, 0.09), 0.004, 1.02)  # small budgets
@example(Box(0.02, 0.9, 0.6, 0.9), 0.05, 1.02)
def test_a_posterior_unless_a_ratio(box: Box, posterior: float, ratio: float) -> None:
    check(PosteriorUnlessRatio(posterior, ratio, box))


@STEADY
@given(boxes(), st.floats(0.01, 1))
@example(Box(0.0, 1.0, 0.35, 1.0), 0.3)  # the worst prior on the edge of the box
@example(Box(0.0, 1.0, 0.1, 0.35), 0.3)
@example(Box(0.35, 1.0, 1.0, 1.0), 0.3)
@example(Box(0.1, 0.35, 1.0, 1.0), 0.3)
@example(Box(0.1, 0.35, 0.5, 1.0), 1.0)
def test_a_difference(box: Box, difference: float) -> None:
    worst = (1 - difference) / 2  # of q where p may be 1, of p where q is 1 alone
    on_edge = box.p1 == 1 and box.q0 <= worst <= box.q1
    alone = box.q0 == 1 and box.p0 <= worst <= box.p1
    check(Difference(difference, box), known=difference >= 1 or on_edge or alone)


def test_each_names_its_equation() -> None:
    everywhere = Box()
    said = {
        Ratio(3).closed_form().method: "closed form: K&R (14), (25)",
        Posterior(0.5, Box(0.1, 0.2)).closed_form().method: "closed form: largest prior",
        PosteriorUnlessRatio(0.25, 3).closed_form().method: "closed form: K&R (15), (16), (33)",
        PosteriorUnlessRatio(1.0, 3).closed_form().method: (
            "closed form: a posterior of 1 bounds nothing"
        ),
        Difference(1.0).closed_form().method: "closed form: a difference of 1 bounds nothing",
        Difference(0.3).closed_form().method: "closed form: K&R (28), (29)",
        Difference(0.3, Box(0, 1, 1, 1)).closed_form().method: (
            "closed form: KSZ: difference at q = 1"
        ),
        constant_ratio(3, everywhere, "mine").method: "closed form: mine",
    }
    assert list(said) == list(said.values())
    above = PosteriorUnlessRatio(0.25, 3, Box(0.5, 0.9, 0.5, 0.9))
    assert above.closed_form().method == "closed form: K&R (15), (16), (33)"
    edge = PosteriorUnlessRatio(0.25, 3, Box(0.0, 1.0, 0.2, 1.0))
    assert edge.closed_form().method == "closed form: K&R (15), (16), (33)"
