"""Shares, rates and changes: made from released numbers alone, so they cost nothing.

    - {share: {of: ill, among: visits}}              # in [0, 1]
    - {share: {of: tables, among: [county]}}         # of cells of margins, among those of one
    - {rate: {events: ill, per: people.csv, times: 1000}}
    - {change: {of: visits, against: out/RELEASE}}   # this release less an earlier one

`of`, `among` and `events` name statistics of the spec whose values are noisy numbers themselves
(counts, sums, histograms), or are such a statistic written in place, which is then released too.
A cell is put in relation to the cell with the same keys; what it is divided by may have fewer
columns. Intervals are those of `quotients`: they hold for the noise in both numbers, and stay in
range. A value out of range is brought to its end, as the interval is; the number without bias is
that of the statistic itself, which stands in the same table.

A part and its whole must be of the same rows. Where a unit may lose rows, they are cells of one
statistic with margins, or measured in one pass; else the share is refused.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import Field, PlainValidator, field_validator, model_validator

from discreet.errors import SpecError
from discreet.reading import fraction_of, json_values, text_of
from discreet.releases.engines.base import KeySet
from discreet.releases.engines.base import Number as Bounded
from discreet.releases.models import Closed, Whole
from discreet.releases.quotients import Spread, difference, error_of_quotient, quotient
from discreet.releases.statistics.base import Statistic, read_statistic, register
from discreet.releases.statistics.cut import loses_rows
from discreet.releases.statistics.margins import ALL, Margins
from discreet.releases.statistics.values import Answer, Result, by_size, decimal
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.planning import Planned
    from discreet.releases.pricing import Priced
    from discreet.releases.spec import Spec


def _referred(value: object) -> object:
    if isinstance(value, (str, Statistic)):
        return value
    return read_statistic(value)


Reference: TypeAlias = Annotated[
    Any, PlainValidator(_referred, json_schema_input_type=str | dict[str, Any])
]
"""The name of a statistic, or one that is written in place."""

_LARGE = 10**9  # So many of something that its noise never reaches zero.
_NO_SHARE = 0.5  # How far off a share is at most if nothing is published.

Number: TypeAlias = Fraction | int | None
Row: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Released:
    """The rows of a statistic as they were released, its calls, and the law of the noise in them.

    `noise` is a `Spread`; it is None where each row is made of several noisy numbers.
    """

    result: Result
    noise: Any
    calls: Mapping[str, Priced] = field(default_factory=dict)
    statistic: Any = None
    most: int | None = None
    """How many cells of each margin are wanted; None for all."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tell its rows apart."""
        cells = () if self.result.cells is None else self.result.cells.columns
        return tuple(dict.fromkeys((*cells, *self.result.extra)))

    def rows(self) -> Iterator[list[tuple[Row, Answer]]]:
        """Yield the rows of each cell, each with its keys."""
        cells = self.result.cells
        keys: tuple[tuple[str, ...], ...] = ((),) if cells is None else cells.keys
        for key, answers in zip(keys, self.result.rows, strict=True):
            yield [
                (dict(zip(self.columns, (*key, *answer.labels), strict=True)), answer)
                for answer in answers
            ]

    def assuming(self, numbers: Iterable[Fraction], interval: float) -> Released:
        """Return it with a number in every cell, and the interval that noise leaves around it."""
        rows = [
            [Answer(row.labels, x, x - within, x + within) for row in cell]
            for cell, x, within in zip(
                self.result.rows, numbers, self._within(interval), strict=True
            )
        ]
        return replace(self, result=replace(self.result, rows=rows))

    def _within(self, interval: float) -> Iterable[Fraction]:
        """Return what the noise in each cell stays within."""
        if self.noise is None:
            found: Iterable[Fraction] = self.statistic.within_cells(self.calls, interval)
            return found
        (call,) = self.calls.values()
        return [call.half_width(interval) * call.asked.part.resolution] * len(self.result.rows)

    def values(self) -> dict[tuple[str, ...], Fraction]:
        """The values by their keys, in the order of `columns`."""
        return {
            tuple(keys.values()): Fraction(answer.value)
            for cell in self.rows()
            for keys, answer in cell
            if answer.value is not None
        }


Answered: TypeAlias = tuple[Number, Number, Number]
Maker: TypeAlias = Callable[[Mapping[str, Released], float], Result]


class Beside(NamedTuple):
    """Numbers that rows are put in relation to: whose they are, and for which keys they exist."""

    name: str
    columns: tuple[str, ...]
    keys: Container[tuple[str, ...]]
    noise: Any = None
    """The noise in them, where they were released earlier."""


class Derived(Statistic):
    """A statistic that is made from others after they were released."""

    @model_validator(mode="after")
    def _free(self) -> Derived:
        if self.weight is not None or self.within is not None:
            raise SpecError("releases.derived.free", kind=self.kind)
        return self

    @property
    def subject(self) -> str:
        """What it is of."""
        first = next(iter(self.sources().values()))
        return first if isinstance(first, str) else first.subject

    @abstractmethod
    def sources(self) -> dict[str, str | Statistic]:
        """The statistics that it is made from, by their keys; the first has its rows."""

    def tables(self) -> tuple[Statistic, ...]:
        """Those that are written in place are released under names of their own."""
        return tuple(
            one.model_copy(update={"name": self.name_of(key)})
            for key, one in self.sources().items()
            if isinstance(one, Statistic)
        )

    def name_of(self, key: str) -> str:
        """The name of one of its sources in the table."""
        one = self.sources()[key]
        return one if isinstance(one, str) else one.name or f"{self.name}/{key}"

    def made(self, spec: Spec, planned: Mapping[str, Planned]) -> Maker:
        """Check it against the statistics that there are; return what makes its rows."""
        names = [self.name_of(key) for key in self.sources()]
        known = {name: one.statistic for name, one in planned.items()}
        change = isinstance(self, Change)
        for name in names:
            if name not in known:
                listed = ", ".join(n for n, one in known.items() if one.adds is not None)
                raise SpecError(
                    "releases.derived.unknown", statistic=self.name, name=name, names=listed
                )
            adds = known[name].adds
            if adds is None or (adds[0] < 0 and not change):
                which = "no_change" if change else "no_numbers"
                raise SpecError(f"releases.derived.{which}", statistic=self.name, name=name)
            if known[name].mixes and self.needs_law:
                which = "mixed_change" if change else "mixed"
                raise SpecError(f"releases.derived.{which}", statistic=self.name, name=name)
        if len(set(names)) != len(names):
            raise SpecError("releases.derived.same", statistic=self.name, name=names[0])
        first, *others = (_columns(known[name]) for name in names)
        for columns, name in zip(others, names[1:], strict=True):
            if not set(columns) <= set(first):
                raise SpecError("releases.derived.columns", statistic=self.name, name=name)
        answer = self.answer(spec, first)

        def make(released: Mapping[str, Released], interval: float) -> Result:
            numerator = released[names[0]]
            of_row = answer(released, interval)
            rows = [
                [Answer(answer.labels, *of_row(keys, answer)) for keys, answer in cell]
                for cell in numerator.rows()
            ]
            result = numerator.result
            return Result(str(self.name), result.cells, result.extra, rows)

        return make

    def accuracy_of(
        self, make: Maker, sources: Sequence[Released], interval: float, beside: Beside | None
    ) -> dict[str, Any]:
        """Return how far off it may be: by what it is divided by, if that has noise.

        `sources` are the statistics that it is made from, with some of their rows. What divides a
        quotient is the last of them, or a number of the same kind that was released earlier.
        """
        if not self.sized:
            assumed = [[Fraction(_LARGE)] * len(one.result.rows) for one in sources]
            half = self._farthest(make, sources, assumed, interval)
            return {} if half is None or math.isinf(half) else {"half_width": half}
        above, below = sources[0], sources[-1]
        noise = below.noise if beside is None or beside.noise is None else beside.noise
        step = Fraction(self.in_one)

        def error(size: int) -> dict[str, float] | None:
            denominator = size * below.statistic.size_of_whole.step
            found = error_of_quotient(above.noise, denominator, noise, interval)
            if found is None:
                return None
            return {"half_width": found[0] * float(step), "of_value": found[1]}

        return by_size(error, size_of=below.statistic.size_of_whole)

    def _farthest(
        self,
        make: Maker,
        sources: Sequence[Released],
        numbers: Iterable[Iterable[Fraction]],
        interval: float,
    ) -> float | None:
        """Return how far from its interval's end a row lies at most, if these were released."""
        assumed = {
            one.result.name: one.assuming(own, interval)
            for one, own in zip(sources, numbers, strict=True)
        }
        rows = [answer for cell in make(assumed, interval).rows for answer in cell]
        far = [row.farthest for row in rows if row.value is not None]
        return max((math.inf if one is None else one for one in far), default=None)

    @property
    def sized(self) -> bool:
        """Whether its error depends on how large the numbers are."""
        return True

    @property
    def in_one(self) -> Fraction:
        """What a quotient is multiplied by."""
        return Fraction(1)

    def against(self, spec: Spec, planned: Mapping[str, Planned]) -> Beside | None:
        """Return what its rows are put in relation to; None where it is not known, or is one."""
        for other in [planned[self.name_of(key)] for key in self.sources()][1:]:
            keys = {tuple(row.values()) for row in other.rows()}
            return Beside(other.name, _columns(other.statistic), keys) if keys else None
        return None

    @property
    def needs_law(self) -> bool:
        """Whether its intervals follow from the law of the noise, not from other intervals."""
        return True

    @abstractmethod
    def answer(
        self, spec: Spec, columns: tuple[str, ...]
    ) -> Callable[[Mapping[str, Released], float], Callable[[Row, Answer], Answered]]:
        """Read what is public; return what says, for released numbers, how a row is answered."""


def _columns(statistic: Statistic) -> tuple[str, ...]:
    return (*statistic.grouped_by, *statistic.extra)


def _whole(value: object) -> object:
    columns = isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    return tuple(value) if columns else _referred(value)  # type: ignore[arg-type]


class ShareOf(Closed):
    """A part and its whole."""

    of: Reference
    among: Annotated[
        Any, PlainValidator(_whole, json_schema_input_type=str | list[str] | dict[str, Any])
    ]


@register("share")
class Share(Derived):
    """One noisy number over another of which it is a part, in [0, 1]."""

    share: ShareOf

    @property
    def stays_within(self) -> Bounded:
        """From none to all."""
        return Bounded("", 0, 1, Fraction(1))

    def accuracy_of(
        self, make: Maker, sources: Sequence[Released], interval: float, beside: Beside | None
    ) -> dict[str, Any]:
        """Return how far off it may be, by the size of the whole, for the worst of its shares.

        The variance of A − θB is a parabola in θ that opens upwards: it is largest at an end.
        """
        among, whole = self._columns, sources[-1].statistic.size_of_whole

        def numbers(size: Fraction, share: Fraction) -> Iterator[Iterable[Fraction]]:
            for source, of_it in zip(sources, (share, Fraction(1)), strict=False):
                if among is None:
                    yield [size * of_it] * len(source.result.rows)
                else:  # the cells of one margin are wholes, those of the others parts of them
                    yield source.statistic.assumed_within(among, size, share)

        def width(rows: int) -> float | None:
            far = (
                self._farthest(make, sources, numbers(rows * whole.step, share), interval)
                for share in (Fraction(0), Fraction(1, 2), Fraction(1))
            )
            return max((one for one in far if one is not None), default=None)

        return by_size(width, _NO_SHARE, whole)

    def sources(self) -> dict[str, str | Statistic]:
        """Part and whole; only the part if they are cells of one statistic."""
        both = {"of": self.share.of, "among": self.share.among}
        return {"of": self.share.of} if self._columns is not None else both

    @property
    def _columns(self) -> tuple[str, ...] | None:
        """The margin whose cells are the wholes, if it names one."""
        return self.share.among if isinstance(self.share.among, tuple) else None

    @property
    def needs_law(self) -> bool:
        """Cells of margins have one of their own."""
        return self._columns is None

    def made(self, spec: Spec, planned: Mapping[str, Planned]) -> Maker:
        """Check that part and whole are of the same rows."""
        make, among = super().made(spec, planned), self._columns
        if among is None:
            one, other = (planned[self.name_of(key)] for key in ("of", "among"))
            if _apart(spec, one, other):
                names = {"of": one.name, "among": other.name}
                raise SpecError("releases.derived.apart", statistic=self.name, **names)
            return make
        of = planned[self.name_of("of")].statistic
        whose: dict[str, Any] = {"statistic": self.name, "name": of.name}
        if not isinstance(of, Margins) or (parts := of.parts_of(among)) == []:
            raise SpecError("releases.derived.no_parts", **whose)
        if parts is None:
            listed = f"[{', '.join(among)}]"
            raise SpecError("releases.derived.no_margin", among=listed, sets=of.sets, **whose)

        def make_shares(released: Mapping[str, Released], interval: float) -> Result:
            given = released[str(of.name)]
            cells, rows = given.statistic.shares(given, among, interval)
            return Result(str(self.name), cells, (), rows)

        return make_shares

    def answer(self, spec: Spec, columns: tuple[str, ...]) -> Any:
        """Divide, by Fieller's way."""
        if self._columns is not None:
            return None
        of, among = self.name_of("of"), self.name_of("among")
        return lambda released, interval: _divided(released[of], released[among], interval, most=1)

    def explain(self) -> str:
        """Say what is divided by what."""
        among = self._columns
        if among is None:
            both = {key: self.name_of(key) for key in self.sources()}
            return say("releases.explain.share", **both)
        whole = ", ".join(among) or ALL
        return say("releases.explain.share_among", of=self.name_of("of"), among=whole)


def _apart(spec: Spec, one: Planned, other: Planned) -> bool:
    """Whether the rows that count are chosen for each statistic by itself, and some may be lost."""
    passes = [(p.by, p.cells, p.searches, p.contribution, p.where) for p in (one, other)]
    if not spec.limited or passes[0] == passes[1]:
        return False
    most = None if spec.cut is None else spec.cut.rows
    return any(loses_rows(p, spec, most) for p in (one, other))


def _divided(
    above: Released,
    below: Released,
    interval: float,
    *,
    most: int | None,
    times: Fraction | int = 1,
) -> Callable[[Row, Answer], Answered]:
    wholes = below.values()

    def row(keys: Row, answer: Answer) -> Answered:
        whole = wholes.get(tuple(keys[column] for column in below.columns))
        if whole is None or answer.value is None:
            return None, Fraction(0), most
        found = quotient(
            Fraction(answer.value), above.noise, whole, below.noise, interval, most=most
        )
        value, low, high = (None if end is None else end * times for end in found)
        return value, low, high

    return row


class RateOf(Closed):
    """Events, and what they are counted for."""

    events: Reference
    per: Annotated[float, Field(gt=0)] | dict[str, Annotated[Whole, Field(gt=0)]] | Reference
    times: float = Field(default=1, gt=0)

    @field_validator("per", mode="before")
    @classmethod
    def _of_a_kind(cls, per: object) -> object:
        if isinstance(per, list) or (isinstance(per, Mapping) and "path" in per):
            raise SpecError("releases.derived.per")
        return per


@register("rate")
class Rate(Derived):
    """A noisy number per public number, or per another noisy number."""

    rate: RateOf

    @property
    def needs_law(self) -> bool:
        """A public number only divides the interval."""
        return self.sized

    @property
    def sized(self) -> bool:
        """A public number divides the same noise whatever the events are."""
        return "per" in self.sources()

    @property
    def in_one(self) -> Fraction:
        """What it is told for: so many."""
        return decimal(self.rate.times)

    def sources(self) -> dict[str, str | Statistic]:
        """Events; and what they are counted for, if that is released too."""
        per, named = self.rate.per, {"events": self.rate.events}
        file = isinstance(per, str) and per.lower().endswith(".csv")
        return named | ({"per": per} if isinstance(per, (str, Statistic)) and not file else {})

    def answer(self, spec: Spec, columns: tuple[str, ...]) -> Any:
        """Divide by what is public, exactly; by a noisy number, by Fieller's way."""
        times = decimal(self.rate.times)
        if "per" in self.sources():
            events, per = self.name_of("events"), self.name_of("per")
            return lambda released, interval: _divided(
                released[events], released[per], interval, most=None, times=times
            )
        each, numbers = self.rate.per, self._numbers(spec, columns)

        def row(keys: Row, answer: Answer) -> Answered:
            key = tuple(keys[column] for column in columns)
            number = decimal(each) if isinstance(each, float) else numbers.get(key)
            if number is None:
                return None, Fraction(0), None
            value, low, high = (
                None if end is None else max(Fraction(end), Fraction(0)) * times / number
                for end in (answer.value, answer.low, answer.high)
            )
            return value, low, high

        return lambda released, interval: row

    def _numbers(self, spec: Spec, columns: tuple[str, ...]) -> dict[tuple[str, ...], Fraction]:
        """Return the public numbers by the keys of rows; none if there is one number for all."""
        per = self.rate.per
        if isinstance(per, float):
            return {}
        if isinstance(per, str):
            from discreet.releases.spec import PublicFiles

            return PublicFiles(spec).numbers(per, columns)
        if len(columns) != 1:
            raise SpecError("releases.derived.per_mapping", statistic=self.name)
        return {(key,): decimal(value) for key, value in per.items()}

    def against(self, spec: Spec, planned: Mapping[str, Planned]) -> Beside | None:
        """The public numbers, if those are many."""
        per = self.rate.per
        if "per" in self.sources() or isinstance(per, float):
            return super().against(spec, planned)
        columns = _columns(planned[self.name_of("events")].statistic)
        name = per if isinstance(per, str) else "per"
        return Beside(name, columns, self._numbers(spec, columns))

    def explain(self) -> str:
        """Say what is divided, and that it is kept at zero or above."""
        said = {"per": say("releases.explain.public_numbers")}
        said |= {key: self.name_of(key) for key in self.sources()}
        return say("releases.explain.rate", times=self.rate.times, **said)


class ChangeOf(Closed):
    """A statistic, an earlier release of it, and how they are compared."""

    of: str
    against: str = Field(description="The folder of a release, or its id below the output.")
    how: Literal["difference", "ratio"] = Field(default="difference", alias="as")


@register("change")
class Change(Derived):
    """A noisy number against the same one of an earlier release."""

    change: ChangeOf

    def sources(self) -> dict[str, str | Statistic]:
        """The statistic of this release."""
        return {"of": self.change.of}

    @property
    def sized(self) -> bool:
        """A difference has the noise of both numbers."""
        return self.change.how == "ratio"

    def answer(self, spec: Spec, columns: tuple[str, ...]) -> Any:
        """Subtract the earlier number, or divide by it."""
        earlier, name = self._earlier(spec, columns), self.change.of

        def answered(released: Mapping[str, Released], interval: float) -> Any:
            now = released[name]
            if self.change.how == "ratio":
                return _divided(now, earlier, interval, most=None)
            width, before = difference(now.noise, earlier.noise, interval), earlier.values()

            def row(keys: Row, answer: Answer) -> Answered:
                value = before.get(tuple(keys[column] for column in earlier.columns))
                if value is None or answer.value is None:
                    return None, None, None
                change = Fraction(answer.value) - value
                return change, change - width, change + width

            return row

        return answered

    def against(self, spec: Spec, planned: Mapping[str, Planned]) -> Beside | None:
        """The rows of the earlier release."""
        columns = _columns(planned[self.change.of].statistic)
        earlier = self._earlier(spec, columns)
        return Beside(self.change.against, columns, earlier.values(), earlier.noise)

    def _earlier(self, spec: Spec, columns: tuple[str, ...]) -> Released:
        """Read the rows of the statistic in the earlier release."""
        name, folder = self.change.of, self.change.against
        places = (spec.path(folder), spec.path(spec.output) / folder)
        file = next((p / "release.json" for p in places if (p / "release.json").is_file()), None)
        if file is None:
            raise SpecError("releases.derived.no_release", statistic=self.name, release=folder)
        what = say("releases.derived.stored")
        said = json_values(text_of(file, what, SpecError), what, SpecError)
        try:
            table = said["table"]
            (call,) = (c for c in said["plan"]["calls"] if c["statistic"] == name)
            spread = Spread.of(call)
            places_of = [at for at, n in enumerate(table["statistic"]) if n == name]
            keys = tuple(tuple(table[column][at] for column in columns) for at in places_of)
            found = (table[name] for name in ("value", "interval_low", "interval_high"))
            texts = zip(*([column[at] for at in places_of] for column in found), strict=True)
            rows = [
                [Answer((), *(None if text is None else fraction_of(text) for text in row))]
                for row in texts
            ]
        except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError):
            raise SpecError(
                "releases.derived.not_there", statistic=self.name, name=name, release=folder
            ) from None
        return Released(Result(name, KeySet(columns, keys), (), rows), spread)

    def explain(self) -> str:
        """Say what is compared with what."""
        how = f"releases.explain.change_{self.change.how}"
        return say(how, of=self.change.of, against=self.change.against)
