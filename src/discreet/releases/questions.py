"""The statistics that a spec may ask for, as they are written in it.

Each entry of `statistics:` has one key that says its kind (`count`, `sum`, `mean`, `variance`,
`quantile`, `histogram`, `best`, `randomized`); the others are its details. `by` names the columns
that make the groups, and `keys` the public values of each (a list, or a CSV file whose column of
that name, or whose only column, lists them), or `discover:` to pay for finding them.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

__all__ = [
    "STATISTICS",
    "Best",
    "Count",
    "Discover",
    "Grid",
    "Histogram",
    "Mean",
    "Quantile",
    "Randomized",
    "Statistic",
    "Sum",
    "Threshold",
    "Variance",
    "Within",
    "default_name",
    "key_text",
    "kind_of",
]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def key_text(value: object) -> str:
    """Return a key as the text that data are compared with; refuse what YAML has changed."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, date)):
        raise ValueError(
            f"the key {value!r} was read by YAML as {type(value).__name__}; keys are compared as "
            "text, so put it in quotes"
        )
    return value.isoformat() if isinstance(value, date) else str(value)


def _keys(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return value
    keys = tuple(key_text(key) for key in value)
    if not keys:
        raise ValueError("a list of keys is empty; name at least one")
    if len(set(keys)) != len(keys):
        raise ValueError("a key is listed twice; list each once")
    return keys


Keys: TypeAlias = Annotated[
    tuple[str, ...] | str, BeforeValidator(_keys, json_schema_input_type=list[str | int] | str)
]
Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_tuple)]
Whole: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
Pair: TypeAlias = Annotated[tuple[Whole, Whole], BeforeValidator(_tuple)]


class Threshold(_Closed):
    """The δ that pays for finding keys."""

    delta: float = Field(gt=0, lt=1)
    weight: float = Field(default=1.0, gt=0)


class Discover(_Closed):
    """Keys that are not public: found and paid for by a noisy threshold."""

    discover: Threshold


class Within(_Closed):
    """A wanted accuracy, instead of a weight: |error| at most this, with that probability."""

    error: float = Field(gt=0)
    confidence: float = Field(default=0.95, gt=0, lt=1)


class _Asked(_Closed):
    name: str | None = Field(default=None, min_length=1, max_length=100)
    weight: float | None = Field(default=None, gt=0)
    within: Within | None = None

    @model_validator(mode="after")
    def _share(self) -> _Asked:
        if self.weight is not None and self.within is not None:
            raise ValueError("give either a weight or a wanted accuracy (within), not both")
        return self


def _found_or_public(keys: object) -> str:
    if isinstance(keys, Discover):
        return "discover"
    found = isinstance(keys, dict) and isinstance(keys.get("discover"), dict)
    return "discover" if found else "public"


PublicOrFound: TypeAlias = Annotated[
    Annotated[Discover, Tag("discover")] | Annotated[dict[str, Keys], Tag("public")],
    Discriminator(_found_or_public),
]


class _Grouped(_Asked):
    by: Names = ()
    keys: PublicOrFound = Field(default_factory=dict)

    @field_validator("by")
    @classmethod
    def _once(cls, by: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(by)) != len(by):
            raise ValueError("a column stands twice in by; name it once")
        return by

    @model_validator(mode="after")
    def _known(self) -> _Grouped:
        if isinstance(self.keys, Discover):
            if not self.by:
                raise ValueError("there is nothing to discover without by")
            return self
        extra = [column for column in self.keys if column not in self.by]
        if extra:
            raise ValueError(f"keys are given for {extra[0]!r}, which is not in by")
        return self

    @property
    def without_keys(self) -> list[str]:
        """The columns of `by` whose values are neither public nor paid for."""
        if isinstance(self.keys, Discover):
            return []
        return [column for column in self.by if column not in self.keys]


class _Bounded(_Grouped):
    bounds: Pair = Field(description="Values are clipped to these; they must not come from data.")
    resolution: float = Field(gt=0, description="Values are rounded to multiples of this.")

    @field_validator("bounds")
    @classmethod
    def _ordered(cls, bounds: tuple[float, float]) -> tuple[float, float]:
        if not bounds[0] < bounds[1]:
            raise ValueError(f"the lower bound {bounds[0]:g} must be below the upper {bounds[1]:g}")
        return bounds


class Count(_Grouped):
    """How many rows, or how many units."""

    count: Literal["rows", "units"]


class Sum(_Bounded):
    """The sum of a column, clipped and in whole multiples of its resolution."""

    sum: str


class Mean(_Bounded):
    """A noisy sum over a noisy count."""

    mean: str


class Variance(_Bounded):
    """From a noisy count, sum and sum of squares."""

    variance: str


class Quantile(_Bounded):
    """A value that about a share `at` of the rows lie below; chosen among the multiples."""

    quantile: str
    at: float

    @field_validator("at", mode="before")
    @classmethod
    def _inside(cls, at: object) -> object:
        if at in ("min", "max") or (isinstance(at, (int, float)) and not 0 < at < 1):
            raise ValueError(
                f"at is {at!r}: a true minimum or maximum is one person's value, and no bounded "
                "noise hides it. Ask for a quantile near it, such as at: 0.01 or at: 0.99"
            )
        return at


class Histogram(_Grouped):
    """Counts of rows between public edges."""

    histogram: str
    edges: Annotated[tuple[Whole, ...], BeforeValidator(_tuple)] = Field(
        min_length=2, max_length=1001
    )

    @field_validator("edges")
    @classmethod
    def _rising(cls, edges: tuple[float, ...]) -> tuple[float, ...]:
        if any(not low < high for low, high in pairwise(edges)):
            raise ValueError("the edges must rise")
        return edges


class Grid(_Closed):
    """Candidates from … to … in steps."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )
    start: float = Field(alias="from")
    to: float
    step: float = Field(gt=0)


class Best(_Asked):
    """The best of some public candidates, by the exponential mechanism.

    `score: count` is the most common value of a column; `score: revenue` the price that, if it were
    asked of everyone who bid at least that much, would earn the most.
    """

    best: str = Field(min_length=1, description="What is being chosen, in a word.")
    score: Literal["count", "revenue"]
    of: str
    cap: float | None = Field(default=None, gt=0, description="Bids above it are left out.")
    candidates: Grid | Annotated[tuple[str | float, ...], BeforeValidator(_tuple)]

    @model_validator(mode="after")
    def _scored(self) -> Best:
        if self.score == "revenue" and self.cap is None:
            raise ValueError(
                "score revenue needs a cap: without it one bid could change the revenue by any "
                "amount, and no noise would hide it"
            )
        if self.score == "count" and (self.cap is not None or isinstance(self.candidates, Grid)):
            raise ValueError("score count takes a list of candidates and no cap")
        if not isinstance(self.candidates, Grid):
            if len(self.candidates) < 2 or len(set(self.candidates)) != len(self.candidates):
                raise ValueError("the candidates must be two or more, and all different")
            wanted = str if self.score == "count" else float
            if not all(isinstance(candidate, wanted) for candidate in self.candidates):
                raise ValueError(
                    "score count compares text (put candidates in quotes), and score revenue "
                    "compares numbers"
                )
        return self


class Randomized(_Grouped):
    """A column of answers that were already randomized; the unbiased estimate of the true ones."""

    randomized: str
    answers: Annotated[tuple[str, ...], BeforeValidator(_keys)] = Field(min_length=2)
    keep: float = Field(
        gt=0, le=1, description="Probability that the answer given is the true one."
    )

    @model_validator(mode="after")
    def _informative(self) -> Randomized:
        if not self.keep > 1 / len(self.answers):
            raise ValueError(
                f"keep is {self.keep:g}: at 1/{len(self.answers)} or below, the answers say nothing"
            )
        return self


STATISTICS: dict[str, type[_Asked]] = {
    "count": Count,
    "sum": Sum,
    "mean": Mean,
    "variance": Variance,
    "quantile": Quantile,
    "histogram": Histogram,
    "best": Best,
    "randomized": Randomized,
}


def kind_of(entry: object) -> str | None:
    """Return the one key that says what a statistic is; None without one, or with two."""
    if isinstance(entry, _Asked):
        return next(kind for kind, model in STATISTICS.items() if type(entry) is model)
    found = [kind for kind in STATISTICS if isinstance(entry, dict) and kind in entry]
    return found[0] if len(found) == 1 else None


Statistic: TypeAlias = Annotated[
    Annotated[Count, Tag("count")]
    | Annotated[Sum, Tag("sum")]
    | Annotated[Mean, Tag("mean")]
    | Annotated[Variance, Tag("variance")]
    | Annotated[Quantile, Tag("quantile")]
    | Annotated[Histogram, Tag("histogram")]
    | Annotated[Best, Tag("best")]
    | Annotated[Randomized, Tag("randomized")],
    Discriminator(kind_of),
]


def default_name(entry: Any, position: int) -> str:
    """Return the name of a statistic that has none: kind, column, position."""
    kind = str(kind_of(entry))
    return f"{kind}_{getattr(entry, kind)}_{position}"
