"""Independent truths for privacy losses, in mpmath: nothing here calls the code under test."""

from __future__ import annotations

import mpmath as mp

mp.mp.dps = 60


def gaussian_delta(rho: float, epsilon: float) -> mp.mpf:
    r, e = mp.mpf(rho), mp.mpf(epsilon)
    s = mp.sqrt(2 * r)
    return _q((e - r) / s) - mp.exp(e) * _q((e + r) / s)


def gaussian_tail(rho: float, x: float, sided: str) -> mp.mpf:
    r, e = mp.mpf(rho), mp.mpf(x)
    s = mp.sqrt(2 * r)
    return _q((e - r) / s) + (_q((e + r) / s) if sided == "two" else 0)


def _q(x: mp.mpf) -> mp.mpf:
    return mp.erfc(x / mp.sqrt(2)) / 2


def atoms_delta(atoms: dict[mp.mpf, mp.mpf], epsilon: float) -> mp.mpf:
    """δ(ε) of a law given as {loss: probability}."""
    e = mp.mpf(epsilon)
    return mp.fsum(p * (1 - mp.exp(e - loss)) for loss, p in atoms.items() if loss > e)


def two_point(epsilon: float, times: int = 1) -> dict[mp.mpf, mp.mpf]:
    """The k-fold law of a loss ±ε."""
    e = mp.mpf(epsilon)
    p = 1 / (1 + mp.exp(-e))
    q = mp.exp(-e) / (1 + mp.exp(-e))
    return {
        (times - 2 * d) * e: mp.binomial(times, d) * p ** (times - d) * q**d
        for d in range(times + 1)
    }


def convolve(*laws: dict[mp.mpf, mp.mpf]) -> dict[mp.mpf, mp.mpf]:
    """The law of the sum of independent losses."""
    total = {mp.mpf(0): mp.mpf(1)}
    for law in laws:
        nxt: dict[mp.mpf, mp.mpf] = {}
        for a, p in total.items():
            for b, q in law.items():
                nxt[a + b] = nxt.get(a + b, mp.mpf(0)) + p * q
        total = nxt
    return total


def laplace_delta(epsilon0: float, times: int, epsilon: float | mp.mpf) -> mp.mpf:
    """δ(ε) of k equal Laplace releases, for any real ε, by residues.

    The two-sided Laplace transform of one loss, symmetrised, is
    e^{-ε₀/2} ½ [e^{ε₀λ}(1 + 1/2λ) + e^{-ε₀λ}(1 − 1/2λ)]; expanding its k-th power, each term is an
    exponential times a rational function, inverted by its residues at 0 and ±½.
    """
    e0, e, k = mp.mpf(epsilon0), mp.mpf(epsilon), times
    half = mp.mpf(1) / 2
    total = mp.mpf(0)
    for j in range(k + 1):
        d = e0 * (k - 2 * j) - e
        if d <= 0:
            continue
        # (λ+½)^{k−j−1} (λ−½)^{j−1} λ^{−k} e^{λd}
        residues = mp.mpf(0)
        if j == 0:  # pole at ½
            residues += mp.exp(half * d) * 2**k
        if j == k:  # pole at −½
            residues -= mp.exp(-half * d) * 2**k
        series = _taylor_power(half, k - j - 1, k)
        series = _product(series, _taylor_power(-half, j - 1, k), k)
        series = _product(series, [d**n / mp.factorial(n) for n in range(k)], k)
        residues += series[k - 1]
        total += mp.binomial(k, j) * residues
    return total * mp.exp(e / 2) * mp.exp(-k * e0 / 2) / mp.mpf(2) ** k


def _taylor_power(a: mp.mpf, n: int, terms: int) -> list[mp.mpf]:
    """(a + λ)^n, n may be −1, as a series in λ."""
    return [mp.binomial(n, i) * a ** (n - i) for i in range(terms)]


def _product(a: list[mp.mpf], b: list[mp.mpf], terms: int) -> list[mp.mpf]:
    return [mp.fsum(a[i] * b[n - i] for i in range(n + 1)) for n in range(terms)]


def laplace_tail(epsilon0: float, times: int, x: float) -> mp.mpf:
    """P(L > x) of k equal Laplace releases, as the mixture that it is.

    c of the releases fall between the atoms, where P has density ¼e^{-ε/2} e^{l/2}, and the others
    on +ε (½) or −ε (½e^{-ε}); the sum of c uniform losses has the density of Irwin and Hall.
    """
    e, at, k = mp.mpf(epsilon0), mp.mpf(x), times
    between = {
        (c, m): _irwin_hall_tail(e, c, at - m * e)
        for c in range(k + 1)
        for m in range(c - k, k - c + 1)
    }
    total = mp.mpf(0)
    for c in range(k + 1):
        for ups in range(k - c + 1):
            downs = k - c - ups
            ways = mp.binomial(k, c) * mp.binomial(k - c, ups)
            weight = ways * mp.mpf(2) ** -(ups + downs) * mp.exp(-e * downs)
            total += weight * between[c, ups - downs]
    return total


def _irwin_hall_tail(e: mp.mpf, c: int, y: mp.mpf) -> mp.mpf:
    """∫ over l > y of the c-fold density of losses that fall between the atoms."""
    if c == 0:
        return mp.mpf(int(y < 0))
    total = mp.mpf(0)
    for i in range(c + 1):
        width = (c - 2 * i) * e - y
        if width <= 0:
            break
        part = mp.exp((c - 2 * i) * e / 2) * 2**c * mp.gammainc(c, 0, width / 2)
        total += (-1) ** i * mp.binomial(c, i) * part
    return total * (mp.exp(-e / 2) / 4) ** c / mp.factorial(c - 1)


def atoms_tail(atoms: dict[mp.mpf, mp.mpf], x: float, sided: str) -> mp.mpf:
    """P(L > x) or P(|L| > x) of a law given as {loss: probability}."""
    at = mp.mpf(x)
    size = abs if sided == "two" else (lambda loss: loss)
    return min(mp.mpf(1), mp.fsum(p for loss, p in atoms.items() if size(loss) > at))
