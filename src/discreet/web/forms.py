"""Forms: one way to read what a person typed, on every screen.

A form is a frozen pydantic model whose fields say what they take. An endpoint for programs takes
the model as FastAPI does (`Annotated[Model, Query()]`); a page takes it as `Filled`, which keeps
what was typed and says at each field what is wrong with it, in words of the catalogue.

A field that is not sent has its default; one that is sent blank is blank. A number has a point, or
a comma that cannot stand between thousands: 5,5 and 0,125 are read, and 5,500 is refused. A field
of a share says whether a bare number is a percentage or a fraction, and either may be written with
a percent sign.
"""

from __future__ import annotations

import csv
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError, core_schema
from starlette.responses import HTMLResponse

from discreet.errors import DiscreetError, SpecError
from discreet.reading import yaml_values
from discreet.web.screens import page
from discreet.web.thread import Thread, typed
from discreet.words import has, say

_NUMBER = re.compile(r"[+-]?(\d{1,320}(\.\d{0,320})?|\.\d{1,320})([eE][+-]?\d{1,5})?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(0+,\d+|\d+,(\d{1,2}|\d{4,320}))\s?%?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}\.\d{3}", re.ASCII)
_BETWEEN = re.compile(r'(^|[,;])(\s*"(?:[^"]|"")*")?')  # a separator, and what is quoted after it
_SAID = "said"  # the type of a problem whose words are ours already


def share(percent: float) -> float:
    """Return the probability that a percentage is, as if its decimals had been written down.

    >>> share(99.99), share(12.3)
    (0.9999, 0.123)
    """
    return float(Decimal(repr(float(percent))) / 100)


def percentage(probability: float) -> float:
    """Return the percentage that a probability is, the other way round.

    >>> percentage(0.07), percentage(0.999999)
    (7.0, 99.9999)
    """
    return float(Decimal(repr(float(probability))) * 100)


class Form(BaseModel):
    """What a form says, checked; it never changes."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def begun(cls, thread: Thread) -> dict[str, Any]:
        """Return what the form begins with under the promise that came along."""
        return {}


class Rule:
    """What a field takes: metadata of its annotation that reads its text."""

    def read(self, given: object) -> Any:
        """Return the value that was typed, or raise what is wrong with it."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """Return what the field takes, as OpenAPI says it."""
        return {"type": "string"}

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return self.schema()


# What a bound of a number means, and what OpenAPI calls it.
_BOUNDS = {
    "low": (operator.ge, "minimum"),
    "above": (operator.gt, "exclusiveMinimum"),
    "high": (operator.le, "maximum"),
    "below": (operator.lt, "exclusiveMaximum"),
}


@dataclass(frozen=True)
class Number(Rule):
    """A number between two bounds; `above` and `below` are bounds that it may not reach."""

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    whole: bool = False
    unit: Literal["number", "percent", "fraction"] = "number"
    optional: bool = False
    as_written: bool = False
    """Whether a number that was written without a point stays a whole one."""

    def read(self, given: object) -> float | None:
        """Return the number; None for an optional one that is blank."""
        if given is None or (isinstance(given, str) and not given.strip()):
            if self.optional:
                return None
            raise refused("web.form.blank", rule=self.rule)
        value = self._parsed(given.strip()) if isinstance(given, str) else given
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not self._fits(value):
            raise refused("web.form.number", rule=self.rule)
        whole = self.whole or (self.as_written and str(given).strip().lstrip("+-").isdecimal())
        if whole and isinstance(given, str) and self.as_written:
            return int(given)  # as many digits as were typed
        return int(value) if whole else float(value)

    def _parsed(self, text: str) -> float:
        if _DECIMAL_COMMA.fullmatch(text):
            text = text.replace(",", ".")
        elif "," in text or (self.whole and _GROUPED.fullmatch(text)):
            raise refused("web.form.comma", rule=self.rule)
        percent = text.endswith("%") and self.unit != "number"
        plain = text.removesuffix("%").rstrip() if percent else text
        if not _NUMBER.fullmatch(plain):
            raise refused("web.form.number", rule=self.rule)
        value = float(plain)
        return share(value) if percent and self.unit == "fraction" else value

    def _fits(self, value: float) -> bool:
        if not math.isfinite(value) or (self.whole and value != int(value)):
            return False
        return all(_BOUNDS[name][0](value, bound) for name, bound in self._bounds())

    def _bounds(self) -> list[tuple[str, float]]:
        given = ((name, getattr(self, name)) for name in _BOUNDS)
        return [(name, bound) for name, bound in given if bound is not None]

    @property
    def rule(self) -> str:
        """What the field takes, in words: a number above 0 and at most 1,000."""
        said = say("web.form.whole_is") if self.whole else say(f"web.form.{self.unit}_is")
        given = {name: _plain(bound) for name, bound in self._bounds()}
        if given.keys() == {"low", "high"}:
            return f"{said} {say('web.form.between', **given)}"
        parts = [say(f"web.form.{name}", bound=bound) for name, bound in given.items()]
        return " ".join([said, say("web.form.and_bound").join(parts)]).strip()

    def schema(self) -> dict[str, Any]:
        """Return the bounds as OpenAPI says them."""
        bounds = {_BOUNDS[name][1]: bound for name, bound in self._bounds()}
        return {"type": "integer" if self.whole else "number"} | bounds


def _plain(bound: float) -> str:
    """Return a bound as people write it, never as a power of ten.

    >>> _plain(1e9), _plain(1.000001), _plain(1e-4)
    ('1,000,000,000', '1.000001', '0.0001')
    """
    return f"{Decimal(repr(float(bound))).normalize():,f}"


@dataclass(frozen=True)
class Text(Rule):
    """A text of at most so many characters; `needed` refuses a blank one."""

    most: int = 1_000
    needed: bool = False
    bare: bool = True
    """Whether blanks around it are left out."""

    def read(self, given: object) -> str:
        """Return the text."""
        text = given if isinstance(given, str) else ""
        text = text.strip() if self.bare else text
        if len(text) > self.most:
            raise refused("web.form.long", most=self.most)
        if self.needed and not text:
            raise refused("web.form.missing")
        return text

    def schema(self) -> dict[str, Any]:
        """Return the length as OpenAPI says it."""
        return {"type": "string", "maxLength": self.most}


@dataclass(frozen=True)
class Choice(Rule):
    """One of some names."""

    names: tuple[str, ...]

    def read(self, given: object) -> str:
        """Return the name, if it is one of them."""
        if not isinstance(given, str) or given not in self.names:
            raise refused("web.form.choice", names=", ".join(self.names))
        return given

    def schema(self) -> dict[str, Any]:
        """Return the names as OpenAPI says them."""
        return {"type": "string", "enum": list(self.names)}


class Ticked(Rule):
    """A box that is ticked, or not sent at all."""

    def read(self, given: object) -> bool | None:
        """Return whether it is ticked."""
        return True if given else None


class Value(Rule):
    """Any value: YAML on one line, or several numbers or words with commas between them."""

    def read(self, given: object) -> Any:
        """Return the value."""
        text = str(given or "")
        try:
            value = yaml_values(text, say("web.spec.is"), SpecError) if text.strip() else None
        except DiscreetError:
            raise refused("web.spec.not_yaml") from None
        if isinstance(value, str) and "," in value:
            return [raw(item) for item in columns_of(value)]
        return value


def raw(text: str) -> Any:
    """Return the number that a text is, or the text itself."""
    try:
        return text if "," in text else Number(as_written=True).read(text)
    except PydanticCustomError:
        return text


def columns_of(text: str) -> list[str]:
    """Return the columns that a field of names says, with commas or semicolons between them.

    >>> columns_of('Bonn; Köln, "Ulm; Neu-Ulm"')
    ['Bonn', 'Köln', 'Ulm; Neu-Ulm']
    """
    try:
        line = _BETWEEN.sub(lambda found: ("," if found[1] else "") + (found[2] or ""), text)
        found = next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        found = [text]
    return [item.strip() for item in found]


def in_yaml(value: object) -> str:
    """Return a value as YAML on one line."""
    import yaml

    text = str(yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6))
    return text.removesuffix("\n...\n").strip()


def refused(name: str, **values: Any) -> PydanticCustomError:
    """Return what a field raises, with a text of the catalogue."""
    return PydanticCustomError(_SAID, "{words}", {"words": say(name, **values)})


def problems_of(errors: Iterable[Any], skip: int = 0) -> dict[str, str]:
    """Return what is wrong at each field, in our words; `skip` leaves out the start of a place."""
    found: dict[str, str] = {}
    for error in errors:
        name = ".".join(str(part) for part in error["loc"][skip:])[:80]
        ours = error["type"] == _SAID
        found.setdefault(name, error["msg"] if ours else say("web.form.unusable"))
    return found


def in_one_line(problems: Mapping[str, str]) -> str:
    """Return all that is wrong as one text, each problem with the name of its field."""
    return " ".join(
        say("web.form.at", field=_label(name), problem=problem)
        for name, problem in problems.items()
    )


def _label(name: str) -> str:
    bare = name.rstrip("0123456789")
    if bare and "." not in bare and has(f"web.field.{bare}"):
        return say(f"web.field.{bare}")
    return name or say("web.form.whole_request")


class Approval(Form):
    """Amounts of budget that someone approves, who, and why; `head` is that of the ledger shown."""

    epsilon: Annotated[float | None, Number(above=0, optional=True)] = None
    delta: Annotated[float | None, Number(above=0, optional=True)] = None
    rho: Annotated[float | None, Number(above=0, optional=True)] = None
    approver: Annotated[str, Text(needed=True)] = ""
    reason: Annotated[str, Text(needed=True)] = ""
    head: Annotated[str, Text()] = ""

    def amounts(self) -> dict[str, float]:
        """Return the amounts that are given."""
        given = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: value for name, value in given.items() if value is not None}


State = TypeVar("State", bound=Form)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Filled(Generic[State]):
    """A form as it was typed: what it says, and what is wrong at each field.

    Where a field is wrong, the state has its default in that place; `shown` has what was typed.
    """

    state: State
    shown: dict[str, str]
    problems: dict[str, str]

    @classmethod
    def of(cls, kind: type[State], typed: Mapping[str, str]) -> Filled[State]:
        """Read a form."""
        given, problems = dict(typed), {}
        try:
            state = kind.model_validate(given)
        except ValidationError as error:
            problems = problems_of(error.errors(include_url=False))
            state = kind.model_validate({n: t for n, t in given.items() if n not in problems})
        for name, about in kind.model_fields.items():
            needed = any(getattr(rule, "needed", False) for rule in about.metadata)
            if needed and name not in given and not about.default:
                problems[name] = say("web.form.missing")
        return cls(state, as_typed(state.model_dump()) | given, problems)

    @property
    def problem(self) -> str:
        """All that is wrong, as one text."""
        return in_one_line(self.problems)


@dataclass(frozen=True, slots=True)
class Answered(Generic[State, Answer]):
    """A form and its answer; where there is none, that of the form as it begins, to be hidden."""

    form: Filled[State]
    answer: Answer
    problem: str

    def page(self, request: Request, template: str, **more: Any) -> HTMLResponse:
        """Render the screen of the form; `more` is what its own template needs."""
        shared: dict[str, Any] = {
            "shown": self.form.shown,
            "problems": self.form.problems,
            "answer": self.answer,
            "problem": self.problem,
            "link": getattr(self.answer, "link", None),
            "yaml": getattr(self.answer, "yaml", None),
        }
        return page(request, template, **(shared | more))


def filled(
    kind: type[State], typed: Mapping[str, str], answer: Callable[[State], Answer]
) -> Answered[State, Answer]:
    """Read a form and answer it; one that says nothing begins with the promise that came along."""
    if not typed.keys() & kind.model_fields.keys():
        typed = as_typed(kind.begun(Thread.of(typed)))
    form, problem = Filled.of(kind, typed), ""
    if form.problems:
        return Answered(form, answer(kind()), say("web.script.see_fields"))
    try:
        found = answer(form.state)
    except DiscreetError as error:
        problem, found = str(error), answer(kind())
    return Answered(form, found, problem)


def reading(kind: type[State]) -> Any:
    """Return the dependency of a page that takes this form, from its query or its body."""

    async def read(request: Request) -> Filled[State]:
        if request.method in ("GET", "HEAD"):
            return Filled.of(kind, request.query_params)
        sent = await request.form(max_files=0, max_fields=5_000)
        return Filled.of(kind, {name: v for name, v in sent.items() if isinstance(v, str)})

    return Depends(read)


def as_typed(state: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of a state as a person would type them.

    >>> as_typed({"epsilon": 1.0, "delta": 1e-06, "before": None, "every": True})
    {'epsilon': '1', 'delta': '1e-06', 'before': '', 'every': 'true'}
    """
    return {name: typed(value) for name, value in state.items()}
