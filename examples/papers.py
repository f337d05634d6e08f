"""The numbers of the papers, computed again: the tables of docs/papers.md.

    python examples/papers.py              print the tables
    python examples/papers.py docs/papers.md    put them into the page, between its marks

Each row says where a number stands, what it is, what was printed, and how it is computed here. A
test compares the page with what this file computes, so no number of ours on it was typed.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet import ZCDP, ApproxDP, Prior, PureDP, choose, explain, horizon, plan
from discreet.composition import loss_of
from discreet.laws import Gaussian, Geometric, RandomizedResponse
from discreet.promises import PosteriorUnlessRatio, Ratio, priors
from discreet.rounding import decimal_down, decimal_up
from discreet.synthetic import risk, risk_table


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a paper."""

    where: str
    what: str
    printed: str
    here: Callable[[], str]
    note: str = ""


def _down(x: float, digits: int = 4) -> str:
    return f"{decimal_down(x, digits):.{digits}f}"


def _up(x: float, digits: int = 3) -> str:
    return f"{decimal_up(x, digits):.{digits}f}"


def _agency(tolerance: Any) -> str:
    choice = choose(tolerance)
    noise = choice.noise
    return f"{_down(choice.epsilon)}; {noise['sd']:.2f}; {100 * noise['prob_exact']:.0f} %"


def _switch(posterior: float, ratio: float) -> str:
    tolerance = PosteriorUnlessRatio(posterior, ratio, priors(q=1))
    law = Geometric(choose(tolerance if posterior else Ratio(ratio, priors(q=1))).epsilon)
    chances = ", ".join(f"{law.prob_crosses(m):.2g}" for m in (1, 2, 4, 8))
    return f"{_down(law.epsilon)}; {law.sd:.3f}; {chances}"


def kazan_reiter() -> Iterator[Row]:
    """Rows of Kazan and Reiter."""
    for ratio, printed in (
        (1.5, "0.51; 2.74; 25 %"),
        (3, "1.30; 1.02; 57 %"),
        (6, "2.04; 0.59; 77 %"),
    ):
        yield Row(
            "Example 1, Table 4",
            f"at most 25 % sure, unless {ratio:g}-fold; q = 1: ε; s.d.; exact",
            printed,
            lambda r=ratio: _agency(PosteriorUnlessRatio(0.25, r, priors(q=1))),
        )
    for posterior, printed in (
        (0.025, "1.09; 1.24; 50 %"),
        (0.15, "1.21; 1.10; 54 %"),
        (0.3, "2.10; 0.56; 78 %"),
    ):
        yield Row(
            "Example 2, Table 5",
            f"at most {100 * posterior:g} % sure, unless threefold; p = 5 %: ε; s.d.; exact",
            printed,
            lambda a=posterior: _agency(PosteriorUnlessRatio(a, 3, priors(p=0.05))),
        )
    for p, printed in ((0.005, "1.63"), (0.0005, "3.94")):
        yield Row(
            "Example 2",
            f"the first of these, p = {100 * p:g} %: ε",
            printed,
            lambda p=p: _down(choose(PosteriorUnlessRatio(0.025, 3, priors(p=p))).epsilon),
        )
    for ratio, posterior in ((5, 0.5), (2, 0.25), (1.2, 0)):
        yield Row(
            "Example 3",
            f"r = {ratio:g}, a = {posterior:g}: ε; s.d.; chance of a wrong verdict, four rates",
            "below 10 % for the nearest rate" if ratio == 5 else "Figure 2",
            lambda a=posterior, r=ratio: _switch(a, r),
            "it is exactly 10 %, not below" if ratio == 5 else "",
        )
    yield Row(
        "(33)",
        "at most 25 % sure, unless threefold, p and q free: ε, at (p, q)",
        "0.65",
        _both,
        "closed form ½ log((r−a)/(1−a)), ours; a grid gives .6506, above the truth",
    )
    yield Row(
        "constant",
        "at most threefold, p and q free: ε",
        "0.5503 by the authors' program",
        lambda: _down(choose(Ratio(3)).epsilon),
        "a grid search errs upward",
    )
    yield Row(
        "(26)",
        "ratio 3 where p ≥ 0.8, q ≥ 0.5",
        "undefined",
        lambda: str(choose({"ratio": 3, "box": [0.8, 1, 0.5, 1], "sided": "one"}).epsilon),
        "p₀q₀ ≥ 1/r: any increase is allowed",
    )
    yield Row(
        "comparison",
        "one of four people is missing, at most 1/3 sure: ε at p = 1/4, q = 1",
        "0.41",
        lambda: _down(choose(Ratio(4 / 3, priors(p=0.25, q=1)), sided="one").epsilon),
        "but “exactly one is missing” breaks assumption 2: a posterior of 0.43 is possible",
    )


def _both() -> str:
    choice = choose("max(0.25/(p*q), 3)")
    return f"{_down(choice.epsilon)} at ({choice.binding.p:.3g}, {choice.binding.q:.3g})"


def _posterior(each: Any, day: int, **how: Any) -> str:
    return _up(horizon(each, 0.5, upto=day, **how).series[-1].posterior or math.nan)


def _difference(each: Any, day: int, **how: Any) -> str:
    return _up(horizon(each, upto=day, **how).series[-1].difference)


def _passed(each: Any, **how: Any) -> str:
    return str(horizon(each, 0.5, **how).releases)


def _moved(each: Any, **how: Any) -> str:
    found = horizon(each, difference=0.98, about="membership", **how)
    return str(found.releases)


def kazan_sharma() -> Iterator[Row]:
    """Rows of Kazan, Sharma, Zhang, Jiang and Yan."""
    survey = ApproxDP(0.1, 1e-7)
    yield Row(
        "Example 1.1",
        "(0.1, 1e-7)-DP, from 50 %, at 99 %: belief after",
        "47.5 % to 52.5 %",
        lambda: _span(explain(survey, 0.5).posterior),
    )
    daily, noise, paper = ZCDP(0.01), Gaussian.of_rho(0.01), {"method": "paper"}
    for day, printed in ((7, "83 %"), (30, "96 %")):
        yield Row(
            "Example 4.1",
            f"0.01-zCDP a day, from 50 %, day {day}: belief, by their formula; Gaussian curve",
            printed,
            lambda d=day: f"{_posterior(daily, d, **paper)}; {_posterior(noise, d)}",
        )
    yield Row(
        "Example 4.1",
        "first day above 99 %: their formula; any zCDP; Gaussian curve; exact",
        "58",
        lambda: "; ".join(
            _passed(each, posterior=0.99, **how)
            for each, how in ((daily, paper), (daily, {}), (noise, {}), (noise, _EXACT))
        ),
    )
    for day, printed in ((7, "38 %"), (30, "67 %")):
        yield Row(
            "Example 4.1",
            f"day {day}: difference over all priors, by their formula",
            printed,
            lambda d=day: _difference(daily, d, **paper),
            "67 % is 16 → 84 %, not 19 → 81 %" if day == 30 else "",
        )
    yield Row(
        "Example 4.1",
        "first day with a difference above 98 %: the same four",
        "202",
        lambda: "; ".join(
            _moved(each, **how)
            for each, how in ((daily, paper), (daily, {}), (noise, {}), (noise, _EXACT))
        ),
    )
    limit = {"posterior": 0.8, "confidence": 0.95}
    for method, printed in (("basic", "28"), ("advanced", "51"), ("optimal", "96")):
        yield Row(
            "Figure 3",
            f"0.05-DP each, {method}: releases until 80 %, at δ = 1e-6; with δ free",
            printed,
            lambda m=method: "; ".join(
                _passed(PureDP(0.05), method=m, **limit, **point) for point in ({"delta": 1e-6}, {})
            ),
            "" if method == "basic" else "the print does not belong to δ = 1e-6",
        )
    yield Row(
        "Figure 3",
        "the same for geometric noise, exact",
        "–",
        lambda: _passed(Geometric(0.05), strength="exact", **limit),
    )
    year: dict[str, Any] = {
        "releases": 12,
        "difference": 0.2,
        "about": "membership",
        "confidence": 0.99,
    }
    point = {"delta_each": 1e-8, "delta_total": 1e-6}
    yield Row(
        "Example 4.2",
        "twelve releases, difference 20 %: ε each, optimal; basic",
        "0.135",
        lambda: "; ".join(
            _down(plan(**year, **point, **how).budgets[0]) for how in ({}, {"method": "basic"})
        ),
        "the gain is 0.3 %, not twofold",
    )
    yield Row(
        "Example 4.2",
        "δ of twelve (0.135, 1e-8) releases at ε = 0.81",
        "1e-6",
        lambda: f"{loss_of((ApproxDP(0.135, 1e-8), 12)).delta(0.81):.1e}",
        "they are not (0.81, 1e-6)-DP",
    )
    yield Row(
        "Example 4.2",
        "ε each with δ free; geometric noise, exact",
        "–",
        lambda: "; ".join(
            _down(plan(**year, **how).budgets[0])
            for how in ({"delta_each": 1e-8}, {"mechanism": "geometric", **_EXACT})
        ),
    )
    company = ApproxDP(1.8, 1e-5)
    for prior, printed in ((0.5, "86 %, +36 %, ×1.7"), (0.1, "40 %, +30 %, ×4.0")):
        yield Row(
            "Example 4.3",
            f"(1.8, 1e-5)-DP, at 95 %, from {100 * prior:g} %: belief; difference; ratio",
            printed,
            lambda p=prior: _three(explain(company, p, confidence=0.95)),
        )
    yield Row(
        "Example 4.3",
        "the worst prior; difference there; ratio towards p = 0",
        "29 %; 42 %; 6",
        lambda: _worst(explain(company, confidence=0.95)),
    )
    yield Row(
        "§4.4",
        "prior at which the ratio comes near e^ε",
        "p ≈ 1",
        lambda: f"p = {explain(company, confidence=0.95).worst_ratio.p:g}",
        "near 0, not 1",
    )


_EXACT: dict[str, Any] = {"strength": "exact"}


def _span(bounds: Any) -> str:
    return f"{_down(100 * bounds.lower, 2)} % to {_up(100 * bounds.upper, 2)} %"


def _three(belief: Any) -> str:
    return (
        f"{_up(belief.posterior.upper)}; +{_up(belief.difference.upper)}; "
        f"×{_up(belief.ratio.upper)}"
    )


def _worst(belief: Any) -> str:
    difference, ratio = belief.worst_difference, belief.worst_ratio
    return f"{difference.p:.3f}; {_up(difference.value)}; {_up(ratio.value)}"


def mcclure_reiter() -> Iterator[Row]:
    """Rows of McClure and Reiter: Table 1, and the record at most risk."""
    printed = {
        0.001: (".125", ".036", ".0101", ".00372", ".000578", "3.13e-05"),
        0.3: (".00718", ".00702", ".00578", ".00328", ".000576", "3.13e-05"),
        0.5: (".00655", ".00643", ".00543", ".00321", ".000575", "3.13e-05"),
        0.999: (".0983", ".0350", ".0100", ".00372", ".000578", "3.13e-05"),
    }
    table = risk_table()
    for share, values in zip(table.shares, table.values, strict=True):
        yield Row(
            "Table 1",
            f"p₀ = {share:g}: expected increase in risk at ε = 1000, 100, 10, 2, .2, .01",
            " ".join(printed[share]),
            lambda v=values: " ".join(f"{x:.4g}" for x in v),
            "",
        )
    yield Row(
        "§4",
        "ε = 1000, nobody else has it, three drawn: R",
        ".88",
        lambda: f"{risk([1, 999], [3, 997], epsilon=1000).absolute(0.5)[0]:.2f}",
    )


def intro() -> Iterator[Row]:
    """Rows of the introduction by Knightbrook."""
    yield Row(
        "survey",
        "coin-flip survey: chance of the true answer at ε = log 3",
        "3/4",
        lambda: f"{RandomizedResponse(math.log(3)).prob_true:.4f}",
    )
    yield Row(
        "“a reasonable value”",
        "from 50 % to at most 75 %: ε",
        "log 3 = 1.0986",
        lambda: _down(choose({"preset": "half-to-three-quarters"}).epsilon),
    )
    yield Row(
        "the same",
        "belief after at ε = log 3, from 50 %",
        "75 %",
        lambda: _up(100 * explain(PureDP(math.log(3)), Prior(0.5)).posterior.upper, 1) + " %",
    )


PAPERS: dict[str, Callable[[], Iterator[Row]]] = {
    "kazan-reiter": kazan_reiter,
    "kazan-sharma": kazan_sharma,
    "mcclure-reiter": mcclure_reiter,
    "intro": intro,
}


def table(rows: Iterator[Row]) -> str:
    """Return rows as a table in Markdown."""
    lines = ["| where | what | in print | here | |", "|---|---|---|---|---|"]
    lines += [f"| {r.where} | {r.what} | {r.printed} | {r.here()} | {r.note} |" for r in rows]
    return "\n".join(lines)


def filled(page: str) -> str:
    """Return the page with every table between its marks computed anew."""
    for name, rows in PAPERS.items():
        mark = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        made = table(rows())
        page = re.sub(mark, lambda m, made=made: f"{m[1]}\n{made}\n\n{m[2]}", page, flags=re.S)
    return page


if __name__ == "__main__":
    if len(sys.argv) > 1:
        where = Path(sys.argv[1])
        where.write_text(filled(where.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        for rows in PAPERS.values():
            sys.stdout.write(table(rows()) + "\n\n")
