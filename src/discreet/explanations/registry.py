"""The statement as a record of the public registry of deployments: YAML in the registry's schema.

The schema is that of the OpenDP deployments registry (Ghazi, Nanayakkara and Vadhan); the record
is a draft of tier three, filled in from the statement. What the spec's `about:` leaves out is said
to be not stated, for a person to complete.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from discreet.explanations.markdown import (
    accuracy_text,
    bounds_text,
    library_text,
    mechanism_rows,
    unit_text,
)
from discreet.explanations.statements import Statement, cap_text
from discreet.words import catalogue

__all__ = ["registry_record", "registry_yaml"]

_VARIANTS = {
    "pure": "Pure DP",
    "approximate": "Approximate DP",
    "concentrated": "Zero-concentrated DP",
    "none": "Custom",
}


def registry_yaml(statement: Statement) -> str:
    """Return the record as YAML."""
    record = registry_record(statement)
    return str(yaml.safe_dump(record, sort_keys=False, allow_unicode=True, width=100))


def registry_record(statement: Statement) -> dict[str, Any]:
    """Return the record as plain values."""
    facts = statement.facts
    identity, unit = facts["identity"], facts["unit"]
    missing = catalogue().say("statement.not_stated")
    name = identity["name"] or identity["purpose"]
    curators = identity["curators"] or [missing]
    guarantee = facts["guarantee"]
    parameters = {
        key: guarantee[key] for key in ("epsilon", "delta", "rho") if guarantee[key] is not None
    }
    risk = facts["risk"]
    return {
        "url_slug": _slug(f"{name}-{statement.release_id[:8]}"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": str(name),
                "data_curators": [str(curator) for curator in curators],
                "intended_use": identity["intended_use"] or missing,
                "data_product_type": identity["product"],
                "data_product_region": identity["region"] or missing,
                "description": identity["description"] or str(identity["purpose"]),
                "publication_date": str(identity["made"])[:10],
            },
            "dp_variant": {
                "variant_name": _VARIANTS[guarantee["kind"]],
                "data_domain": facts["data_domain"],
                "unprotected_quantities": facts["invariants"],
            },
            "privacy_loss": {
                "privacy_unit": unit_text(unit),
                "privacy_unit_details": (
                    f"{unit['neighbours']} {bounds_text(facts['contribution_bounds'])}"
                ),
                "privacy_parameters": parameters,
                "privacy_parameters_details": (
                    _line(facts["texts"]["regulator"]) if risk is not None else guarantee["reason"]
                ),
            },
            "deployment_model": {
                "model_name": facts["model"]["name"],
                "actors": facts["model"]["trust"],
                "release_type": "Many releases"
                if len(facts["spending"]["charges"]) > 1
                else "One release",
                "release_type_details": (
                    f"{facts['composition']['rule']} "
                    f"{catalogue().say('statement.label.remaining')}: "
                    f"{cap_text(facts['spending']['remaining'])}."
                ),
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": facts["processing"]["after"],
                "composition": f"{facts['composition']['rule']} {facts['composition']['within']}",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _prepared(facts),
                "mechanisms": _mechanisms(facts),
                "justification": _justified(facts),
            },
            "administrative": {
                "notes": (
                    f"release {statement.release_id}, sha256 {facts['hashes']['output']}, "
                    f"ledger head {facts['spending']['head']}"
                ),
                "registry_authors": [str(curator) for curator in curators],
            },
        },
    }


def _prepared(facts: Any) -> str:
    bases = "; ".join(f"{fact['what']}: {fact['basis']}" for fact in facts["bases"])
    return f"{facts['processing']['before']} {bases}."


def _mechanisms(facts: Any) -> str:
    calls = "; ".join(", ".join(row) for row in mechanism_rows(facts["mechanisms"]))
    off = "; ".join(f"{row['statistic']} ± {accuracy_text(row)}" for row in facts["accuracy"])
    parts = [calls, off, facts["floating_point"].rstrip("."), library_text(facts["library"])]
    return ". ".join(part for part in parts if part) + "."


def _justified(facts: Any) -> str:
    sentences = [str(one["sentence"]) for one in facts["promises"] if not one["withdrawn"]]
    return " ".join(sentences) or catalogue().say("statement.not_stated")


def _line(text: str) -> str:
    return " ".join(text.split())


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:80]
