"""The screen Ledger: every account, every entry, what is spent and left, and whether it is sound.

A ledger is a file in the working folder, by its name, or the one that a spec file in the folder
names. Everything here reads, but for the one thing that a person may write, a grant:

    /ledger          the account, how much more, who approves it, and why
    /ledger/grant    what it comes to: the cap before and after, and what may be learned then

What it comes to has an address, so that a grant can be prepared for the one who approves it. The
yes carries the head of the ledger that was shown beside it. If the ledger has moved on since,
nothing is written and everything is shown anew; so a form that is sent twice raises a cap once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from discreet.beliefs import Prior, explain
from discreet.errors import DiscreetError, InputError
from discreet.guarantees import Adjacency
from discreet.rounding import percent
from discreet.statements.presenter import (
    learned_facts,
    limit_text,
    promise_line,
    spent_and_cap,
    spent_text,
    standing_facts,
)
from discreet.web.forms import Filled, Form, Number, Text, reading
from discreet.web.release.dry_run import HOW_LEARNED, named_ledger
from discreet.web.release.stored import packed
from discreet.web.screens import how, page
from discreet.web.thread import Thread, link, standing_of
from discreet.web.workfolder import Workfolder, folder_of
from discreet.words import has, say

if TYPE_CHECKING:
    from discreet.ledger import Account, Amount, Entry, Ledger, Verification
    from discreet.promises import Promise

router = APIRouter()
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


_WRITING = threading.Lock()
_MORE = Number(above=0, optional=True)


class GrantForm(Form):
    """How much the cap of an account is to be raised by, who approves it, and why."""

    ledger: Annotated[str, Text()] = ""
    file: Annotated[str, Text()] = ""
    account: Annotated[str, Text(needed=True)] = ""
    epsilon: Annotated[float | None, _MORE] = None
    delta: Annotated[float | None, _MORE] = None
    rho: Annotated[float | None, _MORE] = None
    approver: Annotated[str, Text(needed=True)] = ""
    reason: Annotated[str, Text(needed=True)] = ""
    head: Annotated[str, Text()] = ""

    def which(self) -> dict[str, Any]:
        """Return what names the ledger."""
        return {"file": self.file} if self.file else {"ledger": self.ledger}

    def amounts(self) -> dict[str, float]:
        """Return the amounts that are given."""
        given = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}
        return {name: value for name, value in given.items() if value is not None}


Sent = Annotated[Filled[GrantForm], reading(GrantForm)]


@dataclass(frozen=True, slots=True)
class Grant:
    """What was asked for: the account as it stands, and as it would be."""

    ledger: Ledger
    before: Account
    after: Account
    add: Amount
    head: str


def _asked(folder: Workfolder, sent: Filled[GrantForm]) -> Grant:
    """Check a form fully, without writing."""
    from discreet.ledger import Amount

    if sent.problems:
        raise InputError("web.script.see_fields")
    form = sent.state
    _, ledger = named_ledger(folder, form.ledger, form.file)
    head = ledger.head
    before = next((one for one in ledger.accounts() if one.name == form.account), None)
    if before is None:
        raise InputError("web.grant.no_account")
    if not form.amounts():
        raise InputError("web.grant.no_amount")
    add = before.filter.limit(Amount.of(**form.amounts()), lead=False)
    return Grant(ledger, before, before.granted(add), add, head)


@router.get("/ledger/grant", include_in_schema=False)
def grant_page(request: Request, sent: Sent) -> Response:
    """What a grant comes to; nothing is written."""
    try:
        return _shown(request, sent, _asked(folder_of(request), sent))
    except DiscreetError as error:
        return _shown(request, sent, None, str(error))


@router.post("/ledger/grant", include_in_schema=False)
def grant(request: Request, sent: Sent) -> Response:
    """Write the grant that was shown."""
    form = sent.state
    try:
        with _WRITING:
            asked = _asked(folder_of(request), sent)
            if form.head != asked.head:
                return _shown(request, sent, asked, say("web.grant.moved"))
            asked.ledger.grant(
                asked.before, add=asked.add, approver=form.approver, reason=form.reason
            )
    except DiscreetError as error:
        return _shown(request, sent, None, str(error))
    return RedirectResponse(link("/ledger", form.which()), status_code=303)


def _shown(
    request: Request, sent: Filled[GrantForm], asked: Grant | None, problem: str = ""
) -> Response:
    kept = {name: sent.shown[name] for name in GrantForm.model_fields if sent.shown.get(name)}
    kept.pop("head", None)
    which = {name: text for name, text in kept.items() if name in ("file", "ledger")}
    return page(
        request,
        "grant.html",
        status=422 if problem else 200,
        link=link("/ledger/grant", kept) if asked else None,
        back=link("/ledger", which),
        which=which,
        accounts=[] if asked else _raisable(folder_of(request), sent.state),
        typed=sent.shown,
        problems=sent.problems,
        kept=kept,
        problem=problem,
        **({} if asked is None else _in_words(asked)),
    )


def _raisable(folder: Workfolder, form: GrantForm) -> list[dict[str, Any]]:
    """Return the accounts whose cap can be raised, with what their rule adds up."""
    try:
        _, ledger = named_ledger(folder, form.ledger, form.file)
    except DiscreetError:
        return []
    capped = (one for one in ledger.accounts() if one.cap is not None)
    return [{"account": one.name, "coordinates": list(one.filter.coordinates)} for one in capped]


def _in_words(asked: Grant) -> dict[str, Any]:
    from discreet.statements import learned

    before, after = asked.before, asked.after
    if before.cap is None or after.cap is None:  # pragma: no cover - `granted` refused it
        raise TypeError("a cap that is not there was raised")
    found = learned(after.promise(after.cap), before.subject)
    owner, *_ = standing_facts(before)
    return {
        "raised": limit_text(after.cap),
        "facts": [
            owner,
            (say("web.grant.cap_now"), limit_text(before.cap)),
            (say("presenter.account.spent"), spent_text(before.spent)),
            (say("web.grant.raised_by"), spent_text(asked.add)),
        ],
        "learned": learned_facts(None if found is None else found.to_dict()),
        "how_learned": HOW_LEARNED,
        "head": asked.head,
    }
