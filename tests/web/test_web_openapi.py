"""The page as its OpenAPI describes it: many requests, and none is an internal error.

Schemathesis makes requests from the description. Half of them begin with a question that a person
asks, in which it changes a few names only, so that real answers are exercised as well as refusals.
"""

from __future__ import annotations

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
from soaking import examples

TOKEN = "a-token-for-this-test"  # noqa: S105
HOME = "http://127.0.0.1:8765"
# For each endpoint: how many requests in `make soak`, and a question that a person asks there.
ASKED: dict[tuple[str, str], tuple[int, Any]] = {
    ("GET", "/api/tolerate"): (500, {"kind": "unless", "after": "25", "fold": "3"}),
    ("GET", "/api/cost"): (500, {"kind": "epsilon", "epsilon": "0.5", "count": "26"}),
    ("GET", "/api/series"): (100, {"per_year": "4", "years": "2"}),
    ("GET", "/api/series/plan"): (100, {"per_year": "4", "years": "2"}),
    ("GET", "/api/explain"): (400, {"kind": "pure", "epsilon": "1"}),
    ("GET", "/api/explain/me"): (350, {"epsilon": "1", "suspect": "30"}),
    ("GET", "/api/attack"): (50, {"name": "differencing", "epsilon": "0.5"}),
}
SCREENS = {"tolerate", "cost", "series", "explain", "explain/me"}


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
        query = _filled(case.query or {})
        if near:
            query = usual | dict(list(query.items())[: changed if len(query) > 3 else 0])
        answer = door.request(method, f"{path}?{urlencode(query, doseq=True)}" if query else path)
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


def _filled(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}


def test_asking_changed_nothing(door: Any) -> None:
    now = {path.name: path.read_bytes() for path in door.folder.iterdir()}
    assert now == door.before
