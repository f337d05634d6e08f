"""The ledger: accounts, charges, plans and outputs, one entry after another.

    reserve ──> draw ──> commit

`reserve` adds the charge to the account and writes it down before it returns; only then may noise
be drawn. `commit` records the hash of the stored output. A crash in between loses the release and
keeps the charge. Everything that is decided (what was spent, whether a cap or a tolerance would be
passed) is decided inside the one writing transaction.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from discreet.errors import InputError, PolicyError
from discreet.guarantees import Guarantee
from discreet.ledger.accounts import Account
from discreet.ledger.amounts import Amount
from discreet.ledger.entries import (
    BEFORE_THE_FIRST,
    Entry,
    canonical,
    checked_id,
    digest,
    new_id,
    read_moment,
    say_moment,
)
from discreet.ledger.filters import Chargeable, Filter, charges
from discreet.ledger.plans import Plan, PlanPart, Slot, check_total, parts_of
from discreet.ledger.store import FORMAT, Store
from discreet.ledger.verification import Sheet, Verification, verify

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Ledger", "ToleranceCheck"]

ToleranceCheck = Callable[[Guarantee], None]
_T = TypeVar("_T")

# Clocks of several machines differ a little. Within this, an entry takes the time of the one before
# it; beyond, a charge is refused, for a clock set back would open a period's cap a second time.
SKEW = timedelta(minutes=10)


def _now() -> datetime:
    return datetime.now(UTC)


def _text(name: str, value: str, longest: int = 1000) -> str:
    """Return a text that a person gave, if it can stand in an entry."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} is empty; say it in a few words.")
    if len(value) > longest:
        raise InputError(f"{name} has {len(value)} characters; at most {longest} are kept.")
    if not value.isprintable():
        raise InputError(f"{name} has characters that cannot be printed; use one line of text.")
    return value


def _approved(approver: str | None, reason: str | None, what: str) -> dict[str, str]:
    if not (approver and approver.strip() and reason and reason.strip()):
        raise PolicyError(
            f"To {what} an account takes a named approver and a reason; give both "
            "(--approver NAME --reason WHY)."
        )
    return {"approver": _text("approver", approver), "reason": _text("reason", reason)}


class Ledger:
    """An append-only, hash-chained ledger of privacy budget."""

    def __init__(self, store: Store, clock: Callable[[], datetime] = _now) -> None:
        self._store = store
        self._clock = clock

    @classmethod
    def open(cls, url: str, *, clock: Callable[[], datetime] = _now) -> Ledger:
        """Return the ledger at a URL such as `sqlite:///ledger.db`; opening an account makes it."""
        return cls(Store(url), clock)

    @property
    def url(self) -> str:
        """Where it is, without any password."""
        return self._store.url

    # -- accounts

    def open_account(
        self,
        name: str,
        *,
        unit: str,
        adjacency: str,
        filter: str,  # noqa: A002  (the users' word)
        cap: Guarantee | Amount | None,
        approver: str,
        reason: str,
        period: str | None = None,
        period_cap: Guarantee | Amount | None = None,
    ) -> Account:
        """Open an account: its unit, adjacency and filter are fixed for good.

        `cap` is the lifetime promise in the filter's coordinates (`Amount.of(rho=…, delta=…)` where
        no guarantee has them both), or None: then spending is counted and not limited.
        """
        approved = _approved(approver, reason, "open")
        _text("account", name, 100)
        if name != name.strip():
            raise InputError(f"account is {name!r}; it must not begin or end with a space.")
        account = Account.opened(
            name,
            unit=unit,
            adjacency=adjacency,
            filter=filter,
            cap=cap,
            period=period,
            period_cap=period_cap,
        )
        self._store.backend.create()

        def write(connection: Connection) -> Account:
            if not self._store.laid_out(connection):
                self._store.lay_out(connection)
                self._append(connection, "begin", None, {"ledger_id": new_id(), "format": FORMAT})
            if self._store.find(connection, account=name, kind="open") is not None:
                raise PolicyError(
                    f"Account {name!r} is already open in {self.url}; its unit, adjacency and "
                    "filter never change. To raise its cap use discreet ledger grant."
                )
            self._append(connection, "open", account, {"terms": account.terms(), **approved})
            return account

        return self._store.write(write)

    def account(
        self,
        name: str,
        *,
        unit: str = "person",
        adjacency: str = "add-remove",
        filter: str = "pure",  # noqa: A002
    ) -> Account:
        """Return an account as it stands; if it is not open, say the command that opens it.

        The keywords only complete that command.
        """

        def read(connection: Connection) -> Account | None:
            return self._account(connection, name)

        found = self._store.read(read) if self._store.exists() else None
        if found is None:
            self._not_open(name, unit, adjacency, filter)
        return found

    def accounts(self) -> list[Account]:
        """Return every account, in the order in which they were opened."""

        def read(connection: Connection) -> list[Account]:
            names = [e.account for e in self._store.all(connection, kind="open")]
            found = [self._account(connection, name) for name in names if name is not None]
            return [account for account in found if account is not None]

        return self._store.read(read) if self._store.exists() else []

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
        approved = _approved(approver, reason, "raise the cap of")
        if which not in ("lifetime", "period"):
            raise InputError(f"which is {which!r}; it must be lifetime or period.")

        def write(connection: Connection) -> Account:
            before = self._needed(connection, account)
            amount = before.filter.limit(add)
            after = before.granted(amount, which)
            facts = {"add": amount.stored(), "which": which, **approved}
            self._append(connection, "grant", after, facts)
            return after

        return self._writing(account, write)

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
        tolerance_check: ToleranceCheck | None = None,
        plan_id: str | None = None,
        unit: str | None = None,
    ) -> Entry:
        """Charge a release before anything is drawn; durable when this returns.

        `tolerance_check` is called with the guarantee of everything charged to the account, this
        release included, and refuses by raising; it may be called again if the ledger was busy.
        With a `plan_id` the release takes the plan's next slot, which must cover the charge, and
        costs nothing more.
        """
        if plan_id is not None:
            slot = self._take(
                plan_id,
                purpose=purpose,
                who=who,
                spec_hash=spec_hash,
                asked=(account, charge, unit),
                tolerance_check=tolerance_check,
            )
            return slot.entry
        facts = {"spec_hash": _text("spec_hash", spec_hash, 200)}
        return self._charged(
            "reserve", account, charge, purpose, who, release_id, tolerance_check, unit, facts
        )

    def commit(self, release_id: str, output_hash: str) -> Entry:
        """Record the hash of a stored output; a second time with the same hash changes nothing."""
        _text("output_hash", output_hash, 200)

        def write(connection: Connection) -> Entry:
            there = self._store.laid_out(connection)
            found = self._store.all(connection, release_id=release_id) if there else []
            if not found or found[0].kind not in ("reserve", "slot"):
                raise PolicyError(
                    f"Release {release_id!r} was not reserved in {self.url}; an output without a "
                    "charge is not recorded. Discard it."
                )
            first, *rest = found
            if rest:
                if rest[0].output_hash == output_hash:
                    return rest[0]
                raise PolicyError(
                    f"Release {release_id!r} already has a stored output with another hash; a "
                    "release is drawn once. Discard this one."
                )
            facts: dict[str, Any] = {"release_id": release_id, "output_hash": output_hash}
            if first.kind == "slot":
                plan = Plan.told(self._store.all(connection, plan_id=first.plan_id))
                if first.slot in plan.outputs:
                    raise PolicyError(
                        f"Slot {first.slot} of plan {plan.plan_id} already has a stored output; "
                        "a slot is published once. Discard this one."
                    )
                facts |= {"plan_id": plan.plan_id, "slot": first.slot}
            account = self._needed(connection, str(first.account))
            return self._append(connection, "commit", account, facts)

        if not self._store.backend.exists():
            raise PolicyError(f"There is no ledger at {self.url}, so nothing was reserved in it.")
        return self._store.write(write)

    def charge(
        self,
        account: str | Account,
        charge: Chargeable,
        *,
        purpose: str,
        who: str,
        release_id: str | None = None,
        output_hash: str | None = None,
        tolerance_check: ToleranceCheck | None = None,
        unit: str | None = None,
    ) -> Entry:
        """Charge a release that was made elsewhere, in one step."""
        facts = {} if output_hash is None else {"output_hash": _text("output_hash", output_hash)}
        return self._charged(
            "charge", account, charge, purpose, who, release_id, tolerance_check, unit, facts
        )

    def _charged(
        self,
        kind: str,
        account: str | Account,
        charge: Chargeable,
        purpose: str,
        who: str,
        release_id: str | None,
        tolerance_check: ToleranceCheck | None,
        unit: str | None,
        facts: dict[str, Any],
    ) -> Entry:
        parts = charges(charge)
        facts = facts | {
            "release_id": new_id() if release_id is None else checked_id(release_id),
            "charge": [part.to_dict() for part in parts],
            "purpose": _text("purpose", purpose),
            "who": _text("who", who, 200),
        }

        def write(connection: Connection) -> Entry:
            before = self._needed(connection, account)
            before.require(unit=unit)
            if self._store.find(connection, release_id=facts["release_id"]) is not None:
                raise PolicyError(
                    f"Release {facts['release_id']!r} was already charged; a second draw is a new "
                    "release with a charge of its own."
                )
            return self._spend(connection, kind, before, parts, tolerance_check, facts)

        return self._writing(account, write)

    def _spend(
        self,
        connection: Connection,
        kind: str,
        before: Account,
        parts: Chargeable,
        tolerance_check: ToleranceCheck | None,
        facts: dict[str, Any],
    ) -> Entry:
        """Add a cost to an account and write it down, unless a cap or a tolerance forbids it."""
        moment = self._moment(self._store.last(connection), strict=True)
        cost = before.cost(parts)
        after = before.after(cost, moment)
        after.check(parts, before)
        if tolerance_check is not None:
            tolerance_check(after.total)
        return self._append(connection, kind, after, {"cost": cost.stored(), **facts}, moment)

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
        tolerance_check: ToleranceCheck | None = None,
    ) -> str:
        """Write down a whole series and charge its total at once; return the plan's id.

        `total` is the guarantee of all parts together, by the accounting that `method` names.
        """
        fixed, whole = parts_of(parts), charges(total)
        facts: dict[str, Any] = {
            "plan_id": new_id(),
            "parts": [part.to_dict() for part in fixed],
            "charge": [part.to_dict() for part in whole],
            "method": _text("method", method, 100),
            "purpose": _text("purpose", purpose),
            "who": _text("who", who, 200),
        }
        if spec_hash is not None:
            facts["spec_hash"] = _text("spec_hash", spec_hash, 200)

        def write(connection: Connection) -> Entry:
            before = self._needed(connection, account)
            check_total(before, fixed, before.cost(whole))
            return self._spend(connection, "plan", before, whole, tolerance_check, facts)

        self._writing(account, write)
        return str(facts["plan_id"])

    def plan(self, plan_id: str) -> Plan:
        """Return a registered plan, with what of it was taken and stored."""

        def read(connection: Connection) -> Plan:
            return self._plan(connection, plan_id)

        if not self._store.exists():
            self._no_plan(plan_id)
        return self._store.read(read)

    def next_slot(
        self,
        plan_id: str,
        idempotency_key: str | None = None,
        *,
        purpose: str = "registered plan",
        who: str = "plan",
        spec_hash: str | None = None,
    ) -> Slot:
        """Take the next release of a plan, at no further cost; durable when this returns.

        The same idempotency key always finds the same slot. If its output is stored, the slot says
        so and there is nothing to draw; otherwise it is drawn, or drawn again.
        """
        return self._take(
            plan_id, key=idempotency_key, purpose=purpose, who=who, spec_hash=spec_hash
        )

    def _take(
        self,
        plan_id: str,
        *,
        purpose: str,
        who: str,
        spec_hash: str | None,
        key: str | None = None,
        asked: tuple[str | Account, Chargeable, str | None] | None = None,
        tolerance_check: ToleranceCheck | None = None,
    ) -> Slot:
        facts: dict[str, Any] = {
            "plan_id": plan_id,
            "purpose": _text("purpose", purpose),
            "who": _text("who", who, 200),
        }
        if spec_hash is not None:
            facts["spec_hash"] = _text("spec_hash", spec_hash, 200)
        if key is not None:
            facts["idempotency_key"] = _text("idempotency_key", key, 200)

        def write(connection: Connection) -> Slot:
            plan = self._plan(connection, plan_id)
            number = plan.next(key)
            covers = plan.charge(number)
            account = self._needed(connection, plan.account)
            if asked is not None:
                self._covered(account, plan, number, asked)
            if tolerance_check is not None:
                tolerance_check(account.total)
            latest = plan.latest(number)
            if number in plan.outputs and latest is not None:
                return Slot(plan_id, number, plan.slots, covers, latest, plan.outputs[number])
            taken = {"slot": number, "release_id": new_id(), **facts}
            entry = self._append(connection, "slot", account, taken)
            return Slot(plan_id, number, plan.slots, covers, entry)

        if not self._store.exists():
            self._no_plan(plan_id)
        return self._store.write(write)

    @staticmethod
    def _covered(
        account: Account,
        plan: Plan,
        number: int,
        asked: tuple[str | Account, Chargeable, str | None],
    ) -> None:
        name, charge, unit = asked
        if _name(name) != plan.account:
            raise PolicyError(
                f"Plan {plan.plan_id} belongs to account {plan.account!r}, not to {_name(name)!r}."
            )
        account.require(unit=unit)
        covers = plan.charge(number)
        if not account.cost(charge).within(account.cost(covers)):
            raise PolicyError(
                f"Slot {number} of plan {plan.plan_id} covers {covers.guarantee} and this release "
                f"would cost {account.cost(charge)}; a plan is not changed after it was charged."
            )

    # -- reading

    def entries(self, account: str | Account | None = None) -> list[Entry]:
        """Return the entries of an account, or all of them, oldest first."""
        if account is not None:
            self.account(_name(account))
        where = {} if account is None else {"account": _name(account)}
        return (
            self._store.read(lambda connection: self._store.all(connection, **where))
            if self._store.exists()
            else []
        )

    def unfinished(self, account: str | Account) -> list[Entry]:
        """Return the reservations and slots without a stored output: spent, and not published."""
        self.account(_name(account))
        return self._store.read(
            lambda connection: self._store.unfinished(connection, _name(account))
        )

    @property
    def head(self) -> str:
        """The hash of the last entry: it stands for the whole history, so keep it elsewhere."""
        last = self._store.read(self._store.last) if self._store.exists() else None
        return BEFORE_THE_FIRST if last is None else last.hash

    def spent(self, account: str | Account) -> Amount:
        """Return what an account has spent, exactly."""
        return self.account(_name(account)).spent

    def remaining(self, account: str | Account) -> Amount | None:
        """Return what an account's lifetime cap still allows; None without a lifetime cap."""
        return self.account(_name(account)).remaining

    def show(self, account: str | Account) -> Sheet:
        """Return an account with its entries, what is unfinished, and the head of the chain."""
        name = _name(account)
        self.account(name)

        def read(connection: Connection) -> Sheet:
            last = self._store.last(connection)
            return Sheet(
                account=self._needed(connection, name),
                entries=tuple(self._store.all(connection, account=name)),
                unfinished=tuple(self._store.unfinished(connection, name)),
                head=BEFORE_THE_FIRST if last is None else last.hash,
            )

        return self._store.read(read)

    def verify(self, head: str | None = None) -> Verification:
        """Recompute the whole chain; with `head`, look also for that hash in it.

        The chain shows any change to what it holds. It cannot show that its end was cut off:
        compare with a head that was kept elsewhere, such as in a statement.
        """
        return verify(self._store, head)

    # -- inside a transaction

    def _append(
        self,
        connection: Connection,
        kind: str,
        account: Account | None,
        facts: Mapping[str, Any],
        moment: datetime | None = None,
    ) -> Entry:
        last = self._store.last(connection)
        body = {
            "seq": 1 if last is None else last.seq + 1,
            "at": say_moment(moment or self._moment(last, back=kind == "grant")),
            "kind": kind,
            "previous": BEFORE_THE_FIRST if last is None else last.hash,
            **facts,
        }
        if account is not None:
            body |= {"account": account.name, "standing": account.standing()}
        text = canonical(body)
        entry = Entry.read(body["seq"], text, digest(text))
        self._store.append(connection, entry, text)
        return entry

    def _moment(self, last: Entry | None, *, strict: bool = False, back: bool = False) -> datetime:
        """Return the time of a new entry: never before the last one, but for a grant (`back`)."""
        now = self._clock().astimezone(UTC)
        before = now if last is None else read_moment(last.at)
        if strict and before - now > SKEW:
            raise PolicyError(
                f"The clock shows {say_moment(now)}, before the ledger's last entry of "
                f"{say_moment(before)}; set the clock right. If that entry's clock was the wrong "
                "one, a grant (of 0 if need be) with an approver and a reason sets the ledger back."
            )
        return now if back and before - now > SKEW else max(now, before)

    def _account(self, connection: Connection, name: str) -> Account | None:
        opening = self._store.find(connection, account=name, kind="open", newest=False)
        latest = self._store.find(connection, account=name)
        if opening is None or latest is None:
            return None
        return Account.restored(name, opening.said["terms"], latest.said["standing"])

    def _needed(self, connection: Connection, account: str | Account) -> Account:
        name = _name(account)
        laid_out = self._store.laid_out(connection)
        found = self._account(connection, name) if laid_out else None
        if found is None:
            self._not_open(name)
        return found

    def _writing(self, account: str | Account, write: Callable[[Connection], _T]) -> _T:
        if not self._store.backend.exists():
            self._not_open(_name(account))
        return self._store.write(write)

    def _plan(self, connection: Connection, plan_id: str) -> Plan:
        found = self._store.all(connection, plan_id=plan_id)
        if not found:
            self._no_plan(plan_id)
        return Plan.told(found)

    def _not_open(
        self,
        name: str,
        unit: str = "person",
        adjacency: str = "add-remove",
        filter: str = "pure",  # noqa: A002
    ) -> NoReturn:
        caps = " ".join(f"--{c} {c[0].upper()}" for c in Filter.named(filter).coordinates)
        raise PolicyError(
            f"Account {name!r} is not open in {self.url}. Open it first: discreet ledger open "
            f"--ledger {shlex.quote(self.url)} --account {shlex.quote(name)} --unit {unit} "
            f"--adjacency {adjacency} --filter {filter} {caps} --approver NAME --reason WHY"
        )

    def _no_plan(self, plan_id: str) -> NoReturn:
        raise PolicyError(
            f"Plan {plan_id!r} is not registered in {self.url}; register it first with discreet "
            "ledger plan: it is charged in full before its first draw."
        )


def _name(account: str | Account) -> str:
    return account.name if isinstance(account, Account) else account
