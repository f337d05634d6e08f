"""A release from a secret sample of the units, drawn by the release itself.

Each unit is drawn with a chance γ, all of its rows or none, and the statistics are those of the
sample. What the release spends on the sample, ε₀, costs everyone of whom it is not known whether
they were drawn ε = log(1 + γ(e^ε₀ − 1)), which is what is charged (`composition.sampling`). The
budget of a spec is the ε that is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from discreet.composition.sampling import amplified, before_sampling
from discreet.errors import SpecError
from discreet.guarantees import Guarantee, PureDP
from discreet.releases.models import Closed
from discreet.releases.pricing import Asked, Pricing, price
from discreet.rounding import number
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.spec import Spec

__all__ = ["Sample"]


class Sample(Closed):
    """Make the release from a secret sample of the units."""

    rate: float = Field(gt=0, lt=1, description="The chance of each unit to be drawn.")

    def priced(self, asked: Sequence[Asked], budget: Guarantee, spec: Spec) -> Pricing:
        """Return the price of calls on the sample, charged as what it costs the whole frame."""
        if spec.protect.adjacency != "add-remove":
            raise SpecError("releases.sample.adjacency", adjacency=spec.protect.adjacency)
        if not spec.protect.column:
            raise SpecError("releases.sample.unit")
        if "sampled" in (spec.promise_keys or {}):
            raise SpecError("releases.sample.twice")
        if any(call.threshold is not None for call in asked):
            raise SpecError("releases.sample.discover")
        if not isinstance(budget, PureDP):
            raise SpecError("releases.sample.pure", budget=budget)
        inside = price(asked, before_sampling(budget, self.rate), spec.mechanism)
        (spent,) = inside.charges
        return replace(inside, charges=(amplified(spent, self.rate),))

    def told(self, pricing: Pricing) -> str:
        """Say what is charged, and what it is for someone who is known to have been drawn."""
        inside = sum(call.epsilon or 0.0 for call in pricing.calls)
        return say("releases.sample.told", rate=self.rate, epsilon=number(inside, "up"))
