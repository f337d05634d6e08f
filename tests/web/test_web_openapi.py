"""The page as its OpenAPI describes it: many requests, and none is an internal error.

Schemathesis makes requests from the description. Half of them begin with a question that a person
asks, in which it changes a few names only, so that real answers are exercised as well as refusals.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.web import create_app
from discreet.web.release.spec_form import form_of, written
from soaking import examples

TOKEN = "a-token-for-this-test"  # noqa: S105
HOME = "http://127.0.0.1:8765"
SPEC = {
    "account": "patients",
    "purpose": "monthly open data",
    "source": "visits.csv",
    "protect": {"unit": "person", "column": "patient", "rows": 1},
    "tolerance": {"posterior": 0.25, "unless_ratio": 3, "values_known": True},
    "statistics": [{"count": "rows", "by": ["county"], "keys": {"county": ["north", "south"]}}],
    "ledger": "sqlite:///ledger.db",
    "output": "out/",
}
# For each endpoint: how many requests in `make soak`, and a question that a person asks there.
ASKED: dict[tuple[str, str], tuple[int, Any]] = {
    ("GET", "/api/tolerate"): (330, {"kind": "unless", "after": "25", "fold": "3"}),
    ("GET", "/api/cost"): (330, {"kind": "epsilon", "epsilon": "0.5", "count": "26"}),
    ("GET", "/api/series"): (60, {"per_year": "4", "years": "2"}),
    ("GET", "/api/series/plan"): (60, {"per_year": "4", "years": "2"}),
    ("GET", "/api/explain"): (200, {"kind": "pure", "epsilon": "1"}),
    ("GET", "/api/explain/me"): (200, {"epsilon": "1", "suspect": "30"}),
    ("GET", "/api/attack"): (40, {"name": "differencing", "epsilon": "0.5"}),
    ("POST", "/api/release/spec"): (200, {"form": form_of(SPEC)}),
    ("POST", "/api/release/form"): (200, {"spec": written(SPEC)}),
    ("POST", "/api/release/preview"): (240, {"spec": written(SPEC)}),
    ("GET", "/api/release/columns"): (100, {"source": "visits.csv"}),
    ("GET", "/api/ledger"): (100, {"ledger": "ledger.db"}),
    ("GET", "/api/ledger/verify"): (100, {"ledger": "ledger.db"}),
}
SCREENS = {"tolerate", "cost", "series", "explain", "explain/me", "ledger"}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Requests that come through the door as a browser's do; the folder has data and a ledger."""
    schemathesis = pytest.importorskip("schemathesis")  # a second of imports: here, not above
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient

    folder: Path = tmp_path_factory.mktemp("described")
    rows = "".join(f"p{i},{'north' if i % 3 else 'south'}\n" for i in range(30))
    (folder / "visits.csv").write_text(f"patient,county\n{rows}", encoding="utf-8")
    Ledger.open(f"sqlite:///{folder / 'ledger.db'}").open_account(
        "patients",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(3.0),
        approver="A. Curator",
        reason="review",
    )
    app = create_app(folder, TOKEN, 8765)
    headers = {"Origin": HOME, "Sec-Fetch-Site": "same-origin"}
    with TestClient(app, base_url=HOME, headers=headers) as found:
        assert found.get("/", params={"token": TOKEN}).status_code == 200
        found.described = schemathesis.openapi.from_dict(found.get("/openapi.json").json())
        found.before = {path.name: path.read_bytes() for path in folder.iterdir()}
        found.folder = folder
        yield found


def test_every_endpoint_is_asked_and_the_sum_is_two_thousand() -> None:
    found = create_app(".").openapi()["paths"]
    there = {(method.upper(), path) for path, one in found.items() for method in one}
    assert there == set(ASKED)
    assert sum(many for many, _ in ASKED.values()) >= 2_000


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), ASKED)
def test_no_request_is_a_fault_of_ours(door: Any, method: str, path: str) -> None:
    most, usual = ASKED[method, path]
    many = examples(most)
    seen: Counter[int] = Counter()

    @settings(
        derandomize=True,
        deadline=None,
        max_examples=many,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(door.described[path][method].as_strategy(), st.booleans(), st.integers(0, 3))
    def ask(case: Any, near: bool, changed: int) -> None:
        query, body = _filled(case.query or {}), case.body
        if near and method == "GET":
            kept = list(query.items())[: changed if len(query) > 3 else 0]
            query = usual | dict(kept)
        elif near:
            body = _changed(usual, body, changed)
        sent = json.dumps(body, default=str) if method == "POST" else None
        address = f"{path}?{urlencode(query, doseq=True)}" if query else path
        answer = door.request(
            method, address, content=sent, headers={"Content-Type": "application/json"}
        )
        seen[answer.status_code] += 1
        assert answer.status_code in (200, 422), answer.text
        said = answer.json()
        if answer.status_code == 422:
            assert set(said) == {"code", "message", "fields"}, said
            assert said["message"]
        assert "NaN" not in answer.text
        assert "Infinity" not in answer.text
        screen = path.removeprefix("/api/")
        if near and screen in SCREENS:  # the page itself, for the same question
            shown = door.get(f"/{screen}", params=query, headers={"Accept": "text/html"})
            assert shown.status_code in (200, 422), shown.text
            assert "</html>" in shown.text

    ask()
    assert sum(seen.values()) >= many, seen
    assert seen[200] >= sum(seen.values()) / 4, seen


def _changed(usual: dict[str, Any], made: Any, many: int) -> dict[str, Any]:
    """Return a usual body with a few fields of another put in, or a few lines left out."""
    if "form" in usual:
        other = made.get("form") if isinstance(made, dict) else None
        return {"form": usual["form"] | dict(list((other or {}).items())[:many])}
    lines = usual["spec"].splitlines(keepends=True)
    del lines[3 * many : 3 * many + many]
    return {"spec": "".join(lines)}


def _filled(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}


def test_asking_changed_nothing(door: Any) -> None:
    now = {path.name: path.read_bytes() for path in door.folder.iterdir()}
    assert now == door.before
