"""The screen Explain and the participant's view in a browser: live, accessible, by keyboard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow
Open = Callable[..., Any]


def drawn(page: Any) -> None:
    page.wait_for_selector("#icons i.after")
    page.wait_for_function("() => document.querySelectorAll('.stale').length === 0")


def test_the_kind_of_promise_shows_its_numbers(page_at: Open) -> None:
    page = page_at("/explain")
    drawn(page)
    assert page.locator("[name=rho]").is_hidden()
    page.locator("[name=kind]").select_option("concentrated")
    assert page.locator("[name=rho]").is_visible()
    assert page.locator("[name=epsilon]").is_hidden()
    page.wait_for_function("() => location.search.includes('kind=concentrated')")
    page.locator("[name=audience][value=regulator]").check()
    assert page.locator("#learned-regulator").is_visible()
    assert page.locator("#learned-public").is_hidden()
    assert "Protected unit" in page.locator("#learned-regulator").inner_text()


def test_a_deployment_is_picked_and_taken_to_the_participant(page_at: Open) -> None:
    page = page_at("/explain")
    drawn(page)
    page.get_by_role("link", name="Wikipedia page views").click()
    drawn(page)
    assert page.locator("[name=rho]").input_value() == "0.015"
    assert "one device's day" in page.locator("#learned-public").inner_text()
    page.locator("#me").click()
    drawn(page)
    assert "one device's day" in page.locator("#worry-text").inner_text()


def test_the_slider_speaks(page_at: Open) -> None:
    page = page_at("/explain/me?epsilon=0.5", 375)
    drawn(page)
    assert page.locator("#after").inner_text() == "42 in 100"
    page.locator("#suspect").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.getElementById('suspect').ariaValueText === '31 in 100'")
    assert page.locator("#before").inner_text() == "31 in 100"
    page.wait_for_function("() => location.search.includes('suspect=31')")
    page.locator("[name=about][value='a value']").check()
    page.wait_for_function(
        "() => document.getElementById('worry-text').textContent.includes('sensitive value')"
    )


def test_without_script_the_odds_are_there(page_at: Open) -> None:
    page = page_at("/explain/me?epsilon=0.5&suspect=30", 375, javascript=False)
    assert page.locator("#after").inner_text() == "42 in 100"
    page.locator("[name=knows][value='a hunch']").check()
    page.locator("main button").click()
    page.wait_for_url("**knows=a+hunch**")
    assert "only a hunch" in page.locator("#worry-text").inner_text()
