"""What the data holder tolerates: risk profiles r*(p, q)."""

from discreet.promises.box import Box
from discreet.promises.mapping import Promise, from_mapping, from_yaml, promise_of, to_yaml
from discreet.promises.presets import PRESETS, preset
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
