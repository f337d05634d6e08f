"""Photograph the page: python scripts/screens.py docs/images for the documentation,
python scripts/screens.py FOLDER --all for every screen, whole, on a phone, a tablet and a desk.

Needs the extras `web` and `test`, and Chromium. Run it when a screen has changed, and look.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import sync_playwright

from discreet.web.screens import SCREENS as KNOWN

# name -> address, width, height
SCREENS = {
    "screen-tolerate": ("/tolerate", 1280, 1180),
    "screen-participant": ("/explain/me?epsilon=0.952", 375, 760),
}
EVERY = {
    f"{path.strip('/').partition('?')[0].replace('/', '-')}-{width}": (path, width, None)
    for path in (*(one.path for one in KNOWN), "/explain/me?epsilon=0.952")
    for width in (360, 768, 1280)
}


def main(folder: Path, *, every: bool = False) -> None:
    """Start the page in an empty folder, photograph it, and end it."""
    with tempfile.TemporaryDirectory() as home:
        words = ["serve", "--port", "0", "--no-browser", "--folder", home]
        server = subprocess.Popen(  # noqa: S603  (our own program)
            [sys.executable, "-m", "discreet", *words], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None  # noqa: S101
            address = re.search(r"http://\S+", server.stdout.readline())
            assert address is not None  # noqa: S101
            photograph(address[0], folder, EVERY if every else SCREENS)
        finally:
            server.terminate()
            server.wait()


def photograph(
    address: str, folder: Path, screens: Mapping[str, tuple[str, int, int | None]]
) -> None:
    """Take a picture of each screen; without a height, of all of it."""
    folder.mkdir(parents=True, exist_ok=True)
    root = address.split("/?")[0]
    with sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_context(reduced_motion="reduce").new_page()
        page.goto(address)  # the token becomes a cookie
        for name, (path, width, height) in screens.items():
            page.set_viewport_size({"width": width, "height": height or 900})
            page.goto(root + path)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(800)
            target = folder / f"{name}.png"
            page.screenshot(path=str(target), full_page=height is None)
            sys.stdout.write(f"{target}\n")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), every="--all" in sys.argv)
