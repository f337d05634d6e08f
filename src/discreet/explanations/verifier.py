"""Check a report with nothing installed: python3 -I verify.py

Standard library only. It recomputes, from the stated parameters, every belief that the statement
states; the hashes of the released files and of the report; the chain of ledger entries up to its
head, and the sums in it. What it does not do: it cannot tell that a whole chain was written anew.
For that compare the head with one kept elsewhere (--head), or read the ledger itself (--ledger).

    python3 -I verify.py [--report FOLDER] [--head HASH] [--ledger LEDGER.db]

Exit code 0 if everything agrees, 1 if something does not.

The theorems: K&R Theorem 1 (pure DP); KSZ Theorem 3.9 ((ε, δ)-DP); the tail of the privacy loss of
ρ-zCDP; the conversion of Canonne, Kamath and Steinke (2020), Proposition 12. K&R is Kazan and
Reiter, "Prior-itizing Privacy"; KSZ is Kazan, Sharma, Zhang, Jiang and Yan, "Interpreting
Differential Privacy in Terms of Disclosure Risk".
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

FILES = ("release.json", "statement.md", "table.csv", "table.parquet")
CLOSE = 1e-9
SEARCHED = 1e-5
EXACT = Context(prec=4000)

Check = Iterator["tuple[bool, str]"]


# -- beliefs, from parameters alone


def ratio_bound(epsilon: float, p: float, q: float, adjacency: str) -> float:
    """K&R Theorem 1: the largest posterior over prior of "in, and sensitive"."""
    if adjacency != "add-remove":
        return 1 / (p * q + math.exp(-epsilon) * (1 - p * q))
    rest = math.exp(-2 * epsilon) * (1 - q) * p + math.exp(-epsilon) * (1 - p)
    return 1 / (p * q + rest)


def least(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a function with one valley: a grid, then the golden section."""
    step = (high - low) / 64
    best = min((low + step * i for i in range(65)), key=function)
    low, high = max(low, best - step), min(high, best + step)
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return min(function(best), function((low + high) / 2))


def epsilon_prime(epsilon: float, delta: float, failure: float) -> float:
    """KSZ Theorem 3.9: |loss| <= this, except with probability `failure`."""
    if delta >= failure:
        return math.inf
    return math.log(failure * math.exp(epsilon) + delta) - math.log(failure - delta)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Canonne, Kamath and Steinke: the delta at epsilon of rho-zCDP."""

    def exponent(log_t: float) -> float:
        t = math.exp(log_t)
        return t * ((1 + t) * rho - epsilon) - t * math.log1p(1 / t) - math.log1p(t)

    return math.exp(min(0.0, least(exponent, -12.0, 12.0)))


def zcdp_loss(rho: float, failure: float) -> float:
    """The bound x on |loss| of rho-zCDP: (1 + e^-x) e^(-(x-rho)^2/4rho) = failure."""
    low = high = rho
    while (1 + math.exp(-high)) * math.exp(-((high - rho) ** 2) / (4 * rho)) > failure:
        high = 2 * high + 1
    for _ in range(200):
        middle = (low + high) / 2
        tail = (1 + math.exp(-middle)) * math.exp(-((middle - rho) ** 2) / (4 * rho))
        low, high = (middle, high) if tail > failure else (low, middle)
    return high


def loss_bound(promise: dict[str, Any], failure: float) -> float:
    """The bound on the privacy loss that beliefs follow from."""
    kind, rho, lost = promise["kind"], promise["rho"], promise["delta"] or 0.0
    if kind == "pure":
        return float(promise["epsilon"])
    if kind == "approximate":
        return epsilon_prime(promise["epsilon"], lost, failure)
    if kind == "concentrated":
        return zcdp_loss(rho, failure)

    def at(epsilon: float) -> float:
        return epsilon_prime(epsilon, lost + (1 - lost) * zcdp_delta(rho, epsilon), failure)

    return least(at, 1e-9, rho + 2 * math.sqrt(rho * 40) + 1)


def joined_bound(promise: dict[str, Any], x: float) -> float:
    """The largest chance with the unit in, of what has chance x with it left out."""

    def joined(epsilon: float, delta: float) -> float:
        return min(math.exp(epsilon) * x + delta, 1 - math.exp(-epsilon) * (1 - delta - x), 1.0)

    if promise["kind"] in ("pure", "approximate"):
        return joined(promise["epsilon"], promise["delta"] or 0.0)
    rho, lost = promise["rho"], promise["delta"] or 0.0

    def at(epsilon: float) -> float:
        return joined(epsilon, lost + (1 - lost) * zcdp_delta(rho, epsilon))

    return least(at, 1e-9, rho + 2 * math.sqrt(rho * 40) + 1)


def check_beliefs(statement: dict[str, Any]) -> Check:
    """Recompute every stated belief: never below the truth, and not far above it."""
    risk = statement["risk"]
    if risk is None:
        yield True, "no belief is stated: the release promises none"
        return
    promise = risk["promise"]
    slack = CLOSE if promise["kind"] != "approximate-concentrated" else SEARCHED
    for row in risk["beliefs"]:
        p, q, failure = row["p"], row["q"], 1 - row["holds_with"]
        loss = loss_bound(promise, failure)
        upper = min(1.0, p * q * ratio_bound(loss, p, q, promise["adjacency"]))
        lower = p * q * ratio_bound(-loss, p, q, promise["adjacency"])
        said = f"from {p * q:g}: stated [{row['lower']:.6g}, {row['upper']:.6g}]"
        good = abs(row["upper"] - upper) <= slack and abs(row["lower"] - lower) <= slack
        good = good and row["upper"] >= upper - 1e-12
        yield good, f"belief {said}, recomputed [{lower:.6g}, {upper:.6g}]"
        if row["joined"] is not None:
            again = joined_bound(promise, p * q)
            exact = promise["kind"] in ("pure", "approximate")
            above = CLOSE if exact else 0.01 + 0.05 * again  # stated from a few points of a curve
            fair = again - CLOSE <= row["joined"] <= again + above
            yield fair, f"joining from {p * q:g}: stated {row['joined']:.6g}, at best {again:.6g}"


# -- hashes


def sha256(data: bytes) -> str:
    """The hash that everything here is named by."""
    return hashlib.sha256(data).hexdigest()


def check_files(statement: dict[str, Any], evidence: dict[str, Any], report: Path) -> Check:
    """The released files are those that were hashed, and so are the files of the report."""
    together = hashlib.sha256()
    for name in sorted(FILES):
        try:
            found = sha256((report.parent / name).read_bytes())
        except OSError:
            found = ""
        together.update(name.encode() + b"\0" + bytes.fromhex(found))
        yield found == statement["hashes"]["files"].get(name), f"released file {name}"
    yield together.hexdigest() == statement["hashes"]["output"], "all released files together"
    for name, stated in evidence["report"].items():
        try:
            found = sha256((report / name).read_bytes())
        except OSError:
            found = ""
        yield found == stated, f"file of the report {name}"


# -- the chain


def double_up(x: Decimal) -> float:
    """The smallest double that prints as x or more, as amounts are stated."""
    nearest = float(x)
    return nearest if Decimal(repr(nearest)) >= x else math.nextafter(nearest, math.inf)


def check_chain(statement: dict[str, Any], evidence: dict[str, Any], head: str | None) -> Check:
    """Every entry hashes to its hash and carries the one before; the sums add up."""
    spending, account = statement["spending"], statement["identity"]["account"]
    before, shown = "0" * 64, 0
    spent: dict[str, Decimal] = {}
    committed = reserved = False
    for place, row in enumerate(evidence["chain"], 1):
        good = row["seq"] == place
        if row["body"] is not None:
            shown += 1
            said = json.loads(row["body"])
            good = good and sha256(row["body"].encode()) == row["hash"]
            good = good and said["seq"] == place and said["previous"] == before
            yield good, f"entry {place} of the ledger ({said['kind']})"
            if said.get("account") == account:
                sums = added(said, spent)
                if sums is not None:
                    yield sums, f"entry {place}: what was spent adds up"
                spent = {k: Decimal(v) for k, v in said["standing"]["spent"].items()}
            mine = said.get("release_id") == statement["identity"]["release_id"]
            if mine and said["kind"] == "commit":
                committed = said["output_hash"] == statement["hashes"]["output"]
            if mine and row["hash"] == spending["entry"]["hash"]:
                reserved = said["kind"] in ("reserve", "slot")
        elif not good:
            yield False, f"entry {place} of the ledger is out of place"
        before = row["hash"]
    yield reserved, "the release was reserved in the ledger"
    yield committed, "the ledger holds the hash of the released files"
    yield before == spending["head"], f"head of the ledger {spending['head']}"
    yield len(evidence["chain"]) == spending["entries"], "number of entries"
    stated = {k: v for k, v in spending["account_now"].items() if v is not None}
    yield stated == {k: double_up(v) for k, v in spent.items()}, "what the account has spent"
    if statement["risk"] is not None:
        promise = statement["risk"]["promise"]
        same = all((promise[k] or 0.0) == (stated.get(k) or 0.0) for k in ("epsilon", "rho"))
        same = same and (promise["delta"] or 0.0) == (stated.get("delta") or 0.0)
        yield same, "beliefs are about all that the account has spent"
    if head is not None:
        kept = any(row["hash"] == head for row in evidence["chain"])
        yield kept, f"the head kept elsewhere, {head}, is in the chain"
    if shown < len(evidence["chain"]):
        yield True, f"{len(evidence['chain']) - shown} entries of other accounts: hashes only"


def added(said: dict[str, Any], spent: dict[str, Decimal]) -> bool | None:
    """Whether what an entry leaves spent is what was spent before and its cost."""
    after = {k: Decimal(v) for k, v in said["standing"]["spent"].items()}
    if said["kind"] not in ("reserve", "charge", "plan"):
        return None if not spent else after == spent
    cost: dict[str, str] = said["cost"]
    return after == {k: EXACT.add(spent[k], Decimal(v)) for k, v in cost.items()}


def check_ledger(evidence: dict[str, Any], path: Path) -> Check:
    """The chain of the report is the beginning of the chain in the ledger itself."""
    import sqlite3

    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as ledger:
        rows = ledger.execute("SELECT seq, body, hash FROM discreet_entries ORDER BY seq")
        hashes = [digest for _, body, digest in rows if sha256(body.encode()) == digest]
    stated = [row["hash"] for row in evidence["chain"]]
    yield hashes[: len(stated)] == stated, f"the ledger {path.name} begins with this chain"


# -- the statement says what the release says


def check_statement(statement: dict[str, Any], release: dict[str, Any]) -> Check:
    """What the statement repeats from the stored release is the same in both."""
    for name in ("release_id", "made", "account", "purpose"):
        yield statement["identity"][name] == release[name], f"statement and release: {name}"
    same = all(statement["spending"]["this"][k] == release["spent"][k] for k in release["spent"])
    yield same, "statement and release: what it spends"
    then = statement["spending"]["account_then"]
    yield then == release["account_spent"], "statement and release: spent when it was made"
    yield statement["unit"]["unit"] == release["unit"]["unit"], "statement and release: unit"
    yield statement["hashes"]["spec"] == release["spec_hash"], "statement and release: spec"
    if "plan" in release:
        yield statement["mechanisms"] == release["plan"]["calls"], "statement and release: noise"
        same = statement["accuracy"] == release["plan"]["accuracy"]
        yield same, "statement and release: accuracy"


def checks(report: Path, head: str | None, ledger: str | None) -> Check:
    """All checks, one after another."""
    statement = json.loads((report / "statement.json").read_text(encoding="utf-8"))
    evidence = json.loads((report / "evidence.json").read_text(encoding="utf-8"))
    release = json.loads((report.parent / "release.json").read_text(encoding="utf-8"))
    yield from check_files(statement, evidence, report)
    yield from check_statement(statement, release)
    yield from check_chain(statement, evidence, head)
    if ledger is not None:
        yield from check_ledger(evidence, Path(ledger))
    yield from check_beliefs(statement)


def main(arguments: list[str]) -> int:
    """Run the checks, print each, and say whether all agree."""
    parser = argparse.ArgumentParser(description="Check a report and the release that it is about.")
    here = Path(__file__).resolve().parent
    parser.add_argument("--report", type=Path, default=here, help="the folder of the report")
    parser.add_argument("--head", help="a head of the ledger that was kept elsewhere")
    parser.add_argument("--ledger", help="the ledger itself, a file")
    given = parser.parse_args(arguments)
    wrong = 0
    try:
        for good, what in checks(given.report.resolve(), given.head, given.ledger):
            wrong += not good
            sys.stdout.write(f"{'ok   ' if good else 'WRONG'} {what}\n")
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError) as problem:
        wrong += 1
        sys.stdout.write(f"WRONG the files cannot be read as a report ({type(problem).__name__})\n")
    sys.stdout.write("Everything agrees.\n" if not wrong else f"{wrong} checks do not agree.\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
