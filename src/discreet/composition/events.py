"""From the `DpEvent`s of dp-accounting to a privacy curve.

An event says what happened, as a tree: Gaussian or (discrete) Laplace noise, randomized response,
zCDP, Poisson sampling before noise (DP-SGD), repetition and composition. Sensitivities are 1 there.

- Without sampling our own loss distributions do the work.
- Poisson sampling in front of Gaussian or Laplace noise has a different curve for adding and for
  removing a person; dp-accounting's privacy loss distributions cover both, rounded pessimistically.
  Their transforms may dip below the truth by rounding (a relative 1e-8 was seen), so 1e-6 relative
  and 1e-12 absolute are added to δ.

Repetition is applied to each loss distribution itself: `PLDAccountant` ignores the count for
randomized response. Anything else is refused.

In a file an event is one JSON object: its class name under `event`, its fields beside it, as
`{"event": "SelfComposedDpEvent", "count": 12, "event_": {"event": "GaussianDpEvent", …}}`; a field
that is itself called `event` is written `event_`.

From a privacy loss distribution to a privacy curve: those of dp-accounting, or a file of one.

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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.composition.concentrated import ConcentratedLoss
from discreet.composition.totals import loss_of
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import Adjacency, PrivacyCurve
from discreet.laws import Gaussian, Geometric, Laplace, Mechanism, RandomizedResponse
from discreet.laws.checks import positive, whole
from discreet.reading import json_values, text_of
from discreet.rounding import up
from discreet.words import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DEPTH = 50


def _library() -> Any:
    try:
        from dp_accounting import dp_event
    except ImportError:
        raise InputError("composition.events.needs_library") from None
    return dp_event


def curve_of_event(event: Any) -> PrivacyCurve:
    """Return the privacy curve of a dp-accounting event; refuse what no curve is known for."""
    library = _library()
    if not isinstance(event, library.DpEvent):
        raise InputError("composition.events.not_an_event", kind=type(event).__name__)
    leaves = list(_leaves(event, 1, library))
    if any(isinstance(leaf, library.NonPrivateDpEvent) for leaf, _ in leaves):
        raise GuaranteeError("composition.events.non_private")
    if not leaves:
        return PrivacyCurve(say("composition.events.nothing"), lambda epsilon: 0.0)
    if any(isinstance(leaf, library.PoissonSampledDpEvent) for leaf, _ in leaves):
        return _sampled(leaves, library)
    rhos: list[float] = []
    plan: list[tuple[Mechanism, int]] = []
    for leaf, times in leaves:
        if isinstance(leaf, library.ZCDpEvent):
            if leaf.xi:
                raise GuaranteeError("composition.events.xi", event=leaf)
            rhos.append(times * positive("rho", leaf.rho))
        else:
            plan.append((_mechanism(leaf, library), times))
    if not rhos:
        return loss_of(*plan).curve()
    if any(m.guarantee().adjacency is Adjacency.LOCAL for m, _ in plan):
        raise GuaranteeError("composition.events.mixed_with_local")
    # ρ among others: everything is read as zCDP, a pure ε as ε²/2.
    rho = math.fsum([*rhos, *(k * m.zcdp for m, k in plan)])
    return ConcentratedLoss(up(rho, 8), name=f"{rho:g}-zCDP").curve()


def read_event(path: str | Path) -> PrivacyCurve:
    """Return the curve of the event in a JSON file."""
    where = Path(path)
    what = say("composition.events.what")
    return curve_of_event(event_of(json_values(text_of(where, what), f"{what} {where}")))


def event_of(values: Any, depth: int = 0) -> Any:
    """Return the event of dp-accounting that JSON values describe."""
    library = _library()
    name = values.get("event") if isinstance(values, Mapping) else None
    kind = getattr(library, name, None) if isinstance(name, str) and name.isidentifier() else None
    if not isinstance(kind, type) or not issubclass(kind, library.DpEvent) or depth > _DEPTH:
        raise InputError("composition.events.not_json", depth=_DEPTH)

    def inner(value: Any) -> Any:
        if isinstance(value, list):
            return [inner(part) for part in value]
        return event_of(value, depth + 1) if isinstance(value, Mapping) else value

    fields = {str(key): inner(value) for key, value in values.items() if key != "event"}
    if "event_" in fields:
        fields["event"] = fields.pop("event_")
    try:
        if not all(map(_fits, fields.keys(), fields.values())):
            raise TypeError
        return kind(**fields)
    except (TypeError, ValueError, ArithmeticError):
        raise InputError("composition.events.fields", name=name) from None


def _fits(field: str, value: Any) -> bool:
    """Whether a field holds what its name says: an event, a list, or else a finite number."""
    events = _library().DpEvent
    if field == "event":
        return isinstance(value, events)
    if isinstance(value, list):
        return all(isinstance(part, (events, int, float)) for part in value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and abs(value) < 1e15 and field != "events"


def event_values(event: Any) -> dict[str, Any]:
    """Return an event as JSON-ready values, for a file."""
    library = _library()
    if not isinstance(event, library.DpEvent):
        raise InputError("composition.events.not_an_event", kind=type(event).__name__)

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [plain(part) for part in value]
        return event_values(value) if isinstance(value, library.DpEvent) else value

    fields = [field.name for field in type(event).__attrs_attrs__]
    values = {("event_" if n == "event" else n): plain(getattr(event, n)) for n in fields}
    return {"event": type(event).__name__, **values}


def _leaves(event: Any, times: int, library: Any) -> Iterator[tuple[Any, int]]:
    """Each event without structure, with how often it happens."""
    if isinstance(event, library.NoOpDpEvent):
        return
    if isinstance(event, library.SelfComposedDpEvent):
        if event.count:
            yield from _leaves(event.event, times * whole("count", event.count, low=0), library)
    elif isinstance(event, library.ComposedDpEvent):
        for part in event.events:
            yield from _leaves(part, times, library)
    else:
        yield event, times


def _mechanism(leaf: Any, library: Any) -> Mechanism:
    if isinstance(leaf, library.GaussianDpEvent):
        return Gaussian(positive("noise_multiplier", leaf.noise_multiplier))
    if isinstance(leaf, library.LaplaceDpEvent):
        return Laplace(1 / positive("noise_multiplier", leaf.noise_multiplier))
    if isinstance(leaf, library.DiscreteLaplaceDpEvent):
        shift = whole("sensitivity", leaf.sensitivity)
        return Geometric(positive("noise_parameter", leaf.noise_parameter) * shift, shift)
    if isinstance(leaf, library.RandomizedResponseDpEvent):
        # With probability `noise_parameter` the answer is drawn evenly from all buckets.
        other = leaf.noise_parameter / leaf.num_buckets
        if not 0 < other < 1 / leaf.num_buckets:
            name, value = "noise_parameter", leaf.noise_parameter
            raise InputError("composition.rate_outside", name=name, value=value)
        epsilon = math.log((1 - leaf.noise_parameter + other) / other)
        return RandomizedResponse(up(epsilon), leaf.num_buckets)
    raise GuaranteeError("composition.events.not_understood", kind=type(leaf).__name__)


def _sampled(leaves: list[tuple[Any, int]], library: Any) -> PrivacyCurve:
    from dp_accounting.pld import privacy_loss_distribution as pld

    total: Any = None
    for leaf, times in leaves:
        share, noise = 1.0, leaf
        if isinstance(leaf, library.PoissonSampledDpEvent):
            share, inner = leaf.sampling_probability, list(_leaves(leaf.event, 1, library))
            if not 0 < share <= 1:
                name = "sampling_probability"
                raise InputError("composition.rate_outside", name=name, value=share)
            if len(inner) != 1 or inner[0][1] != 1:
                raise GuaranteeError("composition.events.several_from_one_sample")
            noise = inner[0][0]
        mechanism = _mechanism(noise, library)
        if isinstance(mechanism, Gaussian):
            one = pld.from_gaussian_mechanism(mechanism.sigma, sampling_prob=share)
        elif isinstance(mechanism, Laplace):
            one = pld.from_laplace_mechanism(mechanism.scale, sampling_prob=share)
        else:
            raise GuaranteeError("composition.events.not_sampled", kind=type(noise).__name__)
        many = one.self_compose(times)
        total = many if total is None else total.compose(many)

    count = sum(times for _, times in leaves)
    return curve_of_distribution(total, name=say("composition.events.sampled", count=count))


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
