"""The exceptions of Discreet: one tree, each with a stable code and an exit code.

    DiscreetError
    ├── InputError (also ValueError)            exit 2   what you gave cannot be used
    │   ├── FormulaError                                 a formula cannot be read or evaluated
    │   ├── ToleranceError                               a tolerance that no budget can meet
    │   ├── GuaranteeError                               no theorem leads from this to that
    │   ├── SpecError                                    a release spec breaks a rule
    │   └── DataError                                    data that are not as the spec says
    ├── BudgetExceeded (also RuntimeError)      exit 3   the account does not cover it
    │   └── BrokenPromise                                it would break a promise of the account
    ├── PolicyError (also RuntimeError)         exit 4   refused, whatever the budget
    └── InternalError (also RuntimeError)       exit 5   an internal error

A message says what is wrong, which value, which rule, and what to do next, and it never holds a
value that came from protected data. Its words are in the catalogue, as a text or as a table:

    [cap_passed]
    says = "The account {account} has {left} left; this needs {needs}."
    next = "Spend less, or have someone raise the cap."
    flags = "Spend less, or raise the cap with `discreet ledger grant`."   # the command line's next

>>> error = BudgetExceeded("errors.example", account="clinic", left="0.2")
>>> error.message, error.next
('The account clinic has 0.2 left.', 'Spend less.')
>>> str(error)
'The account clinic has 0.2 left. Spend less.'
"""

from __future__ import annotations

import re
from typing import Any

from discreet.words import catalogue, say

__all__ = [
    "BrokenPromise",
    "BudgetExceeded",
    "DataError",
    "DiscreetError",
    "FormulaError",
    "GuaranteeError",
    "InputError",
    "InternalError",
    "PolicyError",
    "SpecError",
    "ToleranceError",
]


class DiscreetError(Exception):
    """The root: everything that Discreet raises on purpose."""

    code = "discreet"
    exit_code = 5

    def __init__(self, name: str, /, **values: Any) -> None:
        """Say the text of that name in the catalogue, or what is no name as it stands."""
        said = _said(name, values)
        self.message, self.next, self.flags = said
        self.charged: dict[str, Any] = {}
        """What was spent before it went wrong: `release_id` and `spent`; empty if nothing was."""
        super().__init__(" ".join(part for part in said[:2] if part))

    @property
    def on_the_command_line(self) -> str:
        """The message as the command line says it: its next step names flags and commands."""
        last = self.flags or self.next
        return f"{self.message} {last}" if last else self.message

    def to_dict(self) -> dict[str, Any]:
        """Return the error as JSON has it: code, message, next step, and a charge that stays."""
        said = {"code": self.code, "message": self.message, "next": self.next}
        return said | self.charged


_LONGEST = 1_000
_NAME = re.compile(r"[a-z_]+(?:\.[a-z0-9_-]+)+")
_COMMA = re.compile(r"[-+]?[0-9]*,[0-9]+(?:[eE][-+]?[0-9]+)?\s*%?")
_THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
_NUMBERS = {"answers", "confidence", "delta", "epsilon", "given", "interval", "neighbours", "odds"}
_NUMBERS |= {"p", "prior", "q", "related", "value", "within"}


def with_point(given: object) -> str | None:
    """Say how a number that has a comma is written; None for what is no such number.

    >>> with_point("0,5"), with_point("1,000"), with_point("a,b")
    ('A decimal is written with a point: 0.5.', 'Write 1000; a decimal has a point.', None)
    """
    text = given.strip() if isinstance(given, str) else ""
    if _THOUSANDS.fullmatch(text):
        return say("errors.thousands", whole=text.replace(",", ""))
    return say("errors.decimal", point=text.replace(",", ".")) if _COMMA.fullmatch(text) else None


def _said(name: str, values: dict[str, Any]) -> tuple[str, str | None, str | None]:
    """Return what is wrong, the next step, and the next step as the command line says it."""
    if not _NAME.fullmatch(name):
        return name, None, None
    values = {k: _short(v) if isinstance(v, str) else v for k, v in values.items()}
    texts = catalogue()
    point = next(filter(None, (with_point(values[key]) for key in values if key in _NUMBERS)), None)
    if isinstance(texts.entry(name), str):
        return texts.say(name, **values), point, None
    says, following, flags = (
        texts.say(f"{name}.{part}", **values) if texts.has(f"{name}.{part}") else None
        for part in ("says", "next", "flags")
    )
    return str(says), point or following, None if point else flags


def _short(text: str) -> str:
    """A text of others that is quoted: no longer than a message may be."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class InputError(DiscreetError, ValueError):
    """A value that cannot be used; the message names it, the rule, and the next step."""

    code = "input"
    exit_code = 2


class FormulaError(InputError):
    """A formula that cannot be read, or has no value somewhere in its domain."""

    code = "formula"


class ToleranceError(InputError):
    """A tolerance that no budget above zero can meet, or that contradicts itself."""

    code = "tolerance"


class GuaranteeError(InputError):
    """A step between guarantees that no theorem allows."""

    code = "guarantee"


class SpecError(InputError):
    """A release spec that breaks a rule."""

    code = "spec"


class DataError(InputError):
    """Data that are not as the spec says; the message never holds a data value."""

    code = "data"


class BudgetExceeded(DiscreetError, RuntimeError):
    """The account does not cover the charge: needs, spent, cap, left, and what would fit."""

    code = "over-budget"
    exit_code = 3


class BrokenPromise(BudgetExceeded):
    """A charge that would break a promise of the account; no cap can be raised to allow it."""

    code = "promise"


class PolicyError(DiscreetError, RuntimeError):
    """Refused by a rule that no budget can buy off."""

    code = "policy"
    exit_code = 4


class InternalError(DiscreetError, RuntimeError):
    """An internal error: the code is wrong, not what it was given."""

    code = "internal"
    exit_code = 5
