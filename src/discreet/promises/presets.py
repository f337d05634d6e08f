"""Tolerances with a name: where to start from.

Each is a value that can be looked at, changed and written to a file like any other.
"""

from __future__ import annotations

from typing import NamedTuple

from discreet.errors import ToleranceError
from discreet.promises.shapes import (
    Difference,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Tolerance,
    priors,
)

__all__ = ["PRESETS", "Preset", "preset"]


class Preset(NamedTuple):
    """A named tolerance and where it comes from."""

    tolerance: Tolerance
    about: str


PRESETS: dict[str, Preset] = {
    "half-to-three-quarters": Preset(
        Posterior(0.75, priors(p=0.5, q=1)),
        "From 50 % to at most 75 %: the coin-flip survey of randomized response, ε = log 3.",
    ),
    "threefold": Preset(
        Ratio(3), "Nobody's belief grows more than threefold (K&R's constant profile)."
    ),
    "kr-agency-averse": Preset(
        PosteriorUnlessRatio(0.25, 1.5, priors(q=1)),
        "K&R Example 1, risk-averse agency: at most 25 % sure, unless 1.5-fold.",
    ),
    "kr-agency-between": Preset(
        PosteriorUnlessRatio(0.25, 3, priors(q=1)),
        "K&R Example 1, agency in between: at most 25 % sure, unless threefold.",
    ),
    "kr-agency-useful": Preset(
        PosteriorUnlessRatio(0.25, 6, priors(q=1)),
        "K&R Example 1, utility-seeking agency: at most 25 % sure, unless sixfold.",
    ),
    "kr-survey-averse": Preset(
        PosteriorUnlessRatio(0.025, 3, priors(p=0.05)),
        "K&R Example 2, a 5 % survey, risk-averse: at most 2.5 % sure, unless threefold.",
    ),
    "kr-survey-between": Preset(
        PosteriorUnlessRatio(0.15, 3, priors(p=0.05)),
        "K&R Example 2, a 5 % survey: at most 15 % sure, unless threefold.",
    ),
    "kr-survey-useful": Preset(
        PosteriorUnlessRatio(0.3, 3, priors(p=0.05)),
        "K&R Example 2, a 5 % survey, utility-seeking: at most 30 % sure, unless threefold.",
    ),
    "kr-both": Preset(
        PosteriorUnlessRatio(0.25, 3),
        "K&R (33): membership and value both open, at most 25 % sure, unless threefold.",
    ),
    "ksz-difference": Preset(
        Difference(0.2, priors(q=1)),
        "KSZ Example 4.2: a strong adversary's belief grows by at most 20 percentage points.",
    ),
}


def preset(name: str) -> Tolerance:
    """Return the tolerance of that name, or say which names there are."""
    if name not in PRESETS:
        raise ToleranceError(f"there is no preset {name!r}; there are: {', '.join(PRESETS)}.")
    return PRESETS[name].tolerance
