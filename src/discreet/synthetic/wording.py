"""What a synthetic release says of itself, in words and as a description for analysts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.ledger.promises import Made
from discreet.promises import Unit
from discreet.rounding import number
from discreet.statements import PRIORS, learned, learned_lines, promise_lines
from discreet.statements.tables import flat
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer
from discreet.synthetic.records import worst_case
from discreet.words import say

if TYPE_CHECKING:
    from discreet.ledger import Account
    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["NO_GUARANTEE", "Standing", "describe", "statement"]

NO_GUARANTEE = say("synthetic.no_guarantee")


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the account stands with this file: its unit, its promises, what may be learned."""

    unit: Unit
    made: tuple[Made, ...]
    learned: dict[str, Any] | None

    @classmethod
    def of(cls, spec: SyntheticSpec, account: Account, made: tuple[Made, ...]) -> Standing:
        """Return what every statement of the account's releases states, this file included."""
        unit = account.called(spec.unit)
        promises = [one.registered.promise(account) for one in made if one.withdrawn is None]
        found = learned(account.total, unit, promises)
        return cls(unit, made, None if found is None else found.to_dict())


def describe(
    spec: SyntheticSpec,
    law: Synthesizer,
    cells: Cells,
    standing: Standing,
    *,
    guaranteed: bool = True,
) -> dict[str, Any]:
    """Return the public description: how the file was made, and what it promises."""
    unit = standing.unit
    promise: dict[str, Any] = {
        "guarantee": law.guarantee(spec.protect.adjacency).to_dict() if guaranteed else "none"
    }
    # Where the data and the account are kept is nobody's business.
    left_out = {"source", "ledger", "output"}
    if not guaranteed:
        promise["reason"] = NO_GUARANTEE
        left_out |= {"budget", "tolerance", "promise"}
    return {
        "account": spec.account,
        "purpose": spec.purpose,
        **promise,
        "unit": spec.protect.model_dump(mode="json", exclude_none=True),
        "unit_name": str(unit),
        "promises": [one.to_dict() for one in standing.made],
        "learned": standing.learned if guaranteed else None,
        "spec": {key: value for key, value in spec.to_dict().items() if key not in left_out},
        "spec_hash": spec.hash,
        "synthesizer": law.to_dict(),
        "n": spec.n,
        **cells.to_dict(),
        "impossible": spec.to_dict().get("impossible", []),
        "worst_case": worst_case(law.epsilon, PRIORS) if guaranteed else None,
        "assumptions": _assumptions(spec, str(unit)) if guaranteed else [],
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
    standing: Standing,
    *,
    guaranteed: bool = True,
) -> str:
    """Return the statement that goes with the file, in Markdown."""
    one = flat(standing.unit)
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
        *promise_lines([made.to_dict() for made in standing.made]),
        guarantee,
        say("synthetic.statement.learned"),
        say("statement.learned.lead", unit=one),
        "\n".join(learned_lines(standing.learned)),
        say("synthetic.statement.not_protected", unit=one),
        say("synthetic.statement.analysts", size=unknown if spec.n is None else spec.n),
    )


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"
