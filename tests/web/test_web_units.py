"""A unit that has a name: every screen calls it so, on the whole way of its promise."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
import yaml

import discreet
from discreet.ledger import Ledger
from discreet.promises.keys import promise_in
from discreet.web.release.spec_form import form_of, mapping_of, start, written
from discreet.web.screens import SCREENS
from discreet.web.sentences import asked_of
from discreet.web.thread import Thread

PROMISE = {"posterior": 0.25, "unless_ratio": 3, "about": "membership", "every_output": True}
SPEC = {
    "account": "fleet",
    "purpose": "repairs in May",
    "source": "repairs.parquet",
    "protect": {"unit": "person", "name": "one aircraft", "column": "tail", "rows": 5},
    "tolerance": PROMISE,
    "statistics": [{"count": "rows"}],
    "ledger": "sqlite:///ledger.db",
    "output": "out",
}
# A person with many of the units is a person, whatever they are.
PERSON = re.compile(
    r"[^.>]*\b(a|one|each|the) person\b(?! with many of these)[^.<]*", re.IGNORECASE
)
# What is offered of other kinds of units, and what others promised.
OF_OTHERS = re.compile(
    r"<option.*?</option>|(data-texts|placeholder)=\"[^\"]*\""
    r"|<section[^>]*\"published-title\".*?</section>",
    re.DOTALL,
)


@pytest.fixture
def folder(client: Any) -> Any:
    """A working folder with a file of aircraft, and an account for them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"tail": [f"N{i}" for i in range(50)] * 2})
    pq.write_table(table, client.folder / "repairs.parquet")
    client.headers.update({"Accept": "text/html"})
    ledger = Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}")
    terms: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    terms |= {"approver": "A", "reason": "B", "unit_name": "one aircraft"}
    ledger.open_account("fleet", promise=PROMISE, **terms)
    return client.folder


def said(client: Any, path: str, **query: str) -> str:
    """Return a page without what is about others."""
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return html.unescape(OF_OTHERS.sub("", answer.text))


def test_a_named_unit_is_called_so_on_every_screen(client: Any, folder: Any) -> None:
    """The banner said "one person", and so did what came of a release of aircraft."""
    thread = Thread.in_spec(SPEC)
    pages = {"/release": said(client, "/release", spec=written(SPEC))}
    along = {"promise": thread.promise, "ledger": "ledger.db", "account": "fleet"}
    for one in SCREENS:
        if one.path not in ("/release", "/attack", "/synthetic"):
            pages[one.path] = said(client, one.path, **along)
    pages["/approval"] = said(client, "/approval", spec=written(SPEC))
    pages["/explain/me"] = said(client, "/explain/me", **along)
    made = discreet.release(SPEC, folder=folder).to_dict()
    pages["made"] = said(client, f"/release/made/{made['release_id']}")
    found = {path: [one[0] for one in PERSON.finditer(text)] for path, text in pages.items()}
    assert {path: told for path, told in found.items() if told} == {}
    assert {path for path, text in pages.items() if "one aircraft" not in text} == set()
    assert "At most 5 rows of one aircraft count." in pages["made"]
    assert "chance that one aircraft is in the data" in pages["/series"]
    assert "What may be learned about one aircraft?" in pages["/tolerate"]
    assert "the column that names one aircraft" in said(
        client, "/release", spec=written(SPEC | {"protect": {"name": "one aircraft"}})
    )


def test_the_form_has_a_field_for_what_a_unit_is_called_and_for_which_rows_count(
    client: Any, folder: Any
) -> None:
    """With a name the whole part was shown as YAML, and there was no way to `where` or `let`."""
    values = SPEC | {"where": "tail != 'N1'", "let": {"first": "tail = 'N2'"}}
    form = form_of(values)
    assert form["protect.name"] == "one aircraft"
    assert form["where"] == "tail != 'N1'"
    assert yaml.safe_load(form["rest"]) == {"let": {"first": "tail = 'N2'"}}
    assert mapping_of(form) == values
    page = client.get("/release", params={"spec": written(SPEC)}).text
    for field in ("protect.name", "where", "rest"):
        assert f'id="f-{field}"' in page
    assert 'id="f-protect.yaml"' not in page


def test_a_promise_takes_its_unit_along(folder: Any) -> None:
    thread = Thread.in_spec(SPEC)
    assert thread.whom == "one aircraft"
    asked = asked_of(thread.keys())
    assert asked is not None
    assert asked.whom == "one aircraft"
    again = Thread.saying(tolerance=asked.to_mapping())
    assert promise_in(again.keys()).unit.name == "one aircraft"
    begun = start("repairs.parquet", again)
    assert begun["protect"]["name"] == "one aircraft"
    assert not {"unit", "unit_name"} & begun["tolerance"].keys()
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    account = ledger.account("fleet")
    assert Thread.of_account("ledger.db", ledger, account).whom == "one aircraft"
    household = SPEC | {"protect": {"unit": "household"}}
    assert Thread.in_spec(household).whom == "one household"
    assert start("repairs.parquet", Thread.in_spec(household))["protect"]["unit"] == "household"
    for odd in ("nobody", 3, ["person"]):  # a draft need not be valid
        assert Thread.in_spec(SPEC | {"protect": {"unit": odd}}).whom == ""
        assert Thread.in_spec(SPEC | {"protect": {"unit": odd}}).promise
