"""`join`: what someone would believe of me if I join, against what they would if I stay out.

Wood et al.'s comparison (K&R (42)). a₀ is the belief in something about a person after the release,
had they stayed out; a₁ the belief after it, had they joined. Joined with one value or with another,
the release differs by two steps, so that

    odds(a₁) ≤ e^b odds(a₀),   b the privacy loss of two steps: 2ε for pure DP,

and by one where the statistic counts those with the sensitive value alone, or where values are
replaced. With δ, ρ or a series b is a bound that may fail, for someone who knows all the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.beliefs.bounds import counterfactual_upper, steps_between
from discreet.beliefs.explaining import Explained, as_promised, spoken, subject_of, with_dependent
from discreet.beliefs.prior import check_probability, failure_of
from discreet.errors import InputError
from discreet.frames import Tabular, json_ready
from discreet.guarantees import Guarantee
from discreet.rounding import decimal_up, up
from discreet.words import say

SHOWN = (0.01, 0.05, 0.1, 0.3, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True)
class Joining(Tabular):
    """Beliefs after a release: if a unit stays out, and at most if it joins.

    `odds` is the factor between them, `holds_with` the probability of the bound over the noise.
    """

    guarantee: Guarantee
    without: tuple[float, ...]
    joined: tuple[float, ...]
    odds: float
    holds_with: float
    unit: str

    @property
    def text(self) -> str:
        """The comparison in words."""
        said = [say("beliefs.join.says", unit=self.unit, odds=f"{self._odds_up:g}")]
        if self.holds_with < 1:
            said.append(say("beliefs.join.may_fail", percent=f"{100 * self.holds_with:.6g}"))
        return " ".join([*said, say("beliefs.join.not_said", unit=self.unit)])

    @property
    def _odds_up(self) -> float:
        return self.odds if math.isinf(self.odds) else decimal_up(self.odds, 2)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-ready values."""
        pairs = zip(self.without, self.joined, strict=True)
        said: dict[str, Any] = json_ready(
            {
                "odds": self.odds,
                "holds_with": self.holds_with,
                "rows": [{"without": a0, "joined": a1} for a0, a1 in pairs],
                "text": self.text,
            }
        )
        return said

    def to_columns(self) -> dict[str, Sequence[Any]]:
        """Return the beliefs, out and in."""
        return {"without": self.without, "joined": self.joined}

    def __repr__(self) -> str:
        return f"Joining(odds at most ×{self._odds_up:g}, {self.guarantee})"


def join(
    guarantee: Explained,
    without: float | Sequence[float] = SHOWN,
    *,
    confidence: float | None = None,
    counts_sensitive_only: bool = False,
    unit: str | None = None,
    unit_name: str | None = None,
) -> Joining:
    """Return what may be believed of a unit if it joins, for beliefs if it stays out.

    `guarantee` is what `explain` takes; the promise that it carries says what is left out.

    >>> from discreet.guarantees import PureDP
    >>> tuple(round(x, 4) for x in join(PureDP(0.5), [0.1, 0.5]).joined)
    (0.232, 0.7311)
    """
    given = without if isinstance(without, Iterable) else (without,)
    beliefs = tuple(check_probability("without", one, zero=True) for one in given)
    if not beliefs:
        raise InputError("beliefs.join.nothing")
    promise = getattr(guarantee, "promise", None)
    confidence, _, unit = as_promised(guarantee, confidence, None, spoken(unit, unit_name))
    failure = failure_of(confidence)
    stated, loss = subject_of(guarantee)
    stated, loss = with_dependent(promise, stated, loss)
    if loss is None:
        from discreet.composition import loss_of

        loss = loss_of(stated)
    apart = loss.steps(steps_between(stated.adjacency, counts_sensitive_only))
    # Joined with which of several values: the exact law of two is not enough, a curve is.
    bound = apart.one_step(failure, "one", strength="curve")
    factor = bound.epsilon_prime
    return Joining(
        guarantee=stated,
        without=beliefs,
        joined=tuple(counterfactual_upper(factor, one, steps=1) for one in beliefs),
        odds=up(math.exp(factor)) if factor < 700 else math.inf,
        holds_with=1.0 if bound.failure == 0 else confidence,
        unit=unit,
    )
