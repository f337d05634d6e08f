"""The flags of a promise: the same in every command that takes one, read by the one reader of keys.

A command that takes a promise has a parameter `promise: PromiseFlags`; `takes_promise` puts the
flags in its place. Flags are the keys of a promise with dashes for underscores.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import typer

from discreet.errors import InputError
from discreet.promises import Promise
from discreet.promises.keys import promise_from, shape_keys
from discreet.promises.tolerance import SHAPES

__all__ = ["FROM_FILE", "PromiseFlags", "takes_promise"]


def _of_shapes() -> dict[str, Any]:
    """Return the flags of every registered shape, by key."""
    found: dict[str, Any] = {}
    for key in (key for shape in SHAPES.values() for key in shape.keys if key.flag):
        option = typer.Option(*key.spellings, help=key.describe(), metavar=key.metavar)
        found[key.name] = Annotated[bool if key.kind is bool else key.kind | None, option]
    return found


_FLAGS: dict[str, Any] = {
    **_of_shapes(),
    "about": Annotated[
        str | None,
        typer.Option(
            help="What is guessed: membership (q = 1), value (p = 1) or both.",
            metavar="membership|value|both",
        ),
    ],
    "p": Annotated[
        float | None, typer.Option("--p", help="Fix the prior of being in the data.", metavar="P")
    ],
    "q": Annotated[
        float | None, typer.Option("--q", help="Fix the prior of the value, if in.", metavar="Q")
    ],
    "box": Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(help="Restrict both priors.", metavar="P0 P1 Q0 Q1"),
    ],
    "prior": Annotated[
        float | None,
        typer.Option(help="Short for --p P --q 1: being in, with the value known.", metavar="P"),
    ],
    "every_output": Annotated[
        bool, typer.Option("--every-output", help="It is to hold for every possible output.")
    ],
    "confidence": Annotated[
        float | None,
        typer.Option(help="How often it is to hold for each unit, over the noise.", metavar="C"),
    ],
    "on_average": Annotated[
        bool,
        typer.Option("--on-average", help="For values: the chance that the best guess is right."),
    ],
    "answers": Annotated[
        int | None, typer.Option(help="With --on-average: how many answers the value can have.")
    ],
    "sided": Annotated[
        str | None,
        typer.Option(help="two (belief may fall, too) or one (increases only).", metavar="one|two"),
    ],
    "adjacency": Annotated[
        str | None, typer.Option(help="add-remove, replace or local.", metavar="NAME")
    ],
    "related": Annotated[
        int | None, typer.Option(help="How many units' data depend on each other.", metavar="K")
    ],
    "unit": Annotated[
        str | None, typer.Option(help="The kind of unit: person, household, record, partition.")
    ],
    "unit_name": Annotated[
        str | None, typer.Option(help='How it is spoken of: "one aircraft".', metavar="NAME")
    ],
}
_SWITCHES = {name for name, kind in _FLAGS.items() if get_args(kind)[0] is bool}
FROM_FILE = "discreet.promise"
"""Where the context keeps the keys of a promise that a `--file` held."""


@dataclass(frozen=True, slots=True)
class PromiseFlags:
    """What the flags of a promise said, by key, and what a file said; flags win."""

    keys: Mapping[str, Any]
    file: Mapping[str, Any] | None = None

    @property
    def says_what(self) -> bool:
        """Whether they say what may be learned, and not only how surely or of whom."""
        return bool(shape_keys() & {*self.keys, *(self.file or {})})

    @property
    def all_keys(self) -> dict[str, Any]:
        """The keys of the file with those of the flags, which win."""
        said = shape_keys()
        twice = sorted(said & set(self.keys)) if said & set(self.file or {}) else []
        if twice:
            raise InputError(
                f"--file already says what is promised; drop --{twice[0].replace('_', '-')}, or "
                "put it into the file."
            )
        return {**(self.file or {}), **self.keys}

    def promise(self) -> Promise:
        """Return the promise that flags and file make."""
        return promise_from(None, self.all_keys)


def takes_promise(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the flags of a promise, but for some of them."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        flags = {name: kind for name, kind in _FLAGS.items() if name not in without}
        own = inspect.signature(command, eval_str=True)
        taken = [one for one in own.parameters.values() if one.name != "promise"]
        names = {one.name for one in taken}

        @functools.wraps(command)
        def run(**given: Any) -> None:
            said = {name: given.pop(name) for name in flags if name not in names}
            keys = {
                name: list(value) if name == "box" else value
                for name, value in said.items()
                if value is not None and value is not False
            }
            file = given.pop("context").meta.get(FROM_FILE)
            command(promise=PromiseFlags(keys, file), **given)

        added = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if name in _SWITCHES else None,
                annotation=kind,
            )
            for name, kind in flags.items()
            if name not in names
        ]
        context = inspect.Parameter(
            "context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
        )
        mine = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in taken]
        every = [context, *added, *mine]
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return decorate
