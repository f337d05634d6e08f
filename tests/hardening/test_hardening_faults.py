"""A full disk, a folder that may not be written, a damaged ledger, a clock set back, signals.

After each of them: no output without a charge, nothing half-written, the chain verifies or says
that it does not, and what is told is one sentence of ours.
"""

from __future__ import annotations

import json
import os
import pty
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from forked import clinic, forked, hidden_left, limited

from discreet.errors import DiscreetError, PolicyError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger
from discreet.releases import release
from discreet.releases.engines import opened
from soaking import soaked

pytestmark = pytest.mark.xdist_group("forks")


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'ledger.db'}"


def _released(spec: dict[str, Any], folder: Path) -> str:
    made = release(spec, folder=folder, confirm=lambda notice: True)
    return str(made.to_dict()["release_id"])


def _sound(folder: Path) -> list[str]:
    """Check the ledger and the outputs against each other; return the releases that are shown."""
    ledger = Ledger.open(_url(folder))
    assert ledger.verify().problems == ()
    charged = {e.release_id for e in ledger.entries("people") if e.kind == "reserve"}
    shown = [path.name for path in (folder / "out").glob("*")] if (folder / "out").exists() else []
    for name in shown:
        if name.startswith("."):
            continue
        assert name in charged
        assert len(list((folder / "out" / name).iterdir())) == 4
    assert not hidden_left(folder)
    return [name for name in shown if not name.startswith(".")]


# -- a disk that fills up


@pytest.mark.parametrize("most", [0, 300, 1_500, 4_000, 40_000, 10_000_000])
def test_a_full_disk_loses_a_release_and_never_a_charge(most: int, tmp_path: Path) -> None:
    spec = clinic(tmp_path)
    ended = forked(limited(lambda: _released(spec, tmp_path), most))
    assert ended.ours, ended.said
    shown = _sound(tmp_path)
    assert (ended.error is None) == bool(shown)
    if ended.error is None:
        assert shown == [ended.result]
    else:
        last = ended.said.strip().splitlines()[-1]
        assert "full" in last or "could not be written" in last
        entries = Ledger.open(_url(tmp_path)).entries("people")
        if any(entry.kind == "reserve" for entry in entries):
            assert "charge stays spent" in last
    # With room again everything goes on.
    _released(spec, tmp_path)
    _sound(tmp_path)


def test_both_ends_of_a_full_disk_are_seen(tmp_path: Path) -> None:
    """The limits above reach the ledger first, then the files."""
    spec = clinic(tmp_path)
    first = forked(limited(lambda: _released(spec, tmp_path), 0))
    assert "ledger.db is full or failing" in first.said
    assert not [e for e in Ledger.open(_url(tmp_path)).entries("people") if e.kind == "reserve"]


def test_no_space_left_on_the_device(tmp_path: Path) -> None:
    """A real file system of 200 kB, in a mount of its own that ends with the process."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("mounting needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "there").mkdir()
    spec = clinic(tmp_path / "there") | {"source": str(tmp_path / "there" / "visits.parquet")}
    (tmp_path / "there" / "spec.yaml").write_text(json.dumps(spec))
    script = (
        f"mount -t tmpfs -o size=200k tmpfs {disk} && cp {tmp_path}/there/* {disk} && "
        f"head -c 1000000 /dev/zero > {disk}/filler; cd {disk}; "
        f"{sys.executable} -m discreet release spec.yaml; code=$?; rm filler; "
        f"ls -A out; {sys.executable} -m discreet ledger verify --ledger sqlite:///ledger.db; "
        "exit $code"
    )
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    if "permission denied" in ran.stderr.lower() or "not permitted" in ran.stderr.lower():
        pytest.skip("mounting is not permitted here")
    assert ran.returncode == 5, ran.stderr
    assert "internal error" not in ran.stderr
    assert "full" in ran.stderr or "could not be written" in ran.stderr


def test_a_report_on_a_full_disk_is_refused(tmp_path: Path) -> None:
    name = _released(clinic(tmp_path), tmp_path)
    most = (2_000, 2_000)
    ran = subprocess.run(
        [sys.executable, "-m", "discreet", "report", name, "--output", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
        # What measures coverage would want to write a file of its own at the end.
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, most),
    )
    assert ran.returncode not in (0, 1), ran.stdout
    assert ran.stderr.startswith("discreet: "), ran.stderr
    assert "internal error" not in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not hidden_left(tmp_path / "out" / name)


# -- folders that may not be written


def _bound(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as someone whom permissions bind; root passes through all of them."""
    without = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root passes through all permissions, and setpriv is not there")
    return subprocess.run(
        [*(without if os.geteuid() == 0 else []), sys.executable, "-m", "discreet", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_ledger_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    spec = clinic(tmp_path)
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    (tmp_path / "ledger.db").chmod(0)
    ran = _bound(tmp_path, "release", "spec.yaml")
    assert ran.returncode == 2, ran.stderr
    assert "cannot be opened" in ran.stderr
    assert not (tmp_path / "out").exists()


def test_an_output_folder_that_may_not_be_written_is_refused_before_the_charge(
    tmp_path: Path,
) -> None:
    spec = clinic(tmp_path)
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    (tmp_path / "out").mkdir(mode=0o555)
    ran = _bound(tmp_path, "release", "spec.yaml")
    assert ran.returncode == 2, ran.stderr
    assert "cannot be written to" in ran.stderr
    entries = Ledger.open(_url(tmp_path)).entries("people")
    assert [entry.kind for entry in entries] == ["open"]


@pytest.mark.parametrize("source", ["visits.parquet", "visits.csv"])
def test_a_source_that_may_not_be_read_is_refused(source: str, tmp_path: Path) -> None:
    spec = clinic(tmp_path)
    (tmp_path / "visits.csv").write_text("person,county,cost\na,c1,1\n")
    (tmp_path / source).chmod(0)
    (tmp_path / "spec.yaml").write_text(json.dumps(spec | {"source": source}))
    ran = _bound(tmp_path, "release", "spec.yaml", "--dry-run")
    assert ran.returncode == 2, ran.stderr
    assert "internal error" not in ran.stderr


# -- what others on the machine may read


def test_spilled_rows_and_the_ledger_are_for_their_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.releases.engines.duckdb import DuckDB

    spec = clinic(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    before = os.umask(0)
    try:
        engine = DuckDB.open("visits.parquet", tmp_path.joinpath)
        (spill,) = (tmp_path / "tmp").iterdir()
        assert spill.stat().st_mode & 0o777 == 0o700
        engine.close()
        assert not list((tmp_path / "tmp").iterdir())
        Ledger.open(f"sqlite:///{tmp_path / 'new.db'}").open_account(
            "people",
            unit="person",
            adjacency="add-remove",
            filter="pure",
            cap=PureDP(1.0),
            approver="a",
            reason="b",
        )
        assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600
        _released(spec, tmp_path)
        assert not list((tmp_path / "tmp").iterdir())
    finally:
        os.umask(before)


SPILLING = """
import duckdb
real = duckdb.connect
duckdb.connect = lambda config: real(config=config | {"memory_limit": "60MB", "threads": "1"})
from pathlib import Path
from discreet.releases.engines import opened
from discreet.releases.contributions import Contribution
from discreet.releases.engines.base import Counting, Query
engine = opened("data.parquet", Path)
engine.measure(Query(("id",), None, Contribution(), (Counting("n"),)))
"""


def test_rows_that_a_killed_run_spilled_are_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    from discreet.releases.engines import spilling

    home = tmp_path / "tmp"
    home.mkdir()
    monkeypatch.setenv("TMPDIR", str(home))
    monkeypatch.setattr("tempfile.tempdir", None)
    with duckdb.connect() as made:
        made.execute(
            f"copy (select i % 900_000 || repeat('x', 40) as id from range(2_000_000) t(i)) "  # noqa: S608
            f"to '{tmp_path}/data.parquet'"
        )
    running = subprocess.Popen([sys.executable, "-c", SPILLING], cwd=tmp_path)
    try:
        until = time.monotonic() + 120
        while not any(f.stat().st_size for f in home.glob("discreet-*/blocks*/*")):
            assert running.poll() is None, "it ended before it spilled"
            assert time.monotonic() < until
            time.sleep(0.01)
        (left,) = home.iterdir()
        others = [home / f"discreet-{sign * 16}" for sign in "abc"]
        others[0].symlink_to(left)
        others[1].mkdir()  # of another program, or of a user of an earlier version
        others[2].mkdir()
        (others[2] / "lock").touch()
        if os.geteuid() == 0:
            os.chown(others[2], 12345, -1)  # of someone else
        else:
            others.pop()
        spilling.remove_abandoned(str(home))
        assert left.exists(), "someone works in it"
    finally:
        running.kill()
        running.wait()
    assert any(left.glob("blocks*/*")), "what was spilled is still there"
    spilling.remove_abandoned.cache_clear()
    spill = spilling.Spill()  # as the next run does
    assert set(home.iterdir()) == {spill.path, *others}
    spill.remove()
    assert set(home.iterdir()) == set(others)


def test_no_room_for_spilled_rows_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.errors import DataError
    from discreet.releases.engines.spilling import Spill

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(DataError, match="No space left on device"):
        Spill()
    assert list(tmp_path.iterdir()) == []


def test_a_private_folder_that_was_open_is_closed(tmp_path: Path, private_state: Path) -> None:
    private_state.mkdir(parents=True, exist_ok=True)
    private_state.chmod(0o755)
    _released(clinic(tmp_path), tmp_path)
    assert private_state.stat().st_mode & 0o777 == 0o700


# -- a damaged ledger


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of a few dozen pages, and a spec that charges it."""
    folder = tmp_path_factory.mktemp("used")
    spec = clinic(folder)
    (folder / "spec.json").write_text(json.dumps(spec))
    ledger = Ledger.open(_url(folder))
    for turn in range(25):
        ledger.reserve("people", PureDP(0.1), purpose=f"{turn}", who="me", spec_hash="0" * 64)
    return folder


def test_every_page_of_a_ledger_damaged_is_seen_or_harmless(used: Path, tmp_path: Path) -> None:
    """Bytes flipped at seeded places of every page.

    Either the ledger says so and nothing is spent on it, or every entry reads as before (the
    damage fell on space that holds nothing) and the chain verifies.
    """
    whole = (used / "ledger.db").read_bytes()
    size = int.from_bytes(whole[16:18], "big")
    entries = [(e.seq, e.hash) for e in Ledger.open(_url(used)).entries()]
    draw = random.Random(20261116)  # noqa: S311
    seen = 0
    for page in range(len(whole) // size):
        for width in (1, 64, size):
            start = page * size + draw.randrange(size - width + 1)
            broken = bytearray(whole)
            for place in range(start, start + width):
                broken[place] ^= draw.randrange(1, 256)
            (tmp_path / "ledger.db").write_bytes(broken)
            ledger = Ledger.open(_url(tmp_path))
            try:
                problems: tuple[str, ...] | str = ledger.verify().problems
            except DiscreetError as error:
                problems = str(error)
            if problems:
                seen += 1
            else:
                assert [(e.seq, e.hash) for e in ledger.entries()] == entries
            before = (tmp_path / "ledger.db").read_bytes()
            try:
                ledger.reserve("people", PureDP(0.1), purpose="x", who="me", spec_hash="0" * 64)
            except DiscreetError:
                after = (tmp_path / "ledger.db").read_bytes()
                assert after == before
    assert seen >= len(whole) // size  # three tries a page, and most of the file holds entries


def test_nothing_is_released_on_a_damaged_ledger(used: Path, tmp_path: Path) -> None:
    spec = json.loads((used / "spec.json").read_text())
    shutil.copy(used / "visits.parquet", tmp_path)
    whole = bytearray((used / "ledger.db").read_bytes())
    for place in range(4096, len(whole), 7):
        whole[place] ^= 0x55
    (tmp_path / "ledger.db").write_bytes(whole)
    with pytest.raises(DiscreetError, match="Restore it"):
        _released(spec, tmp_path)
    assert not list(tmp_path.glob("out/*"))
    assert (tmp_path / "ledger.db").read_bytes() == bytes(whole)


def test_a_ledger_cut_off_in_the_middle_is_refused(used: Path, tmp_path: Path) -> None:
    whole = (used / "ledger.db").read_bytes()
    for share in (0.01, 0.3, 0.9):
        (tmp_path / "ledger.db").write_bytes(whole[: int(len(whole) * share)])
        ledger = Ledger.open(_url(tmp_path))
        try:
            assert ledger.verify().problems
        except DiscreetError as error:
            assert "restore it" in str(error)
        with pytest.raises(DiscreetError):
            ledger.reserve("people", PureDP(0.1), purpose="x", who="me", spec_hash="0" * 64)


def test_a_journal_of_another_ledger_is_not_taken_for_ours(used: Path, tmp_path: Path) -> None:
    """A stray journal beside the ledger: SQLite may refuse it, and no charge is lost by it."""
    shutil.copy(used / "ledger.db", tmp_path)
    (tmp_path / "ledger.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 600)
    ledger = Ledger.open(_url(tmp_path))
    assert len(ledger.entries("people")) == 26
    assert ledger.verify().problems == ()


# -- a clock that goes backwards


def test_a_clock_set_back_refuses_charges_and_is_told(tmp_path: Path) -> None:
    spec = clinic(tmp_path)
    late = Ledger.open(_url(tmp_path), clock=lambda: datetime.now(UTC) + timedelta(days=2))
    late.reserve("people", PureDP(0.1), purpose="later", who="me", spec_hash="0" * 64)
    with pytest.raises(PolicyError, match="clock"):
        _released(spec, tmp_path)
    assert not list(tmp_path.glob("out/*"))
    assert Ledger.open(_url(tmp_path)).verify().problems == ()


# -- signals


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_signal_right_after_the_folder_was_made_leaves_nothing(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least moment in which a folder is there that nobody has been told of."""
    pytest.importorskip(f"discreet.releases.engines.{engine}")
    clinic(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    made: list[Path] = []
    mkdir = Path.mkdir

    def interrupted(path: Path, *given: Any, **named: Any) -> None:
        mkdir(path, *given, **named)
        if path.parent == tmp_path / "tmp":
            made.append(path)
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupted)
    source = "visits.parquet" if engine == "duckdb" else "spark://visits.parquet"
    with pytest.raises(KeyboardInterrupt):
        opened(source, tmp_path.joinpath)
    assert len(made) == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_child_that_hangs_is_tried_once_more_and_ended_in_the_end(tmp_path: Path) -> None:
    """A lock that a thread of the parent held when it forked stays locked in the child."""

    def work(hangs: int) -> str:
        marks = len(list(tmp_path.iterdir()))
        (tmp_path / str(marks)).touch()
        if marks < hangs:
            time.sleep(60)
        return "done"

    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert forked(lambda: work(1), seconds=1).result == "done"
        assert forked(lambda: work(99), seconds=1).code == -signal.SIGALRM
    finally:
        done.set()
        thread.join()


def _main(*arguments: str) -> None:
    from discreet.cli import main

    main(arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    ["SIGINT", "SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.soak)],  # one way for all three
)
def test_signals_at_seeded_moments(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = getattr(signal, kind)
    spec = clinic(tmp_path, rows=200_000)
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    run = ["release", str(tmp_path / "spec.yaml"), "--yes"]
    ended = forked(lambda: _main(*run))
    assert ended.code == 0
    takes = ended.seconds
    draw = random.Random(kind)  # noqa: S311
    stopped = 0
    for _ in range(8 if soaked() else 4):
        ended = forked(lambda: _main(*run), signal_after=(number, draw.uniform(0, takes)))
        # A signal may also come before the command begins, or after it has ended.
        assert ended.code in (0, 128 + number, -number), ended.said
        stopped += ended.code == 128 + number
        _sound(tmp_path)
        assert not list((tmp_path / "tmp").iterdir())
    assert stopped
    # Whatever was cut off after its files were whole is shown by the next run.
    forked(lambda: _main(*run))
    shown = _sound(tmp_path)
    assert not list((tmp_path / "out").glob(".*"))
    ledger = Ledger.open(_url(tmp_path))
    committed = [e.release_id for e in ledger.entries("people") if e.kind == "commit"]
    assert sorted(shown) == sorted(map(str, committed))


def test_a_terminal_is_left_as_it_was(tmp_path: Path) -> None:
    """On a terminal progress is shown; stopped in the middle, its line is ended."""
    spec = clinic(tmp_path, rows=200_000)
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    parent, child = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "discreet", "release", "spec.yaml"],
        cwd=tmp_path,
        stderr=child,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    os.close(child)
    heard = b""
    try:
        while b"aggregating" not in heard:
            heard += os.read(parent, 1024)
        running.send_signal(signal.SIGTERM)
        while True:
            try:
                more = os.read(parent, 1024)
            except OSError:
                break
            if not more:
                break
            heard += more
    finally:
        code = running.wait(120)
        os.close(parent)
    if code == 0:
        pytest.skip("it was done before the signal came")
    assert code == 128 + signal.SIGTERM
    # The line of progress is cleared before the sentence, and no mode is left switched on.
    assert b"\r\x1b[Kdiscreet: stopped by SIGTERM" in heard
    # Nothing follows it: an engine's library tells at length of what is not let go at the end.
    assert heard[heard.index(b"discreet: stopped") :].count(b"\n") == 1, heard
    assert heard.endswith(b"\n")
    assert b"\x1b[?25l" not in heard
