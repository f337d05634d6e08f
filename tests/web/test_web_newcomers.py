"""What people stumbled over who used the page for the first time."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.web.release.spec_form import form_of, written
from discreet.web.release.stored_release import StoredRelease

PROMISE = {"posterior": 0.12, "p": 0.05, "about": "membership", "every_output": True}
KEPT = "tolerance: {posterior: 0.12, p: 0.05, about: membership, every_output: true}"


@pytest.fixture
def spec(client: Any) -> dict[str, Any]:
    """A spec for a file in Latin-1 whose header line is plain ASCII, under a promise."""
    rows = "".join(f"p{i},{'Köln' if i % 3 else 'Bonn'},{i}\n" for i in range(90))
    (client.folder / "visits.csv").write_bytes(f"person,town,cost\n{rows}".encode("latin-1"))
    client.headers.update({"Accept": "text/html"})
    ledger = Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}")
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    terms |= {"approver": "A", "reason": "B"}
    ledger.open_account("people", promise=PROMISE, **terms)
    ledger.open_account("others", cap=PureDP(1.0), **terms)
    return {
        "account": "people",
        "purpose": "visits in May",
        "source": "visits.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "tolerance": PROMISE,
        "series": {"releases": 4},
        "statistics": [{"count": "rows", "by": ["town"], "keys": {"town": ["Köln", "Bonn"]}}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


def shown(client: Any, spec: dict[str, Any]) -> str:
    answer = client.get("/release", params={"spec": written(spec)})
    return html.unescape(answer.text)


def test_an_encoding_that_nothing_shows_is_asked_for(client: Any, spec: dict[str, Any]) -> None:
    """Keys such as Köln were counted as 0, and the whole promise was spent on that."""
    page = shown(client, spec)
    assert "Still missing:" in page
    assert "the encoding of the file" in page
    assert 'action="/release/confirm"' not in page
    assert ">Encoding</label>" in page
    for encoding in ("utf-8", "latin-1"):
        said = spec | {"source": {"path": "visits.csv", "encoding": encoding}}
        chosen = shown(client, said)
        assert f'<option value="{encoding}" selected>' in chosen
        assert "the encoding of the file" not in chosen
        assert 'action="/release/confirm"' in chosen
    plain = [{"count": "rows", "by": ["town"], "keys": {"town": ["Bonn"]}}]
    assert 'action="/release/confirm"' in shown(client, spec | {"statistics": plain})
    rows = (client.folder / "visits.csv").read_bytes().partition(b"\n")[2]
    (client.folder / "shows.csv").write_bytes("person,town,größe\n".encode() + rows)
    assert "the encoding of the file" not in shown(client, spec | {"source": "shows.csv"})


def test_the_accounts_that_are_open_are_offered(client: Any, spec: dict[str, Any]) -> None:
    page = shown(client, spec | {"account": ""})
    for name in ("people", "others"):
        assert f'<option value="{name}"></option>' in page
    assert 'list="accounts"' in page
    gone = shown(client, spec | {"ledger": "sqlite:///none.db"})
    assert '<datalist id="accounts"></datalist>' in gone
    assert not (client.folder / "none.db").exists()


def test_keys_that_were_typed_serve_every_statistic(client: Any, spec: dict[str, Any]) -> None:
    form = form_of(spec) | {"which": "form", "statistics.2.kind": "count"}
    form |= {"statistics.2.what": "persons", "statistics.2.by": "town"}
    page = html.unescape(client.post("/release/look", data=form).text)
    assert 'name="statistics.2.keys.town" value="Köln, Bonn"' in page


def strip(page: str) -> str:
    (found,) = re.findall(r'<aside class="thread".*?</aside>', page, flags=re.DOTALL)
    return html.unescape(str(found))


def test_a_ledger_of_several_accounts_goes_on_with_the_one_charged_last(
    client: Any, spec: dict[str, Any]
) -> None:
    assert "hidden" in strip(client.get("/ledger?ledger=ledger.db").text)
    Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}").charge(
        "people", PureDP(0.2), purpose="test", who="A"
    )
    page = client.get("/ledger?ledger=ledger.db").text
    assert "12 % sure" in strip(page)
    assert "left" in strip(page)
    assert re.search(r'href="/explain\?promise=[^"]*account=people', page)


def test_the_account_goes_along_to_tolerate(client: Any, spec: dict[str, Any]) -> None:
    Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}").charge(
        "people", PureDP(0.2), purpose="test", who="A"
    )
    query = {"promise": KEPT, "ledger": "ledger.db", "account": "people"}
    assert "like the last left" in strip(client.get("/tolerate", params=query).text)
    other = query | {"kind": "ratio", "fold": "3"}
    assert "like the last left" not in strip(client.get("/tolerate", params=other).text)


def test_without_a_promise_a_participant_is_shown_no_figures(client: Any) -> None:
    page = client.get("/explain/me", headers={"Accept": "text/html"}).text
    assert "No promise is chosen yet" in page
    assert " in 100" not in page
    assert 'href="/tolerate"' in page


def test_a_synthetic_file_has_no_promise_that_nobody_made(
    client: Any, spec: dict[str, Any]
) -> None:
    page = client.get("/synthetic?source=visits.csv").text
    assert "what may be learned, or the budget" in page
    assert 'name="tolerance.posterior" value=""' in page
    assert re.search(r'<li data-place="1" aria-current="step">', page)


TABLE = {
    "statistic": ["margins_rows_1"] * 3,
    "town": ["(all)", "Köln", "Bonn"],
    "age": ["(all)", "(all)", "old"],
    "value": ["2593.92", "376", "311.04"],
    "interval_low": ["2394.7", "303.68", "238.72"],
    "interval_high": ["2793.14", "448.32", "383.36"],
    "published": ["2594", "376", "311"],
    "published_low": ["2389", "300", "233"],
    "published_high": ["2799", "452", "389"],
}
MARGINS = {"count": "rows", "margins": [["town", "age"]], "keys": {}, "twin": {}}


def test_margins_show_what_is_published_under_the_names_of_their_columns() -> None:
    made = StoredRelease(Path(), {"table": TABLE, "spec": {"statistics": [MARGINS]}}, None, "")
    (found,) = made.sections()
    assert found.title == "town × age"
    assert found.rows[0][1] == "2,594 (2,389 – 2,799)"
    assert found.chart[0] == {"cell": "(all) · (all)", "value": 2594, "low": 2389, "high": 2799}


def test_a_table_says_its_limit_of_rows_and_what_is_not_drawn(
    client: Any, spec: dict[str, Any]
) -> None:
    keys = [f"town {i}" for i in range(45)]
    many = [{"count": "rows", "by": ["town"], "keys": {"town": keys}}]
    made = discreet.release(spec | {"statistics": many}, folder=client.folder).to_dict()
    page = html.unescape(client.get(f"/release/made/{made['release_id']}").text)
    assert "At most 1 row of one person counts." in page
    assert "Drawn are the first 40 of 45 cells." in page
    top, _, below = page.partition("Values with noise")
    assert "same spec, other file" in top
    assert "same spec, other file" not in below
    assert '<span class="glued">' in below


def test_the_sheet_for_approval_says_what_is_released(client: Any, spec: dict[str, Any]) -> None:
    said = spec | {"source": {"path": "visits.csv", "encoding": "latin-1"}}
    page = html.unescape(client.get("/approval", params={"spec": written(said)}).text)
    for words in ("visits.csv", "count_rows_1", "everything charged so far and this release"):
        assert words in page


def test_a_larger_cap_is_shown_beside_the_promise_that_still_binds(
    client: Any, spec: dict[str, Any]
) -> None:
    query = {"ledger": "ledger.db", "account": "people", "epsilon": "1"}
    query |= {"approver": "A", "reason": "B"}
    page = html.unescape(client.get("/ledger/grant", params=query).text)
    assert "Still binds" in page
    assert "Nobody who starts at 5 %" in page
    assert re.search(r'<th scope="row">5 %</th>', page)


def test_a_refusal_names_the_command_that_ends_a_promise(client: Any, spec: dict[str, Any]) -> None:
    more = spec | {"tolerance": PROMISE | {"posterior": 0.3}, "source": {"path": "visits.csv"}}
    more["source"]["encoding"] = "latin-1"
    del more["series"]
    page = shown(client, more)
    assert "<code>discreet ledger withdraw</code>" in page
    assert "<dt>Left under the promise</dt><dd>ε = 0.952" in page


def test_the_sheet_of_a_promise_has_its_own_belief_and_a_way_back(client: Any) -> None:
    page = html.unescape(client.get("/approval", params={"promise": KEPT}).text)
    assert '<th scope="row">5 %</th>' in page
    assert re.search(r'href="/tolerate\?promise=', page)


def test_an_attack_begins_at_the_belief_of_the_promise(client: Any) -> None:
    page = client.get("/attack", params={"promise": KEPT}).text
    assert re.search(r'name="before" value="5"', page)
