"""`discreet explain`: which comparison a number belongs to."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import discreet
from discreet.cli.explain import explain
from discreet.errors import InputError
from discreet.guarantees import PureDP


def test_without_a_prior_it_says_what_it_is_about() -> None:
    """All priors of being in the data: a value is two steps away, and that was not said."""
    app = typer.Typer()
    app.command()(explain)
    for flags in (["--epsilon", "0.5"], ["--rho", "0.1"]):
        shown = CliRunner().invoke(app, flags).stdout
        assert "about being in the data, with the value known (q = 1)" in shown
        told = CliRunner().invoke(app, [*flags, "--prior", "0.3"]).stdout
        assert "two steps count" not in told


def test_joining_is_told_apart_from_before_and_after() -> None:
    """The same ε gives several numbers for 30 in 100: a sentence says how they differ."""
    app = typer.Typer()
    app.command()(explain)
    shown = CliRunner().invoke(app, ["--epsilon", "0.5", "--join"]).stdout
    assert "Another comparison is with one person in or left out" in shown
    assert "30 %                  53.82 %" in shown


def test_a_value_without_being_in_the_data_is_told_what_to_add() -> None:
    """The message named other flags than were given, and no way on."""
    app = typer.Typer()
    app.command()(explain)
    refused = CliRunner().invoke(app, ["--epsilon", "1", "--q", "0.3"]).exception
    assert isinstance(refused, InputError)
    assert "Give --about value --prior 0.3, which is --p 1 --q 0.3" in refused.on_the_command_line


def test_the_first_sentence_on_a_value_says_that_being_in_is_known() -> None:
    """The bound is for someone who is known to be in; where everyone is, that goes without."""
    app = typer.Typer()
    app.command()(explain)
    flags = ["--epsilon", "0.5", "--about", "value", "--prior", "0.1"]
    for audience in ("public", "technical", "regulator"):
        told = CliRunner().invoke(app, [*flags, "--audience", audience]).stdout
        assert "that one person, known to be in the data, has the sensitive value" in told
        worst = [line for line in told.splitlines() if "Over all priors" in line]
        assert not worst  # at that prior of the value alone
    told = CliRunner().invoke(app, [*flags, "--audience", "technical"]).stdout
    assert "At this prior of the value, the ratio is worst at" in told
    assert "p = 1, if q stays 0.1" in told
    told = CliRunner().invoke(
        app, ["--epsilon", "0.5", "--prior", "0.1", "--audience", "technical"]
    )
    assert "Over all priors the ratio is worst at p = 0" in told.stdout
    told = CliRunner().invoke(app, [*flags, "--adjacency", "replace"]).stdout
    assert "that one person has the sensitive value" in told
    both = ["--epsilon", "0.5", "--p", "0.5", "--q", "0.1"]
    told = CliRunner().invoke(app, both).stdout
    assert "that one person is in the data and has the sensitive value" in told


def test_what_is_guessed_can_be_said_as_in_a_promise() -> None:
    app = typer.Typer()
    app.command()(explain)

    def run(*flags: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["--epsilon", "0.5", *flags])
        return done.exit_code, done.stdout if done.exit_code == 0 else str(done.exception)

    for given in (("--prior", "0.3"), ("--value-prior", "0.3")):
        assert run("--about", "value", *given) == run("--prior", "1", "--value-prior", "0.3")
    assert run("--about", "membership", "--prior", "0.3") == run("--prior", "0.3")
    for wrong in (
        ("value",),
        ("value", "--prior", "0.3", "--value-prior", "0.2"),
        ("both", "--prior", "0.3"),
        ("membership", "--prior", "0.3", "--value-prior", "0.2"),
    ):
        code, told = run("--about", *wrong)
        assert code != 0
        assert "What is guessed" in told
    assert "membership, value or both" in run("--about", "values")[1]


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ([], "one person"),
        (["--unit-name", "one aircraft"], "one aircraft"),
        (["--unit", "record", "--unit-name", "one visit"], "one visit"),
        (["--unit", "household"], "one household"),
        (["--unit", "partition"], "one unit"),
        (["--unit", "one aircraft"], "one aircraft"),
    ],
)
def test_the_unit_is_named_with_the_flags_of_a_promise(flags: list[str], name: str) -> None:
    """There was no --unit-name, and --unit was the name here and the kind elsewhere."""
    app = typer.Typer()
    app.command()(explain)
    shown = CliRunner().invoke(app, ["--epsilon", "0.5", "--prior", "0.1", "--join", *flags]).stdout
    assert f"the chance is 10 in 100 that {name} is in the data" in shown
    assert f"Another comparison is with {name} in or left out" in shown
    pairs = zip(flags[::2], flags[1::2], strict=True)
    said: dict[str, Any] = {flag[2:].replace("-", "_"): value for flag, value in pairs}
    assert discreet.join(PureDP(0.5), **said).unit == name
    assert name in discreet.explain(PureDP(0.5), 0.1, **said).assumptions.unit
