"""What accumulates over a series, by the unit of protection (KSZ Examples 4.1 and 4.2, note 1).

A guarantee for a partition (one person's day, one person's month) speaks of one period's data of
one person. What an adversary may learn about one period is bounded by that period's release alone.
Whoever is there in many periods is exposed by all of them together. A guarantee for a whole person,
or a household, speaks of all their data in all releases at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.promises.unit import Unit

__all__ = ["Accumulation", "accumulation"]


@dataclass(frozen=True, slots=True)
class Accumulation:
    """What adds up over the releases of a plan, and what does not."""

    unit: str
    accumulates: str
    does_not_accumulate: str

    def to_dict(self) -> dict[str, str]:
        """Return the three by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def accumulation(unit: Unit, releases: int, period: str = "period") -> Accumulation:
    """Say what accumulates over so many releases for the unit that is protected."""
    if unit.is_person:
        return Accumulation(
            unit=str(unit),
            accumulates=(
                f"Everything that {unit} contributes to the {releases} releases counts together: "
                "the promise speaks of what all of them tell."
            ),
            does_not_accumulate=f"Releases that {unit} is not in add nothing.",
        )
    return Accumulation(
        unit=str(unit),
        accumulates=(
            f"Belief about someone who is there in every {period} moves with all {releases} "
            f"releases; the promise is kept even for them. After more than {releases} {period}s it "
            "no longer is: plan again, with what was spent counted."
        ),
        does_not_accumulate=(
            f"Belief about {unit} alone, held by someone who sees no link between {period}s, moves "
            f"with the release of that {period} only."
        ),
    )
