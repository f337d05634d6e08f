"""Forms: what was typed, and what to say of it where it cannot be answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from discreet.errors import DiscreetError

__all__ = ["as_typed", "unusable"]


def unusable(error: ValidationError | DiscreetError) -> str:
    """Return which field breaks which rule; the value that was typed is not repeated."""
    if isinstance(error, DiscreetError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:80] or "the form"
    return f"{where} cannot be used: {first['msg'][:200].lower()}."


def as_typed(state: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of a state as a person would type them.

    >>> as_typed({"epsilon": 1.0, "delta": 1e-06, "before": None, "every": True})
    {'epsilon': '1', 'delta': '1e-06', 'before': '', 'every': 'true'}
    """
    return {name: _typed(value) for name, value in state.items()}


def _typed(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
