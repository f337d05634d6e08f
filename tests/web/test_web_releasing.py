"""The screen Release by requests: charge once, draw once, show only what was released."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DataError, DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import load, preview, release
from discreet.releases.tables import Table
from discreet.statements import learned
from discreet.statements.presenter import accuracy_lines, amount_text, learned_facts
from discreet.web.release.spec_form import draft_of, form_of, written
from discreet.web.workfolder import MOST_BYTES
from discreet.words import say
from soaking import examples

PERSON = "Zebulon-Quagmire"  # in the data, and never in any answer
HTML = {"Accept": "text/html"}
NINE = {"bounds": [0, 9], "resolution": 1}


@pytest.fixture
def spec(client: Any) -> dict[str, Any]:
    """A spec for data in the folder: counts by county, ε = 0.5 of a cap of 1."""
    rows = [f"{PERSON}-{i},{'north' if i % 3 else 'south'},{i}" for i in range(200)]
    text = "person,county,cost\n" + "\n".join(rows) + "\n"
    (client.folder / "visits.csv").write_text(text, encoding="utf-8")
    client.headers.update(HTML)
    client.follow_redirects = False
    return {
        "account": "people",
        "purpose": "test",
        "source": "visits.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 0.5},
        "statistics": [
            {"count": "rows", "by": ["county"], "keys": {"county": ["north", "south", "west"]}}
        ],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


def opened(client: Any, **terms: Any) -> Ledger:
    ledger = Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}")
    said: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    said |= {"cap": PureDP(1.0), "approver": "A", "reason": "B"} | terms
    ledger.open_account("people", **said)
    return ledger


def asked(client: Any, spec: dict[str, Any]) -> str:
    answer = client.post("/release/confirm", data={"spec": written(spec)})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"]).rsplit("/", 1)[1]


def made(client: Any, spec: dict[str, Any], **fields: str) -> str:
    answer = client.post(f"/release/make/{asked(client, spec)}", data=fields)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def opened_on_the_page(client: Any, spec: dict[str, Any], **terms: str) -> Any:
    """Ask to open an account, and say yes to what is shown; return the last answer."""
    fields = {"spec": written(spec), "approver": "A", "reason": "B"} | terms
    shown = client.post("/release/open", data=fields)
    assert shown.status_code == 200
    assert not (client.folder / "ledger.db").exists()
    kept = re.findall(r'<textarea name="([^"]*)" hidden>([^<]*)</textarea>', shown.text)
    head = re.findall(r'name="head" value="([^"]*)"', shown.text)
    assert len(head) == 1, shown.text
    answers = {name: html.unescape(value) for name, value in kept}
    return client.post("/release/open", data=answers | {"head": head[0], "confirmed": "yes"})


def charges(ledger: Ledger) -> int:
    return sum(entry.kind == "reserve" for entry in ledger.entries())


def test_the_whole_way_without_a_script(client: Any, spec: dict[str, Any]) -> None:
    start = client.get("/release").text
    assert "visits.csv" in start
    begun = client.get("/release?source=visits.csv").text
    assert "Still missing" in begun
    assert "notice" not in begun.split("look-body")[1].split("</section>")[0]
    form = form_of(spec) | {"which": "form"}
    look = client.post("/release/look", data=form).text
    assert "is not open yet" in look
    assert "Go on to the charge" not in look
    answer = opened_on_the_page(client, spec, epsilon="1", approver="A. Curator", reason="review")
    assert answer.status_code == 303
    assert "Go on to the charge" in client.get(answer.headers["location"]).text
    token = asked(client, spec)
    shown = client.get(f"/release/confirm/{token}").text
    assert "Charge ε = 0.5 and release" in shown
    assert not (client.folder / "out").exists()
    where = client.post(f"/release/make/{token}").headers["location"]
    page = client.get(where).text
    assert "Released" in page
    assert "Intervals are about the noise alone" in page
    assert "It is not known how many units lose rows in" in page
    assert "drawn once" in page
    ledger = Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}")
    assert charges(ledger) == 1
    assert ledger.spent("people").floats("up") == {"epsilon": 0.5}
    opening = next(entry for entry in ledger.entries() if entry.kind == "open")
    assert opening.said["approver"] == "A. Curator"


def test_reloading_going_back_and_pressing_twice_draw_nothing(
    client: Any, spec: dict[str, Any]
) -> None:
    ledger = opened(client)
    token = asked(client, spec)
    where = client.post(f"/release/make/{token}").headers["location"]
    table = client.get(f"{where}/table.csv").content
    for again in (
        client.post(f"/release/make/{token}"),
        client.get(f"/release/confirm/{token}"),
    ):
        assert again.status_code == 303
        assert again.headers["location"] == where
    assert client.get(where).status_code == 200
    assert client.get(f"{where}/table.csv").content == table
    assert charges(ledger) == 1


def test_two_presses_at_once_are_one_release(client: Any, spec: dict[str, Any]) -> None:
    ledger = opened(client)
    token = asked(client, spec)
    found: list[str] = []

    def press() -> None:
        found.append(client.post(f"/release/make/{token}").headers["location"])

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(found) == 4
    assert len(set(found)) == 1
    assert charges(ledger) == 1


def test_a_second_tab_sees_that_the_ledger_has_moved(client: Any, spec: dict[str, Any]) -> None:
    ledger = opened(client)
    first = asked(client, spec)
    second = asked(client, spec | {"purpose": "the other tab"})
    assert client.post(f"/release/make/{first}").status_code == 303
    refused = client.post(f"/release/make/{second}")
    assert refused.status_code == 422
    assert "has changed since" in refused.text
    assert "and release</button>" not in client.get(f"/release/confirm/{second}").text
    assert charges(ledger) == 1
    made(client, spec | {"purpose": "the other tab"})
    assert charges(ledger) == 2


def test_the_same_spec_again_is_a_new_charge_and_says_so(client: Any, spec: dict[str, Any]) -> None:
    ledger = opened(client)
    made(client, spec)
    token = asked(client, spec)
    shown = client.get(f"/release/confirm/{token}").text
    assert "a new charge" in shown
    assert 'name="again"' in shown
    refused = client.post(f"/release/make/{token}")
    assert refused.status_code == 422
    assert charges(ledger) == 1
    assert client.post(f"/release/make/{token}", data={"again": "yes"}).status_code == 303
    assert charges(ledger) == 2


def test_another_account_of_the_same_people_is_told_before_it_is_opened_and_charged(
    client: Any, spec: dict[str, Any]
) -> None:
    """The same file and unit on a second account: told before it is opened, and to be ticked."""
    ledger = opened(client)
    made(client, spec)
    told = "also charged to &#39;people&#39;"
    other = spec | {"account": "people-2"}
    assert told in client.get("/release", params={"spec": written(other)}).text
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure", "cap": PureDP(1.0)}
    ledger.open_account("people-2", approver="A", reason="B", **terms)
    assert told in client.get("/release", params={"spec": written(other)}).text
    token = asked(client, other)
    assert told in client.get(f"/release/confirm/{token}").text
    refused = client.post(f"/release/make/{token}")
    assert refused.status_code == 422
    assert "not ticked" in refused.text
    assert client.post(f"/release/make/{token}", data={"again": "yes"}).status_code == 303


def test_over_budget_is_shown_with_what_would_fit(client: Any, spec: dict[str, Any]) -> None:
    ledger = opened(client)
    made(client, spec)
    large = spec | {"budget": {"epsilon": 0.9}}
    page = client.post("/release/look", data={"which": "yaml", "spec": written(large)}).text
    for words in (
        "Over budget",
        "This release needs",
        "Spent already",
        "The cap",
        "Left",
        "What would fit",
    ):
        assert words in page
    assert page.index("Over budget") < page.index("would spend")
    assert "Go on to the charge" not in page
    answer = client.post("/release/confirm", data={"spec": written(large)})
    assert "Over budget" in answer.text
    assert charges(ledger) == 1


def test_a_tolerance_that_would_be_broken_is_refused(client: Any, spec: dict[str, Any]) -> None:
    opened(client, cap=PureDP(100.0))
    spec = {k: v for k, v in spec.items() if k != "budget"} | {"tolerance": {"ratio": 3}}
    made(client, spec)
    more = spec | {"purpose": "once more"}
    page = client.post("/release/look", data={"which": "yaml", "spec": written(more)}).text
    assert "would break a promise" in page
    assert "3-fold" in page
    assert "Go on to the charge" not in page


@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon": "1"},
        {"epsilon": "1", "approver": "A"},
        {"approver": "A", "reason": "B"},
        {"epsilon": "1", "no_cap": "yes", "approver": "A", "reason": "B"},
        {"epsilon": "much", "approver": "A", "reason": "B"},
        {"epsilon": "-1", "approver": "A", "reason": "B"},
        {"epsilon": "nan", "approver": "A", "reason": "B"},
        {"rho": "1", "approver": "A", "reason": "B"},
        {"epsilon": "0", "approver": "A", "reason": "B"},
        {"epsilon": "0.0", "confirmed": "yes", "approver": "A", "reason": "B"},
        {"epsilon": "1e-400", "approver": "A", "reason": "B"},
    ],
)
def test_an_account_is_opened_by_someone_for_a_reason(
    client: Any, spec: dict[str, Any], fields: dict[str, str]
) -> None:
    answer = client.post("/release/open", data={"spec": written(spec)} | fields)
    assert answer.status_code == 200
    assert 'role="alert"' in answer.text
    assert not (client.folder / "ledger.db").exists()
    # What was typed is still there, and what was approved is not guessed.
    for name, value in fields.items():
        assert name in ("no_cap", "confirmed") or f'value="{value}"' in answer.text or name == "rho"


def test_what_an_account_promises_is_shown_before_it_is_opened(
    client: Any, spec: dict[str, Any]
) -> None:
    promise = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    spec = {k: v for k, v in spec.items() if k != "budget"} | {"tolerance": promise}
    fields = {"spec": written(spec), "promise": "yes", "approver": "A", "reason": "B"}
    shown = client.post("/release/open", data=fields)
    assert shown.status_code == 200
    assert "Nobody who starts at 5 % becomes more than 12 % sure" in shown.text
    assert "ε = 0.952008" in shown.text
    assert "What may be learned when all of it is spent" in shown.text
    assert "12 %" in shown.text.split("What may be learned when all of it is spent")[-1]
    assert list(client.folder.glob("*.db")) == []
    # A yes to something else than what was shown writes nothing, and shows it anew.
    moved = client.post("/release/open", data=fields | {"confirmed": "yes", "head": "f" * 64})
    assert moved.status_code == 422
    assert "changed since this was shown" in moved.text
    assert list(client.folder.glob("*.db")) == []
    back = client.post("/release/open", data=fields | {"back": "yes"}).text
    assert "is not open yet" in back
    assert 'value="A"' in back
    assert client.get("/release/open").headers["location"] == "/release"


def test_an_account_without_any_limit_says_so_before(client: Any, spec: dict[str, Any]) -> None:
    fields = {"spec": written(spec), "no_cap": "yes", "approver": "A", "reason": "B"}
    shown = client.post("/release/open", data=fields)
    assert "Nothing bounds what may be learned" in shown.text
    assert opened_on_the_page(client, spec, no_cap="yes").status_code == 303


def test_an_account_of_another_unit_is_refused_by_name(client: Any, spec: dict[str, Any]) -> None:
    opened(client, unit="record")
    page = client.post("/release/look", data={"which": "yaml", "spec": written(spec)}).text
    assert "Refused." in page
    assert "never changes" in page


def test_a_charge_stays_when_the_data_fail(
    client: Any, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.releases.engines.sql import SQLEngine

    def failing(*_: object) -> None:
        raise DataError("engines.duckdb.schema_fault", doing="read the rows")

    ledger = opened(client)
    token = asked(client, spec)
    monkeypatch.setattr(SQLEngine, "measure", failing)
    answer = client.post(f"/release/make/{token}")
    assert answer.status_code == 422
    assert "stays spent" in answer.text
    assert charges(ledger) == 1
    # The confirmation is used up: nothing is charged a second time by it.
    again = client.post(f"/release/make/{token}")
    assert again.status_code == 422
    assert charges(ledger) == 1


def test_an_unknown_confirmation_is_said_to_be_one(client: Any, spec: dict[str, Any]) -> None:
    for answer in (client.get("/release/confirm/abc"), client.post("/release/make/abc")):
        assert answer.status_code == 422
        assert "is no longer known; nothing was spent" in answer.text


# -- what was made


def test_downloads_are_the_files_that_were_committed(client: Any, spec: dict[str, Any]) -> None:
    opened(client)
    where = made(client, spec)
    folder = client.folder / "out" / where.rsplit("/", 1)[1]
    for name in ("table.csv", "table.parquet", "statement.md", "release.json"):
        answer = client.get(f"{where}/{name}")
        assert answer.content == (folder / name).read_bytes()
        assert answer.headers["content-disposition"].startswith("attachment")
    report = client.get(f"{where}/report.html")
    assert report.status_code == 200
    assert report.headers["content-disposition"].startswith("attachment")
    assert "<html" in report.text
    kept = yaml.safe_load(client.get(f"{where}/spec.yaml").text)
    assert load(kept).hash == load(spec).hash
    for wrong in ("../ledger.db", "ledger.db", "%2e%2e%2fledger.db", "report", ".env"):
        assert client.get(f"{where}/{wrong}").status_code in (404, 422)


def test_the_whole_report_is_one_archive_that_checks_itself(
    client: Any, spec: dict[str, Any], tmp_path: Path
) -> None:
    ledger = opened(client)
    where = made(client, spec)
    assert f'href="{where}/report.zip"' in client.get(where).text
    first = client.get(f"{where}/report.zip")
    assert first.headers["content-type"] == "application/zip"
    entries = len(ledger.entries())
    assert client.get(f"{where}/report.html").status_code == 200
    again = client.get(f"{where}/report.zip")
    assert again.content == first.content
    assert len(ledger.entries()) == entries  # the report is recorded once, however often it is sent
    apart = tmp_path / "elsewhere"
    with zipfile.ZipFile(io.BytesIO(first.content)) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        archive.extractall(apart)
    command = [sys.executable, str(apart / "report" / "verify.py")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=apart)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    # Alone, a file of the report could not be checked: it is not offered.
    for alone in ("verify.py", "evidence.json", "statement.json"):
        assert client.get(f"{where}/{alone}").status_code == 422


def test_changed_files_are_not_shown(client: Any, spec: dict[str, Any]) -> None:
    opened(client)
    where = made(client, spec)
    path = client.folder / "out" / where.rsplit("/", 1)[1] / "table.csv"
    path.write_text("statistic,value\nforged,1\n", encoding="utf-8")
    page = client.get(where)
    assert page.status_code == 422
    assert "not those that were committed" in page.text
    assert client.get(f"{where}/table.csv").status_code == 422


@pytest.mark.parametrize("name", ["...", "x", "a/b", "*", "%2e%2e", "[a-z]" * 5, "0" * 26])
def test_no_release_is_found_by_an_odd_name(client: Any, name: str) -> None:
    assert client.get(f"/release/made/{name}", headers=HTML).status_code in (404, 422)


def test_no_row_of_the_data_is_ever_sent(client: Any, spec: dict[str, Any]) -> None:
    opened(client)
    answers = [
        client.get("/release"),
        client.get("/release?source=visits.csv"),
        client.post("/release/look", data={"which": "yaml", "spec": written(spec)}),
    ]
    where = made(client, spec)
    names = ("table.csv", "statement.md", "release.json", "report.html", "spec.yaml")
    answers += [client.get(f"{where}/{name}") for name in names]
    answers += [client.get(where), client.get("/ledger"), client.get("/openapi.json")]
    answers += [client.get(path) for path in ("/visits.csv", "/static/visits.csv", "/ledger.db")]
    for answer in answers:
        assert PERSON.encode() not in answer.content


def test_a_script_in_a_header_or_a_spec_is_text(client: Any, spec: dict[str, Any]) -> None:
    script = "<script>alert(1)</script>"
    (client.folder / "odd.csv").write_text(f"person,{script}\na,b\n", encoding="utf-8")
    spec = spec | {"source": "odd.csv", "account": script, "purpose": f'"{script}'}
    spec["statistics"] = [{"count": "rows", "by": [script], "keys": {script: [script, "=1"]}}]
    pages = [
        client.get("/release?source=odd.csv"),
        client.post("/release/look", data={"which": "yaml", "spec": written(spec)}),
        client.get(f"/release?source={quote(script)}"),
        client.post("/release/look", data={"which": "yaml", "spec": script}),
    ]
    for page in pages:
        assert script not in page.text
    assert "&lt;script&gt;" in pages[0].text


def test_texts_that_are_formulas_are_harmless_in_a_spreadsheet(
    client: Any, spec: dict[str, Any]
) -> None:
    opened(client)
    keys = ["=HYPERLINK(1)", "+49", "-x", "@sum", "plain", "-3", "\t=1+1"]
    spec["statistics"] = [{"count": "rows", "by": ["county"], "keys": {"county": keys}}]
    where = made(client, spec)
    assert "for spreadsheets" in client.get(where).text
    exact = list(csv.DictReader(io.StringIO(client.get(f"{where}/table.csv").text)))
    assert [row["county"].removeprefix("'") for row in exact] == keys
    other = client.get(f"{where}/table-with-semicolons.csv").content.decode("utf-8-sig")
    assert other.startswith("statistic;")
    text = client.get(f"{where}/table-for-spreadsheets.csv").content.decode("utf-8-sig")
    assert other.replace(";", ",").count(",") >= text.count(",")
    safe = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["county"] for row in safe] == [
        "'=HYPERLINK(1)", "+49", "'-x", "'@sum", "plain", "-3", "'\t=1+1",
    ]  # fmt: skip
    assert [row["value"] for row in safe] == [row["value"] for row in exact]


@settings(derandomize=True, deadline=None, max_examples=examples(100))
@given(st.lists(st.text(max_size=6), min_size=1, max_size=5))
def test_no_cell_for_a_spreadsheet_is_computed(cells: list[str]) -> None:
    text = Table({"county": cells, "value": ["-1"] * len(cells)}).to_csv()
    for row in list(csv.reader(io.StringIO(text, newline="")))[1:]:
        first = row[0].lstrip()[:1]
        assert first not in "=@" or not first
        if first and first in "+-":
            float(row[0])
        assert row[1] == "-1"


# -- the same numbers everywhere


def test_page_command_line_and_python_say_the_same(client: Any, spec: dict[str, Any]) -> None:
    opened(client)
    preview = release(load(spec, folder=client.folder), dry_run=True).to_dict()
    page = client.post("/release/look", data={"which": "yaml", "spec": written(spec)}).text
    assert amount_text(preview["spent"], "up") in page
    path = client.folder / "spec.yaml"
    path.write_text(
        client.get(f"/release/spec.yaml?spec={quote(written(spec))}").text, encoding="utf-8"
    )
    run = subprocess.run(
        [sys.executable, "-m", "discreet", "release", str(path), "--dry-run"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [*accuracy_lines(preview), *(n for n in preview["notes"] if "misspelt" in n)]
    for part in ("off by at most", "about the noise alone", "how many units lose rows", "misspelt"):
        assert any(part in line for line in lines)
    for line in lines:
        assert line in run.stdout
        assert line in html.unescape(page)
    posted = client.post("/release/spec.yaml", data={"spec": written(spec)})
    assert posted.text == path.read_text(encoding="utf-8")


def test_the_kept_spec_runs_on_the_command_line(client: Any, spec: dict[str, Any]) -> None:
    ledger = opened(client)
    made(client, spec)
    (path,) = client.folder.glob("spec-*.yaml")
    run = subprocess.run(
        [sys.executable, "-m", "discreet", "release", str(path), "--yes", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout)["spent"]["epsilon"] == 0.5
    assert charges(ledger) == 2


def test_a_state_is_a_link(client: Any, spec: dict[str, Any]) -> None:
    answer = client.post("/release/look", data=form_of(spec) | {"which": "form"})
    link = re.search(r'id="state-link" href="([^"]+)"', answer.text)
    assert link is not None
    again = client.get(link[1].replace("&amp;", "&")).text
    area = re.compile(r'<textarea class="yaml" id="spec"[^>]*>(.*?)</textarea>', re.S)
    assert area.search(again)[1] == area.search(answer.text)[1]  # type: ignore[index]
    long = spec | {"purpose": "x" * 900, "about": {"description": "y" * 9_000}}
    page = client.post("/release/look", data={"which": "yaml", "spec": written(long)})
    assert page.status_code == 200
    assert "state-link" not in page.text


def test_form_and_yaml_change_each_other(client: Any, spec: dict[str, Any]) -> None:
    form = form_of(spec) | {"budget.epsilon": "0.25"}
    assert draft_of(form).values == spec | {"budget": {"epsilon": 0.25}}
    page = client.post("/release/look", data=form | {"which": "form", "add": "yes"}).text
    assert "Statistic 2" in page
    page = client.post("/release/look", data=form | {"which": "form", "remove": "1"}).text
    assert "Statistic 1" not in page


def test_what_is_cut_is_asked_for_by_a_tick(client: Any, spec: dict[str, Any]) -> None:
    opened(client)
    form = form_of(spec) | {"which": "form"}
    page = client.post("/release/look", data=form).text
    assert "It is not known how many units lose rows in" in page
    assert re.search(r'<input type="checkbox" name="cut" value="yes">', page)
    asked_for = spec | {"cut": {"weight": 0.05}}
    assert draft_of(form | {"cut": "yes"}).values == asked_for
    assert form_of(asked_for) == form_of(spec) | {"cut": "yes"}
    page = client.post("/release/look", data=form | {"cut": "yes"}).text
    assert "It is not known how many units" not in page
    assert "checked" in page.split('name="cut"')[1].split(">")[0]
    more = spec | {"cut": {"weight": 0.1, "rows": 60}}
    assert draft_of(form_of(more)).values == more


def test_a_spec_file_of_the_folder_is_opened_and_a_database_stays_in_it(
    client: Any, spec: dict[str, Any]
) -> None:
    (client.folder / "clinic.yaml").write_text("# why\n" + written(spec), encoding="utf-8")
    page = client.get("/release?file=clinic.yaml").text
    assert "# why" in page
    url = "postgresql://user:hunter2@localhost/x?table=t"
    (client.folder / "db.yaml").write_text(written(spec | {"source": url}), encoding="utf-8")
    page = client.get("/release?file=db.yaml").text
    assert "hunter2" not in page
    assert "as the file stands" in page
    named = {"which": "yaml", "spec": written(spec | {"source": url})}
    answer = client.post("/release/look", data=named)
    assert answer.status_code == 422
    assert say("web.folder.by_file.says", what="source") in answer.text


# -- uploads, by request


def test_an_upload_begins_a_spec(client: Any, spec: dict[str, Any]) -> None:
    body = (client.folder / "visits.csv").read_bytes()
    answer = client.post("/release/upload", files={"data": ("../my visits.csv", body)})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/release?source=my-visits.csv"
    assert (client.folder / "my-visits.csv").read_bytes() == body


def test_a_large_upload_is_refused_before_it_is_read(client: Any, spec: dict[str, Any]) -> None:
    sent = 0

    def body() -> Any:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="data"; filename="a.csv"\r\n\r\na,b\n'
        for _ in range(200):
            sent += 2**20
            yield b"1,2\n" * 2**18

    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = client.post("/release/upload", content=body(), headers=kind)
    assert answer.status_code == 413
    declared = client.post(
        "/release/upload", content=b"", headers=kind | {"Content-Length": str(200 * 2**20)}
    )
    assert declared.status_code == 413
    assert sorted(path.name for path in client.folder.iterdir()) == ["visits.csv"]
    assert MOST_BYTES < 200 * 2**20


def test_a_refused_upload_is_told_in_the_page(client: Any, spec: dict[str, Any]) -> None:
    answer = client.post("/release/upload", files={"data": ("a.csv", b"a,b\0\n")})
    assert answer.status_code == 422
    assert "UTF-8" in answer.text
    assert client.post("/release/upload", data={"data": "text"}).status_code == 422
    assert client.post("/release/upload", content=b"x").status_code in (400, 422)


# -- nothing breaks


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from([[], {}, [[]], "../x", "1e-6", "=1", {"a": None}, [None], "x" * 3000]),
)


def test_no_spec_however_odd_is_a_fault_of_ours(client: Any, spec: dict[str, Any]) -> None:
    opened(client)
    keys = [
        "posterior", "ratio", "difference", "unless_ratio", "profile", "table", "preset", "p", "q",
        "box", "delta", "confidence", "sided", "all", "groups", "values_known", "counterfactual",
        "count", "sum", "mean", "quantile", "bounds", "resolution", "at", "by", "keys", "discover",
        "within", "weight", "name", "rows", "unit", "column", "epsilon", "rho", "account",
        "purpose", "source", "ledger", "output", "interval", "series", "about", "statistics",
    ]  # fmt: skip

    def places(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        found = [path]
        items = part.items() if isinstance(part, dict) else ()
        for key, value in enumerate(part) if isinstance(part, list) else items:
            found += places(value, (*path, key))
        return found

    toleranced = {k: v for k, v in spec.items() if k != "budget"} | {"tolerance": {"ratio": 3}}
    bases = [spec, toleranced]

    @settings(derandomize=True, deadline=None, max_examples=examples(150))
    @given(st.data())
    def look(data: st.DataObject) -> None:
        base = json.loads(json.dumps(data.draw(st.sampled_from(bases))))
        for _ in range(data.draw(st.integers(1, 2))):
            path = data.draw(st.sampled_from(places(base)))
            target: Any = base
            for key in path[:-1]:
                target = target[key]
            value = data.draw(odd)
            inner = target[path[-1]] if path else target
            if isinstance(inner, dict):
                inner[data.draw(st.sampled_from(keys))] = value
            elif path:
                target[path[-1]] = value
        page = client.post("/release/look", data={"which": "yaml", "spec": written(base)})
        assert page.status_code in (200, 422), page.text

    look()


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "!!python/object:os.system {}", "&a [*a]", '"\\ud800": 1',
        "account: !!binary aaaa",
        "a: " + "[" * 500, "account: 99999999999999999999999999", "? [a]\n: b", "\x00",
        "account: x\naccount: y", "2026-02-30: 1", "- a\n- b",
    ],
)  # fmt: skip
def test_no_text_however_odd_is_a_fault_of_ours(client: Any, text: str) -> None:
    for which in ("yaml", "form"):
        fields = {"which": which, "spec": text} | dict.fromkeys(("protect.yaml", "rest"), text)
        assert client.post("/release/look", data=fields, headers=HTML).status_code in (200, 422)


def test_the_saved_spec_is_private(client: Any, spec: dict[str, Any]) -> None:
    opened(client)
    made(client, spec)
    (path,) = Path(client.folder).glob("spec-*.yaml")
    assert path.stat().st_mode & 0o177 == 0


def test_an_account_opens_with_the_promise_of_its_spec(client: Any, spec: dict[str, Any]) -> None:
    promise = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    spec = {k: v for k, v in spec.items() if k != "budget"} | {"tolerance": promise}
    page = client.post("/release/look", data={"which": "yaml", "spec": written(spec)}).text
    assert "Nobody who starts at 5 % becomes more than 12 % sure" in page
    assert 'name="promise" value="yes" checked' in page
    assert opened_on_the_page(client, spec, promise="yes").status_code == 303
    (standing,) = Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}").promises(spec["account"])
    assert standing.left == pytest.approx(0.952008814476)
    made(client, spec)
    more = {k: v for k, v in spec.items() if k != "tolerance"} | {"budget": {"epsilon": 0.1}}
    page = client.post("/release/look", data={"which": "yaml", "spec": written(more)}).text
    assert "would break a promise" in page
    assert "raise the cap" not in page
    assert "Go on to the charge" not in page


def test_one_amount_has_one_figure_on_every_page(client: Any, spec: dict[str, Any]) -> None:
    """What spends a promise to its end stood as 0.952009, beside the 0.952008 that it allows."""
    promise = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    spec = {k: v for k, v in spec.items() if k != "budget"} | {"tolerance": promise}
    asks = {"which": "yaml", "spec": written(spec)}
    pages = [client.post("/release/look", data=asks).text]
    opened_on_the_page(client, spec, promise="yes")
    pages += [client.post("/release/look", data=asks).text]
    pages += [client.get(f"/release/confirm/{asked(client, spec)}").text]
    place = made(client, spec)
    pages += [client.get(address).text for address in (place, "/ledger?ledger=sqlite:///ledger.db")]
    for page in pages:
        told = re.findall(r"ε = (0\.952[0-9]+)", page)
        assert told, page
        assert all(float(one) <= 0.95200881447624 for one in told), told
    # What it would spend and what is left are the same figure where they stand together.
    assert len({*re.findall(r"ε = (0\.952[0-9]{5,})", pages[2])}) == 1


# -- a CSV file with other signs than commas


@pytest.mark.parametrize(
    ("sign", "typed", "decimal"), [(";", ";", ","), ("\t", "tab", None), ("|", "|", None)]
)
def test_a_file_with_other_signs_is_taken_and_the_spec_names_them(
    client: Any, sign: str, typed: str, decimal: str | None
) -> None:
    header, row = sign.join(["Person", "Kreis", "Kosten"]), sign.join([PERSON, "Bonn", "397,31"])
    sent = {"data": ("besuche.csv", f"{header}\n{row}\n".encode(), "text/csv")}
    begun = client.post("/release/upload", files=sent, headers=HTML)
    assert begun.status_code == 200
    assert PERSON not in begun.text
    text = html.unescape(
        re.search(r'<textarea[^>]*id="spec"[^>]*>(.*?)</textarea>', begun.text, re.S)[1]
    )  # type: ignore[index]
    german = {"decimal": decimal, "thousands": "."} if decimal else {}
    source = {"path": "besuche.csv", "delimiter": sign} | german
    values = yaml.safe_load(text)
    assert values["source"] == source
    assert values["protect"]["column"] == "Person"
    form = form_of(values)
    assert form["source"] == "besuche.csv"
    assert form["source.delimiter"] == typed
    assert draft_of(form).values == values
    assert "check that it is so in this file" in begun.text
    assert "<code>Kosten</code>" in begun.text
    spec = values | {
        "account": "people",
        "purpose": "test",
        "protect": {"unit": "person", "column": "Person", "rows": 1},
        "statistics": [{"mean": "Kosten", "bounds": [0, 500], "resolution": 1}],
    }
    looked = client.post("/release/look", data={"which": "form", **form_of(spec)}, headers=HTML)
    assert looked.status_code == 200, looked.text
    assert "would spend" in looked.text


def test_a_first_line_that_looks_like_data_is_refused_with_semicolons_too(client: Any) -> None:
    sent = {"data": ("besuche.csv", f"{PERSON};1980-02-29;3,5\n".encode(), "text/csv")}
    refused = client.post("/release/upload", files=sent, headers=HTML)
    assert refused.status_code == 422
    assert "looks like data" in refused.text
    assert PERSON not in refused.text


def test_a_file_in_latin_1_is_read_as_the_spec_says(client: Any, spec: dict[str, Any]) -> None:
    (client.folder / "orte.csv").write_bytes("person;größe\nA;1\n".encode("latin-1"))
    said = {"path": "orte.csv", "delimiter": ";", "encoding": "latin-1"}
    asked = spec | {"source": said, "statistics": [{"count": "rows"}]}
    shown = client.get("/release", params={"spec": written(asked)})
    assert shown.status_code == 200
    assert "<code>größe</code>" in shown.text


def test_the_page_says_how_a_file_is_taken_to_be_written(client: Any, spec: dict[str, Any]) -> None:
    body = (client.folder / "visits.csv").read_bytes() + "Zoë,north\n".encode("latin-1")
    (client.folder / "visits.csv").write_bytes(body)
    begun = client.get("/release", params={"source": "visits.csv"}, headers=HTML)
    assert begun.status_code == 200
    shown = client.get("/release", params={"spec": written(spec)}, headers=HTML)
    assert shown.text.count("is taken to be in UTF-8") == 1
    assert "count as missing" in shown.text
    assert "declare what is different" in shown.text


def test_the_page_says_what_a_job_is_told(client: Any, spec: dict[str, Any]) -> None:
    """Before the charge and after it: also that nothing more fits, and that noise hides a mean."""
    opened(client, cap=PureDP(9.0))
    both = [{"mean": "cost", **NINE}, {"median": "cost", **NINE}]
    # An interval of the median that is short of the bounds is one of 10^5, and of a mean none.
    rare = {"budget": {"epsilon": 1e-6}, "statistics": both, "interval": 0.999999}
    promised = {"budget": None, "promise": {"ratio": 2, "every_output": True}}
    for change in (promised, {"where": "cost > 3"}, rare):
        told = preview(given := spec | change, folder=client.folder)
        for address in ("/release", f"/release/confirm/{asked(client, given)}"):
            page = client.get(address, params={"spec": written(given)}).text
            text = html.unescape(re.sub(r"</?code>", "`", page))
            lines = (*told.unasked, *accuracy_lines(told.to_dict()))
            assert [line for line in lines if line not in text] == []
    said: list[str] = []
    release(spec | rare, folder=client.folder, say=said.append)
    hidden = [line for line in said if "the whole of the bounds" in line]
    page = html.unescape(client.get(made(client, spec | rare, again="yes")).text)
    assert len(hidden) == 2
    assert [line for line in hidden if line not in page] == []


def test_how_a_file_of_the_folder_is_written_is_chosen_in_the_form(client: Any) -> None:
    (client.folder / "orte.csv").write_bytes("person,größe\nA,1\n".encode("latin-1"))
    (client.folder / "plain.csv").write_bytes("person,ort\nA,Köln\n".encode("latin-1"))
    for name, chosen in (("orte.csv", "windows-1252"), ("plain.csv", "")):
        shown = client.get("/release", params={"source": name}, headers=HTML)
        assert shown.status_code == 200
        control = re.search(
            r'<select[^>]*name="source.encoding".*?</select>', shown.text, re.DOTALL
        )
        assert control is not None
        assert f'<option value="{chosen}" selected>' in control[0]
    wrong = client.get("/release", params={"source": "orte.csv", "encoding": "utf-16"})
    assert wrong.status_code == 422
    assert say("web.file.not_text.says", encoding="UTF-16") in wrong.text


# -- the promise goes along


ALONG = {
    "promise": "tolerance: {posterior: 0.12, p: 0.05, about: membership, every_output: true}",
    "series": "12",
}


def _ways(text: str) -> list[dict[str, str]]:
    """Return what every link to a file of data, and the upload, carry."""
    links = re.findall(r'(?:href|action)="(/(?:release|synthetic)(?:/upload)?\?[^"]*)"', text)
    found = [dict(parse_qsl(html.unescape(one).partition("?")[2])) for one in links]
    return [one for one in found if "spec" not in one and "file" not in one]


@pytest.mark.parametrize("path", ["/release", "/synthetic"])
def test_every_way_on_carries_the_promise_also_where_something_is_wrong(
    client: Any, spec: dict[str, Any], path: str
) -> None:
    (client.folder / "bad.csv").write_bytes(b"a,a\n")
    asked = [
        client.get(path, params=ALONG, headers=HTML),
        client.get(path, params={"source": "bad.csv", **ALONG}, headers=HTML),
        client.get(path, params={"source": "none.csv", **ALONG}, headers=HTML),
        client.get(path, params={"source": "visits.csv", **ALONG}, headers=HTML),
        client.post(
            f"{path}/upload", params=ALONG, files={"data": ("a.csv", b"a,a\n")}, headers=HTML
        ),
    ]
    assert [one.status_code for one in asked] == [200, 422, 422, 200, 422]
    for answer in asked:
        assert 'action="' + path + "/upload?" in answer.text
        ways = _ways(answer.text)
        assert len(ways) >= 3, ways
        for way in ways:
            assert yaml.safe_load(way["promise"]) == yaml.safe_load(ALONG["promise"])
    sent = client.post(
        f"{path}/upload",
        params=ALONG,
        files={"data": ("c.csv", b"person,b\n")},
        follow_redirects=True,
    )
    assert sent.status_code == 200
    assert "posterior: 0.12" in sent.text


def test_a_promise_that_cannot_be_used_is_told_and_not_carried(client: Any) -> None:
    for promise in ("- 1", "tolerance: {nothing: 1}", "tolerance: {table: t.csv}"):
        shown = client.get("/release", params={"promise": promise}, headers=HTML)
        assert shown.status_code == 422
        assert say("web.release.odd_promise.next") in shown.text
        assert not _ways(shown.text)


def test_a_series_begins_one_of_its_releases(client: Any, spec: dict[str, Any]) -> None:
    asked = {"promise": ALONG["promise"]}
    series = client.get("/series", params=asked | {"per_year": "12", "years": "5"}, headers=HTML)
    (way,) = re.findall(r'<a class="button" href="(/release\?[^"]*)"', series.text)
    chosen = client.get(html.unescape(way), headers=HTML)
    assert "60 releases" in chosen.text
    (file,) = re.findall(r'href="(/release\?source=visits[^"]*)"', chosen.text)
    begun = client.get(html.unescape(file), headers=HTML)
    assert re.search(r'name="series.releases" value="60"', begun.text)
    sent = client.post(
        way.replace("/release", "/release/upload").replace("&amp;", "&"),
        files={"data": ("c.csv", b"person,b\n")},
        follow_redirects=True,
    )
    assert re.search(r'name="series.releases" value="60"', sent.text)
    odd = client.get("/release", params=ALONG | {"series": "-3", "source": "visits.csv"})
    assert re.search(r'name="series.releases" value=""', odd.text)


# -- a table with margins, by the form alone


def looked(client: Any, form: dict[str, str], **more: str) -> tuple[Any, dict[str, Any]]:
    """Return the answer to a form, and the spec that it shows."""
    said = client.post("/release/look", data={"which": "form", **form, **more}, headers=HTML)
    found = re.search(r'<textarea[^>]*id="spec"[^>]*>(.*?)</textarea>', said.text, re.DOTALL)
    assert found is not None
    return said, yaml.safe_load(html.unescape(found[1]))


def test_a_count_becomes_a_table_with_margins_by_the_form_alone(
    client: Any, spec: dict[str, Any]
) -> None:
    form = form_of(spec | {"statistics": [{"count": "units", "by": ["person", "county"]}]})
    changed = {"statistics.1.was": "count", "statistics.1.kind": "margins"}
    said, values = looked(client, form | changed)
    (entry,) = values["statistics"]
    assert entry == {"margins": [["person", "county"]], "count": "units"}
    assert "Public keys of county" in html.unescape(said.text)
    filled = form_of(values) | {
        "statistics.1.what": "county, cost; cost",
        "statistics.1.keys.county": "north, south",
        "statistics.1.keys.cost": "low, high",
    }
    said, values = looked(client, filled, **{"statistics.1.was": "margins"})
    (entry,) = values["statistics"]
    assert entry["margins"] == [["county", "cost"], ["cost"]]
    assert entry["keys"] == {"county": ["north", "south"], "cost": ["low", "high"]}
    assert said.status_code == 200, said.text
    assert "would spend" in said.text
    assert "statistics.1.yaml" not in said.text
    back = {"statistics.1.was": "margins", "statistics.1.kind": "count"}
    (entry,) = looked(client, form_of(values) | back)[1]["statistics"]
    assert entry == {"count": "units"}


def test_margins_that_were_just_added_count_rows_and_ask_for_their_tables(
    client: Any, spec: dict[str, Any]
) -> None:
    said, values = looked(client, form_of(spec), add="margins")
    assert values["statistics"][1] == {"margins": "", "count": "rows"}
    assert "statistic 2: fill in “Tables”" in said.text


@pytest.mark.parametrize(
    ("typed", "sets"),
    [
        ("county, age; sex", [["county", "age"], ["sex"]]),
        ('"a, b", age ; "c;d"', [["a, b", "age"], ["c;d"]]),
        ("up to 2 of county, age, sex", {"up_to": 2, "of": ["county", "age", "sex"]}),
        ("Up to 2 columns of county, age", {"up_to": 2, "of": ["county", "age"]}),
        ("[[county], [age, sex]]", [["county"], ["age", "sex"]]),
    ],
)
def test_sets_of_columns_are_typed_in_words(typed: str, sets: Any) -> None:
    form = {"statistics.1.kind": "margins", "statistics.1.what": typed}
    entry = draft_of(form).values["statistics"][0]
    assert entry["margins"] == sets
    spec = {"statistics": [entry | {"count": "rows"}]}
    assert draft_of(form_of(spec)).values["statistics"] == spec["statistics"]


@pytest.mark.parametrize("margins", ["rows", ["county", "sex"]])
def test_margins_that_are_no_sets_are_told_with_an_example(
    spec: dict[str, Any], margins: Any
) -> None:
    entry = {"margins": margins, "count": "rows"}
    with pytest.raises(DiscreetError, match=r"\[\[county, age\], \[sex\]\]") as refused:
        load(spec | {"statistics": [entry]})
    at = "statistic 1.margins" if margins == "rows" else "statistic 1.margins.1"
    assert str(refused.value).startswith(f"{at}: ")


# -- in words


def test_a_promise_that_came_along_is_said_as_a_sentence(client: Any) -> None:
    promise = "tolerance: {posterior: 0.12, p: 0.05, about: membership, every_output: true}"
    shown = client.get("/release", params={"promise": promise}, headers=HTML)
    notice = re.search(r'<p class="notice">(.*?)</p>', shown.text, re.DOTALL)
    assert notice is not None
    assert "tolerance:" not in notice[1]
    assert "12 % sure" in html.unescape(notice[1]).replace("\xa0", " ")


def test_the_headings_of_a_table_of_beliefs_are_short() -> None:
    found = learned(PureDP(1.0), "one person", [])
    assert found is not None
    names = learned_facts(found.to_dict())["names"]
    assert any("guess" in name for name in names)
    assert max(map(len, names)) <= 60


def test_no_interval_is_broken_across_lines(client: Any, spec: dict[str, Any]) -> None:
    keys = {"county": ["north", "south"], "cost": ["1", "2", "3"]}
    entry = {"count": "rows", "by": ["county", "cost"], "keys": keys}
    opened(client)
    shown = client.get(made(client, spec | {"statistics": [entry]})).text
    cells = re.findall(r'<td role="cell"[^>]*>(.*?)</td>', shown)
    assert len(cells) == 6
    one = re.compile(
        r'<span class="glued">-?[\d,]+</span> <span class="glued">\(-?[\d,]+ – -?[\d,]+\)</span>'
    )
    assert all(one.fullmatch(cell) for cell in cells), cells
