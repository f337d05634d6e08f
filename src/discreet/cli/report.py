"""`discreet report`: the report of a stored release, and the means to check it."""

from __future__ import annotations

from discreet.cli.flags import Json, described
from discreet.cli.output import emit
from discreet.words import say

__all__ = ["command"]


@described("report")
def command(
    release_id: str,
    ledger: str | None = None,
    output: str | None = None,
    note: str | None = None,
    as_json: Json = False,
) -> None:
    """Write the report of a release: HTML, Markdown, JSON, registry YAML and a verifier."""
    from discreet.reports.folder import report

    made = report(release_id, ledger=ledger, output=output, note=note)
    if made.entry is None:
        recorded = say("reports.folder.not_recorded", manifest=made.manifest)
    else:
        recorded = say("reports.folder.recorded", entry=made.entry)
    lines = [
        say("reports.folder.written", release_id=release_id, page=made.html),
        *(f"  {path}" for path in made.files),
        recorded,
        say("reports.folder.check", script=made.folder / "verify.py"),
    ]
    emit(made.to_dict(), lines, as_json)
