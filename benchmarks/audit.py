"""Long audits: sound releases with many trials, and how small a fault is still seen.

Run with `python -m benchmarks.audit` (a few minutes; `--trials N` for more or fewer).

The first table audits releases of every mechanism at a false-alarm rate of 1e-3 in all. The second
draws a share of the noise that is due and says at which share the audit notices: 1 is right, ½ is
half the noise. The command fails if a sound release does not pass or half the noise does.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any
from unittest.mock import patch

_COUNTY = {"by": ["county"], "keys": {"county": ["north", "south", "west"]}}
_PERSON = {"unit": "person", "column": "person", "rows": 4, "groups": 2, "rows_per_group": 2}
_COUNT = {"count": "rows", **_COUNTY}

SOUND: dict[str, dict[str, Any]] = {
    "counts, geometric": {"statistics": [_COUNT]},
    "counts and sums, geometric": {
        "statistics": [
            _COUNT,
            {"sum": "cost", "bounds": [0, 500], "resolution": 0.01, **_COUNTY},
        ]
    },
    "counts, discrete Gaussian": {"budget": {"rho": 0.1}, "statistics": [_COUNT]},
    "mean and variance": {
        "statistics": [
            {"mean": "cost", "bounds": [0, 100], "resolution": 1},
            {"variance": "cost", "bounds": [0, 100], "resolution": 1},
        ]
    },
    "median, permute-and-flip": {
        "statistics": [{"quantile": "cost", "at": 0.5, "bounds": [0, 10], "resolution": 1}]
    },
    "most common answer": {
        "statistics": [
            {"best": "answer", "score": "count", "of": "answer", "candidates": ["yes", "no"]}
        ]
    },
    "keys found by a threshold": {
        "statistics": [{"count": "rows", "by": ["drug"], "keys": {"discover": {"delta": 1e-3}}}]
    },
    "randomized answers": {
        "statistics": [{"randomized": "answer", "answers": ["yes", "no"], "keep": 0.75}]
    },
}
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


def _spec(changes: dict[str, Any]) -> dict[str, Any]:
    base = {
        "account": "audit",
        "purpose": "audit",
        "protect": _PERSON,
        "budget": {"epsilon": 0.5},
        "ledger": "sqlite:///none.db",
        "output": "none",
    }
    base = {k: v for k, v in base.items() if not (k == "budget" and "budget" in changes)}
    return base | changes


def _audited(spec: dict[str, Any], trials: int) -> dict[str, Any]:
    from discreet.auditing import audit

    start = time.perf_counter()
    found = audit(spec, trials=trials, failure_probability=1e-3)
    return {
        "passed": found.passed,
        "epsilon_lower": found.epsilon_lower,
        "promised": found.epsilon_promised,
        "worst pair": found.worst,
        "releases": found.releases,
        "seconds": time.perf_counter() - start,
        "faults": found.faults,
    }


def run(trials: int = 10_000) -> dict[str, Any]:
    """Return the figures of sound releases, and of releases with a share of the noise."""
    from discreet.noise import discrete_laplace
    from discreet.releases import drawing

    sound = {name: _audited(_spec(changes), trials) for name, changes in SOUND.items()}
    one = _spec(
        {"protect": {"unit": "person", "column": "person", "rows": 1}, "statistics": [_COUNT]}
    )
    shares = {}
    for share in SHARES:

        def less(law: Any, values: Any, share: float = share, **_: Any) -> list[int]:
            return discrete_laplace(values, law.scale * share)

        with patch.object(drawing, "add_noise", less):
            shares[share] = _audited(one, trials)
    return {"trials": trials, "sound": sound, "share of the noise": shares}


def main() -> None:
    """Print the tables; exit 1 if the audit was wrong about any of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000)
    figures = run(parser.parse_args().trials)
    wrong = []
    for table in ("sound", "share of the noise"):
        print(f"\n{table}, {figures['trials']:,} trials a side, budget raised to ε = 2")
        for name, row in figures[table].items():
            verdict = "passed" if row["passed"] else "FAULT "
            print(
                f"  {name!s:30} {verdict}  ε ≥ {row['epsilon_lower']:.3f} of {row['promised']:.3g} "
                f" {row['releases']:>7,} releases {row['seconds']:6.1f} s  {row['worst pair']}"
            )
            should = table == "sound" or name == 1.0
            if (should and not row["passed"]) or (name == 0.5 and row["passed"]):
                wrong.append(f"{name}: {row['faults'] or 'not noticed'}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
