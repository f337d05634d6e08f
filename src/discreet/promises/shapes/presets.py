"""Tolerances with a name: where to start from.

Each is a value that can be looked at, changed and written to a file like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import ToleranceError
from discreet.promises.box import Box, priors
from discreet.promises.shapes.difference import Difference
from discreet.promises.shapes.posterior import Posterior, PosteriorUnlessRatio
from discreet.promises.shapes.ratio import Ratio
from discreet.promises.tolerance import Key, Tolerance
from discreet.reading import like
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Preset(Tolerance):
    """A named tolerance, and where it comes from; the key stands for the tolerance itself."""

    keys = (Key("preset", str),)
    own_priors = True

    name: str
    tolerance: Tolerance

    @property
    def about(self) -> str:
        """What it promises and where it comes from."""
        return say(f"promises.preset.{self.name}")

    @classmethod
    def from_keys(cls, given: Mapping[str, Any], box: Box, folder: Path | None) -> Tolerance:
        """Return the tolerance that the name stands for."""
        return preset(str(given["preset"]))


PRESETS: dict[str, Preset] = {
    name: Preset(name, tolerance)
    for name, tolerance in {
        "half-to-three-quarters": Posterior(0.75, priors(p=0.5, q=1)),
        "threefold": Ratio(3),
        "kr-agency-averse": PosteriorUnlessRatio(0.25, 1.5, priors(q=1)),
        "kr-agency-between": PosteriorUnlessRatio(0.25, 3, priors(q=1)),
        "kr-agency-useful": PosteriorUnlessRatio(0.25, 6, priors(q=1)),
        "kr-survey-averse": PosteriorUnlessRatio(0.025, 3, priors(p=0.05)),
        "kr-survey-between": PosteriorUnlessRatio(0.15, 3, priors(p=0.05)),
        "kr-survey-useful": PosteriorUnlessRatio(0.3, 3, priors(p=0.05)),
        "kr-both": PosteriorUnlessRatio(0.25, 3),
        "ksz-difference": Difference(0.2, priors(q=1)),
    }.items()
}


def preset(name: str) -> Tolerance:
    """Return the tolerance of that name, or say which names there are."""
    if name not in PRESETS:
        said = {"presets": ", ".join(PRESETS), "like": like(name, PRESETS)}
        raise ToleranceError("promises.no_preset", name=name, **said)
    return PRESETS[name].tolerance
