"""What is tolerated, as sentences with blanks: the state that Tolerate and Cost share.

A condition is a sentence of some kind about some worry; its blanks hold percentages, as people
say them. A state is a flat mapping of names to texts, as a form sends it and as a link holds it:
the first condition's names are bare, the second's end in 2, and so on. `to_mapping` turns a state
into the tolerance that the command line reads from YAML.

| kind       | blanks         | the tolerance's keys         |
|------------|----------------|------------------------------|
| posterior  | before, after  | posterior, and the prior     |
| unless     | after, fold    | posterior, unless_ratio      |
| ratio      | fold           | ratio                        |
| difference | points         | difference                   |
| formula    | formula        | profile                      |
| epsilon    | epsilon        | none: a budget, not asked for by a tolerance |

The worry fixes a prior: about being in the data the value is known (q = 1); about a value, how sure
someone is that the person is in the data is a blank of its own (`known`, p).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any

from discreet.errors import InputError
from discreet.promises import PRESETS
from discreet.rounding import decimal_down

__all__ = [
    "KINDS",
    "MOST",
    "WORRIES",
    "Asked",
    "Blank",
    "Condition",
    "budget_text",
    "parameters",
    "preset_links",
    "read",
]

MOST = 4
KINDS = {
    "posterior": "at most so sure, from one belief",
    "unless": "at most so sure, unless belief grows little",
    "ratio": "at most so many fold",
    "difference": "by at most so many points",
    "formula": "a formula in p and q",
    "epsilon": "a budget ε",
}
WORRIES = {
    "in": "being in the data",
    "value": "a value in it",
    "both": "both",
}


@dataclass(frozen=True, slots=True)
class Blank:
    """A gap in a sentence that a person fills: a number, or a formula."""

    name: str
    value: str
    label: str
    low: float | None = None
    high: float | None = None
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
        own = {
            "posterior": ("before", "after"),
            "unless": ("after", "fold"),
            "ratio": ("fold",),
            "difference": ("points",),
            "formula": ("formula",),
            "epsilon": ("epsilon",),
        }[self.kind]
        about_value = self.worry == "value" and self.kind != "epsilon"
        return ("known", *own) if about_value else own

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        out: dict[str, Any] = {}
        match self.kind:
            case "posterior":
                self._refuse_nothing_to_learn()
                out["posterior"] = _share(self.after)
            case "unless":
                out |= {"posterior": _share(self.after), "unless_ratio": self.fold}
            case "ratio":
                out["ratio"] = self.fold
            case "difference":
                out["difference"] = _share(self.points)
            case "formula":
                out["profile"] = self.formula
            case _:
                raise InputError("a budget is not a tolerance; choose another kind of sentence.")
        if self.worry == "value":
            out["p"] = _share(self.known)
            if self.kind == "posterior":
                out["q"] = _share(self.before)
            return out
        if self.kind == "posterior":
            out["p"] = _share(self.before)
        if self.worry == "in":
            out["q"] = 1.0
        return out

    def _refuse_nothing_to_learn(self) -> None:
        """Say in the sentence's own words that it leaves no budget; the solver has others."""
        before = self.before * (self.known / 100 if self.worry == "value" else 1.0)
        if self.after <= before:
            raise InputError(
                f"The belief after, {self.after:g} %, must be above the belief before, "
                f"{before:g} %: someone who is that sure already could learn nothing at all, so "
                "nothing could be published."
            )

    def pieces(self, suffix: str = "") -> Iterator[str | Blank]:
        """Yield the sentence as texts and blanks."""
        said = _SENTENCES[self.kind][self.worry if self.kind in _WORRIED else "in"]
        glued = ""
        for place, piece in enumerate(said):
            if piece.startswith("_"):
                following = "".join(said[place + 1 : place + 2])
                found = _BESIDE.match(following)
                glued = found.group() if found else ""
                yield replace(self._blank(piece[1:], suffix), after=glued)
            elif rest := piece.removeprefix(glued):
                glued = ""
                yield rest

    def sentence(self) -> str:
        """Return the sentence with its blanks filled in."""
        pieces = self.pieces()
        return "".join(one if isinstance(one, str) else one.value + one.after for one in pieces)

    def _blank(self, name: str, suffix: str) -> Blank:
        value = getattr(self, name)
        text = value if isinstance(value, str) else f"{value:.12g}"
        return Blank(f"{name}{suffix}", text, *_BLANKS[name])

    def to_query(self, suffix: str = "") -> dict[str, Any]:
        """Return what a link holds: the kind, the worry and the blanks in use."""
        names = ("kind", *(() if self.kind == "epsilon" else ("worry",)), *self.used())
        return {f"{name}{suffix}": getattr(self, name) for name in names}


# A name after an underscore is a blank.
_DATA = "a person is in the data"
_WITH = "with the sensitive value"
_SENTENCES: dict[str, dict[str, tuple[str, ...]]] = {
    "posterior": {
        "in": (
            "Someone who thinks there is a ", "_before", f" % chance that {_DATA} may become at "
            "most ", "_after", " % sure.",
        ),
        "value": (
            "Someone who is ", "_known", f" % sure that {_DATA}, and thinks there is a ",
            "_before", " % chance of the sensitive value then, may become at most ", "_after",
            f" % sure that they are in it {_WITH}.",
        ),
        "both": (
            "Someone who thinks there is a ", "_before", f" % chance that {_DATA}, whatever they "
            "think of the value, may become at most ", "_after",
            f" % sure that they are in it {_WITH}.",
        ),
    },
    "unless": {
        "in": (
            "Nobody may become more than ", "_after", f" % sure that {_DATA}, unless their belief "
            "grows at most ", "_fold", "-fold.",
        ),
        "value": (
            "Nobody who is ", "_known", f" % sure that {_DATA} may become more than ", "_after",
            f" % sure that they are in it {_WITH}, unless that belief grows at most ", "_fold",
            "-fold.",
        ),
        "both": (
            "Nobody may become more than ", "_after", f" % sure that {_DATA} {_WITH}, unless "
            "their belief grows at most ", "_fold", "-fold.",
        ),
    },
    "ratio": {
        "in": (f"Nobody’s belief that {_DATA} may grow more than ", "_fold", "-fold."),
        "value": (
            "For someone who is ", "_known", f" % sure that {_DATA}, the belief that they are in "
            f"it {_WITH} may grow at most ", "_fold", "-fold.",
        ),
        "both": (f"Nobody’s belief that {_DATA} {_WITH} may grow more than ", "_fold", "-fold."),
    },
    "difference": {
        "in": (
            f"Nobody’s belief that {_DATA} may grow by more than ", "_points",
            " percentage points.",
        ),
        "value": (
            "For someone who is ", "_known", f" % sure that {_DATA}, the belief that they are in "
            f"it {_WITH} may grow by at most ", "_points", " percentage points.",
        ),
        "both": (
            f"Nobody’s belief that {_DATA} {_WITH} may grow by more than ", "_points",
            " percentage points.",
        ),
    },
    "formula": {
        "in": (
            f"For someone who thinks there is a chance p that {_DATA}, that belief may grow at "
            "most ", "_formula", " fold (q is 1).",
        ),
        "value": (
            "For someone who is ", "_known", f" % sure that {_DATA} (p), and thinks there is a "
            f"chance q of the sensitive value then, the belief that they are in it {_WITH} may "
            "grow at most ", "_formula", " fold.",
        ),
        "both": (
            f"For someone who thinks there is a chance p that {_DATA}, and q of the sensitive "
            f"value then, the belief that they are in it {_WITH} may grow at most ", "_formula",
            " fold.",
        ),
    },
    "epsilon": {"in": ("A budget of ε = ", "_epsilon", ", wherever it comes from.")},
}  # fmt: skip
_BESIDE = re.compile(r" %[.,]?|[^\s]+")  # a unit, or what follows without a space
_WORRIED = frozenset(KINDS) - {"epsilon"}
_BLANKS: dict[str, tuple[str, float | None, float | None]] = {
    "before": ("belief before, in percent", 0, 100),
    "after": ("belief after at most, in percent", 0, 100),
    "fold": ("growth of belief at most, how many fold", 1, None),
    "points": ("growth of belief at most, in percentage points", 0, 100),
    "known": ("how sure that the person is in the data, in percent", 0, 100),
    "formula": ("the most that belief may grow, as a formula in p and q", None, None),
    "epsilon": ("the budget epsilon", 0, None),
}
# Beyond these nothing can be said that anyone would act on, and noise has no numbers any more.
_LEAST = {"fold": 1.000001, "epsilon": 1e-6}
_MOST = {"fold": 1e9, "epsilon": 1e3}


def _share(percentage: float) -> float:
    """Return a percentage as a probability: 12 gives the same double as 0.12."""
    return float(Decimal(repr(float(percentage))) / 100)


def _percentage(share: float) -> float:
    return float(Decimal(repr(float(share))) * 100)


@dataclass(frozen=True, slots=True)
class Asked:
    """Conditions that must all hold (Cost: that are compared), and how sure it must be."""

    conditions: tuple[Condition, ...] = (Condition(),)
    delta: float = 0.0
    confidence: float = 0.99
    sided: str = "two"

    def to_mapping(self) -> dict[str, Any]:
        """Return a tolerance file's mapping: all conditions, and the promise."""
        parts = [condition.to_mapping() for condition in self.conditions]
        out: dict[str, Any] = parts[0] if len(parts) == 1 else {"all": parts}
        return out | self.promise()

    def promise(self) -> dict[str, Any]:
        """Return δ, confidence and side as the file has them; nothing for every output."""
        if not self.delta:
            return {}
        return {"delta": self.delta, "confidence": self.confidence, "sided": self.sided}

    def to_query(self) -> dict[str, Any]:
        """Return what a link holds."""
        out: dict[str, Any] = {}
        for place, condition in enumerate(self.conditions, 1):
            out |= condition.to_query(_suffix(place))
        return out | self.promise()

    def fields(self) -> dict[str, str]:
        """Return the blanks in use, as the form writes them: a drag changes them."""
        return {
            piece.name: piece.value
            for place, condition in enumerate(self.conditions, 1)
            for piece in condition.pieces(_suffix(place))
            if not isinstance(piece, str)
        }


def _suffix(place: int) -> str:
    return "" if place == 1 else str(place)


def read(given: Mapping[str, str], *, first: Asked | None = None, budgets: bool = False) -> Asked:
    """Return the state that a form or a link holds; `first` stands where nothing is said.

    `add` asks for one more condition, `remove` for one less. With `budgets` a condition may also
    be a budget itself.
    """
    start = first or Asked()
    if not any(name in given for name in ("kind", "worry", *_BLANKS)):
        conditions = list(start.conditions)
    else:
        places = [1, *(place for place in range(2, MOST + 1) if f"kind{place}" in given)]
        conditions = [_condition(given, _suffix(place), budgets) for place in places]
    if "remove" in given and len(conditions) > 1:
        place = _number("remove", given["remove"], 1, whole=True)
        if 1 <= place <= len(conditions):
            del conditions[int(place) - 1]
    if "add" in given and len(conditions) < MOST:
        conditions.append(replace(conditions[-1]))
    sided = given.get("sided", start.sided)
    if sided not in ("one", "two"):
        raise InputError("sided must be one (increases only) or two.")
    return Asked(
        tuple(conditions),
        _number("delta", given.get("delta", ""), start.delta),
        _number("confidence", given.get("confidence", ""), start.confidence),
        sided,
    )


def _condition(given: Mapping[str, str], suffix: str, budgets: bool) -> Condition:
    bare = Condition()
    values: dict[str, Any] = {}
    for field in fields(Condition):
        text = given.get(field.name + suffix, "").strip()
        default = getattr(bare, field.name)
        if isinstance(default, float):
            label = _BLANKS[field.name][0]
            value = _number(f"“{label}”", text, default)
            low, high = _LEAST.get(field.name, 1e-4), _MOST.get(field.name, 100.0)
            if not low <= value <= high:
                raise InputError(
                    f"“{label}” is {value:g}; on this page it lies between {low:g} and {high:g}."
                )
            values[field.name] = value
        else:
            values[field.name] = text or default
    kinds = [kind for kind in KINDS if budgets or kind != "epsilon"]
    if values["kind"] not in kinds:
        raise InputError(f"there is no such kind of sentence; there are: {', '.join(kinds)}.")
    if values["worry"] not in WORRIES:
        raise InputError(f"there is no such worry; there are: {', '.join(WORRIES)}.")
    return Condition(**values)


def _schema(name: str) -> dict[str, Any]:
    """Return what a blank takes, as OpenAPI says it."""
    if name == "formula":
        return {"type": "string", "maxLength": 500}
    return {"type": "number", "minimum": _LEAST.get(name, 1e-4), "maximum": _MOST.get(name, 100.0)}


def _number(name: str, text: str, default: float, *, whole: bool = False) -> float:
    text = text.strip().replace(",", ".")
    if not text:
        return default
    try:
        value = float(int(text)) if whole else float(text)
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{name} is {text[:20]!r}; it must be a number.")
    return value


def budget_text(epsilon: float) -> str:
    """Return a budget as it is shown: rounded down, to four decimals or as many as it needs.

    >>> budget_text(1.29928), budget_text(0.000012345), budget_text(float("inf"))
    ('1.2992', '0.00001234', 'unbounded')
    """
    if math.isinf(epsilon):
        return "unbounded"
    digits = max(4, 3 - math.floor(math.log10(epsilon))) if epsilon > 0 else 4
    return f"{decimal_down(epsilon, digits):.{digits}f}"


def preset_links() -> list[tuple[str, Asked, str]]:
    """Return the presets as states: their name, their sentence, what they are about."""
    return [(name, _of_preset(name), one.about) for name, one in PRESETS.items()]


def _of_preset(name: str) -> Asked:
    keys = PRESETS[name].tolerance.to_mapping()
    p, q = keys.get("p", 1.0), keys.get("q", 0.0)
    if q == 1:
        worry = "in"
    elif "p" in keys:
        worry = "value"
    else:
        worry = "both"
    values: dict[str, Any] = {"worry": worry}
    if worry == "value":
        values["known"] = _percentage(p)
    if "unless_ratio" in keys:
        values |= {"kind": "unless", "after": _percentage(keys["posterior"])}
        values["fold"] = keys["unless_ratio"]
    elif "posterior" in keys:
        values |= {"kind": "posterior", "after": _percentage(keys["posterior"])}
        values["before"] = _percentage(p if worry == "in" else q)
    elif "ratio" in keys:
        values |= {"kind": "ratio", "fold": keys["ratio"]}
    else:
        values |= {"kind": "difference", "points": _percentage(keys["difference"])}
    return Asked((Condition(**values),))


def parameters(
    *, budgets: bool = False, more: Mapping[str, tuple[dict[str, Any], str]] | None = None
) -> dict[str, Any]:
    """Return the query of an endpoint for OpenAPI: every name that `read` looks at.

    `more` maps names that the endpoint reads itself to their schema and what they are.
    """
    bare = Condition()
    kinds = [kind for kind in KINDS if budgets or kind != "epsilon"]
    out: list[dict[str, Any]] = []

    def declare(name: str, schema: dict[str, Any], about: str) -> None:
        out.append(
            {"name": name, "in": "query", "required": False, "schema": schema, "description": about}
        )

    for place in range(1, MOST + 1):
        end = _suffix(place)
        # Which further sentences there are is said by their kind; the first is there without one.
        first = {"default": "posterior"} if place == 1 else {}
        declare(f"kind{end}", {"type": "string", "enum": kinds} | first, "the kind of sentence")
        worries = {"type": "string", "enum": list(WORRIES), "default": bare.worry}
        declare(f"worry{end}", worries, "what worries you")
        for name, (label, _, _) in _BLANKS.items():
            if name == "epsilon" and not budgets:
                continue
            declare(f"{name}{end}", _schema(name) | {"default": getattr(bare, name)}, label)
    open_end = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
    declare("delta", open_end | {"default": 0}, "δ, for a promise with a confidence")
    declare("confidence", open_end | {"default": 0.99}, "how often it must hold")
    declare("sided", {"type": "string", "enum": ["one", "two"]}, "increases only, or both ways")
    for name, (schema, about) in (more or {}).items():
        declare(name, schema, about)
    return {"parameters": out}
