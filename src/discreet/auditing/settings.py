"""What audits and attacks share: how many trials, how sure, and what is said of passing."""

from __future__ import annotations

import math

from discreet.errors import InputError

__all__ = ["NOTE", "WHOLE", "check_settings", "training_size"]

NOTE = (
    "Passing proves nothing: it says that these attacks on these generated data sets found no "
    "fault. The protected data were not read and nothing was charged."
)
WHOLE = "the whole release"


def training_size(trials: int) -> int:
    """How many trials go into choosing an event: a quarter of those that test it."""
    return max(100, trials // 4)


def check_settings(epsilon: float, trials: int, failure_probability: float) -> None:
    """Refuse an audit that cannot be run; NaN first."""
    if math.isnan(epsilon) or not 0 < epsilon <= 20:
        raise InputError(f"epsilon is {epsilon!r}; an audit needs one above 0 and at most 20.")
    if isinstance(trials, bool) or not isinstance(trials, int) or not 100 <= trials <= 10**6:
        raise InputError(f"trials is {trials!r}; give a whole number from 100 to a million.")
    if math.isnan(failure_probability) or not 0 < failure_probability < 1:
        raise InputError(
            f"the failure probability is {failure_probability!r}; it must lie between 0 and 1."
        )
