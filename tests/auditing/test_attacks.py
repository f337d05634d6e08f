"""The five attacks: what each adversary believes, and how often a belief passes our bound."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import attack
from discreet.auditing import ATTACKERS, attackers
from discreet.auditing.attackers import Asked, likelihood_of
from discreet.auditing.attacks import exposures
from discreet.auditing.path import columns_of
from discreet.cli import main
from discreet.errors import InputError
from discreet.laws import DiscreteGaussian, Gaussian, Geometric, Laplace
from discreet.laws.mechanism import Noise
from discreet.noise import add_noise
from discreet.releases.planning import plan_of
from discreet.releases.spec import load
from soaking import examples, soaked

PURE = ("differencing", "linkage", "reconstruction")
SPEC: dict[str, Any] = {
    "account": "clinic",
    "purpose": "to be attacked",
    "source": "visits.parquet",
    "protect": {"unit": "person", "column": "patient", "rows": 4, "groups": 2, "rows_per_group": 3},
    "budget": {"epsilon": 1.0},
    "statistics": [
        {"count": "rows", "by": ["ward"], "keys": {"ward": ["a", "b"]}},
        {"count": "rows", "by": ["sex"], "keys": {"sex": ["f", "m"]}},
    ],
    "ledger": "sqlite:///ledger.db",
    "output": "out/",
}


# -- the laws of the noise


@pytest.mark.parametrize("law", [Geometric(0.3), Geometric(1.5, 4), DiscreteGaussian(2.5)])
def test_log_density_is_the_difference_of_tails(law: Noise) -> None:
    for n in range(-12, 13):
        assert law.log_density(n) == pytest.approx(Noise.log_density(law, n), rel=1e-9)
    total = math.fsum(math.exp(law.log_density(n)) for n in range(-400, 401))
    assert total == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("law", [Laplace(0.7), Gaussian(2.5)])
def test_log_density_is_the_slope_of_the_tail(law: Noise) -> None:
    with pytest.raises(InputError, match="density"):
        Noise.log_density(law, 0.0)
    for x in (-3.0, -0.5, 0.4, 7.0):
        slope = (law.tail(x - 1e-5) - law.tail(x + 1e-5)) / 2e-5
        assert math.exp(law.log_density(x)) == pytest.approx(slope, rel=1e-5)


# -- beliefs against brute force


def test_averaging_multiplies_likelihoods() -> None:
    law, answers = Geometric(0.4), [27, 25, 20, 26]
    scene = attackers.averaging(Asked(0.2, 4))
    seen = list(scene.believes(answers, likelihood_of(law)))
    weights = [
        prior * math.prod(math.exp(-0.4 * abs(x - count)) for x in answers)
        for prior, count in ((0.2, 26), (0.8, 25))
    ]
    assert seen[-1].belief == pytest.approx(weights[0] / sum(weights), rel=1e-12)
    assert seen[-1].estimate == pytest.approx(24.5)


def test_differencing_sums_over_the_others() -> None:
    law = Geometric(0.6)
    seen = list(attackers.differencing(Asked(0.3)).believes((24, 29), likelihood_of(law)))
    noise = {n: math.tanh(0.3) * math.exp(-0.6 * abs(n)) for n in range(-300, 301)}
    sums = [math.fsum(noise[24 - n] * noise[29 - n - h] for n in range(201)) for h in (1, 0)]
    assert seen[1].belief == pytest.approx(0.3 * sums[0] / (0.3 * sums[0] + 0.7 * sums[1]))
    assert seen[0].belief == 0.3


@pytest.mark.parametrize("exact", [True, False])
def test_linkage_agrees_with_every_data_set(monkeypatch: pytest.MonkeyPatch, exact: bool) -> None:
    """Nine people in nested cells of 9, 4 and 1: all 2^9 data sets are gone through."""
    monkeypatch.setattr(attackers, "_CELLS", ((9, 4), (4, 2), (1, 1)))
    law = None if exact else Geometric(0.8)
    like, prior = likelihood_of(law), 0.25
    answers = (4, 2, 1) if exact else (7, 1, 0)
    seen = list(attackers.linkage(Asked(prior)).believes(answers, like))
    for k in (1, 2, 3):
        weight = [0.0, 0.0]
        for people in itertools.product((0, 1), repeat=9):  # the target is the first
            sums = [sum(people[:size]) for size in (9, 4, 1)][:k]
            chance = prior ** sum(people) * (1 - prior) ** (9 - sum(people))
            terms = [like(x - s) for x, s in zip(answers[:k], sums, strict=True)]
            weight[people[0]] += chance * math.exp(math.fsum(terms))
        assert seen[k - 1].belief == pytest.approx(weight[1] / sum(weight), rel=1e-9)


def test_exact_sums_are_solved_for_every_record() -> None:
    shown = attack("reconstruction", repeats=1)
    assert shown.exact[-1].belief == 1
    assert shown.exact[-1].estimate == shown.exact[-1].truth == 12
    beliefs = [round(step.belief, 6) for step in shown.exact]
    assert beliefs[0] < 1  # one sum does not tell


@pytest.mark.parametrize("name", ATTACKERS)
def test_exact_answers_end_in_certainty(name: str) -> None:
    shown = attack(name, repeats=1)
    assert shown.exact[-1].belief == 1
    assert all(step.bound is None for step in shown.exact)
    assert all(step.bound is not None for step in shown.noisy)


# -- the bound


@settings(max_examples=examples(60), deadline=None)
@given(
    name=st.sampled_from(PURE),
    epsilon=st.floats(0.05, 4),
    prior=st.floats(0.01, 0.99),
    moves=st.integers(1, 3),
)
def test_bounds_for_every_output_are_never_passed(
    name: str, epsilon: float, prior: float, moves: int
) -> None:
    """Whatever the noise: any answers at all, also those that no noise would give."""
    assert not any(attack(name, epsilon=epsilon, prior=prior, repeats=2).passes)
    if name == "reconstruction":
        return
    scene = ATTACKERS[name](Asked(prior, None, moves))
    law = Geometric(epsilon, moves)
    for far in (-40, 0, 40):
        answers = [x + far for x in scene.answers]
        for k, seen in zip(scene.steps, scene.believes(answers, likelihood_of(law)), strict=True):
            odds = math.log(prior) - math.log1p(-prior) + k * epsilon
            assert seen.belief <= attackers._expit(odds) * (1 + 1e-9)


@pytest.mark.parametrize("law", ["geometric", "discrete-gaussian"])
@pytest.mark.parametrize("name", ["averaging", "draining"])
def test_the_bound_is_passed_no_more_often_than_promised(name: str, law: str) -> None:
    """After each of the steps, in many attacks; a false alarm has probability 1e-9 a step."""
    many = 3000 if soaked() else 1000
    budget = {"epsilon": 0.8} if law == "geometric" else {"rho": 0.1}
    shown = attack(name, mechanism=law, times=20, confidence=0.9, repeats=many, **budget)
    assert shown.holds_with == 0.9
    most = next(m for m in range(many // 10, many) if _more(m, many, 0.1) < 1e-9)
    assert max(shown.passes) <= most


def _more(hits: int, trials: int, prob: float) -> float:
    """P(more than so many hits), by Hoeffding's bound."""
    return math.exp(-2 * (hits - prob * trials) ** 2 / trials)


def test_a_bound_without_noise_would_be_seen_to_be_passed() -> None:
    """The comparison can fail: answers with a tenth of the noise pass the bound."""
    scene = attackers.averaging(Asked(0.1, 1))
    strong, weak = Geometric(0.5), Geometric(5.0)
    beliefs = [
        next(scene.believes(add_noise(weak, scene.answers), likelihood_of(weak))).belief
        for _ in range(200)
    ]
    odds = math.log(0.1 / 0.9) + strong.epsilon
    assert max(beliefs) > attackers._expit(odds)


# -- what is shown


def test_a_cap_stops_the_attack() -> None:
    shown = attack("averaging", epsilon=0.25, cap=1.1, times=50, repeats=1)
    assert (shown.cap.releases, shown.cap.budget["epsilon"]) == (4, 1.1)
    assert shown.cap.bound == pytest.approx(math.e / 9 / (1 + math.e / 9), rel=1e-9)
    assert any("refuses the next" in line for line in shown.sentences)
    nothing = attack("draining", epsilon=0.25, cap=0.1, times=3, repeats=1)
    assert (nothing.cap.releases, nothing.cap.bound) == (0, 0.1)


def test_the_result_is_a_table_and_one_line() -> None:
    shown = attack("averaging", times=5, repeats=1)
    said = shown.to_dict()
    assert set(said["steps"][0]) == {"k", "noise", "truth", "estimate", "belief", "bound"}
    assert [s["k"] for s in said["steps"]] == [1, 2, 5, 1, 2, 5]
    assert list(shown.to_columns()) == list(said["steps"][0])
    assert repr(shown).startswith("Attack(averaging: after 5 steps ")
    assert shown._repr_html_().startswith("<table>")
    json.dumps(said, allow_nan=False)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"name": "guessing"}, "no attack"),
        ({"prior": 1.0}, "prior is 1.0"),
        ({"prior": math.nan}, "prior is nan"),
        ({"times": 0}, "times is 0"),
        ({"repeats": True}, "repeats is True"),
        ({"epsilon": 1, "rho": 1}, "Both"),
        ({"mechanism": "laplace"}, "not made of whole numbers"),
        ({"mechanism": "geometric", "rho": 1}, "budget in epsilon"),
        ({"name": "linkage", "rho": 0.1}, "needs pure DP"),
        ({"spec": SPEC, "epsilon": 1}, "its own budget"),
        ({"epsilon": -1}, "must be positive"),
    ],
)
def test_what_cannot_be_attacked_is_refused(how: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        attack(**{"name": "averaging", "repeats": 1, **how})


def test_a_spec_gives_its_noise_and_its_limits() -> None:
    shown = attack("averaging", spec=SPEC, times=3, repeats=1)
    assert shown.release.budget == pytest.approx(0.5)  # two tables share ε = 1
    assert shown.release.sensitivity == 4
    assert shown.release.moves == 3  # rows of one person in one ward
    assert shown.steps[0].truth == 28
    assert shown.release.statistic == "count_rows_1"
    assert "count_rows_1 in the spec" in shown.sentences[0]
    cost = {"sum": "cost", "bounds": [0, 500], "resolution": 0.01}
    both = SPEC | {"statistics": [{**cost, "weight": 5}, {"count": "rows"}]}
    assert attack("linkage", spec=both, repeats=1).release.statistic == "count_rows_2"
    money = attack("averaging", spec=SPEC | {"statistics": [cost]}, times=2, repeats=1)
    assert money.steps[0].truth == pytest.approx(1500.25)  # three rows of 500, and 25 hundredths
    solved = attack("reconstruction", spec=SPEC, repeats=3)
    assert solved.exact[-1].estimate == 12
    assert not any(solved.passes)
    assert shown.noisy[0].bound == pytest.approx(math.exp(0.5) / (math.exp(0.5) + 9), rel=1e-9)
    replaced = SPEC | {"protect": SPEC["protect"] | {"adjacency": "replace"}}
    assert attack("averaging", spec=replaced, times=3, repeats=1).release.moves == 3
    gaussian = SPEC | {"budget": {"rho": 0.1}}
    assert attack("averaging", spec=gaussian, times=3, repeats=1).release.kind.budget == "rho"
    prices = {"of": "bid", "cap": 10, "candidates": {"from": 1, "to": 5, "step": 1}}
    chosen = SPEC | {"statistics": [{"best": "price", "score": "revenue", **prices}]}
    with pytest.raises(InputError, match="choices only"):
        attack("averaging", spec=chosen)


def test_which_attacks_a_spec_would_have_allowed() -> None:
    def allowed(spec: dict[str, Any], releases: int = 1) -> list[str]:
        read = load(spec)
        found = exposures(plan_of(read, columns_of(read)), releases)
        assert [one.attack for one in found] == list(ATTACKERS)
        return [one.attack for one in found if one.allowed]

    both = ["differencing", "averaging"]
    assert allowed(SPEC) == [*both, "linkage", "reconstruction"]
    assert allowed(SPEC | {"statistics": [{"count": "rows"}]}) == both
    assert allowed(SPEC | {"statistics": [{"count": "rows"}]}, 12) == [*both, "draining"]


@pytest.mark.parametrize("name", ATTACKERS)
def test_the_command_prints_the_way_to_the_belief(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as way_out:
        main(["attack", name, "--repeats", "2"])
    assert not way_out.value.code
    out = capsys.readouterr().out
    assert name.capitalize() in out
    assert "100 %" in out
    assert "invented" in out
