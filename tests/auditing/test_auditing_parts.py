"""The parts of an audit: promises, events, beliefs, neighbours, raised plan, command, chart."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from typer.testing import CliRunner

from discreet.auditing import Audit, audit, checks, probe
from discreet.auditing.claims import Claim, Shown
from discreet.auditing.events import (
    Event,
    Score,
    beliefs,
    best_event,
    collected,
    edges_of,
    judged,
)
from discreet.auditing.events import (
    Tested as OfEvent,
)
from discreet.auditing.neighbours import TARGET, neighbours
from discreet.auditing.path import Replay, columns_of, opened, raised, trial
from discreet.charts import promised_against_seen, save
from discreet.cli.auditing import audit as command
from discreet.errors import GuaranteeError, InputError, SpecError
from discreet.guarantees import ZCDP, ApproxDP, ProbabilisticDP, PureDP
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.spec import load
from soaking import examples

COUNTY = {"by": ["county"], "keys": {"county": ["north", "south", "west"]}}


def spec(**changes: Any) -> dict[str, Any]:
    return {
        "account": "people",
        "purpose": "test",
        "source": "secret.parquet",
        "protect": {"unit": "person", "column": "person", "rows": 2},
        "budget": {"epsilon": 0.25},
        "statistics": [{"count": "rows", **COUNTY}],
        "ledger": "sqlite:///ledger.db",
        "output": "out",
    } | changes


class TestPromises:
    @settings(derandomize=True, deadline=None, max_examples=examples(60))
    @given(st.floats(0.05, 3.0), st.floats(-4.0, 4.0))
    def test_no_event_of_a_gaussian_breaks_its_own_zcdp(self, rho: float, level: float) -> None:
        shift = math.sqrt(2 * rho)
        p, q = stats.norm.sf(level - shift), stats.norm.sf(level)
        assert not Claim.of([ZCDP(rho)]).shown(float(p), float(q)).broken

    @settings(derandomize=True, deadline=None, max_examples=examples(60))
    @given(st.floats(0.1, 4.0), st.floats(1e-6, 1.0), st.floats(0.0, 0.1))
    def test_what_is_allowed_is_not_broken_and_what_is_beyond_is(
        self, epsilon: float, q: float, delta: float
    ) -> None:
        promise = Claim.of([ApproxDP(epsilon, delta)])
        allowed = math.exp(epsilon) * q + delta
        assert not promise.shown(allowed * (1 - 1e-9), q).broken
        assert promise.shown(allowed * (1 + 1e-9), q).broken

    def test_twice_the_rho_is_seen(self) -> None:
        shift = math.sqrt(2 * 8.0)
        p, q = float(stats.norm.sf(-shift / 2)), float(stats.norm.sf(shift / 2))
        assert Claim.of([ZCDP(2.0)]).shown(p, q).broken

    @settings(derandomize=True, deadline=None, max_examples=examples(60))
    @given(st.floats(0.02, 0.97), st.floats(0.01, 0.9), st.floats(0.0, 1.0))
    def test_the_rho_shown_falls_as_bounds_widen(self, p: float, q: float, part: float) -> None:
        promise = Claim.of([ZCDP(1.0)])
        exact, wide = promise.shown(p, q), promise.shown(p * part, q + (1 - q) * (1 - part))
        assert (wide.rho_lower or 0.0) <= (exact.rho_lower or 0.0) + 1e-12

    def test_charges_add_up(self) -> None:
        promise = Claim.of([PureDP(0.5), ApproxDP(1.0, 1e-3)])
        assert promise.points == ((1.5, 1e-3),)
        assert promise.loss(0.0 if promise.always else 0.1) > 1.5
        mixed = Claim.of([ZCDP(0.5), ApproxDP(1.0, 1e-3)])
        assert min(delta for _, delta in mixed.points) >= 1e-3
        assert math.isfinite(mixed.loss(0.05))

    def test_what_is_not_closed_under_processing_is_refused(self) -> None:
        with pytest.raises(GuaranteeError):
            Claim.of([ProbabilisticDP(1.0, 1e-3)])


def sample(rows: list[list[float]], codes: dict[Any, int]) -> Any:
    return collected(
        [({("x", str(i)): v for i, v in enumerate(row)}, len(row)) for row in rows], codes
    )


class TestEvents:
    def test_a_difference_cancels_common_noise(self) -> None:
        source = np.random.default_rng(1)
        codes: dict[Any, int] = {}
        noise = source.laplace(0, 50, (2, 400))
        left = sample([[n + 1, n] for n in noise[0]], codes)
        right = sample([[n, n] for n in noise[1]], codes)
        event = best_event(left, right, Claim.of([PureDP(2.0)]))
        assert event.score.kind == "difference"
        assert {event.hits(left), event.hits(right)} == {400, 0}

    def test_a_shape_tells_apart(self) -> None:
        codes: dict[Any, int] = {}
        left, right = sample([[1.0, 1.0]] * 300, codes), sample([[1.0]] * 300, codes)
        promise = Claim.of([PureDP(2.0)])
        event = best_event(left, right, promise)
        found = judged(event, left, right, promise, 1e-6, "a", "b")
        assert found.broken
        assert found.to_dict()["epsilon_lower"] > 2

    def test_equal_samples_show_nothing(self) -> None:
        codes: dict[Any, int] = {}
        both = sample([[float(i % 7)] for i in range(500)], codes)
        promise = Claim.of([PureDP(0.1)])
        event = best_event(both, both, promise)
        assert judged(event, both, both, promise, 0.5, "a", "b").shown.epsilon_lower == 0

    def test_beliefs_leave_the_bounds_with_the_loss(self) -> None:
        codes: dict[Any, int] = {}
        left = sample([[float(i % 50 > 0)] for i in range(1000)], codes)
        right = sample([[float(i % 50 == 0)] for i in range(1000)], codes)
        event = Event(Score("value", (("x", "0"),)), ">=", 1.0, False, 0.0)
        edges = edges_of(event.score, left, right)
        for epsilon, inside in ((5.0, True), (2.0, False)):
            promise = Claim.of([PureDP(epsilon)])
            found = beliefs(event, edges, left, right, promise, 0.0, 1e-6, "pair")
            assert found.passed is inside
            at = found.at(0.5)
            assert at["posterior"]["seen"][1] == pytest.approx(0.98, abs=0.005)
            assert at["ratio"]["seen"][1] == pytest.approx(1.96, abs=0.01)
            assert at["difference"]["promised"][1] == pytest.approx(
                1 / (1 + math.exp(-epsilon)) - 0.5
            )

    def test_beliefs_may_leave_them_as_often_as_promised(self) -> None:
        """One output in fifty gives all away: too often for a hundredth, not for a tenth."""
        codes: dict[Any, int] = {}
        left = sample([[float(i % 50 == 0)] for i in range(5000)], codes)
        right = sample([[0.0]] * 5000, codes)
        event = Event(Score("value", (("x", "0"),)), ">=", 1.0, False, 0.0)
        edges = np.array([0.5])
        for failure, inside in ((0.01, False), (0.1, True)):
            promise = Claim.of([ApproxDP(0.5, 1e-4)])
            found = beliefs(event, edges, left, right, promise, failure, 1e-6, "pair")
            assert found.passed is inside
            assert found.outside == pytest.approx(0.02)


class TestNeighbours:
    @pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
    def test_pairs_differ_in_the_target_alone(self, adjacency: str) -> None:
        protect = {"unit": "person", "column": "person", "rows": 3, "adjacency": adjacency}
        asked = load(spec(protect=protect))
        plan = raised(asked, 2.0)
        made = neighbours(plan, columns_of(asked))
        assert len(made.pairs) == 8
        for pair in (*made.pairs, *made.coupled):
            sides = [made.data[side] for side in (pair.left, pair.right)]
            others = [[row for row in side if row["person"] != TARGET] for side in sides]
            assert repr(others[0]) == repr(others[1])
            target = [any(row["person"] == TARGET for row in side) for side in sides]
            assert target == [True, adjacency == "replace"]

    def test_records_differ_in_one_row(self) -> None:
        asked = load(spec(protect={"unit": "record"}))
        made = neighbours(raised(asked, 2.0), columns_of(asked))
        for pair in made.pairs:
            assert len(made.data[pair.left]) == len(made.data[pair.right]) + 1

    def test_only_the_target_is_beyond_its_limits(self) -> None:
        asked = load(spec(protect={"unit": "person", "column": "person", "rows": 1}))
        made = neighbours(raised(asked, 2.0), columns_of(asked))
        for pair in made.pairs:
            rows = [row["person"] for row in made.data[pair.left]]
            others = [who for who in rows if who not in (TARGET, None)]
            assert len(others) == len(set(others))


class TestReplay:
    def test_priorities_are_fresh_and_the_crowd_is_not_touched_by_them(self) -> None:
        """Twelve draws of a heavy contributor's two rows are not all alike (but with 1e-6)."""
        asked = load(spec())
        plan, columns = raised(asked, 2.0), columns_of(asked)
        made = neighbours(plan, columns)
        kept = {}
        for name in ("heavy contributor", "crowd"):
            with opened(made.data[name], columns) as engine:
                replay = Replay(engine, 12)
                draws = set()
                for turn in range(12):
                    replay._turn = turn
                    draws.add(tuple(trial(plan, replay).true.values()))
                kept[name] = draws
        assert len(kept["heavy contributor"]) > 1
        assert len(kept["crowd"]) == 1
        (crowd,) = kept["crowd"]
        for drawn in kept["heavy contributor"]:
            assert sum(abs(a - b) for a, b in zip(drawn, crowd, strict=True)) <= 2


class TestRaisedPlan:
    @pytest.mark.parametrize(
        ("budget", "wanted"),
        [
            ({"epsilon": 0.25}, PureDP(2.0)),
            ({"epsilon": 0.25, "delta": 1e-6}, ApproxDP(2.0, 1e-6)),
            ({"rho": 0.01}, ZCDP(2.0)),
        ],
    )
    def test_the_kind_of_the_budget_stays(self, budget: Any, wanted: Any) -> None:
        assert raised(load(spec(budget=budget)), 2.0).pricing.charges in ((wanted,), (PureDP(2.0),))

    @pytest.mark.parametrize("key", ["promise", "tolerance"])
    def test_a_promise_is_replaced_by_the_budget_under_either_name(self, key: str) -> None:
        promised = {key: {"ratio": 3, "every_output": True}}
        plan = raised(load(spec(budget=None, **promised)), 2.0)
        assert plan.pricing.charges == (PureDP(2.0),)
        assert plan.spec.promised() is None  # else the release of the audit would break it

    @pytest.mark.parametrize(
        "protect",
        [
            {"unit": "person", "column": "person", "rows": 2, "name": "one aircraft"},
            {"unit": "record", "name": "one respondent", "adjacency": "replace"},
        ],
    )
    def test_it_is_charged_for_a_unit_with_a_name_of_its_own(self, protect: dict[str, Any]) -> None:
        """The account of the audit was opened without the name, and refused the release."""
        asked = load(spec(protect=protect))
        plan, columns = raised(asked, 2.0), columns_of(asked)
        made = neighbours(plan, columns)
        assert checks.charge(plan, made.data["whole person"], columns).passed

    def test_mechanism_and_shares_stay(self) -> None:
        asked = load(
            spec(
                budget={"epsilon": 0.25, "delta": 1e-6},
                statistics=[{"count": "rows", "name": f"s{i}", **COUNTY} for i in range(40)],
            )
        )
        from discreet.releases.planning import plan_of

        now, then = plan_of(asked, columns_of(asked)), raised(asked, 2.0)
        assert {c.mechanism for c in now.pricing.calls} == {c.mechanism for c in then.pricing.calls}

    def test_a_wanted_accuracy_becomes_its_share(self) -> None:
        asked = load(
            spec(
                budget={"epsilon": 1.0},
                statistics=[
                    {"count": "rows", "name": "exact", "within": {"error": 10}, **COUNTY},
                    {"count": "rows", "name": "rest", **COUNTY},
                ],
            )
        )
        from discreet.releases.planning import plan_of

        now = {
            c.asked.statistic: c.epsilon or 0
            for c in plan_of(asked, columns_of(asked)).pricing.calls
        }
        then = {c.asked.statistic: c.epsilon or 0 for c in raised(asked, 2.0).pricing.calls}
        assert then["exact"] / then["rest"] == pytest.approx(now["exact"] / now["rest"])
        assert sum(then.values()) == pytest.approx(2.0)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """An audit in an empty folder, where opening a source is an error."""
    folder = tmp_path_factory.mktemp("audit")

    def never(*_: Any) -> None:
        raise AssertionError("the source was opened")

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(DuckDB, "open", never)
        made = audit(spec(), trials=100, failure_probability=1e-6, draws=1)
    assert list(folder.iterdir()) == []  # no ledger, no output
    return made


class TestAudit:
    def test_says_what_it_must(self, found: Audit) -> None:
        said = found.to_dict()
        assert {"passed", "trials", "epsilon_lower", "failure_probability"} <= set(said)
        json.dumps(said, allow_nan=False)
        assert "proves nothing" in said["note"]
        assert "nothing was charged" in said["note"]
        assert {check["name"] for check in said["checks"]} == {
            "sensitivity",
            "cells",
            "charge",
            "support",
            "fresh",
        }
        assert [entry["prior"] for entry in said["beliefs"][0]["priors"]] == [0.01, 0.1, 0.5, 0.9]
        assert "passed" in repr(found)
        assert "proves nothing" in found._repr_html_()

    def test_reads_no_source_and_opens_no_ledger(self, found: Audit) -> None:
        """The fixture saw to both."""
        assert found.passed

    def test_the_chart_has_both_parts(self, found: Audit, tmp_path: Path) -> None:
        chart = promised_against_seen(found)
        drawn = json.dumps(chart.to_dict())
        assert "promised" in drawn
        for name in ("posterior", "ratio", "difference"):
            assert name in drawn
        assert save(chart, tmp_path / "audit.svg").stat().st_size > 1000

    def test_the_chart_of_a_failed_audit_does_not_say_that_nothing_was_found(
        self, found: Audit
    ) -> None:
        failed = replace(found, checks=(replace(found.checks[0], passed=False),))
        drawn = json.dumps(promised_against_seen(failed).to_dict())
        assert "the promise is broken" in drawn
        assert "no fault" not in drawn
        assert "found no fault" in json.dumps(promised_against_seen(found).to_dict())

    @pytest.mark.parametrize(
        "wrong",
        [
            {"epsilon": math.nan},
            {"epsilon": 0},
            {"trials": 5},
            {"failure_probability": 2},
            {"draws": 0},
        ],
    )
    def test_what_cannot_be_is_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(InputError):
            audit(spec(), **wrong)

    def test_an_attack_reports_like_an_audit(self) -> None:
        broken = probe(lambda: [1.0], lambda: [0.0], PureDP(1.0), trials=200)
        assert not broken.passed
        assert broken.to_dict()["epsilon_lower"] > 1
        assert "NOT" in repr(broken)

    @pytest.mark.usefixtures("brief_audits")
    def test_it_says_for_which_account_a_promise_with_a_confidence_was_priced(self) -> None:
        promise = {"ratio": 3, "confidence": 0.99}
        for mechanism, filter_ in {"auto": "pure", "gaussian": "zcdp"}.items():
            given = spec(budget=None, promise=promise, mechanism=mechanism)
            assert f"the filter {filter_}" in audit(given, trials=100, draws=1).to_dict()["note"]
        assert "ledger" not in audit(spec(), trials=100, draws=1).to_dict()["note"]

    def test_what_its_account_alone_could_price_is_refused_without_a_word_on_the_account(
        self,
    ) -> None:
        with pytest.raises(SpecError, match="no ledger is read"):
            audit(spec(budget=None))

    def test_the_worst_pair_is_the_one_that_came_nearest(self) -> None:
        of = {"event": "", "hits": (0, 0), "trials": 1}
        small = OfEvent("crowding out", "a call", shown=Shown(0.0, 0.1, 0.0), **of)
        near = OfEvent("whole person", "the whole release", shown=Shown(0.2, 2.0, 0.0), **of)
        found = Audit("a", 2.0, {}, 1, 1, 1e-3, (small, near), (), (), (), ())
        assert found.worst == "whole person"


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path: Path, brief_audits: None) -> Any:
        app = typer.Typer()
        app.command()(command)
        path = tmp_path / "spec.yaml"
        path.write_text(yaml.safe_dump(spec()))
        return lambda *flags: CliRunner().invoke(app, [str(path), "--trials", "100", *flags])

    def test_prints_one_json_object(self, run: Any, tmp_path: Path) -> None:
        result = run("--json", "--failure-probability", "1e-6")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["passed"] is True
        assert [path.name for path in tmp_path.iterdir()] == ["spec.yaml"]

    @pytest.mark.usefixtures("briefly")
    def test_a_budget_is_set_for_the_run(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "spec.yaml"
        path.write_text(yaml.safe_dump({k: v for k, v in spec().items() if k != "budget"}))
        assert "budget.epsilon=1" in run("--json").exception.flags
        result = run("--json", "--failure-probability", "1e-6", "--set", "budget.epsilon=1")
        assert result.exit_code == 0, result.output

    @pytest.fixture
    def briefly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One draw of priorities a data set: what the command says of it is all that is tested."""
        monkeypatch.setattr("discreet.auditing.audit", partial(audit, draws=1))

    @pytest.mark.usefixtures("briefly")
    def test_draws_a_chart(self, run: Any, tmp_path: Path) -> None:
        result = run("--chart", str(tmp_path / "audit.svg"), "--failure-probability", "1e-6")
        assert result.exit_code == 0, result.output
        assert "promised" in (tmp_path / "audit.svg").read_text()
        assert "proves nothing" in result.stdout

    @pytest.mark.usefixtures("briefly")
    def test_a_fault_is_exit_code_1(self, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        from discreet.releases import drawing

        monkeypatch.setattr(drawing, "add_noise", lambda law, v, **more: list(v))
        result = run()
        assert result.exit_code == 1
        assert "A FAULT WAS FOUND" in result.stdout
        assert "CONTRADICTED" in result.stdout
