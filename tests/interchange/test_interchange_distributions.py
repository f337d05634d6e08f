"""Distributions and events of dp-accounting: read, never below the truth, or refused."""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import discreet
from discreet.composition import loss_of
from discreet.composition.events import (
    curve_of_distribution,
    curve_of_event,
    distribution_values,
    event_of,
    event_values,
    read_distribution,
    read_event,
)
from discreet.errors import DiscreetError, GuaranteeError, InputError
from discreet.laws import Gaussian, Laplace
from soaking import examples

pld = import_module("dp_accounting.pld.privacy_loss_distribution")
dp_event = import_module("dp_accounting.dp_event")
stable = settings(derandomize=True, deadline=None, max_examples=examples(60))


@pytest.mark.parametrize(
    ("distribution", "law", "times"),
    [
        (pld.from_laplace_mechanism(10.0), Laplace(0.1), 1),
        (pld.from_laplace_mechanism(10.0).self_compose(30), Laplace(0.1), 30),
        (pld.from_gaussian_mechanism(10.0).self_compose(50), Gaussian(10.0), 50),
    ],
    ids=["laplace", "30 laplace", "50 gaussian"],
)
def test_the_curve_is_never_below_the_truth_and_near_it(
    distribution: Any, law: Any, times: int
) -> None:
    curve, truth = curve_of_distribution(distribution), loss_of((law, times))
    for epsilon in (0.0, 0.05, 0.3, 1.0, 2.0):
        true = truth.delta(epsilon)
        got = curve.at(epsilon).delta
        assert got == pytest.approx(
            distribution.get_delta_for_epsilon(epsilon), rel=1e-5, abs=2e-12
        )
        assert got >= true * (1 - 1e-9)
        assert got <= true * 1.01 + 1e-9


def test_add_and_remove_are_both_kept() -> None:
    sampled = pld.from_gaussian_mechanism(1.0, sampling_prob=0.05)
    curve = curve_of_distribution(sampled)
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        assert curve.at(epsilon).delta >= float(sampled.get_delta_for_epsilon(epsilon))
    values = distribution_values(sampled)
    assert "infinity_mass_add" in values
    only = {k: v for k, v in values.items() if not k.endswith("_add")}
    add = {k.removesuffix("_add"): v for k, v in values.items() if k.endswith("_add")} | {
        k: values[k] for k in ("value_discretization_interval", "pessimistic_estimate")
    }
    for epsilon in (0.0, 0.1, 0.5):
        both = curve.at(epsilon).delta
        halves = [curve_of_distribution(half).at(epsilon).delta for half in (only, add)]
        assert both == max(halves)
        assert halves[0] != halves[1]


def test_an_optimistic_one_is_refused() -> None:
    optimistic = pld.from_gaussian_mechanism(
        1.0, pessimistic_estimate=False, use_connect_dots=False
    )
    with pytest.raises(GuaranteeError, match="optimistic"):
        curve_of_distribution(optimistic)
    said = distribution_values(optimistic)
    with pytest.raises(GuaranteeError, match="optimistic"):
        curve_of_distribution(json.loads(json.dumps(said)))


masses = st.dictionaries(st.integers(-40, 40), st.integers(0, 1000), min_size=1, max_size=12)


@stable
@given(masses, st.integers(0, 50), st.floats(0.001, 2), st.floats(0, 30))
def test_every_delta_is_at_least_the_sum_in_high_precision(
    weights: dict[int, int], beyond: int, interval: float, epsilon: float
) -> None:
    total = sum(weights.values()) + beyond
    if total == 0:
        return
    shares = {place: weight / total for place, weight in weights.items()}
    said = {
        "value_discretization_interval": interval,
        "pessimistic_estimate": True,
        "infinity_mass": beyond / total,
        "rounded_probability_mass_function": {str(k): v for k, v in shares.items()},
    }
    with mp.workdps(40):
        true = mp.mpf(beyond) / total
        for place, weight in weights.items():
            loss = place * mp.mpf(interval)
            if loss > epsilon:
                true += mp.mpf(weight) / total * (1 - mp.exp(mp.mpf(epsilon) - loss))
        got = curve_of_distribution(said).at(epsilon).delta
        assert got >= min(true, mp.mpf(1))
        assert got <= true * (1 + mp.mpf("2e-6")) + mp.mpf("3e-12")


def test_a_file_reads_back_without_the_library(tmp_path: Path) -> None:
    distribution = pld.from_laplace_mechanism(2.0).self_compose(3)
    path = tmp_path / "three.json"
    path.write_text(json.dumps(distribution_values(distribution)))
    curve, same = read_distribution(path), curve_of_distribution(distribution)
    for epsilon in (0.0, 0.7, 1.4):
        assert curve.at(epsilon).delta == same.at(epsilon).delta
    belief = discreet.explain(curve, 0.1, confidence=0.99)
    assert belief.posterior is not None
    assert 0.1 < belief.posterior.upper < 1


GOOD = {
    "value_discretization_interval": 0.1,
    "pessimistic_estimate": True,
    "infinity_mass": 0.0,
    "rounded_probability_mass_function": {"1": 0.6, "-1": 0.4},
}


@pytest.mark.parametrize(
    "change",
    [
        {"value_discretization_interval": 0},
        {"value_discretization_interval": None},
        {"value_discretization_interval": "0.1"},
        {"infinity_mass": math.nan},
        {"infinity_mass": 2},
        {"infinity_mass": True},
        {"rounded_probability_mass_function": {}},
        {"rounded_probability_mass_function": {"1": 0.3}},
        {"rounded_probability_mass_function": {"1.5": 1.0}},
        {"rounded_probability_mass_function": {"9" * 30: 1.0}},
        {"rounded_probability_mass_function": {"1": -0.5, "2": 1.5}},
        {"rounded_probability_mass_function": [0.6, 0.4]},
        {"infinity_mass_add": 0.0},
        {"sealed": 1},
        {"pessimistic_estimate": 1},
    ],
    ids=repr,
)
def test_a_bad_distribution_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        curve_of_distribution(GOOD | change)
    assert "\n" not in str(caught.value)


def test_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="not a privacy loss distribution"):
        curve_of_distribution(3)


def test_a_file_that_holds_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text("[1, 2]")
    with pytest.raises(InputError, match="must be a JSON object"):
        read_distribution(tmp_path / "d.json")


def test_a_distribution_of_few_losses_is_read_too() -> None:
    """The library keeps one from (ε, δ) as a mapping; its curve passes through that point."""
    stated = import_module("dp_accounting.pld.common").DifferentialPrivacyParameters(1.0, 1e-3)
    curve = curve_of_distribution(pld.from_privacy_parameters(stated))
    assert 1e-3 <= curve.at(1.0).delta <= 1e-3 * (1 + 1e-5)
    chance = 1 / (1 + math.exp(-1.0))
    truth = 1e-3 + (1 - 1e-3) * chance * -math.expm1(-1.0)
    assert truth <= curve.at(0.0).delta <= truth * (1 + 1e-3)


EVENTS = [
    dp_event.GaussianDpEvent(3.0),
    dp_event.LaplaceDpEvent(2.0),
    dp_event.SelfComposedDpEvent(dp_event.DiscreteLaplaceDpEvent(0.1, 2), 9),
    dp_event.ComposedDpEvent([dp_event.LaplaceDpEvent(2.0), dp_event.ZCDpEvent(0.1, 0.0)]),
    dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(2.0)), 4
    ),
    dp_event.RandomizedResponseDpEvent(0.5, 2),
    dp_event.NoOpDpEvent(),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
def test_events_go_to_a_file_and_back(event: Any, tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event_values(event)))
    assert event_of(json.loads(path.read_text())) == event
    for epsilon in (0.0, 0.5):
        assert read_event(path).at(epsilon).delta == curve_of_event(event).at(epsilon).delta


@pytest.mark.parametrize(
    "values",
    [
        3,
        {},
        {"event": "os.system"},
        {"event": "DpEvent", "x": 1},
        {"event": "annotations"},
        {"event": "GaussianDpEvent"},
        {"event": "GaussianDpEvent", "noise_multiplier": "much"},
        {"event": "ComposedDpEvent", "events": [3]},
        {"event": "SelfComposedDpEvent", "event_": 3, "count": 2},
        {"event": "SelfComposedDpEvent", "event_": {"event": "NoOpDpEvent"}, "count": -1},
        {"event": "ComposedDpEvent", "events": 7},
    ],
    ids=repr,
)
def test_a_bad_event_is_refused(values: Any) -> None:
    with pytest.raises(InputError):
        curve_of_event(event_of(values))


junk = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-3, 10**20) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
number = st.floats(0.01, 50) | st.integers(-1, 4) | junk
LEAVES = {
    "GaussianDpEvent": ["noise_multiplier"],
    "LaplaceDpEvent": ["noise_multiplier"],
    "DiscreteLaplaceDpEvent": ["noise_parameter", "sensitivity"],
    "RandomizedResponseDpEvent": ["noise_parameter", "num_buckets"],
    "ZCDpEvent": ["rho", "xi"],
    "NoOpDpEvent": [],
    "NonPrivateDpEvent": [],
    "RepeatAndSelectDpEvent": ["mean", "shape"],
}
leaves = st.sampled_from(sorted(LEAVES)).flatmap(
    lambda name: st.fixed_dictionaries(
        {"event": st.just(name)} | dict.fromkeys(LEAVES[name], number)
    )
)
events = st.recursive(
    leaves | junk,
    lambda inner: (
        st.fixed_dictionaries({"event": st.just("ComposedDpEvent"), "events": st.lists(inner)})
        | st.fixed_dictionaries(
            {"event": st.just("SelfComposedDpEvent"), "event_": inner, "count": number}
        )
        | st.fixed_dictionaries({"event": st.just("ComposedDpEvent"), "events": inner})
    ),
    max_leaves=5,
)


@settings(stable, max_examples=examples(300))
@given(events)
def test_any_json_is_an_event_or_is_refused(values: Any) -> None:
    try:
        curve_of_event(event_of(values)).at(1.0)
    except DiscreetError:
        return


@settings(stable, max_examples=examples(300))
@given(
    st.dictionaries(
        st.sampled_from([*GOOD, "infinity_mass_add", "rounded_probability_mass_function_add"]),
        junk | st.sampled_from(list(GOOD.values())),
    )
)
def test_any_json_is_a_distribution_or_is_refused(change: dict[str, Any]) -> None:
    try:
        curve_of_distribution(GOOD | change).at(1.0)
    except DiscreetError:
        return


def test_the_command_reads_both(tmp_path: Path) -> None:
    from discreet.cli import _app

    (tmp_path / "e.json").write_text(json.dumps(event_values(EVENTS[0])))
    (tmp_path / "d.json").write_text(json.dumps(GOOD))
    ran = CliRunner().invoke(
        _app, ["compose", "--event", str(tmp_path / "e.json"), "--delta", "1e-6", "--json"]
    )
    found = json.loads(ran.stdout)["epsilon"]
    assert found == pytest.approx(loss_of((Gaussian(3.0), 1)).epsilon(1e-6), rel=1e-9)
    ran = CliRunner().invoke(
        _app, ["compose", "--distribution", str(tmp_path / "d.json"), "--delta", "0.001", "--json"]
    )
    assert json.loads(ran.stdout)["epsilon"] == pytest.approx(0.1, abs=0.01)
