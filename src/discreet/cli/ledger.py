"""`discreet ledger`: open an account with its promise; charge, plan, show, verify it."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from discreet.cli.flags import (
    Amounts,
    Approval,
    FlagsFile,
    Json,
    OnAccount,
    OnLedger,
    PromiseFlags,
    described,
)
from discreet.cli.output import emit, table
from discreet.errors import InputError, PolicyError
from discreet.words import catalogue, say

if TYPE_CHECKING:
    from discreet.ledger import (
        Account,
        Earlier,
        Entry,
        Ledger,
        Plan,
        Sheet,
        Standing,
        Upgraded,
        Verification,
    )


class _Listed(TyperGroup):
    """A group whose help has the first paragraph of every command, whole."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        first = {name: (one.help or "").split("\n\n")[0] for name, one in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join(text.split())) for name, text in first.items()])


app = typer.Typer(
    cls=_Listed,
    help=catalogue().entry("commands.does.ledger"),
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)

To = Annotated[str, typer.Option("--to")]
_PROMISED = ("promises", "withdrawn")


@app.command("open")
@described("ledger_open")
def open_(
    promise: PromiseFlags,
    at: OnAccount,
    numbers: Amounts,
    approval: Approval,
    filter_: Annotated[str | None, typer.Option("--filter")] = None,
    no_cap: bool = False,
    period: str | None = None,
    period_epsilon: float | None = None,
    period_delta: float | None = None,
    period_rho: float | None = None,
    file: FlagsFile = None,
    as_json: Json = False,
) -> None:
    """Open an account with what it promises: the cap follows from the promise.

    Its unit, adjacency and filter never change; its cap only by grant; a promise ends only by
    withdraw. A cap in numbers (--epsilon, --rho) works too, alone or beside a promise.
    """
    from discreet.ledger.amounts import Filter
    from discreet.promises.keys import promise_from

    keys = promise.all_keys
    unit, unit_name = keys.pop("unit", "person"), keys.pop("unit_name", None)
    adjacency = keys.get("adjacency", "add-remove")
    promised = promise_from(None, keys) if promise.says_what else None
    delta, lead = numbers.delta, numbers.epsilon is not None or numbers.rho is not None
    cap = numbers.amount() if lead else None
    if [promised is not None or cap is not None, no_cap].count(True) != 1:
        raise InputError("cli.ledger.opened_with_nothing")
    if filter_ is None and no_cap:
        raise InputError("ledger.no_filter")
    rule = filter_ or Filter.needed(cap, delta, [promised] if promised else ())
    if rule == "basic" and delta is None and not no_cap:
        raise InputError("cli.ledger.no_delta")
    book = at.book()
    book.open_account(
        at.account,
        unit=unit,
        unit_name=unit_name,
        adjacency=adjacency,
        filter=rule,
        cap=cap,
        promise=promised,
        delta=None if promised is None or (rule == "pure" and not delta) else delta,
        period=period,
        period_cap=Amounts(period_epsilon, period_delta, period_rho).amount(),
        **approval.given,
    )
    said = say("cli.ledger.opened", account=at.account)
    more: dict[str, Any] = {}
    opened = {one.name: one.subject for one in book.accounts()}
    others = [name for name in opened if name != at.account and opened[name] == opened[at.account]]
    if others:
        told = {"unit": opened[at.account], "others": ", ".join(map(repr, others))}
        said += " " + say("cli.ledger.opened_beside", **told)
    if promised is not None and cap is not None:
        more["cap_given"] = cap.to_dict("down")
        said += " " + say("cli.ledger.smaller_cap", cap=cap.limit_text())
    _say(book, at.account, said, as_json, more)


@app.command()
@described("ledger_withdraw")
def withdraw(
    at: OnAccount,
    promise: Annotated[str, typer.Option("--promise")],
    approval: Approval,
    as_json: Json = False,
) -> None:
    """End a promise; every later report of what was released under it says so."""
    book = at.book()
    book.withdraw(at.account, promise, **approval.given)
    said = say("cli.ledger.withdrew", promise=promise, account=at.account)
    _say(book, at.account, said, as_json)


@app.command()
@described("ledger_backup")
def backup(at: OnLedger, to: To, as_json: Json = False) -> None:
    """Copy a ledger into a file or a database that has none, and verify the copy."""
    _copy(at, to, as_json, move=False)


@app.command()
@described("ledger_move")
def move(at: OnLedger, to: To, as_json: Json = False) -> None:
    """Move a ledger to another database; the old one refuses everything from then on."""
    _copy(at, to, as_json, move=True)


def _copy(at: OnLedger, to: str, as_json: bool, *, move: bool) -> None:
    url = to if "://" in to else f"sqlite:///{Path(to).resolve()}"
    found = at.book().copy(url, move=move)
    where = OnLedger(url).book().url
    said = say(f"cli.ledger.{'moved' if move else 'copied'}", url=where)
    payload = {"spent": None, "remaining": None, "copy": where} | found.to_dict()
    emit(payload, [said, *_chain_lines(found)], as_json)


@app.command()
@described("ledger_restore")
def restore(
    at: OnLedger,
    approval: Approval,
    output: Path | None = None,
    as_json: Json = False,
) -> None:
    """Answer for a ledger that was restored from an older copy, so that it is charged again."""
    book = at.book()
    lost = book.restore(**approval.given, output=output)
    lines = [say("cli.ledger.restored", lost=len(lost)), *(f"  {head}" for head in lost)]
    found = book.verify()
    payload = {"spent": None, "remaining": None, "lost": lost} | found.to_dict()
    emit(payload, lines + _chain_lines(found), as_json)


@app.command()
@described("ledger_grant")
def grant(
    at: OnAccount,
    numbers: Amounts,
    approval: Approval,
    period: bool = False,
    as_json: Json = False,
) -> None:
    """Raise a cap by so much; the approver and the reason stand in the chain."""
    add = numbers.amount()
    if add is None:
        raise InputError("cli.ledger.grant_nothing")
    book = at.book()
    which: Literal["lifetime", "period"] = "period" if period else "lifetime"
    after = book.grant(at.account, add=add, which=which, **approval.given)
    words = say("cli.ledger.raised", account=at.account, amount=add)
    if after.promises:
        words += " " + say("cli.ledger.promises_bind")
    _say(book, at.account, words, as_json)


@app.command()
@described("ledger_charge")
def charge(
    at: OnAccount,
    numbers: Amounts,
    adjacency: str = "add-remove",
    unit: str = "person",
    mechanism: str | None = None,
    purpose: str = "release made elsewhere",
    who: str | None = None,
    release_id: str | None = None,
    output_hash: str | None = None,
    as_json: Json = False,
) -> None:
    """Charge a release that was made elsewhere."""
    from discreet.guarantees import stated
    from discreet.ledger import Charge
    from discreet.statements.presenter import cost_text

    book = at.book()
    repeated = release_id is not None and bool(book.about(release_id))
    entry = book.charge(
        at.account,
        Charge(stated(**numbers.given, adjacency=adjacency), mechanism),
        unit=unit,
        purpose=purpose,
        who=_who(who),
        release_id=release_id,
        output_hash=output_hash,
    )
    name = entry.release_id
    cost = cost_text(entry.cost, book.account(at.account))
    how = "charged_before" if repeated else "charged"
    said = say(f"cli.ledger.{how}", cost=cost, account=at.account, release_id=name)
    _say(book, at.account, said, as_json, {"release_id": name, "repeated": repeated})


@app.command()
@described("ledger_plan")
def plan(
    at: OnAccount,
    releases: Annotated[int, typer.Option("--releases", "--times")],
    epsilon: float | None = None,
    delta_each: float | None = None,
    rho: float | None = None,
    delta: float | None = None,
    method: str | None = None,
    adjacency: str = "add-remove",
    purpose: str = "registered plan",
    who: str | None = None,
    key: str | None = None,
    as_json: Json = False,
) -> None:
    """Register a series and charge all of it now; its releases then cost nothing more."""
    from discreet.guarantees import stated
    from discreet.ledger import Charge, Part
    from discreet.ledger.plans import composed, equal_part, planned_before
    from discreet.statements.presenter import amount_text, spent_and_cap

    book, account = at.book(), at.account
    found = book.account(account)
    if epsilon is rho is delta_each is None:
        before = planned_before(book.entries(account), key, releases)
        each = before or equal_part(found, releases, delta, method)
    else:
        each = stated(epsilon, delta_each, rho, adjacency=adjacency)
    part = Part(Charge(each), releases)
    total, by, theorem = composed(found, [part], delta, method)
    plan_id = book.register_plan(
        account, [part], total, method=by, purpose=purpose, who=_who(who), idempotency_key=key
    )
    cost, _ = spent_and_cap(book.plan(plan_id).cost, found.remaining)
    said = say(
        "cli.ledger.planned",
        plan_id=plan_id,
        releases=releases,
        each=amount_text(each.to_dict(), "up"),
        cost=cost,
        method=by,
        theorem=theorem,
    )
    said_of_plan = {"plan_id": plan_id, "key": key, "method": by, "theorem": theorem}
    _say(book, account, said, as_json, said_of_plan)


@app.command()
@described("ledger_show")
def show(at: OnLedger, account: str | None = None, as_json: Json = False) -> None:
    """Show what was spent and is left, the releases of each plan, every entry, and the head."""
    book = at.book()
    if account is not None:
        sheet = book.show(account)
        found = book.verify()
        payload = sheet.to_dict() | {"verified": found.verified}
        lines = [*_sheet_lines(sheet), *_chain_lines(found, sheet.head)]
        emit(payload, lines, as_json)
        return
    found, entries = book.verify(), book.entries()
    sheets = [book.show(one.name) for one in book.accounts()]
    payload = {
        "accounts": [
            sheet.account.to_dict()
            | {name: [p.to_dict() for p in getattr(sheet, name)] for name in _PROMISED}
            for sheet in sheets
        ],
        "entries": [entry.to_dict() for entry in entries],
        "spent": None,
        "remaining": None,
        "verified": found.verified,
        "head": found.head,
    }
    lines = [line for sheet in sheets for line in [*_sheet_lines(sheet), ""]]
    emit(payload, [*lines, *_chain_lines(found)], as_json)


def _sheet_lines(sheet: Sheet) -> list[str]:
    """An account with its promises, its plans and its entries."""
    lines = [*_account_lines(sheet.account, sheet.promises), *_promise_lines(sheet)]
    lines += [
        *_withdrawn_lines(sheet),
        *_restored_lines([one.said for one in sheet.restored]),
        *_plan_lines(sheet.plans),
        *_series_lines(sheet),
        "",
        *_entry_lines(sheet),
    ]
    lost = (say("cli.ledger.no_output", release_id=one.release_id) for one in sheet.unfinished)
    return [*lines, *lost]


@app.command()
@described("ledger_sign")
def sign(
    at: OnLedger,
    key: Annotated[Path, typer.Option("--key")],
    output: Path = Path("head.json"),
    as_json: Json = False,
) -> None:
    """Verify the ledger, and sign its head with an SSH key."""
    from discreet.ledger.witness import sign

    found, file, signature = sign(at.book(), key, output)
    payload = {"spent": None, "remaining": None} | found.to_dict()
    payload |= {"files": [str(file.resolve()), str(signature.resolve())]}
    said = say("cli.ledger.signed", file=file, signature=signature)
    emit(payload, [*_chain_lines(found), said], as_json)


@app.command()
@described("ledger_verify")
def verify(
    at: OnLedger,
    account: str | None = None,
    head: str | None = None,
    signature: Path | None = None,
    signers: Path | None = None,
    signer: str | None = None,
    as_json: Json = False,
) -> None:
    """Recompute the whole chain; exit 1 if anything in it is not as it was written."""
    from discreet.errors import DiscreetError
    from discreet.ledger.witness import kept, newest_in, shared_folder

    book = at.book()
    more: dict[str, Any] = {}
    if signature is None:
        found = book.verify(head)
    elif head is not None:
        raise InputError("cli.ledger.two_heads")
    else:
        from discreet.ledger.witness import verify

        found, signed = verify(book, signature, signers, signer)
        more["signature"] = None if signed is None else signed.to_dict()
    payload: dict[str, Any] = {"spent": None, "remaining": None} | found.to_dict() | more
    payload["lost"] = list(found.lost)
    if account is not None:
        try:
            said = book.account(account).to_dict()
            payload |= {name: said[name] for name in ("account", "spent", "remaining")}
        except DiscreetError:
            # Of a broken ledger nothing is said but that it is broken.
            if found.verified:
                raise
    lines = [*_chain_lines(found), *_restored_lines([one.to_dict() for one in found.restored])]
    if (folder := shared_folder()) is not None:
        heads = {str(said["head"]) for said in kept(found.hashes[0])} if found.hashes else set()
        payload["witness"] = there = newest_in(found.hashes)
        lacks = len(heads.intersection(found.lost))
        how = "saw" if there else "not_here" if heads else "knows_nothing"
        how = "lacks" if there and lacks else how
        told = {"folder": folder, "seq": there, "lacks": lacks}
        lines.append(say(f"cli.ledger.witness_{how}", **told))
    if signed := more.get("signature"):
        whose = say("cli.ledger.anyone") if signed["signer"] is None else signed["signer"]
        lines.append(say("cli.ledger.signed_by", key=signed["key"], signer=whose))
        head = signed["head"]
    if found.lost:
        refusal = PolicyError("ledger.behind", url=book.url, head=found.lost[0])
        lines.append(str(refusal.flags))
    if found.since_head:
        lines.append(say("cli.ledger.since_head", head=head, entries=found.since_head))
    if found.verified:
        lines.append(f"  {found.reach}" if found.reach else say("cli.ledger.keep_head"))
    emit(payload, lines, as_json)
    if not found.verified:
        raise typer.Exit(PolicyError.exit_code if found.lost else 1)


@app.command()
@described("ledger_upgrade")
def upgrade(at: OnLedger, output: Path | None = None, as_json: Json = False) -> None:
    """Bring a ledger of an older format to the newest; older Discreets refuse it from then on.

    What earlier releases promised becomes a promise of their accounts. Where one is not kept,
    nothing more is charged to its account until it is withdrawn.
    """
    book = at.book()
    done = book.upgrade(output)
    found = book.verify()
    payload = {"spent": None, "remaining": None, "from": done.before, "to": done.after}
    payload |= found.to_dict() | {"releases": [one.to_dict() for one in done.releases]}
    said = say("cli.ledger.upgraded", before=done.before, after=done.after)
    if done.before == done.after:
        seen = "unchanged" if done.looked_in is None else "newest"
        said = say(f"cli.ledger.{seen}", format=done.after)
    lines = [said, *_earlier_lines(done, book.url), *_chain_lines(found)]
    emit(payload, lines, as_json)


def _earlier_lines(done: Upgraded, url: str) -> list[str]:
    """What earlier releases promised, whether it is kept, and what to do where it is not."""
    import shlex

    if done.looked_in is None:
        return [] if done.before == done.after else [say("cli.ledger.not_looked")]
    lines = [say("cli.ledger.looked", folder=done.looked_in, releases=len(done.releases))]
    for one in done.releases:
        state = "not registered" if one.kept is None else "kept" if one.kept else "NOT KEPT"
        about = one.sentence if one.reason is None else one.reason
        lines += [f"  {one.release_id} on {one.account!r}: {state}", f"    {about}"]
    broken = {(one.account, one.promise_id): None for one in done.releases if _blocks(one)}
    if broken:
        lines.append(say("cli.ledger.blocked"))
    for account, promise_id in broken:
        words = ["discreet", "ledger", "withdraw", "--ledger", url, "--account", account]
        words += ["--promise", str(promise_id)]
        lines.append(f"  {shlex.join(words)} --approver NAME --reason WHY")
    return lines


def _blocks(one: Earlier) -> bool:
    return one.kept is False and one.reason is None


def _who(given: str | None) -> str:
    if given:
        return given
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        raise InputError("cli.ledger.nobody") from None


def _say(
    book: Ledger, account: str, said: str, as_json: bool, more: dict[str, Any] | None = None
) -> None:
    """Print what a writing command did, and where the account stands."""
    sheet, found = book.show(account), book.verify()
    payload = sheet.to_dict() | {
        "entries": [sheet.entries[-1].to_dict()],
        "verified": found.verified,
        "head": sheet.head,
    }
    lines = [said, *_account_lines(sheet.account, sheet.promises), *_promise_lines(sheet)]
    lines += _plan_lines(sheet.plans)
    lines += _chain_lines(found, sheet.head)
    emit(payload | (more or {}), lines, as_json)


def _account_lines(account: Account, promises: Sequence[Standing]) -> list[str]:
    from discreet.statements.presenter import left_text, spent_and_cap

    last = next((one.cost for one in promises), None)
    used, most = spent_and_cap(account.spent, account.cap, account.promises.values())
    kind = "" if account.unit in str(account.subject).split() else f" ({account.unit})"
    rows = [
        ["account", account.name],
        ["unit", f"{account.subject}{kind}, {account.adjacency.value}"],
        ["filter", account.filter.value],
        ["spent", used],
    ]
    if account.cap is None or account.remaining is None:
        rows.append(["cap", say("ledger.no_cap")])
    else:
        rows += [["cap", most], ["left", left_text(account.remaining, last)]]
    if account.period_cap is not None and account.period_spent is not None:
        now = account.period_now or f"this {account.period}"
        used, most = account.period_spent.beside(account.period_cap)
        pace = say("cli.ledger.pace", cap=most)
        rows.append([f"a {account.period}", pace])
        rows.append([f"in {now}", used])
    return table(rows)


def _promise_lines(sheet: Sheet) -> list[str]:
    """Where the account stands under each promise: in words, in budget, in releases."""
    from discreet.rounding import percent
    from discreet.statements.presenter import left_text

    lines, promises = [], sheet.promises
    for one in promises:
        state = "" if one.kept else say("cli.ledger.not_kept")
        lines += ["", f"  promise {one.registered.id}{state}", f"    {one.sentence}"]
        _, most = one.spent.beside(one.registered.limit)
        rest = (one.registered.limit if one.kept else one.spent).minus(one.spent)
        # At no further δ: ε or ρ alone.
        left, room, cost = (
            None if amount is None else replace(amount, delta=None)
            for amount in (rest, one.room, one.cost)
        )
        told = {"most": most, "used": one.used, "left": left_text(left, cost)}
        said = say("cli.ledger.allows", **told)
        if one.room is not None and one.room.lead < rest.lead:
            cap = sheet.account.cap
            by = "cap" if cap and cap.minus(one.spent).lead == one.room.lead else "promise"
            said += say(f"cli.ledger.room_{by}", room=left_text(room, cost))
        again = one.fits_again
        lines.append(said if again is None else say("cli.ledger.fits", said=said, again=again))
        if one.reached is not None and one.share_used > 0:
            before, after = one.reached
            reached = {"before": percent(before, "up"), "after": percent(after, "up", 1)}
            lines.append(say("cli.ledger.so_far", **reached))
    sure = [one.registered.keys.get("confidence") for one in promises]
    if len(sure) > 1 and any(sure):
        lines.append(say("cli.ledger.each_by_itself"))
    return lines


def _withdrawn_lines(sheet: Sheet) -> list[str]:
    """The promises that were withdrawn: when, by whom and why, and what is beyond them by now."""
    from discreet.statements.presenter import cost_text
    from discreet.statements.tables import exceeded_text

    lines, now = [], cost_text(sheet.account.spent, sheet.account)
    for one in sheet.withdrawn:
        told = dict(one.withdrawn or {})
        told["at"] = told["at"][:10]
        limit = one.registered.limit
        lines += ["", say("cli.ledger.withdrawn_since", id=one.registered.id, **told)]
        lines += [f"    {one.sentence}", say("cli.ledger.allowed", most=limit.limit_text())]
        lines += [f"    {exceeded_text(limit.stored(), now)}"] if one.exceeded else []
    return lines


def _restored_lines(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """That entries were lost: when, who answered for it, and why."""
    from discreet.statements.tables import restored_lines

    told = restored_lines([{**one, "entry": one["seq"]} for one in entries], plain=True)
    return [line for one in told for line in ("", f"  {one}")]


def _plan_lines(plans: Sequence[Plan]) -> list[str]:
    """Each release of a plan: made or not, when, for which key; and how to make the next."""
    lines = []
    for one in plans:
        said = {"plan_id": one.plan_id, "slots": one.slots, "free": one.free}
        lines += ["", say("cli.ledger.free", **said)]
        taken = one.takings()
        rows = [
            [
                str(row["slot"]),
                say(f"cli.ledger.slot_{'made' if row['stored'] else 'lost'}"),
                row["at"][:10],
                row["key"] or "",
                row["release_id"],
            ]
            for row in taken
        ]
        begun = {row["slot"] for row in taken}
        free = [str(n) for n in range(1, one.slots + 1) if n not in begun]
        if free:
            ends = "–".join(dict.fromkeys((free[0], free[-1])))
            rows.append([ends, say("cli.ledger.slot_free"), "", "", ""])
        header = [say(f"cli.ledger.slot_{name}") for name in ("number", "state", "at", "key", "of")]
        lines += [f"  {line}" for line in table(rows, header)] if taken else []
        lines += [say("cli.ledger.take_next", **said)] if one.free else []
    return lines


def _series_lines(sheet: Sheet) -> list[str]:
    """Of how many releases each was charged as one, and how many of them were made."""
    lost = {one.release_id for one in sheet.unfinished}
    made: dict[tuple[str, int], int] = {}
    for one in sheet.entries:
        if one.kind == "reserve" and (of := one.said.get("releases")) is not None:
            series = str(one.said["purpose"]), int(of)
            made[series] = made.get(series, 0) + (one.release_id not in lost)
    return [
        say("cli.ledger.series", purpose=what, releases=of, made=count)
        for (what, of), count in made.items()
    ]


def _entry_lines(sheet: Sheet) -> list[str]:
    header = [say("cli.ledger.number"), "when (UTC)", "what", "amount", "of", "who", "why"]
    return table([_entry_row(entry, sheet.account) for entry in sheet.listed], header)


def _entry_row(entry: Entry, account: Account) -> list[str]:
    """An entry: its number, time and kind, what it costs or adds, what it is about, who, why."""
    from discreet.ledger.amounts import Amount
    from discreet.statements.presenter import charged_as, cost_text, opening_cap, who_text

    said, amount = entry.said, cost_text(entry.cost, account)
    if entry.kind == "open":
        amount = opening_cap(said, account.spent)
    elif "add" in said:
        amount = f"+ {Amount.restored(said['add'])}"
    elif entry.kind == "charge" and (given := charged_as(entry)):
        amount = say("cli.ledger.given_as", cost=amount, given=given)
    about = entry.release_id or entry.plan_id or said.get("promise_id")
    return [
        str(entry.seq),
        entry.at[:19],
        entry.kind,
        amount,
        str(about or said.get("promise", {}).get("id") or ""),
        who_text(said),
        str(said.get("purpose") or said.get("reason") or ""),
    ]


def _chain_lines(found: Verification, head: str | None = None) -> list[str]:
    lines, problems = [f"  head {head or found.head}"], found.problems
    if not problems:
        return [*lines, say("cli.ledger.verified")]
    shown = [f"  - {problem}" for problem in problems[:20]]
    more = [f"  … and {len(problems) - 20} more"] if len(problems) > 20 else []
    how = "lacks_head" if found.head_answered else "altered"
    return [*lines, say(f"cli.ledger.{how}"), *shown, *more]
