"""The page, running: in this process for requests, on a loopback port for a browser."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import states as all_states

import browsers

TOKEN = "a-token-for-tests"  # noqa: S105


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    """Requests without a socket, from the page's own origin; the folder is `client.folder`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Starlette will drop httpx for its successor one day
        from starlette.testclient import TestClient

    from discreet.web import create_app

    home = "http://127.0.0.1"
    with TestClient(create_app(tmp_path), base_url=home, headers={"Origin": home}) as found:
        found.folder = tmp_path
        yield found


@dataclass(frozen=True)
class Site:
    """A running server: its address, its working folder, and the cookie that opens it."""

    url: str
    folder: Path
    port: int
    cookies: tuple[dict[str, str], ...]


@contextmanager
def running(folder: Path) -> Iterator[Site]:
    """Serve the page for a folder on a free loopback port."""
    import httpx
    import uvicorn

    from discreet.web import create_app
    from discreet.web.serving import _listener

    listener = _listener(0)
    port = listener.getsockname()[1]
    app = create_app(folder, TOKEN, port)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", access_log=False, lifespan="off")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=url) as first:
        entered = first.get("/", params={"token": TOKEN})
        assert entered.status_code == 303
        cookies = tuple(
            {"name": name, "value": value, "url": url, "sameSite": "Strict"}
            for name, value in first.cookies.items()
        )
    yield Site(url, folder, port, cookies)
    server.should_exit = True
    thread.join(timeout=10)
    listener.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for all browser tests of a run."""
    with running(tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture
def fresh(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A page as someone sees it who starts in an empty folder: `fresh(width=360)`."""
    contexts: list[Any] = []
    with running(tmp_path) as served:

        def opened(width: int = 1280, height: int = 900) -> Any:
            context = browser.new_context(viewport={"width": width, "height": height})
            context.set_default_timeout(1000 * browsers.WAIT)
            context.add_cookies([dict(cookie) for cookie in served.cookies])
            contexts.append(context)
            page = context.new_page()
            page.goto(served.url)
            return page

        yield opened
        for context in contexts:
            context.close()


@pytest.fixture(scope="session")
def states(site: Site) -> dict[str, str]:
    """Every state that tests look at, by name: the pages, the states beside them, a release."""
    return {**all_states.pages(), **all_states.STATES, **all_states.prepare(site.folder)}


@pytest.fixture(scope="session")
def visitors(browser: Any, site: Site) -> Iterator[Callable[..., Any]]:
    """Browsers' contexts that were let in, one for each set of options.

    Pages of one context share what was loaded; what a tab keeps is its own. One page stays open,
    and with it the process that draws them all: to start one, and to load the scripts, is dear.
    """
    contexts: dict[str, Any] = {}

    def visitor(**options: Any) -> Any:
        key = repr(sorted(options.items()))
        if key not in contexts:
            contexts[key] = context = browser.new_context(**options)
            context.set_default_timeout(1000 * browsers.WAIT)
            context.add_cookies([dict(cookie) for cookie in site.cookies])
            context.new_page().goto(f"{site.url}/static/discreet.css")
        return contexts[key]

    yield visitor
    for context in contexts.values():
        context.close()


@pytest.fixture(scope="session")
def tabs() -> list[Any]:
    """Pages that are open and not used; they close with their context."""
    return []


@pytest.fixture
def page_at(
    visitors: Callable[..., Any], tabs: list[Any], site: Site
) -> Iterator[Callable[..., Any]]:
    """Open a path of the site: `page_at("/tolerate", 375, scheme="dark", javascript=False)`.

    A page that logs an error (a script that fails, something the policy blocks), or that asks for
    anything outside, fails the test at its end; with `failing`, requests may fail. A `shared` page
    is one that was open before, which is quicker; what it kept is forgotten. Without options a page
    is shared, unless requests may fail.
    """
    opened: list[Any] = []
    lent: list[Any] = []
    heard: list[tuple[Any, str, Callable[[Any], None]]] = []
    problems: list[str] = []

    def note(request: Any) -> None:
        if not request.url.startswith((site.url, "data:", "blob:")):
            problems.append(f"asked for {request.url}")

    def open_at(
        path: str,
        width: int = 1280,
        *,
        scheme: str = "light",
        javascript: bool = True,
        failing: bool = False,
        shared: bool | None = None,
        **options: Any,
    ) -> Any:
        if shared is None:
            shared = javascript and not failing and not options
        context = visitors(java_script_enabled=javascript, **options)
        page = tabs.pop() if shared and tabs else context.new_page()
        (lent if shared else opened).append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        expected = "Failed to load resource" if failing else "status of 422"

        def wrong(said: Any) -> None:
            if said.type == "error" and expected not in said.text:
                problems.append(said.text)

        listeners: dict[str, Callable[[Any], None]] = {
            "request": note,
            "pageerror": lambda error: problems.append(f"failed: {error}"),
            "console": wrong,
        }
        for event, listener in listeners.items():
            page.on(event, listener)
            if shared:
                heard.append((page, event, listener))
        page.goto(site.url + path)
        return page

    yield open_at
    for page in opened:
        page.close()
    for page, event, listener in heard:
        page.remove_listener(event, listener)
    for page in lent:
        page.unroute_all()
        page.evaluate("sessionStorage.clear()")
        page.emulate_media(media="screen", forced_colors="none")
        page.goto("about:blank")
        tabs.append(page)
    assert not problems, problems


@pytest.fixture
def accessible() -> Callable[..., None]:
    """Check a page with axe-core, and that nothing of it lies sideways."""

    def check(page: Any, **some: bool) -> None:
        browsers.accessible(page, **some)
        width = page.viewport_size["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    return check


@pytest.fixture
def shoot() -> Callable[[Any, str], None]:
    """Keep a picture of the whole page in $DISCREET_SHOTS, for someone to look at, if it is set."""

    def take(page: Any, name: str) -> None:
        if folder := os.environ.get("DISCREET_SHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            browsers.picture(page, Path(folder, f"{name}.png"))

    return take
