"""A stored release as the page shows it, and a ledger in beliefs."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.beliefs import Prior, explain
from discreet.guarantees import PureDP
from discreet.ledger import Amount, Ledger
from discreet.statements.presenter import spent_and_cap
from discreet.web.ledger import pictures, sheet
from discreet.web.release.stored_release import StoredRelease
from soaking import examples

TABLE = {
    "statistic": ["count_rows_1"] * 4 + ["mean_cost_2"],
    "county": ["north", "north", "south", "south", None],
    "age": ["young", "old", "young", "old", None],
    "value": ["1234", "-5", "70", "8", "1234567.125"],
    "interval_low": ["1200", "-39", "36", "-26", None],
    "interval_high": ["1268", "29", "104", "42", None],
}
SPEC = {
    "statistics": [
        {"count": "rows", "by": ["county", "age"]},
        {"mean": "cost", "bounds": [0, 5], "resolution": 1},
    ]
}


def test_two_groups_are_a_pivot_and_figures_have_their_thousands_apart() -> None:
    made = StoredRelease(Path(), {"table": TABLE, "spec": SPEC}, None, "")
    pivot, alone = made.sections()
    assert pivot.title == "count rows by county, age"
    assert pivot.header == ["county", "young", "old"]
    assert pivot.rows == [
        ["north", "1,234 (1,200 – 1,268)", "-5 (-39 – 29)"],
        ["south", "70 (36 – 104)", "8 (-26 – 42)"],
    ]
    assert pivot.chart[0] == {"cell": "north · young", "value": 1234, "low": 1200, "high": 1268}
    assert (alone.header, alone.rows, alone.chart) == (["value"], [["1,234,567.125"]], [])


def test_what_has_more_groups_or_a_cell_twice_is_a_list() -> None:
    table = {name: column[:4] for name, column in TABLE.items()} | {"sex": ["f", "m", "f", "m"]}
    (found,) = StoredRelease(Path(), {"table": table, "spec": {}}, None, "").sections()
    assert found.header == ["county", "age", "sex", "value", "from", "to"]
    assert found.labels == 3
    assert found.rows[0] == ["north", "young", "f", "1,234", "1,200", "1,268"]
    assert found.title == "count_rows_1"


def figures(text: str) -> list[Decimal]:
    return [Decimal(part.partition("= ")[2]) for part in text.split(", ")]


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    st.decimals("1e-9", 50, allow_nan=False, places=24),
    st.sampled_from(["0", "1e-18", "1e-12", "1e-6", "0.5"]).map(Decimal),
)
def test_what_is_spent_never_seems_to_pass_a_cap_that_it_is_within(
    cap: Decimal, less: Decimal
) -> None:
    most, spent = Amount(epsilon=cap), Amount(epsilon=max(Decimal(0), cap - less))
    shown, limit = spent_and_cap(spent, most)
    assert figures(shown) <= figures(limit)
    last = Decimal("1e-12")  # six figures take a number for the short one that its last bits miss
    assert figures(limit)[0] <= cap * (1 + last)
    if shown != limit:
        assert figures(shown)[0] >= spent.epsilon * (1 - last)
    beyond = Amount(epsilon=cap + Decimal("0.1"))
    shown, limit = spent_and_cap(beyond, most)
    assert figures(shown) > figures(limit)


def test_the_sum_that_seemed_to_be_over_its_cap() -> None:
    exact = Decimal("1.558144618046550")
    assert spent_and_cap(Amount(epsilon=exact), Amount(epsilon=exact)) == (
        "ε = 1.55814461804655",
        "ε = 1.55814461804655",
    )


def test_a_ledger_is_drawn_in_beliefs(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'drawn.db'}")
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    promise = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    ledger.open_account("a", **terms, promise=promise, approver="A", reason="B")
    ledger.open_account("b", **terms, cap=PureDP(1.0), approver="A", reason="B")
    assert pictures(sheet("drawn.db", ledger)) == []
    for _ in range(3):
        ledger.charge("a", PureDP(0.25), purpose="test", who="A")
    ((_, words, chart),) = pictures(sheet("drawn.db", ledger))
    assert words.startswith("a: someone who starts at 5 % may be at most 10.1 % sure")
    rows = chart["datasets"]["spent"]
    assert [row["charge"] for row in rows] == [0, 1, 2, 3]
    for row in rows[1:]:
        total = PureDP(0.25 * row["charge"])
        assert row["value"] == pytest.approx(explain(total, Prior(0.05)).posterior.upper)
    assert chart["datasets"]["limit"] == [{"limit": pytest.approx(0.12)}]
    for _ in range(97):
        ledger.charge("b", PureDP(0.01), purpose="test", who="A")
    _, (_, _, long) = pictures(sheet("drawn.db", ledger))
    assert len(long["datasets"]["spent"]) == 61
    assert long["datasets"]["spent"][-1]["charge"] == 97


def test_the_report_of_an_account_is_one_archive(client: Any) -> None:
    ledger = Ledger.open(f"sqlite:///{client.folder / 'kept.db'}")
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("a", **terms, cap=PureDP(1.0), approver="A", reason="B")
    ledger.charge("a", PureDP(0.25), purpose="test", who="A")
    shown = client.get("/ledger", headers={"Accept": "text/html"}).text
    (where,) = re.findall(r'href="(/ledger/report.zip[^"]*)"', shown)
    answer = client.get(where.replace("&amp;", "&"))
    names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
    assert {"report.html", "verify.py"} <= {name.rpartition("/")[2] for name in names}
    assert client.get("/ledger/report.zip?ledger=kept.db&account=b").status_code == 422
    assert client.get("/ledger/report.zip?ledger=../x.db&account=a").status_code == 422


def test_the_drawing_program_is_sent_packed(client: Any) -> None:
    packed = client.get("/static/vega.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "immutable" in packed.headers["cache-control"]
    plain = client.get("/static/vega.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == packed.content  # the client has unpacked it
    assert len(gzip.compress(plain.content, 6)) < 350_000
