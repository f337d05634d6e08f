"""Random promises for Hypothesis: every shape, all kinds of boxes, every way of being sure."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from discreet.promises import (
    AllOf,
    Box,
    Counterfactual,
    Difference,
    Formula,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Promise,
    Ratio,
    Surety,
    Table,
    Tolerance,
    Unit,
)

__all__ = ["boxes", "promises", "tolerances"]

_SHARES = st.integers(1, 63).map(lambda n: n / 64)


def _side(fixed: float | None) -> st.SearchStrategy[tuple[float, float]]:
    if fixed is not None:
        return st.just((fixed, fixed))
    span = st.tuples(_SHARES, _SHARES).map(lambda t: (min(t), max(t)))
    return st.one_of(
        st.just((0.0, 1.0)), _SHARES.map(lambda x: (x, x)), span, _SHARES.map(lambda x: (0.0, x))
    )


def boxes(about: str) -> st.SearchStrategy[Box]:
    """Boxes of priors about membership (q = 1), a value (p = 1) or both."""
    p, q = _side(1.0 if about == "value" else None), _side(1.0 if about == "membership" else None)
    return st.tuples(p, q).map(lambda t: Box(*t[0], *t[1]))


def _posterior(box: Box, share: float) -> Posterior:
    highest = box.p1 * box.q1
    return Posterior(highest + (1 - highest) * share, box)


def _table(box: Box, ratios: list[float]) -> Table:
    corners = sorted({(p, q) for p in (box.p0, box.p1) for q in (box.q0, box.q1)})
    return Table(tuple((*at, ratio) for at, ratio in zip(corners, ratios, strict=False)), box)


def _single(about: str) -> st.SearchStrategy[Tolerance]:
    ratio = st.integers(9, 64).map(lambda n: n / 8)
    box = boxes(about)
    below = box.filter(lambda b: b.p1 * b.q1 < 1)
    return st.one_of(
        st.builds(Ratio, ratio, box),
        st.builds(_posterior, below, _SHARES),
        st.builds(PosteriorUnlessRatio, _SHARES, ratio, box),
        st.builds(Difference, _SHARES.map(lambda x: x / 2), box),
        st.builds(Formula, st.sampled_from(["2.5 - p*q", "max(0.25/(p*q), 3)", "1.5 + q"]), box),
        st.builds(_table, box, st.lists(ratio, min_size=4, max_size=4)),
    )


def tolerances(about: str = "both", *, several: bool = True) -> st.SearchStrategy[Tolerance]:
    """Tolerances of every shape; with `several`, some that ask for more than one thing."""
    one = _single(about)
    if about != "membership":
        one = one | st.builds(Counterfactual, st.integers(9, 80).map(lambda n: n / 8))
    if not several:
        return one
    pair = st.tuples(one, one)
    return st.one_of(
        one,
        one,
        pair.map(AllOf),
        pair.map(lambda t: Groups((("patients", t[0]), ("staff", t[1])))),
    )


def promises(**fixed: Any) -> st.SearchStrategy[Promise]:
    """Promises; `fixed` says which surety, sidedness, adjacency or unit they all have."""
    surety = st.one_of(
        st.none(),
        st.just(Surety("every_output")),
        st.sampled_from([0.5, 0.9, 0.99, 0.999999]).map(lambda c: Surety("confidence", c)),
    )
    central = st.builds(
        Promise,
        st.sampled_from(["membership", "value", "both"]).flatmap(tolerances),
        fixed.get("surety", surety),
        fixed.get("sided", st.sampled_from(["one", "two"])),
        st.just("add-remove"),
        fixed.get("unit", st.sampled_from([Unit(), Unit.of("household", "one flat of up to 4")])),
        st.sampled_from([1, 1, 2, 5]),
    )
    changed = st.builds(
        Promise,
        tolerances("value"),
        fixed.get("surety", surety),
        fixed.get("sided", st.sampled_from(["one", "two"])),
        st.sampled_from(["replace", "local"]),
        fixed.get("unit", st.sampled_from([Unit(), Unit.of("person", "one aircraft")])),
        st.sampled_from([1, 1, 3]),
    )
    average = st.builds(
        lambda after, before: Promise(
            Posterior(before + (1 - before) * after, Box(1, 1, before, before)),
            Surety("on_average", answers=None if before * 64 < 4 else 64),
        ),
        _SHARES,
        _SHARES,
    )
    return central | changed if "surety" in fixed else st.one_of(central, changed, average)
