"""Joining or staying out: how much likelier any consequence of a release can become.

Notation. x the probability, over the noise, of some event S of the output (and so of anything that
is done on seeing it) with the unit's data left out; y the same with them in.

A consequence is a guess that is right when S happens: y is at most 1 − f(x), f the trade-off curve
of one step (`composition.guesses`). Nothing is assumed of what anyone knows or believes: it is
about the output alone (the form that a study of 963 people found the clearest: Nanayakkara, Smart,
Cummings, Kaptchuk and Redmiles 2023).
"""

from __future__ import annotations

from discreet.composition import loss_of
from discreet.guarantees import Guarantee

__all__ = ["chance_if_joined"]


def chance_if_joined(guarantee: Guarantee, without: float) -> float:
    """Return the largest chance with the unit in, given the chance with it left out; rounded up.

    >>> import math
    >>> from discreet.guarantees import PureDP
    >>> round(chance_if_joined(PureDP(math.log(3)), 0.1), 6)
    0.3
    """
    return loss_of(guarantee).right_guess(without)
