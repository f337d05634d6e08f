"""Cost: the numbers of the papers' examples, draws held fixed, files for the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budgets import choose
from discreet.errors import DiscreetError
from discreet.laws import Geometric
from discreet.laws.mechanism import distance_across
from discreet.web.cost import CostForm, answer
from discreet.web.forms import Filled
from discreet.web.sentences import Asked, Condition
from soaking import examples

FAST = settings(derandomize=True, deadline=None, max_examples=examples(40))
HTML = {"Accept": "text/html"}


def asking(asked: Asked, **count: Any) -> CostForm:
    return CostForm.model_validate(asked.to_query() | count)


def bare(cells: list[str]) -> list[str]:
    return [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in cells]


def test_the_infant_deaths_of_kazan_and_reiter() -> None:
    """Example 3: r = 5, a = 0.5 and r = 2, a = 0.25, true counts 1 and 2 above a limit of 24."""
    asked = Asked(
        (Condition("unless", after=50.0, fold=5.0), Condition("unless", after=25.0, fold=2.0))
    )
    found = answer(asking(asked, count=25, limit=24))
    table = {row[0]: bare(row[1:]) for row in found.rows}
    assert table["budget ε"] == ["2.1972", "0.8472"]
    assert table["standard deviation"] == ["0.53", "1.62"]
    assert table["a count of 25 published at or below 24"] == ["10.0 %", "30.0 %"]
    further = {row[0]: bare(row[1:]) for row in answer(asking(asked, count=26, limit=24)).rows}
    assert further["a count of 26 published at or below 24"] == ["1.1 %", "12.9 %"]


def test_agencies_of_example_one_are_shown_first(client: Any) -> None:
    found = client.get("/api/cost").json()
    table = {row[0]: bare(row[1:]) for row in found["rows"]}
    assert table["budget ε"] == ["0.5108", "1.2992", "2.0368"]
    assert table["published exactly"] == ["25.0 %", "57.1 %", "76.9 %"]
    assert found["verdict"].endswith("decides: A.")
    page = client.get("/cost", headers=HTML).text
    for name, fold in (("fold", "1.5"), ("fold2", "3"), ("fold3", "6")):
        assert f'name="{name}" value="{fold}"' in page
    assert 'name="limit" value="24"' in page
    assert 'name="limit" value=""' in client.get("/cost?count=7", headers=HTML).text


@FAST
@given(st.floats(0.05, 5), st.integers(0, 60), st.integers(0, 60), st.integers(1, 4))
def test_the_chance_of_crossing_is_that_of_the_law(
    epsilon: float, count: int, limit: int, rows: int
) -> None:
    law = Geometric(epsilon, rows)
    chance = law.prob_crosses(distance_across(count, limit))
    # P(published ≤ limit) where the truth is above it, P(published > limit) where it is not
    below = law.cdf(limit - count)
    assert chance == pytest.approx(below if count > limit else 1 - below, abs=1e-12)


@FAST
@given(st.floats(0.05, 5).map(lambda x: round(x, 3)), st.floats(1, 4))
def test_draws_move_towards_the_truth_and_never_jump(epsilon: float, times: float) -> None:
    def drawn(value: float) -> list[int]:
        asked = Asked((Condition("epsilon", epsilon=value),))
        spec = answer(asking(asked, count=26)).charts["counts"]
        return [row["published"] for row in spec["datasets"]["published"]]

    for before, after in zip(drawn(epsilon), drawn(epsilon * times), strict=True):
        assert abs(after - 26) <= abs(before - 26)


def test_no_limit_no_line(client: Any) -> None:
    found = client.get("/api/cost", params={"kind": "epsilon", "epsilon": "1", "count": "7"}).json()
    assert not any("published at" in row[0] for row in found["rows"])
    assert found["charts"]["counts"]["datasets"]["limit"] == []
    assert found["verdict"] == ""


def test_a_tolerance_that_bounds_nothing_has_no_noise(client: Any) -> None:
    given = {"kind": "unless", "after": "100", "fold": "3", "count": "10", "limit": "5"}
    table = {row[0]: row[1] for row in client.get("/api/cost", params=given).json()["rows"]}
    assert table["budget ε"] == "unbounded"
    assert table["standard deviation"] == "0"
    assert bare([table["published exactly"]]) == ["100.0 %"]


def test_the_page_works_without_script(client: Any) -> None:
    text = client.get("/cost?kind=epsilon&epsilon=0.5&count=100&limit=90", headers=HTML).text
    for part in ("0.5000", "a count of 100 published at or below 90", "an illustration"):
        assert part in text


def test_the_link_from_tolerate_brings_the_sentences(client: Any) -> None:
    told = client.get(
        "/api/tolerate", params={"kind": "ratio", "worry": "both", "fold": "3"}
    ).json()
    found = client.get(told["cost"].replace("/cost", "/api/cost")).json()
    assert found["rows"][0][1] == told["shown"]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"count": "-1"}, "the hypothetical count"),
        ({"count": "1.5"}, "the hypothetical count"),
        ({"count": "9" * 30}, "the hypothetical count"),
        ({"count": "5", "limit": "x"}, "the limit"),
        ({"count": "5", "rows": "0"}, "moves a count"),
        ({"kind": "epsilon", "epsilon": "0"}, "the budget epsilon"),
        ({"kind": "epsilon", "epsilon": "1e9"}, "the budget epsilon"),
        ({"kind": "ratio", "kind2": "posterior", "before2": "50", "after2": "10"}, "B: "),
    ],
)
def test_what_cannot_be_is_said_in_words(client: Any, given: dict[str, str], word: str) -> None:
    said = client.get("/api/cost", params=given)
    assert said.status_code == 422
    assert word in said.json()["message"]
    assert client.get("/cost", params=given, headers=HTML).status_code == 422


def test_the_file_names_the_tolerance_that_binds(client: Any) -> None:
    found = client.get("/api/cost").json()
    mapping = yaml.safe_load(client.get(found["yaml"]).text)
    choice = choose(mapping)
    assert choice.binding.name == "A"
    assert f"{choice.epsilon:.4f}" == found["rows"][0][1]


def test_budgets_alone_become_a_file_for_explain(client: Any) -> None:
    file = client.get("/cost/tolerances.yaml?kind=epsilon&epsilon=0.5")
    assert yaml.safe_load(file.text) == {"epsilon": 0.5}
    assert "discreet explain --file" in file.text
    mixed = client.get("/cost/tolerances.yaml?kind=epsilon&epsilon=0.5&kind2=ratio&fold2=3")
    assert yaml.safe_load(mixed.text) == {"ratio": 3.0, "q": 1.0}
    assert "# A is a budget: epsilon 0.5" in mixed.text


@settings(derandomize=True, deadline=None, max_examples=examples(80))
@given(st.dictionaries(
    st.sampled_from(["kind", "epsilon", "fold", "count", "limit", "rows", "kind2", "epsilon2"]),
    st.one_of(st.sampled_from(["epsilon", "ratio", "1", "1000000000", "1e-6", "1000"]),
              st.text(max_size=8)),
))  # fmt: skip
def test_no_state_breaks_the_answer(given: dict[str, str]) -> None:
    form = Filled.of(CostForm, given)
    if form.problems:
        assert form.problems.keys() <= given.keys()
        return
    try:
        json.dumps(answer(form.state).model_dump(), allow_nan=False)
    except DiscreetError as error:
        assert len(str(error)) > 10


def test_the_count_is_asked_for_as_an_invented_one(client: Any) -> None:
    page = client.get("/cost", headers={"Accept": "text/html"}).text
    assert "A hypothetical count of" in page
    assert "Invent the count" in page
    assert "true count" not in page
