"""One promise, the same in choose, plan and horizon, whatever its shape, priors and surety.

Oracles: closed forms of formulas.md, each verb against the others, and mpmath for on average.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from typing import Any

import mpmath as mp
import pytest

import discreet
from discreet.budgets import choose
from discreet.errors import InputError, ToleranceError
from discreet.guarantees import ZCDP, ApproxDP, PureDP
from discreet.laws import Gaussian, Geometric, RandomizedResponse
from discreet.promises import (
    AllOf,
    Box,
    Counterfactual,
    Difference,
    Formula,
    Function,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Promise,
    Ratio,
    Surety,
    Table,
    Tolerance,
    Unit,
    priors,
)
from discreet.series import horizon, plan
from soaking import thinned

BOXES = {
    "membership": Box(0, 1, 1, 1),
    "membership, at p": Box(0.05, 0.05, 1, 1),
    "value": Box(1, 1, 0, 1),
    "value, at q": Box(1, 1, 0.05, 0.05),
    "value, some": Box(1, 1, 0.01, 0.3),
    "both": Box(),
    "both, at p": Box(0.05, 0.05, 0, 1),
    "both, at q": Box(0, 1, 0.3, 0.3),
    "both, at one": Box(0.4, 0.4, 0.3, 0.3),
    "both, some": Box(0.01, 0.5, 0.1, 0.9),
}


def falling(p: float, q: float) -> float:
    return 5 - 2 * p - q


def shapes(box: Box) -> dict[str, Tolerance]:
    """Every shape over one box of priors."""
    highest = box.p1 * box.q1
    corners = sorted({(p, q) for p in (box.p0, box.p1) for q in (box.q0, box.q1)})
    found: dict[str, Tolerance] = {
        "ratio": Ratio(3, box),
        "unless": PosteriorUnlessRatio(0.25, 3, box),
        "difference": Difference(0.2, box),
        "counterfactual": Counterfactual(9),
        "sensitive alone": Counterfactual(9, True),
        "formula": Formula("max(0.3/(p*q), 3 - p)", box),
        "table": Table(tuple((*at, 3.0 + n) for n, at in enumerate(corners)), box),
        "all": AllOf((Ratio(3, box), Difference(0.1, box))),
        "groups": Groups((("patients", Ratio(3, box)), ("staff", Ratio(2, box)))),
        "function": Function(falling, box, "decreasing", "decreasing"),
    }
    if highest < 1:
        found["posterior"] = Posterior(highest + (1 - highest) / 4, box)
    return found


def agree(promise: Promise, delta: float) -> None:
    keys: dict[str, Any] = {} if delta == 0 else {"delta_each": delta}
    try:
        chosen = choose(promise, delta=delta)
    except ToleranceError as refused:
        assert "no epsilon of zero or more" in str(refused)
        with pytest.raises(ToleranceError, match="delta alone passes it"):
            plan(promise, 1, **keys)
        return
    if math.isinf(chosen.epsilon):
        with pytest.raises(ToleranceError, match="every change of belief"):
            plan(promise, 1, **keys)
        return
    planned = plan(promise, 1, **keys)
    assert planned.budgets[0] == pytest.approx(chosen.epsilon, rel=1e-9)
    assert planned.per_release["delta"] == delta
    assert planned.promise == chosen.promise
    # and a horizon sees one release keep it, and a little more of it not
    where = promise.adjacency

    def each(epsilon: float) -> PureDP | ApproxDP:
        if delta == 0:
            return PureDP(epsilon, adjacency=where)
        return ApproxDP(epsilon, delta, adjacency=where)

    assert horizon(each(chosen.epsilon), promise, upto=1).releases is None
    assert horizon(each(planned.budgets[0]), promise, upto=1).releases is None
    beyond = chosen.certificate.upper * (1 + 1e-6) + 1e-9
    assert horizon(each(beyond), promise, upto=1).releases == 1


SHAPES = [*shapes(BOXES["both"]), "posterior"]
SIDES = ["one", "two"]


@pytest.mark.parametrize(
    ("shape", "priors_", "delta", "sided"),
    thinned(product(SHAPES, BOXES, [0.0, 1e-6, 1e-4, 1e-3], SIDES), 7),
)
def test_choose_is_a_plan_of_one_release(
    shape: str, priors_: str, delta: float, sided: Any
) -> None:
    tolerance = shapes(BOXES[priors_]).get(shape)
    if tolerance is not None:
        agree(Promise(tolerance, sided=sided), delta)
        if delta > 0 and sided == "one":
            agree(Promise(tolerance, Surety("confidence", 0.9), sided, related=2), delta)


@pytest.mark.parametrize(
    ("shape", "adjacency", "priors_", "delta", "sided"),
    thinned(
        product(
            SHAPES,
            ["replace", "local"],
            ["value", "value, at q", "value, some"],
            [0.0, 1e-6, 1e-3],
            SIDES,
        ),
        5,
    ),
)
def test_choose_is_a_plan_of_one_release_where_values_change(
    shape: str, adjacency: Any, priors_: str, delta: float, sided: Any
) -> None:
    tolerance = shapes(BOXES[priors_]).get(shape)
    if tolerance is not None:
        agree(Promise(tolerance, None, sided, adjacency), delta)


def test_the_value_is_known_only_where_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.cli import main

    def answer(*line: str) -> dict[str, Any]:
        with pytest.raises(SystemExit) as caught:
            main([*line, "--json"])
        assert not caught.value.code
        out: dict[str, Any] = json.loads(capsys.readouterr().out)
        return out

    half = math.log(3) / 2
    chosen = answer("choose", "--ratio", "3", "--delta", "1e-6")["epsilon"]
    assert 0.99 * half < chosen <= half
    planned = answer("plan", "--releases", "1", "--ratio", "3", "--delta-each", "1e-6")
    assert planned["per_release"]["epsilon"] == pytest.approx(chosen, rel=1e-9)
    known = answer("choose", "--ratio", "3", "--delta", "1e-6", "--about", "membership")["epsilon"]
    assert known == pytest.approx(1.0984, abs=1e-4)
    one = answer("plan", "--releases", "1", "--ratio", "3", "--about", "membership",
                 "--delta-each", "1e-6")  # fmt: skip
    assert one["per_release"]["epsilon"] == pytest.approx(known, rel=1e-9)
    assert (
        answer("plan", "--releases", "1", "--ratio", "3")["per_release"]["epsilon"]
        == (answer("choose", "--ratio", "3")["epsilon"])
    )


class TestOnAverage:
    """5 % → 12 % for a value with twenty answers or more (formulas.md §8)."""

    KEYS: dict[str, Any] = {"posterior": 0.12, "q": 0.05, "about": "value"}  # noqa: RUF012

    def test_the_values_of_the_paper(self) -> None:
        noise: dict[str, Any] = {"mechanism": "gaussian"} | self.KEYS
        average = plan(1, on_average=True, **noise)
        assert average.budgets[0] == pytest.approx(0.1104, abs=5e-5)
        # Φ(Φ⁻¹(.05) + μ) = .12
        mu = mp.findroot(lambda m: mp.ncdf(mp.mpf("-1.6448536269514722") + m) - 0.12, 0.4)
        assert average.budgets[0] == pytest.approx(float(mu**2 / 2), rel=1e-9)
        assert average.budgets[0] <= mu**2 / 2
        sure: dict[str, Any] = {"confidence": 0.99, "sided": "one"} | noise
        assert plan(1, nonnegative=True, **sure).budgets[0] == pytest.approx(0.0285, abs=5e-5)
        assert plan(1, **sure).budgets[0] == pytest.approx(0.0143, abs=5e-5)
        known = plan(
            1, posterior=0.12, p=0.05, about="membership", confidence=0.99, sided="one",
            mechanism="gaussian",
        )  # fmt: skip
        assert known.budgets[0] == pytest.approx(0.057, abs=5e-4)

    def test_pure(self) -> None:
        """min(e^ε κ, 1 − e^{-ε}(1 − κ)), and only one step counts."""
        found = choose(on_average=True, **self.KEYS)
        assert found.epsilon == pytest.approx(math.log(0.12 / 0.05), rel=1e-12)
        assert found.epsilon * 12 * 0.05 <= math.log(2.4) * 0.6
        every = choose(**self.KEYS)
        assert every.epsilon == pytest.approx(math.log(0.12 / 0.88 * 19) / 2)
        assert {one.reading: one.epsilon for one in every.readings} == {
            "every_output": every.epsilon,
            "on_average": found.epsilon,
        }
        assert plan(12, on_average=True, **self.KEYS).budgets[0] > found.epsilon / 12

    def test_a_horizon(self) -> None:
        found = horizon(Gaussian.of_rho(0.01), on_average=True, **self.KEYS)
        assert found.releases == 12  # .1104 holds eleven hundredths
        assert found.series[-2].posterior <= 0.12 < found.series[-1].posterior
        for step in found.series:
            truth = mp.ncdf(mp.mpf("-1.6448536269514722") + mp.sqrt(2 * step.k * mp.mpf("0.01")))
            assert truth * (1 - 1e-12) <= step.posterior <= truth * (1 + 1e-9)
        several = horizon(
            Gaussian.of_rho(0.01),
            AllOf((Posterior(0.12, Box(1, 1, 0.05, 0.05)), Posterior(0.6, Box(1, 1, 0.5, 0.5)))),
            on_average=True,
        )
        assert several.releases is not None
        assert several.releases < 12
        assert several.series[-1].posterior is None
        assert several.series[-1].difference > 0.1

    @pytest.mark.parametrize(
        ("keys", "says"),
        [
            ({"posterior": 0.3, "q": 0.05, "about": "value", "answers": 2}, "of 2 answers"),
            ({"posterior": 0.6, "q": 0.49, "about": "value", "answers": 2}, "at least 0.5"),
            ({"posterior": 0.12, "q": 0.05, "about": "value", "answers": 10}, "at least 0.1"),
            ({"posterior": 0.12, "p": 0.05, "about": "membership"}, "about: value"),
            ({"posterior": 0.12, "prior": 0.05}, "about: value"),
            ({"posterior": 0.12, "p": 0.5, "q": 0.05}, "about: value"),
            ({"ratio": 2, "about": "value"}, "Fix it with q"),
            ({"ratio": 2}, "about: value"),
            ({"counterfactual": 3}, "about: value"),
        ],
        ids=str,
    )
    def test_refusals(self, keys: dict[str, Any], says: str) -> None:
        for verb in (choose, lambda **k: plan(3, mechanism="gaussian", **k)):
            with pytest.raises(ToleranceError, match=says) as caught:
                verb(on_average=True, **keys)  # type: ignore[operator]
            assert caught.value.exit_code == 2

    def test_a_yes_no_question_at_a_half_or_more(self) -> None:
        keys: dict[str, Any] = {"posterior": 0.75, "about": "value", "on_average": True}
        found = choose(q=0.5, answers=2, **keys)
        assert found.epsilon == pytest.approx(math.log(2))  # 1 − e^{-ε}/2, which is the smaller
        assert choose(q=0.05, answers=20, **(keys | {"posterior": 0.12})).epsilon > 0


PROMISES: dict[str, Promise] = {
    "membership": Promise(Difference(0.2, priors(q=1))),
    "membership at a prior": Promise(Posterior(0.8, priors(p=0.5, q=1))),
    "value": Promise(Ratio(3, priors(p=1))),
    "value at a prior": Promise(Posterior(0.12, priors(p=1, q=0.05))),
    "both": Promise(Ratio(3)),
    "profile": Promise(PosteriorUnlessRatio(0.25, 3)),
    "formula": Promise(Formula("max(0.25/(p*q), 3)")),
    "box": Promise(Difference(0.1, Box(0.1, 0.5, 0.2, 0.7))),
    "groups": Promise(Groups((("patients", Ratio(3)), ("staff", Ratio(2, priors(q=1)))))),
    "counterfactual": Promise(Counterfactual(9)),
    "one-sided": Promise(Ratio(3), sided="one"),
    "related": Promise(Ratio(9), related=2),
    "replace": Promise(Ratio(3), adjacency="replace"),  # type: ignore[arg-type]
    "local": Promise(Difference(0.2), adjacency="local"),  # type: ignore[arg-type]
    "on average": Promise(Posterior(0.12, priors(p=1, q=0.05)), Surety("on_average")),
}
KINDS = ["pure", "pure, sure", "approximate", "zcdp", "gaussian", "geometric", "local"]


def settled(promise: Promise, kind: str) -> tuple[Promise, dict[str, Any]] | None:
    """The promise as sure as the kind allows, and what a plan of that kind needs."""
    from dataclasses import replace

    surety = Surety("confidence", 0.95)
    sure = promise if promise.on_average else replace(promise, surety=surety)
    local = promise.adjacency.value == "local"
    if kind == "local":
        return (sure, {"mechanism": "randomized-response"}) if local else None
    if local and kind in ("gaussian", "geometric"):
        return None
    return {
        "pure": (promise, {}),
        "pure, sure": (sure, {}),
        "approximate": (sure, {"delta_each": 1e-5}),
        "zcdp": (sure, {"budget": "rho"}),
        "gaussian": (sure, {"mechanism": "gaussian"}),
        "geometric": (sure, {"mechanism": "geometric"}),
    }[kind]


def one_release(kind: str, budget: float, promise: Promise) -> Any:
    where = promise.adjacency
    return {
        "pure": lambda: PureDP(budget, adjacency=where),
        "pure, sure": lambda: PureDP(budget, adjacency=where),
        "approximate": lambda: ApproxDP(budget, 1e-5, adjacency=where),
        "zcdp": lambda: ZCDP(budget, adjacency=where),
        "gaussian": lambda: Gaussian.of_rho(budget),
        "geometric": lambda: Geometric(budget),
        "local": lambda: RandomizedResponse(budget),
    }[kind]()


@pytest.mark.parametrize(("name", "kind"), thinned(product(PROMISES, KINDS), 2))
def test_a_horizon_is_where_plans_end(name: str, kind: str) -> None:
    """A plan's budget is kept for its k releases; of a little more, k − 1 fit and k do not."""
    asked = settled(PROMISES[name], kind)
    if asked is None:
        return
    promise, how = asked
    k = 7
    planned = plan(promise, k, **how)
    kept = one_release(kind, planned.budgets[0] * (1 - 1e-9), promise)
    assert horizon(kept, promise, upto=k).releases is None
    fewer = plan(promise, k - 1, **how)
    more = planned.budgets[0] * (1 + 1e-6)
    assert more < fewer.budgets[0]
    passed = horizon(one_release(kind, more, promise), promise)
    assert passed.releases == k
    assert passed.series[-1].k == k
    glance = horizon(one_release(kind, more, promise), promise, most=4)
    assert glance.releases == k
    assert passed.promise == planned.promise
    out = json.loads(json.dumps(passed.to_dict(), allow_nan=False))
    assert out["promise"]["sentence"] == planned.promise.sentence()
    differences = [step.difference for step in passed.series]
    assert differences == sorted(differences)


class TestSpentBefore:
    def test_passed_already(self) -> None:
        found = horizon(PureDP(0.05), 0.5, posterior_limit=0.7, spent=PureDP(0.9))
        assert found.releases == 0
        assert [step.k for step in found.series] == [0]
        assert found.series[0].posterior > 0.7
        assert (
            horizon(PureDP(0.05), 0.5, posterior_limit=0.7, spent=PureDP(0.9), most=5).releases == 0
        )
        just = math.log(7 / 3)
        assert (
            horizon(PureDP(0.05), 0.5, posterior_limit=0.7, spent=PureDP(just - 0.07)).releases == 2
        )

    def test_the_command_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        from discreet.cli import main

        line = "horizon --epsilon .05 --prior .5 --posterior .7 --spent .9"
        with pytest.raises(SystemExit) as caught:
            main([*line.split(), "--json"])
        assert not caught.value.code
        assert json.loads(capsys.readouterr().out)["releases"] == 0
        with pytest.raises(SystemExit):
            main(line.split())
        assert "passed already" in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["value", "both", "replace", "local", "groups", "related"])
    def test_what_was_spent_counts_as_releases_do(self, name: str) -> None:
        promise = PROMISES[name]
        where = promise.adjacency
        whole = choose(promise).epsilon
        each = PureDP(whole / 10 * (1 - 1e-9), adjacency=where)
        assert horizon(each, promise).releases == 11
        before = PureDP(3 * each.epsilon, adjacency=where)
        assert horizon(each, promise, spent=before).releases == 8
        assert horizon(each, promise, spent=PureDP(whole * 1.01, adjacency=where)).releases == 0


class TestPython:
    def test_plan_takes_a_choice(self) -> None:
        choice = choose(ratio=3)
        found = plan(12, choice)
        assert found == plan(choice, releases=12) == plan(choice, 12) == plan(12, ratio=3)
        assert found.promise == choice.promise
        assert found.budgets[0] == pytest.approx(choice.epsilon / 12)
        assert sum(found.budgets) <= choice.epsilon
        with pytest.raises(InputError, match="every output"):
            plan(choice, 12, mechanism="gaussian")
        sure = plan(choice, 12, mechanism="gaussian", confidence=0.99)
        assert sure.promise.tolerance == choice.promise.tolerance
        with pytest.raises(InputError, match="already says what may be learned"):
            plan(choice, 12, ratio=2)
        with pytest.raises(InputError, match="releases is"):
            plan(ratio=3, releases="12")
        with pytest.raises(InputError, match="given twice, as 5 and as 12"):
            plan(5, releases=12)

    def test_horizon_and_explain_take_a_choice(self) -> None:
        choice = choose(ratio=3)
        assert horizon(PureDP(choice.epsilon / 10 * (1 - 1e-9)), choice).releases == 11
        belief = discreet.explain(choice, 0.3)
        assert replace(belief, note=None) == discreet.explain(choice.guarantee, 0.3)
        # q = 1: expit(logit .3 + ½ log 3)
        odds = 3 / 7 * math.sqrt(3)
        assert belief.posterior.upper == pytest.approx(odds / (1 + odds))
        loose = choose(ratio=3, delta=1e-6)
        assert discreet.explain(loose, 0.3).holds_with == 0.99
        known = choose(ratio=3, about="membership", delta=1e-6)
        assert discreet.explain(known, 1e-9).ratio.upper == pytest.approx(3, rel=1e-6)

    def test_what_a_function_declares_is_said_beside_it(self) -> None:
        def tolerated(p: float, q: float) -> float:
            return max(0.25 / (p * q), 3)

        advice = choose(tolerated).certificate.reason or ""
        ways = {"monotone_p": "decreasing", "monotone_q": "decreasing"}
        assert all(f'{key}="{way}"' in advice for key, way in ways.items())
        assert choose(tolerated, **ways).certificate.certified
        assert plan(tolerated, releases=2, **ways).promise.tolerance.monotone() == (
            "decreasing",
            "decreasing",
        )
        with pytest.raises(InputError, match="falling"):
            choose(tolerated, monotone_p="falling")
        with pytest.raises(ToleranceError, match="no key 'monotone_p'"):
            choose(ratio=3, **ways)

    def test_a_function_is_looked_at_and_not_proved(self) -> None:
        found = choose(lambda p, q: 3.0)
        assert not found.certificate.certified
        assert found.certificate.method == "looked for, not proved"
        assert "nothing is known about the function" in (found.certificate.reason or "")
        assert any("Not certified" in warning for warning in found.warnings)
        assert found.epsilon == pytest.approx(math.log(3) / 2, rel=1e-5)
        declared = choose(Function(falling, Box(), "decreasing", "decreasing"))
        assert declared.certificate.certified
        with_delta = choose(lambda p, q: 3.0, delta=1e-6)
        assert not with_delta.certificate.certified
        assert json.dumps(found.to_dict(), allow_nan=False)
        assert plan(2, lambda p, q: 3.0).budgets[0] == pytest.approx(found.epsilon / 2)
        mixed = choose(Ratio(2) & Function(lambda p, q: 3.0))
        assert not mixed.certificate.certified

    def test_keys(self) -> None:
        assert choose(posterior=0.12, p=0.05, about="membership") == choose(
            {"posterior": 0.12, "p": 0.05, "q": 1}
        )
        assert choose(posterior=0.12, prior=0.05).epsilon == pytest.approx(
            math.log(0.12 / 0.88 * 19), rel=1e-12
        )
        assert choose(Ratio(3), confidence=0.9, delta=1e-6).promise.confidence == 0.9
        assert choose({"ratio": 3, "delta": 1e-6}).guarantee.delta == 1e-6  # type: ignore[union-attr]
        assert plan({"ratio": 3, "delta": 1e-6}, 2).per_release["delta"] == 1e-6
        assert choose("3") == choose(profile="3") == choose(Formula("3"))
        with pytest.raises(InputError, match="is not a promise"):
            choose(3)
        with pytest.raises(InputError, match="no key 'rato'"):
            choose(rato=3)
        with pytest.raises(InputError, match="no key"):
            choose(Ratio(3), rato=3)

    def test_the_unit_travels(self) -> None:
        unit = Unit.of("record", "one flight")
        choice = choose(ratio=3, unit="record", unit_name="one flight")
        assert choice.promise.unit == unit
        found = plan(choice, 12, period="month")
        assert "one flight" in found.promise.sentence()
        assert found.accumulation.unit == "one flight"
        assert found.assumptions.unit.startswith("one flight")
        assert horizon(PureDP(0.1), choice).assumptions.unit.startswith("one flight")


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"growth": 1.1},
        {"delta_each": 1e-8},
        {"budget": "rho"},
        {"mechanism": "gaussian"},
        {"mechanism": "geometric", "confidence": 0.99},
        {"odds": 1.5, "chain": True},
        {"related": 2, "budget": "rho"},
    ],
)
@pytest.mark.parametrize("about", ["membership", "value"])
def test_a_plan_is_explained_with_its_promise(about: str, how: dict[str, Any]) -> None:
    own = "q" if about == "value" else "p"
    year = plan({"posterior": 0.5, own: 0.3, "about": about}, releases=12, **how)
    belief = discreet.explain(year, 0.3)
    assert getattr(belief.prior, own) == 0.3
    assert belief.posterior is not None
    assert belief.posterior.upper == pytest.approx(0.5, rel=0.02)
    assert belief.posterior.upper >= 0.5 * (1 - 1e-6)
    assert belief.holds_with == year.holds_with
    joining = discreet.join(year)
    assert joining.holds_with == year.holds_with
    assert joining.odds >= (0.5 / 0.5) / (0.3 / 0.7) * (0.9 if about == "value" else 1)
    json.dumps(year.to_dict())


@pytest.mark.parametrize("keys", [{"posterior": 0.2, "q": 0.1}, {"ratio": 3}])
def test_the_total_of_a_plan_about_a_value_is_what_is_charged(keys: dict[str, Any]) -> None:
    """The loss of two steps was told as the total: an account with it as its cap would break it."""
    found = plan(keys | {"about": "value", "confidence": 0.99}, 4)
    assert found.total["epsilon"] == pytest.approx(sum(found.budgets), rel=1e-9)
    noisy = plan(keys | {"about": "value", "confidence": 0.99}, 4, mechanism="gaussian")
    assert noisy.total["rho"] == pytest.approx(sum(noisy.budgets), rel=1e-9)
    assert noisy.total["epsilon"] is None
