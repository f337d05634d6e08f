"""The ledger: accounts, charges, plans and outputs, one entry after another.

    reserve ──> draw ──> commit

`reserve` adds the charge to the account and writes it down before it returns; only then may noise
be drawn. `commit` records the hash of the stored output. A crash in between loses the release and
keeps the charge. Here words are checked and transactions are begun; everything that is decided
(what was spent, whether a cap or a promise would be passed) is decided inside the one writing
transaction (`decisions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

from sqlalchemy import Connection

from discreet.errors import InputError, InternalError, PolicyError
from discreet.guarantees import Adjacency, Guarantee
from discreet.ledger import decisions, witness
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import Amount
from discreet.ledger.chain import (
    Chain,
    Clock,
    refuse_unknown_account,
    refuse_unknown_plan,
)
from discreet.ledger.decisions import Foreseen, Wanted
from discreet.ledger.earlier import Upgraded, bound, stored_below
from discreet.ledger.entries import BEFORE_THE_FIRST, Entry, checked_id, new_id
from discreet.ledger.filters import Chargeable, Filter, charges
from discreet.ledger.migrations import FORMAT
from discreet.ledger.plans import Plan, PlanPart, Slot, check_total, parts_of
from discreet.ledger.promises import Made, Standing, derived_cap, made_promises
from discreet.ledger.store import Store
from discreet.ledger.verification import Sheet, Verification, verified, verify
from discreet.promises import Promise, promised
from discreet.promises.promise import PromiseLike
from discreet.reading import line
from discreet.words import say

_T = TypeVar("_T")


def _now() -> datetime:
    return datetime.now(UTC)


def _approved(approver: str | None, reason: str | None, what: str) -> dict[str, str]:
    if not (approver and approver.strip() and reason and reason.strip()):
        raise PolicyError("ledger.not_approved", what=what)
    return {"approver": line("approver", approver), "reason": line("reason", reason)}


def _promised(
    given: PromiseLike | Sequence[PromiseLike] | None, adjacency: str
) -> tuple[Promise, ...]:
    if given is None:
        return ()
    found, wanted = [], Adjacency.of(adjacency)
    for one in given if isinstance(given, (list, tuple)) else [given]:
        if isinstance(one, Mapping):
            one = {"adjacency": wanted.value, **one}
        stated = promised(one).adjacency
        if stated not in (wanted, Adjacency.ADD_REMOVE):  # the latter is what nothing said means
            raise PolicyError("ledger.promise_adjacency", stated=stated.value, wanted=wanted.value)
        found.append(promised(one, adjacency=wanted))
    return tuple(found)


def _name(account: str | Account) -> str:
    return account.name if isinstance(account, Account) else account


_LATEST = 20
"""How many entries of an account are looked at for what it was charged for."""


class Ledger:
    """An append-only, hash-chained ledger of privacy budget."""

    def __init__(self, store: Store, clock: Clock = _now) -> None:
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
        heads: Iterable[str] = (),
        *,
        account: str | None = None,
        release_id: str | None = None,
    ) -> _T:
        """Run a function in the writing transaction; without a ledger, refuse by `otherwise`.

        Only opening an account makes a ledger, so that a mistyped path is not spent on. A ledger
        that lacks a head which was seen before is not written on. What will be asked about the
        account and the release that are named is looked up at once.
        """
        if not self._store.exists():
            otherwise()

        def transaction(chain: Chain) -> _T:
            chain.foresee(account, release_id)
            if not self._store.writable(chain.connection):
                otherwise()
            first = chain.first()
            known = () if first is None else (*witness.seen(first.hash), *heads)
            lost = chain.lost(known)
            if lost:
                raise PolicyError("ledger.behind", url=self.url, head=lost[0])
            return what(chain)

        return self._written(transaction)

    def _written(self, what: Callable[[Chain], _T]) -> _T:
        """Run a function in the writing transaction, and leave the new head with the witnesses."""
        left: list[tuple[str, str, int]] = []

        def transaction(connection: Connection) -> _T:
            chain = Chain(self._store, connection, self._clock)
            result = what(chain)
            first, last = chain.first(), chain.last()
            if first is not None and last is not None:
                left[:] = [(first.hash, last.hash, last.seq)]
            return result

        result = self._store.write(transaction)
        for head in left:
            witness.leave(*head)
        return result

    def _read(self, what: Callable[[Chain], _T], otherwise: _T) -> _T:
        """Run a function on the chain as it is; without a ledger, the answer is `otherwise`."""
        if not self._store.exists():
            return otherwise

        def transaction(connection: Connection) -> _T:
            there = self._store.version(connection) is not None
            return what(Chain(self._store, connection, self._clock)) if there else otherwise

        return self._store.read(transaction)

    def _no_account(self, name: str) -> Callable[[], NoReturn]:
        return partial(refuse_unknown_account, self.url, name)

    # -- accounts

    def open_account(
        self,
        name: str,
        *,
        unit: str,
        adjacency: str,
        filter: str,  # noqa: A002  (the users' word)
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
        `cap` given too, the smaller counts), at the `delta` that the account may spend in all.
        `cap` is a limit in the filter's coordinates (`Amount.of(rho=…, delta=…)` where no guarantee
        has them both). With neither, spending is counted and not limited.
        """
        approved = _approved(approver, reason, say("ledger.to_open"))
        if line("account", name, 100) != name.strip():
            raise InputError("ledger.account_name_spaces", name=name)
        terms = {
            "unit": unit,
            "unit_name": unit_name,
            "adjacency": adjacency,
            "filter": filter,
            "period": period,
            "period_cap": period_cap,
        }
        promises = _promised(promise, adjacency)
        account = Account.opened(name, cap=cap, **terms)  # type: ignore[arg-type]
        if promises:
            limit = derived_cap(account, promises, delta)
            account = Account.opened(name, cap=limit, **terms)  # type: ignore[arg-type]
        elif delta is not None:
            raise InputError("ledger.delta_without_promise")

        self._store.create()
        return self._written(lambda chain: decisions.opened(chain, account, promises, approved))

    def found(self, name: str) -> Account | None:
        """Return an account as it stands; None if it is not open."""
        return self._read(lambda chain: chain.account(name), None)

    def account(
        self,
        name: str,
        *,
        unit: str = "person",
        unit_name: str | None = None,
        adjacency: str = "add-remove",
        filter: str = "pure",  # noqa: A002  (the users' word)
        promise: Mapping[str, Any] | None = None,
        cap: Amount | None = None,
    ) -> Account:
        """Return an account as it stands; if it is not open, say the command that opens it.

        The keywords only complete that command.
        """
        found = self.found(name)
        if found is None:
            none: list[str] = []
            known = self._read(lambda chain: [*chain.store.accounts(chain.connection)], none)
            asked = (unit, adjacency, filter, unit_name, promise, cap)
            refuse_unknown_account(self.url, name, *asked, known)
        return found

    def accounts(self) -> list[Account]:
        """Return every account, in the order in which they were opened."""

        def read(chain: Chain) -> list[Account]:
            return [chain.needed(str(entry.account)) for entry in chain.all(kind="open")]

        return self._read(read, [])

    def grant(
        self,
        account: str | Account,
        *,
        add: Guarantee | Amount,
        approver: str,
        reason: str,
        which: Literal["lifetime", "period"] = "lifetime",
    ) -> Account:
        """Raise a cap; the approver and the reason stand in the chain.

        A grant is also what goes on after a clock was wrong: it is written at the time that the
        clock shows now, even if earlier entries carry a later one.
        """
        approved = _approved(approver, reason, say("ledger.to_raise"))
        if which not in ("lifetime", "period"):
            raise InputError("ledger.which_cap", which=which)

        def write(chain: Chain) -> Account:
            before = chain.needed(_name(account))
            amount = before.filter.limit(add, lead=False)
            return decisions.granted(chain, before.name, amount, which, approved)

        return self._write(write, self._no_account(_name(account)))

    def withdraw(
        self, account: str | Account, promise_id: str, *, approver: str, reason: str
    ) -> Account:
        """End a promise; every later report of what was released under it says so."""
        approved = _approved(approver, reason, say("ledger.to_withdraw"))
        return self._write(
            lambda chain: decisions.withdrawn(chain, _name(account), promise_id, approved),
            self._no_account(_name(account)),
        )

    def made_promises(self, account: str | Account) -> tuple[Made, ...]:
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
    ) -> Entry:
        """Charge a release before anything is drawn; durable when this returns.

        `promise` comes with the release and binds the account from then on. With a `plan_id` the
        release takes the plan's next slot, which must cover the charge, and costs nothing more.
        `guaranteed=False` marks a charge for something that carries no guarantee of its own, such
        as a file chosen among candidates. `releases` says of how many it is one. Heads in the
        stored releases of `output` must be in the chain.
        """
        wanted = Wanted(_name(account), charges(charge), unit, promise, plan_id)
        said = self._said(purpose, who, release_id, spec_hash, source_hash)
        if plan_id is not None:
            return self._taken(wanted, said, output).entry
        if not guaranteed:
            said["guaranteed"] = False
        if releases is not None:
            said["releases"] = releases
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
        """Charge a release that was made elsewhere, in one step."""
        said = self._said(purpose, who, release_id, None)
        if output_hash is not None:
            said["output_hash"] = line("output_hash", output_hash, 200)
        return self._charged("charge", Wanted(_name(account), charges(charge), unit, promise), said)

    @staticmethod
    def _said(
        purpose: str,
        who: str,
        release_id: str | None,
        spec_hash: str | None,
        source_hash: str | None = None,
    ) -> dict[str, Any]:
        said: dict[str, Any] = {
            "release_id": new_id() if release_id is None else checked_id(release_id),
            "purpose": line("purpose", purpose),
            "who": line("who", who, 200),
        }
        hashes = {"spec_hash": spec_hash, "source_hash": source_hash}
        return said | {
            name: line(name, digest, 200) for name, digest in hashes.items() if digest is not None
        }

    def _charged(
        self,
        kind: str,
        wanted: Wanted,
        said: dict[str, Any],
        output: str | Path | None = None,
    ) -> Entry:
        said["charge"] = [part.to_dict() for part in wanted.charge or ()]
        self._last = (str(said["release_id"]), wanted.account)
        return self._write(
            lambda chain: decisions.charged(chain, kind, wanted, said),
            self._no_account(str(wanted.account)),
            self._shown(output),
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
            lambda chain: decisions.stored(chain, release_id, output_hash),
            partial(decisions.refuse_unreserved, self.url, release_id),
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
            earlier = chain.all(account=_name(account), kind="report")
            same = (entry for entry in earlier if entry.said["manifest"] == manifest)
            found = next(same, None)
            return found or chain.append("report", chain.needed(_name(account)), said)

        return self._write(write, self._no_account(_name(account)))

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
        if spec_hash is not None:
            said["spec_hash"] = line("spec_hash", spec_hash, 200)

        if idempotency_key is not None:
            said["idempotency_key"] = line("idempotency_key", idempotency_key, 200)

        def write(chain: Chain) -> str:
            before = chain.needed(_name(account))
            known = decisions.registered_before(chain, before.name, said)
            if known is not None:
                return known
            check_total(before, fixed, before.cost(whole))
            return str(chain.spend("plan", before, whole, promise, said).plan_id)

        return self._write(write, self._no_account(_name(account)))

    def plan(self, plan_id: str) -> Plan:
        """Return a registered plan, with what of it was taken and stored."""
        found = self._read(lambda chain: chain.plan(plan_id), None)
        if found is None:
            refuse_unknown_plan(self.url, plan_id)
        return found

    def only_plan(self, account: str | Account, key: str | None = None) -> str:
        """Return the plan that has the key, or else the account's only one with a free slot."""
        found = self._read(lambda chain: chain.only_plan(_name(account), key), None)
        if found is None:
            refuse_unknown_account(self.url, _name(account))
        return found

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
        then there is nothing to draw. A key whose release was not stored is refused (`LostSlot`):
        it is being made, or it was lost, and `retry` takes another slot for it. With an `account`
        and a `charge`, the slot must be that account's and cover that charge.
        """
        asked = account is not None and charge is not None
        wanted = Wanted(
            account=_name(account) if account is not None else None,
            charge=charges(charge) if asked and charge is not None else None,
            unit=unit,
            promise=promise,
            plan_id=plan_id,
            key=idempotency_key,
            retry=retry,
        )
        said = self._said(purpose, who, release_id, spec_hash, source_hash)
        return self._taken(wanted, said, output)

    def _taken(
        self, wanted: Wanted, said: dict[str, Any], output: str | Path | None = None
    ) -> Slot:
        plan_id = str(wanted.plan_id)
        said["plan_id"] = plan_id
        if wanted.key is not None:
            said["idempotency_key"] = line("idempotency_key", wanted.key, 200)
        return self._write(
            lambda chain: decisions.taken(chain, wanted, said),
            partial(refuse_unknown_plan, self.url, plan_id),
            self._shown(output),
            account=wanted.account,
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
    ) -> Foreseen:
        """Refuse what `reserve` or `next_slot` would refuse now, and write nothing.

        Returns the account as the release would leave it, and where it would stand under each
        promise.
        """
        wanted = Wanted(
            _name(account), charges(charge), unit, promise, plan_id, idempotency_key, retry
        )
        found = self._read(lambda chain: decisions.foreseen(chain, wanted), None)
        if found is None:
            refuse_unknown_account(self.url, _name(account))
        return found

    # -- reading

    def entries(self, account: str | Account | None = None) -> list[Entry]:
        """Return the entries of an account, or all of them, oldest first."""
        if account is None:
            return self._read(lambda chain: chain.all(), [])
        return list(self.show(account).entries)

    def about(self, release_id: str) -> list[Entry]:
        """Return what the chain says of one release: its charge first, then its output."""
        return self._read(lambda chain: chain.all(release_id=release_id), [])

    def runs(self, account: str | Account, spec_hash: str) -> int:
        """Return how often a spec was released on an account, whether or not it was stored."""

        def count(chain: Chain) -> int:
            return self._store.runs(chain.connection, _name(account), spec_hash)

        return self._read(count, 0)

    def charged_for(self, source_hash: str, *, beside: str) -> list[str]:
        """Return the other accounts whose latest entries charged for the same source and unit."""

        def read(chain: Chain) -> list[str]:
            store, connection = chain.store, chain.connection
            return [
                name
                for name in store.accounts(connection)
                if name != beside
                and any(
                    entry.said.get("source_hash") == source_hash
                    for entry in store.newest(connection, _LATEST, name)
                )
            ]

        return self._read(read, [])

    def unfinished(self, account: str | Account, *, latest: int | None = None) -> list[Entry]:
        """Return the reservations and slots without a stored output: spent, and not published.

        With `latest`, only those among the account's last so many entries, at a cost that does not
        grow with the ledger.
        """
        name = self.account(_name(account)).name
        if latest is not None and latest < 1:
            raise InputError("ledger.latest_below_one", latest=latest)
        return self._read(lambda chain: chain.unfinished(name, latest), [])

    def spent(self, account: str | Account) -> Amount:
        """Return what an account has spent, exactly."""
        return self.account(_name(account)).spent

    def remaining(self, account: str | Account) -> Amount | None:
        """Return what an account's lifetime cap still allows; None without a lifetime cap."""
        return self.account(_name(account)).remaining

    def show(self, account: str | Account) -> Sheet:
        """Return an account with its entries, what is unfinished, and the head of the chain."""
        name = _name(account)

        def read(chain: Chain) -> Sheet:
            now, entries = chain.needed(name), tuple(chain.all(account=name))
            charged = [e.cost for e in entries if e.cost is not None and e.kind != "plan"]
            return Sheet(
                account=now,
                entries=entries,
                unfinished=tuple(chain.unfinished(name)),
                head=chain.head,
                promises=tuple(chain.standings(now, charged[-1] if charged else None)),
                plans=tuple(chain.plans(name)),
            )

        found = self._read(read, None)
        if found is None:
            refuse_unknown_account(self.url, name)
        return found

    @property
    def id(self) -> str:
        """The hash of the first entry: it tells this ledger from every other."""
        found = self._read(lambda chain: chain.first(), None)
        if found is None:
            raise InputError("ledger.none_there", url=self.url)
        return found.hash

    @property
    def head(self) -> str:
        """The hash of the last entry: it stands for the whole history, so keep it elsewhere."""
        return self._read(lambda chain: chain.head, BEFORE_THE_FIRST)

    def verify(self, head: str | None = None) -> Verification:
        """Recompute the whole chain; with `head`, look also for that hash in it.

        The chain shows any change to what it holds. It cannot show that its end was cut off:
        compare with a head that was kept elsewhere, such as in a statement.
        """
        return verify(self._store, head)

    def upgrade(self, output: str | Path | None = None) -> Upgraded:
        """Bring a ledger of an older format to the newest; say what earlier releases promised.

        It is verified first, and its entries stay as they are. Older Discreets refuse it from then
        on, on every host. Stored releases are looked for in `output`, else beside a ledger in a
        file; what their specs promised binds their accounts from then on (`earlier`). A ledger of
        the newest format is left as it is, unless an `output` is named.
        """
        if not self._store.exists():
            raise InputError("ledger.nothing_there", url=self.url)
        beside = getattr(self._store.backend, "path", None)
        base = beside.parent if output is None and beside is not None else output
        looked_in = None if base is None else Path(base).resolve()
        if looked_in is not None and not looked_in.is_dir():
            raise InputError("ledger.no_folder", looked_in=looked_in)

        def write(chain: Chain) -> Upgraded:
            connection = chain.connection
            version = self._store.version(connection)
            if version is None:
                raise InputError("ledger.nothing_there", url=self.url)
            if version == FORMAT and output is None:
                return Upgraded(version, FORMAT)
            if not verified(self._store, connection).verified:
                raise PolicyError("ledger.not_upgraded", url=self.url)
            if version < FORMAT:
                self._store.upgrade(connection, version)
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
            raise InputError("ledger.nothing_there", url=self.url)
        if target.exists():
            raise InputError("ledger.copy_there", url=target.url)

        def transaction(connection: Connection) -> Verification:
            if not self._store.writable(connection):
                raise InputError("ledger.nothing_there", url=self.url)
            before = verified(self._store, connection)
            if not before.verified:
                raise PolicyError("ledger.not_copied", url=self.url)
            self._store.copy(connection, target)
            after = verify(target, before.head)
            if not after.verified:
                raise InternalError("ledger.copy_differs", url=target.url)
            if move:
                self._store.leave(connection)
            return after

        return self._store.write(transaction) if move else self._store.read(transaction)

    def together(self, names: Iterable[str]) -> tuple[Guarantee, list[Account]]:
        """Return what several accounts spent on one unit that is in all of them, and the accounts.

        The amounts add up under the widest of their filters, however the charges came about: ε in
        a `zcdp` sum is ε²/2.
        """
        accounts = [self.account(name) for name in dict.fromkeys(names)]
        if len({(one.unit, one.adjacency) for one in accounts}) != 1:
            raise InputError("ledger.accounts_differ")
        widest = max(accounts, key=lambda one: list(Filter).index(one.filter))
        total = widest.filter.zero
        for one in accounts:
            same = one.filter is widest.filter
            total = total.plus(one.spent if same else widest.filter.cost(one.total))
        return widest.promise(total), accounts

    def restore(self, *, approver: str, reason: str, output: str | Path | None = None) -> list[str]:
        """Answer for heads that were seen and are not in the ledger: it was restored from a copy.

        Returns them. Charges that were lost with them are charged anew by hand (`charge`).
        """
        approved = _approved(approver, reason, say("ledger.to_restore"))

        def write(chain: Chain) -> list[str]:
            first = chain.first()
            heads = [] if first is None else [*witness.seen(first.hash), *self._shown(output)]
            lost = chain.lost(heads)
            if lost:
                chain.append("restore", None, {"lost": lost, **approved})
            return lost

        return self._written(write)

    def _shown(self, output: str | Path | None) -> tuple[str, ...]:
        return () if output is None else witness.heads_in_releases(Path(output), self.id)
