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

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from discreet.errors import SpecError
from discreet.releases.models import Closed, NamesOrOne

Declared: TypeAlias = Literal["text", "number", "integer", "date", "boolean"]
"""What the values of a column may be declared to be."""


class Source(Closed):
    """A source with what its file does not say of itself."""

    path: str | None = Field(
        default=None, min_length=1, description="The file or URL; none for data that are given."
    )
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    decimal: Literal[".", ","] = Field(default=".", description="The decimal mark of a CSV file.")
    thousands: Literal[".", ",", " ", "'"] | None = None
    encoding: Literal["utf-8", "latin-1", "utf-16"] = "utf-8"
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

    @model_validator(mode="after")
    def _marks(self) -> Source:
        if self.thousands == self.decimal or self.delimiter in (self.decimal, self.thousands):
            raise SpecError("releases.source.marks")
        return self

    @property
    def of_a_file(self) -> bool:
        """Whether it says anything that only a CSV file needs."""
        return bool(self.model_fields_set - {"path", "types"})


def _how(source: object) -> str:
    return "mapping" if isinstance(source, (Source, dict)) else "path"


Sourced: TypeAlias = Annotated[
    Annotated[str, Tag("path")] | Annotated[Source, Tag("mapping")], Discriminator(_how)
]
"""A source as a field of a spec."""
GivenSource: TypeAlias = str | Source | None


def path_in(source: GivenSource) -> str | None:
    """Return the path or URL of a source."""
    return source.path if isinstance(source, Source) else source


def options_of(source: GivenSource) -> Source:
    """Return a source with all that it leaves to the defaults."""
    return source if isinstance(source, Source) else Source(path=source)
