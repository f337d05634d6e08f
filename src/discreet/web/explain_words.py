"""The words of the screen Explain: tables, known deployments, and how it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from discreet.beliefs import Belief, Bounds
from discreet.guarantees import PureDP, amount
from discreet.reports.published import Deployment, deployments
from discreet.statements.figures import crowd_for, decimals, frequency, plain, times
from discreet.web.links import link
from discreet.web.percents import share
from discreet.web.promises import KINDS, ExplainState, MeState
from discreet.web.screens import How
from discreet.web.series_words import command_of, shown_up

__all__ = [
    "Published",
    "how_belief",
    "how_joining",
    "pair",
    "published",
    "table_rows",
]


@dataclass(frozen=True, slots=True)
class Published:
    """A known deployment in the list: what it promised, to what it can grow, where to look."""

    name: str
    curator: str
    year: int
    unit: str
    budget: str
    after: str
    source: str
    note: str | None
    link: str


@lru_cache(maxsize=32)
def published(before: float) -> tuple[Published, ...]:
    """Return the known deployments, read for someone who starts at this percentage."""
    return tuple(_listed(one) for one in deployments(share(before)))


def _listed(one: Deployment) -> Published:
    said = one.to_dict()
    numbers = {name: said[name] for name in KINDS[one.kind].numbers}
    state = {"kind": one.kind, **numbers, "unit": one.unit}
    if one.adjacency in ("replace", "local"):
        state["adjacency"] = one.adjacency
    return Published(
        name=one.name,
        curator=one.curator,
        year=one.year,
        unit=one.unit,
        budget=amount(numbers, "up", "", figures=None),
        after="no bound" if said["posterior"] is None else shown_up(said["posterior"]),
        source=one.source,
        note=one.note,
        link=link("/explain", state),
    )


def table_rows(belief: Belief) -> list[list[str]]:
    """Return the bounds as the command prints them: at least, at most."""
    rows = [] if belief.posterior is None else [["posterior", *_span(belief.posterior)]]
    ratio = [times(belief.ratio.lower, "down"), times(belief.ratio.upper)]
    return [
        *rows,
        ["posterior / prior", *ratio],
        ["posterior − prior", *_span(belief.difference)],
    ]


def _span(bounds: Bounds) -> list[str]:
    return [decimals(bounds.lower, "down"), decimals(bounds.upper, "up")]


def pair(belief: Belief) -> list[str]:
    """Return a belief before and after as frequencies in one crowd."""
    if belief.prior is None or belief.posterior is None:
        return ["", ""]
    crowd = crowd_for(belief.prior.pq, belief.posterior.upper)
    return [plain(belief.prior.pq, crowd), frequency(belief.posterior.upper, "up", crowd)]


def _promise(state: ExplainState | MeState) -> str:
    words = [repr(value) for value in state.numbers().values()]
    if state.adjacency != "add-remove":
        words.append(f"adjacency={state.adjacency!r}")
    return f"{KINDS[state.kind].python}({', '.join(words)})"


def how_belief(state: ExplainState | MeState, belief: Belief) -> How:
    """Return how the bound on belief is computed."""
    promise = _promise(state)
    words = [promise]
    if belief.prior is not None:
        words.append(f"Prior({belief.prior.p!r}, {belief.prior.q!r})")
    words.append(f"confidence={share(state.confidence)!r}")
    names = [KINDS[state.kind].python, "Prior", "explain"]
    if isinstance(belief.guarantee, PureDP) and state.adjacency == "add-remove":
        formula = "posterior ≤ pq / (pq + e^(−2ε)(1 − q)p + e^(−ε)(1 − p))"
        source = "Kazan and Reiter, Theorem 1."
    elif belief.epsilon_prime is None:
        formula = "posterior ≤ pq / (pq + e^(−b)(1 − q)p + e^(−a)(1 − p)), one step a and two b"
        source = f"{belief.method}."
    else:
        formula = "posterior ≤ expit(logit p + ε′), ε′ a bound on the privacy loss"
        source = f"Kazan, Sharma, Zhang, Jiang and Yan, Theorem 3.1. {belief.method}."
    return How(
        what="the belief afterwards",
        formula=formula,
        source=source,
        python=f"from discreet import {', '.join(sorted(names))}; explain({', '.join(words)})",
        command=command_of("explain", state.flags()),
    )


def how_joining(state: MeState, without: float) -> How:
    """Return how the chance with the data in is computed."""
    name = KINDS[state.kind].python
    return How(
        what="the chance if you join",
        formula="with them in ≤ min(e^ε x + δ, 1 − e^(−ε)(1 − δ − x)), x the chance without",
        source="The definition of differential privacy, both ways round; the form that a study of "
        "963 people found the clearest (Nanayakkara and others 2023).",
        python=f"from discreet import {name}; from discreet.beliefs.guesses import "
        f"right_guess; right_guess({_promise(state)}, {without!r})",
    )
