"""The screen Explain: a published promise, and what it means to someone with a suspicion."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from discreet.web.explain.form import KINDS, ExplainForm
from discreet.web.explain.view import Explained, explained, published
from discreet.web.forms import filled
from discreet.web.screens import REFUSED, as_yaml, yaml_file

__all__ = ["router"]

router = APIRouter()
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
    return found.page(request, "explain.html", kinds=KINDS, published=listed)
