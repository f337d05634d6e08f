"""Exact draws over rationals: whole numbers from the operating system, compared and nothing else.

A uniform whole number below m comes from `secrets` (or, many at a time, from `os.urandom` by
rejection: a draw at or above the largest multiple of m is thrown away). From it

- Bernoulli(a/b): a uniform number below b is less than a;
- hypergeometric: one draw after another from an urn;
- multinomial with weights w_1 … w_K: a uniform number below Σw falls in one of K ranges;
- randomized response: a Bernoulli coin, then one of the other answers, each equally likely.

Every probability is the stated rational exactly: no logarithm, no floating-point comparison.
"""

from __future__ import annotations

import math
import os
import secrets
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

_WORD = 2**63
_CHUNK = 1 << 20


def uniform(below: int) -> int:
    """Return a whole number in 0 … below−1, each equally likely."""
    if below < 1:
        raise InputError("noise.below", below=below)
    return secrets.randbelow(below)


def uniforms(below: int, size: int) -> NDArray[np.int64]:
    """Return `size` independent whole numbers in 0 … below−1, for `below` up to 2^63."""
    import numpy as np

    if not 1 <= below <= _WORD:
        raise InputError("noise.below_word", below=below)
    if size < 0:
        raise InputError("noise.size", size=size)
    drawn = np.empty(size, dtype=np.int64)
    limit = np.uint64(_WORD // below * below)
    filled = 0
    while filled < size:
        words = np.frombuffer(os.urandom(8 * min(_CHUNK, 2 * (size - filled))), dtype=np.uint64)
        words = words >> np.uint64(1)
        kept = (words[words < limit] % np.uint64(below)).astype(np.int64)[: size - filled]
        drawn[filled : filled + len(kept)] = kept
        filled += len(kept)
    return drawn


def bernoulli(probability: Fraction) -> bool:
    """Return True with exactly that probability.

    >>> bernoulli(Fraction(1)), bernoulli(Fraction(0))
    (True, False)
    """
    probability = Fraction(probability)
    if not 0 <= probability <= 1:
        raise InputError("noise.probability", probability=probability)
    return secrets.randbelow(probability.denominator) < probability.numerator


def hypergeometric(total: int, marked: int, size: int) -> int:
    """Return how many of `size` things are marked, drawn from `total` of which `marked` are.

    >>> hypergeometric(10, 10, 3), hypergeometric(10, 0, 3)
    (3, 0)
    """
    if not 0 <= marked <= total or not 0 <= size <= total:
        raise InputError("noise.urn", total=total, marked=marked, size=size)
    if marked in (0, total):
        return size if marked else 0
    # Who is drawn and who is marked may be exchanged: the shorter list is gone through.
    few, many = sorted((marked, size))
    found = 0
    for gone in range(few):
        found += uniform(total - gone) < many - found
    return found


def multinomial(size: int, weights: Sequence[int | Fraction]) -> list[int]:
    """Return how many of `size` draws fall in each cell, the cells having those exact weights.

    >>> multinomial(7, [0, 1])
    [0, 7]
    """
    exact = [Fraction(weight) for weight in weights]
    if size < 0:
        raise InputError("noise.size", size=size)
    if not exact or min(exact) < 0 or sum(exact) == 0:
        raise InputError("noise.weights")
    common = math.lcm(*(weight.denominator for weight in exact))
    ends = list(accumulate(int(weight * common) for weight in exact))
    counts = [0] * len(ends)
    if ends[-1] <= _WORD:
        import numpy as np

        edges = np.array(ends[:-1], dtype=np.uint64)
        for start in range(0, size, _CHUNK):
            drawn = uniforms(ends[-1], min(_CHUNK, size - start)).astype(np.uint64)
            cells = np.searchsorted(edges, drawn, side="right")
            for cell, hits in enumerate(np.bincount(cells, minlength=len(ends)).tolist()):
                counts[cell] += hits
        return counts
    for _ in range(size):
        counts[bisect_right(ends, secrets.randbelow(ends[-1]))] += 1
    return counts


def randomize(answer: T, answers: Sequence[T], keep: Fraction) -> T:
    """Return the answer with probability `keep`, else one of the others, each equally likely.

    Warner's randomized response, for yes/no and for k answers; it runs where the answer is, before
    it leaves the person. `laws.calibration.keep_probability` gives `keep` for an ε.

    >>> randomize("yes", ["yes", "no"], Fraction(1))
    'yes'
    """
    if len(set(answers)) != len(answers) or len(answers) < 2:
        raise InputError("noise.answers")
    if answer not in answers:
        raise InputError("noise.answer")
    if not Fraction(1, len(answers)) <= keep <= 1:
        raise InputError("noise.keep", keep=float(keep), answers=len(answers))
    if bernoulli(keep):
        return answer
    others = [other for other in answers if other != answer]
    return others[secrets.randbelow(len(others))]
