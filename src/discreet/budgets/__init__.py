"""From a tolerance to the largest budget that keeps it."""

from discreet.budgets.alternatives import lee_clifton, naive
from discreet.budgets.choice import Binding, Certificate, Choice, choose

__all__ = ["Binding", "Certificate", "Choice", "choose", "lee_clifton", "naive"]
