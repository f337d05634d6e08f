"""A series of releases as the form of a page states it, and the commands that ask the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from discreet.guarantees import stated
from discreet.laws.registry import by_budget, kind_of, names
from discreet.series.planning import shown_down
from discreet.web.forms import Choice, Form, Number, percentage, share
from discreet.web.thread import Thread
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Noise:
    """A way to make a release: its name, the sign of its budget, its Python expression."""

    label: str
    sign: str
    python: str

    @property
    def in_rho(self) -> bool:
        """Whether the budget is ρ."""
        return self.sign == "ρ"


MECHANISMS: dict[str, Noise] = {
    **{
        name: Noise(f"{kind.label}, {kind.sign} each", kind.sign, kind.python)
        for name, kind in ((name, kind_of(name)) for name in names(planned=True))
    },
    "epsilon": Noise(say("web.series.any_epsilon"), "ε", "guarantees.PureDP({})"),
    "rho": Noise(say("web.series.any_rho"), "ρ", "guarantees.ZCDP({})"),
}


_PERCENT = Number(above=0, below=100, unit="percent")
_DELTA = Number(low=0, below=1, optional=True)


class SeriesForm(Form):
    """What the form of the screen says; probabilities are percentages, as people type them."""

    mechanism: Annotated[str, Choice(tuple(MECHANISMS))] = "gaussian"
    budget: Annotated[float, Number(above=0, high=1000)] = 0.01
    delta_each: Annotated[float | None, _DELTA] = None
    per_year: Annotated[int, Number(low=1, high=366, whole=True)] = 12
    years: Annotated[int, Number(low=1, high=100, whole=True)] = 10
    before: Annotated[float, _PERCENT] = 50.0
    about: Annotated[str, Choice(("posterior", "difference"))] = "posterior"
    limit: Annotated[float, _PERCENT] = 90.0
    confidence: Annotated[float, Number(above=0, high=100, unit="percent")] = 99.0
    sided: Annotated[str, Choice(("two", "one"))] = "two"
    delta: Annotated[float | None, Number(above=0, below=1, optional=True)] = None

    @classmethod
    def begun(cls, thread: Thread) -> dict[str, Any]:
        """Begin with the promise that came along: the same limit, and a twelfth of its budget."""
        keys, budget = thread.keys(), thread.budget()
        said: dict[str, Any] = {}
        if "posterior" in keys and "p" in keys and "unless_ratio" not in keys:
            said = {"before": percentage(keys["p"]), "limit": percentage(keys["posterior"])}
        elif "difference" in keys:
            said = {"about": "difference", "limit": percentage(keys["difference"])}
        each = shown_down(min(budget["epsilon"], 1e3) / 12) if budget.get("epsilon") else None
        if each is None or budget.get("delta"):
            return said
        sure = {"confidence": 100} if keys.get("every_output") else {}
        return said | sure | {"mechanism": "geometric", "budget": each, "years": 1}

    @property
    def in_rho(self) -> bool:
        """Whether the budget of each release is ρ."""
        return MECHANISMS[self.mechanism].in_rho

    @property
    def releases(self) -> int:
        """How many releases the whole series has."""
        return self.per_year * self.years

    @property
    def local(self) -> bool:
        """Whether each person randomizes their own answer: then only values are protected."""
        name = self.noise()
        return name is not None and kind_of(name).local

    @property
    def slow_below(self) -> float | None:
        """The budget below which bounds take long; None where the loss has a closed form."""
        name = self.noise()
        return None if name is None else kind_of(name).slow_below

    def noise(self) -> str | None:
        """Return the mechanism, or None where only a promise is known."""
        return None if self.mechanism in ("epsilon", "rho") else self.mechanism

    def each(self) -> Any:
        """Return what one release is: a mechanism, or a promise."""
        name = self.noise()
        if name is not None:
            return by_budget(name, self.budget)
        if self.mechanism == "rho":
            return stated(rho=self.budget)
        return stated(self.budget, self.delta_each)

    def horizon_flags(self) -> dict[str, Any]:
        """Return the flags of `discreet horizon` that ask this."""
        asked = {
            "mechanism": self.noise(),
            "rho" if self.in_rho else "epsilon": self.budget,
            "delta_each": self.delta_each if self.mechanism == "epsilon" else None,
        }
        return _given(asked | self.promise_keys() | self._surely("delta"))

    def promise_keys(self) -> dict[str, Any]:
        """Return what is to be kept over the series, as the keys of a promise."""
        if self.about == "posterior":
            prior = "q" if self.local else "prior"
            return {"posterior": share(self.limit), prior: share(self.before)}
        return _given(
            {"difference": share(self.limit), "about": None if self.local else "membership"}
        )

    def plan_flags(self) -> dict[str, Any]:
        """Return the flags of `discreet plan` that ask for the budget of each release."""
        asked = {
            "releases": self.releases,
            **self.promise_keys(),
            "mechanism": self.noise(),
            "budget": "rho" if self.mechanism == "rho" else None,
            "delta_each": self.delta_each if self.mechanism == "epsilon" else None,
        }
        return _given(asked | self._surely("delta_total"))

    def surely(self) -> dict[str, Any]:
        """Return how surely it is kept, as keys of a promise: with 100 %, for every output."""
        if self.confidence == 100:
            return {"every_output": True}
        return {"confidence": share(self.confidence)}

    def _surely(self, total: str) -> dict[str, Any]:
        sided = None if self.sided == "two" else self.sided
        return self.surely() | {"sided": sided, total: self.delta}


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}
