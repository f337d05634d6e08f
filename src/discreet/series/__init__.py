"""Many releases of the same data: a plan, its split, its horizon, its accuracy before spending."""

from discreet.series.delta import DeltaAdvice, advice_on_delta
from discreet.series.horizons import Horizon, Step, horizon
from discreet.series.planning import Plan, plan
from discreet.series.releases_left import releases_left
from discreet.series.splits import Split

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
