"""Statistics: what they make of numbers without noise, and that their intervals hold."""

from __future__ import annotations

import math
import random
import statistics as plain
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import SpecError
from discreet.guarantees import ZCDP, Guarantee, PureDP
from discreet.laws import DiscreteGaussian, Geometric, WholeNoise
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import KeySet
from discreet.releases.pricing import Asked, price
from discreet.releases.spec import load
from discreet.releases.statistics import Statistic
from discreet.releases.statistics.values import Answer, Noisy, Part, Result, plain_rows
from discreet.releases.tables import NumberColumn, decimal_text, table_of
from discreet.statements.tables import accuracy_text
from soaking import examples

ONE = Contribution()


def _statistic(**entry: Any) -> Statistic:
    spec = load(
        {
            "account": "a",
            "purpose": "p",
            "protect": {"unit": "record"},
            "budget": {"epsilon": 1},
            "statistics": [entry],
            "ledger": "sqlite:///l.db",
            "output": "o",
        }
    )
    return spec.named()[0]


def _exact(values: list[int]) -> Noisy:
    return Noisy(values, 0, 0.0)


def test_a_mean_without_noise_is_the_mean() -> None:
    mean = _statistic(mean="x", bounds=[0, 10], resolution=0.5)
    values = [0.5, 3.0, 9.5]
    noisy = {"count": _exact([3]), "sum": _exact([int(v * 2) - 10 for v in values])}
    noisy["sum"] = _exact([sum(int(v * 2) - 10 for v in values)])
    ((answer,),) = mean.rows(noisy, 0.95)
    assert answer.value == Fraction(13, 3)
    assert (answer.low, answer.high) == (answer.value, answer.value)


def test_a_variance_without_noise_is_the_variance() -> None:
    variance = _statistic(variance="x", bounds=[0, 10], resolution=0.5)
    deviations = [int(v * 2) - 10 for v in (0.5, 3.0, 9.5)]
    noisy = {
        "count": _exact([3]),
        "sum": _exact([sum(deviations)]),
        "squares": _exact([sum(d * d for d in deviations)]),
    }
    ((answer,),) = variance.rows(noisy, 0.95)
    assert answer.value is not None
    assert float(answer.value) == pytest.approx(plain.pvariance([0.5, 3.0, 9.5]))


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    st.lists(st.integers(0, 20), min_size=0, max_size=30),
    st.integers(-40, 40),
    st.integers(-300, 300),
    st.integers(-3000, 3000),
)
def test_intervals_hold_whenever_the_noise_stays_within_its_width(
    values: list[int], n1: int, n2: int, n3: int
) -> None:
    """If no call is off by more than its half width, the interval holds the true mean, variance."""
    deviations = [v - 10 for v in values]
    truth = {
        "count": len(values),
        "sum": sum(deviations),
        "squares": sum(d * d for d in deviations),
    }
    noise = {"count": n1, "sum": n2, "squares": n3}
    noisy = {name: Noisy([truth[name] + noise[name]], abs(noise[name]), 1.0) for name in truth}
    for kind, true in (("mean", plain.fmean), ("variance", plain.pvariance)):
        statistic = _statistic(**{kind: "x"}, bounds=[0, 20], resolution=1)
        ((answer,),) = statistic.rows(noisy, 0.95)
        assert answer.low is not None
        assert answer.high is not None
        assert answer.value is not None
        assert answer.low <= answer.high
        assert 0 <= answer.value <= (20 if kind == "mean" else 100)
        if values:
            assert float(answer.low) - 1e-9 <= true(values) <= float(answer.high) + 1e-9


def test_a_sum_is_an_exact_multiple_of_its_resolution() -> None:
    total = _statistic(sum="x", bounds=[0, 500], resolution=0.01)
    ((answer,),) = total.rows({"sum": Noisy([12_345_678_901_234_567], 7, 1.0)}, 0.95)
    assert answer.value is not None
    assert decimal_text(answer.value) == "123456789012345.67"
    assert answer.low == answer.value - Fraction(7, 100)


def test_a_histogram_names_its_bins() -> None:
    histogram = _statistic(histogram="x", edges=[0, 1, 2.5])
    ((first, second),) = histogram.rows({"count": Noisy([3, 4], 1, 1.0)}, 0.95)
    assert (first.labels, second.labels) == (("[0, 1)",), ("[1, 2.5]",))
    assert (first.value, second.value) == (3, 4)
    assert histogram.parts(ONE)[0].l1 == 1


def test_randomized_answers_give_back_what_was_true() -> None:
    """Without chance: 100 people, 30 yes, π = 3/4 → 0.75·30 + 0.25·70 = 40 say yes."""
    asked = _statistic(randomized="a", answers=["yes", "no"], keep=0.75)
    ((yes, no),) = asked.rows({"count": _exact([40, 60])}, 0.95)
    assert (yes.value, no.value) == (30, 70)
    assert yes.low is not None
    assert yes.high is not None
    assert yes.high - 30 == 30 - yes.low
    assert float(yes.high - 30) == pytest.approx((1.959964 * math.sqrt(25) + 0.5) / 0.5, rel=1e-5)


def test_the_interval_of_randomized_answers_holds_as_often_as_it_says() -> None:
    """500 surveys of 400 people with three answers: at level 0.9 the interval misses at most 10 %.

    Misses are at most Bin(500, 0.1) if it is conservative: above 100 with probability < 1e-11.
    """
    coin = random.Random(3)  # noqa: S311
    asked = _statistic(randomized="a", answers=["x", "y", "z"], keep=0.6)
    missed = 0
    for _ in range(500):
        given = [0, 0, 0]
        for person in range(400):
            true = 0 if person < 120 else 1
            said = true if coin.random() < 0.6 else coin.choice([a for a in range(3) if a != true])
            given[said] += 1
        ((first, *_),) = asked.rows({"count": _exact(given)}, 0.9)
        assert first.low is not None
        assert first.high is not None
        missed += not first.low <= 120 <= first.high
    assert missed <= 100


@pytest.mark.parametrize("interval", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("law", [Geometric.of_scale(0.3), DiscreteGaussian.of_scale(0.6)])
@pytest.mark.parametrize("keep", [0.55, 0.7, 0.98])
def test_the_interval_of_few_randomized_answers_covers_by_enumeration(
    interval: float, law: WholeNoise, keep: float
) -> None:
    """All coins and all noise above 1e-6, for 0 to 14 people and every share of them.

    The normal interval covered 86 % of one person's answers for a stated 95 %.
    """
    asked = _statistic(randomized="a", answers=["x", "y"], keep=keep)
    noise = [(n, math.exp(law.log_density(n))) for n in range(-12, 13)]
    noise = [(n, p) for n, p in noise if p > 1e-6]
    both = [(n, m, p * q) for (n, p), (m, q) in product(noise, noise)]
    for people in (0, 1, 2, 5, 14):
        given = [(a + n, people - a + m) for a in range(people + 1) for n, m, _ in both]
        values = Noisy([number for pair in given for number in pair], 0, law.sd or 0.0, law)
        ends = [(one[0].low, one[0].high) for one in asked.rows({"count": values}, interval)]
        for true in {0, people // 2, people}:
            said = np.array([1.0])
            for chance in [keep] * true + [1 - keep] * (people - true):
                said = np.convolve(said, [1 - chance, chance])
            likely = [coins * p for coins in said for _, _, p in both]
            covered = sum(
                p for p, (low, high) in zip(likely, ends, strict=True) if low <= true <= high
            )
            assert covered >= interval - 1e-4


def test_what_keep_means_is_said_and_how_the_other_reading_is_written() -> None:
    """Kept with 0.7 and else any of three answers: an answer is true with 0.7 + 0.3/3 = 0.8."""
    asked = _statistic(randomized="a", answers=["x", "y", "z"], keep=0.7, name="a")
    said = str(asked.note(ONE))
    assert "each of the 2 others with probability 0.15" in said
    assert "write keep: 0.8," in said
    assert "replaced by one of the others" in asked.explain()
    two = _statistic(randomized="a", answers=["x", "y"], keep=0.5 + 0.5 / 2)
    assert "and the other one with" in str(two.note(ONE))


def _quantile_scores(at: float, counts: list[int]) -> list[int]:
    statistic = _statistic(quantile="x", at=at, bounds=[0, len(counts) - 1], resolution=1)
    name = statistic.name
    return statistic.scores("choice", {f"{name}/choice": [counts]})[0]


def test_the_best_score_is_the_quantile() -> None:
    counts = [0, 5, 0, 1, 4, 0]
    # Five of ten lie at 1: 1, 2 and 3 are medians, each as good as the others.
    assert _quantile_scores(0.5, counts) == [-10, 0, 0, 0, -2, -10]
    assert _quantile_scores(0.9, counts)[4] == 0


def test_a_median_among_ties_is_the_median() -> None:
    """6,400 zeros and 3,600 hundreds: the median is 0, and nothing else is near."""
    counts = [6_400, *[0] * 99, 3_600]
    scores = _quantile_scores(0.5, counts)
    assert scores[0] == 0
    assert max(scores[1:]) == -2 * 1_400  # 1,400 ranks off


def _ranks_off(values: tuple[int, ...], c: int, share: Fraction) -> Fraction:
    """How many ranks c is from the share, by definition: over all ranks that c may take."""
    below, upto = sum(v < c for v in values), sum(v <= c for v in values)
    target = share * len(values)
    if below <= target <= upto:
        return Fraction(0)
    return min(abs(target - below), abs(target - upto))


@pytest.mark.parametrize("at", [0.5, 0.25, 0.9, 1 / 3])
def test_scores_are_ranks_on_all_small_data_and_move_by_no_more_than_is_said(at: float) -> None:
    """All data of up to five values among four: every row added, every pair of rows replaced."""
    share, candidates = Fraction(repr(at)), range(4)
    a, b = share.as_integer_ratio()

    @cache
    def counted(*counts: int) -> list[int]:
        return _quantile_scores(at, list(counts))

    def scores(values: tuple[int, ...]) -> list[int]:
        return counted(*(values.count(c) for c in candidates))

    def moved(x: tuple[int, ...], y: tuple[int, ...]) -> int:
        return max(abs(p - q) for p, q in zip(scores(x), scores(y), strict=True))

    added = replaced = 0
    for size in range(5):
        for values in combinations_with_replacement(candidates, size):
            assert [-b * _ranks_off(values, c, share) for c in candidates] == scores(values)
            assert max(scores(values)) == 0
            for rows in combinations_with_replacement(candidates, 2):
                added = max(added, moved(values, (*values, rows[0])))
                assert moved(values, (*values, *rows)) <= 2 * max(a, b - a)
                replaced = max(replaced, moved((*values, rows[0]), (*values, rows[1])))
                for others in product(candidates, repeat=2):  # two rows against none, one or two
                    for k in range(3):
                        assert moved((*values, *rows), (*values, *others[:k])) <= 2 * b
    assert (added, replaced) == (max(a, b - a), b)
    assert _choice(at).l1 == 2 * max(a, b - a)
    assert _choice(at, adjacency="replace").l1 == 2 * b
    # With groups the rows taken away may lie elsewhere than those that come.
    assert _choice(at, adjacency="replace", by=["g"], keys={"g": ["x"]}).l1 == 4 * max(a, b - a)


def _choice(at: float, adjacency: str = "add-remove", **keys: Any) -> Part:
    asked = _statistic(quantile="x", at=at, bounds=[0, 3], resolution=1, **keys)
    grouped = bool(keys)
    (part,) = asked.parts(Contribution.of(1, 1, 1, adjacency=adjacency, grouped=grouped))
    return part


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(
    st.lists(st.integers(0, 6), min_size=4, max_size=8),
    st.integers(0, 7),
    st.sampled_from([0.5, 0.25, 0.9, 0.01]),
)
def test_one_row_moves_a_quantile_score_by_no_more_than_is_said(
    counts: list[int], place: int, at: float
) -> None:
    more = list(counts)
    more[place % len(counts)] += 1
    share = Fraction(repr(at))
    size = max(share.numerator, share.denominator - share.numerator)
    before, after = _quantile_scores(at, counts), _quantile_scores(at, more)
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= size
    part = _statistic(quantile="x", at=at, bounds=[0, 3], resolution=1).parts(ONE)[0]
    assert part.l1 == 2 * size


def _auction() -> Statistic:
    return _statistic(
        best="price",
        score="revenue",
        of="bid",
        cap=100,
        candidates={"from": 0, "to": 100, "step": 0.01},
    )


def test_the_pumpkin_auction_of_four_bidders() -> None:
    """Bids of 1, 1, 1 and 3: revenue is 4 at 1.00, 0.03 more than nothing at 3.01."""
    auction = _auction()
    tally = [0] * 10_001
    tally[100], tally[300] = 3, 1
    (scores,) = auction.scores("choice", {f"{auction.name}/choice": [tally]})
    assert (scores[100], scores[101], scores[300], scores[301]) == (400, 101, 300, 0)
    part = auction.parts(ONE)[0]
    # One bid of at most 100 changes the revenue by at most 100.00, and only upward.
    assert (part.l1, part.l2_squared) == (10_000, 10_000**2 / 4)
    ((answer,),) = auction.rows({"choice": Noisy([100], 0, 0.0)}, 0.95)
    assert answer.value == 1


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(st.lists(st.integers(0, 3), min_size=11, max_size=11), st.integers(0, 10))
def test_one_bid_only_raises_revenue_and_by_no_more_than_the_top_price(
    tally: list[int], place: int
) -> None:
    auction = _statistic(
        best="price",
        score="revenue",
        of="bid",
        cap=10,
        candidates={"from": 0, "to": 10, "step": 1},
    )
    name = f"{auction.name}/choice"
    more = list(tally)
    more[place] += 1
    (before,), (after,) = (auction.scores("choice", {name: [t]}) for t in (tally, more))
    change = [b - a for a, b in zip(before, after, strict=True)]
    assert min(change) >= 0
    assert max(change) <= auction.parts(ONE)[0].l1


BAD = [
    ({"sum": "x", "bounds": [0, 1e18], "resolution": 0.01}, "2\\^52"),
    ({"sum": "x", "bounds": [0.1, 0.2], "resolution": 1}, "no multiple"),
    ({"variance": "x", "bounds": [0, 1e8], "resolution": 0.001}, "squares would overflow"),
    ({"quantile": "x", "at": 0.5, "bounds": [0, 1e6], "resolution": 1}, "at most 10,001"),
    (
        {"best": "p", "score": "revenue", "of": "b", "cap": 5, "candidates": [1.0, 9.0]},
        "the cap",
    ),
    (
        {
            "best": "p",
            "score": "revenue",
            "of": "b",
            "cap": 5,
            "candidates": {"from": 0, "to": 5, "step": 1e-9},
        },
        "between 2 and",
    ),
]


@pytest.mark.parametrize(("entry", "said"), BAD, ids=[said for _, said in BAD])
def test_what_would_overflow_is_refused(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        _statistic(**entry).parts(ONE)


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(st.fractions(), st.sampled_from([-1, 0, 1]))
def test_printed_values_are_near_and_on_their_side(value: Fraction, side: int) -> None:
    printed = Fraction(decimal_text(value, side))
    assert abs(printed - value) <= abs(value) / 10**5
    assert side * (printed - value) >= 0


def test_a_new_column_that_differs_from_row_to_row_is_printed_for_each() -> None:
    rows = plain_rows(Noisy([3, 5, 7], 2, 1.0))
    assert NumberColumn("new", "value.numerator").printed_of(rows) == ["3", "5", "7"]


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(
    st.lists(st.integers(-(10**20), 10**20) | st.integers(-1100, 1100), max_size=6),
    st.integers(0, 500),
    st.fractions(min_value=Fraction(1, 10**9), max_value=1000)
    | st.sampled_from(
        [Fraction(1), Fraction(1, 100), Fraction(1, 8), Fraction(25, 10), Fraction(10)]
    ),
)
def test_rows_that_are_not_made_are_printed_as_those_that_are(
    values: list[int], width: int, step: Fraction
) -> None:
    rows = plain_rows(Noisy(values, width, 1.7), step)
    cells = KeySet(("g",), tuple((str(i),) for i in range(len(values))))
    listed = Result("s", cells, (), [list(cell) for cell in rows])
    assert table_of([Result("s", cells, (), rows)], ["g", "h"]) == table_of([listed], ["g", "h"])
    assert [answer.value for (answer,) in rows] == [value * step for value in values]
    assert rows[1:] == list(rows)[1:]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 0.98, 1.0])
@pytest.mark.parametrize("size", [100, 1000])
def test_the_error_foretold_of_a_mean_holds_wherever_the_mean_is(size: int, share: float) -> None:
    """Summed over both noises: as rarely beyond what is foretold as the interval says."""
    mean = _statistic(mean="x", bounds=[0, 200], resolution=1)
    asked = [Asked("m", part, Fraction(1)) for part in mean.parts(ONE)]
    calls = {call.asked.part.name: call for call in price(asked, PureDP(0.5), "geometric").calls}
    (foretold,) = (
        one["half_width"]
        for one in mean.accuracy_by_size(calls, 0.95)["assumed"]
        if one["rows"] == size
    )
    off, total = int(share * 100), 0.0  # of the mean, from the middle of the bounds
    falls = {name: math.exp(-1 / call.scale) for name, call in calls.items()}
    for e in range(-400, 401):  # the noise of the count
        chance = (1 - falls["count"]) / (1 + falls["count"]) * falls["count"] ** abs(e)
        beyond = 1.0
        if size + e > 0:  # (off·n + s)/(n + e), cut to the bounds, is farther off than foretold
            high = (off + foretold) * (size + e) - off * size if off + foretold < 100 else math.inf
            low = (off - foretold) * (size + e) - off * size if off - foretold > -100 else -math.inf
            beyond = sum(
                falls["sum"] ** max(0, math.floor(x) + 1) / (1 + falls["sum"])
                if x >= 0
                else 1 - falls["sum"] ** math.ceil(-x) / (1 + falls["sum"])
                for x in (high, -low)
                if x < math.inf
            )
        total += chance * min(beyond, 1.0)
    assert total <= 0.05


def _foretold(asked: Statistic, budget: Guarantee, interval: float) -> dict[str, Any]:
    parts = [Asked("m", part, Fraction(1)) for part in asked.parts(ONE)]
    calls = {call.asked.part.name: call for call in price(parts, budget, "auto").calls}
    return asked.accuracy_by_size(calls, interval) | {"calls": calls}


@pytest.mark.parametrize("bounds", [[1, 5], [0, 1], [0, 3]])
@pytest.mark.parametrize("budget", [PureDP(0.8), PureDP(3.0), PureDP(12.0), ZCDP(0.2), ZCDP(4.0)])
@pytest.mark.parametrize("interval", [0.8, 0.95])
def test_the_error_foretold_of_a_mean_is_the_quantile_at_the_worst_mean(
    bounds: list[int], budget: Guarantee, interval: float
) -> None:
    """By enumeration of both noises: every mean of 10 rows, and the worst ones of larger groups."""
    mean: Any = _statistic(mean="x", bounds=bounds, resolution=1)
    said = _foretold(mean, budget, interval)
    reach, step, calls = mean.reach, float(mean.step), said["calls"]
    (s, p), (c, q) = (
        (np.arange(-far, far + 1), np.exp([call.law.log_density(x) for x in range(-far, far + 1)]))
        for call in (calls["sum"], calls["count"])
        for far in (math.ceil(14 * call.sd) + 2,)
    )
    chances = np.outer(p, q).ravel()
    for one in said["assumed"]:
        size, foretold, worst = one["rows"], one["half_width"] / step, 0.0
        near = {round((reach - k * foretold) * size) for k in (0, 0.5, 0.9, 1, 1.1, 1.5)}
        for total in range(reach * size + 1) if size == 10 else {0, *near}:
            made = (total + s[:, None]) / np.maximum(size + c[None, :], 1)
            off = np.abs(np.clip(made, -reach, reach) - total / size).ravel()
            assert chances[off > foretold * (1 + 1e-12)].sum() <= 1 - interval + 1e-8
            order = np.argsort(off)
            place = np.searchsorted(np.cumsum(chances[order]), interval - 1e-8)
            worst = max(worst, float(off[order][place]))
        if size == 1000 and calls["count"].sd > 3:
            assert foretold <= 1.1 * worst


@pytest.mark.parametrize("interval", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("law", [Geometric, DiscreteGaussian])
@pytest.mark.parametrize("bounds", [[0, 1], [1, 5], [0, 6]])
@pytest.mark.parametrize("scale", [0.4, 1.2])
def test_the_interval_of_a_mean_covers_by_enumeration(
    interval: float, law: type[WholeNoise], bounds: list[int], scale: float
) -> None:
    """Over the noise of both, whatever the mean; and it is narrower than both noises one by one."""
    mean: Any = _statistic(mean="x", bounds=bounds, resolution=1)
    noise = {"count": law.of_scale(scale), "sum": law.of_scale(scale * mean.reach)}
    drawn = {}
    for name, one in noise.items():
        far = one.covers(0.9999)
        drawn[name] = [(n, math.exp(one.log_density(n))) for n in range(-far, far + 1)]
    both = [(m, s, p * q) for (m, p), (s, q) in product(drawn["count"], drawn["sum"])]

    def ends(size: int, total: int, *, together: bool) -> list[Answer]:
        noisy = {
            name: Noisy(
                [of + pair[place] for pair in both],
                noise[name].covers(1 - (1 - interval) / 2),
                noise[name].sd or 0.0,
                noise[name] if together else None,
            )
            for place, (name, of) in enumerate([("count", size), ("sum", total)])
        }
        return [one[0] for one in mean.rows(noisy, interval)]

    for size in (1, 4, 60):
        for total in {0, size * mean.reach // 3, -size * mean.reach}:
            true = mean.middle + Fraction(total, size) * mean.step
            known = list(zip(ends(size, total, together=True), both, strict=True))
            apart = ends(size, total, together=False)
            covered = sum(pair[2] for one, pair in known if one.low <= true <= one.high)
            assert covered >= interval - 3e-4
            for (one, _), wider in zip(known, apart, strict=True):
                assert wider.low <= one.low <= one.value <= one.high <= wider.high


@pytest.mark.parametrize("kind", ["mean", "variance"])
@pytest.mark.parametrize("together", [True, False])
@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(st.integers(-30, 60), st.integers(-3000, 3000), st.integers(-3000, 3000))
def test_noise_beyond_what_the_bounds_allow_never_looks_exact(
    kind: str, together: bool, count: int, total: int, squares: int
) -> None:
    """A mean of five rows was published as −30, with an interval from −30 to −30."""
    asked = _statistic(**{kind: "x"}, bounds=[-30, 30], resolution=1)
    noisy = {
        name: Noisy([value], half, 7.0, Geometric.of_scale(5.0) if together else None)
        for name, value, half in (("count", count, 8), ("sum", total, 40), ("squares", squares, 90))
    }
    ((answer,),) = asked.rows(noisy, 0.95)
    most = 60 if kind == "mean" else 900
    assert answer.low <= answer.value <= answer.high
    assert answer.high - answer.low >= min(Fraction(most), Fraction(15, max(count, 1)))


def test_a_mean_is_published_about_as_near_as_was_foretold() -> None:
    """The interval of two noises bounded one by one was 1.5 times as wide as the error foretold."""
    mean: Any = _statistic(mean="x", bounds=[0, 20], resolution=0.01)
    parts = [Asked("m", part, Fraction(1)) for part in mean.parts(ONE)]
    calls = {call.asked.part.name: call for call in price(parts, PureDP(0.2), "auto").calls}
    size, total = 3000, -3000 * mean.reach // 3
    noisy = {
        name: Noisy([value], call.half_width(0.975), call.sd, call.law)
        for (name, call), value in zip(calls.items(), (size, total), strict=True)
    }
    ((published,),) = mean.rows(noisy, 0.95)
    assert published.half_width is not None
    assert published.half_width <= mean.off_by(size, calls, 0.95)


def test_the_error_foretold_of_randomized_answers_grows_as_the_root_of_their_number() -> None:
    """It has no bounds, and none are said to be all that is known."""
    asked = _statistic(randomized="a", answers=["x", "y", "z"], keep=0.7)
    said = _foretold(asked, PureDP(1.0), 0.8)
    assert "only_bounds" not in said
    noise = said["calls"]["count"].sd ** 2 * (0.85**2 + 2 * 0.15**2)
    for one in said["assumed"]:
        least = 1.281552 * math.sqrt(one["rows"] / 4 + noise) / 0.55
        assert least <= one["half_width"] <= least + (1.5 if one["rows"] < 1000 else 1.1)
    assert [one["rows"] for one in said["assumed"]] == [10, 100, 1000]


def test_the_error_foretold_of_a_variance_says_that_it_is_the_worst_case() -> None:
    said = _foretold(_statistic(variance="x", bounds=[0, 9], resolution=1), PureDP(9.0), 0.95)
    assert "rows (in the worst case; usually far less)" in accuracy_text(said)
