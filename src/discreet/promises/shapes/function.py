"""A profile given as a Python function of p and q."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from discreet.errors import InputError, ToleranceError
from discreet.promises.box import EVERY_PRIOR, Box
from discreet.promises.tolerance import Monotone, Tolerance, Wording
from discreet.words import say


@dataclass(frozen=True, slots=True)
class Function(Tolerance):
    """A profile given as a Python function of p and q.

    A declared monotonicity in both p and q makes the answer certified: the least value on a box is
    then at one of its corners. Without it the search can only look, not prove. A constant function
    is both, "increasing" and "decreasing".

    The declaration is the caller's word. It is compared with some thousand priors and with every
    corner that the search meets, and a function that breaks it there is refused; between them
    nothing is known, and the budget is certified for a function that is monotone as declared.
    """

    function: Callable[[float, float], float]
    box: Box = EVERY_PRIOR
    monotone_p: Monotone | None = None
    monotone_q: Monotone | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError("promises.not_a_function", function=self.function)
        for name in ("monotone_p", "monotone_q"):
            word = getattr(self, name)
            if word is not None and word not in get_args(Monotone):
                raise InputError("promises.monotone", name=name, word=word)

    def ratio_at(self, p: float, q: float) -> float:
        """Return r*(p, q)."""
        try:
            value = float(self.function(p, q))
        except (ArithmeticError, TypeError, ValueError):
            value = math.nan
        if math.isnan(value):
            raise ToleranceError("promises.function_no_number", p=p, q=q)
        return value

    def monotone(self) -> tuple[Monotone | None, Monotone | None]:
        """Return what was declared."""
        return self.monotone_p, self.monotone_q

    def to_mapping(self) -> dict[str, Any]:
        """Refuse: a Python function has no place in a file."""
        raise ToleranceError("promises.function_in_file")

    def sentence(self, words: Wording) -> str:
        """Return the promise in words."""
        named = getattr(self.function, "__name__", None)
        return words.fill("promises.sentence.function", name=named or "Function")

    def __str__(self) -> str:
        name = getattr(self.function, "__name__", "a function")
        return say("promises.short.function", name=name, box=self.box)
