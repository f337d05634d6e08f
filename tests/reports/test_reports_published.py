"""Published deployments: never without the unit, each with a source, read as beliefs."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import typer
from tracing import untraced
from typer.testing import CliRunner

from discreet.cli.reports import deployments as command
from discreet.errors import InputError
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
    for row in said["deployments"]:
        assert row["unit"] in plain
        assert row["source"] in plain


@pytest.mark.parametrize(
    "which", ["pure", "approximate", "concentrated", "mixed", "records", "planned"]
)
def test_ones_own_release_stands_beside_the_others(
    which: str, request: pytest.FixtureRequest
) -> None:
    made = request.getfixturevalue(which)
    where = {"ledger": f"sqlite:///{made.home}/ledger.db", "output": made.home / "out"}
    *known, release, account = deployments(0.5, release=made.release_id, **where)
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
