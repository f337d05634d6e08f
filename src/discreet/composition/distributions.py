"""From a privacy loss distribution to a privacy curve: those of dp-accounting, or a file of one.

A distribution puts masses on whole multiples of an interval h, and the rest at infinity:

    δ(ε) = P(∞) + Σ_{ih > ε} P(i) (1 − e^{ε−ih})

once for removing a person and once for adding one; the larger of the two holds (Koskela, Jälkö and
Honkela 2020; Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). Only a *pessimistic* one says
something: its losses were rounded so that δ is never below the truth. An optimistic one bounds δ
from below and is refused. Transforms may dip below the truth by rounding (a relative 1e-8 was
seen), so 1e-6 relative and 1e-12 absolute are added, and mass that is missing counts as infinite.

In a file it is one JSON object in the words of `create_from_rounded_probability`:

    {"value_discretization_interval": 1e-4, "pessimistic_estimate": true, "infinity_mass": 1e-10,
     "rounded_probability_mass_function": {"-1": 0.4, "1": 0.6}}

and, where adding differs from removing, `rounded_probability_mass_function_add` and
`infinity_mass_add`. Reading it needs no dp-accounting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import Adjacency, PrivacyCurve
from discreet.laws.checks import positive
from discreet.reading import json_values, text_of
from discreet.words import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RELATIVE, ABSOLUTE = 1e-6, 1e-12
_SLACK, _MOST = 1e-6, 1.1
_LARGEST_FILE = 256 * 2**20
_MASSES, _INFINITE = "rounded_probability_mass_function", "infinity_mass"
_WORDS = frozenset(
    {"value_discretization_interval", "pessimistic_estimate"}
    | {name + side for name in (_MASSES, _INFINITE) for side in ("", "_add")}
)


def curve_of_distribution(
    distribution: Any, *, adjacency: str = "add-remove", name: str | None = None
) -> PrivacyCurve:
    """Return the curve of a pessimistic distribution: one of dp-accounting, or its JSON values."""
    said = distribution if isinstance(distribution, Mapping) else distribution_values(distribution)
    unknown = sorted(str(word) for word in said if word not in _WORDS)
    if unknown:
        raise InputError("composition.distribution.unknown_word", word=unknown[0][:80])
    if said.get("pessimistic_estimate") is not True:
        raise GuaranteeError("composition.distribution.optimistic")
    interval = positive("value_discretization_interval", said.get("value_discretization_interval"))  # type: ignore[arg-type]
    sides = [_side(said, "", interval)]
    if any(word.endswith("_add") for word in said):
        sides.append(_side(said, "_add", interval))

    def delta_at(epsilon: float) -> float:
        found = max(_delta(*side, epsilon) for side in sides)
        return min(1.0, found * (1 + RELATIVE) + ABSOLUTE)

    called = name or say("composition.distribution.name")
    return PrivacyCurve(called, delta_at, adjacency=Adjacency.of(adjacency))


def read_distribution(path: str | Path, *, adjacency: str = "add-remove") -> PrivacyCurve:
    """Return the curve of the distribution in a JSON file."""
    where = Path(path)
    what = say("composition.distribution.what")
    said = json_values(text_of(where, what, most=_LARGEST_FILE), f"{what} {where}")
    if not isinstance(said, dict):
        raise InputError("composition.distribution.not_json", where=where)
    return curve_of_distribution(said, adjacency=adjacency, name=f"{what} {where.name}")


def distribution_values(distribution: Any) -> dict[str, Any]:
    """Return a distribution of dp-accounting as JSON-ready values, for a file."""
    # Nothing public tells whether a distribution was rounded up or down, nor what it holds.
    sides = {"": getattr(distribution, "_pmf_remove", None)}
    if not getattr(distribution, "_symmetric", True):
        sides["_add"] = getattr(distribution, "_pmf_add", None)
    said: dict[str, Any] = {}
    for side, law in sides.items():
        if law is None or not hasattr(law, "_pessimistic_estimate"):
            kind = type(distribution).__name__
            raise InputError("composition.distribution.not_one", kind=kind)
        rounded_up = bool(law._pessimistic_estimate) and said.get("pessimistic_estimate", True)
        said["pessimistic_estimate"] = rounded_up
        interval = said.setdefault("value_discretization_interval", float(law._discretization))
        if interval != float(law._discretization):
            raise InputError("composition.distribution.intervals_differ")
        said[_MASSES + side] = _masses(law)
        said[_INFINITE + side] = float(law._infinity_mass)
    return said


def _masses(law: Any) -> dict[str, float]:
    sparse = getattr(law, "_loss_probs", None)
    if sparse is None:
        first = int(law._lower_loss)
        sparse = {first + i: mass for i, mass in enumerate(law._probs.tolist())}
    return {str(place): float(mass) for place, mass in sorted(sparse.items())}


def _side(
    said: Mapping[str, Any], side: str, interval: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the losses, rising, their masses, and the mass at infinity."""
    import numpy as np

    masses, infinite = said.get(_MASSES + side), said.get(_INFINITE + side)
    if not isinstance(masses, Mapping):
        raise InputError("composition.distribution.not_masses", name=_MASSES + side)
    beyond = _probability(_INFINITE + side, infinite)
    places = sorted((_place(key), _probability("a mass", mass)) for key, mass in masses.items())
    # A loss is taken a hair upward, where δ is larger.
    losses = np.nextafter(np.array([place * interval for place, _ in places], dtype=float), np.inf)
    weights = np.array([mass for _, mass in places], dtype=float)
    total = math.fsum(weights.tolist()) + beyond
    # Composed many times, pessimistic rounding leaves a little more than 1, which is safe.
    if not 1 - _SLACK <= total <= _MOST:
        raise InputError("composition.distribution.not_one_in_all", total=total)
    return losses, weights, beyond + max(0.0, 1 - total)


def _place(key: object) -> int:
    text = str(key)
    if len(text) > 18 or not text.removeprefix("-").isdecimal() or not text.isascii():
        raise InputError("composition.distribution.not_a_place", text=text[:40])
    return int(text)


def _probability(name: str, value: object) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # A transform leaves values of -1e-17 where nothing is.
    if not number or math.isnan(value) or not -1e-9 <= value <= 1 + 1e-9:  # type: ignore[arg-type,operator]
        raise InputError("composition.distribution.not_a_probability", name=name)
    return max(0.0, float(value))  # type: ignore[arg-type]


def _delta(
    losses: NDArray[np.float64], masses: NDArray[np.float64], infinite: float, epsilon: float
) -> float:
    import numpy as np

    above = losses > epsilon
    return infinite + float(-np.expm1(epsilon - losses[above]) @ masses[above])
