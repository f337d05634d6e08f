"""Where the data are, and how a file is written: `source: visits.csv`, or a mapping.

    source:
      path: visits.csv.gz
      delimiter: ";"
      decimal: ","
      types: {cost: number, day: date, ward: text}

A CSV file has no types. What is declared here is a fact about the file that the curator knows;
nothing is found by looking at rows. A value that is not of its declared type is nothing.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from discreet.errors import SpecError
from discreet.releases.models import Closed, NamesOrOne, wrong_choice

_Type: TypeAlias = Literal["text", "number", "integer", "date", "moment", "boolean"]
_PARTS = {"%Y": "([0-9]{4})"} | dict.fromkeys(("%m", "%d", "%H", "%M", "%S"), "([0-9]{1,2})")
_WHOLE = [sorted([*_PARTS][:many]) for many in (3, 5, 6)]
_SIGNS = "[^%0-9A-Za-z]*"
_DATE = f"{_SIGNS}(?:%[dmY]{_SIGNS}){{3}}(?:T?(?:%[HMS]{_SIGNS}){{2,3}}Z?)?"


def pattern_of(declared: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the parts of a date, or of a moment, as a regular expression, and which they are.

    It is None for a name.

    >>> pattern_of("%d.%m.%Y")
    ('([0-9]{1,2})\\\\.([0-9]{1,2})\\\\.([0-9]{4})', ('%d', '%m', '%Y'))
    """
    parts = tuple(re.findall("%.", declared))
    if not re.fullmatch(_DATE, declared) or sorted(parts) not in _WHOLE:
        return None
    found = re.escape(declared)
    for part in parts:
        one = _PARTS[part]
        # Two parts with nothing between them have all their digits.
        found = found.replace(part, one.replace("1,", "") if re.search("%.%", declared) else one)
    return found, parts


def _declared(given: str) -> str:
    if given not in get_args(_Type) and pattern_of(given) is None:
        raise wrong_choice("releases.source.type", given, get_args(_Type))
    return given


Declared: TypeAlias = Annotated[
    str,
    AfterValidator(_declared),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "enum": [*get_args(_Type)]}, {"pattern": f"^{_DATE}$"}]}
    ),
]
"""What the values of a column may be declared to be: a type, or how dates are written."""


class Source(Closed):
    """A source with what its file does not say of itself."""

    path: str | None = Field(
        default=None, min_length=1, description="The file or URL; none for data that are given."
    )
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    decimal: Literal[".", ","] = Field(default=".", description="The decimal mark of a CSV file.")
    thousands: Literal[".", ",", " ", "'"] | None = Field(
        default=None,
        description="The sign between groups of three digits; a point if decimals have a comma.",
    )
    encoding: Literal["utf-8", "windows-1252", "latin-1", "utf-16"] = "utf-8"
    types: dict[str, Declared] = Field(
        default_factory=dict, description="What the values of columns are."
    )
    nulls: NamesOrOne = Field(
        default=(), description="Texts that stand for a missing value, beside the empty one."
    )

    @field_validator("delimiter")
    @classmethod
    def _plain(cls, delimiter: str) -> str:
        visible = delimiter.isprintable() and not delimiter.isalnum() and delimiter != '"'
        if not visible and delimiter != "\t":
            raise SpecError("releases.source.delimiter")
        return delimiter

    @field_validator("thousands", mode="before")
    @classmethod
    def _as_typed(cls, sign: object) -> object:
        return next((one for one, alike in _ALIKE.items() if sign in (*alike,)), sign)

    @model_validator(mode="after")
    def _marks(self) -> Source:
        # A sign between digits may be the delimiter: such a number stands in quotation marks.
        if self.decimal in (self.thousands, self.delimiter):
            raise SpecError("releases.source.marks")
        return self

    @property
    def grouping(self) -> str:
        """The signs that may stand between groups of three digits: those of one kind, or none.

        Where decimals have a comma, a point can be nothing else.

        >>> Source(decimal=",", delimiter=";").grouping, Source().grouping
        ('.', '')
        """
        sign = self.thousands or ("." if self.decimal == "," else "")
        return _ALIKE.get(sign, sign)

    @property
    def of_a_file(self) -> bool:
        """Whether it says anything that only a CSV file needs."""
        return bool(self.model_fields_set - {"path", "types"})


# Signs between thousands that look alike.
_ALIKE = {
    " ": " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}",
    "'": "'\N{RIGHT SINGLE QUOTATION MARK}",
}


def _how(source: object) -> str:
    return "mapping" if isinstance(source, (Source, dict)) else "location"


Sourced: TypeAlias = Annotated[
    Annotated[str, Tag("location")] | Annotated[Source, Tag("mapping")], Discriminator(_how)
]
"""A source as a field of a spec."""
GivenSource: TypeAlias = str | Source | None


def path_in(source: GivenSource) -> str | None:
    """Return the path or URL of a source."""
    return source.path if isinstance(source, Source) else source


def options_of(source: GivenSource) -> Source:
    """Return a source with all that it leaves to the defaults."""
    return source if isinstance(source, Source) else Source(path=source)
