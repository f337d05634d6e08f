"""A published promise as the form of a page states it, and the questions that are asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from discreet.beliefs import Prior
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, Guarantee, ProbabilisticDP, PureDP
from discreet.web.percents import share
from discreet.web.problems import FormState

__all__ = ["KINDS", "ExplainState", "KindOfPromise", "MeState", "PromiseState"]


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


Kind = Literal["pure", "approximate", "probabilistic", "concentrated"]


class PromiseState(FormState):
    """A published promise, as its curators state it."""

    kind: Kind = "pure"
    epsilon: float = Field(default=1.0, ge=0, le=1000, allow_inf_nan=False)
    delta: float = Field(default=1e-6, ge=0, lt=1, allow_inf_nan=False)
    rho: float = Field(default=0.1, ge=0, le=1000, allow_inf_nan=False)
    adjacency: Literal["add-remove", "replace", "local"] = "add-remove"
    unit: str = Field(default="one person", min_length=1, max_length=80)
    confidence: float = Field(default=99, gt=0, lt=100, allow_inf_nan=False)

    def guarantee(self) -> Guarantee:
        """Return the promise itself."""
        where = Adjacency(self.adjacency)
        match self.kind:
            case "pure":
                return PureDP(self.epsilon, adjacency=where)
            case "approximate":
                return ApproxDP(self.epsilon, self.delta, adjacency=where)
            case "probabilistic":
                return ProbabilisticDP(self.epsilon, self.delta, adjacency=where)
        return ZCDP(self.rho, adjacency=where)

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


class ExplainState(PromiseState):
    """What the form of the screen says; probabilities are percentages, as people type them."""

    before: float | None = Field(default=30, gt=0, le=100, allow_inf_nan=False)
    value: float = Field(default=100, gt=0, le=100, allow_inf_nan=False)
    audience: Literal["public", "technical", "regulator"] = "public"
    every: bool = False

    def prior(self) -> Prior | None:
        """Return the belief before, or None for every one."""
        if self.every or self.before is None:
            return None
        return Prior(share(self.before), share(self.value))

    def flags(self) -> dict[str, Any]:
        """Return the flags of `discreet explain` that ask this."""
        said = self.flags_at(self.prior())
        return said if self.audience == "public" else said | {"audience": self.audience}


class MeState(PromiseState):
    """One participant's own worry about a promise."""

    suspect: float = Field(default=30, gt=0, le=100, allow_inf_nan=False)
    about: Literal["being in", "a value"] = "being in"
    knows: Literal["everyone else", "a hunch"] = "everyone else"
    without: float = Field(default=10, ge=0, le=100, allow_inf_nan=False)

    def prior(self) -> Prior:
        """Return what they suspect: that I am in, or, knowing that, a value of mine."""
        suspected = share(self.suspect)
        return Prior(suspected) if self.about == "being in" else Prior(1.0, suspected)

    def flags(self) -> dict[str, Any]:
        """Return the flags of `discreet explain` that ask this."""
        return self.flags_at(self.prior())
