"""What may be learned from everything charged to an account: the facts that every statement states.

Membership and value stand side by side at every prior: someone who thinks there is a chance x that
the unit is in the data, with its value known; and someone who knows that it is in, and thinks there
is a chance x of the sensitive value. The first rows are the promises' own priors. Under replace
and local everyone is in, and only values are protected.

One confidence serves the whole statement: that of the promises (the highest, if there are several),
or 99 %; where the δ that was spent does not allow it, the next lower one that it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.beliefs import Belief, Prior, explain
from discreet.composition import loss_of
from discreet.errors import GuaranteeError
from discreet.guarantees import Adjacency, Guarantee
from discreet.promises import CONFIDENCE, Promise, Unit

PRIORS = (0.01, 0.1, 0.3, 0.5)
_LOWER = (0.95, 0.9, 0.5)


@dataclass(frozen=True, slots=True)
class Row:
    """What may be learned from one belief: that the unit is in, its value, or both at once.

    `own` says that it is the prior of a promise. `guess` is about a value and on average: how often
    a guess is right after, that is right with this chance before (the trade-off curve).
    """

    prior: float
    own: bool
    membership: Belief | None = None
    value: Belief | None = None
    both: Belief | None = None
    guess: float | None = None

    def beliefs(self) -> Iterator[tuple[str, Belief]]:
        """Yield the beliefs that there are, each with what it is about."""
        for about in ("membership", "value", "both"):
            belief = getattr(self, about)
            if belief is not None:
                yield about, belief

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON-ready values: upper bounds, and lower ones beside them."""
        out: dict[str, Any] = {"prior": self.prior, "own": self.own}
        for about in ("membership", "value", "both"):
            belief = getattr(self, about)
            bounds = None if belief is None else belief.posterior
            out[about] = None if bounds is None else bounds.upper
            out[f"{about}_least"] = None if bounds is None else bounds.lower
        out["guess"] = self.guess
        if self.both is not None and self.both.prior is not None:
            out |= {"p": self.both.prior.p, "q": self.both.prior.q}
        return out


@dataclass(frozen=True, slots=True)
class Learned:
    """What may be learned under a total, at several priors."""

    total: Guarantee
    unit: Unit
    rows: tuple[Row, ...]
    holds_with: float
    abouts: tuple[str, ...] = ()
    """What the promises are about, the first one's first."""

    @property
    def about(self) -> str:
        """What the first promise is about."""
        return self.abouts[0] if self.abouts else "membership"

    @property
    def headline(self) -> Belief:
        """The belief to speak of first: at the first promise's own prior, else from 30 %.

        Of a promise about a value it is one about a value.
        """
        return next(iter(self._spoken_of().values()))

    @property
    def others(self) -> tuple[Belief, ...]:
        """The beliefs at the same prior that a promise is about too: being in, or a value.

        Both of these where a promise is about both, and where none is in force.
        """
        _, *rest = self._spoken_of().items()
        each = not self.abouts or "both" in self.abouts
        promised = {*self.abouts, *(("membership", "value") if each else ())}
        return tuple(belief for about, belief in rest if about in promised)

    def _spoken_of(self) -> dict[str, Belief]:
        row = next((row for row in self.rows if row.own), None)
        if row is None:
            row = next(row for row in self.rows if row.prior == PRIORS[2])
        found = dict(row.beliefs())
        return {name: found[name] for name in (self.about, *found) if name in found}

    @property
    def first(self) -> Belief:
        """Any of the beliefs, for what they have in common."""
        return next(belief for _, belief in self.rows[0].beliefs())

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON-ready values."""
        return {
            "unit": str(self.unit),
            "adjacency": self.total.adjacency.value,
            "holds_with": self.holds_with,
            "rows": [row.to_dict() for row in self.rows],
        }


def learned(
    total: Guarantee,
    unit: Unit,
    promises: Sequence[Promise] = (),
    withdrawn: Sequence[Promise] = (),
) -> Learned | None:
    """Return what may be learned under a total; None where its δ bounds no belief at all.

    The priors of promises that were `withdrawn` stay in the table.
    """
    asked = max((p.confidence for p in promises if p.confidence is not None), default=CONFIDENCE)
    for confidence in (asked, *(level for level in _LOWER if level < asked)):
        try:
            rows = tuple(_rows(total, unit, (promises, withdrawn), confidence))
        except GuaranteeError:
            continue
        sure = min(belief.holds_with for row in rows for _, belief in row.beliefs())
        return Learned(total, unit, rows, sure, tuple(one.about for one in promises))
    return None


def _rows(
    total: Guarantee, unit: Unit, made: tuple[Sequence[Promise], ...], confidence: float
) -> Iterator[Row]:
    central = total.adjacency is Adjacency.ADD_REMOVE

    def at(p: float, q: float) -> Belief:
        return explain(total, Prior(p, q), confidence=confidence, unit=str(unit))

    shown: list[list[float]] = []
    both: list[list[tuple[float, float]]] = []
    for promises in made:  # those that stand, and those that were withdrawn
        priors = (part.own_prior for promise in promises for part in promise.each)
        own = list(dict.fromkeys(prior for prior in priors if prior is not None))
        both.append([pair for pair in own if max(pair) < 1])
        shown.append([min(pair) for pair in own if max(pair) == 1])
    yield from (Row(p * q, True, both=at(p, q)) for p, q in both[0])
    for prior in dict.fromkeys([*shown[0], *PRIORS, *shown[1]]):
        if prior == 1:
            continue
        yield Row(
            prior,
            prior in shown[0],
            membership=at(prior, 1.0) if central else None,
            value=at(1.0, prior),
            guess=loss_of(total).right_guess(prior),
        )
    yield from (Row(p * q, False, both=at(p, q)) for p, q in both[1] if (p, q) not in both[0])
