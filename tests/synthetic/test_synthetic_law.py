"""The synthesizer's ε, against exhaustive enumeration of neighbours and against mpmath."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.synthetic import Synthesizer, prior_weight
from soaking import examples

CHECK = settings(derandomize=True, deadline=None, max_examples=examples(200))


def compositions(total: int, cells: int):
    """All ways to put `total` records into `cells` cells."""
    if cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, cells - 1):
            yield (first, *rest)


def probability(synthetic: tuple[int, ...], x: tuple[int, ...], alpha: Fraction) -> Fraction:
    """P(one ordered file with these counts | x), exactly; the multinomial coefficient cancels."""
    total = sum(x) + len(x) * alpha
    value = Fraction(1)
    for s, count in zip(synthetic, x, strict=True):
        value *= ((count + alpha) / total) ** s
    return value


def worst_ratio(pairs, draws: int, cells: int, alpha: Fraction) -> Fraction:
    files = list(compositions(draws, cells))
    return max(
        probability(file, x, alpha) / probability(file, y, alpha)
        for x, y in pairs
        for file in files
    )


def replace_pairs(n: int, cells: int):
    for x in compositions(n, cells):
        for i, j in product(range(cells), repeat=2):
            if i != j and x[i] > 0:
                y = list(x)
                y[i] -= 1
                y[j] += 1
                yield x, tuple(y)


def add_remove_pairs(n: int, cells: int):
    for x in compositions(n, cells):
        for i in range(cells):
            y = list(x)
            y[i] += 1
            yield x, tuple(y)
            yield tuple(y), x


@pytest.mark.parametrize(("n", "draws", "cells"), [(1, 3, 2), (4, 3, 2), (3, 2, 3), (2, 2, 4)])
@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(2), Fraction(7, 2)])
def test_replace_one_is_exactly_the_bound(n, draws, cells, alpha):
    largest = worst_ratio(replace_pairs(n, cells), draws, cells, alpha)
    assert largest == ((1 + alpha) / alpha) ** draws


@pytest.mark.parametrize(("draws", "cells"), [(3, 2), (2, 3), (2, 4)])
@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(2)])
def test_add_remove_stays_below_the_bound_and_approaches_it(draws, cells, alpha):
    bound = ((1 + alpha) / alpha) ** draws
    ratios = [worst_ratio(add_remove_pairs(n, cells), draws, cells, alpha) for n in range(0, 6)]
    assert all(ratio < bound for ratio in ratios)
    assert ratios == sorted(ratios)
    # Many records elsewhere, none in the cell of the one who joins: the supremum.
    far = (10**9, *(0 for _ in range(cells - 1)))
    joined = (10**9, 1, *(0 for _ in range(cells - 2)))
    file = (0, draws, *(0 for _ in range(cells - 2)))
    nearly = probability(file, joined, alpha) / probability(file, far, alpha)
    assert bound * (1 - Fraction(1, 10**6)) < nearly < bound


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_units_with_several_records_stay_below_the_bound(adjacency):
    cells, draws, most, alpha = 2, 2, 2, Fraction(3, 4)
    bound = ((most + alpha) / alpha) ** draws
    parts = [u for size in range(most + 1) for u in compositions(size, cells)]
    pairs = [
        (tuple(map(sum, zip(b, u, strict=True))), tuple(map(sum, zip(b, v, strict=True))))
        for size in range(4)
        for b in compositions(size, cells)
        for u in parts
        for v in parts
        if adjacency == "replace" or not any(u) or not any(v)
    ]
    largest = worst_ratio(pairs, draws, cells, alpha)
    assert largest == bound if adjacency == "replace" else largest < bound


@pytest.mark.parametrize("copies", [1, 2])
def test_enumerated_loss_of_a_budget_is_at_most_the_budget(copies):
    law = Synthesizer.of(0.7, n_synthetic=2, cells=3, copies=copies)
    largest = worst_ratio(replace_pairs(3, 3), law.draws, 3, law.alpha)
    with mpmath.workdps(50):
        loss = mpmath.log(mpmath.mpf(largest.numerator) / largest.denominator)
        assert loss <= mpmath.mpf(0.7)
        assert loss > mpmath.mpf(0.7) * (1 - mpmath.mpf(10) ** -8)


@CHECK
@given(
    epsilon=st.floats(1e-9, 1e5),
    draws=st.integers(1, 10**7),
    copies=st.integers(1, 20),
    records=st.integers(1, 50),
)
def test_weight_is_on_the_safe_side_and_tight(epsilon, draws, copies, records):
    law = Synthesizer.of(epsilon, n_synthetic=draws, copies=copies, records=records)
    with mpmath.workdps(50):
        alpha = mpmath.mpf(law.alpha.numerator) / law.alpha.denominator
        loss = draws * copies * mpmath.log1p(records / alpha)
        assert loss <= mpmath.mpf(epsilon)
        assert loss <= mpmath.mpf(law.loss) <= mpmath.mpf(epsilon)
        exact = records / mpmath.expm1(mpmath.mpf(epsilon) / (draws * copies))
        assert alpha <= exact * (1 + mpmath.mpf(2) ** -30) + mpmath.mpf(2) ** -31
    assert Synthesizer.from_dict(law.to_dict()) == law


@CHECK
@given(alpha=st.floats(1e-6, 1e6), draws=st.integers(1, 10**6))
def test_cost_of_a_weight_is_rounded_up(alpha, draws):
    law = Synthesizer(math.inf, Fraction(alpha), 2, draws)
    with mpmath.workdps(50):
        assert mpmath.mpf(law.loss) >= draws * mpmath.log1p(1 / mpmath.mpf(alpha))


def test_weight_of_the_paper():
    assert math.isclose(prior_weight(1000, 1000), 1 / (math.e - 1))
    law = Synthesizer.of(1000, n_synthetic=1000)
    assert abs(float(law.alpha) - 0.5819767) < 1e-6


def test_integer_weights_keep_the_ratio_exactly():
    law = Synthesizer.of(3.0, n_synthetic=7, cells=3)
    counts = [0, 5, 12]
    weights = law.integer_weights(counts)
    total = sum(counts) + 3 * law.alpha
    assert [Fraction(w, sum(weights)) for w in weights] == [(x + law.alpha) / total for x in counts]


def test_huge_budget_a_draw_is_kept_finite():
    law = Synthesizer.of(1e9, n_synthetic=1)
    assert law.alpha == Fraction(1, 2**32)
    assert law.loss < 23


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"epsilon": math.nan}, "NaN"),
        ({"epsilon": 0.0}, "above 0"),
        ({"epsilon": math.inf}, "below infinity"),
        ({"epsilon": -1.0}, "0 or more"),
        ({"epsilon": 1e-300}, "overflows"),
        ({"n_synthetic": 0}, "n_synthetic"),
        ({"n_synthetic": 1.5}, "whole"),
        ({"n_synthetic": True}, "whole"),
        ({"n_synthetic": 10**12}, "the most"),
        ({"copies": 0}, "copies"),
        ({"records": 0}, "records"),
        ({"cells": 1}, "one cell"),
    ],
)
def test_bad_input_is_one_clear_sentence(values, words):
    asked = {"epsilon": 1.0, "n_synthetic": 10} | values
    with pytest.raises(InputError, match=words):
        Synthesizer.of(asked.pop("epsilon"), **asked)


def test_a_weight_too_small_for_the_stated_budget_is_refused():
    with pytest.raises(InputError, match="more than"):
        Synthesizer(1.0, Fraction(1, 2), 2, 1)
    with pytest.raises(InputError, match="cannot be read"):
        Synthesizer.from_dict({"epsilon": 1.0})
