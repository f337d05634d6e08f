"""The application: the screens behind one door, their problems in words, the static files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from discreet import __version__
from discreet.errors import DiscreetError
from discreet.web.assets import static, vega, vega_packed
from discreet.web.forms import in_one_line, problems_of
from discreet.web.guards import Guard, for_program
from discreet.web.screens import SCREENS, Problem, page
from discreet.web.workfolder import MOST_BYTES
from discreet.words import say

_FIRST, *_REST = dict.fromkeys((*(screen.package for screen in SCREENS), "approval"))
# How large a body may be, by the beginning of its path: these take files.
_LIMITS = {f"{screen}/upload": MOST_BYTES + 2**16 for screen in ("/release", "/synthetic")}
_WORDS = {404: "web.page.no_address", 405: "web.page.no_method"}


class Page(FastAPI):
    """The application. Screens behind the first one are imported when one of them is asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._adding = threading.Lock()
        self._unknown, self.router.default = self.router.default, self._whole_first
        self._add(_FIRST)

    def _add(self, package: str) -> None:
        self.include_router(import_module(f"discreet.web.{package}").router)

    def whole(self) -> None:
        """Add the screens that are not there yet."""
        with self._adding:
            if self.router.default != self._unknown:
                for package in _REST:
                    self._add(package)
                self.router.default = self._unknown

    async def _whole_first(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an address that the first screen does not have."""
        await run_in_threadpool(self.whole)
        await self.router(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return what all screens answer to programs."""
        self.whole()
        return super().openapi()


def create_app(
    folder: Path | str = ".",
    token: str | None = None,
    port: int | None = None,
    entered: Callable[[], None] | None = None,
) -> Page:
    """Return the application that works in `folder`; without a token everyone local may enter.

    `entered` is called when the token was used.
    """
    app = Page(
        title="Discreet",
        version=__version__,
        description=say("web.page.description"),
        docs_url=None,  # these pages load scripts from a network
        redoc_url=None,
    )
    app.state.folder = Path(folder).resolve()
    app.add_api_route("/", _home, include_in_schema=False)
    app.add_api_route("/static/vega.js", _vega, include_in_schema=False)
    app.add_api_route("/static/{name}", _static, include_in_schema=False)
    for kind in (DiscreetError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _told)
    app.add_middleware(Guard, token=token, port=port, limits=_LIMITS, entered=entered)
    return app


def _home() -> RedirectResponse:
    return RedirectResponse("/tolerate", status_code=303)


def _vega(request: Request) -> Response:
    # The name carries the version, as a query; what it names never changes.
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    packed = "gzip" in request.headers.get("accept-encoding", "")
    if packed:
        headers["Content-Encoding"] = "gzip"
    body = vega_packed() if packed else vega()
    return Response(body, media_type="text/javascript", headers=headers)


def _static(request: Request, name: str) -> Response:
    found = static().get(name)
    if found is None:
        raise HTTPException(404)
    headers = {"Cache-Control": found.kept, "ETag": found.tag}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.kind, headers=headers)


async def _told(request: Request, error: Exception) -> Response:
    """Say what went wrong: to a program in JSON, to a person on a page."""
    status, code, fields = 422, "input", {}
    if isinstance(error, RequestValidationError):
        # It quotes what was sent; say where it is and which rule, not the value.
        fields = problems_of(error.errors(), skip=1)
        message = in_one_line(fields)
    elif isinstance(error, HTTPException):
        status, code, message = error.status_code, "address", error.detail
        if status in _WORDS:
            message = say(_WORDS[status])
    else:
        code, message = getattr(error, "code", "internal"), str(error)
        status = 500 if code in ("internal", "discreet") else 422
    if for_program(request):
        said = Problem(code=code, message=message, fields=fields)
        return JSONResponse(said.model_dump(), status_code=status)
    return page(request, "problem.html", status=status, message=message)
