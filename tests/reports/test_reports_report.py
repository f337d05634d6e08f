"""The report: the same every time, complete offline, and checked by a script that needs nothing."""

from __future__ import annotations

import html
import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer
from forging import edited, rewritten, verified, verified_alone
from stories import BASE, COUNT, Made, made, opened, own_report, reported
from tracing import untraced
from typer.testing import CliRunner

from discreet.beliefs import explain
from discreet.cli.reports import report as report_command
from discreet.cli.reports import verify
from discreet.errors import InputError
from discreet.guarantees import ZCDP, PureDP
from discreet.ledger import Amount, Ledger
from discreet.releases.tables import evenly
from discreet.reports import verifier
from discreet.reports.folder import Report, report
from discreet.reports.written import markdown
from soaking import soaked

NAMES = {
    "report.html", "statement.json", "statement.md", "registry.yaml", "evidence.json", "verify.py",
    "manifest.json", "participant.html", "release.json", "table.csv", "table.parquet",
}  # fmt: skip


def written(found: Made, **more: Any) -> Report:
    return report(found.release_id, ledger=found.ledger, **more)


def test_a_report_is_made_and_verifies_with_nothing_installed(
    any_release: Made, request: pytest.FixtureRequest
) -> None:
    """Two kinds by the script alone, in a soak all; and test_reports_every_spec.py has others."""
    kept, made = reported(any_release)
    assert {path.name for path in made.files} == NAMES
    alone = soaked() or request.node.callspec.params["any_release"] in ("mixed", "synthetic")
    verify = verified_alone if alone else verified
    code, said = verify(made.folder, "--ledger", str(kept.home / "ledger.db"))
    assert code == 0, said
    assert "WRONG" not in said
    assert "Everything agrees." in said
    assert said.count("ok    belief in ") == len(made.statement.facts["risk"]["beliefs"])


def test_a_person_is_told_the_verdict_and_not_every_check(pure: Made, tmp_path: Path) -> None:
    made = own_report(pure, tmp_path)[1]
    script = [sys.executable, "-I", str(made.folder / "verify.py")]
    brief = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    whole = verified(made.folder)[1]
    app = typer.Typer()
    app.command()(verify)
    command = CliRunner().invoke(app, [str(made.folder)])
    assert command.stdout == brief
    lines, every = brief.splitlines(), whole.splitlines()
    assert len(lines) <= 8 < 100 < len(every)
    assert lines[0] == (
        "Every figure that was checked agrees. Every promise is kept. The wording was not checked."
    )
    assert any(line.startswith("The account is complete up to entry ") for line in lines)
    count = next(line for line in lines if "--all" in line).split()[0]
    assert int(count) == sum(line.startswith("ok ") for line in every) - brief.count("ok   ")
    (made.folder / "table.txt").write_text("")
    broken = CliRunner().invoke(app, [str(made.folder)])
    assert broken.exit_code == 1
    first = broken.stdout.splitlines()[0]
    assert first.startswith("Do not rely on this folder: table.txt ")
    assert "Every promise is kept" not in broken.stdout


def test_the_verdict_names_the_file_that_was_changed(pure: Made, tmp_path: Path) -> None:
    made = own_report(pure, tmp_path)[1]
    made.html.write_text(made.html.read_text().replace("62 in 100", "12 in 100"))
    code, said = verified(made.folder)
    verdict, following, *_ = said.splitlines()
    assert code == 1
    changed = "report.html was changed after the report was made."
    assert verdict == f"Do not rely on this folder: {changed}"
    assert following == (
        "Ask whoever published it for the folder again, and for the head that was printed with the "
        "report; then check it with --head HASH."
    )
    assert "WRONG the manifest names every file" not in said


@pytest.mark.parametrize(
    ("name", "pattern", "new"),
    [
        (
            "report.html",
            r"by charge</caption>.*?<tbody><tr>.*?<td>(made elsewhere)</td>",
            "a pilot",
        ),
        (
            "report.html",
            r"by charge</caption>.*?<tbody><tr>.*?(\d{4}-\d\d-\d\d)",
            "2001-01-01",
        ),
        ("report.html", r"by charge</caption>.*?<tbody>(<tr>.*?</tr>)", ""),
        ("report.html", r"<h1>(.*?)</h1>", "Weather"),
        ("report.html", r"· made <span[^>]*>(\d{4})", "2001"),
        ("report.html", r"· account (people)</p>", "others"),
        ("statement.md", r"^# [^:]*: (.*?)\n", "the weather"),
        ("statement.md", r"\*\*Made\*\*: (\d{4})", "2001"),
        ("statement.md", r"\*\*Account\*\*: (people)", "others"),
        ("statement.md", r"\n(- \*\*Other sources\.\*\*[^\n]*\n)", ""),
        ("statement.md", r"- \*\*Other sources\.\*\* ([^\n]*)\n", "All are covered."),
        ("report.html", r"(<li><strong>Other sources.*?</li>)", ""),
        ("report.html", r"(<ul class=.plain.>.*?</ul>)", ""),
    ],
)
def test_what_was_charged_and_what_is_not_covered_is_what_the_statement_says(
    mixed: Made, tmp_path: Path, name: str, pattern: str, new: str
) -> None:
    """Though the manifest was written anew to fit, and without the ledger."""
    folder = own_report(mixed, tmp_path)[1].folder
    text = (folder / name).read_text(encoding="utf-8")
    found = re.search(pattern, text, re.DOTALL)
    assert found is not None
    (folder / name).write_text(text[: found.start(1)] + new + text[found.end(1) :], "utf-8")
    rewritten(folder)
    assert verifier.examined(folder).answer()["problems"]


ADDED = [
    "Nobody becomes more than 5 % sure of a value.",
    "Nobody becomes more than 30&#37; sure of a value.",
    "Nobody becomes more than 5<b> </b>% sure of a value.",
    "The chance is at most 5 in 100.",
    "The chance is at most 5 per cent.",
    "This holds with probability 99.9 % over the noise.",
    "<table><tbody><tr><td>30 %</td><td>31 %</td></tr></tbody></table>",
]


@pytest.mark.parametrize("told", ADDED)
@pytest.mark.parametrize("name", ["report.html", "statement.md"])
def test_a_percentage_that_was_added_is_found(
    mixed: Made, tmp_path: Path, name: str, told: str
) -> None:
    """Though it is on the page already, the manifest fits, and there is no ledger."""
    folder = own_report(mixed, tmp_path)[1].folder
    text = (folder / name).read_text(encoding="utf-8")
    at = text.index('<dl class="facts">' if name == "report.html" else "## Guarantee")
    new = f"<p>{told}</p>" if name == "report.html" else f"{html.unescape(told)}\n\n"
    (folder / name).write_text(text[:at] + new + text[at:], encoding="utf-8")
    rewritten(folder)
    found = verifier.examined(folder).answer()["problems"]
    told = f"{name}: every percentage, and number in a hundred, was recomputed, "
    assert any(problem.startswith(told) for problem in found)


@pytest.mark.parametrize("name", ["report.html", "statement.md"])
def test_the_message_names_the_forged_figure_and_not_the_true_one_beside_it(
    mixed: Made, tmp_path: Path, name: str
) -> None:
    made = own_report(mixed, tmp_path)[1]
    path = made.folder / name
    row = verifier.learned_rows(made.statement.facts["learned"])[0]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(row[1], "33.37 %"), encoding="utf-8")
    rewritten(made.folder)
    (told,) = [
        line
        for line in verifier.examined(made.folder).answer()["problems"]
        if line.startswith(f"{name}: every percentage")
    ]
    assert told.endswith(f"33.37 %”, where statement.json has “{row[1]}”")


def test_figures_in_a_note_and_in_explanations_are_told_as_not_recomputed(tmp_path: Path) -> None:
    opened(tmp_path)
    spec = BASE | {"budget": {"epsilon": 0.5}, "purpose": "the 5 % sample", "sample": {"rate": 0.5}}
    kept = made(tmp_path, spec)
    folder = written(kept, note="At most 7 % were asked.").folder
    answer = verifier.examined(folder).answer()
    assert answer["problems"] == []
    (told,) = (one for one in answer["unproven"] if one.startswith("not recomputed"))
    assert "7 %" in told
    assert "50 %" in told
    assert " 5 %" not in told


def forged(made: Report, names: list[str], old: str, new: str) -> list[str]:
    """Return the lines that are told of a report in which a text was replaced everywhere."""
    for name in names:
        text = (made.folder / name).read_text(encoding="utf-8")
        assert old in text
        (made.folder / name).write_text(text.replace(old, new), encoding="utf-8")
    rewritten(made.folder)
    return list(verifier.lines_of(verifier.examined(made.folder)))


@pytest.mark.parametrize("new", ["38 in 100", "30 in 100", "81 in 100"])
@pytest.mark.parametrize("name", ["report.html", "statement.md"])
def test_a_changed_figure_is_quoted_with_the_one_that_should_stand_there(
    pure: Made, tmp_path: Path, name: str, new: str
) -> None:
    """Also where the false figure is a true one of another place."""
    lines = forged(own_report(pure, tmp_path)[1], [name], "62 in 100", new)
    (told,) = (one for one in lines if one.startswith(f"WRONG {name}: every percentage"))
    assert f"it is at most {new}”, where statement.json has “62 in 100”" in told


def test_a_changed_cell_is_quoted_with_the_one_that_should_stand_there(
    pure: Made, tmp_path: Path
) -> None:
    """Though the false one stands in the same row already."""
    made = own_report(pure, tmp_path)[1]
    row = next(
        one for one in verifier.learned_rows(made.statement.facts["learned"]) if one[0] == "30 %"
    )
    old, new = (f"| {row[0]} | {one} |" for one in (row[1], "30 %"))
    lines = forged(made, ["statement.md"], old, new)
    (told,) = (one for one in lines if one.startswith("WRONG statement.md: every percentage"))
    assert f"“… 30 % | 30 %”, where statement.json has “{row[1]}”" in told


def test_a_changed_sentence_of_the_statement_is_told_with_what_was_recomputed(
    pure: Made, tmp_path: Path
) -> None:
    names = ["statement.json", "statement.md", "report.html"]
    lines = forged(own_report(pure, tmp_path)[1], names, "62 in 100", "38 in 100")
    for whom in ("everyone", "a regulator"):
        (told,) = (one for one in lines if one.startswith(f"WRONG the sentences for {whom} "))
        by = "by statement.json and evidence.json it is"
        assert f"at most 38 in 100”: {by} 62 in 100" in told


def test_a_forged_bound_is_not_called_recomputed(pure: Made, tmp_path: Path) -> None:
    """True sentences were said to be false, and the forger's figure to be recomputed."""
    made = own_report(pure, tmp_path)[1]
    path = made.folder / "statement.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    row = verifier.headline(facts)
    text = path.read_text(encoding="utf-8")
    assert str(row["upper"]) in text
    lines = forged(made, ["statement.json"], str(row["upper"]), "0.35")
    assert any("stated" in line and "0.35]" in line and "recomputed" in line for line in lines)
    sentences = [line for line in lines if "in 100”" in line]
    assert sentences
    assert not [line for line in sentences if "35 in 100 was recomputed" in line]
    assert any("by statement.json and evidence.json it is 35 in 100" in line for line in sentences)


@pytest.mark.parametrize("other", ["777", "999999"])
def test_a_changed_released_number_is_quoted_with_the_one_that_was_released(
    pure: Made, tmp_path: Path, other: str
) -> None:
    """In the page's table, beside its chart, and in either file that has the table."""
    found = own_report(pure, tmp_path)[1]
    said = json.loads((found.folder / "released/release.json").read_text(encoding="utf-8"))
    table = evenly(said["table"])
    value, low, high = (table[name][1] for name in ("value", "interval_low", "interval_high"))
    where, ends = f"count_rows_1 | {table['county'][1]}", f"{low} to {high}"
    what = "WRONG the released numbers in report.html are those of the table, but not "
    has = f", where released/release.json has “{value} ({ends})”"
    cell = f'<td class="figure">{value}<small>{ends}'
    page = found.html.read_text(encoding="utf-8")
    assert page.count(cell) == 1
    lines = forged(found, ["report.html"], cell, cell.replace(value, other, 1))
    (told,) = (line for line in lines if line.startswith(what))
    assert f" | {table['county'][1]} | " in told or where in told
    assert f": {other} ({ends})”{has}" in told
    found.html.write_text(page, encoding="utf-8")
    (row,) = re.findall(
        rf'<tr><th scope="row">[^<]*{table["county"][1]}</th><td[^>]*>{value}<.*?</tr>', page
    )
    lines = forged(found, ["report.html"], row, row.replace(f">{value}<", f">{other}<"))
    (told,) = (line for line in lines if line.startswith(what))
    assert f": {other} ({ends})”{has}" in told
    found.html.write_text(page, encoding="utf-8")
    value = said["table"]["value"][1]
    for name, old, new in (
        ("table.csv", f"\ncount_rows_1,{table['county'][1]},{value},", f",{other},"),
        ("release.json", f'"{value}"', f'"{other}"'),
    ):
        path = found.folder / "released" / name
        text = path.read_text(encoding="utf-8")
        new = old.replace(f",{value},", new) if name == "table.csv" else new
        lines = forged(found, [f"released/{name}"], old, new)
        (told,) = (line for line in lines if line.startswith(f"WRONG released file {name}"))
        has = "release.json" if name == "table.csv" else "table.csv"
        quote = f", but not “{where} | value: {other}”, where released/{has} has “{value}”"
        assert quote in told
        path.write_text(text, encoding="utf-8")


def test_an_altered_cap_on_the_first_page_is_quoted_with_the_one_of_the_statement(
    pure: Made, tmp_path: Path
) -> None:
    found = own_report(pure, tmp_path)[1]
    page = found.html.read_text(encoding="utf-8")
    (small,) = re.findall(r"<small>([^<]*cap[^<]*ε = 3[^<]*)</small></dd>", page)
    lines = forged(found, ["report.html"], f"<small>{small}<", f"<small>{small.replace('3', '5')}<")
    (told,) = (line for line in lines if line.startswith("WRONG the facts on the first page"))
    assert f"but not “{small.replace('3', '5')}”, where statement.json has ε = 3" in told


def test_an_altered_table_is_named_where_the_stored_release_backs_the_statement(
    pure: Made, tmp_path: Path
) -> None:
    found = own_report(pure, tmp_path)[1]
    lines = forged(found, ["released/table.csv"], "\ncount_rows_1,north,", "\ncount_rows_1,north,1")
    assert "released/table.csv and statement.json do not agree" in lines[0]
    assert "release.json" not in lines[0]
    assert "takes part in every" not in lines[0]


def test_a_manifest_that_was_made_to_fit_is_told_from_the_one_that_the_ledger_holds(
    pure: Made, tmp_path: Path
) -> None:
    """The head is the true one: it would show nothing."""
    made, found = own_report(pure, tmp_path)
    text = found.html.read_text(encoding="utf-8")
    found.html.write_text(text.replace("loads nothing from", "loads little from"), encoding="utf-8")
    assert "loads nothing from" in text
    rewritten(found.folder)
    rows = partial(verifier.sqlite_rows, made.ledger)
    answer = verifier.examined(found.folder, None, rows).answer()
    assert answer["problems"] == [verifier.NOT_HELD]
    assert answer["verdict"].startswith(f"Do not rely on this folder: {verifier.NOT_HELD}.")
    assert answer["next"] == verifier.ASK_HELD
    assert "--head" not in verifier.ASK_HELD


@pytest.mark.parametrize("name", ["report.html", "statement.md", "statement.json"])
def test_the_verdict_names_all_files_that_do_not_agree_with_the_forged_one(
    pure: Made, tmp_path: Path, name: str
) -> None:
    lines = forged(own_report(pure, tmp_path)[1], [name], "62 in 100", "38 in 100")
    together = {"report.html", "statement.md", "statement.json"}
    assert together <= {one for one in NAMES if one in lines[0]}
    assert "the folder alone does not show which of them is false" in lines[0]
    assert lines[0].endswith(f" {name} takes part in every disagreement.")
    wrong = [line for line in lines if line.startswith("WRONG ")]
    assert all(name in line for line in wrong)
    assert "WRONG report.html has the texts (report.html and statement.json)" in wrong or (
        name == "statement.md"
    )


def test_many_wrong_checks_do_not_bury_the_verdict(pure: Made, tmp_path: Path) -> None:
    made = own_report(pure, tmp_path)[1]
    path = made.folder / "evidence.json"
    path.write_text(path.read_text().replace("epsilon", "epsilom"))
    script = [sys.executable, "-I", str(made.folder / "verify.py")]
    lines = subprocess.run(script, capture_output=True, text=True).stdout.splitlines()
    assert lines[0] == (
        "Do not rely on this folder: evidence.json was changed after the report was made."
    )
    assert len(lines) < 20
    assert not [line for line in lines if "Error" in line]


def test_one_wrong_check_is_one(pure: Made) -> None:
    verdict, following = verifier.verdict_of(["belief in membership from 0.3"], True)
    assert verdict == "Do not rely on this folder: 1 check does not agree."
    assert following == verifier.ASK_AGAIN
    one, two = ("statement.json", "statement.md"), ("report.html", "statement.md")
    told = verifier.verdict_of(["statement.md: cap"], True, among=[one])[0]
    assert told == (
        "Do not rely on this folder: 1 check does not agree. statement.json and statement.md do "
        "not agree with each other, or with what was recomputed; the folder alone does not show "
        "which of them is false."
    )
    told = verifier.verdict_of(["statement.md: cap", "x", "y"], True, among=[one, two, one])[0]
    assert told == (
        "Do not rely on this folder: 3 checks do not agree. report.html, statement.json and "
        "statement.md do not agree with each other, or with what was recomputed; the folder alone "
        "does not show which of them is false. statement.md takes part in every disagreement."
    )
    told = verifier.verdict_of(["x"], True, among=[("report.html",)])[0]
    assert told.endswith("report.html does not agree with itself, or with what was recomputed.")
    assert verifier.verdict_of([], False)[0].startswith("A promise is broken")


def test_only_a_manifest_that_the_ledger_holds_lets_everything_agree(pure: Made) -> None:
    made, found = reported(pure)
    alone = verifier.examined(found.folder).answer()["verdict"]
    assert alone.endswith(" The wording was not checked.")
    rows = verifier.sqlite_rows(made.ledger)
    whole = verifier.examined(found.folder, None, lambda: rows).answer()["verdict"]
    assert whole == "Everything agrees. Every promise is kept."
    unrecorded = [row for row in rows if '"kind":"report"' not in row[1]]
    never = verifier.examined(found.folder, None, lambda: unrecorded).answer()["verdict"]
    assert never == alone
    for kept in (True, False, None):
        assert "Everything" not in verifier.verdict_of([], kept)[0]


def test_a_wrong_path_is_bad_input_and_no_failed_check(pure: Made, tmp_path: Path) -> None:
    script = [sys.executable, "-I", str(Path(verifier.__file__))]
    report = own_report(pure, tmp_path)[1].folder
    app = typer.Typer()
    app.command()(verify)
    for folder, said in (
        (tmp_path / "nosuch", f"There is no folder {tmp_path / 'nosuch'}."),
        (tmp_path, "is no report: it has no manifest.json. 'discreet report' writes one."),
        (report.parent, f"is no report: it has no manifest.json. Its report is in {report}."),
    ):
        run = subprocess.run([*script, str(folder)], capture_output=True, text=True)
        assert run.returncode == 2
        assert said in run.stderr
        assert run.stdout == ""
        refused = CliRunner().invoke(app, [str(folder)]).exception
        assert isinstance(refused, InputError)
        assert said in str(refused)
        as_json = subprocess.run([*script, str(folder), "--json"], capture_output=True, text=True)
        assert said in json.loads(as_json.stdout)["error"]["message"]


def test_a_report_without_its_manifest_is_a_failed_check(pure: Made, tmp_path: Path) -> None:
    made = own_report(pure, tmp_path)[1]
    (made.folder / "manifest.json").unlink()
    code, said = verified(made.folder)
    assert code == 1
    assert said.startswith("Do not rely on this folder: manifest.json is missing.")


def test_making_it_again_changes_nothing_and_a_note_only_the_page(
    pure: Made, tmp_path: Path
) -> None:
    copy = pure.copied(tmp_path)
    released = {p.name: p.read_bytes() for p in copy.folder.iterdir() if p.is_file()}
    first = {str(p): p.read_bytes() for p in written(copy).files}
    again = {str(p): p.read_bytes() for p in written(copy).files}
    assert first == again
    first = {p.name: p.read_bytes() for p in written(copy).files}
    noted = {p.name: p.read_bytes() for p in written(copy, note="see <appendix>").files}
    changed = {name for name in first if first[name] != noted[name]}
    assert changed == {"report.html", "manifest.json"}
    assert b"see &lt;appendix&gt;" in noted["report.html"]
    assert released == {p.name: p.read_bytes() for p in copy.folder.iterdir() if p.is_file()}
    assert verified(copy.folder / "report")[0] == 0


def _lower_belief(said: Any) -> None:
    said["risk"]["beliefs"][1]["upper"] *= 0.9


def _smaller_epsilon(said: Any) -> None:
    said["risk"]["total"]["epsilon"] *= 0.5


def _less_spent(said: Any) -> None:
    said["spending"]["account_now"]["epsilon"] *= 0.5


EDITS = {
    "a released value": (
        "released/release.json",
        lambda said: said["table"]["value"].__setitem__(0, "7"),
    ),
    "what was spent": (
        "released/release.json",
        lambda said: said["spent"].__setitem__("epsilon", 0.1),
    ),
    "a note": ("released/release.json", lambda said: said.update(purpose="another")),
    "a belief": ("statement.json", _lower_belief),
    "the total": ("statement.json", _smaller_epsilon),
    "the account": ("statement.json", _less_spent),
    "the unit": ("statement.json", lambda said: said["unit"].update(unit="record")),
    "the noise": ("statement.json", lambda said: said["mechanisms"][0].update(scale=9.0)),
    "the head": ("evidence.json", lambda said: said["chain"].pop()),
    "an entry": (
        "evidence.json",
        lambda said: said["chain"][1].update(body=said["chain"][1]["body"].replace("3", "4")),
    ),
    "the order": ("evidence.json", lambda said: said["chain"].reverse()),
    "an entry of others": (
        "evidence.json",
        lambda said: said["chain"][2].update(hash="0" * 64),
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_whatever_is_edited_by_hand_is_detected(pure: Made, tmp_path: Path, what: str) -> None:
    made = own_report(pure, tmp_path)[1]
    name, change = EDITS[what]
    edited(made.folder / name, change)
    rewritten(made.folder)  # even by someone who also writes the manifest anew
    code, out = verified(made.folder)
    assert code == 1
    assert "WRONG" in out


def test_the_page_and_a_missing_file_are_detected(pure: Made, tmp_path: Path) -> None:
    made = own_report(pure, tmp_path)[1]
    made.html.write_text(made.html.read_text().replace("62 in 100", "12 in 100"))
    assert "WRONG file report.html was changed" in verified(made.folder)[1]
    (made.folder / "released" / "table.csv").unlink()
    assert "WRONG file released/table.csv is missing" in verified(made.folder)[1]
    (made.folder / "statement.json").write_text("no JSON")
    code, out = verified(made.folder)
    assert code == 1
    assert "cannot be read" in out


def test_a_head_kept_elsewhere_is_looked_for(pure: Made, tmp_path: Path) -> None:
    made = own_report(pure, tmp_path)[1]
    head = made.statement.facts["spending"]["head"]
    assert verified(made.folder, "--head", head)[0] == 0
    assert verified(made.folder, "--head", "f" * 64)[0] == 1


def test_other_accounts_are_not_told(pure: Made) -> None:
    made = reported(pure)[1]
    for path in made.files:
        text = path.read_text(encoding="utf-8", errors="replace")
        for secret in ("not to be told", "someone else", "secret"):
            assert secret not in text, f"{secret!r} in {path.name}"


def test_the_verifier_imports_nothing_but_the_standard_library() -> None:
    spec = importlib.util.find_spec("discreet.reports.verifier")
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    imported = set(re.findall(r"^\s*(?:import|from) ([a-z_0-9]+)", text, re.M)) - {"__future__"}
    assert imported <= sys.stdlib_module_names


class Page(HTMLParser):
    """What a page holds: tags, their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


# -- what is on a page and is not seen, or is seen and not on it


HIDDEN = "dd{font-size:0} dd::after{content:'ε = 0.050000'} .plain li:first-child{display:none}"
PAGES: dict[str, tuple[str, str, str]] = {
    "another style": ("report.html", "</style>", f"{HIDDEN}</style>"),
    "a second style": ("report.html", "<main>", f"<style>{HIDDEN}</style><main>"),
    "an attribute": ("report.html", '<p class="statement">', '<p class="statement" hidden>'),
    "an inline style": ("report.html", "<dd>", '<dd style="font-size:0">'),
    "a link": ("report.html", "</head>", '<link rel="stylesheet" href="x.css"></head>'),
    "a script": ("report.html", "</body>", "<script>document.title=1</script></body>"),
    "a handler": ("report.html", "<main>", '<main onclick="x()">'),
    "a template": ("report.html", "<h3>", "<template><h3>"),
    "a comment": ("report.html", '<ul class="plain">', '<!-- > --><ul class="plain">'),
    "an open comment": ("report.html", '<ul class="plain">', '<!-- > <ul class="plain">'),
    "a skip link left open": ("report.html", "</a>\n<header>", "\n<header>"),
    "a link elsewhere": ("report.html", 'href="#facts"', 'href="https://example.org"'),
    "a drawing elsewhere": ("report.html", "<main>", "<main><svg></svg>"),
    "another drawing": ("report.html", "</svg>", "<foreignObject></foreignObject></svg>"),
    "a drawing that moves": ("report.html", 'class="marks"', 'class="marks" transform="scale(9)"'),
    "a refresh": ("report.html", "<title>", '<meta http-equiv="refresh" content="0"><title>'),
    "another policy": ("report.html", "default-src 'none'", "default-src *"),
    "letters backwards": ("report.html", "<h3>", "<h3>\u202e"),
    "letters backwards by name": ("report.html", "<h3>", "<h3>&#8238;"),
    "another look for one": ("participant.html", "</style>", f"{HIDDEN}</style>"),
    "another script": ("participant.html", "<script>", "<script>alert(1);"),
    "one more script": ("participant.html", "<main>", "<main><script>alert(1)</script>"),
    "text that is written over": ("participant.html", '<h2 id="open">', '<h2 id="figures">'),
    "tags in Markdown": ("statement.md", "## ", "<span hidden>x</span>\n## "),
    "a comment in Markdown": ("statement.md", "## ", "[x]: # (hidden)\n## "),
    "a picture in Markdown": ("statement.md", "## ", "![x](https://example.org/x.png)\n## "),
}  # fmt: skip


@pytest.mark.parametrize("what", PAGES)
def test_a_page_with_another_style_script_or_tag_is_found(
    pure: Made, tmp_path: Path, what: str
) -> None:
    found = own_report(pure, tmp_path)[1]
    name, before, after = PAGES[what]
    path = found.folder / name
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    rewritten(found.folder)
    assert any(
        line.startswith(f"{name} has ")
        for line in verifier.examined(found.folder).answer()["problems"]
    )


@pytest.mark.parametrize("place", ["nav", "skip", "svg", "title"])
def test_a_promise_where_readers_may_not_see_it_is_no_promise_told(
    pure: Made, tmp_path: Path, place: str
) -> None:
    """Links by keyboard, what is not printed and texts of drawings are not looked at."""
    found = own_report(pure, tmp_path)[1]
    sentence = found.statement.facts["promises"][0]["sentence"]
    text = found.html.read_text(encoding="utf-8").replace(sentence, "We promise much.")
    at = {"nav": '<nav aria-label="Contents"><ul>', "skip": '<a class="skip" href="#facts">'}
    at |= {"svg": 'text-anchor="start"', "title": "<title>"}
    where = text.index(at[place]) + len(at[place])
    where = text.index(">", where) + 1 if place == "svg" else where
    said = f"<li>{sentence}</li>" if place == "nav" else sentence
    found.html.write_text(text[:where] + said * 9 + text[where:], encoding="utf-8")
    rewritten(found.folder)
    told = verifier.examined(found.folder).answer()["problems"]
    assert any("the same sentence everywhere" in line for line in told)
    assert not any("report.html has the style" in line for line in told)


def test_the_verifier_knows_the_looks_of_our_pages() -> None:
    """Whoever edits these files writes their new hash into the verifier."""
    folder = Path(verifier.__file__).parent

    def hashed(*names: str) -> str:
        return verifier.sha256(b"".join((folder / name).read_bytes() for name in names))

    assert verifier.LOOKS["report.html"] == hashed("report.css")
    looks = hashed("report.css", "figures.css", "participant.css")
    assert verifier.LOOKS["participant.html"] == looks
    assert hashed("figures.js", "participant.js") == verifier.SCRIPT


# -- the page


def test_the_page_needs_no_network_and_no_script(any_release: Made) -> None:
    text = reported(any_release)[1].html.read_text(encoding="utf-8")
    page = Page(text)
    used = {tag for tag, _ in page.tags}
    assert not used & {"script", "link", "img", "iframe", "object", "embed", "video", "form"}
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src", "xlink:href", "action"):
                assert str(value).startswith("#") or value == "participant.html"
    style = re.sub(r"<[^>]*>", "", text[text.index("<style>") : text.index("</style>")])
    assert "url(" not in style
    assert "@import" not in style
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_a_file_that_promises_nothing_is_reported_as_that(chosen: tuple[Made, Made]) -> None:
    none, some = (reported(one)[1] for one in chosen)
    text = Page(none.html.read_text(encoding="utf-8")).text
    assert "in 100" not in text
    assert "by looking at the original data" in text
    assert verified(none.folder)[0] == 0
    assert "Files without a promise" in some.html.read_text(encoding="utf-8")
    assert verified(some.folder)[0] == 0


def test_what_people_wrote_cannot_break_out_of_its_place(planned: Made) -> None:
    made = reported(planned)[1]
    page = Page(made.html.read_text(encoding="utf-8"))
    assert not {"script", "i"} & {tag for tag, _ in page.tags}
    assert "<script>alert(1)</script> & |pipes|" in page.text
    assert "one combination of person and county" in page.text
    rows = [
        line for line in (made.folder / "statement.md").read_text().splitlines() if "alert" in line
    ]
    assert rows
    assert all("<script" not in line for line in rows)


def test_every_chart_has_a_table_beside_it(any_release: Made) -> None:
    text = reported(any_release)[1].html.read_text(encoding="utf-8")
    figures = re.findall(r"<figure.*?</figure>", text, re.S)
    assert len(figures) >= 3
    for figure in figures:
        assert "<svg" in figure
        assert "<table>" in figure
        assert '<th scope="col"' in figure


def test_the_page_shows_the_facts(pure: Made) -> None:
    text = Page(reported(pure)[1].html.read_text(encoding="utf-8")).text
    for fact in (
        "one person",
        "1.29928298413026",  # in the figures of its promise: six would seem to pass it
        "it holds for every possible output",
        "62 in 100",
    ):
        assert fact in text
    assert "What is not protected" in text
    assert "Visits by county" in text


def test_what_rho_implies_counts_the_delta_beside_it(concentrated: Made, tmp_path: Path) -> None:
    """ρ was said to equal (ε, δ); with δ spent on keys, the implied δ left that out."""
    text = Page(reported(concentrated)[1].html.read_text(encoding="utf-8")).text
    assert re.search(r"implies ε = [0-9.]+ at δ = 1e-06", text)
    opened(tmp_path, filter="zcdp", cap=Amount.of(rho=0.5, delta=1e-4))
    found = {"count": "rows", "by": ["county"], "keys": {"discover": {"delta": 1e-5}}}
    spec = BASE | {"statistics": [found], "tolerance": {"ratio": 3, "confidence": 0.99}}
    text = Page(reported(made(tmp_path, spec))[1].html.read_text(encoding="utf-8")).text
    assert re.search(r"implies ε = [0-9.]+ at δ = 1\.1e-05", text)


def test_every_figure_on_page_one_is_the_stored_releases(pure: Made) -> None:
    """Change the statement's numbers, one at a time: each figure on page one moves with one."""
    from dataclasses import replace

    from discreet.reports.facts import statement
    from discreet.reports.page import _facts
    from discreet.reports.stored import find
    from discreet.statements.tables import lines_of

    stated = statement(find(pure.release_id, ledger=pure.ledger))
    keys = ("guarantee", "spending", "risk", "contribution_bounds", "promises", "learned")

    def text(facts: dict[str, Any]) -> str:
        spending = stated.facts["spending"] | facts["spending"]
        changed = replace(stated, facts={**stated.facts, **facts, "spending": spending})
        shown = _facts(changed, lines_of(changed.facts))
        # δ = 0 of pure DP is what the variant means, and no number of its own.
        return Page(shown).text.replace("δ of this release0", "")

    some = {key: stated.facts[key] for key in keys}
    names = ("account_now", "cap", "remaining", "approvals")
    some["spending"] = {name: some["spending"][name] for name in names}
    # Two statistics with the same bounds are said in one: keep one of them.
    some["contribution_bounds"] = dict([*some["contribution_bounds"].items()][:1])
    some["promises"] = [
        {name: one[name] for name in ("sentence", "keys")} for one in some["promises"]
    ]

    assert untraced(text, some) == []


def test_page_one_tells_who_approved_and_every_raise_of_the_cap(tmp_path: Path) -> None:
    """And the verifier compares names, days, reasons and amounts with the ledger's entries."""
    ledger = opened(tmp_path)
    reason = "second year; more | <tables>"
    ledger.grant("people", add=PureDP(0.2), approver="B. Board", reason=reason)
    folder = written(made(tmp_path, BASE | {"budget": {"epsilon": 0.5}})).folder
    day = ledger.entries()[1].at[:10]
    raised = f"cap raised by ε = 0.2 on {day} by B. Board: {reason}"
    opening = f"account opened on {day}: test"
    page = Page((folder / "report.html").read_text(encoding="utf-8")).text
    assert f"Cap approved by A. Approver; {opening}; {raised}What may be learned" in page
    text = (folder / "statement.md").read_text(encoding="utf-8")
    assert f"- **Approved by**: A. Approver; {opening}; {verifier.flat(raised)}\n" in text
    facts = json.loads((folder / "statement.json").read_text(encoding="utf-8"))["spending"]
    assert [row["kind"] for row in facts["approvals"]] == ["open", "grant"]
    assert facts["approvals"][0]["cap"]["epsilon"] == 3
    assert facts["approvals"][1]["add"]["epsilon"] == 0.2
    assert verifier.examined(folder).answer()["problems"] == []
    for name in ("report.html", "statement.md"):
        path = folder / name
        before = re.sub('<span class="whole">([^<]*)</span>', r"\1", path.read_text("utf-8"))
        for old, new in (
            ("raised by ε = 0.2", "raised by ε = 0.1"),
            ("B. Board", "C. Other"),
            ("A. Approver", "C. Other"),
            (f"opened on {day}", "opened on 2001-01-01"),
            ("second year", "first year"),
            ("pproved by", "sked of"),
            (before[before.index("; cap raised by") : before.index("tables") + 6], ""),
        ):
            assert old in before
            path.write_text(before.replace(old, new), encoding="utf-8")
            rewritten(folder)
            (told,) = verifier.examined(folder).answer()["problems"]
            assert told.endswith(f"{name} tells who approved the account, and raises of its cap")
        path.write_text(before, encoding="utf-8")
    # Of an account that was opened with a promise: who approved that too.
    (tmp_path / "other").mkdir()
    promise = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    opened(tmp_path / "other", promise=promise)
    one = made(tmp_path / "other", BASE)
    page = Page(written(one).html.read_text(encoding="utf-8")).text
    assert "Promise and cap approved by A. Approver; account opened" in page


def test_the_page_has_the_name_of_the_publication_and_leaves_out_nothing_by_no_confidence(
    pure: Made, approximate: Made
) -> None:
    text = Page(written(pure).html.read_text(encoding="utf-8")).text
    assert f"{BASE['about']['name']} · Release {pure.release_id}" in text
    assert "Left out by" not in text
    assert "Left out by the confidence: Of " in Page(written(approximate).html.read_text()).text


def test_what_rounding_left_over_is_told_as_nothing(tmp_path: Path) -> None:
    """Three thirds of a promise leave a crumb that nobody could spend."""
    keys = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("people", promise=keys, approver="A", reason="R", **terms)
    spec = BASE | {"statistics": [COUNT], "series": {"releases": 3}}
    found = [made(tmp_path, spec) for _ in range(3)][-1]
    account = ledger.show("people").account
    assert account.remaining is not None
    assert 0 < account.remaining.lead < 1e-12
    report = written(found)
    text = Page(report.html.read_text(encoding="utf-8")).text
    assert "May still be spentε = 0within the cap, ε = " in text
    assert "e-1" not in text
    assert "remaining: ε = 0." in report.statement.facts["texts"]["regulator"]


def test_no_amount_in_a_report_seems_to_pass_a_cap_that_is_used_up(tmp_path: Path) -> None:
    keys = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger.open_account("people", promise=keys, approver="A", reason="R", **terms)
    found = made(tmp_path, BASE | {"statistics": [COUNT], "tolerance": keys})
    of_release = written(found)
    page = Page(of_release.html.read_text(encoding="utf-8")).text
    whole = report(account="people", ledger=found.ledger, output=tmp_path / "account")
    texts = [
        page,
        (of_release.folder / "statement.md").read_text(encoding="utf-8"),
        (of_release.folder / "released/statement.md").read_text(encoding="utf-8"),
        Page(whole.html.read_text(encoding="utf-8")).text,
        (whole.folder / "statement.md").read_text(encoding="utf-8"),
    ]
    for text in texts:
        starts = re.findall(r"^\| (\d+) % \|", text, re.MULTILINE)
        assert starts == sorted(starts[:5], key=int) + sorted(starts[5:], key=int)
    (cap,) = {*re.findall(r"the cap, ε = ([\d.]+\d)", page)}
    for text in texts:
        assert {*re.findall(r"ε = ([\d.]+\d|0\b)", text)} <= {cap, "0"}
        assert "0.952009" not in text


def test_a_series_is_told_where_it_stands(concentrated: Made) -> None:
    text = Page(written(concentrated).html.read_text(encoding="utf-8")).text
    assert "This is number 2 of 4 that we plan to publish." in text
    now, end = map(int, re.findall(r"at most (\d+) in 100", text.split("This is number 2")[1])[:2])
    both = explain(ZCDP(0.1), 0.3).posterior
    whole = explain(ZCDP(0.5), 0.3).posterior
    assert both is not None
    assert whole is not None
    assert now == math.ceil(100 * both.upper)
    # The cap allows more than the series, and a δ beside it.
    assert "If all that is approved is used, it can be at most" in text
    assert 0 <= end - math.ceil(100 * whole.upper) <= 1


def test_the_command(pure: Made) -> None:
    import typer

    from discreet.cli.reports import report as command

    app = typer.Typer(add_completion=False)
    app.command()(command)
    run = CliRunner().invoke(app, [pure.release_id, "--ledger", pure.ledger, "--json"])
    assert run.exit_code == 0, run.output
    said = json.loads(run.stdout)
    assert {Path(path).name for path in said["files"]} == NAMES
    assert all(Path(path).is_file() and Path(path).is_absolute() for path in said["files"])
    plain = CliRunner().invoke(app, [pure.release_id, "--output", str(pure.output)])
    assert "python3 -I" in plain.stdout
    assert f"(verify --head): {said['statement']['spending']['head']}\n" in plain.stdout


def test_a_release_is_found_by_its_own_folder(
    pure: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pure.copied(tmp_path)
    by_id = report(made.release_id, output=made.output)
    monkeypatch.chdir(made.folder.parent.parent)
    by_folder = report(f"{made.folder.parent.name}/{made.release_id}/")
    assert (by_folder.html, by_folder.manifest) == (by_id.html, by_id.manifest)
    app = typer.Typer()
    app.command()(report_command)
    said = CliRunner().invoke(app, [str(made.folder), "--ledger", made.ledger])
    assert f"Report of release {made.release_id}:" in said.stdout
    for wrong in (made.folder.parent.name, "out/nothing"):
        with pytest.raises(InputError, match="neither a folder"):
            report(wrong)


def test_no_link_that_someone_put_into_the_folder_is_followed(pure: Made, tmp_path: Path) -> None:
    """Who may write to the folder must not write, by our hand, where only we may."""
    made, mine = pure.copied(tmp_path), tmp_path / "mine"
    mine.mkdir()
    (mine / "kept").write_text("kept")
    folder = made.folder / "report"
    folder.mkdir(exist_ok=True)
    for name in (".report.html.tmp", "statement.md"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(mine / "kept")
    report(made.release_id, output=made.output)
    assert (mine / "kept").read_text() == "kept"
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    shutil.rmtree(folder / "released")
    (folder / "released").symlink_to(mine)
    with pytest.raises(InputError, match="cannot be written"):
        report(made.release_id, output=made.output)
    assert [path.name for path in mine.iterdir()] == ["kept"]


def test_the_report_can_be_read_on_paper_and_by_everyone(tmp_path: Path) -> None:
    """Intervals are printed, each bias once, bounds in a sentence, priors in words, one scale."""
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    terms = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    keys = {"posterior": 0.12, "p": 0.05, "about": "membership"}
    ledger.open_account("people", promise=keys, approver="A", reason="R", **terms)
    about = {"by": COUNT["by"], "keys": COUNT["keys"]}
    cost = {"bounds": [0, 100], "resolution": 1} | about
    statistics = [{"count": "units"} | about, {"mean": "cost"} | cost, {"median": "cost"} | cost]
    one = made(tmp_path, BASE | {"statistics": statistics})
    report = written(one)
    html, facts = report.html.read_text(encoding="utf-8"), report.statement.facts
    table = evenly(report.statement.stored.said["table"])
    rows = list(zip(table["interval_low"], table["interval_high"], strict=True))
    assert len(rows) == 9
    for low, high in rows:
        assert f"<small>{low} to {high}</small>" in html
    assert "title=" not in re.sub(r"<svg.*?</svg>", "", html, flags=re.S)
    biases = [bias["text"] for bias in facts["biases"]]
    assert len(set(biases)) == len(biases)
    assert sum("outside 0 to 100" in text for text in biases) == 1
    text = Page(html).text
    assert re.search(r"at most \d+ rows? in all, [^;:]*\(count_units_1\)", text)
    for page in (text, markdown(report.statement)):
        assert "someone who puts the chance that one person is in the data at 5 %" in page
        assert not re.search(r"\b[pq] = [\d.]", page)
    # One prior and what joining makes of it, on one scale: 1 % did not become "2 in 100".
    joined = {row["p"]: row["joined"] for row in facts["risk"]["beliefs"] if row["joined"]}
    assert f"1 %{math.ceil(1000 * joined[0.01] - 1e-9) / 10:g} %" in text.replace("\n", "")
