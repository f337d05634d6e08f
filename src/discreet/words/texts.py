"""The catalogue: every text in one file a language, filled in from results.

A text is found by its dotted name and filled in with named values, all of them text already: how a
figure is rounded is decided by `figures`, never here.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from discreet.errors import InputError

__all__ = ["Catalogue", "catalogue", "languages"]

_TEXTS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The texts of one language."""

    language: str
    texts: Mapping[str, Any]

    def say(self, name: str, /, **values: str) -> str:
        """Return a text with its values filled in.

        >>> catalogue().say("event.in_data", unit="one visit")
        'one visit is in the data'
        """
        text = self._found(name)
        if not isinstance(text, str):
            raise KeyError(name)
        return text.format_map(values)

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of the catalogue, such as the order of topics."""
        return tuple(str(entry) for entry in self._found(name))

    def _found(self, name: str) -> Any:
        place: Any = self.texts
        for step in name.split("."):
            place = place[step]
        return place


def languages() -> tuple[str, ...]:
    """Return the languages that there is a file of texts for."""
    return tuple(sorted(path.stem for path in _TEXTS.glob("*.toml")))


def catalogue(language: str | None = None) -> Catalogue:
    """Return the catalogue of a language, by default that of `DISCREET_LANGUAGE` or English."""
    return _loaded(language or os.environ.get("DISCREET_LANGUAGE") or "en")


@cache
def _loaded(language: str) -> Catalogue:
    path = _TEXTS / f"{language}.toml"
    if language not in languages():
        known = ", ".join(languages())
        raise InputError(f"language is {language!r}; there are texts in: {known}.")
    return Catalogue(language, tomllib.loads(path.read_text(encoding="utf-8")))
