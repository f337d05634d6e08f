"""`discreet compose` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.compose import compose as command
from discreet.errors import InputError

app = typer.Typer()
app.command()(command)


def _json(*arguments: str) -> dict:
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_promises():
    found = _json("--epsilon", "0.05", "--times", "365", "--delta", "1e-6")
    assert found["method"] == "optimal"
    assert found["epsilon"] == pytest.approx(4.6134483458, abs=1e-9)
    assert found["delta"] == 1e-6
    assert found["others"]["basic"] == pytest.approx(18.25)
    pinned = _json("--epsilon", "0.05", "--times", "365", "--delta", "1e-6", "--method", "advanced")
    assert pinned["epsilon"] == found["others"]["advanced"]


def test_mechanisms_in_each_of_their_words():
    epsilon = _json(
        "--mechanism", "laplace", "--epsilon", "0.05", "--times", "9", "--delta", "1e-6"
    )
    scale = _json("--mechanism", "laplace", "--scale", "20", "--times", "9", "--delta", "1e-6")
    assert epsilon["method"] == "curve"
    assert scale["epsilon"] == pytest.approx(epsilon["epsilon"], rel=1e-9)
    rho = _json("--mechanism", "gaussian", "--rho", "0.01", "--times", "3650", "--delta", "1e-6")
    assert rho["epsilon"] == pytest.approx(76.3195531226, abs=1e-9)
    sigma = _json("--mechanism", "discrete-gaussian", "--sigma", "9", "--delta", "1e-6")
    assert sigma["epsilon"] > 0
    answers = _json("--mechanism", "randomized-response", "--epsilon", "1", "--times", "5")
    assert answers["guarantee"]["adjacency"] == "local"


def test_concentrated_without_and_with_delta():
    alone = _json("--rho", "0.01", "--times", "365")
    assert alone["epsilon"] is None
    assert alone["unbounded"] is True
    assert alone["rho"] == pytest.approx(3.65)
    read = _json("--rho", "0.01", "--times", "365", "--delta", "1e-6")
    assert read["method"] == "curve"
    assert read["others"]["paper"] > read["epsilon"]


def test_parts_added_and_listed(tmp_path):
    added = _json(
        "--epsilon", "0.1", "--times", "3", "--add", "epsilon=0.2,delta=1e-9,times=2",
        "--add", "mechanism=laplace,scale=20,times=5", "--delta", "1e-6",
    )  # fmt: skip
    file = tmp_path / "plan.yaml"
    file.write_text(
        "- {epsilon: 0.1, times: 3}\n- {epsilon: 0.2, delta: 1.0e-9, times: 2}\n"
        "- {mechanism: laplace, scale: 20, times: 5}\n"
    )
    listed = _json("--file", str(file), "--delta", "1e-6")
    assert listed["epsilon"] == added["epsilon"]
    assert listed["others"]["basic"] == pytest.approx(0.95)


def test_the_readable_answer_names_the_theorem_and_never_rounds_down():
    result = CliRunner().invoke(app, ["--epsilon", "0.05", "--times", "365", "--delta", "1e-6"])
    assert "epsilon = 4.6135" in result.stdout  # 4.61344…, rounded up
    assert "Kairouz" in result.stdout
    assert "<- chosen" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--epsilon", "nan"],
        ["--epsilon", "1", "--rho", "1"],
        ["--sigma", "2"],
        ["--mechanism", "gaussian", "--epsilon", "1"],
        ["--mechanism", "magic", "--epsilon", "1"],
        ["--mechanism", "laplace", "--scale", "0"],
        ["--epsilon", "1", "--times", "0"],
        ["--epsilon", "1", "--delta", "2"],
        ["--epsilon", "1", "--sensitivity", "2"],
        ["--rho", "1", "--delta-each", "0.1"],
        ["--epsilon", "1", "--adjacency", "near"],
        ["--add", "epsilon"],
        ["--add", "epsilon=x"],
        ["--add", "budget=1"],
        ["--file", "/nowhere/plan.yaml"],
        ["--epsilon", "0.1", "--delta-each", "1e-3", "--times", "9", "--delta", "1e-4"],
    ],
)
def test_bad_input_is_one_sentence(arguments):
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_cold_start_loads_no_other_accountant():
    code = (
        "import sys; from discreet.cli import main;"
        "sys.argv = ['discreet', 'compose', '--epsilon', '0.05', '--times', '365',"
        " '--delta', '1e-6', '--json'];"
        "main()"
    )
    watched = (
        "import atexit, sys; atexit.register(lambda: print(*sorted(m for m in "
        "('dp_accounting', 'scipy', 'opendp', 'pandas', 'altair') if m in sys.modules), "
        "file=sys.stderr));"
    )
    done = subprocess.run(
        [sys.executable, "-c", watched + code], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["method"] == "optimal"
    assert done.stderr.split() == []


def test_gaussian_plans_need_no_numpy():
    code = (
        "import sys; from discreet.composition import compose; from discreet.laws import Gaussian;"
        "compose([(Gaussian(7.0), 3650)], delta=1e-6); sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_a_delta_no_theorem_is_said_to_be_chosen():
    shown = CliRunner().invoke(app, ["--rho", "0.01", "--times", "5"]).stdout
    assert "together 0.05-zCDP. For an epsilon, give a delta too, such as --delta 1e-6." in shown
    assert "unbounded" not in shown
    assert "chosen" not in shown
    pure = CliRunner().invoke(app, ["--epsilon", "0.1", "--times", "12"]).stdout
    assert " - " not in pure
    assert "advanced" not in pure  # it needs a delta, and says nothing here
    assert "may be smaller: try --delta 1e-06" in pure
    both = CliRunner().invoke(app, ["--epsilon", "0.1", "--delta-each", "1e-6", "--times", "5"])
    assert "holds at delta = 5e-06. At a larger" in both.stdout
    assert "try --delta 5e-05" in both.stdout
    for more in (["--times", "12", "--delta", "1e-6"], []):
        assert "smaller" not in CliRunner().invoke(app, ["--epsilon", "0.1", *more]).stdout
