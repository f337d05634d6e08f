"""`discreet randomize`: a survey whose respondents randomize their own answers."""

from __future__ import annotations

import getpass
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.cli.flags import Json, described
from discreet.cli.output import emit, grid, table
from discreet.errors import InputError
from discreet.rounding import number
from discreet.words import say

_LARGEST = 2**27
"""The most characters of a file of reports."""


@described("randomize")
def randomize(
    survey: str,
    page: Path | None = None,
    answer: str | None = None,
    collected: Path | None = None,
    interval: float = 0.95,
    as_json: Json = False,
) -> None:
    """Design a survey for a promise, make its questionnaire, and estimate from what came back."""
    from discreet.surveys import estimate, survey_in
    from discreet.surveys import randomize as draw

    asked, keys = survey_in(survey)
    payload: dict[str, Any] = asked.to_dict() | {
        "page": None,
        "charged": None,
        "report": None,
        "estimate": None,
    }
    lines = [] if collected is not None else _design_lines(payload)
    if page is not None:
        payload["charged"] = _made(asked, keys, page)
        payload["page"] = str(page.resolve())
        lines += ["", say("cli.randomize.page", path=payload["page"])]
        if payload["charged"] is not None:
            lines.append(say("cli.randomize.charged", account=keys["account"]))
    if answer is not None:
        payload["report"] = draw(asked, _typed() if answer == "-" else answer)
        lines += ["", say("cli.randomize.report", report=payload["report"])]
        if asked.encoding == "unary":
            ticks = zip(asked.answers, payload["report"], strict=True)
            ticked = [one for one, tick in ticks if tick == "1"]
            lines.append(say("cli.randomize.ticked", answers=", ".join(ticked) or "–"))
    if collected is not None:
        from discreet.reading import text_of

        reports = text_of(collected, say("cli.randomize.reports"), most=_LARGEST).splitlines()
        found = estimate(asked, (line for line in reports if line.strip()), interval=interval)
        payload["estimate"] = found.to_dict()
        lines += _estimate_lines(payload["estimate"])
    emit(payload, lines, as_json)


def _made(asked: Any, keys: Any, page: Path) -> dict[str, Any] | None:
    """Charge where there is an account, then write the questionnaire."""
    from discreet.surveys import questionnaire

    given = [keys.get("ledger"), keys.get("account")]
    if any(given) and not all(given):
        raise InputError("surveys.needs_account")
    html, entry = questionnaire(asked), None
    try:
        page.open("x").close()  # what cannot be written is not charged
    except FileExistsError:
        raise InputError("surveys.page_exists", path=page.name) from None
    except OSError as error:
        raise InputError("surveys.page_unwritable", path=page, reason=error.strerror) from None
    if all(given):
        from discreet.ledger import Ledger

        try:
            entry = Ledger.open(given[0]).charge(
                given[1],
                asked.guarantee(),
                purpose=asked.question,
                who=getpass.getuser(),
                promise=asked.promise,
            )
        except BaseException:
            page.unlink()
            raise
    try:
        page.write_text(html, encoding="utf-8")
    except OSError as error:
        with suppress(OSError):
            page.unlink()
        lost = "unwritable" if entry is None else "lost"
        failed = InputError(f"surveys.page_{lost}", path=page, reason=error.strerror)
        if entry is not None:
            failed.charged = {"release_id": entry.release_id, "spent": entry.to_dict()["cost"]}
        raise failed from None
    return None if entry is None else entry.to_dict()


def _typed() -> str:
    """Return an answer that is asked for: other users see the arguments of a process."""
    if sys.stdin.isatty():
        return getpass.getpass(say("cli.randomize.ask"))
    return sys.stdin.readline().strip()


def _design_lines(design: dict[str, Any]) -> list[str]:
    rows = [
        ["question", design["question"]],
        ["epsilon", number(design["epsilon"], "up", 4)],
        [say("cli.randomize.encoding"), say(f"cli.randomize.{design['encoding']}")],
        [
            say("cli.randomize.report_is"),
            say(
                f"cli.randomize.report_{design['encoding']}",
                n=len(design["answers"]),
                answers=", ".join(design["answers"]),
            ),
        ],
    ]
    header = [say(f"cli.randomize.{name}") for name in ("respondents", "off", "exact")]
    cells = ("{respondents:,}", "± {points:.3g}", "± {points_if_exact:.3g}")
    lines = [*table(rows), "", *design["statement"], "", say("cli.randomize.errors")]
    return lines + grid(design["errors"], cells, header)


def _estimate_lines(found: dict[str, Any]) -> list[str]:
    said = {"respondents": found["respondents"], "unreadable": found["unreadable"]}
    header = [say(f"cli.randomize.{name}") for name in ("answer", "share", "between")]
    rows = [
        [
            row["answer"],
            f"{100 * row['value']:.1f} %",
            f"{100 * row['interval_low']:.1f} – {100 * row['interval_high']:.1f} %",
        ]
        for row in found["shares"]
    ]
    return [say("cli.randomize.estimated", **said), *table(rows, header)]
