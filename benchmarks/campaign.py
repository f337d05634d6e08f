"""The fault campaign: stop a release at every step that it takes, and look at what is left.

    python -m benchmarks.campaign [--every 1] [--only kills …] [--jobs 2] [--keep FILE] [--record]

A plain release, a slot of a plan with a key, a synthetic file, a report, and a release whose output
lies on another file system are run again and again; at each file event k = 1, 2, …, n (a write, a
sync, a rename, …, of SQLite and Arrow as well as of Python: `supervised`) one of these happens:

    kills     the process is killed before event k
    power     the power fails before event k; what was not synced is lost, with the names since
              the last sync, without them, or for some of the files only
    full      the disk is full at event k alone, or from there on; a sync fails
    hosts     another host with the same ledger (and key) runs as a whole before event k
    clocks    the clock jumps, by seconds to decades, forwards and back, between two entries
    server    on PostgreSQL: killed at each event and statement; the connection lost when
              statement k is sent, or when its answer is read
    meetings  on PostgreSQL: another host runs as a whole before each statement and file event

Then it is run again, as an operator would. After the fault and after the second run: the chain
verifies; what was charged is in it; no cap is passed; the tables that can be read anywhere, the
private folder included, are one for each charge at most, and none without a charge; nobody else
can enter where unpublished ones lie; what is shown is recorded, and what was recorded is shown.
"""

from __future__ import annotations

import argparse
import errno
import gc
import json
import multiprocessing
import os
import random
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

# Imported before any fork, so that children start at once.
import opendp.prelude  # noqa: F401
import pyarrow.parquet  # noqa: F401
from sqlalchemy import create_engine

from benchmarks.supervised import (
    KILL,
    Disk,
    Ended,
    Event,
    NotHere,
    Tree,
    lay_out,
    mark,
    supervised,
    tree_of,
)
from benchmarks.tables import QUALITY, today, write_section
from discreet import __version__
from discreet.errors import DiscreetError
from discreet.guarantees import PureDP
from discreet.ledger import Ledger, postgresql, sqlite
from discreet.ledger.plans import LostRelease
from discreet.releases import charge, outputs, release
from discreet.releases.engines.duckdb import DuckDB
from discreet.reports import folder as report_folder
from discreet.reports.verifier import examined
from discreet.synthetic import synthesize

__all__ = ["KINDS", "campaign"]

EPSILON = 0.5
KEY = "2026-01"
# In memory, where a sync takes no time; whether a file would survive is the model's to say.
MEMORY = Path("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108
ACCOUNT = "people"
Work = Callable[[], Any]


class Broken(AssertionError):
    """A promise that did not survive a fault."""


def _needs(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


# -- the places of a release, and the work that is done there


@dataclass
class House:
    """A folder with data, a ledger, outputs and the private folder of one host."""

    base: Path
    out: Path
    url: str = ""
    account: str = ACCOUNT
    plan_id: str = ""
    made: str = ""
    template: Tree = field(default_factory=dict)

    @classmethod
    def built(cls, base: Path, *, elsewhere: Path | None = None, url: str = "") -> House:
        """Write the data; make the folders."""
        house = cls(base, elsewhere or base / "out", url or f"sqlite:///{base / 'ledger' / 'l.db'}")
        for folder in (base / "data", base / "ledger", house.out):
            folder.mkdir(parents=True, exist_ok=True)
        rows = [f"p{i % 40},c{i % 3},{i % 9}" for i in range(120)]
        (base / "data" / "visits.csv").write_text("\n".join(["person,county,cost", *rows]) + "\n")
        people = [f"p{i},c{i % 3}" for i in range(60)]
        (base / "data" / "people.csv").write_text("\n".join(["person,county", *people]) + "\n")
        os.environ["DISCREET_STATE"] = str(base / "state")
        return house

    @property
    def roots(self) -> list[Path]:
        """The folders in which something may change."""
        return [self.base / "ledger", self.base / "state", self.base / "state-2", self.out]

    @property
    def ledger(self) -> Ledger:
        """The ledger, opened anew."""
        return Ledger.open(self.url)

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of the release."""
        keys = {"county": ["c0", "c1", "c2"]}
        return {
            "account": self.account,
            "purpose": "fault campaign",
            "source": str(self.base / "data" / "visits.csv"),
            "protect": {"unit": "person", "column": "person", "rows": 2},
            "budget": {"epsilon": EPSILON},
            "statistics": [{"count": "rows", "by": ["county"], "keys": keys}],
            "ledger": self.url,
            "output": str(self.out),
        }

    @property
    def synthetic(self) -> dict[str, Any]:
        """The spec of the synthetic file."""
        return {
            "account": self.account,
            "purpose": "fault campaign",
            "source": str(self.base / "data" / "people.csv"),
            "protect": {"unit": "person", "column": "person", "rows": 1},
            "budget": {"epsilon": EPSILON},
            "columns": ["county"],
            "keys": {"county": ["c0", "c1", "c2"]},
            "n_synthetic": 20,
            "ledger": self.url,
            "output": str(self.out),
        }

    def opened(self, releases: int, **more: Any) -> None:
        """Open the account with room for so many releases."""
        self.ledger.open_account(
            self.account,
            unit="person",
            adjacency="add-remove",
            filter="pure",
            cap=PureDP(EPSILON * releases),
            approver="campaign",
            reason="faults",
            **more,
        )

    def planned(self, slots: int) -> None:
        """Register a plan of so many slots."""
        whole = PureDP(EPSILON * slots)
        self.plan_id = self.ledger.register_plan(
            self.account, [(PureDP(EPSILON), slots)], whole, purpose="slots", who="campaign"
        )

    def keep(self) -> None:
        """Take what is there as what every fault starts from."""
        self.template = tree_of(self.roots)

    def reset(self, tree: Tree | None = None) -> None:
        """Go back to the start, or to what a tree says."""
        lay_out(self.roots, self.template if tree is None else tree)


def _released(house: House, **more: Any) -> str:
    done = release(house.spec, confirm=True, **more)
    return str(done.to_dict()["release_id"])


def _slotted(house: House) -> str:
    return _released(house, plan_id=house.plan_id, key=KEY)


def _slotted_again(house: House) -> str:
    try:
        return _slotted(house)
    except LostRelease:
        return _released(house, plan_id=house.plan_id, key=KEY, retry=True)


def _synthesized(house: House) -> str:
    return str(synthesize(house.synthetic, confirm=True).release_id)


def _reported(house: House) -> str:
    made = report_folder.report(house.made, ledger=house.url, output=house.out)
    return house.made if made.entry is not None else ""


@dataclass(frozen=True)
class Story:
    """What is run, what is run after the fault, and what was there before."""

    name: str
    run: Callable[[House], str]
    again: Callable[[House], str]
    slots: int = 0
    caps: int = 2
    before: bool = False
    elsewhere: bool = False

    def house(self, base: Path) -> House:
        """Build what the story starts from."""
        other = Path(tempfile.gettempdir()) / base.name / "out"
        house = House.built(base, elsewhere=other if self.elsewhere else None)
        house.opened(max(self.caps, self.slots))
        if self.slots:
            house.planned(self.slots)
        if self.before:
            house.made = _released(house)
        house.keep()
        return house


STORIES = (
    Story("release", _released, _released),
    Story("slot", _slotted, _slotted_again, slots=3),
    Story("synthesis", _synthesized, _synthesized),
    Story("report", _reported, _reported, before=True),
    Story("other file system", _released, _released, elsewhere=True),
)


# -- what must hold


@dataclass
class Seen:
    """Every table that could be read at any time, by release."""

    tables: dict[str, list[bytes]] = field(default_factory=dict)

    def look(self, house: House) -> None:
        """Gather the tables that can be read now, wherever they are; none may be a second draw."""
        for root in (*house.roots[1:3], house.out):
            for path in root.rglob("table.csv"):
                holder = path.parent
                if "report" in holder.parts[len(root.parts) :]:
                    continue
                named = holder.parent if holder.name == "files" else holder
                name = named.name.removeprefix(".").removesuffix(".part")
                self._add(name, path.read_bytes())

    def _add(self, name: str, table: bytes) -> None:
        known = self.tables.setdefault(name, [])
        for place, other in enumerate(known):
            if other.startswith(table) or table.startswith(other):  # cut short: the same draw
                known[place] = max(other, table, key=len)
                return
        known.append(table)

    def check(self, charged: set[str]) -> None:
        """No draw without a charge, and one for each charge."""
        for name, tables in self.tables.items():
            _needs(len(tables) <= 1, f"{len(tables)} draws for one charge")
            _needs(not any(tables) or name in charged, "a draw without a charge")


def _checked(
    house: House, seen: Seen, marks: tuple[str, ...], *, after: bool, whole: bool = True
) -> None:
    """Hold what is there against what is promised; `after` the second run, everything is shown."""
    ledger = house.ledger
    if whole:
        _needs(ledger.verify().verified, "the chain does not verify")
    entries = ledger.entries(house.account)
    charged = {str(e.release_id) for e in entries if e.kind in ("reserve", "slot")}
    stored = {str(e.release_id): e.output_hash for e in entries if e.kind == "commit"}
    _needs(set(marks) <= charged, "a charge was lost")
    account = ledger.account(house.account)
    spent, cap = account.spent.epsilon, account.cap.epsilon if account.cap else None
    reserved = sum(e.kind == "reserve" for e in entries)
    planned = sum(e.kind == "plan" for e in entries)
    paid = reserved * Decimal(str(EPSILON))
    _needs(bool(planned) or spent == paid, "spent is not what was charged")
    _needs(cap is None or spent <= cap, "a cap was passed")
    if cap is not None:
        try:
            ledger.check(house.account, PureDP(float(cap - spent) + EPSILON / 4))
        except DiscreetError:  # the cap, or a clock that was set back
            pass
        else:
            raise Broken("more than the cap would be charged")
    if planned:
        taken = sum(e.kind == "slot" for e in entries)
        _needs(taken <= ledger.plan(house.plan_id).slots, "more slots than planned")
    seen.look(house)
    seen.check(charged)
    for private in house.roots[1:3]:
        if private.exists():
            _needs(not stat.S_IMODE(private.stat().st_mode) & 0o077, "the private folder is open")
    for path in (house.base / "ledger").iterdir():
        _needs(not stat.S_IMODE(path.stat().st_mode) & 0o077, f"{path.name} can be read by others")
    shown = {p.name: p for p in house.out.iterdir() if not p.name.startswith(".")}
    for path in house.out.iterdir():
        name = path.name.removeprefix(".").removesuffix(".part")
        _needs(name in stored, "shown, or on its way there, before it was recorded")
    for name, path in shown.items():
        _needs(outputs.hash_of(path) == stored[name], "shown, and not what was recorded")
    if after:
        _needs(set(stored) <= set(shown), "recorded, and not shown")
        hidden = [p.name for p in house.out.iterdir() if p.name.startswith(".")]
        _needs(not hidden, "something hidden was left in the output folder")
        for work in house.roots[1].glob("work/*/*"):
            left = sorted(path.name for path in work.iterdir()) if work.is_dir() else None
            _needs(left is None, f"work in progress was left: {left}")


def _survived(house: House, story: Story, marks: tuple[str, ...], *, whole: bool = True) -> None:
    """Check what a fault left, run again as an operator would, and check once more."""
    seen = Seen()
    if house.out.exists():
        _checked(house, seen, marks, after=False, whole=whole)
    made = story.again(house)
    _checked(house, seen, marks, after=True, whole=whole)
    _needs(made in {path.name for path in house.out.iterdir()}, "the second run shows nothing")
    if story.before:
        _report_holds(house)


def _report_holds(house: House) -> None:
    folder = house.out / house.made / "report"
    hidden = [path.name for path in folder.rglob(".*")]
    _needs(not hidden, f"half-written files were left in the report: {hidden}")
    answer = examined(folder, None, None).answer()
    _needs(answer["verified"], f"the report does not verify: {answer}")


# -- the faults: each yields what was tried, and whether it held


@dataclass(frozen=True)
class Tried:
    """One fault: its kind, the story and the place; what broke, if something did."""

    kind: str
    story: str
    place: str
    broke: str | None = None


def _attempt(kind: str, story: Story, place: str, check: Callable[[], None]) -> Tried:
    try:
        check()
    except (Broken, DiscreetError, OSError) as broken:
        told = str(broken) if isinstance(broken, Broken) else traceback.format_exc()[-1500:]
        return Tried(kind, story.name, place, told)
    return Tried(kind, story.name, place)


def _named(event: Event, house: House) -> str:
    path = event.path.replace(str(house.base), "").replace(str(house.out), "/out")
    return f"{event.number} {event.call} {path}"


def _events(house: House, story: Story) -> list[Event]:
    """Run it as it is; return its events."""
    house.reset()
    ended = supervised(partial(story.run, house), house.roots)
    if ended.error or ended.killed:
        raise Broken(f"{story.name} does not work without a fault: {ended.said}")
    return list(ended.events)


def kills(story: Story, base: Path, every: int, first: int = 0) -> Iterator[Tried]:
    """Kill it before each event."""
    house = story.house(base)
    events = _events(house, story)
    for number in range(1 + first, len(events) + 1, every):
        house.reset()
        ended = supervised(
            partial(story.run, house),
            house.roots,
            lambda event, k=number: KILL if event.number >= k else None,  # type: ignore[misc]
        )
        if ended.events:
            place = _named(ended.events[-1], house)
            yield _attempt("killed", story, place, partial(_survived, house, story, ended.marks))


def power(story: Story, base: Path, every: int, first: int = 0) -> Iterator[Tried]:
    """Cut the power before each event; states that are the same are tried once."""
    house = story.house(base)
    house.reset()
    disk, choose = Disk(house.roots), random.Random(7)  # noqa: S311  (which files, not noise)
    states: list[tuple[str, Event, Tree]] = []

    def look(event: Event) -> None:
        now = disk.before(event)
        keep = {path: choose.random() < 0.5 for path in now}
        states.append(("names kept", event, disk.names_kept(now)))
        states.append(("all lost", event, disk.all_lost()))
        states.append(("some kept", event, disk.names_kept(now, keep.__getitem__)))

    ended = supervised(partial(story.run, house), house.roots, look)
    _needs(ended.error is None, f"{story.name} does not work without a fault: {ended.said}")
    done: set[int] = set()
    states.sort(key=lambda state: state[0])  # so that every n-th of them is of every kind
    for way, event, tree in states[first::every]:
        same = hash(tuple((path, node.kind, node.mode, node.holds) for path, node in tree.items()))
        if same in done:
            continue
        done.add(same)
        house.reset(tree)
        check = partial(_survived, house, story, ended.marks[: event.marks])
        yield _attempt(f"power cut, {way}", story, _named(event, house), check)


_TAKE_ROOM = ("write", "open", "mkdir", "link")


def _takes_room(event: Event) -> bool:
    """Whether a call would fail on a full disk: it writes, or makes what is not there yet."""
    if event.call not in _TAKE_ROOM:
        return False
    return event.call == "write" or not os.path.lexists(event.path)


def full(story: Story, base: Path, every: int, first: int = 0) -> Iterator[Tried]:
    """Let each write fail, alone or with all that follow; let each sync fail."""
    house = story.house(base)
    events = _events(house, story)

    def fails(event: Event, kind: str, number: int) -> int | None:
        if kind == "sync fails":
            return errno.EIO if event.number == number and event.call == "sync" else None
        late = event.number >= number if kind == "disk full" else event.number == number
        return errno.ENOSPC if late and _takes_room(event) else None

    tries = [
        (kind, event.number)
        for event in events
        for kind in ("disk full", "one write fails", "sync fails")
        if (event.call == "sync" if kind == "sync fails" else event.call in _TAKE_ROOM)
    ]
    for kind, number in tries[first::every]:
        house.reset()
        failed: list[Event] = []
        decide = partial(_noted, fails, kind, number, failed)
        ended = supervised(partial(story.run, house), house.roots, decide)
        if failed:  # what is there already needs no room
            check = partial(_after_failure, house, story, ended)
            yield _attempt(kind, story, _named(failed[0], house), check)


def _noted(
    fails: Callable[[Event, str, int], int | None],
    kind: str,
    number: int,
    failed: list[Event],
    event: Event,
) -> int | None:
    found = fails(event, kind, number)
    if found is not None:
        failed.append(event)
    return found


def _after_failure(house: House, story: Story, ended: Ended) -> None:
    _needs(ended.error is None or ended.ours, f"an error not in our words: {ended.said}")
    _survived(house, story, ended.marks)


def _on_host_two(house: House, work: Callable[[House], str]) -> str:
    os.environ["DISCREET_STATE"] = str(house.base / "state-2")
    return work(house)


def hosts(story: Story, base: Path, every: int, first: int = 0) -> Iterator[Tried]:
    """Let a second host run as a whole at each event of the first, with room for one release."""
    one = replace(story, slots=1 if story.slots else 0, caps=1)
    house = one.house(base)
    yield from _meetings("second host", one, house, house.reset, every, first)


def _meetings(
    kind: str, story: Story, house: House, fresh: Work, every: int, first: int
) -> Iterator[Tried]:
    run, sockets = partial(story.run, house), house.url.startswith("postgresql")
    fresh()
    events = supervised(run, house.roots, sockets=sockets).events
    for number in range(1 + first, len(events) + 1, every):
        fresh()
        second: list[int] = []

        def meet(event: Event, number: int = number, second: list[int] = second) -> None:
            if event.number == number:
                second.append(os.fork())
                if second[0] == 0:
                    with suppress(BaseException):
                        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                        _on_host_two(house, story.run)
                    os._exit(0)
                _wait(second[0], 0.6)

        ended = supervised(run, house.roots, meet, sockets=sockets)
        if second:
            _wait(second[0], 90.0)
            place = _named(ended.events[number - 1], house)
            whole = not sockets or number % 25 == 0
            check = partial(_met, house, ended, whole=whole)
            yield _attempt(kind, story, place, check)


def _wait(child: int, seconds: float) -> None:
    """Wait for a child for so long: it may need a lock that the stopped one holds."""
    until = time.monotonic() + seconds
    with suppress(ChildProcessError):
        while time.monotonic() < until and os.waitpid(child, os.WNOHANG)[0] == 0:
            time.sleep(0.01)


def _met(house: House, ended: Ended, *, whole: bool) -> None:
    """Of two hosts with room for one release, one was charged and shown, and one draw was made."""
    seen = Seen()
    _checked(house, seen, ended.marks, after=True, whole=whole)
    entries = house.ledger.entries(house.account)
    taken = [e for e in entries if e.kind in ("reserve", "slot")]
    _needs(len(taken) == 1, f"{len(taken)} charges where one fits")
    _needs(len(list(house.out.iterdir())) == 1, "not one release is shown")
    _needs(ended.error is None or ended.ours, f"an error not in our words: {ended.said}")


JUMPS = tuple(
    timedelta(seconds=sign * seconds)
    for seconds in (1, 90, 3_600, 86_400, 32 * 86_400, 400 * 86_400, 20 * 365 * 86_400)
    for sign in (1, -1)
)


def clocks(story: Story, base: Path, every: int, first: int = 0) -> Iterator[Tried]:
    """Let the clock jump before each entry, on an account with room for one release a month."""
    monthly = Story(story.name, story.run, story.again, slots=story.slots, caps=4)
    house = House.built(base)
    limit = PureDP(EPSILON * (monthly.slots or 1))
    house.opened(4, period="month", period_cap=limit)
    if monthly.slots:
        house.planned(monthly.slots)
    house.keep()
    tries = [(jump, at) for jump in JUMPS for at in range(3)]
    for jump, at in tries[first::every]:
        house.reset()
        ended = supervised(partial(_jumping, house, monthly, jump, at), [])
        check = partial(_in_each_month, house, monthly, ended)
        yield _attempt("clock jumps", monthly, f"{jump} at entry {at}", check)


def _jumping(house: House, story: Story, jump: timedelta, at: int) -> list[str]:
    """Release twice, with a clock that is off from its n-th reading on."""
    readings = iter(range(1_000))

    def now() -> datetime:
        return datetime.now(UTC) + (jump if next(readings) >= at else timedelta(0))

    opened = Ledger.open

    def late(url: str, **_: Any) -> Ledger:
        return opened(url, clock=now)

    Ledger.open = late  # type: ignore[method-assign,assignment]  # of this child alone
    told = []
    for work in (story.run, story.again):
        try:
            told.append(work(house))
        except DiscreetError as refused:
            told.append(type(refused).__name__)
    return told


def _in_each_month(house: House, story: Story, ended: Ended) -> None:
    _needs(ended.error is None, f"an error not in our words: {ended.said}")
    _checked(house, Seen(), ended.marks, after=not story.slots)
    months: Counter[str] = Counter()
    order = [e.at for e in house.ledger.entries(house.account)]
    for entry in house.ledger.entries(house.account):
        if entry.kind == "reserve":
            months[entry.at[:7]] += 1
    _needs(all(count <= 1 for count in months.values()), "a month's cap was passed")
    _needs(order == sorted(order), "entries are out of order")


# -- on a server


@contextmanager
def _served(story: Story, base: Path) -> Iterator[tuple[House, Work]]:
    """A house whose ledger is on a server, and what gives each fault an account of its own."""
    from servers import PostgreSQL

    usual, tempfile.tempdir = tempfile.tempdir, str(base.parent)  # in memory too
    try:
        postgres = PostgreSQL()
    finally:
        tempfile.tempdir = usual
    try:
        rules = postgres.folder / "data" / "pg_hba.conf"
        rules.write_text(rules.read_text().replace("scram-sha-256", "trust"))  # connects at once
        postgres.start()
        house = House.built(base, url=postgres.url(postgres.database()))
        turns = iter(range(1, 100_000))

        def fresh() -> None:
            house.account = f"people-{next(turns)}"
            house.opened(max(story.caps, story.slots))
            if story.slots:
                house.planned(story.slots)
            lay_out([house.out], {})
            house.out.mkdir()
            if story.before:
                house.made = _released(house)

        yield house, fresh
        _needs(house.ledger.verify().verified, "the chain does not verify")
    finally:
        postgres.remove()


def server(story: Story, base: Path, every: int, first: int = 0) -> Iterator[Tried]:
    """Kill at each event and statement; lose the connection at each statement and answer."""
    with _served(story, base) as (house, fresh):
        run = partial(story.run, house)
        fresh()
        events = supervised(run, house.roots, sockets=True).events
        ways = [("killed, on a server", KILL, ("",))]
        ways += [("connection lost, sending", errno.ECONNRESET, ("send",))]
        ways += [("connection lost, receiving", errno.ECONNRESET, ("receive",))]
        tries = [
            (kind, number, event.number)
            for event in events
            for kind, number, calls in ways
            if event.call.startswith(calls)
        ]
        for kind, error, number in tries[first::every]:
            fresh()

            def decide(event: Event, number: int = number, error: int = error) -> int | None:
                if event.number != number:
                    return None
                if error != KILL and event.call == "receive":
                    time.sleep(0.01)  # the server has answered, and its answer is lost
                return error

            ended = supervised(run, house.roots, decide, sockets=True)
            if len(ended.events) >= number:
                event = ended.events[number - 1]
                whole = number % 25 == 0
                check = partial(_survived, house, story, ended.marks, whole=whole)
                yield _attempt(kind, story, _named(event, house), check)


def meetings(story: Story, base: Path, every: int, first: int = 0) -> Iterator[Tried]:
    """Let a second host run as a whole at each event and statement, on a server."""
    one = replace(story, slots=1 if story.slots else 0, caps=1)
    with _served(one, base) as (house, fresh):
        yield from _meetings("second host, on a server", one, house, fresh, every, first)


# -- all of it


@dataclass(frozen=True)
class Kind:
    """A kind of fault: its name on the page, what tries it, on which stories, in how many parts.

    Power cuts are in one part: states that are the same are tried once.
    """

    title: str
    tried: Callable[..., Iterator[Tried]]
    stories: tuple[str, ...]
    parts: int = 1


TOGETHER = "together"
_ALL = tuple(story.name for story in STORIES)
KINDS = {
    "kills": Kind("killed", kills, _ALL),
    "power": Kind("the power fails: what was not synced is lost, wholly or in part", power, _ALL),
    "full": Kind("the disk is full, a write fails, a sync fails", full, _ALL, 2),
    "clocks": Kind("the clock jumps", clocks, _ALL[:3]),
    "server": Kind(
        "killed, or the connection lost, at a statement on PostgreSQL", server, _ALL[:4], 6
    ),
    "hosts": Kind("a second host at work, with room for one release", hosts, _ALL[:3], 2),
    "meetings": Kind("the same, on PostgreSQL", meetings, _ALL[:2], 4),
}


def _mark_charges() -> None:
    """Have each charge tell the supervisor that it returned: from then on it must be there."""
    reserve, next_slot = Ledger.reserve, Ledger.next_slot

    def reserved(*given: Any, **named: Any) -> Any:
        entry = reserve(*given, **named)
        mark(str(entry.release_id))
        return entry

    def taken(*given: Any, **named: Any) -> Any:
        slot = next_slot(*given, **named)
        mark(slot.release_id)
        return slot

    Ledger.reserve = reserved  # type: ignore[method-assign]
    Ledger.next_slot = taken  # type: ignore[method-assign]
    charge.PATIENCE = 0.0  # nobody else is at work on a key here
    # Charts are drawn by a library whose threads a fork would leave behind.
    report_folder.pictures = lambda _: {}
    # What is in the rows does not matter here: they are counted once, and drawn from each time.
    DuckDB.open = _kept(DuckDB.open, lambda source, *_: source)  # type: ignore[method-assign]
    DuckDB.measure = _kept(DuckDB.measure, lambda _, query: repr(query))  # type: ignore[method-assign]
    DuckDB.close = lambda _: None  # type: ignore[method-assign]
    # A ledger is opened anew each time; SQLAlchemy compiles what it says once.
    for module in (sqlite, postgresql):
        module.create_engine = _kept(  # type: ignore[attr-defined]
            create_engine, lambda url, **_: url.render_as_string(hide_password=False)
        )


def _kept(function: Callable[..., Any], key: Callable[..., str]) -> Callable[..., Any]:
    """Return a function that is called once for each key."""
    found: dict[str, Any] = {}

    def once(*given: Any, **named: Any) -> Any:
        name = key(*given, **named)
        if name not in found:
            found[name] = function(*given, **named)
        return found[name]

    return once


@dataclass(frozen=True)
class Done:
    """A part of the campaign: which, how many faults of each kind were tried, and what broke."""

    kind: str
    story: str
    every: int
    first: int
    tried: dict[str, int] = field(default_factory=dict)
    broke: tuple[Tried, ...] = ()
    left_out: str = ""

    @property
    def job(self) -> tuple[str, str, int, int]:
        """What it is a part of, and which."""
        return self.kind, self.story, self.every, self.first

    @classmethod
    def read(cls, line: str) -> Done:
        """Return it from a line of the file that keeps it."""
        said = json.loads(line)
        return cls(**said | {"broke": tuple(Tried(**one) for one in said["broke"])})


def _one(job: tuple[str, str, int, int]) -> Done:
    """Try the faults of one kind on one story, in a process of its own."""
    kind, name, every, first = job
    story = next(story for story in STORIES if story.name == name)
    if charge.PATIENCE:
        _mark_charges()
    base = Path(tempfile.mkdtemp(prefix="discreet-campaign-", dir=MEMORY))
    gc.freeze()
    try:
        found = list(KINDS[kind].tried(story, base, every, first))
    except Exception as problem:
        if isinstance(problem, NotHere) or type(problem).__name__ == "NoServer":
            return Done(*job, left_out=str(problem))
        found = [Tried(kind, name, "", traceback.format_exc()[-3000:])]
    finally:
        shutil.rmtree(base, ignore_errors=True)
        shutil.rmtree(Path(tempfile.gettempdir()) / base.name, ignore_errors=True)
    broke = tuple(one for one in found if one.broke is not None)
    return Done(*job, dict(Counter(one.kind for one in found)), broke)


def _jobs(kind: str, every: int) -> list[tuple[str, str, int, int]]:
    """Return the parts of a kind: its stories, each in as many parts as it has."""
    parts, stories = KINDS[kind].parts, KINDS[kind].stories
    return [(kind, name, every * parts, n * every) for n in range(parts) for name in stories]


def campaign(
    kinds: Iterable[str],
    every: int = 1,
    jobs: int = 1,
    keep: Path | None = None,
    told: Callable[[str], None] = print,
) -> list[Done]:
    """Try the faults of some kinds, every n-th place of each; return what was found.

    With a file to `keep` it in, a campaign that was stopped goes on where it was.
    """
    found = []
    if keep is not None and keep.exists():
        found = [Done.read(line) for line in keep.read_text().splitlines()]
    before = {one.job for one in found}
    work = [job for kind in kinds for job in _jobs(kind, every)]
    work = [job for job in work if job not in before]
    with ExitStack() as held:
        done: Iterator[Done] = map(_one, work)
        if jobs > 1:
            context = multiprocessing.get_context("spawn")
            pool = held.enter_context(context.Pool(jobs, maxtasksperchild=1))
            done = pool.imap_unordered(_one, work)
        for one in done:
            found.append(one)
            if keep is not None:
                with keep.open("a") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
            count = sum(one.tried.values())
            told(f"{one.kind:10s} {one.story:18s} {count:5d} tried, {len(one.broke)} broke")
    return found


def table(found: list[Done], by: Callable[[Done, str], str]) -> dict[str, dict[str, int]]:
    """Return how many faults of each kind were tried and survived; `by` names the kinds."""
    tried: Counter[str] = Counter()
    broke: Counter[str] = Counter()
    for part in found:
        tried.update({by(part, kind): 0 for kind in part.tried})
        for kind, count in part.tried.items():
            tried[by(part, kind)] += count
        broke.update(by(part, one.kind) for one in part.broke)
    rows = {name: {"tried": n, "survived": n - broke[name]} for name, n in tried.items()}
    total = {key: sum(row[key] for row in rows.values()) for key in ("tried", "survived")}
    return rows | {TOGETHER: total}


def recorded(found: list[Done]) -> str:
    """Return the counts as the page on quality shows them."""
    every = min(one.every // KINDS[one.kind].parts for one in found)
    where = "at every place" if every == 1 else f"at one of {every} places"
    parts = {job for kind in KINDS for job in _jobs(kind, every)}
    done = len(parts & {one.job for one in found})
    if done < len(parts):
        where += f", in {done} of the {len(parts)} parts of the campaign"
    lines = [f"Run on {today()}, version {__version__}, {where}:", ""]
    lines += ["| fault | tried | survived |", "|---|---:|---:|"]
    for by in (lambda part, _: KINDS[part.kind].title, lambda part, _: f"of these: {part.story}"):
        for kind, row in table(found, by).items():
            if kind != TOGETHER or lines[-1].startswith("| of"):
                lines.append(f"| {kind} | {row['tried']:,} | {row['survived']:,} |")
    left = Counter(KINDS[kind].title for kind, *_ in parts - {one.job for one in found})
    if left:
        told = "; ".join(f"{title} ({count})" for title, count in sorted(left.items()))
        lines += ["", f"Parts that were not run: {told}."]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description="Stop releases at every step they take.")
    parser.add_argument("--every", type=int, default=1, help="only every n-th place")
    parser.add_argument("--only", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, help="a file to keep what is done in, and go on from")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--record", action="store_true", help="write the counts to docs/quality.md")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start = time.monotonic()
    quiet: Callable[[str], None] = (lambda _: None) if asked.json else partial(print, flush=True)
    found = campaign(asked.only, asked.every, asked.jobs, asked.keep, quiet)
    for part in found:
        if part.left_out:
            print(f"{part.kind}, {part.story}: not tried: {part.left_out}", file=sys.stderr)
        for one in part.broke:
            print(f"BROKE {one.kind} | {one.story} | {one.place}\n  {one.broke}", file=sys.stderr)
    rows = table(found, lambda _, kind: kind)
    total = rows.pop(TOGETHER)
    if asked.json:
        print(json.dumps({"kinds": rows, "total": total}))
    else:
        for kind, row in (*sorted(rows.items()), (TOGETHER, total)):
            print(f"{kind:28s} {row['tried']:6d} tried {row['survived']:6d} survived")
        print(f"{time.monotonic() - start:.0f} s")
    if asked.record:
        write_section(QUALITY, "faults", recorded(found))
    return 0 if total["tried"] == total["survived"] else 1


if __name__ == "__main__":
    sys.exit(main())
