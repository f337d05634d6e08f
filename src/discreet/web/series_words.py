"""The words of the screen Series: times, sentences, and how it is computed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from discreet.rounding import decimal_up
from discreet.series import Horizon, Plan
from discreet.web.percents import share
from discreet.web.screens import How
from discreet.web.series_state import MECHANISMS, SeriesState

__all__ = [
    "STRENGTHS",
    "command_of",
    "count_words",
    "how_horizon",
    "how_plan",
    "passed_words",
    "sentence_of",
    "shown_up",
    "time_words",
]

STRENGTHS = ("generic", "curve", "exact")


def shown_up(x: float) -> str:
    """Return a bound in percent, rounded up to two decimals.

    >>> shown_up(0.750001), shown_up(0.99999999), shown_up(0.5)
    ('75.01 %', '> 99.99 %', '50 %')
    """
    if x > 0.9999:
        return "> 99.99 %"
    return f"{100 * decimal_up(x, 4):.6g} %"


def time_words(releases: int, per_year: int) -> str:
    """Return how long so many releases take, to the nearest month, or day within a year.

    >>> time_words(27, 12), time_words(12, 12), time_words(3, 365), time_words(3, 1)
    ('2 years 3 months', '1 year', '3 days', '3 years')
    """
    if per_year > 12 and releases < per_year:
        return _counted((730 * releases + per_year) // (2 * per_year) or 1, "day")
    months = (24 * releases + per_year) // (2 * per_year)
    parts = [_counted(months // 12, "year"), _counted(months % 12, "month")]
    return " ".join(part for part in parts if part) or "less than a month"


def _counted(count: int, noun: str) -> str:
    return "" if count == 0 else f"{count:,} {noun}{'' if count == 1 else 's'}"


def passed_words(found: Horizon, per_year: int) -> str:
    """Return when the limit is passed, as the command says it, with the time that it takes."""
    if found.releases is None:
        return f"No limit is passed within {found.searched:,} releases."
    count = _counted(found.releases, "release")
    return f"The bound is first passed after {count} ({time_words(found.releases, per_year)})."


def count_words(found: Horizon) -> str:
    """Return the number of releases as a headline."""
    if found.releases is None:
        return f"more than {found.searched:,} releases"
    return _counted(found.releases, "release")


def sentence_of(state: SeriesState, found: Horizon) -> str:
    """Return what is kept, until when, for whom, and how surely."""
    who = "Someone who knows everything in the data but whether one person is in it"
    if state.local:
        who = "Someone who knows everyone's answer but one person's"
    if state.about == "posterior":
        who += f", and thinks there is a {state.before:g} % chance"
        kept = f"stays at most {state.limit:g} % sure"
    else:
        who += ", whatever they think before,"
        kept = f"gains at most {state.limit:g} percentage points"
    if found.releases is None:
        said = f"{who}, {kept} for {found.searched:,} releases and more."
    elif found.releases == 1:
        said = f"That someone {kept} is not promised even after one release."
    else:
        some = "one release" if found.releases == 2 else f"{found.releases - 1:,} releases"
        said = f"{who}, {kept} through {some}; after one more that is no longer promised."
    return f"{said.replace(',,', ',')} It holds {found.assumptions.probability}"


def command_of(name: str, flags: Mapping[str, Any]) -> str:
    """Return the command line with these flags.

    >>> command_of("horizon", {"rho": 0.01, "posterior_limit": 0.9})
    'discreet horizon --rho 0.01 --posterior-limit 0.9'
    """
    words = ["discreet", name]
    for key, value in flags.items():
        words += [f"--{key.replace('_', '-')}", value if isinstance(value, str) else repr(value)]
    return shlex.join(words)


def how_horizon(state: SeriesState, found: Horizon) -> How:
    """Return how the number of releases is computed."""
    noise = MECHANISMS[state.mechanism]
    each = noise.python.format(repr(state.budget))
    if state.mechanism == "epsilon" and state.delta_each:
        each = f"guarantees.ApproxDP({state.budget!r}, {state.delta_each!r})"
    words = [each, *(f"{key}={value!r}" for key, value in state.promise_keys().items())]
    words.append(f"confidence={share(state.confidence)!r}")
    words += [] if state.sided == "two" else ["sided='one'"]
    words += [] if state.delta is None else [f"delta={state.delta!r}"]
    reached = "posterior ≤ expit(logit p + ε′ₖ)"
    if state.about == "difference":
        reached = "posterior − prior ≤ tanh(ε′ₖ / 4), over all priors"
    return How(
        what="the number of releases",
        formula=f"{reached}; ε′ₖ bounds the privacy loss of k releases with probability 1 − δ′",
        source=f"Kazan, Sharma, Zhang, Jiang and Yan, Theorem 3.1 and Lemma 3.4. {found.method}.",
        python=f"from discreet import guarantees, horizon, laws; horizon({', '.join(words)})",
        command=command_of("horizon", state.horizon_flags()),
    )


def how_plan(state: SeriesState, found: Plan) -> How:
    """Return how the budget of each release is computed."""
    flags = state.plan_flags()
    words = [repr(flags.pop("releases"))] + [f"{name}={value!r}" for name, value in flags.items()]
    target = "logit A − logit p" if state.about == "posterior" else "4 atanh b"
    return How(
        what="the budget of each release",
        formula=f"the largest budget whose releases together have ε′ ≤ {target}, found by "
        "bisection that keeps the safe side",
        source=f"Kazan, Sharma, Zhang, Jiang and Yan, §4.3. {found.how}.",
        python=f"from discreet import plan; plan({', '.join(words)})",
        command=command_of("plan", state.plan_flags()),
    )
