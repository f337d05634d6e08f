"""One release in words: a guarantee by its number, or a mechanism by its budget or its noise.

The keywords of `compose` and the flags of the command line are read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from discreet.errors import InputError
from discreet.guarantees import Adjacency, ProbabilisticDP, stated
from discreet.laws.checks import positive
from discreet.laws.registry import kind_of

if TYPE_CHECKING:
    from discreet.composition.totals import Part


class Worded(TypedDict, total=False):
    """The keywords: one of the first four, the rest where they mean something."""

    epsilon: float | None
    rho: float | None
    sigma: float | None
    scale: float | None
    mechanism: str | None
    sensitivity: float | None
    delta_each: float | None


def release_in(
    words: Worded, adjacency: str | None = None, *, times: int = 1, probabilistic: bool = False
) -> Part:
    """Return the guarantee or the mechanism; `times` only where its uses are planned at once.

    >>> release_in({"epsilon": 0.1, "delta_each": 1e-9})
    ApproxDP(epsilon=0.1, delta=1e-09, adjacency='add-remove')
    """
    unknown = sorted(set(words) - Worded.__annotations__.keys())
    if unknown:
        known = ", ".join(Worded.__annotations__)
        raise InputError("composition.unknown_word", word=unknown[0], words=known)
    amounts = {"epsilon": words.get("epsilon"), "rho": words.get("rho")}
    amounts |= {"sigma": words.get("sigma"), "scale": words.get("scale")}
    given = [(name, value) for name, value in amounts.items() if value is not None]
    if len(given) != 1:
        names = " and ".join(name for name, _ in given)
        raise InputError("composition.one_budget", given=names or "none")
    ((word, value),) = given
    mechanism, across = words.get("mechanism"), words.get("sensitivity")
    delta = words.get("delta_each")
    if delta and (word != "epsilon" or mechanism is not None):
        raise InputError("composition.delta_of_other", name=mechanism or word)
    if probabilistic and (word != "epsilon" or mechanism is not None):
        raise InputError("composition.probabilistic_other", name=mechanism or word)
    if mechanism is not None:
        width = 1.0 if across is None else positive("sensitivity", across)
        return kind_of(mechanism, planned=times != 1).given(word, positive(word, value), width)
    if times != 1:
        raise InputError("composition.times_without_mechanism")
    if word in ("sigma", "scale"):
        raise InputError("composition.noise_without_mechanism", name=word)
    if across is not None:
        raise InputError("composition.sensitivity_without_mechanism")
    where = Adjacency.of(adjacency or "add-remove")
    if probabilistic:
        return ProbabilisticDP(value, delta or 0.0, adjacency=where)
    return stated(amounts["epsilon"], delta, amounts["rho"], adjacency=where)
