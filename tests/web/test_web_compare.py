"""Promises kept and compared, what else a promise may say, and the sheet for approval."""

from __future__ import annotations

import html
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from discreet.budgets import choose, cost
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.promises import public_shares
from discreet.promises.tolerance import OF_WHOM, SURETY
from discreet.web.sentences import MORE, asked_of
from discreet.web.thread import Thread

HTML = {"Accept": "text/html"}
RATIO = {"kind": "ratio", "worry": "in", "fold": "3"}


def test_a_promise_is_kept_and_compared(client: Any) -> None:
    kept = client.get("/tolerate", params=RATIO | {"freeze": "true"}, headers=HTML)
    promise = "tolerance: {ratio: 3.0, about: membership, every_output: true}"
    assert f'name="frozen" value="{promise}"' in kept.text
    found = client.get("/api/tolerate", params=RATIO | {"fold": "2", "frozen": promise}).json()
    table = {row[0].replace("\N{NO-BREAK SPACE}", " "): row[1:] for row in found["compared"]}
    budgets = [choose({"ratio": r, "about": "membership"}).epsilon for r in (3, 2)]
    assert [float(cell) for cell in table["budget ε"]] == pytest.approx(budgets, abs=1e-4)
    assert float(table["from 50 %, at most"][0].removesuffix(" %")) == pytest.approx(75, abs=0.11)
    again = client.get(found["link"], headers=HTML)
    assert html.escape(promise) in again.text
    thawed = client.get("/tolerate", params=RATIO | {"frozen": promise, "thaw": "true"})
    assert promise not in thawed.text
    odd = client.get("/api/tolerate", params=RATIO | {"frozen": "tolerance: {table: /etc/x}"})
    assert odd.json()["compared"] == []


MAPPINGS = [
    {"ratio": 3.0, "q": 1.0, "related": 4},
    {"ratio": 3.0, "q": 1.0, "odds": 2.0, "neighbours": 1},
    {"ratio": 3.0, "q": 1.0, "odds": 2.0, "chain": True},
    {"posterior": 0.12, "q": 0.05, "p": 1.0, "on_average": True, "answers": 30},
    {"ratio": 3.0, "sampled": {"units": 1000, "of": 60000, "source": "report"}},
    {"ratio": 3.0, "sensitive": {"shares": {"ill": 0.1}, "values": ["ill"], "source": "report"}},
]


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_what_a_promise_says_beside_its_sentences_is_on_the_form(
    client: Any, mapping: dict[str, Any]
) -> None:
    asked = asked_of(mapping)
    assert asked is not None
    assert asked.to_mapping() == mapping
    found = client.get("/api/tolerate", params=asked.to_query()).json()
    assert found["epsilon"] == choose(mapping).epsilon
    assert client.get(found["yaml"]).status_code == 200
    shown = client.get(found["link"], headers=HTML)
    assert shown.status_code == 200
    assert found["epsilon"] == client.get("/api" + found["link"]).json()["epsilon"]


def test_the_form_has_every_key_that_a_promise_reads() -> None:
    own = {"every_output", "confidence", "sided"}
    of_whom = OF_WHOM - {"adjacency"}  # counted as added or removed
    assert set(MORE) | own == SURETY.keys() | of_whom | public_shares.KEYS - {"basis"}


def test_a_promise_of_the_page_names_no_file(client: Any) -> None:
    given = {"sensitive": "{shares: /etc/passwd, values: [a], source: x}"}
    answer = client.get("/api/tolerate", params=RATIO | {"worry": "both"} | given)
    assert answer.status_code == 422
    assert "names no file" in answer.json()["message"]
    assert Thread.of({"promise": "tolerance: {ratio: 3, sensitive: {shares: a.csv}}"}).promise == ""


def test_the_sheet_for_approval(client: Any) -> None:
    told = client.get("/api/tolerate", params=RATIO).json()
    sheet = html.unescape(client.get(told["approval"], headers=HTML).text)
    for words in ("changes at most 3-fold", "ε = 1.0986", "Signature", "one person", "75 %"):
        assert words in sheet
    nothing = client.get("/approval", follow_redirects=False)
    assert nothing.headers["location"] == "/tolerate"


def test_the_sheet_for_a_release(client: Any) -> None:
    where = client.post("/release/example/hospital", follow_redirects=False).headers["location"]
    sheet = html.unescape(client.get(where.replace("/release", "/approval"), headers=HTML).text)
    for words in ("monthly report on visits", "ε = 0.238", "25 %", "Signature"):
        assert words in sheet


def test_a_budget_has_a_cost_like_a_promise() -> None:
    promise, budget = cost({"ratio": 3, "about": "membership"}, PureDP(1.0), target=24, away=[2])
    assert budget.law is not None
    assert budget.law.sd == budget.errors["count"]["rmse"]
    assert budget.sentence is None
    assert budget.name == "ε = 1"
    assert promise.sentence is not None
    assert [one.count for one in budget.switch] == [26, 22]
    assert budget.switch[0].chance == budget.law.cdf(-2)


def test_a_release_that_would_be_refused_is_not_for_signing(client: Any) -> None:
    where = client.post("/release/example/hospital", follow_redirects=False).headers["location"]
    said = yaml.safe_load(parse_qs(urlsplit(where).query)["spec"][0])
    said |= {"budget": {"epsilon": 1000.0}, "ledger": "sqlite:///ledger.db"}
    del said["tolerance"]
    given = {"spec": yaml.safe_dump(said)}
    assert "which is not open" in client.get("/approval", params=given, headers=HTML).text
    Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}").open_account(
        said["account"],
        unit=said["protect"]["unit"],
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1.0),
        approver="a",
        reason="r",
    )
    sheet = html.unescape(client.get("/approval", params=given, headers=HTML).text)
    assert "Not to be signed" in sheet
    assert "Over budget" in sheet
    assert "Signature" not in sheet
