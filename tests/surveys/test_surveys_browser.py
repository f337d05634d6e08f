"""The respondent's page in Chromium: its law, what it shows, and that it keeps nothing."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from browsers import accessible
from discreet.surveys import Survey, questionnaire
from discreet.surveys.survey import Encoding

DRAWN = """size => {
  const found = {};
  for (let i = 0; i < size; i++) { const r = randomize(1); found[r] = (found[r] || 0) + 1; }
  return found;
}"""


def opened(browser: Any, survey: Survey, folder: Path) -> tuple[Any, Any, list[str]]:
    path = folder / "page.html"
    path.write_text(questionnaire(survey), encoding="utf-8")
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda said: problems.append(said.text))
    page.on(
        "request",
        lambda asked: problems.append(asked.url) if not asked.url.startswith("file:") else None,
    )
    page.goto(path.as_uri())
    return context, page, problems


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["response", "unary"])
def test_the_page_draws_by_the_law_of_the_survey(
    browser: Any, tmp_path: Path, encoding: Encoding
) -> None:
    """Each count of 20,000 draws passes its Hoeffding limit with probability below 1e-12."""
    survey = Survey("Which?", ("a", "b", "c"), 1.0, encoding)
    context, page, problems = opened(browser, survey, tmp_path)
    try:
        size = 20_000
        drawn = Counter(page.evaluate(DRAWN, size))
    finally:
        context.close()
    keep, other = float(survey.keep), float(survey.other)
    limit = math.sqrt(math.log(2e12) / (2 * size))
    for place, answer in enumerate(survey.answers):
        held = sum(
            times
            for report, times in drawn.items()
            if (report == answer if encoding == "response" else report[place] == "1")
        )
        assert abs(held / size - (keep if place == 1 else other)) <= limit
    assert sum(drawn.values()) == size
    assert not problems


@pytest.mark.slow
def test_a_respondent_answers_once_and_sees_what_is_sent(browser: Any, tmp_path: Path) -> None:
    survey = Survey.of("A <b>question</b>?", ["yes </script>", "no"], promise={"ratio": 3})
    context, page, problems = opened(browser, survey, tmp_path)
    try:
        assert page.locator("h1").inner_text() == "A <b>question</b>?"
        accessible(page)
        page.get_by_role("button").click()
        assert "Choose an answer first" in page.get_by_role("alert").inner_text()
        page.get_by_label("yes </script>").check()
        page.get_by_role("button").click()
        report = page.locator("#report").input_value()
        assert report in survey.answers
        assert page.locator("#spoken").inner_text() == report
        assert not page.locator("#ask").is_visible()
        assert page.locator("input:checked").count() == 0  # the true answer is gone
        accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        kept = page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
        assert kept == [0, 0, ""]
        with page.expect_download() as told:
            page.locator("#save").click()
        assert Path(told.value.path()).read_text() == report + "\n"
        assert not problems
    finally:
        context.close()
