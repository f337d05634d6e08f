"""What a form sent: its texts, and the amounts of budget among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Request

from discreet.errors import InputError

__all__ = ["Fields", "amounts_of"]


async def _fields(request: Request) -> dict[str, str]:
    """Return what a form sent, texts only."""
    form = await request.form(max_files=0, max_fields=5_000)
    return {name: value for name, value in form.items() if isinstance(value, str)}


Fields = Annotated[dict[str, str], Depends(_fields)]


def amounts_of(fields: Mapping[str, str]) -> dict[str, float]:
    """Return the epsilon, delta and rho that a form gives; what is empty is not given."""
    given = {name: fields.get(name, "").strip() for name in ("epsilon", "delta", "rho")}
    return {name: _amount(name, text) for name, text in given.items() if text}


def _amount(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{name} is {text[:40]!r}; it must be a number.") from None
