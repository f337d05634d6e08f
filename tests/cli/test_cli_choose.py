"""`discreet choose`: keys, exit codes, and the sentence for every bad input."""

import json
import math
import os
import pty
import re
import subprocess
import sys

import pytest

from discreet.cli import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(["choose", *arguments])
    out, err = capsys.readouterr()
    return caught.value.code or 0, out, err


def choose(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    assert err == ""
    return json.loads(out)


def test_contract_of_keys(capsys):
    out = choose(capsys, "--posterior", "0.25", "--unless-ratio", "3")
    assert out["epsilon"] == pytest.approx(0.6496414921)
    assert set(out["binding"]) >= {"p", "q", "attained"}
    assert set(out["certificate"]) >= {"lower", "upper", "method", "certified"}
    assert out["certificate"]["lower"] == out["epsilon"]
    assert set(out["guarantee"]) >= {"epsilon", "delta", "rho"}
    assert [row["prior"] for row in out["implied"]] == [0.01, 0.1, 0.3, 0.5]
    assert all("posterior_known_in" in row for row in out["implied"])
    assert set(out["noise"]) >= {"sd", "prob_exact"}
    assert set(out["assumptions"]) >= {
        "adjacency", "adversary", "unit", "probability", "post_processing"
    }  # fmt: skip
    assert "households" in out["question"]


def test_the_question_is_about_the_unit(capsys):
    """Of households it said: one person, and protect households as units."""
    flags = ["--ratio", "3", "--unit", "household", "--unit-name", "one flat"]
    asked = choose(capsys, *flags)["question"]
    assert "what is known of one flat" in asked
    assert not {"person", "household", "households"} & {*re.findall(r"\w+", asked)}
    assert "unit: person" in choose(capsys, "--ratio", "3", "--unit", "record")["question"]


def test_fixed_q_has_one_posterior(capsys):
    out = choose(capsys, "--ratio", "3", "--q", "1")
    assert all("posterior_known_in" not in row for row in out["implied"])


def test_several_flags_must_all_hold(capsys):
    both = choose(capsys, "--ratio", "3", "--difference", "0.2")["epsilon"]
    one = choose(capsys, "--difference", "0.2")["epsilon"]
    assert both == one


def test_unbounded_is_null(capsys):
    out = choose(capsys, "--ratio", "3", "--box", "0.5", "1", "0.8", "1", "--sided", "one")
    assert out["epsilon"] is None
    assert out["unbounded"] is True
    assert out["guarantee"]["unbounded"] is True
    any_ratio = choose(capsys, "--ratio", "inf")
    assert any_ratio["epsilon"] is None
    assert any_ratio["promise"]["ratio"] is None
    assert any_ratio["promise"]["unbounded"] is True
    down = choose(capsys, "--ratio", "3", "--box", "0.5", "1", "0.8", "1")
    assert down["epsilon"] < 1.16  # belief may not fall to less than a third
    assert "fall" in down["certificate"]["method"]


def test_formula_table_file_preset(capsys, tmp_path):
    formula = choose(capsys, "--profile", "max(0.25/(p*q), 3)")["epsilon"]
    assert formula == pytest.approx(0.6496414921, abs=1e-6)
    (tmp_path / "t.csv").write_text("p,q,ratio\n0,1,3\n1,1,3\n")
    assert choose(capsys, "--table", str(tmp_path / "t.csv"), "--q", "1")["epsilon"] > 1
    (tmp_path / "t.yaml").write_text("table: t.csv\nq: 1\n")
    assert choose(capsys, "--file", str(tmp_path / "t.yaml"))["epsilon"] > 1
    assert choose(capsys, "--preset", "kr-both")["epsilon"] == pytest.approx(0.6496414921)
    names = [row["name"] for row in choose(capsys, "--preset", "list")["presets"]]
    assert "half-to-three-quarters" in names


def test_counterfactual(capsys):
    half = choose(capsys, "--counterfactual", "4")["epsilon"]
    whole = choose(capsys, "--counterfactual", "4", "--counts-sensitive-only")["epsilon"]
    assert whole == pytest.approx(2 * half)


def test_a_counterfactual_under_replace_is_log_r(capsys):
    for adjacency in ("replace", "local"):
        out = choose(capsys, "--counterfactual", "3", "--adjacency", adjacency)
        assert out["epsilon"] == pytest.approx(math.log(3))


def test_delta_keeps_the_whole_box(capsys):
    """Approximate DP promises p and q as pure DP does; q = 1 has to be asked for."""
    every = choose(capsys, "--ratio", "3", "--delta", "1e-6")
    assert 0.99 * math.log(3) / 2 < every["epsilon"] <= math.log(3) / 2
    assert every["promise"]["confidence"] == 0.99
    known = choose(capsys, "--ratio", "3", "--delta", "1e-6", "--about", "membership")
    assert known["epsilon"] == pytest.approx(1.0984, abs=1e-4)
    assert known["epsilon"] < math.log(3)


def test_approximate(capsys):
    arguments = ("--difference", "0.2", "--q", "1", "--delta", "1e-6", "--confidence", "0.99")
    out = choose(capsys, *arguments)
    assert out["guarantee"]["delta"] == 1e-6
    assert out["epsilon"] < choose(capsys, "--difference", "0.2", "--q", "1")["epsilon"]
    assert "strong adversary" in out["assumptions"]["adversary"]


def test_delta_in_a_file(capsys, tmp_path):
    (tmp_path / "t.yaml").write_text("difference: 0.2\ndelta: 1.0e-6\nconfidence: 0.99\n")
    out = choose(capsys, "--file", str(tmp_path / "t.yaml"))
    assert out["guarantee"]["delta"] == 1e-6


def test_readable(capsys):
    code, out, _ = run(capsys, "--posterior", "0.12", "--p", "0.05")
    assert code == 0
    assert "0.9520" in out
    assert "52.7 %" in out


def test_lee_clifton_beside_it(capsys):
    flags = ["--posterior", "0.4", "--unless-ratio", "2", "--population", "1,2,3,10"]
    out = choose(capsys, *flags, "--statistic", "median")
    assert out["alternatives"]["lee_clifton"] == out["lee_clifton"]["epsilon"] > 0
    assert out["alternatives"]["naive"] > 0
    code, _, err = run(capsys, *flags[:-1], "4")
    assert code == 2
    assert "depends on its values" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing is promised yet"),
        (["--posterior", "0.12"], "--unless-ratio 3"),
        (["--posterior", "0.12", "--p", "0.5"], "budget would be 0"),
        (["--ratio", "nan"], "nan"),
        (["--ratio", "1"], "above 1"),
        (["--ratio", "3", "--p", "0"], "above 0"),
        (["--ratio", "3", "--p", "1.2"], "at most at 1"),
        (["--ratio", "3", "--box", "0.9", "0.1", "0", "1"], "empty"),
        (["--profile", "r*3"], "name 'r'"),
        (["--profile", "1/(p-0.5)**2+2"], "no value near"),
        (["--profile", "1+p"], "ratio of 1"),
        (["--ratio", "3", "--adjacency", "both"], "add-remove"),
        (["--ratio", "3", "--delta", "2"], "below 1"),
        (["--ratio", "3", "--delta", "0.1", "--confidence", "0.95"], "delta"),
        (["--ratio", "3", "--population", "4"], "--posterior"),
        (["--preset", "x"], "no preset"),
        (["--file", "missing.yaml"], "cannot be read"),
        (["--ratio", "3", "--p", "0.5", "--adjacency", "replace"], "p = 1"),
        (["--ratio", "3", "--confidence", "0.9"], "without a delta"),
        (["--ratio", "3", "--every-output", "--delta", "1e-6"], "pure DP alone"),
        (["--ratio", "3", "--confidence", "0.9", "--on-average"], "holds in one of these ways"),
        (["--ratio", "3", "--about", "value", "--box", "0", "1", "0", "1"], "about and box"),
        (["--ratio", "3", "--about", "membership", "--q", "0.5"], "leave out"),
        (["--ratio", "3", "--about", "value", "--p", "0.5"], "leave out"),
        (["--ratio", "3", "--about", "both", "--p", "0.5", "--q", "0.5"], "drop about"),
        (["--ratio", "3", "--about", "names"], "membership or value or both"),
        (["--ratio", "3", "--about", "membership", "--adjacency", "replace"], "not protected"),
        (["--ratio", "3", "--about", "membership", "--adjacency", "local"], "not protected"),
        (["--ratio", "3", "--prior", "0.1", "--adjacency", "replace"], "prior of the value as q"),
        (["--ratio", "3", "--prior", "0.1", "--adjacency", "local"], "prior of the value as q"),
        (["--ratio", "3", "--prior", "0.1", "--q", "0.5"], "prior means p with q = 1"),
        (["--ratio", "3", "--prior", "5%", "--about", "value"], "--q instead: --q 0.05"),
        (["--ratio", "3", "--on-average"], "--about value"),
        (["--ratio", "3", "--answers", "20"], "answers goes with on_average"),
        (["--ratio", "3", "--related", "0"], "whole number"),
        (["--ratio", "3", "--sided", "three"], "one or two"),
        (["--ratio", "3", "--unit", "team"], "person, household"),
        (["--ratio", "3", "--unit-name", " "], "name is empty"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(capsys, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_shares_may_be_written_as_percentages(capsys, tmp_path):
    plain = choose(capsys, "--posterior", "0.12", "--prior", "0.05")
    assert choose(capsys, "--posterior", "12%", "--prior", "5 %") == plain
    (tmp_path / "t.yaml").write_text("promise: {posterior: 12%, p: 5%, q: 100%}")
    assert choose(capsys, "--file", str(tmp_path / "t.yaml"))["epsilon"] == plain["epsilon"]
    (tmp_path / "t.yaml").write_text("{ratio: 3, box: [1%, 5%, 0, 1]}")
    boxed = choose(capsys, "--ratio", "3", "--box", "0.01", "0.05", "0", "1")["epsilon"]
    assert choose(capsys, "--file", str(tmp_path / "t.yaml"))["epsilon"] == boxed


@pytest.mark.parametrize("given", ["x", "12%%", "%", "1,2%", "-5%"])
def test_what_is_no_share_is_said(capsys, given):
    code, _, err = run(capsys, f"--posterior={given}", "--prior", "0.05")
    assert code == 2
    assert "Write a share such as 0.12 or 12%" in err or "with a point: 1.2%" in err


def test_a_percentage_without_its_sign_is_told_how_to_be_written(capsys):
    assert "0.05 for 5 %" in run(capsys, "--posterior", "12", "--prior", "5")[2]


def test_the_adversary_who_decides_is_said_in_words_with_the_unit(capsys):
    out = run(capsys, "--posterior", "12%", "--prior", "5%", "--unit-name", "one aircraft")[1]
    assert "puts the chance that one aircraft is in the data at 5 %" in out
    assert "they may become 12.0 % sure" in out


def test_unknown_flag_is_exit_2(capsys):
    assert run(capsys, "--epsilonn", "3")[0] == 2


def test_yaml_with_tags(capsys, tmp_path):
    (tmp_path / "t.yaml").write_text("!!python/object/apply:os.system ['true']")
    code, _, err = run(capsys, "--file", str(tmp_path / "t.yaml"))
    assert code == 2
    assert "types are refused" in err


def test_cold_start_imports_nothing_heavy():
    heavy = ["numpy", "scipy", "pandas", "duckdb", "ibis", "opendp", "altair", "sqlalchemy"]
    heavy += ["pydantic", "rich", "yaml"]
    program = (
        "import sys\nfrom discreet.cli import main\n"
        "try: main(['choose', '--posterior', '0.25', '--unless-ratio', '3'])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_asks_on_a_terminal_and_prints_the_command():
    keyboard, screen = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", "choose"],
        stdin=screen,
        stdout=subprocess.PIPE,
        stderr=screen,
        text=True,
    )
    os.write(keyboard, b"?\n1\n5\n3\n12\n")  # asked again: what is no choice, 3 % after 5 %
    out, _ = process.communicate(timeout=120)
    os.close(screen)
    said = os.read(keyboard, 65536).decode()
    os.close(keyboard)
    assert process.returncode == 0
    assert "discreet choose --posterior 0.12 --about membership --p 0.05" in said
    assert "Give 1, 2 or 3" in said
    assert "Give more than before" in said
    assert "0.9520" in out


def test_a_promise_about_membership_says_what_it_leaves_open(capsys):
    """Two steps lie between values, one between in and out: 3-fold becomes up to 9-fold."""
    _, out, _ = run(capsys, "--ratio", "3", "--about", "membership")
    assert "does not limit what may be learned about the values of one person" in out
    row = next(line.split() for line in out.splitlines() if line.startswith("  1 %"))
    assert row == ["1", "%", "3.0", "%", "8.4", "%"]
    assert 0.083 < 1 / (1 + 99 / 9) < 0.084
    _, out, _ = run(capsys, "--ratio", "3")
    assert "does not limit" not in out


@pytest.mark.parametrize(
    ("priors", "leaves_open"),
    [
        ("--p .05", True),  # in and sensitive, but nobody who knows that someone is in
        ("--p .05 --q .5", True),
        ("--box 0 .05 0 1", True),
        ("--q .05", False),
        ("--q .05 --about value", False),
        ("--box 0 1 0 .05", False),
    ],
)
def test_a_promise_about_no_one_known_to_be_in_leaves_values_open(capsys, priors, leaves_open):
    _, out, _ = run(capsys, "--posterior", "0.12", *priors.split())
    assert ("does not limit what may be learned about the values" in out) == leaves_open


def test_the_text_has_the_certificate_and_which_way_each_number_is_rounded(capsys):
    said = choose(capsys, "--profile", "max(0.25/(p*q), 3)")["certificate"]
    _, out, _ = run(capsys, "--profile", "max(0.25/(p*q), 3)")
    (line,) = (line for line in out.splitlines() if line.startswith("  certified"))
    upper = float(line.split("at most ")[1].split()[0])
    assert said["upper"] <= upper <= said["upper"] + 1e-6
    assert "(rounded up); the proof leaves a gap of" in line
    assert "0.6496  (rounded down)" in out
    _, out, _ = run(capsys, "--ratio", "3", "--q", "1", "--converse")
    assert "1.0986  (rounded down)" in out
    assert "ε = 1.0987 (rounded up)" in out


def test_the_text_says_which_sides_share_a_confidence(capsys):
    flags = ("--posterior", "0.12", "--p", "0.05", "--q", "1", "--delta", "1e-4")
    for more, side in (((), "two: "), (("--sided", "one"), "one: ")):
        _, out, _ = run(capsys, *flags, "--confidence", "0.99", *more)
        assert [x.split()[1] + " " for x in out.splitlines() if x.startswith("  sided")] == [side]
    _, out, _ = run(capsys, "--posterior", "0.12", "--p", "0.05", "--q", "1")
    assert "  sided" not in out


def test_the_text_says_how_a_table_is_read(capsys, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("p,q,ratio\n0,1,10\n0.1,1,3\n1,1,1.5\n")
    _, out, _ = run(capsys, "--table", str(table), "--q", "1")
    assert "the table is read in steps, and nothing is interpolated" in out


def test_figures_above_the_promised_one_are_said_not_to_break_it(capsys):
    _, out, _ = run(capsys, "--posterior", "0.25", "--unless-ratio", "3")
    told = " ".join(out.split())
    assert "61.2 %" in told
    assert "can be larger than the number in the promise without breaking it" in told
    assert "So can a belief that grew at most as many-fold as the promise says." in told
