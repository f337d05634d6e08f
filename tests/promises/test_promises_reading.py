"""The one reader of keys: contradictions refused, one meaning one id, there and back, in words."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_drawn import promises

from discreet.budgets import choose
from discreet.cli import main
from discreet.errors import InputError, ToleranceError
from discreet.promises import (
    PRESETS,
    AllOf,
    Box,
    Difference,
    Posterior,
    Promise,
    Ratio,
    Surety,
    Unit,
    priors,
    promise_in,
    promised,
)
from discreet.promises.keys import load_yaml, promise_from, promise_keys
from discreet.promises.promise import AUDIENCES
from soaking import examples

stable = settings(derandomize=True, deadline=None, max_examples=examples(200))


@stable
@given(promises())
def test_there_and_back(promise: Promise) -> None:
    keys = promise.to_mapping()
    assert set(keys) <= promise_keys()
    assert promise_in(keys) == promise
    assert promise_in(load_yaml(promise.to_yaml())) == promise
    back = promise_in(json.loads(json.dumps(keys)))
    assert back == promise
    assert back.id == promise.id
    assert re.fullmatch("[0-9a-f]{16}", promise.id)
    shown = promise.to_dict()
    assert shown.pop("sentence") == promise.sentence()
    assert promise_in(shown) == promise


@stable
@given(promises(), promises())
def test_different_promises_have_different_ids(one: Promise, other: Promise) -> None:
    """Of whom they speak is the account's: ids are of the rest."""
    same = one.to_mapping(of_whom=False) == other.to_mapping(of_whom=False)
    assert (one.id == other.id) is same


@pytest.mark.parametrize(
    "ways",
    [
        [
            {"ratio": 3, "about": "membership"},
            {"ratio": 3.0, "q": 1},
            {"ratio": 3, "values_known": True},
            {"ratio": 3, "about": "membership", "q": 1.0},
            {"ratio": 3, "box": [0, 1, 1, 1]},
            {"ratio": 3, "about": "membership", "sided": "two", "related": 1, "p": None},
            {"ratio": 3, "q": 1, "every_output": False, "on_average": False},
            {"ratio": 3, "q": 1, "unit": "household", "unit_name": "one flat"},
        ],
        [
            {"posterior": 0.12, "prior": 0.05},
            {"posterior": 0.12, "p": 0.05, "about": "membership"},
            {"posterior": 0.12, "p": 0.05, "q": 1},
            {"posterior": 0.12, "box": [0.05, 0.05, 1, 1]},
            {"posterior": 0.12, "box": [0, 0.5, 1, 1], "p": 0.05},
            {"posterior": 0.12, "prior": 0.05, "about": "membership"},
        ],
        [
            {"ratio": 3, "difference": 0.2},
            {"difference": 0.2, "ratio": 3},
            {"all": [{"ratio": 3}, {"difference": 0.2}]},
            {"all": [{"ratio": 3, "about": "both"}, {"difference": 0.2, "box": [0, 1, 0, 1]}]},
        ],
        [
            {"ratio": 2, "about": "value", "confidence": 0.99},
            {"ratio": 2, "p": 1, "confidence": 0.99},
            {"ratio": 2, "box": [1, 1, 0, 1], "confidence": 0.99},
            {"ratio": 2, "p": 1, "about": "value", "confidence": 0.99, "delta": 1e-6},
        ],
        [
            {"preset": "threefold"},
            {"ratio": 3},
            {"ratio": 3, "about": "both"},
            {"all": [{"ratio": 3}]},
            {"all": [{"all": [{"preset": "threefold"}]}]},
        ],
        [{"profile": " 3 + p "}, {"profile": "3 + p"}],
        [{"ratio": math.inf}, {"ratio": float("1e400")}],
    ],
    ids=lambda ways: str(ways[0]),
)
def test_one_meaning_one_id(ways: list[dict[str, Any]]) -> None:
    found = [promise_from(None, {**way}) if "prior" in way else promise_in(way) for way in ways]
    assert len({promise.id for promise in found}) == 1
    assert len({promise.tolerance for promise in found}) == 1


def test_a_table_in_a_file_is_its_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("p,q,ratio\n0,1,4\n1,1,3\n")
    by_file = promise_in({"table": "t.csv", "q": 1}, tmp_path)
    assert by_file.id == promise_in({"table": [[1, 1, 3], [0, 1, 4]], "q": 1}).id


def test_one_of_one_is_that_one() -> None:
    alone, listed = Ratio(3), AllOf((Ratio(3),))
    assert Promise(alone).id == Promise(listed).id == "1d1fea22ebcb9127"
    assert Promise(alone).to_mapping() == Promise(listed).to_mapping()
    # Names that promises were recorded under stay as they are.
    assert promise_in({"ratio": 3, "difference": 0.2}).id == "e60255f3502faf30"


def test_what_differs_has_another_id() -> None:
    base = {"ratio": 3, "confidence": 0.99}
    others = [
        {"confidence": 0.9},
        {"confidence": None},
        {"confidence": None, "every_output": True},
        {"sided": "one"},
        {"related": 2},
        {"about": "membership"},
        {"about": "value"},
        {"ratio": 3.0000000001},
    ]
    ids = {promise_in(base).id, *(promise_in(base | other).id for other in others)}
    assert len(ids) == len(others) + 1


@pytest.mark.parametrize(
    "keys",
    [
        {"profile": "max(0,25/p, 3)"},
        {"profile": "0,25/p"},
        {"all": [{"ratio": 9}, {"profile": "max(3, 0,25/p)"}]},
    ],
)
def test_a_decimal_comma_in_a_formula_is_refused_as_it_is_typed(keys: dict[str, Any]) -> None:
    """As two numbers, max(0,25/p, 3) allows a hundredfold of what was meant."""
    with pytest.raises(InputError, match="0,25 in the formula") as caught:
        promise_in(keys)
    assert caught.value.next == "Write 0.25 for a decimal, or 0, 25 for two numbers."
    with pytest.raises(InputError, match="may be a decimal"):
        promised("max(0,25/p, 3)")
    # One that an account has is read as it was, and two numbers with a space stay two.
    assert promise_in(keys | {"profile": "max(3,2/p)"}, stored=True).id
    assert promise_in({"profile": "max(3,0.25/p)"}).id != promise_in({"profile": "max(3, 2)"}).id


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"about": "membership", "box": [0, 1, 1, 1]}, "about and box"),
    ({"about": "both", "box": [0, 1, 0, 1]}, "about and box"),
    ({"about": "membership", "q": 0.5}, "q = 1, but q is 0.5"),
    ({"about": "value", "p": 0.5}, "p = 1, but p is 0.5"),
    ({"about": "both", "p": 0.5, "q": 0.5}, "drop about"),
    ({"about": "value", "values_known": True}, "values_known means"),
    ({"about": "membership", "adjacency": "replace"}, "membership is not protected"),
    ({"about": "membership", "adjacency": "local"}, "membership is not protected"),
    ({"p": 0.5, "adjacency": "replace"}, "prior of the value as q"),
    ({"box": [0, 0.5, 0, 1], "adjacency": "local"}, "prior of the value as q"),
    (
        {"confidence": 0.9, "on_average": True, "about": "value", "q": 0.1},
        "holds in one of these ways",
    ),
    ({"confidence": 0.9, "every_output": True}, "holds in one of these ways"),
    ({"every_output": True, "delta": 1e-6}, "drop one"),
    ({"answers": 3}, "answers goes with on_average"),
]


@pytest.mark.parametrize(("keys", "says"), CONTRADICTIONS, ids=lambda one: str(one))
def test_contradictions(
    keys: dict[str, Any], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In Python, by flags, and from a file alike: one sentence, exit 2."""
    with pytest.raises(InputError, match=says) as caught:
        promise_in({"ratio": 3} | keys)
    assert caught.value.exit_code == 2
    flags = ["--ratio", "3"]
    for key, value in keys.items():
        if key == "values_known":
            return
        flags += [f"--{key.replace('_', '-')}"]
        flags += [] if value is True else [str(v) for v in (value if key == "box" else [value])]
    file = tmp_path / "promise.yaml"
    file.write_text(json.dumps({"ratio": 3} | keys))
    for verb in ("choose", "plan", "horizon"):
        own = {"choose": [], "plan": ["--releases", "2"], "horizon": ["--epsilon", "0.1"]}[verb]
        for line in ([*own, *flags], [*own, "--file", str(file)]):
            with pytest.raises(SystemExit) as ended:
                main([verb, *line])
            assert ended.value.code == 2, line
            out, err = capsys.readouterr()
            assert out == ""
            assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("keys", "leads_to"),
    [
        ({"about": "value", "p": 0.05}, {"q": 0.05}),
        ({"about": "value"}, {"q": 0.05}),
        ({"about": "value", "q": 0.5}, {"q": None}),
        ({"about": "value", "prior": 0.05}, {"q": 0.05}),
        ({"about": "membership", "q": 0.05}, {"p": 0.05}),
        ({"about": "membership"}, {"p": 0.05}),
        ({"about": "membership", "p": 0.5}, {"p": None}),
    ],
)
def test_the_prior_that_is_missing_is_named(
    keys: dict[str, Any], leads_to: dict[str, float | None], capsys: pytest.CaptureFixture[str]
) -> None:
    """What the message says to give is taken; it is not refused in its turn."""
    with pytest.raises(InputError) as caught:
        promise_in({"posterior": 0.12} | keys)
    [(name, value)] = leads_to.items()
    said = name if value is None else f"{name}: {value:g}"
    assert said in str(caught.value).replace(" = ", ": ")
    assert "box" not in str(caught.value)
    about = keys["about"]
    assert promise_in({"posterior": 0.12, "about": about, name: 0.05}).about == about
    line = [f"--{key}={value}" for key, value in ({"posterior": 0.12} | keys).items()]
    with pytest.raises(SystemExit):
        main(["choose", *line])
    flag = f"--{name}" if value is None else f"--{name} {value:g}"
    assert flag in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("choose --ratio 3 --confidence .9", "without a delta"),
        ("choose --ratio 3 --prior .1 --adjacency replace", "prior of the value as q"),
        ("plan --releases 2 --ratio 3 --prior .1 --adjacency local", "prior of the value as q"),
        ("horizon --epsilon .1 --ratio 3 --prior .1 --adjacency replace", "prior of the value"),
        ("plan --releases 2 --ratio 3 --prior .1 --about value", "prior means p with q = 1"),
        ("plan --releases 2 --ratio 3 --every-output --mechanism gaussian", "pure DP alone"),
        ("horizon --rho .1 --ratio 3 --every-output", "pure DP alone"),
    ],
)
def test_contradictions_of_a_verb(line: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_a_file_of_keys_is_one_promise_for_every_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(*line: str) -> dict[str, Any]:
        with pytest.raises(SystemExit) as ended:
            main([*line, "--json"])
        assert not ended.value.code, capsys.readouterr().err
        out: dict[str, Any] = json.loads(capsys.readouterr().out)
        return out

    file = tmp_path / "promise.yaml"
    file.write_text("promise:\n  posterior: 0.25\n  unless_ratio: 3\n  unit_name: one aircraft\n")
    chosen = answer("choose", "--file", str(file))
    planned = answer("plan", "--releases", "1", "--file", str(file))
    followed = answer("horizon", "--epsilon", "0.1", "--file", str(file))
    assert chosen["promise"] == planned["promise"] == followed["promise"]
    assert "one aircraft" in chosen["promise"]["sentence"]
    assert planned["per_release"]["epsilon"] == chosen["epsilon"]
    assert followed["releases"] == math.floor(chosen["epsilon"] / 0.1) + 1
    # a flag beside the file wins, and what is promised is said once
    sure = answer("plan", "--releases", "12", "--file", str(file), "--confidence", "0.9")
    assert sure["promise"]["confidence"] == 0.9
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--releases", "1", "--file", str(file), "--ratio", "3"])
    assert ended.value.code == 2
    assert "already says what is promised" in capsys.readouterr().err
    both = tmp_path / "both.yaml"
    both.write_text("posterior: 0.8\nposterior_limit: 0.7\nprior: 0.5\nepsilon: 0.1\n")
    with pytest.raises(SystemExit) as ended:
        main(["horizon", "--file", str(both)])
    assert ended.value.code == 2
    assert "posterior twice" in capsys.readouterr().err


def test_unbounded_promises_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    out = promised(Ratio(math.inf) & Difference(0.2)).to_dict()
    json.dumps(out, allow_nan=False)
    assert out["all"][0] == {"ratio": None, "unbounded": True}
    with pytest.raises(SystemExit):
        main(["choose", "--ratio", "inf", "--json"])
    assert json.loads(capsys.readouterr().out)["promise"]["unbounded"] is True


def test_a_function_has_a_sentence_and_no_id() -> None:
    def worry(p: float, q: float) -> float:
        return 3.0

    promise = promised(worry)
    assert "worry(p, q)" in promise.sentence()
    assert set(promise.to_dict()) == {"sentence"}
    with pytest.raises(ToleranceError, match="cannot be written"):
        _ = promise.id
    with pytest.raises(ToleranceError, match="cannot be written"):
        promise.to_yaml()


class TestSentences:
    @stable
    @given(promises(unit=st.just(Unit.of("record", "one aircraft"))))
    def test_every_shape_for_every_audience(self, promise: Promise) -> None:
        said = {audience: promise.sentence(audience) for audience in AUDIENCES}
        for text in said.values():
            assert text.strip() == text
            assert text[0].isupper() or text.startswith("for ")
            assert text.endswith(".")
            assert "{" not in text
            assert "\n" not in text
            if promise.unit.name == "one aircraft":
                assert "one aircraft" in text
                assert not re.search(r"\b(person|people|persons)\b", text), text
        assert said["technical"].startswith(said["public"])
        assert promise.adjacency.value in said["technical"]
        assert said["regulator"].startswith(said["public"])
        assert str(promise) == said["public"]

    @pytest.mark.parametrize("name", PRESETS)
    def test_presets(self, name: str) -> None:
        for audience in AUDIENCES:
            assert len(promise_in({"preset": name}).sentence(audience)) > 20

    @pytest.mark.parametrize(
        ("keys", "says"),
        [
            ({"ratio": 3}, "is in the data and has the sensitive value changes at most 3-fold"),
            ({"ratio": 3, "sided": "one"}, "grows at most 3-fold"),
            ({"ratio": 3, "about": "membership"}, "one person is in the data changes"),
            ({"ratio": 3, "about": "value"}, "one person has the sensitive value changes"),
            ({"ratio": 3, "adjacency": "replace"}, "one person has the sensitive value changes"),
            ({"difference": 0.2}, "changes by at most 20 percentage points, up or down"),
            ({"difference": 0.2, "sided": "one"}, "grows by at most 20 percentage points."),
            (
                {"posterior": 0.12, "p": 0.05, "about": "membership"},
                "Nobody who starts at 5 % becomes more than 12 % sure that one person is in",
            ),
            ({"posterior": 0.12, "about": "value", "q": 0.05}, "Nobody who starts at 5 %"),
            ({"posterior": 0.12, "p": 0.05}, "thinks there is a 5 % chance of being in the data"),
            ({"posterior": 0.5, "box": [0, 0.3, 1, 1]}, "starts between 0 % and 30 %"),
            ({"posterior": 0.25, "unless_ratio": 3}, "unless their belief grows at most 3-fold"),
            ({"counterfactual": 4}, "at most 4 times the odds if not"),
            ({"profile": "3 + p"}, "grows at most 3 + p-fold"),
            ({"groups": {"staff": {"ratio": 2}}}, "or staff: for everyone"),
            ({"ratio": 3, "every_output": True}, "for every possible output"),
            ({"ratio": 3, "confidence": 0.999}, "with probability 99.9 % over the noise"),
            (
                {"ratio": 2, "about": "value", "q": 0.1, "on_average": True},
                "a single output may tell more",
            ),
            ({"ratio": 3, "related": 4}, "data of 4 units depend on each other"),
            ({"ratio": 3, "unit": "household"}, "household"),
        ],
        ids=str,
    )
    def test_words(self, keys: dict[str, Any], says: str) -> None:
        assert says in promise_in(keys).sentence()

    def test_what_it_says_is_what_was_chosen(self) -> None:
        assert "99 %" in choose(ratio=3, delta=1e-6).promise.sentence()
        assert "every possible output" in choose(ratio=3).promise.sentence()

    def test_an_audience_that_is_not_one(self) -> None:
        with pytest.raises(InputError, match="audience is 'nobody'"):
            Promise(Ratio(3)).sentence("nobody")


class TestPromises:
    def test_what_it_is_about(self) -> None:
        assert Promise(Ratio(3)).about == "both"
        assert Promise(Ratio(3, priors(q=1))).about == "membership"
        assert Promise(Ratio(3, priors(p=1))).about == "value"
        assert Promise(Ratio(3), adjacency="local").about == "value"  # type: ignore[arg-type]
        assert Promise(Ratio(3, priors(q=1)) & Ratio(3)).about == "both"
        assert Promise(Posterior(0.5, Box(0.1, 0.1, 0.3, 0.3))).own_prior == (0.1, 0.3)
        assert Promise(Ratio(3)).own_prior is None
        assert Promise(Ratio(3, Box(1, 1, 0.2, 0.2)), adjacency="replace").own_prior == (1.0, 0.2)  # type: ignore[arg-type]

    def test_settled(self) -> None:
        promise = Promise(Ratio(3))
        assert promise.settled(pure=True).every_output
        assert promise.settled(pure=False).confidence == 0.99
        said = Promise(Ratio(3), Surety("confidence", 0.5))
        assert said.settled(pure=True) is said.settled(pure=False) is said

    @pytest.mark.parametrize(
        ("make", "says"),
        [
            (lambda: Promise(3), "not a tolerance"),
            (lambda: Promise(Ratio(3), sided="both"), "sided is 'both'"),
            (lambda: Promise(Ratio(3), related=0), "related is 0"),
            (lambda: Promise(Ratio(3), related=True), "related is True"),
            (lambda: Promise(Ratio(3), related=10**7), "related is"),
            (lambda: Promise(Ratio(3), adjacency="both"), "add-remove"),
            (lambda: Surety("confidence"), "strictly between"),
            (lambda: Surety("confidence", 0), "strictly between"),
            (lambda: Surety("on_average", answers=1.5), "answers is"),
            (lambda: Unit.of("team"), "person, household"),
            (lambda: Unit.of("person", "x" * 81), "at most 80"),
            (lambda: Unit.of("person", "a\x00b"), "printable"),
            (lambda: promised(3), "not a promise"),
        ],
    )
    def test_refusals(self, make: Any, says: str) -> None:
        with pytest.raises(InputError, match=says) as caught:
            make()
        assert "\n" not in str(caught.value)


def test_what_is_about_a_whole_promise_is_refused_inside_its_parts() -> None:
    with pytest.raises(ToleranceError, match="beside all"):
        promise_in({"all": [{"ratio": 3, "sided": "one"}]})
