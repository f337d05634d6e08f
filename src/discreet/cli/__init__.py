"""The command line. It contains no formulas.

Commands are loaded by name when they are asked for, so that `discreet choose` and `--help` start
without NumPy, engines or plotting. A command is the function of its name in the file of that name,
or in the one that `_FILES` names it for; a group of them is a Typer `app`.

Exit codes: 0 done; 1 a check did not pass; 2 bad usage or input; 3 over budget; 4 refused by
policy; 5 an internal error; 128 + n stopped by signal n.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import StringIO
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from discreet.cli.output import as_text, emitted, progress
from discreet.cli.signals import Stopped, end_at_once, unwinding
from discreet.errors import DiscreetError, InternalError
from discreet.outside import load_from_outside
from discreet.words import catalogue, say

__all__ = ["loaded", "main"]

_WrongUsage: Any = typer.BadParameter.__mro__[2]  # ClickException, which Typer does not export
_TEXTS = catalogue().entry("commands")
_COMMANDS: dict[str, str] = _TEXTS["does"]  # with the line that `discreet --help` shows
_FILES = {
    "auditing": ("attack", "audit"),
    "choose": ("choose", "cost"),
    "release": ("check", "init", "rehearse", "release", "summarize"),
    "reports": ("deployments", "report", "table", "verify"),
    "series": ("horizon", "plan"),
    "synthetic": ("assess", "synthesize"),
}
_HOME = {name: file for file, names in _FILES.items() for name in names}


def loaded(name: str) -> Any:
    """Return the function of a command, or the `app` of a group of them."""
    module = import_module(f"discreet.cli.{_HOME.get(name, name)}")
    return getattr(module, "app", None) or getattr(module, name)


class _Lazy(TyperGroup):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        from discreet.cli.flags import refuse_twice

        app = loaded(cmd_name)
        if not isinstance(app, typer.Typer):
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(cmd_name)(app)
            app = single
        command = get_command(app)
        command.name = cmd_name
        for one in getattr(command, "commands", {"": command}).values():
            refuse_twice(one)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        names: Any = dict.fromkeys(_COMMANDS)
        self.commands = names  # of which only the names are used: to suggest the nearest
        return super().resolve_command(ctx, args)

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


@_app.callback(help=_TEXTS["about"], epilog=_TEXTS["exit_codes"])
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help=_TEXTS["version"]),
    ] = False,
) -> None:
    pass


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; every way out is an exit code, and one JSON object if it was asked."""
    if argv is not None:
        sys.exit(_exit_code(list(argv)))
    ended: list[int] = []
    atexit.register(end_at_once, ended)  # the first that is registered is the last that is run
    code = _exit_code(sys.argv[1:])
    ended.append(code or 0)
    sys.exit(code)


def _exit_code(arguments: list[str]) -> Any:
    before = emitted()

    def failed(code: int, message: str, error: dict[str, Any]) -> int:
        if "--json" in arguments and emitted() == before:
            sys.stdout.write(as_text({"error": error}) + "\n")
        progress.over(message)
        return code

    try:
        with unwinding():
            return _run(arguments)
    except Stopped as stopped:
        said = {"code": "stopped", "message": str(stopped), "next": None}
        return failed(stopped.exit_code, f"discreet: {stopped}\n", said)
    except typer.Abort:
        said = {"code": "aborted", "message": "Aborted!", "next": None}
        return failed(1, "Aborted!\n", said)
    except _WrongUsage as wrong:
        return failed(wrong.exit_code, _shown(wrong), _usage(wrong))
    except DiscreetError as error:
        following = {"next": error.flags or error.next}
        return failed(
            error.exit_code,
            f"discreet: {error.on_the_command_line}\n",
            error.to_dict() | following,
        )
    except Exception as error:
        if os.environ.get("DISCREET_DEBUG"):
            raise
        fault = InternalError("cli.fault", kind=type(error).__name__, where=_place(error))
        return failed(fault.exit_code, f"discreet: {fault}\n", fault.to_dict())


def _run(arguments: list[str]) -> Any:
    """Run a command; a flag that it does not know may be that of a shape from outside."""
    try:
        return _app(args=arguments, prog_name="discreet", standalone_mode=False)
    except _WrongUsage as wrong:
        if not hasattr(wrong, "option_name") or not load_from_outside("shapes"):
            raise
    for name in _COMMANDS:  # to be loaded again, with the new flags
        sys.modules.pop(f"discreet.cli.{_HOME.get(name, name)}", None)
    return _app(args=arguments, prog_name="discreet", standalone_mode=False)


def _shown(wrong: Any) -> str:
    """Return a usage error as the library shows it."""
    out = StringIO()
    wrong.show(out)
    elsewhere = _elsewhere(wrong)
    return out.getvalue() + ("" if elsewhere is None else f"{elsewhere}\n")


def _elsewhere(wrong: Any) -> str | None:
    """Return which command has an option that this one does not, where one is often looked for."""
    command = getattr(getattr(wrong, "ctx", None), "command_path", None)
    budgets = getattr(wrong, "option_name", None) in ("--epsilon", "--rho", "--account", "--ledger")
    return say("cli.plan_of_ledger") if command == "discreet plan" and budgets else None


def _usage(wrong: Any) -> dict[str, str | None]:
    context = getattr(wrong, "ctx", None)
    command = "discreet" if context is None else context.command_path
    following = _elsewhere(wrong) or say("cli.usage_next", command=command)
    return {"code": "usage", "message": wrong.format_message(), "next": following}


def _place(error: Exception) -> str:
    """Return where an unexpected error arose. Its message may hold a data value and is not said."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return "" if place is None else f" at {place.tb_frame.f_code.co_name}:{place.tb_lineno}"
