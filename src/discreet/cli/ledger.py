"""`discreet ledger`: open an account with its promise; charge, plan, show, verify it."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.files import FILE_HELP, flags_from
from discreet.cli.options import JsonOption
from discreet.cli.output import emit, table
from discreet.cli.promise_options import PromiseFlags, takes_promise
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.guarantees import Guarantee
    from discreet.ledger import (
        Account,
        Amount,
        Charge,
        Earlier,
        Entry,
        Ledger,
        Standing,
        Upgraded,
    )

__all__ = ["app"]

app = typer.Typer(
    help="The account: open, withdraw, grant, charge, plan, show, verify, upgrade.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)

Url = Annotated[
    str,
    typer.Option(
        "--ledger", help="Where it is: sqlite:///ledger.db, or postgresql://user@host/database."
    ),
]
Name = Annotated[str, typer.Option("--account", help="The population it is charged to.")]
AnyName = Annotated[str | None, typer.Option("--account", help="One account; else all.")]
Epsilon = Annotated[float | None, typer.Option("--epsilon", help="ε.")]
Delta = Annotated[float | None, typer.Option("--delta", help="δ.")]
Rho = Annotated[float | None, typer.Option("--rho", help="ρ of zero-concentrated DP.")]
Adjacent = Annotated[str, typer.Option("--adjacency", help="add-remove, replace or local.")]
Approver = Annotated[str | None, typer.Option("--approver", help="Who approved it; needed.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why; needed.")]
Mechanism = Annotated[
    str | None, typer.Option("--mechanism", help="Its name; exponential costs ε²/8 as zCDP.")
]
Who = Annotated[str | None, typer.Option("--who", help="Who charges; else your login name.")]


@app.command("open")
@takes_promise()
def open_(
    promise: PromiseFlags,
    ledger: Url,
    account: Name,
    filter_: Annotated[
        str | None,
        typer.Option("--filter", help="pure, basic or zcdp; else the one that the cap is in."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Annotated[
        float | None, typer.Option("--delta", help="δ that may be spent in all, of (ε, δ) or ρ.")
    ] = None,
    rho: Rho = None,
    no_cap: Annotated[
        bool, typer.Option("--no-cap", help="Count what is spent and limit nothing.")
    ] = False,
    period: Annotated[
        str | None, typer.Option("--period", help="day, week, month, quarter or year (UTC).")
    ] = None,
    period_epsilon: Annotated[float | None, typer.Option(help="ε a period, at most.")] = None,
    period_delta: Annotated[float | None, typer.Option(help="δ a period, at most.")] = None,
    period_rho: Annotated[float | None, typer.Option(help="ρ a period, at most.")] = None,
    approver: Approver = None,
    reason: Reason = None,
    file: Annotated[
        Path | None,
        typer.Option(is_eager=True, callback=flags_from("ledger_open"), help=FILE_HELP),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Open an account with what it promises: the cap follows from the promise.

    Its unit, adjacency and filter never change; its cap only by grant; a promise ends only by
    withdraw. A cap in numbers (--epsilon, --rho) works too, alone or beside a promise.
    """
    from discreet.ledger import Ledger

    keys = promise.all_keys
    unit, unit_name = keys.pop("unit", "person"), keys.pop("unit_name", None)
    adjacency = keys.get("adjacency", "add-remove")
    promised = _promised(keys) if promise.says_what else None
    lead = epsilon is not None or rho is not None
    cap = _amount(epsilon, delta if lead else None, rho)
    if [promised is not None or cap is not None, no_cap].count(True) != 1:
        raise InputError(
            "An account is opened with what it promises (--posterior 0.12 --prior 0.05, or any "
            "flags of discreet choose), with a cap in numbers (--epsilon, --delta, --rho), or says "
            "that it has none (--no-cap)."
        )
    if filter_ is None and no_cap:
        raise InputError("Without a cap, say how to add up: --filter pure, basic or zcdp.")
    rule = filter_ or ("zcdp" if rho is not None else "pure" if not delta else "basic")
    if rule == "basic" and delta is None and not no_cap:
        raise InputError(
            "The filter basic adds up ε and δ; say how much δ may be spent in all (--delta 1e-6, "
            "or 0), or use the filter pure."
        )
    book = Ledger.open(ledger)
    book.open_account(
        account,
        unit=unit,
        unit_name=unit_name,
        adjacency=adjacency,
        filter=rule,
        cap=cap,
        promise=promised,
        delta=delta if promised is not None and rule != "pure" else None,
        period=period,
        period_cap=_amount(period_epsilon, period_delta, period_rho),
        approver=approver or "",
        reason=reason or "",
    )
    said = f"Opened account {account!r}."
    more: dict[str, Any] = {}
    if promised is not None and cap is not None:
        more["cap_given"] = cap.to_dict("down")
        said += f" The cap given is {cap.limit_text()}; of it and what the promise allows, the "
        said += "smaller counts."
    _say(book, account, said, as_json, more)


def _promised(keys: dict[str, Any]) -> Any:
    from discreet.promises.keys import promise_from

    return promise_from(None, keys)


@app.command()
def withdraw(
    ledger: Url,
    account: Name,
    promise: Annotated[str, typer.Option("--promise", help="The promise, by its id.")],
    approver: Approver = None,
    reason: Reason = None,
    as_json: JsonOption = False,
) -> None:
    """End a promise; every later report of what was released under it says so."""
    from discreet.ledger import Ledger

    book = Ledger.open(ledger)
    book.withdraw(account, promise, approver=approver or "", reason=reason or "")
    _say(book, account, f"Withdrew promise {promise} of {account!r}.", as_json)


@app.command()
def grant(
    ledger: Url,
    account: Name,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    period: Annotated[
        bool, typer.Option("--period", help="Raise the period's cap, not the lifetime's.")
    ] = False,
    approver: Approver = None,
    reason: Reason = None,
    as_json: JsonOption = False,
) -> None:
    """Raise a cap by so much; the approver and the reason stand in the chain."""
    from discreet.ledger import Ledger

    add = _amount(epsilon, delta, rho)
    if add is None:
        raise InputError("Say by how much the cap is raised: --epsilon, --delta or --rho.")
    book = Ledger.open(ledger)
    book.grant(
        account,
        add=add,
        approver=approver or "",
        reason=reason or "",
        which="period" if period else "lifetime",
    )
    words = f"Raised the cap of {account!r} by {add}."
    if book.account(account).promises:
        words += " The promises of the account still bind: a cap does not end them."
    _say(book, account, words, as_json)


@app.command()
def charge(
    ledger: Url,
    account: Name,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    adjacency: Adjacent = "add-remove",
    unit: Annotated[str, typer.Option("--unit", help="person, record or partition.")] = "person",
    mechanism: Mechanism = None,
    purpose: Annotated[str, typer.Option(help="What it was for.")] = "release made elsewhere",
    who: Who = None,
    release_id: Annotated[str | None, typer.Option(help="Its name elsewhere; once only.")] = None,
    output_hash: Annotated[str | None, typer.Option(help="The hash of what was published.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Charge a release that was made elsewhere."""
    from discreet.ledger import Ledger

    book = Ledger.open(ledger)
    entry = book.charge(
        account,
        _charge(epsilon, delta, rho, adjacency, mechanism),
        unit=unit,
        purpose=purpose,
        who=_who(who),
        release_id=release_id,
        output_hash=output_hash,
    )
    said = f"Charged {entry.cost} to {account!r} as release {entry.release_id}."
    _say(book, account, said, as_json, {"release_id": entry.release_id})


@app.command()
def plan(
    ledger: Url,
    account: Name,
    releases: Annotated[int, typer.Option("--releases", "--times", help="How many.")],
    epsilon: Annotated[float | None, typer.Option(help="ε of one release.")] = None,
    delta_each: Annotated[float | None, typer.Option(help="δ of one release.")] = None,
    rho: Annotated[float | None, typer.Option(help="ρ of one release.")] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", help="δ of the whole plan, for tighter accounting.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="basic, advanced, optimal or curve; else the smallest.")
    ] = None,
    adjacency: Adjacent = "add-remove",
    mechanism: Mechanism = None,
    purpose: Annotated[str, typer.Option(help="What it is for.")] = "registered plan",
    who: Who = None,
    as_json: JsonOption = False,
) -> None:
    """Register a series and charge all of it now; its releases then cost nothing more."""
    from discreet.ledger import Ledger
    from discreet.ledger.plans import Part, composed

    book = Ledger.open(ledger)
    part = Part(_charge(epsilon, delta_each, rho, adjacency, mechanism), releases)
    total, by = composed(book.account(account), [part], delta, method)
    plan_id = book.register_plan(account, [part], total, method=by, purpose=purpose, who=_who(who))
    cost = book.plan(plan_id).cost
    said = f"Registered plan {plan_id}: {releases} releases, charged {cost} by {by} accounting."
    _say(book, account, said, as_json, {"plan_id": plan_id, "method": by})


@app.command()
def show(ledger: Url, account: AnyName = None, as_json: JsonOption = False) -> None:
    """Show what was spent, what is left, every entry, and the head of the chain."""
    from discreet.ledger import Ledger

    book = Ledger.open(ledger)
    if account is not None:
        sheet = book.show(account)
        found = book.verify()
        payload = sheet.to_dict() | {"verified": found.verified}
        lines = [*_account_lines(sheet.account), *_promise_lines(sheet.promises)]
        lines += ["", *_entry_lines(list(sheet.entries))]
        for entry in sheet.unfinished:
            lines.append(f"  {entry.release_id} has no stored output; its charge is spent.")
        emit(payload, [*lines, *_chain_lines(sheet.head, found.problems)], as_json)
        return
    found, accounts, entries = book.verify(), book.accounts(), book.entries()
    payload = {
        "accounts": [
            one.to_dict() | {"promises": [p.to_dict() for p in book.promises(one)]}
            for one in accounts
        ],
        "entries": [entry.to_dict() for entry in entries],
        "spent": None,
        "remaining": None,
        "verified": found.verified,
        "head": found.head,
    }
    lines = [
        line
        for one in accounts
        for line in [*_account_lines(one), *_promise_lines(book.promises(one)), ""]
    ]
    emit(payload, [*lines, *_chain_lines(found.head, found.problems)], as_json)


@app.command()
def verify(
    ledger: Url,
    account: AnyName = None,
    head: Annotated[
        str | None, typer.Option("--head", help="A hash kept elsewhere: must be in the chain.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Recompute the whole chain; exit 1 if anything in it is not as it was written."""
    from discreet.errors import DiscreetError
    from discreet.ledger import Ledger

    book = Ledger.open(ledger)
    found = book.verify(head)
    payload: dict[str, Any] = {"spent": None, "remaining": None} | found.to_dict()
    if account is not None:
        try:
            said = book.account(account).to_dict()
            payload |= {name: said[name] for name in ("account", "spent", "remaining")}
        except DiscreetError:
            # Of a broken ledger nothing is said but that it is broken.
            if found.verified:
                raise
    lines = _chain_lines(found.head, found.problems)
    if found.since_head:
        lines.append(f"  entries since {head}: {found.since_head}")
    if found.verified and head is None:
        lines.append("  A cut-off end shows only against a head kept elsewhere (--head).")
    emit(payload, lines, as_json)
    if not found.verified:
        raise typer.Exit(1)


@app.command()
def upgrade(
    ledger: Url,
    output: Annotated[
        Path | None,
        typer.Option(help="Where its releases are stored; else beside a ledger in a file."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a ledger of an older format to the newest; older Discreets refuse it from then on.

    What earlier releases promised becomes a promise of their accounts. Where one is not kept,
    nothing more is charged to its account until it is withdrawn.
    """
    from discreet.ledger import Ledger

    book = Ledger.open(ledger)
    done = book.upgrade(output)
    found = book.verify()
    payload = {"spent": None, "remaining": None, "from": done.before, "to": done.after}
    payload |= found.to_dict() | {"releases": [one.to_dict() for one in done.releases]}
    said = f"Upgraded from format {done.before} to {done.after}."
    if done.before == done.after:
        said = f"The ledger already has format {done.after}"
        said += "; nothing was changed." if done.looked_in is None else "."
    lines = [said, *_earlier_lines(done, book.url), *_chain_lines(found.head, found.problems)]
    emit(payload, lines, as_json)


def _earlier_lines(done: Upgraded, url: str) -> list[str]:
    """What earlier releases promised, whether it is kept, and what to do where it is not."""
    import shlex

    if done.looked_in is None:
        where = "Earlier releases were not looked for; give their folder with --output."
        return [] if done.before == done.after else [where]
    lines = [
        f"  looked for earlier releases in {done.looked_in}: {len(done.releases)} with a promise"
    ]
    for one in done.releases:
        state = "not registered" if one.kept is None else "kept" if one.kept else "NOT KEPT"
        about = one.sentence if one.reason is None else one.reason
        lines += [f"  {one.release_id} on {one.account!r}: {state}", f"    {about}"]
    broken = {(one.account, one.promise_id): None for one in done.releases if _blocks(one)}
    if broken:
        lines.append("Nothing more is charged to these accounts until each of these is withdrawn:")
    for account, promise_id in broken:
        words = ["discreet", "ledger", "withdraw", "--ledger", url, "--account", account]
        words += ["--promise", str(promise_id)]
        lines.append(f"  {shlex.join(words)} --approver NAME --reason WHY")
    return lines


def _blocks(one: Earlier) -> bool:
    return one.kept is False and one.reason is None


def _amount(epsilon: float | None, delta: float | None, rho: float | None) -> Amount | None:
    from discreet.ledger import Amount

    if epsilon is None and delta is None and rho is None:
        return None
    return Amount.of(epsilon=epsilon, delta=delta, rho=rho)


def _charge(
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    adjacency: str,
    mechanism: str | None,
) -> Charge:
    from discreet.guarantees import ZCDP, Adjacency, ApproxDP, PureDP
    from discreet.ledger import Charge

    where = Adjacency.of(adjacency)
    guarantee: Guarantee
    if rho is not None and epsilon is None and delta is None:
        guarantee = ZCDP(rho, adjacency=where)
    elif rho is None and epsilon is not None:
        pure = delta is None
        guarantee = (
            PureDP(epsilon, adjacency=where)
            if pure
            else ApproxDP(epsilon, delta or 0.0, adjacency=where)
        )
    else:
        raise InputError("Say what one release promises: --epsilon, --epsilon with δ, or --rho.")
    return Charge(guarantee, mechanism)


def _who(given: str | None) -> str:
    if given:
        return given
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        raise InputError("Your login name is not known here; say who charges: --who.") from None


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
    lines = [said, *_account_lines(sheet.account), *_promise_lines(sheet.promises)]
    lines += _chain_lines(sheet.head, found.problems)
    emit(payload | (more or {}), lines, as_json)


def _account_lines(account: Account) -> list[str]:
    from discreet.words import say

    rows = [
        ["account", account.name],
        ["unit", f"{account.subject} ({account.unit}), {account.adjacency.value}"],
        ["filter", account.filter.value],
        ["spent", str(account.spent)],
    ]
    if account.cap is None or account.remaining is None:
        rows.append(["cap", say("ledger.no_cap")])
    else:
        rows += [["cap", account.cap.limit_text()], ["left", account.remaining.limit_text()]]
    if account.period_cap is not None and account.period_spent is not None:
        now = account.period_now or f"this {account.period}"
        rows.append([f"a {account.period}", f"{account.period_cap.limit_text()}, a limit of pace"])
        rows.append([f"in {now}", str(account.period_spent)])
    return table(rows)


def _promise_lines(promises: Sequence[Standing]) -> list[str]:
    """Where the account stands under each promise: in words, in budget, in releases."""
    from discreet.rounding import number, percent

    lines = []
    for one in promises:
        sign = "ρ" if one.registered.limit.rho is not None else "ε"
        state = "" if one.kept else "  NOT KEPT: nothing is charged until it is withdrawn"
        lines += ["", f"  promise {one.registered.id}{state}", f"    {one.sentence}"]
        used = percent(one.share_used, "up")
        most = one.registered.limit.limit_text()
        left = f"    allows {most}; {used} used; left {sign} = {number(one.left, 'down', 6)}"
        again = one.fits_again
        lines.append(left + ("" if again is None else f": {again:,} more like the last release"))
        if one.reached is not None:
            before, after = one.reached
            lines.append(
                f"    so far: from {percent(before, 'up')} to at most {percent(after, 'up', 1)}"
            )
    sure = [one.registered.keys.get("confidence") for one in promises]
    if len(sure) > 1 and any(sure):
        lines.append("  Promises with a confidence hold each by itself, not all at once.")
    return lines


def _entry_lines(entries: list[Entry]) -> list[str]:
    rows = [
        [
            str(entry.seq),
            entry.at[:19],
            entry.kind,
            str(entry.cost) if entry.cost else "",
            entry.release_id or entry.plan_id or "",
            str(
                entry.said.get("purpose")
                or entry.said.get("reason")
                or entry.said.get("promise", {}).get("id")
                or ""
            ),
        ]
        for entry in entries
    ]
    return table(rows, ["no.", "when (UTC)", "what", "cost", "release", "why"])


def _chain_lines(head: str, problems: tuple[str, ...]) -> list[str]:
    lines = [f"  head {head}"]
    if not problems:
        return [*lines, "  verified: every entry follows from the one before it"]
    shown = [f"  - {problem}" for problem in problems[:20]]
    more = [f"  … and {len(problems) - 20} more"] if len(problems) > 20 else []
    return [*lines, "  NOT VERIFIED: this ledger was altered or damaged", *shown, *more]
