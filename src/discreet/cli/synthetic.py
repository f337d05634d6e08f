"""`discreet synthesize` and `discreet assess`: synthetic files, and the risk of their records."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import charted, emit, grid, printable, table
from discreet.errors import InputError
from discreet.reading import text_of, yaml_values
from discreet.rounding import FIGURES, belief_percent, number, percent
from discreet.statements.presenter import amount_text
from discreet.words import say

_MOST_PAIRS = 10
"""The most pairs of columns whose distances are printed; JSON has all."""


@described("synthesize")
def synthesize(
    spec: str,
    dry_run: bool = False,
    yes: bool = False,
    keys_from: Path | None = None,
    who: str | None = None,
    as_json: Json = False,
) -> None:
    """Draw a differentially private synthetic file, charged before anything is drawn."""
    from discreet.synthetic import synthesize

    def confirmed(notice: str) -> bool:
        question = say("cli.go_on", notice=notice)
        return yes or (sys.stdin.isatty() and typer.confirm(question, err=True))

    made = synthesize(
        spec,
        dry_run=dry_run,
        confirm=confirmed,
        say=lambda notice: typer.echo(printable(notice), err=True),
        keys_from=keys_from,
        who=who,
    )
    payload = made.to_dict()
    emit(payload, _made_lines(payload), as_json)


def _made_lines(made: dict[str, Any]) -> list[str]:
    law, blur = made["synthesizer"], made["utility"]["prior_share"]
    rows = [
        ["epsilon", number(made["epsilon"], "up", FIGURES)],
        [say("cli.synthesize.left"), _left(made["remaining"])],
        ["synthetic records", f"{law['n_synthetic']} × {law['copies']}"],
        ["possible cells", str(law["cells"])],
        [say("cli.synthesize.weight"), f"{made['utility']['alpha']:.6g}"],
        [
            say("cli.synthesize.blur"),
            say("cli.synthesize.size_unknown") if blur is None else percent(blur, "up", 1),
        ],
    ]
    said = [
        say(
            "cli.from_to",
            before=percent(row["prior"], "up"),
            after=belief_percent(row["posterior"]),
        )
        for row in made["risk"]["worst_case"]
    ]
    first = (
        say("cli.synthesize.not_drawn")
        if made["release_id"] is None
        else f"Release {made['release_id']}"
    )
    files = [f"  {path}" for path in made["files"]]
    return [first, *table(rows), say("cli.synthesize.worst_case"), *said, *files, *made["notes"]]


def _left(remaining: dict[str, Any] | None) -> str:
    if remaining is None:
        return "not open"
    if remaining.get("unbounded"):
        return "no cap"
    return amount_text(remaining, "down")


@described("assess")
def assess(
    spec: str,
    candidate: str | None = None,
    epsilon: list[float] | None = None,
    region: str | None = None,
    region_file: str | None = None,
    absolute: float | None = None,
    relative: float | None = None,
    prior: list[float] | None = None,
    priors: tuple[float, float] | None = None,
    alternatives: str = "all",
    known: list[str] | None = None,
    sampled: float | None = None,
    intruders: Path | None = None,
    link: bool = False,
    candidates: int = 10,
    no_guarantee: bool = False,
    expected: bool = False,
    share: list[float] | None = None,
    png: Path | None = None,
    yes: bool = False,
    most: int = 20,
    as_json: Json = False,
) -> None:
    """Say how sure an intruder could become of each record, and whether that is acceptable.

    Confidential: the figures describe the original data. Nothing is written or charged, unless by
    --no-guarantee. Exit code 1 if a candidate, or every budget, is not acceptable.
    """
    from discreet.synthetic import Assessment, Linkage, Search, Synthesis, assess

    if prior and priors:
        raise InputError("cli.priors_twice")
    if expected:
        from discreet.synthetic import expected_risk

        table_of = expected_risk(spec, epsilon or None, share or None, prior or None)
        payload = table_of.to_dict()
        emit(payload, _expected_lines(payload), as_json)
        return
    how: dict[str, Any] = {"alternatives": alternatives, "known": tuple(known or ())}
    if prior:
        how["priors"] = prior
    if priors:
        how["prior_range"] = priors
    if sampled is not None:
        how["sampled"] = sampled
    if intruders is not None:
        given = yaml_values(text_of(intruders, say("cli.assess.intruders")), str(intruders))
        how["intruders"] = given if isinstance(given, dict) else {str(intruders): given}
    found = assess(
        spec,
        candidate,
        region=_region(region, region_file, absolute, relative),
        epsilons=epsilon or None,
        candidates=candidates,
        link=link,
        no_guarantee=no_guarantee,
        confirm=lambda _: yes,
        **how,
    )
    if isinstance(found, Linkage):
        emit(found.to_dict(), _link_lines(found.to_dict()), as_json)
        return
    payload = found.to_dict(most) if isinstance(found, Assessment) else found.to_dict()
    if isinstance(found, Synthesis) and found.judged is not None:
        payload["risk"] = found.judged.to_dict()["risk"]
    if isinstance(found, (Assessment, Search)):
        charted(png, "risk_map" if isinstance(found, Assessment) else "frontier")(found)
    emit(payload, _risk_lines(payload, candidates), as_json)
    if payload["acceptable"] is False:
        raise typer.Exit(1)


def _region(
    text: str | None, file: str | None, absolute: float | None, relative: float | None
) -> Any:
    from discreet.synthetic import Region

    thresholds = absolute is not None or relative is not None
    if (text is not None) + (file is not None) + thresholds > 1:
        raise InputError("cli.regions_twice")
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InputError("cli.region_unreadable", file=file) from None
    if text is not None:
        return Region.parse(text)
    return Region.thresholds(absolute=absolute, relative=relative) if thresholds else None


def _risk_lines(found: dict[str, Any], candidates: int) -> list[str]:
    verdict = {True: "Acceptable.", False: "Not acceptable.", None: "No region given."}
    lines = [verdict[found["acceptable"]]]
    risk = found["risk"]
    if "budgets" in risk:
        heads = ("epsilon", "inside", "outside_records", "largest_from", "distance")
        prior = 100 * risk["budgets"][0]["prior"]
        header = [say(f"cli.assess.{head}", prior=prior) for head in heads]
        cells = ["{epsilon:g}", "{inside}", "{records_outside}", "{largest:.4f}", "{distance:.4f}"]
        best = "none" if found["epsilon"] is None else f"{found['epsilon']:g}"
        lines += [*grid(risk["budgets"], cells, header), f"Largest acceptable epsilon: {best}"]
    else:
        cells = ["{prior:g}", "{largest:.4f}", "{largest_relative:.4g}", "{average:.4f}"]
        lines += grid(risk["priors"], cells, ["prior", "largest R", "largest RR", "average R"])
        lines += _intruder_lines(risk["intruders"])
        lines += _utility_lines(found["utility"])
        lines += [] if found["acceptable"] is None else [say("cli.assess.outside", **risk)]
        lines += [
            f"  {_cell(entry['cell'])}: {entry['records']} records, priors {_span(entry['priors'])}"
            for entry in risk["outside"]
        ]
    lines.append(say("cli.assess.risk_is"))
    if "budgets" in risk:
        lines.append(say("cli.assess.budgets_are", candidates=candidates))
    if found.get("files"):
        lines += ["Guarantee: none. " + found["reason"], *(f"  {path}" for path in found["files"])]
    return lines + [found[key] for key in ("confidential", "caution") if key in found]


def _intruder_lines(intruders: list[dict[str, Any]]) -> list[str]:
    """Return one column for each declared intruder, one line a figure."""
    if not intruders:
        return []
    figures = (
        *(("before", ".1%"), ("after", ".1%"), ("largest", ".1%"), ("largest_relative", ".2f")),
        *(("right_before", ".1%"), ("right_after", ".1%")),
        *(("distance_before", ".2f"), ("distance_after", ".2f")),
        *(("matched", ".1%"), ("attributed", ".1%"), ("from_others", ".1%")),
    )
    knows = [", ".join(one["known"]) or "–" for one in intruders]
    lines = [[say("cli.assess.intruder.known"), *knows]]
    for key, form in figures:
        name = say(f"cli.assess.intruder.{key}")
        lines.append([name, *(format(one[key], form) for one in intruders)])
    names = [say("cli.assess.intruder.name"), *(one["name"] for one in intruders)]
    return ["", *table(lines, names), ""]


def _utility_lines(utility: dict[str, Any] | None) -> list[str]:
    """Return how far the file is from the original, by column and pair, and what that costs."""
    if utility is None:
        return []
    lost = utility["lost"] or []
    worst = {row["column"]: row for row in sorted(lost, key=lambda row: float(row["lost"]))}
    rows = [
        [name, f"{apart:.3f}", *_worst_level(worst.get(name))]
        for name, apart in utility["marginals"].items()
    ]
    pairs = sorted(utility["pairs"], key=lambda pair: -float(pair["distance"]))
    rows += [[", ".join(p["columns"]), f"{p['distance']:.3f}", ""] for p in pairs[:_MOST_PAIRS]]
    rows.append([say("cli.assess.together"), f"{utility['table']:.3f}", ""])
    header = ["shares of", say("cli.assess.distance"), say("cli.assess.worst") if lost else ""]
    lines = ["", *table(rows, header), ""]
    if more := len(pairs) - _MOST_PAIRS:
        lines += [say("cli.assess.more_pairs", pairs=more)] if more > 0 else []
    lines.append(say("cli.assess.distance_is"))
    if lost:
        largest = max(lost, key=lambda row: float(row["lost"]))
        values = {"digits": largest["lost"], "times": 10 ** largest["lost"]}
        where = {"column": largest["column"], "level": largest["level"]}
        lines += [say("cli.assess.lost", **values, **where), say("cli.assess.lost_is")]
    return lines


def _worst_level(row: dict[str, Any] | None) -> list[str]:
    return [""] if row is None else [f"{row['lost']:.2f} ({row['level']})"]


def _link_lines(found: dict[str, Any]) -> list[str]:
    false, sampled = found["false_match_rate"], found["sampled"]
    rows = [
        [say("cli.assess.link.expected"), f"{found['expected_matches']:.2f}"],
        [say("cli.assess.link.unique"), str(found["unique_matches"])],
        [say("cli.assess.link.true"), f"{found['true_match_rate']:.2%}"],
        [say("cli.assess.link.false"), "–" if false is None else f"{false:.2%}"],
    ]
    if sampled is not None:
        name = say("cli.assess.link.sampled", rate=100 * sampled)
        rows.append([name, f"{found['expected_matches_sampled']:.2f}"])
    known = ", ".join(found["known"])
    first = say("cli.assess.link.lead", records=found["records"], known=known)
    return [first, *table(rows), found["confidential"], found["caution"]]


def _expected_lines(found: dict[str, Any]) -> list[str]:
    """One line a share, one column a budget; one table a prior."""
    budgets = sorted({row["epsilon"] for row in found["expected"]})
    lines = [say("cli.assess.expected", n=found["n"], drawn=found["n_synthetic"])]
    for prior in dict.fromkeys(row["prior"] for row in found["expected"]):
        lines += ["", say("cli.assess.expected_from", prior=100 * prior)]
        shares: dict[float, list[str]] = {}
        for row in found["expected"]:
            if row["prior"] == prior:
                shares.setdefault(row["share"], []).append(f"{100 * row['increase']:.3g}")
        header = [say("cli.assess.share"), *(f"ε = {budget:g}" for budget in budgets)]
        lines += table([[f"{100 * one:g} %", *cells] for one, cells in shares.items()], header)
    return lines


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
