"""Tolerate and Cost in a browser: seen, dragged, typed, by keyboard, on a phone, without script."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from browsers import until

pytestmark = pytest.mark.slow
ONE = "/tolerate?kind=unless&worry=in&after=25&fold=3"


def settled(page: Any) -> Any:
    """Wait until charts are drawn, handles placed, no number is faded, and no answer is awaited."""
    page.wait_for_selector(".chart svg")
    if "/tolerate" in page.url:
        page.wait_for_selector(".handle")
    until(page, "!document.querySelector('.stale, [aria-busy=true]')")
    return page


def epsilon(page: Any) -> float:
    return float(page.locator("#epsilon").inner_text())


def dragged(page: Any, handle: Any, across: int, down: int) -> dict[str, float]:
    """Drag a handle so many pixels, in steps, and let go; return where it was."""
    handle.scroll_into_view_if_needed()
    box: dict[str, float] = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 16):
        page.mouse.move(x + across * step / 15, y + down * step / 15)
    page.mouse.up()
    return box


def test_a_handle_is_dragged(
    page_at: Callable[..., Any], shoot: Callable[[Any, str], None]
) -> None:
    page = settled(page_at(ONE))
    handle = page.get_by_role("slider", name="Belief after, at most")
    assert handle.get_attribute("aria-valuetext") == "at most 25 in 100"
    before = epsilon(page)
    dragged(page, handle, 0, -60)
    until(page, f"+document.getElementById('epsilon').innerText > {before}")
    typed = float(settled(page).locator("[name=after]").input_value())
    assert 30 < typed < 60
    until(page, f"location.search.includes('after={typed:g}')")
    until(page, f"document.querySelector('[aria-valuetext=\"at most {typed:g} in 100\"]')")
    # the handle lies where the value is, and the number is the one Python gives
    from discreet.budgets import choose

    true = choose({"posterior": typed / 100, "unless_ratio": 3, "q": 1}).epsilon
    assert epsilon(page) == pytest.approx(true, abs=1e-4)
    shoot(page, "tolerate-dragged")


def test_by_keyboard_alone(page_at: Callable[..., Any]) -> None:
    page = settled(page_at("/tolerate"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "slider":
            break
    else:
        pytest.fail("the handle is not reached by the Tab key")
    before = epsilon(page)
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    until(page, "document.querySelector('[name=after]').value === '14.5'")
    spoken = page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
    assert spoken == "at most 14.5 in 100"
    assert epsilon(page) > before
    until(page, "document.getElementById('announcer').innerText.includes('epsilon')")


def test_a_handle_of_the_map_is_dragged_and_moved_by_the_keyboard(
    page_at: Callable[..., Any],
) -> None:
    page = settled(page_at(ONE.replace("worry=in", "worry=both")))
    handle = page.get_by_role("slider", name="Growth of belief at most, on the map")
    handle.wait_for()
    assert handle.get_attribute("aria-valuetext") == "at most 3-fold"
    box = dragged(page, handle, -60, 60)
    # The handle of the curve says the same, and the one on the map comes to rest where it was left.
    curve = page.get_by_role("slider", name="Growth of belief at most", exact=True)
    folds = settled(page).locator("[name=fold]").input_value()
    said = f"at most {folds}-fold"
    until(page, f"document.querySelectorAll('[aria-valuetext=\"{said}\"]').length === 2")
    assert curve.get_attribute("aria-valuetext") == said
    left = handle.bounding_box()
    assert abs(left["x"] - box["x"] + 60) < 60
    assert abs(left["y"] - box["y"] - 60) < 60
    handle.focus()
    page.keyboard.press("ArrowUp")
    more = f"{float(folds) + 0.1:g}"
    until(page, f"document.querySelector('[name=fold]').value === '{more}'")
    until(page, f"document.activeElement.getAttribute('aria-valuetext') === 'at most {more}-fold'")


def test_typing_changes_the_curve_and_an_unfinished_number_keeps_the_last(
    page_at: Callable[..., Any],
) -> None:
    page = settled(page_at("/tolerate"))
    assert page.locator("[data-problem]").inner_text() == ""
    page.fill("[name=after]", "20")
    until(page, "document.getElementById('epsilon').innerText === '1.5581'")
    page.fill("[name=after]", "2")
    until(page, "document.querySelector('[data-problem]').innerText !== ''")
    assert "The belief after, 2 %, must be above" in page.locator("[data-problem]").inner_text()
    assert page.locator("#epsilon").inner_text() == "1.5581"
    assert page.locator("#results.stale").count() == 1
    page.fill("[name=after]", "25")
    until(page, "document.querySelector('[data-problem]').innerText === ''")


def test_a_sentence_of_another_kind_and_one_more(page_at: Callable[..., Any]) -> None:
    page = settled(page_at("/tolerate"))
    page.focus("#kind")
    page.select_option("#kind", "unless")
    page.wait_for_selector("[name=fold]")
    assert page.evaluate("document.activeElement.id") == "kind"
    page.get_by_label("both").check()
    until(page, "document.getElementById('maps').hidden === false")
    page.get_by_role("button", name="Another sentence").click()
    page.wait_for_selector("[name=kind2]")
    page.select_option("#kind2", "difference")
    page.wait_for_selector("[name=points2]")
    until(page, "location.search.includes('kind2=difference')")
    page.get_by_role("button", name="Remove").first.click()
    until(page, "!document.querySelector('[name=kind2]')")
    until(page, "location.search.includes('kind=difference')")


def test_an_example_is_taken(page_at: Callable[..., Any]) -> None:
    page = settled(page_at("/tolerate"))
    page.get_by_text("Start from an example").click()
    page.get_by_role("link", name="K&R, equation 33").click()
    until(page, "document.getElementById('epsilon').innerText === '0.6496'")


def test_link_and_file(page_at: Callable[..., Any], tmp_path: Path) -> None:
    page = settled(page_at(ONE))
    page.fill("[name=fold]", "6")
    until(page, "document.getElementById('epsilon').innerText === '2.0368'")
    with page.expect_download() as coming:
        page.get_by_role("link", name="As YAML").click()
    coming.value.save_as(tmp_path / "tolerance.yaml")
    found = yaml.safe_load((tmp_path / "tolerance.yaml").read_text(encoding="utf-8"))
    assert found == {"posterior": 0.25, "unless_ratio": 6.0, "q": 1.0}
    again = settled(page_at(page.url.split("/", 3)[3].join(["/", ""])))
    assert again.locator("#epsilon").inner_text() == "2.0368"


def test_without_script(page_at: Callable[..., Any], shoot: Callable[[Any, str], None]) -> None:
    page = page_at("/tolerate", 375, javascript=False)
    page.fill("[name=after]", "20")
    page.get_by_role("button", name="Show").click()
    assert page.locator("#epsilon").inner_text() == "1.5581"
    shoot(page, "tolerate-without-script")


def test_moving_a_budget_moves_the_draws(page_at: Callable[..., Any]) -> None:
    page = settled(page_at("/cost?kind=epsilon&epsilon=0.5&count=26&limit=24"))
    slider = page.locator("input[type=range]")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('#costs tbody td').innerText === '0.5300'")
    assert slider.get_attribute("aria-valuetext") == "epsilon 0.53"
    assert page.locator("[name=epsilon]").input_value() == "0.53"
    assert page.locator("#counts svg").count() == 1


def test_every_step_of_a_drag_is_answered(page_at: Callable[..., Any]) -> None:
    """Each step has its own answer; how soon it comes is measured by `benchmarks/page.py`."""
    page = settled(page_at(ONE))
    handle = page.get_by_role("slider", name="Belief after, at most")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate(
        """() => {
          window.answers = 0;
          const number = document.getElementById("epsilon");
          new MutationObserver(() => { window.answers += 1; })
            .observe(number, { childList: true, characterData: true, subtree: true });
        }"""
    )
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 16):
        page.mouse.move(x, y - 4 * step)
        until(page, f"window.answers >= {step}")
    page.mouse.up()


def test_a_drag_goes_on_beyond_the_axis(page_at: Callable[..., Any]) -> None:
    page = settled(page_at("/tolerate?kind=posterior&worry=in&before=5&after=12"))
    reach = float(page.locator("[name=upto]").input_value())
    handle = page.get_by_role("slider", name="Belief after, at most")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    top = page.locator("#tolerated").bounding_box()["y"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, top - 5, steps=8)  # above the chart, and held there
    until(page, f"+document.querySelector('[name=upto]').value > {reach}")
    until(page, f"+document.querySelector('[name=after]').value > {150 * 4 * reach}")
    page.mouse.up()
    after = float(settled(page).locator("[name=after]").input_value())
    assert after > 400 * reach  # farther than the axis reached at first
    until(page, f"document.querySelector('[aria-valuetext=\"at most {after:g} in 100\"]')")


def test_back_undoes_one_change_and_forward_brings_it_again(page_at: Callable[..., Any]) -> None:
    page = settled(page_at("/tolerate"))
    page.wait_for_timeout(1100)
    first = page.locator("[name=after]").input_value()
    page.fill("[name=after]", "15")
    until(page, "location.search.includes('after=15')")
    page.wait_for_timeout(1100)
    page.fill("[name=after]", "33")
    until(page, "location.search.includes('after=33')")
    page.go_back()
    settled(page)
    assert page.locator("[name=after]").input_value() == "15"
    page.go_back()
    settled(page)
    assert page.locator("[name=after]").input_value() == first
    page.go_forward()
    settled(page)
    assert page.locator("[name=after]").input_value() == "15"


def test_the_menu_leads_to_each_screen_as_it_was_left(page_at: Callable[..., Any]) -> None:
    page = settled(page_at("/tolerate"))
    page.fill("[name=after]", "20")
    until(page, "location.search.includes('after=20')")
    page.get_by_role("navigation").get_by_text("Explain").click()
    page.wait_for_selector("#headline")
    page.fill("[name=before]", "44")
    until(page, "location.search.includes('before=44')")
    page.get_by_role("navigation").get_by_text("Tolerate").click()
    settled(page)
    assert page.locator("[name=after]").input_value() == "20"
    page.get_by_role("navigation").get_by_text("Explain").click()
    page.wait_for_selector("#headline")
    assert page.locator("[name=before]").input_value() == "44"
    page.locator(".name a").click()  # the name of the page begins anew
    settled(page)
    assert page.locator("[name=after]").input_value() != "20"


def test_the_menu_cannot_be_pressed_before_it_leads_to_what_was_left(
    page_at: Callable[..., Any],
) -> None:
    page = settled(page_at("/tolerate"))
    page.fill("[name=after]", "20")
    until(page, "location.search.includes('after=20')")

    held: list[Any] = []  # the script has not come yet, as on a busy machine
    page.route("**/static/discreet.js", lambda route: held.append(route))
    page.goto(page.url.split("/tolerate")[0] + "/cost", wait_until="commit")
    way = page.get_by_role("navigation").get_by_text("Tolerate")
    with pytest.raises(import_module("playwright.sync_api").TimeoutError):
        way.click(timeout=1000)
    held.pop().continue_()
    page.unroute("**/static/discreet.js")
    way.click()
    page.wait_for_url("**/tolerate*")
    assert "after=20" in page.url
