"""From a tolerance to the largest budget that keeps it."""

from discreet.budgets.alternatives import LeeClifton, lee_clifton, naive
from discreet.budgets.choice import Binding, Certificate, Choice, choose
from discreet.budgets.converses import Converse, proved_by
from discreet.budgets.costs import Cost, Costs, cost

__all__ = [
    "Binding",
    "Certificate",
    "Choice",
    "Converse",
    "Cost",
    "Costs",
    "LeeClifton",
    "choose",
    "cost",
    "lee_clifton",
    "naive",
    "proved_by",
]
