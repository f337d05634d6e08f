"""`explain` over all guarantees: strengths, labels, JSON, refusals."""

from __future__ import annotations

import json
import math
from importlib import import_module
from itertools import product
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import Prior, explain, join
from discreet.budgets import choose
from discreet.composition import loss_of
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import ZCDP, ApproxDP, PrivacyCurve, ProbabilisticDP, PureDP
from discreet.laws import DiscreteGaussian, Gaussian, Geometric, Laplace, RandomizedResponse
from discreet.reports.sentences import sentence
from soaking import examples

fixed = settings(derandomize=True, deadline=None, max_examples=examples(60))

EVERYTHING = [
    PureDP(0.5),
    PureDP(0.5, adjacency="replace"),
    ApproxDP(0.5, 1e-6),
    ApproxDP(0.5, 0.0),
    ProbabilisticDP(0.5, 1e-6),
    ZCDP(0.02),
    PrivacyCurve("two points", lambda e: 0.0 if e >= 1 else (1e-4 if e >= 0.5 else 1.0)),
    Gaussian(5.0),
    Geometric(0.5),
    Laplace(0.5),
    RandomizedResponse(0.5),
    loss_of((Gaussian(5.0), 3)),
]


@pytest.mark.parametrize("stated", EVERYTHING, ids=repr)
@pytest.mark.parametrize("prior", [None, Prior(0.3), Prior(0.3, 0.5), Prior(1e-9), Prior(1.0)])
@pytest.mark.parametrize("sided", ["one", "two"])
def test_every_answer_is_json_and_orders_itself(stated: object, prior: Prior, sided: str) -> None:
    belief = explain(stated, prior, sided=sided)  # type: ignore[arg-type]
    out = json.loads(json.dumps(belief.to_dict(), allow_nan=False))
    assert out["strength"] in ("generic", "curve", "exact")
    assert set(out["worst_prior"]) >= {"ratio", "difference"}
    assert 0 < belief.holds_with <= 1
    assert belief.ratio.lower <= 1 <= belief.ratio.upper
    assert belief.difference.lower <= 0 <= belief.difference.upper
    if prior is None:
        assert out["posterior"] is None
    else:
        assert belief.posterior is not None
        assert 0 <= belief.posterior.lower <= prior.pq * (1 + 1e-12)
        assert prior.pq <= belief.posterior.upper <= 1
        assert belief.ratio.upper <= belief.worst_ratio.value * (1 + 1e-9)
    assert belief._repr_html_().startswith("<table>")
    assert repr(belief).startswith("Belief(")
    assert "\n" not in repr(belief)


@fixed
@given(st.floats(0.001, 1.0), st.floats(1e-6, 0.4), st.sampled_from(["one", "two"]))
def test_stronger_is_never_wider(rho: float, failure: float, sided: str) -> None:
    confidence = 1 - failure
    mechanism = Gaussian.of_rho(rho)
    generic, curve, exact = (
        explain(mechanism, 0.5, confidence=confidence, sided=sided, strength=s)  # type: ignore[arg-type]
        for s in ("generic", "curve", "exact")
    )
    assert exact.ratio.upper <= curve.ratio.upper * (1 + 1e-9)
    assert curve.ratio.upper <= generic.ratio.upper * (1 + 1e-9)
    assert [b.strength for b in (generic, curve, exact)] == ["generic", "curve", "exact"]
    assert [b.survives_post_processing for b in (generic, curve, exact)] == [True, True, False]


@pytest.mark.parametrize("law", [Gaussian(1.0), Gaussian(4.0), DiscreteGaussian(5.0)])
@pytest.mark.parametrize("prior", [Prior(1, 0.1), Prior(0.5, 0.5), Prior(1, 0.9)])
@pytest.mark.parametrize("confidence", [0.9, 0.99, 0.999999])
def test_stronger_is_never_wider_about_a_value(law: Any, prior: Prior, confidence: float) -> None:
    """Two steps: of the noise itself, or by the group property of its curve, whichever is less."""
    asked = {"prior": prior, "confidence": confidence}
    generic, curve = (explain(law, strength=s, **asked) for s in ("generic", "curve"))
    grouped = explain(loss_of((law, 1)).curve(), **asked)
    for wider in (generic, grouped):
        assert curve.ratio.upper <= wider.ratio.upper * (1 + 1e-7)
    if isinstance(law, Gaussian) and prior.p == 1:  # the loss is N(2/σ², 4/σ²)
        far = NormalDist(2 / law.sigma**2, 2 / law.sigma).inv_cdf(confidence)
        odds = math.exp(far) * prior.q / (1 - prior.q)
        assert curve.posterior.upper > odds / (1 + odds)


def test_the_default_survives_post_processing_and_shows_the_exact_beside() -> None:
    belief = explain(loss_of((Gaussian.of_rho(0.01), 7)), 0.5)
    assert belief.strength == "curve"
    assert belief.survives_post_processing
    assert belief.posterior is not None
    assert belief.posterior.upper == pytest.approx(0.750, abs=5e-4)
    assert belief.exact is not None
    assert belief.exact.posterior is not None
    assert belief.exact.posterior.upper == pytest.approx(0.727, abs=5e-4)
    assert not belief.exact.survives_post_processing
    assert "as released" in belief.exact.assumptions.post_processing


def test_where_the_maximum_is_not_proved_the_curve_is_quoted() -> None:
    belief = explain(loss_of((Laplace(0.05), 20)), 0.5, strength="exact")
    assert belief.strength == "curve"
    assert belief.note is not None
    assert "not proved" in belief.note


def test_probabilistic_dp_holds_with_its_own_probability() -> None:
    belief = explain(ProbabilisticDP(math.log(3), 1e-6), 0.5)
    assert belief.posterior is not None
    assert belief.posterior.upper == pytest.approx(0.75)
    assert belief.holds_with == pytest.approx(1 - 1e-6, abs=1e-15)
    assert not belief.survives_post_processing
    survives = explain(ProbabilisticDP(math.log(3), 1e-6), 0.5, strength="generic")
    assert survives.survives_post_processing
    assert survives.ratio.upper > belief.ratio.upper


def test_confidence_is_said_in_people_and_at_three_levels() -> None:
    belief = explain(ApproxDP(0.1, 1e-7), 0.5, people=1000)
    assert belief.beyond is not None
    assert (belief.beyond.people, belief.beyond.up_to) == (1000, 10.0)
    assert [row.confidence for row in belief.at_confidence] == [0.99, 0.9999, 0.999999]
    values = [row.posterior for row in belief.at_confidence]
    assert values == sorted(values)  # type: ignore[type-var]
    rare = explain(ApproxDP(0.1, 1e-5), 0.5).at_confidence[-1].to_dict()
    assert rare["unbounded"] is True
    assert rare["ratio"] is None
    assert rare["posterior"] == 1.0


def test_pure_dp_is_for_every_output() -> None:
    belief = explain(PureDP(0.5), 0.3)
    assert belief.holds_with == 1.0
    assert belief.beyond is None
    assert belief.at_confidence == ()


def test_one_point_of_a_curve() -> None:
    loose = explain(Gaussian(5.0), 0.5, delta=1e-6)
    best = explain(Gaussian(5.0), 0.5)
    assert loose.ratio.upper > best.ratio.upper
    assert explain(ZCDP(0.02), 0.5, delta=1e-6).ratio.upper > explain(ZCDP(0.02), 0.5).ratio.upper
    paper = explain(ZCDP(0.07), 0.5, method="paper")
    assert paper.posterior is not None
    assert paper.posterior.upper == pytest.approx(0.830, abs=5e-4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"guarantee": ApproxDP(1.0, 0.02)}, "must exceed delta"),
        ({"guarantee": ApproxDP(1.0, 1e-6), "confidence": 1.0}, "strictly between"),
        ({"guarantee": PureDP(1.0), "sided": "both"}, "sided is"),
        ({"guarantee": Gaussian(1.0), "strength": "best"}, "strength is"),
        ({"guarantee": PureDP(1.0), "method": "paper"}, "needs a zCDP"),
        ({"guarantee": ZCDP(1.0), "method": "other"}, "method is"),
        ({"guarantee": object()}, "cannot be explained"),
        ({"guarantee": PureDP(1.0).to_dict()}, r"explain\(made, 0.3\)"),
        ({"guarantee": PureDP(1.0), "people": 0}, "people is"),
        ({"guarantee": PureDP(1.0), "prior": 0.0}, "rules it out"),
        ({"guarantee": PureDP(1.0), "prior": math.nan}, "must be a number"),
        ({"guarantee": PrivacyCurve("flat", lambda e: 0.5)}, "never falls below"),
    ],
)
def test_refusals_are_one_sentence(arguments: dict[str, object], words: str) -> None:
    with pytest.raises((InputError, GuaranteeError), match=words) as caught:
        explain(**arguments)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_local_and_replace_speak_of_values() -> None:
    belief = explain(ApproxDP(0.5, 1e-6, adjacency="replace"), Prior(1.0, 0.3))
    assert "which of two values" in belief.assumptions.adversary
    assert belief.posterior is not None
    same = explain(ApproxDP(0.5, 1e-6), 0.3)
    assert same.posterior is not None
    assert belief.posterior.upper == pytest.approx(same.posterior.upper)


@pytest.mark.slow
def test_dp_sgd_is_read_on_the_curve_level() -> None:
    events = import_module("dp_accounting.dp_event")
    sampled = events.PoissonSampledDpEvent(0.01, events.GaussianDpEvent(1.0))
    belief = explain(events.SelfComposedDpEvent(sampled, 200), 0.5)
    assert belief.strength == "curve"
    assert belief.posterior is not None
    assert 0.5 < belief.posterior.upper < 0.95
    assert belief.exact is None


def test_events_of_dp_accounting_are_read() -> None:
    accounting = import_module("dp_accounting")
    event = accounting.SelfComposedDpEvent(accounting.GaussianDpEvent(5.0), 3)
    ours = explain(loss_of((Gaussian(5.0), 3)), 0.5)
    assert explain(event, 0.5).ratio.upper == pytest.approx(ours.ratio.upper, rel=1e-9)
    with pytest.raises(GuaranteeError) as caught:
        explain(accounting.UnsupportedDpEvent(), 0.5)
    assert caught.value.exit_code == 2


def test_priors_whose_product_vanishes_are_refused() -> None:
    with pytest.raises(InputError, match="together too small"):
        Prior(1e-200, 1e-200)
    assert explain(PureDP(1.0), Prior(1e-300)).posterior is not None


class TestWithAPromise:
    """What `choose` gave back carries a promise; what is left out is read from it."""

    @pytest.mark.parametrize(
        ("more", "about", "prior"),
        [
            (more, about, prior)
            for about, prior in (("value", Prior(1.0, 0.05)), ("membership", Prior(0.05)))
            for more in (
                {},
                {"related": 4},
                {"odds": 1.5, "chain": True},
                {"delta": 1e-6, "confidence": 0.999},
                {"unit": "household", "sided": "one"},
            )
        ]
        + [({"adjacency": "replace"}, "value", Prior(1.0, 0.05))],
    )
    def test_a_number_is_the_prior_that_it_is_about(
        self, more: dict[str, Any], about: str, prior: Prior
    ) -> None:
        own = "q" if about == "value" else "p"
        choice = choose({"posterior": 0.12, own: 0.05, "about": about} | more)
        belief = explain(choice, 0.05)
        assert belief.prior == prior
        assert belief.posterior is not None
        assert belief.posterior.upper == pytest.approx(0.12)
        assert belief.posterior.upper >= choice.posterior_at(prior) * (1 - 1e-12)
        assert belief.holds_with == more.get("confidence", 1)
        assert belief.unit == str(choice.promise.unit)
        assert belief.assumptions.dependent == ("related" in more or "odds" in more)
        assert belief.note is None
        assert join(choice).unit == belief.unit
        assert join(choice).holds_with == belief.holds_with

    def test_several_numbers_too(self) -> None:
        choice = choose(posterior=0.12, q=0.05, about="value")
        found = explain(choice, [0.05, Prior(0.05), 0.1])
        assert [one.prior for one in found] == [Prior(1.0, 0.05), Prior(0.05), Prior(1.0, 0.1)]

    def test_about_both_it_is_being_in_and_the_answer_says_so(self) -> None:
        belief = explain(choose(ratio=3), 0.05)
        assert belief.prior == Prior(0.05)
        assert "with the value known (q = 1)" in (belief.note or "")
        assert "with the value known" in belief._repr_html_()
        assert explain(choose(ratio=3), Prior(0.05)).note is None
        several = explain(choose(ratio=3), [0.05, Prior(0.05)])
        assert [one.note for one in several] == [belief.note, None]
        assert several.to_columns()["note"] == [belief.note, None]

    @pytest.mark.parametrize(
        "more",
        [
            *({}, {"delta": 1e-6}, {"delta": 1e-4, "sided": "one"}, {"related": 3}),
            *({"odds": 1.5, "chain": True}, {"related": 2, "delta": 1e-6}),
        ],
    )
    @pytest.mark.parametrize("about", ["value", "both", "membership"])
    def test_without_a_prior_all_that_it_is_about_counts(
        self, about: str, more: dict[str, Any]
    ) -> None:
        """The bounds over all priors were those of being in, whatever the promise is about."""
        choice = choose({"ratio": 3} | ({} if about == "both" else {"about": about}) | more)
        belief = explain(choice)
        assert belief.note is None
        most = math.tanh(math.log(3) / 4)
        if about == "both" and {"related", "delta"} <= set(more):  # falls bind
            assert belief.ratio.upper < 3
            assert -most < belief.difference.lower < -most / 2
        else:
            assert belief.ratio.upper == pytest.approx(3, rel=0.02)
            assert belief.difference.upper == pytest.approx(most, rel=0.02)
        assert "all priors, q=1" in repr(belief) or about != "membership"
        ps = (1.0,) if about == "value" else (1e-6, 0.2, 0.5, 0.99, 1.0)
        qs = (1.0,) if about == "membership" else (1e-6, 0.2, 0.37, 0.5)
        for p, q in product(ps, qs):
            one = explain(choice, Prior(p, q))
            assert one.ratio.upper <= belief.ratio.upper * (1 + 1e-9)
            assert one.difference.upper <= belief.difference.upper * (1 + 1e-9)
            if "delta" not in more:
                assert one.ratio.lower >= belief.ratio.lower * (1 - 1e-9)
                assert one.difference.lower >= belief.difference.lower * (1 + 1e-9)

    def test_without_a_prior_under_replace_one_step_is_the_change_of_a_value(self) -> None:
        belief = explain(choose(ratio=3, adjacency="replace"))
        assert belief.ratio.upper == pytest.approx(3)
        assert belief.note is None

    def test_the_words_are_about_it_too(self) -> None:
        assert "sensitive" in sentence(explain(choose(ratio=3)))
        assert "sensitive" not in sentence(explain(choose(ratio=3, about="membership")))

    @pytest.mark.parametrize(
        ("fixed", "prior", "told"),
        [
            ({"p": 0.5}, Prior(0.5, 0.3), "has p = 0.5"),
            ({"q": 0.2}, Prior(0.3, 0.2), "has q = 0.2"),
            ({}, Prior(0.3), "leaves p and q open"),
        ],
    )
    def test_a_number_is_what_the_promise_leaves_open(
        self, fixed: dict[str, Any], prior: Prior, told: str
    ) -> None:
        choice = choose(posterior=0.25, unless_ratio=3, **fixed)
        belief = explain(choice, 0.3)
        assert belief.prior == prior
        assert told in (belief.note or "")
        assert explain(choice, [0.3])[0] == belief

    def test_related_units_fall_and_rise_at_once(self) -> None:
        """The bound was narrower than the promise that it was chosen for."""
        keys = {"posterior": 0.12, "p": 0.05, "about": "membership", "related": 2}
        belief = explain(choose(keys | {"delta": 1e-4}), 0.05)
        assert belief.posterior is not None
        assert belief.posterior.upper == pytest.approx(0.12, rel=1e-9)
        assert belief.holds_with == 0.99

    def test_a_pair_is_no_belief_in_staying_out(self) -> None:
        for wrong in (Prior(0.5, 0.1), "0.5", None, [Prior(0.5)]):
            with pytest.raises(InputError, match="between 0 and 1"):
                join(choose(ratio=3), wrong)  # type: ignore[arg-type]


def test_without_a_promise_the_answer_says_that_it_is_about_being_in() -> None:
    for subject in (PureDP(0.5), ApproxDP(0.5, 1e-6), ZCDP(0.1), Gaussian(5.0)):
        belief = explain(subject)
        assert "about being in the data" in (belief.note or "")
        assert "all priors, q=1" in repr(belief)
    assert explain(PureDP(0.5), 0.3).note is None
    assert explain(PureDP(0.5, adjacency="replace")).note is None
    assert explain(PureDP(0.5), counts_sensitive_only=True).note is None
