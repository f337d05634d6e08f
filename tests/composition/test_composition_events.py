"""DpEvents of dp-accounting: the same curve, the traps avoided, the rest refused."""

from __future__ import annotations

import math
from importlib import import_module

import pytest

dp_event = import_module("dp_accounting.dp_event")

from discreet.composition import loss_of, zcdp_epsilon  # noqa: E402
from discreet.composition.events import curve_of_event, dp_sgd_curve  # noqa: E402
from discreet.errors import GuaranteeError, InputError  # noqa: E402
from discreet.laws import Gaussian, Geometric, Laplace, RandomizedResponse  # noqa: E402

Many = dp_event.SelfComposedDpEvent


@pytest.mark.parametrize(
    ("event", "plan"),
    [
        (Many(dp_event.GaussianDpEvent(10.0), 50), [(Gaussian(10.0), 50)]),
        (Many(dp_event.LaplaceDpEvent(10.0), 50), [(Laplace(0.1), 50)]),
        (Many(dp_event.DiscreteLaplaceDpEvent(0.1, 2), 9), [(Geometric(0.2, 2), 9)]),
        (
            dp_event.ComposedDpEvent(
                [dp_event.LaplaceDpEvent(2.0), Many(dp_event.GaussianDpEvent(3.0), 4)]
            ),
            [(Laplace(0.5), 1), (Gaussian(3.0), 4)],
        ),
    ],
    ids=["gaussian", "laplace", "discrete laplace", "mixed"],
)
def test_events_without_sampling_have_our_own_curve(event, plan):
    curve, loss = curve_of_event(event), loss_of(*plan)
    for epsilon in (0.0, 0.3, 1.0):
        assert curve.at(epsilon).delta == pytest.approx(loss.delta(epsilon), rel=1e-9)


def test_repetition_counts_for_randomized_response():
    # PLDAccountant ignores the count here; ten uses must cost what ten uses cost
    one = dp_event.RandomizedResponseDpEvent(0.5, 2)
    ten = curve_of_event(Many(one, 10))
    same = curve_of_event(dp_event.ComposedDpEvent([one] * 10))
    expected = loss_of((RandomizedResponse(math.log(3)), 10))
    for epsilon in (0.5, 2.0, 6.0):
        assert ten.at(epsilon).delta == pytest.approx(expected.delta(epsilon), rel=1e-9)
        assert same.at(epsilon).delta == pytest.approx(ten.at(epsilon).delta, rel=1e-12)
    assert curve_of_event(one).at(2.0).delta < ten.at(2.0).delta


def test_zcdp_events_are_read_by_the_tight_conversion():
    curve = curve_of_event(Many(dp_event.ZCDpEvent(0.01, 0.0), 100))
    assert curve.at(zcdp_epsilon(1.0, 1e-6)).delta == pytest.approx(1e-6, rel=1e-6)
    mixed = curve_of_event(
        dp_event.ComposedDpEvent([dp_event.ZCDpEvent(0.5, 0.0), dp_event.LaplaceDpEvent(1.0)])
    )
    assert mixed.at(zcdp_epsilon(1.0, 1e-6)).delta == pytest.approx(1e-6, rel=1e-6)


def test_dp_sgd_lies_between_no_sampling_and_its_own_rdp_bound():
    import dp_accounting

    curve = dp_sgd_curve(0.01, 1.0, 1000)
    event = Many(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 1000)
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(event)
    for epsilon in (1.0, 2.0, 4.0):
        delta = curve.at(epsilon).delta
        assert 0 < delta <= accountant.get_delta(epsilon)
        assert delta < loss_of((Gaussian(1.0), 1000)).delta(epsilon)
    # sampling everyone is no sampling
    full, plain = dp_sgd_curve(1.0, 20.0, 30), loss_of((Gaussian(20.0), 30))
    for epsilon in (0.2, 0.8):
        assert plain.delta(epsilon) <= full.at(epsilon).delta <= plain.delta(epsilon) * 1.01 + 1e-9


def test_nothing_released_costs_nothing():
    assert curve_of_event(dp_event.NoOpDpEvent()).at(0.0).delta == 0.0


@pytest.mark.parametrize(
    "event",
    [
        dp_event.NonPrivateDpEvent(),
        dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.GaussianDpEvent(1.0)),
        dp_event.PoissonSampledDpEvent(0.1, Many(dp_event.GaussianDpEvent(1.0), 2)),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.RandomizedResponseDpEvent(0.5, 2)),
        dp_event.ZCDpEvent(0.1, 0.2),
        dp_event.SingleEpochTreeAggregationDpEvent(1.0, 3),
    ],
    ids=lambda e: type(e).__name__,
)
def test_other_events_are_refused_in_one_sentence(event):
    with pytest.raises(GuaranteeError) as caught:
        curve_of_event(event)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "event",
    [
        dp_event.GaussianDpEvent(-1.0),
        dp_event.GaussianDpEvent(0.0),
        dp_event.LaplaceDpEvent(math.nan),
        "event",
    ],
    ids=repr,
)
def test_bad_events_are_refused(event):
    with pytest.raises(InputError):
        curve_of_event(event)


@pytest.mark.parametrize(
    "arguments", [(0.0, 1.0, 10), (1.5, 1.0, 10), (0.1, 0.0, 10), (0.1, 1.0, 0)]
)
def test_bad_dp_sgd_is_refused(arguments):
    with pytest.raises(InputError):
        dp_sgd_curve(*arguments)
