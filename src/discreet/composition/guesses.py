"""On average: the chance that the best guess is right.

Notation. A person in the data has one of several values; the adversary's prior is π_v, everything
else is known to them. κ = max_v π_v is the chance that the best guess is right beforehand. P_v is
the law of the release when the value is v, Q its law when the person is out. f is the trade-off
curve of one step, f(α) = inf {1 − P_v(S) : Q(S) ≤ α}: the least share of misses of a test that
raises false alarms at rate α (Dong, Roth and Su 2022, Def. 2.1). h = 1 − f rises and is concave.

Theorem. Whatever guess G is made of the release, it is right with probability
    Σ π_v P_v(G=v) ≤ Σ π_v h(Q(G=v)) ≤ h(Σ π_v Q(G=v)) ≤ h(κ),
the second step by concavity, the third because Q(G=·) adds up to one. (Under `replace`, Q is the
law at any one value.) So h(κ) = 1 − f(κ) bounds a *rate*; a single output may tell more.

- (ε, δ)-DP: h(κ) = min(e^ε κ + δ, 1 − e^{-ε}(1−δ−κ)), at most 1 (ibid., Prop. 2.5).
- Gaussian: h(κ) = Φ(Φ⁻¹(κ) + μ), μ = √2ρ (ibid., Def. 2.6).
- A curve δ(ε): the smallest over its points (ibid., Prop. 2.12). With δ(s) = 1 − e^s(1 − δ(−s)) for
  s < 0 both terms are e^s κ + δ(s), convex in e^s over all real s: it falls, then rises. The first
  term needs δ of P_v against Q, the second of Q against P_v; δ(ε) here holds for both. Between the
  rungs of a walk δ is linear in e^s, so the smallest is at a rung.
- ρ-zCDP: t = P_v(S) and κ = Q(S) are a release of one bit, so with all orders a > 1 in b = a (of
  P_v against Q) and b = 1 − a (of Q against P_v)
      Σ_b(t) = t^b κ^{1−b} + (1−t)^b (1−κ)^{1−b} ≤ e^{b(b−1)ρ},
  and h(κ) is the largest t that no order refuses: no bound from ρ alone is smaller, as that one bit
  is ρ-zCDP. Every order gives a bound; Σ_b is convex in t, and Newton's method comes down to it.
  With δ₀ lost: h(κ) = δ₀ + (1−δ₀) h₀(κ/(1−δ₀)).
- ε-DP under `replace`: no output makes any value more likely than κ/(κ + (1−κ)e^-ε), since the laws
  at two values differ at most e^ε-fold, and this rises with π_v. An average is not above that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from discreet.composition.curves import rung
from discreet.numerics import lowest_between, lowest_whole, normal_tail, upper_normal
from discreet.rounding import up

_U = 2.0**-53
_TINY = 5e-324
_FAR = 700.0  # e^s of anything larger would overflow


def from_point(epsilon: float, delta: float, kappa: float) -> float:
    """Both terms at one (ε, δ)."""
    return min(_at(lambda _: delta, kappa, s) for s in (epsilon, -epsilon))


def from_replaced(epsilon: float, kappa: float) -> float:
    """The largest posterior of any value under `replace`, where its prior is at most κ."""
    return up(kappa / (kappa + (1 - kappa) * math.exp(-epsilon))) if kappa else 0.0


def _at(delta_at: Callable[[float], float], kappa: float, s: float) -> float:
    """e^s κ + δ(s): the first term for s ≥ 0, the second for s < 0, without loss of digits."""
    delta = min(1.0, max(0.0, delta_at(abs(s))))
    if s < 0:
        return up((delta + kappa) * math.exp(s) - math.expm1(s))
    if kappa == 0 and s < math.inf:
        return delta
    return up(math.exp(s) * kappa + delta) if s < _FAR else math.inf


def from_curve(
    delta_at: Callable[[float], float], kappa: float, step: float = 0.0, times: int = 0
) -> float:
    """The smallest over a curve, at the rungs of a walk where it has some.

    The search starts where it is for Gaussian noise of the same δ(0) = 1 − 2Φᶜ(μ/2). Every point
    that is looked at is a valid bound; a search that stops early is only loose.
    """
    bound = partial(_at, delta_at, kappa)
    half, z = upper_normal((1 - min(1.0, delta_at(0.0))) / 2), upper_normal(min(kappa, 1 - kappa))
    place, width = 2 * half * (z if kappa <= 0.5 else -z) - 2 * half * half, max(half / 4, 1e-12)
    value = bound(place)
    if value >= 1:  # not nearly Gaussian
        places = (sign * 2.0**n for sign in (1, -1) for n in range(-6, 7))
        value, place = min((bound(s), s) for s in (0.0, *places))
    if value >= 1:
        return 1.0
    if step > 0:
        return min(value, _best_rung(bound, place, step, times))
    left, right, wider = place - width, place + width, width
    while bound(left) < value:
        wider *= 2
        left -= wider
    while right < _FAR and bound(right) < value:
        width *= 2
        right += width
    return min(value, lowest_between(bound, left, right)[1])


def _best_rung(bound: Callable[[float], float], place: float, step: float, times: int) -> float:
    """The smallest at the rungs (2n − k)ε₀ of a walk, downhill from a place in longer steps."""

    def at(n: int) -> float:
        m = 2 * n - times
        return bound(math.copysign(rung(abs(m), step), m))

    return lowest_whole(at, min(max(0, round((place / step + times) / 2)), times), times)[1]


def from_normal(mu: float, kappa: float) -> float:
    """Φ(Φ⁻¹(κ) + μ), rounded up."""
    level = min(kappa, 1 - kappa)
    if level == 0 or mu in (0.0, math.inf):
        return kappa if mu < math.inf else 1.0
    x = upper_normal(level)
    w = mu - x if kappa <= 0.5 else mu + x
    beyond = max(0.0, -w)
    slack = _U * (16 + 4 * beyond * beyond + 8 * (1 + x) * (1 + beyond))
    value = normal_tail(-w) if w < 0 else 1 - normal_tail(w)
    return value * (1 + slack) + _TINY


def from_rho(rho: float, kappa: float) -> float:
    """The largest t that no order refuses."""
    if rho > 800 or kappa in (0.0, 1.0) or rho == 0:
        return kappa if rho < math.inf and (kappa == 0 or rho == 0) else 1.0
    rho, root = max(rho, 1e-150), math.sqrt(-math.log(kappa))
    first = math.exp(-(max(0.0, root - math.sqrt(rho)) ** 2))  # its first power, at the best order
    best = min(1.0, up(first, 64 + int(8 * root * root)))
    for each, level in ((_first, root * root), (_second, -math.log1p(-kappa))):
        most = min(1 + max(math.sqrt(level / rho), 1e-3), 0.5 + math.sqrt(0.25 + 300 / rho))
        if each is _first:  # no order a with aρ ≥ log 1/κ refuses anything
            most = min(most, level / rho)
        # where t ≤ 1 − κ the first direction decides, and elsewhere the second
        if kappa < 1e-100 or most <= 1 or (kappa >= 0.5 if each is _first else best <= 1 - kappa):
            continue
        at_order = partial(each, rho, kappa)
        found = lowest_between(at_order, 1.0, most, 1e-7)
        best = min(best, found[1], at_order(1 + 2.0**-40) if found[0] < 1.01 else 1.0)
    return best


def _first(rho: float, kappa: float, order: float) -> float:
    """The largest t = κ + d that b = `order` allows, rounded up."""
    b, c, rest = order, order - 1, 1 - kappa
    goal = math.expm1(b * c * rho)
    d = kappa * math.expm1(min(_FAR, c * rho - math.log(kappa) / b))  # without the other power
    if d >= rest:
        return 1.0
    for _ in range(100):
        x, y = c * math.log1p(d / kappa), c * math.log1p(-d / rest)
        up_s, down_s = math.expm1(x), math.expm1(y)
        value, slope = (kappa + d) * up_s + (rest - d) * down_s - goal, b * (up_s - down_s)
        d -= value / slope
        if value <= 4e-15 * slope * d:
            break
    off = (kappa + d) * (up_s + x * (1 + up_s)) - (rest - d) * (down_s + y * (1 + down_s))
    off += (1 + goal) * (1 + b * c * rho) - 1
    return min(1.0, up(kappa + d * (1 + 1e-14) + 8 * _U * off / slope))


def _second(rho: float, kappa: float, order: float) -> float:
    """The largest t = 1 − (1−κ)e^{-u} that b = 1 − `order` allows, rounded up."""
    c, rest = order - 1, 1 - kappa
    goal = math.expm1(order * c * rho)
    u = order * rho - math.log1p(-kappa) / c  # without the other power
    for _ in range(100):
        d = -rest * math.expm1(-u)
        x, y = -c * math.log1p(d / kappa), c * u
        down_s, up_s = math.expm1(x), math.expm1(y)
        value = kappa * down_s + rest * up_s - goal
        slope = c * rest * (1 + up_s - kappa * (1 + down_s) * math.exp(-u) / (kappa + d))
        u -= value / slope
        if value <= 4e-15 * slope * u:
            break
    off = rest * (up_s + y * (1 + up_s)) - kappa * (down_s + x * (1 + down_s))
    off += (1 + goal) * (1 + order * c * rho) - 1
    u += 1e-14 * u + 8 * _U * off / slope
    return min(1.0, up(kappa - rest * math.expm1(-u)))
