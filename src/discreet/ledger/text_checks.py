"""Texts that people give (names, purposes, reasons): one printable line each, kept as it is."""

from __future__ import annotations

from discreet.errors import InputError

__all__ = ["line"]


def line(name: str, value: str, longest: int = 1000) -> str:
    """Return a text that can stand in an entry, or say what is wrong with it."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} is empty; say it in a few words.")
    if len(value) > longest:
        raise InputError(f"{name} has {len(value)} characters; at most {longest} are kept.")
    if not value.isprintable():
        raise InputError(f"{name} has characters that cannot be printed; use one line of text.")
    return value
