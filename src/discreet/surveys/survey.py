"""One question, its answers, and how each respondent randomizes theirs before it leaves them.

Two encodings, both with whole weights a and b, a/b ≤ e^ε, so that every probability is rational:

- *response* (Warner 1965; Kairouz, Bonawitz and Ramage 2016): of k answers the true one is reported
  with probability a/(a + (k−1)b), each other one with b/(a + (k−1)b);
- *unary* (optimized unary encoding: Wang, Blocki, Li and Jha 2017): each answer is ticked or not.
  The true one is ticked with probability ½, each other one with b/(a + b).

Write π for the probability that the true answer is reported (or ticked) and λ for that of any other
one. Then a report holds answer v with probability λ + (π−λ)f, f the share of v, and a share that is
estimated from n reports has variance r(1−r)/(n(π−λ)²), r that probability. Both encodings are
ε-DP for the answer: the ratio of the probabilities of a report under two answers is at most a/b.
For unary encoding it is (½·a/(a+b))/(½·b/(a+b)) = a/b where the two ticks differ, and 1 otherwise.

True shares are estimated from the reports. With r as above, c of n reports hold an answer, so c is
binomial, and (c/n − λ)/(π−λ) is an unbiased estimate of f, the share of v among those from whom
respondents were drawn. The interval is that of Clopper and Pearson for r, mapped to f and cut to
[0, 1]: it covers the share with at least the stated probability, whatever n and f are. For the
share among the respondents themselves, whose reports vary less (Hoeffding 1956), it is wider than
need be.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeAlias

from discreet.budgets import choose
from discreet.errors import InputError
from discreet.frames import Tabular, html_page
from discreet.guarantees import Adjacency, PureDP
from discreet.noise.rational import uniform
from discreet.numerics import bracket, incomplete_beta
from discreet.promises import Promise
from discreet.promises.promise import PromiseLike, promised
from discreet.reading import like, text_of, yaml_values
from discreet.rounding import number, up
from discreet.words import say

Encoding: TypeAlias = Literal["response", "unary"]
LARGEST_EPSILON = 14.0
"""Beyond it fewer than one answer in a million is replaced."""
SIZES = (100, 1_000, 10_000, 100_000)
"""Numbers of respondents that the error is told for."""

_MOST_ANSWERS = 1_000
_TOTAL = 2**31
_HERE = Path(__file__).parent
_KEYS = {"question", "answers", "promise", "epsilon", "encoding", "account", "ledger"}


@dataclass(frozen=True, slots=True)
class Survey:
    """A question that respondents answer with randomized answers.

    >>> survey = Survey.of("Have you ever …?", ["yes", "no"], epsilon=1.0986)
    >>> survey.encoding, round(float(survey.keep), 4)
    ('response', 0.75)
    """

    question: str
    answers: tuple[str, ...]
    epsilon: float
    encoding: Encoding
    promise: Promise | None = None

    @classmethod
    def of(
        cls,
        question: str,
        answers: list[str] | tuple[str, ...],
        *,
        promise: PromiseLike | None = None,
        epsilon: float | None = None,
        encoding: str = "auto",
    ) -> Survey:
        """Return the survey for a promise or an ε; `auto` takes the encoding with less error."""
        kept = None
        if promise is not None and epsilon is None:
            kept = promised(promise, adjacency=Adjacency.LOCAL).settled(pure=True)
            epsilon = choose(kept).epsilon
        elif promise is not None or epsilon is None:
            raise InputError("surveys.promise_or_epsilon")
        if encoding not in ("auto", "response", "unary"):
            near = like(encoding, ("auto", "response", "unary"))
            raise InputError("surveys.encoding", encoding=encoding, like=near)
        named: tuple[Encoding, ...] = ("response", "unary")
        options = [
            cls(question, tuple(answers), epsilon, one, kept)
            for one in named
            if encoding in ("auto", one)
        ]
        return min(options, key=lambda option: option.sd(1, 1 / len(option.answers)))

    def __post_init__(self) -> None:
        if not _is_line(self.question):
            raise InputError("surveys.no_question")
        wrong = [one for one in self.answers if not (_is_line(one) and one == one.strip())]
        if wrong:
            raise InputError("surveys.no_answer", answer=wrong[0])
        twice = [one for one, times in Counter(self.answers).items() if times > 1]
        if twice:
            raise InputError("surveys.answer_twice", answer=twice[0])
        if len(self.answers) < 2:
            raise InputError("surveys.answers", answers=len(self.answers))
        if len(self.answers) > _MOST_ANSWERS:
            raise InputError("surveys.many_answers", answers=len(self.answers), most=_MOST_ANSWERS)
        PureDP(self.epsilon)  # refuses what is no budget
        if not 0 < self.epsilon <= LARGEST_EPSILON:
            raise InputError("surveys.epsilon", epsilon=self.epsilon, most=LARGEST_EPSILON)

    # ------------------------------------------------------------------ the law

    @property
    def weights(self) -> tuple[int, int]:
        """The whole numbers a and b, with a/b at most e^ε; all of them stay below 2^31."""
        others = len(self.answers) - 1 if self.encoding == "response" else 1
        rise = math.exp(self.epsilon) * (1 - 2.0**-50)
        b = int(_TOTAL / (rise + others))
        return int(rise * b), b

    @property
    def keep(self) -> Fraction:
        """π: how often the true answer is reported, or ticked."""
        a, b = self.weights
        if self.encoding == "unary":
            return Fraction(1, 2)
        return Fraction(a, a + (len(self.answers) - 1) * b)

    @property
    def other(self) -> Fraction:
        """λ: how often any one of the other answers is reported, or ticked."""
        a, b = self.weights
        others = len(self.answers) - 1 if self.encoding == "response" else 1
        return Fraction(b, a + others * b)

    def guarantee(self) -> PureDP:
        """ε-DP for each answer, before it leaves the person."""
        return PureDP(self.epsilon, adjacency=Adjacency.LOCAL)

    def sd(self, respondents: int, share: float) -> float:
        """Return the standard deviation of an estimated share, sampling included."""
        keep, other = float(self.keep), float(self.other)
        reported = other + (keep - other) * share
        return math.sqrt(reported * (1 - reported) / respondents) / (keep - other)

    def errors(self, sizes: tuple[int, ...] = SIZES) -> list[dict[str, float]]:
        """Return how far an estimated share is off, before anyone was asked.

        Twice the standard deviation at the share where it is largest, in points of 100; beside it,
        what a survey without randomizing has at a share of one half.
        """
        keep, other = float(self.keep), float(self.other)
        worst = min(1.0, max(0.0, (0.5 - other) / (keep - other)))
        return [
            {
                "respondents": size,
                "points": min(100.0, 200 * self.sd(size, worst)),
                "points_if_exact": min(100.0, 100 / math.sqrt(size)),
            }
            for size in sizes
        ]

    # ------------------------------------------------------------------ words

    def explain(self) -> str:
        """Say in plain words what happens to an answer."""
        shares = {"keep": 100 * float(self.keep), "other": 100 * float(self.other)}
        return say(f"surveys.explain.{self.encoding}", others=len(self.answers) - 1, **shares)

    def statement(self) -> tuple[str, ...]:
        """Return what is promised to a respondent, whom they trust, and what is not protected."""
        epsilon = number(self.epsilon, "up", 4)
        kept = () if self.promise is None else (self.promise.sentence(),)
        return (
            *kept,
            say(
                "surveys.statement.budget",
                epsilon=epsilon,
                times=number(up(math.exp(self.epsilon)), "up"),
            ),
            self.explain(),
            say("surveys.statement.trust"),
            say("surveys.statement.once"),
            say("surveys.statement.not_protected"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything about the design, JSON-ready."""
        a, b = self.weights
        return {
            "question": self.question,
            "answers": list(self.answers),
            "epsilon": self.epsilon,
            "encoding": self.encoding,
            "promise": None if self.promise is None else self.promise.to_dict(),
            "keep": float(self.keep),
            "other": float(self.other),
            "weights": {"a": a, "b": b},
            "errors": self.errors(),
            "statement": list(self.statement()),
        }

    def __repr__(self) -> str:
        return f"Survey({self.question!r}, ε = {self.epsilon:.4g}, {self.encoding})"


def _is_line(text: Any) -> bool:
    """Whether something is one line that people can read; a report is a line of a file."""
    return isinstance(text, str) and bool(text.strip()) and text.isprintable()


def randomize(survey: Survey | str | Path, answer: str) -> str:
    """Return what a respondent with this answer reports; it runs where the answer is.

    Under unary encoding a report has one digit for each answer, 1 where it is ticked.
    """
    survey = survey if isinstance(survey, Survey) else survey_in(survey)[0]
    if answer not in survey.answers:
        raise InputError("surveys.not_an_answer", answers=", ".join(survey.answers[:10]))
    a, b = survey.weights
    true = survey.answers.index(answer)
    if survey.encoding == "response":
        others = [one for one in survey.answers if one != answer]
        drawn = uniform(a + len(others) * b)
        return answer if drawn < a else others[(drawn - a) // b]
    ticks = (
        uniform(2) < 1 if place == true else uniform(a + b) < b
        for place in range(len(survey.answers))
    )
    return "".join("01"[ticked] for ticked in ticks)


def survey_in(path: str | Path) -> tuple[Survey, Mapping[str, Any]]:
    """Return the survey of a YAML file, and all of its keys."""
    if not isinstance(path, str | Path):
        raise InputError("surveys.not_a_survey", kind=type(path).__name__)
    place = Path(path)
    text, what = text_of(place, say("surveys.the_file")), say("surveys.the_file")
    keys = yaml_values(text, what, texts=("question", "answers"))
    if not isinstance(keys, dict):
        raise InputError("surveys.not_keys", path=place.name)
    if unknown := sorted(str(key) for key in keys if key not in _KEYS):
        said = {"known": ", ".join(sorted(_KEYS)), "like": like(unknown[0], _KEYS)}
        raise InputError("surveys.unknown_key", key=unknown[0], **said)
    answers = keys.get("answers")
    if not isinstance(answers, list):
        raise InputError("surveys.answers_no_list", answers=answers)
    found = Survey.of(
        keys.get("question", ""),
        answers,
        promise=keys.get("promise"),
        epsilon=keys.get("epsilon"),
        encoding=keys.get("encoding", "auto"),
    )
    return found, keys


def questionnaire(survey: Survey) -> str:
    """Return the respondent's page: it randomizes the answer on their own device.

    It needs no network and stores nothing; its policy forbids both. A number comes from
    `crypto.getRandomValues` by rejection and is compared with whole weights, as in `randomize`, so
    the probabilities are the survey's rationals exactly. It draws once: the answer cannot be given
    again without loading the page anew, which the respondent is asked not to do.
    """
    a, b = survey.weights
    given = {
        "answers": list(survey.answers),
        "encoding": survey.encoding,
        "a": a,
        "b": b,
        "ticked": say("surveys.page.ticked"),
        "none": say("surveys.page.none_ticked"),
    }
    # "<" could end the script element early
    data = json.dumps(given, ensure_ascii=False).replace("<", "\\u003c")
    style, script = (
        (_HERE / f"questionnaire.{kind}").read_text(encoding="utf-8") for kind in ("css", "js")
    )
    choices = "\n".join(
        f'<label><input type="radio" name="answer" value="{place}"> {escape(answer)}</label>'
        for place, answer in enumerate(survey.answers)
    )
    promise = "\n".join(f"<p>{escape(line)}</p>" for line in survey.statement())
    texts = {
        name: escape(say(f"surveys.page.{name}"))
        for name in ("send", "sent", "copy", "save", "how", "no_script", "choose")
    }
    return html_page(
        _HERE / "questionnaire.html",
        title=escape(survey.question),
        style=style,
        choices=choices,
        promise=promise,
        script=script.replace("{data}", data),
        **texts,
    )


# -- the true shares, from what was collected


@dataclass(frozen=True, slots=True)
class Estimate(Tabular):
    """What a survey found: for each answer its share, and the interval."""

    survey: Survey
    respondents: int
    unreadable: int
    interval: float
    rows: tuple[dict[str, Any], ...]

    def to_columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of the table."""
        names = ("answer", "value", "std_error", "interval_low", "interval_high")
        return {name: [row[name] for row in self.rows] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {
            "respondents": self.respondents,
            "unreadable": self.unreadable,
            "interval": self.interval,
            "shares": [dict(row) for row in self.rows],
        }

    def __repr__(self) -> str:
        return f"Estimate({self.respondents} respondents, {len(self.rows)} answers)"


def estimate(
    survey: Survey | str | Path, reports: Iterable[str], *, interval: float = 0.95
) -> Estimate:
    """Return the estimated share of each answer, from reports as `randomize` makes them.

    What is no possible report is left out and counted. Estimated shares may lie below 0 or above 1:
    they are unbiased; their intervals do not.
    """
    survey = survey if isinstance(survey, Survey) else survey_in(survey)[0]
    if not 0 < interval < 1:
        raise InputError("surveys.interval", interval=interval)
    held: Counter[int] = Counter()
    size = unreadable = 0
    for report in reports:
        ticked = _ticked(survey, report.strip())
        if ticked is None:
            unreadable += 1
            continue
        size += 1
        held.update(ticked)
    if not size:
        raise InputError("surveys.no_reports", unreadable=unreadable)
    keep, other = float(survey.keep), float(survey.other)
    rows = []
    for place, answer in enumerate(survey.answers):
        low, high = _proportion(held[place], size, interval)
        share = (held[place] / size - other) / (keep - other)
        rows.append(
            {
                "answer": answer,
                "value": share,
                "std_error": survey.sd(size, min(1.0, max(0.0, share))),
                "interval_low": min(1.0, max(0.0, (low - other) / (keep - other))),
                "interval_high": min(1.0, max(0.0, (high - other) / (keep - other))),
            }
        )
    return Estimate(survey, size, unreadable, interval, tuple(rows))


def _ticked(survey: Survey, report: str) -> list[int] | None:
    if survey.encoding == "response":
        return [survey.answers.index(report)] if report in survey.answers else None
    if len(report) != len(survey.answers) or set(report) - {"0", "1"}:
        return None
    return [place for place, digit in enumerate(report) if digit == "1"]


def _proportion(held: int, size: int, interval: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a proportion, each end rounded outward."""
    miss = (1 - interval) / 2

    def above(p: float) -> float:  # P(at least `held`), which grows with p
        return incomplete_beta(p, held, size - held + 1)

    def below(p: float) -> float:  # P(at most `held`), which falls
        return 1 - incomplete_beta(p, held + 1, size - held)

    low = 0.0 if held == 0 else bracket(lambda p: above(p) <= miss, 0.0, 1.0)[0]
    high = 1.0 if held == size else bracket(lambda p: below(p) <= miss, 1.0, 0.0)[0]
    return low, high
