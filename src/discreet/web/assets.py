"""Vega, Vega-Lite and Vega-Embed for the browser, from vl-convert: no network, no build step.

Bundling takes seconds and the page must not wait for it, so the bundle is kept in the person's
cache folder, one file a version, and made in the background when it is not there.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
import threading
from functools import cache
from importlib import import_module
from pathlib import Path

_MAKING = threading.Lock()


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


_END = b"\n// the whole bundle\n"


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "discreet"


def warm() -> None:
    """Get ready to draw in the background, so that the first chart need not wait for it."""
    threading.Thread(target=_warm, name="discreet-charts", daemon=True).start()


def _warm() -> None:
    import_module("discreet.charts")  # Altair takes a third of a second
    vega_packed()
