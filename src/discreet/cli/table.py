"""`discreet table RELEASE`: a stored release as tables that people open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.cli.flags import Json, described
from discreet.cli.output import emit
from discreet.cli.output import table as aligned
from discreet.errors import DiscreetError, InputError
from discreet.words import say


@described("table")
def table(
    release: str,
    ledger: str | None = None,
    output: str | None = None,
    wide: bool = False,
    across: str | None = None,
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
        shown = sheets.wide(said, across) if pivoted else sheets.tidy(said)
        if csv is not None:
            made[csv] = sheets.spreadsheet_csv(shown, separator, decimal)
        if xlsx is not None:
            made[xlsx] = sheets.release_workbook(said, across)
    except DiscreetError:
        raise
    except UNREADABLE:  # whoever wrote the folder
        raise InputError("reports.stored.not_a_release", path=Path(release)) from None
    for path, content in made.items():
        try:
            path.write_bytes(content)
        except OSError as error:
            raise InputError("sheets.unwritten", path=path, reason=error.strerror) from None
    files = [str(path.resolve()) for path in made]
    rows = [["" if cell is None else cell for cell in row] for row in shown.rows]
    lines = [say("sheets.wrote", path=path) for path in files] or aligned(rows, shown.header)
    payload = {"release_id": said["release_id"], "columns": shown.header, "rows": shown.rows}
    emit({**payload, "files": files}, lines, as_json)


def _stored(release: str, ledger: str | None, output: str | None) -> dict[str, Any]:
    """Return a release by its folder as it lies there, or by its id, checked with the ledger."""
    from discreet.reports.stored import find, read_release

    folder = Path(release)
    if (folder / "release.json").is_file():
        said = read_release(folder)
    elif ledger is None and output is None:
        raise InputError("sheets.no_release", release=release)
    else:
        said = dict(find(release, ledger=ledger, output=output).said)
    if "table" not in said:
        raise InputError("sheets.synthetic", release=release)
    return said
