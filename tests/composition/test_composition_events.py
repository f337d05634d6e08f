"""DpEvents of dp-accounting: the same curve, the traps avoided, the rest refused."""

from __future__ import annotations

import math
import sys
from importlib import import_module

import pytest

dp_event = import_module("dp_accounting.dp_event")

from discreet.composition import compose, loss_of, zcdp_epsilon  # noqa: E402
from discreet.composition.events import curve_of_event, event_values  # noqa: E402
from discreet.errors import GuaranteeError, InputError  # noqa: E402
from discreet.guarantees import ZCDP  # noqa: E402
from discreet.laws import Gaussian, Geometric, Laplace, RandomizedResponse  # noqa: E402

Many = dp_event.SelfComposedDpEvent


def dp_sgd(rate, noise, steps):
    return Many(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise)), steps)


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


def test_a_curve_of_an_event_is_not_said_to_rest_on_rho():
    """That of Gaussian noise was credited to the conversion of ρ."""
    found = compose([curve_of_event(Many(dp_event.GaussianDpEvent(5.0), 12))], delta=1e-6)
    assert found.theorem == "the privacy curve that was given"
    assert "rho adds" in compose([(ZCDP(0.02), 12)], delta=1e-6).theorem


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

    event = dp_sgd(0.01, 1.0, 1000)
    curve = curve_of_event(event)
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(event)
    for epsilon in (1.0, 2.0, 4.0):
        delta = curve.at(epsilon).delta
        assert 0 < delta <= accountant.get_delta(epsilon)
        assert delta < loss_of((Gaussian(1.0), 1000)).delta(epsilon)
    # sampling everyone is no sampling
    full, plain = curve_of_event(dp_sgd(1.0, 20.0, 30)), loss_of((Gaussian(20.0), 30))
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


@pytest.mark.parametrize(("rate", "noise"), [(0.0, 1.0), (1.5, 1.0), (0.1, 0.0)])
def test_bad_dp_sgd_is_refused(rate, noise):
    with pytest.raises(InputError):
        curve_of_event(dp_sgd(rate, noise, 10))


def test_gaussian_noise_among_zcdp_enters_with_its_rho():
    """Gaussian noise with σ = 2 is ⅛-zCDP: 0.5 + 4 · 0.125 = 1."""
    parts = [dp_event.ZCDpEvent(0.5, 0.0), Many(dp_event.GaussianDpEvent(2.0), 4)]
    curve = curve_of_event(dp_event.ComposedDpEvent(parts))
    assert curve.at(zcdp_epsilon(1.0, 1e-6)).delta == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_sampled_laplace_noise_has_the_amplified_curve(share):
    """Sampling takes δ(ε') to share · δ(ε) at e^ε' = 1 + share (e^ε − 1) (Balle et al. 2018)."""
    budget = 1.5
    event = dp_event.PoissonSampledDpEvent(share, dp_event.LaplaceDpEvent(1 / budget))
    curve = curve_of_event(event)
    for before in (0.1, 0.7, 1.4):
        amplified = math.log1p(share * math.expm1(before))
        truth = share * -math.expm1((before - budget) / 2)
        assert truth <= curve.at(amplified).delta <= truth * 1.001 + 1e-6


def test_sampled_and_unsampled_noise_together():
    sampled = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(2.0))
    curve = curve_of_event(dp_event.ComposedDpEvent([sampled, dp_event.GaussianDpEvent(3.0)]))
    alone, unsampled = loss_of((Gaussian(3.0), 1)), loss_of((Gaussian(3.0), 1), (Gaussian(2.0), 1))
    for epsilon in (0.1, 0.5, 1.0):
        assert alone.delta(epsilon) < curve.at(epsilon).delta < unsampled.delta(epsilon)


def test_a_release_that_never_happened_costs_nothing():
    never = Many(dp_event.GaussianDpEvent(1.0), 0)
    assert curve_of_event(never).at(0.0).delta == 0.0
    once = curve_of_event(dp_event.ComposedDpEvent([never, dp_event.LaplaceDpEvent(2.0)]))
    truth = -math.expm1((0.2 - 0.5) / 2)
    assert truth <= once.at(0.2).delta <= truth * (1 + 1e-6)


def test_local_answers_among_zcdp_are_refused():
    parts = [dp_event.ZCDpEvent(0.5, 0.0), dp_event.RandomizedResponseDpEvent(0.5, 2)]
    with pytest.raises(GuaranteeError, match="Read them separately"):
        curve_of_event(dp_event.ComposedDpEvent(parts))


@pytest.mark.parametrize("noise", [0.0, 1.0, -0.1, math.nan])
def test_an_answer_is_neither_always_true_nor_all_chance(noise):
    with pytest.raises(InputError, match=r"noise_parameter is .* between 0 and 1"):
        curve_of_event(dp_event.RandomizedResponseDpEvent(noise, 2))


@pytest.mark.parametrize("share", [0.0, 1.1, -0.1, math.nan])
def test_a_sample_is_a_share_of_everyone(share):
    event = dp_event.PoissonSampledDpEvent(share, dp_event.GaussianDpEvent(1.0))
    with pytest.raises(InputError, match="sampling_probability"):
        curve_of_event(event)


def test_only_events_have_values():
    with pytest.raises(InputError, match="A str is not a DpEvent"):
        event_values("GaussianDpEvent")


def test_without_the_library_the_extra_is_named(monkeypatch):
    event = dp_sgd(0.1, 1.0, 10)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(InputError, match=r"Install discreet\[accounting\]"):
        curve_of_event(event)
