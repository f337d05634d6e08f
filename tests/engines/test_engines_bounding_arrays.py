"""What Spark's Python workers run, as plain functions: against a count by hand, and by itself."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.releases.engines import bounding_arrays
from discreet.releases.engines.bounding import PRIORITY
from discreet.releases.engines.bounding_arrays import (
    first_of_units,
    least,
    looking_back,
    parted,
)
from soaking import examples

WHOLE = np.iinfo(np.int64)
ENDS = (WHOLE.min, WHOLE.min + 1, -1, 0, 1, WHOLE.max - 1, WHOLE.max)
wide = st.integers(int(WHOLE.min), int(WHOLE.max))
near = st.integers(-3, 3)
ends = st.sampled_from([int(end) for end in ENDS])
rows_of_units = st.one_of(
    *(
        st.lists(st.tuples(units, ranks), min_size=1, max_size=60)
        for units in (near, wide, ends)
        for ranks in (near, wide, ends)
    )
)


def _by_hand(rows: Sequence[tuple[Any, int]], most: int) -> list[int]:
    ranks: dict[Any, list[int]] = defaultdict(list)
    for unit, rank in rows:
        ranks[unit].append(rank)
    return sorted(rank for of_unit in ranks.values() for rank in sorted(of_unit)[:most])


def _columns(rows: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    units, ranks = zip(*rows, strict=True)
    return np.array(units, np.int64), np.array(ranks, np.int64)


@settings(derandomize=True, deadline=None, max_examples=examples(400))
@given(rows_of_units, st.integers(1, 8))
@example([(7, rank) for rank in range(50, 0, -1)], 3)  # one unit has everything
@example([(unit, 0) for unit in range(9)], 2)  # all ranks are the same
@example([(-1, 4), (-1, 4), (-1, 4), (-2, 4)], 2)  # ties within a unit
@example([(5, 2), (6, 1)], 90)  # more than there are
@example([(int(WHOLE.min), int(WHOLE.max)), (int(WHOLE.max), int(WHOLE.min))] * 3, 2)
def test_each_unit_keeps_its_least(rows: list[tuple[int, int]], most: int) -> None:
    assert sorted(least(*_columns(rows), most).tolist()) == _by_hand(rows, most)


@pytest.mark.parametrize("spread", [1, 2**20, 2**40])
@pytest.mark.parametrize("finest", [2**6, 2**40, 2**62])
def test_many_rows_of_units_near_and_far_apart(spread: int, finest: int) -> None:
    """Enough rows that ranks lose their lower bits in the key, and some then tie in it.

    Sorted by pairs, which is what the key replaces.
    """
    draw = np.random.default_rng(20261116)
    count, most = 60_000, 4
    units = draw.integers(-3_000, 3_000, count) * spread
    units[: count // 3] = 17 * spread  # one has a third of all
    ranks = draw.integers(-finest, finest, count) + (draw.integers(0, 2, count) << 40)
    order = np.lexsort((ranks, units))
    of, sorted_ = units[order], ranks[order]
    before = np.r_[np.ones(most, bool), of[most:] != of[:-most]]
    assert sorted(least(units, ranks, most).tolist()) == sorted(sorted_[before].tolist())


keyed = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 7), st.integers(0, 3)), min_size=1, max_size=60
)


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(keyed, st.integers(1, 8), st.integers(1, 9))
@example([(1, 0, n % 4) for n in range(40)], 3, 7)  # one unit goes on over many batches
@example([(n, 0, 0) for n in range(6)], 1, 1)
def test_the_first_keys_of_each_unit_are_kept(
    rows: list[tuple[int, int, int]], most: int, batch: int
) -> None:
    """Unit, priority and payload in one key. Rows of one priority at the limit may stand for each
    other; all that is better than them is kept, and nothing that is worse."""
    keys = np.array([unit << 5 | rank << 2 | rest for unit, rank, rest in rows], np.int64)
    kept = np.concatenate([*first_of_units(keys, most, 5, 2, batch=batch)]).tolist()
    assert not Counter(kept) - Counter(keys.tolist())
    found = [(key >> 5, key >> 2 & 7) for key in kept]
    for unit in {row[0] for row in rows}:
        ranks = sorted(rank for who, rank, _ in rows if who == unit)
        assert sorted(rank for who, rank in found if who == unit) == ranks[:most]


def test_lots_are_drawn_among_all_rows_of_one_priority() -> None:
    """3,000 units with 7 rows, of which 2 are kept: the first for sure, and one of five that tie.

    Each of the five is kept Bin(3000, 1/5) times, sd 21.9; five beyond 150 (6.8 sd): below 1e-10.
    """
    ranks = [0, 1, 1, 1, 1, 1, 2]
    keys = np.array([u << 8 | r << 3 | i for u in range(3_000) for i, r in enumerate(ranks)])
    kept = np.concatenate([*first_of_units(keys, 2, 8, 3)])
    counts = np.bincount(kept & 7, minlength=7)
    assert counts[0] == 3_000
    assert counts[6] == 0
    assert (abs(counts[1:6] - 600) < 150).all()


def _batch(rows: list[tuple[Any, int]], places: int, dtype: pa.DataType) -> pa.RecordBatch:
    """Rows of units and ranks; of texts with the place that Spark gives, any function of them."""
    arrays = [
        pa.array([unit for unit, _ in rows], dtype),
        pa.array([rank for _, rank in rows], pa.int64()),
        pa.array([hash(unit) % places for unit, _ in rows], pa.int32()),
    ]
    names = ["unit", "rank", "place"]
    count = 2 if pa.types.is_integer(dtype) else 3
    return pa.RecordBatch.from_arrays(arrays[:count], names[:count])


def _kept(
    batches: list[pa.RecordBatch], places: int, most: int, *, texts: bool, **limit: int
) -> list[int]:
    blocks = list(parted(places, **limit)(iter(batches)))
    kept: list[int] = []
    for place in range(places):
        mine = [block.filter(pa.array(np.equal(block["place"], place))) for block in blocks]
        for batch in looking_back(most, texts=texts)(iter(mine)):
            assert batch.schema.names == [PRIORITY]
            kept += batch[PRIORITY].to_pylist()
    return sorted(kept)


places_of = st.sampled_from([1, 2, 7, 300])
whole_units = st.integers(-100, 100)
# Texts that begin or end alike, of no length, with a zero, and outside ASCII.
text_units = st.sampled_from(["", "a", "ab", "b", "a\0", "\0", "ä", "aä", "x" * 70, "x" * 71])


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.lists(st.lists(st.tuples(whole_units, wide), max_size=30), min_size=1), places_of)
def test_a_whole_numbered_unit_loses_nothing(
    batches: list[list[tuple[int, int]]], places: int
) -> None:
    given_batches = [_batch(rows, places, pa.int64()) for rows in batches]
    rows = [row for batch in batches for row in batch]
    assert _kept(given_batches, places, 2, texts=False) == _by_hand(rows, 2)


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    st.lists(st.lists(st.tuples(text_units, wide), max_size=30), min_size=1),
    places_of,
    st.sampled_from([pa.string(), pa.large_string()]),
)
@example([[("", 1)], [], [("", 2), ("a", 3)]], 1, pa.string())
def test_a_unit_that_is_a_text_loses_nothing_and_is_no_other(
    batches: list[list[tuple[str, int]]], places: int, dtype: pa.DataType
) -> None:
    """Also where all units come to one place, in any number of batches."""
    given_batches = [_batch(rows, places, dtype) for rows in batches]
    rows = [row for batch in batches for row in batch]
    for limit in ({}, {"size": 100}, {"size": 1}):
        assert _kept(given_batches, places, 2, texts=True, **limit) == _by_hand(rows, 2)


def test_a_batch_with_long_texts_is_taken_in_parts_with_numbers_of_their_own() -> None:
    """As one, its blocks would pass the 2 GB of a column, after the charge."""
    rows = [(f"unit {n}" * 10, n) for n in range(64)]
    blocks = list(parted(2, size=1000)(iter([_batch(rows, 2, pa.string())] * 2)))
    assert len(blocks) > 8
    assert all(max(column.nbytes for column in block.columns) < 2000 for block in blocks)
    assert [number for block in blocks for number in set(block["number"].to_pylist())] == list(
        range(len(blocks))
    )


WIDTH = 13


def _drawn(
    units: Sequence[Any], places: int, most: int, secret: int = 5, step: int = 40
) -> list[list[int]]:
    """The payloads that are kept at each place, where each row carries its number; blocks arrive
    in an order that is shuffled."""
    texts = isinstance(units[0], str)
    kind = pa.string() if texts else pa.int32() if max(units) < 2**31 else pa.int64()
    batches = []
    for at in range(0, len(units), step):
        some = list(enumerate(units))[at : at + step]
        batch = _batch([(unit, number) for number, unit in some], places, kind)
        batches.append(batch.set_column(1, "rank", batch["rank"].cast(pa.int32())))
    blocks = list(parted(places)(iter(batches)))
    kept = []
    keep = looking_back(most, texts=texts, narrow=kind == pa.int32(), drawn=(secret, WIDTH))
    for place in range(places):
        mine = [block.filter(pa.array(np.equal(block["place"], place))) for block in blocks]
        np.random.default_rng().shuffle(mine)
        ranks = [rank for batch in keep(iter(mine)) for rank in batch[PRIORITY].to_pylist()]
        kept.append([(rank ^ (rank >> WIDTH)) & ((1 << WIDTH) - 1) for rank in ranks])
    return kept


@pytest.mark.parametrize("spread", [1, 2**40, "text"])
@pytest.mark.parametrize("places", [1, 4])
def test_priorities_drawn_in_a_worker_keep_that_many_of_each(
    spread: int | str, places: int
) -> None:
    """Also of units so far apart that no room is left beside them. A task that runs again keeps
    the same rows, in whatever order blocks arrive; another secret keeps others."""
    chance = np.random.default_rng(3)
    numbers = [int(n) for n in chance.integers(0, 500, 4_000)]
    units = [f"ünit {n}" if spread == "text" else n * int(spread) for n in numbers]
    whole = _drawn(units, places, 100)
    assert sorted(n for place in whole for n in place) == list(range(len(units)))
    kept = _drawn(units, places, 3)
    sizes = Counter(units)
    found = Counter(units[n] for place in kept for n in place)
    assert found == {unit: min(3, size) for unit, size in sizes.items()}
    assert [sorted(place) for place in _drawn(units, places, 3)] == [sorted(p) for p in kept]
    assert [sorted(place) for place in _drawn(units, places, 3, secret=6)] != [
        sorted(p) for p in kept
    ]


@pytest.mark.parametrize("spread", [1, 2**38, 2**42])
def test_every_row_of_a_unit_is_as_likely_to_be_kept(
    spread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 units with four rows, of which one is kept. Beside units of 49 bits there is one bit
    of priority, and most of them tie; beside those of 53 there is none.

    Each place in a unit is kept Bin(2000, 1/4) times, sd 19.4; one beyond 130 (6.7 sd): below 1e-9.
    """
    monkeypatch.setattr(bounding_arrays, "LEAST_PRIORITY", 1)
    units = [unit * spread for unit in range(2_000)] * 4
    kept = [n for place in _drawn(units, 1, 1, secrets.randbits(128), 500) for n in place]
    counts = Counter(n // 2_000 for n in kept)
    assert all(abs(counts[at] - 500) < 130 for at in range(4))


def test_nothing_is_made_of_nothing() -> None:
    assert list(parted(3)(iter([]))) == []
    for texts in (True, False):
        assert list(looking_back(3, texts=texts)(iter([]))) == []


@pytest.mark.parametrize(
    "columns", [([1, 2], [1, None]), ([1, None], [1, 2]), (["a", None], [1, 2])]
)
def test_what_is_missing_is_not_taken_for_a_value(columns: tuple[list[Any], list[Any]]) -> None:
    arrays = [*map(pa.array, columns), pa.array([0, 1], pa.int32())]
    count = 2 if isinstance(columns[0][0], int) else 3
    batch = pa.RecordBatch.from_arrays(arrays[:count], ["unit", "rank", "place"][:count])
    with pytest.raises(pa.ArrowInvalid):
        list(parted(2)(iter([batch])))


_ELSEWHERE = """
import pickle, sys
sys.path[:0] = [{packages!r}]
import numpy as np, pyarrow as pa
divide, keep = pickle.load(sys.stdin.buffer)
numbers = pa.array([1, 2, 1, 1], pa.int64())
columns = [numbers, pa.array([3, 4, 1, 2], pa.int64())]
batch = pa.RecordBatch.from_arrays(columns, ["u", "r"])
print([out.column(0).to_pylist() for out in keep(divide(iter([batch])))])
print([name for name in sys.modules if name.split(".")[0] == "discreet"])
"""


def test_the_functions_travel_without_the_package() -> None:
    """A worker that has NumPy and PyArrow, and nothing of ours, can run what it is sent."""
    pytest.importorskip("discreet.releases.engines.spark")
    from pyspark import cloudpickle

    packages = str(Path(np.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _ELSEWHERE.format(packages=packages)],
        input=cloudpickle.dumps((parted(1), looking_back(2))),
        capture_output=True,
        check=False,
    )
    assert done.stdout.decode().split("\n")[:2] == ["[[1, 2, 4]]", "[]"], done.stderr
