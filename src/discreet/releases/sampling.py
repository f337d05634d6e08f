"""A release from a secret sample of the units, drawn by the release itself.

All rows of a unit are drawn or none, and the statistics are those of the sample. Two designs:

- `rate`: each unit by itself with a chance γ (Poisson), under add-remove;
- `units` of `of`: a fixed number m of n units, under replace, where n is public. γ = m/n. The frame
  has n places, those without a unit being empty, so that each unit is drawn with the chance m/n
  however many there are; with more than n units the chance is smaller.

What the release spends on the sample, (ε₀, δ₀), costs everyone of whom it is not known whether they
were drawn ε = log(1 + γ(e^ε₀ − 1)) and γδ₀, which is what is charged (`composition.sampling`;
Balle, Barthe and Gaboardi 2018, Theorems 8 and 9). The budget of a spec is what is charged.
Gaussian noise is amplified at that point of its curve: ρ is such that its δ at ε₀ is δ₀. A sample
has no ρ of its own, so a budget in ρ is spent as the pure ε = √2ρ, which an account in ρ counts as
ε²/2 = ρ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from discreet.composition.sampling import amplified, before_sampling
from discreet.errors import DataError, SpecError
from discreet.guarantees import ZCDP, ApproxDP, Guarantee, PureDP, stated
from discreet.releases.allowance import as_pure
from discreet.releases.engines.base import TEXTS, Column, Engine
from discreet.releases.models import Closed
from discreet.releases.pricing import Asked, Pricing, price
from discreet.rounding import FIGURES, number, up
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.spec import Spec


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

    def check(self, unit: Sequence[str], columns: Mapping[str, Column]) -> None:
        """Refuse units whose names cannot be drawn from."""
        for column in unit:
            if columns[column] not in ("integer", *TEXTS):
                raise DataError("engines.sampled_unit", column=column)

    def priced(self, asked: Sequence[Asked], budget: Guarantee, spec: Spec) -> Pricing:
        """Return the price of calls on the sample, charged as what it costs the whole frame."""
        design = "rate" if self.rate is not None else "units"
        needs = {"rate": "add-remove", "units": "replace"}[design]
        if spec.protect.adjacency != needs:
            raise SpecError(
                "releases.sample.adjacency", design=design, needs=needs, has=spec.protect.adjacency
            )
        if not spec.protect.column:
            raise SpecError("releases.sample.unit")
        if "sampled" in (spec.promise_keys or {}):
            raise SpecError("releases.sample.twice")
        rate = up(float(self.chance))
        if isinstance(budget, ZCDP):
            budget = PureDP(as_pure(budget), adjacency=budget.adjacency)
        if not isinstance(budget, PureDP | ApproxDP):
            raise SpecError("releases.price.no_currency", guarantee=budget)
        inside = price(asked, before_sampling(budget, rate), spec.mechanism)
        (spent,) = inside.charges
        return replace(inside, charges=(amplified(spent, rate),))


def told(sample: Mapping[str, Any], spent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to say of a sample: its design, its rate, and what is spent on those drawn.

    `sample` is as the spec has it, `spent` what was charged.
    """
    design = Sample.model_validate(sample)
    where = "add-remove" if design.rate is not None else "replace"
    charge = stated(spent["epsilon"], spent.get("delta"), adjacency=where)
    inside = before_sampling(charge, up(float(design.chance)))  # type: ignore[arg-type]
    budget = f"ε = {number(inside.epsilon, 'up', FIGURES)}"
    if isinstance(inside, ApproxDP):
        budget += f", δ = {number(inside.delta, 'up', FIGURES)}"
    said = (
        say("releases.sample.poisson", rate=design.rate)
        if design.rate is not None
        else say("releases.sample.fixed", units=design.units, of=design.of)
    )
    return {"design": said, "budget": budget, "inside": inside, "charge": charge}


def drawn(engine: Engine, spec: Spec) -> Engine:
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
