"""The catalogue: every sentence that people read, one folder of texts a language.

`say("ledger.cap_passed", spent="1.2")` returns the text `cap_passed` of `en/ledger.toml`, with its
values filled in. A name whose first part has no file of its own is looked up in `general.toml`.
A count chooses between the plural forms that a text gives for it, separated by bars:

>>> [fill("{rows:# row|# rows}", plural_form, rows=rows) for rows in (1, 2000)]
['1 row', '2,000 rows']

How a figure is rounded is decided by the caller, never here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from discreet.outside import load_from_outside

_TEXTS = Path(__file__).parent

REGISTERED: dict[str, Path] = {}
"""Languages from outside the package: the folder of each."""


def plural_form(count: float) -> int:
    """Return which plural form English uses for a count: 0 for one, 1 for the rest."""
    return int(count != 1)


class _Filling(Formatter):
    """`str.format`, with plural forms as the format of a count: `{rows:# row|# rows}`."""

    def __init__(self, plural: Callable[[int], int]) -> None:
        self._plural = plural

    def parse(self, format_string: str) -> Any:
        return _pieces(format_string)

    def format_field(self, value: Any, format_spec: str) -> Any:
        if "|" not in format_spec:
            return super().format_field(value, format_spec)
        forms = format_spec.split("|")
        form = forms[min(self._plural(value), len(forms) - 1)]
        return form.replace("#", f"{value:,}")


@cache
def _pieces(text: str) -> tuple[tuple[str, str | None, str | None, str | None], ...]:
    """Return a format string in pieces; the texts are few, and each is filled often."""
    return tuple(Formatter().parse(text))


def fill(text: str, plural: Callable[[int], int], /, **values: Any) -> str:
    """Return a text with its values filled in."""
    if "{" not in text and "}" not in text:
        return text
    return _Filling(plural).vformat(text, (), values)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The texts of one language."""

    language: str
    folder: Path

    def say(self, name: str, /, **values: Any) -> str:
        """Return a text with its values filled in.

        >>> catalogue().say("event.in_data", unit="one visit")
        'one visit is in the data'
        """
        text = self.entry(name)
        if not isinstance(text, str):
            raise KeyError(name)
        return fill(text, self._plural(), **values)

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of the catalogue, such as the order of topics."""
        return tuple(str(entry) for entry in self.entry(name))

    def entry(self, name: str) -> Any:
        """Return what stands under a dotted name: a text, a list or a table of them."""
        english = _TEXTS / "en" if self.language in REGISTERED else None
        return _entry(self.folder, english, name)

    def file(self, name: str) -> Path:
        """Return a file of texts; the English one, where a language does not have it."""
        own = self.folder / name
        return own if own.is_file() else _TEXTS / "en" / name

    def has(self, name: str) -> bool:
        """Return whether there is anything under a dotted name."""
        try:
            self.entry(name)
        except (KeyError, TypeError):
            return False
        return True

    def texts(self) -> dict[str, Any]:
        """Return every file of texts by its name."""
        return {path.stem: _read(path) for path in sorted(self.folder.glob("*.toml"))}

    def _plural(self) -> Callable[[int], int]:
        return _rule(str(self.entry("language.plural")))


@cache
def _rule(condition: str) -> Callable[[int], int]:
    """Return the function of a plural rule as gettext writes it, such as `n != 1`."""
    if condition == "n != 1":
        return plural_form
    from gettext import c2py

    chosen: Callable[[int], int] = c2py(condition)
    return chosen


@cache
def _entry(folder: Path, english: Path | None, name: str) -> Any:
    """Return an entry of a language; where `english` is given, from there what the folder lacks."""
    room, *steps = name.split(".")
    place: Any = _file(folder, english, room)
    if place is None:
        place, steps = _file(folder, english, "general"), [room, *steps]
    for step in steps:
        place = place[step]
    return place


def _file(folder: Path, english: Path | None, room: str) -> Mapping[str, Any] | None:
    own = _read(folder / f"{room}.toml")
    if english is None:
        return own
    merged: Mapping[str, Any] | None = _over(_read(english / f"{room}.toml"), own)
    return merged


@cache
def _read(path: Path) -> Mapping[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _over(english: Any, own: Any) -> Any:
    if isinstance(english, dict) and isinstance(own, dict):
        return english | {key: _over(english.get(key), text) for key, text in own.items()}
    return english if own is None else own


def languages() -> tuple[str, ...]:
    """Return the languages that there is a folder of texts for."""
    return *_languages(_TEXTS), *REGISTERED


def register_language(language: str, folder: Path) -> None:
    """Add a language: a folder like `en`. Texts that it leaves out are said in English.

    Where the entry points `discreet.languages` of a package name the module that calls this, the
    language is found by its name.
    """
    REGISTERED[language] = folder


@cache
def _languages(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in folder.glob("*/general.toml")))


def catalogue(language: str | None = None) -> Catalogue:
    """Return the catalogue of a language, by default that of `DISCREET_LANGUAGE` or English.

    As with gettext, a language of the environment that has no texts is answered in English.
    """
    wished = language or os.environ.get("DISCREET_LANGUAGE", "en")
    if wished not in languages():
        load_from_outside("languages")
    if wished not in languages():
        if language is not None:
            known = ", ".join(languages())
            raise ValueError(f"language is {language!r}; there are texts in: {known}.")
        wished = "en"
    return Catalogue(wished, REGISTERED.get(wished, _TEXTS / wished))


def say(name: str, /, **values: Any) -> str:
    """Return a text of the catalogue in the reader's language, with its values filled in."""
    return catalogue().say(name, **values)


def has(name: str) -> bool:
    """Return whether the catalogue has anything under a dotted name."""
    return catalogue().has(name)
