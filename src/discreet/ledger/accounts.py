"""An account: its terms, fixed when it was opened, and where it stands.

The terms are the unit with its name, the adjacency and the filter: they never change. The lifetime
cap is raised only by a grant that names its approver and reason. A period cap limits the pace (so
much a calendar month, in UTC) and promises nothing. An account may have no lifetime cap; then what
it has spent is counted and not limited, and everything that shows it says so. Promises of the
account limit it beside its caps: each is a fixed amount that no grant raises (`promises`).

`Account` is also the state of the fold over the chain: `after` takes one more charge, `granted` one
more grant, `promising` and `withdrawn` one promise more or less. The ledger writes with them and
the verification recomputes with the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from typing import Any, Literal

from discreet.errors import BudgetExceeded, InputError, PolicyError
from discreet.guarantees import Adjacency, Guarantee, Named, parameters, stated
from discreet.ledger.amounts import (
    ZERO,
    Amount,
    Charge,
    Chargeable,
    Filter,
    charges,
    lacks_delta,
    said_to_fit,
)
from discreet.promises.unit import Unit
from discreet.words import say


class OverBudget(BudgetExceeded):
    """An account does not cover a charge; the amounts are attributes as well as words."""

    def __init__(
        self,
        name: str,
        /,
        *,
        needs: Amount,
        spent: Amount,
        cap: Amount,
        left: Amount,
        fits: Charge | None,
        **values: Any,
    ) -> None:
        told = needs.needed_beside(spent, cap)
        super().__init__(name, left=left.limit_text(), **told, **values)
        self.needs, self.spent, self.cap, self.left, self.fits = needs, spent, cap, left, fits


class Period(Named):
    """A stretch of the calendar, in UTC."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    def holding(self, moment: datetime) -> str:
        """Name the period that holds a moment, e.g. `2026-11` for a month."""
        if self is Period.WEEK:
            year, week, _ = moment.isocalendar()
            return f"{year}-W{week:02d}"
        if self is Period.QUARTER:
            return f"{moment.year}-Q{(moment.month + 2) // 3}"
        return moment.strftime(
            {Period.DAY: "%Y-%m-%d", Period.MONTH: "%Y-%m", Period.YEAR: "%Y"}[self]
        )


@dataclass(frozen=True, slots=True)
class Account:
    """The terms of an account and what it has spent, exactly."""

    name: str
    unit: str
    adjacency: Adjacency
    filter: Filter
    cap: Amount | None
    spent: Amount
    period: Period | None = None
    period_cap: Amount | None = None
    period_now: str | None = None
    period_spent: Amount | None = None
    unit_name: str | None = None
    promises: Mapping[str, Amount] = field(default_factory=dict)

    @classmethod
    def opened(
        cls,
        name: str,
        *,
        unit: str,
        unit_name: str | None = None,
        adjacency: str,
        filter: str,  # noqa: A002  (the users' word)
        cap: Guarantee | Amount | None,
        period: str | None = None,
        period_cap: Guarantee | Amount | None = None,
    ) -> Account:
        """Return a new account with nothing spent, all terms checked."""
        subject = Unit.of(unit, unit_name)
        if (period is None) != (period_cap is None):
            raise InputError("ledger.period_without_cap")
        rule, neighbours = Filter.of(filter), Adjacency.of(adjacency)
        for limit in (cap, period_cap):
            stated = getattr(limit, "adjacency", neighbours)
            if stated != neighbours:
                raise PolicyError(
                    "ledger.cap_adjacency", stated=stated.value, neighbours=neighbours.value
                )
        return cls(
            name=name,
            unit=unit,
            adjacency=neighbours,
            filter=rule,
            cap=None if cap is None else rule.limit(cap),
            spent=rule.zero,
            period=None if period is None else Period.of(period),
            period_cap=None if period_cap is None else rule.limit(period_cap),
            period_spent=None if period_cap is None else rule.zero,
            unit_name=None if unit_name is None else subject.name,
        )

    @property
    def subject(self) -> Unit:
        """What is protected, as sentences call it."""
        return Unit.of(self.unit, self.unit_name)

    def called(self, unit: Unit) -> Unit:
        """Return the unit by the name that the account gave it, or as the release calls it."""
        return unit if self.unit_name is None else self.subject

    @property
    def remaining(self) -> Amount | None:
        """What the lifetime cap and all promises still allow; None without any of them."""
        return left_under((self.cap, *self.promises.values()), self.spent)

    @property
    def total(self) -> Guarantee:
        """What everything charged so far promises together, as one guarantee.

        With Σδ > 0 a `zcdp` account promises δ-approximate zCDP: given as its whole curve δ(ε).
        """
        return self.promise(self.spent)

    def promise(self, spent: Amount) -> Guarantee:
        """Read an amount as a guarantee under this account's filter; never below the truth."""
        numbers, adjacency = spent.floats("up"), self.adjacency
        delta = min(1.0, numbers.get("delta", 0.0))
        if self.filter is Filter.ZCDP and delta:
            from discreet.composition.concentrated import ConcentratedLoss

            rho = numbers["rho"]
            name = f"{delta:g}-approximate {rho:g}-zCDP"
            return ConcentratedLoss(rho, lost=delta, adjacency=adjacency, name=name).curve()
        return stated(numbers.get("epsilon"), delta, numbers.get("rho"), adjacency=adjacency)

    def require(
        self,
        *,
        unit: str | None = None,
        adjacency: str | None = None,
        unit_name: str | None = None,
    ) -> None:
        """Refuse a unit, its name or an adjacency that is not the account's."""
        named = "" if unit_name is None else str(self.subject)
        for what, asked, mine in (
            ("unit", unit, self.unit),
            ("adjacency", adjacency, self.adjacency.value),
            ("unit name", unit_name, named),
        ):
            if asked is not None and str(asked) != mine:
                raise PolicyError(
                    "ledger.other_terms", name=self.name, what=what, mine=mine, asked=asked
                )

    def cost(self, of: Chargeable) -> Amount:
        """Return what a release costs here, exactly; refuse what the account cannot take."""
        for charge in charges(of):
            self.require(adjacency=charge.guarantee.adjacency)
        return self.filter.cost(of)

    def _paced(self, now: str | None) -> Amount:
        """What was spent in a period so far."""
        same = self.period_now == now
        return self.period_spent if same and self.period_spent is not None else self.filter.zero

    def after(self, cost: Amount, moment: datetime) -> Account:
        """Return the account with one more cost, whatever its caps."""
        spent = self.spent.plus(cost)
        if self.period is None:
            return replace(self, spent=spent)
        now = self.period.holding(moment)
        return replace(self, spent=spent, period_now=now, period_spent=self._paced(now).plus(cost))

    def check(
        self, of: Chargeable, before: Account, instead: Callable[[], str] = lambda: ""
    ) -> None:
        """Refuse if this account, which is `before` with a release charged, passes a cap.

        The refusal says what there is `instead`.
        """
        now = self.period_now
        for which, cap, was, spent in (
            ("lifetime_cap", self.cap, before.spent, self.spent),
            ("period_cap", self.period_cap, before._paced(now), self._paced(now)),
        ):
            if cap is not None and not spent.within(cap):
                left, needs = cap.minus(was), self.filter.cost(of)
                fits, short = self.filter.fitting(of, left), lacks_delta(needs, left)
                raise OverBudget(
                    "ledger.used_up" if fits is None and not short else "ledger.over_budget",
                    account=self.name,
                    which=say(f"ledger.{which}", period=self.period, now=now),
                    fitting=said_to_fit(fits, delta=short and not left.delta),
                    needs=needs,
                    spent=was,
                    cap=cap,
                    left=left,
                    fits=fits,
                    instead=instead(),
                    wait=say("ledger.or_wait") if which == "period_cap" else "",
                )

    def broken(self) -> tuple[str, ...]:
        """Name the promises that what was spent has passed."""
        return tuple(name for name, limit in self.promises.items() if not self.spent.within(limit))

    def promising(self, name: str, limit: Amount) -> Account:
        """Return the account with one more promise, or with a promise's limit replaced."""
        return replace(self, promises={**self.promises, name: limit})

    def withdrawn(self, name: str) -> Account:
        """Return the account without a promise."""
        if name not in self.promises:
            raise InputError("ledger.no_such_promise", account=self.name, promise=name)
        return replace(self, promises={k: v for k, v in self.promises.items() if k != name})

    def granted(self, add: Amount, which: Literal["lifetime", "period"] = "lifetime") -> Account:
        """Return the account with a cap raised."""
        lifetime = which == "lifetime"
        cap = self.cap if lifetime else self.period_cap
        if cap is None:
            raise PolicyError("ledger.no_cap_to_raise", name=self.name, which=which)
        more = cap.plus(add)
        return replace(self, cap=more) if lifetime else replace(self, period_cap=more)

    def standing(self) -> dict[str, Any]:
        """Return the part that changes, exactly: every entry of the account keeps it."""
        out: dict[str, Any] = {
            "cap": None if self.cap is None else self.cap.stored(),
            "spent": self.spent.stored(),
        }
        if self.period_cap is not None and self.period_spent is not None:
            out["period_cap"] = self.period_cap.stored()
            out["period_now"] = self.period_now
            out["period_spent"] = self.period_spent.stored()
        if self.promises:
            out["promises"] = {name: limit.stored() for name, limit in self.promises.items()}
        return out

    def terms(self) -> dict[str, Any]:
        """Return the part that never changes: the opening entry keeps it."""
        out: dict[str, Any] = {
            "unit": self.unit,
            "adjacency": self.adjacency.value,
            "filter": self.filter.value,
            "period": None if self.period is None else self.period.value,
        }
        return out if self.unit_name is None else out | {"unit_name": self.unit_name}

    @classmethod
    def restored(cls, name: str, terms: Mapping[str, Any], standing: Mapping[str, Any]) -> Account:
        """Read back what `terms` and `standing` wrote."""

        def amount(key: str) -> Amount | None:
            return None if standing.get(key) is None else Amount.restored(standing[key])

        return cls(
            name=name,
            unit=terms["unit"],
            adjacency=Adjacency.of(terms["adjacency"]),
            filter=Filter.of(terms["filter"]),
            cap=amount("cap"),
            spent=Amount.restored(standing["spent"]),
            period=None if terms["period"] is None else Period.of(terms["period"]),
            period_cap=amount("period_cap"),
            period_now=standing.get("period_now"),
            period_spent=amount("period_spent"),
            unit_name=terms.get("unit_name"),
            promises={
                promise: Amount.restored(limit)
                for promise, limit in standing.get("promises", {}).items()
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the account as JSON-ready values: spending rounded up, what is left down."""
        out: dict[str, Any] = {
            "account": self.name,
            "unit": self.unit,
            "unit_name": str(self.subject),
            "adjacency": self.adjacency.value,
            "filter": self.filter.value,
            "cap": remaining_dict(self.cap),
            "spent": self.spent.to_dict("up"),
            "remaining": remaining_dict(self.remaining),
        }
        if self.cap is None:
            out["note"] = say("ledger.no_cap")
        if self.period_cap is not None and self.period_spent is not None:
            out["period"] = {
                "name": str(self.period),
                "now": self.period_now,
                "cap": self.period_cap.to_dict("down"),
                "spent": self.period_spent.to_dict("up"),
            }
        return out

    def __repr__(self) -> str:
        spent, cap = str(self.spent), say("ledger.no_cap")
        if self.cap is not None:
            spent, most = self.spent.beside(self.cap)
            cap = f"cap {most}"
        return f"Account({self.name!r}, {self.filter.value}, spent {spent}, {cap})"


def left_under(limits: Iterable[Amount | None], spent: Amount) -> Amount | None:
    """Return what the least of several limits leaves after what was spent; None without any."""
    given = [limit for limit in limits if limit is not None]
    return reduce(Amount.least, given).minus(spent) if given else None


def remaining_dict(amount: Amount | None) -> dict[str, Any]:
    """Return a cap or what is left of it, rounded down; without a cap it is unbounded."""
    return parameters(epsilon=math.inf) if amount is None else amount.to_dict("down")


def spent_together(accounts: Sequence[Account]) -> list[Guarantee]:
    """Return what accounts spent on a unit that is in all of them: ε with δ, or ρ, or both.

    Amounts of one kind add up exactly; (0, δ)-DP beside ρ is what approximate zCDP is. Beside ρ the
    accounts that count ε are told one by one, so that each has an ε²/2 of its own, and not that of
    their sum: whatever is charged as one goes, Σⱼεⱼ²/2 over the charges of an account (Whitehouse,
    Ramdas, Rogers and Wu 2023) is at most (Σⱼεⱼ)²/2. Without ρ they are one sum, which holds where
    what is spent on one account depends on another; better rules for (ε, δ) need a fixed plan.
    """
    if len({(one.unit, one.adjacency) for one in accounts}) != 1:
        raise InputError("ledger.accounts_differ")
    total = nothing = Amount(epsilon=ZERO, delta=ZERO, rho=ZERO)
    for one in accounts:
        total = total.plus(replace(nothing, **one.spent.coordinates()))
    where = accounts[0].adjacency

    def in_epsilon(amount: Amount) -> Guarantee:
        epsilon, delta, _ = amount.floats("up").values()
        return stated(epsilon, min(1.0, delta), adjacency=where)

    rho = total.floats("up")["rho"]
    if not rho:
        return [in_epsilon(total)]
    each = (replace(nothing, **one.spent.coordinates()) for one in accounts)
    counted = [in_epsilon(replace(one, rho=ZERO)) for one in each if one.epsilon or one.delta]
    return [stated(rho=rho, adjacency=where), *counted]
