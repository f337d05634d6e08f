"""Loss distributions put on a grid, each by its tilted Fourier transform.

Notation. h the step of the grid; a loss l in [g, g+h] is moved to the two ends, so that its mass
under P and its mass under Q stay what they were: the upper end gets the share
(1−e^{-(l−g)})/(1−e^{-h}). The pair of laws that results dominates the true one at every ε (δ(ε) is
convex in e^ε and a chord lies above it: Doroshenko et al. 2022, "Connect the Dots"), and so does
its composition.

All losses here are symmetric: P(−l) = e^{-l} P(l). In S(l) = e^{-l/2} P(l) the two sides are
equal, and with the tilt λ = θ + ½ the transform is that of S(l) e^{λl}:
    K(λ) = log Σ S(l) e^{λl},   φ(ω) = Σ S(l) e^{λl − iωl/h} / e^{K(λ)}.

- two-point ±ε:  S = ½/cosh(ε/2) at ±ε, so e^K = cosh(λε)/cosh(ε/2);
- Laplace:  S = e^{-ε/2} (½ at ±ε, density ¼ between), so e^K = e^{-ε/2}(cosh λε + sinh(λε)/2λ);
  on the grid the density becomes the constant mass e^{-ε/2} tanh(h/4) a point;
- normal N(ρ, 2ρ):  K = ρ(λ² − ¼);
- geometric with Δ > 1, randomized response over K > 2, discrete Gaussian: atoms on a lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

Reals: TypeAlias = NDArray[np.float64]
Complex: TypeAlias = NDArray[np.complex128]
Frequencies: TypeAlias = "slice[int, int, None] | NDArray[np.int64]"
#: φ of one kind of release at frequencies, given with the roots ζ there.
Factor: TypeAlias = "Callable[[Frequencies, Complex], Complex]"
#: K(λ), K'(λ), K''(λ) of all releases of an ingredient together.
Cumulants: TypeAlias = tuple[float, float, float]

# Gauss–Legendre on [0, 1], four points, for the normal density over a short cell.
_NODES = 0.5 + 0.5 * np.array(
    [-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526]
)
_WEIGHTS = 0.5 * np.array(
    [0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538]
)


_BLOCK = 128
_BY_HAND = 16  # a whole transform of so many points is the work of one mass at one frequency
_CHUNK = 8192  # frequencies at a time: what is worked on stays in the cache
_NOTHING = 1e-18


class _Roots:
    """scale · e^{∓2πi·shift·f/size} for frequencies f.

    For a whole range from two short tables (f = 128a + b). The multiples are reduced mod `size` as
    whole numbers, so that no phase loses digits.
    """

    __slots__ = ("scale", "shift", "size", "tables")

    def __init__(self, shift: int, size: int, scale: float) -> None:
        self.shift, self.size, self.scale = shift, size, scale
        self.tables: tuple[Complex, Complex] | None = None

    def _turned(self, f: NDArray[np.int64]) -> Complex:
        turned: Complex = np.exp((-2j * np.pi / self.size) * ((self.shift * f) % self.size))
        return turned

    def at(self, f: Frequencies) -> Complex:
        """The roots for these frequencies; a slice starts at a multiple of 128."""
        if not isinstance(f, slice):
            return self.scale * self._turned(f)
        if self.tables is None:
            rows = np.arange(0, self.size // 2 + 1, _BLOCK, dtype=np.int64)
            fine = self._turned(np.arange(_BLOCK))
            self.tables = self.scale * self._turned(rows), fine
        coarse, fine = self.tables
        some = coarse[f.start // _BLOCK : -(-f.stop // _BLOCK)]
        roots: Complex = np.multiply.outer(some, fine).ravel()[: f.stop - f.start]
        return roots


def spectrum(
    ingredients: Sequence[Ingredient], tilt: float, h: float, size: int, negligible: float
) -> Complex:
    """φ of all releases together, normalised by e^K, at the frequencies of a transform.

    Now and then the frequencies at which hardly anything is left are dropped: all factors are at
    most 1.
    """
    factors = [factor for part in ingredients for factor in part.factors(tilt, h, size, negligible)]
    step = _Roots(1, size, math.exp(tilt * h))
    out = np.zeros(size // 2 + 1, dtype=np.complex128)
    for start in range(0, len(out), _CHUNK):
        stop = min(len(out), start + _CHUNK)
        f: Frequencies = slice(start, stop)
        zeta, kept = step.at(f), np.arange(start, stop)
        product = np.ones(stop - start, dtype=np.complex128)
        for turn, factor in enumerate(factors):
            product *= factor(f, zeta)
            if turn % 16 == 15 or turn < 3:
                alive = np.abs(product) > negligible
                if 2 * np.count_nonzero(alive) < len(kept):
                    kept, product = kept[alive], product[alive]
                    f, zeta = kept, zeta[alive]
                    if not len(kept):
                        break
        out[kept] = product
    return out


def raised(values: Complex, times: int, negligible: float = 0.0) -> Complex:
    """The values to a whole power, by squaring; powers below `negligible` may come out as 0."""
    if times > 8 and negligible > 0:
        alive = np.flatnonzero(
            values.real**2 + values.imag**2 > math.exp(2 * math.log(negligible) / times)
        )
        if 2 * len(alive) < len(values):
            result = np.zeros_like(values)
            result[alive] = raised(values[alive], times)
            return result
    power: Complex | None = None
    while True:
        if times & 1:
            power = values if power is None else power * values
        times >>= 1
        if not times:
            break
        values = values * values
    assert power is not None  # noqa: S101 - times ≥ 1
    return power


def _cell(epsilon: float, h: float) -> tuple[int, float]:
    """The grid point at or below ε, and how far ε lies above it.

    An ε that lies below a grid point by less than 1e-7 of a step is raised to it, which makes the
    release a hair worse than it is: aligned atoms then stay whole.
    """
    n = math.floor(epsilon / h)
    rest = max(0.0, epsilon - n * h)
    return (n + 1, 0.0) if rest > h * (1 - 1e-7) else (n, rest)


def _upper_share(distance: Reals | float, h: float) -> Reals:
    """The share of a mass `distance` above a grid point that goes to the next one."""
    share: Reals = np.clip(np.expm1(-np.asarray(distance)) / math.expm1(-h), 0.0, 1.0)
    return share


class _Part:
    """What is asked of an ingredient beside its transform on the grid, as a single law has it."""

    __slots__ = ()

    def typical(self) -> float:
        """A size of the losses that most of the variance comes from; 0 where there are no atoms."""
        return 0.0

    def terms(self) -> int:
        """How many numbers φ at one frequency is made of."""
        return 1

    def peak(self, tilt: float) -> float:
        """|φ| where the atoms of all releases fall together again; 0 if they never do."""
        return 0.0

    def bounds(self, tilt: float) -> Iterator[Callable[[Reals, float], Reals]]:
        """Yield bounds of log|φ| over blocks, from `low` to low + 2·half; none: it is below 0."""
        yield from ()


@dataclass(frozen=True, slots=True)
class _Releases(_Part):
    """Releases of one kind: their ε, and how many of each."""

    epsilons: tuple[float, ...]
    times: tuple[int, ...]
    between: ClassVar[bool] = False  # whether there is a density between the atoms

    def top(self) -> float:
        """The largest loss."""
        return math.fsum(e * k for e, k in zip(self.epsilons, self.times, strict=True))

    def spread(self) -> Reals:
        """Rows: where atoms lie, how many, and the share of mass that lies between atoms."""
        return np.array([self.epsilons, self.times, np.zeros(len(self.times))])

    def typical(self) -> float:
        """A size of the losses that most of the variance comes from."""
        e, k = np.array(self.epsilons), np.array(self.times)
        return float(k @ e**3) / float(k @ e**2)

    def terms(self) -> int:
        """How many numbers φ at one frequency is made of."""
        return len(self.epsilons)

    def peak(self, tilt: float) -> float:
        """|φ| where the atoms of all releases fall together again, if they are equal; else 0."""
        return float(len(self.epsilons) == 1)

    def rounding(self, tilt: float) -> tuple[float, float]:
        """How many releases there are, and the largest loss of all together."""
        return float(sum(self.times)), self.top()

    def at(self, omega: Reals, tilt: float) -> Complex:
        """Return φ of all of them at frequencies that may be any."""
        product = np.ones(len(omega), dtype=np.complex128)
        pairs = self.largest_first()
        for times in set(self.times):
            some = np.array([e for e, k in pairs if k == times])
            chunk = max(1, _CHUNK * 16 // len(omega))
            for start in range(0, len(some), chunk):
                each = self._each_at(some[start : start + chunk, None], omega, tilt)
                product *= raised(each.prod(axis=0), times)
        return product

    def _each_at(self, e: Reals, omega: Reals, tilt: float) -> Complex:
        """φ of each of some, one below the other."""
        turn = e * omega
        phi: Complex = np.cos(turn) + 1j * (np.tanh(tilt * e) * np.sin(turn))
        return phi

    def _rest(self, e: Reals, tilt: float, low: Reals, half: float) -> tuple[Reals, Reals] | None:
        """What lies between ±ε, where something does: a bound of it over a block, and at ω = 0.

        Both relative to the two atoms at ω = 0.
        """
        return None

    def bounds(self, tilt: float) -> Iterator[Callable[[Reals, float], Reals]]:
        """Yield bounds of log|φ| over blocks: of a few releases each, the largest first."""
        pairs = self.largest_first()
        e, k = np.array([e for e, _ in pairs]), np.array([float(k) for _, k in pairs])
        start, stop = 0, 4
        while start < len(e):
            yield partial(self._bound, e[start:stop], k[start:stop], tilt)
            start, stop = stop, stop + max(4, stop // 2)

    def _bound(self, e: Reals, k: Reals, tilt: float, low: Reals, half: float) -> Reals:
        """log|φ| of some at most, for frequencies from `low` to low + 2·half."""
        t = np.tanh(tilt * e)
        wave = (1 - t * t) / 2
        square = np.cos(np.multiply.outer(low + half, 2 * e))
        square *= wave
        square += 1 - wave * (1 - 2 * half * e) + 1e-9
        np.minimum(square, 1.0, out=square)
        if (found := self._rest(e, tilt, low, half)) is not None:
            rest, whole = found
            np.sqrt(square, out=square)
            square += rest
            square /= 1 + whole
            square *= square
            np.minimum(square, 1.0, out=square)
        logs: Reals
        if (k == k[0]).all():
            logs = k[0] / 2 * np.log(np.maximum(square.prod(axis=1), 1e-300))
        else:
            logs = 0.5 * np.log(square) @ k
        return logs

    def _log_norms(self, tilt: float) -> Reals:
        """log of Σ S e^{λl} for each, in units of twice what an atom has of S."""
        raise NotImplementedError

    def factors(self, tilt: float, h: float, size: int, negligible: float) -> list[Factor]:
        """Return φ of each on the grid, normalised by e^K."""
        flat = math.tanh(h / 4) if self.between else 0.0
        back = math.exp(-2 * tilt * h)  # 1/ζ is this times the conjugate of ζ
        logs = dict(zip(self.epsilons, self._log_norms(tilt).tolist(), strict=True))
        shared: tuple[Complex, Complex, Complex] | None = None

        def within(f: Frequencies, zeta: Complex) -> tuple[Complex, Complex]:
            """Σ_{|i|<n} ζ^i = (ζ^n − ζ^{1−n})/(ζ − 1): what ζ^n and ζ^{−n} are multiplied with."""
            nonlocal shared
            if shared is None or shared[2] is not zeta:
                above_one = zeta - 1
                if (f.start if isinstance(f, slice) else f[0]) == 0:
                    # the one real ζ, which is 1 to double precision where h is tiny
                    above_one[0] = math.expm1(tilt * h)
                inner = flat / above_one
                shared = inner, -zeta * inner, zeta
            return shared[0], shared[1]

        def release(epsilon: float, times: int) -> Factor:
            n, rest = _cell(epsilon, h)
            # Masses of S at n and n + 1: from the atom, which moved to a grid point g becomes ½
            # times e^{(ε−g)/2}, the last piece of density, and half a cell of density below.
            share = float(_upper_share(rest, h))
            stay, move, lift = (1 - share) / 2, share / 2, 0.0
            if self.between:
                lift = 2 * math.exp(-rest / 2) * math.sinh(rest / 4) ** 2 / -math.expm1(-h)
                stay += max(0.0, -math.expm1(-rest / 2) / 2 - lift)
            stay = math.exp(rest / 2) * stay + (flat / 2 if n else 0.0)
            move = math.exp((rest - h) / 2) * (move + lift)
            there = _Roots(n, size, math.exp(tilt * n * h - logs[epsilon]))
            mirrored = math.exp(-2 * tilt * n * h)

            def factor(f: Frequencies, zeta: Complex) -> Complex:
                left: Complex | float = stay
                right: Complex | float = stay
                if flat and n:
                    inner, outer = within(f, zeta)
                    left, right = inner + stay, outer + stay
                if move > _NOTHING:
                    left, right = left + move * zeta, right + (move * back) * zeta.conj()
                phi = there.at(f)
                mirror = mirrored * phi.conj()
                mirror *= right
                phi *= left
                phi += mirror
                return raised(phi, times, negligible)

            return factor

        return [release(e, k) for e, k in self.largest_first()]

    def largest_first(self) -> list[tuple[float, int]]:
        """Return ε and how often, those first that leave the least of most frequencies."""
        return sorted(zip(self.epsilons, self.times, strict=True), reverse=True)


@dataclass(frozen=True, slots=True)
class TwoPoints(_Releases):
    """Releases whose loss is ±ε: randomized response, geometric of sensitivity 1, worst cases."""

    def cumulants(self, tilt: float) -> Cumulants:
        """K, K', K''."""
        e, k = np.array(self.epsilons), np.array(self.times)
        slope = np.tanh(tilt * e)
        value = np.logaddexp(tilt * e, -tilt * e) - np.logaddexp(e / 2, -e / 2)
        return float(k @ value), float(k @ (e * slope)), float(k @ (e * e * (1 - slope * slope)))

    def _log_norms(self, tilt: float) -> Reals:
        """log cosh λε."""
        e = np.array(self.epsilons)
        norms: Reals = np.logaddexp(tilt * e, -tilt * e) - math.log(2)
        return norms


@dataclass(frozen=True, slots=True)
class LaplaceLosses(_Releases):
    """Releases with Laplace noise."""

    between = True

    def peak(self, tilt: float) -> float:
        """|φ| where the atoms of all releases fall together again, if they are equal; else 0."""
        e, k = self.epsilons[0], self.times[0]
        share = math.exp(-k * math.log1p(math.tanh(tilt * e) / (2 * tilt)))
        return share if len(self.epsilons) == 1 else 0.0

    def _each_at(self, e: Reals, omega: Reals, tilt: float) -> Complex:
        """φ of each of some, one below the other."""
        turn, t = e * omega, np.tanh(tilt * e)
        cos, sin = np.cos(turn), np.sin(turn)
        between = (t * cos + 1j * sin) * (0.5 / (tilt + 1j * omega))
        phi: Complex = (cos + 1j * (t * sin) + between) / (1 + t / (2 * tilt))
        return phi

    def _rest(self, e: Reals, tilt: float, low: Reals, half: float) -> tuple[Reals, Reals]:
        """The density between: |sinh z|/2|λ|, where |sinh z| is at most cosh of the real part."""
        return (0.5 / low)[:, None], np.tanh(tilt * e) / (2 * tilt)

    def spread(self) -> Reals:
        """Rows: where atoms lie, how many, and the share of mass that lies between atoms."""
        e = np.array(self.epsilons)
        return np.array([e, self.times, (e / 2) / (1 + e / 2)])

    def cumulants(self, tilt: float) -> Cumulants:
        """K, K', K''."""
        k = np.array(self.times)
        log_k, slope, curvature = self._each(tilt)
        return float(k @ log_k), float(k @ slope), float(k @ curvature)

    def _each(self, tilt: float) -> tuple[Reals, Reals, Reals]:
        """K, K', K'' of each; with x = |λ|ε, e^K is e^{-ε/2}(cosh x + ½ε sinh(x)/x), over e^x."""
        e = np.array(self.epsilons)
        x = abs(tilt) * e
        even, odd = (1 + np.exp(-2 * x)) / 2, -np.expm1(-2 * x) / 2
        # sinh(x)/x and its derivatives, by their series where the closed form loses digits
        small = x < 0.01
        y = np.maximum(x, 0.01) if small.any() else x
        ratio = odd / y
        first = (even - ratio) / y
        second = ratio - 2 * first / y
        if y is not x:
            ratio = np.where(small, even * (1 - x * x / 3), ratio)
            first, second = np.where(small, x / 3, first), np.where(small, 1 / 3, second)
        value = even + e / 2 * ratio
        slope = (e * odd + e * e / 2 * first) / value
        curvature = np.maximum((e * e * even + e**3 / 2 * second) / value - slope * slope, 0.0)
        log_k = x - e / 2 + np.log(value)
        sign = 1.0 if tilt >= 0 else -1.0
        return log_k, sign * slope, curvature

    def _log_norms(self, tilt: float) -> Reals:
        """log(cosh λε + sinh(λε)/2λ)."""
        return self._each(tilt)[0] + np.array(self.epsilons) / 2


@dataclass(frozen=True, slots=True)
class Normal(_Part):
    """Gaussian releases whose ρ add up to `rho`, as one."""

    rho: float

    def top(self) -> float:
        """Inf: there is no largest loss."""
        return math.inf

    def spread(self) -> Reals:
        """Rows: where atoms lie, how many, and the share of mass that lies between atoms."""
        return np.array([[0.0], [1.0], [1.0]])

    def rounding(self, tilt: float) -> tuple[float, float]:
        """How many releases there are, and where their loss is."""
        return 1.0, 2 * self.rho * tilt

    def at(self, omega: Reals, tilt: float) -> Complex:
        """Return φ at frequencies that may be any."""
        phi: Complex = np.exp(self.rho * omega * (2j * tilt - omega))
        return phi

    def bounds(self, tilt: float) -> Iterator[Callable[[Reals, float], Reals]]:
        """Yield a bound of log|φ| over blocks."""
        yield lambda low, half: -self.rho * low * low

    def cumulants(self, tilt: float) -> Cumulants:
        """K, K', K''."""
        return self.rho * (tilt * tilt - 0.25), 2 * self.rho * tilt, 2 * self.rho

    def factors(self, tilt: float, h: float, size: int, negligible: float) -> list[Factor]:
        """Return φ, normalised by e^K; what lies 9.5 sd from the tilted centre is cut off."""
        sd, centre = math.sqrt(2 * self.rho), 2 * self.rho * tilt
        first, last = math.floor((centre - 9.5 * sd) / h), math.ceil((centre + 9.5 * sd) / h)
        pieces = max(1, math.ceil(h / (0.05 * sd)))
        within = ((np.arange(pieces)[:, None] + _NODES) / pieces).ravel() * h
        weight = np.tile(_WEIGHTS, pieces) * (h / pieces / (sd * math.sqrt(2 * math.pi)))
        cells = np.arange(first, last, dtype=np.float64) * h
        lower, upper = np.zeros(len(cells)), np.zeros(len(cells))
        for offset, w in zip(within, weight, strict=True):
            # The density of S e^{λl − K} is normal around the tilted centre.
            mass = w * np.exp(-0.5 * ((cells + (offset - centre)) / sd) ** 2)
            share = float(_upper_share(offset, h))
            lower += mass * ((1 - share) * math.exp(offset / 2 - tilt * offset))
            upper += mass * (share * math.exp((offset - h) / 2 - tilt * (offset - h)))
        masses = np.zeros(len(cells) + 1)
        masses[:-1] += lower
        masses[1:] += upper
        return [_transform(masses, first, size)]


@dataclass(frozen=True, slots=True)
class StepLosses(_Releases):
    """Geometric releases of sensitivity Δ > 1: the loss takes the values (2i − Δ)r, r = ε/Δ.

    In S the atoms between ±ε are equal: with them
    e^K = e^{-ε/2} (2 cosh(λε)/(1+e^{-r}) + tanh(r/2) sinh(λ(Δ−1)r)/sinh(λr)).
    """

    sensitivity: int

    def spread(self) -> Reals:
        """Rows: where atoms lie, how many, and the share of mass that lies between atoms."""
        rows = super(StepLosses, self).spread()
        rows[0] *= (1 if self.sensitivity % 2 else 2) / self.sensitivity
        return rows

    def terms(self) -> int:
        """How many numbers φ at one frequency is made of."""
        return len(self.epsilons) * (self.sensitivity + 1)

    def rounding(self, tilt: float) -> tuple[float, float]:
        """How many masses are added up over all releases, and the largest of their losses."""
        return float(sum(self.times)) * (self.sensitivity + 1), self.top()

    def _law(self, e: Reals, tilt: float) -> tuple[Reals, Reals, Reals]:
        """The losses of each of some, their tilted masses, and K of each."""
        i, rate = np.arange(self.sensitivity + 1.0), e / self.sensitivity
        losses = (2 * i - self.sensitivity) * rate
        logs = np.where(
            (i == 0) | (i == self.sensitivity),
            -np.log1p(np.exp(-rate)),
            np.log(np.tanh(rate / 2)),
        )
        logs = logs + tilt * losses - e / 2
        peak = logs.max(axis=1, keepdims=True)
        masses = np.exp(logs - peak)
        total = masses.sum(axis=1, keepdims=True)
        return losses, masses / total, (peak + np.log(total)).ravel()

    def cumulants(self, tilt: float) -> Cumulants:
        """K, K', K''."""
        k = np.array(self.times)
        losses, masses, each = self._law(np.array(self.epsilons)[:, None], tilt)
        mean = (masses * losses).sum(axis=1)
        variance = (masses * (losses - mean[:, None]) ** 2).sum(axis=1)
        return float(k @ each), float(k @ mean), float(k @ variance)

    def _each_at(self, e: Reals, omega: Reals, tilt: float) -> Complex:
        """φ of each of some, one below the other."""
        losses, masses, _ = self._law(e, tilt)
        phi = np.zeros((len(e), len(omega)), dtype=np.complex128)
        for i in range(self.sensitivity + 1):
            phi += masses[:, i, None] * np.exp(1j * (losses[:, i, None] * omega))
        return phi

    def _rest(self, e: Reals, tilt: float, low: Reals, half: float) -> tuple[Reals, Reals]:
        """The atoms between."""
        masses = self._law(e[:, None], tilt)[1]
        ends = masses[:, 0] + masses[:, -1]
        whole: Reals = (1 - ends) / ends
        return whole * (1 + 1e-12), whole * (1 - 1e-12)

    def factors(self, tilt: float, h: float, size: int, negligible: float) -> list[Factor]:
        """Return φ of each, normalised by e^K."""
        pairs = self.largest_first()
        losses, masses, _ = self._law(np.array([[e] for e, _ in pairs]), tilt)
        return [
            _moved_to_grid(losses[i], masses[i], k, tilt, h, size, negligible)
            for i, (_, k) in enumerate(pairs)
        ]


@dataclass(frozen=True, slots=True)
class Categories:
    """Randomized response over K > 2 categories: the loss is ±ε or 0."""

    epsilon: float
    categories: int
    times: int

    def law(self) -> tuple[float, Reals]:
        """Half the distance of the losses, and their probabilities from the least loss up."""
        down = math.exp(-self.epsilon)
        weights = np.array([down, (self.categories - 2) * down, 1.0])
        return self.epsilon / 2, weights / (1 + (self.categories - 1) * down)


@dataclass(frozen=True, slots=True)
class DiscreteNormal:
    """Discrete Gaussian releases of sensitivity 1: at noise n the loss is (1 − 2n)/2σ².

    The law is cut at 39σ, beyond which lies less than the least double. For σ ≥ 2 its sums are
    those of the normal law, but for a part of 4e^{−2π²σ²} < 1e-33 (Poisson summation), so its
    cumulants are too: with t = λ − ½ and ρ = 1/2σ², K = ρt(t+1).
    """

    sigma: float
    times: int

    def cumulants(self, tilt: float) -> Cumulants:
        """K, K', K'' for σ ≥ 2."""
        rho, t = self.times / (2 * self.sigma**2), tilt - 0.5
        return rho * t * (t + 1), rho * (2 * t + 1), 2 * rho

    def law(self) -> tuple[float, Reals]:
        """Half the distance of the losses, and their probabilities from the least loss up."""
        reach = math.ceil(39 * self.sigma) + 1
        noise = np.arange(reach + 1.0, -reach - 1.0, -1.0)
        masses = np.exp(-0.5 * (noise / self.sigma) ** 2)
        return 0.5 / self.sigma**2, masses / float(masses.sum())


@dataclass(frozen=True, slots=True)
class Atoms(_Part):
    """Releases whose loss takes finitely many, evenly spaced values."""

    of: Categories | DiscreteNormal

    def top(self) -> float:
        """The largest loss; inf where the law was cut."""
        if isinstance(self.of, DiscreteNormal):
            return math.inf
        return self.of.times * self.of.epsilon

    def spread(self) -> Reals:
        """Rows: where atoms lie, how many, and the share of mass that lies between atoms."""
        half, masses = _law(self.of)
        unit = 2 * half if len(masses) % 2 else half
        return np.array([[unit], [float(self.of.times)], [0.0]])

    def cumulants(self, tilt: float) -> Cumulants:
        """K, K', K''."""
        if isinstance(self.of, DiscreteNormal) and self.of.sigma >= 2:
            return self.of.cumulants(tilt)
        losses, logs = _log_law(self.of)
        logs = logs + (tilt - 0.5) * losses
        peak = float(logs.max())
        weights = np.exp(logs - peak)
        total = float(weights.sum())
        mean = float(weights @ losses) / total
        variance = float(weights @ (losses - mean) ** 2) / total
        times = self.of.times
        return times * (peak + math.log(total)), times * mean, times * variance

    def typical(self) -> float:
        """Where the lattice is seen."""
        return float(self.spread()[0, 0])

    def peak(self, tilt: float) -> float:
        """1: the losses of one release fall together again."""
        return 1.0

    def terms(self) -> int:
        """How many numbers φ at one frequency is made of."""
        return len(_log_law(self.of)[0])

    def rounding(self, tilt: float) -> tuple[float, float]:
        """How many masses are added up over all releases, and the largest of their losses."""
        losses, _ = _log_law(self.of)
        return float(len(losses)) * self.of.times, float(losses[-1]) * self.of.times

    def at(self, omega: Reals, tilt: float) -> Complex:
        """Return φ at frequencies that may be any."""
        losses, masses = self._tilted(tilt)
        return raised(np.exp(np.multiply.outer(1j * omega, losses)) @ masses, self.of.times)

    def _tilted(self, tilt: float) -> tuple[Reals, Reals]:
        """The losses of one release, rising, and their tilted masses."""
        losses, logs = _log_law(self.of)
        each = self.cumulants(tilt)[0] / self.of.times
        return losses, np.exp(logs + (tilt - 0.5) * losses - each)

    def factors(self, tilt: float, h: float, size: int, negligible: float) -> list[Factor]:
        """Return φ of all of them, normalised by e^K."""
        losses, masses = self._tilted(tilt)
        return [_moved_to_grid(losses, masses, self.of.times, tilt, h, size, negligible)]


def _moved_to_grid(
    losses: Reals, masses: Reals, times: int, tilt: float, h: float, size: int, negligible: float
) -> Factor:
    """φ of equal releases from their rising losses and tilted masses, which are moved to the grid.

    P-masses move within a cell; the tilt is that of the place they move to.
    """
    cells = np.floor(losses / h + 1e-9).astype(np.int64)
    share = _upper_share(np.maximum(0.0, losses - cells * h), h)
    stay = masses * (1 - share) * np.exp((tilt - 0.5) * (cells * h - losses))
    move = masses * share * np.exp((tilt - 0.5) * ((cells + 1) * h - losses))
    first, last = int(cells[0]), int(cells[-1])
    on_grid: Reals = np.bincount(cells - first, stay, last - first + 2).astype(np.float64)
    on_grid += np.bincount(cells - first + 1, move, last - first + 2)
    one = _transform(on_grid, first, size)
    return lambda f, zeta: raised(one(f, zeta), times, negligible)


@lru_cache(maxsize=64)
def _law(of: Categories | DiscreteNormal) -> tuple[float, Reals]:
    return of.law()


@lru_cache(maxsize=64)
def _log_law(of: Categories | DiscreteNormal) -> tuple[Reals, Reals]:
    """The losses, rising, and the logarithms of their probabilities."""
    half, masses = _law(of)
    kept = masses > 0
    places = np.arange(len(masses), dtype=np.float64)
    losses: Reals = (2 * places - (len(masses) - 1)) * half
    logs: Reals = np.log(masses[kept])
    return losses[kept], logs


Ingredient: TypeAlias = TwoPoints | LaplaceLosses | StepLosses | Normal | Atoms


def fast_size(least: int) -> int:
    """The least 2^a·3^b·5^c, even, that is at least `least`."""
    best = 1 << max(4, (least - 1).bit_length())
    for five in (1, 5, 25, 125):
        for three in (1, 3, 9, 27, 81):
            size = five * three * 2
            while size < least:
                size *= 2
            best = min(best, size)
    return best


@lru_cache(maxsize=64)
def cumulants(parts: tuple[Ingredient, ...], tilt: float) -> Cumulants:
    """K, K' and K'' of the whole plan; a window asks several times at one tilt."""
    k, mean, variance = map(math.fsum, zip(*(p.cumulants(tilt) for p in parts), strict=True))
    return k, mean, variance


def _transform(masses: Reals, first: int, size: int) -> Factor:
    """Return the transform of masses at first, first + 1, …, on a circle of `size` points.

    Of all frequencies at once; or of a few, by the sum over those masses that count.
    """
    whole: Complex | None = None
    left = size // _BY_HAND
    some = np.flatnonzero(masses > 1e-30)
    places = (first + some) % size

    def at(f: Frequencies, _: Complex) -> Complex:
        nonlocal whole, left
        if whole is None and not isinstance(f, slice) and len(f) * len(some) < left:
            left -= len(f) * len(some)
            turns = np.multiply.outer(f, places) % size
            return np.asarray(np.exp((-2j * np.pi / size) * turns) @ masses[some])
        if whole is None:
            folded = np.bincount((first + np.arange(len(masses))) % size, masses, size)
            whole = np.fft.rfft(folded.astype(np.float64), size)
        return whole[f]

    return at
