"""`discreet assess`: the record-level risk of a candidate file, or of a list of budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.options import JsonOption
from discreet.cli.output import emit, table
from discreet.errors import InputError

__all__ = ["command"]


def command(
    spec: Annotated[str, typer.Argument(help="The spec that the file is made from (YAML).")],
    candidate: Annotated[
        str | None,
        typer.Option(help="A synthetic file of ours (CSV, Parquet, or the folder of a release)."),
    ] = None,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(help="A budget to draw candidates at, in memory; give several."),
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(help="What is acceptable: 'RR <= 10 if R <= 0.1; RR <= 1.05 if R >= 0.9'."),
    ] = None,
    region_file: Annotated[
        str | None,
        typer.Option(help="A file with the region: it is secret, and a command line is not."),
    ] = None,
    absolute: Annotated[float | None, typer.Option(help="Acceptable: R at most this.")] = None,
    relative: Annotated[float | None, typer.Option(help="Acceptable: RR at most this.")] = None,
    prior: Annotated[
        list[float] | None,
        typer.Option(help="A prior of the intruder; several. All of (0, 1) if left out."),
    ] = None,
    priors: Annotated[
        tuple[float, float] | None, typer.Option(help="A range of priors, judged exactly.")
    ] = None,
    alternatives: Annotated[
        str, typer.Option(help="Where the rest of the prior lies: all, observed or worst.")
    ] = "all",
    known: Annotated[
        list[str] | None, typer.Option(help="A column that the intruder knows; several.")
    ] = None,
    candidates: Annotated[int, typer.Option(help="Candidates to draw at each budget.")] = 10,
    no_guarantee: Annotated[
        bool,
        typer.Option(
            "--no-guarantee",
            help="Write the chosen candidate, marked as having no guarantee; charges them all.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Draw again if this spec was drawn before: a new charge.")
    ] = False,
    most: Annotated[int, typer.Option(help="How many of the worst cells to list.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Say how sure an intruder could become of each record, and whether that is acceptable.

    Confidential: the figures describe the original data. Nothing is written or charged, unless by
    --no-guarantee. Exit code 1 if a candidate, or every budget, is not acceptable.
    """
    from discreet.synthetic import Assessment, Synthesis, assess

    if prior and priors:
        raise InputError("Give either --prior (several) or --priors LOW HIGH, not both.")
    how: dict[str, Any] = {"alternatives": alternatives, "known": tuple(known or ())}
    if prior:
        how["priors"] = prior
    if priors:
        how["prior_range"] = priors
    found = assess(
        spec,
        candidate,
        region=_region(region, region_file, absolute, relative),
        epsilons=epsilon or None,
        candidates=candidates,
        no_guarantee=no_guarantee,
        confirm=lambda _: yes,
        **how,
    )
    payload = found.to_dict(most) if isinstance(found, Assessment) else found.to_dict()
    if isinstance(found, Synthesis) and found.judged is not None:
        payload["risk"] = found.judged.to_dict()["risk"]
    emit(payload, _lines(payload), as_json)
    if payload["acceptable"] is False:
        raise typer.Exit(1)


def _region(
    text: str | None, file: str | None, absolute: float | None, relative: float | None
) -> Any:
    from discreet.synthetic import Region

    thresholds = absolute is not None or relative is not None
    if (text is not None) + (file is not None) + thresholds > 1:
        raise InputError("Give one of --region, --region-file, or --absolute with --relative.")
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InputError(f"The region cannot be read from {file}.") from None
    if text is not None:
        return Region.parse(text)
    return Region.thresholds(absolute=absolute, relative=relative) if thresholds else None


def _lines(found: dict[str, Any]) -> list[str]:
    verdict = {True: "Acceptable.", False: "Not acceptable.", None: "No region given."}
    lines = [verdict[found["acceptable"]]]
    risk = found["risk"]
    if "budgets" in risk:
        header = ["epsilon", "candidates inside", "records outside", "largest R", "distance"]
        rows = [
            [
                f"{row['epsilon']:g}",
                str(row["inside"]),
                str(row["records_outside"]),
                f"{row['largest']:.4f}",
                f"{row['distance']:.4f}",
            ]
            for row in risk["budgets"]
        ]
        best = "none" if found["epsilon"] is None else f"{found['epsilon']:g}"
        lines += [*table(rows, header), f"Largest acceptable epsilon: {best}"]
    else:
        rows = [
            [
                f"{row['prior']:g}",
                f"{row['largest']:.4f}",
                f"{row['largest_relative']:.4g}",
                f"{row['average']:.4f}",
            ]
            for row in risk["priors"]
        ]
        lines += table(rows, ["prior", "largest R", "largest RR", "average R"])
        lines.append(
            f"{risk['records_outside']} of {risk['records']} records fall outside, "
            f"in {risk['cells_outside']} cells."
        )
        lines += [
            f"  {_cell(entry['cell'])}: {entry['records']} records, priors {_span(entry['priors'])}"
            for entry in risk["outside"]
        ]
    if found.get("files"):
        lines += ["Guarantee: none. " + found["reason"], *(f"  {path}" for path in found["files"])]
    return lines + [found[key] for key in ("confidential", "caution") if key in found]


def _cell(cell: Any) -> str:
    return " · ".join(cell.values()) if isinstance(cell, dict) else str(cell)


def _span(priors: list[dict[str, float]]) -> str:
    shown = [
        f"{span['lower']:.3g}"
        if span["lower"] == span["upper"]
        else f"{span['lower']:.3g}–{span['upper']:.3g}"
        for span in priors[:5]
    ]
    return ", ".join(shown) + (" …" if len(priors) > 5 else "")
