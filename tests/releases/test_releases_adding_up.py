"""The estimate of margins against dense least squares, and its adding up, errors and split.

The oracle lists every cell of the finest table and solves the weighted least squares problem with a
dense matrix: it shares no formula with `adding_up`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.geometric import Geometric
from discreet.releases.adding_up import Design, Margin, Spread, Tree, subsets
from discreet.releases.quotients import part
from soaking import LEAST, examples, soaked

MEPS = (6, 5, 7, 6, 6, 8, 2, 2, 2, 2, 2, 2)
"""Categories of the columns of the Medical Expenditure Panel Survey, as `linearmodels` has it."""


def up_to(size: int, sizes: tuple[int, ...]) -> Design:
    names = [f"a{i}" for i in range(len(sizes))]
    sets = [one for many in range(size + 1) for one in combinations(names, many)]
    return Design(dict(zip(names, sizes, strict=True)), tuple(sets))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """No tree, or one of up to three levels; every node above the finest has a node below it."""
    levels = draw(st.integers(0, 3))
    parents: list[NDArray[np.int64]] = []
    above = 1
    for _ in range(levels):
        extra = draw(st.lists(st.integers(0, above - 1), max_size=3))
        order = draw(st.permutations([*range(above), *extra]))
        parents.append(np.array(order, dtype=np.int64))
        above = len(order)
    return Tree(tuple(f"level{k}" for k in range(levels)), tuple(parents))


@st.composite
def designs(draw: st.DrawFn) -> Design:
    names = [f"a{i}" for i in range(draw(st.integers(1, 3)))]
    sizes = {name: draw(st.integers(1, 3)) for name in names}
    tree = draw(trees())
    sets = {()}
    for _ in range(draw(st.integers(1, 3))):
        plain = tuple(name for name in names if draw(st.booleans()))
        level = draw(st.integers(0, len(tree.levels)))
        # With a level all coarser ones are published too.
        for k in range(level + 1):
            sets.add((*tree.levels[k - 1 : k], *plain) if k else plain)
    return Design(sizes, tuple(sorted(sets, key=lambda m: (len(m), m))), tree)


def matrix(design: Design, margin: Margin) -> NDArray[np.float64]:
    """Return the map from the finest table, tree first, to a margin."""
    tree = design.tree
    leaves = tree.nodes(len(tree.levels))
    shape = (leaves, *design.sizes.values())
    size = math.prod(shape)
    rows = np.array(np.unravel_index(np.arange(size), shape))
    level = next((k for k, name in enumerate(tree.levels, 1) if name in margin), 0)
    node = rows[0] * 0 if not level else tree.ancestors(rows[0], level)
    kept = [(node, tree.nodes(level))]
    kept += [(rows[1 + i], n) for i, (name, n) in enumerate(design.sizes.items()) if name in margin]
    places = np.ravel_multi_index([at for at, _ in kept], [n for _, n in kept])
    found = np.zeros((math.prod(n for _, n in kept), size))
    found[places, np.arange(size)] = 1
    return found


def measured(draw: st.DrawFn, design: Design) -> dict[Margin, Spread]:
    """Some of what may be measured, enough to tell all that is published, with its noise."""
    tops = design._tops(design.measurable)
    return {
        margin: Spread(draw(st.floats(0.5, 20)))
        for margin in (*design.measurable, *design.wider)
        if margin in tops or draw(st.booleans())
    }


@settings(derandomize=True, deadline=None, max_examples=examples(400))
@given(st.data())
def test_it_is_the_least_squares_estimate(data: st.DataObject) -> None:
    design = data.draw(designs())
    noise = measured(data.draw, design)
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    tables = {m: chance.integers(-50, 50, design.cells(m)) for m in noise}
    stacked = np.vstack([matrix(design, m) / math.sqrt(s.variance) for m, s in noise.items()])
    seen = np.concatenate([tables[m] / math.sqrt(s.variance) for m, s in noise.items()])
    finest, *_ = np.linalg.lstsq(stacked, seen, rcond=None)
    spread = np.linalg.pinv(stacked.T @ stacked)
    digits = 9
    combined = design.combined(tables, noise, digits)
    errors = design.errors(noise)
    for margin in design.published:
        told = matrix(design, margin)
        assert combined[margin] / 10**digits == pytest.approx(told @ finest, abs=1e-6)
        sd = np.sqrt(np.diag(told @ spread @ told.T)).reshape(len(errors[margin].sd), -1)
        assert sd == pytest.approx(np.broadcast_to(errors[margin].sd[:, None], sd.shape), rel=1e-6)


@settings(derandomize=True, deadline=None, max_examples=examples(400))
@given(st.data())
def test_margins_and_levels_add_up_exactly(data: st.DataObject) -> None:
    design = data.draw(designs())
    noise = measured(data.draw, design)
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    size = data.draw(st.sampled_from([5, 10**6, 2**52]))
    tables = {m: chance.integers(-size, size, design.cells(m)) for m in noise}
    errors = design.errors(noise)
    combined = design.combined(tables, noise, design.digits(errors))
    for fine in design.published:
        for coarse in design.published:
            if set(design.wide(coarse)) <= set(design.wide(fine)):
                assert _summed(design, combined[fine], fine, coarse) == combined[coarse].tolist()


def _summed(design: Design, table: NDArray[np.int64], fine: Margin, coarse: Margin) -> list[int]:
    """Add up a table to a coarser margin, cell by cell, in Python's whole numbers."""
    tree, level = design.tree, design._level(fine)
    total = [0] * design.cells(coarse)
    for place, number in enumerate(table.tolist()):
        node, *at = (int(i) for i in np.unravel_index(place, design.shape(fine)))
        for k in range(level, design._level(coarse), -1):
            node = int(tree.parents[k - 1][node])
        pairs = zip(design._plain(fine), at, strict=True)
        kept = [i for name, i in pairs if name in coarse]
        total[int(np.ravel_multi_index((node, *kept), design.shape(coarse)))] += number
    return total


def test_rounding_moves_no_cell_by_more_than_a_hundredth_of_its_error() -> None:
    design = up_to(2, (6, 5, 7))
    noise = {m: Spread(9.0) for m in design.measurable}
    errors = design.errors(noise)
    chance = np.random.default_rng(5)
    tables = {m: chance.integers(0, 1000, design.cells(m)) for m in noise}
    digits = design.digits(errors)
    near = design.combined(tables, noise, digits)
    exact = design.combined(tables, noise, 12)
    for margin in design.published:
        moved = np.abs(near[margin] / 10**digits - exact[margin] / 10**12).max()
        assert moved <= 0.01 * errors[margin].sd.min() + 1e-9


# ---------------------------------------------------------------------- the tree by itself


def test_three_thousand_counties_in_fifty_states_are_as_precise_as_least_squares() -> None:
    """ε = 1 over three levels; the dense optimum by the normal equations of the 3,000 counties."""
    chance = np.random.default_rng(11)
    states = np.concatenate([np.arange(50), chance.integers(0, 50, 2950)])
    tree = Tree(("state", "county"), (np.zeros(50, dtype=np.int64), states))
    design = Design({}, ((), ("state",), ("county",)), tree)
    shares, *_ = design.split(dict.fromkeys(design.measurable, 1.0), 2)
    noise = {m: Spread.of(Geometric(share)) for m, share in shares.items()}
    found = design.errors(noise)
    precise = np.zeros((3000, 3000))
    for margin, spread in noise.items():
        told = matrix(design, margin)
        # A county has one node of each level: the product is 1 where two share theirs.
        node = told.argmax(axis=0)
        precise += (node[:, None] == node[None, :]) / spread.variance
    for margin in ((), ("state",)):
        told = matrix(design, margin)
        best = np.sqrt((np.linalg.solve(precise, told.T) * told.T).sum(axis=0))
        assert found[margin].sd == pytest.approx(best, rel=1e-6)


# ---------------------------------------------------------------------- intervals


@pytest.mark.parametrize("pure", [True, False])
def test_intervals_cover_in_every_margin(pure: bool) -> None:
    """200 draws at ε = 1 or ρ = 0.5, by a fixed seed.

    A table of 25 cells or more is covered by 94 to 96 %. Of a smaller one 200 draws tell less, so
    it may be off by five standard deviations of as many draws.
    """
    design = up_to(2, MEPS[:7])
    prices = dict.fromkeys(design.measurable, 1.0)
    shares, *_ = design.split(prices, 2 if pure else 1)
    laws = {
        m: Geometric(s) if pure else DiscreteGaussian(math.sqrt(1 / s)) for m, s in shares.items()
    }
    noise = {m: Spread.of(law) for m, law in laws.items()}
    errors = design.errors(noise)
    chance = np.random.default_rng(2024)
    hits: dict[Margin, list[float]] = {m: [] for m in design.published}
    for _ in range(200):
        drawn = {m: sampled(law, design.cells(m), chance) for m, law in laws.items()}
        combined = design.combined(drawn, noise, 6)
        for margin, width in ((m, errors[m].half_width(0.95)) for m in design.published):
            hits[margin].append(float((np.abs(combined[margin] / 1e6) <= width).mean()))
    for margin, covered in hits.items():
        cells = design.cells(margin)
        slack = 0.01 if cells >= 25 else 5 * math.sqrt(0.05 * 0.95 / (200 * math.sqrt(cells)))
        assert 0.95 - slack <= np.mean(covered) <= 0.95 + slack + 0.001, margin


def sampled(
    law: Geometric | DiscreteGaussian, size: int, chance: np.random.Generator
) -> NDArray[np.int64]:
    """Sample the law of the noise by its cumulative probabilities, for a test alone."""
    reach = math.ceil(40 * law.sd) + 2
    steps = np.arange(-reach, reach + 1)
    if isinstance(law, Geometric):
        density = np.exp(-np.abs(steps) * law.epsilon / law.sensitivity)
    else:
        density = np.exp(-(steps**2) / (2 * law.sigma**2))
    return chance.choice(steps, size=size, p=density / density.sum())


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(epsilon=st.floats(0.05, 12), confidence=st.floats(0.8, 0.99), pure=st.booleans())
def test_one_noise_alone_is_covered(epsilon: float, confidence: float, pure: bool) -> None:
    """A margin that is measured and nothing else: its whole numbers show, most of all if few."""
    law = Geometric(epsilon) if pure else DiscreteGaussian(1 / epsilon)
    design = Design({"a": 3}, ((), ("a",)))
    errors = design.errors({("a",): Spread.of(law)})
    width = float(errors[("a",)].half_width(confidence)[0])
    assert law.prob_within(math.floor(width)) >= confidence


@settings(derandomize=True, deadline=None, max_examples=120 if soaked() else LEAST)
@given(data=st.data(), theta=st.floats(0, 1))
def test_the_law_of_a_part_less_its_whole(data: st.DataObject, theta: float) -> None:
    """Its standard deviation is that of dense least squares, and it is bounded for every θ."""
    design = data.draw(designs().filter(lambda d: not d.tree.levels))
    noise = {
        m: Spread.of(Geometric(1 / s.variance)) for m, s in measured(data.draw, design).items()
    }
    stacked = np.vstack([matrix(design, m) / math.sqrt(s.variance) for m, s in noise.items()])
    spread = np.linalg.pinv(stacked.T @ stacked)
    margin = data.draw(st.sampled_from(design.published))
    whole = data.draw(st.sampled_from([m for m in design.published if set(m) <= set(margin)]))
    law = design._law(margin, noise, design._shares(noise), (whole, theta))
    assert law is not None
    told = matrix(design, margin) - theta * matrix(design, whole)[design.inside(whole, margin)]
    sd = np.sqrt(np.abs(np.diag(told @ spread @ told.T)))
    assert sd == pytest.approx(np.full(len(sd), law.sd), rel=1e-6, abs=1e-6)
    bound = design.part_of(margin, whole, noise, 0.9)
    assert law.half_width(0.9) <= bound.at(theta) * (1 + 1e-9) + 0.02 * law.sd


@pytest.mark.parametrize("pure", [True, False])
def test_shares_of_cells_are_covered(pure: bool) -> None:
    """A hundred draws of the shares of a pair among each of its columns, by a fixed seed.

    18 shares a draw that depend on each other: their mean has a standard deviation near 1 %.
    """
    design = up_to(2, (3, 3))
    laws = {m: Geometric(0.5) if pure else DiscreteGaussian(3.0) for m in design.measurable}
    noise = {m: Spread.of(law) for m, law in laws.items()}
    chance = np.random.default_rng(4)
    truth = chance.poisson(30, 9)
    true = {m: matrix(design, m).astype(int) @ truth for m in design.published}
    fine = ("a0", "a1")
    bounds = {m: design.part_of(fine, m, noise, 0.95) for m in (("a0",), ("a1",))}
    covered, widths = [], []
    for _ in range(100):
        drawn = {m: true[m] + sampled(law, design.cells(m), chance) for m, law in laws.items()}
        found = design.combined(drawn, noise, 6)
        for whole, bound in bounds.items():
            for place, at in enumerate(design.inside(whole, fine)):
                above, below = (
                    Fraction(int(found[m][i]), 10**6) for m, i in ((fine, place), (whole, at))
                )
                _, low, high = part(above, below, bound)
                assert 0 <= low <= high <= 1
                covered.append(low <= Fraction(int(truth[place]), int(true[whole][at])) <= high)
                widths.append(float(high - low))
    assert 0.93 <= np.mean(covered) <= 0.98
    # Part and whole by themselves, at half the failure probability each, would give twice as much.
    errors = design.errors(noise)
    apart = errors[fine].half_width(0.975)[0] + errors["a0",].half_width(0.975)[0] / 3
    assert np.mean(widths) < 0.85 * 2 * apart / 90


# ---------------------------------------------------------------------- the split of a budget


def _rmse(design: Design, noise: dict[Margin, Spread]) -> float:
    errors = design.errors(noise)
    total = sum(float((errors[m].sd ** 2).mean()) * design.cells(m) for m in design.published)
    return math.sqrt(total / sum(map(design.cells, design.published)))


@pytest.mark.parametrize(("size", "columns", "most"), [(2, 7, 3.76), (3, 7, 4.535), (2, 12, 5.48)])
def test_errors_of_all_margins_of_a_survey(size: int, columns: int, most: float) -> None:
    design = up_to(size, MEPS[:columns])
    shares, gap, _ = design.split(dict.fromkeys(design.measurable, 1.0), 1)
    assert gap < 1e-5
    noise = {m: Spread(1 / share) for m, share in shares.items()}  # ρ = 0.5
    assert _rmse(design, noise) <= most


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.data())
def test_no_other_split_is_better(data: st.DataObject) -> None:
    """In ρ nothing may beat it; in ε, nothing near it nor a few others."""
    design = data.draw(designs().filter(lambda d: not d.tree.levels))
    prices = {m: data.draw(st.floats(1, 9)) for m in design.measurable}
    chance = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    for power in (1, 2):
        shares, gap, _ = design.split(prices, power)
        assert math.isclose(sum(shares.values()), 1)
        assert gap < 1e-3 if power == 1 else gap == math.inf
        best = _rmse(design, {m: Spread(prices[m] / s**power) for m, s in shares.items()})
        for _ in range(20):
            if power == 1:
                tried = dict(zip(prices, chance.dirichlet(np.ones(len(prices))), strict=True))
            else:
                near = np.array(list(shares.values())) * chance.uniform(0.9, 1.1, len(shares))
                tried = dict(zip(shares, near / near.sum(), strict=True))
            noise = {m: Spread(prices[m] / max(s, 1e-9) ** power) for m, s in tried.items()}
            assert _rmse(design, noise) >= best * (1 - 1e-4)


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.data())
def test_a_wider_set_is_measured_only_where_that_errs_less(data: st.DataObject) -> None:
    """By the errors of all published cells; every published margin stays told."""
    design = data.draw(designs())
    listed = dict.fromkeys(design.measurable, 1.0)
    errs = []
    for prices in (listed, listed | dict.fromkeys(design.wider, 1.0)):
        shares, _, off = design.split(prices, 2)
        noise = {m: Spread(1 / s**2) for m, s in shares.items()}
        assert set(design.errors(noise)) == set(design.published)
        errs.append(off)
        if not design.tree.levels:
            cells = sum(map(design.cells, design.published))
            assert off / cells == pytest.approx(_rmse(design, noise) ** 2, rel=1e-6)
    assert errs[1] <= errs[0] * (1 + 1e-3)
    wide = [set(design.wide(m)) for m in design.measurable]
    for margin in design.wider:
        assert not any(set(design.wide(margin)) <= one for one in wide)


@pytest.mark.parametrize(
    ("sizes", "most", "by"),
    [((2, 2, 2, 2, 2, 10), 6, 1.36), ((3,) * 8, 4, 1.48), ((4,) * 8, 4, 1.26), ((10,) * 6, 2, 1)],
)
def test_a_few_wide_tables_err_less_in_epsilon(
    sizes: tuple[int, ...], most: int, by: float
) -> None:
    """All pairs of columns: of the table of all of them, or of blocks of some, and not in ρ."""
    design = up_to(2, sizes)
    listed = dict.fromkeys(design.measurable, 1.0)
    both = listed | dict.fromkeys(design.wider, 1.0)
    shares, _, off = design.split(both, 2)
    assert max(map(len, shares)) == most
    assert math.sqrt(design.split(listed, 2)[2] / off) >= by
    assert design.split(both, 1)[2] >= design.split(listed, 1)[2] * 0.98


def test_a_table_that_nobody_asked_for_is_not_measured_if_it_is_large() -> None:
    design = up_to(1, (400, 300))
    assert design.wider == ()
    assert up_to(1, (40, 30)).wider == (("a0", "a1"),)


def test_weights_move_the_budget() -> None:
    plain = up_to(2, (4, 3, 2))
    heavy = Design(plain.sizes, plain.published, weights={("a1", "a2"): 50.0})
    prices = dict.fromkeys(plain.measurable, 1.0)
    found = []
    for design in (plain, heavy):
        shares, *_ = design.split(prices, 1)
        noise = {m: Spread(1 / share) for m, share in shares.items()}
        found.append(float(design.errors(noise)["a1", "a2"].sd[0]))
    assert found[1] < 0.8 * found[0]


def test_what_is_spread_over_others_is_exact() -> None:
    """Σ over a margin of the whole numbers over 10^k, as decimals, is its total's decimal."""
    design = up_to(1, (7, 3))
    tables = {m: np.arange(design.cells(m)) for m in design.measurable}
    noise = {m: Spread(2.0) for m in tables}
    digits = design.digits(design.errors(noise))
    combined = design.combined(tables, noise, digits)
    whole = Fraction(int(combined[()][0]), 10**digits)
    for margin in (("a0",), ("a1",)):
        assert sum(Fraction(int(n), 10**digits) for n in combined[margin]) == whole
    assert subsets(("a", "b")) == [(), ("a",), ("b",), ("a", "b")]
