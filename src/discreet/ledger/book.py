"""The ledger: accounts, charges, plans and outputs, one entry after another.

    reserve ──> draw ──> commit

`reserve` adds the charge to the account and writes it down before it returns; only then may noise
be drawn. `commit` records the hash of the stored output. A crash in between loses the release and
keeps the charge. Here words are checked and transactions are begun; everything that is decided
(what was spent, whether a cap or a promise would be passed) is decided inside the one writing
transaction (`chain`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from discreet.errors import DiscreetError, InputError, InternalError, PolicyError
from discreet.guarantees import Adjacency, Guarantee
from discreet.ledger import witness
from discreet.ledger.accounts import Account, spent_together
from discreet.ledger.amounts import Amount, Chargeable, Filter, charges
from discreet.ledger.chain import (
    Chain,
    Clock,
    Foreseen,
    Wanted,
    Which,
    refuse_unknown_account,
)
from discreet.ledger.entries import BEFORE_THE_FIRST, Entry, checked_id, new_id
from discreet.ledger.plans import Plan, PlanPart, Slot, check_total, parts_of
from discreet.ledger.promises import (
    MadePromise,
    Standing,
    Upgraded,
    bound,
    derived_cap,
    made_promises,
    stored_below,
)
from discreet.ledger.store import FORMAT, Rows, Store
from discreet.ledger.verification import RECENT, Sheet, Verification, verified, verify
from discreet.promises import Promise, delta_in, promised
from discreet.promises.promise import PromiseLike
from discreet.reading import like, line
from discreet.words import say

_T = TypeVar("_T")


def _now() -> datetime:
    return datetime.now(UTC)


def _approved(approver: str | None, reason: str | None, what: str) -> dict[str, str]:
    if not (approver and approver.strip() and reason and reason.strip()):
        raise PolicyError("ledger.not_approved", what=what)
    return {"approver": line("approver", approver), "reason": line("reason", reason)}


def _listed(given: PromiseLike | Sequence[PromiseLike] | None) -> Sequence[PromiseLike]:
    """Return promises as a list, however many were given."""
    if given is None:
        return ()
    return given if isinstance(given, (list, tuple)) else [given]


def _promised(
    given: PromiseLike | Sequence[PromiseLike] | None, adjacency: str
) -> tuple[Promise, ...]:
    found, wanted = [], Adjacency.of(adjacency)
    for one in _listed(given):
        if isinstance(one, Mapping):
            one = {"adjacency": wanted.value, **one}
        stated = promised(one).adjacency
        if stated not in (wanted, Adjacency.ADD_REMOVE):  # the latter is what nothing said means
            raise PolicyError("ledger.promise_adjacency", stated=stated.value, wanted=wanted.value)
        found.append(promised(one, adjacency=wanted))
    return tuple(found)


def _lines(**given: str | None) -> dict[str, str]:
    """Return what was given, each as one line."""
    return {name: line(name, said, 200) for name, said in given.items() if said is not None}


def _name(account: str | Account) -> str:
    return account.name if isinstance(account, Account) else account


_LATEST = 20
"""How many entries of an account are looked at for what it was charged for."""


def _sources(chain: Chain, account: str) -> set[Any]:
    """Return the sources and units that the latest entries of an account charged for, hashed."""
    found = {entry.said.get("source_hash") for entry in chain.rows.newest(_LATEST, account)}
    return found - {None}


def _charged_for(chain: Chain, sources: set[Any], beside: str) -> list[str]:
    others = [name for name in chain.rows.accounts() if name != beside] if sources else []
    return [name for name in others if not sources.isdisjoint(_sources(chain, name))]


class Ledger:
    """An append-only, hash-chained ledger of privacy budget."""

    def __init__(self, store: Store, clock: Clock = _now) -> None:
        if not isinstance(store, Store):
            raise InputError("ledger.open_it", kind=type(store).__name__)
        self._store = store
        self._clock = clock
        # The last release charged here, and its account: what to look up, never what to trust.
        self._last: tuple[str | None, str | None] = (None, None)

    @classmethod
    def open(cls, url: str, *, clock: Clock = _now) -> Ledger:
        """Return the ledger at a URL such as `sqlite:///ledger.db`; opening an account makes it."""
        return cls(Store(url), clock)

    @property
    def url(self) -> str:
        """Where it is, without any password."""
        return self._store.url

    def __repr__(self) -> str:
        return f"Ledger({self.url!r})"

    def _write(
        self,
        what: Callable[[Chain], _T],
        otherwise: Callable[[], NoReturn],
        output: str | Path | None = None,
        *,
        account: str | None = None,
        release_id: str | None = None,
    ) -> _T:
        """Run a function in the writing transaction; without a ledger, refuse by `otherwise`.

        Only opening an account makes a ledger, so that a mistyped path is not spent on. A ledger
        that lacks a head which was seen before is not written on, nor one that lacks a head in the
        stored releases of `output`. What will be asked about the account and the release that are
        named is looked up at once.
        """
        if not self._store.exists():
            otherwise()
        heads = self._shown(output)

        def transaction(chain: Chain) -> _T:
            if account is not None or release_id is not None:
                chain.rows.foresee(RECENT, account, release_id)
            if not chain.rows.writable():
                otherwise()
            first = chain.rows.first()
            known = () if first is None else (*witness.seen(first.hash), *heads)
            lost = chain.lost(known)
            if lost:
                raise PolicyError("ledger.behind", url=self.url, head=lost[0])
            return what(chain)

        return self._written(transaction)

    def _written(self, what: Callable[[Chain], _T]) -> _T:
        """Run a function in the writing transaction, and leave the new head with the witnesses."""

        def transaction(rows: Rows) -> tuple[_T, Entry | None, Entry | None]:
            return what(Chain(rows, self._clock)), rows.first(), rows.find()

        witness.shared_folder()  # refused before anything is written
        result, first, last = self._store.write(transaction)
        if first is not None and last is not None:
            witness.leave(first.hash, last.hash, last.seq)
        return result

    def _read(self, what: Callable[[Chain], _T], otherwise: Callable[[], _T]) -> _T:
        """Run a function on the chain as it is; without a ledger, the answer is `otherwise`."""

        def transaction(rows: Rows) -> _T:
            there = rows.version() is not None
            return what(Chain(rows, self._clock)) if there else otherwise()

        return self._store.read(transaction) if self._store.exists() else otherwise()

    def _no_account(self, name: str) -> Callable[[], NoReturn]:
        return partial(refuse_unknown_account, self.url, name)

    def _nothing_there(self, kind: type[DiscreetError] = InputError) -> NoReturn:
        raise kind("ledger.nothing_there", url=self.url)

    # -- accounts

    def open_account(
        self,
        name: str,
        *,
        unit: str = "person",
        adjacency: str = "add-remove",
        filter: str | None = None,  # noqa: A002  (the users' word)
        cap: Guarantee | Amount | None = None,
        approver: str,
        reason: str,
        period: str | None = None,
        period_cap: Guarantee | Amount | None = None,
        unit_name: str | None = None,
        promise: PromiseLike | Sequence[PromiseLike] | None = None,
        delta: float | None = None,
    ) -> Account:
        """Open an account: its unit, adjacency and filter are fixed for good.

        `promise` is what is promised of everything charged to it: the cap follows from it (with a
        `cap` given too, the smaller counts), at the `delta` that the account may spend in all, or
        else at the δ that its keys name, or that `choose` gave back.
        `cap` is a limit in the filter's coordinates (`Amount.of(rho=…, delta=…)` where no guarantee
        has them both). With neither, spending is counted and not limited. Without a `filter` it is
        the narrowest that takes the cap and the `delta`.
        """
        approved = _approved(approver, reason, say("ledger.to_open"))
        if line("account", name, 100) != name.strip():
            raise InputError("ledger.account_name_spaces", name=name)
        promises = _promised(promise, adjacency)
        if delta is None:
            delta = max(map(delta_in, _listed(promise)), default=0.0) or None
        if filter is None and cap is None and not promises:
            raise InputError("ledger.no_filter")
        account = Account.opened(
            name,
            unit=unit,
            unit_name=unit_name,
            adjacency=adjacency,
            filter=filter or Filter.needed(cap, delta, promises),
            cap=cap,
            period=period,
            period_cap=period_cap,
        )
        if promises:
            account = replace(account, cap=derived_cap(account, promises, delta))
        elif delta is not None:
            raise InputError("ledger.delta_without_promise")

        self._store.create()
        return self._written(lambda chain: chain.open(account, promises, approved))

    def found(self, name: str) -> Account | None:
        """Return an account as it stands; None if it is not open."""
        return self._read(lambda chain: chain.account(name), lambda: None)

    def account(self, name: str, **terms: Any) -> Account:
        """Return an account as it stands; if it is not open, say the command that opens it.

        The keywords only complete that command: terms as `open_account` has them.
        """
        found = self.found(name)
        if found is None:
            known = self._read(lambda chain: [*chain.rows.accounts()], lambda: None)
            refuse_unknown_account(self.url, name, known, **terms)
        return found

    def accounts(self) -> list[Account]:
        """Return every account, in the order in which they were opened."""

        def read(chain: Chain) -> list[Account]:
            return [chain.needed(str(entry.account)) for entry in chain.rows.all(kind="open")]

        return self._read(read, list)

    def grant(
        self,
        account: str | Account,
        *,
        add: Guarantee | Amount,
        approver: str,
        reason: str,
        which: Which = "lifetime",
    ) -> Account:
        """Raise a cap; the approver and the reason stand in the chain.

        A grant is also what goes on after a clock was wrong: it is written at the time that the
        clock shows now, even if earlier entries carry a later one.
        """
        approved = _approved(approver, reason, say("ledger.to_raise"))
        if which not in ("lifetime", "period"):
            raise InputError("ledger.which_cap", which=which)

        def write(chain: Chain) -> Account:
            amount = chain.needed(name).filter.limit(add, lead=False)
            return chain.grant(name, amount, which, approved)

        name = _name(account)
        return self._write(write, self._no_account(name))

    def withdraw(
        self, account: str | Account, promise_id: str, *, approver: str, reason: str
    ) -> Account:
        """End a promise; every later report of what was released under it says so."""
        approved = _approved(approver, reason, say("ledger.to_withdraw"))
        name = _name(account)
        return self._write(
            lambda chain: chain.withdraw(name, promise_id, approved), self._no_account(name)
        )

    def made_promises(self, account: str | Account) -> tuple[MadePromise, ...]:
        """Return every promise that the account ever made, with what became of it."""
        return made_promises(self.show(account).entries)

    def promises(self, account: str | Account) -> tuple[Standing, ...]:
        """Return where an account stands under each of its promises."""
        return self.show(account).promises

    # -- one release: reserve, draw, commit

    def reserve(
        self,
        account: str | Account,
        charge: Chargeable,
        *,
        purpose: str,
        who: str,
        spec_hash: str,
        release_id: str | None = None,
        promise: Promise | None = None,
        plan_id: str | None = None,
        unit: str | None = None,
        guaranteed: bool = True,
        output: str | Path | None = None,
        source_hash: str | None = None,
        releases: int | None = None,
        idempotency_key: str | None = None,
        retry: bool = False,
    ) -> Entry:
        """Charge a release before anything is drawn; durable when this returns.

        `promise` comes with the release and binds the account from then on. With a `plan_id` the
        release takes the plan's next slot, which must cover the charge, and costs nothing more.
        `guaranteed=False` marks a charge for something that carries no guarantee of its own, such
        as a file chosen among candidates. `releases` says of how many it is one. Heads in the
        stored releases of `output` must be in the chain. The same idempotency key finds the charge
        of its stored release again, and charges nothing; `retry` charges a key again whose release
        was lost.
        """
        asked = charges(charge)
        how = (plan_id, idempotency_key, retry, spec_hash)
        wanted = Wanted(_name(account), asked, unit, promise, *how)
        said = self._said(purpose, who, release_id, spec_hash, source_hash)
        if plan_id is not None:
            return self._taken(wanted, said, output).entry
        if not guaranteed:
            said["guaranteed"] = False
        if releases is not None:
            said["releases"] = releases
        said |= _lines(idempotency_key=idempotency_key)
        return self._charged("reserve", wanted, said, output)

    def charge(
        self,
        account: str | Account,
        charge: Chargeable,
        *,
        purpose: str,
        who: str,
        release_id: str | None = None,
        output_hash: str | None = None,
        promise: Promise | None = None,
        unit: str | None = None,
    ) -> Entry:
        """Charge a release that was made elsewhere, in one step.

        Its identifier is charged once. With the same charge and output hash too, the entry of the
        first time is returned and nothing is charged; anything else is refused.
        """
        said = self._said(purpose, who, release_id, None) | _lines(output_hash=output_hash)
        return self._charged("charge", Wanted(_name(account), charges(charge), unit, promise), said)

    @staticmethod
    def _said(
        purpose: str,
        who: str,
        release_id: str | None,
        spec_hash: str | None,
        source_hash: str | None = None,
    ) -> dict[str, Any]:
        return {
            "release_id": new_id() if release_id is None else checked_id(release_id),
            "purpose": line("purpose", purpose),
            "who": line("who", who, 200),
            **_lines(spec_hash=spec_hash, source_hash=source_hash),
        }

    def _charged(
        self,
        kind: str,
        wanted: Wanted,
        said: dict[str, Any],
        output: str | Path | None = None,
    ) -> Entry:
        said["charge"] = [part.to_dict() for part in wanted.charge]
        self._last = (str(said["release_id"]), wanted.account)
        return self._write(
            lambda chain: chain.charge(kind, wanted, said),
            self._no_account(wanted.account),
            output,
            account=wanted.account,
            release_id=str(said["release_id"]),
        )

    def commit(self, release_id: str, output_hash: str) -> Entry:
        """Record the hash of a stored output; a second time with the same hash changes nothing.

        Store the output where nobody reads it, commit, and only then publish it: of two draws of
        one slot at the same time, the second is refused here and must be discarded.
        """
        line("output_hash", output_hash, 200)

        return self._write(
            lambda chain: chain.commit(release_id, output_hash),
            partial(self._nothing_there, PolicyError),
            account=self._last[1] if self._last[0] == release_id else None,
            release_id=release_id,
        )

    def record_report(self, account: str | Account, release_id: str | None, manifest: str) -> Entry:
        """Record the hash of a report's manifest; the same hash a second time changes nothing.

        Without a release it is the report of the account.
        """
        reported = None if release_id is None else checked_id(release_id)
        said = {"reported": reported, "manifest": line("manifest", manifest, 64)}

        def write(chain: Chain) -> Entry:
            for entry in chain.rows.all(account=name, kind="report"):
                if entry.said["manifest"] == manifest:
                    return entry
            return chain.append("report", chain.needed(name), said)

        name = _name(account)
        return self._write(write, self._no_account(name))

    # -- plans

    def register_plan(
        self,
        account: str | Account,
        parts: Iterable[PlanPart],
        total: Chargeable,
        *,
        purpose: str,
        who: str,
        method: str = "basic",
        spec_hash: str | None = None,
        promise: Promise | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Write down a whole series and charge its total at once; return the plan's id.

        `total` is the guarantee of all parts together, by the accounting that `method` names. The
        same idempotency key finds the same plan again, and charges nothing.
        """
        fixed, whole, plan_id = parts_of(parts), charges(total), new_id()
        said: dict[str, Any] = {
            "plan_id": plan_id,
            "parts": [part.to_dict() for part in fixed],
            "charge": [part.to_dict() for part in whole],
            "method": line("method", method, 100),
            "purpose": line("purpose", purpose),
            "who": line("who", who, 200),
        }
        said |= _lines(spec_hash=spec_hash, idempotency_key=idempotency_key)

        def write(chain: Chain) -> str:
            before = chain.needed(_name(account))
            known = chain.registered_before(before.name, said)
            if known is not None:
                return known
            check_total(before, fixed, before.cost(whole))
            return str(chain.spend("plan", before, whole, promise, said).plan_id)

        return self._write(write, self._no_account(_name(account)))

    def plan(self, plan_id: str) -> Plan:
        """Return a registered plan, with what of it was taken and stored."""
        no_ledger = partial(self._nothing_there, PolicyError)
        return self._read(lambda chain: chain.plan(plan_id), no_ledger)

    def only_plan(self, account: str | Account, key: str | None = None) -> str:
        """Return the plan that has the key, or else the account's only one with a free slot."""
        name = _name(account)
        return self._read(lambda chain: chain.only_plan(name, key), self._no_account(name))

    def next_slot(
        self,
        plan_id: str,
        idempotency_key: str | None = None,
        *,
        purpose: str = "registered plan",
        who: str = "plan",
        spec_hash: str | None = None,
        account: str | Account | None = None,
        charge: Chargeable | None = None,
        unit: str | None = None,
        promise: Promise | None = None,
        retry: bool = False,
        release_id: str | None = None,
        output: str | Path | None = None,
        source_hash: str | None = None,
    ) -> Slot:
        """Take the next release of a plan, at no further cost; durable when this returns.

        A slot that was taken is spent. The same idempotency key finds its stored release again:
        then there is nothing to draw. A key whose release was not stored is refused
        (`LostRelease`): it is being made, or it was lost, and `retry` takes another slot for it.
        With an `account` and a `charge`, the slot must be that account's and cover that charge.
        """
        whose = "" if account is None else _name(account)
        asked = charges(charge) if whose and charge is not None else ()
        wanted = Wanted(whose, asked, unit, promise, plan_id, idempotency_key, retry)
        said = self._said(purpose, who, release_id, spec_hash, source_hash)
        return self._taken(wanted, said, output)

    def _taken(
        self, wanted: Wanted, said: dict[str, Any], output: str | Path | None = None
    ) -> Slot:
        plan_id = str(wanted.plan_id)
        said |= {"plan_id": plan_id} | _lines(idempotency_key=wanted.key)
        return self._write(
            lambda chain: chain.take(wanted, said),
            partial(self._nothing_there, PolicyError),
            output,
            account=wanted.account or None,
        )

    def check(
        self,
        account: str | Account,
        charge: Chargeable,
        *,
        promise: Promise | None = None,
        plan_id: str | None = None,
        idempotency_key: str | None = None,
        retry: bool = False,
        unit: str | None = None,
        spec_hash: str | None = None,
        output: str | Path | None = None,
    ) -> Foreseen:
        """Refuse what `reserve` or `next_slot` would refuse now, and write nothing.

        Returns the account as the release would leave it, and where it would stand under each
        promise.
        """
        name = _name(account)
        how = (plan_id, idempotency_key, retry, spec_hash)
        wanted = Wanted(name, charges(charge), unit, promise, *how)
        self.refuse_behind(output)
        return self._read(lambda chain: chain.foreseen(wanted), self._no_account(name))

    def made(
        self, account: str | Account, key: str | None, plan_id: str | None, spec_hash: str
    ) -> Entry | None:
        """Return the charge, or the slot, of the key's stored release; None if there is none."""
        wanted = Wanted(_name(account), (), None, None, plan_id, key, True, spec_hash)
        return self._read(lambda chain: chain.made(wanted), lambda: None)

    # -- reading

    def entries(self, account: str | Account | None = None) -> list[Entry]:
        """Return the entries of an account, or all of them, oldest first."""
        if account is None:
            return self._read(lambda chain: chain.rows.all(), list)
        return list(self.show(account).entries)

    def about(self, release_id: str) -> list[Entry]:
        """Return what the chain says of one release: its charge first, then its output."""
        return self._read(lambda chain: chain.rows.all(release_id=release_id), list)

    def runs(self, account: str | Account, spec_hash: str) -> int:
        """Return how often a spec was released on an account, whether or not it was stored."""
        return self._read(lambda chain: chain.rows.runs(_name(account), spec_hash), int)

    def charged_for(self, source_hash: str, *, beside: str) -> list[str]:
        """Return the other accounts whose latest entries charged for the same source and unit."""

        return self._read(lambda chain: _charged_for(chain, {source_hash}, beside), list)

    def sharing(self, account: str | Account) -> list[str]:
        """Return the other accounts that this one shared a source and unit with, of late."""
        name = _name(account)

        def read(chain: Chain) -> list[str]:
            return _charged_for(chain, _sources(chain, name), name)

        return self._read(read, list)

    def unfinished(self, account: str | Account, *, latest: int | None = None) -> list[Entry]:
        """Return the reservations and slots without a stored output: spent, and not published.

        With `latest`, only those among the account's last so many entries, at a cost that does not
        grow with the ledger.
        """
        name = self.account(_name(account)).name
        if latest is not None and latest < 1:
            raise InputError("ledger.latest_below_one", latest=latest)
        return self._read(lambda chain: chain.rows.unfinished(name, latest), list)

    def spent(self, account: str | Account) -> Amount:
        """Return what an account has spent, exactly."""
        return self.account(_name(account)).spent

    def remaining(self, account: str | Account) -> Amount | None:
        """Return what an account's cap and promises still allow; None without any of them."""
        return self.account(_name(account)).remaining

    def show(self, account: str | Account) -> Sheet:
        """Return an account with its entries, what is unfinished, and the head of the chain."""
        name = _name(account)

        def read(chain: Chain) -> Sheet:
            now, entries = chain.needed(name), tuple(chain.rows.all(account=name))
            charged = [e.cost for e in entries if e.cost is not None and e.kind != "plan"]
            return Sheet(
                account=now,
                entries=entries,
                unfinished=tuple(chain.rows.unfinished(name)),
                head=chain.head,
                promises=chain.standings(now, charged[-1] if charged else None),
                plans=tuple(chain.plans(name)),
                restored=tuple(chain.rows.all(kind="restore")),
            )

        return self._read(read, self._no_account(name))

    @property
    def id(self) -> str:
        """The hash of the first entry: it tells this ledger from every other."""
        found = self._read(lambda chain: chain.rows.first(), lambda: None)
        if found is None:
            raise InputError("ledger.none_there", url=self.url)
        return found.hash

    @property
    def head(self) -> str:
        """The hash of the last entry: it stands for the whole history, so keep it elsewhere."""
        return self._read(lambda chain: chain.head, lambda: BEFORE_THE_FIRST)

    def verify(self, head: str | None = None) -> Verification:
        """Recompute the whole chain; with `head`, look also for that hash in it.

        The chain shows any change to what it holds. It cannot show that its end was cut off:
        compare with a head that was kept elsewhere, such as in a statement. A head that a witness
        has seen must be in it too. `vouched_up_to` says how far these vouch for the chain.
        """
        found = verify(self._store, head)
        lost = tuple(self.lost()) if found.follows else ()
        if not lost:
            return (
                replace(found, witnessed=witness.newest_in(found.hashes))
                if found.verified
                else found
            )
        why = PolicyError("ledger.behind", url=self.url, head=lost[0]).message
        problems = (why, *found.problems)
        return replace(found, verified=False, problems=problems, lost=lost, head_answered=False)

    def upgrade(self, output: str | Path | None = None) -> Upgraded:
        """Bring a ledger of an older format to the newest; say what earlier releases promised.

        It is verified first, and its entries stay as they are. Older Discreets refuse it from then
        on, on every host. Stored releases are looked for in `output`, else beside a ledger in a
        file; what their specs promised binds their accounts from then on (`promises`). A ledger of
        the newest format is left as it is, unless an `output` is named.
        """
        if not self._store.exists():
            self._nothing_there()
        beside = getattr(self._store.backend, "path", None)
        base = beside.parent if output is None and beside is not None else output
        looked_in = None if base is None else Path(base).resolve()
        if looked_in is not None and not looked_in.is_dir():
            raise InputError("ledger.no_folder", looked_in=looked_in)

        def write(chain: Chain) -> Upgraded:
            version = chain.rows.version()
            if version is None:
                self._nothing_there()
            if version == FORMAT and output is None:
                return Upgraded(version, FORMAT)
            if not verified(chain.rows).verified:
                raise PolicyError("ledger.not_upgraded", url=self.url)
            if version < FORMAT:
                chain.rows.upgrade(version)
                chain.append("upgrade", None, {"from": version, "to": FORMAT})
            stored = [] if looked_in is None else stored_below(looked_in)
            return Upgraded(version, FORMAT, looked_in, bound(chain, stored))

        return self._written(write)

    def copy(self, to: str, *, move: bool = False) -> Verification:
        """Copy the whole ledger into a database that has none, and verify the copy.

        With `move` the ledger itself is closed in the same transaction: no charge can fall between
        the copy and the end, and whoever still has its URL is told that it was moved.
        """
        target = Store(to)
        if not self._store.exists():
            self._nothing_there()
        if target.exists():
            raise InputError("ledger.copy_there", url=target.url)

        def transaction(rows: Rows) -> Verification:
            if not rows.writable():
                self._nothing_there()
            before = verified(rows)
            if not before.verified:
                raise PolicyError("ledger.not_copied", url=self.url)
            rows.copy(target)
            after = verify(target, before.head)
            if not after.verified:
                raise InternalError("ledger.copy_differs", url=target.url)
            if move:
                rows.leave()
            return after

        return self._store.write(transaction) if move else self._store.read(transaction)

    def together(self, names: Iterable[str], *others: Ledger) -> tuple[Guarantee, list[Account]]:
        """Return what several accounts spent on one unit that is in all of them, and the accounts.

        They are accounts of this ledger and of the `others`. One whose name is in several of them
        is named with its ledger, `name@url`. Amounts of one kind add up exactly. ε and ρ together
        are a curve: at each δ the best of each account's ε²/2 added to ρ, and its ε added to what ρ
        needs.
        """
        books = (self, *others)
        if others and len({book.id for book in books}) < len(books):
            raise InputError("ledger.same_ledger")  # of two copies, which one counts?
        known = {f"{one.name}@{book.url}": one for book in books for one in book.accounts()}
        wanted: dict[str, Account] = {}
        for name in names:
            found = [full for full, one in known.items() if name in (one.name, full)]
            if not found:
                every = [one.name for one in known.values()]
                near, listed = like(name, every), ", ".join(map(repr, every))
                raise InputError("ledger.no_such_account", name=name, known=listed, like=near)
            if len(found) > 1:
                raise InputError("ledger.account_in_several", name=name, ways=", ".join(found))
            wanted[found[0]] = known[found[0]]
        accounts = list(wanted.values())
        parts = spent_together(accounts)
        if len(parts) == 1:
            return parts[0], accounts
        from discreet.composition import loss_of

        return loss_of(*parts).curve(), accounts

    def restore(self, *, approver: str, reason: str, output: str | Path | None = None) -> list[str]:
        """Answer for heads that were seen and are not in the ledger: it was restored from a copy.

        Returns them. Charges that were lost with them are charged anew by hand (`charge`).
        """
        approved = _approved(approver, reason, say("ledger.to_restore"))
        if not self._store.exists():
            self._nothing_there()
        ledger_id, shown = self.id, self._shown(output)

        def write(chain: Chain) -> list[str]:
            lost = chain.lost([*witness.recalled(ledger_id), *shown])
            if lost:
                chain.append("restore", None, {"lost": lost, **approved})
            return lost

        return self._written(write)

    def lost(self, output: str | Path | None = None) -> list[str]:
        """Return the heads that were seen, are not in the chain, and were not answered for."""
        first = self._read(lambda chain: chain.rows.first(), lambda: None)
        if first is None:
            return []
        # Seen before the chain is read: whoever writes meanwhile leaves a head that is in it.
        heads = (*witness.recalled(first.hash), *self._shown(output))
        return self._read(lambda chain: chain.lost(heads), list)

    def refuse_behind(self, output: str | Path | None = None) -> None:
        """Refuse a ledger that lacks a head which was seen, as every charge does; only read it."""
        lost = self.lost(output)
        if lost:
            raise PolicyError("ledger.behind", url=self.url, head=lost[0])

    def _shown(self, output: str | Path | None) -> tuple[str, ...]:
        return () if output is None else witness.heads_in_releases(Path(output), self.id)
