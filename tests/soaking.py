"""How much a test does: enough for every change, or all that it can in `make soak`."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["LEAST", "examples"]

LEAST = 10


def examples(many: int) -> int:
    """Return how many examples a dear property is given: all in `make soak`, else a quarter."""
    soaked = settings.get_current_profile_name() == "soak"
    return many if soaked else max(min(many, LEAST), many // 4)
