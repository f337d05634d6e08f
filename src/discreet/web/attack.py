"""The screen Attack: what an attacker comes to believe on invented data, with noise and without.

It shows what `discreet attack` prints: exact answers fail, repeated noisy ones average out, a daily
budget drains, each beside our bound. No source is opened and nothing is charged.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import HTMLResponse

from discreet.auditing.attackers import ATTACKERS
from discreet.statements.presenter import belief_text, bound_text
from discreet.web.forms import Choice, Form, Number, filled, percentage, share
from discreet.web.screens import REFUSED, How, command_of, how
from discreet.web.thread import Thread, link
from discreet.words import say

__all__ = ["AttackForm", "Attacked", "router"]

router = APIRouter()
_HOME = "/attack"
_REPEATS = 40


class AttackForm(Form):
    """Which attack, on what budget, from which belief; `again` draws other noise."""

    name: Annotated[str, Choice(tuple(ATTACKERS))] = "differencing"
    epsilon: Annotated[float, Number(low=1e-3, high=20)] = 0.5
    before: Annotated[float, Number(low=0.1, high=99.9, unit="percent")] = 10.0
    times: Annotated[int | None, Number(low=1, high=400, whole=True, optional=True)] = None
    again: Annotated[int, Number(low=0, high=10**6, whole=True)] = 0

    @classmethod
    def begun(cls, thread: Thread) -> dict[str, Any]:
        """Begin with the budget of the promise that came along, and the belief it speaks of."""
        epsilon, before = thread.budget().get("epsilon"), thread.keys().get("p")
        said = {"before": percentage(before)} if before and before < 1 else {}
        return said | ({"epsilon": epsilon} if epsilon and 1e-3 <= epsilon <= 20 else {})


class Attacked(BaseModel):
    """An attack as the screen shows it, step by step."""

    title: str
    sentences: list[str]
    header: list[str]
    rows: list[list[str]]
    places: list[int]
    chart: dict[str, Any]
    caption: str
    how: How
    spoken: str
    link: str


@lru_cache(maxsize=64)
def attacked(form: AttackForm) -> Attacked:
    """Return an attack; the same form finds the same one again."""
    from discreet.auditing import attack
    from discreet.charts import attack_spec

    asked: dict[str, Any] = {"epsilon": form.epsilon, "prior": share(form.before)}
    if form.times is not None:
        asked["times"] = form.times
    found = attack(form.name, **asked, repeats=_REPEATS)
    rows = [
        [
            str(exact.k),
            *(_number(one) for one in (noisy.truth, exact.estimate)),
            belief_text(exact.belief),
            _number(noisy.estimate),
            belief_text(noisy.belief),
            bound_text(noisy.bound or 0.0),
        ]
        for exact, noisy in zip(found.exact, found.noisy, strict=True)
    ]
    noiseless, with_noise = say("auditing.attack.noiseless"), say("auditing.attack.with_noise")
    estimate = found.label("estimate")
    return Attacked(
        title=found.title,
        sentences=list(found.sentences),
        header=[
            found.label("k"),
            found.label("truth"),
            f"{estimate}, {noiseless}",
            say("web.attack.belief", how=noiseless),
            f"{estimate}, {with_noise}",
            say("web.attack.belief", how=with_noise),
            say("auditing.attack.bound"),
        ],
        rows=rows,
        places=[step.k for step in found.exact],
        chart=attack_spec(found),
        caption=say("web.attack.caption", title=found.title),
        how=how(
            "attack",
            python=f"discreet.attack({form.name!r}, "
            + ", ".join(f"{name}={value!r}" for name, value in asked.items())
            + ")",
            command=command_of("attack", asked).replace("attack", f"attack {form.name}", 1),
        ),
        spoken=say("web.attack.spoken", exact=rows[-1][3], noisy=rows[-1][5], bound=rows[-1][6]),
        link=link(_HOME, form.model_dump(exclude_defaults=True)),
    )


def _number(x: float | None) -> str:
    return "–" if x is None else f"{x:,.4g}"


@router.get(_HOME, include_in_schema=False)
def attack_page(request: Request) -> HTMLResponse:
    """The screen; without a script the form brings the same steps."""
    found = filled(AttackForm, request.query_params, attacked)
    names = [(name, say(f"web.attack.name_{name}")) for name in ATTACKERS]
    return found.page(request, "attack.html", names=names)


@router.get(f"/api{_HOME}", responses=REFUSED)
def attack_api(form: Annotated[AttackForm, Query()]) -> Attacked:
    """What an attacker comes to believe on invented data, with noise and without."""
    return attacked(form)
