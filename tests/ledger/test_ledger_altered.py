"""Charges on a ledger that someone changed: refused, and at a cost that does not grow."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from discreet import report
from discreet.errors import InputError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger, witness
from discreet.ledger.entries import canonical, digest

SAID: dict[str, Any] = {"purpose": "table", "who": "tester"}


def opened(folder: Path, *names: str) -> Ledger:
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    for name in names or ("clinic",):
        ledger.open_account(
            name,
            unit="person",
            adjacency="add-remove",
            filter="pure",
            cap=PureDP(1.0),
            approver="tester",
            reason="test",
        )
    return ledger


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No witness: what is found then is found in the chain alone."""
    for name in ("seen", "recalled"):
        monkeypatch.setattr(f"discreet.ledger.witness.{name}", lambda _: ())


def unguarded(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "ledger.db")
    for name in ("append", "no_UPDATE", "no_DELETE"):
        connection.execute(f"DROP TRIGGER discreet_entries_{name}")
    return connection


def rewrite(folder: Path, seq: int, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what an entry says, with a hash that fits: the best that an edit of one row can be."""
    with unguarded(folder) as connection:
        query = "SELECT body FROM discreet_entries WHERE seq = ?"
        said = json.loads(connection.execute(query, (seq,)).fetchone()[0])
        change(said)
        body = canonical(said)
        connection.execute(
            "UPDATE discreet_entries SET body = ?, hash = ? WHERE seq = ?",
            (body, digest(body), seq),
        )
    connection.close()


def spend_nothing(said: dict[str, Any]) -> None:
    said["standing"]["spent"] = dict.fromkeys(said["standing"]["spent"], "0")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("seq", [2, 3])
def test_an_entry_that_names_none_before_it_is_refused(tmp_path: Path, seq: int) -> None:
    """The second opens the account, the third is its charge."""
    ledger = opened(tmp_path)
    ledger.charge("clinic", PureDP(0.1), **SAID)
    rewrite(tmp_path, seq, lambda said: said.pop("previous"))
    with pytest.raises(PolicyError, match="does not follow"):
        ledger.charge("clinic", PureDP(0.1), **SAID)


def test_a_ledger_that_is_not_there_is_not_made_by_restoring_it(tmp_path: Path) -> None:
    """The path was mistyped: it was made as an empty file, and called unusable."""
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'leger.db'}")
    with pytest.raises(InputError, match="no ledger"):
        ledger.restore(approver="head of methods", reason="disk failed")
    assert not (tmp_path / "leger.db").exists()


@pytest.mark.usefixtures("alone")
def test_a_last_entry_that_forgets_what_was_spent_is_refused(tmp_path: Path) -> None:
    """Rewritten with spent = 0, it let .9 be charged on top of .8 under a cap of 1."""
    ledger = opened(tmp_path)
    ledger.charge("clinic", PureDP(0.8), **SAID)
    rewrite(tmp_path, len(ledger.entries()), spend_nothing)
    assert ledger.spent("clinic").epsilon == 0
    with pytest.raises(PolicyError, match="does not follow"):
        ledger.charge("clinic", PureDP(0.9), **SAID)
    assert not ledger.verify().verified


@pytest.mark.usefixtures("alone")
def test_a_charge_rewritten_as_a_smaller_one_is_refused_however_many_came_after(
    tmp_path: Path,
) -> None:
    ledger = opened(tmp_path, "clinic", "school")
    ledger.charge("clinic", PureDP(0.8), **SAID)
    for _ in range(40):
        ledger.charge("school", PureDP(0.01), **SAID)

    def smaller(said: dict[str, Any]) -> None:
        said["charge"][0]["epsilon"] = 0.1
        said["cost"] = said["standing"]["spent"] = {"epsilon": "0.1"}

    rewrite(tmp_path, 4, smaller)
    with pytest.raises(PolicyError, match=r"ledger|Entry 4"):
        ledger.charge("clinic", PureDP(0.9), **SAID)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("how", ["edited", "deleted", "swapped", "terms"])
def test_entries_in_the_middle_that_were_changed_are_noticed_at_the_next_charge(
    tmp_path: Path, how: str
) -> None:
    ledger = opened(tmp_path)
    for _ in range(6):
        ledger.charge("clinic", PureDP(0.1), **SAID)
    with unguarded(tmp_path) as connection:
        if how == "deleted":
            connection.execute("DELETE FROM discreet_entries WHERE seq = 5")
        elif how == "swapped":
            for old, new in ((5, 500), (6, 5), (500, 6)):
                connection.execute("UPDATE discreet_entries SET seq = ? WHERE seq = ?", (new, old))
    connection.close()
    if how == "edited":
        shutil.copy(tmp_path / "ledger.db", tmp_path / "copy.db")
        with sqlite3.connect(tmp_path / "ledger.db") as connection:
            connection.execute(
                "UPDATE discreet_entries SET body = replace(body, 'tester', 'nobody') WHERE seq = 5"
            )
        connection.close()
    if how == "terms":
        with sqlite3.connect(tmp_path / "ledger.db") as connection:
            query = "SELECT body FROM discreet_entries WHERE seq = 2"
            said = json.loads(connection.execute(query).fetchone()[0])
            said["terms"]["unit"] = "record"
            body = canonical(said)
            connection.execute(
                "UPDATE discreet_entries SET body = ?, hash = ? WHERE seq = 2", (body, digest(body))
            )
        connection.close()
    with pytest.raises(PolicyError):
        ledger.charge("clinic", PureDP(0.1), **SAID)
    assert not ledger.verify().verified


def test_each_account_is_a_chain_of_its_own(tmp_path: Path) -> None:
    ledger = opened(tmp_path, "clinic", "school")
    for name in ("clinic", "school", "clinic"):
        ledger.charge(name, PureDP(0.1), **SAID)
    for name in ("clinic", "school"):
        before = "0" * 64
        for number, entry in enumerate(ledger.entries(name), start=1):
            assert entry.said["account_seq"] == number
            assert entry.said["account_previous"] == before
            before = entry.hash
    assert ledger.verify().verified

    def skipped(said: dict[str, Any]) -> None:
        said["account_seq"] += 1

    rewrite(tmp_path, len(ledger.entries()), skipped)
    assert any("number in the account" in problem for problem in ledger.verify().problems)


def test_an_end_that_was_cut_off_is_told_beside_a_trigger_that_was_removed(tmp_path: Path) -> None:
    """The trigger alone was named, and whoever put it back heard of the worse fault."""
    ledger = opened(tmp_path)
    for _ in range(2):
        ledger.charge("clinic", PureDP(0.1), **SAID)
    lost = ledger.head
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("DROP TRIGGER discreet_entries_no_DELETE")
        connection.execute("DELETE FROM discreet_entries WHERE seq = 4")
    connection.close()
    found = Ledger.open(ledger.url).verify()
    assert found.lost == (lost,)
    behind, trigger = found.problems
    assert "lacks an entry that was seen" in behind
    assert "trigger" in trigger


def test_a_trigger_that_was_weakened_is_found(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("DROP TRIGGER discreet_entries_no_UPDATE")
        connection.execute(
            "CREATE TRIGGER discreet_entries_no_UPDATE BEFORE UPDATE ON discreet_entries "
            "WHEN 0 BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END"
        )
    connection.close()
    assert any("no_UPDATE was removed or changed" in one for one in ledger.verify().problems)


def test_a_restored_old_ledger_refuses_to_charge(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    ledger.charge("clinic", PureDP(0.1), **SAID)
    shutil.copy(tmp_path / "ledger.db", tmp_path / "backup.db")
    ledger.charge("clinic", PureDP(0.8), **SAID)
    newest = (tmp_path / "ledger.db").read_bytes()
    shutil.copy(tmp_path / "backup.db", tmp_path / "ledger.db")
    with pytest.raises(PolicyError, match="restored from an older copy") as refused:
        ledger.charge("clinic", PureDP(0.8), **SAID)
    assert "discreet ledger restore" in refused.value.on_the_command_line
    assert "--" not in str(refused.value)
    assert ledger.spent("clinic").epsilon == ledger.entries("clinic")[-1].spent.epsilon
    # A newer copy mends it.
    (tmp_path / "ledger.db").write_bytes(newest)
    ledger.charge("clinic", PureDP(0.05), **SAID)
    # Where there is none, someone answers for it, and the lost charge is charged again.
    shutil.copy(tmp_path / "backup.db", tmp_path / "ledger.db")
    with pytest.raises(PolicyError, match="approver"):
        ledger.restore(approver="", reason="")
    (lost,) = ledger.restore(approver="head of methods", reason="disk failed")
    assert lost not in [entry.hash for entry in ledger.entries()]
    ledger.charge("clinic", PureDP(0.8), **SAID)
    assert ledger.verify().verified
    assert ledger.restore(approver="head of methods", reason="again") == []


def test_whoever_only_reads_a_restored_ledger_is_told_so_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verifying, checking a report and a dry run: the answer and the exit code of a charge."""
    from discreet.cli import main

    def run(*words: str) -> Any:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code or 0

    monkeypatch.chdir(tmp_path)
    url, spec = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "spec.yaml"
    ledger = opened(tmp_path)
    (tmp_path / "visits.csv").write_text("person\n1\n2\n")
    spec.write_text(
        "account: clinic\npurpose: count\nsource: visits.csv\nbudget: {epsilon: 0.01}\n"
        "protect: {unit: person, column: person, rows: 1}\nstatistics: [{count: rows}]\n"
        "ledger: sqlite:///ledger.db\noutput: out\n"
    )
    commands = [
        ("ledger", "verify", "--ledger", url),
        ("release", str(spec), "--dry-run"),
        ("release", str(spec), "--yes"),
    ]
    copy = (tmp_path / "ledger.db").read_bytes()
    found = report(account="clinic", ledger=url, output=tmp_path)
    commands.append(("verify", str(found.folder), "--ledger", url))
    assert [run(*one) for one in commands] == [0] * 4
    (tmp_path / "ledger.db").write_bytes(copy)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert [run(*one) for one in commands] == [4] * 4
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before
    assert ledger.verify().lost
    # One who has seen nothing finds nothing, and no folder is made to look.
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "auditor"))
    assert run(*commands[0]) == 0
    assert not (tmp_path / "auditor").exists()
    ledger.restore(approver="head of methods", reason="disk failed")


def test_another_ledger_and_a_shared_witness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second host, with a private folder of its own, sees the heads in the shared folder."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("DISCREET_WITNESS", str(tmp_path / "shared"))
    ledger = opened(one)
    shutil.copy(one / "ledger.db", tmp_path / "backup.db")
    ledger.charge("clinic", PureDP(0.5), **SAID)
    opened(two).charge("clinic", PureDP(0.5), **SAID)  # not behind: its heads are its own
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "other host"))
    shutil.copy(tmp_path / "backup.db", one / "ledger.db")
    with pytest.raises(PolicyError, match="restored from an older copy"):
        ledger.charge("clinic", PureDP(0.5), **SAID)
    monkeypatch.delenv("DISCREET_WITNESS")
    ledger.charge("clinic", PureDP(0.5), **SAID)  # nobody here has seen a later head


def test_a_shared_witness_keeps_every_head_and_readers_look_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may add to it cannot make it forget: not by adding the head of the older copy."""
    shared, path = tmp_path / "shared", tmp_path / "ledger.db"
    shared.mkdir()
    monkeypatch.setenv("DISCREET_WITNESS", str(shared))
    ledger = opened(tmp_path)
    copy, first = path.read_bytes(), ledger.head
    ledger.charge("clinic", PureDP(0.5), **SAID)
    ledger.charge("clinic", PureDP(0.2), **SAID)
    hidden = [entry.hash for entry in ledger.entries()][-2:]
    assert [said["head"] for said in witness.kept(ledger.id)] == [first, *hidden]
    path.write_bytes(copy)
    witness.leave(ledger.id, first, 1)  # as if nothing had come after it
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "regulator"))
    assert set(ledger.verify().lost) == set(hidden)
    assert set(ledger.restore(approver="B", reason="disk failed")) == set(hidden)
    assert ledger.verify().verified


def test_verify_counts_the_heads_that_a_ledger_lacks_with_a_head_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The head that someone kept is often one of those that are missing: both are told."""
    from discreet.cli import main

    shared, path = tmp_path / "shared", tmp_path / "ledger.db"
    shared.mkdir()
    monkeypatch.setenv("DISCREET_WITNESS", str(shared))
    ledger = opened(tmp_path)
    ledger.charge("clinic", PureDP(0.1), **SAID)
    copy, there = path.read_bytes(), len(ledger.entries())
    ledger.charge("clinic", PureDP(0.5), **SAID)
    ledger.charge("clinic", PureDP(0.2), **SAID)
    kept = ledger.head
    path.write_bytes(copy)
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "regulator"))
    told = f"2 of its heads are not in this ledger; the newest that is: entry {there}"
    check = ["ledger", "verify", "--ledger", f"sqlite:///{path}"]
    for more in ([], ["--head", kept]):
        with pytest.raises(SystemExit) as ended:
            main([*check, *more])
        said = "".join(capsys.readouterr())
        assert ended.value.code == 4
        assert told in said
        assert "lacks an entry that was seen before" in said
        with pytest.raises(SystemExit):
            main([*check, *more, "--json"])
        answer = json.loads(capsys.readouterr().out)
        assert (len(answer["lost"]), answer["witness"]) == (2, there)
    ledger.restore(approver="B", reason="disk failed")
    with pytest.raises(SystemExit) as ended:
        main(check)
    assert ended.value.code in (0, None)
    assert "not in this ledger" not in "".join(capsys.readouterr())


def test_a_witness_file_of_another_user_is_replaced_with_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("DISCREET_WITNESS", str(shared))
    ledger = opened(tmp_path)
    monkeypatch.setattr(witness, "_add", lambda *_: False)
    ledger.charge("clinic", PureDP(0.1), **SAID)
    assert [said["head"] for said in witness.kept(ledger.id)][-1] == ledger.head
    assert len(witness.kept(ledger.id)) == 2


def test_a_head_that_the_witness_does_not_get_is_told_and_the_charge_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("DISCREET_WITNESS", str(shared))
    ledger = opened(tmp_path)
    for file in shared.iterdir():
        file.unlink()
        file.mkdir()
    ledger.charge("clinic", PureDP(0.1), **SAID)
    assert float(ledger.spent("clinic").epsilon) == 0.1
    assert f"was not left with the witness {shared}" in caplog.text


def test_a_missing_witness_is_refused_and_an_empty_one_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mount that is down, a name mistyped: nothing is charged, verified or made there."""
    from discreet.cli import main

    def run(*words: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return ended.value.code or 0, "".join(capsys.readouterr())

    shared, url = tmp_path / "shared", f"sqlite:///{tmp_path / 'ledger.db'}"
    check = ("ledger", "verify", "--ledger", url)
    monkeypatch.setenv("DISCREET_WITNESS", str(shared))
    with pytest.raises(InputError, match="There is no witness"):
        opened(tmp_path)
    monkeypatch.delenv("DISCREET_WITNESS")
    ledger = opened(tmp_path)
    found = report(account="clinic", ledger=url, output=tmp_path)
    monkeypatch.setenv("DISCREET_WITNESS", str(shared))
    before = ledger.head
    with pytest.raises(InputError, match="There is no witness"):
        ledger.charge("clinic", PureDP(0.1), **SAID)
    assert ledger.head == before
    for asked in (check, ("verify", str(found.folder)), ("verify", str(found.folder), *check[2:])):
        code, said = run(*asked)
        assert code == 2
        assert "correct DISCREET_WITNESS" in said
    assert not shared.exists()
    shared.mkdir()
    code, said = run(*check)
    assert code == 0
    assert f"? witness {shared}: it has no head of this ledger" in said
    ledger.charge("clinic", PureDP(0.1), **SAID)
    assert f"witness {shared}: the head of entry 4 is in this ledger" in run(*check)[1]
    assert json.loads(run(*check, "--json")[1])["witness"] == 4


def test_a_witness_file_stays_short_and_ends_with_the_newest_head(
    tmp_path: Path, private_state: Path
) -> None:
    ledger = opened(tmp_path)
    (left,) = (private_state / "heads").glob("*.json")
    begun = 0
    for _ in range(40):
        before = left.stat().st_size
        ledger.charge("clinic", PureDP(0.001), **SAID)
        assert left.stat().st_size < 4096
        begun += left.stat().st_size < before
        assert witness.seen(ledger.id) == (ledger.head,)
    assert begun == 1


def test_a_witness_file_that_cannot_be_read_is_no_witness(
    tmp_path: Path, private_state: Path
) -> None:
    ledger = opened(tmp_path)
    (left,) = (private_state / "heads").glob("*.json")
    for text in ("", "[", "[]", '{"head": 3}', '{"ledger_id": 1}'):
        left.write_text(text)
        if text == '{"head": 3}':
            with pytest.raises(PolicyError, match="older copy"):
                ledger.charge("clinic", PureDP(0.01), **SAID)
        else:
            ledger.charge("clinic", PureDP(0.01), **SAID)


def test_whoever_may_write_where_heads_are_kept_stops_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON without an end, a pipe that nobody fills, a link to a file of the curator's."""
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("DISCREET_WITNESS", str(shared))
    ledger = opened(tmp_path)
    (left,) = shared.glob("*.json")
    left.write_text("[" * 200_000)
    ledger.charge("clinic", PureDP(0.01), **SAID)
    left.unlink()
    os.mkfifo(left)
    ledger.charge("clinic", PureDP(0.01), **SAID)
    assert json.loads(left.read_text())["head"] == ledger.head
    kept = tmp_path / "kept"
    kept.write_text("kept")
    (shared / f".{ledger.id}.{os.getpid()}").symlink_to(kept)
    ledger.charge("clinic", PureDP(0.01), **SAID)
    left.unlink()
    left.symlink_to(kept)
    ledger.charge("clinic", PureDP(0.01), **SAID)
    assert kept.read_text() == "kept"
    (tmp_path / "out" / "x").mkdir(parents=True)
    (tmp_path / "out" / "x" / "release.json").write_text("[" * 200_000)
    assert witness.heads_in_releases(tmp_path / "out", str(ledger.id)) == ()


@pytest.mark.parametrize("name", ["сlinic", "ｃlinic", "CLINIC", "cl inic", "сlіnіс", "clιnic"])
def test_a_name_that_is_read_as_another_opens_no_second_account(tmp_path: Path, name: str) -> None:
    with pytest.raises(PolicyError, match="easily confused with 'clinic'"):
        opened(tmp_path, "clinic", name)
    opened(tmp_path, "клиника", "école", "ecole")


@pytest.mark.parametrize("name", ["orders-eu", "orders eu", "Orders.EU", "orders\N{EN DASH}eu"])
def test_another_sign_between_words_makes_no_other_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(PolicyError, match="easily confused with 'orders_eu'"):
        opened(tmp_path, "orders_eu", name)
    opened(tmp_path, "panel-1-1", "panel-11")


def test_a_plan_with_a_key_is_charged_once(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    plan: dict[str, Any] = {"parts": [(PureDP(0.1), 3)], "total": PureDP(0.3)}
    first = ledger.register_plan("clinic", **plan, idempotency_key="2027", **SAID)
    assert ledger.register_plan("clinic", **plan, idempotency_key="2027", **SAID) == first
    assert len(ledger.entries("clinic")) == 2
    with pytest.raises(PolicyError, match="used for another plan"):
        ledger.register_plan(
            "clinic", [(PureDP(0.1), 2)], PureDP(0.2), idempotency_key="2027", **SAID
        )
    assert ledger.register_plan("clinic", **plan, **SAID) != first
    assert ledger.verify().verified


def test_a_journal_mode_that_another_tool_left_on_is_set_back(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    connection = sqlite3.connect(tmp_path / "ledger.db")
    assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    connection.close()
    ledger.charge("clinic", PureDP(0.1), **SAID)
    connection = sqlite3.connect(tmp_path / "ledger.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_charge_costs_the_same_however_long_the_chain_is(tmp_path: Path) -> None:
    def filled(name: str, more: int) -> Ledger:
        folder = tmp_path / name
        folder.mkdir()
        ledger = opened(folder, "clinic", "school")
        ledger.charge("school", PureDP(0.001), **SAID)
        entry = ledger.entries("school")[-1]
        said, rows = dict(entry.said), []
        previous = entry.hash
        for number in range(more):  # a careless copy of one charge, hashed and linked
            seq = entry.seq + 1 + number
            said |= {"seq": seq, "previous": previous, "release_id": f"r{number}"}
            body = canonical(said)
            previous = digest(body)
            rows.append((seq, "charge", "school", f"r{number}", body, previous))
        with unguarded(folder) as connection:
            connection.executemany(
                "INSERT INTO discreet_entries (seq, kind, account, release_id, body, hash) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                rows,
            )
        connection.close()
        for _ in range(20):
            ledger.charge("clinic", PureDP(0.001), **SAID)
        return ledger

    ledgers = {"short": filled("short", 0), "long": filled("long", 20_000)}
    taken: dict[str, list[float]] = {name: [] for name in ledgers}
    for _ in range(15):
        for name, ledger in ledgers.items():
            begun = time.process_time()
            ledger.charge("clinic", PureDP(0.001), **SAID)
            taken[name].append(time.process_time() - begun)
    assert median(taken["long"]) < 2 * median(taken["short"])
