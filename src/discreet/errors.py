"""The exceptions of Discreet: one tree, each with a stable code and an exit code.

    DiscreetError
    ├── InputError (also ValueError)            exit 2   what you gave cannot be used
    │   ├── FormulaError                                 a formula cannot be read or evaluated
    │   ├── ToleranceError                               a tolerance that no budget can meet
    │   ├── GuaranteeError                               no theorem leads from this to that
    │   ├── SpecError                                    a release spec breaks a rule
    │   └── DataError                                    data that are not as the spec says
    ├── BudgetExceeded (also RuntimeError)      exit 3   the account does not cover it
    ├── PolicyError (also RuntimeError)         exit 4   refused, whatever the budget
    └── InternalError (also RuntimeError)       exit 5   a fault of ours

A message says what is wrong, which value, which rule, and what to do next, and it never holds a
value that came from protected data.
"""

from __future__ import annotations

__all__ = [
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


class PolicyError(DiscreetError, RuntimeError):
    """Refused by a rule that no budget can buy off."""

    code = "policy"
    exit_code = 4


class InternalError(DiscreetError, RuntimeError):
    """A fault of ours, never of the person who called."""

    code = "internal"
    exit_code = 5
