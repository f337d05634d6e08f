"""What accumulates over a series, by the unit of protection (KSZ Examples 4.1 and 4.2, note 1).

A guarantee per user-period (user-day, user-month) speaks of one period's data of one user. What an
adversary may learn about one period is bounded by that period's release alone. Whoever is there in
many periods is exposed by all of them together: belief that they use the service at all moves with
the sum. A guarantee per user speaks of all their data in all releases at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from discreet.errors import InputError

__all__ = ["Accumulation", "PlanUnit", "accumulation"]

PlanUnit: TypeAlias = Literal["user", "user-period"]


@dataclass(frozen=True, slots=True)
class Accumulation:
    """What adds up over the releases of a plan, and what does not."""

    unit: str
    accumulates: str
    does_not_accumulate: str

    def to_dict(self) -> dict[str, str]:
        """Return the three by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def accumulation(unit: PlanUnit, releases: int, period: str = "period") -> Accumulation:
    """Say what accumulates over so many releases for the unit that is protected."""
    if unit == "user":
        return Accumulation(
            unit="one user",
            accumulates=(
                f"Everything one user contributes to the {releases} releases counts together: the "
                "tolerance speaks of what all of them tell about that user."
            ),
            does_not_accumulate=(
                "Releases about people that this user is not among add nothing for this user."
            ),
        )
    if unit == "user-period":
        return Accumulation(
            unit=f"one user's {period}",
            accumulates=(
                f"Belief about a user who is there in every {period} moves with all {releases} "
                f"releases; the tolerance is kept even for that user. After more than {releases} "
                f"{period}s it no longer is: plan again, with what was spent counted."
            ),
            does_not_accumulate=(
                f"Belief about one {period} alone (was this user there then?), held by someone who "
                f"sees no link between {period}s, moves with that {period}'s release only."
            ),
        )
    raise InputError(f"unit is {unit!r}; it must be 'user' or 'user-period'.")
