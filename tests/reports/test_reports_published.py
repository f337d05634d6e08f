"""Published deployments: never without the unit, each with a source, read as beliefs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import typer
from stories import own_report
from tracing import untraced
from typer.testing import CliRunner

from discreet.cli.reports import deployments as command
from discreet.errors import InputError
from discreet.reports.folder import report
from discreet.reports.published import deployments
from discreet.statements.presenter import amount_text


def test_the_three_that_everyone_cites_are_there() -> None:
    found = {one.name: one.to_dict() for one in deployments(0.5)}
    assert found["OnTheMap"]["epsilon"] == 8.6
    assert found["iOS 10.1.1"]["epsilon"] == 14
    assert found["2020 Census redistricting data, persons"]["epsilon"] == 17.14
    assert len(found) >= 10


@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5])
def test_each_is_read_as_the_belief_of_its_budget(prior: float) -> None:
    for one in deployments(prior):
        said = one.to_dict()
        assert said["unit"]
        assert said["unit"] in said["text"]
        assert len(said["source"]) > 30
        if said["kind"] == "pure":
            odds = prior / (1 - prior) * math.exp(said["epsilon"])
            assert said["posterior"] == pytest.approx(odds / (1 + odds), rel=1e-12)
            assert said["holds_with"] == 1
        else:
            assert said["holds_with"] < 1


def test_every_numeral_of_a_sentence_comes_from_the_deployment() -> None:
    for one in deployments(0.3):
        assert untraced(lambda d: d.text, one) == []


def test_where_no_bound_holds_it_says_so() -> None:
    sure = {one.name: one for one in deployments(0.5, confidence=0.999999999)}
    assert "no bound" in sure["Audience engagement API"].text
    assert sure["Audience engagement API"].to_dict()["posterior"] is None
    with pytest.raises(InputError, match="probability"):
        deployments(1.5)


def test_the_command() -> None:
    app = typer.Typer(add_completion=False)
    app.command()(command)
    run = CliRunner().invoke(app, ["--prior", "0.3", "--json"])
    assert run.exit_code == 0, run.output
    said = json.loads(run.stdout)
    assert {"prior", "deployments"} <= said.keys()
    assert all(row["unit"] and row["source"] for row in said["deployments"])
    plain = CliRunner().invoke(app, []).stdout
    lines = plain.splitlines()
    assert lines[0].split()[-7:] == ["about", "from", "0.5", "to", "at", "most", "holds"]
    assert "that the unit is in the data" in plain
    for line, row in zip(lines[1:], said["deployments"], strict=False):
        assert line.endswith("  always") == (row["holds_with"] == 1)
        assert ("  a value  " in line) == (row["adjacency"] in ("replace", "local"))
    assert any(line.endswith("  99 %") for line in lines)
    for row in said["deployments"]:
        assert row["unit"] in plain
        assert row["source"] in plain


def told_apart(found: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the published ones, one's own, and one's own about a value beside being in."""
    many = len(deployments(0.5))
    known, own = found[:many], found[many:]
    values = [one for one in own if (one.about, one.adjacency) == ("value", "add-remove")]
    return list(known), [one for one in own if one not in values], values


def test_an_account_has_a_row_to_compare_with_each_published_bound(pure: Any) -> None:
    """On being in the data, and on a value, which pure DP bounds with two steps."""
    found = deployments(0.5, release=pure.release_id, ledger=pure.ledger)
    *_, being_in, value = found
    assert being_in.name == value.name == "account people, all so far"
    assert (being_in.about, value.about) == ("membership", "value")
    epsilon = being_in.to_dict()["epsilon"]
    for one, steps in ((being_in, 1), (value, 2)):
        odds = math.exp(steps * epsilon)
        assert one.belief is not None
        assert one.belief.posterior.upper == pytest.approx(odds / (1 + odds), rel=1e-12)
        assert (", about a value, from " in one.text) == (steps == 2)
    app = typer.Typer(add_completion=False)
    app.command()(command)
    flags = ["--with", pure.release_id, "--ledger", pure.ledger]
    lines = CliRunner().invoke(app, flags).stdout.splitlines()
    rows = [line for line in lines if "account people, all so far" in line]
    assert ["  a value  " in line for line in rows] == [False, True]
    assert {one.about for one in found if one.adjacency in ("replace", "local")} == {"value"}


@pytest.mark.parametrize(
    "which", ["pure", "approximate", "concentrated", "mixed", "records", "planned"]
)
def test_ones_own_release_stands_beside_the_others(
    which: str, request: pytest.FixtureRequest
) -> None:
    made = request.getfixturevalue(which)
    where = {"ledger": f"sqlite:///{made.home}/ledger.db", "output": made.home / "out"}
    known, (release, account), values = told_apart(
        deployments(0.5, release=made.release_id, **where)
    )
    assert [one.name for one in values] == [one.name for one in (release, account)] * bool(values)
    assert [one.name for one in known] == [one.name for one in deployments(0.5)]
    assert made.release_id in release.name
    assert release.unit == account.unit
    stated = json.loads((made.home / "out" / made.release_id / "release.json").read_text())
    published = stated["spec"].get("publication") or stated["spec"].get("about") or {}
    assert release.curator == (", ".join(published.get("curators", ())) or stated["account"])
    assert release.belief is not None
    assert account.belief is not None
    assert account.belief.posterior.upper >= release.belief.posterior.upper * (1 - 1e-12)
    app = typer.Typer(add_completion=False)
    app.command()(command)
    flags = [
        "--with",
        made.release_id,
        "--ledger",
        where["ledger"],
        "--output",
        str(where["output"]),
    ]
    run = CliRunner().invoke(app, flags)
    assert run.exit_code == 0, run.output
    assert f"this release, {made.release_id}" in run.stdout
    if which == "mixed":
        return  # told as (ε, δ), which has a belief
    # The account's budget is the one that its statement tells: what was spent is rounded up.
    spent = {name: stated["account_spent"][name] or None for name in ("epsilon", "delta", "rho")}
    assert amount_text(spent, "up") in run.stdout
    assert "[1] The epsilon is the one" in run.stdout


def test_what_has_no_guarantee_is_not_compared(chosen: tuple[Any, Any]) -> None:
    without, _ = chosen
    with pytest.raises(InputError, match="no guarantee"):
        deployments(0.5, release=without.release_id, ledger=f"sqlite:///{without.home}/ledger.db")


@pytest.mark.parametrize("which", ["pure", "approximate", "concentrated", "mixed", "records"])
def test_the_folder_of_a_report_is_all_that_is_needed(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """As a regulator has it: without the ledger and the release."""
    made, found = own_report(request.getfixturevalue(which), tmp_path)
    _, (_, account), values = told_apart(
        deployments(0.3, release=made.release_id, ledger=made.ledger)
    )
    known, (own, reported), same = told_apart(deployments(0.3, release=str(found.folder)))
    assert [one.text for one in same] == [one.text for one in values]
    assert len(known) == len(deployments(0.3))
    assert made.release_id in own.name
    for one in (own, reported):
        assert (one.unit, one.curator) == (account.unit, account.curator)
        assert str(found.folder) in one.source
    assert reported.text == account.text
    assert own.belief is not None
    of_account = report(account="people", ledger=made.ledger, output=tmp_path).folder
    rest, (alone,), same = told_apart(deployments(0.3, release=str(of_account)))
    assert (len(rest), alone.text) == (len(known), account.text)
    assert [one.text for one in same] == [one.text for one in values[1:]]
    (of_account / "statement.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="not the statement of a report"):
        deployments(0.3, release=str(of_account))


def test_the_report_of_what_has_no_guarantee_is_not_compared(
    chosen: tuple[Any, Any], tmp_path: Path
) -> None:
    without, some = (
        own_report(one, tmp_path / name)[1] for one, name in zip(chosen, "ab", strict=True)
    )
    with pytest.raises(InputError, match="no guarantee"):
        deployments(0.5, release=str(without.folder))
    *_, last = deployments(0.5, release=str(some.folder))
    assert "this release" in last.name  # the account paid for a file without a promise


def test_the_list_says_what_is_in_it() -> None:
    """It could be taken for the public registry."""
    app = typer.Typer(add_completion=False)
    app.command()(command)
    shown = CliRunner().invoke(app, []).stdout
    assert shown.count("This list is a selection: ") == 1
    said = json.loads(CliRunner().invoke(app, ["--json"]).stdout)
    assert said["selection"] in shown
