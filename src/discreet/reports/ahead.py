"""What may still follow a release: the rest of its series, or all that is approved.

What is charged so far is not what decides whether to join: under a promise more may be published,
and what may be learned can still grow. Each number for a participant is told for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.beliefs import Belief, Prior, explain
from discreet.errors import GuaranteeError
from discreet.guarantees import Guarantee, PureDP
from discreet.promises import CONFIDENCE
from discreet.reports.sentences import growth_text
from discreet.reports.stored import Books, Stored
from discreet.reports.verifier import place_in_series
from discreet.statements.figures import chance
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Ahead:
    """Where a release stands in a series, if in any, and what may be spent in the end.

    `when` names the end. `total` is what the account then promises in all; None if nothing more may
    follow, or if nothing limits what does.
    """

    place: str
    when: str
    total: Guarantee | None

    def told(self, so_far: Belief) -> str:
        """Return it as a paragraph, for someone with the prior of a belief."""
        if self.total is None or so_far.prior is None:
            return self.place
        sure = self.sure(so_far.holds_with)
        end = most_believed(self.total, so_far.prior, sure)
        told = f"{self.place} {growth_text(so_far, self.total, end, self.when)}"
        less = sure < so_far.holds_with
        return f"{told} {say('reports.public.may_fail', chance=chance(sure))}" if less else told

    def sure(self, holds_with: float) -> float:
        """Return how surely the end is bounded: as by now, but not always where δ may come."""
        always = holds_with == 1 and not isinstance(self.total, PureDP)
        return CONFIDENCE if always and self.total is not None else holds_with


def most_believed(total: Guarantee, prior: Prior, sure: float) -> float:
    """Return the largest belief; 1 where nothing is bounded this surely."""
    try:
        found = explain(total, prior, confidence=min(sure, 1 - 1e-12)).posterior
    except GuaranteeError:
        found = None
    return 1.0 if found is None else found.upper


def ahead(books: Books) -> Ahead:
    """Return what may follow a release, or whatever is charged to an account."""
    account, place, rest = books.account, "", None
    end = account.cap
    if isinstance(books, Stored) and books.entry.cost is not None:
        charged = [dict(entry.said) for entry in books.charges]
        found = place_in_series(dict(books.said), charged)
        if found is not None:
            shown = {"k": found[0], "total": found[1]}
            place = say(f"reports.series.{'place' if found[2] else 'all_out'}", **shown)
            if found[2]:
                rest = books.entry.cost.times(found[2])
    if rest is not None:
        when, end = say("reports.series.when_series", **shown), account.spent.plus(rest)
    else:
        when = say("reports.series.when_approved")
    for limit in account.promises.values():
        end = limit if end is None else end.least(limit)
    if end is None:
        return Ahead(f"{place} {say('reports.series.unlimited')}".strip(), when, None)
    end = end.plus(account.spent.minus(end))  # what is spent already, at the least
    both = zip(end.floats("up").values(), account.spent.floats("up").values(), strict=True)
    if all(math.isclose(*pair, rel_tol=1e-12) for pair in both):  # shares are rounded down
        return Ahead(place, when, None)
    return Ahead(place or say("reports.series.more"), when, account.promise(end))
