"""The law of a survey: exactly the stated rationals, within ε, unbiased, with honest intervals."""

from __future__ import annotations

import errno
import io
import json
import math
import random
import re
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import discreet
from discreet.cli import main
from discreet.errors import DiscreetError, InputError
from discreet.surveys import Survey, estimate, questionnaire, randomize, survey_in
from discreet.surveys.survey import LARGEST_EPSILON, Encoding
from soaking import examples

ENCODINGS: tuple[Encoding, ...] = ("response", "unary")


def law(survey: Survey, truth: int) -> dict[str, Fraction]:
    """Every report with its probability, from the definition of the encodings alone."""
    k, (a, b) = len(survey.answers), survey.weights
    if survey.encoding == "response":
        total = a + (k - 1) * b
        return {
            answer: Fraction(a if place == truth else b, total)
            for place, answer in enumerate(survey.answers)
        }
    found = {}
    for ticks in product((0, 1), repeat=k):
        chance = Fraction(1)
        for place, tick in enumerate(ticks):
            ticked = Fraction(1, 2) if place == truth else Fraction(b, a + b)
            chance *= ticked if tick else 1 - ticked
        found["".join(map(str, ticks))] = chance
    return found


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(
    st.integers(2, 6),
    st.floats(1e-6, LARGEST_EPSILON),
    st.sampled_from(ENCODINGS),
)
def test_no_report_is_more_than_e_to_epsilon_times_as_likely(
    k: int, epsilon: float, encoding: Encoding
) -> None:
    survey = Survey("?", tuple("abcdef"[:k]), epsilon, encoding)
    mp.dps = 50
    first, second = law(survey, 0), law(survey, 1)
    assert sum(first.values()) == 1
    worst = max(first[report] / second[report] for report in first)
    assert mpf(worst.numerator) / worst.denominator <= mp.exp(mpf(epsilon))
    # and hardly less: the weights do not waste the budget
    assert mp.log(mpf(worst.numerator) / worst.denominator) >= epsilon - 1e-2 * max(epsilon, 1e-3)
    assert survey.keep == sum(p for report, p in first.items() if report[0] in "a1")
    assert survey.other == sum(p for report, p in second.items() if report[0] in "a1")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_draws_follow_the_law(encoding: Encoding) -> None:
    """Each of at most 8 counts passes its Hoeffding limit with probability below 1e-12."""
    survey = Survey("?", ("a", "b", "c"), 1.0, encoding)
    size = 20_000
    drawn = Counter(randomize(survey, "b") for _ in range(size))
    limit = math.sqrt(math.log(2e12) / (2 * size))
    expected = law(survey, 1)
    assert set(drawn) <= set(expected)
    for report, chance in expected.items():
        assert abs(drawn[report] / size - float(chance)) <= limit


@settings(derandomize=True, deadline=None, max_examples=examples(60))
@given(st.integers(2, 5), st.floats(0.1, 4), st.sampled_from(ENCODINGS), st.data())
def test_estimates_are_unbiased(
    k: int, epsilon: float, encoding: Encoding, data: st.DataObject
) -> None:
    """In exact numbers, the expected number that report an answer gives back the true share."""
    survey = Survey("?", tuple("abcde"[:k]), epsilon, encoding)
    held = data.draw(st.lists(st.integers(0, 9), min_size=k, max_size=k).filter(any))
    for place in range(k):
        expected = Fraction(0)
        for truth, people in enumerate(held):
            reports = law(survey, truth)
            answer = survey.answers[place]
            expected += people * sum(
                chance
                for report, chance in reports.items()
                if (report == answer if encoding == "response" else report[place] == "1")
            )
        share = (expected / sum(held) - survey.other) / (survey.keep - survey.other)
        assert share == Fraction(held[place], sum(held))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("share", [0.0, 0.03, 0.5])
def test_intervals_cover_the_share(encoding: Encoding, share: float) -> None:
    """By summing the binomial law: the true share is inside with probability at least 0.95."""
    survey = Survey("?", ("a", "b"), 1.2, encoding)
    size = 40
    keep, other = float(survey.keep), float(survey.other)
    chance = other + (keep - other) * share
    covered = 0.0
    for held in range(size + 1):
        hit, miss = ("a", "b") if encoding == "response" else ("10", "00")
        (row, *_) = estimate(survey, [hit] * held + [miss] * (size - held)).rows
        if row["interval_low"] - 1e-12 <= share <= row["interval_high"] + 1e-12:
            covered += math.comb(size, held) * chance**held * (1 - chance) ** (size - held)
        assert 0 <= row["interval_low"] <= row["interval_high"] <= 1
    assert covered >= 0.95


def test_the_standard_deviation_is_that_of_simulated_surveys() -> None:
    """A seeded simulation: 400 surveys; the ratio of variances is within 30 % (over 4 sd)."""
    survey = Survey.of("?", ["a", "b", "c"], epsilon=1.0, encoding="response")
    chance, size = random.Random(7), 300  # noqa: S311  (nothing secret)
    found = []
    for _ in range(400):
        people = chance.choices(survey.answers, [0.6, 0.3, 0.1], k=size)
        reports = [
            one if chance.random() < survey.keep else chance.choice([x for x in "abc" if x != one])
            for one in people
        ]
        found.append(estimate(survey, reports).rows[0]["value"])
    mean = sum(found) / len(found)
    variance = sum((x - mean) ** 2 for x in found) / (len(found) - 1)
    assert variance == pytest.approx(survey.sd(size, 0.6) ** 2, rel=0.3)
    assert mean == pytest.approx(0.6, abs=5 * survey.sd(size, 0.6) / 20)


def test_few_answers_are_reported_and_many_are_ticked() -> None:
    assert Survey.of("?", ["yes", "no"], epsilon=1).encoding == "response"
    assert Survey.of("?", [str(i) for i in range(60)], epsilon=1).encoding == "unary"


def test_a_promise_becomes_coins() -> None:
    survey = Survey.of("?", ["yes", "no"], promise={"posterior": 0.75, "q": 0.5})
    assert survey.epsilon == pytest.approx(math.log(3))
    assert float(survey.keep) == pytest.approx(0.75)
    assert "75 %" in survey.statement()[0]
    assert discreet.Survey is Survey
    assert discreet.randomize is randomize


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("question: x\nanswers: [a, b]\n", "promise or an epsilon"),
        ("question: x\nanswers: [a, b]\nepsilon: 1\npromise: {ratio: 2}\n", "only one of them"),
        ("question: x\nanswers: [a]\nepsilon: 1\n", "two or more"),
        ("question: x\nanswers: [a, a]\nepsilon: 1\n", "'a' twice; answers must be different"),
        ("question: x\nanswers: [on, on]\nepsilon: 1\n", "has 'on' twice"),
        ("question: x\nanswers: a\nepsilon: 1\n", "`answers` is 'a'; it must be a list"),
        ("question: x\nanswers: [a, [b]]\nepsilon: 1\n", "an answer is a text"),
        ("question: x\nanswers: [a, b]\nepsilon: 0,5\n", "with a point: 0.5"),
        ("question: x\nanswers: [a, b]\nepsilom: 1\n", "The nearest is 'epsilon'"),
        ('question: x\nanswers: ["a", "a "]\nepsilon: 1\n', "neither begins nor ends"),
        ('question: x\nanswers: ["a\\nb", "c"]\nepsilon: 1\n', "one printable line"),
        ('question: x\nanswers: ["\\ud800", "c"]\nepsilon: 1\n', "one printable line"),
        ('question: "x\\e[2J"\nanswers: [a, b]\nepsilon: 1\n', "not a printable line"),
        ("question: ''\nanswers: [a, b]\nepsilon: 1\n", "no question"),
        ("question: x\nanswers: [a, b]\nepsilon: 15\n", "at most 14"),
        ("question: x\nanswers: [a, b]\nepsilon: 1\nencoding: other\n", "auto, response or unary"),
        ("question: x\nanswers: [a, b]\nepsilon: 1\nnotes: y\n", "unknown key 'notes'"),
        ("- a\n", "does not hold keys"),
    ],
)
def test_what_is_no_survey_is_refused(tmp_path: Path, keys: str, says: str) -> None:
    (tmp_path / "survey.yaml").write_text(keys)
    with pytest.raises(DiscreetError, match=says):
        survey_in(tmp_path / "survey.yaml")


def test_answers_are_the_texts_that_were_written(tmp_path: Path) -> None:
    (tmp_path / "survey.yaml").write_text(
        "question: on\nanswers: [yes, no, on, Off, 1.50, 2026-01-31, true]\n"
        "promise: {ratio: 3, every_output: true}\n"
    )
    found, _ = survey_in(tmp_path / "survey.yaml")
    assert found.question == "on"
    assert found.answers == ("yes", "no", "on", "Off", "1.50", "2026-01-31", "true")


def test_what_is_no_report_is_left_out_and_counted() -> None:
    survey = Survey.of("?", ["a", "b"], epsilon=2)
    found = estimate(survey, ["a", "b", " a ", "c", "A"])
    assert (found.respondents, found.unreadable) == (3, 2)
    assert found.to_columns()["answer"] == ["a", "b"]
    with pytest.raises(InputError, match="no readable report"):
        estimate(survey, ["?"])
    with pytest.raises(InputError, match="not one of the answers"):
        randomize(survey, "c")
    with pytest.raises(InputError, match="interval"):
        estimate(survey, ["a"], interval=1.0)


def test_a_questionnaire_is_charged_once_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    book = discreet.Ledger.open("sqlite:///ledger.db")
    terms = {"unit": "person", "filter": "pure", "approver": "a", "reason": "b"}
    cap = discreet.PureDP(1.5, adjacency="local")
    book.open_account("panel", adjacency="local", cap=cap, **terms)
    Path("survey.yaml").write_text(
        "question: x\nanswers: [a, b]\nepsilon: 1\nledger: sqlite:///ledger.db\naccount: panel\n"
    )
    assert _exit("randomize", "survey.yaml", "--page", "page.html") == 0
    assert book.account("panel").spent.epsilon == 1
    assert _exit("randomize", "survey.yaml", "--page", "page.html") == 2  # it is there already
    assert _exit("randomize", "survey.yaml", "--page", "other.html") == 3  # over the cap
    assert not Path("other.html").exists()
    assert book.account("panel").spent.epsilon == 1


def _exit(*words: str) -> int:
    with pytest.raises(SystemExit) as way_out:
        main(list(words))
    return int(way_out.value.code or 0)


def test_a_question_that_looks_like_a_placeholder_stays_a_text() -> None:
    page = questionnaire(Survey.of("Is {{script}} or {{promise}} meant?", ["yes", "no"], epsilon=1))
    assert page.count("Is {{script}} or {{promise}} meant?") >= 1
    assert page.count("</script>") == 1


def test_the_local_model_does_not_show_the_noise_of_a_central_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _exit("choose", "--posterior", "0.75", "--q", "0.5", "--adjacency", "local") == 0
    said = capsys.readouterr().out
    assert "on a count" not in said
    assert "reported truly 75.0% of the time" in said


def test_a_page_that_cannot_be_written_is_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    book = discreet.Ledger.open("sqlite:///ledger.db")
    terms = {"unit": "person", "filter": "pure", "approver": "a", "reason": "b"}
    book.open_account(
        "panel", adjacency="local", cap=discreet.PureDP(5, adjacency="local"), **terms
    )
    Path("survey.yaml").write_text(
        "question: x\nanswers: [a, b]\nepsilon: 1\nledger: sqlite:///ledger.db\naccount: panel\n"
    )
    Path("link.html").symlink_to(tmp_path / "elsewhere.html")
    for page in ("nowhere/page.html", "link.html"):
        assert _exit("randomize", "survey.yaml", "--page", page) == 2
    assert book.account("panel").spent.epsilon == 0
    assert not Path("elsewhere.html").exists()

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert _exit("randomize", "survey.yaml", "--page", "page.html") == 2
    assert "stays spent" in capsys.readouterr().err
    assert not Path("page.html").exists()
    assert book.account("panel").spent.epsilon == 1


def test_an_answer_is_read_where_nobody_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "survey.yaml").write_text("question: x\nanswers: [ja, nein]\nepsilon: 14\n")
    seen = []
    for _ in range(20):
        monkeypatch.setattr("sys.stdin", io.StringIO("nein\n"))
        assert _exit("randomize", str(tmp_path / "survey.yaml"), "--answer", "-", "--json") == 0
        seen.append(json.loads(capsys.readouterr().out)["report"])
    assert seen.count("nein") > 15


def test_python_takes_the_file_of_a_survey(tmp_path: Path) -> None:
    path = tmp_path / "survey.yaml"
    path.write_text("question: x\nanswers: [ja, nein]\nepsilon: 14\n")
    reports = [discreet.randomize(str(path), "nein") for _ in range(50)]
    assert estimate(path, reports) == estimate(survey_in(path)[0], reports)


def test_the_design_says_how_a_report_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few, many = tmp_path / "few.yaml", tmp_path / "many.yaml"
    few.write_text("question: x\nanswers: [ja, nein]\nepsilon: 1\n")
    many.write_text(f"question: x\nanswers: {list('abcdefghijkl')}\nepsilon: 1\n")
    assert _exit("randomize", str(few)) == 0
    assert "one of the answers, in its own words" in capsys.readouterr().out
    assert _exit("randomize", str(many), "--answer", "b") == 0
    out = capsys.readouterr().out
    assert "12 digits, one for each answer in the order of the survey (a, b, c" in out
    (report,) = re.findall(r"^Report: ([01]{12})$", out, re.MULTILINE)
    ticked = ", ".join(one for one, tick in zip("abcdefghijkl", report, strict=True) if tick == "1")
    assert f"Ticked in it: {ticked or '–'}." in out
