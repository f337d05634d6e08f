"""What the data holder tolerates: risk profiles r*(p, q)."""

from discreet.tolerances.box import Box
from discreet.tolerances.mapping import Promise, from_mapping, from_yaml, promise_of, to_yaml
from discreet.tolerances.presets import PRESETS, preset
from discreet.tolerances.shapes import (
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
from discreet.tolerances.table import Table

__all__ = [
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
    "Table",
    "Tolerance",
    "from_mapping",
    "from_yaml",
    "preset",
    "priors",
    "promise_of",
    "to_yaml",
]
