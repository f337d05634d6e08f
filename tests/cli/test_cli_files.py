"""explain, horizon and plan from a file: the same answer as by flags, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from discreet.cli import loaded
from discreet.errors import InputError

QUESTIONS: dict[str, dict[str, Any]] = {
    "explain": {"epsilon": 1.8, "delta": 1e-5, "prior": 0.1, "confidence": 0.95},
    "horizon": {"mechanism": "gaussian", "rho": 0.01, "prior": 0.5, "posterior_limit": 0.9},
    "plan": {"weight": [1, 2, 1], "difference": 0.2, "delta_each": 1e-8, "delta": 1e-6},
}


def run(name: str, *arguments: str) -> Any:
    app = typer.Typer()
    app.command()(loaded(name))
    return CliRunner().invoke(app, list(arguments))


def answer(name: str, *arguments: str) -> dict[str, Any]:
    result = run(name, *arguments, "--json")
    assert result.exception is None, result.exception
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def flags(question: dict[str, Any]) -> list[str]:
    words = []
    for key, value in question.items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{key.replace('_', '-')}", str(one)]
    return words


def written(folder: Path, question: Any) -> str:
    path = folder / "question.yaml"
    path.write_text(yaml.safe_dump(question), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_file_answers_as_its_flags_do(name: str, tmp_path: Path) -> None:
    question = QUESTIONS[name]
    by_flags = answer(name, *flags(question))
    assert answer(name, "--file", written(tmp_path, question)) == by_flags
    assert answer(name, "--file", written(tmp_path, QUESTIONS)) == by_flags  # its own section


@pytest.mark.parametrize(
    "asked", [["--ratio", "3"], ["--posterior", "0.12", "--p", "0.05", "--about", "membership"]]
)
def test_the_promise_of_an_answer_is_a_question_again(asked: list[str], tmp_path: Path) -> None:
    first = answer("choose", *asked)
    assert answer("choose", "--file", written(tmp_path, first["promise"])) == first
    assert answer("choose", "--file", written(tmp_path, {"promise": first["promise"]})) == first


def test_a_flag_beside_the_file_wins(tmp_path: Path) -> None:
    file = written(tmp_path, QUESTIONS["explain"])
    found = answer("explain", "--file", file, "--prior", "0.5")
    assert found["prior"]["p"] == 0.5
    assert found["guarantee"]["epsilon"] == 1.8


def test_numbers_as_yaml_1_1_leaves_them(tmp_path: Path) -> None:
    path = tmp_path / "question.yaml"
    path.write_text("epsilon: 1\ndelta: 1e-6\nprobabilistic: true\nprior: .5\nrho: null\n")
    found = answer("explain", "--file", str(path))
    assert found["guarantee"]["delta"] == 1e-6  # PyYAML reads 1e-6 as text
    assert found["guarantee"]["kind"] == "probabilistic"


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"epsilonn": 1}, "epsilonn"),
        ({"epsilon": True}, "true or false"),
        ({"epsilon": [1]}, "one value"),
        ({"epsilon": {"a": 1}}, "one value"),
        ({"epsilon": 1, "probabilistic": 1}, "true or false"),
        ({"as_json": True}, "as_json"),
        ({"json": True}, "json"),
        ({"file": "other.yaml"}, "file"),
        ([1, 2], "holds no keys of a promise"),
    ],
)
def test_what_cannot_be_a_question_is_refused(question: Any, says: str, tmp_path: Path) -> None:
    error = run("explain", "--file", written(tmp_path, question)).exception
    assert isinstance(error, InputError)
    assert says in str(error)
    assert "\n" not in str(error)


def test_one_flag_written_two_ways_is_refused(tmp_path: Path) -> None:
    question = QUESTIONS["plan"] | {"delta_total": 1e-6}
    error = run("plan", "--file", written(tmp_path, question)).exception
    assert isinstance(error, InputError)
    assert "delta_total twice" in str(error)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    error = run("plan", "--file", str(tmp_path / "none.yaml")).exception
    assert isinstance(error, InputError)
    assert "none.yaml" in str(error)


@pytest.mark.parametrize(
    "question",
    [
        {"about": "membership", "p": 0.05, "posterior": 0.12},
        {"all": [{"ratio": 3}, {"difference": 0.2}]},
        {"protect": {"unit": "person"}, "promise": {"ratio": 3}, "purpose": "a spec"},
    ],
)
def test_a_promise_where_a_budget_is_asked_for_says_how_to_get_one(
    question: dict[str, Any], tmp_path: Path
) -> None:
    file = written(tmp_path, question)
    error = run("explain", "--file", file).exception
    assert isinstance(error, InputError)
    assert "holds a promise" in str(error)
    assert f"discreet choose --file {file}" in str(error)
    assert answer("choose", "--file", file)["epsilon"] > 0
