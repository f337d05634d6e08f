"""Which rows and columns statistics see, before contributions are bounded.

    source ─ sample ─ join ─ where ─ let ─ per_unit ─ statistics, each with a where of its own

All of it is a function of the rows of one unit at a time: a condition and a derived column look at
one row, a join with a protected table and a feature at the rows of one unit. So adding or removing
a unit adds or removes that unit's rows of the result and no others, and bounding what comes out
bounds what a unit adds.

With `per_unit` the table has one row for each unit: its column, its features, and the derived
columns that use features. The features see all rows of the unit that meet `where`; nothing is
bounded before them, and every statistic counts one row of a unit.

Joins: columns of other tables, looked up for each row by a key.

    join:
      - {source: planes.csv, by: tailnum, public: true}
      - {source: repairs.parquet, by: tailnum, rows: 2}

A public table has one row for each key. Each row of the protected data gets the columns of its key,
or nulls; so rows stay as many as they were, and what one unit may add stays what it was. The table
is read whole before anything is charged, and may be refused by what is in it: it is public.

A protected table holds rows of the same units, which its key names: the columns `by` have those of
the unit among them. Of the rows with one key, `rows` are kept, drawn at random with the operating
system's randomness, once in a release; each row of the source is there once for each of them, or
once with nulls. So what is joined for a unit is a function of its own rows in both tables and of
random numbers of its own: a unit that is added or removed, with its rows in both tables, adds or
removes its joined rows, and leaves the law of all others as it is. These rows are bounded by
`protect`, as the rows of one table are; so the sensitivity is the one of `protect`, whatever `rows`
is here. Of this table, too, only the schema is read before the charge.

A secret sample of the units, drawn by the release itself: all rows of a unit are drawn or none, and
the statistics are those of the sample. Two designs:

- `rate`: each unit by itself with a chance γ (Poisson), under add-remove;
- `units` of `of`: a fixed number m of n units, under replace, where n is public. γ = m/n. The frame
  has n places, those without a unit being empty, so that each unit is drawn with the chance m/n
  however many there are; with more than n units the chance is smaller.

What it costs is in `pricing`.
"""

from __future__ import annotations

import math
import re
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from discreet.composition.sampling import before_sampling
from discreet.errors import DataError, DiscreetError, PolicyError, SpecError
from discreet.guarantees import amount, stated
from discreet.reading import like, nearest
from discreet.releases.engines import file_of, is_csv, opened
from discreet.releases.engines.base import TEXTS, Column, Engine, Number, fields
from discreet.releases.formula import (
    KINDS,
    Formula,
    NoColumn,
    Term,
    Type,
    casts,
    columns_in,
    domain,
    parse,
    resolve,
    tested_for_null,
    unmet,
    written,
)
from discreet.releases.models import Closed, NamesOrOne, Pair, as_tuple
from discreet.releases.source import Sourced, options_of, path_in
from discreet.rounding import up
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.spec import Spec
    from discreet.releases.statistics import Statistic


def _readable(text: str) -> str:
    parse(text)
    return text


def _how_taken(given: object) -> str:
    return "renamed" if isinstance(given, dict) else "named"


Taken: TypeAlias = Annotated[
    Annotated[dict[str, str], Tag("renamed")] | Annotated[NamesOrOne, Tag("named")],
    Discriminator(_how_taken),
]


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
    columns: Taken = Field(
        default=(), description="The columns to take, or new names for them; all if left out."
    )
    unmatched: Literal["keep", "drop"] = Field(
        default="keep", description="What happens to rows whose key the table does not have."
    )

    @model_validator(mode="after")
    def _whose(self) -> Join:
        if (self.public is None) == (self.rows is None):
            raise SpecError("releases.rows.public_or_rows")
        return self

    def own(self, column: str) -> str:
        """Return the name that a column has in the table itself."""
        return self.columns[column] if isinstance(self.columns, dict) else column


class Sample(Closed):
    """Make the release from a secret sample of the units."""

    rate: float | None = Field(
        default=None, gt=0, lt=1, description="The chance of each unit to be drawn."
    )
    units: int | None = Field(default=None, ge=1, description="How many units are drawn.")
    of: int | None = Field(default=None, ge=2, description="Of how many; public.")

    @model_validator(mode="after")
    def _one(self) -> Sample:
        poisson = self.rate is not None and self.units is None and self.of is None
        fixed = self.rate is None and 0 < (self.units or 0) < (self.of or 0)
        if not (poisson or fixed):
            raise SpecError("releases.sample.design")
        return self

    @property
    def chance(self) -> Fraction:
        """The chance of a unit to be drawn, as it is written."""
        if self.rate is not None:
            return Fraction(repr(self.rate))
        return Fraction(self.units or 1, self.of or 1)

    @property
    def adjacency(self) -> str:
        """Which data sets are neighbours where units are drawn so."""
        return "replace" if self.rate is None else "add-remove"


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
            try:
                number = self.number
            except (OverflowError, ZeroDivisionError):  # no power of ten is a millionth of that
                raise SpecError("releases.rows.too_fine") from None
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
    def written(self) -> str:
        """How it is gathered, as a formula is written."""
        inside = getattr(self, self.gathering)
        return f"{self.gathering}({'rows' if inside == 'true' else inside})"

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
        kinds: dict[Type, Type] = {"date": "date", "moment": "date", "text": "text"}
        wanted = kinds.get(resolve(self.formula, columns, terms).type, "number")
        return Gathered(how, resolve(self.formula, columns, terms, wanted=wanted))


def rows_told(spec: Spec) -> Iterator[str]:
    """Yield which rows count, and what derived columns are: in the words of the spec."""
    for one in spec.join:
        whose = "public" if one.public else "protected"
        yield say(f"statements.processing.join_{whose}", by=", ".join(one.by))
    if spec.where is not None:
        yield say("statements.processing.where", where=spec.where)
    for name, feature in spec.per_unit.items():
        kind = "per_unit" if feature.bounds is None else "per_unit_clipped"
        ends = dict(zip(("low", "high"), feature.bounds or (), strict=False))
        yield say(f"statements.processing.{kind}", name=name, formula=feature.written, **ends)
    for name, formula in spec.let.items():
        yield say("statements.processing.let", name=name, formula=formula)
    for statistic in (table for entry in spec.named() for table in entry.tables()):
        if statistic.where is not None:
            told = {"statistic": statistic.name, "where": statistic.where}
            yield say("statements.processing.where_of", **told)


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
        return KINDS[self.term.type]


def keys_known(
    let: Mapping[str, str], per_unit: Mapping[str, Feature]
) -> dict[str, tuple[str, ...]]:
    """Return the columns whose values a spec itself says: bins, months, truth values."""
    known = {name: domain(parse(text).tree) for name, text in let.items()}
    for name, feature in per_unit.items():
        known[name] = ("false", "true") if feature.gathering in ("any", "all") else None
    return {name: keys for name, keys in known.items() if keys is not None}


def hints(spec: Spec) -> Iterator[str]:
    """Yield what a spec allows and people may not expect: of missing values, and of levels."""
    tables = [table for entry in spec.named() for table in entry.tables()]
    for name, text in spec.let.items():
        tested = _tested_beside(spec, name, tables)
        if missing := [one for one in dict.fromkeys(unmet(parse(text).tree)) if one not in tested]:
            where = " and ".join(f"{written(one)} is not null" for one in missing)
            told = {"columns": " or ".join(missing), "many": len(missing), "where": where}
            yield say("releases.plan.unmet", name=name, **told)
    for join in (join for join in spec.join if join.public and len(join.by) == 1):
        for column in join.columns:
            both = {column, *join.by}
            apart = (
                t.grouped_by for t in tables if t.kind == "margins" or not both <= {*t.grouped_by}
            )
            if both <= {name for names in apart for name in names}:
                said = {"child": join.by[0], "parent": column, "file": path_in(join.source)}
                yield say("releases.plan.levels", **said)


def _tested_beside(spec: Spec, name: str, tables: Iterable[Statistic]) -> set[str]:
    """Return the columns tested for nulls by the spec, or by every statistic of a derived column.

    Features of a unit see all of its rows, whatever their statistics leave out.
    """
    tested = set(_tested(spec.where))
    users = [one for one in tables if name in _behind(spec, _columns_of(one))]
    if users and not spec.per_unit:
        tested |= set.intersection(*(set(_tested(one.where)) for one in users))
    return tested


def _tested(where: str | None) -> Iterator[str]:
    return iter(()) if where is None else tested_for_null(parse(where).tree)


def _columns_of(statistic: Statistic) -> Iterator[str]:
    """Yield the columns that a statistic groups by or measures, or that its rows depend on."""
    yield from statistic.grouped_by
    yield from (read.column for one in statistic.measures() for read in fields(one))
    if statistic.where is not None:
        yield from columns_in(parse(statistic.where).tree)


def _behind(spec: Spec, columns: Iterable[str]) -> set[str]:
    """Return columns with the derived ones that they are made from."""
    found, left = set[str](), [*columns]
    while left:
        name = left.pop()
        if name not in found and name in spec.let:
            left += columns_in(parse(spec.let[name]).tree)
        found.add(name)
    return found


def columns_seen(spec: Spec) -> list[str]:
    """Return the columns that statistics and the unit see, which a spec may make itself."""
    names = list(spec.protect.column)
    for statistic in (table for entry in spec.named() for table in entry.tables()):
        names += statistic.grouped_by
        names += [field.column for one in statistic.measures() for field in fields(one)]
    return names


def columns_read(spec: Spec, seen: Iterable[str]) -> Iterator[str]:
    """Yield the columns of the data behind those that statistics see, and behind conditions."""
    let = {name: parse(text) for name, text in spec.let.items()}
    features = {name: feature.formula for name, feature in spec.per_unit.items()}

    def behind(name: str, made: Mapping[str, Formula]) -> Iterator[str]:
        if name not in made:
            yield name
            return
        # A feature, or a column, may have the name of what it is made from.
        others = {one: made[one] for one in made if one != name}
        below = let if made[name] is features.get(name) else others
        for column in columns_in(made[name].tree):
            yield from behind(column, below)

    every = let | features
    for name in seen:
        yield from behind(name, every)
    for text in (spec.where, *spec.conditions):
        for name in () if text is None else columns_in(parse(text).tree):
            yield from behind(name, let if text is spec.where else every)


@dataclass(frozen=True, slots=True)
class Seen:
    """The columns that a part of a spec sees, and those that there were before `per_unit`."""

    spec: Spec
    columns: Iterable[str]
    before: Iterable[str] = ()

    def elsewhere(self, column: str) -> str | None:
        """Say where a column is that is not among those seen; None if it is nowhere."""
        spec = self.spec
        if column in self.before:
            listed = ", ".join(self.columns)
            return say("releases.rows.after_units", column=column, columns=listed)
        if column in spec.per_unit:
            return say("releases.rows.feature", column=column)
        if column in spec.let:
            return say("releases.rows.derived", column=column)
        for join in spec.join:
            with suppress(DiscreetError), closing(opened(join.source, spec.path)) as table:
                if column in table.columns:
                    names = {name: join.own(name) for name in join.columns} | {column: column}
                    renamed = isinstance(join.columns, dict)
                    listed = (
                        "{" + ", ".join(f"{new}: {own}" for new, own in names.items()) + "}"
                        if renamed
                        else "[" + ", ".join(names) + "]"
                    )
                    said = {"source": path_in(join.source), "column": column, "columns": listed}
                    return say("releases.rows.not_taken", **said)
        return None


@contextmanager
def _under(key: str, seen: Seen) -> Iterator[None]:
    """Name the key of the spec whose formula does not fit the columns that it sees."""
    try:
        yield
    except NoColumn as fault:
        why = seen.elsewhere(fault.column)
        told = "" if why is None else say("releases.formula.elsewhere", why=why, **fault.place)
        raise SpecError(
            "releases.spec.fault", where=f"{key}: ", says=told or fault.message
        ) from None
    except SpecError as fault:
        raise SpecError("releases.spec.fault", where=f"{key}: ", says=fault.message) from None


def condition(text: str, columns: Mapping[str, Column]) -> Term:
    """Return a condition over some columns, its types resolved."""
    return resolve(parse(text), columns, wanted="boolean")


def column_in(columns: Mapping[str, Column], column: str, whose: str) -> Column:
    """Return the kind of a column; refuse one that is not there, with the name most like it."""
    if column not in columns:
        near = nearest(column, columns)
        if near is not None:
            raise DataError("releases.plan.near_column", whose=whose, column=column, near=near)
        raise DataError("releases.plan.no_column", whose=whose, column=column)
    return columns[column]


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a source without its rows, to be shaped as an engine is.

    `terms` are the formulas that were met on the way.
    """

    columns: Mapping[str, Column]
    terms: list[Term] = field(default_factory=list)

    def looked_up(self, other: Looked, *, drop: bool) -> Schema:
        """Return them with those of another table."""
        return Schema({**self.columns, **other.kinds}, self.terms)

    def filtered(self, condition: Term) -> Schema:
        """Return the same columns."""
        self.terms.append(condition)
        return self

    def computed(self, terms: Mapping[str, Term]) -> Schema:
        """Return them with columns that formulas make of those there are."""
        self.terms.extend(terms.values())
        made = {name: KINDS[term.type] for name, term in terms.items()}
        return Schema({**self.columns, **made}, self.terms)

    def per_unit(self, unit: Iterable[str], features: Mapping[str, Gathered]) -> Schema:
        """Return the columns of the unit, and what is gathered of it."""
        self.terms.extend(feature.term for feature in features.values())
        kinds = {name: feature.kind for name, feature in features.items()}
        return Schema({name: self.columns[name] for name in unit} | kinds, self.terms)


def shaped(engine: Any, spec: Spec) -> Any:
    """Return an engine, or a schema, with the rows and columns that a spec's statistics see."""
    if not spec.reshaped:
        return engine
    if not hasattr(engine, "filtered"):
        raise SpecError("engines.no_derived")
    unit, found = spec.protect.column, engine
    terms, later = _derived(spec, found.columns)
    before = {*found.columns, *terms} if spec.per_unit else set()
    if spec.where is not None:
        with _under("where", Seen(spec, found.columns)):
            met = resolve(parse(spec.where), found.columns, terms, wanted="boolean")
        found = found.filtered(met)
    if spec.per_unit:
        features = {}
        for name, feature in spec.per_unit.items():
            if name in unit:
                raise SpecError("releases.rows.name_taken", name=name)
            with _under(f"per_unit.{name}", Seen(spec, found.columns)):
                features[name] = feature.resolved(engine.columns, terms)
        for column in unit:
            column_in(found.columns, column, "protect")
        found, terms = found.per_unit(unit, features), {}
        for name, formula in later.items():
            with _under(f"let.{name}", Seen(spec, (*found.columns, *terms), before)):
                terms[name] = resolve(formula, found.columns, terms)
    found = found.computed(terms) if terms else found
    for column in unit if spec.sample is not None else ():
        if column_in(found.columns, column, "protect") not in ("integer", *TEXTS):
            raise DataError("engines.sampled_unit", column=column)
    for text, key in spec.conditions.items():
        with _under(key, Seen(spec, found.columns, before)):
            met = condition(text, found.columns)
        found.filtered(met)  # refused before the charge
    return found


def read_as(spec: Spec, columns: Mapping[str, Column]) -> dict[str, Type]:
    """Return the columns without a type, each with the type that formulas of a spec read in it.

    Any value is a text; a value of another type may be written so that it cannot be read.
    """
    schema = Schema(columns)
    with suppress(DiscreetError):  # what does not fit the columns is refused where they are shaped
        shaped(schema, spec)
    read = (cast for term in schema.terms for cast in casts(term))
    # A moment is a date too, and has an hour.
    last = sorted(read, key=lambda cast: cast[1] == "moment")
    return {name: kind for name, kind in last if kind != "text"}


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
            with _under(f"let.{name}", Seen(spec, columns)):
                terms[name] = resolve(formula, columns, terms)
    return terms, later


Rows: TypeAlias = tuple[list[tuple[str, ...]], dict[str, list[Any]]]
"""The keys of a table's rows as texts, and the values of its columns."""


@dataclass(frozen=True, slots=True)
class Looked:
    """Another table: by which columns it is looked up, those that are taken, and its rows.

    A protected table is read when the first question is asked, after the charge.
    """

    by: tuple[str, ...]
    kinds: dict[str, Column]
    read: Callable[[], Rows]
    protected: bool


def joined(engine: Any, spec: Spec, joins: Iterable[Join] | None = None) -> Any:
    """Return an engine, or a schema, with the columns of the tables that a spec joins, or some."""
    found = engine
    for join in spec.join if joins is None else joins:
        if not hasattr(found, "looked_up"):
            raise SpecError("engines.no_derived")
        if join.public:
            _check_public(join, spec)
        elif not spec.protect.column or not set(spec.protect.column) <= set(join.by):
            unit = ", ".join(spec.protect.column)
            raise SpecError("releases.rows.protected_by", source=path_in(join.source), unit=unit)
        looked = _looked(join, spec, found.columns)
        found = found.looked_up(looked, drop=join.unmatched == "drop")
    return found


def _check_public(join: Join, spec: Spec) -> None:
    located = path_in(join.source)
    name = None if located is None else file_of(located)
    if located is None or name is None:
        raise SpecError("releases.rows.public_file", source=located)
    if spec.is_source(located):
        raise PolicyError("releases.rows.public_source", source=located)


def _not_there(source: str | None, column: str, columns: Iterable[str]) -> SpecError:
    said = {"source": source, "column": column, "like": like(column, columns)}
    return SpecError("releases.rows.public_column", **said)


def _looked(join: Join, spec: Spec, columns: Any) -> Looked:
    located = path_in(join.source)
    try:
        reader = opened(join.source, spec.path)
    except (DataError, SpecError) as fault:  # which speaks of a source
        said = {"says": fault.message, "next": fault.next or ""}
        which = "join_source" if isinstance(fault, SpecError) else "join_fault"
        raise SpecError(f"releases.rows.{which}", source=located, **said) from None
    with closing(reader) as table:
        for column in join.by:
            if column not in table.columns:
                raise _not_there(located, column, table.columns)
            if column not in columns:
                if column in spec.let or column in spec.per_unit:
                    raise SpecError("releases.rows.on_made", column=column)
                near = like(column, columns)
                raise SpecError("releases.rows.on_column", column=column, like=near)
        rest = [column for column in table.columns if column not in join.by]
        taken = list(join.columns or (c for c in rest if table.columns[c] != "other"))
        for column in taken:
            own = join.own(column)
            if own not in rest or table.columns[own] == "other":
                raise _not_there(located, own, rest)
            if column in columns:
                twice: dict[str, Any] = {"source": located, "column": column, "own": own}
                raise SpecError("releases.rows.column_twice", **twice)
        kinds = {column: table.columns[join.own(column)] for column in taken}
        rows = _public_rows(table, join, taken) if join.public else None
    if rows is not None and is_csv(located or ""):
        kinds |= dict.fromkeys(_texts_in(join, spec, rows, _used(join, spec, taken)), "text")

    def read() -> Rows:
        if rows is not None:
            return rows
        with closing(opened(join.source, spec.path)) as table:
            return _drawn(_every_row(table, join, taken), join.rows or 1)

    return Looked(tuple(join.by), kinds, read, protected=rows is None)


def texts_joined(spec: Spec, wanted: Collection[str]) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the texts that some columns have in public tables, each with its table.

    They are compared with keys as texts; columns of another kind are left out.
    """
    made = {*spec.let, *spec.per_unit}
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for join in spec.join:
        names = [n for n in wanted if n not in made and n not in join.by]
        names = [n for n in names if n in join.columns or not join.columns]
        if not join.public or not names:
            continue
        with closing(opened(join.source, spec.path)) as table:
            names = [n for n in names if table.columns.get(join.own(n)) in TEXTS]
            if names:
                _, values = _every_row(table, join, names)
                source = path_in(join.source) or ""
                found |= {n: (source, frozenset(filter(None, values[n]))) for n in names}
    return found


def _every_row(table: Any, join: Join, taken: list[str]) -> Rows:
    """Return the keys and columns of a table that is joined, by their new names."""
    from discreet.releases.engines.sql import number_of

    keys, values = table.every_row(join.by, [join.own(column) for column in taken])
    found = {column: values[join.own(column)] for column in taken}
    numbers = {number_of(column): values.get(number_of(join.own(column))) for column in taken}
    return keys, found | {name: column for name, column in numbers.items() if column is not None}


def _public_rows(table: Any, join: Join, taken: list[str]) -> Rows:
    from discreet.releases.statistics.base import MOST_CELLS  # which knows conditions from here

    keys, values = _every_row(table, join, taken)
    located = path_in(join.source)
    if len(keys) > MOST_CELLS:
        raise SpecError("releases.rows.public_size", source=located, most=MOST_CELLS)
    if len(set(keys)) != len(keys):
        raise SpecError("releases.rows.public_twice", source=located, by=", ".join(join.by))
    return keys, values


def _used(join: Join, spec: Spec, taken: list[str]) -> list[str]:
    """Return the columns of a joined table that a spec names: no other one is judged."""
    by = (name for other in spec.join for name in other.by)
    made = (*columns_seen(spec), *by, *spec.let, *spec.per_unit)
    named = {*join.columns, *columns_read(spec, made)}
    return [column for column in taken if column in named]


def _texts_in(join: Join, spec: Spec, rows: Rows, taken: list[str]) -> Iterator[str]:
    """Yield the columns of a public CSV file that hold texts; refuse what cannot be read.

    Where most values are numbers, each other one with a digit is refused; where most are texts, one
    that is a number written in another way: a comma for the point must not make a column a text.
    Of protected data such a value counts as missing, since a refusal would tell of it.
    """
    from discreet.releases.engines.files import public_rows
    from discreet.releases.engines.sql import number_of

    how = options_of(join.source)
    path = spec.path(how.path or "")
    header, *body = public_rows(path, how)
    named = {name: kind for name, kind in how.types.items() if name in join.by}
    with closing(opened(how.model_copy(update={"types": named}), spec.path)) as plain:
        keys, found = _every_row(plain, join, taken)
    missing, places = {"", *how.nulls}, [header.index(name) for name in join.by]
    if len(keys) < sum(missing.isdisjoint(row[at] for at in places) for row in body):
        raise SpecError("releases.public.key", file=path.name, by=", ".join(join.by))
    typed = {name: dict(zip(rows[0], column, strict=True)) for name, column in rows[1].items()}
    for column in taken:
        texts, numbers = found[column], found[number_of(column)]
        declared = how.types.get(join.own(column))
        read = numbers if declared is None else [typed[column][key] for key in keys]
        unread = [
            place
            for place, (text, value) in enumerate(zip(texts, read, strict=True))
            if text is not None and value is None
        ]
        said = {"file": path.name, "column": join.own(column)}
        there = sum(text is not None for text in texts)
        like_number = _DIGIT if 2 * len(unread) <= there else _NUMBER_OTHERWISE
        mixed = len(unread) < there
        wrong = unread if declared else [n for n in unread if mixed and like_number.match(texts[n])]
        if wrong:
            wanted = say(f"releases.public.as_{'declared' if declared else 'number'}")
            key = ", ".join(keys[wrong[0]])
            raise SpecError("releases.public.value", key=key, wanted=wanted, **said)
        unsaid = how.delimiter == ";" and not {"decimal", "thousands"} & how.model_fields_set
        grouped = any(text is not None and _THOUSANDS.fullmatch(text) for text in texts)
        if unsaid and grouped and declared != "text":
            raise SpecError("releases.public.thousands", **said)
        if declared is None and any(not _DAY_OR_TRUTH.match(texts[n]) for n in unread):
            yield column


_DIGIT = re.compile(".*[0-9]", re.DOTALL)
_NUMBER_OTHERWISE = re.compile(r"\s*[-+−]?[.,]?[0-9][0-9.,'’\s]*$")
_THOUSANDS = re.compile(r"[0-9]{1,3}(\.[0-9]{3})+")
_DAY_OR_TRUTH = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|(true|false)$", re.IGNORECASE)


def _drawn(rows: Rows, most: int) -> Rows:
    """Return of the rows with one key as many as count, each set of them as likely as any other."""
    keys, values = rows
    order, seen, kept = list(range(len(keys))), Counter[tuple[str, ...]](), []
    secrets.SystemRandom().shuffle(order)
    for place in order:
        if seen[keys[place]] < most:
            seen[keys[place]] += 1
            kept.append(place)
    taken = {name: [column[place] for place in kept] for name, column in values.items()}
    return [keys[place] for place in kept], taken


def sample_told(sample: Mapping[str, Any], spent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to say of a sample: its design, its rate, and what is spent on those drawn.

    `sample` is as the spec has it, `spent` what was charged.
    """
    design = Sample.model_validate(sample)
    charge = stated(spent["epsilon"], spent.get("delta"), adjacency=design.adjacency)
    inside = before_sampling(charge, up(float(design.chance)))  # type: ignore[arg-type]
    name = "poisson" if design.units is None else "fixed"
    said = say(f"releases.sample.{name}", rate=design.rate, units=design.units, of=design.of)
    budget = amount(inside.to_dict(), "up", "")
    return {"design": said, "budget": budget, "inside": inside, "charge": charge}


def sampled(engine: Engine, spec: Spec) -> Engine:
    """Return an engine on the sample that a spec asks for; on all rows if it asks for none.

    It is drawn after the charge. What a statistic sees of a unit depends on that unit's rows alone,
    so the sample of units may be taken after rows are filtered and columns computed.
    """
    if spec.sample is None:
        return engine
    from discreet.noise import hypergeometric

    sample, unit, found = spec.sample, spec.protect.column, engine
    if sample.units is None or sample.of is None:
        return found.sampled(unit, sample.chance)  # type: ignore[attr-defined, no-any-return]
    there = found.units(unit)  # type: ignore[attr-defined]
    most = hypergeometric(sample.of, min(there, sample.of), sample.units)
    return found.sampled_units(unit, most)  # type: ignore[attr-defined, no-any-return]
