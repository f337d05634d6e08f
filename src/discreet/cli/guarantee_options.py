"""Reading a guarantee or a mechanism from the options that several commands share."""

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
    given = {"--epsilon": epsilon, "--rho": rho, "--sigma": sigma, "--scale": scale}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        got = "none of them was" if not named else " and ".join(named) + " were"
        raise InputError(f"give exactly one of --epsilon, --rho, --sigma, --scale; {got} given.")
    where = Adjacency.ADD_REMOVE if adjacency is None else Adjacency.of(adjacency)
    if mechanism is not None:
        if probabilistic:
            raise InputError("--probabilistic reads a guarantee; leave it out with --mechanism.")
        from discreet.laws.registry import kind_of

        word = named[0].removeprefix("--")
        law = kind_of(mechanism).given(word, given[named[0]] or 0.0, sensitivity)
        if times == 1 and adjacency is None:
            return law, delta
        from discreet.composition import loss_of

        return loss_of((law, times), adjacency=adjacency), delta
    if times != 1:
        raise InputError("--times counts uses of a --mechanism; for promises use discreet compose.")
    if sigma is not None or scale is not None:
        raise InputError(f"{named[0]} describes noise; name its --mechanism too.")
    if epsilon is None:
        if probabilistic:
            raise InputError("--probabilistic needs --epsilon and --delta, not --rho.")
        return ZCDP(rho or 0.0, adjacency=where), delta
    if probabilistic:
        return ProbabilisticDP(epsilon, delta or 0.0, adjacency=where), None
    if delta is None or delta == 0:
        return PureDP(epsilon, adjacency=where), None
    return ApproxDP(epsilon, delta, adjacency=where), None
