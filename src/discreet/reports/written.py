"""The statement as Markdown, in the order in which people ask, and as a record of the registry.

Both print the lines and tables of `discreet.statements.tables`. The record follows the schema of
the OpenDP deployments registry (Ghazi, Nanayakkara and Vadhan); it is a draft of tier three. What
the spec's `publication:` leaves out is said to be not stated, for a person to complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from discreet.reports.facts import Statement, purpose_of
from discreet.statements import compared_lines, gaussian_lines, learned_lines, promise_lines
from discreet.statements.presenter import someone
from discreet.statements.tables import (
    flat,
    joining_table,
    lines_of,
    restored_lines,
    sensitive_lines,
    tables_of,
    titled,
)
from discreet.words import say

# The sections of the statement that are lines, with the labels of these.
_LINES = {
    "identity": ("release", "made", "account", "name", "curators", "region", "product"),
    "guarantee": (
        "variant", "parameters", "unit", "neighbours", "bounds", "domain", "invariants", "model",
    ),
    "spending": ("this", "then", "now", "cap", "remaining", "approved", "composition", "entry",
                 "head", "as_of"),
    "processing": ("before", "after", "library", "floats"),
}  # fmt: skip
_ORDER = (
    "identity", "guarantee", "spending", "risk", "mechanisms", "accuracy", "biases", "bases",
    "processing", "not_covered", "versions",
)  # fmt: skip
_OF_ACCOUNT = (
    "identity", "guarantee", "spending", "releases", "decisions", "risk", "not_covered"
)  # fmt: skip
_VARIANTS = {
    "pure": "Pure DP",
    "approximate": "Approximate DP",
    "concentrated": "Zero-concentrated DP",
    "none": "Custom",
}


def markdown(statement: Statement, later: str = "") -> str:
    """Return the statement as one Markdown page; `later` says what may still follow."""
    facts = statement.facts
    title = "title" if statement.release_id else "account_title"
    named = titled(f"statements.{title}", facts["promises"], purpose_of(facts))
    lines = [f"# {flat(named)}", ""]
    shown, tables = lines_of(facts), tables_of(facts)
    compared = map(flat, compared_lines(facts["promises"], facts["learned"]))
    lost = restored_lines(facts["spending"]["restored"])
    spec, adjacency = statement.stored.said.get("spec", {}), facts["unit"]["adjacency"]
    meant = sensitive_lines(facts["promises"], adjacency, spec.get("sensitive"))
    for line in (*promise_lines(facts["promises"], shown["now"]), *meant, *lost, *compared):
        lines += [line, ""]
    for paragraph in filter(None, (*facts["texts"]["public"].split("\n\n"), later)):
        lines += [flat(paragraph), ""]
    for name in _OF_ACCOUNT if "history" in facts else _ORDER:
        lines += [f"## {say(f'statements.label.{name}')}", ""]
        if name in _LINES:
            lines += _items((label, shown[label]) for label in _LINES[name] if label in shown)
        elif name in tables and tables[name].rows:
            lines += tables[name].markdown()
        if name in ("risk", "accuracy", "biases", "mechanisms", "not_covered"):
            lines += _more(name, statement, shown)
        lines.append("")
    return "\n".join(lines)


def _items(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [f"- **{say(f'statements.label.{name}')}**: {flat(text)}" for name, text in pairs]


def _more(name: str, statement: Statement, shown: dict[str, str]) -> list[str]:
    """What a section has beside its lines or its table."""
    facts = statement.facts
    match name:
        case "risk":
            return _risk(statement, shown)
        case "mechanisms":
            said = gaussian_lines(statement.stored.said.get("gaussian_mu"))
            return ["", *said] if said else []
        case "accuracy":
            return [] if facts["accuracy"] else [say("statements.accuracy.blur")]
        case "biases":
            lines = [f"- {flat(bias['text'])}" for bias in facts["biases"]]
            unknown = any(bias["size"] is None for bias in facts["biases"])
            return [*lines, "", say("statements.bias.size_unknown")] if unknown else lines
    return [f"- **{flat(one['name'])}.** {flat(one['text'])}" for one in facts["not_covered"]]


def _risk(statement: Statement, shown: dict[str, str]) -> list[str]:
    facts = statement.facts
    risk = facts["risk"]
    if risk is None:
        return [str(facts["guarantee"]["reason"])]
    lead = say("statement.learned.lead", unit=statement.subject)
    lines = [flat(lead), "", *learned_lines(facts["learned"]), ""]
    lines += _items((name, shown[name]) for name in ("adversary", "beyond") if name in shown)
    for one in facts["promises"]:
        who = someone(**one["binding"], unit=statement.subject)
        lines += _items([("binding" if one["withdrawn"] is None else "bound", who)])
    lines.append("")
    joining = joining_table(risk["beliefs"])
    if joining is not None:
        lead = flat(say("statements.joining", unit=statement.subject))
        lines += [lead, "", *joining.markdown(), ""]
    lines.append(say("reports.technical.by", method=risk["method"], strength=risk["strength"]))
    if statement.release_id is not None:
        lines += ["", f"[{say('reports.page.participant')}](participant.html)"]
    return lines


def registry_yaml(statement: Statement) -> str:
    """Return the record of the registry as YAML."""
    import yaml

    record = registry_record(statement)
    return str(yaml.safe_dump(record, sort_keys=False, allow_unicode=True, width=100))


def registry_record(statement: Statement) -> dict[str, Any]:
    """Return the record of the registry as plain values."""
    facts, shown, tables = statement.facts, lines_of(statement.facts), tables_of(statement.facts)
    identity, guarantee, spending = facts["identity"], facts["guarantee"], facts["spending"]
    missing = say("statements.not_stated")
    name = identity["name"] or identity["purpose"]
    curators = [str(curator) for curator in identity["curators"] or [missing]]
    told = facts["texts"]["regulator"] if facts["risk"] is not None else guarantee["reason"]
    bases = "; ".join(f"{what}: {basis}" for what, basis in tables["bases"].rows)
    calls = "; ".join(", ".join(row) for row in tables["mechanisms"].rows)
    off = "; ".join(f"{row[0]} ± {row[1]}" for row in tables["accuracy"].rows)
    made = [calls, off, shown["floats"].rstrip("."), shown["library"]]
    bound = facts["promises"]
    promised = promise_lines(bound, shown["now"], plain=True) if bound else []
    return {
        "url_slug": slug(f"{name}-{identity['release_id'][:8]}"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": str(name),
                "data_curators": curators,
                "intended_use": identity["intended_use"] or missing,
                "data_product_type": identity["product"],
                "data_product_region": shown["region"],
                "description": identity["description"] or str(identity["purpose"]),
                "publication_date": str(identity["made"])[:10],
            },
            "dp_variant": {
                "variant_name": _VARIANTS[guarantee["kind"]],
                "data_domain": shown["domain"],
                "unprotected_quantities": shown["invariants"],
            },
            "privacy_loss": {
                "privacy_unit": shown["unit"],
                "privacy_unit_details": f"{shown['neighbours']} {shown['bounds']}",
                "privacy_parameters": {
                    key: guarantee[key]
                    for key in ("epsilon", "delta", "rho")
                    if guarantee[key] is not None
                },
                "privacy_parameters_details": " ".join(str(told).split()),
            },
            "deployment_model": {
                "model_name": facts["model"]["name"],
                "actors": facts["model"]["trust"],
                "release_type": "Many releases" if len(spending["charges"]) > 1 else "One release",
                "release_type_details": (
                    f"{facts['composition']['rule']} "
                    f"{say('statements.label.remaining')}: {shown['remaining']}."
                ),
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": shown["after"],
                "composition": shown["composition"],
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": f"{shown['before']} {bases}.",
                "mechanisms": ". ".join(part for part in made if part) + ".",
                "justification": " ".join(promised) or missing,
            },
            "administrative": {
                "notes": say(
                    "reports.registry_notes",
                    release_id=identity["release_id"],
                    output=facts["hashes"]["output"],
                    head=spending["head"],
                ),
                "registry_authors": curators,
            },
        },
    }


def slug(text: str) -> str:
    """Return a text as part of an address, or of a folder's name."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:80]
