"""What each of the four people wants, from an empty folder to the answer, as they would do it.

A curator, a privacy engineer, a regulator and a participant on a phone; what the last two get is
opened from disk, with the network cut.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from discreet.budgets import choose
from discreet.ledger import Ledger

expect = import_module("playwright.sync_api").expect
pytestmark = pytest.mark.slow
Fresh = Callable[..., Any]
PROMISE = "Nobody who starts at 5 % becomes more than 12 % sure that one person is in the data"


def downloaded(page: Any, name: str, where: Path) -> Path:
    """Press a link to a file; return where it was put."""
    with page.expect_download() as coming:
        page.get_by_role("link", name=name, exact=True).click()
    path = where / coming.value.suggested_filename
    coming.value.save_as(path)
    return path


def release(page: Any, situation: str) -> None:
    """Go from the first screen to a release of invented data."""
    page.get_by_role("button", name=f"Try it {situation}").click()
    page.fill("#approver", "A. Curator")
    page.fill("#reason", "data protection review")
    page.click("text=Show what it promises")
    page.click("button:text-is('Open the account')")
    page.click("text=Go on to the charge")
    page.click("#make button")
    page.wait_for_url("**/made/*")


def test_the_curator(fresh: Fresh, tmp_path: Path) -> None:
    page = fresh()
    page.fill("[name=before]", "5")
    page.fill("[name=after]", "12")
    expect(page.locator("#thread")).to_contain_text(PROMISE)
    expect(page.locator("#epsilon")).to_have_text("0.9520")
    expect(page.locator("#binding")).to_contain_text("at 5 %: they may become 12.0 % sure")
    expect(page.locator("#implied tbody tr")).to_have_count(4)
    # Twelve monthly releases under one cap.
    page.get_by_role("link", name="Plan many releases").click()
    expect(page.locator("[name=limit]")).to_have_value("12")
    expect(page.locator("#plan-each")).to_contain_text("12 releases")
    expect(page.locator("#plan-headline")).to_contain_text("ε = 0.0793")
    # The error of the table at that budget, and the account that keeps the promise for all twelve.
    page.get_by_role("link", name="Tolerate", exact=True).click()
    page.get_by_role("button", name="Try it Hospital").click()
    page.fill("[name='series.releases']", "12")
    expect(page.locator("#look-body")).to_contain_text("11 more like it")
    expect(page.locator("#look-body")).to_contain_text("off by at most")
    expect(page.locator("#errors svg")).to_be_visible()
    page.fill("#approver", "A. Curator")
    page.fill("#reason", "twelve months")
    page.click("text=Show what it promises")
    expect(page.locator("main")).to_contain_text(PROMISE)
    page.click("button:text-is('Open the account')")
    page.click("text=Go on to the charge")
    page.click("#make button")
    page.wait_for_url("**/made/*")
    expect(page.locator("#thread")).to_contain_text("11 of 12 releases like the last left")
    # The table is what one came for: it is seen without scrolling.
    box = page.locator(".released").first.bounding_box()
    assert box["y"] + box["height"] < 900


def test_the_privacy_engineer(fresh: Fresh, tmp_path: Path) -> None:
    page = fresh()
    # What was found on the page is the file that the command line reads.
    page.fill("[name=after]", "20")
    expect(page.locator("#epsilon")).to_have_text("1.5581")
    path = downloaded(page, "As YAML", tmp_path)
    promise = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert f"{choose(promise).epsilon:.4f}"[:6] == "1.5581"
    # Mechanisms and composition rules for the same promise.
    page.get_by_role("link", name="Series", exact=True).click()
    page.select_option("[name=mechanism]", "gaussian")
    page.fill("[name=confidence]", "99")
    expect(page.locator("#strengths tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Tolerate", exact=True).click()
    release(page, "Hospital")
    # Charged elsewhere, reconciled and verified here against a head that was kept.
    page.get_by_role("link", name="Ledger", exact=True).click()
    head = page.locator("#head").inner_text()
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'example.db'}")
    said = [
        *(sys.executable, "-m", "discreet", "ledger", "charge", "--json"),
        *("--ledger", f"sqlite:///{tmp_path / 'example.db'}", "--account", "example-hospital"),
        *("--epsilon", "0.01", "--purpose", "made elsewhere"),
    ]
    made = subprocess.run(said, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    page.fill("#kept", head)
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.locator("#verified")).to_contain_text("Verified.")
    expect(page.locator("#entries")).to_contain_text("made elsewhere")
    assert ledger.verify(head).verified


def test_the_regulator(fresh: Fresh, offline: Fresh, tmp_path: Path) -> None:
    page = fresh()
    release(page, "Census")
    whole = downloaded(page, "Whole report (ZIP)", tmp_path)
    with zipfile.ZipFile(whole) as archive:
        archive.extractall(tmp_path / "sent")
    (report,) = (tmp_path / "sent").rglob("report.html")
    shown = offline()
    shown.goto(report.as_uri())
    first = shown.locator("#facts")
    for words in ("one person", "ε", "δ", "not protected"):
        expect(first).to_contain_text(words, ignore_case=True)
    box = first.locator(".plain li").last.bounding_box()
    assert box["y"] + box["height"] <= 900  # on page one
    # The worst case is computed anew by a script that needs nothing installed.
    script = report.parent / "verify.py"
    run = [sys.executable, "-I", "-S", str(script)]
    found = subprocess.run(run, capture_output=True, text=True, check=False, cwd=report.parent)
    assert found.returncode == 0, found.stdout + found.stderr
    # Every release of the account.
    page.get_by_role("link", name="Ledger", exact=True).click()
    with page.expect_download() as coming:
        page.get_by_role("link", name="Report of everything charged to example-census").click()
    with zipfile.ZipFile(coming.value.path()) as archive:
        names = [name for name in archive.namelist() if name.endswith("report.html")]
        assert names
        assert (
            page.locator("#entries .hash a").first.inner_text() in archive.read(names[0]).decode()
        )


def test_the_participant_on_a_phone(fresh: Fresh, offline: Fresh, tmp_path: Path) -> None:
    page = fresh()
    release(page, "Hospital")
    shown = offline(360, 740)
    shown.goto(downloaded(page, "For participants", tmp_path).as_uri())
    grown, joined = (shown.locator(f"[data-of^='now.{of}']").first for of in ("chosen", "joining"))
    expect(grown).to_be_visible()
    before, out = grown.inner_text(), joined.inner_text()
    assert grown.bounding_box()["y"] < 900
    shown.focus("#suspect")
    shown.keyboard.press("End")
    expect(grown).not_to_have_text(before)
    expect(joined).not_to_have_text(out)
    shown.check("[name=about][value=value]")
    expect(shown.locator("body")).to_contain_text("not protected", ignore_case=True)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
    # The same on the page itself, from the screen Explain, for a worry of one's own.
    phone = fresh(width=360, height=740)
    phone.get_by_role("link", name="Explain", exact=True).click()
    phone.get_by_role("link", name="The same for one participant").click()
    phone.locator("#suspect").fill("30")
    expect(phone.locator("#before")).to_have_text("30 in 100")
    phone.locator("[name=knows][value='a hunch']").check()
    expect(phone.locator("#worry-text")).to_contain_text("only a hunch")
