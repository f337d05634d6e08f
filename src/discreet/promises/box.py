"""The priors that a tolerance speaks of: p0 ≤ p ≤ p1 and q0 ≤ q ≤ q1.

A lower end of 0 is open: a prior of 0 cannot be raised, but priors as small as one likes are in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import InputError


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of priors; all of (0, 1]² unless said otherwise."""

    p0: float = 0.0
    p1: float = 1.0
    q0: float = 0.0
    q1: float = 1.0

    def __post_init__(self) -> None:
        for name in ("p0", "p1", "q0", "q1"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InputError("promises.box_not_a_number", name=name, value=value)
            if not 0 <= value <= 1:  # nor is NaN
                raise InputError("promises.box_end", name=name, value=value)
            object.__setattr__(self, name, float(value))
        for low, high in (("p0", "p1"), ("q0", "q1")):
            a, b = getattr(self, low), getattr(self, high)
            if a > b:
                raise InputError("promises.box_empty", low=low, high=high, a=a, b=b)
            if b == 0:
                raise InputError("promises.box_at_zero", name=high[0])

    @property
    def p_fixed(self) -> bool:
        """Whether p takes one value only."""
        return self.p0 == self.p1

    @property
    def q_fixed(self) -> bool:
        """Whether q takes one value only."""
        return self.q0 == self.q1

    def contains(self, p: float, q: float) -> bool:
        """Say whether a prior lies in the box; lower ends of 0 are outside."""
        return p > 0 and q > 0 and self.p0 <= p <= self.p1 and self.q0 <= q <= self.q1

    def to_mapping(self) -> dict[str, Any]:
        """Return `p`, `q` where fixed, or `box`; nothing for every prior."""
        out: dict[str, Any] = {}
        whole_p, whole_q = (self.p0, self.p1) == (0, 1), (self.q0, self.q1) == (0, 1)
        if (self.p_fixed or whole_p) and (self.q_fixed or whole_q):
            if self.p_fixed:
                out["p"] = self.p1
            if self.q_fixed:
                out["q"] = self.q1
        else:
            out["box"] = [self.p0, self.p1, self.q0, self.q1]
        return out

    def __str__(self) -> str:
        def span(name: str, low: float, high: float) -> str:
            if low == high:
                return f"{name} = {high:g}"
            return f"{low:g} {'<' if low == 0 else '≤'} {name} ≤ {high:g}"

        return f"{span('p', self.p0, self.p1)}, {span('q', self.q0, self.q1)}"


EVERY_PRIOR = Box()


def priors(*, p: float | None = None, q: float | None = None, box: Box | None = None) -> Box:
    """Return the box with p or q fixed, or the box given; all priors if nothing is said.

    >>> str(priors(q=1))
    '0 < p ≤ 1, q = 1'
    """
    out = box or EVERY_PRIOR
    for name, value in (("p", p), ("q", q)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
            raise InputError("promises.prior_fixed", name=name, value=value)
        low, high = (out.p0, out.p1) if name == "p" else (out.q0, out.q1)
        if not low <= value <= high:
            raise InputError("promises.outside_box", name=name, value=value, low=low, high=high)
        ends = {f"{name}0": float(value), f"{name}1": float(value)}
        out = replace(out, **ends)
    return out
