"""The screen Ledger: what was spent, what is left, every entry, and whether the chain is sound."""

from __future__ import annotations

import math
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from discreet.guarantees import ZCDP, PureDP
from discreet.ledger import Ledger
from discreet.promises import promise_in
from discreet.web.ledger import pictures, sheet
from discreet.words import say

HTML = {"Accept": "text/html"}


@pytest.fixture
def ledger(client: Any) -> Ledger:
    """Two accounts, two charges and a stored output, in the page's folder."""
    book = Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}")
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "approver": "<b>A</b>"}
    book.open_account("people", filter="pure", cap=PureDP(1.0), reason="review", **terms)
    book.open_account("visits", filter="zcdp", cap=None, reason="=1+1", **terms)
    entry = book.reserve("people", PureDP(1 / 3), purpose="monthly", who="me", spec_hash="x")
    book.commit(str(entry.release_id), "f" * 64)
    book.reserve("visits", ZCDP(0.1), purpose="cut off", who="me", spec_hash="y")
    return book


def test_a_promise_carried_along_is_not_taken_for_that_of_an_account(client: Any) -> None:
    """It stood above an account that had promised something else, and nothing told them apart."""
    promise = "tolerance: {posterior: 0.12, p: 0.05, about: membership, every_output: true}"
    label = say("web.thread.carried")
    for path, told in (("/ledger", True), ("/explain", False)):
        page = client.get(path, params={"promise": promise}, headers=HTML).text
        assert "more than 12 % sure" in page
        assert (label in page) is told
    assert label not in client.get("/ledger", headers=HTML).text


def test_nothing_is_there_at_first_and_nothing_is_made(client: Any) -> None:
    page = client.get("/ledger", headers=HTML)
    assert page.status_code == 200
    assert "no ledger" in page.text
    assert list(client.folder.iterdir()) == []


def test_accounts_and_entries_are_shown(client: Any, ledger: Ledger) -> None:
    page = client.get("/ledger", headers=HTML).text
    for words in ("people", "visits", "ε = 0.333334", "ε = 0.666666", "no limit", ledger.head):
        assert words in page
    assert "<td>&lt;b&gt;A&lt;/b&gt; (approved)</td>" in page
    assert "<td>me (charged)</td>" in page
    assert "account opened, cap ε = 1<" in page
    assert "account opened, no cap<" in page
    assert "has no stored output" in page
    said = sheet("ledger.db", ledger)
    assert len(said.entries) == len(ledger.entries())
    assert [line.seq for line in said.entries] == list(range(len(said.entries), 0, -1))
    one = sheet("ledger.db", ledger, "visits")
    assert {line.account for line in one.entries} == {"visits"}


def test_without_a_name_the_ledger_written_to_last_is_shown(client: Any, ledger: Ledger) -> None:
    url = f"sqlite:///{client.folder / 'zebra.db'}"
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "approver": "A"}
    Ledger.open(url).open_account("z", filter="pure", cap=PureDP(1.0), reason="r", **terms)
    for name, when in (("ledger.db", 2_000_000_000), ("zebra.db", 2_000_000_100)):
        os.utime(client.folder / name, (when, when))
    assert "Accounts in zebra.db" in client.get("/ledger", headers=HTML).text
    os.utime(client.folder / "ledger.db", (2_000_000_200, 2_000_000_200))
    assert "Accounts in ledger.db" in client.get("/ledger", headers=HTML).text
    assert ledger.head in client.get("/ledger?ledger=ledger.db", headers=HTML).text


def test_the_chain_is_verified_and_a_kept_head_is_found(client: Any, ledger: Ledger) -> None:
    kept = ledger.entries()[2].hash
    page = client.get(f"/ledger?ledger=ledger.db&verify=true&head={kept}", headers=HTML).text
    assert "Verified." in page
    assert f"{len(ledger.entries()) - 3} entries since" in page
    assert "The head vouches for the entries up to 3." in page
    assert "others may have been cut off after the last one" in page
    verify = "/ledger?ledger=ledger.db&verify=true&head="
    lost = client.get(f"{verify}{'0' * 64}", headers=HTML).text
    assert "Not verified:" in lost
    assert client.get(f"{verify}abc", headers=HTML).status_code == 422


def test_a_restored_ledger_is_said_to_be_one_where_it_is_verified(
    client: Any, ledger: Ledger
) -> None:
    file = client.folder / "ledger.db"
    backup = file.read_bytes()
    ledger.charge("people", PureDP(0.1), purpose="lost", who="me")
    file.write_bytes(backup)
    (lost,) = ledger.restore(approver="B. Board", reason="the disk failed")
    for head, found in ("", "Verified."), (lost, "is one of the lost ones"):
        page = client.get(f"/ledger?ledger=ledger.db&verify=true&head={head}", headers=HTML).text
        assert found in page
        assert "Charges may be missing: the ledger was restored" in page
        assert "B. Board answered for it" in page
        assert "altered or damaged" not in page


def test_an_altered_ledger_is_said_to_be_one(client: Any, ledger: Ledger) -> None:
    with sqlite3.connect(client.folder / "ledger.db") as raw:
        raw.execute("DROP TRIGGER discreet_entries_no_UPDATE")
        raw.execute("UPDATE discreet_entries SET body = replace(body, 'monthly', 'forged!')")
    raw.close()
    page = client.get("/ledger?ledger=ledger.db&verify=true", headers=HTML)
    assert page.status_code in (200, 422)
    assert "Verified." not in page.text
    assert "forged!" not in page.text


@pytest.mark.parametrize(
    "name", ["../ledger.db", "/etc/passwd", "sqlite:////etc/passwd", "none.db", "postgresql://x/y"]
)
def test_no_ledger_outside_is_opened(client: Any, ledger: Ledger, name: str) -> None:
    for verify in ({}, {"verify": "true"}):
        answer = client.get("/ledger", params={"ledger": name, **verify}, headers=HTML)
        assert answer.status_code == 422


def test_a_file_that_is_no_ledger_is_refused_in_words(client: Any) -> None:
    (client.folder / "x.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    (client.folder / "y.db").write_bytes(b"PNG")
    for name in ("x.db", "y.db"):
        answer = client.get("/ledger", params={"ledger": name}, headers=HTML)
        assert answer.status_code == 422, answer.text
    assert client.get("/ledger", headers=HTML).status_code in (200, 422)


def test_the_ledger_of_a_spec_is_found_by_the_spec(client: Any, ledger: Ledger) -> None:
    text = (
        "account: people\npurpose: test\nsource: v.csv\nprotect: {unit: record}\n"
        "budget: {epsilon: 1.0}\nstatistics: [{count: rows}]\n"
        "ledger: sqlite:///ledger.db\noutput: out\n"
    )
    (client.folder / "clinic.yaml").write_text(text, encoding="utf-8")
    page = client.get("/ledger?file=clinic.yaml", headers=HTML)
    assert page.status_code == 200
    assert ledger.head in page.text


# -- a grant

MORE = {
    "ledger": "ledger.db",
    "account": "people",
    "epsilon": "0.5",
    "approver": "A. <i>Lead</i>",
    "reason": "another year",
}


def test_a_cap_is_raised_once_and_only_after_it_was_shown(client: Any, ledger: Ledger) -> None:
    before = len(ledger.entries())
    shown = client.get("/ledger/grant", params=MORE)
    assert shown.status_code == 200
    assert len(ledger.entries()) == before
    for words in ("Raise the cap to ε = 1.5", "A. &lt;i&gt;Lead&lt;/i&gt;", "another year"):
        assert words in shown.text
    assert f'name="head" value="{ledger.head}"' in shown.text
    yes = MORE | {"head": ledger.head}
    made = client.post("/ledger/grant", data=yes, follow_redirects=False)
    assert (made.status_code, made.headers["location"]) == (303, "/ledger?ledger=ledger.db")
    assert "cap raised by ε = 0.5" in client.get(made.headers["location"], headers=HTML).text
    again = client.post("/ledger/grant", data=yes)
    assert again.status_code == 422
    assert "has changed since" in again.text
    assert [entry.kind for entry in ledger.entries()[before:]] == ["grant"]
    account = next(one for one in ledger.accounts() if one.name == "people")
    assert account.cap is not None
    assert account.cap.to_dict("down")["epsilon"] == 1.5


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"approver": " "}, 'id="p-approver">Fill in this field'),
        ({"reason": ""}, 'id="p-reason">Fill in this field'),
        ({"epsilon": ""}, "a number above 0"),
        ({"epsilon": "0"}, "a number above 0"),
        ({"epsilon": "-1"}, "a number above 0"),
        ({"epsilon": "inf"}, "must be a number"),
        ({"epsilon": "much"}, "must be a number"),
        ({"rho": "1"}, "does not fit the filter"),
        ({"account": "nobody"}, "Choose an account"),
        ({"account": "visits", "epsilon": "", "rho": "1"}, "no lifetime cap"),
        ({"ledger": "../ledger.db"}, "ledger"),
        ({"ledger": ""}, "Name a ledger"),
    ],
)
def test_a_grant_that_cannot_be_is_said_in_words(
    client: Any, ledger: Ledger, change: dict[str, str], word: str
) -> None:
    head, given = ledger.head, MORE | change
    for answer in (
        client.get("/ledger/grant", params=given),
        client.post("/ledger/grant", data=given | {"head": head}),
    ):
        assert answer.status_code == 422
        assert word in answer.text
    assert ledger.head == head


def test_a_grant_comes_from_the_page_alone(client: Any, ledger: Ledger) -> None:
    head = ledger.head
    yes = MORE | {"head": head}
    for origin in ("https://elsewhere.example", "null"):
        answer = client.post("/ledger/grant", data=yes, headers={"Origin": origin})
        assert answer.status_code == 403
    assert client.post("/ledger/grant", data=MORE).status_code == 422  # nothing was shown
    assert ledger.head == head


@pytest.mark.parametrize(
    ("about", "event", "most"),
    [("membership", "is in the data", 0.75), ("both", "has the sensitive value", 0.9)],
)
def test_the_picture_of_an_account_is_about_what_was_promised(
    tmp_path: Path, about: str, event: str, most: float
) -> None:
    """A promise about both was drawn for being in the data alone: a value may grow further."""
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    promise = promise_in({"ratio": 1000, "about": about, "every_output": True})
    approved = {"approver": "A", "reason": "b"}
    ledger.open_account("people", cap=PureDP(2.0), promise=promise, **approved, **terms)
    ledger.charge("people", PureDP(math.log(3)), purpose="test", who="me")
    ((_, words, _),) = pictures(sheet("ledger.db", ledger))
    told = words.replace("\N{NO-BREAK SPACE}", " ")
    assert f"may be at most {100 * most:.1f} % sure" in told
    assert event in words
