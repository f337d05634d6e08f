"""Many releases of the same data: a plan, its split, its horizon, its accuracy before spending."""

from discreet.series.horizons import (
    DeltaAdvice,
    Horizon,
    Step,
    advice_on_delta,
    horizon,
    releases_left,
)
from discreet.series.planning import Plan, Split, plan

__all__ = [
    "DeltaAdvice",
    "Horizon",
    "Plan",
    "Split",
    "Step",
    "advice_on_delta",
    "horizon",
    "plan",
    "releases_left",
]
