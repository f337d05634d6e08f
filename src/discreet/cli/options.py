"""Options that several commands share: one wording for one meaning."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from discreet.laws.registry import names

__all__ = [
    "AdjacencyOption",
    "JsonOption",
    "MechanismOption",
    "NonnegativeOption",
    "ScaleOption",
    "SensitivityOption",
    "SeriesMethodOption",
    "SidedOption",
    "SigmaOption",
    "StrengthOption",
    "UnitOption",
]

AdjacencyOption: TypeAlias = Annotated[
    str | None, typer.Option(help="add-remove (where nothing else is natural), replace, local.")
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output.")
]
MechanismOption: TypeAlias = Annotated[
    str | None,
    typer.Option(help=f"One of: {', '.join(names(planned=True))}."),
]
NonnegativeOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--nonnegative",
        help="No contribution is negative (counts): values cost Gaussian noise less.",
    ),
]
ScaleOption: TypeAlias = Annotated[
    float | None, typer.Option(help="Noise scale Δ/ε, with --mechanism.")
]
SensitivityOption: TypeAlias = Annotated[float, typer.Option(help="Sensitivity of the statistic.")]
SeriesMethodOption: TypeAlias = Annotated[
    str | None, typer.Option(help="The composition theorem, as in compose; paper for zCDP.")
]
SidedOption: TypeAlias = Annotated[str, typer.Option(help="two, or one (only increases count).")]
SigmaOption: TypeAlias = Annotated[
    float | None, typer.Option(help="Standard deviation, with --mechanism.")
]
StrengthOption: TypeAlias = Annotated[
    str | None,
    typer.Option(help="generic, curve, exact; default: strongest that survives processing."),
]
UnitOption: TypeAlias = Annotated[
    str, typer.Option(help="What is protected: 'one person', 'one visit'.")
]
