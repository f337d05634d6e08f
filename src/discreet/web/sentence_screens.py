"""The two screens of sentences with blanks, Tolerate and Cost: a state, its answer, its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response

from discreet.web.promise_form import MOST, WORRIES, Asked
from discreet.web.screens import page

__all__ = ["Shown", "asking_page"]


class _Answer(Protocol):
    """What both screens answer with, among other things."""

    link: str
    yaml: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A state as its screen shows it: the answer, or why there is none."""

    template: str
    home: str
    asked: Asked
    answer: _Answer | None
    problem: str
    kinds: Mapping[str, str]


def asking_page(request: Request, shown: Shown, **more: Any) -> Response:
    """Render a screen of sentences; `more` is what its own template needs."""
    found = shown.answer
    return page(
        request,
        shown.template,
        status=422 if found is None else 200,
        link=shown.home if found is None else found.link,
        yaml=None if found is None else found.yaml,
        asked=shown.asked,
        answer=found,
        problem=shown.problem,
        kinds=shown.kinds,
        worries=WORRIES,
        most=MOST,
        **more,
    )
