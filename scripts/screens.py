"""Photograph the page for the documentation: python scripts/screens.py docs/images

Needs the extras `web` and `test`, and Chromium. Run it when a screen has changed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

# name -> address, width, height
SCREENS = {
    "screen-tolerate": ("/tolerate", 1280, 1180),
    "screen-participant": ("/explain/me", 375, 760),
}


def main(folder: Path) -> None:
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
            photograph(address[0], folder)
        finally:
            server.terminate()
            server.wait()


def photograph(address: str, folder: Path) -> None:
    """Take a picture of each screen."""
    root = address.split("/?")[0]
    with sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_context(reduced_motion="reduce").new_page()
        page.goto(address)  # the token becomes a cookie
        for name, (path, width, height) in SCREENS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.goto(root + path)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(800)
            target = folder / f"{name}.png"
            page.screenshot(path=str(target))
            sys.stdout.write(f"{target}\n")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
