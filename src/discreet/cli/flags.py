"""The flags of every command: what they are called, what their help says, what a file may hold.

A command is a plain function with typed parameters; `described` gives each of them its flag and the
help of the catalogue (`words/en/help.toml`: under the command's name, or under `shared`). A
parameter whose type is a `Group` stands for a flag for each of its fields: the numbers of a budget
(`Amounts`), one release (`OneRelease`), an account (`OnAccount`), or what a function is given. A
parameter `promise: PromiseFlags` stands for all flags of a promise, which are its keys with dashes
for underscores.

A parameter `file: FlagsFile` reads flags from a YAML file: a question that was asked once can be
kept, shared and asked again. Its keys are the flags with underscores; a file may hold the questions
of several commands, each under its name; a flag beside the file wins.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer

from discreet.errors import InputError, with_point
from discreet.outside import load_from_outside
from discreet.words import catalogue, say

if TYPE_CHECKING:
    from discreet.ledger import Amount, Ledger
    from discreet.promises import Promise

Json: TypeAlias = Annotated[bool, typer.Option("--json")]
FlagsFile: TypeAlias = Annotated[Path | None, "flags-file"]
FlagsFiles: TypeAlias = Annotated[list[Path] | None, "flags-file"]  # one promise each, or more
SetKeys: TypeAlias = Annotated[list[str] | None, typer.Option("--set")]
_NOT_IN_FILES = {"file", "as_json", "help"}
_FROM_FILE = "discreet.promises"  # where the context keeps the keys of promises from files

# What a promise says beside its shapes, as flags, in the order in which help shows them; a number
# with a metavar, or what else it is. `discreet.promises.keys` reads them.
_PROMISE: dict[str, Any] = {
    "about": (str, "membership|value|both"),
    "p": "P",
    "q": "Q",
    "box": (tuple[float, float, float, float], "P0 P1 Q0 Q1"),
    "prior": "P",
    "every_output": (bool, None),
    "confidence": "C",
    "on_average": (bool, None),
    "answers": (int, None),
    "sided": (str, "one|two"),
    "adjacency": (str, "NAME"),
    "related": (int, "K"),
    "odds": "R",
    "neighbours": (int, "M"),
    "chain": (bool, None),
    "unit": (str, None),
    "unit_name": (str, "NAME"),
}


@dataclass(frozen=True, slots=True)
class PromiseFlags:
    """What the flags of a promise said, by key, and what files said; flags win.

    `others` are further promises, where a command takes several.
    """

    keys: Mapping[str, Any]
    file: Mapping[str, Any] | None = None
    others: tuple[Mapping[str, Any], ...] = ()

    @property
    def says_what(self) -> bool:
        """Whether they say what may be learned, and not only how surely or of whom."""
        from discreet.promises.keys import shape_keys

        return bool(shape_keys() & {*self.keys, *(self.file or {})})

    @property
    def all_keys(self) -> dict[str, Any]:
        """The keys of the file with those of the flags, which win."""
        from discreet.promises.keys import shape_keys

        shapes = shape_keys()
        twice = sorted(shapes & set(self.keys)) if shapes & set(self.file or {}) else []
        if twice:
            raise InputError("cli.promise_twice", flag=as_flag(twice[0]))
        return {**(self.file or {}), **self.keys}

    def promise(self) -> Promise:
        """Return the promise that flags and file make."""
        from discreet.promises.keys import promise_from

        return promise_from(None, self.all_keys)

    def promises(self) -> list[dict[str, Any]]:
        """Return the keys of all promises: of the first file or flags alone, and of the others."""
        return [PromiseFlags(self.keys, file).all_keys for file in (self.file, *self.others)]


class Group:
    """Flags that belong together: the fields of a frozen dataclass."""

    __slots__ = ()

    @classmethod
    def flags(cls) -> dict[str, inspect.Parameter]:
        """Return a parameter for each field."""
        kinds, empty = get_type_hints(cls, include_extras=True), inspect.Parameter.empty
        defaults = {one.name: one.default for one in fields(cls)}  # type: ignore[arg-type]
        return {
            name: _parameter(name, kinds[name], empty if default is MISSING else default)
            for name, default in defaults.items()
        }

    @property
    def given(self) -> dict[str, Any]:
        """What was given, by name; None for an empty list."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {name: None if value == [] else value for name, value in found.items()}


@dataclass(frozen=True, slots=True)
class Amounts(Group):
    """The numbers of a budget."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None

    def amount(self) -> Amount | None:
        """Return them as an amount; None if none is given."""
        from discreet.ledger import Amount

        return Amount.of(**self.given) if set(self.given.values()) != {None} else None


@dataclass(frozen=True, slots=True)
class Approval(Group):
    """Who approved something, and why."""

    approver: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class OnLedger(Group):
    """A ledger."""

    ledger: Annotated[str, typer.Option("--ledger")]

    def book(self) -> Ledger:
        """Open it."""
        from discreet.ledger import Ledger

        return Ledger.open(self.ledger)


@dataclass(frozen=True, slots=True)
class OnAccount(OnLedger):
    """An account of a ledger."""

    account: Annotated[str, typer.Option("--account")]


@dataclass(frozen=True, slots=True)
class Written(Group):
    """How a CSV file is written, as a spec's source says it."""

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None

    @property
    def said(self) -> dict[str, Any]:
        """What was said of it."""
        return {key: value for key, value in self.given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class OneRelease(Group):
    """One release: a guarantee by its number, or a mechanism by its budget or its noise."""

    epsilon: float | None = None
    rho: float | None = None
    sigma: float | None = None
    scale: float | None = None
    mechanism: str | None = None
    sensitivity: float | None = None

    def read(
        self,
        delta: float | None = None,
        adjacency: str | None = None,
        *,
        times: int = 1,
        probabilistic: bool = False,
    ) -> Any:
        """Return the guarantee or the mechanism; with `times` the loss of so many uses of it."""
        from discreet.composition import loss_of
        from discreet.composition.worded import release_in

        part = release_in(
            {**asdict(self), "delta_each": delta},  # type: ignore[typeddict-item]
            adjacency,
            times=times,
            probabilistic=probabilistic,
        )
        if self.mechanism is None or (times == 1 and adjacency is None):
            return part
        return loss_of((part, times), adjacency=adjacency)


def changes_in(pairs: list[str] | None, source: str | None = None) -> dict[str, Any]:
    """Return the keys of a spec that flags set: KEY=VALUE, the value as in YAML."""
    from discreet.reading import yaml_values

    found: dict[str, Any] = {}
    for pair in pairs or []:
        key, sign, text = pair.partition("=")
        if not (key and sign):
            raise InputError("cli.set_pair", given=pair)
        found[key.strip()] = yaml_values(text, f"--set {key}")
    if source is not None:
        # A path typed at a prompt is meant from where one stands, not from the spec's folder.
        found["source"] = source if "://" in source else str(Path(source).resolve())
    return found


Command: TypeAlias = Callable[..., None]


def described(name: str) -> Callable[[Command], Command]:
    """Return a decorator that gives the parameters of a command their flags and their help."""
    texts = catalogue().entry("help")
    own, shared, promised = texts.get(name, {}), texts["shared"], texts["promise"]

    def decorate(command: Command) -> Command:
        parameters = inspect.signature(command, eval_str=True).parameters
        takes = "promise" in parameters and parameters["promise"].annotation is PromiseFlags
        promise = _promise_flags(promised) if takes else {}
        keys = [key for key in promise if key not in parameters]
        groups = {one.name: one.annotation.flags() for one in parameters.values() if _is_group(one)}

        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name, flags in groups.items():
                values = {key: given.pop(key) for key in flags if key in given}
                given[name] = parameters[name].annotation(**values)
            if takes:
                said = {key: given.pop(key) for key in keys}
                found = {
                    key: list(value) if key == "box" else value
                    for key, value in said.items()
                    if value is not None and value is not False
                }
                first, *others = given.pop("context").meta.get(_FROM_FILE) or [None]
                given["promise"] = PromiseFlags(found, first, tuple(others))
            command(**given)

        every = [promise[key] for key in keys]
        every += [
            one.replace(
                kind=inspect.Parameter.KEYWORD_ONLY,
                annotation=_annotated(one, own.get(one.name) or shared.get(one.name), name),
            )
            for parameter in parameters.values()
            if not (takes and parameter.name == "promise")
            for one in groups.get(parameter.name, {parameter.name: parameter}).values()
        ]
        if takes:
            every.append(_parameter("context", typer.Context))
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return decorate


def refuse_twice(command: Any) -> None:
    """Let a command refuse a flag that takes one value and is given twice: the last would win."""
    parse = command.parse_args

    def once(context: Any, arguments: list[str]) -> Any:
        given = [word.partition("=")[0] for word in arguments[: _end_of(arguments)]]
        for one in command.params:
            flags = getattr(one, "opts", ())
            single = one.param_type_name == "option" and not one.multiple and not one.is_flag
            if single and sum(given.count(flag) for flag in flags if flag.startswith("--")) > 1:
                raise typer.BadParameter(say("cli.flag.twice"), ctx=context, param=one)
        return parse(context, arguments)

    command.parse_args = once


def _end_of(arguments: list[str]) -> int:
    return arguments.index("--") if "--" in arguments else len(arguments)


def _is_group(one: inspect.Parameter) -> bool:
    return isinstance(one.annotation, type) and issubclass(one.annotation, Group)


def _parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    only = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, only, default=default, annotation=kind)


def _annotated(one: inspect.Parameter, text: str | None, command: str) -> Any:
    """Return a parameter's type with its flag, or argument, and its help."""
    kind, *said = (
        get_args(one.annotation) if get_origin(one.annotation) is Annotated else [one.annotation]
    )
    info: Any
    if said == ["flags-file"]:
        info = typer.Option(is_eager=True, callback=_flags_from(command))
    elif said:
        info = copy(said[0])
    elif one.default is inspect.Parameter.empty:
        info = typer.Argument()
    else:
        info = typer.Option(as_flag(one.name))  # a switch has no --no-… beside it
    info.parser = info.parser or _parser(one.name, kind)
    info.help = text if text is None or "{" not in text else text.format_map(_Lists())
    return Annotated[kind, info]


class _Lists(dict[str, str]):
    """Names that a help text lists, taken from where they are defined."""

    def __missing__(self, name: str) -> str:
        from discreet.laws.registry import names

        if name in ("methods", "methods_of_series"):
            from discreet.composition.theorems import IN_SERIES, METHODS

            return ", ".join(METHODS if name == "methods" else IN_SERIES)
        return ", ".join(names(planned=True if name == "planned_mechanisms" else None))


def _promise_flags(texts: Mapping[str, str]) -> dict[str, inspect.Parameter]:
    """Return the flags of a promise: those of every registered shape, then the others."""
    from discreet.promises.tolerance import SHAPES

    shapes = [key for shape in SHAPES.values() for key in shape.keys if key.flag]
    found = {
        key.name: _flag(key.name, key.kind, key.metavar, key.describe(), key.spellings)
        for key in shapes
    }
    for key, said in _PROMISE.items():
        kind, metavar = said if isinstance(said, tuple) else (float, said)
        found[key] = _flag(key, kind, metavar, texts[key])
    return found


def _flag(
    key: str, kind: Any, metavar: str | None, text: str, spellings: tuple[str, ...] = ()
) -> inspect.Parameter:
    info = typer.Option(*(spellings or (as_flag(key),)), help=text, metavar=metavar)
    info.parser = _parser(key, kind)
    if kind is bool:
        return _parameter(key, Annotated[bool, info], False)
    return _parameter(key, Annotated[kind | None, info], None)


def _parser(key: str, kind: Any) -> Callable[[str], float] | None:
    """Return what reads a number, a share also as a percentage; None for other flags."""
    if kind is not float and float not in get_args(kind):
        return None
    from discreet.promises.keys import SHARES

    return share if key in SHARES else number


def number(text: Any) -> float:
    """Read a number; help shows the name of this function as what a flag takes."""
    return _read(text, "cli.flag.no_number")


def share(text: Any) -> float:
    """Read a share, also one in percent."""
    from discreet.reading import share_of

    return _read(share_of(text), "cli.flag.no_share")


def _read(value: Any, refused: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        given = str(value)[:40]
        following = with_point(given) or say(refused)
        raise typer.BadParameter(say("cli.flag.no", given=given, next=following)) from None


def as_flag(key: str) -> str:
    """Return a key as it is written on the command line.

    >>> as_flag("unless_ratio")
    '--unless-ratio'
    """
    return f"--{key.replace('_', '-')}"


# -- flags from a file


def _flags_from(name: str) -> Callable[[typer.Context, Any], Any]:
    """Return what a `--file` option calls: the file's values become defaults of the command."""

    def read(ctx: typer.Context, file: Any) -> Any:
        several = isinstance(file, (list, tuple))
        files = [] if ctx.resilient_parsing or file is None else file if several else [file]
        for one in files:
            given, flags = dict(_section(one, name)), _flags(ctx)
            promised = _promise_keys(given, set(flags)) if "ratio" in flags else {}
            if several and "delta" in given:  # it goes with the promise of this file alone
                promised["delta"] = given["delta"]
            own = {key: value for key, value in given.items() if key not in promised}
            listed = _listed(own, promised, one.name) if several else [promised]
            found = [_beside(keys, one.parent) for keys in listed]
            ctx.meta[_FROM_FILE] = [*ctx.meta.get(_FROM_FILE, ()), *found]
            ctx.default_map = {**(ctx.default_map or {}), **_checked(own, flags, one)}
        return file

    return read


def _listed(own: dict[str, Any], promised: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """Take the list `promises` of a file; what else it says of them holds for each."""
    several = own.pop("promises", [{}])
    if not (isinstance(several, list) and several and all(isinstance(x, Mapping) for x in several)):
        raise InputError("cli.promises_list", where=where)
    return [{**promised, **one} for one in several]


def _promise_keys(given: dict[str, Any], flags: set[str]) -> dict[str, Any]:
    """Take the keys of a promise out of a command's own: the one reader reads those."""
    from discreet.promises.keys import written_keys

    if set(given) - flags - written_keys():
        load_from_outside("shapes")
    for key, other in (("posterior", "posterior_limit"), ("difference", "difference_limit")):
        if other in given and key in given:
            raise InputError("cli.key_twice", where="the file", key=key)
        if other in given:
            given[key] = given.pop(other)
    return {key: value for key, value in given.items() if key in written_keys() | {"prior"}}


def _beside(given: Any, folder: Path) -> Any:
    """Return the keys with the names of tables as paths beside the file."""
    if isinstance(given, list):
        return [_beside(one, folder) for one in given]
    if not isinstance(given, Mapping):
        return given
    return {
        key: str(folder / value)
        if key in ("table", "shares") and isinstance(value, str)
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


def _checked(given: Mapping[str, Any], flags: dict[str, Any], file: Path) -> dict[str, Any]:
    from discreet.promises.keys import shape_keys

    found: dict[str, Any] = {}
    where, promised = file.name, shape_keys() & given.keys() - flags.keys()
    if promised:
        raise InputError("cli.promise_not_taken", where=where, key=min(promised), file=file)
    for key, value in given.items():
        if key not in flags:
            keys = ", ".join(sorted(flags))
            raise InputError("cli.unknown_key", where=where, key=str(key)[:40], keys=keys)
        if value is None:
            continue
        one = flags[key]
        if isinstance(value, list) != bool(one.multiple) or isinstance(value, Mapping):
            wanted = say("cli.file_value.list" if one.multiple else "cli.file_value.one")
            raise InputError("cli.wrong_value", where=where, key=key, wanted=wanted)
        if isinstance(value, bool) != bool(one.is_flag):
            wanted = say("cli.file_value.switch" if one.is_flag else "cli.file_value.value")
            raise InputError("cli.wrong_value", where=where, key=key, wanted=wanted)
        if one.name in found:
            raise InputError("cli.key_twice", where=where, key=one.name)
        found[one.name] = value
    return found
