"""From a spec to a plan: what will be measured, what it costs, how accurate it will be.

Nothing here reads a row. The plan is checked against the schema of the source, priced, and shown by
`--dry-run`; the release itself only carries it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import DataError, SpecError
from discreet.guarantees import PureDP
from discreet.ledger import Account
from discreet.noise.calibration import WIDEST
from discreet.promises import Promise
from discreet.releases.allowance import allowance
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Column, KeySet, Labels
from discreet.releases.keys import cells_of, refuse_unit_column
from discreet.releases.pricing import Asked, Priced, Pricing, Threshold, price, share
from discreet.releases.questions import Discover
from discreet.releases.spec import Spec
from discreet.releases.statistic import Compiled, Noisy, Part
from discreet.releases.statistics import compiled

__all__ = ["KEYS", "Plan", "Planned", "plan_of"]

KEYS = "keys"
_RESERVED = ("statistic", "value", "interval_low", "interval_high")
_SIZES = (10, 100, 1000)


@dataclass(frozen=True, slots=True)
class Planned:
    """One statistic: how it is measured, over which cells (None for one, or still to be found)."""

    statistic: Compiled
    contribution: Contribution
    by: tuple[str, ...]
    cells: KeySet | None
    found_by: str | None

    @property
    def name(self) -> str:
        """Its name in the table."""
        return str(self.statistic.entry.name)


@dataclass(frozen=True, slots=True)
class Plan:
    """A release, worked out and priced, before a row is read."""

    spec: Spec
    statistics: tuple[Planned, ...]
    pricing: Pricing
    promise: Promise | None

    def calls(self, name: str) -> Mapping[str, Priced]:
        """Return the calls of one statistic, by part."""
        return {call.asked.part.name: call for call in self.pricing.of(name)}

    @property
    def filter(self) -> str:
        """The rule of adding up that an account needs to take these charges."""
        charges = self.pricing.charges
        if any(charge.kind == "concentrated" for charge in charges):
            return "zcdp"
        return "pure" if all(isinstance(charge, PureDP) for charge in charges) else "basic"

    @property
    def confidences(self) -> Mapping[str, float]:
        """The confidence of each statistic's calls: a union bound over them gives the interval."""
        miss = 1 - self.spec.interval
        found = {}
        for planned in self.statistics:
            numbers = [c for c in self.pricing.of(planned.name) if c.asked.threshold is None]
            found[planned.name] = 1 - miss / max(len(numbers), 1)
        return found

    def columns(self) -> tuple[str, ...]:
        """The group columns of the table, in order of first mention."""
        names: list[str] = []
        for planned in self.statistics:
            for name in (*planned.by, *planned.statistic.extra):
                if name not in names:
                    names.append(name)
        return tuple(names)

    def accuracy(self) -> list[dict[str, Any]]:
        """Return how accurate each statistic will be: exactly, or for assumed group sizes."""
        return [self._accuracy(planned) for planned in self.statistics]

    def _accuracy(self, planned: Planned) -> dict[str, Any]:
        calls = {n: c for n, c in self.calls(planned.name).items() if n != KEYS}
        said: dict[str, Any] = {"statistic": planned.name, "interval": self.spec.interval}
        only = next(iter(calls.values()))
        if only.asked.part.form == "choice":
            return said | self._choice_accuracy(planned, only)
        if planned.cells is not None:
            said["cells"] = len(planned.cells)
        if len(calls) == 1 and not hasattr(planned.statistic.entry, "randomized"):
            step = float(only.asked.part.resolution)
            width = only.half_width(self.spec.interval) * step
            return said | {"half_width": width, "sd": only.sd * step}
        confidence = self.confidences[planned.name]
        sizes = []
        for size in _SIZES:
            assumed = planned.statistic.assumed(size)
            noisy = {
                name: Noisy(assumed[name], call.half_width(confidence), call.sd)
                for name, call in calls.items()
            }
            answer = planned.statistic.answers(noisy, self.spec.interval)[0][0]
            if answer.high is not None and answer.low is not None:
                sizes.append({"rows": size, "half_width": float(answer.high - answer.low) / 2})
        return said | {"assumed": sizes}

    def _choice_accuracy(self, planned: Planned, call: Priced) -> dict[str, Any]:
        field = planned.statistic.measures()[0].field
        candidates = 1 if field is None else field.size
        step = (
            1.0
            if hasattr(planned.statistic.entry, "quantile")
            else float(call.asked.part.resolution)
        )
        off = call.score_within(candidates, self.spec.interval) * step
        if not hasattr(planned.statistic.entry, "quantile"):
            return {"score_within": off, "candidates": candidates}
        # A score counts b times a row, so the share of rows by which the rank may be off is
        # off/(b·n) in a group of n.
        share = Fraction(repr(planned.statistic.entry.at)).denominator
        sizes = [{"rows": n, "rank_share": min(1.0, off / share / n)} for n in _SIZES]
        return {"candidates": candidates, "assumed": sizes}

    def to_dict(self) -> dict[str, Any]:
        """Return cost, sensitivities and accuracy as JSON-ready values."""
        return {
            "calls": [call.to_dict() for call in self.pricing.calls],
            "accuracy": self.accuracy(),
            "mechanism": self.pricing.why,
            "contributions": {p.name: p.contribution.to_dict() for p in self.statistics},
        }


def plan_of(spec: Spec, columns: Mapping[str, Column], account: Account | None = None) -> Plan:
    """Work out a spec against the columns that there are, and price it for an account."""
    _check_columns(spec, columns)
    allowed = allowance(spec, account)
    budget = allowed.budget
    if spec.series is not None:
        budget = share(budget, spec.series.releases)
    statistics, asked = _planned(spec)
    pricing = price(asked, budget, spec.mechanism)
    _check_thresholds(spec, pricing)
    plan = Plan(spec, statistics, pricing, allowed.promise)
    _check_storable(plan)
    return plan


def _check_storable(plan: Plan) -> None:
    """Refuse what could not be drawn or stored: found after the charge, it would be for nothing."""
    for call in plan.pricing.calls:
        if call.asked.part.form == "numbers" and call.scale > WIDEST:
            raise SpecError(
                f"statistic {call.asked.statistic!r}: its noise would be wider than 2^52 multiples "
                "of the resolution; choose a coarser one, or a larger budget."
            )
    try:
        storable = all(map(math.isfinite, _floats(plan.to_dict())))
    except OverflowError:
        storable = False
    if not storable:
        raise SpecError(
            "the results would have numbers beyond 1e308; choose smaller bounds, a finer "
            "resolution or a larger budget."
        )


def _floats(said: Any) -> Iterator[float]:
    """Yield every float of JSON-ready values."""
    if isinstance(said, float):
        yield said
    elif isinstance(said, dict | list):
        for value in said.values() if isinstance(said, dict) else said:
            yield from _floats(value)


def _check_thresholds(spec: Spec, pricing: Pricing) -> None:
    """Refuse a δ of keys beyond the budget's, or too large for the noise to cover.

    A key that only one unit has is published with probability at most δ/G. Where it is not, the
    release is likelier without the unit, by 1/(1−δ/G) at most; one step of the noise, e^{1/b}, must
    cover that.
    """
    keys = [call for call in pricing.calls if call.asked.threshold is not None]
    for call in keys:
        found = call.asked.threshold
        if found is not None and found.delta / found.keys > -math.expm1(-1 / call.scale):
            raise SpecError(
                f"statistic {call.asked.statistic!r}: the delta of the keys, {found.delta:g}, is "
                "too large for their share of the budget; ask for a smaller one."
            )
    given = None if spec.budget is None else spec.budget.delta
    total = sum(call.asked.threshold.delta for call in keys if call.asked.threshold)
    if given is not None and total > given:
        raise SpecError(
            f"the keys to be found cost a delta of {total:g}, and the budget has {given:g}; ask "
            "for less, or give more."
        )


def _planned(spec: Spec) -> tuple[tuple[Planned, ...], list[Asked]]:
    statistics: list[Planned] = []
    asked: list[Asked] = []
    payer: dict[tuple[str, ...], str] = {}
    for entry in spec.named():
        statistic = compiled(entry)
        by = tuple(getattr(entry, "by", ()))
        refuse_unit_column(spec, by, f"statistic {entry.name!r}")
        protect = spec.protect
        contribution = Contribution.of(
            protect.rows,
            protect.groups,
            protect.rows_per_group,
            adjacency=protect.adjacency,
            grouped=bool(by),
        )
        keys = getattr(entry, "keys", {})
        found_by = cells = None
        if isinstance(keys, Discover):
            found_by = payer.setdefault(by, str(entry.name))
            if found_by == entry.name:
                asked.append(_key_call(str(entry.name), keys, contribution))
        else:
            cells = cells_of(spec, by, keys)
        if statistic.counts_units:
            contribution = contribution.once_per_group()
        parts = statistic.parts(contribution)
        if entry.within is not None and (len(parts) > 1 or parts[0].form == "choice"):
            raise SpecError(
                f"statistic {entry.name!r}: within is for counts, sums and histograms, whose error "
                "is known beforehand; give this one a weight."
            )
        weight = Fraction(repr(float(entry.weight or 1.0))) / len(parts)
        asked += [Asked(str(entry.name), part, weight, entry.within) for part in parts]
        statistics.append(Planned(statistic, contribution, by, cells, found_by))
    return tuple(statistics), asked


def _key_call(name: str, keys: Discover, contribution: Contribution) -> Asked:
    once = contribution.once_per_group()
    part = Part(KEYS, "numbers", Fraction(once.l1()), Fraction(once.l2_squared()))
    found = Threshold(keys.discover.delta, once.groups)
    return Asked(name, part, Fraction(repr(keys.discover.weight)), None, found)


def _check_columns(spec: Spec, columns: Mapping[str, Column]) -> None:
    """Refuse a spec that names columns which are not there, or of a kind that cannot be used."""
    for column in spec.protect.column:
        _there(column, columns, "protect")
    for entry in spec.named():
        for column in getattr(entry, "by", ()):
            _there(column, columns, str(entry.name))
            if columns[column] == "other":
                raise DataError(
                    f"column {column!r} holds neither text, numbers, dates nor truth values, and "
                    "cannot make groups."
                )
        statistic = compiled(entry)
        for column in (*getattr(entry, "by", ()), *statistic.extra):
            if column in _RESERVED:
                raise SpecError(
                    f"column {column!r} is also the name of a column of the results; rename it."
                )
        for measure in statistic.measures():
            if measure.field is None:
                continue
            column = measure.field.column
            _there(column, columns, str(entry.name))
            if not isinstance(measure.field, Labels) and columns[column] in ("moment", "other"):
                raise DataError(
                    f"statistic {entry.name!r}: column {column!r} does not hold numbers; choose "
                    "another, or turn it into numbers first."
                )


def _there(column: str, columns: Mapping[str, Column], whose: str) -> None:
    if column not in columns:
        raise DataError(
            f"{whose}: the source has no column {column!r}; check its name in the spec."
        )
