"""The report as one HTML file: no script, no network, light and dark, for paper and for a phone.

Page one is for the regulator: the facts, the odds in a hundred, what is not protected. Then the
curator (accuracy, tolerance), everyone (a paragraph, a hundred figures), the account over time, and
how to recompute it all. Every text comes from the catalogue and every figure from the statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from discreet.frames import html_page
from discreet.guarantees import figures_apart
from discreet.ledger.amounts import Amount
from discreet.releases.sheets import wide
from discreet.reports.facts import Statement, purpose_of
from discreet.reports.pictures import Picture
from discreet.reports.sentences import not_protected
from discreet.rounding import FIGURES, number
from discreet.statements import learned_table, probability_text, promise_lines
from discreet.statements.presenter import someone
from discreet.statements.tables import Table, joining_table, lines_of, stated_limit, tables_of
from discreet.words import say

_MOST_ROWS = 500  # of the released table; the files have all of it
_HERE = Path(__file__).parent
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d(T[\d:+]+)?\b")


def page(
    statement: Statement,
    pictures: dict[str, Picture],
    *,
    version: str,
    later: str = "",
    note: str | None = None,
) -> str:
    """Return the whole report as HTML; `later` says what may still follow."""
    identity, shown = statement.facts["identity"], lines_of(statement.facts)
    purpose = purpose_of(statement.facts)
    of_release = statement.release_id is not None
    told = _curator(statement, pictures) if of_release else _history(statement, pictures)
    sections = {
        "facts": _facts(statement, shown),
        "curator" if of_release else "history": told,
        "public": _public(statement, pictures, later),
        "series": _series(pictures),
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


def _facts(statement: Statement, shown: dict[str, str]) -> str:
    facts = statement.facts
    of_release = statement.release_id is not None
    bounds = say("reports.page.at_most", bounds=shown["bounds"]) if of_release else ""
    kind = "filter" if of_release else "account_filter"
    added = say(f"reports.page.{kind}", filter=facts["composition"]["filter"])
    capped = not facts["spending"]["cap"].get("unbounded")
    cards = [
        ("unit", shown["unit"], bounds),
        *(_parameters(facts["guarantee"]) if of_release else ()),
        ("spent", shown["now"], added),
        (
            "remaining",
            shown["remaining"],
            f"{say('statements.label.cap')}: {shown['cap']}" if capped else "",
        ),
        ("variant", shown["variant"], facts["unit"]["adjacency"]),
    ]
    listed = "".join(
        f"<div><dt>{escape(say(f'reports.page.fact.{name}'))}</dt><dd>{escape(value)}"
        f"<small>{escape(small)}</small></dd></div>"
        for name, value, small in cards
    )
    promised = _paragraphs(promise_lines(facts["promises"], plain=True), "statement")
    return (
        f'{promised}<dl class="facts">{listed}</dl><div class="pair"><div>'
        f"<h3>{escape(say('reports.page.section.odds'))}</h3>{_odds(statement, shown)}</div>"
        f"<div><h3>{escape(say('reports.not_protected.title'))}</h3>"
        f'<ul class="plain">{unprotected(statement)}</ul></div></div>'
    )


def _parameters(guarantee: Any) -> list[tuple[str, str, str]]:
    if guarantee["kind"] == "none":
        return [("epsilon", "–", str(guarantee["reason"]))]
    rho, delta = guarantee["rho"], guarantee["delta"] or 0.0
    if rho is not None:
        from discreet.composition.concentrated import zcdp_epsilon

        epsilon = number(zcdp_epsilon(rho, 1e-6), "up", FIGURES)
        same = say("reports.page.equivalent", epsilon=epsilon, delta=number(1e-6, "up"))
        return [
            ("rho", number(rho, "up", FIGURES), same),
            ("delta", number(delta, "up", FIGURES), ""),
        ]
    small = "" if delta else say("reports.page.pure_delta")
    return [
        ("epsilon", number(guarantee["epsilon"], "up", FIGURES), ""),
        ("delta", number(delta, "up", FIGURES), small),
    ]


def _odds(statement: Statement, shown: dict[str, str]) -> str:
    facts = statement.facts
    if facts["risk"] is None:
        return _paragraphs([str(facts["guarantee"]["reason"])])
    caption = say("statement.learned.lead", unit=statement.subject)
    notes = [
        probability_text(facts["learned"]),
        say("reports.page.against", adversary=shown["adversary"]),
    ]
    if "beyond" in shown:
        notes.append(say("reports.page.left_out", beyond=shown["beyond"]))
    return _table(learned_table(facts["learned"]), caption) + _paragraphs([" ".join(notes)], "lead")


# -- the others


def _curator(statement: Statement, pictures: dict[str, Picture]) -> str:
    facts, tables = statement.facts, tables_of(statement.facts)
    if facts["accuracy"]:
        parts = [_table(tables["accuracy"], say("reports.page.lead.curator"))]
    else:
        parts = [_paragraphs([say("statements.accuracy.blur")])]
    if "released" in pictures:
        parts.append(_figure(pictures["released"]))
    parts.append(_released(statement))
    parts.append(f"<h3>{escape(say('reports.page.lead.rows'))}</h3>")
    parts.append(_paragraphs([facts["data_domain"], facts["processing"]["before"]]))
    parts.append(f"<h3>{escape(say('statements.label.promise'))}</h3>{_promises(facts)}")
    if "before_after" in pictures:
        parts.append(_figure(pictures["before_after"]))
    biases = "".join(f"<li>{escape(bias['text'])}</li>" for bias in facts["biases"])
    parts.append(f"<h3>{escape(say('reports.page.lead.biases'))}</h3><ul>{biases}</ul>")
    if any(bias["size"] is None for bias in facts["biases"]):
        parts.append(_paragraphs([say("statements.bias.size_unknown")]))
    parts.append(_table(tables["bases"], say("statements.label.bases")))
    parts.append(_table(tables["mechanisms"], say("statements.label.mechanisms")))
    parts.append(_paragraphs([facts["floating_point"]]))
    return "".join(parts)


def _history(statement: Statement, pictures: dict[str, Picture]) -> str:
    """Every release, promise and decision of an account."""
    tables = tables_of(statement.facts)
    parts = [_table(tables[name], say(f"reports.page.lead.{name}")) for name in tables]
    parts.append(_promises(statement.facts))
    if "before_after" in pictures:
        parts.append(_figure(pictures["before_after"]))
    return "".join(parts)


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
        for row, ends in zip(sheet.rows[:_MOST_ROWS], sheet.intervals, strict=False)
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
    lines = promise_lines(facts["promises"], plain=True)
    for one in facts["promises"]:
        most = Amount.restored(one["limit"]).to_dict("down")
        limit = stated_limit(most, figures_apart(facts["spending"]["account_now"], most))
        who = someone(**one["binding"], unit=facts["unit"]["subject"])
        tense = "keeps" if one["withdrawn"] is None else "kept"
        lines.append(say(f"reports.page.lead.{tense}", limit=limit, who=who))
    return _paragraphs(lines)


def _public(statement: Statement, pictures: dict[str, Picture], later: str) -> str:
    facts = statement.facts
    told = filter(None, (*facts["texts"]["public"].split("\n\n"), later))
    parts = [_paragraphs(told, "statement")]
    if "icons" in pictures:
        parts.append(_figure(pictures["icons"]))
    joining = joining_table(facts["risk"]["beliefs"]) if facts["risk"] else None
    if joining is not None:
        parts.append(_table(joining, say("statements.joining", unit=statement.subject)))
    if statement.release_id is not None:
        way = escape(say("reports.page.participant"))
        parts.append(f'<p><a href="participant.html">{way}</a></p>')
    return "".join(parts)


def _series(pictures: dict[str, Picture]) -> str:
    drawn = _figure(pictures["account"]) if "account" in pictures else ""
    return _paragraphs([say("reports.page.lead.series")]) + drawn


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
    kind, more = statement.facts["unit"]["unit"], statement.stored.unpromised
    return "".join(
        f"<li><strong>{escape(name)}.</strong> {escape(text)}</li>"
        for name, text in not_protected("public", kind, unpromised=more)
    )


def _whole(text: str) -> str:
    """A text as HTML; no date in it is broken at its hyphens."""
    return _DATE.sub(r'<span class="whole">\g<0></span>', escape(text))


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


def _figure(picture: Picture) -> str:
    """A chart with its figures beside it, for those who do not see it."""
    caption = say("reports.page.chart_table", title=picture.title)
    note = _paragraphs([picture.note]) if picture.note else ""
    return (
        f'<figure class="pair"><div><figcaption>{escape(picture.title)}</figcaption>'
        f"{picture.svg}</div><div>{_table(picture.table, caption)}{note}</div></figure>"
    )
