"""Speed of a whole horizon: all of 3,650 days against one composition by dp-accounting.

Run with `python -m benchmarks.horizon`. Times depend on the machine; read the ratios.

The task on our side is the belief bound after every one of 1 … 3,650 daily Gaussian releases
(ρ = 0.01), at the curve and at the exact strength; on theirs, the privacy loss distribution of the
last day alone: one self-composition, and one ε at δ = 10⁻⁶.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

DAYS, RHO, CONFIDENCE = 3_650, 0.01, 0.99


def _best(action: Callable[[], Any], times: int = 3) -> float:
    spans = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        spans.append(time.perf_counter() - start)
    return min(spans)


def _theirs() -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_gaussian_mechanism(1 / math.sqrt(2 * RHO))
    return float(one.self_compose(DAYS).get_epsilon_for_delta(1e-6))


def run() -> dict[str, Any]:
    """Return seconds for both sides and their ratio, measured in one run."""
    from discreet.guarantees import ZCDP
    from discreet.laws import Gaussian
    from discreet.series import horizon

    each = Gaussian.of_rho(RHO)
    ways = {
        "curve": lambda: horizon(each, 0.5, confidence=CONFIDENCE, upto=DAYS),
        "exact": lambda: horizon(each, 0.5, confidence=CONFIDENCE, upto=DAYS, strength="exact"),
        "any zCDP": lambda: horizon(ZCDP(RHO), 0.5, confidence=CONFIDENCE, upto=DAYS),
    }
    _theirs()  # imports are not counted
    theirs = _best(_theirs)
    seconds = {name: _best(action) for name, action in ways.items()}
    return {
        "days": DAYS,
        "dp-accounting, last day only": theirs,
        "ours, every day": seconds,
        "ratio": {name: span / theirs for name, span in seconds.items()},
        "target": "ratio at most 3",
    }


if __name__ == "__main__":
    for name, value in run().items():
        print(f"{name}: {value}")
