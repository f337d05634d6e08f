"""What every statistic is: the keys that a spec gives it, and all that follows from them.

A statistic is one class in one file, registered once:

    @register("count")
    class Count(Grouped):
        count: Literal["rows", "units"]

Its fields are the keys of its entry in a spec (a model of pydantic: unknown keys are refused). Its
methods say what the engine measures (`measures`), which mechanism calls that takes and how
sensitive each is (`parts`), what goes into a call (`numbers`, `scores`), how noisy whole numbers
become rows of the table (`rows`), how accurate they are before anything is read (`accuracy`), what
it does in a sentence (`explain`), and how a script for OpenDP does the same (`script`). The spec's
models and schema, plans, prices, draws, audits, scripts and forms are derived from that.

A statistic that is made of others gives them in `tables`: each is measured, priced and drawn by
itself, under the name that it has there.

Whole numbers are multiples of the resolution; values are exact fractions until they are printed. No
value depends on anything but noisy numbers and the spec. Intervals hold over the noise alone, with
at least the stated probability (a union bound where there are several calls): they say how far the
value is from the same statistic of the bounded and clipped data. Those of answers that people
randomized hold over their coins too, as far as `randomized` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, product
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
)

from pydantic import AfterValidator, Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import core_schema

from discreet.errors import SpecError
from discreet.outside import load_from_outside
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Cells, Counting, KeySet, Measure, Number, Summing
from discreet.releases.models import Closed, Keys, Names, Pair, wrong_choice
from discreet.releases.rows import Condition
from discreet.releases.statistics.values import (
    LARGEST,
    SIZES,
    Answer,
    Noisy,
    Part,
    Size,
    by_size,
    multiples,
    plain_rows,
    span,
)
from discreet.words import has, say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced


MOST_CELLS = 5_000_000
"""The most combinations of keys that are listed."""


Measured: TypeAlias = Mapping[str, Any]

DRAWN = "drawn"
"""Beside the measures of a statistic: what was drawn for its parts so far, by name."""


class Files(Protocol):
    """Public files beside a spec."""

    def keys(self, name: str, column: str) -> tuple[str, ...]:
        """Return the keys of a column."""

    def parents(self, name: str, child: str, parent: str) -> dict[str, str]:
        """Return the key of the column `parent` for each key of the column `child`."""


@dataclass(frozen=True, slots=True)
class FormField:
    """A field by which a form asks for one key of a statistic."""

    name: str
    takes: Literal[
        "text", "number", "share", "texts", "numbers", "column", "sets", "choice", "flag", "other"
    ]
    required: bool
    label: str
    hint: str = ""
    example: str = ""
    options: tuple[tuple[str, str], ...] = ()


ColumnName: TypeAlias = Annotated[str, "column"]
"""A text that names a column of the data: a form offers the columns that there are."""

Proportion: TypeAlias = Annotated[float, "share"]
"""A number between 0 and 1: a form takes it as a percentage too."""


@dataclass(frozen=True, slots=True)
class ScriptLines:
    """How the lines of a script name a statistic's draws, and put a value in the table.

    In a script there are `kept` (the rows that count, with their cell), `cells` and `by`.
    """

    name: str
    each: ClassVar[str] = "for key, value in zip(cells, noisy, strict=True):"

    def drawn(self, part: str) -> str:
        """The draw of one part."""
        return f"draw[{f'{self.name}/{part}'!a}]"

    def add(self, value: str, labels: str = "") -> str:
        """The line that adds a value of the cell `key`; `labels` are columns beside its keys."""
        more = f" | {{{labels}}}" if labels else ""
        return f"table.add({self.name!a}, dict(zip(by, key, strict=True)){more}, {value})"

    @staticmethod
    def fraction(value: Fraction) -> str:
        """A fraction as code."""
        return f"Fraction({value.numerator}, {value.denominator})"


class Threshold(Closed):
    """The δ that pays for finding keys."""

    delta: float = Field(gt=0, lt=1)
    weight: float = Field(default=1.0, gt=0)


class Limited(Threshold):
    """The δ that pays for finding keys of one column, and how many are kept."""

    most: int = Field(
        default=1000, ge=1, description="The most keys that are kept: those of the most units."
    )


class Found(Closed):
    """Keys of one column that are not public: found and paid for by a noisy threshold."""

    discover: Limited


@dataclass(frozen=True, slots=True)
class Sought:
    """Keys of some columns that are to be found and paid for.

    At most `most` are kept. `listed` are keys that may be found, where a public file has them.
    """

    columns: tuple[str, ...]
    price: Threshold
    part: str = "keys"
    most: int | None = None
    listed: tuple[str, ...] = ()

    def assumed(self, keys: int | None = None) -> KeySet:
        """Return so many keys of one column to stand for those that will be found."""
        some = self.listed or tuple(f"{self.part} {place}" for place in range(self.most or 0))
        return KeySet(self.columns, tuple((key,) for key in some[: keys or self.most]))


class Discover(Closed):
    """Keys that are not public: found and paid for by a noisy threshold.

    Public keys of every column are published whether they are found or not; public keys of some
    columns are combined with what is found in the others.
    """

    discover: Threshold
    known: dict[str, Keys] = Field(
        default_factory=dict, description="Public keys beside those that are found, by column."
    )


class Within(Closed):
    """A wanted accuracy, instead of a weight: |error| at most this, with that probability."""

    error: float = Field(gt=0)
    confidence: float = Field(default=0.95, gt=0, lt=1)


class Statistic(Closed):
    """A statistic of rows that has one cell, and adds no column to the table."""

    kind: ClassVar[str]
    overall: ClassVar[bool] = False
    """Whether it has one number for all cells of its pass."""
    mixes: ClassVar[bool] = False
    """Whether a value is made of several noisy numbers."""
    refines: ClassVar[tuple[str, ...]] = ()
    """Kinds whose keys it may have as well, and which it then is instead of."""

    name: str | None = Field(default=None, min_length=1, max_length=100)
    weight: float | None = Field(default=None, gt=0)
    within: Within | None = None
    where: Condition | None = Field(default=None, description="Only rows that meet a condition.")

    @model_validator(mode="after")
    def _share(self) -> Statistic:
        if self.weight is not None and self.within is not None:
            raise SpecError("releases.spec.weight_and_within")
        return self

    # ------------------------------------------------------------------ what it is about

    @property
    def stays_within(self) -> Number | None:
        """The column whose bounds its values keep to, so that an interval may be all of them."""
        return None

    def tables(self) -> tuple[Statistic, ...]:
        """Return the statistics that are measured for it, each with a name: itself."""
        return (self,)

    @property
    def subject(self) -> str:
        """What it is of, mostly a column: the default name has it."""
        return str(getattr(self, self.kind))

    def resolved(self, files: Files) -> Statistic:
        """Return it with the public files that it needs read; most need none."""
        return self

    def shown(self, cells: Cells | None) -> KeySet | None:
        """Return the cells that its rows are of, from those that are measured: mostly the same."""
        return cells if isinstance(cells, KeySet) else None

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """The columns that make its groups."""
        return ()

    @property
    def public_keys(self) -> Mapping[str, tuple[str, ...] | str]:
        """The public values of those columns, or the files that list them."""
        return {}

    @property
    def sought(self) -> tuple[Sought, ...]:
        """The keys that are found, where they are not public."""
        return ()

    def over(self, found: Sequence[KeySet]) -> tuple[Self, Cells | None]:
        """Return it, and its cells, once the keys that it sought were found; mostly unchanged."""
        return self, None

    @property
    def counts_units(self) -> bool:
        """Whether one row a unit and group is enough: in a count of units."""
        return bool(getattr(self, "count", None) == "units")

    @property
    def adds(self) -> tuple[Fraction, Fraction] | None:
        """The least and the most that a row adds to a value, if values add up over rows.

        Then a row of the table is one noisy number, with nothing done to it.
        """
        return None

    @property
    def typical(self) -> bool:
        """Whether it describes a typical row: then leaving out rows at random hardly moves it."""
        return False

    @property
    def size_of_whole(self) -> Size:
        """What the size of a value is that another is divided by: of a count of rows, its rows."""
        _, most = self.adds or (0, Fraction(1))
        return Size("denominator", most or Fraction(1))

    @property
    def extra(self) -> tuple[str, ...]:
        """Columns of the table beside its groups: the bins, the answers."""
        return ()

    def with_keys(self, known: Mapping[str, tuple[str, ...]]) -> Self:
        """Return it with the keys of columns whose values the spec itself says."""
        return self

    # ------------------------------------------------------------------ measuring and noise

    def measures(self) -> tuple[Measure, ...]:
        """Return what the engine has to measure; a measure's name is that of `measure_name`."""
        raise NotImplementedError

    def measure_name(self, part: str) -> str:
        """Return what the measure behind a part is called."""
        return f"{self.name}/{part}"

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """Return the mechanism calls it takes, and how sensitive each is."""
        raise NotImplementedError

    def tightened(self, calls: Mapping[str, Priced], tries: int) -> Statistic | None:
        """Return it with its budget split otherwise, if its calls do not do; None if they do."""
        return None

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """Return the whole numbers that noise goes on, in cell order."""
        found = measured[self.measure_name(part)]
        if found and isinstance(found[0], list):
            return [count for cell in found for count in cell]
        return list(found)

    def scores(self, part: str, measured: Measured) -> list[list[int]]:
        """Return the scores of each choice to be made, in cell order; some of a joint one."""
        raise NotImplementedError

    def chosen(
        self, part: str, measured: Measured, choose: Callable[[Any], int], scale: float
    ) -> list[int]:
        """Return the values of a joint choice, cell by cell; `choose` draws by log weights."""
        raise NotImplementedError

    def drawn(self, measured: Measured) -> Mapping[str, Noisy]:
        """Return what the parts before gave; what is asked next may depend on it."""
        found: Mapping[str, Noisy] = measured.get(self.measure_name(DRAWN), {})
        return found

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> Sequence[Sequence[Answer]]:
        """Return the rows of the table, a list a cell."""
        raise NotImplementedError

    def twin_ends(
        self, published: Sequence[str | None], calls: Mapping[str, Priced], interval: float
    ) -> list[tuple[Fraction, Fraction]] | None:
        """Return the intervals of the numbers `published`, from them alone; None without any."""
        return None

    def note(self, contribution: Contribution) -> str | None:
        """Return what a person should know of its price before a release, if there is something."""
        return None

    def check_policy(self) -> None:
        """Refuse what a spec declares and no release may have."""

    def clipped(self) -> list[tuple[str, float, float]]:
        """Return the columns whose values are clipped, with their bounds."""
        bounds = getattr(self, "bounds", None)
        return [] if bounds is None else [(self.subject, *bounds)]

    # ------------------------------------------------------------------ accuracy and words

    def accuracy(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """Return how far a value may be off, as JSON-ready values; by size, if that is assumed."""
        if self.assumed(SIZES[0]) is not None:
            return self.accuracy_by_size(calls, interval)
        (call,) = calls.values()
        step = float(call.asked.part.resolution)
        return {"half_width": call.half_width(interval) * step, "sd": call.sd * step}

    def accuracies(self, calls: Mapping[str, Priced], interval: float) -> list[dict[str, Any]]:
        """Return the lines that tell its accuracy: one, unless its cells differ."""
        return [self.accuracy(calls, interval)]

    def assumed(self, size: int) -> dict[str, list[int]] | None:
        """Return the numbers of groups of that size; None where errors do not depend on it."""
        return None

    def accuracy_by_size(self, calls: Mapping[str, Priced], interval: float) -> dict[str, Any]:
        """Return how far off a value is, at the most, in groups of some assumed sizes."""
        confidence = 1 - (1 - interval) / len(calls)
        noise = {name: (call.half_width(confidence), call.sd) for name, call in calls.items()}

        def answers(size: int, noise: Mapping[str, tuple[int, float]]) -> Iterator[Answer]:
            given = self.assumed(size) or {}
            noisy = {name: Noisy(given[name], *noise[name]) for name in calls}
            return chain.from_iterable(self.rows(noisy, interval))

        def width(size: int) -> float | None:
            found = [answer.farthest for answer in answers(size, noise)]
            if None in found:
                return None
            most = max(filter(None, found), default=0.0)
            return min(most, self.off_by(size, calls, interval))

        nothing = dict.fromkeys(calls, (LARGEST, float(LARGEST)))
        known = next(answers(SIZES[0], nothing)).half_width
        return by_size(width, math.inf if known is None else known, self.size_of)

    @property
    def size_of(self) -> Size:
        """What the size of an assumed group is."""
        return Size()

    def off_by(self, size: int, calls: Mapping[str, Priced], interval: float) -> float:
        """Return how far off a value is at most in groups of that size, if more than rows tell."""
        return math.inf

    def explain(self) -> str:
        """Return what it does, in one sentence: the text of its kind, filled with its keys."""
        given = dict(iter(self))
        low, high = given.get("bounds") or (None, None)
        said = {"low": low, "high": high, "step": given.get("resolution")}
        said |= {"what": self.subject, "column": self.subject}
        return say(f"releases.explain.{self.kind}", **given | said)

    def script(self, lines: ScriptLines) -> Iterator[str]:
        """Yield the lines of a script that measure it, draw noise and fill the table."""
        raise SpecError("releases.script.no_lines", statistic=self.name, kind=self.kind)

    # ------------------------------------------------------------------ forms

    @classmethod
    def form(cls) -> tuple[FormField, ...]:
        """Return the fields of a form for the keys of its own, the one that names it first."""
        own = [name for name in cls.model_fields if name not in _ASKED_OF_ALL]
        own.sort(key=lambda name: name != cls.kind)
        keys = cls.model_json_schema()["properties"]
        return tuple(
            _form_field(cls.kind, name, cls.model_fields[name], keys[name]) for name in own
        )

    @classmethod
    def keyed_by(cls, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the columns whose keys a form asks for; its values need not be valid."""
        return texts_in(values.get("by"))

    @classmethod
    def label(cls) -> str:
        """Return what a form calls it."""
        name = f"releases.kinds.{cls.kind}"
        return say(name) if has(name) else cls.kind


_ASKED_OF_ALL = ("name", "weight", "within", "where", "by", "keys")


_TAKES: dict[str | None, Any] = {
    "string": "text",
    "number": "number",
    "integer": "number",
    "boolean": "flag",
}


def texts_in(given: object) -> tuple[str, ...]:
    """Return the texts of a list; of anything else, none."""
    return tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()


def _form_field(kind: str, name: str, field: Any, schema: Mapping[str, Any]) -> FormField:
    """Derive a form's field from a model's: words from the catalogue, else the model's own."""

    def words(part: str, otherwise: str) -> str:
        texts = (f"releases.forms.{at}.{part}" for at in (f"{kind}_{name}", name))
        return next((say(text) for text in texts if has(text)), otherwise)

    first = schema.get("anyOf", [schema])[0]
    options = tuple((one, words(one, one)) for one in first.get("enum", ()))
    if options and not field.is_required():
        options = (*options, ("", words("none", "")))
    takes: Any = "choice" if options else _TAKES.get(first.get("type"), "other")
    if first.get("type") == "array":
        items = first.get("items") or first["prefixItems"][0]
        takes = "texts" if items.get("type") == "string" else "numbers"
    label = name.replace("_", " ")
    if "column" in field.metadata:
        takes, label = "column", say("releases.forms.column")
    else:
        takes = next((one for one in ("share", "sets") if one in field.metadata), takes)
    return FormField(
        name,
        takes,
        field.is_required(),
        words("label", field.title or label),
        words("hint", field.description or ""),
        words("example", ""),
        options,
    )


# ---------------------------------------------------------------------- groups and bounds


def _found_or_public(keys: object) -> str:
    given = keys.get("discover") if isinstance(keys, dict) else getattr(keys, "discover", None)
    return "discover" if isinstance(given, (dict, Threshold)) else "public"


PublicOrFound: TypeAlias = Annotated[
    Annotated[Found, Tag("discover")] | Annotated[Keys, Tag("public")],
    Discriminator(_found_or_public),
]
"""The keys of a column: a list, a file, or what pays for finding them."""

AllKeys: TypeAlias = Annotated[
    Annotated[Discover, Tag("discover")] | Annotated[dict[str, PublicOrFound], Tag("public")],
    Discriminator(_found_or_public),
]


class Grouped(Statistic):
    """A statistic of each group, over public keys or keys that are paid for."""

    by: Names = ()
    keys: AllKeys = Field(default_factory=dict)

    @field_validator("by")
    @classmethod
    def _once(cls, by: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(by)) != len(by):
            raise SpecError("releases.spec.by_twice")
        return by

    @model_validator(mode="after")
    def _known(self) -> Grouped:
        if isinstance(self.keys, Discover) and not self.grouped_by:
            raise SpecError("releases.spec.discover_without_by")
        given = self.public_keys if isinstance(self.keys, Discover) else self.keys
        extra = [column for column in given if column not in self.grouped_by]
        if extra:
            names = ", ".join(map(repr, self.grouped_by)) or say("releases.spec.empty")
            raise SpecError("releases.spec.keys_not_in_by", column=extra[0], names=names)
        return self

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """The columns that make its groups."""
        return self.by

    @property
    def public_keys(self) -> Mapping[str, tuple[str, ...] | str]:
        """The public values of those columns, or the files that list them."""
        given = self.keys.known if isinstance(self.keys, Discover) else self.keys
        return {column: keys for column, keys in given.items() if not isinstance(keys, Found)}

    def with_keys(self, known: Mapping[str, tuple[str, ...]]) -> Self:
        """Return it with the keys of columns whose values the spec itself says."""
        given = {column: keys for column, keys in known.items() if column in self.grouped_by}
        if not given or isinstance(self.keys, Discover):
            return self
        return self.model_copy(update={"keys": given | self.keys})

    def resolved(self, files: Files) -> Self:
        """Return it with its files of keys read."""
        lists = {c: files.keys(v, c) for c, v in self.public_keys.items() if isinstance(v, str)}
        if isinstance(self.keys, Discover):
            known = self.keys.model_copy(update={"known": self.keys.known | lists})
            return self.model_copy(update={"keys": known})
        return self.model_copy(update={"keys": self.keys | lists})

    @property
    def sought(self) -> tuple[Sought, ...]:
        """The keys of single columns; or combinations, of all columns if all have public keys."""
        if isinstance(self.keys, Discover):
            open_ones = tuple(column for column in self.by if column not in self.keys.known)
            return (Sought(open_ones or self.by, self.keys.discover),)
        prices = {c: keys.discover for c, keys in self.keys.items() if isinstance(keys, Found)}
        return tuple(Sought((c,), p, f"keys/{c}", p.most) for c, p in prices.items())

    def over(self, found: Sequence[KeySet]) -> tuple[Self, Cells | None]:
        """Return it and its cells: public keys combined with those found, or beside them."""
        by, lists = self.by, dict(self.public_keys)
        if not by:
            return self, None
        for own in found if not isinstance(self.keys, Discover) else ():
            lists[own.columns[0]] = tuple(key for (key,) in own.keys)
        both = tuple(column for column in by if column in lists)
        check_cells(both, (lists[column] for column in both), MOST_CELLS)
        public = KeySet(both, tuple(product(*(lists[column] for column in both))))
        if not isinstance(self.keys, Discover):
            return self, public
        (own,) = found
        if own.columns == by:
            keys = dict.fromkeys((*(public.keys if both else ()), *own.keys))
            return self, KeySet(by, tuple(keys))
        places = [(*both, *own.columns).index(column) for column in by]
        crossed = ((*one, *other) for one in public.keys for other in own.keys)
        return self, KeySet(by, tuple(sorted(tuple(k[at] for at in places) for k in crossed)))


def check_cells(columns: Sequence[str], lists: Iterable[Sized], most: int) -> None:
    """Refuse more combinations of public keys than are listed, or numbered."""
    size = math.prod(map(len, lists))
    if size > most:
        raise SpecError(
            "releases.keys.many_cells", columns=", ".join(columns), size=size, most=most
        )


class Added(Grouped):
    """Counts of rows, or sums of a number: a value is one noisy number, with nothing done to it."""

    @property
    def number(self) -> Number | None:
        """What is added up; None where rows are counted."""
        return None

    @property
    def part(self) -> str:
        """What its one call is named."""
        return "count" if self.number is None else "sum"

    @property
    def largest(self) -> tuple[int, Fraction, bool]:
        """The most that a row adds, in whole steps; the step; whether it may also take away."""
        if self.number is None:
            return 1, Fraction(1), False
        low, high = self.number.low, self.number.high
        return max(abs(low), abs(high), 1), self.number.resolution, low < 0 < high

    @property
    def adds(self) -> tuple[Fraction, Fraction] | None:
        """One, or a multiple of the resolution within the bounds."""
        return (Fraction(1), Fraction(1)) if self.number is None else span(self.number)

    @property
    def size_of_whole(self) -> Size:
        """Rows, where those are counted."""
        rows = getattr(self, "count", None) == "rows" and set(self.adds or ()) == {1}
        return Size() if rows else super().size_of_whole

    def measures(self) -> tuple[Measure, ...]:
        """The rows kept, or their sum."""
        name = self.measure_name(self.part)
        return (Counting(name) if self.number is None else Summing(name, self.number),)

    def call(self, name: str, contribution: Contribution) -> Part:
        """Return noise on numbers to each of which a row adds what it adds to a value."""
        size, step, signed = self.largest
        return Part.of_numbers(name, contribution, size, step, signed=signed)

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """One call."""
        return (self.call(self.part, contribution),)

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> Sequence[Sequence[Answer]]:
        """A number and its interval, exact multiples of the step."""
        return plain_rows(noisy[self.part], self.largest[1])


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    if not bounds[0] < bounds[1]:
        raise SpecError("releases.spec.bounds_order", low=bounds[0], high=bounds[1])
    return bounds


Bounds: TypeAlias = Annotated[Pair, AfterValidator(_ordered)]
"""Two numbers, the lower one first."""

Clipped: TypeAlias = Annotated[
    Bounds, Field(description="Values are clipped to these; they must not come from data.")
]
Resolution: TypeAlias = Annotated[
    float, Field(gt=0, description="Values are rounded to multiples of this.")
]


class Bounded(Grouped):
    """A statistic of a numeric column, clipped and in whole multiples of its resolution."""

    most_multiples: ClassVar[int] = 2 * LARGEST
    too_many: ClassVar[str] = "releases.statistics.many_multiples"

    bounds: Clipped
    resolution: Resolution

    @cached_property
    def number(self) -> Number:
        """The column in whole multiples of the resolution; what overflows is refused."""
        asked = (self.bounds, self.resolution, self.name)
        return multiples(self.subject, *asked, self.most_multiples, self.too_many)


# ---------------------------------------------------------------------- the kinds that there are

KINDS: dict[str, type[Statistic]] = {}
"""The statistics by the key that names them in a spec."""

Kind = TypeVar("Kind", bound=Statistic)


def register(kind: str) -> Callable[[type[Kind]], type[Kind]]:
    """Return a decorator that offers a statistic in specs under the key `kind`, a field of it."""

    def registered(model: type[Kind]) -> type[Kind]:
        if kind in KINDS or kind not in model.model_fields:
            raise TypeError(f"{kind!r} must be a field of {model.__name__}, and new.")
        model.kind = kind
        KINDS[kind] = model
        return model

    return registered


def kind_of(entry: object) -> str | None:
    """Return the one key that says what a statistic is; None without one, or with two."""
    if isinstance(entry, Statistic):
        return entry.kind
    found = [kind for kind in KINDS if isinstance(entry, dict) and kind in entry]
    refined = {kind for each in found for kind in KINDS[each].refines}
    found = [kind for kind in found if kind not in refined]
    return found[0] if len(found) == 1 else None


def default_name(entry: Statistic, position: int) -> str:
    """Return the name of a statistic that has none: kind, column, position."""
    return f"{entry.kind}_{entry.subject}_{position}"


def read_statistic(entry: object) -> Statistic:
    """Return an entry of a spec as the statistic that it is."""
    kind = kind_of(entry)
    if kind is None and load_from_outside("statistics"):
        kind = kind_of(entry)
    if kind is None:
        keys = entry if isinstance(entry, dict) else {}
        own = [str(key) for key in keys if key not in Statistic.model_fields]
        if own and not KINDS.keys() & set(own):
            raise wrong_choice("releases.spec.no_kind", own[0], KINDS)
        raise SpecError("releases.spec.one_kind", kinds=", ".join(KINDS))
    return KINDS[kind].model_validate(entry)


class _AnyRegistered:
    """How pydantic reads an entry: by the model of its kind, among those registered by then."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(read_statistic)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        # In definitions of its own a model is referred to by name, and not written out in place.
        models = (model.__pydantic_core_schema__ for model in KINDS.values())
        return {"oneOf": [handler(core_schema.definitions_schema(m, [])) for m in models]}


Registered: TypeAlias = Annotated[Statistic, _AnyRegistered()]
"""Any statistic that is registered, as a field of a model."""
