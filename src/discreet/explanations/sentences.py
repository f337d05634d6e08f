"""Sentences from a belief, for three audiences. No mathematics: every figure is the belief's.

- public: frequencies ("at most 53 in 100"), one paragraph, the assumption one step away;
- technical: the interval, the measures, the theorem, the worst priors;
- regulator: unit, guarantee, what may be learned, how often it may fail, what is not promised.

Figures are rounded outward: upper bounds up, lower bounds down. The subject is the unit that is
protected: "one visit", not "a person", where visits are protected.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from discreet.beliefs.belief import Belief
from discreet.errors import InputError
from discreet.guarantees import Adjacency
from discreet.rounding import decimal_down, decimal_up, percent

__all__ = ["Audience", "crowd_for", "frequency", "public", "regulator", "sentence", "technical"]

Audience: TypeAlias = Literal["public", "technical", "regulator"]
Side: TypeAlias = Literal["up", "down"]


def sentence(belief: Belief, audience: Audience = "public") -> str:
    """Return what may be learned, in words for the audience."""
    writers = {"public": public, "technical": technical, "regulator": regulator}
    if audience not in writers:
        raise InputError(f"audience is {audience!r}; it must be one of: {', '.join(writers)}.")
    return writers[audience](belief)


def frequency(x: float, side: Side, crowd: int | None = None) -> str:
    """Return a probability as a frequency, rounded outward.

    The crowd is as large as two figures need, of x or of its complement; or it is given, so that
    several frequencies can be compared.

    >>> frequency(0.5249, "up"), frequency(0.0004, "up"), frequency(0.475, "down")
    ('53 in 100', '40 in 100,000', '47 in 100')
    """
    of = crowd or crowd_for(x)
    digits = len(str(of)) - 1
    rounded = (decimal_up if side == "up" else decimal_down)(min(1.0, max(0.0, x)), digits)
    return f"{round(rounded * of):,} in {of:,}"


def crowd_for(*probabilities: float) -> int:
    """Return the crowd, 100 to 1,000,000, in which each probability shows two figures."""
    of = 100
    while of < 1_000_000 and any(
        0 < x < 1 and (x * of < 10 or (1 - x) * of <= 1) for x in probabilities
    ):
        of *= 10
    return of


def _plain(x: float, crowd: int) -> str:
    """A prior, as it was given: no side to round to."""
    return f"{x * crowd:,.6g} in {crowd:,}"


def _times(x: float, side: Side = "up") -> str:
    """A ratio with two decimals, rounded outward."""
    if math.isinf(x):
        return "∞"
    value = decimal_up(x, 2) if side == "up" else decimal_down(x, 2)
    return f"{value:,.2f}"


def _event(belief: Belief) -> str:
    """What the belief is about, with the unit as its subject."""
    if belief.guarantee.adjacency is not Adjacency.ADD_REMOVE:
        return f"{belief.unit} has the sensitive value"
    if belief.prior is not None and belief.prior.q < 1:
        return f"{belief.unit} is in the data and has the sensitive value"
    return f"{belief.unit} is in the data"


def public(belief: Belief) -> str:
    """One paragraph in frequencies; no symbol, no Greek."""
    parts = [_public_bound(belief)]
    if belief.holds_with == 1:
        parts.append("This holds whatever is published.")
    else:
        parts.append(f"This may fail, by the luck of the noise, in {_chance(belief)} cases.")
    parts.append(_public_assumption(belief))
    return " ".join(parts)


def _chance(belief: Belief) -> str:
    """How often the bound may fail: 1 in 100, 5 in 100, 1 in 10,000."""
    failing = decimal_up(1 - belief.holds_with, 12)
    of = 100
    while of < 10**9 and failing * of < 1 - 1e-9:
        of *= 10
    return f"{decimal_up(failing * of, 1):,.6g} in {of:,}"


def _public_bound(belief: Belief) -> str:
    event = _event(belief)
    if belief.prior is None or belief.posterior is None:
        bound = (
            f"Whatever someone believed before, what we publish can raise their belief that "
            f"{event} by at most {percent(belief.difference.upper, 'up')[:-2]} percentage points"
        )
        if belief.ratio.upper < 1000:
            bound += f", and never make it more than {_times(belief.ratio.upper)} times as large"
        return bound + "."
    shown = [belief.prior.pq, belief.posterior.upper]
    shown += [belief.posterior.lower] if belief.sided == "two" else []
    crowd = crowd_for(*shown)
    before = _plain(belief.prior.pq, crowd)
    after = frequency(belief.posterior.upper, "up", crowd)
    bound = (
        f"Someone who thinks before that the chance is {before} that {event} can come to think, "
        f"from what we publish, that it is at most {after}"
    )
    if belief.sided == "two":
        bound += f", and at least {frequency(belief.posterior.lower, 'down', crowd)}"
    return bound + "."


def _public_assumption(belief: Belief) -> str:
    if belief.holds_with == 1:
        return (
            "It assumes that what they believe about everyone else does not hang on "
            f"{belief.unit}; families or contagion can break that."
        )
    return f"It holds even against someone who knows everything in the data except {belief.unit}."


def technical(belief: Belief) -> str:
    """The interval, the measures, the theorem and the worst priors."""
    event = _event(belief)
    out = [f"Under {belief.guarantee} ({belief.guarantee.adjacency.value})"]
    if belief.prior is not None and belief.posterior is not None:
        lower = f"{decimal_down(belief.posterior.lower, 4):.4f}"
        upper = f"{decimal_up(belief.posterior.upper, 4):.4f}"
        span = f"lies in [{lower}, {upper}]" if belief.sided == "two" else f"is at most {upper}"
        out.append(
            f", the posterior probability that {event}, from p = {belief.prior.p:g} and "
            f"q = {belief.prior.q:g}, {span}; posterior over prior is at most "
            f"{_times(belief.ratio.upper)}, posterior minus prior at most "
            f"{decimal_up(belief.difference.upper, 4):.4f}."
        )
    else:
        out.append(
            f", over all priors, the posterior probability that {event} is at most "
            f"{_times(belief.ratio.upper)} times the prior, and at most "
            f"{decimal_up(belief.difference.upper, 4):.4f} above it."
        )
    out.append(
        f" Over all priors the ratio is worst at p = {belief.worst_ratio.p:.3g} "
        f"({_times(belief.worst_ratio.value)}), the difference at "
        f"p = {belief.worst_difference.p:.3g} ({decimal_up(belief.worst_difference.value, 4):.4f})."
    )
    out.append(
        f" It holds {belief.assumptions.probability} By: {belief.method} ({belief.strength})."
    )
    out.append(f" Adversary: {belief.assumptions.adversary}")
    out.append(f" It {belief.assumptions.post_processing}")
    if belief.exact is not None and belief.exact.posterior is not None:
        out.append(
            " For the output as released, the law of the loss gives at most "
            f"{decimal_up(belief.exact.posterior.upper, 4):.4f}."
        )
    if belief.note:
        out.append(f" Note: {belief.note}")
    return "".join(out)


def regulator(belief: Belief) -> str:
    """Unit, guarantee, what may be learned, how often it may fail, what is not promised."""
    out = [
        f"Protected unit: {belief.unit}. Guarantee: {belief.guarantee} "
        f"({belief.guarantee.adjacency.value} neighbours). {_public_bound(belief)}"
    ]
    if belief.holds_with == 1:
        out.append("This holds for every possible output.")
    else:
        chance = percent(belief.holds_with, "down", _digits(belief.holds_with))
        out.append(
            f"This holds for each unit with probability {chance} over the noise, whether or not "
            "the unit is in the data; it is no bound on what happens in the remaining cases."
        )
    if belief.beyond is not None:
        out.append(
            f"Of {belief.beyond.people:,} units expect up to {_whole_up(belief.beyond.up_to)} "
            "beyond the bound."
        )
    if belief.at_confidence:
        rows = ", ".join(
            _at(row.confidence, row.posterior, row.difference) for row in belief.at_confidence
        )
        out.append(f"By confidence: {rows}.")
    out.append(f"Adversary: {belief.assumptions.adversary}")
    out.append(f"Independence: {belief.assumptions.independence}")
    out.append(f"Later use: it {belief.assumptions.post_processing}")
    out.append(
        "Not promised: that nothing is learned from what holds for the population as a whole, nor "
        "anything about data outside the protected unit."
    )
    return " ".join(out)


def _at(confidence: float, posterior: float | None, difference: float) -> str:
    level = percent(confidence, "down", _digits(confidence))
    if posterior is None:
        return f"{level}: difference at most {percent(difference, 'up', 1)}"
    return f"{level}: at most {frequency(posterior, 'up')}"


def _digits(x: float) -> int:
    """As many decimals as a confidence needs: 99 %, 99.99 %, 99.9999 %."""
    return max(0, len(f"{100 * x:.10f}".rstrip("0").partition(".")[2]))


def _whole_up(x: float) -> str:
    """An expected number, rounded up to a whole one where that is no exaggeration."""
    return f"{decimal_up(x, 0):,.0f}" if x >= 1 else f"{decimal_up(x, 3):g}"
