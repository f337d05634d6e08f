"""Noisy margins of which the residuals alone are published: what that costs in ρ.

Notation as in `adding_up`. A margin on A is measured as y = μ + z with independent discrete
Gaussian noise of scale σ in its N cells, and nothing but the residual P y is published, where
P = ⊗_{i∈A} (I − J/n_i). Let d, of whole numbers, be what one unit changes in μ, and v = P d.

Theorem. P y is (ρ + κ)-zCDP with ρ = max ‖v‖²/(2σ²) and κ = Σ_{i∈A} log((1+τ_i)/(1−τ_i)), where
τ_i = θ(2π²σ²/n_i)^{N/n_i} − 1 and θ(s) = Σ_{k∈ℤ} e^{−s k²}.

Proof. Write g(x) = e^{−‖x‖²/(2σ²)}. The noise z has the probability g(z)/c in ℤ^N, and ‖z‖² =
‖P z‖² + ‖z − P z‖². So P z takes the value x with probability g(x) h(x)/c, where h(x) is the sum of
g over all z − P z with P z = x: a shift of the lattice K = {k ∈ ℤ^N : P k = 0}. Where h lies
between two numbers whose ratio is e^κ at the most,

    E[(p(x)/p(x − v))^{α−1}] ≤ e^{κ(α−1)} E[(g(x)/g(x − v))^{α−1}]
                             = e^{κ(α−1)} e^{(α−1)‖v‖²/(2σ²)} E[e^{−(α−1)⟨z, v⟩/σ²}]
                             ≤ e^{κ(α−1)} e^{(α−1)α‖v‖²/(2σ²)},

for ⟨P z, v⟩ = ⟨z, v⟩, and E[e^{t z_j}] = e^{t²σ²/2} Σ_k g(k − tσ²)/Σ_k g(k) ≤ e^{t²σ²/2}, since no
shift of a lattice has a larger sum of g than the lattice itself (Canonne, Kamath and Steinke 2020).
So the divergence of order α is at most α‖v‖²/(2σ²) + κ, for every α > 1, and κ ≤ κα.

h. K contains L = 1 ⊗ ℤ^{N/n_1}, which is all of K in its span. Sum g first over a coset of L: its
basis is orthogonal, of N/n_1 vectors of length √n_1, so by Poisson summation the sum is within a
factor 1 ± τ_1 of a constant times g of what is orthogonal to L. These parts form the lattice
P_1 ℤ^{n_1} ⊗ K', K' the kernel for the other attributes, which contains P_1 ℤ^{n_1} ⊗ 1 ⊗ ℤ^{…}.
The dual of that, scaled by √n_2, lies in ℤ^{N/n_2}, since the dual of P ℤ^n is the vectors of ℤ^n
that add up to 0; so its sum is within 1 ± τ_2; and so on through A.

‖v‖². For two cells that differ in the attributes S, ⟨P e, P e'⟩ = Π Π_{i∈S} −1/(n_i − 1), where
Π = ∏_{i∈A} (1 − 1/n_i) = ‖P e‖². It is largest for cells that differ in two attributes, the ones
with the fewest categories, and largest in size for one. So ‖v‖² ≤ Π (L2² + (L1² − L2²) t), with t
that largest share; and never more than L2².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

SPARE = Fraction(1, 2**20)
"""What κ may add to ρ at the most, as a share of it; noise is calibrated for so much more."""


def squared_change(
    l1: Fraction, l2_squared: Fraction, sizes: Sequence[int], *, signed: bool = False
) -> Fraction:
    """Return the most that one unit changes a residual, as the square of its length.

    >>> squared_change(Fraction(1), Fraction(1), (4, 5))
    Fraction(3, 5)
    """
    share = math.prod((Fraction(n - 1, n) for n in sizes), start=Fraction(1))
    fewest = sorted(n - 1 for n in sizes)[: 1 if signed else 2]
    alike = Fraction(0)
    if share and len(fewest) == (1 if signed else 2):
        alike = Fraction(1, math.prod(fewest))
    return min(l2_squared, share * (l2_squared + (l1**2 - l2_squared) * alike))


def excess(sigma: float, sizes: Sequence[int]) -> float:
    """Return κ, rounded up; infinite where the noise is too small for the bound to say anything.

    >>> excess(10.0, (4, 5)) < 1e-80
    True
    """
    cells, total = math.prod(sizes), 0.0
    for size in sizes:
        s = 2 * math.pi**2 * sigma**2 / size * (1 - 1e-12)
        if s < 1:
            return math.inf
        # θ − 1 is 2(e^{−s} + e^{−4s} + …), below 2e^{−s}/(1 − e^{−3s}).
        beyond = 2 * math.exp(-s) / (1 - math.exp(-3 * s))
        off = math.expm1(cells / size * math.log1p(beyond)) * (1 + 1e-9)
        if off >= 1:
            return math.inf
        total += math.log1p(off) - math.log1p(-off)
    return total * (1 + 1e-9)


def fits(sigma: float, squared: Fraction, sizes: Sequence[int]) -> bool:
    """Return whether κ stays within what noise calibrated for (1 + SPARE) squared leaves for it."""
    return excess(sigma, sizes) <= float(squared * SPARE) / (2 * sigma**2) * (1 - 1e-9)
