"""Margins that add up: counts or sums on many sets of columns, measured once, made consistent.

    {count: rows, margins: [[county, age], [sex]], keys: {…}}
    {sum: cost, bounds: …, resolution: …, margins: {up_to: 2, of: [county, age, sex]}, keys: {…}}
    {count: units, margins: [[county, age]], hierarchy: {county: state}, keys: {county: …csv, …}}

Rows are bounded once, by combinations of all columns (the finest groups), so all margins are of the
same rows. A row counts if it has a public key in each of these columns. Each margin that is worth
measuring is one mechanism call, and `adding_up` makes what is published of them.

Sensitivity. A unit adds at most T rows, at most c of them to a finest group. A cell of a margin
that gathers K finest groups has at most c·min(K, G) rows of a unit; L1 stays T and L2 follows.

With `count: units` a unit counts once in each of its finest groups, as it must for margins to add
up: with `groups: 1` in all.

Residuals alone. Where the budget is in ρ, what is measured of a margin may be its residual alone,
which costs less (`adding_up`): then each set below the published ones is measured, by a call that
is named after its residual. It is done where that makes the errors smaller, which the spec alone
decides, and where κ is negligible at the scale of the noise.

Keys that are found. Each open column is searched by itself (its units a key, bounded to G keys, at
ε_i and δ_i). Let k be the lists found, a random variable that is released. For every fixed k all
that follows is the mechanism for public keys k: a row counts if its keys are in k, which the row
and k decide alone, and rows are bounded after that; so the sensitivities above hold for each k,
with sizes and gathered groups of k. Its parts have shares of one amount that does not depend on k.
By adaptive composition the release costs Σε_i + ε and Σδ_i; in ρ, Σε_i²/2 + ρ and Σδ_i. Rows whose
keys were not found are dropped before bounding: to drop them after would keep rows of a unit that
are in no cell in the place of rows that are in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    field_validator,
    model_validator,
)

from discreet.errors import BudgetExceeded, SpecError
from discreet.guarantees import Adjacency
from discreet.laws import DiscreteGaussian
from discreet.releases.adding_up import (
    SPARE,
    Design,
    Errors,
    Margin,
    Spread,
    Tree,
    fits,
    squared_change,
)
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import (
    Cells,
    Grid,
    KeySet,
    Number,
)
from discreet.releases.models import Closed, Keys, Names, as_tuple
from discreet.releases.quotients import Within as Reach
from discreet.releases.quotients import part
from discreet.releases.statistics.base import (
    Added,
    Bounds,
    Discover,
    Files,
    Measured,
    Sought,
    Within,
    check_cells,
    register,
    texts_in,
)
from discreet.releases.statistics.values import LARGEST, Answer, Noisy, Part, multiples, rounded
from discreet.releases.twin import MOST_CELLS, simulated, simulations, twin_of
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.pricing import Priced
    from discreet.releases.statistics.derived import Released

T = TypeVar("T")

ALL = "(all)"
"""What stands in the columns that a margin is summed over."""

_MOST_SETS = 2000
_MOST_ROWS = 1_000_000
_MOST_GRID = 2**60
_MOST_TRIES = 40


class UpTo(Closed):
    """All sets of so many columns or fewer."""

    up_to: int = Field(ge=0, le=12)
    of: Names = Field(min_length=1)


class Twin(Closed):
    """What is publicly known of the table, and kept by its twin."""

    total: int | None = Field(default=None, ge=0, description="The total, if it is public.")
    zeros: Annotated[tuple[dict[str, Keys], ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Combinations of keys that cannot be, publicly known."
    )


class Weighed(Closed):
    """One set of columns: errors weigh more or less than those of the others, or stay within."""

    of: Names
    weight: float = Field(default=1.0, gt=0)
    within: Within | None = None


def _weighed(margin: object) -> object:
    return margin if isinstance(margin, (Weighed, dict)) else {"of": _listed(margin)}


def _listed(margins: object) -> object:
    if not isinstance(margins, (list, tuple)):
        raise SpecError("releases.margins.sets", given=margins)
    return tuple(margins)


def _sets_in(margins: object) -> list[object]:
    """Return the sets of columns in what was written, which need not be valid."""
    sets = [margins] if isinstance(margins, dict) else margins
    entries = sets if isinstance(sets, list) else []
    return [one.get("of") if isinstance(one, dict) else one for one in entries]


def _known(twin: object) -> object:
    return {} if twin is True else None if twin is False else twin


def _form(margins: object) -> str:
    return "size" if isinstance(margins, (UpTo, dict)) else "sets"


Set: TypeAlias = Annotated[
    Weighed, BeforeValidator(_weighed, json_schema_input_type=list[str] | Weighed)
]
Sets: TypeAlias = Annotated[tuple[Set, ...], BeforeValidator(_listed)]


@register("margins")
class Margins(Added):
    """Counts or sums on sets of columns, and in all, that add up."""

    refines: ClassVar[tuple[str, ...]] = ("count", "sum")
    mixes: ClassVar[bool] = True

    margins: Annotated[
        Annotated[UpTo, Tag("size")] | Annotated[Sets, Tag("sets")], Discriminator(_form), "sets"
    ] = Field(description="Sets of columns, or all sets up to a size.")
    count: Literal["rows", "units"] | None = None
    sum: Annotated[str | None, "column"] = Field(
        default=None, description="The column to add up, instead of count."
    )
    bounds: Bounds | None = None
    resolution: float | None = Field(default=None, gt=0)
    hierarchy: dict[str, str | dict[str, str]] = Field(
        default_factory=dict,
        description="The column above a column; its keys stand beside the keys, or in a file.",
    )
    twin: Annotated[Twin | None, BeforeValidator(_known, json_schema_input_type=bool | Twin)] = (
        Field(default=None, description="Add the column `published`: whole numbers, none negative.")
    )
    _parents: Mapping[str, Mapping[str, str]] = PrivateAttr(default_factory=dict)
    _raised: Mapping[Margin, float] = PrivateAttr(default_factory=dict)
    _whole_noise: bool = PrivateAttr(default=False)
    _listed_alone: bool = PrivateAttr(default=False)

    @field_validator("hierarchy")
    @classmethod
    def _chain(cls, hierarchy: dict[str, Any]) -> dict[str, Any]:
        above = [_only(parent) for parent in hierarchy.values()]
        ends = [column for column in hierarchy if column not in above]
        if hierarchy and (len(ends) != 1 or len(set(above)) != len(above) or "" in above):
            raise SpecError("releases.margins.one_chain")
        return hierarchy

    @model_validator(mode="after")
    def _whole(self) -> Margins:
        given = [self.bounds is not None, self.resolution is not None]
        wanted = () if isinstance(self.margins, UpTo) else self.margins
        refused = {
            "count_or_sum": (self.count is None) == (self.sum is None),
            "bounds": any(given) if self.count else not all(given),
            "by": self.by,
            "no_columns": not self.grouped_by,
            "discover": isinstance(self.keys, Discover),
            "found_within": self.sought and any(one.within is not None for one in wanted),
            "found_public": self.sought and self.twin not in (None, Twin()),
            "within": self.within is not None,
        }
        for name, broken in refused.items():
            if broken:
                raise SpecError(f"releases.margins.{name}")
        if self.twin is not None and self.bounds is not None and self.bounds[0] < 0:
            raise SpecError("releases.margins.twin_negative", low=self.bounds[0])
        for margin in self._sets:
            if len(set(margin)) != len(margin):
                raise SpecError("releases.margins.column_twice", margin=", ".join(margin))
        if len(self._sets) > _MOST_SETS:
            raise SpecError("releases.margins.many", sets=len(self._sets), most=_MOST_SETS)
        return self

    @classmethod
    def keyed_by(cls, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the columns of its sets, but for those above another."""
        hierarchy = values.get("hierarchy")
        levels = hierarchy.values() if isinstance(hierarchy, dict) else ()
        above = {_only(one) for one in levels if isinstance(one, (str, dict))}
        named = (name for one in _sets_in(values.get("margins")) for name in texts_in(one))
        return tuple(dict.fromkeys(name for name in named if name not in above))

    # ------------------------------------------------------------------ what it is about

    @property
    def subject(self) -> str:
        """What is counted or added up."""
        return self.count or str(self.sum)

    @property
    def _sets(self) -> tuple[Margin, ...]:
        asked = self.margins
        if isinstance(asked, UpTo):
            sizes = range(asked.up_to + 1)
            return tuple(one for size in sizes for one in combinations(asked.of, size))
        return tuple(one.of for one in asked)

    @property
    def _levels(self) -> Margin:
        """The columns of the hierarchy, the coarsest first."""
        above = {column: _only(parent) for column, parent in self.hierarchy.items()}
        chain = [column for column in above if column not in above.values()]
        while chain and chain[-1] in above:
            chain.append(above[chain[-1]])
        return tuple(reversed(chain))

    @property
    def extra(self) -> tuple[str, ...]:
        """The columns above another, which are not read from the data."""
        return self._levels[:-1]

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """All columns of its margins, in order of first mention; of a hierarchy the finest."""
        of = self.margins.of if isinstance(self.margins, UpTo) else ()
        named = (*of, *(name for one in self._sets for name in one))
        levels = self._levels
        return tuple(dict.fromkeys(levels[-1] if name in levels else name for name in named))

    @property
    def sought(self) -> tuple[Sought, ...]:
        """The columns whose keys are found; of the finest level only keys with a parent count."""
        found, finest = super().sought, self._levels[-1:]
        known = (
            tuple(key for key in self._parents.get(finest[0], ()) if self._placed(key))
            if finest
            else ()
        )
        return tuple(replace(one, listed=known) if one.columns == finest else one for one in found)

    def _placed(self, key: str) -> bool:
        """Whether a key of the finest level has a parent on every level."""
        for level in reversed(self._levels[1:]):
            key = key and self._parents[level].get(key, "")
        return bool(key)

    def resolved(self, files: Files) -> Margins:
        """Return it with files of keys and of parents read."""
        given = self.public_keys
        parents: dict[str, Mapping[str, str]] = {}
        for parent, child in pairwise(self._levels):
            above = self.hierarchy[child]
            beside = given.get(self._levels[-1]) if isinstance(above, str) else above[parent]
            if not isinstance(beside, str):
                raise SpecError("releases.margins.no_file", child=child, parent=parent)
            parents[child] = files.parents(beside, child, parent)
        found = super().resolved(files)
        found._parents = parents
        for column, values in found._lists.items():
            if ALL in values:
                raise SpecError("releases.margins.all_key", column=column, key=ALL)
        found._check_zeros()
        return found

    def over(self, found: Sequence[KeySet]) -> tuple[Margins, Cells]:
        """Return it with the keys that were found as its keys, and every combination of keys."""
        lists = {one.columns[0]: self._usable(one) for one in found}
        made = self if not lists else self._over(tuple(lists.items()))
        known = made.public_keys
        grid = Grid(self.grouped_by, tuple(tuple(known[column]) for column in self.grouped_by))
        check_cells(grid.columns, grid.lists, _MOST_GRID)
        return made, grid

    def _usable(self, found: KeySet) -> tuple[str, ...]:
        """Return the keys that can stand in the table: not `(all)`, and with all levels above."""
        keys = (key for (key,) in found.keys if key != ALL)
        return tuple(k for k in keys if found.columns != self._levels[-1:] or self._placed(k))

    @cached_property
    def _over(self) -> Callable[[tuple[tuple[str, tuple[str, ...]], ...]], Margins]:
        """Itself with other keys; a release asks once, an audit a thousand times for the same."""
        given = dict(self.public_keys)
        return lru_cache(maxsize=64)(lambda lists: self._changed(keys=given | dict(lists)))

    def _changed(self, **fields: Any) -> Margins:
        """Return it with other fields, and nothing that was made from those before."""
        found = self.model_copy(update=fields)
        for made in found.__dict__.keys() - type(self).model_fields.keys():
            del found.__dict__[made]
        return found

    def _check_zeros(self) -> None:
        """Refuse a combination that cannot be if a column or a key of it is not there."""
        for zero in () if self.twin is None else self.twin.zeros:
            for column, keys in zero.items():
                known = self._lists.get(column, ()) if column not in self.extra else ()
                for key in (keys,) if isinstance(keys, str) else keys:
                    if key not in known:
                        raise SpecError("releases.margins.no_zero", column=column, key=key)
        if self._empty is not None and self._empty.all():
            raise SpecError("releases.margins.all_zero")

    @cached_property
    def _lists(self) -> dict[str, tuple[str, ...]]:
        """The keys of every column; above a column, those that its keys have, as they come.

        Where keys are still to be found, as many stand for them as there may be.
        """
        lists = {column: tuple(keys) for column, keys in self.public_keys.items()}
        for one in self.sought:
            lists |= {one.columns[0]: tuple(key for (key,) in one.assumed().keys)}
        lists = {column: lists[column] for column in self.grouped_by}
        for parent, child in reversed([*pairwise(self._levels)]):
            missing = [key for key in lists[child] if not self._parents[child].get(key)]
            if missing:
                raise SpecError(
                    "releases.margins.no_parent", child=child, key=missing[0], parent=parent
                )
            lists[parent] = tuple(dict.fromkeys(self._parents[child][k] for k in lists[child]))
        return lists

    @cached_property
    def _tree(self) -> Tree:
        parents = []
        for place, level in enumerate(self._levels):
            if not place:
                parents.append(np.zeros(len(self._lists[level]), dtype=np.int64))
                continue
            above = {key: at for at, key in enumerate(self._lists[self._levels[place - 1]])}
            known = self._parents[level]
            parents.append(np.array([above[known[key]] for key in self._lists[level]]))
        return Tree(self._levels, tuple(parents))

    @property
    def _order(self) -> Margin:
        levels = self._levels
        return (*levels, *(column for column in self.grouped_by if column not in levels))

    def _in_order(self, margin: Sequence[str]) -> Margin:
        """Return a set of columns as the design has it: one level, and the other columns."""
        finest = [level for level in self._levels if level in margin][-1:]
        plain = [column for column in margin if column not in self._levels]
        return tuple(sorted((*finest, *plain), key=self._order.index))

    @cached_property
    def design(self) -> Design:
        """The attributes and the margins that are published, the total among them.

        Of a margin with a column of the hierarchy, those with the columns above it are as well.
        """
        levels, order = self._levels, self._order
        sets = {(), *map(self._in_order, self._sets)}
        for margin in [one for one in sets if one and one[0] in levels]:
            above = levels[: levels.index(margin[0])]
            sets |= {margin[1:], *((level, *margin[1:]) for level in above)}
        listed = () if isinstance(self.margins, UpTo) else self.margins
        weights = {self._in_order(one.of): one.weight for one in listed}
        weights |= {m: weights.get(m, 1.0) * more for m, more in self._raised.items()}
        sizes = {column: len(self._lists[column]) for column in order if column not in levels}
        published = sorted(sets, key=lambda m: (len(m), [*map(order.index, m)]))
        found = Design(sizes, tuple(published), self._tree, weights)
        if self.twin is not None and found.finest_size > MOST_CELLS:
            raise SpecError("releases.margins.twin_large", cells=found.finest_size, most=MOST_CELLS)
        rows = sum(map(found.cells, found.published))
        if rows > _MOST_ROWS:
            raise SpecError("releases.margins.many_cells", cells=rows, most=_MOST_ROWS)
        return found

    def shown(self, cells: Cells | None) -> KeySet:
        """Return the cells of the table: those of every margin, `(all)` where it is summed over."""
        levels, plain = self._levels, tuple(c for c in self._order if c not in self._levels)
        keys: list[tuple[str, ...]] = []
        for margin in self.design.published if cells is None or cells else ():
            lists = [self._lists[c] if c in margin else (ALL,) for c in plain]
            keys += (node + key for node, key in product(self._nodes(margin), product(*lists)))
        return KeySet((*levels, *plain), tuple(keys))

    def _nodes(self, margin: Margin) -> list[tuple[str, ...]]:
        """Return the nodes of a margin's level, each with what is above it."""
        levels = self._levels
        finest = next((level for level in levels if level in margin), None)
        if finest is None:
            return [(ALL,) * len(levels)]
        found = []
        for key in self._lists[finest]:
            node = [key]
            for level in reversed(levels[1 : levels.index(finest) + 1]):
                node.insert(0, self._parents[level][node[0]])
            found.append((*node, *(ALL,) * (len(levels) - len(node))))
        return found

    def note(self, contribution: Contribution) -> str | None:
        """Say which totals are not published, and that totals may count a unit more than once."""
        said, missing = [], [name for name in self.grouped_by if (name,) not in self._sets]
        if missing and not isinstance(self.margins, UpTo) and not self.hierarchy:
            named = ", ".join(missing)
            said.append(say("releases.margins.totals_left_out", statistic=self.name, columns=named))
        if self.counts_units and contribution.groups > 1:
            most = contribution.groups
            said.append(say("releases.margins.units_again", statistic=self.name, groups=most))
        return " ".join(said) or None

    # ------------------------------------------------------------------ measuring and noise

    @cached_property
    def number(self) -> Number | None:
        """The column that is added up, in whole multiples of its resolution."""
        if self.sum is None or self.bounds is None or self.resolution is None:
            return None
        return multiples(self.sum, self.bounds, self.resolution, self.name)

    @property
    def _step(self) -> Fraction:
        return self.largest[1]

    def parts(self, contribution: Contribution) -> tuple[Part, ...]:
        """A call for each margin that is worth measuring, with its share of the budget."""
        return self._parts(contribution)

    @cached_property
    def _parts(self) -> Callable[[Contribution], tuple[Part, ...]]:
        return lru_cache(maxsize=8)(self._split)

    def _split(self, contribution: Contribution) -> tuple[Part, ...]:
        design, (*_, signed) = self.design, self.largest
        parts = {
            margin: self.call(_called(margin), contribution.gathered(design.gathered(margin)))
            for margin in (*design.measurable, *(() if self._listed_alone else design.wider))
        }
        prices = {m: float(part.l1) ** 2 for m, part in parts.items()}
        pure, _, off = design.split(prices, 2)
        # A unit that is replaced takes rows away in one cell and adds them in another.
        both = signed or contribution.adjacency is Adjacency.REPLACE
        listed = {margin: parts[margin] for margin in design.measurable}
        of_epsilon, (of_rho, alone, less) = _exact(pure), self._split_rho(listed, both)
        nothing, cells = Fraction(0), sum(map(design.cells, design.published))

        def shared(part: Part, epsilon: Fraction, rho: Fraction) -> Part:
            """Return a call with its shares; noise has the standard deviation √price/share in ε."""
            blurs = {
                "epsilon": math.sqrt(off / cells) * float(epsilon / part.l1),
                "rho": math.sqrt(less / cells * float(rho / part.l2_squared)),
            }
            return replace(part.shared(epsilon=epsilon, rho=rho), blurs=blurs)

        whole = [
            shared(part, of_epsilon.get(m, nothing), of_rho.get(m, nothing))
            for m, part in parts.items()
            if m in of_epsilon or m in of_rho
        ]
        return (*whole, *(shared(part, nothing, rho) for part, rho in alone))

    def _split_rho(
        self, parts: Mapping[Margin, Part], signed: bool
    ) -> tuple[dict[Margin, Fraction], list[tuple[Part, Fraction]], float]:
        """Return the shares of ρ: of margins, or of residuals alone, whichever errs less; how much.

        `signed` tells whether one unit may add in some cells and take away in others.
        """
        design, prices = self.design, {m: float(part.l2_squared) for m, part in parts.items()}
        spread, _, error = design.split(prices, 1)
        if self._whole_noise or self.sought or self._levels or min(design.sizes.values()) < 2:
            return _exact(spread), [], error
        residuals = {
            margin: replace(
                part,
                name=_residual(margin),
                l2_squared=(1 + SPARE)
                * squared_change(part.l1, part.l2_squared, self._sizes(margin), signed=signed),
            )
            for margin, part in parts.items()
        }
        own = {m: float(part.l2_squared) for m, part in residuals.items()}
        apart = replace(design, apart=True)
        shares, _, less = apart.split(own, 1)
        if less >= error:
            return _exact(spread), [], error
        return {}, [(residuals[m], share) for m, share in _exact(shares).items()], less

    def _sizes(self, margin: Margin) -> list[int]:
        return [self.design.sizes[name] for name in margin]

    def tightened(self, calls: Mapping[str, Priced], tries: int) -> Margins | None:
        """Return it with more weight for margins that are not within what is wanted; None if all.

        The error of a margin falls about as the fourth root of its weight. Where many tries did not
        help, no split of this budget will do.
        """
        if not all(self._fits(name, call) for name, call in calls.items()):
            found = self._changed()
            found._whole_noise = True
            return found
        wanted = () if isinstance(self.margins, UpTo) else self.margins
        limits = {self._in_order(one.of): one.within for one in wanted if one.within is not None}
        if not limits:
            return None
        known = self.following(tuple((n, call.law) for n, call in calls.items()))
        raised = dict(self._raised)
        for margin, within in limits.items():
            reach = float(known.errors[margin].half_width(within.confidence).max() * self._step)
            if reach <= within.error:
                continue
            if tries >= _MOST_TRIES and not self._listed_alone:
                # Between a wide table and those that are listed nothing is steady: try these alone.
                found = self._changed()
                found._listed_alone, found._raised = True, {}
                return found
            if tries >= 2 * _MOST_TRIES:
                said = {"statistic": self.name, "margin": _called(margin), "reach": reach}
                raise BudgetExceeded("releases.margins.not_within", **said, **within.model_dump())
            aim = 0.98 * within.error
            raised[margin] = raised.get(margin, 1.0) * (reach / aim) ** 5
        if raised == self._raised:
            return None
        found = self._changed()
        found._raised = raised
        return found

    def _fits(self, name: str, call: Priced) -> bool:
        """Return whether the noise of a call is wide enough for what its residual is priced at."""
        if name not in self._residual_calls:
            return True
        if not isinstance(call.law, DiscreteGaussian):
            return False
        squared = call.asked.part.l2_squared / (1 + SPARE)
        return fits(float(call.law.sigma), squared, self._sizes(self.margin_of[name]))

    def numbers(self, part: str, measured: Measured) -> list[int]:
        """Return a margin of what was measured."""
        found: Mapping[int, int] = measured[self.measure_name(self.part)]
        codes = np.array(list(found), dtype=np.int64)
        shape = tuple(len(self._lists[column]) for column in self.grouped_by)
        places = dict(zip(self.grouped_by, np.unravel_index(codes, shape), strict=True))
        return self.design.counted(self.margin_of[part], places, list(found.values()))

    @cached_property
    def margin_of(self) -> dict[str, Margin]:
        """The margin that each call is of."""
        margins = (*self.design.measurable, *self.design.wider)
        return self._residual_calls | {_called(margin): margin for margin in margins}

    @cached_property
    def _residual_calls(self) -> dict[str, Margin]:
        return {_residual(margin): margin for margin in self.design.measurable}

    # ------------------------------------------------------------------ answers

    @cached_property
    def following(self) -> Callable[[tuple[tuple[str, Any], ...]], Known]:
        """What follows from the noise alone; a release asks once, an audit a thousand times."""

        @lru_cache(maxsize=8)
        def known(noise: tuple[tuple[str, Any], ...]) -> Known:
            spread = {self.margin_of[name]: Spread.of(law) for name, law in noise}
            alone = any(name in self._residual_calls for name, _ in noise)
            design = replace(self.design, apart=True) if alone else self.design
            errors = design.errors(spread)
            return Known(design, spread, errors, design.digits(errors))

        return known

    def rows(self, noisy: Mapping[str, Noisy], interval: float) -> list[list[Answer]]:
        """Every cell of every margin: its estimate, standard error and interval."""
        known = self.following(tuple((n, one.law) for n, one in noisy.items()))
        tables = {self.margin_of[n]: _whole(one.values) for n, one in noisy.items()}
        combined = known.design.combined(tables, known.noise, known.digits)
        scale = 10**known.digits
        twins = None
        if self.twin is not None:
            values = {m: np.asarray(t / scale, float) for m, t in combined.items()}
            twins = twin_of(self.design, values, **self._public)
        unit, step = Fraction(1, 10**known.digits), self._step
        found: list[list[Answer]] = []
        for margin in self.design.published:
            errors = known.errors[margin]
            each = self.design.cells(margin) // len(errors.sd)
            widths = [_above(width, unit) * step for width in errors.half_width(interval)]
            errs = [rounded(float(sd * step)) for sd in errors.sd]
            for place, number in enumerate(combined[margin].tolist()):
                value, width = number * unit * step, widths[place // each]
                twin = None if twins is None else twins[margin][place] * step
                ends = (value - width, value + width)
                found.append([Answer((), value, *ends, errs[place // each], twin)])
        return found

    @property
    def _public(self) -> dict[str, Any]:
        """What is publicly known of the twin: its total, and empty cells."""
        total = None if self.twin is None else self.twin.total
        return {
            "total": None if total is None else round(total / self._step),
            "empty": self._empty,
        }

    def twin_ends(
        self, published: Sequence[str | None], calls: Mapping[str, Priced], interval: float
    ) -> list[tuple[Fraction, Fraction]] | None:
        """Return the intervals of its numbers `published`, simulated from them alone."""
        if self.twin is None or not simulations(self.design):
            return None
        step = self._step
        whole = [int(Fraction(number or 0) / step) for number in published]
        if max(whole, default=0) >= LARGEST:
            return None
        flat = self._by_margin(whole)
        numbers = {margin: np.array(own, dtype=np.int64) for margin, own in flat.items()}
        known = self.following(tuple((n, call.law) for n, call in calls.items()))
        widths = simulated(known.design, numbers, known.noise, interval, **self._public)
        return [
            (max(int(n) - int(w), 0) * step, (int(n) + int(w)) * step)
            for margin in self.design.published
            for n, w in zip(numbers[margin], widths[margin], strict=True)
        ]

    @cached_property
    def _empty(self) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
        """Which of the finest cells are known to be empty."""
        zeros = () if self.twin is None else self.twin.zeros
        if not zeros:
            return None
        columns = (*self._levels[-1:], *self.design.sizes)
        shape = [len(self._lists[column]) for column in columns]
        empty = np.zeros(shape, dtype=bool)
        for zero in zeros:
            where = []
            for column, keys in self._lists.items():
                wanted = zero.get(column, keys)
                wanted = (wanted,) if isinstance(wanted, str) else wanted
                if column in columns:
                    where.append((columns.index(column), [keys.index(key) for key in wanted]))
            at = [places for _, places in sorted(where)]
            empty[np.ix_(*at)] = True
        return empty.reshape(-1)

    def parts_of(self, among: Sequence[str]) -> list[Margin] | None:
        """Return the margins whose cells are parts of those of another; None if it is none."""
        for margin in self.design.published:
            if set(margin) == set(among):
                wide = set(self.design.wide(margin))
                return [m for m in self.design.published if wide < set(self.design.wide(m))]
        return None

    @property
    def sets(self) -> str:
        """The margins that are published, in words."""
        return "; ".join(_called(margin) for margin in self.design.published)

    def shares(
        self, given: Released, among: Sequence[str], interval: float
    ) -> tuple[KeySet, list[list[Answer]]]:
        """Return cells as shares of the cell of a margin that they lie in, with their intervals.

        Where nodes of a tree differ, both errors are within their own intervals, at half of the
        failure probability each.
        """
        shown, rows = self.shown(None), given.result.rows
        if not rows:  # no key was found
            return replace(shown, keys=()), []
        design, each = self.design, (1 + interval) / 2
        known = self.following(tuple((n, call.law) for n, call in given.calls.items()))
        values = self._by_margin([Fraction(cell[0].value or 0) / self._step for cell in rows])
        keys = self._by_margin(shown.keys)
        whole = next(m for m in design.published if set(m) == set(among))
        names, found = [], []
        for margin in self.parts_of(among) or ():
            at = design.inside(whole, margin)
            joint = None if design.tree.levels else known.part_of(margin, whole, interval)
            own, other = (self._widths(known.errors[m], m, each) for m in (margin, whole))
            for place, value in enumerate(values[margin][: given.most]):
                apart = Reach(np.zeros(1), own[place : place + 1], float(other[at[place]]))
                share = part(value, values[whole][at[place]], joint or apart)
                names.append(keys[margin][place])
                found.append([Answer((), *share)])
        return KeySet(shown.columns, tuple(names)), found

    def assumed_within(
        self, among: Sequence[str], size: Fraction, share: Fraction
    ) -> Iterator[Fraction]:
        """Yield a number for each cell: the size in a whole of shares, a share of it elsewhere."""
        for margin in self.design.published:
            value = size * (Fraction(1) if set(margin) == set(among) else share)
            yield from [value] * self.design.cells(margin)

    def within_cells(self, calls: Mapping[str, Priced], interval: float) -> Iterator[Fraction]:
        """Yield what the error of each cell stays within."""
        known = self.following(tuple((n, call.law) for n, call in calls.items()))
        for margin, errors in known.errors.items():
            yield from (Fraction(x) * self._step for x in self._widths(errors, margin, interval))

    def _by_margin(self, flat: Sequence[T]) -> dict[Margin, Sequence[T]]:
        """Return what is given for every cell, margin by margin."""
        found: dict[Margin, Sequence[T]] = {}
        for margin in self.design.published:
            size = self.design.cells(margin)
            found[margin], flat = flat[:size], flat[size:]
        return found

    def _widths(self, errors: Errors, margin: Margin, confidence: float) -> Any:
        """Return the half width of the interval of every cell of a margin."""
        width = errors.half_width(confidence)
        return np.repeat(width, self.design.cells(margin) // len(width))

    def accuracies(self, calls: Mapping[str, Priced], interval: float) -> list[dict[str, Any]]:
        """Return how far off the cells of each margin may be."""
        known = self.following(tuple((n, call.law) for n, call in calls.items()))
        step = float(self._step)
        return [
            {
                "statistic": f"{self.name}: {_called(margin)}",
                "cells": self.design.cells(margin),
                "half_width": float(errors.half_width(interval).max()) * step,
                "sd": float(errors.sd.max()) * step,
            }
            for margin, errors in known.errors.items()
        ]

    def explain(self) -> str:
        """Say what is counted or added up, and that it adds up."""
        if self.number is not None:
            low, high = self.bounds or (0.0, 0.0)
            sums = {"column": self.sum, "low": low, "high": high, "step": self.resolution}
            what = say("releases.explain.sum", **sums)
        elif self.counts_units:
            what = say("releases.explain.margins_units")
        else:
            what = say("releases.explain.count", what=self.count)
        if self.twin is not None:
            what = f"{what} {say('releases.explain.margins_twin')}"
        return say("releases.explain.margins", what=what, columns=", ".join(self.grouped_by))


@dataclass(frozen=True, slots=True)
class Known:
    """What the noise alone decides: how tables are combined, and how far off they may be."""

    design: Design
    noise: Mapping[Margin, Spread]
    errors: Mapping[Margin, Errors]
    digits: int
    _parts: dict[tuple[Margin, Margin, float], Reach] = field(default_factory=dict, compare=False)

    def part_of(self, margin: Margin, whole: Margin, confidence: float) -> Reach:
        """Return what the errors of cells and of the cells they lie in stay within, found once."""
        asked = (margin, whole, confidence)
        if asked not in self._parts:
            self._parts[asked] = self.design.part_of(margin, whole, self.noise, confidence)
        return self._parts[asked]


def _only(parent: str | dict[str, str]) -> str:
    """Return the column above another; nothing where several are named."""
    return parent if isinstance(parent, str) else next(iter(parent)) if len(parent) == 1 else ""


def _exact(shares: Mapping[Margin, float]) -> dict[Margin, Fraction]:
    """Return shares as fractions that add up to 1."""
    whole = {margin: round(share * 2**40) + 1 for margin, share in shares.items()}
    total = sum(whole.values())
    return {margin: Fraction(part, total) for margin, part in whole.items()}


def _called(margin: Margin) -> str:
    return ", ".join(margin) or ALL


def _residual(margin: Margin) -> str:
    return f"residual: {_called(margin)}"


def _whole(values: Sequence[int]) -> np.ndarray[Any, np.dtype[Any]]:
    """Return whole numbers as an array whose sums do not overflow."""
    small = max(map(abs, values), default=0) * len(values) < 2**62
    return np.array(values, dtype=np.int64 if small else object)


def _above(value: float, unit: Fraction) -> Fraction:
    """Return a multiple of a unit at or above a number."""
    return -(-Fraction(float(value)) // unit) * unit
