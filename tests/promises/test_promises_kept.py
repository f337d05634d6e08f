"""Promises are kept: whole laws, every output, Bayes' rule in fractions, whatever is true.

A plan or a choice gives a budget; small mechanisms that spend all of it are enumerated. Under every
truth (in with the value, in without, out, some other value) the outputs at which the promise is
broken, at any of many priors of its box, must have a probability of at most 1 − confidence, and
none at all where it is for every output. The tests are exact: no failure probability.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_drawn import tolerances
from promise_truths import World, above, below, failing, geometric, priors_in, product, within

from discreet.budgets import choose
from discreet.errors import InputError, ToleranceError
from discreet.promises import Box, Counterfactual, Promise, Ratio, Surety
from discreet.series import plan
from soaking import soaked

stable = settings(derandomize=True, deadline=None, max_examples=200 if soaked() else 16)
abouts = st.sampled_from(["membership", "value", "both"])
sides = st.sampled_from(["one", "two"])


def fails(promise: Promise) -> Fraction:
    """How often it may fail."""
    if promise.every_output:
        return Fraction(0)
    assert promise.confidence is not None
    return 1 - Fraction(str(promise.confidence))


def binding_priors(promise: Promise) -> list[Any]:
    """Many priors of the box, and the one that a pure budget would be bound by."""
    from discreet.budgets.limits import limits_of

    worst = limits_of(promise).binding
    return priors_in(promise, [(worst.p, worst.q)])


def shifted(a: Fraction, values: list[list[int]], most: int = 2) -> World:
    """Releases of counts with geometric noise; `values` are contributions, the first sensitive."""
    each = [
        World(
            geometric(a, values[0][j], most),
            geometric(a, values[1][j], most),
            geometric(a, 0, most),
            tuple(geometric(a, other[j], most) for other in values[2:]),
        )
        for j in range(len(values[0]))
    ]
    return product(each)


def answered(z: Fraction, values: list[list[int]], categories: int) -> World:
    """Randomized answers: the true one is z times as likely as each of the others."""

    def law(value: int) -> tuple[Fraction, ...]:
        return tuple((z if n == value else Fraction(1)) / (z + categories - 1)
                     for n in range(categories))  # fmt: skip

    each = [
        World(law(values[0][j]), law(values[1][j]), law(values[1][j]),
              tuple(law(other[j]) for other in values[2:]))
        for j in range(len(values[0]))
    ]  # fmt: skip
    return product(each)


def planned(promise: Promise, releases: int, **how: Any) -> Any:
    """The plan, or None where none is largest."""
    try:
        return plan(promise, releases, **how)
    except (ToleranceError, InputError) as refused:
        assert any(word in str(refused) for word in ("every change", "no budget", "give away"))
        return None


@pytest.mark.slow
@stable
@given(
    st.data(),
    abouts,
    sides,
    st.integers(1, 4),
    st.sampled_from([None, 0.3, 0.5, 0.7, 0.9]),
    st.sampled_from([None, "geometric"]),
    st.sampled_from([None, "curve", "exact"]),
)
def test_counts_with_geometric_noise(
    data: st.DataObject,
    about: str,
    sided: Any,
    releases: int,
    confidence: float | None,
    mechanism: str | None,
    strength: Any,
) -> None:
    surety = None if confidence is None else Surety("confidence", confidence)
    promise = Promise(data.draw(tolerances(about)), surety, sided)
    found = planned(
        promise, releases, mechanism=mechanism, strength=strength if mechanism and surety else None
    )
    if found is None:
        return
    exact = found.strength == "exact"
    a = above(math.exp(-found.budgets[0]))
    draw = data.draw(st.randoms(use_true_random=False))
    steps = [-1, 0, 1]
    worlds = [[[1] * releases, [-1] * releases], [[1] * releases, [0] * releases]]
    worlds += [[draw.choices(steps, k=releases) for _ in range(3)] for _ in range(2)]
    places = binding_priors(found.promise)
    for values in worlds:
        if about == "membership":
            values = [values[0], values[0]]
        # An exact bound is for the output as released: nothing may be held within limits there.
        most = 8 if exact else 2
        if exact and releases > 2:
            continue
        assert failing(found.promise, shifted(a, values, most), places) <= fails(found.promise)


@pytest.mark.slow
@stable
@given(
    st.data(),
    sides,
    st.integers(1, 4),
    st.sampled_from([None, 0.3, 0.5, 0.7, 0.9]),
    st.sampled_from(["replace", "local"]),
    st.sampled_from([2, 3]),
)
def test_randomized_answers_of_several_values(
    data: st.DataObject,
    sided: Any,
    releases: int,
    confidence: float | None,
    adjacency: Any,
    categories: int,
) -> None:
    surety = None if confidence is None else Surety("confidence", confidence)
    promise = Promise(data.draw(tolerances("value")), surety, sided, adjacency)
    ways: list[dict[str, Any]] = [{}]
    if adjacency == "local" and categories == 2:
        ways += [{"mechanism": "randomized-response"}]
        if surety is not None:
            ways += [{"mechanism": "randomized-response", "strength": "exact"}]
    draw = data.draw(st.randoms(use_true_random=False))
    for how in ways:
        found = planned(promise, releases, **how)
        if found is None:
            continue
        z = below(math.exp(found.budgets[0]))
        if z < 1:
            continue
        values = [[0] * releases, [1] * releases, [categories - 1] * releases]
        others = [draw.choices(range(categories), k=releases) for _ in range(3)]
        for some in (values, others):
            world = answered(z, some, categories)
            assert failing(found.promise, world, binding_priors(found.promise)) <= fails(
                found.promise
            )


def leaking(draw: random.Random, points: int, laws: int = 4) -> World:
    """Random laws on a few points, some of which one law alone may have."""

    def law() -> tuple[Fraction, ...]:
        masses = [Fraction(draw.choice([0, 1, 1, 2, 5, 20, 100])) for _ in range(points)]
        total = sum(masses) or Fraction(1)
        return (
            tuple(m / total for m in masses)
            if sum(masses)
            else (Fraction(1),) + (Fraction(0),) * (points - 1)
        )

    return World(law(), law(), law(), tuple(law() for _ in range(laws - 3)))


def worst_rise(z: Fraction, delta: Fraction, limit: Fraction, two: Fraction) -> World | None:
    """A law that is (log z, δ)-DP and passes the limits of one step and of two as often as can be.

    Four points: where one step passes `limit` upward, where two steps pass `two`, where one step
    passes `limit` downward and the truth is another value, and the rest.
    """
    if limit <= z or two <= z * z:
        return None
    rise_out = delta / (limit - z)
    rise = [limit * rise_out, z * rise_out + delta, rise_out]
    two_other = delta * (1 + z) / (two - z * z)
    twice = [two * two_other, two_other, z * two_other + delta]
    fall_in = delta / (limit - z)
    fall = [fall_in, z * limit * fall_in + delta, limit * fall_in]
    columns = [[x * Fraction(1, 3) for x in part] for part in (rise, twice, fall)]
    laws = []
    for i in range(3):
        masses = [column[i] for column in columns]
        if sum(masses) >= 1:
            return None
        laws.append((*masses, 1 - sum(masses)))
    return World(*laws)


@pytest.mark.slow
@stable
@given(
    st.data(),
    abouts,
    sides,
    st.sampled_from([0.5, 0.8, 0.95]),
    st.sampled_from([0.001, 0.01, 0.04]),
    st.sampled_from(["add-remove", "replace"]),
)
def test_choices_with_a_delta(
    data: st.DataObject, about: str, sided: Any, confidence: float, delta: float, adjacency: Any
) -> None:
    about = about if adjacency == "add-remove" else "value"
    surety = Surety("confidence", confidence)
    promise = Promise(data.draw(tolerances(about)), surety, sided, adjacency)
    try:
        found = choose(promise, delta=delta)
    except ToleranceError as refused:
        assert "delta" in str(refused)
        return
    if math.isinf(found.epsilon):
        return
    assert found.certificate.lower <= found.certificate.upper * (1 + 1e-12)
    z, given_away = below(math.exp(found.epsilon)), Fraction(delta)
    places = binding_priors(found.promise)
    draw = data.draw(st.randoms(use_true_random=False))
    for _ in range(6):
        world = leaking(draw, draw.choice([2, 3, 4, 5]))
        if about == "membership":
            world = World(world.sensitive, world.sensitive, world.out)
        elif adjacency == "replace":
            world = replace(world, out=world.other)
        drawn = within(world, max(z, Fraction(1)), given_away, adjacency)
        assert failing(found.promise, drawn, places) <= fails(found.promise)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.data(), abouts, sides, st.sampled_from([0.5, 0.8]), st.sampled_from([0.001, 0.02]))
def test_plans_with_a_delta_of_each(
    data: st.DataObject, about: str, sided: Any, confidence: float, delta: float
) -> None:
    promise = Promise(
        data.draw(tolerances(about, several=False)), Surety("confidence", confidence), sided
    )
    releases = data.draw(st.integers(2, 3))
    found = planned(promise, releases, delta_each=delta)
    if found is None:
        return
    z = max(below(math.exp(found.budgets[0])), Fraction(1))
    places = binding_priors(found.promise)
    draw = data.draw(st.randoms(use_true_random=False))
    for _ in range(2):
        worlds = []
        for _ in range(releases):
            world = leaking(draw, 3, 3)
            if about == "membership":
                world = World(world.sensitive, world.sensitive, world.out)
            worlds.append(within(world, z, Fraction(delta)))
        assert failing(found.promise, product(worlds), places) <= fails(found.promise)


class TestTheWorstLaws:
    """Laws that pass the limits as often as any can: budgets that are too large are caught."""

    @pytest.mark.parametrize("sided", ["one", "two"])
    @pytest.mark.parametrize("delta", [1e-4, 1e-3])
    @pytest.mark.parametrize("ratio", [1.5, 3.0, 9.0])
    def test_one_step_and_two(self, ratio: float, delta: float, sided: Any) -> None:
        found = choose(Ratio(ratio), delta=delta, confidence=0.9, sided=sided)
        z = below(math.exp(found.epsilon))
        limit = above(math.sqrt(ratio), 40)
        world = worst_rise(z, Fraction(delta), limit, above(ratio, 40))
        assert world is not None
        same = within(world, z, Fraction(delta))
        assert same.sensitive == world.sensitive  # it is (ε, δ)-DP
        assert failing(found.promise, world) <= fails(found.promise)

    def test_a_counterfactual_is_two_steps(self) -> None:
        """One-step budgets were certified here, .5878: the odds pass 9 with more than .01."""
        found = choose(Counterfactual(9), delta=4e-3, confidence=0.99, sided="one")
        assert found.epsilon < 0.1306

        def passing(epsilon: float) -> Fraction:
            z, delta, two = below(math.exp(epsilon)), Fraction(4e-3), above(9.0, 40)
            other = delta * (1 + z) / (two - z * z)
            laws = [two * other, other, z * other + delta]
            world = World(*((x, 1 - x) for x in laws))
            assert within(world, z, delta).sensitive == world.sensitive
            return failing(found.promise, world)

        assert passing(0.5878) > Fraction(1, 100)
        assert passing(found.epsilon) <= Fraction(1, 100)
        # and it is close: a law like this spends nearly all that may fail
        assert passing(found.epsilon) > Fraction(99, 10000)
        assert passing(found.epsilon * 1.01) > Fraction(1, 100)

    def test_a_counterfactual_of_the_sensitive_alone_is_one_step(self) -> None:
        found = choose(Counterfactual(9, True), delta=4e-3, confidence=0.99, sided="one")
        assert found.epsilon == pytest.approx(math.log(9) + math.log1p(-0.4), rel=1e-9)
        z, delta, limit = below(math.exp(found.epsilon)), Fraction(4e-3), above(9.0, 40)
        out = delta / (limit - z)
        world = World((limit * out, 1 - limit * out), (out, 1 - out), (out, 1 - out))
        assert Fraction(99, 10000) < failing(found.promise, world) <= Fraction(1, 100)

    def test_membership_spends_what_may_fail(self) -> None:
        found = choose(ratio=3, about="membership", delta=1e-3, confidence=0.99, sided="one")
        z, delta, limit = below(math.exp(found.epsilon)), Fraction(1e-3), above(3.0, 30)
        out = delta / (limit - z)
        world = World(*((x, 1 - x) for x in (limit * out, limit * out, out)))
        places = [(found.promise.tolerance, Fraction(1, 10**12), Fraction(1))]
        assert Fraction(99, 10000) < failing(found.promise, world, places) <= Fraction(1, 100)


class TestProbabilisticDP:
    """(ε, δ)-probabilistic DP speaks of two laws; of a third value it says less."""

    def test_a_third_value_passes_with_twice_delta(self) -> None:
        from discreet.guarantees import ProbabilisticDP
        from discreet.series import horizon

        delta, z = Fraction(8, 1000), Fraction(3, 2)
        limit = math.log(z)
        tiny = Fraction(1, 10**9)
        # (ε, δ)-probabilistic DP between any two of the three
        other = (delta / z * (1 - tiny), Fraction(0), 1 - delta / z * (1 - tiny))
        sensitive = (delta * (1 - tiny), tiny * delta, 1 - delta)
        third = (delta * (1 - tiny), delta, 1 - delta * (2 - tiny))
        passing = sum(
            t for t, s, o in zip(third, sensitive, other, strict=True) if s > z * o * (1 - tiny / 2)
        )
        assert passing > Fraction(15, 1000)
        each = ProbabilisticDP(limit, float(delta), adjacency="replace")
        promise = Promise(Ratio(1.5), Surety("confidence", 0.99), "one", "replace")
        assert horizon(each, promise, upto=1).releases == 1  # not kept by one release
        kept = replace(promise, surety=Surety("confidence", 0.98), tolerance=Ratio(3))
        assert horizon(each, kept, upto=1).releases is None
        known = Promise(Ratio(1.5, Box(0, 1, 1, 1)), Surety("confidence", 0.99), "one")
        two = ProbabilisticDP(limit * (1 - 1e-12), float(delta))
        assert horizon(two, known, upto=1).releases is None  # of two laws it says all
