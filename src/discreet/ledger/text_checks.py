"""Texts that people give (names, purposes, reasons): one printable line each, kept as it is."""

from __future__ import annotations

from discreet.errors import InputError


def line(name: str, value: str, longest: int = 1000) -> str:
    """Return a text that can stand in an entry, or say what is wrong with it."""
    if not isinstance(value, str) or not value.strip():
        raise InputError("ledger.text_empty", name=name)
    if len(value) > longest:
        raise InputError("ledger.text_long", name=name, length=len(value), longest=longest)
    if not value.isprintable():
        raise InputError("ledger.text_unprintable", name=name)
    return value
