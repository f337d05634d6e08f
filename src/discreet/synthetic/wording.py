"""What a synthetic release says of itself, in words and as a description for analysts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.rounding import number
from discreet.statements import PRIORS, learned_lines, promise_lines
from discreet.statements.tables import flat
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer
from discreet.synthetic.records import worst_case
from discreet.words import say

if TYPE_CHECKING:
    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["NO_GUARANTEE", "describe", "statement"]

NO_GUARANTEE = say("synthetic.no_guarantee")


def describe(
    spec: SyntheticSpec,
    law: Synthesizer,
    cells: Cells,
    facts: Mapping[str, Any],
    *,
    guaranteed: bool = True,
) -> dict[str, Any]:
    """Return how the file was made and what it promises; `facts` are those of its charge."""
    promise: dict[str, Any] = {
        "guarantee": law.guarantee(spec.protect.adjacency).to_dict() if guaranteed else "none"
    }
    # Where the data and the account are kept is nobody's business.
    left_out = {"source", "ledger", "output"}
    if not guaranteed:
        promise["reason"] = NO_GUARANTEE
        left_out |= {"budget", "tolerance", "promise"}
    return {
        **promise,
        "learned": facts["learned"] if guaranteed else None,
        "spec": {key: value for key, value in spec.to_dict().items() if key not in left_out},
        "synthesizer": law.to_dict(),
        "n": spec.n,
        **cells.to_dict(),
        "impossible": spec.to_dict().get("impossible", []),
        "worst_case": worst_case(law.epsilon, PRIORS) if guaranteed else None,
        "assumptions": _assumptions(spec, facts["unit_name"]) if guaranteed else [],
    }


def _assumptions(spec: SyntheticSpec, one: str) -> list[str]:
    return [
        say("synthetic.assumption.neighbours", unit=one, adjacency=spec.protect.adjacency),
        say("synthetic.assumption.adversary"),
        say("synthetic.assumption.every_file"),
        say("synthetic.assumption.public"),
        say("synthetic.assumption.others"),
    ]


def statement(
    spec: SyntheticSpec,
    law: Synthesizer,
    cells: Cells,
    facts: Mapping[str, Any],
    *,
    guaranteed: bool = True,
) -> str:
    """Return the statement that goes with the file, in Markdown."""
    one = flat(facts["unit_name"])
    copies = "" if law.copies == 1 else say("synthetic.statement.copies", copies=law.copies)
    lines = [
        say("synthetic.statement.title", purpose=flat(spec.purpose)),
        say(
            "synthetic.statement.records",
            records=law.n_synthetic,
            copies=copies,
            cells=cells.size,
            columns=flat(", ".join(cells.columns)),
            alpha=float(law.alpha),
        ),
    ]
    if not guaranteed:
        return _paragraphs(*lines, say("synthetic.statement.none", reason=NO_GUARANTEE))
    guarantee = say(
        "synthetic.statement.guarantee",
        epsilon=number(law.epsilon, "up", 6),
        adjacency=spec.protect.adjacency,
        unit=one,
    )
    unknown = say("synthetic.statement.size_unknown")
    return _paragraphs(
        *lines,
        *promise_lines(facts["promises"]),
        guarantee,
        say("synthetic.statement.learned"),
        say("statement.learned.lead", unit=one),
        "\n".join(learned_lines(facts["learned"])),
        say("synthetic.statement.not_protected", unit=one),
        say("synthetic.statement.analysts", size=unknown if spec.n is None else spec.n),
    )


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"
