"""Forms: what was typed, its answer, and what to say where it cannot be answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from discreet.errors import DiscreetError

__all__ = ["Filled", "FormState", "as_typed", "filled", "unusable"]


class FormState(BaseModel):
    """What a form says, checked; it never changes."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, given: Any) -> Any:
        """A field that was left empty is one that was not given."""
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value not in ("", None)}


State = TypeVar("State", bound=FormState)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Filled(Generic[State, Answer]):
    """A form as it was typed: its state, its answer, and what is wrong with it, if anything.

    Where it cannot be answered, the answer is that of the form as it begins; a page keeps it out of
    sight until there is a better one.
    """

    state: State
    answer: Answer
    problem: str
    shown: dict[str, str]

    @property
    def status(self) -> int:
        """The status of a page that shows it."""
        return 422 if self.problem else 200


def filled(
    kind: type[State], typed: Mapping[str, str], answer: Callable[[State], Answer]
) -> Filled[State, Answer]:
    """Read a form and answer it."""
    state, problem = kind(), ""
    try:
        state = kind.model_validate(dict(typed))
        found = answer(state)
    except (ValidationError, DiscreetError) as error:
        problem, found = unusable(error), answer(kind())
    return Filled(state, found, problem, as_typed(state.model_dump()) | dict(typed))


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
