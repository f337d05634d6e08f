"""The spec of a release: one YAML file that a curator can read aloud.

    account, purpose, source, protect, tolerance (or promise) or budget, statistics, mechanism,
    nulls, interval, ledger, output

It is safe-loaded (no tags), every key is known or refused, and the JSON Schema beside this file
(`spec.schema.json`) is made from these classes. Paths are relative to the spec's folder. What is
read here is what a person declares; nothing in this file looks at data.

Public keys, the cells of a statistic, are in the spec or in a file beside it. They are published,
so they must not come from the protected data: the source itself (by whatever path or link), a copy
of it, and the column that names a person or a household are refused as keys before anything is
read. A file of keys lies below the spec's folder, or below one that was named beside the spec: a
spec alone publishes no other file. It is CSV in UTF-8 with a header, which shows the sign between
columns; it must have a column of the same name as the column of the data, or only one column. Every
key is a text, compared exactly: no blank is stripped and no case is folded. The cells of several
columns are all their combinations, in the order given.
"""

from __future__ import annotations

import csv
import filecmp
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from discreet.errors import InputError, PolicyError, SpecError
from discreet.guarantees import Adjacency
from discreet.laws.registry import released_law, released_laws
from discreet.promises import Promise, Unit, promise_in
from discreet.promises.tolerance import DEPENDENCE, OF_WHOM
from discreet.reading import fraction_of, like, text_of, yaml_values
from discreet.releases.contributions import Contribution
from discreet.releases.engines import file_of, is_csv
from discreet.releases.models import (
    Closed,
    NamesOrOne,
    as_tuple,
    key_text,
    only_drop,
    refusal,
    wrong_choice,
)
from discreet.releases.rows import Condition, Features, Joins, Sample, keys_known
from discreet.releases.source import Source, Sourced, options_of, path_in
from discreet.releases.statistics import KINDS, Statistic
from discreet.releases.statistics.base import Registered, default_name
from discreet.releases.statistics.cut import Cut
from discreet.words import say

_TAGS = frozenset(
    {
        "discover",
        "public",
        "size",
        "sets",
        "location",
        "mapping",
        "renamed",
        "named",
        "str",
        "tuple[str, ...]",
    }
)
_DATA = frozenset({".parquet", ".pq", ".db", ".duckdb", ".sqlite", ".xlsx", ".xls", ".tsv"})
_WEIGHTS = frozenset({"weights", "survey_weight", "survey_weights", "sampling_weight", "pweight"})


class RowsChoice(Closed):
    """Limits of rows to choose among on the data, for a share of the budget."""

    choose: Annotated[tuple[int, ...], BeforeValidator(as_tuple)] = Field(
        min_length=2, max_length=100, description="Rising limits."
    )
    weight: float = Field(default=0.05, gt=0, description="A statistic has weight 1.")

    @field_validator("choose")
    @classmethod
    def _rising(cls, limits: tuple[int, ...]) -> tuple[int, ...]:
        if list(limits) != sorted(set(limits)) or not 1 <= limits[0] <= limits[-1] <= 1_000_000:
            raise SpecError("releases.spec.limits_rise")
        return limits


_Rows: TypeAlias = Annotated[
    int | None, BeforeValidator(lambda rows: rows, json_schema_input_type=int | RowsChoice | None)
]


def _drawn(mechanism: str) -> str:
    """Refuse a mechanism whose noise releases cannot draw."""
    if mechanism != "auto" and released_law(mechanism) is None:
        raise wrong_choice("releases.spec.mechanism", mechanism, ("auto", *released_laws()))
    return mechanism


_Mechanism: TypeAlias = Annotated[
    str,
    AfterValidator(_drawn),
    WithJsonSchema({"enum": ["auto", *released_laws()], "type": "string"}),
]


class Protect(Closed):
    """Who is protected, and how much one unit may add to a statistic."""

    unit: Literal["person", "household", "record", "partition"] = Field(
        description="What one neighbour differs in: a person, a household, a row, a person's day."
    )
    name: str | None = Field(
        default=None, max_length=80, description="How it is spoken of, such as: one aircraft."
    )
    column: NamesOrOne = Field(
        default=(), description="The column that names the unit; several for a partition."
    )
    adjacency: Literal["add-remove", "replace"] = "add-remove"
    rows: _Rows = Field(default=None, ge=1, le=1_000_000, description="Most rows of one unit.")
    rows_choice: RowsChoice | None = Field(
        default=None, description="Written as rows: {choose: …}; rows is then the largest limit."
    )
    groups: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Most groups that one unit may touch."
    )
    rows_per_group: int | None = Field(default=None, ge=1, le=1_000_000)

    @model_validator(mode="before")
    @classmethod
    def _chosen(cls, said: Any) -> Any:
        if not isinstance(said, dict) or not isinstance(said.get("rows"), dict):
            return said
        limits = said["rows"].get("choose")
        largest = limits[-1] if isinstance(limits, (list, tuple)) and limits else 1
        rows = largest if isinstance(largest, int) else 1  # any other is refused as a choice
        return {**said, "rows": rows, "rows_choice": said["rows"]}

    @model_validator(mode="after")
    def _whole(self) -> Protect:
        if self.unit == "record":
            if self.column or self.rows or self.groups or self.rows_per_group:
                raise SpecError("releases.spec.record_is_one_row")
        elif not self.column:
            raise SpecError("releases.spec.unit_column", unit=self.unit)
        elif self.rows is None:
            raise SpecError("releases.spec.unit_rows", unit=self.unit)
        return self

    @property
    def terms(self) -> dict[str, Any]:
        """What an account has to have been opened for, as the ledger calls it."""
        return {"unit": self.unit, "unit_name": self.name, "adjacency": self.adjacency}

    def contribution(self, *, grouped: bool, rows: int | None = None) -> Contribution:
        """Return what one unit may add to a statistic, with groups or without.

        `rows` is a limit in the place of the declared one.
        """
        limits = (rows or self.rows, self.groups, self.rows_per_group)
        return Contribution.of(*limits, adjacency=self.adjacency, grouped=grouped)


class Budget(Closed):
    """An explicit budget, instead of a tolerance."""

    epsilon: float | None = Field(default=None, gt=0)
    delta: float | None = Field(default=None, gt=0, lt=1)
    rho: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _one(self) -> Budget:
        if (self.epsilon is None) == (self.rho is None):
            raise SpecError("releases.spec.one_budget")
        return self


class Series(Closed):
    """This release is one of several that share the budget: it spends a K-th."""

    releases: int = Field(ge=1, le=1_000_000)


def _by_text(given: Any) -> Any:
    """Return a mapping whose keys are texts, also where YAML took them for numbers."""
    return {key_text(key): own for key, own in given.items()} if isinstance(given, dict) else given


Named: TypeAlias = Annotated[dict[str, str], BeforeValidator(_by_text)]


class OfColumn(Closed):
    """What a column is called, and its keys: for those that other columns have, too."""

    name: str | None = None
    keys: Named = Field(default_factory=dict)


def _of_what(label: object) -> str:
    return "mapping" if isinstance(label, (OfColumn, dict)) else "str"


Label: TypeAlias = Annotated[
    Annotated[str, Tag("str")] | Annotated[OfColumn, Tag("mapping")], Discriminator(_of_what)
]


class Publication(Closed):
    """What the statement and the registry record say of the publisher."""

    name: str | None = None
    curators: NamesOrOne = ()
    region: str | None = None
    description: str | None = None
    intended_use: str | None = None


def _keys_of(given: Any) -> Any:
    """Return the keys of a promise, or of a result that carries one; anything else as it is."""
    carried = getattr(given, "promise", given)
    return carried.to_mapping() if isinstance(carried, Promise) else given


class InFolder(Closed):
    """What every spec says. It lies in a folder: its paths are relative to it."""

    account: str = Field(min_length=1, max_length=100)
    purpose: str = Field(min_length=1, max_length=1000)
    source: Sourced | None = Field(
        default=None,
        description="CSV, Parquet, duckdb://, postgresql:// or spark://; none for data given.",
    )
    protect: Protect
    tolerance: Annotated[dict[str, Any] | None, BeforeValidator(_keys_of)] = Field(
        default=None,
        description="What is promised: the keys of `discreet choose`, with underscores.",
    )
    promise: Annotated[dict[str, Any] | None, BeforeValidator(_keys_of)] = Field(
        default=None, description="The same as tolerance."
    )
    budget: Budget | None = None
    nulls: Annotated[Literal["drop"], BeforeValidator(only_drop)] = "drop"
    ledger: str = Field(min_length=1)
    output: str = Field(min_length=1)
    publication: Publication | None = None
    about: Publication | None = Field(default=None, description="The old name of publication.")
    _folder: Path = PrivateAttr(default_factory=Path.cwd)
    _keys_from: Path | None = PrivateAttr(default=None)
    _file: Path | None = PrivateAttr(default=None)
    _changes: dict[str, Any] = PrivateAttr(default_factory=dict)

    def placed(self, folder: Path, keys_from: str | Path | None, source: Any = None) -> Self:
        """Put the spec in its folder; files of keys may also come from `keys_from`.

        `source` is what it was read from: its file, if it has one.
        """
        self._folder = folder.resolve()
        self._file = Path(source) if isinstance(source, (str, Path)) else None
        self._keys_from = None if keys_from is None else Path(keys_from).resolve()
        return self

    @property
    def folder(self) -> Path:
        """The folder that paths in the spec are relative to."""
        return self._folder

    def path(self, name: str) -> Path:
        """Return a path of the spec as an absolute one."""
        return (self._folder / name).resolve()

    def public_file(self, name: str, column: str) -> Path:
        """Return the path of a file of keys; refuse the protected source, and files elsewhere."""
        path = self.path(name)
        allowed = (self._folder, self._keys_from)
        if not any(path.is_relative_to(folder) for folder in allowed if folder is not None):
            raise PolicyError("releases.keys.outside", column=column, file=name)
        if self.is_source(name):
            raise PolicyError("releases.keys.from_source", column=column, file=name)
        return path

    def is_source(self, source: str, path_of: Callable[[str], Path] | None = None) -> bool:
        """Whether a source holds protected data, or is a copy of one that does.

        Those are the source, and protected tables that are joined with it.
        """
        file = file_of(source)
        if file is None:
            return source == self.located
        path = (path_of or self.path)(file)
        joins = (path_in(join.source) for join in getattr(self, "join", ()) if not join.public)
        for located in (self.located, *joins):
            name = None if located is None else file_of(located)
            if located is None or name is None:
                continue
            if all(one.startswith("duckdb:///") for one in (source, located)):
                from discreet.releases.engines import duckdb, files

                tables = files.table_of(source), files.table_of(located)
                both = (path, tables[0]), (self.path(name), tables[1])
                if path.is_file() and self.path(name).is_file() and duckdb.same_table(*both):
                    return True
            elif _same(path, self.path(name)):
                return True
        return False

    def refuse_unit_column(self, by: tuple[str, ...], whose: str) -> None:
        """Refuse groups by the column that names a person or a household, to be published."""
        unit = self.protect.unit
        for column in by:
            if column in self.protect.column and unit in ("person", "household"):
                raise PolicyError(
                    "releases.keys.unit_column", whose=whose, column=column, unit=unit
                )

    @property
    def changes(self) -> dict[str, Any]:
        """The keys that were set at run time, with their values; null for where data are kept."""
        return dict(self._changes)

    @property
    def promise_keys(self) -> dict[str, Any] | None:
        """The keys of the promise, under whichever of its two names."""
        return self.promise if self.promise is not None else self.tolerance

    @property
    def promise_file(self) -> Path | None:
        """The file that holds its promise: its own, unless the promise was set beside it."""
        changed = {key.split(".")[0] for key in self._changes} & {"promise", "tolerance"}
        return None if changed else self._file

    @property
    def published(self) -> Publication | None:
        """What the spec says of the publisher, under whichever of its two names."""
        return self.publication if self.publication is not None else self.about

    @property
    def located(self) -> str | None:
        """The path or URL of the source."""
        return path_in(self.source)

    @property
    def unit(self) -> Unit:
        """What is protected, as sentences call it."""
        return Unit.of(self.protect.unit, self.protect.name, self.protect.column)

    def promised(self) -> Promise | None:
        """Return the promise that the spec makes, of its unit; None where it makes none."""
        keys = self.promise_keys
        if keys is None:
            return None
        own = sorted(OF_WHOM & set(keys) - DEPENDENCE.keys())
        if own:
            raise SpecError("releases.spec.whom_in_promise", key=own[0])
        adjacency = Adjacency.of(self.protect.adjacency)
        try:
            found = promise_in({**keys, "adjacency": adjacency.value}, self.folder)
        except InputError as fault:
            fault.flags = None  # in a spec it is written with keys
            raise
        return replace(found, unit=self.unit)

    @model_validator(mode="after")
    def _one_promise(self) -> Self:
        if self.tolerance is not None and self.promise is not None:
            raise SpecError("releases.spec.promise_twice")
        if self.promise_keys is not None and self.budget is not None:
            key = "tolerance" if self.promise is None else "promise"
            raise SpecError("releases.spec.promise_and_budget", key=key)
        if self.publication is not None and self.about is not None:
            raise SpecError("releases.spec.about_twice")
        return self

    @property
    def ledger_url(self) -> str:
        """The ledger's URL, its path absolute."""
        prefix = "sqlite:///"
        if not self.ledger.startswith(prefix):
            return self.ledger
        return prefix + str(self.path(self.ledger.removeprefix(prefix)))

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready values; `load` reads them back."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)

    @property
    def hash(self) -> str:
        """SHA-256 of the spec's canonical JSON: what it asks for, wherever that is kept.

        Ledger and output are left out: a ledger may be moved, and its keys name the same releases.
        So is a password in a URL: the hash is published, and must not help to guess one.
        """
        said = self.to_dict()
        del said["ledger"], said["output"]
        for where in (said, *said.get("join", ())):
            source = where.get("source")
            if isinstance(source, dict):
                source["path"] = without_password(source.get("path"))
            else:
                where["source"] = without_password(source)
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _same(path: Path, source: Path) -> bool:
    """Whether two files are one, by any path or link, or have the same bytes."""
    try:
        return path.samefile(source) or filecmp.cmp(path, source, shallow=False)
    except OSError:
        return False  # whichever is missing is refused by who reads it


@dataclass(frozen=True, slots=True)
class PublicFiles:
    """The public files of a spec, for whatever reads keys or numbers from them."""

    spec: InFolder

    def keys(self, name: str, column: str) -> tuple[str, ...]:
        """Return the keys of a column; of a public table that is joined, each value once."""
        path = self.spec.public_file(name, column)
        joined = (join for join in getattr(self.spec, "join", ()) if join.public)
        files = (file_of(path_in(join.source) or "") for join in joined)
        distinct = any(file is not None and self.spec.path(file) == path for file in files)
        return keys_from_file(path, column, distinct=distinct)

    def parents(self, name: str, child: str, parent: str) -> dict[str, str]:
        """Return the key of a column for each key of another; refuse two for one."""
        path = self.spec.public_file(name, child)
        header, *body = _csv_rows(path)
        if not {child, parent} <= set(header):
            raise SpecError("releases.keys.no_column", file=path.name, column=parent)
        found: dict[str, str] = {}
        for row in body:
            key, above = row[header.index(child)], row[header.index(parent)]
            if found.setdefault(key, above) != above:
                raise SpecError("releases.keys.two_parents", file=path.name, key=key, parent=parent)
        return found

    def numbers(self, name: str, by: tuple[str, ...]) -> dict[tuple[str, ...], Fraction]:
        """Return the positive numbers in a public file by the columns `by`; one more has them.

        The same rules hold as for keys: a file that is published, and not the protected one.
        """
        path = self.spec.public_file(name, ", ".join(by))
        header, *body = _csv_rows(path)
        others = [column for column in header if column not in by]
        if len(others) != 1 or not set(by) <= set(header):
            raise SpecError(
                "releases.keys.no_numbers", file=path.name, columns=", ".join(by) or "-"
            )
        places, place = [header.index(column) for column in by], header.index(others[0])
        read = _number_reader([row[place] for row in body], path.name)
        found: dict[tuple[str, ...], Fraction] = {}
        for row in body:
            key = tuple(row[at] for at in places)
            try:
                number = read(row[place])
            except (ValueError, ZeroDivisionError):
                number = Fraction(0)
            if number <= 0 or key in found:
                raise SpecError(
                    "releases.keys.bad_number", file=path.name, column=others[0], key=key
                )
            found[key] = number
        return found


def _csv_rows(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file, the header first, with the sign that its header shows."""
    from discreet.releases.engines.files import public_rows, written_as

    try:
        found = written_as(path, Source())
    except OSError as error:
        raise SpecError("releases.keys.unreadable", file=path.name, reason=error.strerror) from None
    except (UnicodeError, csv.Error):
        raise SpecError("releases.keys.no_csv", file=path.name) from None
    # Of the encodings that do not show themselves, none is guessed.
    if found.encoding != "utf-16":
        found = found.model_copy(update={"encoding": "utf-8"})
    return public_rows(path, found)


# Apostrophes and blanks between thousands.
_BETWEEN = re.compile("(?<=\\d)['\u2019 \u00a0\u202f](?=\\d{3}(?:\\D|$))")


def _number_reader(texts: Sequence[str], file: str) -> Callable[[str], Fraction]:
    """Return what reads the numbers of a public file: with a decimal comma if one of them has it.

    >>> float(_number_reader(["264.638", "1.084.831,5"], "people.csv")("264.638"))
    264638.0
    """
    numbers = [_BETWEEN.sub("", text).strip() for text in texts]
    if any("," in text or text.count(".") > 1 for text in numbers):

        def german(text: str) -> Fraction:
            plain = _BETWEEN.sub("", text).strip()
            if not re.fullmatch(r"(\d+|\d{1,3}(\.\d{3})+)(,\d+)?", plain):
                raise ValueError
            return fraction_of(plain.replace(".", "").replace(",", "."))

        return german
    pointed = [text for text in numbers if "." in text]
    if pointed and all(re.fullmatch(r"\d{1,3}\.\d{3}", text) for text in pointed):
        raise SpecError("releases.keys.thousands", file=file)
    return lambda text: fraction_of(_BETWEEN.sub("", text))


def keys_from_file(path: Path, column: str, *, distinct: bool = False) -> tuple[str, ...]:
    """Return the keys in a CSV file, in its order; one that is listed twice only if `distinct`."""
    header, *body = _csv_rows(path)
    if column in header:
        place = header.index(column)
    elif len(header) == 1:
        place = 0
    else:
        raise SpecError("releases.keys.no_column", file=path.name, column=column)
    keys = tuple(row[place] for row in body if len(row) > place and row[place] != "")
    if not keys:
        raise SpecError("releases.keys.no_rows", file=path.name, column=column)
    keys = tuple(dict.fromkeys(keys)) if distinct else keys
    if len(set(keys)) != len(keys):
        raise SpecError("releases.keys.twice", file=path.name, column=column)
    return keys


# Keys of a spec that are compared with no data.
_NO_DATA = (
    *("account", "purpose", "source", "tolerance", "promise", "budget", "ledger", "output"),
    *("sensitive", "publication", "about", "labels"),
)


def letters_compared(values: Mapping[str, Any]) -> str | None:
    """Return a text beyond ASCII that a spec which says no encoding compares with data, if any."""
    source = values.get("source")
    if isinstance(source, Mapping) and source.get("encoding"):
        return None
    compared = repr({name: said for name, said in values.items() if name not in _NO_DATA})
    return next(iter(re.findall(r"\w*[^\W\x00-\x7f]\w*", compared)), None)


def without_password(url: Any) -> Any:
    """Return a URL without its user and any password; anything else as it is."""
    if not isinstance(url, str) or "://" not in url:
        return url
    return re.sub(r"(?<=[?&])(?:ssl)?password=[^&]*&?", "", re.sub(r"(?<=://)[^/?]*@", "", url))


class Spec(InFolder):
    """One release, as it is asked for."""

    _one_each: bool = PrivateAttr(default=False)  # of a table that is shaped already
    join: Joins = Field(default=(), description="Tables whose columns are looked up.")
    let: dict[str, Condition] = Field(
        default_factory=dict, description="Columns that formulas make of others."
    )
    where: Condition | None = Field(default=None, description="Only rows that meet a condition.")
    per_unit: Features = Field(
        default_factory=dict, description="Columns that are gathered from all rows of a unit."
    )
    sample: Sample | None = Field(
        default=None, description="Make the release from a secret sample of the units."
    )
    series: Series | None = None
    statistics: Annotated[tuple[Registered, ...], BeforeValidator(as_tuple)] = Field(min_length=1)
    mechanism: _Mechanism = "auto"
    interval: float = Field(default=0.95, gt=0, lt=1)
    cut: Cut | None = Field(
        default=None, description="Pay for the number of units that limits and bounds cut."
    )
    sensitive: str | None = Field(default=None, description="The set S of the papers, in words.")
    labels: Annotated[dict[str, Label], BeforeValidator(_by_text)] = Field(
        default_factory=dict,
        description="What statistics, columns and keys are called in tables for readers.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_row(cls, given: Any) -> Any:
        """Give a unit with features its one row."""
        protect = given.get("protect") if isinstance(given, dict) else None
        if not isinstance(protect, dict) or not given.get("per_unit"):
            return given
        if protect.get("unit") == "record":
            raise SpecError("releases.rows.record")
        if {protect.get(name) for name in ("rows", "groups", "rows_per_group")} - {None, 1}:
            raise SpecError("releases.rows.one_row")
        return {**given, "protect": {**protect, "rows": 1}}

    @model_validator(mode="after")
    def _whole(self) -> Spec:
        names = [entry.name or "" for entry in self.named()]
        for name in names:
            if names.count(name) > 1:
                raise SpecError("releases.spec.name_twice", name=name)
        return self

    def named(self) -> tuple[Statistic, ...]:
        """Return the statistics, each with its name or the default one."""
        known = keys_known(self.let, self.per_unit)
        return tuple(
            entry.with_keys(known).model_copy(
                update={"name": entry.name or default_name(entry, position)}
            )
            for position, entry in enumerate(self.statistics, start=1)
        )

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions of single statistics, each with the key of the first that has it."""
        found: dict[str, str] = {}
        for entry in self.named():
            for one in (entry, *entry.tables()):
                if one.where is not None:
                    found.setdefault(one.where, f"{one.name}.where")
        return found

    @property
    def reshaped(self) -> bool:
        """Whether statistics see other rows or columns than those of the source."""
        shaped = self.conditions or self.join or self.where or self.let or self.per_unit
        return bool(shaped or self.sample)

    @property
    def limited(self) -> bool:
        """Whether limits may leave out rows of a unit: it has a column, and not one row alone."""
        return bool(self.protect.column) and not (self.per_unit or self._one_each)

    def as_shaped(self) -> Spec:
        """Return the spec of the same statistics over a table that is shaped already."""
        bare: dict[str, Any] = {"join": (), "where": None, "let": {}, "per_unit": {}}
        entries = tuple(map(_unconditional, self.named()))
        found = self.model_copy(update=bare | {"statistics": entries})
        found._one_each = self._one_each or bool(self.per_unit)
        return found

    def to_yaml(self) -> str:
        """Return the spec as YAML; `load` reads it back."""
        return yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)


def _unconditional(model: Closed) -> Closed:
    """Return a statistic without its condition, and without those of statistics inside it."""
    inside = {name: _unconditional(value) for name, value in model if isinstance(value, Closed)}
    own = {"where": None} if isinstance(model, Statistic) else {}
    return model.model_copy(update={**inside, **own})


def load(
    source: str | Path | Mapping[str, Any] | Spec,
    *,
    folder: str | Path | None = None,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Spec:
    """Read a spec from a YAML file or a mapping; refuse with one sentence what breaks a rule.

    Keys are published, so a file of them must lie below the spec's folder, or below `keys_from`.
    `changes` set keys of the spec, by their path with dots; a statistic is counted from 1.
    """
    earlier: dict[str, Any] = {}
    if isinstance(source, Spec):
        if not (changes or folder or keys_from):
            return source
        folder, keys_from = folder or source._folder, keys_from or source._keys_from
        earlier, source = source.changes, source.to_dict()
    mapping, place = written(source, folder, "account and source")
    spec = _validated(_changed(mapping, changes or {})).placed(place, keys_from, source)
    spec._changes = earlier
    # Where data and account are kept is not told, as everywhere.
    for key, value in (changes or {}).items():
        spec._changes[key] = None if key.split(".")[0] in ("source", "ledger") else value
    return spec


def _changed(mapping: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec as it was written, with some of its keys set."""
    found = deepcopy(mapping) if changes else mapping
    for key, value in changes.items():
        if key == "source" and isinstance(found.get(key), dict) and isinstance(value, str):
            found[key]["path"] = value  # another file that is written in the same way
            continue
        *steps, last = key.split(".")
        inside: Any = found
        for step in steps:
            at = _place(inside, step, key)
            if isinstance(inside, dict) and inside.get(at) is None:
                inside[at] = {}
            inside = inside[at]
        at = _place(inside, last, key)
        if value is None and isinstance(inside, dict) and at in inside:
            del inside[at]  # null leaves a key out, also one that may not be null in a spec
        else:
            inside[at] = value
    return found


def _place(inside: Any, step: str, key: str) -> Any:
    """Return where a step of a path leads in a mapping, or in a list, counted from 1."""
    if isinstance(inside, dict) and step:
        return step
    if isinstance(inside, list) and step.isdecimal() and 0 < int(step) <= len(inside):
        return int(step) - 1
    raise SpecError("releases.spec.set_nowhere", key=key)


def written(
    source: str | Path | Mapping[str, Any], folder: str | Path | None, keys: str
) -> tuple[dict[str, Any], Path]:
    """Return a spec as it was written, and the folder that its paths are relative to.

    `keys` names two of the keys of such a spec, for what is none.
    """
    if isinstance(source, Mapping):
        return dict(source), Path(folder) if folder else Path.cwd()
    if not isinstance(source, str | Path):
        raise SpecError("releases.spec.no_spec", type=type(source).__name__, keys=keys)
    path = Path(source)
    if is_csv(path.name) or path.suffix.lower() in _DATA:
        raise SpecError("releases.spec.data_file", path=path)
    mapping = yaml_values(text_of(path, "the spec", SpecError), f"the spec {path}", SpecError)
    if not isinstance(mapping, dict):
        raise SpecError("releases.spec.no_mapping", path=path, keys=keys)
    return mapping, Path(folder) if folder else path.resolve().parent


def _validated(mapping: dict[str, Any]) -> Spec:
    entries = mapping.get("statistics")
    listed = entries if isinstance(entries, list) else []
    for where in (mapping, *listed):
        if isinstance(where, Mapping) and _WEIGHTS & {str(key) for key in where}:
            raise SpecError("releases.spec.survey_weights")
    for position, entry in enumerate(listed, start=1):
        if isinstance(entry, Mapping) and {"min", "max"} & set(entry) - set(KINDS):
            raise SpecError("releases.spec.extreme", position=position)
    try:
        spec = Spec.model_validate(_plain(mapping))
    except ValidationError as error:
        raise refusal(
            error,
            unknown="releases.spec.unknown_key",
            missing="releases.spec.missing_key",
            tags=_TAGS,
            place=_by_statistic,
            schema=json_schema,
        ) from None
    for table in (table for entry in spec.named() for table in entry.tables()):
        table.check_policy()
        known = {*table.public_keys, *(c for one in table.sought for c in one.columns)}
        missing = [column for column in table.grouped_by if column not in known]
        if missing:
            declared = {*known, *spec.let, *spec.per_unit, *options_of(spec.source).types}
            near = like(missing[0], declared)
            said = {"statistic": table.name, "column": missing[0], "like": near}
            raise PolicyError("releases.keys.unpaid", **said)
    return spec


def _by_statistic(steps: list[str | int]) -> list[str | int]:
    """Count statistics, and what lists hold, as people do."""
    steps = [step + 1 if isinstance(step, int) else step for step in steps]
    steps = ["rows" if step == "rows_choice" else step for step in steps]
    if len(steps) > 1 and steps[0] == "statistics" and isinstance(steps[1], int):
        return [say("releases.spec.statistic", position=steps[1]), *steps[2:]]
    return steps


def _plain(value: Any) -> Any:
    """Return the loaded values with dates as the text that they were."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value.isoformat() if isinstance(value, date) else value


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a spec, as published in `spec.schema.json`."""
    schema = Spec.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Discreet: release spec"
    return schema
