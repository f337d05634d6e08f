"""What declared intruders come to believe after a file, and how often they link a record.

*Intruders* (McClure and Reiter 2012, section 2.2: what the intruder knows, A, is declared). Each
one knows some columns of the target, has beliefs about the rest (relative weights of levels,
multiplied over columns) and gives the target a chance to be in the data at all. Their prior of the
truth is then a number for each cell, and R is their posterior of it (`records`). The *posterior
mode* is the cell that they would guess. Its distance from the truth is the number of columns that
differ; ties are averaged, as if one of them were picked by chance.

A fully synthetic record is nobody's. What an intruder may do with it is to take the synthetic
records that agree with the target on the known columns, and say of the target what one of them
says. `attributed` is how often that is right, `from_others` how often it would be with the other
original records instead: what the population says of anyone.

*Linkage* (Reiter and Mitra 2009; Drechsler and Reiter 2008). In a partially synthetic file each row
was made from one original. The intruder knows the true key of target j and gives released row i the
match probability (1/m) Σ_l [key of i in copy l is that of j] / N_l, N_l being the rows of copy l
with that key. c_j rows have the largest probability; I_j says whether j's own row is one of them.
Then

    expected matches  Σ I_j/c_j,
    true match rate   share of records with c_j = 1 and I_j = 1,
    false match rate  share of those with c_j = 1 that have I_j = 0.

If the data are a sample, drawn at a rate φ, a key with f records in the file is shared by F ≥ f
people, and a match is right with E(1/F | f) instead of 1/f. With the prior 1/F, F − f is negative
binomial (Benedetti and Franconi 1998), and E(1/F | f) = φ ∫₀¹ u^{f−1}/(φ + (1 − φ)u) du.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DataError, InputError
from discreet.frames import JsonReady
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer
from discreet.synthetic.records import evidence, groups_of, risk, top_two
from discreet.words import say

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.releases.engines.base import Engine
    from discreet.synthetic.spec import SyntheticSpec

_CLOSE = 1e-12
_COPY = "copy"


@dataclass(frozen=True, slots=True)
class Intruder:
    """Someone who looks for a person in a file: what they know and believe."""

    name: str
    known: tuple[str, ...] = ()
    beliefs: Mapping[str, Mapping[Any, int]] = field(default_factory=dict)
    sampled: float = 1.0

    @classmethod
    def of(cls, name: str, given: Any) -> Intruder:
        """Read one from a mapping, such as a part of a YAML file."""
        keys = given if isinstance(given, Mapping) else {"": given}
        known, beliefs = keys.get("known", ()), keys.get("beliefs", {})
        sampled = keys.get("sampled", 1.0)
        if (
            not keys.keys() <= {"known", "beliefs", "sampled"}
            or not isinstance(known, (list, tuple))
            or not isinstance(beliefs, Mapping)
            or not all(isinstance(levels, Mapping) for levels in beliefs.values())
            or isinstance(sampled, bool)
            or not isinstance(sampled, (int, float))
        ):
            raise InputError("synthetic.bad_intruder", name=name)
        return cls(str(name), tuple(map(str, known)), beliefs, float(sampled))


def seen_by(
    intruder: Intruder,
    x: NDArray[np.int64],
    s: NDArray[np.int64],
    cells: Cells,
    law: Synthesizer,
) -> dict[str, Any]:
    """Return what an intruder believes of the records before and after a file. Confidential."""
    group = groups_of(cells.groups(intruder.known), cells.size)
    weight = np.array(cells.weights(intruder.beliefs), dtype=np.float64)
    found = risk(x, s, synthesizer=law, groups=group, beliefs=weight, sampled=intruder.sampled)
    here = np.flatnonzero(x)
    records = x[here]
    before = (weight / np.bincount(group, weights=weight)[group])[here]
    rest = 1 - before
    after = before / (before + rest * np.exp(-np.clip(found.shift[here], -700, 700)))
    own, other = evidence(x, s, law, intruder.sampled)
    right, far = _guessed(np.log(weight), np.log(weight), group, cells, here)
    right_after, far_after = _guessed(
        np.log(weight) + own, np.log(weight) + other, group, cells, here
    )
    drawn = np.bincount(group, weights=s)[group][here]
    alike = np.bincount(group, weights=x)[group][here] - 1
    said = s[here] / np.maximum(drawn, 1)
    of_others = (records - 1) / np.maximum(alike, 1)

    def mean(values: NDArray[Any]) -> float:
        return float(values @ records / records.sum())

    return {
        "name": intruder.name,
        "known": list(intruder.known),
        "sampled": intruder.sampled,
        "before": mean(before),
        "after": mean(after),
        "largest": float(after.max()),
        "largest_relative": float((after / before).max()),
        "right_before": mean(right),
        "right_after": mean(right_after),
        "distance_before": mean(far),
        "distance_after": mean(far_after),
        "matched": mean(drawn > 0),
        "attributed": mean(said),
        "from_others": mean(of_others),
    }


def _guessed(
    own: NDArray[np.float64],
    other: NDArray[np.float64],
    group: NDArray[np.int64],
    cells: Cells,
    here: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often the likeliest cell is the truth, and its distance, for targets in `here`.

    `own` are the log-weights of a target's own cell, at least `other`, those of any other cell. So
    the likeliest cells of a target are either its own, or the likeliest of its group, or both.
    """
    is_top, top, second = top_two(other, group)
    rival = np.where(is_top, second[group], top[group])[here]
    gap = own[here] - rival
    tie = np.abs(gap) <= _CLOSE * np.maximum(1, np.abs(own[here]))
    best = other >= (top - _CLOSE * np.maximum(1, np.abs(top)))[group]
    count = np.bincount(group, weights=best)[group[here]]
    # Rivals in the tie: the likeliest of the group, without the target's own cell.
    rivals = np.maximum(count - best[here], 1)
    apart = np.zeros(here.size)
    for at, width in zip(cells.coordinates(), cells.shape, strict=True):
        same = np.bincount(group * width + at, weights=best, minlength=(group.max() + 1) * width)
        agree = same[(group * width + at)[here]] - best[here]
        apart += 1 - agree / rivals
    alone = (gap > 0) & ~tie
    right = np.where(alone, 1.0, np.where(tie, 1 / (1 + rivals), 0.0))
    return right, (1 - right) * apart


class Confidential(JsonReady):
    """A result that describes the original data, and says so first."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, JSON-ready, after what to heed."""
        said = {name: say(f"synthetic.{name}") for name in ("confidential", "caution")}
        return said | super().to_dict()


@dataclass(frozen=True, slots=True)
class Linkage(Confidential):
    """How often an intruder who knows true keys links a released row to the right person.

    Confidential: the figures compare the file with the original data. `expected_matches_sampled`
    is there if the data are a sample, drawn at the rate `sampled`.
    """

    records: int
    copies: int
    known: tuple[str, ...]
    expected_matches: float
    unique_matches: int
    true_matches: int
    true_match_rate: float
    false_match_rate: float | None
    sampled: float | None
    expected_matches_sampled: float | None


def linkage(
    original: ArrayLike,
    released: ArrayLike,
    *,
    known: Sequence[str] = (),
    sampled: float | None = None,
) -> Linkage:
    """Return how often true keys link released rows to the right person.

    `original` has the key of each record, as a whole number; `released` its key in the file, row
    for row, with one column for each copy. `sampled` is the rate at which the data were drawn from
    a population, if an intruder cannot know that the target is among them.

    Three people; the file leaves the first as they are, and swaps the keys of the other two:

    >>> linkage([1, 2, 3], [1, 3, 2]).expected_matches
    1.0
    """
    truth = np.asarray(original)
    rows = np.asarray(released)
    rows = rows.reshape(len(rows), -1)
    if truth.ndim != 1 or not truth.size or len(rows) != truth.size:
        raise InputError("synthetic.linked_rows")
    n, copies = rows.shape
    both, code = np.unique(np.concatenate([truth, rows.ravel()]), return_inverse=True)
    truth, rows = code[:n], code[n:].reshape(n, copies)
    sizes = [np.bincount(rows[:, copy], minlength=both.size) for copy in range(copies)]
    record = np.tile(np.arange(n), copies)
    key = rows.T.ravel()
    rate = np.concatenate([1 / (copies * sizes[copy][rows[:, copy]]) for copy in range(copies)])
    pairs, place = np.unique(key * n + record, return_inverse=True)
    chance = np.bincount(place, weights=rate)
    of_key = pairs // n
    largest = np.zeros(both.size)
    np.maximum.at(largest, of_key, chance)
    best = chance >= largest[of_key] * (1 - _CLOSE)
    ties = np.bincount(of_key, weights=best, minlength=both.size)[truth]
    mine = np.searchsorted(pairs, truth * n + np.arange(n))
    mine = np.minimum(mine, pairs.size - 1)
    hit = (pairs[mine] == truth * n + np.arange(n)) & best[mine]
    unique = ties == 1
    by_chance = None
    if sampled is not None:
        among = [one_in_population(size, sampled)[truth] for size in sizes]
        there = [rows[:, copy] == truth for copy in range(copies)]
        by_chance = float((np.mean(np.where(there, among, 0.0), axis=0) * hit).sum())
    alone, right = int(unique.sum()), int((unique & hit).sum())
    return Linkage(
        n,
        copies,
        tuple(known),
        float((hit / np.maximum(ties, 1)).sum()),
        alone,
        right,
        right / n,
        1 - right / alone if alone else None,
        sampled,
        by_chance,
    )


def one_in_population(counts: ArrayLike, rate: float) -> NDArray[np.float64]:
    """Return E(1/F | f): the chance that one of f people in a sample is the one who is looked for.

    >>> round(float(one_in_population([1], 0.1)[0]), 4)
    0.2558
    """
    if not 0 < rate <= 1:
        raise InputError("synthetic.not_a_probability", name="sampled", value=rate)
    f, place = np.unique(np.asarray(counts, dtype=np.int64), return_inverse=True)
    most = np.maximum(f, 1).astype(np.float64)
    # 1/(φ + (1−φ)u) = Σ (1−φ)^k (1−u)^k, and ∫ u^{f−1}(1−u)^k du = B(f, k+1).
    found, term = np.zeros(f.size), 1 / most
    for k in range(1, 120):
        found += term
        term = term * (1 - rate) * k / (most + k)
    found *= rate
    if rate < 0.5:
        # For few people the series is slow; A_{f+1} = φ/(1−φ) (1/f − A_f) is stable for φ < ½.
        exact = -rate * math.log(rate) / (1 - rate)
        for small in range(1, 65):
            found[most == small] = exact
            exact = rate / (1 - rate) * (1 / small - exact)
    return np.asarray(found[place])


# -- from files


def linked(
    spec: SyntheticSpec,
    original: Callable[[], Engine],
    candidate: Callable[[], Engine],
    known: Sequence[str],
    sampled: float | None,
) -> Linkage:
    """Link the rows of a partially synthetic file to its original, by the unit that both name."""
    unit = spec.protect.column
    if not unit or not known:
        raise InputError("synthetic.linked_needs")
    with closing(original()) as engine:
        true, _ = _keys(engine, unit, known)
    with closing(candidate()) as engine:
        several = [_COPY] if _COPY in engine.columns else []
        rows, copies = _keys(engine, unit, known, several)
    number = {key: i for i, key in enumerate(dict.fromkeys([*true.values(), *rows.values()]))}
    if rows.keys() != {(*who, copy) for who in (key[:-1] for key in true) for copy in copies}:
        raise DataError("synthetic.linked_rows")
    released = [[number[rows[(*key[:-1], copy)]] for copy in copies] for key in true]
    return linkage([number[key] for key in true.values()], released, known=known, sampled=sampled)


def _keys(
    engine: Engine, unit: Sequence[str], known: Sequence[str], copy: Sequence[str] = ()
) -> tuple[dict[tuple[str, ...], tuple[str, ...]], list[str]]:
    """Return the known values of each unit and copy; refuse a unit with two rows."""
    for column in (*unit, *known):
        if column not in engine.columns:
            raise DataError("synthetic.no_such_column", column=column)
    texts, _ = engine.every_row((*unit, *copy, *known), ())  # type: ignore[attr-defined]
    width = len(unit) + len(copy)
    found = {}
    for row in texts:
        key = row[:width] if copy else (*row[:width], "")
        if key in found:
            raise DataError("synthetic.linked_rows")
        found[key] = row[width:]
    return found, list(dict.fromkeys(key[-1] for key in found))
