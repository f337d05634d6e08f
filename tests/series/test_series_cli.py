"""explain, horizon and plan on the command line: keys of the contract, exit codes, cold start."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli import loaded
from discreet.errors import DiscreetError

YEAR = "--releases 12 --difference .2 --about membership --confidence .99"


def run(name: str, *arguments: str) -> Any:
    app = typer.Typer()
    app.command()(loaded(name))
    return CliRunner().invoke(app, list(arguments))


def answer(name: str, line: str) -> dict[str, Any]:
    result = run(name, *line.split(), "--json")
    assert result.exception is None, result.exception
    out: dict[str, Any] = json.loads(result.stdout)
    return out


@pytest.mark.parametrize(
    ("line", "upper", "holds_with", "strength"),
    [
        ("--epsilon 1.0986122886681098 --prior .5", 0.75, 1.0, "generic"),
        ("--epsilon .1 --delta 1e-7 --prior .5", 0.524979, 0.99, "generic"),
        ("--epsilon 1.8 --delta 1e-5 --prior .1 --confidence .95", 0.4020, 0.95, "generic"),
        (
            "--epsilon 1.0986122886681098 --delta 1e-6 --probabilistic --prior .5",
            0.75,
            1 - 1e-6,
            "exact",
        ),
        ("--rho .07 --prior .5", 0.7750, 0.99, "generic"),
        ("--rho .07 --prior .5 --method paper", 0.8298, 0.99, "generic"),
        ("--mechanism gaussian --rho .07 --prior .5", 0.7497, 0.99, "curve"),
        ("--mechanism gaussian --rho .01 --times 7 --prior .5", 0.7497, 0.99, "curve"),
        ("--mechanism gaussian --rho .07 --prior .5 --strength exact", 0.7272, 0.99, "exact"),
        ("--mechanism laplace --scale 2 --prior .5", 0.6225, 1.0, "curve"),
        ("--mechanism randomized-response --epsilon 1.0986122886681098 --prior .5", 0.75, 1.0, ""),
    ],
)
def test_explain(line: str, upper: float, holds_with: float, strength: str) -> None:
    out = answer("explain", line)
    assert out["posterior"]["upper"] == pytest.approx(upper, abs=6e-5)
    assert out["holds_with"] == pytest.approx(holds_with, abs=1e-12)
    assert out["strength"] == strength or not strength
    for key in ("ratio", "difference"):
        assert set(out[key]) >= {"lower", "upper"}
        assert set(out["worst_prior"][key]) >= {"p", "value"}
    assert out["text"]
    assert out["assumptions"]["adversary"]


def test_explain_without_a_prior() -> None:
    out = answer("explain", "--epsilon .1 --delta 1e-7")
    assert out["posterior"] is None
    assert out["ratio"]["upper"] == pytest.approx(1.1052, abs=5e-5)


def test_explain_is_readable() -> None:
    result = run("explain", "--epsilon", ".1", "--delta", "1e-7", "--prior", ".5")
    assert "at most 53 in 100" in result.stdout
    assert "99.9999 %" in result.stdout
    technical = run("explain", "--epsilon", ".1", "--audience", "technical")
    assert "K&R Theorem 1" in technical.stdout


@pytest.mark.parametrize(
    ("line", "releases"),
    [
        ("--rho .01 --prior .5 --posterior-limit .99 --method paper", 58),
        ("--rho .01 --prior .5 --posterior-limit .99", 79),
        ("--mechanism gaussian --rho .01 --prior .5 --posterior-limit .99", 97),
        ("--mechanism gaussian --rho .01 --prior .5 --posterior-limit .99 --strength exact", 112),
        ("--rho .01 --difference-limit .98 --about membership --method paper", 202),
        ("--rho .01 --difference .98 --about membership", 246),
        ("--mechanism gaussian --rho .01 --difference .98 --about membership", 294),
        (
            "--mechanism gaussian --rho .01 --difference .98 --about membership --strength exact",
            326,
        ),
        (
            "--epsilon .05 --delta 1e-6 --method basic --prior .5 --posterior .8 --confidence .95",
            28,
        ),
        (
            "--epsilon .05 --delta 1e-6 --method advanced --prior .5 --posterior-limit .8 "
            "--confidence .95",
            26,
        ),
        ("--epsilon .05 --delta 1e-6 --prior .5 --posterior-limit .8 --confidence .95", 45),
        ("--epsilon .05 --prior .5 --posterior-limit .8 --confidence .95", 134),
        ("--epsilon .05 --p .5 --about membership --posterior .8 --confidence .95", 134),
        ("--epsilon .05 --p .5 --q 1 --posterior .8 --confidence .95 --sided one", 144),
        (
            "--epsilon .05 --prior .5 --posterior .8 --confidence .95 --method advanced "
            "--sided one",
            51,
        ),
        ("--epsilon .05 --prior .5 --posterior .8 --confidence .95 --method tanh", 54),
        ("--epsilon .05 --prior .5 --posterior .8 --confidence .95 --method tanh --sided one", 56),
        ("--epsilon .05 --prior .5 --posterior .8 --confidence .95 --method advanced", 49),
        ("--epsilon .05 --prior .5 --posterior .8 --confidence .95 --method basic", 28),
        (
            "--mechanism geometric --epsilon .05 --prior .5 --posterior-limit .8 --confidence .95 "
            "--strength exact",
            174,
        ),
        (
            "--mechanism geometric --epsilon .05 --prior .5 --posterior-limit .8 --confidence .95 "
            "--strength exact --sided one",
            186,
        ),
    ],
)
def test_horizon(line: str, releases: int) -> None:
    out = answer("horizon", line)
    assert out["releases"] == releases
    assert [step["k"] for step in out["series"]] == list(range(1, releases + 1))


def test_horizon_upto_and_words() -> None:
    out = answer("horizon", "--rho .01 --prior .5 --posterior-limit .99 --upto 10")
    assert out["releases"] is None
    assert len(out["series"]) == 10
    result = run("horizon", "--rho", ".01", "--prior", ".5", "--posterior-limit", ".99")
    assert "kept for 78 releases, and first passed with release 79." in result.stdout
    assert "posterior ≤" in result.stdout
    without = run("horizon", "--epsilon", ".1", "--ratio", "3").stdout
    assert "posterior ≤" not in without  # no prior: the column was empty
    assert (
        "passed with the first release" in run("horizon", "--epsilon", "2", "--ratio", "3").stdout
    )


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("--epsilon .1 --cap 1", 10),
        ("--epsilon .1 --cap 1 --spent .35", 6),
        ("--epsilon .1 --delta-each 3e-7 --cap 1 --cap-delta 1e-6", 3),
        ("--rho .01 --cap .5", 50),
        ("--mechanism geometric --epsilon .25 --cap 1 --prior .5 --posterior-limit .6", 4),
    ],
)
def test_releases_left_under_a_cap(line: str, left: int) -> None:
    out = answer("horizon", line)
    assert out["left_under_cap"] == left
    if "limit" not in line:
        assert len(out["series"]) == left


@pytest.mark.parametrize("name", ["explain", "horizon", "plan"])
def test_adjacency_is_said(name: str) -> None:
    noise = {"explain": "--mechanism laplace --epsilon 1", "plan": "--mechanism laplace"}
    rest = {
        "horizon": "--mechanism laplace --epsilon 1 --upto 2",
        "plan": " --releases 2 --ratio 3",
    }
    line = noise.get(name, "") + rest.get(name, "")
    out = answer(name, line + " --adjacency replace")
    assert out["assumptions"]["adjacency"].startswith("replace")
    assert answer(name, line)["assumptions"]["adjacency"].startswith("add-remove")
    local = line.replace("laplace", "randomized-response")
    assert answer(name, local)["assumptions"]["adjacency"].startswith("local")


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        (f"{YEAR} --delta-each 1e-8 --delta-total 1e-6", "epsilon", 0.06776),
        (f"{YEAR} --delta-each 1e-8 --delta-total 1e-6 --method basic", "epsilon", 0.06757),
        (f"{YEAR} --delta-each 1e-8", "epsilon", 0.08566),
        (f"{YEAR} --delta-each 1e-8 --sided one", "epsilon", 0.08995),
        (f"{YEAR} --mechanism geometric --strength exact", "epsilon", 0.09011),
        (f"{YEAR} --mechanism geometric --strength exact --sided one", "epsilon", 0.10136),
        (f"{YEAR} --mechanism gaussian --strength exact", "rho", 0.00403),
        (f"{YEAR} --mechanism gaussian --strength exact --sided one", "rho", 0.00442),
        (f"{YEAR} --mechanism gaussian", "rho", 0.00323),
        (f"{YEAR} --mechanism gaussian --sided one", "rho", 0.00350),
        ("--weight 1 --weight 1 --difference .2 --about membership --budget rho", "rho", 0.0153),
    ],
)
def test_plan(line: str, key: str, value: float) -> None:
    out = answer("plan", line)
    assert out["per_release"][key] == pytest.approx(value, rel=2e-3 if key == "rho" else 2e-4)
    assert out["promise"]["q"] == 1
    assert set(out["total"]) >= {"epsilon", "delta", "rho"}
    assert out["method"]
    assert out["accuracy"]["sd"] > 0


def test_plan_in_words_rounds_the_budget_down() -> None:
    year = YEAR.split()
    result = run("plan", *year, "--people", "1000", "--delta", "1e-6", "--delta-each", "1e-8")
    assert "epsilon  0.06776" in result.stdout
    assert "of 1,000 people" in result.stdout
    period = run("plan", *year, "--unit", "partition", "--period", "month")
    assert "every month" in period.stdout


@pytest.mark.parametrize("about", ["both", "value"])
@pytest.mark.parametrize("noise", ["", " --mechanism geometric"])
def test_what_holds_for_every_output_splits_no_probability(about: str, noise: str) -> None:
    """It said both that the failure probability is split and that every output keeps it."""
    line = f"--releases 4 --ratio 3 --confidence 0.99 --about {about}{noise}"
    out = run("plan", *line.split()).stdout
    assert answer("plan", line)["holds_with"] == 1
    assert re.search(r"by +.*pure DP: for every output\n", out)
    assert "for every possible output" in out
    assert "Theorem 3.9" not in out
    assert "probability of failing" not in out
    split = run(
        "plan", *line.replace("--mechanism geometric", "").split(), "--mechanism", "gaussian"
    )
    assert "failure probability is split" in split.stdout or about == "value"
    assert "probability of failing" in split.stdout


@pytest.mark.parametrize("sided", ["one", "two"])
def test_plan_says_how_the_failure_probability_is_split(sided: str) -> None:
    """It said that it is split, and not how; Gaussian noise of one release has a closed form."""
    line = f"--releases 1 --ratio 3 --confidence 0.99 --mechanism gaussian --sided {sided}"
    said = answer("plan", line)
    pattern = r"split: (?:for rises )?about ([\d.e-]+) .*?([\d.e-]+) (?:in|for) two"
    found = re.search(pattern + r"(?:, for falls ([\d.e-]+) and ([\d.e-]+))?$", said["how"])
    assert found is not None
    shares = [float(share) for share in found.groups() if share is not None]
    assert len(shares) == (2 if sided == "one" else 4)
    assert sum(shares) == pytest.approx(0.01, rel=0.05)
    # T(x) is at least the chance that the loss is above x: normal, mean ρ and variance 2ρ.
    rho = said["per_release"]["rho"]
    for share, times, limit in zip(shares, (1, 4), (math.log(3) / 2, math.log(3)), strict=False):
        true = 0.5 * math.erfc((limit - times * rho) / math.sqrt(4 * times * rho))
        assert true <= share * 1.05


def test_a_horizon_names_the_release_that_its_point_belongs_to() -> None:
    line = "--mechanism gaussian --sigma 20 --prior 0.1 --posterior-limit 0.5"
    said = answer("horizon", line)
    assert said["method"].endswith(f"δ ≈ 0.00179); at release {said['releases']}")
    further = answer("horizon", f"{line} --upto 250")["method"]
    assert further.endswith("; at release 250")
    assert further != said["method"].replace("211", "250")
    pure = answer("horizon", "--epsilon 0.1 --prior 0.1 --posterior-limit 0.5")
    assert pure["method"] == "pure DP: for every output"


def test_plan_prints_the_noise_of_the_last_release_and_how_totals_are_rounded() -> None:
    line = "--releases 3 --growth .5 --difference .2 --prior .5 --mechanism gaussian"
    said, out = answer("plan", line), run("plan", *line.split()).stdout
    for which in ("first", "last"):
        (shown,) = re.findall(rf"sigma, {which} release +([\d.]+)", out)
        sigma = said["accuracy_last" if which == "last" else "accuracy"]["sd"]
        assert sigma <= float(shown) <= sigma + 1e-4
    assert 0.75607 < said["total"]["epsilon"] <= 0.75608
    assert re.search(r"total epsilon +0\.756080  \(rounded up\)", out)
    assert "(ε ≈ 0.75608, δ ≈ 0.00061)" in out


THEOREMS = {
    "--method optimal --delta 1e-6": "optimal composition of the worst cases (Kairouz",
    "--method advanced --delta 1e-6": "advanced composition (Dwork",
    "--budget rho": "the rhos and the deltas add (zero-concentrated DP",
    "--mechanism gaussian": "the privacy loss of the mechanisms themselves",
    "--mechanism gaussian --strength exact": "the law of the privacy loss itself",
}


@pytest.mark.parametrize("flags", THEOREMS)
def test_plan_names_the_theorem_in_words(flags: str) -> None:
    out = run("plan", *f"{YEAR} {flags}".split()).stdout
    assert f"  theorem          {THEOREMS[flags]}" in out
    assert answer("plan", f"{YEAR} {flags}")["theorem"].startswith(THEOREMS[flags])


def test_two_sides_are_said_where_a_confidence_is_shared() -> None:
    for name, line in (
        ("plan", YEAR),
        ("horizon", "--rho .01 --posterior .9 --p .5 --about membership"),
        ("explain", "--rho .1 --prior .3"),
    ):
        for side in ("one", "two"):
            out = run(name, *line.split(), "--sided", side).stdout
            assert re.search(rf"^  sided +{side}: ", out, re.MULTILINE)
    assert "  sided" not in run("explain", "--epsilon", "1", "--prior", ".3").stdout


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("explain", "--epsilon 1 --rho 1"),
        ("explain", ""),
        ("explain", "--epsilon 1 --delta .02"),
        ("explain", "--epsilon 1 --delta 1e-6 --confidence 1"),
        ("explain", "--epsilon 1 --confidence 5"),
        ("explain", "--epsilon 1 --value-prior .5"),
        ("explain", "--epsilon nan"),
        ("explain", "--sigma 2"),
        ("explain", "--epsilon 1 --times 3"),
        ("explain", "--mechanism gaussian --epsilon 1"),
        ("explain", "--mechanism magic --epsilon 1"),
        ("explain", "--rho 1 --probabilistic"),
        ("explain", "--epsilon 1 --audience nobody"),
        ("explain", "--epsilon 1 --adjacency other"),
        ("explain", "--mechanism laplace --scale -1"),
        ("horizon", "--rho .01"),
        ("horizon", "--rho .01 --posterior-limit .9"),
        ("horizon", "--rho .01 --delta-each 1e-6 --difference-limit .5"),
        ("plan", "--releases 12 --posterior .3"),
        ("plan", "--releases 12 --difference .2 --delta-each .01"),
        ("plan", "--releases 12 --difference .2 --weight 1"),
        ("horizon", "--epsilon .1 --ratio 3 --adjacency replace --prior .1"),
        ("horizon", "--epsilon .1 --ratio 3 --every-output --delta-each 1e-6"),
        ("plan", "--releases 2 --ratio 3 --about membership --adjacency replace"),
        ("plan", "--releases 2 --ratio 3 --about membership --q .5"),
        ("plan", "--releases 2 --ratio 3 --about value --p .5"),
        ("plan", "--releases 2 --ratio 3 --about value --box 0 1 0 1"),
        ("plan", "--releases 2 --ratio 3 --prior .1 --p .1"),
        ("plan", "--releases 2 --ratio 3 --confidence .9 --on-average"),
        ("plan", "--releases 2 --ratio 3 --confidence .9 --every-output"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(name: str, line: str) -> None:
    error = run(name, *line.split()).exception
    assert isinstance(error, DiscreetError)
    assert error.exit_code == 2
    assert "\n" not in str(error)
    assert str(error).endswith(".")


def test_pure_explain_starts_without_numpy() -> None:
    code = (
        "import sys; from discreet.cli.explain import explain as command; "
        "command(epsilon=1.0, prior=0.5, as_json=True); "
        "sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_promise_is_said_to_be_kept_where_none_is_given() -> None:
    shown = run("horizon", "--epsilon", "0.05", "--cap", "1").stdout
    assert "No promise is given" in shown
    assert "Under the cap, 20 releases fit." in shown


def test_a_plan_that_keeps_more_than_was_asked_says_so_in_words() -> None:
    shown = run("plan", "--ratio", "3", "--releases", "4", "--confidence", "0.99").stdout
    assert "with probability 99 %" in shown
    assert "for every possible output" in shown
    assert "with probability 1" not in shown


def test_the_error_of_a_growing_series_is_said_to_be_of_its_first() -> None:
    asked = [*YEAR.split(), "--mechanism", "gaussian"]
    growing = run("plan", *asked, "--growth", "1.1").stdout
    assert "accuracy, first release" in growing
    assert "sigma, first release" in growing
    equal = run("plan", *asked).stdout
    assert "accuracy" in equal
    assert ", first release" not in equal


def test_a_plan_at_a_delta_tells_what_it_adds_up_to_there_and_which_account_has_it() -> None:
    """It told the plain sum under another method, and an account without the δ."""
    line = "--ratio 3 --releases 24 --confidence 0.99"
    out, said = run("plan", *line.split(), "--delta", "1e-6").stdout, f"{line} --delta 1e-6"
    assert re.search(r"total epsilon +0\.548760  \(rounded up\)", out)
    assert re.search(r"total delta +1e-06  \(rounded up\)", out)
    assert "(filter basic, δ = 1e-06)" in out
    found = answer("plan", said)
    assert found["total"]["epsilon"] == pytest.approx(0.5487596448, rel=1e-9)
    assert found["total"]["delta"] == found["on_account"]["cap"]["delta"] == 1e-6
    assert found["on_account"]["cap"]["epsilon"] == pytest.approx(0.5487596448, rel=1e-9)
    assert "(the plain sum, rounded up)" in run("plan", *line.split()).stdout


def test_a_plan_names_the_noise_of_an_account_that_adds_up_another_currency() -> None:
    """Geometric noise was asked for, and beside it the error of Gaussian noise was told unnamed."""
    line = "--ratio 3 --releases 12 --confidence 0.99 --mechanism geometric"
    out = run("plan", *line.split()).stdout
    assert "with probability 0.95, with Gaussian noise (the more accurate of the two)" in out
    assert "with Gaussian noise" not in run("plan", *f"{YEAR} --mechanism gaussian".split()).stdout


def test_a_plan_with_a_confidence_says_what_an_account_allows() -> None:
    shown = run("plan", *YEAR.split()).stdout
    account = answer("plan", YEAR)["on_account"]
    assert account["filter"] == "zcdp"
    assert "On an account of this promise (filter zcdp)" in shown
    each = re.search(r"^  rho +(\S+)$", shown, re.M)
    assert each is not None
    assert account["rho"] * (1 - 1e-3) < float(each[1]) <= account["rho"]
    assert "On an account" not in run("plan", *YEAR.split()[:-2]).stdout


@pytest.mark.parametrize(
    ("more", "planned_better"),
    [("", False), ("--mechanism gaussian", True)],
    ids=["epsilon", "rho"],
)
def test_a_plan_says_how_far_off_each_budget_that_it_shows_is(
    more: str, *, planned_better: bool
) -> None:
    """ε was told with its error and ρ beside it without: the better one of the two looked worse."""
    asked = f"{YEAR} {more}"
    planned, account = ((one := answer("plan", asked)), one["on_account"])
    sds = [planned["accuracy"]["sd"], account["accuracy"]["sd"]]
    assert sds[1] == pytest.approx((2 * account["rho"]) ** -0.5)  # Gaussian noise for ρ
    assert (sds[0] < sds[1]) is planned_better is not account["more_accurate"]
    told = re.findall(
        r"^  one number +standard deviation ([\d.]+); (.*)$",
        run("plan", *asked.split()).stdout,
        re.M,
    )
    assert [float(sd) for sd, _ in told] == [pytest.approx(sd, rel=0.01) for sd in sds]
    assert [rest.endswith("(the more accurate of the two)") for _, rest in told] == [
        planned_better,
        not planned_better,
    ]


@pytest.mark.parametrize(
    ("releases", "said"), [(1, "to the release counts:"), (2, "to the 2 releases counts together")]
)
def test_what_adds_up_is_said_of_one_release_in_the_singular(releases: int, said: str) -> None:
    """It said "the 1 releases"."""
    shown = run("plan", "--releases", str(releases), "--ratio", "3").stdout
    assert f"Everything that one person contributes {said}" in shown
