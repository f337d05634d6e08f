"""The account of what was spent: append-only, hash-chained, transactional, refusing to overspend.

    ledger = Ledger.open("sqlite:///ledger.db")
    ledger.open_account("clinic", unit="person", adjacency="add-remove", filter="pure",
                        cap=PureDP(1.0), approver="A. Curator", reason="data protection review")
    entry = ledger.reserve("clinic", PureDP(0.1), purpose="monthly table", who="ci", spec_hash="…")
    …draw the noise and store the table, once…
    ledger.commit(entry.release_id, output_hash="…")

`amounts` is the exact arithmetic, `filters` the three rules of adding up, `accounts` what an
account is, `entries` what the chain is made of, `plans` the series charged in full beforehand,
`store`, `backend`, `sqlite` and `postgresql` the database, `migrations` its layouts, `chain` one
transaction on it, `decisions` what is refused or written in one, `verification` the check of it
all, `signing` its head signed with an SSH key, `promises` what an account promises, `earlier` what
releases promised before accounts did, and `book` the ledger itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BrokenPromise
from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.ledger.accounts import Account, OverBudget, Period
    from discreet.ledger.amounts import Amount
    from discreet.ledger.book import Ledger
    from discreet.ledger.decisions import Foreseen
    from discreet.ledger.earlier import Earlier, Upgraded
    from discreet.ledger.entries import Entry
    from discreet.ledger.filters import Charge, Filter
    from discreet.ledger.plans import Part, Plan, Slot
    from discreet.ledger.promises import Registered, Standing
    from discreet.ledger.verification import Sheet, Verification

# Loaded on first use: what an account is can be read without the libraries of databases.
_FILES = {
    "accounts": "Account OverBudget Period",
    "amounts": "Amount",
    "book": "Ledger",
    "decisions": "Foreseen",
    "earlier": "Earlier Upgraded",
    "entries": "Entry",
    "filters": "Charge Filter",
    "plans": "Part Plan Slot",
    "promises": "Registered Standing",
    "verification": "Sheet Verification",
}

__getattr__, __all__ = found_in(__name__, "A ledger", _FILES)
__all__ += ["BrokenPromise"]
