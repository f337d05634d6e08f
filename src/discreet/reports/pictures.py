"""The charts of a report: inline SVG without script, and the figures that each one shows.

Altair describes a chart, vl-convert draws it; no browser and no network. Colours stay as they are
in the SVG; the page's style sheet changes them for a dark screen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.lazily import missing
from discreet.reports.facts import Statement
from discreet.reports.sentences import Icons
from discreet.rounding import FIGURES, number
from discreet.statements.figures import many, share
from discreet.statements.tables import Table
from discreet.words import say

_MOST = 24
_USUAL = 0.3  # neither rare nor even
_ROWS = 200
_SIGNS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
_INNER = re.compile(r'\s(?:role|aria-[a-z]+)="[^"]*"')


@dataclass(frozen=True, slots=True)
class Picture:
    """One chart: its title, its SVG, and the table beside it."""

    name: str
    title: str
    svg: str
    table: Table
    note: str = ""


def pictures(statement: Statement) -> dict[str, Picture]:
    """Return the charts of a release by name; those that do not apply are left out."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ModuleNotFoundError as fault:
        raise missing("A report", fault) from None
    found = [_account(statement), _released(statement)]
    if statement.risk is not None:
        found += [_icons(statement), _before_after(statement)]
    return {picture.name: picture for picture in found if picture is not None}


def _svg(chart: Any, name: str) -> str:
    import vl_convert

    spec = chart.to_dict()
    spec["config"]["background"] = "transparent"
    spec["config"]["padding"] = 4
    spec.pop("title", None)  # the figure has its own caption
    text = str(vl_convert.vegalite_to_svg(spec))
    text = text[text.index("<svg") :]
    text = _INNER.sub("", text)
    for found in sorted(set(re.findall(r'\bid="([^"]+)"', text))):
        text = text.replace(f'id="{found}"', f'id="{name}-{found}"')
        text = text.replace(f"url(#{found})", f"url(#{name}-{found})")
    return text.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)


def _headline(statement: Statement) -> Mapping[str, Any]:
    rows: Sequence[Mapping[str, Any]] = statement.facts["risk"]["beliefs"]
    own = [row for row in rows if row["own"]]
    usual = [row for row in rows if row["p"] * row["q"] == _USUAL]
    return (own or usual or rows)[0]


def _icons(statement: Statement) -> Picture:
    from discreet.charts import icon_array

    row = _headline(statement)
    before, after = row["p"] * row["q"], row["upper"]
    icons = Icons.showing(before, after)
    shown = (
        (say("statements.column.marked_before"), str(icons.before)),
        (say("statements.column.marked_after"), str(icons.after - icons.before)),
        (say("statements.column.others"), str(icons.of - icons.after)),
    )
    return Picture(
        "icons",
        say("reports.page.chart.icons", before=f"{100 * before:.6g}", after=many(after, "up", 100)),
        _svg(icon_array(icons.before, icons.after), "icons"),
        Table.of(("figures", "count"), shown),
    )


def _before_after(statement: Statement) -> Picture:
    from discreet.charts import before_after

    row = _headline(statement)
    chart = before_after(
        statement.stored.total(),
        confidence=min(row["holds_with"], 1 - 1e-12),
        marked=row["p"],
    )
    rows = tuple(
        (
            share(entry["p"] * entry["q"], "up"),
            share(entry["lower"], "down"),
            share(entry["upper"], "up"),
        )
        for entry in statement.facts["risk"]["beliefs"]
        if entry["about"] == row["about"]
    )
    title = say("reports.page.chart.before_after")
    table = Table.of(("before", "least", "after"), rows)
    return Picture("before_after", title, _svg(chart, "before"), table)


def _account(statement: Statement) -> Picture | None:
    from discreet.charts import account_chart

    spending = statement.facts["spending"]
    key = next((k for k in ("epsilon", "rho") if spending["account_now"][k] is not None), None)
    charges = [row for row in spending["charges"] if row["spent"] is not None]
    if key is None or not charges:
        return None
    here = statement.release_id
    rows = [
        {
            "entry": str(place),
            "spent": row["spent"][key],
            "label": number(row["spent"][key], "up", FIGURES),
            "this": here is not None and row["release_id"] == here,
        }
        for place, row in enumerate(charges, 1)
    ]
    chart = account_chart(rows[-_MOST:], sign=_SIGNS[key], cap=spending["cap"].get(key))
    shown = tuple(
        (str(place), row["at"][:10], str(row["purpose"]), number(row["spent"][key], "up", FIGURES))
        for place, row in enumerate(charges, 1)
    )
    return Picture(
        "account",
        say("reports.page.chart.account"),
        _svg(chart, "account"),
        Table.of(("entry", "at", "purpose", "spent"), shown[-_ROWS:]),
    )


def _released(statement: Statement) -> Picture | None:
    """The first statistic of the table whose values are numbers."""
    from discreet.charts import released_chart
    from discreet.releases.tables import RESERVED

    table = statement.stored.said.get("table")
    if not table or not table["statistic"]:
        return None
    first = table["statistic"][0]
    groups = [k for k in table if k not in RESERVED]
    rows = []
    for place, name in enumerate(table["statistic"]):
        values = [table[k][place] for k in ("value", "interval_low", "interval_high")]
        if name != first or any(value in (None, "") for value in values):
            continue
        cell = " · ".join(str(table[g][place]) for g in groups if table[g][place] is not None)
        rows.append((cell or first, *values))
    if not rows:
        return None
    drawn = [
        {"cell": cell, "value": float(v), "low": float(low), "high": float(high)}
        for cell, v, low, high in rows[:_MOST]
    ]
    title = say("reports.page.chart.released", statistic=first)
    chart = released_chart(drawn, title=title, interval=statement.stored.said["interval"])
    note = ""
    if len(rows) > _MOST:
        note = say("reports.page.more_rows", shown=f"{_MOST:,}", total=f"{len(rows):,}")
    shown = Table.of(("cell", "value", "low", "high"), rows[:_MOST])
    return Picture("released", title, _svg(chart, "released"), shown, note)
