"""Bowls: a box of priors on which a smooth profile is proved at once, by its second derivatives.

Notation as in `search`: S is the least share at the target ε, W = 1/r*. Where F = r*S − 1 ≥ 0 (or
F = S − W ≥ 0) the target is kept. By Taylor's theorem, with F = f and slopes g_i at one prior x of
a box, and second derivatives between those that are enclosed over all of it,

    F(x + d) ≥ f + Σ g_i d_i + ½ Σ λ_i d_i²,   λ_p = min F_pp − mt,  λ_q = min F_qq − m/t,

for any t > 0, with m the largest |F_pq|. With both λ above 0 no d loses more than Σ g_i²/2λ_i, and
nothing along an end of the piece at which F rises inward.

Derivatives are carried through the formula as intervals of Python's floats, every one rounded
outward: for one box that takes less time than arrays do. Where p or q is fixed, there are
derivatives in the other alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from discreet.beliefs.one_prior import CANCELLED, epsilon_range
from discreet.promises.box import Box
from discreet.promises.formula import (
    Binary,
    Call,
    Expression,
    Inverse,
    Number,
    Power,
    Variable,
)

_Span: TypeAlias = tuple[float, float]
_Jet: TypeAlias = list[_Span | None]  # value, slopes, bends (F_pp, F_pq, F_qq); None is 0
_Sides: TypeAlias = dict[str, _Span]
_PAIRS = {1: ((1, 1),), 2: ((1, 1), (1, 2), (2, 2))}
_ZERO = (0.0, 0.0)
_STEPS = 8  # of Newton's method, towards the least ε_i
_SHARES = (8, 16, 32, 64)  # of the sides of a piece: half the sides of the boxes that are tried


class Bowl(NamedTuple):
    """A box on which a target is kept, the prior in it that is worst, and a bound of its ε_i."""

    p: _Span
    q: _Span
    at: tuple[float, float]
    epsilon: float


class _NotSmooth(Exception):
    """A kink, a jump, or a place where the formula may have no value."""


def bowl(
    W: Expression, piece: Box, at: tuple[float, float], target: Callable[[float], float]
) -> Bowl | None:
    """Return a box about the least ε_i near a prior, if second derivatives prove one.

    `target` says what is to be proved, if the worst prior has a given ε_i.
    """
    ends = {"p": (piece.p0, piece.p1), "q": (piece.q0, piece.q1)}
    free = [name for name, (low, high) in ends.items() if low < high]
    try:
        return _Proof(W, ends, free).found(at, target) if free else None
    except (_NotSmooth, ArithmeticError, ValueError):
        return None


class _Proof:
    """The derivatives of one formula in the priors that are free."""

    def __init__(self, W: Expression, ends: _Sides, free: list[str]) -> None:
        self.ends, self.free, self.pairs = ends, free, _PAIRS[len(free)]
        self.inverted = isinstance(W, Inverse)
        self.formula = W.argument if isinstance(W, Inverse) else W
        self.nothing: _Jet = [None] * (len(free) + len(self.pairs))

    def found(self, at: tuple[float, float], target: Callable[[float], float]) -> Bowl | None:
        for _ in range(_STEPS):
            p, q = at
            here: _Sides = {"p": (p, p), "q": (q, q)}
            jet = self.jet(self.formula, here)
            value = jet[0] or _ZERO
            w = math.nextafter(1 / value[1], 0.0) if self.inverted else value[0]
            epsilon = epsilon_range(p * (1 - q), 1 - p, w - p * q, 1 - w, error_C=CANCELLED).upper
            aim = target(epsilon)
            kept = self.kept(jet, aim, here)
            at, lost = self.newton(kept, here)
            if 2 * lost < (kept[0] or _ZERO)[0]:
                break
        else:
            return None
        for share in _SHARES:
            sides = {
                name: (max(low, x - (high - low) / share), min(high, x + (high - low) / share))
                for (name, (low, high)), x in zip(self.ends.items(), (p, q), strict=True)
            }
            over = self.kept(self.jet(self.formula, sides), aim, sides)
            if self.holds(kept, over, here):
                return Bowl(sides["p"], sides["q"], (p, q), epsilon)
        return None

    def kept(self, jet: _Jet, epsilon: float, sides: _Sides) -> _Jet:
        """Enclose F, from W or from r*.

        S = u + p(q(1−u²) − u(1−u)) is made of numbers that make it no larger.
        """
        u = math.exp(-epsilon) * (1 - 1e-15)
        steep, fall = (1 - u) * (1 + u) * (1 - 1e-15), u * (1 - u) * (1 + 1e-15)
        (p0, p1), (q0, q1) = sides["p"], sides["q"]
        along = {"p": _out(steep * q0 - fall, steep * q1 - fall, 2)}
        along["q"] = _out(steep * p0, steep * p1)
        mixed = (steep, steep) if len(self.free) == 2 else None
        bends: _Jet = [None, mixed, None] if mixed else [None]
        value = _add(_times(sides["p"], along["p"]), (u, u))
        share: _Jet = [value, *(along[name] for name in self.free), *bends]
        if self.inverted:
            out = self.product(jet, share)
            return [_add(out[0], (-1.0, -1.0)), *out[1:]]
        return [_add(a, _minus(b)) for a, b in zip(share, jet, strict=True)]

    def newton(self, kept: _Jet, here: _Sides) -> tuple[tuple[float, float], float]:
        """Return the least point of the parabola at a prior, and how much lower F is there.

        Where the parabola leaves the piece, that point.
        """
        middle = [sum(each or _ZERO) / 2 for each in kept]
        slopes, bends = middle[1 : len(self.free) + 1], middle[len(self.free) + 1 :]
        for k, name in enumerate(self.free):
            x, (low, high) = here[name][0], self.ends[name]
            if (x == low and slopes[k] > 0) or (x == high and slopes[k] < 0):  # stays at this end
                slopes[k], bends[2 * k] = 0.0, 1.0
                bends[1:-1] = [0.0] * len(bends[1:-1])
        if len(self.free) == 1:
            bend, steps = bends[0], [-slopes[0] / bends[0]]
        else:
            (g, h), (a, b, c) = slopes, bends
            bend = min(a, a * c - b * b)
            steps = [(b * h - c * g) / (a * c - b * b), (b * g - a * h) / (a * c - b * b)]
        if not bend > 0:
            raise _NotSmooth
        at, lost = {name: span[0] for name, span in here.items()}, 0.0
        for name, slope, step in zip(self.free, slopes, steps, strict=True):
            low, high = self.ends[name]
            at[name] = min(high, max(low, at[name] + step))
            lost -= slope * step / 2
        return (at["p"], at["q"]), lost

    def holds(self, kept: _Jet, over: _Jet, here: _Sides) -> bool:
        """Say whether F cannot fall below 0 on the box over which its bends are enclosed."""
        many = len(self.free)
        bends = [(over[k] or _ZERO)[0] for k in (many + 1, -1)[:many]]
        if min(bends) <= 0:
            return False
        if many == 2:
            mixed = max(map(abs, over[4] or _ZERO)) * (1 + 1e-14)
            t = math.sqrt(bends[0] / bends[1])
            bends = [bends[0] - mixed * t, bends[1] - mixed / t]
        lost = 0.0
        for name, slope, bend in zip(self.free, kept[1:], bends, strict=False):
            (least, most), x, (low, high) = slope or _ZERO, here[name][0], self.ends[name]
            if not bend > 0:
                return False
            if not (x == low and least >= 0) and not (x == high and most <= 0):
                lost += max(-least, most) ** 2 / (2 * bend)
        return (kept[0] or _ZERO)[0] >= lost * (1 + 1e-14)

    def jet(self, e: Expression, sides: _Sides) -> _Jet:
        """Enclose a formula and its derivatives."""
        match e:
            case Number(value):
                return [(value, value), *self.nothing]
            case Variable(name):
                slopes = [(1.0, 1.0) if name == each else None for each in self.free]
                return [sides[name], *slopes, *self.nothing[len(self.free) :]]
            case Binary("/", left, right):
                inverse = self.jet(Inverse(right), sides)
                same = left == Number(1.0)
                return inverse if same else self.product(self.jet(left, sides), inverse)
            case Binary(op, left, right):
                a, b = self.jet(left, sides), self.jet(right, sides)
                if op == "*":
                    return self.product(a, b)
                return [*map(_add, a, b if op == "+" else map(_minus, b))]
            case Power(base, 2.0):
                return self.chain(self.jet(base, sides), _square)
            case Power(_, _) | Inverse(_) | Call("sqrt", _):
                base, exponent = _base(e)
                return self.chain(self.jet(base, sides), lambda x: _power(x, exponent))
            case Call("exp" | "log" as function, (argument,)):
                return self.chain(self.jet(argument, sides), _exp if function == "exp" else _log)
            case _:
                raise _NotSmooth

    def product(self, x: _Jet, y: _Jet) -> _Jet:
        a, b = x[0], y[0]
        out = [_times(a, b)]
        out += [_add(_times(s, b), _times(a, t)) for s, t in zip(x[1:], y[1:], strict=True)]
        for k, (i, j) in enumerate(self.pairs, len(self.free) + 1):
            crossed = _add(_times(x[i], y[j]), _times(x[j], y[i]))
            out[k] = _add(out[k], crossed)
        return out

    def chain(self, x: _Jet, function: Callable[[_Span], tuple[_Span, _Span, _Span]]) -> _Jet:
        value, first, second = function(x[0] or _ZERO)
        out: _Jet = [value, *(_times(first, each) for each in x[1:])]
        for k, (i, j) in enumerate(self.pairs, len(self.free) + 1):
            out[k] = _add(out[k], _times(second, _times(x[i], x[j])))
        return out


def _base(e: Expression, exponent: float = 1.0) -> tuple[Expression, float]:
    """Return what a power of a power of … is a power of, and which one."""
    match e:
        case Power(base, n):
            return _base(base, exponent * n)
        case Call("sqrt", (argument,)):
            return _base(argument, exponent / 2)
        case Inverse(argument) | Binary("/", Number(1.0), argument):
            return _base(argument, -exponent)
        case _:
            return e, exponent


def _out(low: float, high: float, steps: int = 1) -> _Span:
    for _ in range(steps):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    if not -math.inf < low <= high < math.inf:
        raise _NotSmooth
    return low, high


def _minus(x: _Span | None) -> _Span | None:
    return x and (-x[1], -x[0])


def _add(x: _Span | None, y: _Span | None) -> _Span | None:
    if x is None or y is None:
        return x or y
    return _out(x[0] + y[0], x[1] + y[1])


def _times(x: _Span | None, y: _Span | None) -> _Span | None:
    if x is None or y is None:
        return None
    (a, b), (c, d) = x, y
    if a >= 0 and c >= 0:
        return _out(a * c, b * d)
    ends = (a * c, a * d, b * c, b * d)
    return _out(min(ends), max(ends))


def _square(x: _Span) -> tuple[_Span, _Span, _Span]:
    low, high = sorted((x[0] * x[0], x[1] * x[1]))
    return _out(0.0 if x[0] < 0 < x[1] else low, high), (2 * x[0], 2 * x[1]), (2.0, 2.0)


def _power(x: _Span, n: float) -> tuple[_Span, _Span, _Span]:
    """Powers of what is above 0; a power is right within two ulps, and rounded by four."""
    if not (x[0] > 0 and math.isfinite(n)):
        raise _NotSmooth

    def raised(m: float, times: float) -> _Span:
        ends = times * x[0] ** m, times * x[1] ** m
        return _out(min(ends), max(ends), 4)

    return raised(n, 1.0), raised(n - 1, n), raised(n - 2, n * (n - 1))


def _exp(x: _Span) -> tuple[_Span, _Span, _Span]:
    span = _out(math.exp(x[0]), math.exp(x[1]), 2)
    return span, span, span


def _log(x: _Span) -> tuple[_Span, _Span, _Span]:
    inverse, second, _ = _power(x, -1.0)
    return _out(math.log(x[0]), math.log(x[1]), 2), inverse, second
