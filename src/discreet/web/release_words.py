"""What the screen Release says of its numbers, and its form's parts as a template shows them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from discreet.guarantees import amount
from discreet.rounding import percent
from discreet.web.forms import columns_of
from discreet.web.screens import How

if TYPE_CHECKING:
    from discreet.ledger import Standing

__all__ = [
    "HOW_ACCURATE",
    "HOW_CHARGED",
    "HOW_LEARNED",
    "Asked",
    "amount_words",
    "learned_words",
    "promise_words",
    "statistics_of",
]

HOW_CHARGED = How(
    what="the charge",
    formula=(
        "With a tolerance, ε is the largest budget under which no adversary passes it: the least "
        "ε(p, q) over all priors. Call i of the release gets ε·wᵢ/Σw (or ρ·wᵢ/Σw), rounded down, "
        "so that the calls together never cost more."
    ),
    source=(
        "Kazan and Reiter, Prior-itizing Privacy, Theorems 1 and 2; the calls add up by basic "
        "composition, or as zCDP (Bun and Steinke 2016, Lemma 1.7)."
    ),
    python='discreet.release("spec.yaml", dry_run=True).spent',
    command="discreet release spec.yaml --dry-run",
)
HOW_ACCURATE = How(
    what="the accuracy",
    formula=(
        "Noise on whole numbers: P(N = n) ∝ e^(−|n|/b) with b = Δ₁/ε, or ∝ e^(−n²/2σ²) with "
        "σ² = Δ₂²/2ρ. An answer is off by more than h with probability P(|N| > h)."
    ),
    source=(
        "Ghosh, Roughgarden and Sundararajan 2012 (geometric noise); Canonne, Kamath and Steinke "
        "2020, Theorem 4 (discrete Gaussian noise)."
    ),
    python='discreet.release("spec.yaml", dry_run=True).plan.accuracy()',
    command="discreet release spec.yaml --dry-run",
)
HOW_LEARNED = How(
    what="what may be learned",
    formula="posterior ≤ p / (p + (1 − p)·e^(−ε)), with ε of everything charged to the account",
    source=(
        "Kazan and Reiter, Prior-itizing Privacy, Theorem 1 at q = 1; with δ or ρ, Kazan, Sharma, "
        "Zhang, Jiang and Yan, Theorem 3.9."
    ),
    python="discreet.explain(account.total, prior).posterior.upper",
    command="discreet explain --epsilon E --prior P",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One statistic of the form: its place, its kind, its columns of groups."""

    place: int
    kind: str
    by: tuple[str, ...]
    yaml: bool


def statistics_of(form: Mapping[str, str]) -> list[Asked]:
    """Return the statistics that a form has, in order."""
    found = (re.match(r"statistics\.(\d+)\.", name) for name in form)
    places = sorted({int(match[1]) for match in found if match})
    return [
        Asked(
            place=place,
            kind=form.get(f"statistics.{place}.kind", ""),
            by=tuple(columns_of(form.get(f"statistics.{place}.by", ""))),
            yaml=f"statistics.{place}.yaml" in form,
        )
        for place in places
    ]


def learned_words(facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what may be learned as a table: the names of its columns, its rows, how often."""
    from discreet.statements.tables import learned_table, probability_text

    if facts is None:
        return None
    table = learned_table(facts)
    return {"names": table.names, "rows": table.rows, "holds": probability_text(facts)}


def promise_words(one: Standing) -> str:
    """Return where an account stands under a promise: the sentence, used, left, fitting."""
    used = percent(one.share_used, "up")
    more = "" if one.fits_again is None else f"; {one.fits_again:,} more like the last would fit"
    kept = "" if one.kept else " It is not kept: nothing is charged until it is withdrawn."
    return f"{one.sentence} {used} used{more}.{kept}"


def amount_words(said: Mapping[str, Any] | None, side: Literal["up", "down"]) -> str:
    """Return an amount of budget to six digits: spending rounded up, what is left down.

    >>> amount_words({"epsilon": 1.2992829841302607, "delta": 1e-6, "rho": None}, "up")
    'ε = 1.29929, δ = 1e-06'
    """
    if not said or said.get("unbounded"):
        return "no lifetime cap"
    return amount(said, side, "", figures=6)
