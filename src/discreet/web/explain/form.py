"""A published promise as the form of a page states it, and the questions that are asked of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ValidationInfo, field_validator

from discreet.beliefs import Prior
from discreet.guarantees import Guarantee, of_kind
from discreet.reports.sentences import AUDIENCES
from discreet.statements.presenter import budget_text
from discreet.web.forms import Choice, Form, Number, Text, percentage, refused, share
from discreet.web.thread import Thread


@dataclass(frozen=True, slots=True)
class KindOfPromise:
    """A kind of promise: its name, the numbers it is stated in, its Python name."""

    label: str
    numbers: tuple[str, ...]
    python: str


KINDS = {
    "pure": KindOfPromise("ε (pure)", ("epsilon",), "PureDP"),
    "approximate": KindOfPromise("(ε, δ)", ("epsilon", "delta"), "ApproxDP"),
    "probabilistic": KindOfPromise(
        "(ε, δ), probabilistic", ("epsilon", "delta"), "ProbabilisticDP"
    ),
    "concentrated": KindOfPromise("ρ (zCDP)", ("rho",), "ZCDP"),
}


_BUDGET = Number(low=0, high=1000)
_PERCENT = Number(above=0, high=100, unit="percent")


class PromiseForm(Form):
    """A published promise, as its curators state it."""

    kind: Annotated[str, Choice(tuple(KINDS))] = "pure"
    epsilon: Annotated[float, _BUDGET] = 1.0
    delta: Annotated[float, Number(low=0, below=1)] = 1e-6
    rho: Annotated[float, _BUDGET] = 0.1
    adjacency: Annotated[str, Choice(("add-remove", "replace", "local"))] = "add-remove"
    unit: Annotated[str, Text(80, needed=True)] = "one person"
    confidence: Annotated[float, Number(above=0, below=100, unit="percent")] = 99.0

    @classmethod
    def begun(cls, thread: Thread) -> dict[str, Any]:
        """Begin with the budget that the promise came to, at the belief that it speaks of."""
        keys, budget = thread.keys(), thread.budget()
        if not budget or not all(math.isfinite(amount) for amount in budget.values()):
            return {}
        kind = "concentrated" if "rho" in budget else "approximate" if "delta" in budget else "pure"
        said = {"kind": kind} | budget
        if "epsilon" in budget:
            said["epsilon"] = budget_text(budget["epsilon"])
        named = "before" if "before" in cls.model_fields else "suspect"
        before = keys.get("p") or keys.get("q")
        return said | ({named: percentage(before)} if before and before < 1 else {})

    def guarantee(self) -> Guarantee:
        """Return the promise itself."""
        return of_kind(self.kind, self.model_dump(), adjacency=self.adjacency)

    @property
    def python(self) -> str:
        """The promise as a Python expression."""
        words = [repr(value) for value in self.numbers().values()]
        if self.adjacency != "add-remove":
            words.append(f"adjacency={self.adjacency!r}")
        return f"{KINDS[self.kind].python}({', '.join(words)})"

    def numbers(self) -> dict[str, float]:
        """Return the numbers that this kind of promise has, by name."""
        return {name: getattr(self, name) for name in KINDS[self.kind].numbers}

    def flags_at(self, prior: Prior | None) -> dict[str, Any]:
        """Return the flags of `discreet explain` that ask for this promise at a prior."""
        said: dict[str, Any] = dict(self.numbers())
        if self.kind == "probabilistic":
            said["probabilistic"] = True
        if prior is not None:
            said |= {"prior": prior.p} | ({} if prior.q == 1 else {"value_prior": prior.q})
        said["confidence"] = share(self.confidence)
        for name, usual in (("adjacency", "add-remove"), ("unit", "one person")):
            if getattr(self, name) != usual:
                said[name] = getattr(self, name)
        return said

    def kept(self) -> dict[str, Any]:
        """Return the state without what it does not use, for a link."""
        unused = {"epsilon", "delta", "rho"} - set(KINDS[self.kind].numbers)
        said: dict[str, Any] = self.model_dump(exclude_defaults=True, exclude=unused)
        return said


class ExplainForm(PromiseForm):
    """What the form of the screen says; probabilities are percentages, as people type them."""

    every: bool = False
    before: Annotated[float | None, Number(above=0, high=100, unit="percent", optional=True)] = 30.0
    value: Annotated[float, _PERCENT] = 100.0
    audience: Annotated[str, Choice(AUDIENCES)] = "public"

    @field_validator("before")
    @classmethod
    def _said_or_every(cls, before: float | None, info: ValidationInfo) -> float | None:
        if before is None and not info.data.get("every"):
            raise refused("web.explain.no_before")
        return before

    def prior(self) -> Prior | None:
        """Return the belief before, or None for every one."""
        if self.every or self.before is None:
            return None
        return Prior(share(self.before), share(self.value))

    def flags(self) -> dict[str, Any]:
        """Return the flags of `discreet explain` that ask this."""
        said = self.flags_at(self.prior())
        return said if self.audience == "public" else said | {"audience": self.audience}
