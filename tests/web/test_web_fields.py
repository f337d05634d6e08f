"""What is typed: a blank is blank, no comma is dropped, and what is wrong is told at its field."""

from __future__ import annotations

import html
import re
from typing import Annotated, Any

import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.web.forms import Filled, Form, Number, Text
from discreet.web.release.spec_form import draft_of, form_of, mapping_of, written
from discreet.web.tolerate import TolerateForm

HTML = {"Accept": "text/html"}


class Shares(Form):
    percent: Annotated[float, Number(above=0, high=100, unit="percent")] = 5.0
    fraction: Annotated[float, Number(above=0, high=1, unit="fraction")] = 0.5
    plain: Annotated[float, Number()] = 1.0
    whole: Annotated[int, Number(low=1, whole=True)] = 1
    name: Annotated[str, Text(needed=True)] = ""


@pytest.mark.parametrize(
    ("name", "typed", "read"),
    [
        ("percent", "12", 12.0),
        ("percent", "12 %", 12.0),
        ("percent", "12%", 12.0),
        ("fraction", "0.12", 0.12),
        ("fraction", ".12", 0.12),
        ("fraction", "12 %", 0.12),
        ("fraction", "12", None),
        ("plain", "12 %", None),
        ("plain", "5,5", 5.5),
        ("plain", "0,125", 0.125),
        ("plain", "-1,25", -1.25),
        ("percent", "12,5 %", 12.5),
        ("fraction", "12,5 %", 0.125),
        ("plain", "1,000", None),
        ("plain", "12,345", None),
        ("plain", "1,234.5", None),
        ("plain", "1.234,5", None),
        ("plain", "1,2,3", None),
        ("whole", "12", 12),
        ("whole", "1.000", None),
        ("whole", "1,000", None),
        ("plain", "1_000", None),
        ("plain", "٣", None),
        ("plain", "inf", None),
        ("plain", "1e999", None),
        ("plain", "", None),
        ("plain", "  ", None),
        ("plain", "1e3", 1000.0),
    ],
)
def test_a_number_is_read_or_refused_and_never_guessed(
    name: str, typed: str, read: float | None
) -> None:
    found = Filled.of(Shares, {name: typed, "name": "x"})
    if read is None:
        assert list(found.problems) == [name]
        assert found.shown[name] == typed
    else:
        assert not found.problems
        assert getattr(found.state, name) == read


def test_a_field_that_is_needed_is_missed_sent_or_not() -> None:
    for given in ({}, {"name": ""}, {"name": "  "}):
        assert Filled.of(Shares, given).problems == {"name": "Fill in this field."}


def test_a_bound_is_said_as_it_is_and_never_as_a_power_of_ten() -> None:
    problem = Filled.of(TolerateForm, {"kind": "ratio", "fold": "1"}).problems["fold"]
    assert problem == "It must be a number from 1.000001 to 1,000,000,000."
    assert not Filled.of(TolerateForm, {"kind": "ratio", "fold": "1.000001"}).problems


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/tolerate?kind=ratio", "fold"),
        ("/tolerate?kind=posterior", "after"),
        ("/cost?kind=epsilon", "epsilon"),
        ("/cost?kind=ratio", "count"),
        ("/series?years=2", "budget"),
        ("/series?years=2", "per_year"),
        ("/explain?kind=pure", "epsilon"),
        ("/explain?kind=pure", "before"),
    ],
)
@pytest.mark.parametrize("typed", ["", "5,500", "abc"])
def test_what_is_wrong_is_told_at_its_field(client: Any, path: str, name: str, typed: str) -> None:
    shown = client.get(f"{path}&{name}={typed}", headers=HTML)
    assert shown.status_code == 422
    (field,) = re.findall(
        rf'<input[^>]* name="{name}"[^>]*>|<input name="{name}"[^>]*>', shown.text
    )
    assert f'value="{typed}"' in field
    assert 'aria-invalid="true"' in field
    assert f'aria-describedby="p-{name}"' in field
    assert re.search(rf'<span class="wrong" id="p-{name}">[^<]+</span>', shown.text)
    said = client.get(f"/api{path}&{name}={typed}").json()
    assert list(said["fields"]) == [name]
    for word in ("input should", "valid number", "parse", "--"):
        assert word not in said["message"].lower()


def test_several_wrong_fields_are_all_told(client: Any) -> None:
    said = client.get("/api/series?budget=-1&before=x&years=").json()
    assert set(said["fields"]) == {"budget", "before", "years"}


def test_no_field_drops_a_comma(client: Any) -> None:
    """A field of type number lets a browser turn 5,5 into 55."""
    for path in ("/tolerate", "/cost", "/series", "/explain", "/release"):
        assert 'type="number"' not in client.get(path, headers=HTML).text


def test_a_place_for_problems_is_there_before_there_is_one(client: Any) -> None:
    css = client.get("/static/discreet.css").text
    (rule,) = re.findall(r"\.notice:empty \{([^}]*)\}", css)
    assert "display" not in rule
    for path in ("/tolerate", "/cost", "/series", "/explain", "/explain/me?epsilon=1"):
        assert re.search(
            r'data-problem role="(status|alert)"></p>', client.get(path, headers=HTML).text
        )


# -- the form of a spec


@pytest.fixture
def spec(client: Any) -> dict[str, Any]:
    """A spec for data in the folder, under a tolerance."""
    (client.folder / "visits.csv").write_text("person,county\na,north\n", encoding="utf-8")
    client.headers.update(HTML)
    return {
        "account": "people",
        "purpose": "test",
        "source": "visits.csv",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "tolerance": {"posterior": 0.12, "p": 0.05, "about": "membership"},
        "statistics": [{"count": "rows", "by": ["county"], "keys": {"county": ["north", "south"]}}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    }


def opened(client: Any, **terms: Any) -> Ledger:
    ledger = Ledger.open(f"sqlite:///{client.folder / 'ledger.db'}")
    said: dict[str, Any] = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    said |= {"cap": PureDP(100.0), "approver": "A", "reason": "B"} | terms
    ledger.open_account("people", **said)
    return ledger


def looked(client: Any, form: dict[str, str]) -> Any:
    return client.post("/release/look", data=form | {"which": "form"})


def test_twelve_for_twelve_percent_is_told_at_its_field(client: Any, spec: dict[str, Any]) -> None:
    opened(client)
    form = form_of(spec)
    assert "Go on to the charge" in looked(client, form).text
    wrong = looked(client, form | {"tolerance.posterior": "12"})
    assert wrong.status_code == 422
    assert 'id="p-tolerance.posterior"' in wrong.text
    assert "Go on to the charge" not in wrong.text
    assert "posterior: 12\n" in wrong.text  # the YAML says what was typed, not what was before
    right = looked(client, form | {"tolerance.posterior": "12 %"})
    assert "posterior: 0.12" in right.text
    assert "Go on to the charge" in right.text


def test_what_is_wrong_is_told_while_something_is_still_missing(
    client: Any, spec: dict[str, Any]
) -> None:
    form = form_of(spec) | {"account": "", "protect.rows": "many", "tolerance.p": "5,5"}
    page = looked(client, form).text
    assert "the account: whose budget is charged" in page
    for name in ("protect.rows", "tolerance.p"):
        assert f'id="p-{name}"' in page
    del spec["account"]
    spec["tolerance"]["posterior"] = 12
    typed = client.post("/release/look", data={"which": "yaml", "spec": written(spec)}).text
    assert 'id="p-tolerance.posterior"' in typed


def test_keys_that_were_typed_stay_while_they_are_found_in_the_data(
    client: Any, spec: dict[str, Any]
) -> None:
    form = form_of(spec)
    found = looked(client, form | {"statistics.1.find": "yes", "statistics.1.find.delta": "1e-6"})
    kept = '<input type="hidden" name="statistics.1.keys.county" value="north, south">'
    assert kept in found.text
    assert "discover:" in found.text
    back = looked(client, form | {"statistics.1.find.delta": "1e-6"}).text
    assert re.search(r'id="f-statistics.1.keys.county"[^>]* value="north, south"', back)
    assert 'type="hidden" name="statistics.1.find.delta" value="1e-6"' in back
    other = looked(client, form | {"promise": "budget", "budget.epsilon": "1"}).text
    assert '<input type="hidden" name="tolerance.posterior" value="12 %">' in other


def test_a_statistic_that_is_removed_takes_its_own_fields_along(
    client: Any, spec: dict[str, Any]
) -> None:
    spec["statistics"].insert(0, {"mean": "cost", "bounds": [0, 5], "resolution": 1})
    page = looked(client, form_of(spec) | {"remove": "1"}).text
    assert 'name="statistics.1.keys.county"' in page
    assert 'name="statistics.2' not in page


def test_a_promise_that_refuses_is_no_reason_to_raise_the_cap(
    client: Any, spec: dict[str, Any]
) -> None:
    opened(client)
    client.follow_redirects = False
    asked = client.post("/release/confirm", data={"spec": written(spec)})
    client.post(asked.headers["location"].replace("confirm", "make"))
    page = client.post(
        "/release/look", data={"which": "yaml", "spec": written(spec | {"purpose": "again"})}
    ).text
    assert "would break a promise" in page
    assert "raise the cap" not in page


def test_a_draft_says_what_was_typed_and_where_it_is_wrong() -> None:
    form = {"tolerance.ratio": "1", "statistics.1.kind": "sum", "statistics.1.bounds": "0, x"}
    draft = draft_of(form | {"statistics.1.within.error": "-1", "interval": "95 %"})
    assert set(draft.problems) == {
        "tolerance.ratio",
        "statistics.1.bounds",
        "statistics.1.within.error",
    }
    assert draft.values["tolerance"] == {"ratio": 1}
    assert draft.values["interval"] == 0.95
    assert mapping_of({"protect.rows": "4", "tolerance.ratio": "3.0"}) == {
        "protect": {"rows": 4},
        "tolerance": {"ratio": 3.0},
    }


GERMAN = {"source": {"path": "visits.csv", "delimiter": ";", "decimal": ",", "thousands": "."}}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"bounds": "0, 10.000"}, "Is it 10000, or 10?"),
        ({"bounds": "-10.000; 10000"}, "Is it 10000, or 10?"),
        ({"bounds": "0, 10000"}, None),
        ({"bounds": "0, 10.5"}, None),
        ({"bounds": "0, 1", "resolution": "0.001"}, None),
        ({"bounds": "0, 1", "resolution": "1.000"}, "Is it 1000, or 1?"),
        ({"bounds": "0, 1", "within.error": "2.500"}, "Is it 2500, or 2.5?"),
        ({"bounds": "0; 1,5"}, "Are the commas between numbers"),
    ],
)
def test_a_number_that_means_a_thousand_times_as_much_elsewhere_is_asked_about(
    fields: dict[str, str], said: str | None
) -> None:
    form = form_of(GERMAN) | {"statistics.1.kind": "mean", "statistics.1.what": "cost"}
    form |= {f"statistics.1.{name}": text for name, text in fields.items()}
    problems = draft_of(form).problems
    assert (not problems) if said is None else said in " ".join(problems.values())
    # Where decimals have a point, a number has one reading.
    plain = draft_of(form | {"source.decimal": "", "source.thousands": ""}).problems
    assert not any("Is it" in words for words in plain.values())


def test_edges_with_decimal_commas_are_never_read_as_more_edges() -> None:
    form = {"statistics.1.kind": "histogram", "statistics.1.what": "x"}
    assert draft_of(form | {"statistics.1.edges": "0; 1,5; 10"}).problems
    assert draft_of(form | {"statistics.1.edges": "0; 1.5; 10"}).values["statistics"][0][
        "edges"
    ] == [0, 1.5, 10]


def test_a_group_that_is_no_column_is_told_by_the_one_that_is(
    client: Any, spec: dict[str, Any]
) -> None:
    (client.folder / "orte.csv").write_text("Patienten-Nr,Landkreis/Städteregion\n1,x\n", "utf-8")
    asked = {"source": "orte.csv", "statistics": [{"count": "rows", "by": ["Landkreis"]}]}
    page = html.unescape(looked(client, form_of(spec | asked)).text)
    assert "the file has no column 'Landkreis', but it has 'Landkreis/Städteregion'" in page
    assert "the public keys of Landkreis<" not in page


def test_bounds_are_told_as_they_were_read(client: Any, spec: dict[str, Any]) -> None:
    asked = {"mean": "cost", "bounds": [0, 10_000.5], "resolution": 1}
    page = looked(client, form_of(spec | {"statistics": [asked]})).text
    assert "Read as 0 to 10\N{NARROW NO-BREAK SPACE}000.5." in page


def test_the_form_says_what_stands_between_thousands(client: Any, spec: dict[str, Any]) -> None:
    page = looked(client, form_of(spec | GERMAN)).text
    assert 'name="source.thousands"' in page
    form = form_of(spec | GERMAN)
    assert draft_of(form).values["source"] == GERMAN["source"]
    changed = draft_of(form | {"source.decimal": ""}).values["source"]
    assert changed == {"path": "visits.csv", "delimiter": ";"}
    spaced = draft_of(form | {"source.thousands": "space"}).values["source"]
    assert spaced["thousands"] == " "
    assert form_of(spec | {"source": spaced})["source.thousands"] == "space"


def test_an_account_is_not_opened_by_nobody_and_it_is_told_where(
    client: Any, spec: dict[str, Any]
) -> None:
    fields = {"spec": written(spec), "epsilon": "5,500", "approver": "", "reason": "review"}
    page = client.post("/release/open", data=fields).text
    for name in ("epsilon", "approver"):
        assert f'id="p-{name}"' in page
    assert 'value="5,500"' in page
    assert 'value="review"' in page


# -- files


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Zürich.csv", "Zürich.csv"),
        ("Zu\u0308rich.csv", "Zürich.csv"),
        ("データ.csv", "データ.csv"),
    ],
)
def test_a_name_keeps_its_letters(client: Any, sent: str, kept: str) -> None:
    body = b"person,county\na,b\n"
    client.follow_redirects = False
    told = client.post("/release/upload", files={"data": (sent, body)}, headers=HTML)
    assert told.status_code == 303
    assert (client.folder / kept).read_bytes() == body
    assert client.get(told.headers["location"], headers=HTML).status_code == 200


def test_a_dry_run_that_cannot_be_leads_to_the_fields_by_their_labels(
    client: Any, spec: dict[str, Any]
) -> None:
    form = form_of(spec) | {"promise": "budget", "budget.epsilon": "-1", "protect.rows": "0"}
    form |= {"statistics.1.kind": "mean", "statistics.1.bounds": "low, high"}
    page = client.post("/release/look", data={"which": "form", **form}, headers=HTML).text
    for name, label in {
        "protect.rows": "Most rows",
        "budget.epsilon": "ε",
        "statistics.1.bounds": "Statistic 1, Bounds",
    }.items():
        assert f'<a href="#f-{name}">{label}</a>: ' in page
        assert f'id="f-{name}"' in page
