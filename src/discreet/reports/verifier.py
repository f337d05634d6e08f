"""Check a report with nothing installed: python3 -I verify.py

Standard library only. A report is one folder, of a release or of an account (which has no folder
`released`). Its manifest names every file and no others; from the files it recomputes the hash of
what was released, or the account's history, the chain of ledger entries up to its head with
the sums, caps and promises in it, every belief that is stated and the worst case, and, over all the
priors that a promise speaks of, whether what the account has spent keeps it. The terms (unit,
adjacency, filter, cap, approver) are those of the entry that opened the account.

    python3 -I verify.py [FOLDER] [--head HASH] [--earlier FOLDER] [--witness PLACE]
                         [--ledger LEDGER.db] [--all] [--json]

What it cannot tell from the folder alone: that the chain was not written anew, which a head kept
elsewhere shows (--head), for the entries up to it, an earlier report from the same ledger
(--earlier, its folder) or all heads that a witness kept (--witness, its folder or the file in it);
and what came after the last entry, which the ledger shows (--ledger): then every entry is read
there, and the ledger must hold the hash of this manifest. A promise given as a formula it can
refute, and not prove; one with a key that is not known here it cannot check.

The answer: `verified` (nothing is wrong), `promise_kept` (null where none is made, or none can be
proved), `complete_up_to` (the last entry up to which the account is whole, if the chain was not
written anew), `vouched_up_to` (the last entry that the head vouches for), `unproven`, `problems`,
`verdict` and `next` in words. Exit code 1 if there is a problem or a promise is broken, 2 if there
is no report in the folder or a head is none, else 0.

Notation. p and q are the chances, beforehand, of being in the data and of the sensitive value then;
s = pq; r is posterior over prior. One step is the unit in or out, two are a value for another.

The theorems: K&R Theorems 1 and 2 (pure DP); KSZ Theorem 3.9 ((ε, δ)-DP), for one step and for two;
the tail of the privacy loss of ρ-zCDP; the conversion of Canonne, Kamath and Steinke (2020),
Proposition 12; group privacy; the trade-off curve of Dong, Roth and Su (2022). K&R is Kazan and
Reiter, "Prior-itizing Privacy"; KSZ is Kazan, Sharma, Zhang, Jiang and Yan, "Interpreting
Differential Privacy in Terms of Disclosure Risk".
"""

from __future__ import annotations

import argparse
import ast
import csv
import hashlib
import html
import io
import json
import math
import os
import re
import stat
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

MANIFEST = "manifest.json"
RELEASED = "released"  # the folder of the released files, as they were committed
FILES = ("release.json", "statement.md", "table.csv", "table.parquet")
ACCOUNT = {
    "evidence.json", "manifest.json", "report.html", "statement.json", "statement.md", "verify.py",
}  # fmt: skip
RELEASE = ACCOUNT | {"participant.html", "registry.yaml", *(f"{RELEASED}/{name}" for name in FILES)}
KEYS = {
    "": "format identity guarantee unit contribution_bounds data_domain bases invariants model "
    "composition spending processing mechanisms library floating_point accuracy biases promises "
    "learned risk not_covered hashes texts",
    "identity": "release_id made account purpose name curators region description intended_use "
    "product",
    "unit": "unit subject columns adjacency neighbours",
    "model": "name trust",
    "composition": "filter rule within",
    "processing": "before after",
    "hashes": "spec output files",
    "texts": "public technical regulator",
    "risk": "total sided strength method beliefs worst beyond by_confidence assumptions",
}
OF_ACCOUNT = {
    "": "format identity guarantee unit model composition spending history promises learned risk "
    "not_covered texts",
    "identity": "account",
    "unit": "unit subject adjacency neighbours",
    "composition": "filter rule",
    **{name: KEYS[name] for name in ("model", "texts", "risk")},
}
TOLD = (
    "at", "kind", "purpose", "who", "release_id", "plan_id", "slot", "output_hash", "which",
    "promise_id", "approver", "reason", "reported", "manifest",
)  # fmt: skip
RESTS_ON = {"adjacency", "adversary", "unit", "probability", "post_processing", "independence"}
PRIORS = (0.01, 0.1, 0.3, 0.5)  # every statement has these, and the promises' own
CONFIDENCES = (0.99, 0.9999, 0.999999)
PEOPLE = 1_000_000
LARGEST = 1 << 28  # no text of a report has more bytes
CLOSE = 1e-9
SEARCHED = 1e-5
SHOWN = 2e-5  # a search for what the participant's table shows ends this near
EXACT = Context(prec=4000)
UNREADABLE = (
    OSError, ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError,
    TypeError, ValueError,
)  # fmt: skip
MOST_FILES = 3  # that the verdict names
MOST_ROWS = 200  # of charges over time
MOST_LINES = 12  # of what is wrong; --all shows every check
ASK_AGAIN = (
    "Ask whoever published it for the folder again, and for the head that was printed with the "
    "report; then check it with --head HASH."
)
ASK_HELD = "Ask whoever published it for the folder whose manifest the ledger holds."
LEDGER, WITNESS, EARLIER = "the ledger", "the witness", "the earlier report"  # to compare with
TURNED_BACK = "was restored from an older copy, or its end was cut off, or it was written anew"
OR_MADE_UP = "; or the entries in this folder were made up"
KEEP_IT = (
    "Keep this folder as it is, and do not have it made again from that ledger. Ask whoever keeps "
    "the ledger what was released that it lacks."
)
KEEP_TOO = "Keep this one too: the ledger may be at fault."
IF_RIGHT = f"If it is the right one, k{KEEP_IT[1:]}"
SHOWS_WHICH = " The head that was printed with the report (--head), or a witness (--witness), "
SHOWS_WHICH += "shows whether the folder is the true one."
HEAD = "the head kept elsewhere, "
NOT_HERE = (
    "That head may be of a later entry than the last one here: making a report adds an entry, and "
    "so does every charge to another account of the ledger. Or entries were cut off, or the chain "
    "was written anew: the folder alone cannot tell. "
)
ASK_REST = "with --earlier, if you have the report that the head came with, with --ledger, or with "
ASK_REST += "the head printed with this report."
ASK_NEWER = f"{NOT_HERE}Check with --witness, if a witness kept every head, {ASK_REST}"
ASK_UNSEEN = f"{NOT_HERE}The witness does not have that head. Check {ASK_REST}"
LOST = " is one of those that were lost when the ledger was restored from an older copy "
RESTORED = "; this report tells of a restore from an older copy "
ASK_LOST = "Ask whoever keeps the ledger what was released and charged up to that head, and lost. "
ASK_LOST += "If you have the report that it came with, keep it, and compare the two with --earlier."
UNREAD = "the ledger cannot be read: "
ASK_LEDGER = (
    "Correct what was given as --ledger, or leave it out; "
    "what only the ledger can show is marked ?."
)
RECORDED = "the ledger holds the hash of this manifest"
NOT_HELD = "the ledger holds the hash of another manifest of the same, and not this one"
UNCHECKED = " The wording was not checked."
MISSING = " Charges may be missing: the ledger was restored from an older copy."
ASK_NEW = "Ask for a report that is made now: this one ends before what is named here."
ASK_WHY = "Ask whoever keeps the account: more was charged to it than was promised."
FAR = 700.0  # e^x of anything larger is no double


class Finding(NamedTuple):
    """One check: whether it holds (None: neither proved nor refuted), and of a promise or not.

    `among` are the files that it compares, if they are others than `taking_part` says.
    """

    good: bool | None
    what: str
    promise: bool = False
    among: tuple[str, ...] | None = None


STATEMENT, EVIDENCE, STORED = "statement.json", "evidence.json", f"{RELEASED}/release.json"
PAGES = ("report.html", "statement.md")
PAGE = re.compile(
    r"\b(?:(?:report|participant)\.html|(?:evidence|statement)\.json|statement\.md|registry\.yaml)\b"
)


def taking_part(what: str, usual: tuple[str, ...]) -> tuple[str, ...]:
    """The files that a check compares: a page that it names with the statement, or the usual."""
    named = PAGE.findall(what.partition(BUT_NOT)[0])
    return tuple(dict.fromkeys([*named, STATEMENT])) if named else usual


BUT_NOT = ", but not "  # then what stands there, in place of what should
Check = Iterator["Finding | tuple[bool | None, str]"]
Rows = list[tuple[Any, Any, Any]]  # number, body and hash of each entry


# -- searches


def least(
    function: Callable[[float], float], low: float, high: float, steps: tuple[int, int] = (64, 44)
) -> float:
    """The least value of a function with one valley: a grid, then the golden section."""
    step = (high - low) / steps[0]
    lowest, best = min((function(x), x) for x in (low + step * i for i in range(steps[0] + 1)))
    low, high = max(low, best - step), min(high, best + step)
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    below, above = function(left), function(right)
    for _ in range(steps[1]):
        if below < above:
            high, right, above = right, left, below
            left = high - golden * (high - low)
            below = function(left)
        else:
            low, left, below = left, right, above
            right = low + golden * (high - low)
            above = function(right)
    return min(lowest, below, above)


def last(holds: Callable[[float], bool]) -> float:
    """The largest x >= 0 at which something holds that stops holding once; inf if it never does."""
    high = 1.0
    while holds(high):
        high *= 2
        if high > 1e4:
            return math.inf
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# -- what is known of a total: m steps of it


def failure_of(confidence: float) -> float:
    """1 - confidence, of the decimal that was written."""
    return float(1 - Decimal(repr(float(confidence))))


def grown(epsilon: float, delta: float, m: int) -> float:
    """Group privacy: the delta at m * epsilon, m neighbours apart."""
    if m == 1 or delta == 0:
        return delta
    if m * epsilon > FAR:
        return 1.0
    return min(1.0, delta * (math.expm1(m * epsilon) / math.expm1(epsilon) if epsilon else m))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke: the delta at epsilon of rho-zCDP, at the best order 1 + t."""
    if rho == 0:
        return 0.0
    low, high = -40.0, 60.0
    for _ in range(44):  # where (1 + 2t) rho - log(1 + 1/t) = epsilon; any t gives a bound
        middle = (low + high) / 2
        t = math.exp(middle)
        above = (1 + 2 * t) * rho - math.log1p(1 / t) > epsilon
        low, high = (low, middle) if above else (middle, high)
    t = math.exp(low)
    exponent = t * ((1 + t) * rho - epsilon) - t * math.log1p(1 / t) - math.log1p(t)
    return math.exp(min(0.0, exponent))


def point_of(total: dict[str, Any], m: int, epsilon: float) -> tuple[float, float]:
    """The point of the curve of m steps that the point at epsilon of one step leads to."""
    rho, lost = total["rho"], total["delta"] or 0.0
    if total["kind"] == "concentrated":
        return m * epsilon, zcdp_delta(m * m * rho, m * epsilon)
    return m * epsilon, grown(epsilon, min(1.0, lost + (1 - lost) * zcdp_delta(rho, epsilon)), m)


def along(total: dict[str, Any], m: int, bound: Callable[[float, float], float]) -> float:
    """The least bound(epsilon, delta) over all that is known of m steps."""
    if total["kind"] in ("pure", "approximate"):
        epsilon, delta = total["epsilon"], total["delta"] or 0.0
        return bound(m * epsilon, grown(epsilon, delta, m))
    rho = m * m * total["rho"] if total["kind"] == "concentrated" else total["rho"]
    most = rho + 2 * math.sqrt(rho * 40) + 1
    most = most / m if total["kind"] == "concentrated" else most
    return least(lambda epsilon: bound(*point_of(total, m, epsilon)), 0.0, most)


def zcdp_loss(rho: float, failure: float) -> float:
    """The bound x on |loss| of rho-zCDP: (1 + e^-x) e^(-(x-rho)^2/4rho) = failure."""
    if rho == 0:
        return 0.0

    def tail(x: float) -> float:
        return (1 + math.exp(-x)) * math.exp(-((x - rho) ** 2) / (4 * rho))

    return rho + last(lambda more: tail(rho + more) > failure)


def loss_bound(total: dict[str, Any], failure: float) -> float:
    """The bound on |loss| of one step, KSZ Theorem 3.9: in or out, with the value known."""
    if total["kind"] == "concentrated":
        return zcdp_loss(total["rho"], failure)

    def at(epsilon: float, delta: float) -> float:
        if delta >= failure:
            return epsilon if delta == 0 else math.inf
        both = math.log1p(delta * math.exp(-epsilon) / failure)
        return epsilon + both - math.log1p(-delta / failure)

    return along(total, 1, at)


def rise_bound(total: dict[str, Any], m: int, failure: float) -> float:
    """The bound on the loss of m steps, whatever is true of the unit."""
    if failure <= 0 and total["kind"] != "pure":
        return math.inf
    if total["kind"] == "concentrated":
        rho = m * m * total["rho"]
        return float(rho + 2 * math.sqrt(-rho * math.log(failure)))

    def at(epsilon: float, delta: float) -> float:
        if delta >= failure:
            return epsilon if delta == 0 else math.inf
        return epsilon - math.log1p(-delta / failure)

    return along(total, m, at)


def fall_bound(total: dict[str, Any], m: int, failure: float) -> float:
    """The bound on minus the loss of m steps, also where the truth is twice as far away."""

    def at(epsilon: float, delta: float) -> float:
        if delta == 0:
            return epsilon
        if epsilon > FAR or failure <= delta * (1 + math.exp(epsilon)):
            return math.inf
        away = delta * (1 + math.exp(epsilon))
        return epsilon + math.log1p(-delta / failure) - math.log1p(-away / failure)

    return along(total, m, at)


def passes(total: dict[str, Any], m: int, x: float, *, falls: bool = False) -> float:
    """How often the loss of m steps passes x, at most; or minus the loss, from twice as far."""
    if math.isinf(x):
        return 0.0
    if total["kind"] == "concentrated" and not falls:
        rho = m * m * total["rho"]
        if rho == 0 or x <= rho:
            return 1.0 if x < rho else 0.0
        return math.exp(-((x - rho) ** 2) / (4 * rho))

    def at(epsilon: float, delta: float) -> float:
        if delta == 0:
            return 0.0 if epsilon <= x else 1.0
        if epsilon >= x or (falls and epsilon > FAR):
            return 1.0
        away = 1 + math.exp(epsilon) - math.exp(epsilon - x) if falls else 1.0
        return min(1.0, delta * away / -math.expm1(epsilon - x))

    return logarithmically(total, m, at, x)


def logarithmically(
    total: dict[str, Any], m: int, at: Callable[[float, float], float], x: float
) -> float:
    """The least chance over a curve left of x, on a scale on which small ones do not drown."""
    if total["kind"] in ("pure", "approximate"):
        return along(total, m, at)
    if x <= 0:
        return 0.0 if total["rho"] == 0 and not total["delta"] else 1.0

    def log(epsilon: float) -> float:
        value = at(*point_of(total, m, epsilon))
        return math.log(value) if value > 0 else -1e6

    return math.exp(least(log, 0.0, x / m))


# -- how often a guess is right


def refused(rho: float, t: float, kappa: float) -> bool:
    """Whether one bit, t against kappa, breaks rho-zCDP: a Rényi divergence of some order does."""

    def room(log_more: float, x: float, y: float) -> float:
        more = math.exp(log_more)  # the order is 1 + more
        one = math.log(x) + more * (math.log(x) - math.log(y))
        two = math.log1p(-x) + more * (math.log1p(-x) - math.log1p(-y))
        return (1 + more) * rho - (max(one, two) + math.log1p(math.exp(-abs(one - two)))) / more

    first = -11.0 if rho > 1e-3 else -7.0
    most = math.log(2 + 30 / math.sqrt(rho))
    for x, y in ((t, kappa), (kappa, t)):
        near = x * math.log(x / y) + (1 - x) * (math.log1p(-x) - math.log1p(-y))  # the order 1
        if near > rho or least(partial(room, x=x, y=y), first, most, (96, 40)) < 0:
            return True
    return False


def zcdp_guess(rho: float, kappa: float) -> float:
    """The largest chance afterwards that rho-zCDP allows of what had chance kappa before."""
    if rho == 0 or kappa in (0.0, 1.0):
        return kappa
    if rho > 30:
        return 1.0
    low, high = kappa, 1 - 1e-15
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if refused(rho, middle, kappa) else (middle, high)
    return high


def guess_bound(total: dict[str, Any], m: int, kappa: float) -> float:
    """The largest chance, with the unit in, of what has chance kappa with it left out."""
    if kappa >= 1:
        return 1.0
    lost = total["delta"] or 0.0
    if total["kind"] == "concentrated":
        return zcdp_guess(m * m * total["rho"], kappa)
    if total["kind"] == "approximate-concentrated" and m == 1:
        share = kappa / (1 - lost)
        if share >= 1:
            return 1.0
        return lost + (1 - lost) * zcdp_guess(total["rho"], share)
    found = curve_guess(total, m, kappa)
    if total["kind"] == "pure" and total["adjacency"] == "replace" and kappa:
        # No output makes any value more likely than this.
        found = min(found, kappa / (kappa + (1 - kappa) * math.exp(-m * total["epsilon"])))
    return found


def curve_guess(total: dict[str, Any], m: int, kappa: float) -> float:
    """The same from the points of the curve alone."""

    def grows(epsilon: float, delta: float) -> float:
        return min(1.0, math.exp(min(FAR, epsilon)) * kappa + delta)

    def shrinks(epsilon: float, delta: float) -> float:
        return min(1.0, 1 - math.exp(-epsilon) * (1 - delta - kappa))

    return max(kappa, min(along(total, m, grows), along(total, m, shrinks)))


# -- beliefs


def ratio_bound(one: float, two: float, p: float, q: float) -> float:
    """The largest r from bounds on the losses of one step and of two (K&R Theorem 1)."""

    def weighted(loss: float, weight: float) -> float:
        if weight == 0 or loss == math.inf:
            return 0.0
        return weight * math.exp(-loss) if -loss < FAR else math.inf

    return 1 / (p * q + weighted(two, (1 - q) * p) + weighted(one, 1 - p))


def beliefs(
    total: dict[str, Any], p: float, q: float, failure: float, *, roughly: bool = False
) -> tuple[float, float]:
    """The least and the largest posterior from (p, q), outside an event of that probability.

    Roughly: the largest within a little above, and no least one, where both take a long search.
    """
    s, central = p * q, total["adjacency"] == "add-remove"
    if total["kind"] == "pure":
        epsilon = total["epsilon"]
        one, two = (epsilon, 2 * epsilon) if central else (0.0, epsilon)
        return s * ratio_bound(-one, -two, p, q), min(1.0, s * ratio_bound(one, two, p, q))
    if q == 1 or not central:
        loss = loss_bound(total, failure)
        return s * ratio_bound(-loss, 0.0, s, 1.0), min(1.0, s * ratio_bound(loss, 0.0, s, 1.0))
    if p == 1:
        loss = rise_bound(total, 2, failure / 2)
        low = 0.0 if math.isinf(loss) else s * ratio_bound(0.0, -loss, p, q)
        return low, min(1.0, s * ratio_bound(0.0, loss, p, q))

    def upper(split: float) -> float:
        one, two = split * failure / 2, (1 - split) * failure / 2
        return s * ratio_bound(rise_bound(total, 1, one), rise_bound(total, 2, two), p, q)

    def lower(split: float) -> float:
        one, two = split * failure / 2, (1 - split) * failure / 2
        near, far = fall_bound(total, 1, one), rise_bound(total, 2, two)
        return 0.0 if math.isinf(near + far) else s * ratio_bound(-near, -far, p, q)

    most = least(upper, 1e-6, 1 - 1e-6, (8, 8) if roughly else (48, 40))
    most = min(upper(0.0), upper(1.0), most)
    if roughly:
        return 0.0, min(1.0, most)
    return -least(lambda split: -lower(split), 1e-6, 1 - 1e-6, (24, 16)), min(1.0, most)


def expected_beliefs(made: list[dict[str, Any]], terms: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The beliefs that a statement must state: at the promises' priors, and at the usual ones.

    Those of promises that were withdrawn come last.
    """
    shown: dict[bool, list[float]] = {True: [], False: []}  # by whether the promise stands
    both: dict[tuple[float, float], bool] = {}
    for one in sorted(made, key=lambda one: one["withdrawn"] is not None):
        stands = one["withdrawn"] is None
        for p0, p, q0, q in (leaf.box for leaf in leaves(heard(one["keys"]), terms["adjacency"])):
            if (p0, q0) == (p, q) and max(p, q) == 1:
                shown[stands].append(min(p, q))
            elif (p0, q0) == (p, q):
                both.setdefault((p, q), stands)
    found: list[tuple[Any, ...]] = [("both", True, *at) for at, stands in both.items() if stands]
    for prior in dict.fromkeys([*shown[True], *PRIORS, *shown[False]]):
        if prior != 1:
            own, central = prior in shown[True], terms["adjacency"] == "add-remove"
            found += [("membership", own, prior, 1.0)] if central else []
            found.append(("value", own, 1.0, prior))
    return found + [("both", False, *at) for at, stands in both.items() if not stands]


def expected_confidence(made: list[dict[str, Any]], total: dict[str, Any]) -> float:
    """How surely beliefs are stated: as the promises, or 99 %, or as the spent delta allows."""
    if total["kind"] == "pure":
        return 1.0
    asked = max((one["keys"]["confidence"] for one in made if "confidence" in one["keys"]),
                default=CONFIDENCES[0])  # fmt: skip
    for level in (asked, *(lower for lower in (0.95, 0.9, 0.5) if lower < asked)):
        if loss_bound(total, failure_of(level)) < math.inf:
            return float(level)
    raise ValueError("no belief is bounded")


def check_beliefs(statement: dict[str, Any], release: dict[str, Any], account: Account) -> Check:
    """Recompute every stated belief: never below the truth, and not far above it."""
    risk, total = statement["risk"], total_of(account.spent, account.terms)
    if release.get("guarantee") == "none":
        yield risk is None, "no belief is stated: the release promises none"
        return
    if risk is None:
        yield False, "beliefs are stated: the release has a guarantee"
        return
    made = [one for one in account.made.values() if one["withdrawn"] is None]
    wanted = expected_beliefs([*account.made.values()], account.terms)
    names = ("about", "own", "p", "q")
    stated = [tuple(row[name] for name in names) for row in risk["beliefs"]]
    strange = any(strange_in(one["keys"]) for one in made)
    gone = any(strange_in(one["keys"]) for one in account.made.values() if one["withdrawn"])
    if strange or gone:  # it may name priors of its own, which are recomputed like any others
        more = {row for row in stated if (row[1] or gone) and row[2] * row[3] > 0}
        usual = {row for row in wanted if (row[0], True, *row[2:]) not in more}
        wanted = stated if {*stated} == more | usual else wanted
    yield stated == wanted, "a belief is stated at every prior that belongs here, and no other"
    if stated != wanted:
        return
    sure = expected_confidence(made, total)
    good = all(row["holds_with"] == sure for row in risk["beliefs"])
    yield good, f"the beliefs hold with probability {sure:g}"
    searched = total["kind"] in ("concentrated", "approximate-concentrated")
    for row in risk["beliefs"]:
        p, q, failure = row["p"], row["q"], failure_of(sure)
        both, known = p < 1 and q < 1, q == 1 and total["kind"] == "concentrated"
        lower, upper = beliefs(total, p, q, failure)
        far, near = (SEARCHED, CLOSE) if searched and not known else (CLOSE, 1e-12)
        good = upper - near <= row["upper"] <= 1 and 0 <= row["lower"] <= lower + near
        if not both or total["kind"] == "pure":
            good = good and row["upper"] <= upper + far and row["lower"] >= lower - far
        else:  # its split of the failure probability is good, and need not be the best
            good = good and row["upper"] <= upper + 1e-3 and row["lower"] >= lower - 1e-2
        said = f"{row['about']} from {p * q:g}: stated [{row['lower']:.6g}, {row['upper']:.6g}]"
        yield good, f"belief in {said}, recomputed [{lower:.6g}, {upper:.6g}]"
        joins = row["about"] == "membership"
        yield (row["joined"] is not None) == joins, "joining goes with membership"
        if row["joined"] is not None:
            yield check_guess(total, p * q, row["joined"], "joining")
        allowed = tolerated_at(made, account.terms, p, q)
        same = row["tolerated"] == allowed
        if row["tolerated"] is not None and allowed is not None:
            same = -1e-11 < allowed - row["tolerated"] < 2e-12
        if strange:  # it may allow less
            least_of = math.inf if row["tolerated"] is None else row["tolerated"]
            same = allowed is None or least_of < allowed + 1e-11
        if not (strange and same):
            yield same, f"what the promises tolerate from {p * q:g}"
    yield from check_worst(risk, total, failure_of(sure))


def tolerated_at(
    made: list[dict[str, Any]], terms: dict[str, Any], p: float, q: float
) -> float | None:
    """The least posterior that the promises allow at a prior that they speak of."""
    found = []
    for one in made:
        for leaf in leaves(heard(one["keys"]), terms["adjacency"]):
            p0, p1, q0, q1 = leaf.box
            known = leaf.shape not in ("counterfactual", UNKNOWN)
            if known and p0 <= p <= p1 and q0 <= q <= q1:
                found.append(tolerated(leaf, p, q))
    return min(1.0, *found) if found else None


def check_worst(risk: dict[str, Any], total: dict[str, Any], failure: float) -> Check:
    """The worst priors, how many the confidence leaves out, and the bound at other confidences."""
    yield risk["sided"] == "two", "the beliefs speak of rises and falls"
    first = risk["beliefs"][0]
    q = first["q"]
    one, two, known = worst_losses(total, q, failure)
    beta = math.exp(-one)
    at_one = 1.0 if known else q + math.exp(-two) * (1 - q)
    ratio = (0.0, 1 / beta) if known or 1 / beta >= 1 / at_one else (1.0, 1 / at_one)
    if known:
        q = q if total["kind"] == "pure" else 1.0
        worst = min(1.0, 1 / (1 + math.exp(one / 2)) / q)
        s = worst * q
        difference = s / (s + beta * (1 - s)) - s
    else:
        alpha = at_one - beta
        worst = 1.0 if alpha <= 0 else min(1.0, (math.sqrt(beta) - beta) / alpha)
        difference = q * worst * (1 / (alpha * worst + beta) - 1)
    room = 1e-6 if known or total["kind"] == "pure" else 0.05
    for name, at, value in (("ratio", *ratio), ("difference", worst, difference)):
        stated = risk["worst"][name]
        good = value * (1 - 1e-7) <= stated["value"] <= value * (1 + room) + CLOSE
        near = abs(stated["p"] - at) <= max(room, 1e-6) or value < CLOSE  # of nothing, anywhere
        good = good and near and 0 <= stated["p"] <= 1 and set(stated) == {"p", "value"}
        yield good, f"the worst {name}: stated {stated['value']:.6g}, recomputed {value:.6g}"
    if total["kind"] == "pure":
        yield risk["beyond"] is None and risk["by_confidence"] == [], "nobody is left out"
        return
    beyond = {"people": PEOPLE, "up_to": failure * PEOPLE}
    yield risk["beyond"] == beyond, f"of {PEOPLE:,} units {beyond['up_to']:g} are left out"
    rows = risk["by_confidence"]
    yield [row["confidence"] for row in rows] == list(CONFIDENCES), "bounds at other confidences"
    s = first["p"] * first["q"]
    for row in rows:
        failing = failure_of(row["confidence"])
        _, upper = beliefs(total, first["p"], first["q"], failing, roughly=True)
        if row.get("unbounded"):
            same = loss_bound(total, failing) == math.inf
            none = (row["posterior"], row["ratio"], row["difference"]) == (1.0, None, 1.0)
            yield same and none, f"no bound with probability {row['confidence']:g}"
            continue
        room = CLOSE if first["about"] != "both" or total["kind"] == "pure" else 1e-3
        good = upper - room <= row["posterior"] <= min(1.0, upper + 1e-3)
        good = good and abs(row["ratio"] - row["posterior"] / s) <= 1e-9 * row["ratio"] + CLOSE
        good = good and abs(row["difference"] - (row["posterior"] - s)) <= CLOSE
        yield good, f"bound with probability {row['confidence']:g}: at most {upper:.6g}"


def worst_losses(total: dict[str, Any], q: float, failure: float) -> tuple[float, float, bool]:
    """The losses of one step and of two that the worst case is about; whether one is all."""
    central, pure = total["adjacency"] == "add-remove", total["kind"] == "pure"
    if q == 1 or not central:
        return total["epsilon"] if pure else loss_bound(total, failure), 0.0, True
    if pure:
        return total["epsilon"], 2 * total["epsilon"], False
    return rise_bound(total, 1, failure / 4), rise_bound(total, 2, failure / 4), False


def check_guess(total: dict[str, Any], x: float, stated: float, what: str) -> tuple[bool, str]:
    """A chance that grew from x: at least what the guarantee allows, at most what a curve says."""
    again = guess_bound(total, 1, x)
    good = again - CLOSE <= stated
    if total["kind"] in ("concentrated", "approximate-concentrated"):
        good = good and stated <= max(again, curve_guess(total, 1, x)) + CLOSE
        normal = gaussian_guess(total["rho"], x)
        good = good and stated >= normal - CLOSE
    else:
        good = good and stated <= again + CLOSE
    return good, f"{what} from {x:g}: stated {stated:.6g}, recomputed {again:.6g}"


def gaussian_guess(rho: float, x: float) -> float:
    """What Gaussian noise of that rho allows: no bound from rho alone is below it."""
    from statistics import NormalDist

    law = NormalDist()
    return law.cdf(law.inv_cdf(x) + math.sqrt(2 * rho)) if 0 < x < 1 else x


def check_learned(statement: dict[str, Any], account: Account) -> Check:
    """The table that people read says what the beliefs say, row by row."""
    learned, risk = statement["learned"], statement["risk"]
    total = total_of(account.spent, account.terms)
    if (learned is None) != (risk is None):
        yield False, "a table of what may be learned goes with the beliefs"
    if learned is None or risk is None:
        return
    stated = []
    abouts = ("membership", "value", "both")
    for row in learned["rows"]:
        keys = {"prior", "own", "guess", *abouts, *(f"{about}_least" for about in abouts)}
        yield set(row) == keys | ({"p", "q"} if row["both"] is not None else set()), "a row's parts"
        for about in abouts:
            if row[about] is None:
                yield row[f"{about}_least"] is None, f"no bound on {about}, above or below"
                continue
            p, q = {"membership": (row["prior"], 1.0), "value": (1.0, row["prior"])}.get(
                about, (row.get("p"), row.get("q"))
            )
            stated.append((about, row["own"], p, q, row[f"{about}_least"], row[about]))
    names = ("about", "own", "p", "q", "lower", "upper")
    yield stated == [tuple(row[n] for n in names) for row in risk["beliefs"]], "table and beliefs"
    for row in learned["rows"]:
        if row["both"] is not None:
            yield abs(row["prior"] - row["p"] * row["q"]) < 1e-15, "prior of both: p times q"
            yield row["guess"] is None, "a guess is about a value"
        else:
            guess = check_guess(total, row["prior"], row["guess"], "guess")
            yield Finding(*guess, among=(STATEMENT, EVIDENCE))
    sure = min(row["holds_with"] for row in risk["beliefs"])
    yield learned["holds_with"] == sure, f"the table holds with probability {sure:g}"
    yield learned["unit"] == statement["unit"]["subject"], "the table is about the unit"
    yield learned["adjacency"] == total["adjacency"], "adjacency of the table"


# -- promises: their keys, and how large the losses may be


class Leaf(NamedTuple):
    """One tolerance: its shape with its numbers, and the box p0, p1, q0, q1 of its priors."""

    shape: str
    value: Any
    unless: float | None
    box: tuple[float, float, float, float]
    alone: bool = False


SHAPES = ("ratio", "posterior", "difference", "profile", "table", "counterfactual")
UNKNOWN = "unknown"  # keys of another package: what stands beside them is checked all the same
OWN = {"unless_ratio", "counts_sensitive_only", "p", "q", "box"}
SURELY = {"every_output", "confidence", "on_average", "answers", "sided", "related"}
SURELY |= {"odds", "neighbours", "chain", "basis"}


def heard(keys: Any) -> Any:
    """Keys as they were meant: infinity, which JSON lacks, is written as a word."""
    if isinstance(keys, dict):
        return {name: heard(value) for name, value in keys.items()}
    if isinstance(keys, list):
        return [heard(value) for value in keys]
    return math.inf if keys == "inf" else keys


def name_of(keys: dict[str, Any]) -> str:
    """The name of a promise: a hash of its keys."""
    text = json.dumps(heard(keys), sort_keys=True, separators=(",", ":"))
    return sha256(text.encode())[:16]


def leaves(keys: dict[str, Any], adjacency: str = "add-remove") -> list[Leaf]:
    """The single tolerances of a promise; keys that are not known are one of shape UNKNOWN.

    Where everyone is in the data, p is 1.
    """
    found: list[Leaf] = []
    for part in [*keys.get("all", []), *keys.get("groups", {}).values()]:
        found += leaves(part, adjacency)
    p0, p1, q0, q1 = keys.get("box", (0.0, 1.0, 0.0, 1.0))
    p0, p1 = (keys["p"], keys["p"]) if "p" in keys else (p0, p1)
    q0, q1 = (keys["q"], keys["q"]) if "q" in keys else (q0, q1)
    if not (0 <= p0 <= p1 <= 1 and 0 <= q0 <= q1 <= 1 and p1 > 0 and q1 > 0):
        raise ValueError("the box of a promise is none")
    p0, p1 = (p0, p1) if adjacency == "add-remove" else (1.0, 1.0)
    for shape in SHAPES:
        if shape in keys:
            box = (0.0, 1.0, 0.0, 1.0) if shape == "counterfactual" else (p0, p1, q0, q1)
            alone = keys.get("counts_sensitive_only", False)
            found.append(Leaf(shape, keys[shape], keys.get("unless_ratio"), box, alone))
    strange = set(keys) - set(SHAPES) - OWN - SURELY - {"all", "groups"}
    if strange:
        found.append(Leaf(UNKNOWN, sorted(strange), None, (p0, p1, q0, q1)))
    if not found:
        raise ValueError("a promise without a shape")
    return found


def strange_in(keys: dict[str, Any]) -> list[str]:
    """The keys of a promise that are not known here."""
    return [name for leaf in leaves(keys) if leaf.shape == UNKNOWN for name in leaf.value]


def at_prior(p: Any, q: Any, ratio: Any) -> float:
    """K&R Theorem 2: the largest epsilon that keeps r within a ratio at one prior."""
    if ratio == math.inf:
        return math.inf
    p, q, ratio = Fraction(p), Fraction(q), Fraction(ratio)
    if ratio <= 1:
        return 0.0
    A, B, C = p * (1 - q), 1 - p, 1 / ratio - p * q
    if C <= 0:
        return math.inf
    a, b, c = float(A), float(B), float(C)
    root = math.sqrt(b * b + 4 * a * c)
    y = 2 * float(1 - 1 / ratio) / (2 * a + b + root)
    if y < 0.5:
        return -math.log1p(-y)
    log_c = math.log(C.numerator) - math.log(C.denominator)
    return math.log((b + root) / 2) - log_c if b else (math.log(a) - log_c) / 2


def ratio_rises(ratio: float, box: tuple[float, ...]) -> float:
    """A constant ratio over a box: the least at q0, and at p1 or p0."""
    p0, p1, q0, _ = box
    return at_prior(p1 if q0 * (ratio + 1) <= 1 else p0, q0, ratio)


def ratio_falls(ratio: float, box: tuple[float, ...]) -> float:
    """How far belief falls is worst at q0 and one end of p: A v^2 + (2A+B) v = ratio - 1."""
    found = math.inf
    for p in box[:2]:
        A, B, more = p * (1 - box[2]), 1 - p, ratio - 1
        if A + B > 0 and more < 1e100:
            root = math.sqrt((2 * A + B) ** 2 + 4 * A * more)
            found = min(found, math.log1p(2 * more / (2 * A + B + root)))
    return found


def posterior_rises(most: float, box: tuple[float, ...]) -> float:
    """A posterior is worst at the largest priors."""
    if most >= 1:
        return math.inf
    return at_prior(box[1], box[3], Fraction(most) / (Fraction(box[1]) * Fraction(box[3])))


def unless_rises(most: float, ratio: float, box: tuple[float, ...]) -> float:
    """max(a/s, r) depends on s alone: worst on the edges p = p1, q = q0, at the kink or an end."""
    if most >= 1:
        return math.inf
    if ratio == math.inf:
        return math.inf
    p0, p1, q0, q1 = map(Fraction, box)
    a, r = Fraction(most), Fraction(ratio)
    if p0 * q0 * r >= a:
        return ratio_rises(ratio, box)
    if p1 * q1 * r <= a:
        return posterior_rises(most, box)
    if p1 * q0 * r <= a:
        return at_prior(p1, a / (r * p1), r)
    if q0 * (r + 1) <= 1:
        return ratio_rises(ratio, box)
    return at_prior(a / (r * q0), q0, r)


def difference_keeps(b: float, box: tuple[float, ...], epsilon: float, side: int) -> bool:
    """Whether s moves by at most b over a box, up (side 1) or down (side -1).

    It depends on s alone, so two edges count. On each 1/r is D = K + Ms, and s/D - s <= b is
    f(s) = (s + b) D - s >= 0; downward s - s/D <= b is (s - b) D - s <= 0, where s > b.
    """
    p0, p1, q0, q1 = box
    w = math.expm1(min(-side * epsilon, FAR / 2))  # u - 1
    edges = [(w * (p1 * (2 + w) + 1 - p1), -w * (2 + w), p1 * q0, p1 * q1)]  # K - 1, M, ends of s
    if q0 > 0:
        edges.append((w, (w * (2 + w) * (1 - q0) - w) / q0, p0 * q0, p1 * q0))
    for less, M, low, high in edges:
        move = side * b
        low = low if side > 0 else max(low, b)
        if low > high:
            continue
        slope, end = less + M * move, (1 + less) * move

        def f(s: float, M: float = M, slope: float = slope, end: float = end) -> float:
            return M * s * s + slope * s + end

        places = [low, high]
        if M * side > 0 and low < -slope / (2 * M) < high:
            places.append(-slope / (2 * M))
        if any(side * f(s) < 0 for s in places):
            return False
    return True


def table_cells(leaf: Leaf) -> Iterator[tuple[tuple[float, ...], float]]:
    """The cells of a table that meet its box, each with the least ratio of its corners."""
    rows = {(float(p), float(q)): float(r) for p, q, r in leaf.value}
    axes = [sorted({place[i] for place in rows}) for i in (0, 1)]
    spans = [list(pairwise(axis)) if len(axis) > 1 else [(axis[0],) * 2] for axis in axes]
    p0, p1, q0, q1 = leaf.box
    if p0 < axes[0][0] or p1 > axes[0][-1] or q0 < axes[1][0] or q1 > axes[1][-1]:
        raise ValueError("a table with a hole")
    for a0, a1 in spans[0]:
        for b0, b1 in spans[1]:
            box = (max(a0, p0), min(a1, p1), max(b0, q0), min(b1, q1))
            if box[0] <= box[1] and box[2] <= box[3] and box[1] > 0 and box[3] > 0:
                yield box, min(rows[p, q] for p in (a0, a1) for q in (b0, b1))


def value_of(node: ast.AST, names: dict[str, float]) -> Any:
    """A formula at one prior: numbers, p, q, arithmetic, comparisons, min, max, log, exp, sqrt."""

    def at(part: ast.AST) -> Any:
        return value_of(part, names)

    calls: dict[str, Any] = {
        "min": min, "max": max, "log": math.log, "exp": math.exp, "sqrt": math.sqrt
    }  # fmt: skip
    binary: dict[type, Any] = {
        ast.Add: lambda x, y: x + y, ast.Sub: lambda x, y: x - y, ast.Mult: lambda x, y: x * y,
        ast.Div: lambda x, y: x / y, ast.Pow: math.pow, ast.Lt: lambda x, y: x < y,
        ast.LtE: lambda x, y: x <= y, ast.Gt: lambda x, y: x > y, ast.GtE: lambda x, y: x >= y,
        ast.Eq: lambda x, y: x == y, ast.NotEq: lambda x, y: x != y,
    }  # fmt: skip
    match node:
        case ast.Expression(body=body):
            return at(body)
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -at(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return at(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not at(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return binary[type(op)](at(left), at(right))
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [at(part) for part in (left, *others)]
            pairs = zip(ops, pairwise(values), strict=True)
            return all(binary[type(op)](*pair) for op, pair in pairs)
        case ast.BoolOp(op=op, values=parts):
            return (all if isinstance(op, ast.And) else any)(at(part) for part in parts)
        case ast.IfExp(test=test, body=body, orelse=other):
            return at(body) if at(test) else at(other)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in calls:
            return calls[name](*map(at, args))
    raise ValueError("a formula with something else in it")


def formula_rises(text: str, box: tuple[float, ...]) -> float:
    """No epsilon above this keeps a profile: the least over a grid of its priors."""
    tree, found = ast.parse(text.strip(), mode="eval"), math.inf

    def places(low: float, high: float) -> list[float]:
        inside = [low + (high - low) * i / 24 for i in range(25)]
        inside += [high * 10 ** (-i / 4) for i in range(24)]
        return sorted({x for x in inside if low <= x <= high and x > 0})

    for p in places(*box[:2]):
        for q in places(*box[2:]):
            try:
                ratio = value_of(tree, {"p": p, "q": q, "inf": math.inf})
            except (ArithmeticError, ValueError):
                continue
            found = min(found, at_prior(p, q, ratio))
    return found


def pure_budget(leaf: Leaf, two_sided: bool) -> float:
    """The largest epsilon of pure DP that keeps a tolerance over its whole box."""
    box, x = leaf.box, leaf.value
    if leaf.shape == "posterior":
        return posterior_rises(x, box) if leaf.unless is None else unless_rises(x, leaf.unless, box)
    if leaf.shape == "ratio":
        up = ratio_rises(x, box)
        return min(up, ratio_falls(x, box)) if two_sided else up
    if leaf.shape == "difference":
        sides = (1, -1) if two_sided else (1,)
        if x >= 1:
            return math.inf
        return last(lambda e: all(difference_keeps(x, box, e, side) for side in sides))
    if leaf.shape == "counterfactual":
        return math.log(x) * (1.0 if leaf.alone else 0.5)
    if leaf.shape == "table":
        return min(ratio_rises(ratio, cell) for cell, ratio in table_cells(leaf))
    return formula_rises(x, box)


class Limits(NamedTuple):
    """How large the losses of one step and of two may be, and how many neighbours these are."""

    one: float | None
    two: float | None
    steps: tuple[int, int]


def limits_of(keys: dict[str, Any], adjacency: str) -> Limits:
    """The limits that a promise sets: epsilon* for one step, twice that for two."""
    central, ones, twos = adjacency == "add-remove", [], []
    for leaf in leaves(keys, adjacency):
        if leaf.shape == UNKNOWN:
            continue
        budget = pure_budget(leaf, keys.get("sided", "two") == "two")
        odds = leaf.shape == "counterfactual"
        if not central:  # one step is the change of a value
            ones.append(budget if odds and leaf.alone else 2 * budget)
            continue
        if leaf.alone if odds else leaf.box[0] != 1:
            ones.append(budget)
        if not leaf.alone if odds else leaf.box[2] != 1:
            twos.append(2 * budget)
    K = keys.get("related", 1)
    steps = (2 * K - 1, 2 * K) if central else (K, 2 * K)
    if "odds" in keys:
        ones = [lowered(keys, limit, 2 if central else 1) for limit in ones]
        twos = [lowered(keys, limit, 1) for limit in twos]
    return Limits(min(ones, default=None), min(twos, default=None), steps)


def lowered(keys: dict[str, Any], limit: float, weight: int) -> float:
    """The part of a limit that is a unit's own, where the data of units depend on each other.

    One neighbour changes the odds of a unit's values at most `odds`-fold. A unit has at most
    `neighbours`: with c = neighbours * tanh(log(odds)/4) < 1 the others add c/(1 - c) times what
    one of them costs. In a chain, those nearer than d add 2d - 2 times, and the two at distance d
    tell at most 2 log(odds) tanh(log(odds)/4)^(d-1).
    """
    omega = math.log(keys["odds"])
    t = math.tanh(omega / 4)
    c = t * (2 if keys.get("chain") else keys["neighbours"])
    found = [limit / (1 + weight * c / (1 - c))] if c < 1 else []
    if keys.get("chain"):
        near = range(1, 10_000)
        found += [(limit - 2 * omega * t ** (d - 1)) / (1 + weight * (2 * d - 2)) for d in near]
    return max(found, default=0.0)


def chance_of(keys: dict[str, Any], limits: Limits, total: dict[str, Any]) -> float:
    """How often a total that is not pure may pass the limits of one step and of two."""
    one, two = limits.one or 0.0, limits.two or 0.0
    near, far = limits.steps
    chance = passes(total, near, one) + passes(total, far, two)
    if keys.get("sided", "two") == "two":
        # Of related units the truth may be further away than one step's law tells.
        away = near if near == 1 else far
        chance += passes(total, away, one, falls=True) + passes(total, far, two)
    return min(1.0, chance)


def keeps(keys: dict[str, Any], total: dict[str, Any]) -> bool:
    """Whether everything within a total keeps a promise."""
    adjacency = total["adjacency"]
    if keys.get("on_average"):
        return keeps_on_average(keys, total)
    found = limits_of(keys, adjacency)
    # With room for the last digits of whoever computed it first.
    one, two = (None if limit is None else limit * (1 + CLOSE) for limit in found[:2])
    limits, steps = found._replace(one=one, two=two), found.steps
    allowed = [limit / m for limit, m in zip((one, two), steps, strict=True) if limit is not None]
    most = min(allowed, default=math.inf)
    if math.isinf(most) or (total["kind"] == "pure" and total["epsilon"] <= most):
        return True  # for every output
    confidence = keys.get("confidence")
    if confidence is None or "odds" in keys:
        if not keys.get("every_output"):
            raise ValueError("a promise that does not say how surely")
        return False
    failure = failure_of(confidence)
    if one is not None and two is not None:
        return chance_of(keys, limits, total) <= failure * (1 + 1e-7)
    limit, m = (two or 0.0, steps[1]) if one is None else (one, steps[0])
    if math.isinf(limit):
        return True
    both_ways = keys.get("sided", "two") == "two"
    if both_ways and adjacency == "add-remove" and one is not None and m == 1:
        return loss_bound(total, failure) <= limit  # in or out, the value known: KSZ, both ways
    return rise_bound(total, m, failure / 2 if both_ways else failure) <= limit


def keeps_on_average(keys: dict[str, Any], total: dict[str, Any]) -> bool:
    """Whether the best guess of a value is right as seldom as was promised."""
    for leaf in leaves(keys, total["adjacency"]):
        if leaf.shape == UNKNOWN:
            continue
        p0, _, q0, q1 = leaf.box
        if p0 != 1 or q0 != q1 or q1 * keys.get("answers", math.inf) < 1:
            return False  # membership, or no chance beforehand: no such promise is made
        chance = guess_bound(total, keys.get("related", 1), q1)
        if total["kind"] == "approximate-concentrated":
            chance = min(chance, curve_guess(total, keys.get("related", 1), q1))
        if chance > tolerated(leaf, 1.0, q1) + CLOSE:
            return False
    return True


def tolerated(leaf: Leaf, p: float, q: float) -> float:
    """The posterior that a tolerance allows from a prior."""
    x, s = leaf.value, p * q
    if leaf.shape == "posterior":
        return float(x if leaf.unless is None else max(x, leaf.unless * s))
    if leaf.shape == "ratio":
        return float(x * s)
    if leaf.shape == "difference":
        return float(x + s)
    if leaf.shape == "table":
        cells = table_cells(leaf)
        return min(r for (a, b, c, d), r in cells if a <= p <= b and c <= q <= d) * s
    tree = ast.parse(x.strip(), mode="eval")
    return float(value_of(tree, {"p": p, "q": q, "inf": math.inf}) * s)


# -- promises: what the statement says of them


def total_of(spent: dict[str, Decimal], terms: dict[str, Any]) -> dict[str, Any]:
    """What an amount promises under the terms of an account, in the numbers of a statement."""
    found = amount(spent, 1)
    lost = found["delta"] or None
    if terms["filter"] == "zcdp":
        kind = "approximate-concentrated" if lost else "concentrated"
    else:
        kind = "approximate" if lost else "pure"
    return {"kind": kind, **found, "delta": lost, "adjacency": terms["adjacency"]}


def read_amount(stored: dict[str, str]) -> dict[str, Decimal]:
    """An amount as the ledger keeps it."""
    return {name: Decimal(text) for name, text in stored.items()}


def within(spent: dict[str, Decimal], limit: dict[str, Decimal]) -> bool:
    """Whether no coordinate passes a limit."""
    return all(value <= limit[name] for name, value in spent.items())


def check_promises(
    statement: dict[str, Any],
    release: dict[str, Any],
    account: Account,
    now: Account,
    folder: Path,
) -> Check:
    """Every promise is the one in the chain, is told as it is, and is kept up to now.

    `now` is the account as the ledger has it, if it is at hand: else as the report has it.
    """
    facts = ["id", "keys", "limit", "at", "kept", "withdrawn", "exceeded"]
    told = list(account.made.values())
    if release:
        facts.append("covers")
        of = str(release["release_id"])
        told = [one | {"covers": account.covers(of, one["id"])} for one in told]
    stated = [{name: one[name] for name in facts} for one in statement["promises"]]
    yield stated == told, "the promises are those of the ledger, all of them and no others"
    told_in, page = text_of(folder / "statement.md"), plain(text_of(folder / "report.html"))
    yield from check_opening(statement["promises"], folder)
    whole = text_of(folder / "report.html")
    leads = [plain(one) for one in PARAGRAPH.findall(whole)]
    every = [plain(one) for one in re.findall(r"<p\b[^>]*>(.*?)</p>", whole, re.DOTALL)]
    released = {one["id"]: one for one in release.get("promises", ())}
    named = {one["id"] for one in statement["promises"]}
    yield set(released) <= named, "no promise that the release was made under is left out"
    for one in statement["promises"]:
        name, keys, sentence = one["id"], heard(one["keys"]), one["sentence"]
        own = name_of(one["keys"]) == name
        yield Finding(own, f"promise {name}: named by its keys", among=(STATEMENT,))
        shown = {"report.html": sentence in page, "statement.md": flat(sentence) in told_in}
        spent, limit = statement["spending"]["account_now"], amount(read_amount(one["limit"]), -1)
        for place, lines, others, written in (
            ("report.html", leads, every, str),
            ("statement.md", told_in.split("\n"), [], flat),
        ):
            told_of_it = partial(told_so, one=one, sentence=written(sentence), bold=written is flat)
            shown[place] = shown[place] and any(map(told_of_it, lines))
            for match in filter(None, map(told_of_it, (*lines, *others))):
                most, good = match.groups(), not one["exceeded"]
                if None not in most:
                    good = one["exceeded"] and same_figures(most[0], spent)
                    good = good and same_figures(most[1], limit)
                shown[place] = shown[place] and good
        before = released.get(name, one)
        shown[STORED] = all(before[key] == one[key] for key in ("sentence", "keys"))
        other = [place for place, same in shown.items() if not same]
        what = f"promise {name}: the same sentence everywhere"
        yield Finding(not other, what, among=(*other, STATEMENT))
        unit = statement["unit"]["subject"]
        adjacency = account.terms["adjacency"]
        names = [unit, *group_names(keys)]
        strange = strange_in(keys)
        right = tells(sentence, figures(keys, adjacency), names, others=bool(strange))
        if not right or not strange:
            what = f"promise {name}: its sentence has its figures"
            yield Finding(right, what, among=(STATEMENT,))
        if not strange:
            yield one["about"] == about_of(keys, adjacency), f"promise {name}: what it is about"
            p, q = (one["binding"][letter] for letter in "pq")
            boxes = [leaf.box for leaf in leaves(keys, adjacency)]
            near = any(a <= p <= b and c <= q <= d for a, b, c, d in boxes)
            yield near, f"promise {name}: the prior that binds it is one of its own"
        gone = one["withdrawn"]
        if gone is not None:
            reason, who = (" ".join(str(gone[k]).split()) for k in ("reason", "approver"))
            day, kept = gone["at"][:10], "kept until it was" if one["kept"] else "not kept, and was"
            words = [f"{kept} withdrawn on {day}", who, reason]
            lines = told_in.split("\n")
            shown["statement.md"] = any(all(flat(part) in line for part in words) for line in lines)
            shown["report.html"] = any(all(part in line for part in words) for line in leads)
            other = [place for place in PAGES if not shown[place]]
            what = f"promise {name} was {kept} withdrawn on {day} ({who}: {reason})"
            what += beyond_it(now.spent, one["limit"])
            yield Finding(not other, what, among=(*other, STATEMENT))
            continue
        # The total, and the whole rectangle: what is charged may depend on what was published.
        good, since = True, now.made.get(name, one)
        for made, spent in ((one, account.spent), (since, now.spent)):
            limit = read_amount(made["limit"])
            if made["withdrawn"] is None:
                good = good and within(spent, limit) and keeps(keys, total_of(spent, now.terms))
            good = good and keeps(keys, total_of(limit, now.terms))
        if good and since["withdrawn"]:
            day, kept = since["withdrawn"]["at"][:10], "" if since["kept"] else "not "
            what = f"promise {kept}kept until it was withdrawn on {day}, after this report"
            what += beyond_it(now.spent, since["limit"])
            yield None, f"{what}: {sentence}"
        elif good and strange:
            what = f"promise not checked: the key {', '.join(strange)} is not known here"
            what = f"{what}, only the limit that the ledger has for it: {sentence}"
            yield Finding(None, what, promise=True)
        elif good and any(leaf.shape == "profile" for leaf in leaves(keys)):
            what = f"promise kept at a grid of priors, unproven for a formula: {sentence}"
            yield Finding(None, what, promise=True)
        else:
            yield Finding(good, f"promise {'kept' if good else 'broken'}: {sentence}", promise=True)


BEYOND_IT = "What is out now goes beyond what it allowed"


def told_so(line: str, one: dict[str, Any], sentence: str, bold: bool) -> re.Match[str] | None:
    """A line that tells a promise: first, or last as an earlier one; and what is beyond it, if so.

    The groups are what is spent by now, and what the promise allowed.
    """
    beyond = rf"(?: {BEYOND_IT} \(([^()]*) of ([^()]*)\)\.)?"
    gone, said = one["withdrawn"], re.escape(sentence)
    if not one.get("covers", not gone):
        return re.search(f": {said}{beyond}$", line)
    until = f"In force until {gone['at'][:10]}: " if gone else ""
    said = rf"\*\*{said}\*\*" if bold else said
    return re.match(f"{until}{said}{beyond}(?: |$)", line)


def beyond_it(spent: dict[str, Decimal], limit: dict[str, str]) -> str:
    """That more is spent than a promise allowed, if so, for a line on one that was withdrawn."""
    most = read_amount(limit)
    if within(spent, most):
        return ""
    figures = f"{in_words(spent, ROUND_CEILING)} of {in_words(most, ROUND_FLOOR)}"
    return f"; what is out now goes beyond what it allowed ({figures})"


def check_opening(promises: list[dict[str, Any]], folder: Path) -> Check:
    """Pages begin with a promise that speaks of what they are about, or say that there is none."""
    own = [one for one in promises if one.get("covers", not one["withdrawn"])]
    first = own[0]["sentence"].removesuffix(ALWAYS) if own else NO_PROMISE[bool(promises)]
    gone = own[0]["withdrawn"] if own else None
    until = f"In force until {gone['at'][:10]}: " if gone else ""
    pages = [name for name in LOOKS if name == "report.html" or os.path.lexists(folder / name)]
    leads = [PARAGRAPH.search(text_of(folder / name)) for name in pages]
    same = all(lead and plain(lead[1]).startswith(until + first) for lead in leads)
    lead = text_of(folder / "statement.md").split("\n", 3)[2]
    same = same and lead.startswith(f"{until}{'**' if own else ''}{flat(first)}")
    what = "the pages begin with a promise that covers this"
    yield Finding(same, what, among=(*pages, "statement.md", STATEMENT))
    beyond = sum(one["exceeded"] is True for one in promises)
    same = all(
        sum(BEYOND_IT in one for one in PARAGRAPH.findall(text_of(folder / name))) == beyond
        for name in pages
    )
    what = "the pages tell which withdrawn promises are exceeded by now"
    yield Finding(same, what, among=(*pages, STATEMENT))


def flat(text: str) -> str:
    """A text as Markdown has it."""
    whole = re.sub(r"([\\\[\]|])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")
    return whole.replace("://", ":\\//").replace("www.", "www\\.")


def plain(page: str) -> str:
    """The text of a page, cells apart; a span is part of its sentence."""
    return html.unescape(re.sub(r"<[^>]*>", "|", re.sub(r"</?span\b[^>]*>", "", page)))


def percent(share: float) -> str:
    """A probability as sentences write it."""
    return f"{100 * share:.10g} %"


def figures(keys: dict[str, Any], adjacency: str) -> list[str]:
    """What a sentence must contain, by its keys."""
    found = [percent(keys["confidence"])] if "confidence" in keys else []
    found += [f"{keys['related']} units"] if keys.get("related", 1) != 1 else []
    found += [f"{keys['odds']:g}-fold"] if "odds" in keys else []
    for leaf in leaves(keys, adjacency):
        if leaf.shape == UNKNOWN:
            continue
        x, (p0, p1, q0, q1) = leaf.value, leaf.box
        found += {
            "ratio": lambda x: [f"{x:g}-fold"],
            "posterior": lambda x: [percent(x)],
            "difference": lambda x: [f"{100 * x:.4g} percentage points"],
            "counterfactual": lambda x: [f"{x:g} times"],
            "table": lambda x: [f"{len(x)} priors"],
            "profile": lambda x: [f"{x.strip()}-fold"],
        }[leaf.shape](x)
        found += [] if leaf.unless is None else [f"{leaf.unless:g}-fold"]
        if leaf.shape == "counterfactual":
            continue
        if p0 == 1 or q0 == 1:
            ends = (q0, q1) if p0 == 1 else (p0, p1)
            found += [percent(end) for end in ends] if ends != (0, 1) else []
        elif p0 == p1 and (q0 == q1 or (q0, q1) == (0, 1)):
            found += [percent(p1)] + ([percent(q1)] if q0 == q1 else [])
        elif leaf.box != (0, 1, 0, 1):
            for letter, low, high in (("p", p0, p1), ("q", q0, q1)):
                fixed, least_end = f"{letter} = {high:g}", f"{low:g} {'≤' if low else '<'} {letter}"
                found.append(fixed if low == high else f"{least_end} ≤ {high:g}")
    return found


def group_names(keys: dict[str, Any]) -> list[str]:
    """The words that name groups, which may have figures of their own."""
    parts = [*keys.get("all", []), *keys.get("groups", {}).values()]
    named = [f"for {name}: " for name in keys.get("groups", {})]
    return [*named, *(name for part in parts for name in group_names(part))]


def tells(sentence: str, wanted: list[str], names: list[str], others: bool = False) -> bool:
    """Whether a sentence has the figures of its keys, and no other percentage or multiple.

    A key that is not known here may have others.
    """
    rest = sentence
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(name, "")
    found = []
    for figure in sorted(set(wanted), key=len, reverse=True):
        rest, times = re.subn(rf"(?<![\d.]){re.escape(figure)}", "", rest)
        found.append(times)
    more = re.search(r"\d(?: %|-fold| percentage points)|\b[pq] [=≤] ", rest)
    return all(found) and (others or not more)


def about_of(keys: dict[str, Any], adjacency: str) -> str:
    """What is guessed: membership, a value, or both."""
    if adjacency != "add-remove":
        return "value"
    boxes = [leaf.box for leaf in leaves(keys)]
    if all(q0 == 1 for _, _, q0, _ in boxes):
        return "membership"
    return "value" if all(p0 == 1 for p0, _, _, _ in boxes) else "both"


# -- files: none is followed elsewhere, none is taken for what it is not


def sha256(data: bytes) -> str:
    """The hash that everything here is named by."""
    return hashlib.sha256(data).hexdigest()


def canonical(said: Any) -> bytes:
    """The one JSON text of a value."""
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False,
                      allow_nan=False)  # fmt: skip
    return text.encode()


def opened(path: Path) -> Any:
    """A regular file, open to be read; no link and no device."""
    handle = os.open(
        path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    )
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError("not a file")
    return os.fdopen(handle, "rb")


def text_of(path: Path) -> str:
    """The text of a file; of a page, without what its readers may not see."""
    return read_page(path.name, whole_text(path))[0] if path.name in LOOKS else whole_text(path)


def whole_text(path: Path) -> str:
    """The text of a file, if it is not larger than a report can be."""
    with opened(path) as file:
        data: bytes = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError("too large")
    return data.decode()


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one in which a name stands twice means two things."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def json_of(path: Path) -> Any:
    """What a JSON file says."""
    return json.loads(text_of(path), object_pairs_hook=once)


def hashed(path: Path) -> dict[str, Any]:
    """Size and hash of a file of any size."""
    found, size = hashlib.sha256(), 0
    with opened(path) as file:
        while data := file.read(1 << 20):
            found.update(data)
            size += len(data)
    return {"sha256": found.hexdigest(), "size": size}


def listed(folder: Path) -> Iterator[tuple[str, Path | None]]:
    """Every file below a folder by its name, dot-files aside; None for what does not belong."""
    for within_folder, before in ((folder, ""), (folder / RELEASED, f"{RELEASED}/")):
        if before and not os.path.lexists(within_folder):
            continue
        with os.scandir(within_folder) as found:
            for one in found:
                kind = one.stat(follow_symlinks=False).st_mode
                if one.name.startswith(".") or (
                    before + one.name == RELEASED and stat.S_ISDIR(kind)
                ):
                    continue
                yield before + one.name, Path(one.path) if stat.S_ISREG(kind) else None


def manifest_of(folder: Path) -> bytes:
    """The manifest that belongs to the files as they are."""
    files = [
        {"name": name} | hashed(path)
        for name, path in sorted(listed(folder))
        if name != MANIFEST and path is not None
    ]
    return canonical({"files": files, "format": 1})


def check_manifest(folder: Path) -> Check:
    """The manifest names every file of the report, as it is, and no others."""
    for name, path in listed(folder):
        if path is None:
            yield False, f"{name} is no file"
    again, stated = manifest_of(folder), text_of(folder / MANIFEST)
    same = stated.encode() == again
    if same:
        yield True, "the manifest names every file here and no others"
    here = {name for name, _ in listed(folder)}
    wanted = RELEASE if os.path.lexists(folder / RELEASED) else ACCOUNT
    for name in sorted(here - wanted):
        yield False, f"file {name} is none of a report's"
    if same:
        for name in sorted(wanted - here):
            yield False, f"file {name} is missing"
        return
    files = {one["name"]: one for one in json.loads(again)["files"]}
    told = {one["name"]: one for one in json_of(folder / MANIFEST)["files"]}
    for name in sorted(files.keys() | told.keys()):
        if name not in files:
            yield False, f"file {name} is missing"
        elif name not in told:
            yield False, f"file {name} was added after the report was made"
        elif files[name] != told[name]:
            yield False, f"file {name} was changed after the report was made"
    if files == told:
        yield False, f"file {MANIFEST} was changed after the report was made"


def check_files(statement: dict[str, Any], release: dict[str, Any], folder: Path) -> Check:
    """The released files are those whose hash the statement states, and all of them."""
    together, hashes = hashlib.sha256(), statement["hashes"]
    yield set(hashes["files"]) == set(FILES), "the hashes of all released files are stated"
    true = []
    for name in FILES:
        found = hashed(folder / RELEASED / name)["sha256"]
        together.update(name.encode() + b"\0" + bytes.fromhex(found))
        true += [name] if found == hashes["files"].get(name) else []
    both = {"table.csv": "release.json", "release.json": "table.csv"}  # have the same table
    for name in FILES:
        what, other = f"released file {name}", both.get(name, "")
        apart = name not in true and other in true and first_apart(folder, release.get("table"))
        if apart:
            place, *cells = apart
            has, should = cells if name == "table.csv" else cells[::-1]
            what += f"{BUT_NOT}“{place}: {has}”, where {RELEASED}/{other} has “{should}”"
        yield Finding(name in true, what, among=(STATEMENT, f"{RELEASED}/{name}"))
    altered = [f"{RELEASED}/{name}" for name in FILES if name not in true]
    same = together.hexdigest() == hashes["output"]
    among = (STATEMENT, *(altered or [STORED]))
    yield Finding(same, "all released files together", among=among)


def first_apart(folder: Path, table: Any) -> tuple[str, str, str] | None:
    """The first cell that differs between both forms of the table: its place, and both texts."""
    try:
        lines = csv.reader(io.StringIO(text_of(folder / RELEASED / "table.csv")))
        names = next(lines)
        for at, cells in enumerate(lines):
            for name, cell in zip(names, cells, strict=True):
                kept = table[name][at] or ""
                if cell.removeprefix("'") != kept.removeprefix("'"):
                    told = [text for n, text in zip(names, cells, strict=True) if n not in NUMERIC]
                    return " | ".join([*filter(None, told), name]), cell, kept
    except (*UNREADABLE, csv.Error, StopIteration):
        return None
    return None


def check_written(folder: Path, names: tuple[str, ...]) -> Check:
    """A JSON file is written as it was: a value in it can be read in one way only."""
    for name in names:
        text = text_of(folder / name)
        said = json.loads(text, object_pairs_hook=once)
        again = json.dumps(said, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
        yield Finding(text == again, f"{name} is written in the one way", among=(name,))


# -- pages: no style, script or tag but those of a report, so that what is in them is seen

LOOKS = {  # the SHA-256 of the style sheet of each page
    "report.html": "3ed6dc28b0759095ca4dbe592799c129a649d78cd6f5e0d6929491c72c93fcf0",
    "participant.html": "fe06995ae9ad75eedc87db755bbb74f478d8bf35fe0443387a120c987ddee2a9",
}
SCRIPT = "9bf6aa08e3b969dcd4efbf20bbe911059b84549ed0ce4ced55db38aaf1690e5d"  # of participant.html
HEAD_OF_PAGE = re.compile(
    r'<!doctype html>\n<html lang="[A-Za-z-]+">\n<head>\n<meta charset="utf-8">\n'
    r'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    r'<meta http-equiv="Content-Security-Policy" content="'
    r"default-src 'none'; style-src 'unsafe-inline'; (?:script-src 'sha256-(?P<runs>[^']*)'; )?"
    r"base-uri 'none'; form-action 'none'\">\n"
    r'<meta name="referrer" content="no-referrer">\n'
    r"<title>[^<>]*</title>\n<style>\n(?P<style>.*?)</style>\n</head>\n",
    re.DOTALL,
)
END_OF_PAGE = re.compile(
    r'<script type="application/json" id="table">[^<>]*</script>\n'
    r"<script>(?P<script>.*?)</script>\n(?=</body>\n</html>\n$)",
    re.DOTALL,
)
TAG = re.compile(r'<(/?)([A-Za-z]+[1-6]?)((?: [\w:-]+(?:="[^"<>]*")?)*)(/?)>|[^<>]+')
PLAIN = "body header main footer h1 h3 ul li dt dd table caption thead tbody tr th td small strong"
TAGS = {  # and the attributes that each may have
    **{tag: {""} for tag in PLAIN.split()},
    "section": {"", ' id="#" aria-labelledby="#"', ' aria-labelledby="#"', ' aria-label="#"'},
    "h2": {' id="#"'},
    "p": {"", *(f' class="{name}"' for name in ("kicker", "meta", "statement", "lead", "big"))},
    "div": {"", ' class="pair"', ' class="scroll" role="region" tabindex="0" aria-label="#"'},
    "th": {' scope="#"', ' scope="#" class="figure"'},
    "td": {"", ' class="figure"'},
}
OF_PAGE: dict[str, dict[str, set[str]]] = {
    "report.html": {
        **{tag: {""} for tag in ("code", "pre", "figcaption")},
        "a": {' class="skip" href="#"', ' href="#"'},
        "nav": {' aria-label="#"'},
        "dl": {' class="facts"'},
        "ul": {"", ' class="plain"'},
        "tr": {"", ' class="total"'},
        "span": {' class="whole"'},
        "figure": {' class="pair"'},
        "svg": {' aria-hidden="true" focusable="false" xmlns="#" xmlns:xlink="#" version="1.1"'
                ' class="marks" width="#" height="#" viewBox="#"'},
    },
    "participant.html": {
        **{tag: {""} for tag in ("legend", "details", "summary")},
        "b": {' data-of="#"'},
        "span": {"", ' class="key before"', ' class="key after"'},
        "label": {"", ' for="#"'},
        "output": {' id="suspect-shown" for="#"'},
        "fieldset": {' class="choices only-script"'},
        "p": {*TAGS["p"], ' class="ends" aria-hidden="true"', ' class="only-script"'},
        "div": {' class="only-script"', ' aria-live="polite"', *TAGS["div"],
                ' class="figures only-script" id="figures" aria-hidden="true"',
                ' class="figures only-script" id="figures-joining" aria-hidden="true"'},
        "th": {*TAGS["th"], ' scope="#" rowspan="#"', ' scope="#" colspan="#"'},
        "input": {
            ' id="typed" type="number" inputmode="#" min="#" max="#" step="#" value="#"'
            ' aria-label="#"', ' id="suspect" type="range" min="#" max="#" step="#" value="#"',
            *(f' type="radio" name="#" value="#"{on}' for on in ("", " checked")),
        },
    },
}  # fmt: skip
DRAWN = {"g", "path", "line", "text", "rect", "circle", "defs", "clipPath", "tspan"}
DRAWING = re.compile(
    r"(?: (?:transform|class|id|pointer-events|d|x|y|x1|x2|y1|y2|r|cx|cy|width|height|display|fill"
    r"|opacity|text-anchor|clip-path|stroke(?:-[a-z]+)?|fill-[a-z]+|font-[a-z]+|dx|dy)"
    r'="[^"<>]*")*'
)
FREE = re.compile(  # attributes with any value; the script writes to elements with its own ids
    r" (aria-label(?:ledby)?|for|scope|data-of|min|max|step|value|name|inputmode|rowspan|colspan"
    r'|width|height|viewBox|xmlns(?::xlink)?|href|id(?!="(?:typed|suspect|figures|table)))="[^"]*"'
)
LINKS = re.compile(r"(?:#[a-z]+|participant\.html)")
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # letters after it run the other way


@cache
def read_page(name: str, page: str) -> tuple[str, tuple[str, ...]]:
    """A page without what readers may not see (drawings are seen, and not compared), what is odd.

    Not seen are links that appear by keyboard, what is not printed, what is folded, and what needs
    the script. Where every tag is one of a report's and is closed, nothing else is hidden.
    """
    odd: list[str] = []
    seen: list[str] = []
    within: list[tuple[str, bool]] = []  # the tags that are open, and whether they are not seen
    head, end = HEAD_OF_PAGE.match(page), END_OF_PAGE.search(page)
    if head is None or sha256(head["style"].encode()) != LOOKS[name]:
        odd.append("its head and its style sheet")
    runs = sha256(end["script"].encode()) if end else None
    named = b64decode(head["runs"] or "").hex() if head else ""
    if (runs, named) != ((SCRIPT, SCRIPT) if name == "participant.html" else (None, "")):
        odd.append("its script")
    start, stop = head.end() if head else 0, end.start() if end else len(page)
    body = page[start:stop] + (page[end.end() :] if end else "")
    place, known = 0, TAGS | OF_PAGE[name]
    for found in TAG.finditer(body.removesuffix("</html>\n")):
        odd += [body[place : found.start()][:40]] if found.start() != place else []
        place = found.end()
        closes, tag, said, alone = found.groups(default="")
        hidden = any(unseen for _, unseen in within)
        if closes:
            odd += [] if within and within.pop()[0] == tag and not said + alone else [found[0]]
        elif tag:
            drawn = any(one == "svg" for one, _ in within)
            if drawn:
                good = tag in DRAWN and DRAWING.fullmatch(said) is not None
            else:
                shape = FREE.sub(r' \1="#"', said)
                good = not alone and shape in known.get(tag, ())
                links = re.findall(r' href="([^"]*)"', said)
                good = good and all(map(LINKS.fullmatch, links))
                good = good and (tag != "svg" or any(one == "figure" for one, _ in within))
            odd += [] if good else [found[0]]
            aside = tag in ("svg", "nav", "details") or '"skip"' in said or "only-script" in said
            hidden = hidden or aside
            if not alone and tag != "input":
                within.append((tag, aside))
        if not hidden:
            seen.append(found[0])
    odd += [] if place == len(body.removesuffix("</html>\n")) and not within else ["its end"]
    return "".join(seen) if not odd else page, tuple(odd)


def check_markup(folder: Path) -> Check:
    """Pages have a report's style, script and tags, and no others; Markdown has no tag."""
    turned = TURNS.search(whole_text(folder / "evidence.json")) is not None  # by a name
    for name in LOOKS:
        if name == "report.html" or os.path.lexists(folder / name):
            page, odd = read_page(name, whole_text(folder / name))
            odd += ("letters that run backwards",) * (TURNS.search(plain(page)) is not None)
            what = f"{name} has the style, the script and the tags of a report, and no others"
            good = not odd or (turned and odd[0] == "letters that run backwards")
            yield Finding(
                good,
                ": not ".join([what, *(" ".join(one.split()) for one in odd[:1])]),
                among=(name,),
            )
    text = text_of(folder / "statement.md")
    links = {*re.findall(r"(?<!\\)\]\(([^)]*)\)", text)} <= {"participant.html"}
    hidden = "<" in text or re.search(r"^ *\[[^\]]*\]:", text, re.MULTILINE)
    yield Finding(
        links and not hidden,
        "statement.md has no tag, no hidden text and no other link",
        among=("statement.md",),
    )


# -- the chain


def double(x: Decimal, side: int) -> float:
    """The double next to x that prints as x or more (side 1), or as x or less (side -1)."""
    nearest = float(x)
    printed = Decimal(repr(nearest))
    beyond = printed < x if side > 0 else printed > x
    return math.nextafter(nearest, side * math.inf) if beyond else nearest


def moment(at: str) -> str:
    """When an entry was written, to the second, as a report tells it."""
    return f"{at[:10]} {at[11:19]} UTC"


def amount(stored: dict[str, Decimal] | None, side: int) -> dict[str, Any]:
    """An amount as a statement has it: what was spent rounded up, caps and what is left down."""
    found = {name: double(value, side) for name, value in (stored or {}).items()}
    out = {name: found.get(name) for name in ("epsilon", "delta", "rho")}
    return out if stored is not None else out | {"unbounded": True}


class Account:
    """An account as its entries tell it, one after another."""

    def __init__(self) -> None:
        self.terms: dict[str, Any] = {}
        self.approver: Any = None
        self.spent: dict[str, Decimal] = {}
        self.cap: dict[str, Decimal] | None = None
        self.limits: dict[str, dict[str, str]] = {}
        self.made: dict[str, dict[str, Any]] = {}
        self.charges: list[dict[str, Any]] = []
        self.charged: list[dict[str, Any]] = []  # their entries, word for word
        self.history: list[dict[str, Any]] = []
        self.paid: dict[str, tuple[int, list[str]]] = {}  # by release or plan: entry, promises then
        self.ended: dict[str, int] = {}  # the entry that withdrew a promise

    def take(self, said: dict[str, Any]) -> Check:
        """Take one more entry, and say whether it follows from those before."""
        kind, standing, where = said["kind"], said["standing"], f"entry {said['seq']}"
        if kind == "open":
            yield not self.terms, f"{where}: the account is opened once"
            self.terms, self.approver = said["terms"], said["approver"]
        elif not self.terms:
            yield False, f"{where}: the account is not open"
        cap = None if standing.get("cap") is None else read_amount(standing["cap"])
        if kind == "grant" and said["which"] == "lifetime" and self.cap is not None:
            add = read_amount(said["add"])
            self.cap = {k: EXACT.add(v, add.get(k, Decimal(0))) for k, v in self.cap.items()}
        if kind != "open":
            yield cap == self.cap, f"{where}: the cap is what was granted"
        self.cap = cap
        sums = self.added(said)
        if sums is not None:
            yield sums, f"{where}: what was spent adds up"
        self.spent = read_amount(standing["spent"])
        found, limits = standing.get("promises", {}), dict(self.limits)
        if kind == "promise":
            one = said["promise"]
            good = one["id"] not in limits and name_of(one["keys"]) == one["id"]
            limits[one["id"]] = one["limit"]
            self.made[one["id"]] = {**one, "at": said["at"], "withdrawn": None}
            self.ended.pop(one["id"], None)
            yield good, f"{where}: a promise, named by its keys"
        elif kind == "withdraw":
            good = limits.pop(said["promise_id"], None) is not None
            gone = {name: said[name] for name in ("at", "approver", "reason")}
            self.made[said["promise_id"]]["withdrawn"] = gone
            self.ended[said["promise_id"]] = said["seq"]
            yield good, f"{where}: a promise was withdrawn"
        elif kind == "grant" and said["which"] == "lifetime" and standing["cap"].get("delta"):
            wider = {"delta": standing["cap"]["delta"]}  # a limit may follow the cap on delta
            limits |= {n: v for n, v in found.items() if v == limits.get(n, {}) | wider}
        if limits or found:
            yield found == limits, f"{where}: the limits of promises are carried on"
        if kind in ("reserve", "charge", "plan"):
            told = {name: said.get(name) for name in ("at", "kind", "purpose", "release_id")}
            self.charged.append(said)
            self.charges.append({"entry": said["seq"], **told, "spent": amount(self.spent, 1)})
            amounts = [read_amount(limit) for limit in found.values()]
            if amounts:
                good = all(within(self.spent, limit) for limit in amounts)
                yield good, f"{where}: the charge is within every promise"
        self.limits = found
        self.history.append(told_of(said) | self.under(said))
        for name, made in self.made.items():
            made["limit"] = found.get(name, made["limit"])
            inside = within(self.spent, read_amount(made["limit"]))
            if made["withdrawn"] is None:  # else it stays as it was when it ended
                made["kept"] = inside
            made["exceeded"] = None if made["withdrawn"] is None else not inside

    def under(self, said: dict[str, Any]) -> dict[str, Any]:
        """The promises that were in force when what an entry is about was charged."""
        if said["kind"] not in ("reserve", "charge", "plan", "slot"):
            return {}
        now = (said["seq"], sorted(self.limits))
        paid = self.paid.get(said["plan_id"], now) if said["kind"] == "slot" else now
        self.paid[str(said.get("release_id") or said.get("plan_id"))] = paid
        return {"promises": paid[1]}

    def covers(self, release_id: str, promise_id: str) -> bool:
        """Whether a promise speaks of a release: not if it was withdrawn before the charge."""
        return self.ended.get(promise_id, math.inf) > self.paid[release_id][0]

    def added(self, said: dict[str, Any]) -> bool | None:
        """Whether what an entry leaves spent is what was spent before and its cost."""
        after = read_amount(said["standing"]["spent"])
        if said["kind"] not in ("reserve", "charge", "plan"):
            return None if not self.spent else after == self.spent
        cost: dict[str, str] = said["cost"]
        return after == {k: EXACT.add(self.spent[k], Decimal(v)) for k, v in cost.items()}


def told_of(said: dict[str, Any]) -> dict[str, Any]:
    """What an entry tells of its account, for those who read its history."""
    told = {"entry": said["seq"]} | {name: said[name] for name in TOLD if name in said}
    if said["kind"] == "promise":
        told["promise_id"] = said["promise"]["id"]
    for name, side in (("cost", 1), ("add", -1)):
        if name in said:
            told[name] = amount(read_amount(said[name]), side)
    if said["kind"] == "open":
        cap = said["standing"].get("cap")
        told["cap"] = amount(None if cap is None else read_amount(cap), -1)
    return told | {"spent": amount(read_amount(said["standing"]["spent"]), 1)}


class Chain:
    """The chain of the evidence, read from its first entry to its last."""

    def __init__(self, mine: str, release_id: str | None) -> None:
        self.account, self.mine, self.release_id = Account(), mine, release_id
        self.reserved: dict[str, Any] = {}
        self.committed: dict[str, Any] = {}
        self.hidden: list[int] = []
        self.hashes: list[str] = []
        self.last: dict[str, Any] | None = None  # of the account
        self.format, self.own, self.at = 0, "0" * 64, ""  # when the last entry was written
        self.places: list[int] = []  # of the account's entries, a chain of their own
        self.restored: list[dict[str, Any]] = []  # from an older copy: entries were lost
        self.whole: dict[str, Any] | None = None  # the last entry before the first of these

    def check(self, rows: list[dict[str, Any]]) -> Check:
        """Every entry hashes to its hash and carries the one before; what it says follows."""
        before = "0" * 64
        for place, row in enumerate(rows, 1):
            good = set(row) == {"seq", "hash", "body"} and row["seq"] == place
            good = good and re.fullmatch("[0-9a-f]{64}", row["hash"]) is not None
            if row["body"] is None:
                self.hidden.append(place)
                if not good:
                    yield False, f"entry {place} of the ledger is out of place"
            else:
                said = json.loads(row["body"], object_pairs_hook=once)
                good = good and sha256(row["body"].encode()) == row["hash"]
                good = good and said["seq"] == place and said["previous"] == before
                good = good and said.get("account") in (None, self.mine)
                yield good, f"entry {place} of the ledger ({said['kind']})"
                self.at = said["at"]
                self.format = said.get("to" if said["kind"] == "upgrade" else "format", self.format)
                if said["kind"] == "restore":
                    self.whole = self.whole if self.restored else self.complete_up_to
                    told = {name: said[name] for name in ("at", "approver", "reason", "lost")}
                    self.restored.append({"entry": place, **told})
                if said.get("account") == self.mine:
                    self.places.append(place)
                    if self.format >= 4:
                        numbered = said["account_seq"] == len(self.places)
                        linked = said["account_previous"] == self.own
                        yield numbered and linked, f"entry {place} is the account's next"
                    self.own = row["hash"]
                    yield from self.account.take(said)
                    self.told(place, row["hash"], said)
            before = row["hash"]
            self.hashes.append(before)

    def told(self, place: int, digest: str, said: dict[str, Any]) -> None:
        """Note what an entry of the account says of this release."""
        self.last = {"entry": place, "hash": digest, "at": said["at"]}
        if self.release_id is not None and said.get("release_id") == self.release_id:
            if said["kind"] in ("reserve", "slot") and not self.reserved:
                self.reserved = {"seq": place, "hash": digest, "at": said["at"]}
            elif said["kind"] == "commit" and not self.committed:
                output = said["output_hash"]
                self.committed = {"seq": place, "hash": digest, "output": output}

    @property
    def complete_up_to(self) -> dict[str, Any] | None:
        """The last entry up to which nothing of the account can be missing."""
        return self.whole if self.restored else self.shown_up_to

    @property
    def shown_up_to(self) -> dict[str, Any] | None:
        """The last entry up to which every one of the account's that the ledger has is shown."""
        if self.last is None or any(place > self.last["entry"] for place in self.hidden):
            return self.last
        return self.last | {"entry": len(self.hashes), "hash": self.hashes[-1]}


APPROVAL = (
    "entry", "at", "kind", "approver", "reason", "cap", "promise_id", "which", "add"
)  # fmt: skip
NO_APPROVER = "came with a release or a plan, and nobody is recorded as its approver"


def approvals_of(account: Account) -> list[dict[str, Any]]:
    """Who opened the account, with which cap and promises, and who raised a cap: one by one."""
    named = [row for row in account.history if row.get("approver") is not None]
    told = [row for row in named if row["kind"] in ("open", "promise", "grant")]
    return [{name: row[name] for name in APPROVAL if name in row} for row in told]


def approved_promises(statement: dict[str, Any]) -> list[bool]:
    """Of each promise that stands first, whether it was approved with the account."""
    rows = [row for row in statement["spending"]["approvals"] if row["kind"] == "promise"]
    named = {(row["promise_id"], row["at"]) for row in rows}
    own = [one for one in statement["promises"] if one.get("covers", not one["withdrawn"])]
    return [(one["id"], one["at"]) in named for one in own]


def approved_in(
    text: str,
    approvals: list[dict[str, Any]],
    promises: list[bool],
    written: Callable[[str], str],
) -> bool:
    """Whether a text tells when and why an account was opened, and every raise of its cap.

    Then of which `promises`, not approved with the account, nobody is recorded as the approver.
    """
    said, adds = [], []
    for row in approvals:
        day = row["at"][:10]
        by, reason = (written(" ".join(row[name].split())) for name in ("approver", "reason"))
        if row["kind"] == "open":
            said.append(re.escape(f"account opened on {day}: {reason}"))
        elif row["kind"] == "grant":
            which = "cap" if row["which"] == "lifetime" else "limit of pace"
            raised = re.escape(f" on {day} by {by}: {reason}")
            said.append(rf"{which} raised by ([εδρ =.,\de-]+){raised}")
            adds.append(row["add"])
    for place, good in enumerate(promises, 1):
        which = "the promise" if len(promises) == 1 else f"promise {place} of {len(promises)}"
        said += [] if good else [f"{which} {NO_APPROVER}"]
    found = re.fullmatch("; ".join(said), text)
    return found is not None and all(map(same_figures, found.groups(), adds))


def spending_of(release: dict[str, Any] | None, chain: Chain) -> dict[str, Any]:
    """What a statement says of the account, from its entries and the release, if it is of one."""
    account, left = chain.account, end_of(chain.account)
    if left is not None:
        left = {k: EXACT.subtract(v, account.spent.get(k, Decimal(0))) for k, v in left.items()}
    spending = {
        "account_now": amount(account.spent, 1),
        "cap": amount(account.cap, -1),
        "remaining": amount(left, -1),
        "charges": account.charges,
        "approved_by": account.approver,
        "approvals": approvals_of(account),
        "head": chain.hashes[-1],
        "entries": len(chain.hashes),
        "as_of": chain.at,
        "restored": chain.restored,
    }
    if release is None:
        return spending
    return spending | {
        "this": release["spent"],
        "account_then": release["account_spent"],
        "entry": chain.reserved,
        "commit": {name: chain.committed.get(name) for name in ("seq", "hash")},
    }


def check_account(
    statement: dict[str, Any],
    release: dict[str, Any] | None,
    evidence: dict[str, Any],
    chain: Chain,
    folder: Path,
) -> Check:
    """What the statement says of the account is what its entries say."""
    spending, account, unit = statement["spending"], chain.account, statement["unit"]
    if release is None:
        yield from check_history(statement, account, folder)
    else:
        told = bool(chain.reserved), "the release was reserved in the ledger"
        yield Finding(*told, among=(STORED, EVIDENCE))
        same = chain.committed.get("output") == statement["hashes"]["output"]
        yield same, "the ledger holds the hash of the released files"
    again = spending_of(release, chain)
    yield set(again) == set(spending), "what is said of the account"
    for name, value in again.items():
        where = (STATEMENT, STORED if name in ("this", "account_then") else EVIDENCE)
        yield Finding(spending[name] == value, f"spending: {name.replace('_', ' ')}", among=where)
    same = evidence["head"] == chain.hashes[-1]
    yield Finding(same, f"head of the ledger {chain.hashes[-1]}", among=(EVIDENCE,))
    terms = account.terms
    same = (unit["unit"], unit["adjacency"]) == (terms["unit"], terms["adjacency"])
    same = same and unit["subject"] == terms.get("unit_name", unit["subject"])
    same = same and statement["composition"]["filter"] == terms["filter"]
    yield same, "unit, adjacency and filter are the account's"
    if statement["risk"] is not None:
        same = statement["risk"]["total"] == total_of(account.spent, terms)
        yield same, "beliefs are about all that the account has spent"


def check_history(statement: dict[str, Any], account: Account, folder: Path) -> Check:
    """The history of an account is what its entries tell, and people read of every release."""
    told, total = statement["history"], total_of(account.spent, account.terms)
    yield told == account.history, "the history is that of the ledger, entry by entry"
    same = {k: v for k, v in statement["guarantee"].items() if k != "variant"} == total
    yield same and "variant" in statement["guarantee"], "the guarantee is of all that was spent"
    texts = [text_of(folder / "statement.md"), plain(text_of(folder / "report.html"))]
    ids = {row[name] for row in told for name in ("release_id", "plan_id") if name in row}
    shown = all(one in text for one in ids for text in texts)
    yield shown, f"statement.md and report.html list all {len(ids)} releases and plans"


def check_restored(restored: list[dict[str, Any]], folder: Path) -> Check:
    """Both pages tell that entries were lost, who answered for it and why; so does the verdict."""
    pages = {name: folder / f"{name}.html" for name in ("report", "participant")}
    texts = {
        name: [plain(one) for one in PARAGRAPH.findall(text_of(path))] if restored else []
        for name, path in pages.items()
        if name == "report" or os.path.lexists(path)
    }
    texts["statement"] = text_of(folder / "statement.md").split("\n")
    for one in restored:
        day, who, why = one["at"][:10], one["approver"], one["reason"]
        where = f"entry {one['entry']} of the ledger"
        for name, lines in texts.items():
            written = flat if name == "statement" else str
            wanted = [day, written(who), written(why), *one["lost"] * (name != "participant")]
            shown = any(all(words in line for words in wanted) for line in lines)
            page = "statement.md" if name == "statement" else f"{name}.html"
            what = f"the page {name} tells that the ledger was restored ({where})"
            yield Finding(shown, what, among=(page, EVIDENCE))
        what = f"{where}: it was restored from an older copy ({who}, {day}: {why})"
        yield None, f"{what}; charges that came before the lost heads may be missing"


def sqlite_rows(place: str) -> Rows:
    """The rows of a ledger in a file, all of them, as they are stored."""
    import sqlite3
    from urllib.parse import quote

    path = Path(place.removeprefix("sqlite:///"))
    if "://" in place.removeprefix("sqlite:///"):
        raise ValueError("only a ledger in a file can be read here; use discreet verify")
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
        try:
            query = "SELECT seq, body, hash FROM discreet_entries ORDER BY seq"
            return list(connection.execute(query))
        finally:
            connection.close()
    except sqlite3.Error as fault:
        raise ValueError(f"{path} is no ledger ({fault})") from None


def check_ledger(rows: Rows, chain: Chain, folder: Path) -> Check:
    """Every entry as the ledger itself has it: none of the account's is left out of the report."""
    before, bodies, reports = "0" * 64, [], set()
    for place, (seq, body, digest) in enumerate(rows, 1):
        said = json.loads(body)
        good = seq == place == said["seq"] and sha256(body.encode()) == digest
        if not (good and said["previous"] == before):
            yield False, f"entry {place} of the ledger itself was changed"
        before = digest
        bodies.append(said)
        mine = said.get("account") == chain.mine
        if said["kind"] == "report" and mine and said.get("reported") == chain.release_id:
            reports.add(said["manifest"])
        elif place > len(chain.hashes) and said["kind"] == "restore":
            what = f"entry {place} of the ledger, after this report: it was restored from an older"
            yield None, f"{what} copy, and charges may be missing"
    first = first_difference(rows, chain)
    same = first is None
    what = "the ledger begins with this chain"
    yield same, what if same else f"{what}{BUT_NOT}from entry {first} on"
    mine_or_all = (None, chain.mine)  # what concerns the whole ledger, such as a restore
    there = len(bodies) if first is None else first - 1  # the ledger's entries that are these
    hidden = [n for n in chain.hidden if n <= there and bodies[n - 1].get("account") in mine_or_all]
    for place in hidden:
        what = f"entry {place} is the account's, and the report leaves it out"
        yield Finding(False, what, among=(EVIDENCE,))
    if same and not hidden:
        yield True, "the report leaves out no entry of the account"
    if sha256(text_of(folder / MANIFEST).encode()) in reports:
        yield True, RECORDED
    elif reports:
        yield Finding(False, NOT_HELD, among=(MANIFEST,) if same else (MANIFEST, LEDGER))
    else:
        yield None, "the ledger holds no report of the same: nobody recorded this manifest"


def first_difference(rows: Rows, chain: Chain) -> int | None:
    """The first entry of a chain that the ledger has another of, or none; None if it has all."""
    held = [digest for _, _, digest in rows]
    pairs = enumerate(zip_longest(held[: len(chain.hashes)], chain.hashes), 1)
    return next((place for place, (there, here) in pairs if there != here), None)


class Since:
    """What the ledger itself has of the account after a report; nothing, where none is at hand."""

    def __init__(self, account: Account) -> None:
        self.account = account  # as it is now
        self.entries: list[dict[str, Any]] = []

    def read(self, rows: Rows, chain: Chain) -> Check:
        """Follow the account to the end of the ledger that this chain is the beginning of."""
        count, now = len(chain.hashes), Account()
        if first_difference(rows, chain) is not None:
            return  # another ledger, or another history: that is a problem of its own
        for place, (_, body, _) in enumerate(rows, 1):
            said = json.loads(body)
            if said.get("account") == chain.mine:
                found = [*now.take(said)]
                yield from found if place > count else ()
                self.entries += [said] * (place > count and said["kind"] != "report")
        self.account = now

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        """The later entries of these kinds."""
        return [said for said in self.entries if said["kind"] in kinds]

    def charged(self) -> str:
        """How many charges there are, and their sum."""
        total: dict[str, Decimal] = {}
        charges = self.of("reserve", "charge", "plan")
        for name, cost in (pair for said in charges for pair in read_amount(said["cost"]).items()):
            total[name] = EXACT.add(total.get(name, Decimal(0)), cost)
        return f"{counted(len(charges), 'charge')}, {in_words(total, ROUND_CEILING)}"

    @property
    def words(self) -> str:
        """All of it in a few words."""
        parts = [
            counted(len(self.of(kind)), what, done)
            for kind, what, done in (
                ("withdraw", "promise", "withdrawn"),
                ("promise", "promise", "made"),
                ("grant", "grant", ""),
            )
            if self.of(kind)
        ]
        parts += [self.charged()] if self.of("reserve", "charge", "plan") else []
        if self.entries and not parts:
            parts = [counted(len(self.entries), "entry", "of the account")]
        return "; ".join(parts)

    def told(self) -> Check:
        """The later entries, one by one those that people decided."""
        for said in self.of("withdraw", "promise", "grant"):
            what = "the cap was raised by"
            if said["kind"] == "grant":
                what = f"{what} {in_words(read_amount(said['add']), ROUND_FLOOR)}"
            else:
                name = said.get("promise_id") or said["promise"]["id"]
                what = f"promise {name} was {'made' if said['kind'] == 'promise' else 'withdrawn'}"
            who = ": ".join(" ".join(str(said[k]).split()) for k in ("approver", "reason"))
            when = moment(said["at"])
            yield None, f"after this report, entry {said['seq']}: {what} on {when} ({who})"
        if self.entries:
            verb = "is" if len(self.entries) == 1 else "are"
            what = counted(len(self.entries), "later entry", f"of the account {verb}")
            spent = f"{self.charged()}; spent in all {in_words(self.account.spent, ROUND_CEILING)}"
            more = f" ({spent})" if self.of("reserve", "charge", "plan") else ""
            yield None, f"{what} not in this report{more}"


def counted(count: int, what: str, more: str = "") -> str:
    """So many of something."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count} {what if count == 1 else many} {more}".rstrip()


def in_words(spent: dict[str, Decimal], side: str) -> str:
    """An amount in six figures, rounded to a side."""
    six, signs = Context(prec=6, rounding=side), {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
    told = [(signs[name], float(six.plus(spent[name]))) for name in signs if spent.get(name)]
    return ", ".join(f"{sign} = {value:.6g}" for sign, value in told) or "nothing"


def vouched_up_to(head: str | None, rows: Rows | None, chain: Chain) -> int | None:
    """The last entry of a chain that a head vouches for, with all before it; None if it is none.

    An entry carries the hash before it; of one that is shown by its hash alone, nobody can tell.
    One of the account's also carries the hash of the account's one before, and vouches for it.
    """
    known = [*chain.hashes, *(digest for _, _, digest in (rows or [])[len(chain.hashes) :])]
    if head not in known:
        return None
    last = min(known.index(head) + 1, len(chain.hashes))
    first = max((place for place in chain.hidden if place <= last), default=0)
    own = chain.format >= 4 and any(first < place <= last for place in chain.places)
    return last if rows is not None or not first or own else None


def answered_by(one: dict[str, Any]) -> str:
    """Which entry answers for lost ones, of which day, by whom and why."""
    who = ": ".join(" ".join(str(one[k]).split()) for k in ("approver", "reason"))
    return f"(entry {one['entry']}, on {one['at'][:10]}, by {who})"


def lost_with(head: str, rows: Rows | None, chain: Chain) -> str:
    """By which restore a head was lost, who answered for it and why; nothing if it was not."""
    later = [json.loads(body) for _, body, _ in (rows or [])[len(chain.hashes) :]]
    later = [said | {"entry": said["seq"]} for said in later if said["kind"] == "restore"]
    found = (one for one in (*chain.restored, *later) if head in one["lost"])
    return next(map(answered_by, found), "")


def witnessed(place: Path, ledger_id: str) -> list[tuple[int, str]]:
    """The heads of a ledger that a witness kept, each with its entry; one half written is none."""
    file, found = place / f"{ledger_id}.json" if place.is_dir() else place, []
    for line in whole_text(file).splitlines() if file.exists() else []:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        said = said if type(said) is dict and said.get("ledger_id") == ledger_id else {}
        if type(said.get("seq")) is int and type(said.get("head")) is str:
            found.append((said["seq"], said["head"]))
    return found


HAS_A_HEAD = "the witness has a head of this ledger"


def check_witness(heads: list[tuple[int, str]], rows: Rows | None, chain: Chain) -> Check:
    """Every head that a witness kept is of this chain, of a later entry, or answered for."""
    count, last = len(chain.hashes), max(heads, default=(0, ""))[0]
    known = {*chain.hashes, *(head for one in chain.restored for head in one["lost"])}
    for _, body, digest in rows or []:
        known |= {digest, *json.loads(body).get("lost", [])}
    yield bool(heads), HAS_A_HEAD
    where = (EVIDENCE if rows is None else LEDGER, WITNESS)
    for seq, head in heads:
        if head not in known and (seq <= count or rows is not None):
            what = f"entry {seq} of the ledger is the one that the witness saw, {head}"
            yield Finding(False, what, among=where)
    if heads:
        yield True, f"the witness saw entries up to {last}; this report ends at entry {count}"
    for (seq, head), (after, other) in pairwise(heads):
        if rows is None and after <= seq and head != other:
            what, lost = f"the witness saw entry {seq}, then", lost_with(head, rows, chain)
            why = f"in between the ledger was restored from an older copy {lost}"
            if not lost:
                why = "if an older copy of the ledger was put in its place in between, and who "
                why += "answered for that, only the ledger shows"
            yield None, f"{what} an entry {after}: {why}"
    if last > count and rows is None:
        what = f"that {span(count + 1, last)}, which the witness saw after this report, charged"
        yield None, f"{what} nothing to the account (a report is an entry too): needs the ledger"


def span(first: int, last: int) -> str:
    """Entries in words."""
    return f"entry {last}" if first == last else f"entries {first} to {last}"


def check_outside(head: str | None, rows: Rows | None, chain: Chain) -> Check:
    """What the folder alone cannot tell; `rows` are the ledger's, if it is there."""
    count, known = len(chain.hashes), rows is not None
    reach, anew = vouched_up_to(head, rows, chain), "that this chain was not written anew"
    if head is not None and rows is not None and head not in chain.hashes:
        found = any(digest == head for _, _, digest in rows)
        lost = "" if found else lost_with(head, rows, chain)
        what = f"the ledger has the head kept elsewhere, {head}" + (
            f": it{LOST}{lost}" * bool(lost)
        )
        yield Finding(found, what, among=(LEDGER,))
    elif head is not None:
        lost = lost_with(head, rows, chain)
        yield (
            head in chain.hashes,
            f"{HEAD}{head}, is in the chain" + f": it{LOST}{lost}" * bool(lost),
        )
        if head in chain.hashes and reach is None:
            what = "the head does not vouch for entries that are shown as hashes, nor those before"
            yield None, f"{anew}: needs the ledger, for {what}"
    if head is None:  # a ledger can be written anew as a folder can
        yield None, f"{anew}: needs a head kept elsewhere"
    elif reach is not None and reach < count:
        what = f"{span(reach + 1, count)} may have been written anew, or others left out after"
        yield None, f"{what} entry {reach}, the last that the head vouches for: needs a newer head"
    if known:
        return
    what = "the wording and the labels of report.html, statement.md and of the texts in "
    what += "statement.json, and the drawings in report.html"
    if chain.release_id is not None:
        what = f"{what.replace(' and of the texts', ', participant.html and of the texts')}, the "
        what += "sources of keys and bounds, and in registry.yaml all but its parameters, "
        what += "promises, hashes and text for a regulator"
    yield None, f"{what}: that they are the true ones needs the ledger"
    complete = (chain.shown_up_to or {"entry": 0})["entry"]
    if complete < count:
        what = f"of {span(complete + 1, count)} there are hashes only"
        yield None, f"{what}: that none is the account's needs the ledger"
    if chain.hidden:
        what = "that no entry shown as a hash says that the ledger was restored from an older copy"
        yield None, f"{what}: needs the ledger"
    yield None, f"what was charged after entry {complete}: that needs the ledger"


# -- the texts say what the statement says


def up_to(x: float) -> str:
    """A probability as tables write it: a percentage of one decimal, rounded up."""
    nearest = round(100 * x, 1)
    if nearest < 100 * x * (1 - 64 * 2.0**-52):
        nearest = round(nearest + 0.1, 1)
    return f"{nearest:.1f}".removesuffix(".0") + " %"


def learned_rows(learned: dict[str, Any]) -> list[list[str]]:
    """The rows of the table that people read, as its cells."""
    rows, names = learned["rows"], ("membership", "value", "both", "guess")
    columns = [name for name in names if any(row[name] is not None for row in rows)]
    return [
        ["–" if row[name] is None else up_to(row[name]) for name in ("prior", *columns)]
        for row in rows
    ]


def check_shown(statement: dict[str, Any], folder: Path) -> Check:
    """The table that people read, in Markdown and on the page, has the figures of the statement."""
    if statement["learned"] is None:
        return
    texts = {
        "statement.md": re.sub(r" *\| *", "|", text_of(folder / "statement.md")),
        "report.html": re.sub(r"\|+", "|", plain(text_of(folder / "report.html"))),
    }
    wanted = ["|".join(["", *cells, ""]) for cells in learned_rows(statement["learned"])]
    for name, text in texts.items():
        yield all(row in text for row in wanted), f"the table in {name} has these figures"


VARIANTS = {  # their names, and those that the registry has for them
    "pure": ("pure differential privacy", "Pure DP"),
    "approximate": ("approximate differential privacy", "Approximate DP"),
    "concentrated": ("zero-concentrated differential privacy", "Zero-concentrated DP"),
    "approximate-concentrated": ("a privacy curve", ""),
    "none": ("none: the file was chosen by looking at the data", "Custom"),
}
FACT = re.compile(r"<dt>[^<]*</dt><dd>([^<]*)<small>([^<]*)</small></dd>")
CELL = re.compile(r'<td class="figure">([^<]*)(?:<small>([^<]*)</small>)?')
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
DECIMAL = re.compile(r"-?\d{1,400}(?:\.\d{1,400})?")


def same_figures(text: str, amounts: dict[str, Any], cap: dict[str, Any] | None = None) -> bool:
    """Whether a text has the numbers of an amount, to the six figures that are printed.

    What is left of a cap is printed to the figures of the cap; without a cap there are none.
    """
    shown = sorted(float(found.replace(",", "")) for found in NUMBER.findall(text))
    least = 2e-6 * max((cap or {}).get("epsilon") or 0.0, (cap or {}).get("rho") or 0.0)
    wanted = sorted(amounts[name] for name in ("epsilon", "delta", "rho") if amounts[name])
    told, wanted = ([x for x in numbers if x > least] for numbers in (shown, wanted))
    close = (abs(a - b) <= 1.1e-5 * b + least for a, b in zip(told, wanted, strict=False))
    return len(told) == len(wanted) and all(close)


def check_first_page(
    statement: dict[str, Any], release: dict[str, Any] | None, folder: Path
) -> Check:
    """The facts and the released numbers on the page are those of the statement and the table."""
    text = text_of(folder / "report.html")
    named = VARIANTS[statement["guarantee"]["kind"]][0]
    same = statement["guarantee"]["variant"] == named
    same = same and f"- **Variant**: {named}\n" in text_of(folder / "statement.md")
    what = "the statement names the variant that its parameters have"
    yield Finding(same, what, among=(STATEMENT, "statement.md"))
    blocks = re.findall(r'<dl class="facts">(.*?)</dl>', text, re.DOTALL)
    yield Finding(len(blocks) == 1, "report.html has one list of facts", among=("report.html",))
    facts = FACT.findall("".join(blocks))
    spending, guarantee = statement["spending"], statement["guarantee"]
    nothing = dict.fromkeys(("epsilon", "delta", "rho"))
    wanted = [spending["account_now"], spending["remaining"]]
    if release is not None and guarantee["kind"] != "none":
        kind = "epsilon" if guarantee["rho"] is None else "rho"
        wanted = [
            nothing | {kind: guarantee[kind]},
            nothing | {"delta": guarantee["delta"]},
            *wanted,
        ]
    elif release is not None:
        wanted = [nothing, *wanted]
    right = len(facts) == len(wanted) + 2
    told = html.unescape(facts[0][0]) if facts else ""
    right = right and told.startswith(statement["unit"]["subject"])
    variant = (html.unescape(facts[-1][0]), facts[-1][1]) if facts else ()
    right = right and variant == (guarantee["variant"], statement["unit"]["adjacency"])
    cap, altered = spending["cap"], list[tuple[str, dict[str, Any]]]()
    if right:
        for (shown, _), amounts in zip(facts[1:-1], wanted, strict=True):
            left = cap if amounts is spending["remaining"] else None
            altered += [] if same_figures(shown, amounts, left) else [(shown, amounts)]
        altered += [] if same_figures(facts[-2][1], cap) else [(facts[-2][1], cap)]
    if right and release is None:
        right = facts[1][1].startswith("δ = 0: ") == (guarantee["kind"] == "pure")
    what = "the facts on the first page of report.html are those of the statement"
    for shown, amounts in altered[:1]:
        signs = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
        has = [f"{signs[name]} = {amounts[name]:.6g}" for name in signs if amounts.get(name)]
        what += f"{BUT_NOT}“{html.unescape(shown)}”, where {STATEMENT} has "
        what += ", ".join(has) or "none"
    yield right and not altered, what
    who, approvals = spending["approved_by"] or "–", spending["approvals"]
    promises = approved_promises(statement)
    named = "Account" if spending["cap"].get("unbounded") else "Cap"
    named = "Promise and cap" if any(promises) else named
    written = re.findall(r"^- \*\*Approved by\*\*: (.*)$", text_of(folder / "statement.md"), re.M)
    lines = [plain(one) for one in re.findall(r'</dl><p class="meta">(.*?)</p>', text, re.DOTALL)]
    for name, found, first in (
        ("the first page of report.html", lines, f"{named} approved by {who}; "),
        ("statement.md", written, f"{flat(who)}; "),
    ):
        good = len(found) == 1 and found[0].startswith(first)
        told = found[0].removeprefix(first) if good else ""
        good = good and approved_in(told, approvals, promises, flat if name in PAGES else str)
        yield good, f"{name} tells who approved the account, and raises of its cap"
    if release is not None and release.get("table"):
        odd = odd_numbers(text, release["table"])
        what = BUT_NOT.join(["the released numbers in report.html are those of the table", *odd])
        yield Finding(not odd, what, among=("report.html", STORED))


def odd_numbers(text: str, table: dict[str, Any]) -> list[str]:
    """The first number on the page that was not released, with what should stand there, if any.

    That is the number of the row and the column whose names have most of its keys, where there is
    one such; of the released table, among those that the page lacks.
    """
    numbers = released_numbers(table)
    known = {pair for pairs in numbers for pair in pairs}
    pages = re.findall(r"<caption>What was released[^<]*</caption>.*?</table>", text, re.DOTALL)
    page = "".join(pages)
    found: list[tuple[list[str], tuple[str, str]]] = []
    columns = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page)
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL):
        labels = re.findall(r'<th scope="row">([^<]*)</th>', row)
        for place, pair in enumerate(CELL.findall(row), len(labels)):
            found.append(([*labels, *columns[place : place + 1]], pair))
    there = {pair for _, pair in found}
    lacking = [at for at, pairs in enumerate(numbers) if there.isdisjoint(pairs)]
    odd = [one for one in found if any(one[1]) and one[1] not in known]
    if not odd:  # then in the table beside the chart, of the first statistic
        drawn = re.findall(r"chart: Released values of [^<]*</caption>.*?</table>", text, re.DOTALL)
        rows = [row for one in tables_in("".join(drawn)) for row in one]
        cells = ((row[0].split(" · "), (row[1], f"{row[2]} to {row[3]}")) for row in rows)
        odd = [one for one in cells if one[1] not in known]
        lacking = [
            at for at, name in enumerate(table["statistic"]) if name == table["statistic"][0]
        ]
    if not odd:
        return [] if len(pages) == 1 or not known else ["in one table"]
    where, pair = [html.unescape(one) for one in odd[0][0] if one], odd[0][1]
    keys = [name for name in table if name not in NUMERIC]
    alike = {at: len({*where} & {str(table[name][at]) for name in keys}) for at in lacking}
    most = max(alike.values(), default=0)
    near = [at for at, size in alike.items() if size == most]
    should = f", where {STORED} has “{told_as_cell(numbers[near[0]][-1])}”" if near else ""
    quote = f"“{' | '.join(where)}: {told_as_cell(pair)}”"
    return [quote + (should if len(near) == 1 else "")]


def told_as_cell(pair: tuple[str, str]) -> str:
    """A number with its interval, in a line."""
    return f"{pair[0]} ({pair[1]})" if pair[1] else pair[0]


Pairs = list[tuple[str, str]]


def released_numbers(table: dict[str, Any]) -> list[Pairs]:
    """Each number of a table with its interval; or the one that is published in its place.

    They are as released, and as they are shown: with as many decimals for all of a statistic.
    """
    found: list[Pairs] = [[] for _ in table["value"]]
    shown = {name: list(table[name]) for name in DECIMALS if table.get(name)}
    for statistic in dict.fromkeys(table["statistic"]):
        places = [at for at, name in enumerate(table["statistic"]) if name == statistic]
        for side in ("interval", "published"):
            own = [name for name in shown if DECIMALS[name][0] == side]
            texts = [text for name in own for at in places if (text := shown[name][at])]
            digits = shared_decimals(texts)
            for name in own if digits else ():
                for at in places:
                    if text := shown[name][at]:
                        shown[name][at] = with_decimals(text, digits, DECIMALS[name][1])
    for printed in (table, shown):
        for at in range(len(table["value"])):
            ends, kept = "", printed["value"][at]
            for name, side in (("value", "interval"), ("published", "published")):
                columns = (name, f"{side}_low", f"{side}_high")
                x, low, high = (printed[key][at] if printed.get(key) else None for key in columns)
                kept = kept if x is None else x
                ends = ends if None in (x, low, high) else f"{low} to {high}"
                found[at].append((kept or "", ends))
    return found


DECIMALS: dict[str, tuple[str, Callable[[Fraction], int]]] = {
    "value": ("interval", round),
    "interval_low": ("interval", math.floor),
    "interval_high": ("interval", math.ceil),
    "published": ("published", round),
    "published_low": ("published", math.floor),
    "published_high": ("published", math.ceil),
}


NUMERIC = {*DECIMALS, "std_error"}  # the columns of a table that are no texts


def shared_decimals(texts: list[str]) -> int:
    """The most decimals of some numbers, but no more than six figures of the largest, or three."""
    if not all(DECIMAL.fullmatch(text) for text in texts):
        return 0
    most = max((len(text.partition(".")[2]) for text in texts), default=0)
    leading = max((x.adjusted() for x in map(Decimal, texts) if x), default=0)
    return min(most, max(3, 5 - leading))


def with_decimals(text: str, digits: int, to_whole: Callable[[Fraction], int]) -> str:
    """A number with so many decimals."""
    whole = to_whole(Fraction(text) * 10**digits)
    size = str(abs(whole)).rjust(digits + 1, "0")
    return f"{'-' if whole < 0 else ''}{size[:-digits]}.{size[-digits:]}"


COLUMNS = ("in", "value", "joining")  # of the participant's page


def check_participant(
    statement: dict[str, Any], release: dict[str, Any], account: Account, folder: Path
) -> Check:
    """Recompute every row that the participant's page can show; its promises are the same."""
    whole, page = (read(folder / "participant.html") for read in (whole_text, text_of))
    told = re.findall(r'<script type="application/json" id="table">(.*?)</script>', whole)
    yield Finding(len(told) == 1, "participant.html has one table", among=("participant.html",))
    table, risk = json.loads(told[0], object_pairs_hook=once), statement["risk"]
    if risk is None:
        yield table is None, "participant.html states no belief"
        return
    total, end = total_of(account.spent, account.terms), end_of(account)
    central, sure = total["adjacency"] == "add-remove", risk["beliefs"][0]["holds_with"]
    last = None if end is None else total_of(end, account.terms)
    later = 0.99 if sure == 1 and last is not None and last["kind"] != "pure" else sure
    stages = {name: table[name] for name in ("now", "end") if table[name]}
    sizes = {name: 99 if central or name == "value" else 0 for name in COLUMNS}
    good = all({k: len(v or ()) for k, v in stage.items()} == sizes for stage in stages.values())
    good = good and "now" in stages and (table["of"], table["start"]) == ("# in 100", 30)
    good = good and table["holds_with"] == later and (end is not None or "end" not in stages)
    yield good, "participant.html states what belongs there, as surely as the statement"
    shown = plain(page)
    same = all(one["sentence"].removesuffix(ALWAYS) in shown for one in statement["promises"])
    yield same, "participant.html has the promises of the statement"
    for name in (name for name in COLUMNS if sizes[name]):
        bad = shown_otherwise(name, stages["now"][name], total, sure)
        what = f"participant.html, {name}: every row is at least what is recomputed"
        yield Finding(not bad, what, among=("participant.html", EVIDENCE))
        if last is not None:
            rows = stages.get("end", stages["now"])[name]
            bad = shown_otherwise(name, rows, last, later)
            what = f"participant.html, {name}: so is every row of what may follow"
            yield Finding(not bad, what, among=("participant.html", EVIDENCE))
    figures = re.findall(r'<b data-of="(\w+)\.(\w+)">([^<]*)</b>', page)
    wanted = {"before.chosen", "now.chosen", *(f"{stage}.chosen" for stage in stages)}
    chosen = "in" if central and first_about(statement["promises"]) != "value" else "value"
    good = wanted <= {f"{stage}.{about}" for stage, about, _ in figures}
    good = good and page.count("<b ") == len(figures)
    for stage, about, text in figures:
        column = about if about != "chosen" else chosen
        most = 30 if stage == "before" else stages[stage][column][29]
        good = good and text == f"{most:g} in 100"
    good = good and re.findall(r'name="about" value="(\w+)" checked', whole) == [chosen]
    good = good and shown.count(AS_LONG_AS) == ("end" in stages)
    yield good, "participant.html begins with rows of its table, on what is promised"


ALWAYS = " This holds for every possible output."  # told in other words on that page
NO_PROMISE = (  # where none was made, and where all that were made were withdrawn
    "No promise was made about beliefs;",
    "No promise about beliefs is in force.",
)


def shown_otherwise(name: str, rows: list[float], total: dict[str, Any], sure: float) -> list[int]:
    """The places, of 100, whose row is less than what is recomputed, or more than its rounding."""
    return [
        place
        for place, row in enumerate(rows, 1)
        if not participant_row(name, place / 100, row, total, sure)
    ]


def two_figures(x: float, crowd: int = 100, side: int = 1) -> float:
    """A probability in a crowd, rounded to a side at two figures, or to one of its complement."""
    x = crowd * min(1.0, max(0.0, x))
    parts = 1
    while parts < 100 and 0 < min(x / 10, crowd - x) * parts < 1 - CLOSE:
        parts *= 10
    return (math.ceil(x * parts - 1e-7) if side > 0 else math.floor(x * parts + 1e-7)) / parts


@cache
def participant_bound(name: str, p: float, sure: float, total: tuple[Any, ...]) -> float:
    """The least that a row has to show: the largest belief, or the largest chance."""
    if name == "joining":
        return float(guess_bound(dict(total), 1, p))
    p1, q1 = (p, 1.0) if name == "in" else (1.0, p)
    return beliefs(dict(total), p1, q1, failure_of(sure))[1]


def participant_row(name: str, p: float, row: float, total: dict[str, Any], sure: float) -> bool:
    """Whether a row is no less than the truth, and no more than it rounded up."""
    near = participant_bound(name, p, sure, tuple(total.items()))
    if row < two_figures(near - CLOSE):
        return False
    if row <= two_figures(near + SHOWN):
        return True
    searched = name == "joining" and total["kind"] in ("concentrated", "approximate-concentrated")
    return bool(searched and row <= two_figures(curve_guess(total, 1, p) + SHOWN))


SERIES = re.compile(r"This is number ([\d,]+) of ([\d,]+) that we plan(?:ned)? to publish")


STOPS = re.compile(r"For now (?:the|a) (cap|promise) stops them after ([\d,]+)")
ALL_OUT = re.compile(r"When (?:it is|all ([\d,]+) are) out")
AS_LONG_AS = "What is said of the end holds as long as "  # promises stand, no cap is raised


def place_in_series(
    release: dict[str, Any], charged: list[dict[str, Any]]
) -> tuple[int, int, int] | None:
    """The number of a release in its series, of how many, and how many are still to come.

    A series shares out what a promise of the account allows, whatever is published of which file.
    One that shares out a budget in numbers is told by what it is for and what each part costs.
    """
    taken = release.get("series") or {}
    if "slot" in taken:  # of a plan that was charged at once
        return taken["slot"], taken["of"], taken["of"] - taken["slot"]
    planned = release.get("spec", {}).get("series")
    mine = next((one for one in charged if one.get("release_id") == release["release_id"]), None)
    if planned is None or mine is None:
        return None
    total = planned["releases"]
    promises = set(mine["standing"].get("promises", {}))

    def alike(one: dict[str, Any]) -> bool:
        if "releases" not in one:  # written before that was recorded, or none of a series
            return bool(one.get("spec_hash") == mine["spec_hash"])
        if one["releases"] != total:
            return False
        if release["spec"].get("budget") is None:
            return not promises.isdisjoint(one["standing"].get("promises", {}))
        return all(one[name] == mine[name] for name in ("cost", "purpose"))

    same = [one["seq"] for one in charged if alike(one)]
    if mine["seq"] not in same or len(same) > total:
        return None
    return 1 + same.index(mine["seq"]), total, total - len(same)


def end_of(account: Account) -> dict[str, Decimal] | None:
    """What may be spent in the end: all that is approved; None if nothing limits it."""
    end = account.cap
    for limit in map(read_amount, account.limits.values()):
        end = limit if end is None else {k: min(v, limit[k]) for k, v in end.items()}
    return None if end is None else {k: max(v, end[k]) for k, v in account.spent.items()}


def stop_of(release: dict[str, Any], account: Account) -> tuple[str, int] | None:
    """What ends a series that goes on, and after how many releases of the same cost.

    "series" where what is approved is enough for all of it, and for no other; "cap" or "promise"
    where that allows fewer (the promise, where both do: no grant would change it). None if none is
    to come, if more is approved, or if nothing limits it.
    """
    place = place_in_series(release, account.charged)
    mine = [one for one in account.charged if one.get("release_id") == release["release_id"]]
    if place is None or not mine or not place[2]:
        return None
    _, total, rest = place
    cost, more = read_amount(mine[0]["cost"]), dict[str, int]()
    limits = [("promise", read_amount(limit)) for limit in account.limits.values()]
    limits += [] if account.cap is None else [("cap", account.cap)]
    for name, limit in limits:
        left = {k: max(Decimal(0), EXACT.subtract(limit[k], account.spent[k])) for k in cost}
        fit = min((int(EXACT.divide_int(left[k], x)) for k, x in cost.items() if x), default=rest)
        more[name] = min(fit, more.get(name, fit))
    least_of = min(more.values(), default=math.inf)
    if least_of >= rest:
        return ("series", total) if least_of == rest else None
    return max((name, total - rest + fit) for name, fit in more.items() if fit == least_of)


def tells_end(text: str, release: dict[str, Any], account: Account) -> bool:
    """Whether a text says that all of a series will be out where it will, and what stops it."""
    what, after = stop_of(release, account) or ("", 0)
    stops = [] if what in ("", "series") else [(what, f"{after:,}")]
    whole = {f"{after:,}"} if what == "series" and AS_LONG_AS in text else set()
    told = {found[1] or "1" for found in ALL_OUT.finditer(text)}
    return STOPS.findall(text) == stops and told == whole


def check_series(
    statement: dict[str, Any], release: dict[str, Any], account: Account, folder: Path
) -> Check:
    """Both pages tell where the release stands in its series, and what ends it."""
    place = None if statement["risk"] is None else place_in_series(release, account.charged)
    wanted = [] if place is None else [(f"{place[0]:,}", f"{place[1]:,}")]
    for name in ("report.html", "participant.html"):
        text = plain(text_of(folder / name))
        told = SERIES.findall(text)
        what = f"{name} tells the place in a series that the entries have"
        yield Finding(told == wanted, what, among=(name, STORED, EVIDENCE))
        good = statement["risk"] is None or tells_end(text, release, account)
        what = f"{name} tells how a series ends as the entries allow"
        yield Finding(good, what, among=(name, STORED, EVIDENCE))


# -- the sentences and the other tables of both pages

FREQUENCY = re.compile(r"(\d[\d,]*(?:\.\d+)?) in (1[0,]*0)\b")
PARAGRAPH = re.compile(r'<p class="statement">(.*?)</p>', re.DOTALL)
ADDS = re.compile(r"^- \*\*Most that one unit adds\*\*: (.*)$", re.MULTILINE)
LINES = {  # of statement.md, by what spending has
    "parameters": "Parameters of this release",
    "this": "This release",
    "account_then": "The account, when this was released",
    "account_now": "The account now",
    "remaining": "Remaining",
    "cap": "Cap",
}
Told = tuple[float, float, str]  # within what, and rounded how: up, down, given, or a chance


def frequencies_in(text: str) -> list[tuple[float, int]]:
    """The frequencies of a text, each with its denominator."""
    found = (pair.groups() for pair in FREQUENCY.finditer(text))
    return [(float(count.replace(",", "")), int(of.replace(",", ""))) for count, of in found]


def fits(count: float, crowd: int, one: Told) -> bool:
    """Whether a frequency is what it should be, as it is rounded."""
    low, high, how = one
    if how == "given":
        return math.isclose(count, low * crowd, rel_tol=1e-5)
    if how == "chance":
        return -1e-6 <= count - low * crowd <= 0.1 + 1e-6
    side = 1 if how == "up" else -1
    ends = (two_figures(x, crowd, side) for x in (low - CLOSE, high + CLOSE))
    return next(ends) <= count <= next(ends)


def told_as(wanted: list[Told], text: str) -> bool:
    """Whether the frequencies of a text are these, in this order."""
    found = frequencies_in(text)
    same = (fits(*pair, one) for pair, one in zip(found, wanted, strict=False))
    return len(found) == len(wanted) and all(same)


def but_not(wanted: list[Told], text: str) -> str:
    """The first frequency of a text that is not what it should be, with what it should be."""
    told = zip(FREQUENCY.finditer(text), frequencies_in(text), wanted, strict=False)
    for found, (count, crowd), one in told:
        if not fits(count, crowd, one):
            low, _, how = one
            true = low * crowd if how == "given" else math.ceil(10 * low * crowd - 1e-5) / 10
            if how in ("up", "down"):
                true = two_figures(low, crowd, 1 if how == "up" else -1)
            by = f"by {STATEMENT} and {EVIDENCE} it is {true:.6g} in {found[2]}"
            return f"{BUT_NOT}{quoted(found, 0)}: {by}"
    return ""


def quoted(found: re.Match[str], group: int) -> str:
    """A figure that was found in a text, with the words before it."""
    start, end = found.span(group)
    first = max(0, start - 60)
    first = first and (found.string.find(" ", first, start) + 1 or first)  # no part of a word
    words = re.split(r"[|\n]+(?=[^|\n]*\w)", found.string[first:end])[-1]
    return f"“… {' '.join(words.split()).lstrip('.,;: ')}”"


def joined_as(total: dict[str, Any], x: float) -> Told:
    """What a chance x with the unit left out becomes with it in."""
    low = guess_bound(total, 1, x)
    searched = total["kind"] in ("concentrated", "approximate-concentrated")
    return low, max(low, curve_guess(total, 1, x)) + SHOWN if searched else low, "up"


def first_about(promises: list[dict[str, Any]]) -> str:
    """What the first promise that stands is about."""
    standing = (one["about"] for one in promises if not one.get("withdrawn"))
    return next(standing, "membership")


def headline(statement: Any) -> dict[str, Any]:
    """The belief that sentences speak of: at the first promise's own prior, else from 30 %.

    Of a promise about a value it is one about a value.
    """
    rows: list[dict[str, Any]] = statement["risk"]["beliefs"]
    usual = [row for row in rows if row["p"] * row["q"] == PRIORS[2]]
    found = [row for row in rows if row["own"]] or usual
    same = [row for row in found if row["p"] * row["q"] == found[0]["p"] * found[0]["q"]]
    about = first_about(statement["promises"])
    return next((row for row in same if row["about"] == about), found[0])


NEARLY = 0.75  # of what has a chance of one half without the unit; of pure DP where e^ε is 2


def looks_alike(learned: dict[str, Any]) -> bool:
    """Whether all that is published looks nearly the same with the unit and without it."""
    even = (row for row in learned["rows"] if row["prior"] == 0.5 and row["guess"] is not None)
    return all(row["guess"] <= NEARLY for row in even)


def check_sentences(statement: dict[str, Any], release: dict[str, Any] | None, account: Account,
                    folder: Path) -> Check:  # fmt: skip
    """The sentences for everyone have the checked figures, the same on both pages."""
    public, risk = statement["texts"]["public"].split("\n\n"), statement["risk"]
    page = re.findall(r'<section id="public".*?</section>', text_of(folder / "report.html"), re.S)
    yield Finding(
        len(page) == 1, "report.html has one section for everyone", among=("report.html",)
    )
    shown = [plain(one) for one in PARAGRAPH.findall("".join(page))]
    rest = shown[len(public) :]
    yield shown[: len(public)] == public and len(rest) < 2, "report.html has the texts"
    written = "".join(f"{flat(one)}\n\n" for one in shown)
    same = f"\n\n{written}## " in text_of(folder / "statement.md")
    what = "statement.md tells everyone what report.html does"
    yield Finding(same, what, among=("statement.md", "report.html"))
    if risk is None:
        return
    near = "looks nearly the same" in public[0]
    good = not near or looks_alike(statement["learned"])
    yield Finding(good, "“nearly the same” is said of little loss", among=(STATEMENT,))
    unit = re.compile(rf"(?<!\w){re.escape(statement['unit']['subject'])}(?!\w)")
    row, total = headline(statement), total_of(account.spent, account.terms)
    x, sure, central = row["p"] * row["q"], row["holds_with"], total["adjacency"] == "add-remove"
    given, now = (x, x, "given"), (row["upper"], row["upper"], "up")
    failing = failure_of(sure)
    chances: list[Told] = [(failing, failing, "chance")] if sure < 1 else []
    told = unit.sub("…", public[-2])
    crowd = int(next(iter(FREQUENCY.findall(told)), ("", "100"))[1].replace(",", ""))
    least = two_figures(row["lower"], crowd, -1) > 0
    bound: list[Told] = [given, now] + ([(row["lower"], row["lower"], "down")] if least else [])
    joins = [given, joined_as(total, x)] if central else []
    last = unit.sub("…", public[-1])
    good = told_as([*bound, *chances, *joins], told) and told_as(chances, last)
    wrong = but_not([*bound, *chances, *joins], told) or but_not(chances, last)
    counts = [float(n.replace(",", "")) for n in NUMBER.findall(FREQUENCY.sub("", told + last))]
    left = failing * PEOPLE
    good = good and len(counts) == 2 * len(chances)
    good = good and (not counts or (counts[0] == PEOPLE and left - CLOSE <= counts[1] < left + 1))
    yield good, f"the sentences for everyone have the figures of {STATEMENT} and {EVIDENCE}{wrong}"
    rows: list[Told] = []
    for one in risk["by_confidence"]:
        failing = failure_of(one["confidence"])
        most = beliefs(total, row["p"], row["q"], failing, roughly=True)[1]
        rows.append((most - CLOSE, most + 1e-3, "up"))
    told = unit.sub("…", statement["texts"]["regulator"].split("\n\n")[-2])
    what = "the sentences for a regulator have the figures of statement.json and evidence.json"
    yield told_as(bound + rows, told), what + but_not(bound + rows, told)
    promised = {one["about"] for one in statement["promises"] if not one["withdrawn"]}
    promised |= {"membership", "value"} if "both" in promised or not promised else set()
    also = [one for one in risk["beliefs"] if one["about"] in promised - {row["about"], "both"}]
    also = [one for one in also if one["p"] * one["q"] == x and row["about"] != "both"]
    ahead = check_ahead([row, *also], release, account, unit.sub("…", "".join(rest)))
    yield Finding(*ahead, among=("report.html", STATEMENT, EVIDENCE))


def check_ahead(rows: list[dict[str, Any]], release: dict[str, Any] | None, account: Account,
                told: str) -> tuple[bool, str]:  # fmt: skip
    """The paragraph on what may still follow has the figures of now and of the end.

    They are about each question that a promise is about: being in, and a value.
    """
    release = release or {"release_id": None}
    end, place = end_of(account), place_in_series(release, account.charged)
    wanted: list[Told] = []
    numbers = {f"{n:,}" for n in ((place or ())[:2] + (stop_of(release, account) or ())[1:])}
    total, sure = total_of(account.spent, account.terms), rows[0]["holds_with"]
    if end is not None:
        last = total_of(end, account.terms)
        both = ((last[k] or 0.0, total[k] or 0.0) for k in ("epsilon", "delta", "rho"))
        if not all(math.isclose(*pair, rel_tol=1e-12) for pair in both):
            later = 0.99 if sure == 1 and last["kind"] != "pure" else sure
            for row in rows:
                x, room = row["p"] * row["q"], 1e-3 if row["about"] == "both" else SHOWN
                given, now = (x, x, "given"), (row["upper"], row["upper"], "up")
                most = beliefs(last, row["p"], row["q"], failure_of(later))[1]
                wanted += [given, now, (most, most + room, "up")]
                if total["adjacency"] == "add-remove" and row is rows[0]:
                    wanted += [given, joined_as(total, x), joined_as(last, x)]
            failing = failure_of(later)
            wanted += [(failing, failing, "chance")] if later < sure else []
    good = told_as(wanted, told) and numbers >= {*NUMBER.findall(FREQUENCY.sub("", told))}
    good = good and (AS_LONG_AS in told) == bool(wanted) and tells_end(told, release, account)
    what = f"what may still follow has the figures of {STATEMENT} and {EVIDENCE}"
    return good, what + but_not(wanted, told)


def tables_in(page: str) -> list[list[list[str]]]:
    """The cells of every table of a page, headings left out."""
    bodies = re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)
    rows = [re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL) for body in bodies]
    cell = re.compile(r"<t([hd])\b[^>]*>(.*?)</t\1>", re.DOTALL)
    return [[[plain(x) for _, x in cell.findall(row)] for row in body] for body in rows]


def tables_written(text: str) -> list[list[list[str]]]:
    """The same of Markdown."""
    blocks = re.findall(r"^\|[-|]+\|\n((?:\| .* \|\n)+)", text, re.MULTILINE)
    return [[line[2:-2].split(" | ") for line in block.splitlines()] for block in blocks]


def down_to(x: float) -> str:
    """A probability as tables write it, rounded down."""
    nearest = round(100 * x, 1)
    if nearest > 100 * x * (1 + 64 * 2.0**-52):
        nearest = round(nearest - 0.1, 1)
    return f"{nearest:.1f}".removesuffix(".0") + " %"


def accuracy_numbers(row: dict[str, Any]) -> list[tuple[float, float]]:
    """The numbers that tell how far a statistic is off, each with how far it is rounded up."""

    def sizes(rows: Any) -> list[tuple[float, float]]:
        found = []
        for one in rows:
            share = "rank_share" in one
            found.append((100 * one["rank_share"], 0.1) if share else (one["half_width"], 0.0))
            found += [(100 * one["of_value"], 0.1)] if "of_value" in one else []
            found.append((one[row.get("by", "rows")], 0.0))
        return found

    if "half_width" in row:
        return [(row["half_width"], 0.0)]
    if "score_within" in row:
        return [(row["score_within"], 0.0), (row["candidates"], 0.0)]
    if "ranks" in row and "interval_ranks" not in row:
        return [(row["ranks"], 0.0)]
    if "ranks" in row:
        told = [one for one in row["interval_assumed"] if one["rank_share"] < 1]
        all_of = [one["rows"] for one in row["interval_assumed"] if one["rank_share"] >= 1]
        reach = [(row["ranks"], 0.0), (row["interval_ranks"], 0.0), *sizes(told)]
        return reach + ([(max(all_of), 0.0)] if all_of else [])
    only = [(row["only_bounds"], 0.0)] if "only_bounds" in row else []
    return sizes(row.get("assumed", ())) + only


def same_accuracy(rows: list[dict[str, Any]], table: list[list[str]], written: Any) -> bool:
    """Whether a table tells how far each statistic is off."""
    good = len(rows) == len(table)
    for row, cells in zip(rows, table, strict=False):
        found = [float(x.replace(",", "")) for x in NUMBER.findall(cells[1])]
        wanted = accuracy_numbers(row)
        good = good and [cells[0], cells[2]] == [
            written(row["statistic"]),
            percent(row["interval"]),
        ]
        good = good and len(found) == len([x for x, _ in wanted if math.isfinite(x)])
        near = (x * (1 - CLOSE) <= told <= x * 1.0101 + room
                for told, (x, room) in zip(found, wanted, strict=False))  # fmt: skip
        good = good and all(near)
    return good


def belief_rows(statement: dict[str, Any]) -> tuple[list[list[str]], list[list[str]]]:
    """The table of joining, and the one beside the chart of beliefs, as their cells."""
    rows = sorted(statement["risk"]["beliefs"], key=lambda row: float(row["p"] * row["q"]))
    joined = [row for row in rows if row["joined"] is not None]
    drawn = [one for one in rows if one["about"] == headline(statement)["about"]]
    return (
        [[up_to(r["p"] * r["q"]), up_to(r["joined"])] for r in joined],
        [[up_to(r["p"] * r["q"]), down_to(r["lower"]), up_to(r["upper"])] for r in drawn],
    )


def check_tables(statement: dict[str, Any], folder: Path) -> Check:
    """The tables of both pages, and the lines on spending, have the figures of the statement."""
    page, text = text_of(folder / "report.html"), text_of(folder / "statement.md")
    shown: dict[str, tuple[Any, Callable[[str], str]]] = {
        "report.html": (tables_in(page), str),
        "statement.md": (tables_written(text), flat),
    }
    risk, wanted = statement["risk"], {}
    if risk is not None:
        wanted["joining"], chart = belief_rows(statement)
        row = headline(statement)
        x, most = row["p"] * row["q"], row["upper"]
        drawn = shown["report.html"][0]
        titles = re.findall(r"Of a hundred: (\S+) before, at most (\S+) after", plain(page))
        told = [(f"{100 * x:.6g}", f"{two_figures(most):g}")]
        marked = [math.floor(100 * x + 1e-7), math.ceil(100 * most - 1e-7)]
        counts = [str(n) for n in (marked[0], marked[1] - marked[0], 100 - marked[1])]
        good = chart in drawn and {*titles} <= {*told}
        good = good and bool(titles) and counts in [[r[-1] for r in one] for one in drawn]
        yield good or "<figure" not in page, "the figures beside the charts of report.html"
    if "<figure" in page:
        good = spent_shown(statement["spending"]["charges"], page)
        yield (
            good,
            "report.html: every charge over time, with its day, purpose and sum",
        )
    if "mechanisms" in statement:
        wanted["mechanisms"] = [mechanism_row(call) for call in statement["mechanisms"]]
    for name, (tables, written) in shown.items():
        for what, rows in wanted.items():
            cells = [[written(cell) for cell in row] for row in rows]
            yield not cells or cells in tables, f"{name}: the table of {what}"
        off = statement.get("accuracy")
        three = [one for one in tables if all(len(row) == 3 for row in one)]
        good = not off or any(same_accuracy(off, one, written) for one in three)
        yield good, f"{name}: how far each statistic is off"
        if "history" in statement:
            whole = [*statement["history"], *statement["spending"]["restored"]]
            good = history_shown(sorted(whole, key=lambda row: row["entry"]), tables, written)
            yield good, f"{name}: charges and decisions"


OPEN_TO = re.compile(r'<section aria-labelledby="open">.*?</section>', re.DOTALL)
ALWAYS_OPEN = (
    "Groups", "How the world works", "Relatives and contacts", "Other sources", "A later decision",
    "The raw data", "How the data were taken",
)  # fmt: skip
UNPROMISED = "Files without a promise"
BEYOND = ("household", "person", "record", "partition")  # units of which several are no one's


def check_not_covered(statement: dict[str, Any], account: Account) -> Check:
    """What is not covered is told: what no promise ever covers, and what none in force does."""
    names = [one["name"] for one in statement["not_covered"]]
    bound = [heard(one["keys"]) for one in account.made.values() if one["withdrawn"] is None]
    boxes = [leaf.box for keys in bound for leaf in leaves(keys, account.terms["adjacency"])]
    values = all(p1 < 1 or q0 == 1 for _, p1, q0, _ in boxes)
    membership = all(p0 == 1 or q1 < 1 for p0, _, _, q1 in boxes)
    if any(map(strange_in, bound)):  # of priors that are not known here
        membership, values = (one in names for one in ("Being in the data", "Values"))
    wanted = [
        *[UNPROMISED] * any(one.get("guaranteed") is False for one in account.charged),
        *["Being in the data"] * membership,
        *["Values"] * values,
        *ALWAYS_OPEN,
        *["More than one"] * (account.terms["unit"] in BEYOND),
    ]
    lacking = [name for name in wanted if name not in names]
    what = "the statement names all that is not covered, and tells something of each"
    good = names == wanted and all(one["text"].strip() for one in statement["not_covered"])
    yield good, what + (f", but not: {', '.join(lacking)}" if lacking else "")


def check_lines(
    statement: dict[str, Any], release: dict[str, Any] | None, account: Account, folder: Path
) -> Check:
    """The lines and the sentences on both pages that have figures of the statement."""
    whole, text = text_of(folder / "report.html"), text_of(folder / "statement.md")
    page, titles = plain(whole), re.findall(r"<h1>([^<]*)</h1>", whole)
    said = re.findall(r"This promise allow(?:s|ed) (.*?) for everything", page)
    limits = [amount(read_amount(one["limit"]), -1) for one in statement["promises"]]
    good = len(said) == len(limits) and all(map(same_figures, said, limits))
    yield good, "report.html tells what each promise allows"
    decided = [row.get("promise_id") for row in statement.get("history", ())]
    for one in statement["promises"]:
        more, sentence = decided.count(one["id"]), one["sentence"]
        good = page.count(sentence) >= 2 + more and text.count(flat(sentence)) >= 1 + more
        yield (
            good,
            f"report.html and statement.md have this promise in each of its places: {sentence}",
        )
    missing = statement["not_covered"]
    yield from check_not_covered(statement, account)
    written = "\n".join(f"- **{flat(one['name'])}.** {flat(one['text'])}" for one in missing)
    sections = [one.strip("\n") for one in re.split(r"^## .*$", text, flags=re.MULTILINE)]
    yield written in sections, "statement.md has every line on what is not covered"
    listed = re.findall(r'<ul class="plain">(.*?)</ul>', whole, re.DOTALL)
    listed = re.findall(r"<li><strong>(.*?)\.</strong> [^<]+</li>", "".join(listed), re.DOTALL)
    same = [html.unescape(one) for one in listed] == [one["name"] for one in missing]
    yield same, "report.html has every line on what is not protected"
    if release is not None:
        listed = OPEN_TO.findall(text_of(folder / "participant.html"))
        listed = re.findall(r"<li><strong>(.*?)\.</strong> [^<]+</li>", "".join(listed), re.DOTALL)
        same = [html.unescape(one) for one in listed] == [one["name"] for one in missing]
        yield same, "participant.html has every line on what is not protected"
    spending, guarantee = statement["spending"], statement["guarantee"]
    told = dict(spending)
    if release is not None and guarantee["kind"] != "none":
        told["parameters"] = guarantee
    when = moment(spending["as_of"])
    yield f"**As of the ledger's entry of**: {when}\n" in text, "statement.md: as of when"
    for part, label in LINES.items():
        found = re.findall(rf"^- \*\*{label}\*\*: (.*)$", text, re.MULTILINE)
        amounts, left = told.get(part), spending["cap"] if part == "remaining" else None
        good = len(found) == (amounts is not None) or part == "parameters"
        good = good and (not amounts or all(same_figures(one, amounts, left) for one in found))
        yield good, f"statement.md: {label.lower()}"
    risk = statement["risk"]
    sure = {row["holds_with"] for row in risk["beliefs"]} if risk else set()
    sure |= {one["keys"].get("confidence") for one in statement["promises"]}
    left = risk["beyond"]["up_to"] if risk and risk["beyond"] else -1.0
    for name, whole in (("report.html", page), ("statement.md", text)):
        levels = re.findall(r"this holds with probability ([\d.]+ %) over", whole)
        good = {*levels} <= {percent(one) for one in sure if one}
        beyond = re.findall(r"Of ([\d,]+) units expect up to ([\d,.]*\d)", whole)
        good = good and bool(beyond) == (left >= 0)
        for pair in beyond:
            of, most = (float(one.replace(",", "")) for one in pair)
            good = good and of == PEOPLE and left - CLOSE <= most < left + 1
        yield good, f"{name}: how surely, and how many are left out"
    if release is None:
        meta = f"· {spending['entries']} entries of the ledger, the last of {when}|"
        yield meta in page, "report.html: the number of entries, and of when"
        return
    named = {name: str(release[name]) for name in ("release_id", "made", "account", "purpose")}
    purpose = named["purpose"]
    same = text.split("\n", 1)[0].endswith(f": {flat(purpose)}")
    same = same and [*map(html.unescape, titles)] == [purpose[:1].upper() + purpose[1:]]
    what = "both pages have the purpose of the release in their title"
    yield Finding(same, what, among=(*PAGES, STORED))
    same = all(
        f"- **{label}**: {flat(named[name])}\n" in text
        for label, name in (("Release", "release_id"), ("Made", "made"), ("Account", "account"))
    )
    meta = "Release {release_id} · made {made} · account {account}|".format(**named)
    same, entry = same and meta in page, spending["entry"]
    same = same and f"**Ledger entry**: {entry['seq']}, `{entry['hash']}`\n" in text
    what = "both pages name the release, its day and account, statement.md its entry"
    yield Finding(same, what, among=(*PAGES, STORED, STATEMENT))
    if release.get("table"):
        known = f"intervals that hold with probability {release['interval']} over the noise"
        what = "report.html: how surely the intervals hold"
        yield Finding(known in page, what, among=("report.html", STORED))
    bounds, adds = statement["contribution_bounds"], ADDS.findall(text)
    names, rest = sorted(bounds, key=len, reverse=True), "".join(adds)
    for name in names:
        rest = rest.replace(flat(name), "")
    numbers = {f"{n:,}" for one in bounds.values() for n in one.values() if type(n) is int}
    same = len(adds) == 1 and {*NUMBER.findall(rest)} <= numbers
    same = same and adds[0] in flat(page.replace("|at most ", "\0")).split("\0", 1)[-1]
    yield Finding(same, "both pages tell what one unit adds at most", among=(*PAGES, STATEMENT))


SHARE = re.compile(
    r"(?<![\w.,])\d[\d,]*(?:\.\d+)?[\s|*_]*(?:[%‰％]|per ?cent\b|in (?:1[0,]*0|a hundred)\b)",
    re.IGNORECASE,
)
NOTE = re.compile(r"<p>Note: ((?:(?!<p\b).)*)</p></header>", re.DOTALL)


def strings_in(said: Any) -> Iterator[str]:
    """Every text in a JSON value, names included."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, (dict, list)):
        for one in [*said, *said.values()] if isinstance(said, dict) else said:
            yield from strings_in(one)


def check_added(statement: dict[str, Any], release: dict[str, Any] | None,
                evidence: dict[str, Any], folder: Path) -> Check:  # fmt: skip
    """No page has a percentage, or a number in a hundred, that no other check accounts for.

    What stands in an explanation of the statement, or in the note, is told as not recomputed.
    """
    whole, risk = text_of(folder / "report.html"), statement["risk"]
    bodies = [json.loads(row["body"]) for row in evidence["chain"] if row["body"] is not None]
    names = {one for one in strings_in([release, bodies]) if SHARE.search(one)}
    known = {one for one in names if not SHARE.fullmatch(one)}
    known |= {" ".join(one.split()) for one in known}
    known |= {one[:1].upper() + one[1:] for one in known}  # in a title
    known |= {one["sentence"] for one in statement["promises"]}
    source = dict.fromkeys(names - {*strings_in(statement)}, "evidence.json")  # which file has it
    sure = {one["keys"].get("confidence") for one in statement["promises"]} - {None}
    rows = [] if statement["learned"] is None else learned_rows(statement["learned"])
    if risk is not None:
        public = statement["texts"]["public"].split("\n\n")
        told = re.findall(r'<section id="public".*?</section>', whole, re.DOTALL)
        told = [plain(one) for one in PARAGRAPH.findall("".join(told))]
        source |= dict.fromkeys(told[len(public) :], "report.html")
        known |= {*public[-2:], *told[len(public) :]}
        sure |= {row["holds_with"] for row in risk["beliefs"]}
        rows += [row for table in belief_rows(statement) for row in table]
    known |= {f"this holds with probability {percent(one)} over" for one in sure}
    if release is not None and release.get("table"):
        held = f"intervals that hold with probability {release['interval']} over the noise"
        source[held] = f"{RELEASED}/release.json"
        known.add(held)
    for one in statement["promises"]:
        known.add(f"in the data at {100 * one['binding']['p']:.3g} %")
        known.add(f"the sensitive value then at {100 * one['binding']['q']:.3g} %")
    explained = {one for one in strings_in(statement) if SHARE.search(one)} - known
    noted = NOTE.search(whole)
    page = NOTE.sub("</header>", whole)
    written_text, off = text_of(folder / "statement.md"), statement.get("accuracy") or []
    left = [plain(noted[1])] if noted else []
    for name, shown, tables, written in (
        ("report.html", page, tables_in(page), str),
        ("statement.md", written_text, tables_written(written_text), flat),
    ):
        exact = [one for one in tables if all(len(row) == 3 for row in one)]
        exact = [rows, *(one for one in exact if same_accuracy(off, one, written))]
        rest = without_rows(name, shown, [row for table in exact for row in table], names)
        texts = sorted(map(written, explained), key=len, reverse=True)
        for one in sorted(known, key=len, reverse=True):
            rest, *texts = (text.replace(written(one), "") for text in (rest, *texts))
        changed = [
            edited_in(rest, written(one), source.get(one, "statement.json"))
            for one in sorted({*known, *explained})
        ]
        changed += [edited_row(row, exact) for table in tables for row in table]
        for one in filter(SHARE.search, texts):
            left += [one] if one in rest else []
            rest = rest.replace(one, "")
        found = list(SHARE.finditer(rest if written is str else plain(rest)))
        left += [one[0] for one in found if one[0] in names]
        usual = {cell for table in exact for row in table for cell in row}
        usual |= {one[0] for text in known for one in SHARE.finditer(text)}
        new = [one for one in found if one[0] not in names]
        new.sort(key=lambda one: one[0] in usual)  # beside a forged figure stand true ones
        odd = [*filter(None, changed), *(quoted(one, 0) for one in new)] if new else []
        what = f"{name}: every percentage, and number in a hundred, was recomputed"
        yield not odd, BUT_NOT.join([what, *odd[:1]])
    figures = dict.fromkeys(found[0] for one in left for found in SHARE.finditer(one))
    if figures:
        yield None, f"not recomputed, in explanations or the note: {', '.join(figures)}"


def edited_in(text: str, known: str, source: str) -> str:
    """The first figure in a text that differs from a known sentence with the same words."""
    figures = SHARE.findall(known)
    words = map(re.escape, SHARE.split(known))
    for found in re.finditer(f"({SHARE.pattern})".join(words), text, re.IGNORECASE):
        for group, figure in enumerate(figures, 1):
            if found[group].split() != figure.split():
                return f"{quoted(found, group)}, where {source} has “{figure}”"
    return ""


def edited_row(cells: list[str], exact: list[list[list[str]]]) -> str:
    """The first figure in a row of a table that differs from the known row most like it."""
    rows = [row for table in exact for row in table if len(row) == len(cells)]
    if cells in rows:
        return ""
    apart = [[at for at, cell in enumerate(row) if cell != cells[at]] for row in rows]
    near = min(range(len(rows)), key=lambda one: len(apart[one]), default=None)
    if near is not None and len(apart[near]) < len(cells):
        for at in apart[near]:
            if SHARE.search(cells[at]) and SHARE.search(rows[near][at]):
                told = " | ".join(cells[: at + 1])
                return f"“… {told}”, where statement.json has “{rows[near][at]}”"
    return ""


def without_rows(name: str, text: str, known: list[list[str]], names: set[str]) -> str:
    """The text of a page, without the rows of tables that are known, and names in the others."""

    def kept(cells: list[str]) -> str:
        rest = [one for one in cells if not names.issuperset(one.split(" · "))]
        return "" if cells in known else f"|{'|'.join(rest)}|"

    def row(found: re.Match[str]) -> str:
        cells = re.findall(r"<t([hd])\b[^>]*>(.*?)</t\1>", found[1], re.DOTALL)
        return html.escape(kept([plain(one) for _, one in cells]))

    if name == "report.html":
        return plain(re.sub(r"<tr\b[^>]*>(.*?)</tr>", row, text, flags=re.DOTALL))
    line = re.compile(r"^\| (.*) \|$", re.MULTILINE)
    return line.sub(lambda found: kept(found[1].split(" | ")), text)


def spent_shown(charges: list[dict[str, Any]], page: str) -> bool:
    """Whether the table beside the chart of an account has every charge, and what it left spent."""
    drawn = re.findall(r"chart: What the account has spent[^<]*</caption>.*?</table>", page, re.S)
    rows = [row for table in tables_in("".join(drawn)) for row in table]
    told = list(enumerate((one for one in charges if one["spent"] is not None), 1))[-MOST_ROWS:]
    good, nothing = len(rows) == len(told), dict.fromkeys(("epsilon", "delta", "rho"))
    for row, (place, one) in zip(rows, told, strict=False):
        kind = next((k for k in ("epsilon", "rho") if one["spent"][k] is not None), "rho")
        good = good and row[:-1] == [str(place), one["at"][:10], str(one["purpose"])]
        good = good and same_figures(row[-1], nothing | {kind: one["spent"][kind]})
    return good


def history_shown(
    history: list[dict[str, Any]], tables: list[list[list[str]]], written: Callable[[str], str]
) -> bool:
    """Whether the tables of an account have its charges and decisions, with their amounts."""
    charged = [row for row in history if row.get("kind") in ("reserve", "slot", "charge", "plan")]
    decided = [row for row in history if "lost" in row or row["kind"] in DECIDED]
    first, second = ([one for one in tables if one and len(one[0]) == size] for size in (10, 5))
    made: dict[str, str] = {}  # by the name of a promise: the entry that made it, the last so far
    unders = []
    for row in history:
        made |= {row["promise_id"]: str(row["entry"])} if row.get("kind") == "promise" else {}
        unders += [", ".join(made[one] for one in row["promises"])] if "promises" in row else []
    stored = {row["release_id"] for row in history if row.get("kind") == "commit"}
    shown = any(charges_shown(charged, unders, stored, one, written) for one in first)
    good = shown if charged else not first
    return good and any(decisions_shown(decided, one, written) for one in second)


def charges_shown(
    charged: list[dict[str, Any]],
    unders: list[str],
    stored: set[str],
    table: list[list[str]],
    written: Callable[[str], str],
) -> bool:
    """Whether a table has these charges, and which of their releases were stored."""
    nothing = dict.fromkeys(("epsilon", "delta", "rho"))
    good = len(table) == len(charged) == len(unders)
    became = {True: "stored", False: "lost: charged, and never stored", None: "–"}
    for row, under, cells in zip(charged, unders, table, strict=False):
        name, purpose = row.get("release_id") or row.get("plan_id"), written(row["purpose"])
        told = [*cells[:3], cells[4], cells[5], cells[8]]
        when, who = moment(row["at"]), written(row.get("who") or "–")
        good = good and told == [str(row["entry"]), when, name, purpose, who, under or "none"]
        good = good and same_figures(cells[6], row.get("cost", nothing))
        kept = name in stored if row["kind"] in ("reserve", "slot") else None
        good = good and same_figures(cells[9], row["spent"]) and cells[7] == became[kept]
        slot = str(row["slot"]) if row["kind"] == "slot" else ""
        good = good and re.findall(r"(?<!\w)\d+(?!\w)", cells[3]) == [slot] * bool(slot)
    return good


def decisions_shown(
    decided: list[dict[str, Any]], table: list[list[str]], written: Callable[[str], str]
) -> bool:
    """Whether a table has these decisions."""
    good = len(table) == len(decided)
    for row, cells in zip(decided, table, strict=False):
        who = [row.get(name) for name in ("approver", "reason")]
        told = ["–" if one is None else written(one) for one in who]
        good = good and [cells[0], cells[1], *cells[3:]] == [
            str(row["entry"]),
            moment(row["at"]),
            *told,
        ]
        good = good and all(
            same_figures(cells[2], row[name]) for name in ("add", "cap") if name in row
        )
    return good


DECIDED = ("open", "grant", "promise", "withdraw")


def mechanism_row(call: dict[str, Any]) -> list[str]:
    """One mechanism as tables have it."""
    made = [call["statistic"], call["part"], call["mechanism"]]
    if "l1" not in call:
        return [*made, "–", f"α = {call.get('alpha', '')}"]
    norm = "l2" if call["epsilon"] is None else "l1"
    return [*made, f"{norm.upper()} {call[norm]:,.6g}", f"{call['scale']:,.6g}"]


# -- the statement says what the release says


def check_keys(statement: dict[str, Any], evidence: dict[str, Any], of_release: bool) -> Check:
    """Statement and evidence have all their parts, and no others."""
    for name, keys in (KEYS if of_release else OF_ACCOUNT).items():
        part = statement[name] if name else statement
        if name == "risk" and part is None:
            continue
        yield set(part) == set(keys.split()), f"the statement's parts {name}".rstrip()
        if name == "risk":
            yield set(part["assumptions"]) == RESTS_ON, "what the beliefs rest on"
    for name in ("bases", "biases", "not_covered") if of_release else ("not_covered",):
        texts = ([row[key] for key in row if key != "size"] for row in statement[name])
        good = all(isinstance(text, str) for row in texts for text in row if text)
        yield good, f"the statement's {name.replace('_', ' ')} are texts"
    yield set(evidence) == {"format", "head", "chain"}, "evidence.json is a chain and its head"
    yield (
        statement["format"] == evidence["format"] == 2,
        "the format of statement.json and evidence.json",
    )


def repeated(release: dict[str, Any]) -> dict[str, Any]:
    """What a statement repeats from the stored release, part by part."""
    spec, unit, plan = release.get("spec", {}), release["unit"], release.get("plan", {})
    about = spec.get("publication", spec.get("about", {}))
    curators = about.get("curators", [])
    spent = {name: release["spent"][name] for name in ("epsilon", "delta", "rho")}
    if release.get("guarantee") == "none":
        guarantee = dict.fromkeys(spent) | {"kind": "none", "reason": release.get("reason")}
    else:
        kinds = {"concentrated": spent["rho"] is not None, "approximate": spent["delta"]}
        guarantee = spent | {"kind": next((kind for kind, is_it in kinds.items() if is_it), "pure")}
    whole = {"records": {"rows": unit.get("rows", 1), "adjacency": unit["adjacency"]}}
    law = {"statistic": "records", "part": "records", "mechanism": "Dirichlet–multinomial"}
    told = {name: about.get(name) for name in ("name", "region", "description", "intended_use")}
    told["curators"] = [curators] if isinstance(curators, str) else list(curators)
    named = {name: release[name] for name in ("release_id", "made", "account", "purpose")}
    return {
        "identity": named | told,
        "guarantee": guarantee,
        "unit": {
            "unit": unit["unit"],
            "columns": list(unit.get("column", ())),
            "adjacency": unit["adjacency"],
        },
        "contribution_bounds": plan.get("contributions", whole),
        "mechanisms": plan["calls"] if plan else [law | release["synthesizer"]],
        "accuracy": plan.get("accuracy", []),
        "library": release.get("made_with"),
        "hashes": {"spec": release["spec_hash"]},
    }


def check_statement(statement: dict[str, Any], release: dict[str, Any]) -> Check:
    """What the statement repeats from the stored release is the same in both."""
    for name, part in repeated(release).items():
        told = statement[name]
        if name in ("identity", "guarantee", "unit", "hashes"):
            told = {key: told[key] for key in part}
        yield told == part, f"statement and release: {name.replace('_', ' ')}"
    more = set(statement["guarantee"]) - set(repeated(release)["guarantee"])
    yield more == {"variant"}, "the guarantee has no other parts"
    if "unit_name" in release:
        same = statement["unit"]["subject"] == release["unit_name"]
        yield same, "statement and release: name of the unit"
    spec = release.get("spec", {})
    conditions = [one.get("where") for one in (spec, *statistics_in(spec.get("statistics", [])))]
    formulas = [text for text in (*conditions, *spec.get("let", {}).values()) if text]
    told = all(str(text) in statement["processing"]["before"] for text in formulas)
    yield told, "the statement tells which rows count, and what derived columns are"
    paid = [row for row in release.get("cut") or () if row["units"] is not None]
    told = [row for bias in statement["biases"] for row in bias["size"] or ()]
    same = all(row in paid for row in told) and all(row in told for row in paid)
    yield same, "statement and release: how many units are cut"


def bounds_in(said: Any) -> Iterator[tuple[str, ...]]:
    """All bounds of values in a part of a spec, as texts tell them."""
    for one in said if isinstance(said, list) else spread(said):
        yield from bounds_in(one)
    bounds = said.get("bounds") if isinstance(said, dict) else None
    if isinstance(bounds, list) and len(bounds) == 2:
        yield tuple(f"{float(end):g}" for end in bounds)


def told_left_out(statement: dict[str, Any], spec: dict[str, Any]) -> Iterator[bool]:
    """Whether the statement names the statistics that lose rows to limits, and no others."""
    bounds = statement["contribution_bounds"]
    said = " ".join(one["text"] for one in statement["biases"] if one["kind"] == "bounding")
    losing = {name for name, one in bounds.items() if one.get("left_out")}
    told, found, _ = said.partition(": No limit leaves out a row or a unit.")
    rest, none = told, set()
    known = sorted({*bounds, *strings_in(spec)}, key=len, reverse=True)
    while found and (name := next((n for n in known if rest.endswith(f"“{n}”")), None)) is not None:
        none.add(name)
        rest = rest.removesuffix(f"“{name}”").removesuffix(", ")
    named = {name for name in bounds if f"“{name}”" in rest}
    yield not losing or (losing <= named and not none & losing)
    asked = {name for name in bounds if name.startswith("cut/")}
    yield not losing or found == "" or {*bounds} - losing - asked <= none
    limited = [bounds[n]["groups"] for n in losing if bounds[n]["left_out"]["of"] != "rows"]
    yield all(f" at most {groups:,} " in rest for groups in limited)
    limits, outer = spec.get("protect") or {}, spec.get("cut") or {}
    own = bool(limits.get("column")) and not spec.get("per_unit")
    for entry in statistics_in(spec.get("statistics", [])):
        bound, units = bounds.get(entry.get("name")), entry.get("count") == "units"
        if bound is None or "left_out" not in bound:
            continue
        if not own or (units and not entry.get("by") and not entry.get("margins")):
            yield bound["left_out"] is None
        elif not units and outer.get("rows") is None:
            yield bound["left_out"] is not None


CLIPPED = re.compile(r"Values of (.{1,400}?) outside (\S+) to (\S+) count as")


def check_biases(statement: dict[str, Any], release: dict[str, Any], folder: Path) -> Check:
    """The bounds of values are those of the spec, and both pages have every line on biases."""
    biases = [bias["text"] for bias in statement["biases"]]
    clips = [bias["text"] for bias in statement["biases"] if bias["kind"] == "clipping"]
    told, spec = [CLIPPED.match(text) for text in clips], release.get("spec", {})
    declared = {
        pair
        for entry in statistics_in(spec.get("statistics", []))
        for pair in bounds_in({k: v for k, v in entry.items() if k not in ("keys", "hierarchy")})
    }
    names = "\n".join(strings_in(spec))
    known = [one.groups()[1:] for one in told if one and one[1] in names]
    good = {*known} == declared and len(known) == len(clips)
    yield good, "the statement tells the bounds of values that the spec declares"
    if all("left_out" in one for one in statement["contribution_bounds"].values()):
        good = all(told_left_out(statement, spec)) or any(
            not one.get("public") for one in spec.get("join", ())
        )
        yield good, "the statement tells which statistics lose rows to limits"
    page, text = text_of(folder / "report.html"), text_of(folder / "statement.md")
    good = f"<ul>{''.join(f'<li>{html.escape(one)}</li>' for one in biases)}</ul>" in page
    good = good and len(CLIPPED.findall(plain(page))) == len(told)
    yield good, "report.html tells the biases, with the bounds of values"
    lines = "\n".join(f"- {flat(one)}" for one in biases)
    good = (not biases or f"\n\n{lines}\n\n" in text) and len(CLIPPED.findall(text)) == len(told)
    yield good, "statement.md tells the biases, with the bounds of values"


HASH = re.compile(r"(?<!\w)(?=\d*[a-fA-F])[0-9a-fA-F]{60,}(?!\w)")


def check_hashes(statement: dict[str, Any], release: dict[str, Any] | None,
                 evidence: dict[str, Any], folder: Path) -> Check:  # fmt: skip
    """The head and the hashes of files are printed where they belong, and no unknown hash is."""
    bodies = [json.loads(row["body"]) for row in evidence["chain"] if row["body"] is not None]
    known = {*HASH.findall("\n".join(strings_in([statement, release, bodies])))}
    head, page = statement["spending"]["head"], NOTE.sub("", text_of(folder / "report.html"))
    text = text_of(folder / "statement.md")
    pages = {"report.html": page, "statement.md": text}
    if release is not None:
        pages |= {name: text_of(folder / name) for name in ("participant.html", "registry.yaml")}
    for name, shown in pages.items():
        odd = [one for one in HASH.findall(shown) if one not in known]
        what = f"{name}: every hash is one of the report's"
        yield not odd, BUT_NOT.join([what, *odd[:1]])
    printed = re.findall(r"<code>([^<]*)</code>", page)
    printed += re.findall(r"^- \*\*Ledger head[^*]*\*\*: `(.*)`$", text, re.MULTILINE)
    yield printed == [head, head], "report.html and statement.md print the head of the ledger"
    if release is not None:
        files = [[name, digest] for name, digest in statement["hashes"]["files"].items()]
        good = files in tables_in(page) and files in tables_written(text)
        yield good, "report.html and statement.md print the hashes of the released files"


def check_registry(statement: dict[str, Any], folder: Path) -> Check:
    """The record of the registry has the parameters, the variant and the text of the statement."""
    text, guarantee = whole_text(folder / "registry.yaml"), statement["guarantee"]
    found = re.findall(r"^ *privacy_parameters: ?(.*\n(?: {6}\S.*\n)*)", text, re.MULTILINE)
    rows = [dict(re.findall(r"^ {6}(\w+): (\S+)$", one, re.MULTILINE)) for one in found]
    wanted = {k: guarantee[k] for k in ("epsilon", "delta", "rho") if guarantee[k] is not None}
    good = [{k: float(v) for k, v in row.items()} for row in rows] == [wanted]
    good = good and [len(one.splitlines()) for one in found] == [len(wanted) + 1]
    good = good and re.findall(r"^ *variant_name: (.*)$", text, re.MULTILINE) == [
        VARIANTS[guarantee["kind"]][1]
    ]
    yield good, "registry.yaml has the variant and the parameters of the statement"
    spending = statement["spending"]
    notes = f"sha256 {statement['hashes']['output']}, ledger head {spending['head']}"
    promised = [one["sentence"] for one in statement["promises"]]
    gone = [one["withdrawn"] for one in statement["promises"] if one["withdrawn"]]
    promised += [part for one in gone for part in (one["at"][:10], one["approver"], one["reason"])]
    bare = partial(re.sub, r"[\s'\"\\]+", "")  # YAML breaks lines, and quotes
    texts = [notes, statement["texts"]["regulator"], *promised]
    good = all(bare(one) in bare(text) for one in texts if " ".join(one.split()).isprintable())
    yield good, "registry.yaml has the text for a regulator, the promises and the hashes"


def statistics_in(spec: Any) -> Iterator[dict[str, Any]]:
    """The statistics of a spec, those that others are made of included."""
    for entry in spec:
        yield entry
        inside = [part for key in ("share", "rate", "change") for part in spread(entry.get(key))]
        yield from statistics_in(part for part in inside if type(part) is dict)


def spread(value: Any) -> list[Any]:
    """The values in a mapping; none of anything else."""
    return list(value.values()) if type(value) is dict else []


def grouping(entry: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The columns that a statistic is grouped by, and those above them in a hierarchy."""
    margins, above = entry.get("margins", []), entry.get("hierarchy", {})
    sets = [margins] if type(margins) is dict else margins
    columns = [*entry.get("by", [])]
    columns += [name for one in sets for name in (one["of"] if type(one) is dict else one)]
    coarse = [up if type(up) is str else next(iter(up)) for up in above.values()]
    finest = [name for name in above if name not in coarse]
    columns = [finest[0] if name in coarse else name for name in columns]
    return list(dict.fromkeys(columns)), coarse


def check_bases(statement: dict[str, Any], release: dict[str, Any], folder: Path) -> Check:
    """Every column that the spec groups by is told, with where its keys come from."""
    spec, bases = release.get("spec", {}), statement["bases"]
    made = {*spec.get("let", {}), *spec.get("per_unit", {})}  # of columns of the data
    kinds: dict[tuple[str, str], None] = {}  # in order
    read = []
    for entry in statistics_in(spec.get("statistics", [])):
        columns, coarse = grouping(entry)
        keys = entry.get("keys", {})
        known = keys.get("known", {}) if "discover" in keys else keys
        sought = [name for name in columns if name not in known] or columns
        for name in (*columns, *coarse):
            paid = name in sought if "discover" in keys else type(keys.get(name)) is dict
            kinds[name, "paid" if paid else "public"] = None
        read += [name for name in columns if name not in made]
    missing = [name for name in dict.fromkeys(read) if not named(name, statement["data_domain"])]
    what = "the data domain names every column that the spec groups by"
    yield not missing, ": not ".join([what, *([", ".join(missing)] if missing else [])])
    for name, kind in kinds:
        told = any(row["kind"] == kind and named(name, row["what"]) for row in bases)
        yield told, f"the statement tells where the keys of {name} come from ({kind})"
    paid_rows = {row["what"] for row in bases if row["kind"] == "paid"}
    right = len(paid_rows) == sum(kind == "paid" for _, kind in kinds)
    yield right, "no other keys are said to be paid for"
    text = text_of(folder / "statement.md")
    shown = all(flat(row[key]) in text for row in bases for key in ("what", "basis"))
    yield shown, "statement.md tells where keys, bounds and thresholds come from"


def named(name: str, text: str) -> bool:
    """Whether a text has a name as a word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


# -- all of it


class Report:
    """A report that is examined: one check after another, and what was found."""

    def __init__(
        self,
        folder: Path,
        head: str | None,
        ledger: Callable[[], Rows] | None,
        witness: Path | None = None,
        earlier: Path | None = None,
    ) -> None:
        self.folder, self.head, self.ledger, self.witness = folder, head, ledger, witness
        self.earlier, self.parted = earlier, 0  # the first entry that an earlier report has not
        self.findings: list[Finding] = []
        self.chain: Chain | None = None
        self.since = Since(Account())
        self.rows: Rows | None = None  # of the ledger
        self.reach: int | None = None  # of the head

    def note(self, what: str, check: Check, *usual: str) -> bool:
        """Run one check; what cannot be read is a problem, and never ends the examination.

        It compares the `usual` files where nothing else is said.
        """
        before = len(self.findings)
        try:
            for found in check:
                one = Finding(*found)
                among = taking_part(one.what, usual) if one.among is None else one.among
                self.findings.append(one._replace(among=among))
        except FileNotFoundError as fault:
            name = os.path.relpath(fault.filename, self.folder)
            missing = Finding(False, f"file {name} is missing", among=())
            known = any(one.what == missing.what for one in self.findings)
            self.findings += [] if known else [missing]
            return False
        except UNREADABLE as fault:
            why = fault.strerror if isinstance(fault, OSError) else "it is not as a report has it"
            why = str(fault) if type(fault) is ValueError else why
            self.findings.append(Finding(False, f"{what} cannot be read: {why}", among=usual))
        return all(finding.good is not False for finding in self.findings[before:])

    def examine(self) -> None:
        """Run all checks, those first that the others rest on."""
        folder, said = self.folder, {}
        names = {name: f"{name}.json" for name in ("statement", "evidence")}
        if os.path.lexists(folder / RELEASED):
            names["release"] = f"{RELEASED}/release.json"

        def read() -> Check:
            for name, place in names.items():
                said[name] = json_of(folder / place)
                if type(said[name]) is not dict:
                    yield False, f"{place} is no report's"

        self.note("the manifest", check_manifest(folder))
        if not self.note("the report", read()):
            return
        statement, evidence, release = said["statement"], said["evidence"], said.get("release")
        self.note("JSON", check_written(folder, ("statement.json", "evidence.json")))
        self.note("a page", check_markup(folder))
        self.note("the statement", check_keys(statement, evidence, release is not None), STATEMENT)
        if release is not None:
            self.note("a released file", check_files(statement, release, folder), STATEMENT)
            self.note("the statement", check_statement(statement, release), STATEMENT, STORED)
            self.note("the statement", check_bases(statement, release, folder), STATEMENT, STORED)
            self.note("a bias", check_biases(statement, release, folder), STATEMENT, STORED)
            self.note(
                "registry.yaml", check_registry(statement, folder), "registry.yaml", STATEMENT
            )
        self.note("the chain", self.walk(statement, release, evidence), EVIDENCE)
        if self.chain is None:
            return
        chain, account, held = self.chain, self.chain.account, list[Rows]()
        self.since = Since(account)
        if self.ledger is not None and self.note("the ledger", self.rows_into(held)):
            self.note("a later entry", self.since.read(held[0], chain), EVIDENCE, LEDGER)
        self.note(
            "the account",
            check_account(statement, release, evidence, chain, folder),
            STATEMENT,
            EVIDENCE,
        )
        self.note("a lost entry", check_restored(chain.restored, folder))
        self.note("beliefs", check_beliefs(statement, release or {}, account), STATEMENT, EVIDENCE)
        self.note("beliefs", check_learned(statement, account), STATEMENT)
        self.note("a text", check_shown(statement, folder), *PAGES, STATEMENT)
        self.note("the first page", check_first_page(statement, release, folder), *PAGES, STATEMENT)
        self.note(
            "a sentence", check_sentences(statement, release, account, folder), STATEMENT, EVIDENCE
        )
        self.note("a table", check_tables(statement, folder), *PAGES, STATEMENT)
        self.note("a line", check_lines(statement, release, account, folder), STATEMENT, EVIDENCE)
        self.note("a figure", check_added(statement, release, evidence, folder))
        self.note("a hash", check_hashes(statement, release, evidence, folder))
        if release is not None:
            page = check_participant(statement, release, account, folder)
            self.note("the participant's page", page, "participant.html", STATEMENT)
            self.note("the series", check_series(statement, release, account, folder))
        now = self.since.account
        self.note(
            "a promise",
            check_promises(statement, release or {}, account, now, folder),
            STATEMENT,
            EVIDENCE,
        )
        rows = self.rows = held[0] if held else None
        if rows is not None:
            own = check_ledger(rows, chain, folder)
            self.note("an entry of the ledger itself", own, EVIDENCE, LEDGER)
            self.note("a later entry", self.since.told())
        if self.earlier is not None:
            self.note(EARLIER, self.compare(self.earlier, chain), EARLIER)
        if self.witness is not None:
            self.note("the witness", self.ask(self.witness, rows, chain), WITNESS)
        self.reach = vouched_up_to(self.head, rows, chain)
        self.note("the head", check_outside(self.head, rows, chain))

    def compare(self, earlier: Path, chain: Chain) -> Check:
        """Compare with the chain of an earlier report, whose last hash is a head kept elsewhere."""
        names = ("statement.json", "evidence.json")
        missing = [name for name in names if not (earlier / name).is_file()]
        if missing:
            raise ValueError(f"it has no {missing[0]}")
        statement, evidence = (json_of(earlier / name) for name in names)
        before = Chain(str(statement["identity"]["account"]), None)
        if not all(good for good, *_ in before.check(evidence["chain"])):
            raise ValueError("its own chain does not agree; check that folder by itself")
        there, here = before.hashes, chain.hashes
        pairs = enumerate(zip(there, here, strict=False), 1)
        self.parted = next((place for place, (one, other) in pairs if one != other), 0)
        if self.parted:
            what = f"entry {self.parted} of the ledger is the one that the earlier report has"
            told = [one for one in chain.restored if one["entry"] >= self.parted]
            what += f"{RESTORED}{answered_by(told[0])}" if told else ""
            yield Finding(False, what, among=(EVIDENCE, EARLIER))
            self.head = None if self.head in there else self.head  # what it shows is said
            return
        common = min(len(there), len(here))
        yield True, f"this chain and that of the earlier report agree up to entry {common}"
        if len(there) > len(here):
            yield (
                None,
                f"the earlier report ends at entry {len(there)}, after this one: exchange them",
            )
        self.head = self.head or there[: len(here)][-1]

    def ask(self, witness: Path, rows: Rows | None, chain: Chain) -> Check:
        """Compare with all that a witness saw; its newest head here is the one kept elsewhere."""
        heads = witnessed(witness, chain.hashes[0])
        yield from check_witness(heads, rows, chain)
        saw, count = {head for _, head in heads}, len(chain.hashes)
        later = [seq for seq, head in heads if head == self.head and seq > count]
        if later and rows is None and self.head not in chain.hashes:
            what = f"the head kept elsewhere is of entry {later[0]}, as the witness saw, and this"
            yield None, f"{what} report ends at entry {count}: that it comes after needs the ledger"
            self.head = None
        self.head = self.head or next((one for one in chain.hashes[::-1] if one in saw), None)

    def rows_into(self, held: list[Rows]) -> Check:
        """Read the ledger itself; a wrong path says nothing of the folder."""
        if self.ledger is not None:
            held.append(self.ledger())
        yield from ()

    def walk(
        self, statement: dict[str, Any], release: dict[str, Any] | None, evidence: dict[str, Any]
    ) -> Check:
        """Read the chain of the account that the report is of."""
        whose = statement["identity"] if release is None else release
        of = None if release is None else str(release["release_id"])
        chain = Chain(str(whose["account"]), of)
        yield from chain.check(evidence["chain"])
        self.chain = chain

    def answer(self) -> dict[str, Any]:
        """What was found, as JSON has it."""
        promises = [finding.good for finding in self.findings if finding.promise]
        kept = False if False in promises else None if None in promises or not promises else True
        found = [f for f in self.findings if f.good is False and not f.promise]
        problems = [f.what for f in found]
        others = {LEDGER, WITNESS, EARLIER}
        wrong = [f for f in found if not others.intersection(f.among or ())]
        unproven = [f.what for f in self.findings if f.good is None]
        sound = self.chain is not None and not problems
        bound = any(f.good and f.what == RECORDED for f in self.findings)
        lost = self.chain is not None and bool(self.chain.restored)
        made = self.since.account.made.values()
        gone = [one["withdrawn"] is not None for one in made]
        ended = None if not any(gone) else all(gone)
        since = self.since.words
        among = [f.among or () for f in wrong if not f.what.startswith(UNREAD)]
        outside = self.of_the_ledger([one for one in found if one not in wrong])
        verdict, following = verdict_of(
            [f.what for f in wrong],
            kept,
            promises.count(None),
            bound,
            lost,
            ended,
            since,
            among,
            outside,
        )
        if self.witness is not None and following == ASK_NEWER:
            following = ASK_UNSEEN
        return {
            "verified": not problems,
            "promise_kept": kept,
            "complete_up_to": self.chain.complete_up_to if sound and self.chain else None,
            "vouched_up_to": self.reach if sound else None,
            "unproven": unproven,
            "problems": problems,
            "verdict": verdict,
            "next": following,
        }

    def of_the_ledger(self, found: list[Finding]) -> tuple[str, str] | None:
        """What is wrong with what the folder was compared with, not with it; and what to do."""
        if not found or self.chain is None:
            return None
        chain, rows = self.chain, self.rows
        first = None if rows is None else first_difference(rows, chain)
        saw = [f for f in found if WITNESS in (f.among or ())]
        if first is not None and rows is not None:
            return turned_back(first, self.head, rows, chain)
        if before := [f for f in found if EARLIER in (f.among or ())]:
            return parted_at(self.parted, before[0].what)
        if any(EVIDENCE in (f.among or ()) for f in found if f not in saw):
            what = "The ledger itself was changed after it was written: its own entries do not "
            ask = "Ask whoever keeps the ledger to verify it (discreet ledger verify), and to tell "
            ask = f"Keep this folder as it is. {ask}what was charged to the account."
            return f"{what}agree.", ask
        if any(f.what == HAS_A_HEAD for f in saw):
            what = "The witness has no head of this ledger: it is that of another one, or the "
            what += "whole chain was written anew."
            return what, f"Check what was given as --witness. {IF_RIGHT}"
        if seen := [n[1] for f in saw if (n := re.match(r"entry (\d+) of the ledger is", f.what))]:
            whose = "this report" if rows is None else "the ledger"
            first = min(map(int, seen))
            what = f"The witness saw other entries than {whose} has, first entry {first}: the "
            what += f"ledger {TURNED_BACK}{OR_MADE_UP if rows is None else ''}."
            return what, KEEP_IT
        if saw:
            return f"T{saw[0].what[1:]}.", "Correct what was given as --witness, or leave it out."
        _, lost, why = found[0].what.partition(LOST)
        if lost:
            return f"The head that was given{LOST}{why}.", ASK_LOST
        what = f"The ledger does not have the head that was given: it {TURNED_BACK}; or the head "
        return f"{what}is of another ledger.", KEEP_IT


def parted_at(first: int, found: str) -> tuple[str, str]:
    """What an earlier report shows that has other entries from one on; none, if it is unread."""
    if first == 0:
        return f"{found[0].upper()}{found[1:]}.", "Correct what was given as --earlier."
    if first == 1:
        what = "The earlier report is of another ledger, or the whole ledger was written anew."
        return what, f"Check what was given as --earlier. {IF_RIGHT}"
    _, restored, why = found.partition(RESTORED)
    what = f"The ledger was written anew or turned back since entry {first}: from there on the "
    what += "earlier report has other entries than this one"
    what += f"{restored}{why}." if restored else "; or one of the two was made up."
    ask = (
        "Keep both folders as they are. Ask whoever keeps the ledger what was released and charged "
    )
    return what, f"{ask}from entry {first} on in the earlier report, and is lost here."


def turned_back(first: int, head: str | None, rows: Rows, chain: Chain) -> tuple[str, str]:
    """That a ledger has not the entries of a report from one on, and which of the two is false.

    A head that was kept elsewhere decides that. `first` is the first entry that differs.
    """
    what = f"The ledger lacks entries of this report, the first of them entry {first}."
    if first == 1:
        what = f"{what} It is another ledger, or one of the two was written anew."
        return what, f"Check what was given as --ledger. {IF_RIGHT}"
    if (vouched_up_to(head, None, chain) or 0) >= first:
        what = (
            f"{what} It {TURNED_BACK}: the head kept elsewhere vouches for this report's entries."
        )
        return what, KEEP_IT
    if any(digest == head for _, _, digest in rows[first - 1 :]):
        what = f"Do not rely on this folder: its entries from {first} on are not in the ledger, "
        what += "which has the head kept elsewhere. They were made up, or are of another copy."
        return what, "Keep it, and ask whoever published it for a report made from the ledger."
    return f"{what} It {TURNED_BACK}{OR_MADE_UP}.", KEEP_IT + SHOWS_WHICH


def verdict_of(
    problems: list[str],
    kept: bool | None,
    unproven: int = 0,
    bound: bool = False,
    lost: bool = False,
    ended: bool | None = None,
    since: str = "",
    among: Sequence[tuple[str, ...]] = (),
    outside: tuple[str, str] | None = None,
) -> tuple[str, str | None]:
    """What was found in a sentence or two, and what to do next if something is wrong.

    Words are `bound` by the hash of the manifest that the ledger holds, and by nothing else. Where
    entries were `lost`, promises are kept by what is left. `ended` says whether all promises were
    withdrawn, or some (False), or none (None); `since` what the ledger has after the report;
    `among` which files each problem compares. Which of them is false, nobody can tell from them.
    `outside` says what is wrong with the ledger or the witness, and what to do about that.
    """
    if outside is not None:
        rest, following = verdict_of(problems, kept, unproven, bound, lost, ended, since, among)
        if not problems:
            return f"{outside[0]} Within this folder, {rest[0].lower()}{rest[1:]}", outside[1]
        both = f"{ASK_AGAIN} {KEEP_TOO}" if following == ASK_AGAIN else outside[1]
        return f"{rest} {outside[0]}", both
    named = "1 promise" if unproven == 1 else f"{unproven} promises"
    left = f" {named} could be neither shown nor refuted: marked ?." if unproven else ""
    agrees = "everything" if bound else "every figure that was checked"
    left += "" if bound else UNCHECKED
    left += MISSING if lost else ""
    left += f" After this report: {since}." if since else ""
    unread = [one for one in problems if one.startswith(UNREAD)]
    if unread:
        others = [one for one in problems if one not in unread]
        rest, following = verdict_of(others, kept, unproven, lost=lost, ended=ended, among=among)
        what = f"{unread[0][0].upper()}{unread[0][1:]}."
        if others:
            return f"{rest} {what}", following
        return f"{what} Without it: {rest[0].lower()}{rest[1:]}", following or ASK_LEDGER
    files = list(dict.fromkeys(one[5:] for one in problems if one.startswith("file ")))
    if files:
        more = [f"{len(files) - MOST_FILES} other files too"] if len(files) > MOST_FILES else []
        return f"Do not rely on this folder: {'; '.join(files[:MOST_FILES] + more)}.", ASK_AGAIN
    if problems and all(one.startswith(HEAD) for one in problems):
        broken = "A promise is broken, and the" if kept is False else "The"
        _, gone, why = problems[0].partition(LOST)
        where = f"{gone}{why}" if gone else " is not in this folder"
        what = f"{broken} head that was given{where}; else {agrees} agrees.{left}"
        return what, ASK_LOST if gone else ASK_NEWER
    if problems == [NOT_HELD]:
        what = f"Do not rely on this folder: {NOT_HELD}. A file was changed, and manifest.json"
        return f"{what} made to fit, or the folder was made again and not recorded.", ASK_HELD
    if problems:
        count = "1 check does" if len(problems) == 1 else f"{len(problems)} checks do"
        return f"Do not rely on this folder: {count} not agree.{disagreeing(among)}", ASK_AGAIN
    if kept is False:
        return f"A promise is broken; else {agrees} agrees.{left}", ASK_WHY
    agrees = agrees.capitalize() + (" else" if bound and unproven else "")
    said = f" Every promise{'' if ended is None else ' in force'} is kept." if kept else ""
    said = " No promise is in force." if ended else said
    return f"{agrees} agrees.{said}{left}", ASK_NEW if since else None


def disagreeing(among: Sequence[tuple[str, ...]]) -> str:
    """Which files do not agree, all that take part, and whether one of them always does."""
    files = sorted({name for one in among for name in one})
    if not files:
        return ""
    if len(files) == 1:
        return f" {files[0]} does not agree with itself, or with what was recomputed."
    always = [name for name in files if all(name in one for one in among)]
    told = f" {listed_as(files)} do not agree with each other, or with what was recomputed;"
    told += " the folder alone does not show which of them is false."
    if len(among) > 1 and len(always) == 1:
        told += f" {always[0]} takes part in every disagreement."
    return told


def listed_as(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def examined(
    folder: Path,
    head: str | None = None,
    ledger: Callable[[], Rows] | None = None,
    witness: Path | None = None,
    earlier: Path | None = None,
) -> Report:
    """Examine the report in a folder; with a ledger, each of its entries too."""
    kept = None if head is None else "".join(head.split()).lower()
    report = Report(folder, kept, ledger, witness, earlier)
    report.examine()
    return report


def no_witness(place: Path | None) -> str | None:
    """Why nothing can be asked of a witness, in one sentence; None if it can, or none is named."""
    return None if place is None or place.exists() else f"There is no witness {place}."


def no_head(head: str | None) -> str | None:
    """Why a text is no head, in one sentence; None if it is one, or none was given."""
    if head is None or re.fullmatch("[0-9a-fA-F]{64}", "".join(head.split())):
        return None
    return f"{head!r} is not a head: a head is 64 hexadecimal digits, all of them."


def no_report(folder: Path) -> str | None:
    """Why there is nothing to check: a wrong path, in one sentence; None if there is a report."""
    if not folder.is_dir():
        return f"There is no folder {folder}."
    if any(os.path.lexists(folder / name) for name in (MANIFEST, "statement.json", "report.html")):
        return None
    inside = folder / "report"
    where = f"Its report is in {inside}." if inside.is_dir() else "'discreet report' writes one."
    return f"The folder {folder} is no report: it has no {MANIFEST}. {where}"


def lines_of(report: Report, everything: bool = False) -> Iterator[str]:
    """The verdict and what to do next; then what is wrong, or promises and what is unproven.

    Nothing in it moves a terminal's cursor.
    """
    answer, findings = report.answer(), report.findings
    yield printable(answer["verdict"])
    bad = [one for one in findings if one.good is False]
    yield from [answer["next"]] * bool(answer["next"])
    yield from ["", "What should be so, and is not, is marked WRONG:"] * bool(bad)
    shown = [*bad]
    if all(one.what.startswith(UNREAD) for one in bad):
        shown += [one for one in findings if worth_saying(one)]
    for good, what, promise, among in findings if everything else shown[:MOST_LINES]:
        mark = "?    " if good is None else "ok   " if good else "WRONG"
        compared = among if good is False and not promise and len(among or ()) > 1 else None
        yield f"{mark} {printable(what)}" + (f" ({listed_as(compared)})" if compared else "")
    if not everything and len(shown) > MOST_LINES:
        yield f"... {len(shown) - MOST_LINES} more; --all shows them."
    if not everything:
        agree = sum(one.good is True for one in findings if one not in shown)
        yield f"{agree} other checks agree; --all shows them."
    if answer["complete_up_to"]:
        yield complete_line(answer["complete_up_to"], answer["vouched_up_to"])


def complete_line(last: dict[str, Any], reach: int | None) -> str:
    """Up to where the account is complete, and how far a head vouches for that."""
    entry, digest = last["entry"], last["hash"]
    told = f"The account is complete up to entry {entry}, {digest}"
    if reach is None:
        return f"{told}, if this chain was not written anew."
    if reach >= entry:
        return f"{told}."
    up_to = f"the head vouches for the entries up to {reach}"
    return f"{told}, if nobody wrote {span(reach + 1, entry)} anew: {up_to}."


def worth_saying(one: Finding) -> bool:
    """Whether it is told unasked: what is unproven, and what became of promises."""
    return one.good is None or one.promise or " withdrawn on " in one.what


def printable(text: str) -> str:
    """A text that does nothing to a terminal but appear on it."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def main(arguments: list[str]) -> int:
    """Run the checks, print what was found, and say whether all agree."""
    parser = argparse.ArgumentParser(description="Check a report, which is one folder.")
    here = Path(__file__).resolve().parent
    parser.add_argument("folder", type=Path, nargs="?", default=here, help="the report")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)  # its name before
    parser.add_argument("--head", help="a head of the ledger that was kept elsewhere")
    parser.add_argument(
        "--earlier", type=Path, help="the folder of an earlier report of the ledger"
    )
    parser.add_argument("--witness", type=Path, help="all heads that were kept: a folder or a file")
    parser.add_argument("--ledger", help="the ledger itself, a file")
    parser.add_argument("--all", action="store_true", help="print every check")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    folder, place = given.report or given.folder, given.ledger
    why = no_report(folder) or no_head(given.head) or no_witness(given.witness)
    why = why or (None if given.earlier is None else no_report(given.earlier))
    if why is not None:
        sys.stderr.write(printable(why) + "\n")
        if given.json:
            error = {"code": "input", "message": why, "next": None}
            sys.stdout.write(json.dumps({"error": error}) + "\n")
        return 2
    ledger = None if place is None else partial(sqlite_rows, place)
    report = examined(folder, given.head, ledger, given.witness, given.earlier)
    answer = report.answer()
    text = json.dumps(answer, indent=2) if given.json else "\n".join(lines_of(report, given.all))
    shown = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(shown, "replace").decode(shown) + "\n")
    return 0 if answer["verified"] and answer["promise_kept"] is not False else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
