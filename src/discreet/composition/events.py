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
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from discreet.composition.concentrated import ConcentratedLoss
from discreet.composition.distributions import curve_of_distribution
from discreet.composition.plans import loss_of
from discreet.errors import GuaranteeError, InputError
from discreet.guarantees import Adjacency, PrivacyCurve
from discreet.laws import Gaussian, Geometric, Laplace, Mechanism, RandomizedResponse
from discreet.laws.checks import positive, whole
from discreet.reading import json_values, text_of
from discreet.rounding import up
from discreet.words import say

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
