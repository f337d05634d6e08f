"""Of whom a promise speaks: the kind of unit, and the name that sentences call it by.

The kind says what neighbouring data sets differ in: a person, a household, one record, or a
partition (one combination of columns, such as a person's day). The name is how people speak of it:
"one aircraft", "one household of up to 4". A sentence never says "a person" where less is
protected.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import InputError
from discreet.reading import like
from discreet.words import catalogue

KINDS = ("person", "household", "record", "partition")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Unit:
    """What is protected.

    >>> str(Unit.of("partition", columns=("patient_id", "day")))
    'one combination of patient_id and day'
    >>> str(Unit.of("person", "one aircraft"))
    'one aircraft'
    """

    kind: str = "person"
    name: str = "one person"

    @classmethod
    def of(cls, kind: str, name: str | None = None, columns: tuple[str, ...] = ()) -> Unit:
        """Return a unit by its kind and, if it has one, its own name."""
        if kind not in KINDS:
            said = {"kinds": ", ".join(KINDS), "like": like(kind, KINDS)}
            raise InputError("promises.unit", unit=kind, **said)
        if name is None:
            return cls(kind, _usual(kind, columns))
        if not isinstance(name, str) or not name.strip():
            raise InputError("promises.unit_name_empty")
        text = " ".join(name.split())
        if len(text) > _LONGEST or not text.isprintable():
            raise InputError("promises.unit_name", most=_LONGEST)
        return cls(kind, text)

    @property
    def is_person(self) -> bool:
        """Whether all of a person's data are protected together."""
        return self.kind in ("person", "household")

    def __str__(self) -> str:
        return self.name


def _usual(kind: str, columns: tuple[str, ...]) -> str:
    say = catalogue().say
    if kind != "partition" or not columns:
        return say(f"subject.{kind}" if kind != "partition" else "subject.any")
    joined = columns[-1]
    if len(columns) > 1:
        joined = say("language.list_and", head=", ".join(columns[:-1]), last=columns[-1])
    return say("subject.partition", columns=joined)


PERSON = Unit()
