"""Samplers. No other package draws noise or imports OpenDP.

- `samplers`: noise on whole numbers by the law of the noise, one sampler registered for each law,
  and the index of the best score, by noisy max (OpenDP).
- `rational`: exact draws over rationals from the operating system's randomness (Bernoulli,
  multinomial, uniform, randomized response).
- `context`: an OpenDP `Context` with the budget of a choice or of a plan.
- `standalone`: what a script that makes a release with OpenDP alone starts with.

Nothing here takes a seed: a release must not be reproducible by anyone who learns one.
"""

from __future__ import annotations

from discreet.laws.calibration import (
    gaussian_scale,
    keep_probability,
    laplace_scale,
    selection_scale,
)
from discreet.noise.rational import (
    bernoulli,
    hypergeometric,
    multinomial,
    randomize,
    uniform,
    uniforms,
)
from discreet.noise.samplers import (
    Progress,
    add_noise,
    discrete_gaussian,
    discrete_laplace,
    noisy_max,
    register_sampler,
    sampler_of,
    weighted_choice,
)

__all__ = [
    "Progress",
    "add_noise",
    "bernoulli",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian_scale",
    "hypergeometric",
    "keep_probability",
    "laplace_scale",
    "multinomial",
    "noisy_max",
    "randomize",
    "register_sampler",
    "sampler_of",
    "selection_scale",
    "uniform",
    "uniforms",
    "weighted_choice",
]
