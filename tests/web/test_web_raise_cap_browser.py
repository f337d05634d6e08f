"""A cap is raised in a browser: asked, shown, confirmed; going back and reloading raise nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet.guarantees import PureDP
from discreet.ledger import Ledger

pytestmark = pytest.mark.slow


def test_a_lead_raises_a_cap(
    site: Any,
    page_at: Callable[..., Any],
    accessible: Callable[[Any], None],
    shoot: Callable[[Any, str], None],
) -> None:
    book = Ledger.open(f"sqlite:///{site.folder / 'granted.db'}")
    terms = {"unit": "person", "adjacency": "add-remove", "approver": "A", "reason": "b"}
    book.open_account("people", filter="pure", cap=PureDP(1.0), **terms)
    page = page_at("/ledger?ledger=granted.db", 375)
    page.get_by_text("Raise a cap").click()
    page.get_by_label("More ε").fill("0.5")
    page.get_by_label("Approved by").fill("A. Lead")
    page.get_by_label("Reason").fill("another year of the survey")
    shoot(page, "grant-asked")
    page.get_by_role("button", name="Show what it comes to").click()
    page.get_by_role("heading", name="Raise the cap").wait_for()
    assert [entry.kind for entry in book.entries()] == ["begin", "open"]
    accessible(page)
    shoot(page, "grant-shown")
    page.get_by_role("button", name="Raise the cap to ε = 1.5").click()
    page.get_by_role("cell", name="cap raised by ε = 0.5").wait_for()
    accessible(page)
    shoot(page, "grant-made")
    page.go_back()
    page.get_by_role(
        "button", name="Raise the cap to ε = 2"
    ).wait_for()  # asked anew, from the cap as it is
    page.reload()
    assert [entry.kind for entry in book.entries()] == ["begin", "open", "grant"]
