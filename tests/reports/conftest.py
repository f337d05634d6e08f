"""Releases to report on: made once for all tests, of every kind of account."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from stories import BASE, COUNT, KINDS, Made, made, opened, people

from discreet.guarantees import ApproxDP, PureDP
from discreet.ledger import Amount
from discreet.reports import verifier

DRAWN = ("account", "browser", "charts", "mutations", "notebooks", "report")


@pytest.fixture(autouse=True)
def _plain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave charts out but in tests of pages: drawing them takes four fifths of a report's time."""
    if not request.path.stem.endswith(DRAWN):
        monkeypatch.setattr("discreet.reports.folder.pictures", lambda statement: {})


@pytest.fixture(scope="session", autouse=True)
def _recomputed_once() -> Iterator[None]:
    """Let the verifier search for each bound once: many tests examine the report of one release."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("curve_guess", "loss_bound", "rise_bound", "zcdp_guess"):
            patch.setattr(verifier, name, _remembered(getattr(verifier, name)))
        yield


def _remembered(bound: Callable[..., float]) -> Callable[..., float]:
    found: dict[tuple[Any, ...], float] = {}

    def same(total: dict[str, Any] | float, *more: float) -> float:
        key = (*(total.items() if isinstance(total, dict) else [total]), *more)
        if key not in found:
            found[key] = bound(total, *more)
        return found[key]

    return same


@pytest.fixture(scope="session")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Pure DP, a tolerance, two statistics, a second account in the same ledger."""
    home = tmp_path_factory.mktemp("pure")
    ledger = opened(home)
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("others", cap=PureDP(1.0), approver="secret", reason="secret", **terms)
    total = {
        "sum": "cost",
        "bounds": [0, 20],
        "resolution": 0.5,
        "by": ["county"],
        "keys": {"county": ["north", "south", "west"]},
        "weight": 2,
    }
    tolerance = {"posterior": 0.25, "unless_ratio": 3, "values_known": True, "every_output": True}
    found = made(home, BASE | {"statistics": [COUNT, total], "tolerance": tolerance})
    ledger.charge("others", PureDP(0.5), purpose="not to be told", who="someone else")
    return found


@pytest.fixture(scope="session")
def approximate(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """(ε, δ), with keys found in the data and paid for."""
    home = tmp_path_factory.mktemp("approximate")
    opened(home, filter="basic", cap=ApproxDP(4.0, 1e-3))
    found = {"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 1e-5}}}
    spec = BASE | {"statistics": [found], "budget": {"epsilon": 1.0, "delta": 1e-5}}
    return made(home, spec)


@pytest.fixture(scope="session")
def concentrated(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """ρ-zCDP, one of a series of four, the second of them."""
    home = tmp_path_factory.mktemp("concentrated")
    opened(home, filter="zcdp", cap=Amount.of(rho=0.5, delta=1e-6))
    spec = BASE | {"budget": {"rho": 0.2}, "series": {"releases": 4}}
    made(home, spec)
    return made(home, spec)


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A zCDP account that also holds a charge with a δ: a whole curve."""
    home = tmp_path_factory.mktemp("mixed")
    ledger = opened(home, filter="zcdp", cap=Amount.of(rho=2.0, delta=1e-4))
    ledger.charge("people", ApproxDP(0.3, 1e-6), purpose="made elsewhere", who="someone")
    return made(home, BASE | {"budget": {"rho": 0.05}})


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Records are protected, under replace, without a cap."""
    home = tmp_path_factory.mktemp("records")
    opened(home, unit="record", adjacency="replace", cap=None)
    protect = {"unit": "record", "adjacency": "replace"}
    return made(home, BASE | {"protect": protect, "budget": {"epsilon": 0.5}})


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A synthetic file."""
    from discreet.synthetic import synthesize

    home = tmp_path_factory.mktemp("synthetic")
    opened(home, adjacency="replace", cap=PureDP(9.0, adjacency="replace"))  # type: ignore[arg-type]
    spec = {
        "account": "people",
        "purpose": "a synthetic file",
        "protect": {"unit": "person", "column": "person", "rows": 1, "adjacency": "replace"},
        "budget": {"epsilon": 2},
        "columns": ["county"],
        "keys": {"county": ["north", "south", "west"]},
        "n_synthetic": 40,
        "n": 60,
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    found = synthesize(spec, data=people(), folder=home)
    return Made(str(found.release_id), home)


@pytest.fixture(scope="session")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, Made]:
    """A file chosen by looking at the data, and one with a promise on the same account."""
    import yaml

    from discreet.synthetic import assess, synthesize

    home = tmp_path_factory.mktemp("chosen")
    opened(home, adjacency="replace", cap=PureDP(90.0, adjacency="replace"))  # type: ignore[arg-type]
    spec = {
        "account": "people",
        "purpose": "a synthetic file",
        "source": "people.parquet",
        "protect": {"unit": "person", "column": "person", "rows": 1, "adjacency": "replace"},
        "budget": {"epsilon": 2},
        "columns": ["county"],
        "keys": {"county": ["north", "south", "west"]},
        "n_synthetic": 40,
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }
    pq.write_table(people(), home / "people.parquet")
    path = home / "spec.yaml"
    path.write_text(yaml.safe_dump(spec), encoding="utf-8")
    none = assess(path, epsilons=[2.0], region="RR <= 1000", candidates=2, no_guarantee=True)
    some = synthesize(path, confirm=lambda _: True)
    return Made(str(none.release_id), home), Made(str(some.release_id), home)  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The second slot of a registered plan, after a grant; what people wrote tries to break out."""
    home = tmp_path_factory.mktemp("planned")
    ledger = opened(home, unit="partition")
    plan = ledger.register_plan("people", [PureDP(0.5)] * 3, PureDP(1.5), purpose="plan", who="x")
    ledger.grant("people", add=PureDP(1.0), approver="B", reason="more")
    nasty = '<script>alert(1)</script> & |pipes| "quotes"'
    count = {"count": "rows", "by": ["county"], "keys": {"county": ["north", "<i>south</i>"]}}
    protect = {"unit": "partition", "column": ["person", "county"], "rows": 2}
    spec = BASE | {
        "purpose": nasty,
        "protect": protect,
        "statistics": [count | {"name": nasty}],
        "budget": {"epsilon": 0.5},
    }
    made(home, spec, plan_id=plan)
    return made(home, spec, plan_id=plan)


@pytest.fixture(params=KINDS)
def any_release(request: pytest.FixtureRequest) -> Made:
    """Each kind of release in turn."""
    found: Made = request.getfixturevalue(request.param)
    return found
