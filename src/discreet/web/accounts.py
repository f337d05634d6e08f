"""The screen Ledger: every account, every entry, what is spent and left, and whether it is sound.

A ledger is a file in the working folder, by its name, or the one that a spec file in the folder
names. Everything here reads; the one thing that a person may write is a grant (`raise_cap`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from discreet.errors import DiscreetError, InputError
from discreet.web.dry_run import named_ledger
from discreet.web.raise_cap import router as grants
from discreet.web.release_words import amount_words, promise_words
from discreet.web.screens import REFUSED, How, page
from discreet.web.workfolder import folder_of

if TYPE_CHECKING:
    from discreet.ledger import Amount, Entry, Ledger, Verification

__all__ = ["router"]

router = APIRouter()
router.include_router(grants)
SHOWN = 500
_KINDS = {
    "begin": "ledger begun",
    "open": "account opened",
    "promise": "promise made",
    "withdraw": "promise withdrawn",
    "grant": "cap raised",
    "reserve": "release charged",
    "commit": "release stored",
    "charge": "charged from elsewhere",
    "plan": "plan registered",
    "slot": "slot of a plan taken",
}
HOW_SPENT = How(
    what="spent and left",
    formula=(
        "Spent is the exact sum of everything charged: Σε (pure), Σε and Σδ (basic), Σρ and Σδ "
        "(zcdp). Left is the cap less that, never below 0. Shown rounded: spent up, left down."
    ),
    source=(
        "Budgets chosen as one goes still add up: Rogers, Roth, Ullman and Vadhan 2016 (ε and δ); "
        "Whitehouse, Ramdas, Rogers and Wu 2023 (ρ)."
    ),
    python="discreet.Ledger.open(url).show(account)",
    command="discreet ledger show --ledger sqlite:///ledger.db",
)
HOW_VERIFIED = How(
    what="the verification",
    formula="hash of an entry = SHA-256(its text, which holds the hash of the entry before it)",
    source="Haber and Stornetta 1991. Every sum is recomputed from the charges as well.",
    python="discreet.Ledger.open(url).verify(head)",
    command="discreet ledger verify --ledger sqlite:///ledger.db",
)


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


def sheet(name: str, ledger: Ledger, account: str | None = None) -> Sheet:
    """Return a ledger as it stands, or one account of it."""
    accounts = [one for one in ledger.accounts() if account in (None, one.name)]
    if account is not None and not accounts:
        raise InputError(f"There is no account {account[:100]!r} in {name}.")
    entries = ledger.entries() if account is None else ledger.entries(account)
    stored = {entry.release_id for entry in entries if entry.kind == "commit"}
    standings = [
        Standing(
            account=one.name,
            unit=str(one.subject),
            adjacency=one.adjacency.value,
            filter=one.filter.value,
            coordinates=[] if one.cap is None else list(one.filter.coordinates),
            spent=amount_words(one.spent.to_dict("up"), "up"),
            cap=_limit(one.cap),
            left=_limit(one.remaining),
            unfinished=[str(entry.release_id) for entry in ledger.unfinished(one.name)],
            promises=[promise_words(promise) for promise in ledger.promises(one)],
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


def _limit(amount: Amount | None) -> str:
    return "no limit" if amount is None else amount_words(amount.to_dict("down"), "down")


def _what(entry: Entry) -> str:
    from discreet.ledger import Amount

    words = _KINDS.get(entry.kind, entry.kind)
    if entry.kind != "grant":
        return words
    return f"{words} by {amount_words(Amount.restored(entry.said['add']).to_dict('up'), 'up')}"


def _line(entry: Entry, stored: set[str | None]) -> Line:
    said = entry.said
    return Line(
        seq=entry.seq,
        when=entry.at[:19].replace("T", " "),
        what=_what(entry),
        account=entry.account or "",
        cost="" if entry.cost is None else amount_words(entry.cost.to_dict("up"), "up"),
        release_id=entry.release_id or entry.plan_id or "",
        why=str(said.get("purpose") or said.get("reason") or ""),
        who=str(said.get("approver") or said.get("who") or ""),
        stored=entry.release_id in stored and entry.kind in ("commit", "reserve", "slot"),
    )


@router.get("/ledger", include_in_schema=False)
def ledger_page(
    request: Request,
    ledger: str | None = None,
    file: str | None = None,
    account: str | None = None,
    verify: bool = False,
    head: str | None = None,
) -> Response:
    """The screen: the ledger that was named, else the one that was written to last."""
    folder = folder_of(request)
    known = folder.ledgers()
    shown: Sheet | None = None
    found: Verification | None = None
    problem = ""
    if ledger is None and file is None and known:
        # The one that was written to last is the one that someone has just worked with.
        ledger = max(known, key=lambda name: folder.inside(name).stat().st_mtime)
    try:
        if ledger is not None or file is not None:
            name, book = named_ledger(folder, ledger, file)
            if verify:
                found = book.verify(head.strip() if head and head.strip() else None)
            shown = sheet(name, book, account or None)
    except DiscreetError as error:
        problem = str(error)
    which = f"file={quote(file)}" if file is not None else f"ledger={quote(ledger or '')}"
    return page(
        request,
        "ledger.html",
        status=422 if problem else 200,
        link=f"/ledger?{which}" if shown is not None else None,
        which={"file": file} if file is not None else {"ledger": ledger},
        known=known,
        ledger=ledger,
        account=account,
        shown=shown,
        most=SHOWN,
        found=found,
        head=head or "",
        problem=problem,
        how_spent=HOW_SPENT,
        how_verified=HOW_VERIFIED,
    )


Name = Annotated[str | None, Query(max_length=1000)]


@router.get("/api/ledger", responses=REFUSED)
def ledger_sheet(
    request: Request, ledger: Name = None, file: Name = None, account: Name = None
) -> Sheet:
    """Return the accounts and entries of a ledger in the working folder."""
    name, book = named_ledger(folder_of(request), ledger, file)
    return sheet(name, book, account)


@router.get("/api/ledger/verify", responses=REFUSED)
def ledger_verified(
    request: Request, ledger: Name = None, file: Name = None, head: Name = None
) -> Verified:
    """Recompute the chain of a ledger; with `head`, look also for that hash in it."""
    _, book = named_ledger(folder_of(request), ledger, file)
    found = book.verify(head)
    return Verified(
        verified=found.verified,
        entries=found.entries,
        head=found.head,
        problems=list(found.problems[:100]),
        since_head=found.since_head,
    )
