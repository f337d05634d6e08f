"""Raising the cap of an account from the screen Ledger: asked, shown, and then written.

    /ledger          the account, how much more, who approves it, and why
    /ledger/grant    what it comes to: the cap before and after, and what may be learned then

What it comes to has an address, so that a grant can be prepared for the one who approves it. The
yes carries the head of the ledger that was shown beside it. If the ledger has moved on since,
nothing is written and everything is shown anew; so a form that is sent twice raises a cap once.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.web.dry_run import named_ledger
from discreet.web.form_fields import Fields, amounts_of
from discreet.web.links import link
from discreet.web.release_words import HOW_LEARNED, amount_words, learned_words
from discreet.web.screens import page
from discreet.web.workfolder import Workfolder, folder_of

if TYPE_CHECKING:
    from discreet.ledger import Account, Amount, Ledger

__all__ = ["router"]

router = APIRouter()
_WRITING = threading.Lock()
_ASKED = ("ledger", "file", "account", "epsilon", "delta", "rho", "approver", "reason")
_MOVED = (
    "The ledger has changed since this was shown, perhaps from another tab. The cap was not "
    "raised. Look at it again."
)


@dataclass(frozen=True, slots=True)
class Grant:
    """What was asked for: the account as it stands, and as it would be."""

    ledger: Ledger
    which: dict[str, str]
    before: Account
    after: Account
    add: Amount
    head: str


def _asked(folder: Workfolder, fields: Mapping[str, str]) -> Grant:
    """Check a form fully, without writing."""
    from discreet.ledger import Amount

    which = {name: fields[name] for name in ("file", "ledger") if fields.get(name)}
    _, ledger = named_ledger(folder, which.get("ledger"), which.get("file"))
    head, name = ledger.head, fields.get("account", "")
    before = next((one for one in ledger.accounts() if one.name == name), None)
    if before is None:
        raise InputError("Choose an account of this ledger.")
    given = amounts_of(fields)
    if not any(value > 0 for value in given.values()):
        raise InputError("Say how much the cap is to be raised by: a number above 0.")
    if not (fields.get("approver", "").strip() and fields.get("reason", "").strip()):
        raise PolicyError("A cap is raised by someone with a name, for a reason; give both.")
    add = before.filter.limit(Amount.of(**given), lead=False)
    return Grant(ledger, which, before, before.granted(add), add, head)


@router.get("/ledger/grant", include_in_schema=False)
def grant_page(request: Request) -> Response:
    """What a grant comes to; nothing is written."""
    fields = dict(request.query_params)
    try:
        return _shown(request, fields, _asked(folder_of(request), fields))
    except DiscreetError as error:
        return _shown(request, fields, None, str(error))


@router.post("/ledger/grant", include_in_schema=False)
def grant(request: Request, fields: Fields) -> Response:
    """Write the grant that was shown."""
    try:
        with _WRITING:
            asked = _asked(folder_of(request), fields)
            if fields.get("head") != asked.head:
                return _shown(request, fields, asked, _MOVED)
            name, reason = fields["approver"], fields["reason"]
            asked.ledger.grant(asked.before, add=asked.add, approver=name, reason=reason)
    except DiscreetError as error:
        return _shown(request, fields, None, str(error))
    return RedirectResponse(link("/ledger", asked.which), status_code=303)


def _shown(
    request: Request, fields: Mapping[str, str], asked: Grant | None, problem: str = ""
) -> Response:
    which = {name: fields[name] for name in ("file", "ledger") if fields.get(name)}
    return page(
        request,
        "grant.html",
        status=422 if problem else 200,
        link=link("/ledger/grant", {name: fields.get(name) for name in _ASKED}) if asked else None,
        back=link("/ledger", which),
        fields=fields,
        asked=_ASKED,
        problem=problem,
        **({} if asked is None else _in_words(asked)),
    )


def _in_words(asked: Grant) -> dict[str, Any]:
    from discreet.statements import learned

    before, after = asked.before, asked.after
    if before.cap is None or after.cap is None:  # pragma: no cover - `granted` refused it
        raise TypeError("a cap that is not there was raised")
    found = learned(after.promise(after.cap), before.subject)
    return {
        "raised": amount_words(after.cap.to_dict("down"), "down"),
        "facts": [
            ("Account", f"{before.name}; protects {before.subject} ({before.adjacency.value})"),
            ("Cap now", amount_words(before.cap.to_dict("down"), "down")),
            ("Spent", amount_words(before.spent.to_dict("up"), "up")),
            ("Raised by", amount_words(asked.add.to_dict("up"), "up")),
        ],
        "learned": learned_words(None if found is None else found.to_dict()),
        "how_learned": HOW_LEARNED,
        "head": asked.head,
    }
