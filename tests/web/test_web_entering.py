"""How someone gets in: a private file for the browser, a door that stays open under a crowd."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import pytest

import browsers
from discreet.web import serving as page_server

LINKED = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
LINKED |= {"Sec-Fetch-Dest": "document", "Accept": "text/html"}


@contextlib.contextmanager
def serving(folder: Path, *flags: str, **settings: str) -> Iterator[tuple[Any, str]]:
    """The command, running: its process, and the address that it printed."""
    command = [sys.executable, "-m", "discreet", "serve", "--port", "0", "--json", *flags]
    running = subprocess.Popen(
        [*command, "--folder", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | settings,
    )
    try:
        assert running.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] not in ("}\n", ""):
            lines.append(running.stdout.readline())
        yield running, json.loads("".join(lines))["url"]
    finally:
        running.kill()
        running.communicate(timeout=60)


def waited(for_what: Any, within: float = browsers.WAIT) -> Any:
    """What is there in the end."""
    end = time.monotonic() + within
    while not (found := for_what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def opener(folder: Path) -> Iterator[tuple[str, Path]]:
    """A browser that writes down what it was given and stays, so that its arguments can be read."""
    told, script = folder / "told", folder / "browser.sh"
    stays = f"exec >/dev/null 2>&1\nwhile [ -e {told} ]; do sleep 0.1; done\n"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" >{told}.new\nmv {told}.new {told}\n{stays}')
    script.chmod(0o700)
    try:
        yield f"{script} %s", told
    finally:
        told.unlink(missing_ok=True)


def arguments() -> list[bytes]:
    """What every program on this machine was started with."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(place.read_bytes())
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="there is no /proc")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, None])
def test_the_token_is_in_nobodys_arguments(tmp_path: Path, end: signal.Signals | None) -> None:
    with (
        opener(tmp_path) as (command, told),
        serving(tmp_path, BROWSER=command) as (running, address),
    ):
        given = waited(lambda: told.exists() and told.read_text())
        token = address.partition("token=")[2]
        seen = arguments()
        assert any(given.encode() in line for line in seen)
        assert not any(token.encode() in line for line in seen)
        way_in = Path(url2pathname(urlsplit(given).path))
        assert urlsplit(given).scheme == "file"
        assert stat.S_IMODE(way_in.stat().st_mode) == 0o600
        assert stat.S_IMODE(way_in.parent.stat().st_mode) == 0o700
        assert address in way_in.read_text()
        if end is None:  # used: it is worth nothing any more, and goes
            assert httpx.get(address, timeout=60).status_code == 303
        else:
            running.send_signal(end)
            running.wait(60)
        waited(lambda: not way_in.parent.exists())


@pytest.mark.slow
def test_the_browser_that_is_opened_gets_in(tmp_path: Path, browser: Any) -> None:
    with opener(tmp_path) as (command, told), serving(tmp_path, BROWSER=command) as (_, address):
        given = waited(lambda: told.exists() and told.read_text())
        context = browser.new_context()
        try:
            page = context.new_page()
            page.goto(given, wait_until="commit")
            home = address.partition("?")[0]
            page.wait_for_url(f"{home}tolerate", timeout=1000 * browsers.WAIT)
            assert "What may be learned" in page.locator("h1").inner_text()
            (cookie,) = context.cookies()
            assert cookie["sameSite"] == "Strict"
            assert cookie["httpOnly"]
            page.goto(home + "ledger")
            assert page.locator("h1").inner_text() == "Ledger"
        finally:
            context.close()


@pytest.mark.slow
def test_chromium_itself_is_started_without_the_token(tmp_path: Path) -> None:
    program = next(filter(None, map(shutil.which, browsers.PROGRAMS)), None)
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    script, pid, dom = tmp_path / "browser.sh", tmp_path / "pid", tmp_path / "dom"
    script.write_text(
        f"#!/bin/sh\necho $$ >{pid}\nexec {program} --headless --no-sandbox --disable-gpu "
        f"--no-first-run --disable-background-networking --user-data-dir={tmp_path / 'profile'} "
        f'--virtual-time-budget=8000 --dump-dom "$1" >{dom} 2>/dev/null\n'
    )
    script.chmod(0o700)
    with serving(tmp_path, BROWSER=f"{script} %s") as (_, address):
        token = address.partition("token=")[2].encode()
        own = waited(lambda: pid.exists() and pid.read_text().strip())
        seen: list[bytes] = []
        end = time.monotonic() + browsers.WAIT
        while Path("/proc", own).exists() and time.monotonic() < end:
            seen += arguments()
            if b"What may be learned" in dom.read_bytes():
                break
            time.sleep(0.2)
        assert any(b"file:///" in line and b"--dump-dom" in line for line in seen)
        assert not any(token in line for line in seen)
        assert b"What may be learned" in dom.read_bytes()
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(own), signal.SIGKILL)


def test_someone_sent_from_a_file_goes_on_with_the_cookie(tmp_path: Path) -> None:
    from test_web_guards import visitor

    them = visitor(tmp_path)
    answer = them.get("/tolerate?token=open-sesame&kind=ratio&fold=3", headers=LINKED)
    assert answer.status_code == 200
    assert 'content="0;url=/tolerate?kind=ratio&amp;fold=3"' in answer.text
    assert "SameSite=Strict" in answer.headers["set-cookie"]
    assert "open-sesame" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert them.get("/tolerate").status_code == 200
    them.cookies.clear()
    assert them.get("/tolerate?token=open-sesame", headers=LINKED).status_code == 403


@pytest.fixture
def many_files() -> Iterator[None]:
    """Enough descriptors for this test's own ends of the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("this machine allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_silent_connections_keep_nobody_out(tmp_path: Path, many_files: None) -> None:
    begun = (b"", b"GET /tolerate HTTP/1.1\r\nHost: 127")
    with serving(tmp_path, "--no-browser") as (running, address):
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (1024, 1024))
        port = urlsplit(address).port
        with contextlib.ExitStack() as held, httpx.Client(follow_redirects=True) as them:
            assert them.get(address, timeout=30).status_code == 200
            for place in range(1200):
                if place % 40 == 0:  # else they come faster than they are taken, and wait seconds
                    them.get(f"http://127.0.0.1:{port}/static/discreet.css", timeout=30)
                silent = held.enter_context(socket.create_connection(("127.0.0.1", port), 30))
                with contextlib.suppress(ConnectionError):
                    silent.sendall(begun[place % 2])
            page = httpx.get(
                f"http://127.0.0.1:{port}/tolerate",
                cookies=them.cookies,
                timeout=30,
                headers={"Accept": "text/html"},
            )
            assert page.status_code == 200
            assert "What may be learned" in page.text
            open_files = len(list(Path("/proc", str(running.pid), "fd").iterdir()))
            assert open_files < page_server.MOST + 100


@pytest.mark.slow
def test_someone_who_sends_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    import uvicorn

    from discreet.web import create_app

    monkeypatch.setattr(page_server, "PATIENCE", 0.5)
    listener = page_server._listener(0)
    app = create_app(tmp_path)

    @app.get("/api/slow")
    def slow() -> str:
        time.sleep(2.5)
        return "x" * 1_000_000

    options = uvicorn.Config(
        app, http=page_server.Connection, log_level="error", lifespan="off", timeout_keep_alive=60
    )
    server = uvicorn.Server(options)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    where = listener.getsockname()
    post = b"POST /release/look HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
    post += b"Content-Type: application/x-www-form-urlencoded\r\n"
    try:
        for sent in (b"", b"GET / HT", post + b"Content-Length: 9\r\n\r\nabc"):
            with socket.create_connection(where, 30) as silent:
                silent.sendall(sent)
                assert select.select([silent], [], [], 20)[0]
                with contextlib.suppress(ConnectionResetError):
                    assert silent.recv(10) == b""
        # Whoever waits for us is answered, however long it takes.
        found = httpx.get(f"http://127.0.0.1:{where[1]}/api/slow", timeout=30)
        assert len(found.json()) == 1_000_000
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
