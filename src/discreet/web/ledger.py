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
from starlette.responses import RedirectResponse, Response

from discreet.beliefs import Prior, explain
from discreet.errors import DiscreetError, InputError
from discreet.guarantees import Adjacency
from discreet.reports.sentences import event_at
from discreet.rounding import percent
from discreet.statements.presenter import (
    learned_facts,
    limit_text,
    opening_cap,
    spent_and_cap,
    spent_text,
    standing_facts,
)
from discreet.statements.tables import restored_lines
from discreet.web.forms import Approval, Filled, Form, Text, reading
from discreet.web.release.dry_run import named_ledger
from discreet.web.release.stored_release import packed
from discreet.web.screens import page
from discreet.web.thread import Thread, link, standing_of
from discreet.web.workfolder import folder_of
from discreet.words import has, say

if TYPE_CHECKING:
    from discreet.ledger import Account, Amount, Entry, Ledger, Verification
    from discreet.promises import Promise

router = APIRouter()
SHOWN = 500
_DRAWN = 60  # charges in a picture; of more, some
_WRITING = threading.Lock()
Name = Annotated[str, Text()]


class LedgerForm(Form):
    """Which ledger is shown, by its name or by a spec file that names it, and which account."""

    ledger: Name = ""
    file: Name = ""
    account: Name = ""

    def which(self) -> dict[str, str]:
        """Return what names the ledger."""
        return {"file": self.file} if self.file else {"ledger": self.ledger}


class VerifyForm(LedgerForm):
    """A ledger to verify, against a head that was kept."""

    verify: bool = False
    head: Name = ""


class GrantForm(Approval, LedgerForm):
    """How much the cap of an account is to be raised by, who approves it, and why."""

    account: Annotated[str, Text(needed=True)] = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A ledger, or one account of it: accounts, entries (the newest first), the head."""

    name: str
    ledger: Ledger
    accounts: list[Account]
    entries: list[Entry]
    head: str


def sheet(name: str, ledger: Ledger, account: str = "") -> Sheet:
    """Return a ledger as it stands, or one account of it."""
    accounts = [one for one in ledger.accounts() if account in ("", one.name)]
    if account and not accounts:
        raise InputError("web.ledger.no_account", account=account[:100], name=name)
    entries = ledger.show(account).listed if account else ledger.entries()
    return Sheet(name, ledger, accounts, entries[::-1], ledger.head)


def pictures(shown: Sheet) -> list[tuple[str, str, dict[str, Any]]]:
    """Return for each account how sure someone may be after every charge: id, words, chart.

    It is told for the belief that the first promise of the account speaks of, or else for a half.
    """
    from discreet.charts import belief_spent_spec

    found = []
    for place, account in enumerate(shown.accounts):
        first, _ = standing_of(shown.ledger, account)
        promise = None if first is None else first.registered.promise(account)
        rows = _beliefs(shown.ledger, account, promise)
        if len(rows) < 2:
            continue
        left = account.remaining
        most = None if left is None else account.spent.plus(left)
        limit = None if most is None else _sure(account, most, _prior(account, promise), promise)
        words = say(
            "web.ledger.picture",
            account=account.name,
            event=event_at(_prior(account, promise), account.adjacency, str(account.subject)),
            before=percent(rows[0]["value"], "up"),
            now=percent(rows[-1]["value"], "up", 1),
            charges=rows[-1]["charge"],
            since=rows[1]["when"],
            upto=rows[-1]["when"],
        )
        if limit is not None:
            words += " " + say("web.ledger.picture_most", most=percent(limit, "up", 1))
        if first is not None and first.fits_again is not None:
            words += " " + say("web.ledger.picture_left", left=first.fits_again)
        found.append((f"picture-{place}", words, belief_spent_spec(rows, limit)))
    return found


def _prior(account: Account, promise: Promise | None) -> Prior:
    own = None if promise is None else promise.own_prior
    about = "membership" if promise is None else promise.about
    central = account.adjacency is Adjacency.ADD_REMOVE and about == "membership"
    return Prior(*(own or ((0.5, 1.0) if central else (1.0, 0.5))))


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


def what(entry: Entry, account: Account) -> str:
    """Return what an entry of the chain is, in words; `account` is its account as it is now."""
    from discreet.ledger import Amount

    name = f"web.entry.{entry.kind}"
    if entry.kind == "grant":
        return say(name, amount=spent_text(Amount.restored(entry.said["add"])))
    if entry.kind == "open":
        return say(name, cap=opening_cap(entry.said, account.spent))
    return say(name) if has(name) else entry.kind


def _worked_with(shown: Sheet) -> Thread | None:
    """Return the thread of the only account, or else of the one that was charged last."""
    last = next((entry.account for entry in shown.entries if entry.cost is not None), None)
    named = [one for one in shown.accounts if one.name == last or len(shown.accounts) == 1]
    return Thread.of_account(shown.name, shown.ledger, named[0]) if named else None


@router.get("/ledger", include_in_schema=False)
def ledger_page(
    request: Request, sent: Annotated[Filled[VerifyForm], reading(VerifyForm)]
) -> Response:
    """The screen: the ledger that was named, else the one that was written to last."""
    folder, asked = folder_of(request), sent.state
    known, problem = folder.ledgers(), sent.problem
    shown: Sheet | None = None
    found: Verification | None = None
    thread: Thread | None = None
    if not (asked.ledger or asked.file) and known:
        # The one that was written to last is the one that someone has just worked with.
        last = max(known, key=lambda name: folder.inside(name).stat().st_mtime)
        asked = asked.model_copy(update={"ledger": last})
    try:
        if (asked.ledger or asked.file) and not problem:
            name, ledger = named_ledger(folder, asked.ledger, asked.file)
            if asked.verify:
                found = ledger.verify(asked.head or None)
            shown = sheet(name, ledger, asked.account)
            if not asked.file and not Thread.of(request.query_params).promise:
                thread = _worked_with(shown)
    except DiscreetError as error:
        problem = str(error)
    return page(
        request,
        "ledger.html",
        link=None if shown is None else link("/ledger", asked.which()),
        asked=asked,
        thread=thread,
        known=known,
        shown=shown,
        most=SHOWN,
        what=what,
        found=found,
        lost=[]
        if found is None
        else restored_lines(
            [one.to_dict() | {"entry": one.seq} for one in found.restored], plain=True
        ),
        problem=problem,
        pictures=[] if shown is None else pictures(shown),
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


@router.get("/ledger/grant", include_in_schema=False)
@router.post("/ledger/grant", include_in_schema=False)
def grant(request: Request, sent: Annotated[Filled[GrantForm], reading(GrantForm)]) -> Response:
    """What a grant comes to; posted with the head that was shown, it is written."""
    form, problem, comes_to = sent.state, "", None
    accounts: list[Account] = []
    try:
        with _WRITING:
            _, ledger = named_ledger(folder_of(request), form.ledger, form.file)
            head, accounts = ledger.head, ledger.accounts()
            before, add = _asked(sent, accounts)
            comes_to = _in_words(ledger, before, add) | {"head": head}
            if request.method == "POST" and form.head == head:
                ledger.grant(before, add=add, approver=form.approver, reason=form.reason)
                return RedirectResponse(link("/ledger", form.which()), status_code=303)
            problem = say("web.grant.moved") if request.method == "POST" else ""
    except DiscreetError as error:
        problem, comes_to = str(error), None
    kept = {name: sent.shown[name] for name in GrantForm.model_fields if sent.shown.get(name)}
    kept.pop("head", None)
    return page(
        request,
        "grant.html",
        link=link("/ledger/grant", kept) if comes_to else None,
        back=link("/ledger", form.which()),
        which=form.which(),
        accounts=accounts,
        typed=sent.shown,
        problems=sent.problems,
        kept=kept,
        problem=problem,
        comes_to=comes_to,
    )


def _asked(sent: Filled[GrantForm], accounts: list[Account]) -> tuple[Account, Amount]:
    """Return the account whose cap is to be raised, and by how much; nothing is written."""
    from discreet.ledger import Amount

    if sent.problems:
        raise InputError("web.script.see_fields")
    before = next((one for one in accounts if one.name == sent.state.account), None)
    if before is None:
        raise InputError("web.grant.no_account")
    if not sent.state.amounts():
        raise InputError("web.grant.no_amount")
    return before, before.filter.limit(Amount.of(**sent.state.amounts()), lead=False)


def _in_words(ledger: Ledger, before: Account, add: Amount) -> dict[str, Any]:
    from discreet.statements import learned

    after = before.granted(add)
    if before.cap is None or after.cap is None:  # pragma: no cover - `granted` refused it
        raise TypeError("a cap that is not there was raised")
    bind = [one.registered.promise(before) for one in ledger.promises(before)]
    found = learned(after.promise(after.cap), before.subject, bind)
    owner, *_ = standing_facts(before)
    used, most = spent_and_cap(before.spent, before.cap, before.promises.values())
    return {
        "raised": limit_text(after.cap),
        "facts": [
            owner,
            (say("web.grant.cap_now"), most),
            (say("presenter.account.spent"), used),
            (say("web.grant.raised_by"), spent_text(add)),
            *((say("web.grant.still_binds"), one.sentence()) for one in bind),
        ],
        "learned": learned_facts(None if found is None else found.to_dict()),
    }
