"""`discreet ledger`: flags, JSON keys and exit codes are a contract."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hands import Hand
from typer.testing import CliRunner

from discreet.cli.ledger import app
from discreet.errors import DiscreetError
from discreet.guarantees import ZCDP, PureDP
from discreet.ledger import Charge, Ledger, Part
from discreet.ledger.plans import composed
from discreet.rounding import number

KEYS = {"entries", "spent", "remaining", "verified", "head"}
APPROVED = ("--approver", "A. Curator", "--reason", "review")


class Discreet:
    """The command line on one ledger."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.runner = CliRunner()

    def __call__(self, what: str, *flags: object) -> tuple[int, str]:
        """Run a command; return the exit code that the shell would see, and what it printed."""
        args = [what, "--ledger", self.url, *map(str, flags)]
        done = self.runner.invoke(app, args)
        if isinstance(done.exception, DiscreetError):
            return done.exception.exit_code, done.exception.on_the_command_line
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.output

    def json(self, what: str, *flags: object, code: int = 0) -> dict[str, Any]:
        got, output = self(what, *flags, "--json")
        assert got == code, output
        found = json.loads(output)
        assert isinstance(found, dict)
        return found


@pytest.fixture
def discreet(url: str) -> Discreet:
    return Discreet(url)


@pytest.fixture
def clinic(discreet: Discreet) -> Discreet:
    discreet.json("open", "--account", "clinic", "--filter", "pure", "--epsilon", 1, *APPROVED)
    return discreet


def test_every_command_has_the_keys_of_the_contract(discreet: Discreet) -> None:
    at = ("--account", "clinic")
    for found in (
        discreet.json(
            "open", *at, "--unit", "person", "--adjacency", "add-remove", "--filter", "pure",
            "--epsilon", 2, *APPROVED,
        ),
        discreet.json("grant", *at, "--epsilon", 1, *APPROVED),
        discreet.json("charge", *at, "--epsilon", 0.5),
        discreet.json("plan", *at, "--epsilon", 0.1, "--releases", 3),
        discreet.json("show", *at),
        discreet.json("show"),
        discreet.json("verify", *at),
        discreet.json("verify"),
    ):  # fmt: skip
        assert found.keys() >= KEYS
        assert found["verified"] is True
        assert isinstance(found["entries"], list)
    shown = discreet.json("show", *at)
    assert shown["spent"] == {"epsilon": 0.8, "delta": None, "rho": None}
    assert shown["remaining"] == {"epsilon": 2.2, "delta": None, "rho": None}
    assert [e["kind"] for e in shown["entries"]] == ["open", "grant", "charge", "plan"]
    assert discreet.json("verify", *at)["spent"] == shown["spent"]
    assert discreet.json("verify", "--head", shown["head"])["since_head"] == 0


def test_verify_says_how_far_a_kept_head_vouches(
    clinic: Discreet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an older head a chain that was cut or written anew after it passes."""
    clinic.json("charge", "--account", "clinic", "--epsilon", 0.1)
    older = clinic.json("show")["head"]
    reach = clinic.json("verify", "--head", older)
    assert (reach["since_head"], reach["vouched_up_to"]) == (0, 3)
    told = clinic("verify", "--head", older)[1]
    assert "The head vouches for all 3 entries. Others may have been cut off after" in told
    assert clinic.json("verify")["vouched_up_to"] is None
    assert "Only a head kept elsewhere" in clinic("verify")[1]
    for more in ("The entry after it", "The 2 entries after it"):
        clinic.json("charge", "--account", "clinic", "--epsilon", 0.1)
        assert clinic.json("verify", "--head", older)["vouched_up_to"] == 3
        told = clinic("verify", "--head", older)[1]
        assert f"The head vouches for the entries up to 3. {more} may have been written" in told
        assert "a newer head, or a witness, shows it." in told
    assert clinic.json("verify", "--head", "0" * 64, code=1)["vouched_up_to"] is None
    # A witness that gets no head for a while vouches as a head does; its newest counts.
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("DISCREET_WITNESS", str(tmp_path / "shared"))
    clinic.json("charge", "--account", "clinic", "--epsilon", 0.1)
    assert clinic.json("verify", "--head", older)["vouched_up_to"] == 6
    assert "The witness vouches for all 6 entries." in clinic("verify", "--head", older)[1]
    monkeypatch.delenv("DISCREET_WITNESS")
    clinic.json("charge", "--account", "clinic", "--epsilon", 0.1)
    monkeypatch.setenv("DISCREET_WITNESS", str(tmp_path / "shared"))
    assert clinic.json("verify")["vouched_up_to"] == 6
    told = clinic("verify", "--head", older)[1]
    assert "The witness vouches for the entries up to 6. The entry after it left no head" in told
    newest = clinic.json("show")["head"]
    assert clinic.json("verify", "--head", newest)["vouched_up_to"] == 7


@pytest.mark.parametrize("given", [(), ("--approver", "A"), ("--reason", "B")])
def test_without_approver_and_reason_exit_4(discreet: Discreet, given: tuple[str, ...]) -> None:
    code, words = discreet("open", "--account", "clinic", "--epsilon", 1, *given)
    assert code == 4
    assert "approver" in words
    discreet.json("open", "--account", "clinic", "--epsilon", 1, *APPROVED)
    code, _ = discreet("grant", "--account", "clinic", "--epsilon", 1, *given)
    assert code == 4


def test_an_account_that_is_not_open_exit_4_with_the_command_that_opens_it(
    discreet: Discreet,
) -> None:
    for what in ("charge", "grant", "plan", "show"):
        more = () if what == "show" else ("--epsilon", 1)
        more += APPROVED if what == "grant" else ("--releases", 2) if what == "plan" else ()
        code, words = discreet(what, "--account", "clinic", *more)
        assert code == 4
        assert "discreet ledger open --ledger" in words


def test_over_budget_exit_3(clinic: Discreet) -> None:
    clinic.json("charge", "--account", "clinic", "--epsilon", 0.8)
    code, words = clinic("charge", "--account", "clinic", "--epsilon", 0.3)
    assert code == 3
    for said in ("needs ε = 0.3", "spent ε = 0.8", "left ε = 0.2", "charge of ε = 0.2 would fit"):
        assert said in words
    code, _ = clinic("plan", "--account", "clinic", "--epsilon", 0.1, "--releases", 3)
    assert code == 3
    assert clinic.json("show", "--account", "clinic")["spent"]["epsilon"] == 0.8


def test_a_booking_that_is_run_again_tells_that_it_was_booked(clinic: Discreet) -> None:
    again = ("--account", "clinic", "--epsilon", 0.3, "--release-id", "q1", "--output-hash", "ab")
    made = clinic.json("charge", *again)
    found = clinic.json("charge", *again)
    assert (made["repeated"], found["repeated"]) == (False, True)
    assert found["spent"]["epsilon"] == made["spent"]["epsilon"] == 0.3
    assert "nothing was charged now" in clinic("charge", *again)[1]
    assert clinic("charge", *again[:-2])[0] == 4


def test_show_tells_what_was_given_and_what_it_costs(discreet: Discreet) -> None:
    """Who reconciles a Laplace release found only its price in ρ."""
    discreet.json("open", "--account", "a", "--filter", "zcdp", "--rho", 1, *APPROVED)
    discreet.json("charge", "--account", "a", "--epsilon", 0.3, "--mechanism", "laplace")
    discreet.json("charge", "--account", "a", "--rho", 0.01)
    words = discreet("show", "--account", "a")[1]
    assert "ρ = 0.045 (given as ε = 0.3, laplace)" in words
    assert words.count("given as") == 1


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--epsilon", "nan"), 2),
        (("--epsilon", "-1"), 2),
        (("--epsilon", "inf"), 2),
        (("--epsilon", "0.1", "--delta", "2"), 2),
        (("--delta", "1e-6"), 2),
        ((), 2),
        (("--epsilon", "0.1", "--rho", "0.1"), 2),
        (("--rho", "0.1"), 4),
        (("--epsilon", "0.1", "--delta", "1e-9"), 4),
        (("--epsilon", "0.1", "--adjacency", "replace"), 4),
        (("--epsilon", "0.1", "--adjacency", "swap"), 2),
        (("--epsilon", "0.1", "--unit", "record"), 4),
        (("--epsilon", "0.1", "--release-id", "a/b"), 2),
        (("--epsilon", "0.1", "--purpose", ""), 2),
    ],
)
def test_charges_that_cannot_be(clinic: Discreet, flags: tuple[str, ...], code: int) -> None:
    before = clinic.json("show", "--account", "clinic")["head"]
    got, words = clinic("charge", "--account", "clinic", *flags)
    assert got == code
    assert len(words.strip().splitlines()) == 1
    assert clinic.json("show", "--account", "clinic")["head"] == before


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        (("--epsilon", "1"), "pure"),
        (("--epsilon", "1", "--delta", "1e-6"), "basic"),
        (("--rho", "1"), "zcdp"),
        (("--rho", "1", "--delta", "1e-6"), "zcdp"),
        (("--epsilon", "1", "--filter", "basic", "--delta", "0"), "basic"),
        (("--no-cap", "--filter", "zcdp"), "zcdp"),
        (("--ratio", "3"), "pure"),
        (("--ratio", "3", "--confidence", "0.99"), "zcdp"),
        (("--ratio", "3", "--confidence", "0.99", "--epsilon", "1"), "pure"),
        (("--ratio", "3", "--confidence", "0.99", "--delta", "1e-6"), "basic"),
    ],
)
def test_the_filter_is_given_or_that_of_the_cap(
    discreet: Discreet, flags: tuple[str, ...], rule: str
) -> None:
    found = discreet.json("open", "--account", "a", *flags, *APPROVED)
    assert found["filter"] == rule


def test_a_basic_account_is_told_its_delta(discreet: Discreet) -> None:
    code, words = discreet(
        "open", "--account", "a", "--filter", "basic", "--epsilon", 10, *APPROVED
    )
    assert code == 2
    assert "the δ that may be spent in all" in words
    assert len(words.strip().splitlines()) == 1


def test_a_cap_on_delta_may_be_raised_alone(discreet: Discreet) -> None:
    discreet.json("open", "--account", "a", "--epsilon", 1, "--delta", 1e-6, *APPROVED)
    found = discreet.json("grant", "--account", "a", "--delta", 2e-6, *APPROVED)
    assert found["cap"] == {"epsilon": 1.0, "delta": 3e-6, "rho": None}
    assert discreet("grant", "--account", "a", *APPROVED)[0] == 2


def test_a_missing_lifetime_cap_is_asked_for_and_said_everywhere(discreet: Discreet) -> None:
    assert discreet("open", "--account", "a", "--filter", "pure", *APPROVED)[0] == 2
    assert discreet("open", "--account", "a", "--no-cap", *APPROVED)[0] == 2
    both = ("--no-cap", "--filter", "pure", "--epsilon", 1)
    assert discreet("open", "--account", "a", *both, *APPROVED)[0] == 2
    code, words = discreet("open", "--account", "a", "--no-cap", "--filter", "pure", *APPROVED)
    assert code == 0
    assert "no lifetime cap" in words
    for what in (("charge", "--epsilon", 5), ("show",)):
        code, words = discreet(what[0], "--account", "a", *what[1:])
        assert code == 0
        assert "no lifetime cap" in words
    assert discreet.json("show", "--account", "a")["remaining"]["unbounded"] is True


def test_a_period_is_a_limit_of_pace(discreet: Discreet) -> None:
    pace = ("--period", "month", "--period-epsilon", 0.2)
    discreet.json("open", "--account", "a", "--epsilon", 1, *pace, *APPROVED)
    discreet.json("charge", "--account", "a", "--epsilon", 0.2)
    code, words = discreet("charge", "--account", "a", "--epsilon", 0.1)
    assert code == 3
    assert "cap of month" in words
    discreet.json("grant", "--account", "a", "--period", "--epsilon", 0.1, *APPROVED)
    found = discreet.json("charge", "--account", "a", "--epsilon", 0.1)
    assert found["period"]["cap"]["epsilon"] == 0.3
    assert found["remaining"]["epsilon"] == 0.7
    assert "a limit of pace" in discreet("show", "--account", "a")[1]


def test_a_registered_plan_is_charged_in_full(discreet: Discreet, url: str) -> None:
    discreet.json("open", "--account", "a", "--rho", 1, "--delta", 1e-6, *APPROVED)
    found = discreet.json("plan", "--account", "a", "--rho", 0.01, "--releases", 12)
    assert found["spent"] == {"epsilon": None, "delta": 0.0, "rho": 0.12}
    found = discreet.json(
        "plan", "--account", "a", "--epsilon", 0.1, "--delta-each", 1e-8, "--releases", 10
    )
    assert found["spent"] == {"epsilon": None, "delta": 1e-7, "rho": 0.17}
    assert found["method"] == "basic"
    assert Ledger.open(url).next_slot(found["plan_id"]).of == 10
    assert discreet("plan", "--account", "a", "--rho", 0.01, "--releases", 0)[0] == 2


def test_a_withdrawn_promise_stays_in_sight(discreet: Discreet) -> None:
    discreet.json("open", "--account", "a", "--posterior", 0.25, "--p", 0.05, *APPROVED)
    (promise,) = discreet.json("show", "--account", "a")["promises"]
    ended = ("--approver", "B. Board", "--reason", "required by law")
    discreet.json("withdraw", "--account", "a", "--promise", promise["id"], *ended)
    discreet.json("grant", "--account", "a", "--epsilon", 1, *ended)
    _, said = discreet("show", "--account", "a")
    assert f"promise {promise['id']}, WITHDRAWN on 20" in said
    assert "by B. Board: required by law" in said
    assert promise["sentence"] in said
    withdrawn, granted = (
        line
        for line in said.splitlines()
        if line.endswith("required by law") and "B. Board " in line
    )
    assert promise["id"] in withdrawn
    assert "+ ε = 1" in granted


@pytest.mark.parametrize(
    ("terms", "sign"),
    [
        (("--posterior", 0.12, "--prior", 0.05), "epsilon"),
        (("--epsilon", 0.5, "--posterior", 0.12, "--prior", 0.05), "epsilon"),
        (("--filter", "zcdp", "--difference", 0.2, "--confidence", 0.99), "rho"),
    ],
)
def test_a_plan_without_a_budget_gets_equal_parts_of_what_is_left(
    discreet: Discreet, terms: tuple[Any, ...], sign: str
) -> None:
    discreet.json("open", "--account", "a", *terms, *APPROVED)
    discreet.json("charge", "--account", "a", f"--{sign}", 0.001, "--purpose", "first")
    before = discreet.json("show", "--account", "a")
    left = min(before["remaining"][sign], *(one["left"] for one in before["promises"]))
    found = discreet.json("plan", "--account", "a", "--releases", 7, "--key", "2026")
    again = discreet.json("plan", "--account", "a", "--releases", 7, "--key", "2026")
    assert again["plan_id"] == found["plan_id"]
    assert again["key"] == found["key"] == "2026"
    assert again["head"] == found["head"]
    entry = found["entries"][-1]
    assert left * (1 - 1e-9) <= entry["cost"][sign] <= left
    assert all(one["kept"] for one in found["promises"])
    code, said = discreet("plan", "--account", "a", "--releases", 10**6)
    assert code == 3, said


def test_what_rounding_left_over_is_shown_as_nothing(discreet: Discreet) -> None:
    """Of a promise it was shown, beside an account with nothing left."""
    opened = discreet.json("open", "--account", "a", "--ratio", 3, *APPROVED)
    each = opened["promises"][0]["left"] / 3 * (1 - 1e-15)
    for _ in range(3):
        found = discreet.json("charge", "--account", "a", "--epsilon", each)
    assert 0 < found["promises"][0]["left"] < 1e-12
    shown = discreet("show", "--account", "a")[1]
    assert "left     ε = 0\n" in shown
    assert "left ε = 0: 0 more like the last release" in shown


@pytest.mark.parametrize(
    ("releases", "delta", "each"), [(12, 1e-3, 0.1323), (1, 1e-3, 1.16315), (100, 1e-4, 0.03626)]
)
def test_equal_parts_are_the_largest_that_fit_as_they_are_charged(
    discreet: Discreet, releases: int, delta: float, each: float
) -> None:
    """They were parts of a plain sum, and two thirds of the cap were charged."""
    cap = ("--epsilon", 1.16315, "--delta", 1e-3)
    discreet.json("open", "--account", "a", "--filter", "basic", *cap, *APPROVED)
    found = discreet.json("plan", "--account", "a", "--releases", releases, "--delta", delta)
    entry = found["entries"][-1]
    assert entry["parts"][0]["epsilon"] == pytest.approx(each, rel=2e-3)
    assert 1.16315 * (1 - 1e-6) <= entry["cost"]["epsilon"] <= 1.16315


def test_a_plan_on_a_basic_account_may_be_composed_at_one_delta(discreet: Discreet) -> None:
    cap = ("--epsilon", 10, "--delta", 1e-4)
    discreet.json("open", "--account", "a", "--filter", "basic", *cap, *APPROVED)
    each = ("--account", "a", "--epsilon", 0.1, "--releases", 100)
    found = discreet.json("plan", *each, "--delta", 1e-6)
    assert found["method"] == "optimal"
    total = found["entries"][-1]["cost"]
    assert total["delta"] == 1e-6
    # The δ of a hundred worst cases of 0.1-DP at that ε, by their binomial law, in fifty digits.
    with mpmath.workdps(50):
        e0, size = mpmath.mpf("0.1"), mpmath.exp(mpmath.mpf(total["epsilon"]))
        losses = [
            mpmath.binomial(100, j)
            * (mpmath.exp((100 - j) * e0) - size * mpmath.exp(j * e0))
            / (1 + mpmath.exp(e0)) ** 100
            for j in range(101)
        ]
        delta = mpmath.fsum(x for x in losses if x > 0)
        assert delta <= mpmath.mpf("1e-6")
        assert delta > mpmath.mpf("0.99e-6")
    assert discreet("plan", *each, "--delta", 1e-6, "--method", "paper")[0] == 2
    assert discreet("plan", *each, "--method", "optimal")[0] == 2
    code, said = discreet("plan", *each, "--delta", 1e-6, "--method", "curve")
    assert code == 2
    assert "--method optimal" in said
    assert discreet("plan", *each, "--delta", 1e-9, "--delta-each", 1e-9)[0] == 2
    # A release of a spec could not take slots that rest on the law of a mechanism.
    assert discreet("plan", *each, "--delta", 1e-6, "--mechanism", "laplace")[0] == 2


@pytest.mark.parametrize(
    ("guarantee", "mechanism", "method"),
    [
        (ZCDP(0.001), "gaussian", "curve"),
        (ZCDP(0.001), "discrete-gaussian", "curve"),
        (ZCDP(0.001), None, "curve"),
        (PureDP(0.01), "laplace", "curve"),
        (PureDP(0.01), "geometric", "optimal"),
        (PureDP(0.01), "gaussian", None),
        (ZCDP(0.01), "laplace", None),
        (PureDP(0.01, adjacency="replace"), None, None),
    ],
)
def test_a_plan_is_composed_by_what_is_known_of_its_releases(
    discreet: Discreet, guarantee: Any, mechanism: str | None, method: str | None
) -> None:
    discreet.json("open", "--account", "a", "--epsilon", 10, "--delta", 1e-4, *APPROVED)
    account = Ledger.open(discreet.url).account("a")
    parts = [Part(Charge(guarantee, mechanism), 12)]
    if method is None:
        with pytest.raises(DiscreetError):
            composed(account, parts, 1e-6, None)
    else:
        _, by, theorem = composed(account, parts, 1e-6, None)
        assert by == method
        assert len(theorem.split()) > 2


def test_a_registered_plan_names_its_theorem(discreet: Discreet) -> None:
    discreet.json("open", "--account", "a", "--epsilon", 10, "--delta", 1e-4, *APPROVED)
    each = ("--releases", 12, "--rho", 0.01, "--delta", 1e-6)
    said = discreet.json("plan", "--account", "a", *each, "--who", "me")
    assert said["method"] == "curve"
    assert said["theorem"].startswith("rho adds; tight conversion (")


def test_verify_of_a_broken_chain_exit_1(clinic: Discreet, hand: Hand) -> None:
    clinic.json("charge", "--account", "clinic", "--epsilon", 0.5)
    head = clinic.json("verify")["head"]
    with hand.past_the_guards():
        hand.execute("UPDATE discreet_entries SET body = replace(body, '0.5', '0.1') WHERE seq = 3")
    found = clinic.json("verify", "--account", "clinic", code=1)
    assert found["verified"] is False
    assert "entry 3: does not match its hash" in found["problems"]
    code, words = clinic("verify", "--head", head)
    assert code == 1
    assert "NOT VERIFIED" in words


def test_verify_with_a_head_that_is_gone_exit_1(
    clinic: Discreet, hand: Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic.json("charge", "--account", "clinic", "--epsilon", 0.5)
    head = clinic.json("verify")["head"]
    with hand.past_the_guards():
        hand.execute("DELETE FROM discreet_entries WHERE seq = 3")
    assert clinic.json("verify", code=4)["verified"] is False  # seen here
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "elsewhere"))
    assert clinic.json("verify")["verified"] is True
    found = clinic.json("verify", "--head", head, code=1)
    assert "not in the chain" in found["problems"][0]
    assert clinic("verify", "--head", "zz")[0] == 2


def test_verify_where_there_is_no_ledger_exit_2(discreet: Discreet, tmp_path: Path) -> None:
    assert discreet("verify")[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_the_readable_form_says_what_json_says(clinic: Discreet) -> None:
    found = clinic.json("charge", "--account", "clinic", "--epsilon", 0.25)
    code, words = clinic("show", "--account", "clinic")
    assert code == 0
    for said in ("ε = 0.25", "ε = 0.75", found["release_id"], found["head"], "verified"):
        assert said in words
    assert "kept elsewhere" in clinic("verify")[1]
    assert "clinic" in clinic("show")[1]


def test_errors_go_to_standard_error_with_their_exit_code(url: str) -> None:
    script = (
        "import discreet.cli as c; c._COMMANDS.setdefault('ledger', 'x'); "
        "c.main(['ledger', 'charge', '--ledger', %r, '--account', 'a', '--epsilon', '1'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script % url], capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "is not open" in done.stderr


def test_a_restored_ledger_is_answered_for_on_the_command_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = Ledger.open(url)
    ledger.open_account(
        "clinic",
        unit="person",
        adjacency="add-remove",
        filter="pure",
        cap=PureDP(1.0),
        approver="a",
        reason="b",
    )
    backup = (tmp_path / "ledger.db").read_bytes()
    ledger.charge("clinic", PureDP(0.5), purpose="table", who="tester")
    (tmp_path / "ledger.db").write_bytes(backup)
    cli = Discreet(url)
    code, words = cli("charge", "--account", "clinic", "--epsilon", 0.1)
    assert (code, "discreet ledger restore" in words) == (4, True)
    assert cli("restore")[0] == 4  # nobody answers for it
    code, words = cli("restore", "--approver", "head", "--reason", "the disk failed")
    assert (code, "1 head" in words) == (0, True)
    (entry,) = [one for one in ledger.entries() if one.kind == "restore"]
    for account in ((), ("--account", "clinic")):
        _, words = cli("show", *account)
        assert "the disk failed" in words
        assert all(head in words for head in entry.said["lost"])
        told = [one for one in cli.json("show", *account)["entries"] if one["kind"] == "restore"]
        assert [one["seq"] for one in told] == [entry.seq]
    assert cli("verify")[0] == 0
    for head, code in ((), 0), (("--head", entry.said["lost"][0]), 1):
        found, words = cli("verify", *head)
        assert (found, "the disk failed" in words, "Charges may be missing" in words) == (
            code,
            True,
            True,
        )
        assert ("is one of the lost ones" in words) == bool(head)
        assert "altered or damaged" not in words
    (told,) = cli.json("verify")["restored"]
    said = {name: entry.said[name] for name in ("seq", "at", "approver", "reason", "lost")}
    assert told == said
    (python,) = ledger.verify().restored
    assert (python.seq, python.approver, list(python.lost)) == (entry.seq, "head", said["lost"])
    _, words = cli("verify", "--head", "0" * 64)  # that one nobody answered for
    assert "altered or damaged" in words
    assert cli("charge", "--account", "clinic", "--epsilon", 0.1)[0] == 0
    plan = ("plan", "--account", "clinic", "--epsilon", 0.1, "--releases", 2, "--key", "2027")
    assert cli(*plan)[0] == cli(*plan)[0] == 0
    assert sum(entry.kind == "plan" for entry in ledger.entries()) == 1


def test_who_charged_and_who_approved_is_in_the_list(clinic: Discreet) -> None:
    clinic.json("charge", "--account", "clinic", "--epsilon", 0.1, "--who", "B. Engineer")
    code, listed = clinic("show", "--account", "clinic")
    assert code == 0
    assert "A. Curator" in listed
    assert "no. in ledger" in listed  # the first of an account is not the first of all
    assert "B. Engineer" in listed
    code, every = clinic("show")
    assert code == 0
    assert "B. Engineer" in every


def test_releases_of_a_plan_that_are_paid_for_are_shown(clinic: Discreet) -> None:
    found = clinic.json("plan", "--account", "clinic", "--releases", 10, "--epsilon", 0.1)
    (plan,) = found["plans"]
    assert (plan["slots"], plan["free"]) == (10, 10)
    book = Ledger.open(clinic.url)
    first = book.next_slot(plan["plan_id"], idempotency_key="2026-11")
    book.commit(first.release_id, output_hash="0" * 64)
    lost = book.next_slot(plan["plan_id"])
    _, shown = clinic("show", "--account", "clinic")
    assert f"plan {plan['plan_id']}: 10 releases paid for, 8 of them free." in shown
    rows = [line.split() for line in shown.splitlines()]
    day = first.entry.at[:10]
    assert ["1", "made", day, "2026-11", first.release_id] in rows
    assert ["2", "taken,", "not", "stored", day, lost.release_id] in rows
    assert ["3–10", "free"] in rows
    (plan,) = clinic.json("show", "--account", "clinic")["plans"]
    assert [(row["slot"], row["key"], row["stored"]) for row in plan["taken"]] == [
        (1, "2026-11", True),
        (2, None, False),
    ]
    code, refused = clinic("charge", "--account", "clinic", "--epsilon", 0.1)
    assert code == 3
    assert f"8 releases of plan {plan['plan_id']} are paid for already" in refused


def test_a_refusal_names_the_promise_that_binds(discreet: Discreet) -> None:
    """Two promises: the one that allows less is named, and what is left is left under it."""
    discreet.json("open", "--account", "a", "--ratio", 6, *APPROVED)  # ε = 0.89
    from discreet.promises import promise_in

    book = Ledger.open(discreet.url)
    tighter = promise_in({"ratio": 3})
    book.reserve("a", PureDP(0.3), purpose="x", who="y", spec_hash="0" * 64, promise=tighter)
    limits = {one.registered.id: one for one in book.promises("a")}
    assert len(limits) == 2
    least = min(limits.values(), key=lambda one: one.registered.limit.lead)
    code, refused = discreet("charge", "--account", "a", "--epsilon", 1.0)
    assert code == 3
    assert least.registered.id in refused
    assert least.registered.limit.limit_text() in refused
    assert f"left under it: ε = {number(least.left, 'down', 6)};" in refused


def test_spent_and_cap_do_not_contradict_each_other(discreet: Discreet) -> None:
    discreet.json("open", "--account", "a", "--ratio", 3, *APPROVED)
    whole = Ledger.open(discreet.url).account("a").remaining
    assert whole is not None
    _, charged = discreet("charge", "--account", "a", "--epsilon", whole.floats("down")["epsilon"])
    _, shown = discreet("show", "--account", "a")
    rows = dict(line.split(maxsplit=1) for line in shown.splitlines()[:6] if line.strip())
    cap = float(rows["cap"].split("=")[1])
    told = [float(x) for x in re.findall(r"ε = ([\d.]+\d)", charged + shown)]
    assert "(person)" not in shown  # “one person” says it
    assert {*told} == {cap}  # the charge, the sum, the promise and the cap are one figure


def test_a_release_whose_delta_does_not_fit_is_led_to_its_rho(discreet: Discreet) -> None:
    """The promise was said to be used up, and to be withdrawn, though ρ was left under it."""
    sure = ("--posterior", 0.12, "--prior", 0.05, "--confidence", 0.99)
    discreet.json("open", "--account", "a", *sure, *APPROVED)
    given = ("--epsilon", 0.2, "--delta", 1e-6, "--mechanism", "gaussian")
    code, said = discreet("charge", "--account", "a", *given)
    assert code == 3
    assert "too little δ" in said
    assert "--rho" in said
    assert "withdrawn" not in said
    discreet.json("charge", "--account", "a", "--rho", 0.01125, "--mechanism", "gaussian")


def test_opening_names_other_accounts_of_the_same_unit(clinic: Discreet) -> None:
    """A second account for the same people is a second promise, and was opened without a word."""
    words = clinic("open", "--account", "next-year", "--ratio", 3, *APPROVED)[1]
    assert "'clinic'. Each keeps its own promises alone" in words
    visits = ("open", "--account", "visits", "--unit", "record", "--ratio", 3, *APPROVED)
    assert "other accounts" not in clinic(*visits)[1]
