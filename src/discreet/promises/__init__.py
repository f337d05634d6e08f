"""What is promised: how much may be learned, at which priors, how surely, and of whom."""

from discreet.promises.box import EVERY_PRIOR, Box, priors
from discreet.promises.keys import delta_in, promise_in, tolerance_in
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
    Table,
)
from discreet.promises.shapes.presets import PRESETS, preset
from discreet.promises.tolerance import Key, Tolerance, Wording, shape
from discreet.promises.unit import Unit

__all__ = [
    "CONFIDENCE",
    "EVERY_OUTPUT",
    "EVERY_PRIOR",
    "PRESETS",
    "AllOf",
    "Box",
    "Counterfactual",
    "Difference",
    "Formula",
    "Function",
    "Groups",
    "Key",
    "Posterior",
    "PosteriorUnlessRatio",
    "Promise",
    "Ratio",
    "Surety",
    "Table",
    "Tolerance",
    "Unit",
    "Wording",
    "delta_in",
    "preset",
    "priors",
    "promise_in",
    "promised",
    "shape",
    "tolerance_in",
]
