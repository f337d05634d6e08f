"""Many releases of the same data: a plan, its split, its horizon, its accuracy before spending."""

from discreet.series.caps import DeltaAdvice, advice_on_delta, releases_left
from discreet.series.each_release import Split
from discreet.series.horizons import Horizon, Step, horizon
from discreet.series.planning import Plan, plan

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
