"""The screen Series in a browser: live, accessible, by keyboard, without script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Open = Callable[..., Any]


def drawn(page: Any) -> None:
    page.wait_for_selector("#belief-chart svg path")
    page.wait_for_function("() => document.querySelectorAll('.stale').length === 0")


def test_typing_moves_numbers_address_and_file(page_at: Open) -> None:
    page = page_at("/series?limit=99")
    drawn(page)
    assert page.locator("#headline").inner_text() == "release 97"
    page.locator("[name=budget]").fill("0.02")
    page.wait_for_function("() => document.getElementById('headline').textContent !== 'release 97'")
    page.wait_for_function("() => location.search.includes('budget=0.02')")
    assert "budget=0.02" in page.locator("#state-yaml").get_attribute("href")
    shown = page.locator("#headline").inner_text()
    page.reload()
    drawn(page)
    assert page.locator("#headline").inner_text() == shown


def test_what_is_refused_is_said_and_the_numbers_fade(page_at: Open) -> None:
    page = page_at("/series")
    drawn(page)
    page.locator("[name=budget]").fill("-1")
    page.wait_for_function(
        "() => document.querySelector('[data-problem]').textContent.includes('cannot be used')"
    )
    assert "budget of each release" in page.locator("#p-budget").inner_text()
    page.wait_for_selector("#belief.stale")
    page.locator("[name=budget]").fill("0.01")
    page.wait_for_function("() => document.querySelector('[data-problem]').textContent === ''")
    drawn(page)


def test_by_keyboard_and_without_script_it_is_the_same(page_at: Open) -> None:
    plain = page_at("/series", javascript=False)
    plain.locator("[name=limit]").focus()
    plain.keyboard.press("Control+A")
    plain.keyboard.type("99")
    plain.keyboard.press("Enter")
    plain.wait_for_url("**limit=99**")
    assert plain.locator("#headline").inner_text() == "release 97"
    assert plain.locator("#strengths tbody tr").count() == 3
