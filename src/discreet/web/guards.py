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

import json
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.web.assets import style_hash
from discreet.words import say

BODY_LIMIT = 1_000_000
ADDRESS_LIMIT = 64_000
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_SAFE = ("GET", "HEAD", "OPTIONS")
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


_HTML = {"content-type": "text/html; charset=utf-8"}


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
        headers = Headers(scope=scope)
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                kept = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    kept[name] = value
                kept.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = self._refused(scope, headers)
        if refused is not None:
            await _say(answer, scope, *refused)
            return
        entered = self._entered(scope, headers)
        if entered is False:
            await _say(answer, scope, 403, "token", say("web.door.token"), again=True)
            return
        if entered:
            cookie = f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"
            if headers.get("sec-fetch-site") in (None, "none", "same-origin"):
                await _send(answer, 303, b"", {"location": _here(scope), "set-cookie": cookie})
            else:
                await _send(answer, 200, _onwards(scope), _HTML | {"set-cookie": cookie})
            return
        limit = self._limit(scope["path"])
        too_large = (413, "too-large", say("web.door.too_large", limit=f"{limit:,}"))
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared[:20]) > limit:
            await _say(answer, scope, *too_large)
            return
        received = 0

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise _TooLarge
            return message

        try:
            await self.app(scope, bounded, answer)
        except _TooLarge:
            if not started:
                await _say(answer, scope, *too_large)
        except ClientDisconnect:
            return  # they left in the middle of what they sent: nobody is there to be told
        except Exception as error:
            where = _place(error)
            sys.stderr.write(say("web.door.log", where=where, path=scope["path"][:80]) + "\n")
            if not started:
                await _say(answer, scope, 500, "internal", say("web.door.fault", where=where))

    def _limit(self, path: str) -> int:
        found = [limit for start, limit in self.limits.items() if path.startswith(start)]
        return max(found, default=BODY_LIMIT)

    def _hosts(self) -> tuple[str, ...]:
        if self.port is None:
            return (*_LOOPBACK, "testserver")
        return tuple(f"{name}:{self.port}" for name in _LOOPBACK)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str, str] | None:
        """Return status, code and message for a request from the wrong place, or nothing."""
        host = headers.get("host", "")
        named = host if self.port is not None else re.sub(r":\d+$", "", host)
        if named not in self._hosts():
            return 421, "host", say("web.door.host")
        if len(scope["path"]) + len(scope["query_string"]) > ADDRESS_LIMIT:
            return 414, "too-long", say("web.door.too_long", limit=f"{ADDRESS_LIMIT:,}")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        own = {f"http://{host}"}
        if origin is not None and origin not in own:
            return 403, "origin", say("web.door.elsewhere")
        linked = (
            scope["method"] == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        if site not in (None, "same-origin", "none") and not linked:
            return 403, "origin", say("web.door.elsewhere")
        if scope["method"] not in _SAFE and origin is None and site != "same-origin":
            return 403, "origin", say("web.door.no_origin")
        return None

    def _entered(self, scope: Scope, headers: Headers) -> bool | None:
        """Return whether someone just came in with a token; None for who is in, or needs no token.

        False is someone who may not enter.
        """
        if self.session is None:
            return None
        known = secrets.compare_digest(_cookie(headers, self.cookie), self.session)
        pairs = parse_qsl(scope["query_string"].decode("latin-1"))
        given = [value for name, value in pairs if name == "token"]
        if given and scope["method"] == "GET":
            token = self.token
            if token and secrets.compare_digest(given[0].encode(), token.encode()):
                self.token = None
                known = True
                if self.entered is not None:
                    self.entered()
            if known:
                return True
        return None if known or scope["path"].startswith("/static/") else False


def _here(scope: Scope) -> str:
    """Return the address asked for, without its token; always a path of ours."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    rest = urlencode([(name, value) for name, value in pairs if name != "token"])
    path = "/" + scope["path"].lstrip("/\\")
    return quote(path) + (f"?{rest}" if rest else "")


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None and found.value.isascii() else ""


def _place(error: BaseException) -> str:
    """Return the kind of an error and where it rose, never its message."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" at {place.tb_frame.f_code.co_name}:{place.tb_lineno}"
    return f"{type(error).__name__}{where}"


async def _say(
    send: Send, scope: Scope, status: int, code: str, message: str, *, again: bool = False
) -> None:
    """Answer with a problem: JSON for programs, a small page for a person."""
    accepts = Headers(scope=scope).get("accept", "")
    if scope["path"].startswith("/api/") or "text/html" not in accepts:
        body = json.dumps({"code": code, "message": message, "fields": {}}).encode()
        await _send(send, status, body, {"content-type": "application/json"})
        return
    # A link from elsewhere comes without the cookie; the same link from this page comes with it.
    way = _way(scope, say("web.door.go_on")) if again else ""
    text = _small_page(say("web.door.title"), f"<p>{escape(message)}</p>{way}")
    await _send(send, status, text, _HTML)


def _onwards(scope: Scope) -> bytes:
    """Return a page that goes on by itself to where someone wanted to go."""
    refresh = f'<meta http-equiv="refresh" content="0;url={escape(_here(scope))}">'
    return _small_page(say("web.door.entered"), _way(scope, say("web.door.onwards")), refresh)


def _way(scope: Scope, words: str) -> str:
    return f'<p><a href="{escape(_here(scope))}">{escape(words)}</a></p>'


def _small_page(title: str, body: str, head: str = "") -> bytes:
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Discreet</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}'
        '<link rel="stylesheet" href="/static/discreet.css"></head><body><main class="alone">'
        f"<h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    return text.encode()


async def _send(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    headers = headers | {"content-length": str(len(body))}
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
