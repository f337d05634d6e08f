"""Flags from a file: a question that was asked once can be kept, shared and asked again.

The keys are the flags of the command with underscores. A file may hold the questions of several
commands, each under the name of its command; then each command reads its own. A flag that is given
beside the file wins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from discreet.cli.promise_options import FROM_FILE
from discreet.errors import InputError

__all__ = ["FILE_HELP", "flags_from"]

FILE_HELP = "These flags as keys (with underscores) of a YAML file; a flag beside it wins."
_NOT_IN_FILES = {"file", "as_json", "help"}


def flags_from(name: str) -> Callable[[typer.Context, Path | None], Path | None]:
    """Return what a `--file` option calls: the file's values become defaults of the command."""

    def read(ctx: typer.Context, file: Path | None) -> Path | None:
        if file is not None and not ctx.resilient_parsing:
            given, flags = dict(_section(file, name)), _flags(ctx)
            promised = _promise_keys(given) if "ratio" in flags else {}
            ctx.meta[FROM_FILE] = _beside(promised, file.parent)
            own = {key: value for key, value in given.items() if key not in promised}
            ctx.default_map = _checked(own, flags, file.name)
        return file

    return read


def _promise_keys(given: dict[str, Any]) -> dict[str, Any]:
    """Take the keys of a promise out of a command's own: the one reader reads those."""
    from discreet.promises.keys import promise_keys

    for other, key in (("posterior_limit", "posterior"), ("difference_limit", "difference")):
        if other in given and key in given:
            raise InputError(f"the file says {key} twice; drop one of the two.")
        if other in given:
            given[key] = given.pop(other)
    return {key: value for key, value in given.items() if key in promise_keys() | {"prior"}}


def _beside(given: Any, folder: Path) -> Any:
    """Return the keys with the names of tables as paths beside the file."""
    if isinstance(given, list):
        return [_beside(one, folder) for one in given]
    if not isinstance(given, Mapping):
        return given
    return {
        key: str(folder / value)
        if key == "table" and isinstance(value, str)
        else _beside(value, folder)
        for key, value in given.items()
    }


def _section(file: Path, name: str) -> Mapping[str, Any]:
    """The mapping for this command: under its name, or the whole file."""
    from discreet.promises.keys import load_yaml, read_text

    loaded = load_yaml(read_text(file))
    found = loaded.get(name, loaded)
    return found if isinstance(found, Mapping) else loaded


def _flags(ctx: typer.Context) -> dict[str, Any]:
    """Every way to write a flag as a key, and its parameter."""
    return {
        written.removeprefix("--").replace("-", "_"): one
        for one in ctx.command.params
        for written in one.opts
        if one.name not in _NOT_IN_FILES
    }


def _checked(given: Mapping[str, Any], flags: dict[str, Any], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in flags:
            raise InputError(
                f"{where} has a key {str(key)[:40]!r}; the keys are: {', '.join(sorted(flags))}."
            )
        if value is None:
            continue
        one = flags[key]
        if isinstance(value, list) != bool(one.multiple) or isinstance(value, Mapping):
            wanted = "a list" if one.multiple else "one value"
            raise InputError(f"{where}: {key} must be {wanted}.")
        if isinstance(value, bool) != bool(one.is_flag):
            wanted = "true or false" if one.is_flag else "a value, not true or false"
            raise InputError(f"{where}: {key} must be {wanted}.")
        if one.name in found:
            raise InputError(f"{where} says {one.name} twice; drop one of the two.")
        found[one.name] = value
    return found
