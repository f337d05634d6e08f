"""What the browser loads: style, scripts, and Vega from vl-convert. No network, no build step.

The style stands in every page, so that a page is painted without a second request; the policy
names it by its hash. Bundling Vega takes seconds and the page must not wait for it, so the bundle
is kept in the person's cache folder, one file a version, and made in the background when it is not
there.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from discreet import reports

_MAKING = threading.Lock()
_STATIC = Path(__file__).parent / "static"
_SHARED = Path(reports.__file__).parent  # the figures of the participant's page
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that the browser loads: its bytes, what they are, how long they may be kept."""

    body: bytes
    kind: str
    tag: str
    kept: str


@cache
def static() -> dict[str, Asset]:
    """Return the files that are served, by name."""
    files = [file for file in _STATIC.iterdir() if file.suffix in _KINDS]
    return {file.name: _asset(file) for file in (*files, _SHARED / "figures.js")}


def _asset(file: Path) -> Asset:
    body = file.read_bytes()
    # A browser asks for the icon at every change of the address.
    kept = "private, max-age=86400" if file.suffix == ".svg" else "no-cache"
    return Asset(body, _KINDS[file.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"', kept)


@cache
def style() -> str:
    """Return the style of every page, without comments and indentation."""
    files = (_STATIC / "discreet.css", _SHARED / "figures.css")
    text = "\n".join(file.read_text("utf-8") for file in files)
    return re.sub(r"/\*.*?\*/|^\s+|\n(?=\n)", "", text, flags=re.DOTALL | re.MULTILINE).strip()


@cache
def style_hash() -> str:
    """Return the hash by which a policy allows the style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()


@cache
def vega_version() -> str:
    """Return what names the bundle: the version of vl-convert, which fixes all others."""
    from importlib.metadata import version

    return version("vl-convert-python")


def vega() -> bytes:
    """Return the bundle as an ES module that exports `vegaEmbed`."""
    with _MAKING:  # one thread bundles, the others wait for it
        return _bundle()


@cache
def vega_packed() -> bytes:
    """Return the bundle compressed by gzip: a third of its size."""
    return gzip.compress(vega(), 6, mtime=0)


@cache
def _bundle() -> bytes:
    kept = _folder() / f"vega-{vega_version()}.js"
    with contextlib.suppress(OSError):
        found = kept.read_bytes()
        if found.endswith(_END):
            return found
    import vl_convert

    made = vl_convert.javascript_bundle("export { vegaEmbed };").encode() + _END
    # A cache that cannot be written costs time at the next start, nothing else.
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=kept.parent, suffix=".js")
        with os.fdopen(handle, "wb") as file:
            file.write(made)
        Path(name).replace(kept)
    return made


_PAUSE = 0.3  # seconds in which the first answer has the processor to itself
_END = b"\n// the whole bundle\n"


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "discreet"


def warm(more: Callable[[], None]) -> None:
    """Get ready in the background: for the first screen, for its charts, and then with `more`."""
    threading.Thread(target=_warm, args=(more,), name="discreet-charts", daemon=True).start()


def _warm(more: Callable[[], None]) -> None:
    import_module("discreet.budgets").choose({"ratio": 2.0})
    import_module("discreet.web.screens").templates.get_template("tolerate.html")
    time.sleep(_PAUSE)
    import_module("discreet.charts")  # Altair takes a third of a second
    vega_packed()
    more()
