"""What to say of a form that cannot be answered, in one sentence."""

from __future__ import annotations

from pydantic import ValidationError

from discreet.errors import DiscreetError

__all__ = ["unusable"]


def unusable(error: ValidationError | DiscreetError) -> str:
    """Return which field breaks which rule; the value that was typed is not repeated."""
    if isinstance(error, DiscreetError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:80] or "the form"
    return f"{where} cannot be used: {first['msg'][:200].lower()}."
