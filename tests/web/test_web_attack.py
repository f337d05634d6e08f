"""The screen Attack: the steps of `discreet attack`, shown one after the other."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from browsers import until
from discreet.auditing.attackers import ATTACKERS


@pytest.mark.parametrize("name", ATTACKERS)
def test_every_attack_has_a_screen(client: Any, name: str) -> None:
    found = client.get("/api/attack", params={"name": name, "before": "20", "epsilon": "0.4"})
    assert found.status_code == 200
    said = found.json()
    assert len(said["rows"]) == len(said["places"])
    assert all(len(row) == len(said["header"]) for row in said["rows"])
    assert {row["k"] for row in said["chart"]["datasets"]["steps"]} == set(said["places"])
    page = client.get("/attack", params={"name": name, "before": "20", "epsilon": "0.4"}).text
    assert said["title"] in page
    assert f"discreet attack {name} --epsilon 0.4 --prior 0.2" in page
    same = client.get("/api/attack", params={"name": name, "before": "20", "epsilon": "0.4"})
    assert same.json() == said  # reloading shows what was shown


def test_what_cannot_be_is_told_at_its_field(client: Any) -> None:
    found = client.get("/api/attack", params={"before": "100", "times": "1.5"})
    assert found.status_code == 422
    assert set(found.json()["fields"]) == {"before", "times"}


@pytest.mark.slow
def test_steps_are_shown_one_after_the_other(
    page_at: Callable[..., Any], accessible: Callable[..., None], shoot: Callable[[Any, str], None]
) -> None:
    expect = import_module("playwright.sync_api").expect
    page = page_at("/attack?name=averaging")
    # The steps came with the page: a press shows them whatever the server does.
    page.route("**/api/attack*", lambda route: route.abort())
    page.reload()
    until(page, "!!document.querySelector('#attack-chart svg')")
    until(page, "document.querySelectorAll('#steps tbody tr').length > 1")
    steps = page.locator("#steps tbody tr")
    all_steps = steps.count()
    expect(page.locator("#next")).to_be_disabled()  # all of them are shown at first
    page.click("#first")
    expect(steps).to_have_count(1)
    page.click("#next")
    expect(steps).to_have_count(2)
    page.unroute("**/api/attack*")
    page.focus("#step")
    page.keyboard.press("End")
    expect(steps).to_have_count(all_steps)
    accessible(page)
    page.set_viewport_size({"width": 360, "height": 800})
    accessible(page)
    shoot(page, "attack-360")
    page.check("[value=draining]")
    expect(page.locator("#attack-title")).to_contain_text("Draining")
