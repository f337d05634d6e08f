"""Mechanisms as mathematics: one file a mechanism, its law, its loss, its accuracy, its words."""

from __future__ import annotations

from typing import TypeAlias

from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.exponential import Exponential
from discreet.laws.gaussian import Gaussian
from discreet.laws.geometric import Geometric
from discreet.laws.laplace import Laplace
from discreet.laws.randomized_response import RandomizedResponse

__all__ = [
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Laplace",
    "Mechanism",
    "RandomizedResponse",
]

Mechanism: TypeAlias = (
    Laplace | Geometric | Gaussian | DiscreteGaussian | RandomizedResponse | Exponential
)
