"""The report as one HTML file: no script, no network, light and dark, for paper and for a phone.

Page one is for the regulator: the facts, the odds in a hundred, what is not protected. Then the
curator (accuracy, tolerance), everyone (a paragraph, a hundred figures), the account over time, and
how to recompute it all. Every text comes from the catalogue and every figure from the statement.

Altair describes a chart, vl-convert draws it as inline SVG; no browser and no network. Colours stay
as they are in the SVG; the page's style sheet changes them for a dark screen. Beside each chart are
the figures that it shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from discreet.frames import html_page
from discreet.guarantees import figures_apart
from discreet.lazily import missing
from discreet.ledger.amounts import Amount
from discreet.releases.sheets import texts_of, wide
from discreet.reports import verifier
from discreet.reports.facts import Statement, purpose_of
from discreet.reports.sentences import Icons, not_protected
from discreet.rounding import FIGURES, number
from discreet.statements import (
    compared_lines,
    learned_table,
    probability_text,
    promise_lines,
    promises_in,
)
from discreet.statements.presenter import someone
from discreet.statements.tables import (
    Table,
    approvals_text,
    approved_promises,
    approver_of,
    guess_lines,
    joining_table,
    limits_in,
    lines_of,
    many,
    restored_lines,
    share,
    stated_limit,
    tables_of,
)
from discreet.words import say

_MOST_ROWS = 500  # of the released table; the files have all of it
_HERE = Path(__file__).parent
_MOST = 24  # of a chart
_WIDER = 40  # pixels by which names beside a chart may be wider than they were laid out
_ROWS = 200
_SIGNS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}
_INNER = re.compile(r'\s(?:role|aria-[a-z]+)="[^"]*"')
_WHOLE = re.compile(r"(?:\b\d{4}-\d\d-\d\d(T[\d:+]+)?\b|[εδρ] = [\d.e-]*\d)[:;,.]?")


def page(
    statement: Statement,
    pictures: dict[str, Picture],
    *,
    version: str,
    later: str = "",
    final: bool = False,
    note: str | None = None,
) -> str:
    """Return the whole report as HTML; `later` says what may still follow, if not `final`."""
    identity, shown = statement.facts["identity"], lines_of(statement.facts)
    purpose = purpose_of(statement.facts)
    of_release = statement.release_id is not None
    told = _curator(statement, pictures) if of_release else _history(statement, pictures)
    sections = {
        "facts": _facts(statement, shown, "" if final else later),
        "curator" if of_release else "history": told,
        "public": _public(statement, pictures, later),
        "series": _paragraphs([say("reports.page.lead.series")]) + _figure(pictures.get("account")),
        "recompute": _recompute(statement),
    }
    links = "".join(
        f'<li><a href="#{name}">{escape(say(f"reports.page.section.{name}"))}</a></li>'
        for name in sections
    )
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">'
        f"{escape(say(f'reports.page.section.{name}'))}</h2>{content}</section>"
        for name, content in sections.items()
    )
    meta = (
        say("reports.page.meta", **{k: identity[k] for k in ("release_id", "made", "account")})
        if of_release
        else say(
            "reports.page.account_meta",
            account=identity["account"],
            entries=statement.facts["spending"]["entries"],
            as_of=shown["as_of"],
        )
    )
    if identity.get("name"):
        meta = f"{identity['name']} · {meta}"
    said = {name: escape(say(f"reports.page.{name}")) for name in ("skip", "kicker", "contents")}
    return html_page(
        _HERE / "report.html",
        title=escape(say("reports.page.title", purpose=purpose)),
        style=(_HERE / "report.css").read_text(encoding="utf-8"),
        heading=escape(purpose[:1].upper() + purpose[1:]),
        meta=_whole(meta),
        noted="" if not note else _paragraphs([say("reports.page.note", note=note)]),
        links=links,
        body=body,
        footer=escape(say("reports.page.footer", version=version)),
        **said,
    )


# -- page one


def _facts(statement: Statement, shown: dict[str, str], later: str = "") -> str:
    facts, spending = statement.facts, statement.facts["spending"]
    of_release = statement.release_id is not None
    bounds = say("reports.page.at_most", bounds=shown["bounds"]) if of_release else ""
    kind = "filter" if of_release else "account_filter"
    added = say(f"reports.page.{kind}", filter=facts["composition"]["filter"])
    if not of_release and facts["guarantee"]["kind"] == "pure":
        added = say("reports.page.account_pure", holds=say("reports.page.pure_delta"), filter=added)
    limits = [] if spending["cap"].get("unbounded") else ["cap"]
    limits += ["promises"] if any(not one.get("withdrawn") for one in facts["promises"]) else []
    cards = [
        ("unit", shown["unit"], bounds),
        *(_parameters(facts) if of_release else ()),
        ("spent", shown["now"], added),
        (
            "remaining",
            shown["remaining"],
            say(f"reports.page.within.{'_and_'.join(limits)}", cap=shown["cap"]) if limits else "",
        ),
        ("variant", shown["variant"], facts["unit"]["adjacency"]),
    ]
    listed = "".join(
        f"<div><dt>{escape(say(f'reports.page.fact.{name}'))}</dt><dd>{escape(value)}"
        f"<small>{escape(small)}</small></dd></div>"
        for name, value, small in cards
    )
    told = [
        *promise_lines(facts["promises"], shown["now"], plain=True),
        *restored_lines(spending["restored"], plain=True),
    ]
    promised = _paragraphs(told, "statement")
    return (
        f'{promised}<dl class="facts">{listed}</dl>{_paragraphs([_approved(facts)], "meta")}'
        '<div class="pair"><div>'
        f"{_heading('reports.page.section.odds')}{_odds(statement, shown, later)}</div>"
        f"<div>{_heading('reports.not_protected.title')}"
        f'<ul class="plain">{unprotected(statement)}</ul></div></div>'
    )


def _approved(facts: Any) -> str:
    """Who approved the cap and the promise, if anyone did, and every raise of the cap."""
    spending, promised = facts["spending"], any(approved_promises(facts))
    what = "both" if promised else "account" if spending["cap"].get("unbounded") else "cap"
    told = {"approver": approver_of(spending), "told": approvals_text(facts)}
    return say(f"reports.page.approved.{what}", **told)


def _parameters(facts: Any) -> list[tuple[str, str, str]]:
    guarantee = facts["guarantee"]
    figures = figures_apart(guarantee, *limits_in(facts))
    if guarantee["kind"] == "none":
        return [("epsilon", "–", str(guarantee["reason"]))]
    rho, delta = guarantee["rho"], guarantee["delta"] or 0.0
    if rho is not None:
        from discreet.composition.concentrated import zcdp_epsilon

        epsilon = number(zcdp_epsilon(rho, 1e-6), "up", FIGURES)
        failing = number(min(1.0, delta + 1e-6), "up")  # the δ that was spent beside ρ counts too
        implied = say("reports.page.implied", epsilon=epsilon, delta=failing)
        first, small = ("rho", number(rho, "up", figures), implied), ""
    else:
        first = ("epsilon", number(guarantee["epsilon"], "up", figures), "")
        small = "" if delta else say("reports.page.pure_delta")
    return [first, ("delta", number(delta, "up", figures), small)]


def _odds(statement: Statement, shown: dict[str, str], later: str) -> str:
    facts = statement.facts
    if facts["risk"] is None:
        return _paragraphs([str(facts["guarantee"]["reason"])])
    caption = say("statement.learned.lead", unit=statement.subject)
    notes = [
        probability_text(facts["learned"]),
        say("reports.page.against", adversary=shown["adversary"]),
    ]
    if later:
        where = "account" if statement.release_id is None else "release"
        notes.insert(0, say(f"reports.page.so_far.{where}"))
    if "beyond" in shown:
        notes.append(say("reports.page.left_out", beyond=shown["beyond"]))
    told = [" ".join(notes), *compared_lines(facts["promises"], facts["learned"])]
    return _table(learned_table(facts["learned"]), caption) + _paragraphs(told, "lead")


# -- the others


def _curator(statement: Statement, pictures: dict[str, Picture]) -> str:
    facts, tables = statement.facts, tables_of(statement.facts)
    accuracy = _table(tables["accuracy"], say("reports.page.lead.curator"))
    biases = "".join(f"<li>{escape(bias['text'])}</li>" for bias in facts["biases"])
    unknown = any(bias["size"] is None for bias in facts["biases"])
    return "".join(
        [
            accuracy if facts["accuracy"] else _paragraphs([say("statements.accuracy.blur")]),
            _figure(pictures.get("released")),
            _released(statement),
            _heading("reports.page.lead.rows"),
            _paragraphs([facts["data_domain"], facts["processing"]["before"]]),
            _heading("statements.label.promise"),
            _promises(facts),
            _figure(pictures.get("before_after")),
            f"{_heading('reports.page.lead.biases')}<ul>{biases}</ul>",
            _paragraphs([say("statements.bias.size_unknown")] if unknown else []),
            _table(tables["bases"], say("statements.label.bases")),
            _table(tables["mechanisms"], say("statements.label.mechanisms")),
            _paragraphs([facts["floating_point"]]),
        ]
    )


def _history(statement: Statement, pictures: dict[str, Picture]) -> str:
    """Every release, promise and decision of an account."""
    tables = tables_of(statement.facts)
    parts = [_table(tables[name], say(f"reports.page.lead.{name}")) for name in tables]
    return "".join([*parts, _promises(statement.facts), _figure(pictures.get("before_after"))])


def _released(statement: Statement) -> str:
    """The released table, the keys of one column side by side, totals in bold."""
    said = statement.stored.said
    if not said.get("table"):
        return ""
    sheet = wide(said)
    kinds = ("",) * sheet.texts + (' class="figure"',) * (len(sheet.header) - sheet.texts)
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>'
        for name, kind in zip(sheet.header, kinds, strict=True)
    )
    body = "".join(
        f'<tr class="total">{cells}</tr>' if sheet.is_total(row) else f"<tr>{cells}</tr>"
        for row, ends in zip(sheet.shown[:_MOST_ROWS], sheet.intervals, strict=False)
        for cells in [_cells(row, ends, sheet.texts)]
    )
    return _grid(say("sheets.released", interval=said["interval"]), head, body)


def _cells(row: Sequence[str | None], ends: Sequence[str | None], texts: int) -> str:
    labels = "".join(f'<th scope="row">{escape(text or "")}</th>' for text in row[:texts])
    return labels + "".join(
        f'<td class="figure">{escape(value or "")}{_small(end)}</td>'
        for value, end in zip(row[texts:], ends, strict=True)
    )


def _small(text: str | None) -> str:
    return "" if text is None else f"<small>{escape(text)}</small>"


def _promises(facts: Any) -> str:
    """What was promised, what became of it, and whom it binds for."""
    spending, now = facts["spending"], lines_of(facts)["now"]
    lines = promise_lines(facts["promises"], now, plain=True)
    sums = [spending["account_now"], *(row["spent"] or {} for row in spending["charges"])]
    for one in facts["promises"]:
        most = Amount.restored(one["limit"]).to_dict("down")
        limit = stated_limit(most, max(figures_apart(spent, most) for spent in sums))
        who = someone(**one["binding"], unit=facts["unit"]["subject"])
        tense = "keeps" if one["withdrawn"] is None else "kept"
        lines.append(say(f"reports.page.lead.{tense}", limit=limit, who=who))
    return _paragraphs(lines)


def _public(statement: Statement, pictures: dict[str, Picture], later: str) -> str:
    facts = statement.facts
    told = filter(None, (*facts["texts"]["public"].split("\n\n"), later))
    parts = [_paragraphs(told, "statement"), _figure(pictures.get("icons"))]
    joining = joining_table(facts["risk"]["beliefs"]) if facts["risk"] else None
    if joining is not None:
        parts.append(_table(joining, say("statements.joining", unit=statement.subject)))
    if facts["learned"] is not None:
        parts.append(_paragraphs(guess_lines(facts["learned"])))
    if statement.release_id is not None:
        way = escape(say("reports.page.participant"))
        parts.append(f'<p><a href="participant.html">{way}</a></p>')
    return "".join(parts)


def _recompute(statement: Statement) -> str:
    facts = statement.facts
    parts = [
        _paragraphs([say("reports.page.lead.recompute")]),
        "<pre>python3 -I verify.py</pre>",
        f"<p>{escape(say('reports.page.lead.head'))} <code>{facts['spending']['head']}</code></p>",
    ]
    if statement.release_id is not None:
        parts.append(_table(tables_of(facts)["versions"], say("reports.page.lead.files")))
    if facts["risk"] is not None:
        by = say("reports.page.lead.recompute_by", method=facts["risk"]["method"])
        parts.append(_paragraphs([by]))
    return "".join(parts)


# -- pieces


def unprotected(statement: Statement) -> str:
    """Return what the promise does not cover, as items of a list."""
    unit, more = statement.facts["unit"], statement.stored.unpromised
    promises = promises_in(statement.facts["promises"], unit["adjacency"])
    kind, name = unit["unit"], str(unit["subject"])
    open_to = not_protected("public", kind, name=name, promises=promises, unpromised=more)
    return "".join(
        f"<li><strong>{escape(name)}.</strong> {escape(text)}</li>" for name, text in open_to
    )


def _whole(text: str) -> str:
    """A text as HTML; no date and no amount in it is broken across lines."""
    return _WHOLE.sub(r'<span class="whole">\g<0></span>', escape(text))


def _paragraphs(texts: Iterable[str], kind: str = "") -> str:
    shown = f' class="{kind}"' if kind else ""
    return "".join(f"<p{shown}>{_whole(text)}</p>" for text in texts)


def _table(table: Table, caption: str) -> str:
    """A table that scrolls by itself on a narrow screen, and can be reached by keyboard."""
    kinds = [' class="figure"' if figure else "" for figure in table.figures]
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>'
        for name, kind in zip(table.names, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row"{kind}>{escape(cell)}</th>'
            if not place
            else f"<td{kind}>{_whole(cell)}</td>"
            for place, (cell, kind) in enumerate(zip(row, kinds, strict=True))
        )
        + "</tr>"
        for row in table.rows
    )
    return _grid(caption, head, body)


def _grid(caption: str, head: str, body: str) -> str:
    label = escape(caption, quote=True)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _heading(name: str) -> str:
    return f"<h3>{escape(say(name))}</h3>"


def _figure(picture: Picture | None) -> str:
    """A chart, if there is one, with its figures beside it, for those who do not see it."""
    if picture is None:
        return ""
    caption = say("reports.page.chart_table", title=picture.title)
    note = _paragraphs([picture.note]) if picture.note else ""
    return (
        f'<figure class="pair"><div><figcaption>{escape(picture.title)}</figcaption>'
        f"{picture.svg}</div><div>{_table(picture.table, caption)}{note}</div></figure>"
    )


# -- charts


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
    found = [_account_chart(statement), _released_chart(statement)]
    if statement.learned is not None:
        found += [_icons(statement), _before_after(statement)]
    return {picture.name: picture for picture in found if picture is not None}


def _svg(chart: Any, name: str, left: int = 4) -> str:
    """Draw a chart; `left` is room for labels in a font that is wider than the layout's."""
    import vl_convert

    spec = chart.to_dict()
    spec["config"]["background"] = "transparent"
    spec["config"]["padding"] = {"left": left, "top": 4, "right": 4, "bottom": 4}
    spec.pop("title", None)  # the figure has its own caption
    text = str(vl_convert.vegalite_to_svg(spec))
    text = text[text.index("<svg") :]
    text = _INNER.sub("", text)
    for found in sorted(set(re.findall(r'\bid="([^"]+)"', text))):
        text = text.replace(f'id="{found}"', f'id="{name}-{found}"')
        text = text.replace(f"url(#{found})", f"url(#{name}-{found})")
    return text.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)


def _headline(statement: Statement) -> Mapping[str, Any]:
    return verifier.headline(statement.facts)


def _icons(statement: Statement) -> Picture:
    from discreet.charts import icon_array

    row = _headline(statement)
    before, after = row["p"] * row["q"], row["upper"]
    icons = Icons.showing(before, after)
    counts = {"marked_before": icons.before, "marked_after": icons.after - icons.before}
    counts["others"] = icons.of - icons.after
    shown = [(say(f"statements.column.{name}"), str(count)) for name, count in counts.items()]
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
        marked=row["q"] if row["about"] == "value" else row["p"],
        about=row["about"],
    )
    rows = tuple(
        (
            share(entry["p"] * entry["q"], "up"),
            share(entry["lower"], "down"),
            share(entry["upper"], "up"),
        )
        for entry in sorted(statement.facts["risk"]["beliefs"], key=lambda one: one["p"] * one["q"])
        if entry["about"] == row["about"]
    )
    title = say("reports.page.chart.before_after")
    table = Table.of(("before", "least", "after"), rows)
    return Picture("before_after", title, _svg(chart, "before"), table)


def _account_chart(statement: Statement) -> Picture | None:
    from discreet.charts import account_chart

    spending = statement.facts["spending"]
    key = next((k for k in ("epsilon", "rho") if spending["account_now"][k] is not None), None)
    charges = [row for row in spending["charges"] if row["spent"] is not None]
    if key is None or not charges:
        return None
    here = statement.release_id
    rows, shown, cap = [], [], spending["cap"]
    limits = limits_in(statement.facts)
    for place, row in enumerate(charges, 1):
        spent, this = row["spent"][key], here is not None and row["release_id"] == here
        label = number(spent, "up", figures_apart(row["spent"], *limits))
        rows.append({"entry": str(place), "spent": spent, "label": label, "this": this})
        shown.append((str(place), row["at"][:10], str(row["purpose"]), label))
    chart = account_chart(rows[-_MOST:], sign=_SIGNS[key], cap=cap.get(key))
    return Picture(
        "account",
        say("reports.page.chart.account"),
        _svg(chart, "account"),
        Table.of(("entry", "at", "purpose", "spent"), shown[-_ROWS:]),
    )


def _released_chart(statement: Statement) -> Picture | None:
    """The first statistic of the table whose values are numbers."""
    from discreet.charts import released_chart
    from discreet.releases.tables import RESERVED, evenly

    stored = statement.stored.said.get("table")
    if not stored or not stored["statistic"]:
        return None
    table: dict[str, Any] = evenly(stored)
    first, labels = table["statistic"][0], texts_of(statement.stored.said)
    groups = [k for k in table if k not in RESERVED]
    rows = []
    for place, name in enumerate(table["statistic"]):
        values = [table[k][place] for k in ("value", "interval_low", "interval_high")]
        if name != first or any(value in (None, "") for value in values):
            continue
        keys = ((g, str(table[g][place])) for g in groups if table[g][place] is not None)
        cell = " · ".join(labels.key(*key) for key in keys)
        rows.append((cell or labels.name(first), *values))
    if not rows:
        return None
    drawn = [
        {"cell": cell, "value": float(v), "low": float(low), "high": float(high)}
        for cell, v, low, high in rows[:_MOST]
    ]
    title = say("reports.page.chart.released", statistic=labels.name(first))
    chart = released_chart(drawn, title=title, interval=statement.stored.said["interval"])
    note = ""
    if len(rows) > _MOST:
        note = say("reports.page.more_rows", shown=f"{_MOST:,}", total=f"{len(rows):,}")
    shown = Table.of(("cell", "value", "low", "high"), rows[:_MOST])
    return Picture("released", title, _svg(chart, "released", _WIDER), shown, note)
