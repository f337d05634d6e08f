"""Numerical methods that several rooms need: roots, minima, tails of laws, floats beside exact.

Root finding returns both ends of a bracket, so that the caller takes the safe one. Nothing here
knows of privacy, and nothing but the binomial law needs NumPy, which is loaded on first use.

Normal law. φ is the standard normal density, Φᶜ(x) = P(Z > x), R(x) = Φᶜ(x)/φ(x) Mills's ratio,
with R(x) = 1/(x + c(x)), c(x) = 1/(x + 2/(x + 3/(x + …))) (Laplace's continued fraction), so that
1 − x R(x) = c/(x + c) keeps its digits. Relative errors stay below 1e-13 for x ≥ −30.

Binomial law. The log Γ form loses digits in proportion to n log n (nine of them at n = 10⁶). The
saddle-point form (Loader 2000, "Fast and accurate computation of binomial probabilities") keeps
them:

    P(x) = √(n/2πx(n−x)) exp(S(n) − S(x) − S(n−x) − D(x, np) − D(n−x, nq)),
    S(m) = log m! − log(√2πm (m/e)^m),   D(x, m) = x log(x/m) + m − x ≥ 0.

D is computed from (x−m)/(x+m) where x is near m, S from its asymptotic series with the first
sixteen values tabulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

_GOLDEN = (math.sqrt(5) - 1) / 2
_NEAR = 2e-8  # where a smooth function is flat to the last digit
_FAR = 1e12
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_SWITCH = 4.0
_EXACT = 16
_STIRLING = [0.0] + [
    math.lgamma(m + 1) - (0.5 * math.log(2 * math.pi * m) + m * math.log(m) - m)
    for m in range(1, _EXACT)
]
_ROOT = Context(prec=40, rounding=ROUND_FLOOR, Emax=9_999, Emin=-9_999)


# Roots


def bracket(
    holds: Callable[[float], bool],
    kept: float,
    broken: float,
    *,
    relative: float = 0.0,
    least: float = 0.0,
    halvings: int = 2_200,
) -> tuple[float, float]:
    """Halve the span between a place where `holds` is true and one where it is not.

    Returns both ends: the first was seen to hold (or is `kept`), the second not to. `kept` may lie
    on either side. It stops when the ends are within `relative` of the larger (or of `least`, where
    that is more), when no double lies between them, or after so many halvings.

    >>> bracket(lambda x: x * x <= 2, 0.0, 2.0)
    (1.414213562373095, 1.4142135623730951)
    """
    for _ in range(halvings):
        middle = (kept + broken) / 2
        if middle in (kept, broken):
            break
        if abs(broken - kept) <= relative * max(kept, broken, least):
            break
        kept, broken = (middle, broken) if holds(middle) else (kept, middle)
    return kept, broken


def last_whole(
    holds: Callable[[int], bool], low: int, high: int, guess: float | None = None
) -> int:
    """Return the greatest n in [low, high) at which a condition holds that, once false, stays so.

    It is taken to hold at `low` and to fail at `high`. From a guess, steps that double until they
    pass the place; then halves.

    >>> last_whole(lambda n: n * n <= 200, 0, 1000, guess=20)
    14
    """
    if guess is not None:
        n, stride = min(max(int(guess), low), high - 1), 1
        rising = n == low or holds(n)
        low, high = (n, high) if rising else (low, n)
        while high - low > 1:
            n = min(low + stride, high - 1) if rising else max(high - stride, low + 1)
            stride *= 2
            held = holds(n)
            low, high = (n, high) if held else (low, n)
            if held != rising:
                break
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def first_above(excess: Callable[[int], float], most: int) -> int | None:
    """Return the first of 1, …, `most` at which a rising excess is above 0; None if none is.

    The next number tried is where the line through two of those seen, over √n, passes 0. An end
    that stays twice counts for half of its value (Illinois), and after three times it is halves.

    >>> first_above(lambda n: n - 400.5, 10**6), first_above(lambda n: -1.0, 1000)
    (401, None)
    """
    low, below = 0, -math.inf
    high, above = 1, excess(1)
    while above <= 0:
        if high >= most:
            return None
        guess = _crossing((low, below), (high, above))
        low, below = high, above
        high = min(most, max(2 * low, min(10_000 * low, guess or 0)))
        above = excess(high)
    stayed = 0
    while high - low > 1:
        guess = _crossing((low, below), (high, above)) if abs(stayed) < 3 else None
        n = min(high - 1, max(low + 1, guess or (low + high) // 2))
        value = excess(n)
        if value > 0:
            high, above, stayed = n, value, max(stayed, 0) + 1
            below /= 2 if stayed > 1 else 1
        else:
            low, below, stayed = n, value, min(stayed, 0) - 1
            above /= 2 if stayed < -1 else 1
    return high


def lowest_whole(
    f: Callable[[int], float], start: int, most: int, stride: int = 1
) -> tuple[int, float]:
    """Return the whole number from 0 to `most` at which f, which falls and then rises, is lowest.

    Downhill from a start, in longer steps while it goes well.
    """
    n, value = start, f(start)
    while stride:
        for nearer in (n - stride, n + stride):
            if 0 <= nearer <= most and (other := f(nearer)) < value:
                n, value, stride = nearer, other, 2 * stride
                break
        else:
            stride //= 2
    return n, value


def _crossing(one: tuple[int, float], two: tuple[int, float]) -> int | None:
    """Return where the line through two values over √n passes 0, if it does farther on."""
    (a, below), (b, above) = one, two
    if not (math.isfinite(below) and math.isfinite(above) and below < above):
        return None
    root = (math.sqrt(b) * -below + math.sqrt(a) * above) / (above - below)
    return int(min(root, 1e9) ** 2)


def newton(
    at: Callable[[float], tuple[float, float]],
    x: float,
    low: float = 0.0,
    high: float = math.inf,
    *,
    target: float = 0.0,
    near: float = 1e-12,
    width: float = 0.0,
) -> float:
    """Return where a monotone function is `target` by Newton's method, kept inside a bracket.

    `at(x)` is the function and its slope (0 is taken for rising). The search ends where a step is
    at most `near` of the place, or the bracket within `width` of its upper end.
    """
    for _ in range(200):
        value, slope = at(x)
        move = (target - value) / slope if slope else math.copysign(math.inf, target - value)
        nearer = x + move
        if abs(move) <= near * abs(x):
            return nearer
        if move > 0:
            low = x
        else:
            high = x
        if high - low < width * high:
            return x
        if not low < nearer < high:
            nearer = 2 * low if high == math.inf else (low + high) / 2
        x = nearer
    return x


def settle(f: Callable[[float], float], target: float, x: float) -> float:
    """Return the given root of f = target, moved up by ulps until f ≤ target is seen to hold."""
    step = 2e-16 * max(abs(x), 1e-300)
    while f(x) > target:
        x += step
        step *= 2
    return x


def narrow(
    at: Callable[[float], T],
    excess: Callable[[T], float],
    low: tuple[float, T],
    high: tuple[float, T],
    relative: float = 4e-15,
) -> tuple[float, T]:
    """Return the largest place found at which a rising excess is at most 0, and what is there.

    `low` and `high` are places with what `at` gives there, the first with an excess of at most 0,
    the second above. The method of Oliveira and Takahashi (2020, An enhancement of the bisection
    method): the line through both ends, truncated towards the middle and projected onto the width
    that bisection, one step behind, would still have; never more steps than bisection needs.
    """
    (left, found), (right, above) = low, high
    width, steps = right - left, 0
    while right - left > relative * right:
        gap = excess(found), excess(above)
        middle = _between(left, right, gap, width / 2**steps)
        if not left < middle < right:
            break
        tried, steps = at(middle), steps + 1
        if excess(tried) <= 0:
            left, found = middle, tried
        else:
            right, above = middle, tried
    return left, found


def _between(low: float, high: float, gap: tuple[float, float], allowed: float) -> float:
    middle, width = (low + high) / 2, high - low
    if math.isinf(gap[0]) or math.isinf(gap[1]) or not gap[0] < gap[1]:
        return middle
    line = (low * gap[1] - high * gap[0]) / (gap[1] - gap[0])
    towards = math.copysign(1.0, middle - line)
    push = max(0.1 * width * width / high, 1e-15 * high)
    near = line + towards * push if push <= abs(middle - line) else middle
    room = max(0.0, allowed - width / 2)
    return near if abs(near - middle) <= room else middle - towards * room


# Minima


def lowest(
    f: Callable[[float], float], *, hint: float | None = None, tolerance: float = 1e-9
) -> tuple[float, float]:
    """Return where a function that falls and then rises is smallest on [0, ∞), and its value there.

    It may be infinite at the left, and is at least its argument: no place beyond a value already
    found can be better. Returns `(inf, inf)` if it is nowhere finite. `hint` is a place near the
    lowest point; from there fewer evaluations are needed.
    """
    if hint is not None and hint > 0:
        value = f(hint)
        if value < math.inf:
            left, right = _around(f, hint, value, 0.002 * hint, (0.0, value))
            return _brent(f, left, right, hint, value, max(tolerance, _NEAR))
    low, place = 0.0, 0.0
    value = f(0.0)
    step = 1.0
    while math.isinf(value) and step <= _FAR:
        value = f(step)
        low, place, step = (step, place, 2 * step) if math.isinf(value) else (low, step, step)
    if math.isinf(value):
        return math.inf, math.inf
    return _brent(f, low, max(value, place), place, value, tolerance)


def lowest_between(
    f: Callable[[float], float],
    low: float,
    high: float,
    tolerance: float = 1e-9,
    *,
    hint: float | None = None,
) -> tuple[float, float]:
    """Return where a function that falls and then rises is smallest on [low, high], and its value.

    `hint` is a place near the lowest point; from there fewer places, and nearer ones, are tried.

    >>> place, value = lowest_between(lambda x: (x - 1) ** 2, 0.0, 3.0)
    >>> round(place, 6)
    1.0
    """
    if hint is not None and low < hint < high:
        value = f(hint)
        low, high = _around(f, hint, value, 0.05 * min(hint - low, high - hint), (low, high))
        return _brent(f, low, high, hint, value, tolerance)
    start = high - _GOLDEN * (high - low)
    return _brent(f, low, high, start, f(start), tolerance)


def _around(
    f: Callable[[float], float],
    hint: float,
    value: float,
    width: float,
    ends: tuple[float, float],
) -> tuple[float, float]:
    """Return places, no farther than the ends, at which f is above its value at the hint."""
    (low, high), first = ends, width
    left, right = max(low, hint - width), min(high, hint + width)
    while left > low and f(left) < value:
        width *= 4
        left = max(low, left - width)
    width = first
    while right < high and f(right) < value:
        width *= 4
        right = min(high, right + width)
    return left, right


def _brent(
    f: Callable[[float], float],
    low: float,
    high: float,
    place: float,
    value: float,
    tolerance: float,
) -> tuple[float, float]:
    """Brent's search (1973, ch. 5): a parabola where it helps, a golden section where not."""
    best, value_best = place, value
    x = place if low < place < high else high - _GOLDEN * (high - low)
    f_x = value if x == place else f(x)
    w = v = x
    f_w = f_v = f_x
    step = before = 0.0
    for _ in range(200):
        middle, close = (low + high) / 2, tolerance * abs(x) + 1e-300
        if abs(x - middle) <= 2 * close - (high - low) / 2:
            break
        parabola = False
        if abs(before) > close and math.isfinite(f_v) and math.isfinite(f_w):
            r, q = (x - w) * (f_x - f_v), (x - v) * (f_x - f_w)
            p, q = (x - v) * q - (x - w) * r, 2 * (q - r)
            p, q = (-p, q) if q > 0 else (p, -q)
            if abs(p) < abs(q * before / 2) and q * (low - x) < p < q * (high - x):
                before, step, parabola = step, p / q, True
                if min(x + step - low, high - x - step) < 2 * close:
                    step = math.copysign(close, middle - x)
        if not parabola:
            before = (high - x) if x < middle else (low - x)
            step = (1 - _GOLDEN) * before
        u = x + (step if abs(step) >= close else math.copysign(close, step))
        f_u = f(u)
        if math.isinf(f_u) and math.isinf(f_x):  # both are left of what is finite
            low, x, f_x = max(x, u), max(x, u), f_u
            x = low + _GOLDEN * (high - low)
            f_x = f(x)
            w = v = x
            f_w = f_v = f_x
        elif f_u <= f_x:
            low, high = (low, x) if u < x else (x, high)
            v, f_v, w, f_w, x, f_x = w, f_w, x, f_x, u, f_u
        else:
            low, high = (u, high) if u < x else (low, u)
            if f_u <= f_w or w == x:
                v, f_v, w, f_w = w, f_w, u, f_u
            elif f_u <= f_v or v in (x, w):
                v, f_v = u, f_u
        if f_x < value_best:
            best, value_best = x, f_x
    return best, value_best


# The normal law


def normal_tail(x: float) -> float:
    """Φᶜ(x) = P(Z > x)."""
    return 0.5 * math.erfc(x / math.sqrt(2))


def log_normal_density(x: float) -> float:
    """log φ(x)."""
    return -0.5 * x * x - _HALF_LOG_2PI


def _fraction(x: float) -> float:
    """c(x) for x ≥ 4, from the inside out; the levels left out weigh less than one ulp."""
    c = 0.0
    for n in range(80 if x < 8 else 24, 0, -1):
        c = n / (x + c)
    return c


def mills(x: float) -> float:
    """R(x) = Φᶜ(x)/φ(x); it overflows only below x = −37."""
    if x < _SWITCH:
        return normal_tail(x) * math.exp(-log_normal_density(x))
    return 1 / (x + _fraction(x))


def mills_fall(x: float) -> float:
    """1 − x R(x) = −R'(x): positive, falling, about 1/x² for large x."""
    if x < _SWITCH:
        return 1 - x * mills(x)
    c = _fraction(x)
    return c / (x + c)


def log_normal_tail(x: float) -> float:
    """log Φᶜ(x) for any x, without underflow."""
    if x < -1:
        return math.log1p(-normal_tail(-x))
    if x < _SWITCH:
        return math.log(normal_tail(x))
    return log_normal_density(x) + math.log(mills(x))


def upper_normal(level: float) -> float:
    """Return the x ≥ 0 with Φᶜ(x) = level ≤ ½; 40 where the level is 0.

    >>> round(upper_normal(0.025), 6)
    1.959964
    """
    if level == 0:
        return 40.0
    log_level = math.log(level)
    x = math.sqrt(max(0.0, -2 * (log_level + math.log(2))))
    for _ in range(100):  # log Φᶜ is concave: from above, as the start is, Newton's method descends
        move = (log_level - log_normal_tail(x)) * mills(x)
        x -= move
        if abs(move) <= 4e-16 * x:
            break
    return x


# The beta law


def log_beta_term(p: float, a: float, b: float) -> float:
    """Return log of p^a (1−p)^{b−1}/(a B(a, b)), by which I_p(a, b) exceeds I_p(a + 1, b − 1)."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return a * math.log(p) + (b - 1) * math.log1p(-p) - math.log(a) - log_beta


def incomplete_beta(p: float, a: float, b: float) -> float:
    """Return I_p(a, b) by its continued fraction (DLMF 8.17.22), where it converges fast.

    >>> round(incomplete_beta(0.5, 2, 2), 12)
    0.5
    """
    if p > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(1 - p, b, a)
    front = math.exp(log_beta_term(p, a, b) + math.log1p(-p))
    tiny = 1e-300
    c, d, fraction = 1.0, 0.0, 1.0
    # The modified method of Lentz for 1 + d1/(1 + d2/(1 + …)); about √max(a, b) steps are needed.
    for i in range(1, 200 + 20 * math.isqrt(int(max(a, b)) + 1)):
        m = i // 2
        if i % 2:
            term = -(a + m) * (a + b + m) * p / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * p / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / ((1 + term * d) or tiny)
        c = (1 + term / c) or tiny
        fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return min(1.0, max(0.0, front / fraction))


# The binomial law


def _stirling_error(np: Any, m: NDArray[np.float64]) -> NDArray[np.float64]:
    """S(m); S(0) is set to 0, since its factor is left out there."""
    small = m < _EXACT
    some = bool(small.any())
    safe = np.where(small, _EXACT, m) if some else m
    inverse = 1 / (safe * safe)
    series: NDArray[np.float64] = (
        1 / 12
        - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse * (1 / 1188))))
    ) / safe
    if some:
        series[small] = np.asarray(_STIRLING)[m[small].astype(np.int64)]
    return series


def _deviance(np: Any, x: NDArray[np.float64], m: float) -> NDArray[np.float64]:
    """D(x, m) = x log(x/m) + m − x, by its series in v = (x−m)/(x+m) where |v| < 0.1."""
    away = x - m
    v = away / (x + m)
    square = v * v
    series = square * (1 / 17)
    for odd in range(15, 1, -2):
        series += 1 / odd
        series *= square
    deviance: NDArray[np.float64] = away * v + 2 * x * v * series
    far = square >= 0.01
    if far.any():
        y = x[far]
        logs = np.log(np.where(y > 0, y, m) / m)
        deviance[far] = y * logs + (m - y)
    return deviance


def log_binomial(n: int, x: NDArray[np.float64], q: float, p: float) -> NDArray[np.float64]:
    """log P(X = x) for X ~ Bin(n, q), p = 1 − q given apart so that it may be exact; 0 < q < 1."""
    import numpy as np

    rest = n - x
    inside = (x > 0) & (rest > 0)
    spread = np.where(inside, x * (rest / n), 1.0)
    exponent = (
        _stirling_error(np, np.array([float(n)]))
        - _stirling_error(np, x)
        - _stirling_error(np, rest)
        - _deviance(np, x, n * q)
        - _deviance(np, rest, n * p)
    )
    body = exponent - 0.5 * np.log(2 * math.pi * spread)
    log_p, log_q = (math.log1p(-q) if q < 0.5 else math.log(p)), math.log(q)
    return np.where(inside, body, np.where(x > 0, n * log_q, n * log_p))


# Floats beside exact numbers


def exact(x: float) -> Decimal:
    """Return the decimal that x prints as: `exact(0.1) * 10 == 1`."""
    return Decimal(repr(float(x)))


def double_above(x: Fraction) -> float:
    """Return the nearest double that is not below x."""
    nearest = float(x)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def float_up(x: Decimal | Fraction) -> float:
    """Return the smallest double that prints as x or more.

    >>> float_up(Decimal("0.3")), float_up(Decimal("0.30000000000000000001"))
    (0.3, 0.30000000000000004)
    """
    nearest = float(x)
    return nearest if exact(nearest) >= x else math.nextafter(nearest, math.inf)


def float_down(x: Decimal | Fraction) -> float:
    """Return the largest double that prints as x or less.

    >>> float_down(Decimal("0.29999999999999999999"))
    0.29999999999999993
    """
    nearest = float(x)
    return nearest if exact(nearest) <= x else math.nextafter(nearest, -math.inf)


def root_down(x: Decimal) -> float:
    """Return a double that prints as a number whose square is at most x.

    >>> root_down(Decimal("0.01")), root_down(Decimal(2))
    (0.1, 1.414213562373095)
    """
    root = float_down(x.sqrt(_ROOT))
    while Fraction(exact(root)) ** 2 > x:
        root = math.nextafter(root, 0.0)
    return root
