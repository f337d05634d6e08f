"""The report as one HTML file: no script, no network, light and dark, for paper and for a phone.

Page one is for the regulator: the facts, the odds in a hundred, what is not protected. Then the
curator (accuracy, tolerance), everyone (a paragraph, a hundred figures), the account over time, and
how to recompute it all. Every text comes from the catalogue and every figure from the statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from discreet.explanations.figures import amount, level, number
from discreet.explanations.markdown import (
    accuracy_text,
    adversary_text,
    beyond_text,
    bounds_text,
    joining_rows,
    mechanism_rows,
    unit_text,
)
from discreet.explanations.pictures import Picture
from discreet.explanations.statements import Statement, cap_text
from discreet.explanations.topics import not_protected
from discreet.ledger.amounts import Amount
from discreet.statements import learned_table, probability_text, promise_lines
from discreet.words import catalogue

__all__ = ["page"]

_FIGURES = {
    "value",
    "low",
    "high",
    "spent",
    "count",
    "before",
    "after",
    "least",
    "joined",
    "tolerated",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(
    statement: Statement,
    pictures: dict[str, Picture],
    *,
    version: str,
    series: str | None = None,
    note: str | None = None,
) -> str:
    """Return the whole report as HTML."""
    say, identity = catalogue().say, statement.facts["identity"]
    style = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
    title = escape(say("report.title", purpose=identity["purpose"]))
    sections = {
        "facts": _facts(statement),
        "curator": _curator(statement, pictures),
        "public": _public(statement, pictures),
        "series": _series(pictures, series),
        "recompute": _recompute(statement),
    }
    links = "".join(
        f'<li><a href="#{name}">{escape(say(f"report.section.{name}"))}</a></li>'
        for name in sections
    )
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{escape(say(f"report.section.{name}"))}</h2>{content}</section>'
        for name, content in sections.items()
    )
    meta = say(
        "report.meta",
        release_id=identity["release_id"],
        made=identity["made"],
        account=identity["account"],
    )
    noted = "" if not note else f"<p>{escape(say('report.note', note=note))}</p>"
    return f"""<!doctype html>
<html lang="{catalogue().language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#facts">{escape(say("report.skip"))}</a>
<header>
<p class="kicker">{escape(say("report.kicker"))}</p>
<h1>{escape(identity["purpose"][:1].upper() + identity["purpose"][1:])}</h1>
<p class="meta">{escape(meta)}</p>
{noted}</header>
<nav aria-label="{escape(say("report.contents"))}"><ul>{links}</ul></nav>
<main>
{body}
</main>
<footer><p>{escape(say("report.footer", version=version))}</p></footer>
</body>
</html>
"""


# -- page one


def _facts(statement: Statement) -> str:
    say, facts = catalogue().say, statement.facts
    spending, guarantee = facts["spending"], facts["guarantee"]
    nothing = say("release.nothing_left")
    bounds = say("report.at_most", bounds=bounds_text(facts["contribution_bounds"]))
    added = say("report.filter", filter=facts["composition"]["filter"])
    cards = [("unit", unit_text(facts["unit"]), bounds)]
    cards += _parameters(guarantee)
    cards += [
        ("spent", amount(spending["account_now"], "up", nothing), added),
        ("remaining", cap_text(spending["remaining"]), _of_cap(spending["cap"])),
        ("variant", guarantee["variant"], facts["unit"]["adjacency"]),
    ]
    shown = "".join(
        f"<div><dt>{escape(say(f'report.fact.{name}'))}</dt><dd>{escape(value)}"
        f"<small>{escape(small)}</small></dd></div>"
        for name, value, small in cards
    )
    unprotected = "".join(
        f"<li><strong>{escape(name)}.</strong> {escape(text)}</li>"
        for name, text in not_protected(
            "public", facts["unit"]["unit"], unpromised=statement.stored.unpromised
        )
    )
    promised = "".join(
        f'<p class="statement">{escape(line)}</p>'
        for line in promise_lines(facts["promises"], plain=True)
    )
    return (
        f'{promised}<dl class="facts">{shown}</dl><div class="pair"><div>'
        f"<h3>{escape(say('report.section.odds'))}</h3>{_odds(statement)}</div>"
        f"<div><h3>{escape(say('not_protected.title'))}</h3>"
        f'<ul class="plain">{unprotected}</ul></div></div>'
    )


def _parameters(guarantee: Any) -> list[tuple[str, str, str]]:
    say = catalogue().say
    if guarantee["kind"] == "none":
        return [("epsilon", "–", str(guarantee["reason"]))]
    if guarantee["rho"] is not None:
        from discreet.composition.concentrated import zcdp_epsilon

        delta = 1e-6
        shown = number(zcdp_epsilon(guarantee["rho"], delta), "up")
        same = say("report.equivalent", epsilon=shown, delta=number(delta, "up"))
        lost = guarantee["delta"] or 0.0
        return [
            ("rho", number(guarantee["rho"], "up", 5), same),
            ("delta", number(lost, "up"), ""),
        ]
    delta = guarantee["delta"]
    small = say("report.pure_delta") if not delta else ""
    return [
        ("epsilon", number(guarantee["epsilon"], "up", 5), ""),
        ("delta", number(delta, "up") if delta else "0", small),
    ]


def _of_cap(cap: Any) -> str:
    return (
        "" if cap.get("unbounded") else f"{catalogue().say('statement.label.cap')}: {cap_text(cap)}"
    )


def _odds(statement: Statement) -> str:
    say, risk = catalogue().say, statement.facts["risk"]
    if risk is None:
        return f"<p>{escape(str(statement.facts['guarantee']['reason']))}</p>"
    names, rows = learned_table(statement.facts["learned"])
    caption = say("statement.learned.lead", unit=statement.subject)
    return (
        _table(names, rows, caption, figures=["after"] * len(names))
        + f'<p class="lead">{escape(probability_text(statement.facts["learned"]))} '
        + f"{escape(say('report.against', adversary=adversary_text(risk)))} "
        + f"{escape(say('report.left_out', beyond=beyond_text(risk)))}</p>"
    )


# -- the others


def _curator(statement: Statement, pictures: dict[str, Picture]) -> str:
    say, facts = catalogue().say, statement.facts
    parts = []
    if facts["accuracy"]:
        rows = [
            (row["statistic"], accuracy_text(row), level(row["interval"]))
            for row in facts["accuracy"]
        ]
        names = [say(f"statement.column.{n}") for n in ("statistic", "accuracy", "confidence")]
        parts.append(_table(names, rows, say("report.lead.curator")))
    else:
        parts.append(f"<p>{escape(say('statement.accuracy.blur'))}</p>")
    if "released" in pictures:
        parts.append(_figure(pictures["released"]))
    parts.append(f"<h3>{escape(say('statement.label.promise'))}</h3>{_promises(facts)}")
    if "before_after" in pictures:
        parts.append(_figure(pictures["before_after"]))
    biases = "".join(f"<li>{escape(bias['text'])}</li>" for bias in facts["biases"])
    parts.append(f"<h3>{escape(say('report.lead.biases'))}</h3><ul>{biases}</ul>")
    parts.append(f"<p>{escape(say('statement.bias.size_unknown'))}</p>")
    columns = ("statistic", "part", "mechanism", "sensitivity", "scale")
    names = [say(f"statement.column.{name}") for name in columns]
    caption = say("statement.label.mechanisms")
    parts.append(_table(names, mechanism_rows(facts["mechanisms"]), caption))
    parts.append(f"<p>{escape(facts['floating_point'])}</p>")
    return "".join(parts)


def _promises(facts: Any) -> str:
    """What was promised, what became of it, and whom it binds for."""
    say = catalogue().say
    parts = [f"<p>{escape(line)}</p>" for line in promise_lines(facts["promises"], plain=True)]
    for one in facts["promises"]:
        limit = Amount.restored(one["limit"]).to_dict("down")
        p, q = (f"{one['binding'][name]:.4g}" for name in ("p", "q"))
        shown = amount(limit, "down", say("release.nothing_left"))
        parts.append(f"<p>{escape(say('report.lead.keeps', limit=shown, p=p, q=q))}</p>")
    return "".join(parts)


def _public(statement: Statement, pictures: dict[str, Picture]) -> str:
    say, facts = catalogue().say, statement.facts
    parts = [
        f'<p class="statement">{escape(paragraph)}</p>'
        for paragraph in facts["texts"]["public"].split("\n\n")
    ]
    if "icons" in pictures:
        parts.append(_figure(pictures["icons"]))
    joining = joining_rows(facts["risk"]["beliefs"]) if facts["risk"] else []
    if joining:
        names = [say("statement.column.without"), say("statement.column.joined")]
        caption = say("report.lead.joining", unit=statement.subject)
        parts.append(_table(names, joining, caption, figures=("before", "joined")))
    return "".join(parts)


def _series(pictures: dict[str, Picture], series: str | None) -> str:
    say = catalogue().say
    parts = [f"<p>{escape(say('report.lead.series'))}</p>"]
    if series:
        parts.append(f"<p class='statement'>{escape(series)}</p>")
    if "account" in pictures:
        parts.append(_figure(pictures["account"]))
    return "".join(parts)


def _recompute(statement: Statement) -> str:
    say, facts = catalogue().say, statement.facts
    files = [(name, digest) for name, digest in (*facts["hashes"]["files"].items(),)]
    names = [say("statement.column.file"), say("statement.column.hash")]
    parts = [
        f"<p>{escape(say('report.lead.recompute'))}</p>",
        "<pre>python3 -I verify.py</pre>",
        f"<p>{escape(say('report.lead.head'))} <code>{facts['spending']['head']}</code></p>",
        _table(names, files, say("report.lead.files")),
    ]
    if facts["risk"] is not None:
        by = say("report.lead.recompute_by", method=facts["risk"]["method"])
        parts.append(f"<p>{escape(by)}</p>")
    return "".join(parts)


# -- pieces


def _table(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str,
    figures: Sequence[str] = (),
) -> str:
    """A table that scrolls by itself on a narrow screen, and can be reached by keyboard."""
    kinds = [' class="figure"' if key in _FIGURES else "" for key in figures] or [""] * len(names)
    head = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>'
        for name, kind in zip(names, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row"{kind}>{escape(cell)}</th>'
            if not place
            else f"<td{kind}>{escape(cell)}</td>"
            for place, (cell, kind) in enumerate(zip(row, kinds, strict=True))
        )
        + "</tr>"
        for row in rows
    )
    label = escape(caption, quote=True)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _figure(picture: Picture) -> str:
    """A chart with its figures beside it, for those who do not see it."""
    say = catalogue().say
    where = "report" if picture.name in ("icons", "account", "released") else "statement"
    names = [say(f"{where}.column.{name}") for name in picture.columns]
    caption = say("report.chart_table", title=picture.title)
    note = f"<p>{escape(picture.note)}</p>" if picture.note else ""
    return (
        f'<figure class="pair"><div><figcaption>{escape(picture.title)}</figcaption>'
        f"{picture.svg}</div><div>"
        f"{_table(names, picture.rows, caption, figures=picture.columns)}{note}</div></figure>"
    )
