"""What `choose` does with what it is given: promises, adjacencies, combinations, refusals."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import mpmath as mp
import pytest

from discreet import Prior, choose
from discreet.beliefs.one_prior import range_for_posterior
from discreet.budgets.alternatives import lee_clifton_rule
from discreet.budgets.finding import Search
from discreet.budgets.limits import sought
from discreet.errors import InputError, ToleranceError
from discreet.guarantees import Adjacency, ApproxDP, PureDP
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
    Ratio,
    Table,
    Tolerance,
    priors,
)
from discreet.promises.box import EVERY_PRIOR


def inverse(loss: float, delta: float, confidence: float, sided: str) -> float:
    """The ε whose ε' is `loss`: KSZ Theorem 3.9 turned round, at forty digits."""
    with mp.workdps(40):
        failure = 1 - mp.mpf(confidence)
        d, e = mp.mpf(delta), mp.exp(mp.mpf(loss))
        left = (failure - d) * e - (d if sided == "two" else 0)
        return float(mp.log(left / failure))


class TestWithDelta:
    @pytest.mark.parametrize("sided", ["one", "two"])
    @pytest.mark.parametrize("confidence", [0.9, 0.999])
    def test_the_budget_is_the_inverse_of_theorem_3_9(self, sided: str, confidence: float) -> None:
        known = Ratio(3, priors(q=1))
        choice = choose(known, delta=1e-5, confidence=confidence, sided=sided)
        pure = choose(known)
        truth = inverse(pure.epsilon, 1e-5, confidence, sided)
        assert choice.epsilon == pytest.approx(truth, rel=1e-9)
        assert choice.epsilon <= truth * (1 + 1e-15)
        assert choice.guarantee == ApproxDP(choice.epsilon, 1e-5)
        assert choice.confidence == confidence
        certificate = choice.certificate
        assert certificate.lower == choice.epsilon < certificate.upper
        assert certificate.upper == pytest.approx(choice.epsilon, rel=1e-9)
        assert certificate.method == (
            "closed form: K&R (14), (25); then KSZ Theorem 3.9 for one step"
        )

    def test_every_prior_is_spoken_of(self) -> None:
        """A δ makes little of the budget go away, and never doubles it by leaving out q < 1."""
        assert choose(Ratio(3), delta=1e-9).epsilon == pytest.approx(0.5 * math.log(3), rel=1e-5)
        assert choose(Ratio(3), delta=1e-9).epsilon < choose(Ratio(3)).epsilon
        known = choose(Ratio(3, priors(q=1)), delta=1e-9)
        assert known.epsilon == pytest.approx(math.log(3), rel=1e-5)

    def test_a_mapping_carries_its_own_promise(self) -> None:
        said = {"ratio": 3, "delta": 1e-5, "confidence": 0.95, "sided": "one"}
        stated = choose(Ratio(3), delta=1e-5, confidence=0.95, sided="one")
        assert choose(said).to_dict() == stated.to_dict()
        # What the call says changes it, and what it leaves open is taken from the call.
        other = choose(said, confidence=0.5, sided="two").promise
        assert (other.confidence, other.sided) == (0.5, "two")
        assert choose({"ratio": 3}, delta=1e-5, confidence=0.95, sided="one").to_dict() == (
            stated.to_dict()
        )
        tighter = choose(said, delta=1e-7)
        assert tighter.guarantee.to_dict()["delta"] == 1e-7

    @pytest.mark.parametrize("delta", [True, "0.1", -1e-9, 1.0, 2, math.nan])
    def test_a_delta_is_a_probability_below_one(self, delta: Any) -> None:
        with pytest.raises(InputError, match=r"delta is .*probability below 1") as refused:
            choose(Ratio(3), delta=delta)
        assert repr(delta) in str(refused.value)

    def test_none_at_all_is_pure(self) -> None:
        choice = choose(Ratio(3), delta=0)
        assert choice.guarantee == PureDP(choice.epsilon)
        assert choice.confidence is None


class TestAdjacency:
    @pytest.mark.parametrize("adjacency", ["replace", "local"])
    def test_twice_the_budget_at_p_one(self, adjacency: str) -> None:
        for tolerance in (Formula("max(0.25/(p*q), 3)"), PosteriorUnlessRatio(0.25, 3), Ratio(2)):
            choice = choose(tolerance, adjacency=adjacency)
            known_in = choose(replace(tolerance, box=Box(1, 1, 0, 1)))
            assert choice.epsilon == pytest.approx(2 * known_in.epsilon)
            assert choice.certificate.lower == 2 * known_in.certificate.lower
            assert choice.certificate.upper == 2 * known_in.certificate.upper
            assert choice.binding.p == 1
            assert choice.guarantee.adjacency is Adjacency.of(adjacency)

    @pytest.mark.parametrize("adjacency", ["replace", "local"])
    def test_what_it_does_not_protect_is_refused(self, adjacency: str) -> None:
        with pytest.raises(ToleranceError) as refused:
            choose(Posterior(0.5, Box(0.1, 0.25, 1, 1)), adjacency=adjacency)
        said = str(refused.value)
        assert "p is at most 0.25" in said
        assert repr(adjacency) in said
        assert "as q" in said

    @pytest.mark.parametrize("only", [False, True])
    @pytest.mark.parametrize("adjacency", ["replace", "local"])
    def test_a_counterfactual_is_one_step_there(self, adjacency: str, only: bool) -> None:
        """What is compared is one value with another, which is the one step that is protected."""
        choice = choose(Counterfactual(3, counts_sensitive_only=only), adjacency=adjacency)
        assert choice.epsilon == pytest.approx(math.log(3))

    def test_a_counterfactual_is_two_steps_with_a_delta_too(self) -> None:
        """(ε, δ) at two steps, (2ε, δ(1+e^ε)), must stay within log R."""
        choice = choose(Counterfactual(9), delta=4e-3, confidence=0.9, sided="one")
        two = 4e-3 * (1 + math.exp(choice.epsilon))
        passed = two / -math.expm1(2 * choice.epsilon - math.log(9))
        assert passed == pytest.approx(0.1, rel=1e-6)
        with pytest.raises(ToleranceError):
            choose(Counterfactual(9), delta=6e-3, confidence=0.99, sided="one")


def opaque(p: float, q: float) -> float:
    return 5 + p


class TestCombinations:
    def test_the_least_binds_and_the_least_upper_end_counts(self) -> None:
        parts = (Ratio(4), Formula("max(0.25/(p*q), 3)"), Difference(0.4))
        each = [choose(part) for part in parts]
        both = choose(AllOf(parts))
        assert both.epsilon == min(one.epsilon for one in each)
        assert both.certificate.upper == min(one.certificate.upper for one in each)
        assert both.certificate.method == min(each, key=lambda one: one.epsilon).certificate.method
        assert both.certificate.reason is None

    def test_one_part_that_is_not_proved_leaves_the_whole_unproved(self) -> None:
        both = choose(Ratio(3) & Function(opaque))
        assert both.epsilon == choose(Ratio(3)).epsilon
        assert both.certificate.method == "closed form: K&R (14), (25)"
        assert not both.certificate.certified
        assert "monotone_p and monotone_q" in both.certificate.reason
        assert "formula" in both.certificate.reason
        alone = choose(Function(opaque))
        assert alone.certificate.method == "looked for, not proved"
        assert alone.certificate.reason == both.certificate.reason

    def test_half_a_declaration_proves_nothing(self) -> None:
        for declared in ({"monotone_p": "increasing"}, {"monotone_q": "increasing"}):
            assert not choose(Function(opaque, **declared)).certificate.certified
        whole = choose(Function(opaque, monotone_p="increasing", monotone_q="increasing"))
        assert whole.certificate.certified
        assert whole.certificate.method == "branch and bound, monotone as declared"
        assert whole.binding.attained is False
        assert (whole.binding.p, whole.binding.q) == (1.0, 0.0)

    def test_the_name_of_the_group_that_binds(self) -> None:
        choice = choose(Groups((("a", Ratio(4)), ("b", Ratio(2) & Ratio(3)), ("c", Ratio(5)))))
        assert choice.binding.name == "b"
        assert choose(Ratio(2)).binding.name is None

    def test_what_else_is_said_is_kept(self) -> None:
        choice = choose(Ratio(3), sensitivity=4, unit="record", unit_name="one visit")
        assert (choice.sensitivity, str(choice.promise.unit)) == (4, "one visit")
        usual = choose(Ratio(3))
        assert (usual.sensitivity, str(usual.promise.unit)) == (1, "one person")
        tolerance = Ratio(3)
        assert choose(tolerance).tolerance is tolerance
        assert choose(" 3 + p ").tolerance == Formula("3 + p")

    def test_a_table_is_the_least_of_its_cells(self) -> None:
        table = Table(((0, 1, 10), (0.1, 1, 3), (0.5, 1, 2.5), (1, 1, 2.5)), priors(q=1))
        choice = choose(table)
        cells = [choose(Ratio(ratio, box), sided="one") for box, ratio in table.cells()]
        least = min(cells, key=lambda cell: cell.epsilon)
        assert choice.epsilon == least.epsilon
        assert choice.certificate.upper == min(cell.certificate.upper for cell in cells)
        assert choice.certificate.method == "closed form on each cell"
        assert (choice.binding.p, choice.binding.q) == (least.binding.p, least.binding.q)
        assert choice.binding.attained == least.binding.attained
        assert choice.naive == pytest.approx(0.5 * math.log(2.5))


@dataclass(frozen=True, slots=True)
class Wish(Tolerance):
    """A tolerance from outside that says nothing a budget could be found from."""

    box: Box = EVERY_PRIOR

    def to_mapping(self) -> dict[str, Any]:
        return {}


class TestRefusals:
    def test_no_room_is_said_with_the_prior(self) -> None:
        with pytest.raises(ToleranceError) as refused:
            choose(Posterior(math.nextafter(0.25, 1), Box(0.25, 0.25, 1, 1)))
        said = str(refused.value)
        assert "p = 0.25, q = 1" in said
        assert "0" in said
        assert "a box" in said

    def test_a_shape_without_a_formula(self) -> None:
        with pytest.raises(InputError, match="not a tolerance that a budget can be chosen for"):
            choose(Wish())


class TestAttained:
    def test_a_prior_that_is_one_and_binds(self) -> None:
        at = Search(upper=math.log(3), p=0.5, q=1.0)
        part = Formula("3 if p < 0.9 else 1")
        # At (0.2, 1) Theorem 2 gives log(B/(1/r − p)) = log(0.8/(1/3 − 0.2)).
        epsilon = math.log(0.8 / (1 / 3 - 0.2))
        assert sought(part, Search(upper=epsilon, p=0.2, q=1.0), "found").attained
        assert not sought(part, Search(upper=epsilon * (1 - 1e-8), p=0.2, q=1.0), "found").attained
        assert not sought(part, Search(upper=epsilon, p=0.0, q=1.0), "found").attained
        assert not sought(part, Search(upper=math.inf, p=0.5, q=1.0), "found").attained
        assert not sought(part, replace(at, p=0.95), "found").attained  # a ratio of 1 there
        outside = Formula("3", Box(0.5, 1, 0, 1))
        assert not sought(outside, Search(upper=epsilon, p=0.2, q=1.0), "found").attained

    def test_a_formula_met_at_its_kink(self) -> None:
        choice = choose("max(0.25/(p*q), 3)")
        assert choice.binding.attained
        assert choice.certificate.method == "branch and bound"
        assert (choice.binding.p, choice.binding.q) == pytest.approx((1, 1 / 12))


class TestWarnings:
    def said(self, tolerance: Tolerance, part: str) -> list[str]:
        found = choose(tolerance, sided="one").warnings
        return [warning for warning in found if part in warning]

    def test_a_ratio_that_speaks_of_falls_always_asks_for_something(self) -> None:
        assert not [said for said in choose(Ratio(3)).warnings if "sets no limit" in said]

    def test_where_a_ratio_asks_for_nothing(self) -> None:
        for tolerance in (Ratio(3), PosteriorUnlessRatio(0.25, 3), Ratio(3, Box(0, 0.5, 0, 0.7))):
            (warning,) = self.said(tolerance, "sets no limit")
            assert "33.4 % and more" in warning
            assert "3 times the prior" in warning
        exactly = Ratio(4, Box(0.1, 0.5, 0.1, 0.5))
        assert self.said(exactly, "sets no limit")
        assert not self.said(Ratio(3.9, Box(0.1, 0.5, 0.1, 0.5)), "sets no limit")
        assert not self.said(Difference(0.2), "sets no limit")
        assert len(self.said(Ratio(3) & Ratio(2), "sets no limit")) == 1
        assert len(self.said(Difference(0.2) & Ratio(2), "sets no limit")) == 1

    def test_one_prior_of_being_in(self) -> None:
        assert self.said(Posterior(0.5, Box(0.1, 0.1, 0, 1)), "one prior")
        assert not self.said(Ratio(3, Box(1, 1, 0, 1)), "one prior")
        assert not self.said(Ratio(3, Box(0.1, 0.2, 0, 1)), "one prior")
        assert not self.said(Counterfactual(3), "one prior")

    def test_unequal_groups(self) -> None:
        unequal = Groups((("a", Ratio(3)), ("b", Ratio(2))))
        assert self.said(unequal, "equity")
        assert not self.said(Groups((("a", Ratio(3)), ("b", Ratio(3)))), "equity")
        assert not self.said(Groups((("a", Ratio(3)),)), "equity")

    def test_what_bounds_nothing(self) -> None:
        assert self.said(PosteriorUnlessRatio(1.0, 3), "limits nothing")
        assert not self.said(PosteriorUnlessRatio(0.9, 3), "limits nothing")

    def test_not_certified_says_why(self) -> None:
        (warning,) = self.said(Function(opaque), "Not certified")
        assert warning.startswith("Not certified: nothing is known about the function between")
        assert not self.said(Ratio(3), "Not certified")

    def test_a_proof_that_is_complete_did_not_stop(self) -> None:
        for tolerance in (Ratio(3), Formula("max(0.25/(p*q), 3)"), Formula("1e-6/(p*q) + 1.00001")):
            assert not self.said(tolerance, "stopped")

    @pytest.mark.parametrize(
        ("epsilon", "width", "stopped"),
        [(0.5, 0.9e-6, False), (0.5, 1.5e-6, True), (3.0, 2e-6, False), (3.0, 4e-6, True)],
    )
    def test_a_proof_that_stopped_short(self, epsilon: float, width: float, stopped: bool) -> None:
        """A millionth of ε, or of 1 where ε is smaller, is what a complete proof leaves."""
        whole = choose(Ratio(3))
        short = replace(
            whole,
            guarantee=PureDP(epsilon),
            certificate=replace(whole.certificate, lower=epsilon, upper=epsilon + width),
        )
        assert any("stopped" in warning for warning in short.warnings) is stopped

    def test_a_millionth_itself_is_complete(self) -> None:
        whole = choose(Ratio(3))
        for width, stopped in ((1e-6, False), (math.nextafter(1e-6, 1), True)):
            exact = replace(whole.certificate, lower=0.0, upper=width)
            short = replace(whole, guarantee=PureDP(0.5), certificate=exact)
            assert any("stopped" in warning for warning in short.warnings) is stopped


class TestShown:
    def test_a_notebook_shows_each_thing_beside_its_name(self) -> None:
        choice = choose(Formula("max(0.25/(p*q), 3)"))
        html = choice._repr_html_()
        assert f"<caption>{escape(repr(choice))}</caption>" in html
        rows = dict(re.findall("<tr><th>(.*?)</th><td>(.*?)</td></tr>", html))
        assert rows["promise"] == escape(choice.promise.sentence())
        assert rows["proof"] == "branch and bound"
        assert rows["noise of a count"] == f"{choice.noise['sd']:.3g}"
        believed = [
            re.fullmatch(r"(\d+)% → at most ([\d.]+) %", x) for x in rows["belief"].split("; ")
        ]
        for row, said in zip(choice.implied, believed, strict=True):
            assert float(said[1]) == pytest.approx(100 * row["prior"])
            shown = float(said[2])
            assert 100 * row["posterior"] <= shown * (1 + 1e-12) < 100 * row["posterior"] + 0.1001
            assert re.fullmatch(r"\d+\.\d", said[2])
        warned = choose(PosteriorUnlessRatio(0.25, 3))
        assert f"<th>warning</th><td>{escape(warned.warnings[0])}</td>" in warned._repr_html_()

    def test_a_line_says_where_it_binds(self) -> None:
        assert repr(choose(Ratio(3))) == (
            "Choice(epsilon=0.549306, binding p=1 q=0, in the limit, closed form: K&R (14), (25))"
        )

    def test_a_line_says_no_more_where_it_is_attained(self) -> None:
        assert repr(choose(Ratio(3, Box(0.5, 0.5, 0.25, 0.25)), sided="one")) == (
            f"Choice(epsilon={math.log(3):.6g}, binding p=0.5 q=0.25, closed form: K&R (14), (25))"
        )

    def test_beliefs_follow_the_adjacency(self) -> None:
        replaced = choose(Ratio(3), adjacency="replace")
        at = replaced.posterior_at(Prior(1.0, 0.3))
        # odds of a value grow by at most e^ε: 0.3·3/(0.3·3 + 0.7)
        assert at == pytest.approx(0.9 / 1.6)
        assert replaced.posterior_at(Prior(1.0, 1.0)) == 1.0

    def test_where_an_opaque_function_binds(self) -> None:
        choice = choose(Function(opaque, Box(0.2, 0.5, 0.1, 0.4)))
        assert choice.certificate.certified is False
        assert choice.binding.q == 0.1
        assert choice.binding.p in (0.2, 0.5)
        assert choice.binding.attained is True


class TestSmallBudgets:
    @pytest.mark.parametrize("x", [1e-4, 1e-7, 1e-10])
    @pytest.mark.parametrize("a", [1e-3, 0.25, 0.9])
    def test_a_kink_keeps_its_digits(self, x: float, a: float) -> None:
        choice = choose(PosteriorUnlessRatio(a, 1 + x))
        with mp.workdps(40):
            r, b = mp.mpf(1 + x), mp.mpf(a)
            truth = mp.log((r - b) / (1 - b)) / 2
            assert truth * (1 - mp.mpf("1e-13")) <= mp.mpf(choice.epsilon) <= truth

    @pytest.mark.parametrize("p", [1e-9, 1e-3, 0.3])
    def test_a_posterior_from_a_small_prior_keeps_its_digits(self, p: float) -> None:
        for a in (2 * p, 0.999):
            found = range_for_posterior(p, 1.0, a)
            with mp.workdps(40):
                odds = mp.mpf(a) / (1 - mp.mpf(a)) * (1 - mp.mpf(p)) / mp.mpf(p)
                truth = mp.log(odds)
                assert mp.mpf(found.lower) <= truth <= mp.mpf(found.upper)
                assert found.upper - found.lower <= 1e-13 * max(1.0, found.upper)

    def test_messages_say_which_and_what(self) -> None:
        with pytest.raises(InputError, match=r"posterior is 0\.2; .* 1/population = 0\.25,"):
            lee_clifton_rule(4, 0.2, sensitivity=1, contrast=1)
        for name in ("sensitivity", "contrast"):
            with pytest.raises(InputError, match=f"^{name} is -1; it must be positive"):
                lee_clifton_rule(4, 0.5, **{"sensitivity": 1, "contrast": 1, name: -1})
