"""The screen Ledger: every account, every entry, what is spent and left, and whether it is sound.

A ledger is a file in the working folder, by its name, or the one that a spec file in the folder
names. Everything here reads; the one thing that a person may write is a grant (`raise_cap`).
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from discreet.beliefs import Prior, explain
from discreet.errors import DiscreetError, InputError
from discreet.guarantees import Adjacency
from discreet.rounding import percent
from discreet.statements.presenter import limit_text, promise_line, spent_and_cap, spent_text
from discreet.web.forms import Filled, Form, Text, reading
from discreet.web.ledger.raise_cap import router as grants
from discreet.web.release.dry_run import named_ledger
from discreet.web.release.stored import packed
from discreet.web.screens import REFUSED, how, page
from discreet.web.thread import Thread, link, standing_of
from discreet.web.workfolder import folder_of
from discreet.words import has, say

if TYPE_CHECKING:
    from discreet.ledger import Account, Amount, Entry, Ledger, Verification
    from discreet.promises import Promise

__all__ = ["router"]

router = APIRouter()
router.include_router(grants)
SHOWN = 500
_DRAWN = 60  # charges in a picture; of more, some
HOW_SPENT = how(
    "spent",
    python="discreet.Ledger.open(url).show(account)",
    command="discreet ledger show --ledger sqlite:///ledger.db",
)
HOW_VERIFIED = how(
    "verified",
    python="discreet.Ledger.open(url).verify(head)",
    command="discreet ledger verify --ledger sqlite:///ledger.db",
)
Name = Annotated[str, Text()]


class LedgerForm(Form):
    """Which ledger is shown, by its name or by a spec file that names it, and which account."""

    ledger: Name = ""
    file: Name = ""
    account: Name = ""


class VerifyForm(LedgerForm):
    """A ledger to verify, against a head that was kept."""

    verify: bool = False
    head: Name = ""


class Line(BaseModel):
    """One entry of the chain, for a person."""

    seq: int
    when: str
    what: str
    account: str
    cost: str
    release_id: str
    why: str
    who: str
    stored: bool


class Standing(BaseModel):
    """Where an account stands."""

    account: str
    unit: str
    adjacency: str
    filter: str
    coordinates: list[str]
    spent: str
    cap: str
    left: str
    unfinished: list[str]
    promises: list[str]


class Sheet(BaseModel):
    """A ledger: its accounts, its entries (newest first), its head."""

    ledger: str
    accounts: list[Standing]
    entries: list[Line]
    size: int
    head: str


class Verified(BaseModel):
    """Whether a ledger is what it was when it was written."""

    verified: bool
    entries: int
    head: str
    problems: list[str]
    since_head: int | None


def sheet(name: str, ledger: Ledger, account: str = "") -> Sheet:
    """Return a ledger as it stands, or one account of it."""
    accounts = [one for one in ledger.accounts() if account in ("", one.name)]
    if account and not accounts:
        raise InputError("web.ledger.no_account", account=account[:100], name=name)
    entries = ledger.entries(account) if account else ledger.entries()
    stored = {entry.release_id for entry in entries if entry.kind == "commit"}
    amounts = {one.name: spent_and_cap(one.spent, one.cap) for one in accounts}
    standings = [
        Standing(
            account=one.name,
            unit=str(one.subject),
            adjacency=one.adjacency.value,
            filter=one.filter.value,
            coordinates=[] if one.cap is None else list(one.filter.coordinates),
            spent=amounts[one.name][0],
            cap=amounts[one.name][1],
            left=limit_text(one.remaining),
            unfinished=[str(entry.release_id) for entry in ledger.unfinished(one.name)],
            promises=[promise_line(promise) for promise in ledger.promises(one)],
        )
        for one in accounts
    ]
    return Sheet(
        ledger=name,
        accounts=standings,
        entries=[_line(entry, stored) for entry in reversed(entries[-SHOWN:])],
        size=len(entries),
        head=ledger.head,
    )


def pictures(ledger: Ledger | None, shown: Sheet) -> list[tuple[str, str, dict[str, Any]]]:
    """Return for each account how sure someone may be after every charge: id, words, chart.

    It is told for the belief that the first promise of the account speaks of, or else for a half.
    """
    from discreet.charts import belief_spent_spec

    found = []
    for place, one in enumerate(shown.accounts if ledger is not None else ()):
        account = None if ledger is None else ledger.found(one.account)
        if ledger is None or account is None:
            continue
        standing = next(iter(ledger.promises(account)), None)
        promise = None if standing is None else standing.registered.promise(account)
        rows = _beliefs(ledger, account, promise)
        if len(rows) < 2:
            continue
        most = account.cap if standing is None else standing.registered.limit
        limit = None if most is None else _sure(account, most, _prior(account, promise), promise)
        words = say(
            "web.ledger.picture",
            account=one.account,
            unit=one.unit,
            before=percent(rows[0]["value"], "up"),
            now=percent(rows[-1]["value"], "up", 1),
            charges=rows[-1]["charge"],
            since=rows[1]["when"],
            upto=rows[-1]["when"],
        )
        first, _ = standing_of(ledger, account)
        if limit is not None:
            words += " " + say("web.ledger.picture_most", most=percent(limit, "up", 1))
        if first is not None and first.fits_again is not None:
            words += " " + say("web.ledger.picture_left", left=first.fits_again)
        found.append((f"picture-{place}", words, belief_spent_spec(rows, limit)))
    return found


def _prior(account: Account, promise: Promise | None) -> Prior:
    own = None if promise is None else promise.own_prior
    return Prior(
        *(own or ((0.5, 1.0) if account.adjacency is Adjacency.ADD_REMOVE else (1.0, 0.5)))
    )


def _sure(account: Account, total: Amount, prior: Prior, promise: Promise | None) -> float:
    """Return how sure someone may be when so much is charged, rounded up."""
    confidence = (None if promise is None else promise.confidence) or 0.99
    try:
        found = explain(account.promise(total), prior, confidence=confidence)
    except DiscreetError:  # no bound at this confidence
        return 1.0
    return 1.0 if found.posterior is None else found.posterior.upper


def _beliefs(ledger: Ledger, account: Account, promise: Promise | None) -> list[dict[str, Any]]:
    prior = _prior(account, promise)
    charged = [(one.at[:10], one.cost) for one in ledger.entries(account) if one.cost is not None]
    totals = list(accumulate((cost for _, cost in charged), lambda sum_, cost: sum_.plus(cost)))
    places = {round(i * (len(totals) - 1) / (_DRAWN - 1)) for i in range(_DRAWN)} if totals else ()
    return [
        {"charge": 0, "value": prior.pq, "when": ""},
        *(
            {
                "charge": place + 1,
                "value": _sure(account, totals[place], prior, promise),
                "when": charged[place][0],
            }
            for place in sorted(places)
        ),
    ]


def _what(entry: Entry) -> str:
    from discreet.ledger import Amount

    name = f"web.entry.{entry.kind}"
    if entry.kind == "grant":
        return say(name, amount=spent_text(Amount.restored(entry.said["add"])))
    return say(name) if has(name) else entry.kind


def _line(entry: Entry, stored: set[str | None]) -> Line:
    said = entry.said
    return Line(
        seq=entry.seq,
        when=entry.at[:19].replace("T", " "),
        what=_what(entry),
        account=entry.account or "",
        cost="" if entry.cost is None else spent_text(entry.cost),
        release_id=entry.release_id or entry.plan_id or "",
        why=str(said.get("purpose") or said.get("reason") or ""),
        who=str(said.get("approver") or said.get("who") or ""),
        stored=entry.release_id in stored and entry.kind in ("commit", "reserve", "slot"),
    )


@router.get("/ledger", include_in_schema=False)
def ledger_page(
    request: Request, sent: Annotated[Filled[VerifyForm], reading(VerifyForm)]
) -> Response:
    """The screen: the ledger that was named, else the one that was written to last."""
    folder, asked = folder_of(request), sent.state
    known = folder.ledgers()
    shown: Sheet | None = None
    found: Verification | None = None
    thread: Thread | None = None
    book: Ledger | None = None
    problem, ledger = sent.problem, asked.ledger
    if not (ledger or asked.file) and known:
        # The one that was written to last is the one that someone has just worked with.
        ledger = max(known, key=lambda name: folder.inside(name).stat().st_mtime)
    try:
        if (ledger or asked.file) and not problem:
            name, book = named_ledger(folder, ledger, asked.file)
            if asked.verify:
                found = book.verify(asked.head or None)
            shown = sheet(name, book, asked.account)
            if len(shown.accounts) == 1 and not asked.file:
                thread = Thread.of_account(name, book, book.account(shown.accounts[0].account))
    except DiscreetError as error:
        problem = str(error)
    which = {"file": asked.file} if asked.file else {"ledger": ledger}
    return page(
        request,
        "ledger.html",
        status=422 if problem else 200,
        link=link("/ledger", which) if shown is not None else None,
        which=which,
        thread=thread,
        known=known,
        ledger=ledger,
        shown=shown,
        most=SHOWN,
        found=found,
        head=asked.head,
        problem=problem,
        pictures=[] if shown is None else pictures(book, shown),
        how_spent=HOW_SPENT,
        how_verified=HOW_VERIFIED,
    )


@router.get("/ledger/report.zip", include_in_schema=False)
def account_report(request: Request, form: Annotated[LedgerForm, Query()]) -> Response:
    """The report of everything charged to an account, as one archive."""
    from discreet.reports import report

    folder = folder_of(request)
    named_ledger(folder, form.ledger, "")
    made = report(account=form.account, ledger=folder.ledger_url(form.ledger), output=folder.root)
    return Response(
        packed(made.folder, made.files),
        media_type="application/zip",
        headers={"Content-Disposition": 'attachment; filename="account-report.zip"'},
    )


@router.get("/api/ledger", responses=REFUSED)
def ledger_sheet(request: Request, form: Annotated[LedgerForm, Query()]) -> Sheet:
    """Return the accounts and entries of a ledger in the working folder."""
    name, book = named_ledger(folder_of(request), form.ledger, form.file)
    return sheet(name, book, form.account)


@router.get("/api/ledger/verify", responses=REFUSED)
def ledger_verified(request: Request, form: Annotated[VerifyForm, Query()]) -> Verified:
    """Recompute the chain of a ledger; with `head`, look also for that hash in it."""
    _, book = named_ledger(folder_of(request), form.ledger, form.file)
    found = book.verify(form.head or None)
    return Verified(
        verified=found.verified,
        entries=found.entries,
        head=found.head,
        problems=list(found.problems[:100]),
        since_head=found.since_head,
    )
