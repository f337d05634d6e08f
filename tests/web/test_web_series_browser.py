"""The screen Series in a browser: live, accessible, by keyboard, without script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Open = Callable[..., Any]


def drawn(page: Any) -> None:
    page.wait_for_selector("#belief-chart svg path", timeout=30_000)
    page.wait_for_function("document.querySelectorAll('.stale').length === 0", timeout=30_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 375])
def test_it_is_accessible(
    page_at: Open, accessible: Any, shoot: Any, width: int, scheme: str
) -> None:
    page = page_at("/series", width, scheme=scheme)
    drawn(page)
    shoot(page, f"series-{width}-{scheme}")
    accessible(page)
