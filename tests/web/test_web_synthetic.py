"""The screen Synthetic: a file is judged before any data, then charged and shown like a table."""

from __future__ import annotations

import html
import math
import re
from typing import Any

import pytest
import yaml

from discreet.ledger import Ledger
from discreet.synthetic import expected_risk
from discreet.web.examples import begin
from discreet.web.release.spec_form import draft_of, form_of, is_synthetic, written
from discreet.web.workfolder import Workfolder
from discreet.words import say


@pytest.fixture
def spec(client: Any) -> dict[str, Any]:
    return begin(Workfolder(client.folder), "survey")


def text_of(answer: Any) -> str:
    return html.unescape(answer.text)


def test_a_spec_of_a_file_is_a_form_and_back(spec: dict[str, Any]) -> None:
    form = form_of(spec)
    assert form["file.columns"] == "gender, age, smokes"
    assert form["file.keys.age"] == "under 45, 45 or more"
    assert "rest" not in form
    assert draft_of(form).values == spec
    more = spec | {"impossible": [{"gender": "m", "smokes": "yes"}], "copies": 2}
    assert yaml.safe_load(form_of(more)["rest"]) == {"impossible": more["impossible"]}
    assert draft_of(form_of(more)).values == more
    assert draft_of(form | {"file.n_synthetic": "many"}).problems.keys() == {"file.n_synthetic"}
    assert not is_synthetic({"statistics": []})


def test_a_file_begins_with_its_columns_to_choose(client: Any, spec: dict[str, Any]) -> None:
    shown = text_of(client.get("/synthetic", params={"source": spec["source"]}))
    for words in ("the columns of a synthetic record", 'data-value="smokes"', 'name="region"'):
        assert words in shown
    assert 'aria-current="page">Synthetic' in shown
    assert "Survey" in text_of(client.get("/synthetic"))
    assert "Survey" not in text_of(client.get("/release"))


def test_what_a_file_can_tell_is_shown_before_any_data(client: Any, spec: dict[str, Any]) -> None:
    fields = {"which": "form", **form_of(spec), "region": "RR <= 10", "low": "", "high": ""}
    shown = text_of(client.post("/release/look", data=fields))
    assert f"The largest ε at which no file can is {math.log(10):.3f}"[:-2] in shown
    (risk,) = expected_risk(spec, [math.log(20)], [0.1], [0.5]).expected
    assert f">{100 * risk['increase']:.1f}</td>" in shown
    assert 'expected_risk("spec.yaml").expected' in shown  # the same in Python
    assert "RR <= 10" not in re.search(r'id="spec".*?</textarea>', shown, re.S)[0]
    assert "RR+" not in shown  # nor in any link
    inside = text_of(client.post("/release/look", data=fields | {"region": "RR <= 20.1"}))
    assert "Acceptable, whatever is drawn" in inside
    narrow = {"region": "R <= 0.8", "high": "10"}
    assert "Acceptable" in text_of(client.post("/release/look", data=fields | narrow))
    assert "No budget keeps" in text_of(
        client.post("/release/look", data=fields | {"region": "R <= 0.8"})
    )
    for odd in ({"low": "much"}, {"low": "90", "high": "10"}):
        told = re.findall(
            r'role="alert">([^<]+)<', text_of(client.post("/release/look", data=fields | odd))
        )
        assert len(told) == 1
    wrong = client.post("/release/look", data=fields | {"region": "R ~ 3"})
    assert 'role="alert"' in wrong.text
    assert "R ~ 3" not in re.search(r'role="alert">[^<]+<', text_of(wrong))[0]


def test_a_file_is_charged_once_and_shown(client: Any, spec: dict[str, Any]) -> None:
    text = written(spec)
    terms = {"spec": text, "promise": "yes", "approver": "A", "reason": "B", "confirmed": "yes"}
    ledger = Ledger.open(f"sqlite:///{client.folder / 'example.db'}")
    opened = client.post(
        "/release/open", data=terms | {"head": ledger.head}, follow_redirects=False
    )
    assert opened.headers["location"].startswith("/synthetic?spec=")
    asked = client.post("/release/confirm", data={"spec": text}, follow_redirects=False)
    name = asked.headers["location"].rpartition("/")[2]
    made = client.post(f"/release/make/{name}", data={}, follow_redirects=False)
    again = client.post(f"/release/make/{name}", data={}, follow_redirects=False)
    where = made.headers["location"]
    assert where == again.headers["location"]
    charges = [one for one in ledger.entries(spec["account"]) if one.cost is not None]
    assert len(charges) == 1
    shown = text_of(client.get(where))
    assert "Synthetic records" in shown
    assert shown.count('<tr role="row">') == 51
    table = client.get(f"{where}/table.csv").text.splitlines()
    assert table[0].replace('"', "").split(",")[-3:] == ["gender", "age", "smokes"]
    assert len(table) == 51
    assert client.get(f"{where}/report.html").status_code == 200
    assert client.get(f"{where}/table.xlsx").status_code == 422
    again = client.post("/release/look", data={"which": "yaml", "spec": text}).text
    assert say("web.release.not_allowed") in again
