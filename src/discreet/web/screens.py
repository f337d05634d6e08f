"""What all screens share: templates, navigation, and the block "how is this computed"."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.templating import Jinja2Templates

from discreet import __version__
from discreet.web.assets import vega_version

__all__ = ["REFUSED", "SCREENS", "How", "Problem", "Screen", "page", "templates"]


@dataclass(frozen=True, slots=True)
class Screen:
    """One screen: its name in the navigation, its address, the module that serves it."""

    name: str
    path: str
    module: str


SCREENS = (
    Screen("Tolerate", "/tolerate", "tolerate"),
    Screen("Cost", "/cost", "cost"),
    Screen("Series", "/series", "series"),
    Screen("Release", "/release", "releasing"),
    Screen("Ledger", "/ledger", "accounts"),
    Screen("Explain", "/explain", "explain"),
)


class How(BaseModel):
    """How a number is computed: the formula, the theorem, the Python line, the command."""

    what: str
    formula: str
    source: str
    python: str
    command: str | None = None


class Problem(BaseModel):
    """What a JSON endpoint says when it cannot answer (status 422)."""

    code: str
    message: str


#: What an endpoint declares beside its answer.
REFUSED: dict[int | str, dict[str, Any]] = {422: {"model": Problem}}


templates = Jinja2Templates(directory=Path(__file__).parent / "templates")
templates.env.trim_blocks = True
templates.env.lstrip_blocks = True


def page(
    request: Request,
    name: str,
    *,
    status: int = 200,
    link: str | None = None,
    yaml: str | None = None,
    **context: Any,
) -> HTMLResponse:
    """Render a template of a screen; `link` is its state as a path, `yaml` where its file is."""
    here = next((one for one in SCREENS if request.url.path.startswith(one.path)), None)
    shared = {
        "screens": SCREENS,
        "here": here,
        "version": __version__,
        "vega": vega_version(),
        "link": link,
        "yaml": yaml,
    }
    return templates.TemplateResponse(request, name, shared | context, status_code=status)
