"""The mechanisms by name: each law registers itself once, and every list of names follows from it.

A registration says what the mechanism's budget is called, how it is made from a budget, what else
it can be given by, and how a form calls it. Commands, pages, plans and the ledger offer what is
registered here and nothing else. A law from outside the package registers in the same way; where
the entry points `discreet.mechanisms` of its package name it, it is found by its name alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from discreet.errors import InputError
from discreet.guarantees import Adjacency
from discreet.laws.mechanism import Budget, Mechanism, WholeNoise
from discreet.outside import load_from_outside
from discreet.words import has, say


@dataclass(frozen=True, slots=True)
class Kind:
    """A mechanism by its name.

    `make(budget, sensitivity)` has at least the noise that the budget asks for; `given_by` has what
    else a mechanism can be made from, such as its `sigma` or its `scale`. `planned` says that a
    series of equal releases can be planned with it. `loss_by_name` says that the name and the
    budget fix its privacy loss, whatever the sensitivity that the budget is for. `slow_below`: its
    loss has no closed form, so that each bound takes a transform, and a long one below this budget.
    `usual`: where only a budget of its kind is known, this mechanism shows how accurate it is.
    `released` is the class of its law, where releases can draw it.
    """

    name: str
    budget: Budget
    make: Callable[[float, float], Mechanism]
    says: str
    python: str
    given_by: Mapping[str, Callable[[float, float], Mechanism]] = field(default_factory=dict)
    planned: bool = True
    loss_by_name: bool = False
    slow_below: float | None = None
    usual: bool = False
    released: type[WholeNoise] | None = None

    @property
    def label(self) -> str:
        """What a form calls it: a text of the catalogue, or `says` as it stands."""
        return say(self.says) if has(self.says) else self.says

    @property
    def local(self) -> bool:
        """Whether each person randomizes their own answer."""
        return self.make(1.0, 1).guarantee().adjacency is Adjacency.LOCAL

    @property
    def sign(self) -> str:
        """The letter of its budget."""
        return "ε" if self.budget == "epsilon" else "ρ"

    def given(self, word: str, value: float, sensitivity: float = 1) -> Mechanism:
        """Return the mechanism made from its budget, or from something else that it is given by."""
        makers = {self.budget: self.make, **self.given_by}
        if word not in makers:
            takes = " or ".join(makers)
            raise InputError("laws.given_by", name=self.name, takes=takes, word=word)
        return makers[word](value, sensitivity)


KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Add a mechanism; a name is taken once."""
    if kind.name in KINDS:
        raise InputError("laws.name_taken", name=kind.name)
    KINDS[kind.name] = kind
    return kind


def names(*, planned: bool | None = None) -> tuple[str, ...]:
    """Return the names that there are, or those that can be planned.

    >>> "geometric" in names(planned=True), "exponential" in names(planned=True)
    (True, False)
    """
    import discreet.laws  # noqa: F401  (whose files register themselves)

    return tuple(n for n, kind in KINDS.items() if planned is None or kind.planned is planned)


def usual(budget: Budget) -> str:
    """Return the mechanism that shows how accurate a release with such a budget is.

    >>> usual("epsilon"), usual("rho")
    ('geometric', 'gaussian')
    """
    return next(n for n in names(planned=True) if KINDS[n].usual and KINDS[n].budget == budget)


def kind_of(name: str, *, planned: bool = True) -> Kind:
    """Return the mechanism of a name, or say which names there are."""
    known = names(planned=True if planned else None)
    if name not in known:
        load_from_outside("mechanisms")
        known = names(planned=True if planned else None)
    if name not in known:
        raise InputError("laws.unknown", name=name, known=", ".join(known))
    return KINDS[name]


def released_laws() -> dict[str, type[WholeNoise]]:
    """Return the laws that releases can draw, by the names that specs have for them.

    >>> list(released_laws())
    ['geometric', 'gaussian']
    """
    names()  # loads them
    found = [kind.released for kind in KINDS.values() if kind.released is not None]
    return {law.released_as: law for law in sorted(found, key=lambda law: law.paid_in)}


def released_law(name: str) -> type[WholeNoise] | None:
    """Return the law that a spec or a stored release names; None if there is none."""
    if name not in released_laws():
        load_from_outside("mechanisms")
    return released_laws().get(name)


def usual_noise(budget: Budget) -> type[WholeNoise]:
    """Return the noise that a release draws for a budget of a kind, where none is named."""
    return next(law for law in released_laws().values() if law.paid_in == budget)


def by_budget(name: str, budget: float, sensitivity: float = 1) -> Mechanism:
    """Return the named mechanism at a budget; the noise is never less than the budget asks for.

    >>> by_budget("geometric", 0.5)
    Geometric(epsilon=0.5, sensitivity=1)
    """
    return kind_of(name).make(budget, sensitivity)
