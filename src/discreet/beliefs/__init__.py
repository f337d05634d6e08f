"""What an adversary believes before a release, and may believe after it."""

from discreet.beliefs.belief import (
    Assumptions,
    AtConfidence,
    Belief,
    Beliefs,
    Beyond,
    Bounds,
    Worst,
)
from discreet.beliefs.explaining import decomposition_of, explain
from discreet.beliefs.joining import Joining, join
from discreet.beliefs.prior import Prior

__all__ = [
    "Assumptions",
    "AtConfidence",
    "Belief",
    "Beliefs",
    "Beyond",
    "Bounds",
    "Joining",
    "Prior",
    "Worst",
    "decomposition_of",
    "explain",
    "join",
]
