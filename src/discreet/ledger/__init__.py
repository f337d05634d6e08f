"""The account of what was spent: append-only, hash-chained, transactional, refusing to overspend.

    ledger = Ledger.open("sqlite:///ledger.db")
    ledger.open_account("clinic", unit="person", adjacency="add-remove", filter="pure",
                        cap=PureDP(1.0), approver="A. Curator", reason="data protection review")
    entry = ledger.reserve("clinic", PureDP(0.1), purpose="monthly table", who="ci", spec_hash="…")
    …draw the noise and store the table, once…
    ledger.commit(entry.release_id, output_hash="…")

`amounts` is the exact arithmetic with the three rules of adding up, `accounts` what an account is,
`entries` what the chain is made of, `plans` the series charged in full beforehand, `promises` what
an account promises, `store`, `backend`, `sqlite` and `postgresql` the database, `chain` what is
decided in one transaction on it, `verification` the check of it all, `witness` its head kept and
signed elsewhere, and `book` the ledger itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BrokenPromise as BrokenPromise
from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.ledger.accounts import (
        Account as Account,
        OverBudget as OverBudget,
        Period as Period,
    )
    from discreet.ledger.amounts import Amount as Amount, Charge as Charge, Filter as Filter
    from discreet.ledger.book import Ledger as Ledger
    from discreet.ledger.chain import Foreseen as Foreseen
    from discreet.ledger.entries import Entry as Entry
    from discreet.ledger.plans import Part as Part, Plan as Plan, Slot as Slot
    from discreet.ledger.promises import (
        Earlier as Earlier,
        Registered as Registered,
        Standing as Standing,
        Upgraded as Upgraded,
    )
    from discreet.ledger.verification import (
        Restored as Restored,
        Sheet as Sheet,
        Verification as Verification,
    )

# Loaded on first use: what an account is can be read without the libraries of databases.
_FILES = {
    "accounts": "Account OverBudget Period",
    "amounts": "Amount Charge Filter",
    "book": "Ledger",
    "chain": "Foreseen",
    "entries": "Entry",
    "plans": "Part Plan Slot",
    "promises": "Earlier Registered Standing Upgraded",
    "verification": "Restored Sheet Verification",
}

__getattr__, __all__ = found_in(__name__, "A ledger", _FILES)
__all__ += ["BrokenPromise"]
