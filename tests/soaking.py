"""How much a test does: enough for every change, or all that it can in `make soak`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

__all__ = ["LEAST", "chequered", "examples", "soaked", "some_of", "thinned"]

LEAST = 10
T = TypeVar("T")


def soaked() -> bool:
    """Whether this is `make soak`, where every test is run at its full length."""
    return settings.get_current_profile_name() == "soak"


def examples(many: int) -> int:
    """Return how many examples a dear property is given: all in `make soak`, else a sixth."""
    return many if soaked() else max(min(many, LEAST), many // 6)


def some_of(all_of: Sequence[T], which: int) -> Sequence[T]:
    """Return all in `make soak`, else one: another for each number, so that all have their turn."""
    return all_of if soaked() else [all_of[which % len(all_of)]]


def chequered(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """Return all pairs, of which every other is left in `make test`: each value meets some."""
    return [
        pytest.param(one, two, marks=pytest.mark.soak if (i + j) % 2 else ())
        for i, one in enumerate(first)
        for j, two in enumerate(second)
    ]


def thinned(cases: Iterable[tuple[Any, ...]], every: int) -> list[Any]:
    """Return the cases of a parametrized test, of which one in `every` is left in `make test`.

    Of a product, take a number that has no divisor in common with the number of values of any
    factor: then every two values of two factors still meet.
    """
    return [
        pytest.param(*case, marks=pytest.mark.soak if at % every else ())
        for at, case in enumerate(cases)
    ]
