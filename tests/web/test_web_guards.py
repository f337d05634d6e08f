"""The door: who is let in, what every answer carries, and what is told when something breaks."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from discreet.web import create_app
from discreet.web.guards import ADDRESS_LIMIT, BODY_LIMIT
from soaking import examples

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

HOME = "http://127.0.0.1:8765"
HTML = {"Accept": "text/html"}


def visitor(folder: Path, **headers: str) -> Any:
    """Someone who knocks at a server with the token `open-sesame`."""
    app = create_app(folder, "open-sesame", 8765)
    return TestClient(app, base_url=HOME, headers=headers, follow_redirects=False)


def test_without_the_token_nothing_is_served(tmp_path: Path) -> None:
    them = visitor(tmp_path)
    for path in ("/", "/tolerate", "/api/tolerate", "/openapi.json", "/cost/tolerances.yaml"):
        answer = them.get(path)
        assert answer.status_code == 403
        assert answer.json()["code"] == "token"
    assert them.get("/tolerate?token=wrong", headers=HTML).status_code == 403
    assert "start it again" in them.get("/tolerate?token=wrong", headers=HTML).text
    assert them.get("/tolerate", headers={"Cookie": "discreet-8765=wrong"}).status_code == 403
    assert them.get("/tolerate", headers={"Cookie": 'discreet-8765="\\377"'}).status_code == 403


def test_the_token_becomes_a_cookie_once(tmp_path: Path) -> None:
    them = visitor(tmp_path)
    first = them.get("/tolerate?token=open-sesame&kind=ratio&fold=3")
    assert first.status_code == 303
    assert first.headers["location"] == "/tolerate?kind=ratio&fold=3"
    said = first.headers["set-cookie"]
    assert "HttpOnly" in said
    assert "SameSite=Strict" in said
    assert "open-sesame" not in said
    assert them.get("/tolerate").status_code == 200
    # The same address again: this browser goes on, another is refused.
    assert them.get("/tolerate?token=open-sesame").status_code == 303
    them.cookies.clear()
    assert them.get("/tolerate?token=open-sesame").status_code == 403


def test_the_way_in_leads_to_this_site_only(tmp_path: Path) -> None:
    them = visitor(tmp_path)
    answer = them.get(f"{HOME}//evil.example/x?token=open-sesame")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/evil.example/x"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:1", "localhost:87650", ""]
)
def test_a_foreign_name_is_refused(tmp_path: Path, host: str) -> None:
    answer = visitor(tmp_path).get("/tolerate?token=open-sesame", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["code"] == "host"


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"])
def test_loopback_names_are_ours(tmp_path: Path, host: str) -> None:
    answer = visitor(tmp_path).get("/?token=open-sesame", headers={"Host": host})
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "https://127.0.0.1:8765"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
def test_other_sites_are_refused(tmp_path: Path, headers: dict[str, str]) -> None:
    them = visitor(tmp_path)
    them.get("/?token=open-sesame")
    assert them.get("/tolerate").status_code == 200
    for method in ("GET", "POST", "PUT", "DELETE"):
        answer = them.request(method, "/api/tolerate", headers=headers)
        assert answer.status_code == 403
        assert answer.json()["code"] == "origin"
    assert them.get("/static/discreet.js", headers=headers).status_code == 403


def test_what_changes_something_must_say_where_it_comes_from(tmp_path: Path) -> None:
    them = visitor(tmp_path)
    them.get("/?token=open-sesame")
    assert them.post("/api/tolerate").status_code == 403
    own = {"Origin": HOME}
    assert them.post("/api/tolerate", headers=own).status_code == 405  # let in; nothing to post to
    assert them.post("/api/tolerate", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 405


def test_a_link_from_elsewhere_gets_as_far_as_the_door(tmp_path: Path) -> None:
    them = visitor(tmp_path)
    linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    linked |= {"Sec-Fetch-Dest": "document"} | HTML
    answer = them.get("/tolerate?kind=ratio&fold=3", headers=linked)
    assert answer.status_code == 403
    assert 'href="/tolerate?kind=ratio&amp;fold=3"' in answer.text


def test_every_answer_carries_the_policy(tmp_path: Path) -> None:
    them = visitor(tmp_path)
    refused = [them.get("/"), them.get("/", headers={"Host": "evil.example"})]
    entered = them.get("/?token=open-sesame")
    served = [
        them.get(path)
        for path in (
            "/tolerate", "/cost", "/api/tolerate", "/api/cost?fold=x", "/nothing", "/openapi.json",
            "/static/discreet.css", "/static/nothing.js", "/tolerate/tolerance.yaml",
        )
    ]  # fmt: skip
    for answer in [*refused, entered, *served]:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "cache-control" in answer.headers


@pytest.mark.parametrize("path", ["/tolerate", "/cost", "/nothing"])
def test_no_script_or_handler_is_inline_and_one_style_that_the_policy_names(
    client: Any, path: str
) -> None:
    answer = client.get(path, headers=HTML)
    text, policy = answer.text, answer.headers["content-security-policy"]
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'self' 'sha256-{hashed}';" in policy
    assert "unsafe" not in policy
    text = text.replace(style, "")
    assert " style=" not in text
    assert " on" + "click=" not in text
    assert "javascript:" not in text
    assert text.count("<script") == text.count('<script type="module" src="/static/')
    assert "http://" not in text.replace("http://127.0.0.1", "")
    assert "https://" not in text


@pytest.mark.parametrize(
    "name",
    [
        "../app.py", "..%2fapp.py", "%2e%2e/app.py", "..%5capp.py", "....//app.py",
        "/etc/passwd", "%2fetc%2fpasswd", "discreet.css%00.js", "templates/base.html", ".", "..",
    ],
)  # fmt: skip
def test_static_files_are_those_there_are(client: Any, name: str) -> None:
    answer = client.get(f"/static/{name}", follow_redirects=False)
    assert answer.status_code in (303, 404), name
    assert "import" not in answer.text
    assert "root:" not in answer.text


def test_bodies_are_bounded(client: Any) -> None:
    large = b"x" * (BODY_LIMIT + 1)
    answer = client.post("/api/tolerate", content=large)
    assert answer.status_code == 413
    assert answer.json()["code"] == "too-large"
    assert client.post("/api/tolerate", content=b"x").status_code == 405


def test_addresses_are_bounded(client: Any) -> None:
    answer = client.get("/release?spec=" + "x" * ADDRESS_LIMIT, headers={"Accept": "text/html"})
    assert answer.status_code == 414
    assert f"longer than {ADDRESS_LIMIT:,} characters" in answer.text
    assert client.get("/release?spec=" + "x" * (ADDRESS_LIMIT - 100)).status_code == 422


def test_a_body_without_a_length_is_counted_as_it_arrives(tmp_path: Path) -> None:
    app = create_app(tmp_path)
    seen: list[int] = []

    @app.post("/api/swallow")
    async def swallow(request: Request) -> dict[str, int]:
        size = 0
        async for part in request.stream():
            size += len(part)
            seen.append(size)
        return {"size": size}

    them = TestClient(app, base_url="http://127.0.0.1", headers={"Origin": "http://127.0.0.1"})
    answer = them.post("/api/swallow", content=(b"x" * 100_000 for _ in range(40)))
    assert answer.status_code == 413
    assert answer.json()["code"] == "too-large"
    assert max(seen, default=0) <= BODY_LIMIT
    assert them.post("/api/swallow", content=b"x" * 1000).json() == {"size": 1000}


def test_someone_who_leaves_in_the_middle_is_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = create_app(tmp_path)
    sent: list[Any] = []
    arriving = [{"type": "http.request", "body": b"--x", "more_body": True}]

    async def receive() -> dict[str, Any]:
        return arriving.pop() if arriving else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {
        "host": "127.0.0.1",
        "origin": "http://127.0.0.1",
        "content-type": "multipart/form-data; boundary=x",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/release/upload",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    # In a thread of its own: a browser of other tests may keep a loop running in this one.
    knocking = threading.Thread(target=lambda: asyncio.run(app(scope, receive, send)))
    knocking.start()
    knocking.join(30)
    assert not knocking.is_alive()
    assert not sent
    assert capsys.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []


MARK = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"
ASKED = {
    "/tolerate": ("kind", "worry", "after", "formula", "upto", "delta", "sided", "add", "remove"),
    "/cost": ("kind", "epsilon", "count", "limit", "rows", "confidence"),
    "/series": ("mechanism", "budget", "per_year", "before", "about", "delta"),
    "/explain": ("kind", "epsilon", "unit", "adjacency", "audience", "before", "every"),
    "/explain/me": ("kind", "rho", "unit", "suspect", "about", "knows"),
    "/release": ("spec", "file", "source", "promise"),
    "/release/made/none": ("x",),
    "/ledger": ("ledger", "file", "account", "head", "verify"),
}


@pytest.mark.parametrize("path", ASKED)
def test_what_is_asked_is_never_markup(client: Any, path: str) -> None:
    for name in ASKED[path]:
        kinds = {"kind": "formula"} if name == "formula" else {}
        for value in (
            MARK,
            f"account: {MARK!r}",
            f"tolerance: {{profile: {MARK!r}}}",
            "9" * 40_000,
        ):
            answer = client.get(path, params=kinds | {name: value}, headers=HTML)
            assert answer.status_code in (200, 422), (name, answer.text[:300])
            assert "<script>alert" not in answer.text, name
            assert "<img src=x" not in answer.text, name
            assert "</html>" in answer.text
            link = answer.headers.get("location", "/")
            assert link.startswith("/")


@pytest.mark.parametrize(
    "path", ["/tolerate/tolerance.yaml", "/cost/tolerances.yaml", "/release/spec.yaml"]
)
def test_the_name_of_a_download_is_ours(client: Any, path: str) -> None:
    answer = client.get(path, params={"name": 'x"; filename="evil.exe', "spec": "a\r\nX-Evil: 1"})
    said = answer.headers["content-disposition"]
    assert re.fullmatch(r'attachment; filename="[a-z]+\.yaml"', said)
    assert "x-evil" not in answer.headers


def test_a_fault_of_ours_tells_its_place_and_no_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = create_app(tmp_path)

    @app.get("/api/broken")
    def broken() -> None:
        raise RuntimeError("patient 4711 has it")

    them = TestClient(app, base_url="http://127.0.0.1")
    answer = them.get("/api/broken")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "broken:" in answer.json()["message"]
    assert answer.headers["content-security-policy"]
    assert "4711" not in answer.text + capsys.readouterr().err


def test_openapi_names_every_endpoint(client: Any) -> None:
    found = client.get("/openapi.json").json()
    assert {"/api/tolerate", "/api/cost"} <= set(found["paths"])
    assert all(path.startswith("/api/") for path in found["paths"])
    asked = found["paths"]["/api/tolerate"]["get"]["parameters"]
    assert {"kind", "worry2", "after", "handle", "x", "delta"} <= {one["name"] for one in asked}
    assert client.get("/docs").status_code == 404


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(
    st.dictionaries(
        st.sampled_from(["host", "origin", "cookie", "content-length", "sec-fetch-site", "accept"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30),
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40),
)
def test_no_header_breaks_the_door(headers: dict[str, str], query: str) -> None:
    them = TestClient(create_app(".", "open-sesame", 8765), base_url=HOME, follow_redirects=False)
    answer = them.get("/tolerate", params={"token": query}, headers=headers)
    assert answer.status_code in (403, 413, 421)


def test_a_file_that_the_browser_has_is_not_sent_again(client: Any) -> None:
    first = client.get("/static/discreet.js")
    again = client.get("/static/discreet.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/static/discreet.js", headers={"If-None-Match": '"x"'}).status_code == 200
    # Chromium asks for the icon at every change of the address, so at every step of a drag.
    assert "max-age" in client.get("/static/icon.svg").headers["cache-control"]
