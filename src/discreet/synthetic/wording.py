"""What a synthetic release says of itself, in words and as a description for analysts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.ledger.promises import Made
from discreet.promises import Unit
from discreet.rounding import number
from discreet.statements import PRIORS, learned, learned_lines, promise_lines
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer
from discreet.synthetic.records import worst_case
from discreet.words import catalogue

if TYPE_CHECKING:
    from discreet.ledger import Account
    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["NO_GUARANTEE", "Standing", "describe", "statement"]

NO_GUARANTEE = (
    "The file was chosen among candidates by looking at the original data, so the choice may "
    "reveal something about a record that no budget bounds (McClure and Reiter 2012, section 4)."
)


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
        f"Neighbouring data sets differ in {one} ({spec.protect.adjacency}).",
        "The adversary may know everything about all others, and how the file was made.",
        "The bound holds for every file that could have been drawn, and survives whatever is done "
        "with the file afterwards.",
        "Columns, levels, impossible combinations and the number of synthetic records are public "
        "and were not taken from the data.",
        "Other releases from the same data add to what may be learned; the ledger adds them up.",
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
    one = str(standing.unit)
    copies = "" if law.copies == 1 else f" in each of {law.copies} copies"
    lines = [
        f"# What this release promises: {spec.purpose}",
        "",
        f"{law.n_synthetic} synthetic records{copies}, over {cells.size} possible combinations of "
        f"{', '.join(cells.columns)}. No row is a real record: each was drawn from the shares of "
        f"the original, blurred by adding {float(law.alpha):.6g} to every combination's count.",
        "",
    ]
    if not guaranteed:
        return "\n".join([*lines, f"**Guarantee: none.** {NO_GUARANTEE}", ""])
    name = spec.protect.adjacency
    for line in promise_lines([made.to_dict() for made in standing.made]):
        lines += [line, ""]
    lines += [
        f"**Guarantee:** {number(law.epsilon, 'up', 6)}-differential privacy ({name}), for {one}.",
        "",
        "## What may be learned",
        "",
        catalogue().say("statement.learned.lead", unit=one),
        "",
        *learned_lines(standing.learned),
        "",
        f"Not protected: what holds for many at once, and what can be learned about {one} from "
        "elsewhere.",
        "",
        "For analysts: shares counted in the file are drawn towards equal shares. "
        "`discreet.synthetic.read(folder).share(…)` corrects for it; it needs `release.json` and "
        "the size of the original"
        + (f", {spec.n}." if spec.n is not None else ", which is not published here."),
        "",
    ]
    return "\n".join(lines)
