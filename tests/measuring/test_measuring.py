"""The benchmarks run, their tables are true to what was measured, and claims point to rows."""

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import mpmath as mp
import pytest
from benchmarks import accounting, choosing, contest, environments, margins, runner, scale, tables
from benchmarks.__main__ import main
from benchmarks.contest import Contender, Prepared, Size, Task
from benchmarks.runner import Row
from hypothesis import given, settings
from hypothesis import strategies as st

from soaking import examples

ROOT = Path(__file__).parents[2]

README = (ROOT / "README.md").read_text(encoding="utf-8")
TABLES = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
stable = settings(derandomize=True, deadline=None, max_examples=examples(60))
OURS = Row("topic", "task", "the task", "Discreet", True, seconds=0.5, peak_gb=0.1, figures={})


# -- claims


def claims(text: str) -> list[tuple[str, str]]:
    """Links to rows: what is claimed, and the address of the row."""
    return re.findall(r"\[([^\]]+)\]\((?:docs/)?benchmarks\.md#([\w-]+)\)", text)


def unfounded(text: str, page: str) -> list[str]:
    """Claims of a text that no row of the tables bears out.

    A sentence that says how many times faster something is must be a link to a row; the row must
    be there, and its ratio at least what is said.
    """
    found = []
    for claim, address in claims(text):
        rows = [line for line in page.splitlines() if f'id="{address}"' in line]
        if not rows:
            found.append(f"{claim}: there is no row {address}")
            continue
        said = re.search(r"([\d,.]+)\s*(?:times|×)", claim)
        ratio = rows[0].split("|")[4].strip().replace(",", "")
        if said and not (
            re.fullmatch(r"[\d.]+(e\+\d+)?", ratio)
            and float(ratio) >= float(said.group(1).replace(",", "").rstrip("."))
        ):
            found.append(f"{claim}: the row says {ratio}")
    bare = re.sub(r"\[[^\]]*\]\([^)]*\)", "", text)
    for match in re.finditer(
        r"[\d,.]+\s*(?:times|×)\s+(?:faster|as fast|quicker|less memory)", bare
    ):
        found.append(f"{match.group()}: points to no row")
    return found


def test_every_claim_of_the_readme_points_to_a_row_that_bears_it_out():
    assert unfounded(README, TABLES) == []


def test_claims_that_no_row_bears_out_are_found():
    page = tables.section(
        "t", "a", [OURS, replace(OURS, name="Peer", ours=False, seconds=6.0), _skipped()]
    )
    good = "[12 times faster than Peer](docs/benchmarks.md#topic-task-peer)"
    assert unfounded(good, page) == []
    assert unfounded(good.replace("12", "13"), page) == [
        "13 times faster than Peer: the row says 12"
    ]
    assert "no row" in unfounded(good.replace("-peer", "-nobody"), page)[0]
    assert "points to no row" in unfounded("It is 12 times faster than Peer.", page)[0]
    assert "the row says –" in unfounded(good.replace("-peer", "-absent"), page)[0]


def _skipped():
    return Row("topic", "task", "the task", "Absent", False, skipped="it is not here")


# -- tables


def test_no_row_of_ours_failed():
    ours = [line for line in TABLES.splitlines() if "</a>**Discreet" in line]
    assert len(ours) > 30
    assert not [line for line in ours if "left out" in line]


def test_a_section_names_ratio_memory_accuracy_and_why_someone_is_missing():
    peer = replace(
        OURS,
        name="Peer, over 1000²",
        ours=False,
        seconds=0.0002,
        error=-3.5e-9,
        figures={contest.FIRST_TURN: 0.003},
        package="peer",
        version="1.2",
    )
    page = tables.section("Topic", "About it.", [OURS, peer, _skipped()], "The end.")
    lines = page.splitlines()
    assert lines[0] == "## Topic"
    ours, theirs, absent = [line for line in lines if "<a id=" in line]
    assert "| the task |" in ours
    assert "**Discreet** | 500 ms | 1 | 0.10 GB |" in ours
    assert "| 200 µs | 0.0004 |" in theirs
    assert "| −3.5e-09; first turn 3 ms |" in theirs
    assert "left out: it is not here" in absent
    assert "Against: peer 1.2." in page
    assert page.endswith("The end.")
    assert re.search(r"Measured on \d{4}-\d\d-\d\d, \d+ cores, \d+ GB of memory", page)


def test_no_two_contenders_share_an_address(tmp_path):
    size = Size(20_000_000, True, str(tmp_path))
    for name in contest.TOPICS:
        module = contest.topic(name)
        if hasattr(module, "make"):
            module.make(size)
        found = [
            tables.address(Row(name, one.task.key, "", one.name, one.ours))
            for one in module.contenders(size)
        ]
        assert len(set(found)) == len(found), name
        assert module.TITLE
        assert module.ABOUT
        for one in module.contenders(size):
            assert one.environment is None or one.environment in environments.REQUIREMENTS


@stable
@given(st.text("abc\n|", max_size=30), st.text("xyz\n|", max_size=30))
def test_a_block_is_replaced_and_nothing_else(before, block):
    once = tables.replaced(before, "name", "first")
    twice = tables.replaced(once, "name", block)
    assert twice.startswith(before.rstrip("\n"))
    assert block.strip() in twice
    assert "first" not in twice
    assert tables.replaced(twice, "name", block) == twice


# -- the runner


@pytest.mark.soak
def test_a_quick_run_writes_its_table(tmp_path, capsys):
    (tmp_path / "benchmarks.md").write_text("# Page\n\nkept\n", encoding="utf-8")
    assert main(["--quick", "--no-install", "--only", "choosing", "--docs", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert page.startswith("# Page\n\nkept")
    assert 'id="choosing-kinked-discreet"' in page
    assert 'id="choosing-kinked-numpy-grid"' in page
    assert "Choosing a budget" in said
    kept = json.loads((ROOT / "benchmarks" / "results" / "choosing.json").read_text())
    ours = [row for row in kept if row["name"] == "Discreet"]
    assert len(ours) == len(choosing.PROFILES)
    for row in ours:
        assert row["seconds"] > 0
        assert row["peak_gb"] > 0.005
        # On the safe side, and no further off than the certificate allows.
        assert -2e-8 < row["error"] <= 1e-15


@pytest.fixture
def alone(monkeypatch):
    """A topic with the given contenders, measured in this process."""

    def made(*listed, results):
        class Topic:
            @staticmethod
            def contenders(size):
                return list(listed)

        asked = []

        def one(topic, contender, size, interpreter, say):
            asked.append((contender.task.key, contender.name))
            result = results[contender.task.key, contender.name]
            if isinstance(result, str):
                return {}, result
            blank = {"value": None, "accuracy": None, "version": None, "figures": {}}
            return blank | {"seconds": result, "peak_gb": 1.0}, ""

        monkeypatch.setattr(contest, "topic", lambda name: Topic)
        monkeypatch.setattr(runner, "_one", one)
        found = runner.run("topic", Size(1, False, "."), say=lambda line: None)
        return {(row.task, row.name): row for row in found}, asked

    return made


def test_who_would_take_too_long_is_left_out_of_the_larger_task(alone):
    def prepared():
        return Prepared(lambda: None)

    small, large = Task("small", "small"), Task("large", "large")
    common = {"turns": 1, "limit": 100.0}
    listed = [
        Contender(small, "quick", prepared, **common),
        Contender(small, "slow", prepared, **common),
        Contender(small, "broken", prepared, **common),
        Contender(large, "quick", prepared, after="small", **common),
        Contender(large, "slow", prepared, after="small", **common),
        Contender(large, "broken", prepared, after="small", **common),
    ]
    results = {
        ("small", "quick"): 1.0,
        ("small", "slow"): 11.0,
        ("small", "broken"): "it failed",
        ("large", "quick"): 9.0,
    }
    found, asked = alone(*listed, results=results)
    assert found["large", "quick"].seconds == 9.0
    assert found["large", "slow"].skipped == "about 110 s expected, above the limit of 100 s"
    assert found["large", "broken"].skipped == "it failed"
    assert ("large", "slow") not in asked


def test_turns_alternate_and_the_least_time_counts(alone):
    def prepared():
        return Prepared(lambda: None)

    task = Task("task", "task")
    listed = [Contender(task, "a", prepared, turns=2), Contender(task, "b", prepared, turns=1)]
    found, asked = alone(*listed, results={("task", "a"): 1.0, ("task", "b"): 2.0})
    assert asked == [("task", "a"), ("task", "b"), ("task", "a")]
    assert found["task", "b"].seconds == 2.0


def test_what_took_a_minute_is_not_repeated():
    spans = iter([20.0, 39.0, 2.0, 1.0])
    prepared = Prepared(lambda: None, seconds=lambda _: next(spans))
    once = Contender(Task("task", "task"), "a", lambda: prepared, repeats=4)
    assert contest.measured_here(once)["seconds"] == 2.0
    assert next(spans) == 1.0


def test_a_process_that_does_not_end_is_ended_with_its_children():
    sleeps = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    written, _, peak, reason = runner._watched([sys.executable, "-c", sleeps], 1.0)
    assert reason == "not done in 1 s"
    assert written == ""
    assert peak > 0.005


def test_memory_counts_children_too():
    holds = "import time; held = bytearray(300_000_000); time.sleep(2)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {holds!r}])"
    peak = runner._watched([sys.executable, "-c", outer], 120.0)[2]
    assert 0.27 < peak < 0.6


def test_a_peer_that_is_not_installed_is_left_out_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_BENCH_ENVS", str(tmp_path))
    assert environments.python("riskcal", install=False) == (None, "not installed")
    assert environments.python(None)[0] == sys.executable


# -- truths and fits


def test_errors_and_cover_of_margins_are_measured(tmp_path):
    margins.make(Size(1, True, tmp_path))
    measured = margins.release(tmp_path / "meps.csv", 3, 2, 4)
    measured.run()
    said = measured.accuracy()
    error, least, largest = (float(x) for x in re.findall(r"([\d.]+)(?:%|;)", said))
    # Of 120 intervals of 95 %, fewer than 84 hold by chance once in 10^17 runs.
    assert 0 < error < 30
    assert 70 <= least <= largest <= 100


def test_the_true_values_are_true():
    with mp.workdps(40):
        assert math.isclose(choosing.PROFILES["kinked"][4], mp.log(mp.mpf(11) / 3) / 2)
        # 365 geometric releases are a walk of 365 steps: the distance is a binomial sum.
        p = mp.exp(mp.mpf("0.05")) / (1 + mp.exp(mp.mpf("0.05")))
        apart = sum(
            mp.binomial(365, j)
            * max(0, p**j * (1 - p) ** (365 - j) - (1 - p) ** j * p ** (365 - j))
            for j in range(366)
        )
        assert math.isclose(accounting.TRUTHS["advantage"], apart, rel_tol=1e-15)


def test_loop_and_grid_do_the_same_work():
    for key, profile in choosing.PROFILES.items():
        assert math.isclose(
            choosing.loop(profile[2], 40), choosing.numpy_grid(key, 40), rel_tol=1e-9
        )
        assert choosing.loop(profile[2], 40) >= profile[4] - 1e-15


@stable
@given(st.floats(0, 10), st.floats(1e-8, 1e-2))
def test_a_line_is_found_again(fixed, slope):
    sizes = [1e3, 1e4, 1e5]
    found = scale.line(sizes, [fixed + slope * size for size in sizes])
    for size in (1e3, 1e9):
        assert math.isclose(found[0] + found[1] * size, fixed + slope * size, rel_tol=1e-6)


@stable
@given(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3))
def test_a_fit_is_never_below_zero(values):
    fixed, slope = scale.line([10.0, 100.0, 1000.0], values)
    assert fixed >= 0
    assert slope >= 0


def test_the_model_says_what_its_constants_predict():
    def row(kind, size, seconds, **figures):
        return replace(OURS, task=f"{kind}-{size}", seconds=seconds, figures=figures)

    rows = [row("spark", n, 2 + n * 1e-6, **{"shuffle bytes": 20.0 * n}) for n in (10**6, 10**7)]
    rows += [row("sqlite-many", n, n / 100) for n in (80, 240, 480)]
    rows += [replace(OURS, task="postgresql-5", seconds=None, figures=None)]
    found = scale.fitted(rows)
    assert set(found) == {"spark", "spark shuffle", "sqlite-many"}
    assert found["spark"] == pytest.approx((2.0, 1e-6))
    assert "16.7 minutes" in scale.predicted(found)
    assert "20 GB" in scale.predicted(found)
    assert "100 a second" in scale.predicted(found)
    assert "1 µs a row" in scale.constants(found)
