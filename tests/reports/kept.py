"""Releases under every kind of promise: one account each, made once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stories import BASE, COUNT, Made, made, opened, people

from discreet.guarantees import ApproxDP, PureDP
from discreet.ledger import Ledger

PERSON: dict[str, Any] = {"unit": "person", "column": "person", "rows": 2}
REPLACE: dict[str, Any] = PERSON | {"adjacency": "replace"}
APPROVED = {"approver": "A. Approver", "reason": "test"}


def _spec(**more: Any) -> dict[str, Any]:
    return BASE | {"statistics": [COUNT]} | more


def _promised(home: Path, terms: dict[str, Any], keys: dict[str, Any], **more: Any) -> Made:
    """A release whose spec makes a promise, on an account with a cap of its own."""
    opened(home, **terms)
    return made(home, _spec(tolerance=keys, **more))


def _bound(home: Path, terms: dict[str, Any], keys: Any, **more: Any) -> Made:
    """A release on an account that was opened with its promises."""
    ledger = Ledger.open(f"sqlite:///{home / 'ledger.db'}")
    said = {"unit": "person", "adjacency": "add-remove", "filter": "pure"} | terms
    ledger.open_account("people", promise=keys, **APPROVED, **said)
    return made(home, _spec(**more))


def membership(home: Path) -> Made:
    """Pure DP, from 5 % to 12 % that someone is in."""
    return _promised(home, {}, {"posterior": 0.12, "p": 0.05, "about": "membership"})


def value(home: Path) -> Made:
    """Pure DP, a value of someone in the data."""
    return _promised(home, {}, {"posterior": 0.12, "q": 0.05, "about": "value"})


def approximate(home: Path) -> Made:
    """(ε, δ) with a confidence; what was spent has a δ."""
    keys = {"posterior": 0.2, "p": 0.05, "about": "membership", "confidence": 0.99}
    terms = {"filter": "basic", "cap": ApproxDP(4.0, 1e-6)}
    discovered = {"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 1e-6}}}
    opened(home, **terms)
    return made(home, _spec(statistics=[discovered], tolerance=keys | {"delta": 1e-6}))


def concentrated(home: Path) -> Made:
    """An account that adds up ρ, both ways, whatever is known of anyone."""
    keys = {"ratio": 3, "confidence": 0.99}
    return _bound(home, {"filter": "zcdp"}, keys, budget={"rho": 0.01}, mechanism="gaussian")


def replaced(home: Path) -> Made:
    """Replace: everyone is in, a value may become three times as likely."""
    cap = PureDP(3.0, adjacency="replace")  # type: ignore[arg-type]
    keys = {"posterior": 0.3, "q": 0.1}
    return _promised(home, {"adjacency": "replace", "cap": cap}, keys, protect=REPLACE)


def sensitive(home: Path) -> Made:
    """What is sensitive is said in words."""
    keys = {"posterior": 0.25, "unless_ratio": 3}
    return _promised(home, {}, keys, sensitive="a visit to the clinic")


def numbers(home: Path) -> Made:
    """A budget in numbers, and no promise."""
    opened(home)
    return made(home, _spec(budget={"epsilon": 0.5}))


def household(home: Path) -> Made:
    """A household with a name of its own."""
    named = "one household of up to 4"
    protect = {"unit": "household", "name": named, "column": "person", "rows": 2}
    terms = {"unit": "household", "unit_name": named}
    keys = {"difference": 0.2, "about": "membership"}
    return _promised(home, terms, keys, protect=protect)


def synthetic(home: Path) -> Made:
    """A synthetic file, with a promise about values."""
    from discreet.synthetic import synthesize

    opened(home, adjacency="replace", cap=PureDP(9.0, adjacency="replace"))  # type: ignore[arg-type]
    spec = {
        "account": "people",
        "purpose": "a synthetic file",
        "protect": REPLACE | {"rows": 1},
        "tolerance": {"posterior": 0.5, "q": 0.1},
        "columns": ["county"],
        "keys": {"county": ["north", "south", "west"]},
        "n_synthetic": 40,
        "n": 60,
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    found = synthesize(spec, data=people(), folder=home)
    return Made(str(found.release_id), home)


def several(home: Path) -> Made:
    """Groups, a table and a counterfactual, all at once; and a second promise on average."""
    table = [[0, 1, 10], [0.1, 1, 3], [1, 1, 1.5]]
    groups = {"relatives": {"ratio": 3, "q": 1}, "others": {"counterfactual": 4}}
    both = {"all": [{"groups": groups}, {"table": table, "q": 1}], "every_output": True}
    average = {"posterior": 0.5, "about": "value", "q": 0.3, "on_average": True}
    return _bound(home, {}, [both, average])


def both(home: Path) -> Made:
    """δ-approximate ρ, with membership and value both open at one prior; related units."""
    terms: dict[str, Any] = {"filter": "zcdp", "delta": 1e-6}
    keys = [
        {"posterior": 0.2, "p": 0.2, "q": 0.25, "confidence": 0.99, "sided": "one"},
        {"difference": 0.9, "confidence": 0.9, "related": 2, "about": "value"},
    ]
    found = _bound(home, terms, keys, budget={"rho": 0.001}, mechanism="gaussian")
    more = ApproxDP(0.01, 1e-7)
    Ledger.open(found.ledger).charge("people", more, purpose="made elsewhere", who="someone")
    return found


def formula(home: Path) -> Made:
    """A profile as a formula: nothing that the verifier can prove."""
    return _promised(home, {}, {"profile": "max(0.25/(p*q), 3)", "every_output": True})


def history(home: Path) -> Made:
    """An account with everything that its report lists, and another one in the same ledger."""
    found = _promised(home, {}, {"posterior": 0.12, "p": 0.05, "about": "membership"})
    ledger = Ledger.open(found.ledger)
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("others", cap=PureDP(1.0), **APPROVED, **terms)
    (promise,) = ledger.account("people").promises
    ledger.withdraw("people", promise, **APPROVED)
    ledger.grant("people", add=PureDP(1.0), **APPROVED)
    one = PureDP(0.25)
    plan = ledger.register_plan("people", [one] * 2, PureDP(0.5), purpose="a plan", who="someone")
    made(home, _spec(budget={"epsilon": 0.25}), plan_id=plan)
    ledger.charge("people", one, purpose="made elsewhere", who="someone")
    ledger.charge("others", one, purpose="not to be told", who="someone")
    ledger.reserve("people", one, purpose="never stored", who="x", spec_hash="0")
    return found


STORIES: dict[str, Callable[[Path], Made]] = {
    story.__name__: story
    for story in (
        membership, value, approximate, concentrated, replaced, sensitive, numbers, household,
        synthetic, several, both, formula,
    )
}  # fmt: skip
