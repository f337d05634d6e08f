"""A shape of tolerance is added from outside: keys, flag, budget with a proof, sentence, group."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from toy_shape import PartOfTheWay

from discreet import choose, release, report
from discreet.errors import ToleranceError
from discreet.ledger import Ledger
from discreet.promises import Ratio, promise_in
from discreet.promises.keys import load_yaml, promise_keys
from discreet.promises.tolerance import SHAPES, Key, Tolerance, shape
from discreet.reports import verifier

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The shape is there in these tests alone."""
    SHAPES["part_of_the_way"] = PartOfTheWay
    yield
    del SHAPES["part_of_the_way"]


# Other tests see the shapes of the package alone, though this module was imported.
SHAPES.pop("part_of_the_way", None)


def test_choose_takes_it_and_proves_the_budget() -> None:
    found = choose(PartOfTheWay(0.5))
    assert found.certificate.certified
    # At p = 1 posterior odds ≤ e^{2ε} prior odds; 1 − posterior ≥ (1 − c)(1 − q) asks for
    # (1 − q)/(1 − q + q e^{2ε}) ≥ (1 − c)(1 − q), tightest as q → 1: e^{2ε} ≤ 1/(1 − c).
    truth = math.log(2) / 2
    assert found.certificate.lower <= truth <= found.certificate.upper * (1 + 1e-12)
    assert found.epsilon == pytest.approx(truth, rel=1e-4)


@pytest.mark.parametrize("box", [{}, {"about": "membership"}, {"p": 0.05}])
def test_its_key_is_read_like_any_other(box: dict[str, object]) -> None:
    promise = promise_in(load_yaml("part_of_the_way: 0.2") | box)
    assert promise == promise_in(promise.to_mapping())
    assert promise.id == promise_in(promise.to_mapping()).id
    assert choose(part_of_the_way=0.2, **box).promise == promise.settled(pure=True)
    assert "part_of_the_way" in promise_keys()


def test_it_has_a_sentence() -> None:
    assert choose(part_of_the_way=0.2, p=0.05, about="membership").promise.sentence() == (
        "Nobody who starts at 5 % comes more than 20 % nearer to certainty that one person is in "
        "the data. This holds for every possible output."
    )


def test_it_goes_with_others_and_in_groups() -> None:
    both = choose(PartOfTheWay(0.9) & Ratio(1.5))
    assert both.epsilon == choose(Ratio(1.5)).epsilon
    named = choose(groups={"all": {"part_of_the_way": 0.2}, "some": {"ratio": 9}})
    assert named.binding.name == "all"


def test_it_checks_its_numbers() -> None:
    with pytest.raises(ToleranceError, match=r"so 20 % is 0\.2"):
        promise_in({"part_of_the_way": 20})


def test_the_command_line_has_its_flag(tmp_path: Path) -> None:
    code = "import sys, toy_shape; from discreet.cli import main; sys.exit(main(sys.argv[1:]))"
    asked = ["choose", "--part-of-the-way", "0.2", "--about", "membership", "--json"]
    ran = subprocess.run(
        [sys.executable, "-c", code, *asked],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": f"{HERE}:{Path(sys.modules['discreet'].__file__ or '').parents[1]}"},
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["promise"]["part_of_the_way"] == 0.2
    assert found["epsilon"] == choose(part_of_the_way=0.2, about="membership").epsilon


@pytest.mark.parametrize("key", ["ratio", "odds", "p", "confidence", "unit", "delta"])
def test_a_key_that_promises_have_already_is_refused(key: str) -> None:
    with pytest.raises(TypeError, match=rf"\['{key}'\] are taken"):
        shape(type("Other", (Tolerance,), {"keys": (Key(key),)}))


@pytest.mark.parametrize(
    "keys",
    [
        {"part_of_the_way": 0.5, "p": 0.05, "about": "membership"},
        {"all": [{"part_of_the_way": 0.5}, {"ratio": 9}]},
    ],
)
def test_a_report_says_that_its_promise_was_not_checked_and_checks_the_rest(
    tmp_path: Path, keys: dict[str, object]
) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    fixed = {"unit": "person", "adjacency": "add-remove", "filter": "pure"}
    ledger = Ledger.open(url)
    ledger.open_account("people", promise=keys, approver="A", reason="test", **fixed)
    spec = {
        "account": "people",
        "purpose": "counts",
        "protect": {"unit": "person", "column": "person", "rows": 1},
        "budget": {"epsilon": 0.1},
        "statistics": [{"count": "rows"}],
        "ledger": url,
        "output": "out",
    }
    made = release(spec, data=pa.table({"person": ["a", "b"]}), folder=tmp_path)
    folder = report(made.release_id, ledger=url, output=tmp_path / "out").folder
    found = verifier.examined(folder)
    answer = found.answer()
    assert answer["problems"] == []
    assert (answer["verified"], answer["promise_kept"]) == (True, None)
    (line,) = (one for one in answer["unproven"] if one.startswith("promise"))
    assert line.startswith("promise not checked: the key part_of_the_way is not known here")
    # The first line that people read says so.
    assert next(verifier.lines_of(found)) == (
        "Every figure that was checked agrees. 1 promise could be neither shown nor refuted: "
        "marked ?. The wording was not checked."
    )
