"""`discreet deployments`: published budgets read as beliefs."""

from __future__ import annotations

from discreet.cli.flags import Json, described
from discreet.cli.output import emit, table

__all__ = ["command"]


@described("deployments")
def command(prior: float = 0.5, confidence: float = 0.99, as_json: Json = False) -> None:
    """Published budgets, each with its unit and source, read as beliefs for a prior."""
    from discreet.reports.published import deployments
    from discreet.statements.figures import frequency
    from discreet.words import catalogue

    found = deployments(prior, confidence=confidence)
    caution = catalogue().say("reports.deployment.caution")
    rows = []
    for one in found:
        said = one.to_dict()
        names = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
        budget = ", ".join(f"{sign} {said[key]:g}" for key, sign in names.items() if said[key])
        after = "no bound" if said["posterior"] is None else frequency(said["posterior"], "up")
        rows.append([one.name, str(one.year), one.unit, budget, after])
    header = ["deployment", "year", "for", "budget", f"from {prior:.4g} to at most"]
    sources = list(dict.fromkeys(one.source for one in found))
    lines = [*table(rows, header), "", caution, "", *(f"  {source}" for source in sources)]
    payload = {"prior": prior, "confidence": confidence, **found.to_dict(), "caution": caution}
    emit(payload, lines, as_json)
