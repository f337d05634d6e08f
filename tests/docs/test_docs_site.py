"""The site builds without a warning, every link leads somewhere, nothing comes from elsewhere."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import discreet
from discreet.cli import _COMMANDS

ROOT = Path(__file__).parents[2]
#: What a browser loads by itself, by tag and attribute.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}

pytestmark = pytest.mark.xdist_group("docs")


class Page(HTMLParser):
    """The links, the things loaded and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.unnamed = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "img" and not found.get("alt"):
            self.unnamed += 1
        for name, value in found.items():
            if name in ("href", "src") and value:
                self.links.append(value)
                if (tag, name) in LOADED and found.get("rel") not in ("canonical", "next", "prev"):
                    self.loaded.append(value)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    assert len(pages) > 40
    checked = 0
    for path, page in pages.items():
        if path.name == "404.html":  # its links start at the root of wherever it is hosted
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target /= "index.html"
            assert target.exists(), f"{path.relative_to(site)} leads to {link}"
            if parts.fragment and target.suffix == ".html":
                anchors = pages[target].anchors
                said = f"{path.relative_to(site)} leads to {link}, which has no such anchor"
                assert unquote(parts.fragment) in anchors, said
            checked += 1
    assert checked > 1000


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        outside = [link for link in page.loaded if re.match(r"(https?:)?//", link)]
        assert not outside, (path.relative_to(site), outside)
        assert page.unnamed == 0, f"{path.relative_to(site)} has a picture without words"
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"url\((['\"]?)(https?:)?//", text), path.name


@pytest.mark.slow
def test_the_command_line_page_has_every_command_and_option(site: Path) -> None:
    text = (site / "cli.html").read_text(encoding="utf-8")
    for name in _COMMANDS:
        assert f"discreet {name}" in text
    for flag in ("--unless-ratio", "--strength", "--dry-run", "--approver", "--trials", "--region"):
        assert f"<code>{flag}</code>" in text
    for code in range(6):
        assert f"<td>{code}</td>" in text


@pytest.mark.slow
def test_the_reference_has_every_public_name(site: Path) -> None:
    listed = (site / "reference" / "index.html").read_text(encoding="utf-8")
    for name in discreet.__all__[1:]:
        assert f"<code>discreet.{name}</code>" in listed
    for room, names in _rooms():
        text = (site / "reference" / f"{room}.html").read_text(encoding="utf-8")
        for name in names:
            assert re.search(rf'id="discreet\.[a-z_.]*{name}"', text), (room, name)


def _rooms() -> Iterator[tuple[str, list[str]]]:
    yield "promises", ["Ratio", "PosteriorUnlessRatio", "Groups", "Table"]
    yield "budgets", ["choose", "Choice", "Certificate"]
    yield "beliefs", ["explain", "Belief", "Prior"]
    yield "ledger", ["Ledger", "Amount", "Verification"]
    yield "synthetic", ["Synthesizer", "assess", "risk"]
    yield "charts", ["profile", "icon_array", "promised_against_seen"]


@pytest.mark.slow
def test_search_works_from_disk(site: Path) -> None:
    """The index is a script as well: a page on disk may not fetch a file."""
    script = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    index = json.loads(script[script.index("{") : script.rindex("}") + 1])
    assert len(index["docs"]) > 300
    assert any("certified" in entry["text"] for entry in index["docs"])


def test_every_room_is_in_the_menu() -> None:
    class Loader(yaml.SafeLoader):
        """YAML with MkDocs' tags left alone."""

    Loader.add_multi_constructor("!", lambda *_: None)
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)  # noqa: S506
    listed = set(re.findall(r"reference/(\w+)\.md", json.dumps(config["nav"]))) - {"index"}
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from pages import ROOMS
    finally:
        sys.path.pop(0)
    assert listed == set(ROOMS)
    source = Path(discreet.__file__).parent
    rooms = {path.name for path in source.iterdir() if (path / "__init__.py").exists()}
    assert rooms - {"cli", "web"} <= set(ROOMS)
