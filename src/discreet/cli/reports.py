"""`discreet report`, `verify`, `deployments` and `table`: what is published of a release."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import emit
from discreet.cli.output import table as aligned
from discreet.errors import DiscreetError, InputError
from discreet.words import say


@described("report")
def report(
    release_id: Annotated[str | None, typer.Argument()] = None,
    account: str | None = None,
    ledger: str | None = None,
    output: str | None = None,
    note: str | None = None,
    as_json: Json = False,
) -> None:
    """Write the report of a release or an account: HTML, Markdown, JSON and a verifier."""
    from discreet.reports.folder import report

    made = report(release_id, account=account, ledger=ledger, output=output, note=note)
    if made.entry is None:
        recorded = say("reports.folder.not_recorded", manifest=made.manifest)
    else:
        recorded = say("reports.folder.recorded", entry=made.entry)
    lines = [
        say(
            f"reports.folder.written{'_account' if account else ''}",
            release_id=made.release_id,
            account=account,
            page=made.html,
        ),
        *(f"  {path}" for path in made.files),
        recorded,
        say("reports.folder.head", head=made.statement.facts["spending"]["head"]),
        say("reports.folder.check", script=made.folder / "verify.py"),
    ]
    emit(made.to_dict(), lines, as_json)


@described("verify")
def verify(
    folder: Path,
    head: str | None = None,
    earlier: Path | None = None,
    witness: Annotated[Path | None, typer.Option(envvar="DISCREET_WITNESS")] = None,
    ledger: str | None = None,
    everything: Annotated[bool, typer.Option("--all")] = False,
    as_json: Json = False,
) -> None:
    """Check a report folder; exit 1 on a problem or a broken promise."""
    from discreet.reports.stored import ledger_rows
    from discreet.reports.verifier import examined, lines_of, no_head, no_report, no_witness

    why = no_report(folder) or (None if earlier is None else no_report(earlier))
    if why is not None:
        raise InputError("reports.no_report", why=why)
    if no_head(head) is not None:
        raise InputError("ledger.head_not_a_hash", head=head)
    if no_witness(witness) is not None:
        raise InputError("ledger.no_witness", folder=witness)
    rows = None if ledger is None else partial(ledger_rows, ledger)
    found = examined(folder, head, rows, witness, earlier)
    answer = found.answer()
    emit(answer, lines_of(found, everything), as_json)
    if not answer["verified"] or answer["promise_kept"] is False:
        raise typer.Exit(1)


@described("deployments")
def deployments(
    prior: float = 0.5,
    confidence: float = 0.99,
    release: Annotated[str | None, typer.Option("--with", metavar="RELEASE")] = None,
    ledger: str | None = None,
    output: str | None = None,
    as_json: Json = False,
) -> None:
    """Published budgets, each with its unit and source, read as beliefs for a prior."""
    from discreet.reports.published import deployments
    from discreet.statements.presenter import amount_text
    from discreet.statements.tables import frequency, level

    found = deployments(prior, confidence=confidence, release=release, ledger=ledger, output=output)
    told = ("about", "caution", "selection")
    about, caution, selection = (say(f"reports.deployment.{name}") for name in told)
    rows: list[list[str]] = []
    notes: list[str] = []
    for one in found:
        said = one.to_dict()
        budget = amount_text({key: said[key] or None for key in ("epsilon", "delta", "rho")}, "up")
        after = "no bound" if said["posterior"] is None else frequency(said["posterior"], "up")
        mark = "" if one.note is None else f" [{len(notes) + 1}]"
        notes += [] if one.note is None else [f"  [{len(notes) + 1}] {one.note}"]
        sure = said["holds_with"]
        holds = "–" if sure is None else "always" if sure == 1 else level(sure)
        kind = "a value" if one.about == "value" else "being in"
        rows.append([f"{one.name}{mark}", str(one.year), one.unit, budget, kind, after, holds])
    most = f"from {prior:.4g} to at most"
    header = ["deployment", "year", "for", "budget", "about", most, "holds"]
    sources = list(dict.fromkeys(one.source for one in found))
    lines = [*aligned(rows, header), "", about, selection, caution, "", *notes, ""]
    lines += [f"  {source}" for source in sources]
    payload = {"prior": prior, "confidence": confidence, **found.to_dict()}
    payload |= {"selection": selection, "caution": caution}
    emit(payload, lines, as_json)


# -- a stored release as tables that people open


@described("table")
def table(
    release: str,
    ledger: str | None = None,
    output: str | None = None,
    wide: bool = False,
    across: str | None = None,
    statistic: str | None = None,
    csv: Path | None = None,
    separator: str = ",",
    decimal: str = ".",
    xlsx: Path | None = None,
    as_json: Json = False,
) -> None:
    """Show the table of a release, or write it for a spreadsheet; nothing is drawn or charged."""
    from discreet.ledger.entries import UNREADABLE
    from discreet.releases import sheets

    said = _stored(release, ledger, output)
    pivoted = wide or across is not None
    made: dict[Path, bytes] = {}
    try:
        shown = sheets.wide(said, across, statistic) if pivoted else sheets.tidy(said, statistic)
        notes = sheets.beyond_limits(said, statistic)
        if csv is not None:
            made[csv] = sheets.spreadsheet_csv(shown, separator, decimal)
        if xlsx is not None:
            made[xlsx] = sheets.release_workbook(said, across, statistic)
    except DiscreetError:
        raise
    except UNREADABLE:  # whoever wrote the folder
        raise InputError("reports.stored.not_a_release", path=Path(release)) from None
    new = [path for path in made if not path.exists()]
    try:
        for path in made:
            path.open("ab").close()  # none is written if another cannot be
        for path, content in made.items():
            path.write_bytes(content)
    except OSError as error:
        for one in new:
            with suppress(OSError):
                one.unlink()
        raise InputError("errors.file_unwritable", file=path, why=error.strerror) from None
    files = [str(path.resolve()) for path in made]
    rows = [["" if cell is None else cell for cell in row] for row in shown.shown]
    lines = [say("sheets.wrote", path=path) for path in files]
    lines = lines or [*aligned(rows, shown.header), *notes]
    payload = {"release_id": said["release_id"], "columns": shown.header, "rows": shown.rows}
    emit({**payload, "files": files, "notes": notes}, lines, as_json)


def _stored(release: str, ledger: str | None, output: str | None) -> dict[str, Any]:
    """Return a release by its folder as it lies there, or by its id, checked with the ledger."""
    from discreet.reports.stored import find, given_folder, read_release

    folder = given_folder(release)
    if folder is not None:
        said = read_release(folder)
    else:
        said = dict(find(release, ledger=ledger, output=output).said)
    if "table" not in said:
        raise InputError("sheets.synthetic", release=release)
    return said
