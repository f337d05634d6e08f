"""What every tolerance has, the registry of shapes, and several tolerances at once.

Notation. A tolerance is a risk profile r*(p, q) (K&R §2.3), the largest ratio of posterior to prior
that is tolerated at each prior in its box; outside the box nothing is asked for.

A shape of tolerance is one class in one file: its keys (in files, and as flags), its checks, its
profile, its closed form if the worst prior is known, its sentence. `@shape` registers it, and the
reader of keys, the command line, `choose` and the sentences take it from there:

    @shape
    @dataclass(frozen=True, slots=True)
    class Halving(Tolerance):
        keys = (Key("halving", help="…"),)
        halving: float
        box: Box = EVERY_PRIOR

        def expression(self) -> Expression: …
        def sentence(self, words: Wording) -> str: …

`AllOf` asks for several at once; `Groups` keeps the name of each adversary or group, so that the
one that binds can be named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from discreet.errors import InputError, ToleranceError
from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.formula import Expression, evaluate
from discreet.words import has, say

Monotone: TypeAlias = Literal["increasing", "decreasing"]
Shape = TypeVar("Shape", bound="type[Tolerance]")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a shape in files, and with dashes for underscores its flag.

    `spellings` are the ways to write the flag, where there are several; `help` may be left out by
    shapes whose texts are in the catalogue.
    """

    name: str
    kind: type = float
    metavar: str | None = None
    spellings: tuple[str, ...] = ()
    help: str = ""
    flag: bool = True

    def describe(self) -> str:
        """Return what the flag means, in one line."""
        name = f"promises.flag.{self.name}"
        return say(name) if not self.help and has(name) else self.help


class Solved(NamedTuple):
    """lower ≤ ε* ≤ upper of one tolerance, the prior that binds it, and how that is known.

    A 0 in a prior is a limit, which is not attained. `name` is that of its group.
    """

    lower: float
    upper: float
    p: float
    q: float
    attained: bool
    method: str
    certified: bool = True
    reason: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Wording:
    """What a sentence about a tolerance speaks of: the event, whom, and in which directions."""

    event: str
    nobody: str
    anyone: str
    unit: str
    both_ways: bool

    def fill(self, name: str, /, **values: Any) -> str:
        """Return a sentence of the catalogue with these and its own values."""
        said = {"event": self.event, "Nobody": self.nobody, "anyone": self.anyone}
        return say(name, unit=self.unit, **said, **values)


class Tolerance:
    """One shape of tolerance, or several combined; `&` asks for both.

    A shape with `expression()`, or with `ratio_at` and a declared `monotone()`, gets a budget that
    is proved by a search; one with `ratio_at` alone gets one that is looked for.
    """

    __slots__ = ()

    keys: ClassVar[tuple[Key, ...]] = ()
    """Its keys; the first names the shape, the others go with it."""
    own_priors: ClassVar[bool] = False
    """Whether it says itself which priors it speaks of."""
    guessable: ClassVar[bool] = True
    """Whether it can be about the chance of a right guess, on average."""

    @property
    def box(self) -> Box:
        """The priors that it speaks of."""
        return EVERY_PRIOR

    @classmethod
    def from_keys(cls, given: Mapping[str, Any], box: Box, folder: Path | None) -> Tolerance:
        """Return the tolerance that its keys describe; paths are relative to `folder`."""
        own = {key.name: given[key.name] for key in cls.keys if key.name in given}
        return cls(**own) if cls.own_priors else cls(**own, box=box)  # type: ignore[call-arg]

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        own = {key.name: getattr(self, key.name) for key in self.keys}
        return own if self.own_priors else own | self.box.to_mapping()

    def expression(self) -> Expression | None:
        """Return the profile as a formula, where it has one."""
        return None

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        formula = self.expression()
        if formula is None:
            raise InputError("promises.no_profile", tolerance=self)
        return evaluate(formula, p, q)

    def least_after(self, p: float, q: float) -> float | None:
        """Return how low belief may fall from pq; None where it speaks of increases alone."""
        return None

    def monotone(self) -> tuple[Monotone | None, Monotone | None]:
        """Return how the profile is known to move with p and with q."""
        return None, None

    def closed_form(self) -> Solved | None:
        """Return the largest ε that keeps it, where its worst prior is known in advance."""
        return None

    def falls(self) -> Solved | None:
        """Return the largest ε that keeps it downward; None where it speaks of increases alone."""
        return None

    def least_ratio(self) -> float | None:
        """Return the least ratio that it tolerates anywhere, where that is plain."""
        return None

    def lasting_ratio(self) -> float | None:
        """Return the ratio that it tolerates however high the prior is, where there is one."""
        return None

    def counts(self, central: bool) -> tuple[bool, bool]:
        """Say whether the loss of one step counts for it, and that of two."""
        return (self.box.p0 != 1, self.box.q0 != 1) if central else (True, False)

    def scale(self, central: bool) -> float:
        """Return the factor of its ε*: under replace one step takes the place of two."""
        return 1.0 if central else 2.0

    def where_all_are_in(self) -> Tolerance:
        """Return it for data that everyone is known to be in: p = 1."""
        return replace(self, box=replace(self.box, p0=1.0))  # type: ignore[type-var]

    def sentence(self, words: Wording) -> str:
        """Return what it promises, in words, without the full stop."""
        return words.fill("promises.sentence.function", name=type(self).__name__)

    def told(self, words_for: Callable[[Box], Wording]) -> str:
        """Return its sentence, or those of all its parts, about the priors that each speaks of."""
        return self.sentence(words_for(self.box))

    def leaves(self) -> Iterator[tuple[str | None, Tolerance]]:
        """Yield the single tolerances inside, each with the name of its group."""
        yield None, self

    def __and__(self, other: Tolerance) -> AllOf:
        return AllOf((self, other))


SHAPES: dict[str, type[Tolerance]] = {}
"""Every shape by the key that names it, in the order in which several are read."""


Kind: TypeAlias = "type | tuple[str, ...]"
PRIORS = frozenset({"about", "p", "q", "box", "values_known"})
"""Keys that say what is guessed, and what is believed before."""
SURETY: dict[str, Kind] = {
    "every_output": bool,
    "confidence": float,
    "on_average": bool,
    "answers": int,
    "sided": ("two", "one"),
}
"""How surely it must hold: what each key is, a type or one of some words."""
DEPENDENCE: dict[str, Kind] = {"related": int, "odds": float, "neighbours": int, "chain": bool}
"""How the data of units depend on each other."""
OF_WHOM = frozenset({"adjacency", "unit", "unit_name"}) | DEPENDENCE.keys()
_BESIDE = PRIORS | SURETY.keys() | OF_WHOM | {"prior", "delta"}


def shape(cls: Shape) -> Shape:
    """Register a shape of tolerance under its keys."""
    taken = {key.name for known in SHAPES.values() for key in known.keys} | _BESIDE
    own = {key.name for key in cls.keys}
    if not own or own & taken:
        raise TypeError(f"{cls.__name__} has no keys of its own: {sorted(own & taken)} are taken")
    SHAPES[cls.keys[0].name] = cls
    return cls


def number(name: str, value: float, rule: str, holds: Callable[[float], bool]) -> float:
    """Return a number for which a rule holds; `rule` is a text of the catalogue."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise ToleranceError("promises.not_a_number", name=name, value=value, rule=say(rule))
    try:
        found = float(value)
    except OverflowError:
        raise ToleranceError("promises.too_large", name=name, rule=say(rule)) from None
    if not holds(found):
        raise ToleranceError("promises.breaks_rule", name=name, value=found, rule=say(rule))
    return found


def share(name: str, value: float, rule: str, holds: Callable[[float], bool]) -> float:
    """Return a probability; of one that was typed in percent say how it is written."""
    found = number(name, value, rule, holds)
    if not found <= 1:
        if found <= 100:
            share = found / 100
            raise ToleranceError("promises.in_percent", name=name, value=found, share=share)
        raise ToleranceError("promises.no_probability", name=name, value=found)
    return found


def check_ratio(value: float) -> float:
    """Return a ratio above 1, or say why no other will do."""
    return number("ratio", value, "promises.rule.ratio", lambda r: r > 1)


@dataclass(frozen=True, slots=True)
class AllOf(Tolerance):
    """Several tolerances that must all hold."""

    keys = (Key("all", list, flag=False),)
    own_priors = True

    parts: tuple[Tolerance, ...]

    def __post_init__(self) -> None:
        flat: list[Tolerance] = []
        for part in self.parts:
            flat.extend(part.parts if isinstance(part, AllOf) else (part,))
        if not flat:
            raise ToleranceError("promises.no_tolerance")
        object.__setattr__(self, "parts", tuple(flat))

    @classmethod
    def from_keys(cls, given: Mapping[str, Any], box: Box, folder: Path | None) -> Tolerance:
        """Return what a list of mappings describes; one of them alone is that one."""
        from discreet.promises.keys import list_of, tolerance_in

        found = cls(tuple(tolerance_in(part, folder) for part in list_of("all", given["all"])))
        return found.parts[0] if len(found.parts) == 1 else found

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file; a single part has its own."""
        written = [part.to_mapping() for part in self.parts]
        return written[0] if len(written) == 1 else {"all": written}

    def leaves(self) -> Iterator[tuple[str | None, Tolerance]]:
        """Yield those of every part."""
        for part in self.parts:
            yield from part.leaves()

    def told(self, words_for: Callable[[Box], Wording]) -> str:
        """Return the sentences of every part, joined."""
        first, *rest = (part.told(words_for) for part in self.parts)
        return say("promises.sentence.and").join([first, *map(_lower, rest)])

    def __str__(self) -> str:
        return "; and ".join(str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Groups(Tolerance):
    """One tolerance for each named adversary or group of people; all must hold."""

    keys = (Key("groups", dict, flag=False),)
    own_priors = True

    parts: tuple[tuple[str, Tolerance], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.parts]
        if not names:
            raise ToleranceError("promises.groups_empty")
        if len(set(names)) < len(names):
            raise ToleranceError("promises.groups_same_name")

    @classmethod
    def from_keys(cls, given: Mapping[str, Any], box: Box, folder: Path | None) -> Tolerance:
        """Return what a mapping from names to mappings describes."""
        from discreet.promises.keys import tolerance_in

        named = given["groups"]
        if not isinstance(named, Mapping):
            raise ToleranceError("promises.groups_no_mapping", value=named)
        return cls(tuple((str(name), tolerance_in(one, folder)) for name, one in named.items()))

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a tolerance file."""
        return {"groups": {name: part.to_mapping() for name, part in self.parts}}

    def leaves(self) -> Iterator[tuple[str | None, Tolerance]]:
        """Yield those of every group, with its name."""
        for name, part in self.parts:
            for inner, leaf in part.leaves():
                yield (name if inner is None else f"{name}: {inner}"), leaf

    def told(self, words_for: Callable[[Box], Wording]) -> str:
        """Return the sentences of every group, joined."""
        return say("promises.sentence.and").join(
            say("promises.sentence.group", name=name, text=_lower(part.told(words_for)))
            for name, part in self.parts
        )

    def __str__(self) -> str:
        return "; and ".join(f"for {name}: {part}" for name, part in self.parts)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
