"""The mechanisms by name: each law registers itself once, and every list of names follows from it.

A registration says what the mechanism's budget is called, how it is made from a budget, what else
it can be given by, and how a form calls it. Commands, pages, plans and the ledger offer what is
registered here and nothing else; a law from outside the package registers in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from discreet.errors import InputError

__all__ = ["Kind", "by_budget", "kind_of", "names", "register"]

Budget: TypeAlias = Literal["epsilon", "rho"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A mechanism by its name.

    `make(budget, sensitivity)` has at least the noise that the budget asks for. `planned` says that
    a series of equal releases can be planned with it. `loss_by_name` says that the name and the
    budget fix its privacy loss, whatever the sensitivity that the budget is for.
    """

    name: str
    budget: Budget
    make: Callable[[float, float], Any]
    label: str
    python: str
    given_by: tuple[str, ...] = ()
    planned: bool = True
    loss_by_name: bool = False

    @property
    def sign(self) -> str:
        """The letter of its budget."""
        return "ε" if self.budget == "epsilon" else "ρ"


_KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Add a mechanism; a name is taken once."""
    if kind.name in _KINDS:
        raise InputError(f"a mechanism is called {kind.name!r} already; choose another name.")
    _KINDS[kind.name] = kind
    return kind


def names(*, planned: bool | None = None) -> tuple[str, ...]:
    """Return the names that there are, or those that can be planned.

    >>> "geometric" in names(planned=True), "exponential" in names(planned=True)
    (True, False)
    """
    import discreet.laws  # noqa: F401  (whose files register themselves)

    return tuple(n for n, kind in _KINDS.items() if planned is None or kind.planned is planned)


def kind_of(name: str, *, planned: bool = True) -> Kind:
    """Return the mechanism of a name, or say which names there are."""
    known = names(planned=True if planned else None)
    if name not in known:
        raise InputError(f"mechanism is {name!r}; it must be one of: {', '.join(known)}.")
    return _KINDS[name]


def by_budget(name: str, budget: float, sensitivity: float = 1) -> Any:
    """Return the named mechanism at a budget; the noise is never less than the budget asks for.

    >>> by_budget("geometric", 0.5)
    Geometric(epsilon=0.5, sensitivity=1)
    """
    return kind_of(name).make(budget, sensitivity)
