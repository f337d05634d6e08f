"""What the house promises a stranger: names, lazy doors, errors, guarantees, rounding."""

import math
import subprocess
import sys
from pathlib import Path

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import errors
from discreet.errors import DiscreetError, GuaranteeError, InputError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.rounding import decimal_down, decimal_up, down, percent, up

SOURCE = Path(discreet.__file__).parent
stable = settings(derandomize=True, deadline=None)


def test_public_names_exist_and_are_sorted():
    names = discreet.__all__
    assert names[1:] == sorted(names[1:])
    for name in names:
        assert getattr(discreet, name) is not None
    assert set(dir(discreet)) == set(names)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = discreet.nonsense


def test_verbs_never_collide_with_packages():
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    assert not packages & set(discreet.__all__)


def test_import_costs_nothing():
    program = "import sys, discreet; print(sorted(m for m in sys.modules if 'discreet' in m))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "['discreet']"


def test_every_error_has_a_code_and_is_a_builtin_kind():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert kind.code
        assert kind.exit_code in (2, 3, 4, 5)
        if kind is not DiscreetError:
            assert issubclass(kind, (ValueError, RuntimeError))
            assert name in errors.__doc__


@pytest.mark.parametrize(
    "make",
    [
        lambda: PureDP(math.nan),
        lambda: PureDP(-1),
        lambda: PureDP("1"),
        lambda: PureDP(True),
        lambda: PureDP(1, adjacency="bounded"),
        lambda: ApproxDP(1, 1.5),
        lambda: ApproxDP(1, math.nan),
        lambda: ProbabilisticDP(1, -0.1),
        lambda: ZCDP(-0.1),
        lambda: ZCDP(math.nan),
    ],
)
def test_guarantees_are_checked_when_made(make):
    with pytest.raises(InputError):
        make()


def test_replace_is_twice_add_remove_and_never_back():
    assert PureDP(1).under("replace") == PureDP(2, adjacency="replace")
    assert ZCDP(0.1).under("replace") == ZCDP(0.4, adjacency="replace")
    for stated in (
        PureDP(1, adjacency="replace"),
        ApproxDP(1, 1e-6, adjacency="replace"),
        ZCDP(1, adjacency="replace"),
        ProbabilisticDP(1, 1e-6, adjacency="replace"),
        PrivacyCurve("x", lambda e: 0.0, adjacency="replace"),
        PureDP(1, adjacency="local"),
    ):
        with pytest.raises(GuaranteeError, match="no theorem"):
            stated.under("add-remove")
    with pytest.raises(GuaranteeError):
        ProbabilisticDP(1, 1e-6).under("replace")
    assert PureDP(1).under("add-remove") == PureDP(1)


@stable
@given(st.floats(0, 800), st.floats(0, 1))
def test_approximate_under_replace_rounds_up(epsilon, delta):
    out = ApproxDP(epsilon, delta).under("replace")
    true = min(mp.mpf(1), mp.mpf(delta) * (1 + mp.exp(mp.mpf(epsilon))))
    assert mp.mpf(out.delta) >= true
    assert out.epsilon == 2 * epsilon


def test_curve_under_replace():
    curve = PrivacyCurve("pure 1", lambda e: 0.0 if e >= 1 else 0.5)
    assert curve.under("replace").at(2.0).delta == 0
    assert curve.under("replace").at(1.9).delta == 1
    assert curve.at(1.0) == ApproxDP(1.0, 0.0)


def test_json_of_guarantees():
    assert PureDP(1).to_dict() == {
        "epsilon": 1.0, "delta": None, "rho": None, "kind": "pure", "adjacency": "add-remove",
    }  # fmt: skip
    assert PureDP(math.inf).to_dict()["unbounded"] is True
    assert ProbabilisticDP(1, 0.1).as_approx() == ApproxDP(1, 0.1)
    assert (
        repr(PureDP(1, adjacency=Adjacency.REPLACE)) == "PureDP(epsilon=1.0, adjacency='replace')"
    )


@stable
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_up_and_down(x):
    assert down(x) <= x <= up(x)


@stable
@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_printed_figures_round_outward(x, digits):
    unit = 10.0**-digits
    slop = 1e-12 * max(1, abs(x))
    assert decimal_down(x, digits) <= x + slop
    assert decimal_up(x, digits) >= x - slop
    assert decimal_up(x, digits) - decimal_down(x, digits) <= unit * (1 + 1e-6) + slop


def test_percent():
    assert percent(0.52503, "up") == "53 %"
    assert percent(0.47497, "down") == "47 %"
    assert percent(0.07, "up") == "7 %"
    assert percent(up(0.75), "up") == "75 %"
