"""The statement as Markdown, in the order in which people ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from discreet.explanations.figures import (
    amount,
    frequency,
    level,
    number,
    plain,
    whole_up,
)
from discreet.explanations.statements import Statement, cap_text
from discreet.rounding import percent
from discreet.statements import gaussian_lines, learned_lines, promise_lines
from discreet.statements.tables import flat
from discreet.words import catalogue

__all__ = [
    "accuracy_text",
    "adversary_text",
    "beyond_text",
    "bounds_text",
    "joining_rows",
    "library_text",
    "markdown",
    "mechanism_rows",
    "table",
    "unit_text",
]

_CROWD = 100  # odds in 100, as people were asked about them


def markdown(statement: Statement) -> str:
    """Return the statement as one Markdown page."""
    facts, texts = statement.facts, catalogue()
    lines = [f"# {flat(texts.say('statement.title', purpose=facts['identity']['purpose']))}", ""]
    for line in promise_lines(facts["promises"]):
        lines += [line, ""]
    for paragraph in facts["texts"]["public"].split("\n\n"):
        lines += [flat(paragraph), ""]
    for name, body in _sections(statement):
        lines += [f"## {texts.say(f'statement.label.{name}')}", "", *body, ""]
    return "\n".join(lines)


def _sections(statement: Statement) -> Iterator[tuple[str, list[str]]]:
    facts, say = statement.facts, catalogue().say
    identity, spending, unit = facts["identity"], facts["spending"], facts["unit"]
    missing, nothing = say("statement.not_stated"), say("release.nothing_left")
    yield (
        "identity",
        _items(
            ("release", identity["release_id"]),
            ("made", identity["made"]),
            ("account", identity["account"]),
            ("name", identity["name"] or missing),
            ("curators", ", ".join(identity["curators"]) or missing),
            ("region", identity["region"] or missing),
            ("product", identity["product"]),
        ),
    )
    yield (
        "guarantee",
        _items(
            ("variant", facts["guarantee"]["variant"]),
            ("parameters", amount(facts["guarantee"], "up", nothing)),
            ("unit", unit_text(unit)),
            ("neighbours", unit["neighbours"]),
            ("bounds", bounds_text(facts["contribution_bounds"])),
            ("domain", facts["data_domain"]),
            ("invariants", facts["invariants"]),
            ("model", f"{facts['model']['name']}. {facts['model']['trust']}"),
        ),
    )
    yield (
        "spending",
        _items(
            ("this", amount(spending["this"], "up", nothing)),
            ("then", amount(spending["account_then"], "up", nothing)),
            ("now", amount(spending["account_now"], "up", nothing)),
            ("cap", cap_text(spending["cap"])),
            ("remaining", cap_text(spending["remaining"])),
            ("composition", f"{facts['composition']['rule']} {facts['composition']['within']}"),
            ("entry", f"{spending['entry']['seq']}, `{spending['entry']['hash']}`"),
            ("head", f"`{spending['head']}`"),
        ),
    )
    yield "risk", _risk(statement)
    columns = ("statistic", "part", "mechanism", "sensitivity", "scale")
    made = table(columns, mechanism_rows(facts["mechanisms"]))
    said = gaussian_lines(statement.stored.said.get("gaussian_mu"))
    yield "mechanisms", [*made, "", *said] if said else made
    rows = [
        (row["statistic"], accuracy_text(row), level(row["interval"])) for row in facts["accuracy"]
    ]
    body = table(("statistic", "accuracy", "confidence"), rows)
    yield "accuracy", body if rows else [say("statement.accuracy.blur")]
    yield (
        "biases",
        [f"- {bias['text']} {say('statement.bias.size_unknown')}" for bias in facts["biases"]],
    )
    bases = [(fact["what"], fact["basis"]) for fact in facts["bases"]]
    yield "bases", table(("what", "basis"), bases)
    yield (
        "processing",
        _items(
            ("before", facts["processing"]["before"]),
            ("after", facts["processing"]["after"]),
            ("library", library_text(facts["library"])),
            ("floats", facts["floating_point"]),
        ),
    )
    yield (
        "not_covered",
        [f"- **{entry['name']}.** {entry['text']}" for entry in facts["not_covered"]],
    )
    files = [(name, f"`{digest}`") for name, digest in facts["hashes"]["files"].items()]
    yield "versions", table(("file", "hash"), files)


def _risk(statement: Statement) -> list[str]:
    say, risk = catalogue().say, statement.facts["risk"]
    if risk is None:
        return [str(statement.facts["guarantee"]["reason"])]
    lead = say("statement.learned.lead", unit=statement.subject)
    lines = [flat(lead), "", *learned_lines(statement.facts["learned"]), ""]
    lines += _items(("adversary", adversary_text(risk)), ("beyond", beyond_text(risk)))
    for one in statement.facts["promises"]:
        binding = one["binding"]
        lines += _items(("binding", f"p = {binding['p']:.4g}, q = {binding['q']:.4g}"))
    joining = joining_rows(risk["beliefs"])
    lines.append("")
    if joining:
        lines += [say("report.lead.joining", unit=statement.subject), ""]
        lines += [*table(("without", "joined"), joining), ""]
    return [*lines, say("technical.by", **_by(risk))]


def _by(risk: Mapping[str, Any]) -> dict[str, str]:
    return {"method": str(risk["method"]), "strength": str(risk["strength"])}


def joining_rows(beliefs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the chances with the unit left out, and at most with it in; none under replace."""
    return [
        [plain(row["p"] * row["q"], _CROWD), frequency(row["joined"], "up", _CROWD)]
        for row in beliefs
        if row["joined"] is not None
    ]


def adversary_text(risk: Mapping[str, Any]) -> str:
    """Return against whom the bound holds."""
    sure = all(row["holds_with"] == 1 for row in risk["beliefs"])
    return catalogue().say(f"statement.limits.adversary_{'weak' if sure else 'strong'}")


def beyond_text(risk: Mapping[str, Any]) -> str:
    """Return how many the confidence leaves out."""
    say, beyond = catalogue().say, risk["beyond"]
    if beyond is None:
        return say("statement.limits.beyond_none")
    up_to = whole_up(beyond["up_to"])
    return say("statement.limits.beyond", people=f"{beyond['people']:,}", up_to=up_to)


def unit_text(unit: Mapping[str, Any]) -> str:
    """Return the unit, with the columns that name it."""
    names = ", ".join(unit["columns"])
    return (
        f"{unit['subject']} ({names})" if names and unit["unit"] != "partition" else unit["subject"]
    )


def bounds_text(bounds: Mapping[str, Any]) -> str:
    """Return the contribution bounds, those that are alike together."""
    say = catalogue().say
    together: dict[str, list[str]] = {}
    for name, bound in bounds.items():
        kept = {key: value for key, value in bound.items() if key != "adjacency" and value}
        words = ", ".join(f"{value} {say(f'statement.bound.{key}')}" for key, value in kept.items())
        together.setdefault(words, []).append(name)
    if len(together) == 1:
        return next(iter(together))
    return "; ".join(f"{', '.join(names)}: {words}" for words, names in together.items())


def library_text(library: Mapping[str, str] | None) -> str:
    """Return what drew the noise, and its version."""
    if not library:
        return catalogue().say("statement.not_recorded")
    return ", ".join(f"{name} {version}" for name, version in library.items())


def mechanism_rows(mechanisms: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return each call: statistic, part, mechanism, sensitivity, scale."""
    rows: list[tuple[str, ...]] = []
    for call in mechanisms:
        if "l1" not in call:
            alpha = call.get("alpha", "")
            rows.append((call["statistic"], call["part"], call["mechanism"], "–", f"α = {alpha}"))
            continue
        second = call["mechanism"] in ("gaussian", "exponential")
        size = f"L2 {call['l2']:,.6g}" if second else f"L1 {call['l1']:,.6g}"
        scale = f"{call['scale']:,.6g}"
        rows.append((call["statistic"], call["part"], call["mechanism"], size, scale))
    return rows


def accuracy_text(row: Mapping[str, Any]) -> str:
    """Return by how much a statistic may be off, as far as that is known beforehand."""
    say = catalogue().say
    if "half_width" in row:
        return say("statement.accuracy.half_width", width=number(row["half_width"], "up"))
    if "score_within" in row:
        score, candidates = number(row["score_within"], "up"), f"{row['candidates']:,}"
        return say("statement.accuracy.score", score=score, candidates=candidates)
    found = []
    for size in row.get("assumed", ()):
        rows = f"{size['rows']:,}"
        if "half_width" in size:
            width = number(size["half_width"], "up")
            found.append(say("statement.accuracy.assumed", width=width, rows=rows))
        else:
            share = percent(size["rank_share"], "up", 1)
            found.append(say("statement.accuracy.rank", share=share, rows=rows))
    return "; ".join(found)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table with the catalogue's names of its columns."""
    header = [catalogue().say(f"statement.column.{name}") for name in columns]
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return lines + [f"| {' | '.join(flat(cell) for cell in row)} |" for row in rows]


def _items(*pairs: tuple[str, str]) -> list[str]:
    say = catalogue().say
    return [f"- **{say(f'statement.label.{name}')}**: {flat(text)}" for name, text in pairs]
