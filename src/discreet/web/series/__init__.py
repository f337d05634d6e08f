"""The screen Series: when belief passes a limit over many releases, and what each may spend."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from discreet.errors import DiscreetError
from discreet.web.forms import filled
from discreet.web.screens import REFUSED, as_yaml, yaml_file
from discreet.web.series.form import MECHANISMS, SeriesForm
from discreet.web.series.view import Budgets, SeriesAnswer, beliefs, budgets

__all__ = ["router"]

router = APIRouter()
Asked = Annotated[SeriesForm, Query()]


@router.get("/api/series", responses=REFUSED)
def series_api(form: Asked) -> SeriesAnswer:
    """Belief over a series of releases, and when it passes a limit."""
    return beliefs(form)


@router.get("/api/series/plan", responses=REFUSED)
def plan_api(form: Asked) -> Budgets:
    """The budget of each release that keeps a limit over a series."""
    return budgets(form)


@router.get("/series/series.yaml", include_in_schema=False)
def series_yaml(form: Asked) -> Response:
    """The questions of the screen as a file that `horizon` and `plan` read."""
    said = {"horizon": form.horizon_flags(), "plan": form.plan_flags()}
    top = "discreet horizon --file series.yaml; discreet plan --file series.yaml"
    return yaml_file(as_yaml(said, top), "series.yaml")


@router.get("/series", include_in_schema=False)
def series_page(request: Request) -> HTMLResponse:
    """The screen; without JavaScript the form brings the same numbers."""
    found = filled(SeriesForm, request.query_params, beliefs)
    shares, plan_problem = None, ""
    try:
        shares = None if found.problem else budgets(found.form.state)
    except DiscreetError as error:
        plan_problem = str(error)
    more = {"mechanisms": MECHANISMS, "shares": shares, "plan_problem": plan_problem}
    return found.page(request, "series.html", **more)
