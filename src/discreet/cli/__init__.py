"""The command line: a thin shell, no formula lives here.

Commands are loaded by name when they are asked for, so that `discreet choose` and `--help` start
without NumPy, engines or plotting. A command's code is `discreet.cli.<name>`: a function `command`,
or a Typer `app` for a group of them.

Exit codes: 0 done; 1 a check did not pass; 2 bad usage or input; 3 over budget; 4 refused by
policy; 5 a fault of ours; 128 + n stopped by signal n.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from discreet.cli.signals import Stopped, unwinding
from discreet.errors import DiscreetError

__all__ = ["main"]

# name -> the line that `discreet --help` shows
_COMMANDS = {
    "choose": "From a tolerance to the largest budget that keeps it.",
    "explain": "From a guarantee to what may be learned.",
    "compose": "What many releases add up to.",
    "horizon": "How many releases until a belief bound is passed.",
    "plan": "From a tolerance over a series to the budget of each release.",
    "init": "Write a commented spec to start from.",
    "release": "Make the release that a spec describes: charged first, drawn once.",
    "ledger": "The account of what was spent: open, grant, charge, plan, show, verify.",
    "report": "The report of a release: a page, the statement, a script that checks them.",
    "verify": "Check a report folder: its files, its account, its beliefs, its promises.",
    "audit": "Attack the release that a spec describes, on made-up data.",
    "synthesize": "A differentially private synthetic file from one spec, charged first.",
    "assess": "How sure an intruder could become of each record; confidential.",
    "deployments": "Published budgets, each with its unit and source, read as beliefs.",
    "serve": "The page: all of this in the browser, on this machine only.",
}


class _Lazy(TyperGroup):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"discreet.cli.{cmd_name}")
        app = getattr(module, "app", None)
        if app is None:
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(cmd_name)(module.command)
        command = get_command(app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


_app = typer.Typer(
    cls=_Lazy,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@_app.callback(
    help="How much may an adversary learn about one person from what we publish?",
    epilog="Exit codes: 0 done, 1 a check did not pass, 2 bad usage or input, 3 over budget, "
    "4 refused by policy, 5 a fault of ours.",
)
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; every way out is an exit code."""
    try:
        with unwinding():
            _app(args=None if argv is None else list(argv), prog_name="discreet")
    except Stopped as stopped:
        sys.stderr.write(f"discreet: {stopped}\n")
        sys.exit(stopped.exit_code)
    except DiscreetError as error:
        sys.stderr.write(f"discreet: {error}\n")
        sys.exit(error.exit_code)
    except Exception as error:
        if os.environ.get("DISCREET_DEBUG"):
            raise
        # The message of an unexpected error may hold a data value: name its kind and place only.
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = "" if place is None else f" at {place.tb_frame.f_code.co_name}:{place.tb_lineno}"
        sys.stderr.write(
            f"discreet: a fault of ours ({type(error).__name__}{where}). Nothing more was written. "
            "Please report it; DISCREET_DEBUG=1 shows the details, which may hold data.\n"
        )
        sys.exit(5)
