"""How much a test does: enough for every change, or all that it can in `make soak`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

__all__ = ["LEAST", "examples", "soaked", "some_of"]

LEAST = 10
T = TypeVar("T")


def soaked() -> bool:
    """Whether this is `make soak`, where every test is run at its full length."""
    return settings.get_current_profile_name() == "soak"


def examples(many: int) -> int:
    """Return how many examples a dear property is given: all in `make soak`, else a quarter."""
    return many if soaked() else max(min(many, LEAST), many // 4)


def some_of(all_of: Sequence[T], which: int) -> Sequence[T]:
    """Return all in `make soak`, else one: another for each number, so that all have their turn."""
    return all_of if soaked() else [all_of[which % len(all_of)]]
