"""The screen Explain: what a published promise means to someone, and to one participant.

The form states a promise as its curators publish it, with the questions that are asked of it. All
sentences about the promise are those of `discreet.reports`.

The participant's own screen, for a phone, is a worry, and the odds with and without joining. It
speaks of all that may be published under a promise; the report of a release also tells what is out
so far.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ValidationInfo, field_validator
from starlette.responses import HTMLResponse, Response

from discreet.beliefs import Belief, Bounds, Prior, explain, join
from discreet.composition import loss_of
from discreet.guarantees import Adjacency, Guarantee, PureDP, of_kind
from discreet.promises import promise_in
from discreet.reports.participant import joining_words
from discreet.reports.published import Deployment, deployments
from discreet.reports.sentences import (
    AUDIENCES,
    Icons,
    answer,
    event_of,
    guarantee_text,
    not_protected,
    pure_against_approximate,
    sentence,
)
from discreet.statements.presenter import amount_text, assumption_rows, bound_text, budget_text
from discreet.statements.tables import (
    compared,
    crowd_for,
    decimals,
    frequency,
    level,
    plain,
    times,
)
from discreet.web.forms import Choice, Form, Number, Text, filled, percentage, refused, share
from discreet.web.screens import REFUSED, How, as_yaml, command_of, how, page, yaml_file
from discreet.web.thread import Thread, link, shown_to, withdrawal
from discreet.web.workfolder import folder_of
from discreet.words import say

router = APIRouter()


class KindOfPromise(NamedTuple):
    """A kind of promise: its name, the numbers it is stated in, its Python name."""

    label: str
    numbers: tuple[str, ...]
    python: str


KINDS = {
    "pure": KindOfPromise("ε (pure)", ("epsilon",), "PureDP"),
    "approximate": KindOfPromise("(ε, δ)", ("epsilon", "delta"), "ApproxDP"),
    "probabilistic": KindOfPromise(
        "(ε, δ), probabilistic", ("epsilon", "delta"), "ProbabilisticDP"
    ),
    "concentrated": KindOfPromise("ρ (zCDP)", ("rho",), "ZCDP"),
}


PERSONS = ("one person", "one user", "one member")  # units that are a whole person
_BUDGET = Number(low=0, high=1000)
_PERCENT = Number(above=0, high=100, unit="percent")
_BEFORE = (0.01, 0.1, 0.3, 0.5)
_CROWD = 100
Knows = Literal["everyone else", "a hunch"]


class PromiseForm(Form):
    """A published promise, as its curators state it."""

    kind: Annotated[str, Choice(tuple(KINDS))] = "pure"
    epsilon: Annotated[float, _BUDGET] = 1.0
    delta: Annotated[float, Number(low=0, below=1)] = 1e-6
    rho: Annotated[float, _BUDGET] = 0.1
    adjacency: Annotated[str, Choice(("add-remove", "replace", "local"))] = "add-remove"
    unit: Annotated[str, Text(80, needed=True)] = "one person"
    confidence: Annotated[float, Number(above=0, below=100, unit="percent")] = 99.0
    believed: ClassVar[str]
    """The field that has the belief before."""

    @classmethod
    def begun(cls, thread: Thread) -> dict[str, Any]:
        """Begin with the budget that the promise came to, at the belief that it speaks of."""
        keys, budget = thread.keys(), thread.most()
        said: dict[str, Any] = {}
        if keys.get("confidence"):
            said["confidence"] = percentage(keys["confidence"])
        said |= {"unit": thread.whom} if thread.whom else {}
        if not all(math.isfinite(amount) for amount in budget.values()):
            return {}
        if budget:
            approximate = "approximate" if "delta" in budget else "pure"
            said |= {"kind": "concentrated" if "rho" in budget else approximate} | budget
        said |= {name: budget_text(budget[name]) for name in ("epsilon", "rho") if name in budget}
        named = [keys[x] for x in ("p", "q") if keys.get(x) is not None and keys[x] < 1]
        if keys and promise_in(keys).about == "value":
            return said | cls.of_a_value(percentage(named[0] if named else 0.3))
        return said | ({cls.believed: percentage(named[0])} if named else {})

    @classmethod
    def of_a_value(cls, before: float) -> dict[str, Any]:
        """Return the fields that ask about a value, starting from a belief in percent."""
        raise NotImplementedError

    def guarantee(self) -> Guarantee:
        """Return the promise itself."""
        return of_kind(self.kind, self.model_dump(), adjacency=self.adjacency)

    @property
    def python(self) -> str:
        """The promise as a Python expression."""
        words = [repr(value) for value in self.numbers().values()]
        if self.adjacency != "add-remove":
            words.append(f"adjacency={self.adjacency!r}")
        return f"{KINDS[self.kind].python}({', '.join(words)})"

    def numbers(self) -> dict[str, float]:
        """Return the numbers that this kind of promise has, by name."""
        return {name: getattr(self, name) for name in KINDS[self.kind].numbers}

    def flags_at(self, prior: Prior | None) -> dict[str, Any]:
        """Return the flags of `discreet explain` that ask for this promise at a prior."""
        said: dict[str, Any] = dict(self.numbers())
        if self.kind == "probabilistic":
            said["probabilistic"] = True
        if prior is not None:
            said |= {"prior": prior.p} | ({} if prior.q == 1 else {"value_prior": prior.q})
        said["confidence"] = share(self.confidence)
        for name, usual in (("adjacency", "add-remove"), ("unit", "one person")):
            if getattr(self, name) != usual:
                said[name] = getattr(self, name)
        return said

    def kept(self) -> dict[str, Any]:
        """Return the state without what it does not use, for a link."""
        unused = {"epsilon", "delta", "rho"} - set(KINDS[self.kind].numbers)
        said: dict[str, Any] = self.model_dump(exclude_defaults=True, exclude=unused)
        return said


class ExplainForm(PromiseForm):
    """What the form of the screen says; probabilities are percentages, as people type them."""

    every: bool = False
    before: Annotated[float | None, Number(above=0, high=100, unit="percent", optional=True)] = 30.0
    value: Annotated[float, _PERCENT] = 100.0
    audience: Annotated[str, Choice(AUDIENCES)] = "public"
    believed: ClassVar = "before"

    @classmethod
    def of_a_value(cls, before: float) -> dict[str, Any]:
        """Known to be in, with a value of which that much is believed."""
        return {"before": 100.0, "value": before}

    @field_validator("before")
    @classmethod
    def _said_or_every(cls, before: float | None, info: ValidationInfo) -> float | None:
        if before is None and not info.data.get("every"):
            raise refused("web.explain.no_before")
        return before

    def prior(self) -> Prior | None:
        """Return the belief before, or None for every one."""
        if self.every or self.before is None:
            return None
        return Prior(share(self.before), share(self.value))

    def flags(self) -> dict[str, Any]:
        """Return the flags of `discreet explain` that ask this."""
        said = self.flags_at(self.prior())
        return said if self.audience == "public" else said | {"audience": self.audience}


class Told(BaseModel):
    """What is said to one audience."""

    learned: str
    promise: str
    always: str
    not_protected: list[tuple[str, str]]


class Explained(BaseModel):
    """What a promise means for a belief, in numbers, words and pictures."""

    headline: str
    note: str
    posterior_lower: float | None
    posterior_upper: float | None
    holds_with: float
    told: dict[str, Told]
    lines: list[list[str]]
    others: list[list[str]]
    confidences: list[list[str]]
    joining: list[list[str]]
    assumptions: list[list[str]]
    published: list[str]
    icons: dict[str, int] | None
    icons_caption: str
    curve: dict[str, Any]
    curve_caption: str
    how: How
    link: str
    yaml: str
    me: str


@lru_cache(maxsize=128)
def explained(state: ExplainForm) -> Explained:
    """Return what the promise means at the belief before, for all audiences."""
    from discreet.charts import before_after_spec

    guarantee, confidence = state.guarantee(), share(state.confidence)
    prior = state.prior()

    def asked(at: Prior | float | None) -> Belief:
        return explain(guarantee, at, confidence=confidence, unit=state.unit)

    belief = asked(prior)
    # Membership and value at once have no single bound to draw: then the picture is membership.
    one_step = belief if prior is None or belief.epsilon_prime is not None else asked(prior.p)
    icons, icons_caption = None, ""
    if prior is not None and belief.posterior is not None:
        shown = Icons.showing(prior.pq, belief.posterior.upper)
        icons, icons_caption = shown.to_dict(), shown.text
    headline, note = _headline(belief)
    shared = {name: v for name, v in state.kept().items() if name in PromiseForm.model_fields}
    if prior is not None:
        shared["suspect"] = state.before
    return Explained(
        headline=headline,
        note=note,
        posterior_lower=None if belief.posterior is None else belief.posterior.lower,
        posterior_upper=None if belief.posterior is None else belief.posterior.upper,
        holds_with=belief.holds_with,
        told={audience: told(state, belief, audience) for audience in AUDIENCES},
        lines=_bounds(belief),
        others=[_pair(asked(Prior(p, share(state.value)))) for p in _BEFORE],
        confidences=[
            [
                level(row.confidence),
                say("web.explain.no_bound")
                if row.posterior is None
                else frequency(row.posterior, "up"),
                frequency(row.difference, "up"),
            ]
            for row in belief.at_confidence
        ],
        joining=_joining_rows(guarantee),
        assumptions=assumption_rows(belief.assumptions.to_dict()),
        published=[one.after for one in published(prior.p if prior else 0.5)],
        icons=icons,
        icons_caption=icons_caption,
        # The dot is the headline, or there is none.
        curve=before_after_spec(
            one_step, one_step.prior.pq if one_step is belief and one_step.prior else None
        ),
        curve_caption=say(
            "web.explain.curve_caption" if one_step is belief else "web.explain.curve_caption_in",
            event=event_of(one_step),
        ),
        how=how_belief(state, belief, state.flags()),
        link=link("/explain", state.kept()),
        yaml=link("/explain/explain.yaml", state.kept()),
        me=link("/explain/me", shared),
    )


def _headline(belief: Belief) -> tuple[str, str]:
    sure = say("web.explain.every_output")
    if belief.holds_with != 1:
        sure = say("web.explain.with_probability", level=level(belief.holds_with))
    if belief.prior is None or belief.posterior is None:
        crowd = crowd_for(belief.difference.upper)
        more = frequency(belief.difference.upper, "up", crowd)
        return more, "; ".join(filter(None, (say("web.explain.more", sure=sure), belief.note)))
    before, after = _in_one_crowd(belief.prior.pq, belief.posterior.upper)
    return after, say("web.explain.from", before=before, sure=sure)


def _in_one_crowd(before: float, most: float) -> list[str]:
    """Return a probability and the most that it may become as frequencies in one crowd."""
    crowd = crowd_for(before, most)
    return [plain(before, crowd), frequency(most, "up", crowd)]


def told(state: PromiseForm, belief: Belief, audience: Any) -> Told:
    """Return what is said of a promise to one audience."""
    # The last of "what is not protected" hangs on whether a whole person is the unit.
    person = state.unit in PERSONS
    return Told(
        learned=sentence(belief, audience),
        promise=guarantee_text(state.guarantee(), audience, state.unit),
        always=pure_against_approximate(belief, audience),
        not_protected=list(not_protected(audience, "person" if person else "partition")),
    )


def _joining_rows(guarantee: Guarantee) -> list[list[str]]:
    """The other comparison, which add-remove alone has: data left out, data in."""
    if guarantee.adjacency is not Adjacency.ADD_REMOVE:
        return []
    loss = loss_of(guarantee)
    return [_in_one_crowd(without, loss.right_guess(without)) for without in _BEFORE]


def _bounds(belief: Belief) -> list[list[str]]:
    """Return the bounds: what they are on, at least, at most."""

    def row(name: str, bounds: Bounds) -> list[str]:
        return [name, decimals(bounds.lower, "down"), decimals(bounds.upper, "up")]

    ratio = [times(belief.ratio.lower, "down"), times(belief.ratio.upper)]
    return [
        *([] if belief.posterior is None else [row("posterior", belief.posterior)]),
        ["posterior / prior", *ratio],
        row("posterior − prior", belief.difference),
    ]


def _pair(belief: Belief) -> list[str]:
    """Return a belief before and after as frequencies in one crowd."""
    if belief.prior is None or belief.posterior is None:
        return ["", ""]
    return _in_one_crowd(belief.prior.pq, belief.posterior.upper)


def how_belief(state: PromiseForm, belief: Belief, flags: dict[str, Any]) -> How:
    """Return how the bound on belief is computed."""
    words = [state.python]
    if belief.prior is not None:
        words.append(f"Prior({belief.prior.p!r}, {belief.prior.q!r})")
    words.append(f"confidence={share(state.confidence)!r}")
    names = [KINDS[state.kind].python, "Prior", "explain"]
    name = "belief_one_step"
    if isinstance(belief.guarantee, PureDP) and state.adjacency == "add-remove":
        name = "belief_pure"
    elif belief.epsilon_prime is None:
        name = "belief_two_steps"
    return how(
        name,
        method=belief.method,
        python=f"from discreet import {', '.join(sorted(names))}; explain({', '.join(words)})",
        command=command_of("explain", flags),
    )


# -- known deployments


class Published(NamedTuple):
    """A known deployment in the list: what it promised, to what it can grow, where to look."""

    one: Deployment
    budget: str
    after: str
    link: str


@lru_cache(maxsize=32)
def published(before: float) -> tuple[Published, ...]:
    """Return the known deployments, read for someone who starts at this belief."""
    return tuple(_listed(one) for one in deployments(before))


def _listed(one: Deployment) -> Published:
    said = one.to_dict()
    numbers = {name: said[name] for name in KINDS[one.kind].numbers}
    state = {"kind": one.kind, **numbers, "unit": one.unit}
    if one.adjacency in ("replace", "local"):
        state["adjacency"] = one.adjacency
    after = said["posterior"]
    return Published(
        one,
        amount_text(numbers, "up"),
        say("web.explain.no_bound") if after is None else bound_text(after),
        link("/explain", state),
    )


Asked = Annotated[ExplainForm, Query()]


@router.get("/api/explain", responses=REFUSED)
def explain_api(form: Asked) -> Explained:
    """What a promise means for someone's belief."""
    return explained(form)


@router.get("/explain/explain.yaml", include_in_schema=False)
def explain_yaml(form: Asked) -> Response:
    """The question of the screen as a file that `explain` reads."""
    text = as_yaml(form.flags(), "discreet explain --file explain.yaml")
    return yaml_file(text, "explain.yaml")


@router.get("/explain", include_in_schema=False)
def explain_page(request: Request) -> HTMLResponse:
    """The screen; without JavaScript the form brings the same numbers."""
    found = filled(ExplainForm, request.query_params, explained)
    prior = found.form.state.prior()
    listed = published(prior.p if prior else 0.5)
    keys = Thread.of(request.query_params).keys()
    beside = compared([promise_in(keys)], found.form.state.unit, "form") if keys else ""
    return found.page(request, "explain.html", kinds=KINDS, published=listed, beside=beside)


# -- one participant


class MeForm(PromiseForm):
    """One participant's own worry about a promise."""

    suspect: Annotated[float, Number(above=0, high=100, unit="percent")] = 30.0
    about: Annotated[str, Choice(("being in", "a value"))] = "being in"
    knows: Annotated[Knows, Choice(("everyone else", "a hunch"))] = "everyone else"
    believed: ClassVar = "suspect"

    @classmethod
    def of_a_value(cls, before: float) -> dict[str, Any]:
        """A value of which that much is suspected."""
        return {"about": "a value", "suspect": before}

    @property
    def you(self) -> bool:
        """Whether the reader is the unit: else it is one of theirs."""
        return self.unit in PERSONS

    def prior(self) -> Prior:
        """Return what they suspect: that I am in, or, knowing that, a value of mine."""
        suspected = share(self.suspect)
        central = self.adjacency == "add-remove"  # else everyone is known to be in
        return Prior(suspected) if central and self.about == "being in" else Prior(1.0, suspected)


class Mine(BaseModel):
    """One participant's odds: suspected, and joining or staying out."""

    before: str
    after: str
    text: str
    icons: dict[str, int]
    icons_caption: str
    happens: str = ""
    thought: str = ""
    join_icons: dict[str, int] | None = None
    join_caption: str = ""
    promise: str
    always: str
    not_protected: list[tuple[str, str]]
    suspect_text: str
    how: How
    how_joining: How | None = None
    link: str


@lru_cache(maxsize=128)
def mine(state: MeForm) -> Mine:
    """Return one participant's odds."""
    prior = state.prior()
    belief = explain(state.guarantee(), prior, confidence=share(state.confidence), unit=state.unit)
    worried = answer(belief, state.knows, you=state.you)
    after = 1.0 if belief.posterior is None else belief.posterior.upper
    public = told(state, belief, "public")
    return Mine(
        before=plain(prior.pq, _CROWD),
        after=frequency(after, "up", _CROWD),
        text=worried.text,
        icons=worried.icons.to_dict(),
        icons_caption=worried.icons.text,
        promise=public.promise,
        always=public.always,
        not_protected=public.not_protected,
        suspect_text=plain(share(state.suspect), _CROWD),
        how=how_belief(state, belief, state.flags_at(prior)),
        link=link("/explain/me", state.kept()),
        **_joining(state),
    )


def _joining(state: MeForm) -> dict[str, Any]:
    """Return the chance of something bad with the data out and in; empty where it cannot be had."""
    guarantee, without = state.guarantee(), share(state.suspect)
    if guarantee.adjacency is not Adjacency.ADD_REMOVE:
        return {}
    joined = loss_of(guarantee).right_guess(without)
    (believed,) = join(guarantee, without, confidence=share(state.confidence)).joined
    shown = Icons.showing(without, joined)
    words = joining_words("person" if state.you else "other", state.unit)
    words["before"] = plain(without, _CROWD)
    name = KINDS[state.kind].python
    python = (
        f"from discreet import {name}; from discreet.composition import "
        f"loss_of; loss_of({state.python}).right_guess({without!r})"
    )
    more = shown.after - shown.before
    return {
        **{
            name: say(f"reports.participant.{name}", now=frequency(most, "up", _CROWD), **words)
            for name, most in (("happens", joined), ("thought", believed))
        },
        "join_icons": shown.to_dict(),
        "join_caption": say("web.me.join_caption", before=shown.before, more=more),
        "how_joining": how("joining", python=python),
    }


def _promised(state: MeForm, thread: Thread) -> str:
    """Return the sentence of the promise that came along, if it is what the form is about."""
    keys, line = thread.keys(), shown_to(thread)
    begun = MeForm.model_validate(MeForm.begun(thread) if keys else {})
    same = (begun.kind, begun.numbers()) == (state.kind, state.numbers())
    under = keys.get("adjacency", "add-remove") == state.adjacency
    if line is None or not (keys and same and under):
        return say("web.me.some_promise")
    return line.sentence


@router.get("/api/explain/me", responses=REFUSED)
def me_api(form: Annotated[MeForm, Query()]) -> Mine:
    """One participant's odds under a promise."""
    return mine(form)


@router.get("/explain/me", include_in_schema=False)
def me_page(request: Request) -> HTMLResponse:
    """The participant's view; of a promise that was withdrawn nothing is told but that."""
    thread = Thread.of(request.query_params)
    ended = withdrawal(thread, folder_of(request))
    if ended is not None:
        return page(request, "problem.html", message=say("web.me.withdrawn", **ended))
    if not (thread.promise or request.query_params.keys() & MeForm.model_fields.keys()):
        return page(request, "me.html", unpromised=True)
    found = filled(MeForm, request.query_params, mine)
    # Some of its fields are not seen, so what is wrong with them is told above the form.
    problem = found.form.problem or found.problem
    promised = _promised(found.form.state, thread)
    more = {"promised": promised, "own": found.form.state.you}
    return found.page(request, "me.html", problem=problem, **more)
