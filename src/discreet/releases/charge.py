"""One charge, from its reservation to the files that it paid for.

    recover ─ reserve ─ (read, draw) ─ store ─ record ─ show

The charge is in the ledger, durably, before a row is read. What is drawn is stored where nobody
looks, the ledger records its hash, and then it is shown. A crash at any point may lose a release,
never a charge, and nothing is drawn twice for one charge. Releases, slots of a plan and synthetic
files are all charged here:

    with Charging(spec, ledger, charges).paid(confirm, say, who) as paid:
        paid.publish(write)
"""

from __future__ import annotations

import getpass
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from discreet import __version__
from discreet.errors import DataError, DiscreetError, InputError, InternalError, PolicyError
from discreet.frames import JsonReady, Tabular
from discreet.guarantees import Guarantee, parameters
from discreet.ledger import Account, Amount, Entry, Foreseen, Ledger, Slot, Standing
from discreet.ledger.accounts import remaining_dict
from discreet.ledger.amounts import Chargeable, Filter, charges
from discreet.ledger.entries import BEFORE_THE_FIRST, new_id
from discreet.ledger.plans import LostRelease
from discreet.ledger.promises import register
from discreet.promises import Promise, delta_in
from discreet.releases import outputs
from discreet.releases.engines import file_of
from discreet.releases.pricing import new_account
from discreet.releases.spec import without_password
from discreet.releases.tables import Table
from discreet.rounding import belief_percent, percent
from discreet.statements import Learned, learned
from discreet.statements.tables import probability_text
from discreet.words import say as text

if TYPE_CHECKING:
    from discreet import Report
    from discreet.releases.spec import InFolder

Say: TypeAlias = Callable[[str], None]
Confirm: TypeAlias = Callable[[str], bool] | bool
T = TypeVar("T")

# Another host may be making the release of the same key: so long its files are waited for.
PATIENCE = 30.0


def _refuse_unconfirmed(again: str | None, confirm: Confirm | None) -> None:
    """Refuse a second run of a spec that nobody confirms; what the account refuses comes first."""
    if again is not None and not (confirm(again) if callable(confirm) else confirm):
        raise PolicyError("charge.not_confirmed", notice=again)


def _quiet(_: str) -> None:
    """Say nothing."""


def _user() -> str:
    """Return the name under which the process runs, for the ledger; "unknown" where it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a charge would do: what is left now and after it, or why it would be refused."""

    charging: Charging
    account: Account | None
    after: Account | None
    promises: tuple[Standing, ...]
    refused: DiscreetError | None
    again: str | None
    notes: tuple[str, ...]
    paid: str | None = None
    """That it takes a slot of a plan, which is paid for; one of the notes."""
    elsewhere: str | None = None
    """That other accounts were charged for the same source and unit; one of the notes."""
    slot: int | None = None
    """The slot of a plan that it takes, or that its key took before."""
    repeated: bool = False
    """Whether the release of its key is stored."""

    @property
    def remaining(self) -> dict[str, Any] | None:
        """What the account allows now; None if it is not open."""
        return None if self.account is None else remaining_dict(self.account.remaining)

    @property
    def remaining_after(self) -> dict[str, Any] | None:
        """What the account would allow after the charge; None if it does not take it."""
        return None if self.after is None else remaining_dict(self.after.remaining)

    @property
    def unasked(self) -> tuple[str, ...]:
        """The notes that are told where nobody is asked whether to go on."""
        told = (self.elsewhere, text("charge.promise_used_up"))
        return tuple(note for note in self.notes if note in told)

    @property
    def learned(self) -> Learned | None:
        """What may be learned from everything charged, this included; None if it is refused.

        If the account is not open, it is what this charge alone allows.
        """
        spec, after = self.charging.spec, self.after
        if after is not None:
            promises = [one.registered.promise(after) for one in self.promises]
            return learned(after.total, after.called(spec.unit), promises)
        alone = charges(self.charging.charges)
        if self.account is not None or len(alone) != 1:
            return None
        return learned(alone[0].guarantee, spec.unit)

    def in_beliefs(self) -> Iterator[str]:
        """Yield what may be learned in a sentence, where no promise says it."""
        found = None if self.promises else self.learned
        if found is None:
            return
        about = "membership" if found.rows[0].membership is not None else "value"
        most = [
            text("charge.belief", before=percent(row.prior, "up"), after=belief_percent(most))
            for row in found.rows
            if (most := row.to_dict()[about]) is not None
        ]
        said = text(f"charge.no_promise_{about}", unit=found.unit, beliefs="; ".join(most))
        yield f"{said} {probability_text(found.to_dict())}"


def spent_of(charged: Chargeable) -> dict[str, Any]:
    """Return charges as people are told them: {epsilon, delta, rho}, null for what does not apply.

    Several come only with a budget in ρ, where (ε, δ) of keys enters as ε²/2 and δ.
    """
    first, *more = charges(charged)
    if more:
        return Filter.ZCDP.cost(charged).to_dict()
    said = first.guarantee.to_dict()
    return parameters(said.get("epsilon"), said.get("delta"), said.get("rho"))


def assumed_account(spec: InFolder, charged: Chargeable) -> str | None:
    """Say for which account a promise was priced, where no ledger was read; None if any will do."""
    promise = spec.promised()
    if promise is None or promise.confidence is None:
        return None
    return text("charge.assumed_account", account=spec.account, filter=_filter_for(spec, charged))


def _filter_for(spec: InFolder, charged: Chargeable) -> str:
    """Return the narrowest rule of adding up that takes charges, and the δ of a promise."""
    kinds = {one.guarantee.kind for one in charges(charged)}
    if "concentrated" in kinds:
        return "zcdp"
    return "pure" if kinds == {"pure"} and not delta_in(spec.promise_keys or {}) else "basic"


@dataclass(frozen=True)
class Charging:
    """What a spec asks of an account: charges, its promise, perhaps the slot of a plan."""

    spec: InFolder
    ledger: Ledger
    charges: Chargeable
    purpose: str | None = None
    plan_id: str | None = None
    key: str | None = None
    retry: bool = False
    guaranteed: bool = True

    def __post_init__(self) -> None:
        if self.retry and self.key is None:
            raise InputError("charge.retry_without_key")

    @cached_property
    def promise(self) -> Promise | None:
        """The promise that the spec makes."""
        return self.spec.promised()

    @cached_property
    def filter(self) -> str:
        """The rule of adding up that an account needs to take the charges."""
        return _filter_for(self.spec, self.charges)

    @cached_property
    def cap(self) -> Amount:
        """The least cap of an account for this release and the series that it is one of.

        Its δ is that of the promise, where one is given: the promise was priced at it.
        """
        needed = Filter(self.filter).cost(self.charges).times(self._releases or 1)
        delta = delta_in(self.spec.promise_keys or {})
        return replace(needed, delta=Amount.of(delta=delta).delta) if delta else needed

    @property
    def spent(self) -> dict[str, Any]:
        """The charge as people are told it."""
        return spent_of(self.charges)

    @property
    def _releases(self) -> int | None:
        """Of how many releases the spec is one, where it says so."""
        series = getattr(self.spec, "series", None)
        return None if series is None else int(series.releases)

    def account(self) -> Account:
        """Return the account, or refuse: it must be open, with the spec's unit and adjacency."""
        terms, name = self.spec.protect.terms, self.spec.account
        opening: dict[str, Any] = {"filter": self.filter, "promise": self.spec.promise_keys}
        opening["file"] = self.spec.promise_file
        found = self.ledger.account(name, cap=self.cap, **terms, **opening)
        found.require(**terms)
        return found

    # -- before anything is spent

    def outlook(self, confirm: Confirm | None = None) -> Outlook:
        """Say what the charge would do with this `confirm`; nothing is written, nobody asked."""
        found = self._outlook(confirm)
        return replace(found, notes=(*found.notes, *found.in_beliefs()))

    def _outlook(self, confirm: Confirm | None) -> Outlook:
        notes, elsewhere = [text("charge.nothing_read")], self._elsewhere()
        notes += [] if elsewhere is None else [elsewhere]
        refused = after = paid = slot = None
        place: dict[str, Any] = {}
        repeated = False
        account = self.ledger.found(self.spec.account)
        if account is None:
            promises = self._if_opened()
            notes += self._on_promises(promises)
            try:
                self.account()
            except PolicyError as refusal:
                notes.append(refusal.on_the_command_line)
            said = tuple(notes)
            return Outlook(self, None, None, promises, None, None, said, elsewhere=elsewhere)
        again, begun = self._again(), len(notes)
        try:
            foreseen = self._foreseen()
            after, promises = foreseen.account, foreseen.promises
            if self.plan_id is not None:
                plan = self.ledger.plan(self.plan_id)
                slot = plan.next(self.key, retry=self.retry)
                made = plan.stored(slot)
                place = {"slot": slot, "of": plan.slots, "plan": plan.plan_id}
                told = "takes_slot" if made is None else "finds_stored"
                paid = text(f"charge.{told}", key=self.key, **place)
            elif (made := self._made()) is not None:
                paid = text("charge.finds_made", key=self.key, release=made.release_id)
            repeated = made is not None
            if made is not None:
                _check_kept(self.spec, self.ledger, str(self.key), str(made.release_id))
            notes += [] if paid is None else [paid]
            notes += self._on_promises(promises, place)
            _refuse_unconfirmed(again, True if callable(confirm) else confirm)
        except DiscreetError as refusal:
            refused = refusal
            if after is None:
                # Where they stand now: what this charge would leave is not known.
                promises = tuple(replace(one, cost=None) for one in self.ledger.promises(account))
            notes.append(text("charge.would_be_refused", why=refusal))
        if again is not None and (refused is None or again not in str(refused)):
            notes.insert(begun, again)
        said = tuple(notes)
        found = (account, after, promises, refused, again, said, paid, elsewhere, slot, repeated)
        return Outlook(self, *found)

    def _foreseen(self) -> Foreseen:
        """Refuse what the account would refuse now, which no yes overrides."""
        return self.ledger.check(
            self.account(),
            self.charges,
            promise=self.promise,
            plan_id=self.plan_id,
            idempotency_key=self.key,
            retry=self.retry,
            unit=self.spec.protect.unit,
            spec_hash=self.spec.hash,
            output=self.spec.path(self.spec.output),
        )

    def _made(self) -> Entry | None:
        return self.ledger.made(self.spec.account, self.key, self.plan_id, self.spec.hash)

    def _again(self) -> str | None:
        """Say that the spec was released before, if it was and no plan or key tells this run."""
        account, digest = self.spec.account, self.spec.hash
        named = self.plan_id is not None or self.key is not None
        if named or not (runs := self.ledger.runs(account, digest)):
            return None
        unfinished = self.ledger.unfinished(account)
        lost = sum(1 for entry in unfinished if entry.said.get("spec_hash") == digest)
        return text(f"charge.again{'_lost' if lost else ''}", runs=runs, lost=lost, account=account)

    def _source_hash(self) -> str | None:
        """Return what tells the source and its units from others, in this ledger alone."""
        source = self.spec.located
        if source is None:
            return None
        file = file_of(source)
        where = without_password(source) if file is None else str(self.spec.path(file))
        told = json.dumps([self.ledger.id, where, sorted(self.spec.protect.column)])
        return hashlib.sha256(told.encode()).hexdigest()

    def _elsewhere(self) -> str | None:
        """Say which other accounts were charged for the same source and unit, now or before."""
        begun = self.ledger.head != BEFORE_THE_FIRST
        digest = self._source_hash() if begun else None
        found = [] if digest is None else self.ledger.charged_for(digest, beside=self.spec.account)
        name = "charge.same_source"
        if begun and not found:  # the data of this run may be those of an account all the same
            found, name = self.ledger.sharing(self.spec.account), f"{name}_before"
        told = {"accounts": ", ".join(map(repr, found)), "account": self.spec.account}
        return text(name, **told) if found else None

    def _if_opened(self) -> tuple[Standing, ...]:
        """Return where the spec's promise would stand on an account that is opened for it."""
        if self.promise is None:
            return ()
        account = new_account(self.spec, self.filter, self.cap)
        cost, new = account.cost(self.charges), register(self.promise, account)
        return (Standing(new, new.promise(account).sentence(), cost, cost, recorded=False),)

    def _on_promises(
        self, promises: Iterable[Standing], slot: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Say in words how much of each promise this takes, and how many more like it fit.

        A `slot` of a plan was paid for with the plan.
        """
        found = []
        for one in promises:
            share, again = one.used, one.fits_again
            how = "_and_left" if again is not None else "_slot" if slot else ""
            told = {"sentence": one.sentence, "share": share, "again": again}
            found.append(text(f"charge.promise_used{how}", **told, **(slot or {})))
            if again == 0 and self._releases is None:
                room = one.room if one.fits_alone else None
                why = "used_up" if one.used_up else "no_other" if room is None else "no_room"
                left = "" if room is None else room.limit_text()
                found.append(text(f"charge.promise_{why}", left=left))
        return found

    # -- from reserve to publish

    @contextmanager
    def paid(
        self, confirm: Confirm | None = None, say: Say | None = None, who: str | None = None
    ) -> Iterator[Paid]:
        """Charge the account, or take the slot, and give the way to publish what was paid for.

        A key whose release is stored is found again (`Paid.repeat`): nothing is charged or drawn.
        """
        tell, output = say or _quiet, self.spec.path(self.spec.output)
        self.account()
        outputs.prepare(output)
        outputs.recover(self.ledger, output, tell)
        release_id = new_id()
        with outputs.work(self.ledger.id, release_id, output) as work:
            slot, entry = self._charged(release_id, confirm, tell, who or _user())
            paid = Paid(self, work, entry, slot)
            try:
                yield paid
            except DiscreetError as error:
                if isinstance(error, DataError):
                    told = {"why": error, "release": release_id}
                    error = DataError("charge.nothing_released", **told)
                if not paid.repeated:
                    work.ended()
                    error.charged = {"release_id": release_id, "spent": self.spent}
                raise error from None

    def _charged(
        self, release_id: str, confirm: Confirm | None, say: Say, who: str
    ) -> tuple[Slot | None, Entry]:
        spec = self.spec
        said: dict[str, Any] = {
            "purpose": self.purpose or spec.purpose,
            "who": who,
            "spec_hash": spec.hash,
            "promise": self.promise,
            "unit": spec.protect.unit,
            "release_id": release_id,
            "output": spec.path(spec.output),
            "source_hash": self._source_hash(),
        }
        if self.plan_id is not None:
            slot = self._taken(partial(self._slot, said), say)
            return slot, slot.entry
        notice = self._again()
        if notice is not None:
            self._foreseen()
            _refuse_unconfirmed(notice, confirm)
            say(notice)
        how: dict[str, Any] = {"guaranteed": self.guaranteed, "releases": self._releases}
        how |= {"idempotency_key": self.key, "retry": self.retry}
        reserve = partial(self.ledger.reserve, spec.account, self.charges, **how, **said)
        return None, self._taken(reserve, say)

    def _slot(self, said: Mapping[str, Any]) -> Slot:
        how = {"account": self.spec.account, "charge": self.charges, "retry": self.retry, **said}
        return self.ledger.next_slot(str(self.plan_id), self.key, **how)

    def _taken(self, take: Callable[[], T], say: Say) -> T:
        """Take it; where another host is making this key's release, wait for it a while."""
        until, told = time.monotonic() + PATIENCE, False
        while True:
            try:
                return take()
            except LostRelease as lost:
                age = datetime.now(UTC) - lost.taken
                ended = outputs.has_ended(self.ledger.id, lost.release_id)
                if ended or age > outputs.RECENT or time.monotonic() > until:
                    raise
            if not told:
                say(text("charge.waiting", key=self.key))
                told = True
            time.sleep(0.25)


@dataclass(frozen=True, slots=True)
class Paid:
    """A charge that is in the ledger: what was charged, and the way to publish what it paid for."""

    charging: Charging
    work: outputs.Work
    entry: Entry
    slot: Slot | None

    @property
    def release_id(self) -> str:
        """The release that was charged."""
        return str(self.entry.release_id)

    @property
    def repeated(self) -> bool:
        """Whether the key's release was stored before: then there is nothing to draw."""
        return self.entry.release_id != self.work.release_id

    def publish(self, write: Callable[[Path], None]) -> tuple[Path, ...]:
        """Store what `write` makes, record its hash, and show it; return its files."""
        digest = self.work.store(write)
        self.work.recording()
        try:
            self.charging.ledger.commit(self.release_id, digest)
        except InternalError:  # whether it is recorded is not known: the next run looks
            raise
        except DiscreetError:
            self.work.discard()
            raise
        try:
            return tuple(sorted(self.work.show().iterdir()))
        except OSError as error:
            raise InternalError(
                "charge.not_shown",
                release=self.release_id,
                output=self.work.output,
                why=error.strerror or type(error).__name__,
            ) from None

    def facts(self) -> dict[str, Any]:
        """Return what every stored release says of its charge and its account."""
        spec, ledger = self.charging.spec, self.charging.ledger
        account = ledger.account(spec.account)
        unit = account.called(spec.unit)
        made = ledger.made_promises(account)
        promises = [one.registered.promise(account) for one in made if one.withdrawn is None]
        found = learned(account.total, unit, promises)
        told = {
            "format": 2,
            "release_id": self.release_id,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "account": spec.account,
            "purpose": spec.purpose,
            "unit": spec.protect.model_dump(mode="json", exclude_none=True),
            "unit_name": str(unit),
            "spent": dict(self.charging.spent),
            "account_spent": account.spent.to_dict(),
            "remaining": remaining_dict(account.remaining),
            "ledger_id": ledger.id,
            "head": self.entry.hash,
            "spec_hash": spec.hash,
            "made_with": {"discreet": __version__},
            "promises": [one.to_dict() for one in made],
            "learned": None if found is None else found.to_dict(),
        }
        slot = self.slot
        if slot is not None:
            told["series"] = {"plan_id": slot.plan_id, "slot": slot.number, "of": slot.of}
        return told

    def repeat(self, say: Say | None = None) -> Repeat:
        """Return the release that the key stands for; refuse a key of something else."""
        charging = self.charging
        return _repeat(charging.spec, charging.ledger, str(charging.key), self.entry, say)


class Made(Tabular):
    """A release whose table is stored, made now or before: what a job does with either."""

    __slots__ = ()
    release_id: str
    table: Table

    @property
    def _of(self) -> InFolder:
        """The spec that it is a release of."""
        raise NotImplementedError

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the released table: texts, and values as numbers."""
        return self.table.to_columns()

    def doubles(self) -> list[str]:
        """Return the columns of the released table that have numbers."""
        return self.table.doubles()

    def to_arrow(self) -> Any:
        """Return the released table as Arrow: texts, and numbers as doubles."""
        return self.table.to_arrow()

    def report(self, *, note: str | None = None) -> Report:
        """Write the report of this release, as `discreet.report` does."""
        import discreet

        spec = self._of
        output = spec.path(spec.output)
        return discreet.report(self.release_id, ledger=spec.ledger_url, output=output, note=note)


@dataclass(frozen=True, slots=True)
class Repeat(Made, JsonReady):
    """A release that was made before, under the same key: nothing new was drawn."""

    shows: ClassVar = (
        *("release_id", "key", "slot", "spent", "remaining", "files", "statement", "head"),
        "series",
    )

    release_id: str
    key: str
    slot: int | None
    spent: dict[str, Any]
    remaining: dict[str, Any]
    files: tuple[Path, ...]
    statement: Path
    head: str
    spec: InFolder = field(repr=False)
    table: Table = field(repr=False)
    """As it was released, read from the stored files."""
    guarantee: Guarantee = field(repr=False)
    """What was charged, as one guarantee under the account's filter: `explain` takes it."""
    series: dict[str, Any] | None = None
    """As that of a release."""
    described: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def _of(self) -> InFolder:
        return self.spec

    @property
    def promise(self) -> Promise | None:
        """The promise that the spec makes."""
        return self.spec.promised()

    @property
    def unit_name(self) -> str:
        """What is protected, as sentences call it."""
        return str(self.spec.unit)

    def to_dict(self) -> dict[str, Any]:
        """Return the release as JSON-ready values, without its table, with `repeated`."""
        return JsonReady.to_dict(self) | {"repeated": True, **self.described}

    def __repr__(self) -> str:
        slot = "" if self.slot is None else f", slot {self.slot}"
        return f"Repeat({self.release_id!r}, key {self.key!r}{slot})"


def found_again(
    spec: InFolder, ledger: Ledger, key: str | None, plan_id: str | None, say: Say | None = None
) -> Repeat | None:
    """Return the stored release of a key, if there is one: no data or budget is asked for."""
    entry = None if key is None else ledger.made(spec.account, key, plan_id, spec.hash)
    if key is None or entry is None:
        return None
    output = spec.path(spec.output)
    outputs.prepare(output)
    outputs.recover(ledger, output, say or _quiet)
    return _repeat(spec, ledger, key, entry, say)


def _repeat(
    spec: InFolder, ledger: Ledger, key: str, entry: Entry, say: Say | None = None
) -> Repeat:
    release_id, plan_id, number = str(entry.release_id), entry.plan_id, entry.slot
    told: dict[str, Any] = {"key": key, "release": release_id}
    if entry.said.get("spec_hash") != spec.hash:
        raise PolicyError("charge.key_of_another", plan=plan_id, **told)
    where = spec.path(spec.output) / release_id
    _check_kept(spec, ledger, key, release_id)
    name = "charge.repeated"
    if plan_id is not None and number is not None:
        name, told = f"{name}_slot", {**told, "slot": number, "of": ledger.plan(plan_id).slots}
    recorded = next(e.output_hash for e in ledger.about(release_id) if e.kind == "commit")
    if outputs.hash_of(where) != recorded:
        raise PolicyError("charge.files_changed", release=release_id)
    stored = json.loads((where / outputs.RELEASE).read_text(encoding="utf-8"))
    (say or _quiet)(text(name, **told))
    series, account = stored.get("series"), ledger.account(spec.account)
    charged = {n: Decimal(repr(x)) for n, x in stored["spent"].items() if x is not None}
    return Repeat(
        release_id=release_id,
        key=key,
        slot=number,
        spent=stored["spent"],
        remaining=remaining_dict(account.remaining),
        guarantee=account.promise(Amount(**charged)),
        files=tuple(sorted(where.iterdir())),
        statement=where / outputs.STATEMENT,
        head=ledger.head,
        spec=spec,
        table=Table(stored["table"]),
        series=series and {**series, "free": ledger.plan(series["plan_id"]).free},
        described={**stored["plan"], "cut": stored.get("cut")},
    )


def _check_kept(spec: InFolder, ledger: Ledger, key: str, release_id: str) -> None:
    """Refuse to find a release again whose files are elsewhere: there is nothing to publish."""
    output = spec.path(spec.output)
    if not outputs.is_kept(ledger.id, output, release_id):
        raise PolicyError("charge.files_elsewhere", key=key, release=release_id, output=output)
