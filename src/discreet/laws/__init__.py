"""Mechanisms as mathematics: one file each, with law, loss, accuracy and words."""

from __future__ import annotations

from discreet.laws.discrete_gaussian import DiscreteGaussian
from discreet.laws.exponential import Exponential
from discreet.laws.gaussian import Gaussian
from discreet.laws.geometric import Geometric
from discreet.laws.laplace import Laplace
from discreet.laws.mechanism import Mechanism, Noise, WholeNoise
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
    "Noise",
    "RandomizedResponse",
    "WholeNoise",
    "by_budget",
    "kind_of",
    "names",
    "register",
]
