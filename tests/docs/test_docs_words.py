"""Lists on the pages are complete: screens, rooms, exit codes, commands, extras."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

import discreet
from discreet import PureDP, errors, explain
from discreet.cli import _COMMANDS, _app
from discreet.promises.keys import promise_keys
from discreet.releases.spec import Protect, Spec
from discreet.releases.statistics.quantile import MOST_CANDIDATES
from discreet.releases.statistics.quantiles import MOST_LEAVES
from discreet.reports import sentence
from discreet.reports.sentences import answer
from discreet.web.screens import SCREENS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_page_on_the_page_names_every_screen() -> None:
    named = re.findall(r"^\| \*\*(\w+)\*\* \|", text("page.md"), re.M)
    assert named == [screen.label for screen in SCREENS]


def test_the_house_has_every_room() -> None:
    source = Path(discreet.__file__).parent
    rooms = {path.name for path in source.iterdir() if (path / "__init__.py").exists()}
    table = text("house.md").split("## The rooms")[1].split("##")[0]
    assert rooms <= set(re.findall(r"`(\w+)`", table))


def test_the_exit_codes_of_the_guide_are_those_of_the_errors() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d) \| ", text("guides/engineer.md"), re.M)}
    assert codes == {0, 1} | {getattr(errors, name).exit_code for name in errors.__all__}


def test_the_parts_of_a_promise_are_all_its_keys() -> None:
    table = text("concepts.md").split("## The parts of a promise")[1].split("```")[0]
    named = set(re.findall(r"`(\w+)", table)) - {"membership", "value", "both", "two", "one"}
    # `values_known` is an older name; `add-remove` is a value
    assert named - {"add"} == promise_keys() - {"values_known"}


def test_the_keys_of_a_promise_are_flags_wherever_one_is_made() -> None:
    group = get_command(_app)
    context = group.make_context("discreet", [], resilient_parsing=True)
    ledger = group.get_command(context, "ledger")
    where = [group.get_command(context, name) for name in ("choose", "plan", "horizon")]
    where.append(ledger.get_command(context, "open"))
    keys = promise_keys() - {"all", "groups", "values_known"}
    flags = {f"--{key.replace('_', '-')}" for key in keys}
    for command in where:
        given = {flag for param in command.get_params(context) for flag in param.opts}
        assert flags | {"--prior", "--file"} <= given, command.name


def test_what_a_spec_may_say_is_on_its_page() -> None:
    named = set(re.findall(r"`(\w+)", text("spec.md")))
    assert set(Spec.model_fields) | set(Protect.model_fields) <= named


def test_commands_that_pages_name_exist() -> None:
    for page in DOCS.rglob("*.md"):
        named = set(re.findall(r"`discreet ([a-z]+)", page.read_text(encoding="utf-8")))
        assert named <= set(_COMMANDS), (page.name, named - set(_COMMANDS))


def test_limits_of_multiples_are_those_of_the_code() -> None:
    rows = text("spec.md").splitlines()
    known = {"quantile": MOST_CANDIDATES, "quantiles": MOST_LEAVES, "median": MOST_LEAVES}
    for kind, most in known.items():
        (row,) = (row for row in rows if row.startswith(f"| `{kind}:"))
        assert f"at most {most:,}" in row


def test_no_command_counts_on_a_folder_with_one_release() -> None:
    """From the second release on `discreet report $(ls out)` has two arguments, and fails."""
    for page in DOCS.rglob("*.md"):
        assert "$(ls out)" not in page.read_text(encoding="utf-8"), page.name


def test_every_page_is_short_and_has_one_title() -> None:
    for page in DOCS.rglob("*.md"):
        lines = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S).splitlines()
        assert sum(line.startswith("# ") for line in lines) == 1, page.name
        read = [line for line in lines if not line.startswith("|")]  # tables are looked up in
        assert len(read) <= 260, page.name


def test_pages_that_the_site_links_to_files_beside_it_are_there() -> None:
    for page in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\((\.\./[A-Z]+\.md)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def test_what_the_participant_is_told_is_what_is_said() -> None:
    quotes = re.findall(r"(?:^> .*\n)+", text("guides/participant.md"), re.M)
    told = [re.sub(r"\s*\n> |^> ", " ", quote).strip() for quote in quotes]
    promise = PureDP(0.5)
    said = sentence(explain(promise, 0.3), "public") + answer(explain(promise, 0.6), you=True).text
    assert len(told) == 3
    for quote in told:
        assert quote in said, quote
