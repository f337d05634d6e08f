"""The screen Series: the numbers of the command line, links and files that give them back."""

from __future__ import annotations

import html
import json
import math
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import CliRunner

from discreet.budgets import choose
from discreet.cli import loaded
from discreet.errors import DiscreetError, InputError
from discreet.rounding import decimal_up
from discreet.series import plan
from discreet.series.planning import shown_down
from discreet.web.forms import Filled, as_typed, percentage, share
from discreet.web.screens import command_of
from discreet.web.series import MECHANISMS, SeriesAnswer, SeriesForm, beliefs, budgets
from discreet.web.thread import Thread
from soaking import examples

STATES = [
    SeriesForm(),
    SeriesForm(mechanism="geometric", budget=0.1, sided="one"),
    SeriesForm(mechanism="randomized-response", budget=0.2, limit=75, confidence=99.99),
    SeriesForm(mechanism="laplace", budget=0.3, years=1, limit=70),
    SeriesForm(mechanism="discrete-gaussian", budget=0.01, about="difference", limit=40, years=1),
    SeriesForm(mechanism="epsilon", budget=0.05, delta_each=1e-8, delta=1e-6, years=2),
    SeriesForm(mechanism="epsilon", budget=0.1, per_year=1, before=5, limit=12),
    SeriesForm(mechanism="rho", budget=0.01, about="difference", limit=98, confidence=99),
    SeriesForm(mechanism="geometric", budget=0.05, before=5, limit=12, years=1, confidence=100),
]


def ids(state: SeriesForm) -> str:
    return f"{state.mechanism}-{state.about}"


def command(name: str, *arguments: str) -> dict[str, Any]:
    app = typer.Typer()
    app.command()(loaded(name))
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exception is None, result.exception
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def counted(answer: SeriesAnswer) -> dict[str, int]:
    """How many releases until the limit, by strength, as the table says it."""
    return {line[0]: int(line[1].replace(",", "")) for line in answer.lines}


@pytest.mark.parametrize("state", STATES, ids=ids)
def test_the_command_reads_the_file_and_says_the_same(
    state: SeriesForm, client: Any, tmp_path: Path
) -> None:
    answer, shares = beliefs(state), budgets(state)
    file = tmp_path / "series.yaml"
    file.write_text(client.get(answer.yaml).text, encoding="utf-8")
    said = command("horizon", "--file", str(file))
    assert counted(answer)[said["strength"]] == said["releases"]
    assert answer.headline == f"release {said['releases']:,}"
    assert answer.holds_with == said["holds_with"]
    planned = command("plan", "--file", str(file))
    _, each, sd, _ = next(line for line in shares.lines if line[0] == planned["strength"])
    budget, wide = planned["per_release"], planned["accuracy"]["sd"]
    assert each == shown_down(budget["epsilon"] if budget["rho"] is None else budget["rho"])
    assert sd == ("" if wide is None else f"{decimal_up(wide, 2):,.6g}")


@pytest.mark.parametrize("state", STATES, ids=ids)
def test_every_strength_is_the_one_of_its_flag(state: SeriesForm) -> None:
    flags = state.horizon_flags()
    words = shlex.split(command_of("horizon", flags))[2:]
    for strength, releases in counted(beliefs(state)).items():
        said = command("horizon", *words, "--strength", strength)
        assert said["releases"] == releases
        assert said["strength"] == strength


@pytest.mark.parametrize("state", STATES, ids=ids)
def test_a_link_brings_the_state_back(state: SeriesForm, client: Any) -> None:
    answer = beliefs(state)
    assert client.get(answer.link).status_code == 200
    query = answer.link.partition("?")[2]
    assert client.get(f"/api/series?{query}").json()["link"] == answer.link
    kept = dict(part.split("=") for part in query.split("&")) if query else {}
    assert SeriesForm.model_validate(kept) == state


@pytest.mark.parametrize("state", STATES, ids=ids)
def test_the_python_lines_give_the_numbers(state: SeriesForm) -> None:
    for line, wanted in (
        (beliefs(state).how.python, beliefs(state).headline),
        (budgets(state).how.python, budgets(state).headline),
    ):
        names: dict[str, Any] = {}
        imports, _, call = line.partition("; ")
        exec(imports, names)  # noqa: S102  # our own line, which a person is told to run
        found = eval(call, names)  # noqa: S307
        if hasattr(found, "budgets"):
            assert wanted.endswith(f"= {shown_down(found.budgets[0])}")
        else:
            assert wanted == f"release {found.releases:,}"


def test_known_values() -> None:
    """KSZ Example 4.1 and its tighter readings (formulas: 79, 97, 112)."""
    state = SeriesForm(mechanism="gaussian", budget=0.01, limit=99)
    assert list(counted(beliefs(state)).values()) == [79, 97, 112]
    promise = SeriesForm(mechanism="rho", budget=0.01, limit=99)
    assert list(counted(beliefs(promise)).values()) == [79]
    year = SeriesForm(mechanism="geometric", budget=1, years=1, about="difference", limit=20)
    found = {line[0]: float(line[1]) for line in budgets(year).lines}
    assert found["exact"] == pytest.approx(0.0901, abs=5e-5)


def test_belief_rises_and_the_strengths_are_in_order() -> None:
    spec = beliefs(SeriesForm()).chart
    rows = spec["datasets"]["belief"]
    at = {name: {} for name in ("generic", "curve", "exact")}  # type: dict[str, dict[int, float]]
    for row in rows:
        at[row["name"]][row["k"]] = row["value"]
    for values in at.values():
        line = [values[k] for k in sorted(values)]
        assert line == sorted(line)
        assert values[0] == 0.5
    for k in set(at["generic"]) & set(at["curve"]) & set(at["exact"]):
        assert at["generic"][k] >= at["curve"][k] >= at["exact"][k]
    marked = {row["name"]: row["k"] for row in spec["datasets"]["passed"]}
    assert marked == counted(beliefs(SeriesForm()))


def test_long_series_are_cut_and_it_is_said() -> None:
    long = beliefs(SeriesForm(per_year=366, years=100, budget=1e-7))
    assert any("5,000 of 36,600" in note for note in long.notes)
    assert long.headline == "none of the first 10,000 releases"
    slow = budgets(SeriesForm(mechanism="laplace", per_year=366, years=3, budget=0.1))
    assert [line[0] for line in slow.lines] == ["generic"]
    assert any("discreet plan" in note for note in slow.notes)


def test_what_cannot_be_answered_is_said_in_words(client: Any) -> None:
    for query in ("budget=nan", "budget=-1", "per_year=0", "mechanism=magic", "before=100"):
        refused = client.get(f"/api/series?{query}")
        assert refused.status_code == 422
        assert set(refused.json()) == {"code", "message", "fields"}
        assert list(refused.json()["fields"]) == [query.partition("=")[0]]
        shown = client.get(f"/series?{query}", headers={"Accept": "text/html"})
        assert shown.status_code == 422
        assert query.startswith("mechanism") or 'aria-invalid="true"' in shown.text
    impossible = client.get("/api/series/plan?before=50&limit=40")
    assert impossible.status_code == 422
    page = client.get("/series?before=50&limit=40")
    assert page.status_code == 422  # someone at 50 % is surer than that already
    assert impossible.json()["message"] in html.unescape(page.text)


def test_the_page_has_the_numbers_without_script(client: Any) -> None:
    state = STATES[1]
    answer, shares = beliefs(state), budgets(state)
    text = client.get(answer.link).text
    for words in (
        answer.headline,
        shares.headline,
        *(cell for row in answer.lines for cell in row),
    ):
        assert words in text
    assert 'value="geometric" selected' in text


def test_what_is_typed_is_escaped(client: Any) -> None:
    text = client.get("/series", params={"budget": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text


@given(
    state=st.builds(
        dict,
        mechanism=st.sampled_from(sorted(MECHANISMS)),
        budget=st.floats(1e-12, 1000),
        delta_each=st.none() | st.floats(0, 0.999999),
        per_year=st.integers(1, 366),
        years=st.integers(1, 100),
        before=st.floats(1e-9, 99.999999),
        about=st.sampled_from(["posterior", "difference"]),
        limit=st.floats(1e-9, 99.999999),
        confidence=st.floats(1e-9, 99.999999),
        sided=st.sampled_from(["one", "two"]),
        delta=st.none() | st.floats(1e-300, 0.999999),
    )
)
@settings(max_examples=20, derandomize=True, deadline=None)
def test_any_state_is_answered_or_refused(state: dict[str, Any]) -> None:
    try:
        asked = SeriesForm.model_validate(state)
    except ValidationError:
        return
    if asked.mechanism in ("laplace", "discrete-gaussian"):
        asked = asked.model_copy(update={"per_year": 4, "years": 2})
    for ask in (beliefs, budgets):
        try:
            found = ask(asked)
        except DiscreetError as error:
            assert error.exit_code == 2
        else:
            json.dumps(found.model_dump(), allow_nan=False)


@given(st.floats(1e-6, 100))
@settings(max_examples=examples(200), derandomize=True, deadline=None)
def test_percentages_go_there_and_back(percent: float) -> None:
    assert math.isclose(percentage(share(percent)), percent, rel_tol=1e-15)


def test_a_promise_for_every_output_is_planned_as_it_was_chosen() -> None:
    promise = {"posterior": 0.12, "p": 0.05, "q": 1.0}
    state = SeriesForm(**SeriesForm.begun(Thread.saying(tolerance=promise)))
    assert state.releases == 12
    ((_, each, *_),) = budgets(state).lines
    whole = choose(promise).epsilon
    assert whole * (1 - 1e-4) <= 12 * float(each) <= whole
    assert beliefs(state).headline == "release 13"  # the first that passes
    assert beliefs(state).when == "The bound is first passed with release 13 (1 year 1 month)."
    assert beliefs(state).holds_with == 1
    assert budgets(state).how.command.endswith("--every-output")
    with pytest.raises(InputError, match="every output"):
        beliefs(state.model_copy(update={"mechanism": "gaussian"}))


@pytest.mark.parametrize(
    "keys",
    [
        {"difference": 0.1},
        {"difference": 0.2, "about": "membership"},
        {"ratio": 3.0},
        {"posterior": 0.25, "unless_ratio": 3, "about": "membership"},
        {"posterior": 0.15, "unless_ratio": 3, "q": 0.05, "about": "value"},
        {"posterior": 0.2, "q": 0.05, "about": "value"},
        {"posterior": 0.2, "p": 0.05, "q": 0.6},
        {"posterior": 0.12, "p": 0.05, "about": "membership"},
        {"profile": "max(0.25/(p*q), 3)"},
        {"all": [{"ratio": 3}, {"difference": 0.2}]},
    ],
)
def test_a_promise_that_comes_along_is_planned_whole(client: Any, keys: dict[str, Any]) -> None:
    """Where the form cannot say it, the budget was that of another limit, and larger."""
    promise = keys | {"every_output": True}
    thread = Thread.saying(tolerance=promise)
    form = Filled.of(SeriesForm, as_typed(SeriesForm.begun(thread)))
    assert form.problems == {}
    found = budgets(form.state)
    each = plan(promise, 12, mechanism="geometric").budgets[0]
    assert found.headline == f"ε = {shown_down(each)}"
    page = client.get(thread.to("/series")).text
    assert found.headline in page
    assert ('name="keeps"' in page) == bool(form.state.keeps)
    # The budget that the form begins with is a twelfth, rounded down: it is kept through twelve.
    told = "the promise above is kept through 12 releases." in beliefs(form.state).sentence
    assert told == bool(form.state.keeps)
