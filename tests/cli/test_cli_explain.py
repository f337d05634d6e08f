"""`discreet explain`: which comparison a number belongs to."""

from __future__ import annotations

import typer
from typer.testing import CliRunner

from discreet.cli.explain import explain
from discreet.errors import InputError


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
    assert "--p 1 --q 0.3" in refused.on_the_command_line


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
