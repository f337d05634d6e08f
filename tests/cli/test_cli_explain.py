"""`discreet explain`: which comparison a number belongs to."""

from __future__ import annotations

import typer
from typer.testing import CliRunner

from discreet.cli.explain import explain


def test_joining_is_told_apart_from_before_and_after() -> None:
    """The same ε gives several numbers for 30 in 100: a sentence says how they differ."""
    app = typer.Typer()
    app.command()(explain)
    shown = CliRunner().invoke(app, ["--epsilon", "0.5", "--join"]).stdout
    assert "Another comparison is with one person in or left out" in shown
    assert "30 %                  53.82 %" in shown
