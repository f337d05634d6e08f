"""Tolerate: the sentence, the handles, the link and the file all mean the same tolerance."""

from __future__ import annotations

import json
import math
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from discreet.beliefs import Prior, explain
from discreet.budgets import choose
from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.promises import PRESETS, tolerance_in
from discreet.rounding import percent
from discreet.web.forms import Filled
from discreet.web.sentences import KINDS, WORRIES, Asked, Condition, preset_links
from discreet.web.thread import link
from discreet.web.tolerate import TolerateForm, answer, axis, edges, handles, map_handles, moved
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(60))
QUICK_KINDS = ("posterior", "unless", "ratio", "difference")


def query(path: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(path).query))


@st.composite
def conditions(draw: Any, kinds: tuple[str, ...] = QUICK_KINDS) -> Condition:
    """A sentence that a person could write, with a budget above 0."""
    before = draw(st.floats(0.1, 60).map(lambda x: round(x, 1)))
    return Condition(
        kind=draw(st.sampled_from(kinds)),
        worry=draw(st.sampled_from(list(WORRIES))),
        before=before,
        after=round(before + draw(st.floats(0.2, 39)), 1),
        fold=draw(st.floats(1.1, 20).map(lambda x: round(x, 2))),
        points=draw(st.floats(0.5, 90).map(lambda x: round(x, 1))),
        known=draw(st.sampled_from([100.0, 50.0, 5.0, 0.5])),
    )


asked_for = st.lists(conditions(), min_size=1, max_size=4).map(lambda found: Asked(tuple(found)))


def test_presets_are_sentences() -> None:
    for name, asked, _ in preset_links():
        assert tolerance_in(asked.to_mapping()) == PRESETS[name].tolerance
        found = answer(asked)
        assert found.epsilon == choose(PRESETS[name].tolerance).epsilon


def test_the_first_sentence_is_the_one_everybody_starts_from() -> None:
    found = answer(Asked())
    assert found.sentences == [
        "Someone who thinks there is a 5 % chance that a person is in the data may become at most "
        "12 % sure."
    ]
    assert found.shown == "0.9520"
    assert found.implied[0] == ["1 %", "2.6 %", "6.4 %"]
    # Whether someone is in the data is one step, and which value they have is two.
    assert found.implied_header[2] == "after, about a value, if known to be in"
    odds = math.exp(2 * choose(Asked().to_mapping()).epsilon) / 99
    assert math.ceil(1000 * odds / (1 + odds)) / 10 == 6.4
    assert [one.text for one in found.handles] == ["at most 12 in 100", "from 5 in 100"]


@FAST
@given(asked_for)
def test_a_link_holds_the_state(asked: Asked) -> None:
    path = link("/tolerate", asked.to_query())
    back = TolerateForm.model_validate(query(path)).asked()
    assert back.to_query() == asked.to_query()
    assert back.to_mapping() == asked.to_mapping()


@FAST
@given(asked_for)
def test_the_page_says_what_python_says(asked: Asked) -> None:
    found = answer(asked)
    choice = choose(asked.to_mapping())
    assert found.epsilon == (None if choice.epsilon == float("inf") else choice.epsilon)
    assert len(found.sentences) == len(asked.conditions)
    json.dumps(found.model_dump(), allow_nan=False)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "epsilon"])
@pytest.mark.parametrize("worry", WORRIES)
def test_the_file_is_one_that_the_command_line_accepts(client: Any, kind: str, worry: str) -> None:
    from discreet.cli.choose import choose as command

    asked = Asked((Condition(kind, worry), Condition("ratio", fold=4.0)))
    state = asked.to_query()
    shown = client.get(link("/api/tolerate", state)).json()
    file = client.get(shown["yaml"])
    assert file.headers["content-disposition"] == 'attachment; filename="tolerance.yaml"'
    path = client.folder / "tolerance.yaml"
    path.write_text(file.text, encoding="utf-8")
    import typer

    app = typer.Typer()
    app.command()(command)
    said = CliRunner().invoke(app, ["--file", str(path), "--json"])
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout)["epsilon"] == shown["epsilon"]


def test_the_promise_is_in_the_file_too(client: Any) -> None:
    state = {"kind": "difference", "worry": "in", "points": "20", "delta": "1e-6"}
    shown = client.get("/api/tolerate", params=state | {"confidence": "0.99"}).json()
    mapping = yaml.safe_load(client.get(shown["yaml"]).text)
    assert mapping["delta"] == 1e-6
    assert choose(mapping).epsilon == shown["epsilon"]
    assert "0.99" in shown["holds"]


def test_the_page_works_without_script(client: Any) -> None:
    state = {"kind": "unless", "worry": "both", "after": "25", "fold": "3"}
    text = client.get("/tolerate", params=state, headers={"Accept": "text/html"}).text
    shown = client.get("/api/tolerate", params=state).json()
    assert shown["shown"] == "0.6496"
    for part in (shown["shown"], shown["binding"], "17.6 %", "K&amp;R (15), (16), (33)"):
        assert part in text
    more = client.get("/tolerate", params=state | {"add": "1"}, headers={"Accept": "text/html"})
    assert 'name="kind2"' in more.text
    less = client.get(
        "/tolerate",
        params=state | {"kind2": "ratio", "remove": "1"},
        headers={"Accept": "text/html"},
    )
    assert 'name="kind2"' not in less.text
    assert '<option value="ratio" selected>' in less.text


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"kind": "posterior", "before": "20", "after": "12"}, "above the belief before, 20 %"),
        ({"kind": "ratio", "fold": "0.5"}, "growth of belief"),
        ({"kind": "ratio", "fold": "abc"}, "must be a number"),
        ({"kind": "ratio", "fold": "nan"}, "must be a number"),
        ({"kind": "ratio", "fold": "1e999"}, "must be a number"),
        ({"kind": "formula", "formula": "__import__('os')"}, ""),
        ({"kind": "none"}, "kind of sentence"),
        ({"kind": "epsilon", "epsilon": "1"}, "kind of sentence"),
        ({"kind": "ratio", "worry": "all"}, "worry"),
        ({"kind": "ratio", "delta": "2"}, "delta"),
        ({"kind": "ratio", "sided": "three"}, "sided"),
        ({"handle": "nothing"}, "no such handle"),
        ({"handle": "after", "x": "nan"}, "must be a number"),
    ],
)
def test_what_cannot_be_is_said_in_words(client: Any, given: dict[str, str], word: str) -> None:
    answer = client.get("/api/tolerate", params=given)
    assert answer.status_code == 422
    assert word in answer.json()["message"]
    assert answer.json()["code"] in ("input", "tolerance", "formula")
    shown = client.get("/tolerate", params=given, headers={"Accept": "text/html"})
    if "handle" not in given:
        assert shown.status_code == 422
        assert 'data-problem role="status">' in shown.text


def test_what_was_typed_stays_in_the_form(client: Any) -> None:
    given = {"kind": "posterior", "before": "20", "after": "12"}
    text = client.get("/tolerate", params=given, headers={"Accept": "text/html"}).text
    assert 'name="before" value="20"' in text
    assert 'name="after" value="12"' in text


def test_a_formula_is_text_and_nothing_else(client: Any) -> None:
    hostile = '"><script>alert(1)</script>'
    given = {"kind": "formula", "formula": hostile}
    text = client.get("/tolerate", params=given, headers={"Accept": "text/html"}).text
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text


# -- handles


@FAST
@given(
    conditions(),
    st.sampled_from(["after", "before", "fold", "points"]),
    st.sampled_from(["", "map."]),
    st.floats(-0.5, 1.5),
    st.floats(-0.5, 1.5),
)
def test_wherever_a_handle_is_dragged_there_is_a_budget(
    condition: Condition, blank: str, where: str, x: float, y: float
) -> None:
    asked, name = Asked((condition,)), where + blank
    if name not in {one.name for one in (*handles(asked, *axis(asked)), *map_handles(asked))}:
        return
    after = moved(asked, name, (x, y), 0, None)
    assert choose(after.to_mapping()).epsilon > 0
    others = [one for one in condition.used() if one != blank]
    for other in others:
        assert getattr(after.conditions[0], other) == getattr(condition, other)


@FAST
@given(conditions(), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_a_handle_lands_where_the_hand_was(condition: Condition, x: float, y: float) -> None:
    asked = Asked((condition,))
    top, high = axis(asked)
    for handle in handles(asked, top, high):
        across = handle.along == "across"
        hand = (x * top, handle.y) if across else (handle.x, y * high)
        after = moved(asked, handle.name, hand, 0, top)
        back = next(one for one in handles(after, top, high) if one.name == handle.name)
        kept = getattr(after.conditions[0], handle.name)
        if handle.name == "fold":
            assert kept == pytest.approx(min(100, max(1.1, handle.y / hand[0])), abs=0.051)
        elif 0.2 < kept < 99 and not _at_its_end(condition, handle.name, kept):
            where, there = (back.x, hand[0]) if across else (back.y, hand[1])
            assert where == pytest.approx(there, abs=0.00051)


def _at_its_end(condition: Condition, name: str, kept: float) -> bool:
    """Whether a value stopped where it would leave no budget."""
    share = condition.known / 100 if condition.worry == "value" else 1.0
    if name == "before":
        return abs(kept - (condition.after - 0.1) / share) < 0.06
    if name == "after" and condition.kind == "posterior":
        return abs(kept - (condition.before * share + 0.1)) < 0.06
    return False


@FAST
@given(asked_for)
def test_every_handle_is_on_the_chart(asked: Asked) -> None:
    top, high = axis(asked)
    for handle in handles(asked, top, high):
        assert 0 <= handle.x <= top * (1 + 1e-9), handle
        assert 0 <= handle.y <= high * (1 + 1e-9), handle
        assert handle.text
    for handle in map_handles(asked):
        assert 0 <= handle.x <= 1, handle
        assert 0 <= handle.y <= 1, handle


@FAST
@given(conditions(), st.floats(0.05, 0.95))
def test_a_handle_of_the_map_lands_where_the_hand_was(condition: Condition, x: float) -> None:
    asked = Asked((condition,))
    for handle in map_handles(asked):
        ways = {"across": (x, handle.y), "up": (handle.x, x), "diagonal": (x, x)}
        hand = ways[handle.along]
        blank = handle.name.removeprefix("map.")
        after = moved(asked, handle.name, hand, 0, None)
        kept = getattr(after.conditions[0], blank)
        ends = {"fold": (1.11, 99.9), "before": (0.2, condition.after - 0.2)}
        low, high = ends.get(blank, (0.2, 99))
        if not low < kept < high or (condition.worry == "value" and blank == "before"):
            continue
        back = next(one for one in map_handles(after) if one.name == handle.name)
        # A blank has one decimal, and a fold is one over what the map shows.
        near = 0.05 / kept if blank == "fold" else 0.0006
        assert back.x * back.y == pytest.approx(hand[0] * hand[1], rel=near, abs=0.0006)


def test_what_lies_on_a_line_of_the_map() -> None:
    asked = Asked((Condition("unless", "both", after=25, fold=4),))
    after, fold = map_handles(asked)
    # The fold takes over from the belief after where 4 pq = 25 %, and is certainty at 4 pq = 1.
    assert after.x * after.y == pytest.approx(0.25 / 4)
    assert fold.x * fold.y == pytest.approx(1 / 4)
    assert edges(asked) == pytest.approx([0.0625, 0.25])
    assert {one.along for one in (after, fold)} == {"diagonal"}
    known = Asked((Condition("difference", "value", points=20, known=80),))
    (points,) = map_handles(known)
    assert (points.along, points.x, points.y) == ("up", 0.8, 1.0)  # 80 % of the way is certainty
    assert not edges(known)


def test_the_keyboard_moves_a_handle(client: Any) -> None:
    state = {"kind": "posterior", "worry": "in", "before": "5", "after": "12", "handle": "after"}

    def pressed(steps: int) -> str:
        found = client.get("/api/tolerate", params=state | {"steps": str(steps)}).json()
        return str(found["fields"]["after"])

    assert pressed(1) == "12.5"
    assert pressed(-10) == "7"
    assert pressed(-1000) == "5.1"
    assert pressed(1000) == "99.9"


def test_handles_of_a_second_sentence_have_their_own_names() -> None:
    asked = Asked((Condition(), Condition("ratio", "both")))
    found = {one.name for one in handles(asked, *axis(asked))}
    assert found == {"after", "before", "fold2"}
    after = moved(asked, "fold2", None, 10, None)
    assert after.conditions[1].fold == 4.0
    assert after.conditions[0] == asked.conditions[0]


@settings(derandomize=True, deadline=None, max_examples=examples(150))
@given(
    st.dictionaries(
        st.sampled_from(
            ["kind", "worry", "before", "after", "fold", "known", "points", "kind2", "fold2",
             "delta", "confidence", "sided", "upto", "handle", "x", "y", "steps", "add", "remove"]
        ),
        st.one_of(
            st.sampled_from([*QUICK_KINDS, *WORRIES, "", "0", "1", "5", "12", "after", "fold"]),
            st.floats().map(str),
            st.text(max_size=12),
        ),
    )
)  # fmt: skip
def test_no_state_breaks_the_answer(given: dict[str, str]) -> None:
    form = Filled.of(TolerateForm, given)
    if form.problems:
        assert form.problems.keys() <= given.keys()
        return
    try:
        asked = form.state.asked()
        if "handle" in given:
            asked = moved(asked, given["handle"] or "x", None, 3, None)
        json.dumps(answer(asked).model_dump(), allow_nan=False)
    except DiscreetError as error:
        assert len(str(error)) > 10


def test_no_limit_is_not_rounded_down(client: Any) -> None:
    state = {"kind": "unless", "worry": "in", "after": "100", "fold": "3"}
    said = client.get("/api/tolerate", params=state).json()
    assert said["epsilon"] is None
    page = client.get("/tolerate", params=state, headers={"Accept": "text/html"}).text
    for shown in (said["rounded"], page):
        assert "rounded down" not in shown
        assert "bounds nothing" in shown
    assert "rounded down" in client.get("/api/tolerate").json()["rounded"]


def test_the_call_that_is_shown_is_about_what_the_figure_beside_it_is_about() -> None:
    found = answer(Asked((Condition(worry="value"),)))
    shown = next(row for row in found.implied if row[0] == "30 %")[1]
    about = explain(PureDP(found.epsilon or 0.0), Prior(1, 0.3)).posterior
    assert about is not None
    assert percent(about.upper, "up", 1) == shown
    said = found.how["implied"]
    assert "discreet.Prior(1, 0.3)" in said.python
    assert "--prior 1 --value-prior 0.3" in str(said.command)
