"""The promise end to end: an attacker who knows all the rest, on tables that were really drawn.

The target is in the data with the sensitive value (a row in the north), in with another (a row in
the south), or out; the attacker knows everyone else and the mechanism, and computes the exact
posterior from the released numbers. For every output: never past the promise. With a confidence:
at most as often as promised, for each truth; a true rate at the limit fails a test with probability
below 1e-6 (Hoeffding).
"""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.ledger import Amount, Ledger
from discreet.promises import Difference, Promise, Ratio, promise_in
from discreet.releases.drawing import draw
from discreet.releases.engines import opened
from discreet.releases.planning import Plan, plan_of
from discreet.releases.spec import Spec, load

TARGETS = 300
CONFIDENCE = 0.8
SLACK = math.sqrt(math.log(1e6) / (2 * TARGETS))
TRUTHS = {"in, sensitive": "north", "in, not": "south", "out": None}
GRID = (0.001, 0.01, 0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.9, 0.99, 1.0)
CELLS = [f"{i} {where}" for i in range(TARGETS) for where in ("north", "south")]

CASES = [
    ("pure", {}, {"ratio": 3}, "geometric"),
    ("pure", {}, {"posterior": 0.12, "p": 0.05, "about": "membership"}, "geometric"),
    ("pure", {}, {"difference": 0.2}, "geometric"),
    ("pure", {}, {"posterior": 0.25, "unless_ratio": 3}, "geometric"),
    ("basic", {"delta": 1e-3}, {"ratio": 4, "confidence": CONFIDENCE}, "gaussian"),
    ("zcdp", {}, {"ratio": 3, "confidence": CONFIDENCE}, "gaussian"),
    ("zcdp", {}, {"posterior": 0.3, "q": 0.1, "about": "value", "confidence": CONFIDENCE}, "auto"),
    (
        "zcdp",
        {},
        {"posterior": 0.12, "p": 0.05, "about": "membership", "confidence": CONFIDENCE},
        "gaussian",
    ),
]


def _table(truth: str | None) -> pa.Table:
    """One person that everybody knows of in each cell, and every target as the truth has it."""
    rows = [(f"known in {cell}", cell) for cell in CELLS]
    rows += [(f"target {i}", f"{i} {truth}") for i in range(TARGETS) if truth is not None]
    people, cells = zip(*rows, strict=True)
    return pa.table({"person": list(people), "cell": list(cells)})


def _plan(
    folder: Path, rule: str, cap: dict[str, float], promise: dict[str, Any], mechanism: str
) -> tuple[Plan, Spec]:
    spec = load(
        {
            "account": "people",
            "purpose": "attack",
            "protect": {"unit": "person", "column": "person", "rows": 1},
            "tolerance": promise | cap,
            "statistics": [{"count": "rows", "by": ["cell"], "keys": {"cell": CELLS}}],
            "mechanism": mechanism,
            "ledger": "sqlite:///ledger.db",
            "output": "out",
        },
        folder=folder,
    )
    account = Ledger.open(spec.ledger_url).open_account(
        "people",
        unit="person",
        adjacency="add-remove",
        filter=rule,
        cap=Amount.of(**({"rho": 100.0} if rule == "zcdp" else {"epsilon": 100.0}) | cap),
        approver="a",
        reason="r",
    )
    with closing(opened(None, spec.path, _table(None))) as engine:
        return plan_of(spec, engine.columns, account), spec


def _released(plan: Plan, spec: Spec, truth: str | None) -> list[tuple[float, float]]:
    """Draw the release once; return what it says of each target's two cells."""
    with closing(opened(None, spec.path, _table(truth))) as engine:
        columns = draw(plan, engine).to_dict()
    value = dict(zip(columns["cell"], map(float, columns["value"]), strict=True))
    return [(value[f"{i} north"], value[f"{i} south"]) for i in range(TARGETS)]


def _log_likelihood(plan: Plan, released: tuple[float, float], truth: str | None) -> float:
    (call,) = plan.pricing.calls
    total = 0.0
    for where, value in zip(("north", "south"), released, strict=True):
        noise = value - 1 - (where == truth)
        if call.mechanism == "gaussian":
            total -= noise * noise / (2 * call.scale * call.scale)
        else:
            total -= abs(noise) / call.scale
    return total


def _passes(plan: Plan, promise: Promise, released: tuple[float, float]) -> bool:
    """Whether some prior of the promise's box is carried past what is promised."""
    logs = [_log_likelihood(plan, released, truth) for truth in TRUTHS.values()]
    one, two, out = (math.exp(log - max(logs)) for log in logs)
    for _, part in promise.parts:
        box = part.box
        for p in {box.p1, *(x for x in GRID if box.p0 <= x <= box.p1)}:
            for q in {box.q1, *(x for x in GRID if box.q0 <= x <= box.q1)}:
                s = p * q
                after = s * one / (s * one + p * (1 - q) * two + (1 - p) * out)
                most, least = part.ratio_at(p, q) * s, 0.0
                if isinstance(part, Ratio):
                    least = s / part.ratio
                elif isinstance(part, Difference):
                    least = s - part.difference
                if after > most * (1 + 1e-9) or after < least * (1 - 1e-9):
                    return True
    return False


@pytest.mark.parametrize(("rule", "cap", "promise", "mechanism"), CASES)
def test_the_attacker_stays_within_the_promise(
    tmp_path: Path, rule: str, cap: dict[str, float], promise: dict[str, Any], mechanism: str
) -> None:
    plan, spec = _plan(tmp_path, rule, cap, promise, mechanism)
    promised = promise_in(promise)
    for truth in TRUTHS.values():
        passed = sum(_passes(plan, promised, seen) for seen in _released(plan, spec, truth))
        if rule == "pure":
            assert passed == 0
        else:
            assert passed / TARGETS <= (1 - CONFIDENCE) + SLACK


def test_the_attack_has_teeth(tmp_path: Path) -> None:
    """At twice the budget of the promise, as 0.1.0 chose it with a δ, the attacker passes it."""
    plan, spec = _plan(tmp_path, "pure", {}, {"ratio": 9}, "geometric")
    strict = promise_in({"ratio": 3})
    assert any(_passes(plan, strict, seen) for seen in _released(plan, spec, "north"))
