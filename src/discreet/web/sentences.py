"""What is tolerated, as sentences with blanks: the form that Tolerate and Cost share.

A condition is a sentence of some kind about some worry; its blanks hold percentages, as people
say them. In a form, and in a link, the first condition's names are bare, the second's end in 2,
and so on. `to_mapping` turns a state into the tolerance that the command line reads from YAML.

| kind       | blanks         | the tolerance's keys         |
|------------|----------------|------------------------------|
| posterior  | before, after  | posterior, and the prior     |
| unless     | after, fold    | posterior, unless_ratio      |
| ratio      | fold           | ratio                        |
| difference | points         | difference                   |
| formula    | formula        | profile                      |
| epsilon    | epsilon        | none: a budget, not asked for by a tolerance |

What a promise says beside its sentences (how surely, how data depend on each other, public figures)
are fields of their own, as `promises.keys` knows them.

The worry fixes a prior: about being in the data the value is known (q = 1); about a value, how sure
someone is that the person is in the data is a blank of its own (`known`, p).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from string import Formatter
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import create_model
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import DiscreetError, InputError
from discreet.promises import PRESETS, promise_in, public_shares, tolerance_in
from discreet.promises.keys import files_in
from discreet.promises.tolerance import DEPENDENCE, SURETY
from discreet.web.forms import (
    Answered,
    Choice,
    Form,
    Number,
    Rule,
    Text,
    Ticked,
    Value,
    in_yaml,
    percentage,
    share,
)
from discreet.web.thread import Thread, named_unit
from discreet.words import catalogue, say

MOST = 4
#: The kinds of sentence, with their blanks in order.
KINDS: dict[str, tuple[str, ...]] = {
    "posterior": ("before", "after"),
    "unless": ("after", "fold"),
    "ratio": ("fold",),
    "difference": ("points",),
    "formula": ("formula",),
    "epsilon": ("epsilon",),
}
#: The keys of a tolerance that each kind of sentence says, and their blanks; the fuller ones first.
_KEYS: dict[str, dict[str, str]] = {
    "unless": {"posterior": "after", "unless_ratio": "fold"},
    "posterior": {"posterior": "after"},
    "ratio": {"ratio": "fold"},
    "difference": {"difference": "points"},
    "formula": {"profile": "formula"},
}
_PERCENTAGES = ("after", "points")
WORRIES = ("in", "value", "both")
# Beyond these nothing can be said that anyone would act on, and noise has no numbers any more.
_PERCENT = Number(low=1e-4, high=100, unit="percent")
_BLANKS: dict[str, Number | Text] = {
    "before": _PERCENT,
    "after": _PERCENT,
    "fold": Number(low=1.000001, high=1e9),
    "points": _PERCENT,
    "known": _PERCENT,
    "formula": Text(500, needed=True),
    "epsilon": Number(low=1e-6, high=1e3),
}
_GLUED = re.compile(r" %[.,]?|[^\s]+")  # a unit, or what follows without a space
_OWN = {"every_output", "confidence", "sided"}  # these have fields with a meaning of their own
#: What else a promise may say beside its sentences, and what each of it is.
MORE: dict[str, Any] = {
    **{name: kind for name, kind in (SURETY | DEPENDENCE).items() if name not in _OWN},
    **dict.fromkeys(sorted(public_shares.KEYS - {"basis"}), Mapping),
    **dict.fromkeys(("unit", "unit_name"), str),
}


@dataclass(frozen=True, slots=True)
class Blank:
    """A gap in a sentence that a person fills: a number, or a formula."""

    name: str
    value: str
    label: str
    formula: bool
    after: str = ""
    """What of the sentence must stay beside the gap, on the same line."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One sentence with its blanks; chances are percentages here."""

    kind: str = "posterior"
    worry: str = "in"
    before: float = 5.0
    after: float = 12.0
    fold: float = 3.0
    points: float = 20.0
    known: float = 100.0
    formula: str = "max(0.25/(p*q), 3)"
    epsilon: float = 1.0

    def used(self) -> tuple[str, ...]:
        """Name the blanks of this sentence, in its order."""
        about_value = self.worry == "value" and self.kind != "epsilon"
        return ("known", *KINDS[self.kind]) if about_value else KINDS[self.kind]

    @property
    def surely_in(self) -> float:
        """How likely it is at the most that the person is in the data, for this worry."""
        return share(self.known) if self.worry == "value" else 1.0

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        if self.kind not in _KEYS:
            raise InputError("web.sentence.no_tolerance")
        if self.kind == "posterior":
            self._refuse_nothing_to_learn()
        out: dict[str, Any] = {}
        for key, blank in _KEYS[self.kind].items():
            value = getattr(self, blank)
            out[key] = share(value) if blank in _PERCENTAGES else value
        prior = {"q" if self.worry == "value" else "p": share(self.before)}
        known = {"in": {"q": 1.0}, "value": {"p": share(self.known)}, "both": {}}[self.worry]
        return out | (prior if self.kind == "posterior" else {}) | known

    def _refuse_nothing_to_learn(self) -> None:
        """Say in the sentence's own words that it leaves no budget; the solver has others."""
        before = self.before * self.surely_in
        if self.after <= before:
            raise InputError("web.sentence.nothing_to_learn", after=self.after, before=before)

    def pieces(self, suffix: str = "", whom: str = "") -> Iterator[str | Blank]:
        """Yield the sentence as texts and blanks; `whom` it is about, if that has a name."""
        worry = "in" if self.kind == "epsilon" else self.worry
        sentence = str(catalogue().entry(f"web.sentence.{self.kind}.{worry}"))
        named = (whom or say("web.sentence.anyone")).replace("{", "{{").replace("}", "}}")
        sentence = sentence.replace("{unit}", named)
        parts = [(text, name) for text, name, _, _ in Formatter().parse(sentence)]
        glued = ""
        for (text, name), following in zip(parts, [*parts[1:], ("", None)], strict=True):
            if rest := text.removeprefix(glued):
                yield rest
            if name is not None:
                found = _GLUED.match(following[0])
                glued = found.group() if found else ""
                yield self._blank(name, suffix, glued)

    def _blank(self, name: str, suffix: str, glued: str) -> Blank:
        value = getattr(self, name)
        text = value if isinstance(value, str) else f"{value:.12g}"
        label = say(f"web.field.{name}")
        return Blank(f"{name}{suffix}", text, label, isinstance(_BLANKS[name], Text), glued)

    def sentence(self, whom: str = "") -> str:
        """Return the sentence with its blanks filled in."""
        pieces = self.pieces(whom=whom)
        return "".join(one if isinstance(one, str) else one.value + one.after for one in pieces)

    def to_query(self, suffix: str = "") -> dict[str, Any]:
        """Return what a link holds: the kind, the worry and the blanks in use."""
        names = ("kind", *(() if self.kind == "epsilon" else ("worry",)), *self.used())
        return {f"{name}{suffix}": getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Asked:
    """Conditions that must all hold (Cost: that are compared), and how sure it must be."""

    conditions: tuple[Condition, ...] = (Condition(),)
    delta: float = 0.0
    confidence: float = 0.99
    sided: str = "two"
    more: tuple[tuple[str, Any], ...] = ()

    @property
    def whom(self) -> str:
        """What the unit is called, where it is no person or has a name; else nothing."""
        return named_unit(dict(self.more))

    def to_mapping(self) -> dict[str, Any]:
        """Return a tolerance file's mapping: all conditions, and the promise."""
        parts = [condition.to_mapping() for condition in self.conditions]
        out: dict[str, Any] = parts[0] if len(parts) == 1 else {"all": parts}
        return out | self.promise()

    def promise(self) -> dict[str, Any]:
        """Return what the file has beside the conditions; nothing for every output."""
        more = dict(self.more)
        if files_in(more):
            raise InputError("web.sentence.no_files")
        out: dict[str, Any] = {}
        if self.delta:
            out = {"delta": self.delta, "confidence": self.confidence, "sided": self.sided}
        if "on_average" in more:
            out.pop("confidence", None)
        return out | more

    def to_query(self) -> dict[str, Any]:
        """Return what a link holds."""
        out: dict[str, Any] = {}
        for place, condition in enumerate(self.conditions, 1):
            out |= condition.to_query(suffix(place))
        said = self.promise().items()
        return out | {n: in_yaml(v) if isinstance(v, Mapping) else v for n, v in said}

    def fields(self) -> dict[str, str]:
        """Return the blanks in use, as the form writes them: a drag changes them."""
        return {
            piece.name: piece.value
            for place, condition in enumerate(self.conditions, 1)
            for piece in condition.pieces(suffix(place))
            if not isinstance(piece, str)
        }


def suffix(place: int) -> str:
    """Return how the names of a condition's fields end."""
    return "" if place == 1 else str(place)


class Sentences(Form):
    """The form of sentences; `with_sentences` gives it the fields of each sentence.

    `add` asks for one more condition, `remove` for one less.
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(KINDS)
    first: ClassVar[Asked] = Asked()
    delta: Annotated[float, Number(low=0, below=1)] = 0.0
    confidence: Annotated[float, Number(above=0, below=1, unit="fraction")] = 0.99
    sided: Annotated[str, Choice(("two", "one"))] = "two"
    add: Annotated[str, Text(10)] = ""
    remove: Annotated[int | None, Number(low=1, high=MOST, whole=True, optional=True)] = None

    @classmethod
    def begun(cls, thread: Thread) -> dict[str, Any]:
        """Begin with the sentence of the promise that came along, if it has one."""
        budget = thread.budget() if "epsilon" in cls.kinds and not thread.keys() else {}
        if budget.keys() == {"epsilon"}:
            return {"kind": "epsilon", "epsilon": budget["epsilon"]}
        asked = asked_of(thread.keys())
        return {} if asked is None else asked.to_query()

    def asked(self) -> Asked:
        """Return the state that the form says; `first` where it says no sentence."""
        said = ((name, getattr(self, name)) for name in MORE)
        more = tuple((name, value) for name, value in said if value not in (None, False, ""))
        return Asked(tuple(self._conditions()), self.delta, self.confidence, self.sided, more)

    def _conditions(self) -> list[Condition]:
        said = self.model_fields_set
        found = list(self.first.conditions)
        if said & {"kind", "worry", *_BLANKS}:
            places = [1, *(place for place in range(2, MOST + 1) if f"kind{place}" in said)]
            found = [self._condition(suffix(place)) for place in places]
        if self.remove is not None and len(found) > 1:
            del found[self.remove - 1 : self.remove]
        if self.add and len(found) < MOST:
            found.append(replace(found[-1]))
        return found

    def _condition(self, suffix: str) -> Condition:
        return Condition(
            **{one.name: getattr(self, one.name + suffix) for one in fields(Condition)}
        )


Kind = TypeVar("Kind", bound=Sentences)
_RULES: dict[Any, Rule] = {
    bool: Ticked(),
    int: Number(low=1, whole=True, optional=True),
    float: Number(above=0, optional=True),
    Mapping: Value(),
    str: Text(80),
}


def with_sentences(form: type[Kind]) -> type[Kind]:
    """Return a form with the fields of up to four sentences of the kinds that it takes."""
    bare = Condition()
    types: dict[str, Any] = {
        "kind": (str, Choice(form.kinds)),
        "worry": (str, Choice(WORRIES)),
        **{name: (str if name == "formula" else float, one) for name, one in _BLANKS.items()},
    }
    made: dict[str, Any] = {
        name + suffix(place): (Annotated[kind, rule], getattr(bare, name))
        for place in range(1, MOST + 1)
        for name, (kind, rule) in types.items()
    }
    made |= {name: (Annotated[Any, _RULES[kind]], None) for name, kind in MORE.items()}
    return create_model(form.__name__, __base__=form, __doc__=form.__doc__, **made)


def preset_links() -> list[tuple[str, Asked, str]]:
    """Return the presets as states: their name, their sentence, what they are about."""
    found = ((name, asked_of(one.tolerance.to_mapping()), one) for name, one in PRESETS.items())
    return [(name, asked, one.about) for name, asked, one in found if asked is not None]


def asked_of(mapping: Mapping[str, Any]) -> Asked | None:
    """Return a tolerance's mapping as sentences; None where they could not say the same."""
    parts = mapping.get("all", [mapping])
    try:
        found = Asked(
            tuple(_condition_of(tolerance_in(_shape(part)).to_mapping()) for part in parts),
            mapping.get("delta") or 0.0,
            mapping.get("confidence") or 0.99,
            mapping.get("sided") or "two",
            tuple((name, mapping[name]) for name in MORE if mapping.get(name)),
        )
        same = len(found.conditions) <= MOST and same_promise(found.to_mapping(), mapping)
    except (DiscreetError, LookupError, TypeError, AttributeError):
        return None
    return found if same else None


def _shape(part: Mapping[str, Any]) -> dict[str, Any]:
    beside = {"delta", *_OWN, *MORE}
    return {key: value for key, value in part.items() if key not in beside}


def same_promise(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two tolerances are one promise."""
    found = (promise_in(said).settled(pure=not said.get("delta")).id for said in (one, other))
    return next(found) == next(found)


def _condition_of(keys: Mapping[str, Any]) -> Condition:
    p, q = keys.get("p", 1.0), keys.get("q", 0.0)
    worry = "in" if q == 1 else "value" if "p" in keys else "both"
    if "posterior" in keys and "unless_ratio" not in keys and "q" not in keys:
        worry = "both"
    values: dict[str, Any] = {"worry": worry}
    if worry == "value":
        values["known"] = percentage(p)
    said = (kind for kind, needed in _KEYS.items() if needed.keys() <= keys.keys())
    kind = next(said, "formula")
    if kind == "posterior":
        values["before"] = percentage(q if worry == "value" else p)
    for key, blank in _KEYS[kind].items():
        values[blank] = percentage(keys[key]) if blank in _PERCENTAGES else keys[key]
    return Condition(kind, **values)


def sentences_page(
    request: Request, template: str, found: Answered[Kind, Any], **more: Any
) -> Response:
    """Render a screen of sentences; `more` is what its own template needs."""
    form, asked = found.form, found.form.state.asked()
    return found.page(
        request,
        template,
        asked=asked,
        shown=form.shown | asked.fields() | {n: form.shown[n] for n in form.problems},
        kinds=form.state.kinds,
        worries=WORRIES,
        most=MOST,
        more={name: kind.__name__ for name, kind in MORE.items()},
        **more,
    )
