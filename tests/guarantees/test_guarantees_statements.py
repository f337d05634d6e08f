"""Guarantees as they are stated: what is checked, what another adjacency makes of them, JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
    finite_or_null,
    parameters,
)
from discreet.lazily import found_in, missing
from discreet.rounding import decimal_down, down, number, up
from soaking import examples

STEADY = settings(derandomize=True, deadline=None, max_examples=examples(200))
HALF = PrivacyCurve("half", lambda epsilon: 0.5 * math.exp(-epsilon))
STATED = [PureDP(0.5), ApproxDP(0.5, 1e-6), ProbabilisticDP(0.5, 1e-6), ZCDP(0.5), HALF]


class TestChecks:
    @pytest.mark.parametrize("make", [PureDP, ZCDP, lambda x: ApproxDP(x, 0.1)])
    @pytest.mark.parametrize(
        ("value", "said"),
        [(True, "True"), ("1", "'1'"), (None, "None"), (math.nan, "NaN"), (-0.5, "-0.5")],
    )
    def test_a_parameter_is_a_number_at_least_zero(self, make, value: Any, said: str) -> None:
        with pytest.raises(InputError) as refused:
            make(value)
        assert f"is {said}; it must be" in str(refused.value)

    @pytest.mark.parametrize("make", [ApproxDP, ProbabilisticDP])
    def test_a_delta_is_a_probability(self, make) -> None:
        with pytest.raises(InputError, match=r"delta is 1\.5; it must be between 0 and 1"):
            make(1.0, 1.5)
        assert make(1.0, 1.0).delta == 1.0

    def test_an_adjacency_is_one_of_three(self) -> None:
        with pytest.raises(InputError, match=r"'near'.*add-remove, replace, local"):
            PureDP(1.0, adjacency="near")
        assert PureDP(1, adjacency="local").adjacency is Adjacency.LOCAL
        assert isinstance(PureDP(1).epsilon, float)


class TestUnderAnotherAdjacency:
    @pytest.mark.parametrize("stated", STATED)
    def test_the_same_one_changes_nothing(self, stated) -> None:
        assert stated.under("add-remove") is stated

    @pytest.mark.parametrize("stated", STATED)
    def test_no_theorem_leads_to_local(self, stated) -> None:
        with pytest.raises(GuaranteeError) as refused:
            stated.under("local")
        assert "'add-remove'" in str(refused.value)
        assert "'local'" in str(refused.value)
        assert "sensitivity" in str(refused.value)

    def test_nor_back_from_replace(self) -> None:
        for stated in (PureDP(1, adjacency="replace"), ApproxDP(1, 0.1, adjacency="replace")):
            with pytest.raises(GuaranteeError):
                stated.under("add-remove")

    def test_two_steps_for_one_replacement(self) -> None:
        assert PureDP(0.5).under("replace") == PureDP(1.0, adjacency="replace")
        assert ZCDP(0.5).under("replace") == ZCDP(2.0, adjacency="replace")
        assert ApproxDP(0.5, 0.0).under("replace") == ApproxDP(1.0, 0.0, adjacency="replace")
        assert ApproxDP(800, 1e-9).under("replace").delta == 1.0
        with pytest.raises(GuaranteeError):
            ProbabilisticDP(0.5, 1e-6).under("replace")

    @STEADY
    @given(st.floats(0, 690), st.floats(1e-12, 1))
    def test_the_delta_of_two_steps_rounds_up(self, epsilon: float, delta: float) -> None:
        found = ApproxDP(epsilon, delta).under("replace")
        with mp.workdps(40):
            truth = min(mp.mpf(1), mp.mpf(delta) * (1 + mp.exp(mp.mpf(epsilon))))
            assert truth <= mp.mpf(found.delta)
            assert mp.mpf(found.delta) <= truth * (1 + mp.mpf("1e-14"))
        assert found.epsilon == 2 * epsilon

    def test_a_curve_goes_point_by_point(self) -> None:
        replaced = HALF.under("replace")
        assert replaced.adjacency is Adjacency.REPLACE
        assert replaced.at(1.0) == ApproxDP(
            1.0, HALF.at(0.5).under("replace").delta, adjacency="replace"
        )
        assert replaced.name == "half"
        assert HALF.at(2.0).delta == pytest.approx(0.5 * math.exp(-2))
        # A function may pass the ends by rounding; a point never does.
        assert PrivacyCurve("over", lambda e: 1.5).at(0.1).delta == 1.0
        assert PrivacyCurve("under", lambda e: -0.5).at(0.1).delta == 0.0
        with pytest.raises(InputError, match="epsilon"):
            HALF.at(math.nan)


class TestSayingIt:
    def test_json_has_no_infinity(self) -> None:
        assert finite_or_null(math.inf) is None
        assert finite_or_null(None) is None
        assert finite_or_null(2.0) == 2.0
        assert parameters(rho=math.inf)["unbounded"] is True
        assert "unbounded" not in parameters(epsilon=1.0)
        for stated in (*STATED, PureDP(math.inf)):
            said = stated.to_dict()
            assert {"epsilon", "delta", "rho"} <= set(said)
            json.dumps(said, allow_nan=False)
        assert PureDP(math.inf).to_dict()["unbounded"] is True

    def test_each_in_words_and_as_code(self) -> None:
        assert [str(stated) for stated in STATED[:4]] == [
            "0.5-DP",
            "(0.5, 1e-06)-DP",
            "(0.5, 1e-06)-probabilistic DP",
            "0.5-zCDP",
        ]
        assert "half" in str(HALF)
        for stated in STATED[:4]:
            again = eval(repr(stated))  # noqa: S307
            assert again == stated
        assert "half" in repr(HALF)


class TestRounding:
    @STEADY
    @given(st.floats(-1e6, 1e6), st.integers(0, 9))
    def test_decimals_cut_stay_near_and_not_above(self, x: float, digits: int) -> None:
        cut = decimal_down(x, digits)
        assert cut <= x + 1e-13 * abs(x)
        assert x - cut < 10.0**-digits * (1 + 1e-6) + 1e-12 * abs(x)

    def test_what_is_infinite_stays(self) -> None:
        assert decimal_down(math.inf, 2) == math.inf
        assert decimal_down(-math.inf, 2) == -math.inf
        assert up(math.inf) == down(math.inf) == math.inf
        assert up(0.0) == 0.0


class TestExtras:
    def test_a_missing_library_names_what_to_install(self) -> None:
        said = missing("A chart", ModuleNotFoundError("no", name="altair.utils"))
        assert isinstance(said, InputError)
        assert str(said) == (
            "A chart needs altair, which is not installed. Install discreet[charts]."
        )
        fault = ModuleNotFoundError("no", name="antigravity2")
        assert missing("A chart", fault) is fault
        nameless = ModuleNotFoundError("no")
        assert missing("A chart", nameless) is nameless

    def test_names_are_found_where_they_live(self) -> None:
        files = {"guarantees": "PureDP", "no_such_module": "Nothing"}
        find, names = found_in("discreet", "It", files)
        assert names == ["Nothing", "PureDP"]
        assert find("PureDP") is PureDP
        with pytest.raises(AttributeError, match="'discreet' has no attribute 'other'"):
            find("other")
        with pytest.raises(ModuleNotFoundError):
            find("Nothing")


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    st.floats(1e-300, 1e300, allow_nan=False, allow_infinity=False),
    st.integers(1, 8),
)
def test_figures_lie_on_their_side(x: float, figures: int) -> None:
    """But for the few ulps by which `up` and `down` move a result."""
    slack = x * 1e-13
    above, below = (float(number(x, side, figures).replace(",", "")) for side in ("up", "down"))  # type: ignore[arg-type]
    assert below - slack <= x <= above + slack
    assert above - below <= 2.1 * x * 10.0 ** (1 - figures)


def test_a_promise_is_never_stated_smaller_than_it_is() -> None:
    assert str(PureDP(math.log(3))) == "1.09862-DP"
    assert PureDP(math.log(3)).said("down") == "1.09861-DP"
    assert str(ApproxDP(1 / 3, 2e-7 / 3)) == "(0.333334, 6.66667e-08)-DP"
    assert str(ZCDP(math.pi / 100)) == "0.0314160-zCDP"
    assert str(PureDP(0.1)) == "0.1-DP"
