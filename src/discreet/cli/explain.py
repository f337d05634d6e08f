"""`discreet explain`: from a guarantee to what may be learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.flags import FlagsFile, Json, OneRelease, described
from discreet.cli.output import charted, emit, table
from discreet.errors import InputError
from discreet.rounding import number
from discreet.words import say

if TYPE_CHECKING:
    from discreet.beliefs import Joining


@described("explain")
def explain(
    release: OneRelease,
    delta: float | None = None,
    probabilistic: bool = False,
    times: int = 1,
    prior: Annotated[float | None, typer.Option("--prior", "--p")] = None,
    value_prior: Annotated[float, typer.Option("--value-prior", "--q")] = 1.0,
    about: str | None = None,
    confidence: float = 0.99,
    sided: str = "two",
    strength: str | None = None,
    method: str | None = None,
    adjacency: str | None = None,
    counts_sensitive_only: bool = False,
    related: int = 1,
    odds: float | None = None,
    neighbours: int | None = None,
    chain: bool = False,
    sampled: float | None = None,
    unit: str = "person",
    unit_name: str | None = None,
    people: int = 1_000_000,
    audience: str = "public",
    join: bool = False,
    score: Annotated[list[float] | None, typer.Option()] = None,
    png: Path | None = None,
    file: FlagsFile = None,
    as_json: Json = False,
) -> None:
    """From a guarantee and a prior to what an adversary may come to believe."""
    from discreet.beliefs import Prior, decomposition_of, explain
    from discreet.guarantees import Adjacency
    from discreet.promises.dependence import of_dependent_units
    from discreet.promises.keys import dependence_in
    from discreet.reports.sentences import sentence

    prior, value_prior = _priors(prior, value_prior, about)
    draw = charted(png, "likelihood_ratios")
    has_curve = release.epsilon is None or release.mechanism is not None
    subject = release.read(
        None if has_curve else delta, adjacency, times=times, probabilistic=probabilistic
    )
    given = {"related": related, "odds": odds, "neighbours": neighbours, "chain": chain or None}
    how = {
        "confidence": confidence,
        "sided": sided,
        "strength": strength,
        "delta": delta if has_curve else None,
        "method": method,
        "counts_sensitive_only": counts_sensitive_only,
        "unit": unit,
        "unit_name": unit_name,
        "people": people,
    }
    at = None if prior is None else Prior(prior, value_prior)
    where = Adjacency.of(adjacency or "add-remove")
    apart = of_dependent_units(subject, where, *dependence_in(given))
    belief = explain(_of_a_sample(apart, sampled), at, **how)  # type: ignore[call-overload]
    if apart is not subject:
        belief = replace(belief, assumptions=belief.assumptions.with_dependence())
    text = sentence(belief, audience)  # type: ignore[arg-type]
    payload = belief.to_dict()
    if sampled is not None:
        drawn = explain(apart, at, **how).to_dict()  # type: ignore[call-overload]
        kept = {name: drawn[name] for name in ("posterior", "ratio", "difference")}
        payload["sampled"] = {"rate": sampled} | kept
        most = number(drawn["ratio"]["upper"], "up")
        text += " " + say("cli.explain.sampled", rate=100 * sampled, ratio=most)
    payload |= {"text": text, "audience": audience}
    parts = decomposition_of(belief)
    if parts is not None:
        payload["decomposition"] = parts
    lines = _lines(belief, text, parts)
    if score:
        payload["choice"], told = _choice(subject, score)
        lines += ["", *told]
    draw(subject)
    if join:
        of_whom = {name: how[name] for name in ("unit", "unit_name")}
        joining = _joining(subject, prior, confidence, counts_sensitive_only, of_whom)
        payload["joining"] = joining.to_dict()
        other = say("cli.explain.another_comparison", unit=joining.unit)
        lines += ["", other, joining.text, *_joining_table(joining)]
    emit(payload, lines, as_json)


def _priors(prior: float | None, value: float, about: str | None) -> tuple[float | None, float]:
    """Return the chances of being in and of the value; about a value, the one given is that."""
    if about not in (None, "membership", "value", "both"):
        raise InputError("cli.about_what", about=about)
    if about == "value":
        both = [one for one in (prior, value) if one not in (None, 1.0)]
        if len(both) != 1:
            raise InputError("cli.about_value")
        return 1.0, float(both[0] or 0.0)
    if prior is None and value != 1.0:
        raise InputError("cli.value_prior_alone", q=value)
    if (about == "membership" and value != 1.0) or (about == "both" and value == 1.0):
        raise InputError(f"cli.about_{about}")
    return prior, value


def _joining(
    subject: Any,
    prior: float | None,
    confidence: float,
    sensitive_only: bool,
    of_whom: dict[str, Any],
) -> Joining:
    """Return the comparison at the usual beliefs, and at the one that was asked about."""
    from discreet.beliefs.joining import SHOWN, join

    beliefs = sorted({*SHOWN, *([] if prior is None else [prior])})
    return join(
        subject,
        beliefs,
        confidence=confidence,
        counts_sensitive_only=sensitive_only,
        **of_whom,
    )


def _joining_table(joining: Joining) -> list[str]:
    from discreet.statements.presenter import belief_text, bound_text

    pairs = zip(joining.without, joining.joined, strict=True)
    header = [say("cli.explain.if_out"), say("cli.explain.if_in")]
    return table([[belief_text(a0), bound_text(a1)] for a0, a1 in pairs], header)


def _of_a_sample(subject: Any, rate: float | None) -> Any:
    """Return what is known of a unit that may or may not have been drawn."""
    if rate is None:
        return subject
    from discreet.composition.sampling import amplified

    return amplified(subject, rate)


def _choice(subject: Any, scores: list[float]) -> tuple[dict[str, Any], list[str]]:
    """Return how likely each candidate is chosen, for supposed scores."""
    from discreet.laws import Exponential
    from discreet.statements.presenter import chance_text

    if not isinstance(subject, Exponential):
        raise InputError("cli.scores_of_choice")
    chances = subject.probabilities(scores)
    best, even = max(chances), 1 / len(scores)
    said = {
        "probabilities": list(chances),
        "even": even,
        "lead_for_even_odds": subject.lead_for_even_odds(len(scores)),
        "nearly_random": best < 2 * even and len(scores) > 1,
    }
    rows = [[f"{score:g}", chance_text(p)] for score, p in zip(scores, chances, strict=True)]
    name = "random" if said["nearly_random"] else "leads"
    told = say(f"cli.explain.choice_{name}", best=chance_text(best), even=chance_text(even))
    lead = say("cli.explain.choice_lead", lead=said["lead_for_even_odds"])
    header = [say("cli.explain.score"), say("cli.explain.chosen")]
    return said, [*table(rows, header), told, lead]


def _lines(belief: Any, text: str, parts: dict[str, float] | None = None) -> list[str]:
    from discreet.statements.presenter import assumption_rows

    rows = []
    at = "" if belief.value_prior is None else f", if q stays {belief.value_prior:g}"
    if belief.posterior is not None:
        rows.append(["posterior", *_pair(belief.posterior, 4)])
    rows.append(["posterior / prior", *_pair(belief.ratio, 4)])
    rows.append(["posterior − prior", *_pair(belief.difference, 4)])
    for name, factor in (parts or {}).items():
        rows.append([say(f"cli.explain.factor_{name}"), "", f"{factor:.4f}"])
    lines = [text, "", *table(rows, ["", "at least", "at most"]), ""]
    lines += table(
        [
            ["holds with", f"{belief.holds_with:g}"],
            *([["sided", say(f"cli.sided.{belief.sided}")]] if belief.holds_with < 1 else []),
            ["strength", belief.strength],
            ["by", belief.method],
            ["worst prior, ratio", f"p = {belief.worst_ratio.p:.4g}{at}"],
            ["worst prior, difference", f"p = {belief.worst_difference.p:.4g}{at}"],
        ]
    )
    if belief.at_confidence:
        lines += ["", say("cli.explain.other_confidences")]
        lines += table([_row(row) for row in belief.at_confidence], ["", "posterior", "difference"])

    told = [["note", belief.note]] if belief.note else []
    return [*lines, "", *table([*assumption_rows(belief.assumptions.to_dict()), *told])]


def _pair(bounds: Any, digits: int) -> list[str]:
    from discreet.rounding import decimal_down, decimal_up

    return [
        f"{decimal_down(bounds.lower, digits):.{digits}f}",
        f"{decimal_up(bounds.upper, digits):.{digits}f}",
    ]


def _row(row: Any) -> list[str]:
    from discreet.rounding import decimal_up

    posterior = "" if row.posterior is None else f"{decimal_up(row.posterior, 4):.4f}"
    return [f"{100 * row.confidence:g} %", posterior, f"{decimal_up(row.difference, 4):.4f}"]
