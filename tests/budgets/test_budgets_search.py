"""The certified search against brute force, and on the profiles that break searches."""

import math
from dataclasses import dataclass

import mpmath as mp
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from discreet import choose
from discreet.budgets.search import search
from discreet.errors import FormulaError, ToleranceError
from discreet.promises import Box, Formula, Function, Table, Tolerance, priors
from discreet.promises.box import EVERY_PRIOR
from discreet.promises.formula import parse
from soaking import examples

mp.mp.dps = 40


def oracle(r, p, q):
    """ε_i by bisection in mpmath on Theorem 1 itself: no formula shared with the code."""
    p, q = mp.mpf(p), mp.mpf(q)
    wanted = 1 / mp.mpf(r(float(p), float(q)))

    def denominator(e):
        return p * q + mp.exp(-2 * e) * (1 - q) * p + mp.exp(-e) * (1 - p)

    low, high = mp.mpf(0), mp.mpf(200)
    if denominator(high) >= wanted:
        return mp.inf
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if denominator(middle) >= wanted else (low, middle)
    return low


def brute_force(r, points):
    return min(oracle(r, p, q) for p in points for q in points)


PROFILES = {
    "max(0.25/(p*q), 3)": lambda p, q: max(0.25 / (p * q), 3),
    "3 if p < 0.3 else 1.5": lambda p, q: 3 if p < 0.3 else 1.5,
    "1 + 0.2*sqrt(1/(p*q))": lambda p, q: 1 + 0.2 * math.sqrt(1 / (p * q)),
    "max(0.3/(p*q), 3 - 1.5*p)": lambda p, q: max(0.3 / (p * q), 3 - 1.5 * p),
    "2 + 8*((p-0.4)**2 + (q-0.3)**2)": lambda p, q: 2 + 8 * ((p - 0.4) ** 2 + (q - 0.3) ** 2),
    "max(0.25/(p*q), 3) if p*q < 0.2 else 1.5": lambda p, q: (
        max(0.25 / (p * q), 3) if p * q < 0.2 else 1.5
    ),
    "1.5 + p if p*q > 0.2 else 3 - p": lambda p, q: 1.5 + p if p * q > 0.2 else 3 - p,
    "exp(1 - p) + log(2 + q)": lambda p, q: math.exp(1 - p) + math.log(2 + q),
    "min(3, 1/(p*q))": lambda p, q: min(3, 1 / (p * q)) if p * q < 1 else math.inf,
    "2 + (p*q)**2 - 0.5*(p+q)": lambda p, q: 2 + (p * q) ** 2 - 0.5 * (p + q),
}


@pytest.mark.parametrize("text", PROFILES)
def test_never_above_brute_force(text):
    """`choose` never exceeds an independent minimum over points, at whatever points."""
    choice = choose(text)
    points = [1e-12, 1e-6, 1e-3, 0.02, 1 / 12, 0.1, 0.2, 0.2647, 0.3, 0.4, 0.55, 0.7, 0.9, 1.0]
    assert mp.mpf(choice.epsilon) <= brute_force(PROFILES[text], points)
    assert choice.certificate.certified
    width = choice.certificate.upper - choice.certificate.lower
    assert 0 <= width <= 1e-6 * max(1, choice.epsilon)


@pytest.mark.parametrize("text", PROFILES)
def test_nearly_met_where_it_binds(text):
    """At (or, for a limit, next to) the binding prior the profile allows hardly more."""
    choice = choose(text)
    p, q = (max(x, 1e-9) for x in (choice.binding.p, choice.binding.q))
    near = [
        (min(1, max(1e-9, p + a)), min(1, max(1e-9, q + b)))
        for a in (-1e-7, 0, 1e-7)
        for b in (-1e-7, 0, 1e-7)
    ]
    assert min(oracle(PROFILES[text], a, b) for a, b in near) <= choice.certificate.upper + 1e-5


@pytest.mark.parametrize(
    ("text", "epsilon", "attained"),
    [
        ("3", 0.5 * math.log(3), False),
        ("3 if q == 1 else inf", math.log(3), False),
        ("3 if p == 0.05 and q == 0.5 else inf", None, True),
        ("3 if p*q > 0.2 else 100", 0.5 * math.log(0.8 / (1 / 3 - 0.2)), False),
        ("3 if p*q >= 0.2 else 100", 0.5 * math.log(0.8 / (1 / 3 - 0.2)), True),
        ("3 if p <= 0.5 else inf", None, False),
        ("1 + 0.2/(p*q)", math.log(1.2 / 0.8), True),
        ("max(0.25/(p*q), 3)", 0.5 * math.log(2.75 / 0.75), True),
        ("3 + p", 0.5 * math.log(4), False),
    ],
)
def test_infima(text, epsilon, attained):
    choice = choose(text)
    if epsilon is not None:
        assert choice.epsilon == pytest.approx(epsilon, rel=1e-6)
        assert choice.epsilon <= epsilon
    assert choice.binding.attained is attained


def test_one_dimension_to_nine_digits():
    for text, box in (
        ("max(0.25/(p*q), 3)", Box(0, 1, 1, 1)),
        ("1 + 0.2*sqrt(1/(p*q))", Box()),
        ("2 + sqrt(q)", Box(0.3, 0.3, 0, 1)),
        ("2 + (p - 0.3)**2", Box(0, 1, 0.7, 0.7)),
    ):
        found = search(parse(text), box)
        assert found.upper - found.lower <= 1e-9 * max(1, found.upper)


@settings(derandomize=True, deadline=None, max_examples=examples(60), phases=[Phase.generate])
@given(
    st.floats(0.01, 0.9),
    st.floats(1.05, 20),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(
        [
            "max({a}/(p*q), {r})",
            "max({a}/(p*q), {r}) if p < {x} else {r} + q",
            "{r} + p*{x} - 0.01*q",
            "min({r} + 1, max({r}, {a}/p))",
            "{r} + {x}*(p - {y})**2 + (q - {x})**2",
            "{r} if p*q < {y} else {r} + {a}",
            "{r} + {a}*exp(-p*q) + sqrt(q)",
        ]
    ),
)
def test_random_profiles(a, r, x, y, template):
    """No prior of a grid, nor any corner, has a smaller ε than the chosen budget."""
    text = template.format(a=a, r=r, x=x, y=y)
    profile = Formula(text)
    choice = choose(profile)
    points = [1e-9, 0.1, x, y, 0.75, 1.0]
    for p in points:
        for q in points:
            if p > 1e-12 and q > 1e-12:
                assert mp.mpf(choice.epsilon) <= oracle(profile.ratio_at, p, q)
    assert choice.certificate.upper - choice.epsilon <= 1e-6 * max(1, choice.epsilon)


THEOREM_1 = f"(p*q + {math.exp(-2)!r}*(1-q)*p + {math.exp(-1)!r}*(1-p))"


def test_smooth_ridge_along_pq():
    """Every prior with pq = 0.1 binds at ε = 1, to a double."""
    choice = choose(f"(1 + 10*(p*q - 0.1)**2)/{THEOREM_1}")
    assert choice.epsilon <= 1.0 + 1e-15
    assert choice.epsilon == pytest.approx(1.0, abs=1e-6)
    assert choice.binding.p * choice.binding.q == pytest.approx(0.1, abs=1e-3)


@pytest.mark.slow
def test_hopeless_profiles_stay_safe_and_say_so():
    """Where all priors bind, or all on a sharp ridge, no box can go: safe, but not tight."""
    flat = choose(Formula(f"1/{THEOREM_1}", Box(0.2, 0.8, 0.2, 0.8)))
    ridge = choose(f"(1 + max(p*q - 0.1, 0.1 - p*q))/{THEOREM_1}")
    for choice in (flat, ridge):
        assert 0.99 < choice.epsilon <= 1.0
        assert choice.certificate.upper >= 1.0 - 1e-12
        assert any("stopped" in warning for warning in choice.warnings)


@pytest.mark.parametrize(
    "text", ["1/(p-0.5)**2 + 2", "1/(p-q)**2 + 2", "2 + sqrt(q - 0.25)", "2 + 1/log(p + 0.5)**2"]
)
def test_no_value_inside_the_domain(text):
    with pytest.raises(FormulaError, match="no value near"):
        choose(text)


def test_division_by_zero_outside_the_box_is_fine():
    assert choose(Formula("2 + 1/(p-0.5)**2", Box(0.6, 1, 0, 1))).epsilon > 0


@pytest.mark.parametrize("text", ["1 + p", "0.9", "2 - 1.5*q", "max(0.1/(p*q), 1)"])
def test_no_room(text):
    with pytest.raises(ToleranceError):
        choose(text)


def test_posterior_of_one_bounds_nothing():
    assert choose("1/(p*q)").epsilon == math.inf
    assert choose("2/p/q").epsilon == math.inf


def test_function_with_declared_monotonicity():
    choice = choose(
        Function(
            lambda p, q: max(0.25 / (p * q), 3), monotone_p="decreasing", monotone_q="decreasing"
        )
    )
    assert choice.certificate.certified
    true = 0.5 * math.log(2.75 / 0.75)
    assert choice.epsilon <= true
    assert choice.epsilon == pytest.approx(true, rel=1e-6)


def test_opaque_function_is_not_certified():
    choice = choose(Function(lambda p, q: max(0.25 / (p * q), 3)))
    assert not choice.certificate.certified
    assert "monotone" in choice.certificate.reason
    assert choice.epsilon == pytest.approx(0.6496414921, rel=1e-4)
    assert any("Not certified" in warning for warning in choice.warnings)


def test_table_is_read_conservatively():
    table = Table(((0, 1, 10), (0.1, 1, 3), (1, 1, 1.5)), priors(q=1))
    choice = choose(table)
    for k in range(1, 200):
        p = k / 200
        assert mp.mpf(choice.epsilon) <= oracle(lambda a, b: table.ratio_at(a, b), p, 1.0)
    assert choice.epsilon < choose(Formula("10 if p < 0.1 else 3", priors(q=1))).epsilon


def test_several_must_all_hold():
    both = choose({"ratio": 3, "difference": 0.2})
    assert both.epsilon == min(choose({"ratio": 3}).epsilon, choose({"difference": 0.2}).epsilon)


def test_groups_name_the_one_that_binds():
    choice = choose({"groups": {"patients": {"ratio": 3}, "staff": {"ratio": 2}}})
    assert choice.binding.name == "staff"
    assert any("equity" in warning for warning in choice.warnings)
    same = choose({"groups": {"patients": {"ratio": 3}, "staff": {"ratio": 3}}})
    assert not any("equity" in warning for warning in same.warnings)


@dataclass(frozen=True, slots=True)
class PosteriorUnlessDifference(Tolerance):
    """A shape from outside the house, with a formula and no closed form."""

    posterior: float
    difference: float
    box: Box = EVERY_PRIOR

    def expression(self):
        return parse(f"max({self.posterior}, p*q + {self.difference})/(p*q)")

    def ratio_at(self, p, q):
        return max(self.posterior / (p * q), 1 + self.difference / (p * q))

    def to_mapping(self):
        return {}


def test_a_shape_of_ones_own_is_searched_and_proved():
    found = choose(PosteriorUnlessDifference(0.6, 0.1))
    assert found.certificate.certified
    # worst at p = 1 and the kink q = a − b: odds from 1 to 1.5 in two steps
    truth = mp.log(mp.mpf("1.5")) / 2
    assert found.certificate.lower <= truth <= found.certificate.upper
    assert found.epsilon == pytest.approx(float(truth), rel=1e-7)
    both = choose(PosteriorUnlessDifference(0.6, 0.1) & Formula("1.2"))
    assert both.epsilon == pytest.approx(math.log(1.2) / 2)
