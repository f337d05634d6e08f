"""Cells and distances: structural zeros, groups, counting, total variation."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import DataError, InputError
from discreet.synthetic import Cells, distances

LEVELS = {"sex": ["f", "m"], "pregnant": ["no", "yes"], "age": ["0-17", "18-64", "65+"]}
IMPOSSIBLE = [{"sex": "m", "pregnant": "yes"}, {"pregnant": "yes", "age": ["65+"]}]


def test_structural_zeros_are_no_cells():
    cells = Cells.of(LEVELS, impossible=IMPOSSIBLE)
    labels = [cells.label(k) for k in range(cells.size)]
    assert cells.size == 12 - 3 - 1
    assert all(not (c["sex"] == "m" and c["pregnant"] == "yes") for c in labels)
    assert labels[0] == {"sex": "f", "pregnant": "no", "age": "0-17"}
    assert len({tuple(c.items()) for c in labels}) == cells.size


def test_counting_ignores_what_is_not_listed():
    cells = Cells.of(LEVELS, impossible=IMPOSSIBLE)
    rows = {
        "sex": ["f", "f", "m", "x", "m"],
        "pregnant": ["no", "no", "yes", "no", "no"],
        "age": ["65+", "65+", "65+", "65+", "0-17"],
    }
    counts = cells.count(rows, [2, 3, 7, 11, 1])
    assert counts.sum() == 6
    assert {tuple(cells.label(k).values()): int(counts[k]) for k in np.flatnonzero(counts)} == {
        ("f", "no", "65+"): 5,
        ("m", "no", "0-17"): 1,
    }
    with pytest.raises(DataError, match="columns must be"):
        cells.count({"sex": ["f"]}, [1])


def test_groups_agree_on_the_known_columns():
    cells = Cells.of(LEVELS, impossible=IMPOSSIBLE)
    groups = cells.groups(["age", "sex"])
    for i in range(cells.size):
        for j in range(cells.size):
            same = all(cells.label(i)[c] == cells.label(j)[c] for c in ("age", "sex"))
            assert (groups[i] == groups[j]) == same


def test_distances_against_a_plain_sum():
    cells = Cells.of(LEVELS)
    rng = np.random.default_rng(3)
    x, s = rng.integers(0, 30, cells.size), rng.integers(0, 30, cells.size)
    found = distances(x, s, cells)
    for columns, value in [
        *(((c,), v) for c, v in found.marginals.items()),
        *found.pairs.items(),
        (cells.columns, found.table),
    ]:
        shares: dict[tuple[str, ...], list[float]] = {}
        for k in range(cells.size):
            key = tuple(cells.label(k)[c] for c in columns)
            pair = shares.setdefault(key, [0.0, 0.0])
            pair[0] += x[k] / x.sum()
            pair[1] += s[k] / s.sum()
        assert value == pytest.approx(sum(abs(a - b) for a, b in shares.values()) / 2)
    assert len(found.pairs) == 3
    assert found.to_dict()["marginals"]["sex"] <= found.table


@pytest.mark.parametrize(
    ("levels", "impossible", "words"),
    [
        ({}, [], "No column"),
        ({"a": []}, [], "no levels"),
        ({"a": ["x", "x"]}, [], "twice"),
        ({"a": ["x", ""]}, [], "empty level"),
        ({"a": ["1"], "b": [1, "1"]}, [], "twice"),
        ({c: range(100) for c in "abcdef"}, [], "the most"),
        ({"a": ["x", "y"]}, [{"b": "x"}], "no column"),
        ({"a": ["x", "y"]}, [{"a": "z"}], "no level"),
        ({"a": ["x", "y"]}, [{"a": ["x", "y"]}], "no cell at all"),
        ({"a": ["x", "y"]}, [{}], "names columns"),
    ],
)
def test_bad_cells(levels, impossible, words):
    with pytest.raises(InputError, match=words):
        Cells.of(levels, impossible=impossible)


def test_bad_distances():
    cells = Cells.of({"a": ["x", "y"]})
    with pytest.raises(InputError, match="one count"):
        distances([1, 2, 3], [1, 2], cells)
    with pytest.raises(InputError, match="nothing to compare"):
        distances([1, 2], [0, 0], cells)


def test_levels_may_be_written_as_numbers() -> None:
    """As in a spec; a number where a text or a list was expected was a TypeError."""
    cells = Cells.of({"female": [0, 1], "age": [1, 2, 3]})
    assert cells.select({"female": 1}).tolist() == cells.select({"female": "1"}).tolist()
    assert cells.select({"age": [1, "2"]}).tolist() == [0, 1, 3, 4]
    with pytest.raises(InputError, match="has no level '4'"):
        cells.select({"age": 4})
