"""What is promised: how much may be learned, at which priors, how surely, and of whom."""

from discreet.promises.box import Box
from discreet.promises.keys import delta_in, promise_in, tolerance_in
from discreet.promises.presets import PRESETS, preset
from discreet.promises.promise import CONFIDENCE, EVERY_OUTPUT, Promise, Surety, promised
from discreet.promises.shapes import (
    AllOf,
    Counterfactual,
    Difference,
    Formula,
    Function,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Tolerance,
    priors,
)
from discreet.promises.table import Table
from discreet.promises.unit import Unit

__all__ = [
    "CONFIDENCE",
    "EVERY_OUTPUT",
    "PRESETS",
    "AllOf",
    "Box",
    "Counterfactual",
    "Difference",
    "Formula",
    "Function",
    "Groups",
    "Posterior",
    "PosteriorUnlessRatio",
    "Promise",
    "Ratio",
    "Surety",
    "Table",
    "Tolerance",
    "Unit",
    "delta_in",
    "preset",
    "priors",
    "promise_in",
    "promised",
    "tolerance_in",
]
