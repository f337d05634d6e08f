"""Which rows and columns statistics see, before contributions are bounded.

    source ─ sample ─ join ─ where ─ let ─ per_unit ─ statistics, each with a where of its own

All of it is a function of the rows of one unit at a time: a condition and a derived column look at
one row, a join with a protected table and a feature at the rows of one unit. So adding or removing
a unit adds or removes that unit's rows of the result and no others, and bounding what comes out
bounds what a unit adds.

With `per_unit` the table has one row for each unit: its column, its features, and the derived
columns that use features. The features see all rows of the unit that meet `where`; nothing is
bounded before them, and every statistic counts one row of a unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from discreet.errors import SpecError
from discreet.releases.engines.base import Column, Number
from discreet.releases.formula import KINDS, Formula, Term, Type, columns_in, domain, parse, resolve
from discreet.releases.models import Closed, NamesOrOne, Pair, as_tuple
from discreet.releases.source import Sourced

if TYPE_CHECKING:
    from discreet.releases.engines.base import Engine
    from discreet.releases.spec import Spec


def _readable(text: str) -> str:
    parse(text)
    return text


class Join(Closed):
    """Columns of another table, looked up for each row: a public one, or one of the same units."""

    source: Sourced = Field(description="A table; a public one is a CSV, Parquet or DuckDB file.")
    by: NamesOrOne = Field(min_length=1, description="The columns that both tables have.")
    public: Literal[True] | None = Field(
        default=None, description="The table holds nothing that is protected."
    )
    rows: int | None = Field(
        default=None, ge=1, description="Of a protected table: the most rows looked up for a row."
    )
    columns: NamesOrOne = Field(default=(), description="The columns to take; all if left out.")
    unmatched: Literal["keep", "drop"] = Field(
        default="keep", description="What happens to rows whose key the table does not have."
    )

    @model_validator(mode="after")
    def _whose(self) -> Join:
        if (self.public is None) == (self.rows is None):
            raise SpecError("releases.rows.public_or_rows")
        return self


def _listed(given: object) -> object:
    return (given,) if isinstance(given, dict) else as_tuple(given)


Joins: TypeAlias = Annotated[
    tuple[Join, ...], BeforeValidator(_listed, json_schema_input_type=Join | list[Join])
]

Condition: TypeAlias = Annotated[str, AfterValidator(_readable)]
"""A formula as a field of a spec: what cannot be read is refused with the spec."""

Gathering: TypeAlias = Literal["count", "sum", "any", "all", "min", "max"]
_GATHERINGS: tuple[Gathering, ...] = ("count", "sum", "any", "all", "min", "max")


class Feature(Closed):
    """What is gathered from the rows of one unit: one of its keys, over a formula."""

    count: Condition | None = Field(default=None, description="Rows that meet a condition, or all.")
    sum: Condition | None = None
    any: Condition | None = Field(default=None, description="Whether some row meets a condition.")
    all: Condition | None = Field(default=None, description="Whether every row meets a condition.")
    min: Condition | None = None
    max: Condition | None = None
    bounds: Pair | None = Field(default=None, description="Each row's value is clipped to these.")
    resolution: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _one(self) -> Feature:
        if len([1 for name in _GATHERINGS if getattr(self, name) is not None]) != 1:
            raise SpecError("releases.rows.one_gathering", known=", ".join(_GATHERINGS))
        if (self.sum is None) != (self.bounds is None):
            raise SpecError("releases.rows.sum_bounds")
        if self.resolution is not None and self.sum is None:
            raise SpecError("releases.rows.sum_bounds")
        if self.bounds is not None:
            if not self.bounds[0] < self.bounds[1]:
                raise SpecError(
                    "releases.spec.bounds_order", low=self.bounds[0], high=self.bounds[1]
                )
            number = self.number
            if max(abs(number.low), abs(number.high)) >= 2**52 or number.low > number.high:
                raise SpecError("releases.rows.too_fine")
        return self

    @property
    def gathering(self) -> Gathering:
        """How the rows of a unit become one value."""
        return next(name for name in _GATHERINGS if getattr(self, name) is not None)

    @property
    def formula(self) -> Formula:
        """What is gathered of each row."""
        return parse(getattr(self, self.gathering))

    @property
    def number(self) -> Number:
        """The value of a row in whole multiples of a resolution, as it is summed.

        Without one, the resolution is the power of ten that is a millionth of the width, or less.
        """
        low, high = self.bounds or (0.0, 1.0)
        coarse = 10.0 ** (math.floor(math.log10(high - low)) - 6)
        step = Fraction(repr(self.resolution or coarse))
        ends = (Fraction(repr(low)) / step, Fraction(repr(high)) / step)
        return Number("", math.ceil(ends[0]), math.floor(ends[1]), step)

    def resolved(self, columns: Mapping[str, Column], terms: Mapping[str, Term]) -> Gathered:
        """Return it over the columns of a source, and those that are derived."""
        how = self.gathering
        if how in ("count", "any", "all"):
            return Gathered(how, resolve(self.formula, columns, terms, wanted="boolean"))
        if how == "sum":
            return Gathered(
                how, resolve(self.formula, columns, terms, wanted="number"), self.number
            )
        moment = resolve(self.formula, columns, terms).type in ("date", "moment")
        wanted: Type = "date" if moment else "number"
        return Gathered(how, resolve(self.formula, columns, terms, wanted=wanted))


def _feature(given: object) -> object:
    return {"count": "true"} if given == "count" else given


Features: TypeAlias = dict[
    str,
    Annotated[
        Feature, BeforeValidator(_feature, json_schema_input_type=Literal["count"] | Feature)
    ],
]


@dataclass(frozen=True, slots=True)
class Gathered:
    """A feature with its formula resolved, as an engine is asked for it."""

    gathering: Gathering
    term: Term
    number: Number | None = None

    @property
    def kind(self) -> Column:
        """The kind of its column."""
        if self.gathering == "count":
            return "integer"
        if self.gathering in ("any", "all"):
            return "truth"
        moment = self.term.type in ("date", "moment")
        return "moment" if moment and self.gathering != "sum" else "number"


def keys_known(
    let: Mapping[str, str], per_unit: Mapping[str, Feature]
) -> dict[str, tuple[str, ...]]:
    """Return the columns whose values a spec itself says: bins, months, truth values."""
    known = {name: domain(parse(text).tree) for name, text in let.items()}
    for name, feature in per_unit.items():
        known[name] = ("false", "true") if feature.gathering in ("any", "all") else None
    return {name: keys for name, keys in known.items() if keys is not None}


def columns_read(spec: Spec, seen: Iterable[str]) -> Iterator[str]:
    """Yield the columns of the data behind those that statistics see, and behind conditions."""
    made = {name: parse(text) for name, text in spec.let.items()}
    made |= {name: feature.formula for name, feature in spec.per_unit.items()}
    conditions = [parse(text) for text in (spec.where, *spec.conditions) if text is not None]
    waiting = [*seen, *(name for one in conditions for name in columns_in(one.tree))]
    while waiting:
        name = waiting.pop(0)
        if name in made:
            waiting[:0] = columns_in(made[name].tree)
        else:
            yield name


@contextmanager
def _under(key: str) -> Iterator[None]:
    """Name the key of the spec whose formula does not fit the columns."""
    try:
        yield
    except SpecError as fault:
        raise SpecError("releases.spec.fault", where=key, says=fault.message) from None


def condition(text: str, columns: Mapping[str, Column]) -> Term:
    """Return a condition over some columns, its types resolved."""
    return resolve(parse(text), columns, wanted="boolean")


def shaped(engine: Engine, spec: Spec) -> Engine:
    """Return an engine on the rows and columns that the statistics of a spec see."""
    if not spec.reshaped:
        return engine
    if not hasattr(engine, "filtered"):
        raise SpecError("engines.no_derived")
    found: Any = engine
    if spec.sample is not None:
        spec.sample.check(spec.protect.column, found.columns)
    terms, later = _derived(spec, found.columns)
    if spec.where is not None:
        with _under("where"):
            met = resolve(parse(spec.where), found.columns, terms, wanted="boolean")
        found = found.filtered(met)
    if terms and not spec.per_unit:
        found = found.computed(terms)
    if spec.per_unit:
        features = {}
        for name, feature in spec.per_unit.items():
            if name in spec.protect.column:
                raise SpecError("releases.rows.name_taken", name=name)
            with _under(f"per_unit.{name}"):
                features[name] = feature.resolved(engine.columns, terms)
        found = found.per_unit(spec.protect.column, features)
        terms = {}
        for name, formula in later.items():
            with _under(f"let.{name}"):
                terms[name] = resolve(formula, found.columns, terms)
        found = found.computed(terms) if terms else found
    for text, key in spec.conditions.items():
        with _under(key):
            met = condition(text, found.columns)
        found.filtered(met)  # refused before the charge
    return found  # type: ignore[no-any-return]


def columns_shaped(spec: Spec, columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns that statistics see, by those of the source and of joined tables."""
    terms, later = _derived(spec, columns)
    if spec.where is not None:
        with _under("where"):
            resolve(parse(spec.where), columns, terms, wanted="boolean")
    found = {**columns, **{name: KINDS[term.type] for name, term in terms.items()}}
    if spec.per_unit:
        found = {name: columns[name] for name in spec.protect.column if name in columns}
        for name, feature in spec.per_unit.items():
            with _under(f"per_unit.{name}"):
                found[name] = feature.resolved(columns, terms).kind
        for name, formula in later.items():
            with _under(f"let.{name}"):
                found[name] = KINDS[resolve(formula, found).type]
    for text, key in spec.conditions.items():
        with _under(key):
            condition(text, found)
    return found


def _derived(
    spec: Spec, columns: Mapping[str, Column]
) -> tuple[dict[str, Term], dict[str, Formula]]:
    """Return the derived columns of rows, and the formulas of those that wait for features."""
    terms: dict[str, Term] = {}
    later: dict[str, Formula] = {}
    for name, text in spec.let.items():
        if name in columns or name in spec.per_unit:
            raise SpecError("releases.rows.name_taken", name=name)
        formula = parse(text)
        if set(columns_in(formula.tree)) & {*spec.per_unit, *later}:
            later[name] = formula
        else:
            with _under(f"let.{name}"):
                terms[name] = resolve(formula, columns, terms)
    return terms, later
