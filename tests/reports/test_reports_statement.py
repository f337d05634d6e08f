"""The statement: complete, valid in both schemas, from the stored release and the ledger alone."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from forging import edited, rewritten, verified
from kept import STORIES
from reading_grade import HARDEST, grade
from stories import BASE, Made, made, opened, people
from tracing import untraced

from discreet.beliefs import Prior, explain
from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.guarantees import ApproxDP, PureDP
from discreet.ledger import Ledger
from discreet.releases import Preview, release
from discreet.reports import page
from discreet.reports.facts import release_text, statement, statement_schema
from discreet.reports.folder import report
from discreet.reports.stored import find
from discreet.reports.written import markdown, registry_record, registry_yaml
from discreet.statements.presenter import standing_facts

ABOUT = ("membership", "value")


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(statement_schema())


def test_every_kind_of_release_has_a_valid_statement(any_release: Made) -> None:
    stated = statement(find(any_release.release_id, ledger=any_release.ledger))
    said = json.loads(stated.to_json())
    jsonschema.Draft202012Validator(statement_schema()).validate(said)
    assert said["identity"]["release_id"] == any_release.release_id
    assert set(said["hashes"]["files"]) == {
        p.name for p in any_release.folder.iterdir() if p.is_file()
    }
    assert not re.search(r"\bnan\b", stated.to_json(), re.IGNORECASE)


@pytest.mark.skipif("DISCREET_REGISTRY" not in os.environ, reason="the registry is not at hand")
def test_every_kind_of_release_has_a_valid_registry_record(any_release: Made) -> None:
    path = Path(os.environ["DISCREET_REGISTRY"]) / "deployments-schema.yaml"
    schema = yaml.safe_load(path.read_text(encoding="utf-8"))
    stated = statement(
        find(any_release.release_id, output=any_release.output, ledger=any_release.ledger)
    )
    record = yaml.safe_load(registry_yaml(stated))
    jsonschema.Draft202012Validator(schema).validate(record)
    assert record == registry_record(stated)


def test_the_registry_record_takes_what_the_spec_says_about_itself(pure: Made) -> None:
    record = registry_record(statement(find(pure.release_id, ledger=pure.ledger)))
    basic = record["deployment"]["basic"]
    assert basic["name"] == "Visits <by> county"
    assert basic["data_curators"] == ["An Agency"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", basic["publication_date"])
    assert record["deployment"]["dp_variant"]["variant_name"] == "Pure DP"


def test_the_beliefs_are_those_of_everything_charged(tmp_path: Path) -> None:
    from stories import BASE, made, opened

    opened(tmp_path)
    one = made(tmp_path, BASE | {"budget": {"epsilon": 0.75}})
    before = statement(find(one.release_id, ledger=one.ledger))
    Ledger.open(one.ledger).charge("people", PureDP(0.5), purpose="another", who="someone")
    after = statement(find(one.release_id, ledger=one.ledger))
    for stated, total in ((before, 0.75), (after, 1.25)):
        rows = stated.facts["risk"]["beliefs"]
        assert {row["about"] for row in rows} == {"membership", "value"}
        for row in rows:
            truth = explain(PureDP(total), Prior(row["p"], row["q"])).posterior
            assert truth is not None
            assert row["upper"] == pytest.approx(truth.upper, rel=1e-12)
            assert (row["p"], row["q"])[row["about"] == "membership"] == 1
    # A later charge changes what may be believed, and nothing that was released.
    for unchanged in ("identity", "guarantee", "mechanisms", "accuracy", "hashes"):
        assert before.facts[unchanged] == after.facts[unchanged]
    assert after.facts["spending"]["account_then"] == before.facts["spending"]["account_then"]


def test_what_was_paid_for_is_told_from_what_is_public(approximate: Made, pure: Made) -> None:
    paid = statement(find(approximate.release_id, ledger=approximate.ledger)).facts
    assert {fact["kind"] for fact in paid["bases"]} == {"paid", "public"}
    assert "suppression" in {bias["kind"] for bias in paid["biases"]}
    public = statement(find(pure.release_id, ledger=pure.ledger)).facts
    assert {fact["kind"] for fact in public["bases"]} == {"public"}
    assert {bias["kind"] for bias in public["biases"]} == {"bounding", "clipping", "nulls"}
    assert all(bias["size"] is None for bias in paid["biases"] + public["biases"])


def test_the_promise_is_stated_with_what_binds_it(pure: Made) -> None:
    facts = statement(find(pure.release_id, ledger=pure.ledger)).facts
    rows = facts["risk"]["beliefs"]
    tolerated = {about: [r["tolerated"] for r in rows if r["about"] == about] for about in ABOUT}
    # It speaks of membership alone; of a value of someone who is in, it says nothing.
    assert tolerated == {"membership": [0.25, 0.3, 0.9, 1.0], "value": [None] * 4}
    (one,) = facts["promises"]
    assert float(one["limit"]["epsilon"]) == pytest.approx(1.2993, abs=1e-4)
    assert one["binding"]["p"] == pytest.approx(0.25 / 3)
    assert (one["about"], one["kept"], one["withdrawn"]) == ("membership", True, None)
    assert all(r["upper"] <= r["tolerated"] for r in rows if r["tolerated"] is not None)


def test_records_are_the_subject_where_records_are_protected(records: Made) -> None:
    stated = statement(find(records.release_id, ledger=records.ledger))
    texts = " ".join(stated.facts["texts"].values())
    assert "one record" in texts
    assert "one person" not in json.dumps(stated.to_dict())
    assert stated.facts["spending"]["cap"]["unbounded"] is True


def test_the_public_paragraphs_stay_readable(any_release: Made) -> None:
    stated = statement(find(any_release.release_id, ledger=any_release.ledger))
    assert grade(stated.facts["texts"]["public"]) <= HARDEST


def test_markdown_holds_every_section_and_escapes_what_people_wrote(pure: Made) -> None:
    text = markdown(statement(find(pure.release_id, ledger=pure.ledger)))
    for heading in (
        "Identity", "Guarantee", "Spending", "What may be learned", "Mechanisms", "Accuracy",
        "Known biases", "Where keys", "Processing", "What is not covered", "Version and hashes",
    ):  # fmt: skip
        assert f"## {heading}" in text
    assert "Visits &lt;by> county" in text
    assert "62 in 100" in text


def test_a_release_is_found_by_ledger_by_output_and_by_both(pure: Made) -> None:
    found = [
        find(pure.release_id, ledger=pure.ledger),
        find(pure.release_id, output=pure.output),
        find(pure.release_id, ledger=pure.ledger, output=str(pure.output)),
    ]
    assert {str(stored.folder) for stored in found} == {str(pure.folder)}
    assert len({stored.head for stored in found}) == 1


def test_what_cannot_be_found_is_refused_in_one_sentence(pure: Made, tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "Give its ledger"),
        ({"output": tmp_path}, "There is no release"),
        ({"ledger": f"sqlite:///{tmp_path}/ledger.db"}, "in or below"),
        ({"ledger": "postgresql://host/db"}, "on a server"),
    ]
    for given, said in cases:
        with pytest.raises(InputError, match=said):
            find(pure.release_id, **given)


def test_a_release_of_another_ledger_is_refused(pure: Made, concentrated: Made) -> None:
    with pytest.raises(PolicyError, match="was not reserved"):
        find(pure.release_id, output=pure.output, ledger=concentrated.ledger)


@pytest.mark.parametrize("name", ["release.json", "table.csv", "table.parquet", "statement.md"])
def test_a_release_that_was_edited_is_not_reported(pure: Made, tmp_path: Path, name: str) -> None:
    copy = pure.copied(tmp_path)
    path = copy.folder / name
    # The last 1, which is in what was released: the first may be in its name.
    path.write_bytes(b"2".join(path.read_bytes().rsplit(b"1", 1)) + b" ")
    with pytest.raises(DiscreetError, match=r"not those that were committed|no readable"):
        find(copy.release_id, ledger=copy.ledger)


def test_a_ledger_that_cannot_be_told_from_the_files_is_asked_for(synthetic: Made) -> None:
    with pytest.raises(InputError, match="Give the ledger"):
        find(synthetic.release_id, output=synthetic.output)


def test_a_file_that_promises_nothing_states_no_belief(chosen: tuple[Made, Made]) -> None:
    none, some = (statement(find(one.release_id, ledger=one.ledger)) for one in chosen)
    assert none.facts["risk"] is None
    assert none.facts["guarantee"]["kind"] == "none"
    assert "by looking at the original data" in none.facts["texts"]["public"]
    assert "in 100" not in markdown(none)
    jsonschema.Draft202012Validator(statement_schema()).validate(none.to_dict())
    # And the bounds of others on the account say that they do not cover it.
    assert some.facts["risk"] is not None
    assert some.facts["not_covered"][0]["name"] == "Files without a promise"


def test_a_ledger_that_was_altered_is_not_reported_from(pure: Made, tmp_path: Path) -> None:
    import sqlite3

    copy = pure.copied(tmp_path)
    with sqlite3.connect(copy.home / "ledger.db") as ledger:
        triggers = ledger.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for (name,) in triggers:
            ledger.execute(f'DROP TRIGGER "{name}"')
        ledger.execute("UPDATE discreet_entries SET body = replace(body, 'A. Approver', 'Nobody')")
    with pytest.raises(PolicyError, match="is not what it was when it was written"):
        find(copy.release_id, ledger=copy.ledger)


def test_a_name_that_is_no_release_is_refused(pure: Made) -> None:
    for name in ("../pure", "*", ""):
        with pytest.raises(InputError, match="neither a folder"):
            find(name, ledger=pure.ledger)


def test_a_delta_too_large_for_the_confidence_lowers_it_and_says_so(tmp_path: Path) -> None:
    from stories import BASE, COUNT, made, opened

    from discreet.guarantees import ApproxDP

    ledger = opened(tmp_path, filter="basic", cap=ApproxDP(4.0, 0.5))
    one = made(tmp_path, BASE | {"statistics": [COUNT], "budget": {"epsilon": 0.5}})
    ledger.charge("people", ApproxDP(0.1, 0.02), purpose="careless", who="x")
    rows = statement(find(one.release_id, ledger=one.ledger)).facts["risk"]["beliefs"]
    assert {row["holds_with"] for row in rows} == {0.95}


@pytest.mark.parametrize("audience", ["technical", "regulator"])
def test_every_numeral_of_a_release_comes_from_its_facts(pure: Made, audience: Any) -> None:
    facts = statement(find(pure.release_id, ledger=pure.ledger)).facts
    spending = {k: facts["spending"][k] for k in ("this", "account_now", "remaining")}
    some = {k: facts[k] for k in ("identity", "composition")} | {"spending": spending}
    assert untraced(lambda said: release_text(said, audience), some) == []
    text = facts["texts"][audience]
    assert "ε = 1.29928298413026" in text  # in the figures of its promise
    assert "ε = 1.7007" not in text  # the cap leaves that much, and the promise nothing
    assert pure.release_id in text


MARGINS: dict[str, Any] = {
    "count": "rows",
    "margins": [["county", "age"], ["sex"]],
    "hierarchy": {"county": {"state": "states.csv"}},
    "keys": {"county": "states.csv", "age": ["young", "old"], "sex": ["f", "m"]},
    "twin": True,
}


@pytest.fixture(scope="module")
def margins(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Margins alone, with a hierarchy in a file, over rows that a formula chooses."""
    home = tmp_path_factory.mktemp("margins")
    opened(home)
    (home / "states.csv").write_text("county,state\nnorth,up\nsouth,down\nwest,down\n")
    spec = BASE | {"statistics": [MARGINS], "budget": {"epsilon": 1.0}, "where": "cost >= 10"}
    spec |= {"let": {"age": "if(cost > 15, 'old', 'young')", "sex": "if(cost > 5, 'f', 'm')"}}
    return made(home, spec)


def test_keys_that_a_formula_makes_are_told_as_such(tmp_path: Path) -> None:
    opened(tmp_path)
    counts = {"count": "rows", "by": ["band"], "name": "n"}
    spec = BASE | {"statistics": [counts], "budget": {"epsilon": 1.0}}
    spec |= {"let": {"band": "bin(cost, [0, 10, 20])"}}
    one = made(tmp_path, spec)
    facts = statement(find(one.release_id, ledger=one.ledger)).facts
    (row,) = (row for row in facts["bases"] if row["what"] == "keys of band")
    assert row["basis"] == "public: follows from the formula of this column in the spec"
    assert verified(report(one.release_id, ledger=one.ledger).folder)[0] == 0


def test_margins_are_told_with_all_their_columns_and_keys(margins: Made) -> None:
    facts = statement(find(margins.release_id, ledger=margins.ledger)).facts
    domain = facts["data_domain"].split(";")[0]
    assert domain == "Any table with the columns person, county, cost"  # age, sex are formulas
    listed, file = "public: listed in the spec", "public: listed in a file that the spec names"
    assert [(row["what"], row["basis"]) for row in facts["bases"]] == [
        ("keys of county", file),
        ("keys of age", listed),
        ("keys of sex", listed),
        ("keys of state", file),
    ]
    assert "as drawn" not in facts["processing"]["after"]
    assert "add up" in facts["processing"]["after"]


@pytest.mark.parametrize("left_out", ["domain", "keys", "paid"])
def test_the_verifier_misses_columns_and_keys_that_are_not_told(
    margins: Made, tmp_path: Path, left_out: str
) -> None:
    """Whoever writes the statement anew, with its manifest, is found out by the spec."""
    copy = margins.copied(tmp_path)
    folder = report(copy.release_id, ledger=copy.ledger).folder
    assert verified(folder)[0] == 0

    def change(said: dict[str, Any]) -> None:
        if left_out == "domain":
            said["data_domain"] = said["data_domain"].replace(", county", "")
        elif left_out == "keys":
            del said["bases"][-1]
        else:
            said["bases"][0]["kind"] = "paid"

    edited(folder / "statement.json", change)
    rewritten(folder)
    code, told = verified(folder)
    assert code == 1
    assert {"domain": "not county", "keys": "keys of state", "paid": "keys of county"}[
        left_out
    ] in told


def test_keys_that_are_found_beside_public_ones_are_told_as_paid(tmp_path: Path) -> None:
    opened(tmp_path, filter="basic", cap=ApproxDP(4.0, 1e-3))
    keys = {"discover": {"delta": 1e-5}, "known": {"county": ["north"]}}
    band = {"count": "rows", "by": ["band"]}
    found = {"count": "rows", "by": ["county"], "keys": keys}
    spec = BASE | {"statistics": [found, band], "let": {"band": "bin(cost, [0, 10, 20])"}}
    done = made(tmp_path, spec | {"budget": {"epsilon": 1.0, "delta": 1e-5}})
    facts = statement(find(done.release_id, ledger=done.ledger)).facts
    kinds = {row["what"]: row["kind"] for row in facts["bases"]}
    assert kinds["keys of county"] == "paid"
    assert kinds["keys of band"] == "public"


def test_a_dry_run_of_margins_says_which_totals_are_left_out(tmp_path: Path) -> None:
    opened(tmp_path)
    (tmp_path / "states.csv").write_text("county,state\nnorth,up\nsouth,down\nwest,down\n")
    plain = {key: MARGINS[key] for key in ("count", "margins", "keys")}
    spec = BASE | {"statistics": [plain | {"name": "tables"}], "budget": {"epsilon": 1.0}}
    spec |= {"let": {"age": "if(cost > 15, 'old', 'young')", "sex": "if(cost > 5, 'f', 'm')"}}
    found = release(spec, data=people(), folder=tmp_path, dry_run=True)
    assert isinstance(found, Preview)
    assert any("no totals by county, age alone" in note for note in found.notes)


def test_what_is_foreseen_is_not_said_to_be_so(tmp_path: Path) -> None:
    """Nothing is spent yet: what is used is used with this release."""
    opened(tmp_path)
    promise = {"posterior": 0.12, "p": 0.05, "values_known": True}
    spec = BASE | {"tolerance": promise, "series": {"releases": 12}}
    found = release(spec, data=people(), folder=tmp_path, dry_run=True)
    assert isinstance(found, Preview)
    outlook = found.outlook
    assert outlook.account is not None
    facts = dict(standing_facts(outlook.account, outlook.promises, outlook.after))
    assert "With this release 9 % used; 11 more like it would fit" in facts["Promise"]


ABOUTS = {
    "membership": "whether one person is in the data, starting from a belief that it names, and",
    "value": "a value of one person, known to be in the data, starting from a belief that it names",
    "concentrated": "with the sensitive value (each of the two alone is part of that), and",
    "sensitive": "So can a belief that grew at most as many-fold as the promise says.",
    "household": "The promise is about whether one household of up to 4 is in the data, and counts",
    "several": "is in the data, and about how often a guess of a value is right, starting from",
    "synthetic": "a value of one person, known to be in the data, starting from",
    "numbers": None,
}


@pytest.mark.parametrize("name", ABOUTS)
def test_every_statement_says_how_its_figures_compare_with_the_promise(
    name: str, tmp_path: Path
) -> None:
    one, said = STORIES[name](tmp_path), ABOUTS[name]
    folder = report(release_id=one.release_id, ledger=one.ledger).folder
    page = (folder / "report.html").read_text(encoding="utf-8").split('id="curator"')[0]
    texts = [(folder / "statement.md").read_text(encoding="utf-8").split("## ")[0]]
    texts += [(one.folder / "statement.md").read_text(encoding="utf-8").split("## ")[0]]
    for text in (*texts, page):
        assert ("without breaking it" in text) == (said is not None)
        assert said is None or said in text


def test_a_promise_about_membership_says_that_values_are_open(tmp_path: Path) -> None:
    for name, open_to in {"membership": True, "household": True, "value": False}.items():
        (tmp_path / name).mkdir()
        one = STORIES[name](tmp_path / name)
        stored = (one.folder / "statement.md").read_text(encoding="utf-8")
        assert ("The values of one " in stored) == open_to
        facts = statement(find(one.release_id, ledger=one.ledger)).facts
        assert ("Values" in {row["name"] for row in facts["not_covered"]}) == open_to
        folder = report(release_id=one.release_id, ledger=one.ledger).folder
        for file in ("report.html", "participant.html"):
            page = (folder / file).read_text(encoding="utf-8")
            assert ("<strong>Values.</strong>" in page) == open_to


@pytest.mark.parametrize(
    ("story", "meant"), [("value", True), ("both", True), ("membership", False)]
)
def test_a_promise_about_a_value_says_which_value_where_nothing_else_does(
    story: str, meant: bool, tmp_path: Path
) -> None:
    line = "The sensitive value is any value that somebody looks for."
    one = STORIES[story](tmp_path)
    stated = markdown(statement(find(one.release_id, ledger=one.ledger)))
    beside = (one.folder / "statement.md").read_text(encoding="utf-8")
    assert [line in text for text in (stated, beside)] == [meant, meant]


def test_the_chart_of_a_report_and_the_statement_of_a_slot_say_what_they_are(
    tmp_path: Path, planned: Made
) -> None:
    opened(tmp_path)
    labelled = BASE | {"budget": {"epsilon": 1.0}, "labels": {"north": "the far north"}}
    one = made(tmp_path, labelled)
    shown = page._released_chart(statement(find(one.release_id, ledger=one.ledger)))
    assert shown is not None
    assert "the far north" in shown.svg
    assert shown.table.rows[0][0] == "the far north"
    slot = (planned.folder / "statement.md").read_text(encoding="utf-8")
    assert re.search(r"^- \*\*Planned\*\*: release 2 of 3, in plan \w+$", slot, re.M)
