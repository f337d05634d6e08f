"""What was promised and what may be learned: one set of facts, and one way to write them down.

`learned` has the facts, `tables` how a figure is written and the lines and tables that every
rendering prints.
"""

from discreet.statements.learned import PRIORS, Learned, Row, learned
from discreet.statements.tables import (
    compared_lines,
    gaussian_lines,
    learned_lines,
    learned_table,
    probability_text,
    promise_lines,
    promises_in,
    values_open,
)

__all__ = [
    "PRIORS",
    "Learned",
    "Row",
    "compared_lines",
    "gaussian_lines",
    "learned",
    "learned_lines",
    "learned_table",
    "probability_text",
    "promise_lines",
    "promises_in",
    "values_open",
]
