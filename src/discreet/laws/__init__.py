"""Mechanisms as mathematics: one file a mechanism, its law, its loss, its accuracy, its words."""

from __future__ import annotations

from typing import TypeAlias

from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.exponential import Exponential
from discreet.laws.gaussian import Gaussian
from discreet.laws.geometric import Geometric
from discreet.laws.laplace import Laplace
from discreet.laws.randomized_response import RandomizedResponse
from discreet.laws.registry import Kind, by_budget, kind_of, names, register

__all__ = [
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Kind",
    "Laplace",
    "Mechanism",
    "RandomizedResponse",
    "by_budget",
    "kind_of",
    "names",
    "register",
]

Mechanism: TypeAlias = (
    Laplace | Geometric | Gaussian | DiscreteGaussian | RandomizedResponse | Exponential
)
