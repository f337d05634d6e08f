"""What a synthetic release says of itself, in words and as a description for analysts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.rounding import number, percent
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer
from discreet.synthetic.records import worst_case

if TYPE_CHECKING:
    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["NO_GUARANTEE", "PRIORS", "describe", "statement", "subject"]

PRIORS = (0.01, 0.1, 0.3, 0.5)
NO_GUARANTEE = (
    "The file was chosen among candidates by looking at the original data, so the choice may "
    "reveal something about a record that no budget bounds (McClure and Reiter 2012, section 4)."
)


def subject(spec: SyntheticSpec) -> str:
    """Return whom a sentence may speak of: a person only where persons are protected."""
    if spec.protect.unit == "person":
        return "one person"
    if spec.protect.unit == "record":
        return "one record"
    return f"one combination of {' and '.join(spec.protect.column)}"


def describe(
    spec: SyntheticSpec,
    law: Synthesizer,
    cells: Cells,
    *,
    guaranteed: bool = True,
) -> dict[str, Any]:
    """Return the public description: how the file was made, and what it promises."""
    promise: dict[str, Any] = {
        "guarantee": law.guarantee(spec.protect.adjacency).to_dict() if guaranteed else "none"
    }
    # Where the data and the account are kept is nobody's business.
    left_out = {"source", "ledger", "output"}
    if not guaranteed:
        promise["reason"] = NO_GUARANTEE
        left_out |= {"budget", "tolerance"}
    return {
        "account": spec.account,
        "purpose": spec.purpose,
        **promise,
        "unit": spec.protect.model_dump(mode="json", exclude_none=True),
        "spec": {key: value for key, value in spec.to_dict().items() if key not in left_out},
        "spec_hash": spec.hash,
        "synthesizer": law.to_dict(),
        "n": spec.n,
        **cells.to_dict(),
        "impossible": spec.to_dict().get("impossible", []),
        "worst_case": worst_case(law.epsilon, PRIORS) if guaranteed else None,
        "assumptions": _assumptions(spec) if guaranteed else [],
    }


def _assumptions(spec: SyntheticSpec) -> list[str]:
    one = subject(spec)
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
    spec: SyntheticSpec, law: Synthesizer, cells: Cells, *, guaranteed: bool = True
) -> str:
    """Return the statement that goes with the file, in Markdown."""
    one = subject(spec)
    copies = "" if law.copies == 1 else f" in each of {law.copies} copies"
    lines = [
        "# Synthetic data: what is promised",
        "",
        f"{law.n_synthetic} synthetic records{copies}, over {cells.size} possible combinations of "
        f"{', '.join(cells.columns)}. No row is a real record: each was drawn from the shares of "
        f"the original, blurred by adding {float(law.alpha):.6g} to every combination's count.",
        "",
    ]
    if not guaranteed:
        return "\n".join([*lines, f"**Guarantee: none.** {NO_GUARANTEE}", ""])
    name = spec.protect.adjacency
    lines += [
        f"**Guarantee:** {number(law.epsilon, 'up', 6)}-differential privacy ({name}), for {one}.",
        "",
        f"Somebody who knows everything about all others, and suspects some value of {one}, may "
        "become surer by seeing the file, but never more than this:",
        "",
        "| before | after, at most |",
        "|---|---|",
    ]
    lines += [
        f"| {row['prior']:.0%} | {percent(row['posterior'], 'up', 1)} |"
        for row in worst_case(law.epsilon, PRIORS)
    ]
    if worst_case(law.epsilon, [0.5])[0]["posterior"] >= 0.99:
        lines += [
            "",
            "At so large a budget this table promises next to nothing by itself.",
        ]
    lines += [
        "",
        f"Not protected: what holds for many at once, and what can be learned about {one} from "
        "elsewhere. Other releases from the same data add to what may be learned.",
        "",
        "For analysts: shares counted in the file are drawn towards equal shares. "
        "`discreet.synthetic.read(folder).share(…)` corrects for it; it needs `release.json` and "
        "the size of the original"
        + (f", {spec.n}." if spec.n is not None else ", which is not published here."),
        "",
    ]
    return "\n".join(lines)
