"""`discreet serve`, the bundle of Vega, and "how is this computed": every line gives its number."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.budgets import choose
from discreet.errors import InputError
from discreet.web import assets
from discreet.web.cost import CostForm
from discreet.web.cost import answer as priced
from discreet.web.sentences import Asked, Condition
from discreet.web.serving import _listener, serve
from discreet.web.tolerate import answer


@pytest.mark.slow
def test_the_command_prints_its_address_serves_and_ends_quietly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "discreet", "serve", "--no-browser", "--port", "0", "--json"]
    with subprocess.Popen(
        [*command, "--folder", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(running.stdout.readline())
        told = json.loads("".join(lines))
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{20,}", told["url"])
        assert told["folder"] == str(tmp_path.resolve())
        with httpx.Client(follow_redirects=True, timeout=60) as them:
            page = them.get(told["url"], headers={"Accept": "text/html"})
            assert page.status_code == 200
            assert "token" not in str(page.url)
            assert "What may be learned" in page.text
        stranger = httpx.get(told["url"].split("?")[0], timeout=60)
        assert stranger.status_code == 403
        long = http.client.HTTPConnection("127.0.0.1", int(told["url"].split(":")[2].split("/")[0]))
        long.request("GET", "/release?spec=" + "x" * 200_000)  # said in words, not by hanging up
        assert long.getresponse().status == 414
        long.close()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 0
    assert errors == ""


def test_a_thread_at_work_in_a_library_does_not_abort_the_end() -> None:
    """The page gets ready in such a thread, which Ctrl-C may find anywhere."""
    program = """
import sys, threading, duckdb
from discreet.cli import main

def busy():
    while True:
        duckdb.connect().execute("select 1").fetchall()
        at_work.set()

at_work = threading.Event()
threading.Thread(target=busy, daemon=True).start()
at_work.wait()
sys.argv = ["discreet", "--version"]
main()
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == b""


def test_it_listens_on_loopback_only_and_says_when_the_port_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} cannot be used") as refused:
            serve(tmp_path, port=port, browser=False)
        assert "--port 0" in refused.value.on_the_command_line
        assert "--port" not in str(refused.value)
    with pytest.raises(InputError, match="from 0 to 65535"):
        serve(tmp_path, port=70000)
    with pytest.raises(InputError, match="not a folder"):
        serve(tmp_path / "nowhere")


def test_an_answer_is_sent_at_once_in_however_many_pieces() -> None:
    """Nagle's algorithm would hold the body back until the head was confirmed, 40 ms later."""

    async def nodelay() -> bool:
        found: list[int] = []

        def met(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken = writer.get_extra_info("socket")
            found.append(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = _listener(0)
        async with await asyncio.start_server(met, sock=listener):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            await reader.read()
            writer.close()
        return bool(found[0])

    with ThreadPoolExecutor() as other:  # a browser of another test may have a loop in this thread
        assert other.submit(lambda: asyncio.run(nodelay())).result(60)


def test_the_first_screen_is_there_before_the_others_and_what_they_need() -> None:
    """Starting takes as long as the first screen needs; the others come when asked for."""
    program = """
import sys
from starlette.testclient import TestClient
from discreet.web import create_app
client = TestClient(create_app(), base_url="http://127.0.0.1")
heavy = {"numpy", "sqlalchemy", "duckdb", "altair", "discreet.releases", "discreet.ledger"}
assert client.get("/tolerate").status_code == 200
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
assert client.get("/api/tolerate").status_code == 200
assert "numpy" in sys.modules  # before Altair draws: it would take one that is half imported
assert client.get("/nowhere").status_code == 404
assert [client.get(path).status_code for path in ("/explain", "/release", "/ledger")] == [200] * 3
assert "/api/explain" in client.get("/openapi.json").json()["paths"]
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_the_bundle_is_kept_and_a_broken_one_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import vl_convert

    made = []

    def bundle(snippet: str) -> str:
        made.append(snippet)
        return "export { vegaEmbed };"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    for expected in (1, 1):
        assets._bundle.cache_clear()
        assert assets.vega().startswith(b"export")
        assert len(made) == expected
    (kept,) = (tmp_path / "discreet").iterdir()
    kept.write_bytes(b"export { veg")  # cut off, by a full disk for instance
    assets._bundle.cache_clear()
    assert assets.vega().startswith(b"export { vegaEmbed };")
    assert len(made) == 2
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))  # a file, where no folder can be made
    assets._bundle.cache_clear()
    assert assets.vega()
    assets._bundle.cache_clear()


def run_line(line: str) -> Any:
    """The value of the last expression of a line of Python, as a person would paste it."""
    import discreet

    *before, last = line.split("#")[0].strip().split("; ")
    space: dict[str, Any] = {"discreet": discreet}
    for statement in before:
        exec(statement, space)  # noqa: S102
    return eval(last, space)  # noqa: S307


def run_command(line: str, capsys: pytest.CaptureFixture[str]) -> Any:
    import shlex

    from discreet.cli import main

    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(line)[1:], "--json"])
    assert ended.value.code in (0, None)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "asked",
    [
        Asked(),
        Asked((Condition("unless", "both"),)),
        Asked((Condition("formula", "value", known=5.0, formula="max(0.15/(p*q), 3)"),)),
        Asked((Condition("difference"), Condition("ratio", "both"))),
        Asked((Condition("difference", points=20.0),), delta=1e-6, confidence=0.95),
    ],
    ids=lambda asked: "-".join(one.kind for one in asked.conditions),
)
def test_every_line_gives_the_number_that_it_explains(
    asked: Asked,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from discreet.web.screens import as_yaml

    found = answer(asked)
    (tmp_path / "tolerance.yaml").write_text(as_yaml(asked.to_mapping()), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    budget, implied, noise = (found.how[name] for name in ("budget", "implied", "noise"))
    assert run_line(budget.python) == found.epsilon
    assert run_command(str(budget.command), capsys)["epsilon"] == found.epsilon
    # ε is shown rounded down, so what follows from the shown one is a little less
    true = next(
        row["posterior"] for row in choose(asked.to_mapping()).implied if row["prior"] == 0.3
    )
    assert true - 1e-3 <= run_line(implied.python) <= true
    told = run_command(str(implied.command), capsys)
    assert told["posterior"]["upper"] == run_line(implied.python)
    assert f"{run_line(noise.python):.2f}" in found.noise


def test_every_line_of_cost_gives_its_number() -> None:
    found = priced(CostForm.model_validate({"kind": "epsilon", "epsilon": "0.5"}))
    assert f"±{run_line(found.how['noise'].python)} " in found.rows[3][1]
    assert f"{100 * run_line(found.how['crossing'].python):.1f}" in found.rows[-1][1]
