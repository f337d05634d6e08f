"""Raising the cap of an account from the screen Ledger: asked, shown, and then written.

    /ledger          the account, how much more, who approves it, and why
    /ledger/grant    what it comes to: the cap before and after, and what may be learned then

What it comes to has an address, so that a grant can be prepared for the one who approves it. The
yes carries the head of the ledger that was shown beside it. If the ledger has moved on since,
nothing is written and everything is shown anew; so a form that is sent twice raises a cap once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import DiscreetError, InputError
from discreet.statements.presenter import learned_facts, limit_text, spent_text, standing_facts
from discreet.web.forms import Filled, Form, Number, Text, reading
from discreet.web.release.dry_run import HOW_LEARNED, named_ledger
from discreet.web.screens import page
from discreet.web.thread import link
from discreet.web.workfolder import Workfolder, folder_of
from discreet.words import say

if TYPE_CHECKING:
    from discreet.ledger import Account, Amount, Ledger

router = APIRouter()
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
