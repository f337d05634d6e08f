"""A guarantee or a mechanism, read from the flags that several commands share."""

from __future__ import annotations

from typing import Any

from discreet.errors import InputError
from discreet.guarantees import ZCDP, Adjacency, ApproxDP, ProbabilisticDP, PureDP

__all__ = ["read_subject"]


def read_subject(
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    sigma: float | None = None,
    scale: float | None = None,
    probabilistic: bool = False,
    mechanism: str | None = None,
    sensitivity: float = 1.0,
    adjacency: str | None = None,
    times: int = 1,
) -> tuple[Any, float | None]:
    """Return a guarantee, a mechanism or a privacy loss, and the δ at which to read its curve."""
    given = {"epsilon": epsilon, "rho": rho, "sigma": sigma, "scale": scale}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise InputError("cli.one_budget", given=" and ".join(named) or "none")
    where = Adjacency.ADD_REMOVE if adjacency is None else Adjacency.of(adjacency)
    if mechanism is not None:
        if probabilistic:
            raise InputError("cli.probabilistic_mechanism")
        from discreet.laws.registry import kind_of

        word = named[0].removeprefix("--")
        law = kind_of(mechanism).given(word, given[named[0]] or 0.0, sensitivity)
        if times == 1 and adjacency is None:
            return law, delta
        from discreet.composition import loss_of

        return loss_of((law, times), adjacency=adjacency), delta
    if times != 1:
        raise InputError("cli.times_without_mechanism")
    if sigma is not None or scale is not None:
        raise InputError("cli.noise_without_mechanism", name=named[0])
    if epsilon is None:
        if probabilistic:
            raise InputError("cli.probabilistic_rho")
        return ZCDP(rho or 0.0, adjacency=where), delta
    if probabilistic:
        return ProbabilisticDP(epsilon, delta or 0.0, adjacency=where), None
    if delta is None or delta == 0:
        return PureDP(epsilon, adjacency=where), None
    return ApproxDP(epsilon, delta, adjacency=where), None
