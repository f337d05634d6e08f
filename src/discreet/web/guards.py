"""Who may speak to the page: one door that every request goes through.

The page listens on loopback, where any program and any web site in the person's browser can knock.
So each request is checked, before anything of ours runs:

- Host must be a loopback name with our port: a foreign name that was made to resolve to 127.0.0.1
  (DNS rebinding) is refused.
- Sec-Fetch-Site and Origin must be our own; a request that changes something must carry one of
  them (CSRF). A plain link from elsewhere is let through as far as the token.
- The token of the printed address is exchanged once for a cookie (HttpOnly, SameSite=Strict) and
  is worth nothing afterwards; without the cookie nothing but style sheets and scripts is served.
  Someone who was sent here from elsewhere gets it with a page that goes on by itself: a redirect
  would still count as cross-site, and the browser would not send the cookie along.
- The address has an upper length, and the body an upper size, counted while it arrives.

Every answer, also a refusal, carries the policy below. An unexpected exception ends here: its
message might hold a data value, so only its kind and place are told.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable, Mapping
from html import escape
from urllib.parse import quote, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.web.assets import style_hash
from discreet.words import say

BODY_LIMIT = 1_000_000
ADDRESS_LIMIT = 64_000
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SAFE = ("GET", "HEAD", "OPTIONS")
_SITE = "sec-fetch-site"
_NEAR = (None, "none", "same-origin")  # no browser, the address bar, our own page
# Vega draws with attributes and with the style object of an element, which a policy without
# 'unsafe-inline' allows; its own style sheet is left out, and expressions are interpreted
# (`ast: true`), so that 'unsafe-eval' is not needed either.
_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' '{style_hash()}'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not 'no-referrer': a form would then be sent with the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class _TooLarge(Exception):
    """The body passed its bound while it was read."""


class Guard:
    """The door as ASGI middleware; `limits` maps the beginning of a path to its largest body.

    `entered` is called when the token was used.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str | None = None,
        port: int | None = None,
        limits: Mapping[str, int] | None = None,
        entered: Callable[[], None] | None = None,
    ) -> None:
        self.app = app
        self.entered = entered
        self.token = token
        self.session = None if token is None else secrets.token_urlsafe(32)
        # Cookies do not know ports: two servers on one machine need two names.
        self.cookie = "discreet" if port is None else f"discreet-{port}"
        self.port = port
        self.limits = dict(limits or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, pass it on, and complete the answer's headers."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        asked, path = Request(scope), scope["path"]
        started, received = False, 0
        limits = [most for start, most in self.limits.items() if path.startswith(start)]
        limit = max(limits, default=BODY_LIMIT)

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                kept = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    kept[name] = value
                kept.setdefault("Cache-Control", "no-store")
            await send(message)

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _TooLarge
            return message

        instead = self._refused(asked) or self._let_in(asked)
        try:
            declared = asked.headers.get("content-length", "0")
            if instead is None and (not declared.isdecimal() or int(declared[:20]) > limit):
                raise _TooLarge
            await (instead or self.app)(scope, bounded, answer)
        except _TooLarge:
            said = say("web.door.too_large", limit=f"{limit:,}")
            instead = _problem(asked, 413, "too-large", said)
        except ClientDisconnect:
            return  # they left in the middle of what they sent: nobody is there to be told
        except Exception as error:
            where = _place(error)
            sys.stderr.write(say("web.door.log", where=where, path=path[:80]) + "\n")
            instead = _problem(asked, 500, "internal", say("web.door.fault", where=where))
        if instead is not None and not started:
            await instead(scope, receive, answer)

    def _refused(self, asked: Request) -> Response | None:
        """Return the answer to a request from the wrong place, or nothing."""
        headers = asked.headers
        host, origin, site = headers.get("host", ""), headers.get("origin"), headers.get(_SITE)
        hosts, named = {f"{name}:{self.port}" for name in _LOOPBACK}, host
        if self.port is None:
            hosts, named = {*_LOOPBACK, "testserver"}, re.sub(r":\d+$", "", host)
        if named not in hosts:
            return _problem(asked, 421, "host", say("web.door.host"))
        if len(asked.scope["path"]) + len(asked.scope["query_string"]) > ADDRESS_LIMIT:
            said = say("web.door.too_long", limit=f"{ADDRESS_LIMIT:,}")
            return _problem(asked, 414, "too-long", said)
        linked = (
            asked.method == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        if (site not in _NEAR and not linked) or origin not in (None, f"http://{host}"):
            return _problem(asked, 403, "origin", say("web.door.elsewhere"))
        if asked.method not in _SAFE and origin is None and site != "same-origin":
            return _problem(asked, 403, "origin", say("web.door.no_origin"))
        return None

    def _let_in(self, asked: Request) -> Response | None:
        """Return the answer to someone who comes with a token, or may not enter at all."""
        if self.session is None:
            return None
        known = _same(asked.cookies.get(self.cookie, ""), self.session)
        given = asked.query_params.getlist("token") if asked.method == "GET" else []
        if given and self.token and _same(given[0], self.token):
            self.token, known = None, True
            if self.entered is not None:
                self.entered()
        if not known:
            if asked.scope["path"].startswith("/static/"):
                return None
            return _problem(asked, 403, "token", say("web.door.token"), again=True)
        if not given:
            return None
        answer: Response = RedirectResponse(_here(asked), status_code=303)
        if asked.headers.get(_SITE) not in _NEAR:
            answer = HTMLResponse(leading(_here(asked), say("web.door.entered")))
        said = f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"
        answer.headers["set-cookie"] = said
        return answer


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(), secret.encode())


def _here(asked: Request) -> str:
    """Return the address asked for, without its token; always a path of ours."""
    pairs = asked.query_params.multi_items()
    rest = urlencode([(name, value) for name, value in pairs if name != "token"])
    path = "/" + asked.scope["path"].lstrip("/\\")
    return quote(path) + (f"?{rest}" if rest else "")


def _place(error: BaseException) -> str:
    """Return the kind of an error and where it rose, never its message."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" at {place.tb_frame.f_code.co_name}:{place.tb_lineno}"
    return f"{type(error).__name__}{where}"


def for_program(asked: Request) -> bool:
    """Whether a program asks, which is answered in JSON, and not a person, who sees a page."""
    html = "text/html" in asked.headers.get("accept", "")
    return asked.url.path.startswith("/api/") or not html


def _problem(
    asked: Request, status: int, code: str, message: str, *, again: bool = False
) -> Response:
    """Return the answer that says a problem: JSON for programs, a small page for a person."""
    if for_program(asked):
        return JSONResponse({"code": code, "message": message, "fields": {}}, status)
    # A link from elsewhere comes without the cookie; the same link from this page comes with it.
    way = _way(_here(asked), say("web.door.go_on")) if again else ""
    text = _small_page(say("web.door.title"), f"<p>{escape(message)}</p>{way}")
    return HTMLResponse(text, status)


def leading(address: str, title: str) -> str:
    """Return a page that goes on to an address by itself."""
    refresh = f'<meta http-equiv="refresh" content="0;url={escape(address)}">'
    return _small_page(title, _way(address, say("web.door.onwards")), refresh)


def _way(address: str, words: str) -> str:
    return f'<p><a href="{escape(address)}">{escape(words)}</a></p>'


def _small_page(title: str, body: str, head: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Discreet</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}'
        '<link rel="stylesheet" href="/static/discreet.css"></head><body><main class="alone">'
        f"<h1>{escape(title)}</h1>{body}</main></body></html>"
    )
