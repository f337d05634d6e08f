"""The screen Explain and the participant's view in a browser: live, accessible, by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Open = Callable[..., Any]


def drawn(page: Any) -> None:
    page.wait_for_selector("#icons svg path", timeout=30_000)
    page.wait_for_function("document.querySelectorAll('.stale').length === 0", timeout=30_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("path", ["/explain", "/explain/me"])
def test_it_is_accessible(
    page_at: Open, accessible: Any, shoot: Any, path: str, width: int, scheme: str
) -> None:
    page = page_at(path, width, scheme=scheme)
    drawn(page)
    shoot(page, f"{path.strip('/').replace('/', '-')}-{width}-{scheme}")
    accessible(page)
