"""Record-level risk, against Bayes' rule written out over every hypothesis in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.synthetic import Cells, Synthesizer, risk, worst_case
from soaking import examples

CHECK = settings(derandomize=True, deadline=None, max_examples=examples(120))


def bayes(x, s, alpha, w, t, shares):
    """The posterior of the truth t by enumerating where the target may be; exact."""
    total = sum(x) + len(x) * alpha

    def likelihood(k):
        counts = list(x)
        counts[t] -= 1
        counts[k] += 1
        value = Fraction(1)
        for c, hits in zip(counts, s, strict=True):
            value *= ((c + alpha) / total) ** hits
        return value

    truth = Fraction(w) * likelihood(t)
    rest = sum(Fraction(share) * (1 - Fraction(w)) * likelihood(k) for k, share in shares.items())
    return truth / (truth + rest)


@st.composite
def files(draw):
    cells = draw(st.integers(2, 5))
    x = draw(st.lists(st.integers(0, 6), min_size=cells, max_size=cells).filter(any))
    s = draw(st.lists(st.integers(0, 8), min_size=cells, max_size=cells).filter(any))
    epsilon = draw(st.floats(0.05, 60))
    w = draw(st.floats(0.001, 0.999))
    return x, s, epsilon, w


@CHECK
@given(files(), st.sampled_from(["all", "observed", "worst"]))
def test_risk_is_bayes_rule(case, alternatives):
    x, s, epsilon, w = case
    if alternatives == "observed" and sum(c > 0 for c in x) < 2:
        with pytest.raises(InputError, match="No record has an alternative"):
            risk(x, s, epsilon=epsilon, alternatives=alternatives)
        return
    law = Synthesizer.of(epsilon, n_synthetic=sum(s), cells=len(x))
    found = risk(x, s, synthesizer=law, alternatives=alternatives)
    absolute, relative = found.absolute(w), found.relative(w)
    for t, count in enumerate(x):
        if count == 0:
            assert math.isnan(absolute[t])
            continue
        rivals = [k for k in range(len(x)) if k != t and (alternatives != "observed" or x[k] > 0)]
        if alternatives == "worst":
            expected = max(bayes(x, s, law.alpha, w, t, {k: 1}) for k in rivals)
        else:
            share = Fraction(1, len(rivals))
            expected = bayes(x, s, law.alpha, w, t, dict.fromkeys(rivals, share))
        assert absolute[t] == pytest.approx(float(expected), rel=1e-11)
        assert relative[t] == pytest.approx(float(expected / Fraction(w)), rel=1e-11)


@CHECK
@given(files(), st.data(), st.sampled_from(["all", "worst"]))
def test_risk_within_groups_is_bayes_rule(case, data, alternatives):
    x, s, epsilon, w = case
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(x), max_size=len(x)))
    law = Synthesizer.of(epsilon, n_synthetic=sum(s), cells=len(x))
    rivals = {
        t: [k for k in range(len(x)) if k != t and groups[k] == groups[t]]
        for t, count in enumerate(x)
        if count
    }
    if not any(rivals.values()):
        return
    absolute = risk(x, s, synthesizer=law, groups=groups, alternatives=alternatives).absolute(w)
    for t, others in rivals.items():
        if not others:
            expected = Fraction(w)
        elif alternatives == "worst":
            expected = max(bayes(x, s, law.alpha, w, t, {k: 1}) for k in others)
        else:
            shares = dict.fromkeys(others, Fraction(1, len(others)))
            expected = bayes(x, s, law.alpha, w, t, shares)
        assert absolute[t] == pytest.approx(float(expected), rel=1e-11)


@CHECK
@given(files(), st.data())
def test_no_prior_over_the_cells_beats_the_worst_alternative(case, data):
    x, s, epsilon, w = case
    law = Synthesizer.of(epsilon, n_synthetic=sum(s), cells=len(x))
    worst = risk(x, s, synthesizer=law, alternatives="worst").absolute(w)
    t = data.draw(st.sampled_from([k for k, count in enumerate(x) if count]))
    others = [k for k in range(len(x)) if k != t]
    raw = data.draw(
        st.lists(st.integers(0, 9), min_size=len(others), max_size=len(others)).filter(any)
    )
    shares = {k: Fraction(r, sum(raw)) for k, r in zip(others, raw, strict=True)}
    assert float(bayes(x, s, law.alpha, w, t, shares)) <= worst[t] * (1 + 1e-12)


@CHECK
@given(files())
def test_shift_never_passes_the_budget(case):
    x, s, epsilon, w = case
    found = risk(x, s, epsilon=epsilon, alternatives="worst")
    assert found.largest_shift <= epsilon
    bound = worst_case(epsilon, [w])[0]["posterior"]
    assert np.nanmax(found.absolute(w)) <= bound
    with mpmath.workdps(40):
        odds = mpmath.mpf(w) / (1 - mpmath.mpf(w)) * mpmath.exp(mpmath.mpf(epsilon))
        assert mpmath.mpf(bound) >= odds / (1 + odds) or bound == 1.0


def test_all_priors_of_a_record_lie_on_one_line():
    found = risk([50, 30, 10], [30, 10, 14], epsilon=80)
    w = np.linspace(0.001, 0.999, 500)
    absolute, relative = found.absolute(w), found.relative(w)
    line = absolute + (1 - absolute) * np.exp(found.shift)[:, None]
    np.testing.assert_allclose(relative, line, rtol=1e-11)
    assert absolute.shape == (3, 500)


def test_example_of_the_paper():
    """ε = 1000, X_{-j} = 0, Y_j = 1, X* = 3: .135 against .018, R = .88."""
    found = risk([999, 1], [997, 3], epsilon=1000)
    assert f"{found.absolute(0.5)[1]:.2f}" == "0.88"
    with mpmath.workdps(40):
        alpha = 1 / mpmath.expm1(1)

        def pmf(x):
            theta = (x + alpha) / (1000 + 2 * alpha)
            return mpmath.binomial(1000, 3) * theta**3 * (1 - theta) ** 997

        assert mpmath.nstr(pmf(1), 3) == "0.135"
        assert mpmath.nstr(pmf(0), 2) == "0.018"
        assert found.absolute(0.5)[1] == pytest.approx(float(pmf(1) / (pmf(0) + pmf(1))), rel=1e-6)


def test_known_columns_restrict_the_alternatives():
    cells = Cells.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    x, s = [40, 3, 30, 5], [35, 8, 31, 4]
    law = Synthesizer.of(200, n_synthetic=sum(s), cells=4)
    found = risk(x, s, synthesizer=law, groups=cells.groups(["sex"]))
    for t, rival in [(0, 1), (1, 0), (2, 3), (3, 2)]:
        expected = bayes(x, s, law.alpha, Fraction(1, 2), t, {rival: 1})
        assert found.absolute(0.5)[t] == pytest.approx(float(expected), rel=1e-11)
    with pytest.raises(InputError, match="every column"):
        cells.groups(["sex", "ill"])
    with pytest.raises(InputError, match="no column 'age'"):
        cells.groups(["age"])


@pytest.mark.parametrize("alternatives", ["all", "observed", "worst"])
def test_a_record_without_alternatives_learns_nothing_from_the_file(alternatives):
    """Known sex and age, and men cannot be pregnant: nothing is left to learn about men."""
    cells = Cells.of(
        {"sex": ["f", "m"], "pregnant": ["no", "yes"]},
        impossible=[{"sex": "m", "pregnant": "yes"}],
    )
    x, s = [9, 2, 8], [7, 5, 6]
    how = {"alternatives": alternatives, "groups": cells.groups(["sex"])}
    found = risk(x, s, epsilon=50, **how)
    assert found.shift[2] == 0.0
    assert found.shift[0] != 0.0
    assert found.absolute(0.3)[2] == pytest.approx(0.3)
    alpha = float(Synthesizer.of(50, n_synthetic=18, cells=3).alpha)
    given_one = risk(
        x, s, log_likelihood=lambda counts: float(np.asarray(s) @ np.log(counts + alpha)), **how
    )
    np.testing.assert_allclose(given_one.shift, found.shift, rtol=1e-9, atol=1e-12)


def test_copies_count_jointly():
    first, second = [20, 5], [18, 7]
    law = Synthesizer.of(30, n_synthetic=25, cells=2, copies=2)
    joint = risk([40, 2], np.add(first, second), synthesizer=law)
    parts = [bayes([40, 2], s, law.alpha, Fraction(1, 2), 1, {0: 1}) for s in (first, second)]
    odds = math.prod(p / (1 - p) for p in parts)
    assert joint.absolute(0.5)[1] == pytest.approx(float(odds / (1 + odds)), rel=1e-11)
    assert risk([40, 2], [38, 12], epsilon=30, copies=2).shift == pytest.approx(joint.shift)


def test_dominant_cell_loses_no_digits():
    """The largest term left out of its own sum, where a difference of sums would be noise."""
    x, s = [1, 1, 1], [900, 60, 40]
    law = Synthesizer.of(2000.0, n_synthetic=1000, cells=3)
    found = risk(x, s, synthesizer=law)
    expected = bayes(x, s, law.alpha, Fraction(1, 2), 0, {1: Fraction(1, 2), 2: Fraction(1, 2)})
    with mpmath.workdps(60):
        odds = expected / (1 - expected)
        log_odds = mpmath.log(odds.numerator) - mpmath.log(odds.denominator)
    assert found.shift[0] == pytest.approx(float(log_odds), rel=1e-12)


@CHECK
@given(files(), st.sampled_from(["all", "observed", "worst"]))
def test_a_given_log_likelihood_agrees_with_our_own_law(case, alternatives):
    x, s, epsilon, _ = case
    if alternatives == "observed" and sum(c > 0 for c in x) < 2:
        return
    law = Synthesizer.of(epsilon, n_synthetic=sum(s), cells=len(x))
    alpha = float(law.alpha)

    def log_likelihood(counts):
        return float(np.asarray(s) @ np.log(counts + alpha))

    given_one = risk(x, s, log_likelihood=log_likelihood, alternatives=alternatives)
    own = risk(x, s, synthesizer=law, alternatives=alternatives)
    np.testing.assert_allclose(given_one.shift, own.shift, rtol=1e-9, atol=1e-9)


def test_a_file_from_elsewhere_is_refused_without_its_law():
    with pytest.raises(InputError, match="log_likelihood"):
        risk([5, 5], [4, 6])
    with pytest.raises(InputError, match="only one"):
        risk([5, 5], [4, 6], epsilon=1, log_likelihood=lambda counts: 0.0)
    with pytest.raises(InputError, match="exactly one"):
        risk([5, 5], [4, 6], epsilon=1, synthesizer=Synthesizer.of(1, n_synthetic=10))
    with pytest.raises(InputError, match="NaN"):
        risk([5, 5], [4, 6], log_likelihood=lambda counts: math.nan)
    with pytest.raises(InputError, match="no chance"):
        risk([5, 5], [4, 6], log_likelihood=lambda counts: -math.inf)


def test_a_law_that_excludes_every_alternative_makes_sure():
    def log_likelihood(counts):
        return 0.0 if counts[0] == 5 else -math.inf

    found = risk([5, 5], [4, 6], log_likelihood=log_likelihood)
    assert found.absolute(0.01)[0] == 1.0
    assert found.relative(0.01)[0] == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("original", "synthetic", "words"),
    [
        ([1, 2], [1, 2, 3], "3 cells and 2"),
        ([0, 0], [1, 2], "no records"),
        ([-1, 2], [1, 2], "0 or more"),
        ([1.5, 2], [1, 2], "whole"),
        ([math.nan, 2], [1, 2], "whole"),
        (["a", "b"], [1, 2], "whole"),
        ([], [], "list of counts"),
        ([5], [5], "one cell"),
        ([5, 5], [0, 0], "same number"),
    ],
)
def test_bad_counts_are_one_clear_sentence(original, synthetic, words):
    with pytest.raises(InputError, match=words):
        risk(original, synthetic, epsilon=1.0)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, math.nan, [0.5, 2.0], []])
def test_bad_priors_are_refused(prior):
    with pytest.raises(InputError, match="prior"):
        risk([5, 5], [4, 6], epsilon=1.0).absolute(prior)


def test_one_observed_category_is_handled():
    """All records in one cell: the risk is defined, and the observed alternatives are not."""
    found = risk([10, 0], [9, 1], epsilon=5.0)
    assert 0 < found.absolute(0.5)[0] < 1
    assert math.isnan(found.absolute(0.5)[1])
    with pytest.raises(InputError, match="No record has an alternative"):
        risk([10, 0], [9, 1], epsilon=5.0, alternatives="observed")


def test_cost_grows_with_cells_not_records():
    """Ten thousand times the records take no more arithmetic: the same arrays of cells."""
    small = risk([3, 1, 2], [2, 3, 1], epsilon=9.0)
    large = risk([30_000, 10_000, 20_000], [2, 3, 1], epsilon=9.0)
    assert small.shift.shape == large.shift.shape == (3,)
    assert abs(large.shift).max() < abs(small.shift).max() / 1000
