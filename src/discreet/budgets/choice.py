"""The answer of `choose`: a budget, the adversary that binds it, the proof, and what it implies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from discreet.beliefs import pure
from discreet.beliefs.belief import Assumptions
from discreet.beliefs.confidence import failure_of
from discreet.beliefs.explaining import assumptions_for
from discreet.beliefs.prior import Prior
from discreet.budgets.alternatives import naive
from discreet.frames import Tabular, columns_from, html_table
from discreet.guarantees import Adjacency, ApproxDP, PureDP, finite_or_null
from discreet.laws.geometric import Geometric
from discreet.promises.promise import CONFIDENCE, Promise
from discreet.promises.shapes import (
    Difference,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Tolerance,
)
from discreet.promises.table import Table
from discreet.rounding import percent, up

if TYPE_CHECKING:
    from discreet.budgets.readings import Reading

__all__ = ["QUESTION", "Binding", "Certificate", "Choice"]

QUESTION = (
    "Are households, networks or contagion in the data? If what is known of one person says "
    "something about another, more may be learned than is promised here (assumption 2)."
)
_SHOWN = (0.01, 0.1, 0.3, 0.5)


@dataclass(frozen=True, slots=True)
class Binding:
    """The adversary that binds: their prior, and whether it is attained or only approached."""

    p: float
    q: float
    attained: bool
    name: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the prior as JSON-ready values."""
        out: dict[str, Any] = {"p": self.p, "q": self.q, "attained": self.attained}
        return out if self.name is None else out | {"name": self.name}


@dataclass(frozen=True, slots=True)
class Certificate:
    """lower ≤ largest safe ε ≤ upper, and how that is known; `epsilon` is the lower end."""

    lower: float
    upper: float
    method: str
    certified: bool
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as JSON-ready values."""
        out: dict[str, Any] = {
            "lower": finite_or_null(self.lower),
            "upper": finite_or_null(self.upper),
            "method": self.method,
            "certified": self.certified,
        }
        if math.isinf(self.upper):
            out["unbounded"] = True
        return out if self.reason is None else out | {"reason": self.reason}


@dataclass(frozen=True)
class Choice(Tabular):
    """The largest budget that keeps a promise, the adversary that binds it, and the proof."""

    promise: Promise
    guarantee: PureDP | ApproxDP
    binding: Binding
    certificate: Certificate
    sensitivity: int = 1

    @property
    def tolerance(self) -> Tolerance:
        """What may be learned at the most."""
        return self.promise.tolerance

    @property
    def confidence(self) -> float | None:
        """How often it holds for each unit; None where it holds for every output."""
        return self.promise.confidence

    @property
    def epsilon(self) -> float:
        """The budget: never above the true maximum."""
        return self.guarantee.epsilon

    @cached_property
    def implied(self) -> tuple[dict[str, float], ...]:
        """What the budget allows at priors of 1, 10, 30 and 50 %, whatever the tolerance said."""
        boxes = [part.box for _, part in self.promise.parts]
        q = boxes[0].q1 if all(box.q_fixed and box.q1 == boxes[0].q1 for box in boxes) else 1.0
        free = any(not box.q_fixed for box in boxes)
        rows = []
        for prior in _SHOWN:
            if self.promise.about == "value":
                rows.append({"prior": prior, "posterior": self.posterior_at(Prior(1.0, prior))})
                continue
            row = {"prior": prior, "posterior": self.posterior_at(Prior(prior, q))}
            if free:
                row["posterior_known_in"] = self.posterior_at(Prior(1.0, prior))
            rows.append(row)
        return tuple(rows)

    def posterior_at(self, prior: Prior) -> float:
        """Return how sure someone with this prior may become under the budget, rounded up.

        With δ > 0 it holds with the confidence of the promise, at this prior.
        """
        where, related = self.guarantee.adjacency, self.promise.related
        apart = 2 * related - 1 if where is Adjacency.ADD_REMOVE else related
        stated = self.guarantee.steps(apart)
        if isinstance(stated, ApproxDP) and stated.delta > 0 and math.isfinite(stated.epsilon):
            from discreet.beliefs.explaining import posterior_of

            failure = failure_of(self.confidence or CONFIDENCE)
            return posterior_of(stated, prior, failure, self.promise.sided)
        return min(1.0, up(prior.pq * pure.ratio(stated.epsilon, prior, where)[1]))

    @cached_property
    def noise(self) -> dict[str, Any]:
        """What the budget costs on one count: geometric noise."""
        if math.isinf(self.epsilon):
            return {"mechanism": "none", "sd": 0.0, "prob_exact": 1.0, "half_width_95": 0}
        law = Geometric(self.epsilon, self.sensitivity)
        return {
            "mechanism": "geometric",
            "sd": law.sd,
            "prob_exact": law.prob_exact,
            "half_width_95": law.half_width(0.95),
        }

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before taking the number."""
        return tuple(_warnings(self))

    @cached_property
    def naive(self) -> float | None:
        """½ log of the least ratio tolerated: what one would take without a profile (K&R §2.3).

        Under replace and local, where two steps are one, it is log of it.
        """
        ratios = [_least_ratio(part) for _, part in self.promise.parts]
        known = [ratio for ratio in ratios if ratio is not None]
        if not known or len(known) < len(ratios) or min(known) <= 1:
            return None
        return naive(min(known), self.guarantee.adjacency)

    @property
    def question(self) -> str | None:
        """What only the data holder can answer; None where nothing is assumed of the others."""
        return QUESTION if self.promise.every_output and self.promise.related == 1 else None

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The same words read in the other ways of being sure, each with what it does not say."""
        from discreet.budgets.readings import readings_of

        return readings_of(self)

    @property
    def assumptions(self) -> Assumptions:
        """What the promise rests on."""
        return assumptions_for(
            self.guarantee.adjacency,
            strong=not self.promise.every_output,
            unit=str(self.promise.unit),
            confidence=self.confidence,
            values_unknown=self.promise.about != "membership",
            on_average=self.promise.on_average,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as JSON-ready values."""
        out: dict[str, Any] = {"epsilon": finite_or_null(self.epsilon)}
        if out["epsilon"] is None:
            out["unbounded"] = True
        return out | {
            "promise": self.promise.to_dict(),
            "binding": self.binding.to_dict(),
            "certificate": self.certificate.to_dict(),
            "guarantee": self.guarantee.to_dict(),
            "implied": [dict(row) for row in self.implied],
            "noise": self.noise,
            "alternatives": {"naive": finite_or_null(self.naive)},
            "confidence": self.confidence,
            "assumptions": self.assumptions.to_dict(),
            "question": self.question,
            "readings": [reading.to_dict() for reading in self.readings],
            "warnings": list(self.warnings),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return what the budget allows at other priors."""
        return columns_from(self.implied)

    def _repr_html_(self) -> str:
        allowed = "; ".join(
            f"{row['prior']:.0%} → at most {percent(row['posterior'], 'up', 1)}"
            for row in self.implied
        )
        rows = [("promise", self.promise.sentence()), ("belief", allowed)]
        rows += [
            ("proof", self.certificate.method),
            ("noise of a count", f"{self.noise['sd']:.3g}"),
        ]
        rows += [("warning", warning) for warning in self.warnings]
        return html_table(repr(self), rows + list(self.assumptions.to_dict().items()))

    def __repr__(self) -> str:
        limit = "" if self.binding.attained else ", in the limit"
        return (
            f"Choice(epsilon={self.epsilon:.6g}, binding p={self.binding.p:g} q={self.binding.q:g}"
            f"{limit}, {self.certificate.method})"
        )


def _least_ratio(part: Any) -> float | None:
    match part:
        case Ratio(ratio, _) | PosteriorUnlessRatio(_, ratio, _):
            return float(ratio)
        case Posterior(posterior, box):
            return float(posterior / (box.p1 * box.q1))
        case Difference(difference, box):
            return float(1 + difference / (box.p1 * box.q1))
        case Table():
            return min(ratio for _, ratio in part.cells())
    return None


def _warnings(choice: Choice) -> Iterator[str]:
    if math.isinf(choice.epsilon):
        yield (
            "This promise bounds nothing: at every prior it speaks of, the posterior that it "
            "allows is 100 % or more. The exact table would keep it."
        )
    parts = choice.promise.parts
    for _, part in parts:
        up_only = choice.promise.sided == "one" or isinstance(part, PosteriorUnlessRatio)
        ratio = part.ratio if up_only and isinstance(part, Ratio | PosteriorUnlessRatio) else None
        if ratio is not None and part.box.p1 * part.box.q1 * ratio >= 1:
            yield (
                f"At priors of {percent(1 / ratio, 'up', 1)} and more the tolerance itself asks "
                f"for nothing: {ratio:g} times the prior is already certainty."
            )
            break
    if all(part.box.p_fixed and part.box.p1 < 1 for _, part in parts):
        yield (
            "It speaks of one prior of being in the data only; other adversaries may learn more "
            "or less, as the implied posteriors show."
        )
    if isinstance(choice.tolerance, Groups):
        named = [part for _, part in choice.tolerance.parts]
        if any(part != named[0] for part in named):
            yield (
                "Groups have unequal tolerances. One budget protects all by the strictest, but who "
                "is thought to need less protection is a question of equity: have it reviewed."
            )
    if not choice.certificate.certified:
        yield f"Not certified: {choice.certificate.reason}"
    width = choice.certificate.upper - choice.certificate.lower
    if width > 1e-6 * max(1.0, choice.epsilon):
        yield (
            f"The search stopped {width:.1g} below the best prior that it found; the budget is "
            "safe, but a larger one may be too."
        )
