"""Fuzz every parser by coverage: texts that reach new lines are kept, and changed further.

    python -m benchmarks.fuzzing [--runs 3000] [--seed 1] [--only spec …] [--record]

A parser begins with valid texts. One of those kept is changed (parts deleted, repeated, swapped,
replaced by words of other texts and by hostile ones), read, and kept if a step from one line of
Discreet to another was taken that no text took before. Whatever is written, it is read or refused:
nothing but a DiscreetError may come out, in one line, within LONGEST seconds of processor time.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import discreet
from benchmarks.tables import QUALITY, today, write_section
from discreet import __version__, reading, synthetic
from discreet.cli import main as command
from discreet.cli.compose import _listed, _part
from discreet.composition.events import curve_of_distribution, curve_of_event, event_of
from discreet.errors import DiscreetError
from discreet.ledger import witness
from discreet.ledger.entries import Entry, canonical, digest
from discreet.promises import formula as promise_formula
from discreet.promises import promise_in
from discreet.promises.keys import load_yaml
from discreet.releases import formula, load, planning
from discreet.releases.engines.duckdb import DuckDB
from discreet.releases.spec import keys_from_file
from discreet.reports.verifier import examined
from discreet.surveys import Survey, estimate, survey_in
from discreet.synthetic import spec as synthetic_spec
from discreet.synthetic.files import read_description

__all__ = ["PARSERS", "Found", "fuzzed"]

LONGEST = 10.0
_ROOT = str(Path(discreet.__file__).parent)
_HOSTILE = (
    *("", " ", "\n", "\r\n", "\t", "\0", "\x1b[2J", "\ufeff", "\u202e", "\ud7ff", "é", "=1+1", "'"),
    *("[" * 3000, "{" * 3000, "(" * 3000, '{"a":' * 3000, "9" * 5000, "1e999999999", "-1e400"),
    *(
        "NaN",
        "Infinity",
        "null",
        "true",
        "~",
        "&a [*a]",
        "*a",
        "<<: *a",
        "!!python/object:os",
        "0x",
    ),
    *("-1", "0", "0.5", "1e-400", "1/0", "2026-02-30", "../x", "/etc/passwd", "a\nb", "%", "100 %"),
)

# -- what is read, and from what

_COLUMNS: dict[str, Any] = {"person": "text", "county": "text", "cost": "number"}
_SPEC = """\
account: people
purpose: test
protect: {unit: person, column: person, rows: 3, groups: 2}
where: cost > 2 and county in ('north', 'south')
let: {band: 'bin(cost, [0, 5, 20])'}
statistics:
  - {count: rows, by: [county], keys: {county: [north, south]}, weight: 2}
  - {count: rows, margins: [[county, band]], name: both,
     keys: {county: {discover: {delta: 1e-6, most: 5}}, band: [0-5, 5-20]}}
  - {sum: cost, bounds: [0, 20], resolution: 0.5, within: {error: 500}}
  - {quantiles: {of: cost, at: [0.5, 0.9], bounds: [0, 20], resolution: 1}}
ledger: sqlite:///ledger.db
output: out
"""
_BUDGET = "budget: {epsilon: 1.0, delta: 1e-3}\n"
_TOLERANCE = "tolerance: {posterior: 0.25, unless_ratio: 3, q: 1}\n"
_SURVEY = "question: Have you?\nanswers: [yes, no, never]\nepsilon: 1.5\nencoding: auto\n"
_STORED = {
    "release_id": "x" * 26,
    "account": "people",
    "spent": {"epsilon": 1.0},
    "purpose": "test",
    "made": "2026-01-01T00:00:00Z",
    "unit_name": "one person",
    "interval": 0.95,
    "explanations": {"rows": "How many."},
    "spec": {"labels": {"rows": "Rows"}},
    "table": {
        "statistic": ["rows", "rows"],
        "county": ["north", None],
        "value": ["3", "-4.5"],
        "interval_low": ["1", None],
        "interval_high": ["5", None],
    },
}
_ENTRY = {
    "account": "people",
    "account_previous": None,
    "account_seq": 1,
    "adjacency": "add-remove",
    "approver": "a",
    "at": "2026-01-01T00:00:00.000000Z",
    "filter": "pure",
    "kind": "open",
    "previous": "0" * 64,
    "reason": "r",
    "seq": 1,
    "standing": {"cap": {"epsilon": "3"}, "spent": {"epsilon": "0"}},
    "unit": "person",
    "version": __version__,
}
_MASSES = {
    "pessimistic_estimate": True,
    "value_discretization_interval": 0.1,
    "rounded_probability_mass_function": {"-5": 0.4, "5": 0.6},
    "infinity_mass": 0.0,
}


def _said(text: str) -> Any:
    return reading.json_values(text, "it")


def _spec(path: Path) -> None:
    spec = load(path)
    json.dumps(planning.plan_of(spec, _COLUMNS | {"band": "text"}).to_dict(), allow_nan=False)


def _file(read: Callable[[Path], Any], name: str = "given") -> Callable[[str, Path], None]:
    def written(text: str, folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
        read(folder / name)

    return written


def _table(path: Path) -> None:
    """`discreet table`, as someone would call it on a folder that was passed on."""
    to = path.parent / "made"
    for flags in ((), ("--csv", f"{to}.csv", "--wide"), ("--xlsx", f"{to}.xlsx")):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                command(["table", str(path.parent), *flags])
            except SystemExit as ended:
                if ended.code not in (None, 0, 2):
                    raise RuntimeError(out.getvalue()) from None
        if any(not c.isprintable() and c != "\n" for c in out.getvalue()):
            raise RuntimeError("what moves a cursor was printed")


def _source(path: Path) -> None:
    DuckDB.open(path.name, lambda _: path).close()


def _parts(path: Path) -> None:
    for words in _listed(path):
        _part(words, "add-remove")


def _entry(text: str, _: Path) -> None:
    found = Entry.read(1, text, digest(text))
    found.to_dict()


def _witness(text: str, folder: Path) -> None:
    _file(lambda _: None, f"{'a' * 64}.json")(text, folder)
    os.environ["DISCREET_WITNESS"] = str(folder)
    try:
        witness.seen("a" * 64)
        witness.recalled("a" * 64)
    finally:
        del os.environ["DISCREET_WITNESS"]


def _report(path: Path) -> None:
    if examined(path.parent).answer()["verified"]:
        raise RuntimeError("a report of one file was verified")


@dataclass(frozen=True)
class Parser:
    """What reads a text in a folder, and valid texts to begin with."""

    read: Callable[[str, Path], Any]
    seeds: tuple[str, ...]


PARSERS = {
    "formula of a promise": Parser(
        lambda text, _: promise_formula.parse(text),
        ("max(0.25/(p*q), 3)", "1.5+sqrt(p-q) if p>q else 2", "min(p, 1e-3) ** 2 - log(q)"),
    ),
    "formula of rows": Parser(
        lambda text, _: formula.parse(text),
        ("cost > 2 and county in ('north', 'it''s')", "bin(cost, [0, 5.5])", "not (a is null)"),
    ),
    "region": Parser(
        lambda text, _: synthetic.Region.parse(text),
        ("RR <= 10 if R <= 0.1; RR <= 1.05 if R >= 0.9", "R + RR <= 0.5"),
    ),
    "spec": Parser(_file(_spec), (_SPEC + _BUDGET, _SPEC + _TOLERANCE)),
    "synthetic spec": Parser(
        _file(lambda path: synthetic_spec.load(path).cells()),
        (
            "account: a\npurpose: t\nsource: d.csv\nprotect: {unit: person, column: p, rows: 1}\n"
            "budget: {epsilon: 2}\ncolumns: [sex, county]\nkeys: {sex: [f, m], county: [n, s]}\n"
            "impossible: [{sex: m, county: n}]\nn_synthetic: 10\n"
            "ledger: sqlite:///l.db\noutput: o\n",
        ),
    ),
    "promise": Parser(
        lambda text, folder: promise_in(load_yaml(text), folder),
        (
            "tolerance: {posterior: 12 %, p: 0.05, about: membership, every_output: true}\n",
            "tolerance:\n  all:\n  - {ratio: 3, q: 1}\n  - {difference: 0.2, box: [0, 1, 0, 1]}\n",
            "profile: max(0.25/(p*q), 3)\nsided: one\nconfidence: 0.99\n",
        ),
    ),
    "survey": Parser(_file(survey_in), (_SURVEY, _SURVEY.replace("auto", "unary"))),
    "reports of a survey": Parser(
        lambda text, _: estimate(
            Survey.of("?", ["yes", "no"], epsilon=1), [line for line in text.splitlines() if line]
        ).to_dict(),
        ("yes\nno\nyes\n",),
    ),
    "parts to compose": Parser(
        _file(_parts), ("- {mechanism: gaussian, sigma: 2, times: 3}\n- {epsilon: 0.1}\n",)
    ),
    "list of keys": Parser(
        _file(lambda path: keys_from_file(path, "a"), "keys.csv"), ('a,b\nx,1\n"y, z",2\n',)
    ),
    "source in CSV": Parser(_file(_source, "data.csv"), ('a,b\nx,1\n"y, z",2\n',)),
    "event": Parser(
        lambda text, _: curve_of_event(event_of(_said(text))),
        (
            '{"event": "GaussianDpEvent", "noise_multiplier": 2.0}',
            '{"event": "SelfComposedDpEvent", "count": 3, "event_": '
            '{"event": "LaplaceDpEvent", "noise_multiplier": 2.0}}',
        ),
    ),
    "distribution": Parser(
        lambda text, _: curve_of_distribution(_said(text)).delta_at(1.0), (json.dumps(_MASSES),)
    ),
    "entry of a ledger": Parser(_entry, (canonical(_ENTRY),)),
    "signed head": Parser(
        lambda text, _: witness.head_in(text, ["k"], "me"),
        (json.dumps({"ledger_id": "a" * 64, "head": "b" * 64, "seq": 3}),),
    ),
    "witness": Parser(_witness, (json.dumps({"head": "b" * 64, "seq": 3}),)),
    "stored release": Parser(_file(_table, "release.json"), (json.dumps(_STORED),)),
    "description": Parser(
        _file(lambda path: read_description(path.parent), "release.json"),
        (json.dumps({"kind": "synthetic", "synthesizer": {"columns": ["a"]}, "columns": ["a"]}),),
    ),
    "statement of a report": Parser(
        _file(_report, "statement.json"), (json.dumps({"identity": {}, "risk": None}),)
    ),
    "evidence of a report": Parser(
        _file(_report, "evidence.json"),
        (json.dumps({"format": 2, "head": "b" * 64, "chain": [{"seq": 1, "body": "{}"}]}),),
    ),
}

# -- how a text is changed, and what is kept


def changed(text: str, kept: Sequence[str], draw: random.Random) -> str:
    """Return a text with up to four parts changed."""
    words = [word for one in (text, draw.choice(kept)) for word in one.replace(":", " ").split()]
    for _ in range(draw.randint(1, 4)):
        start = draw.randint(0, len(text))
        end = min(len(text), start + draw.choice((0, 1, 1, 2, 5, 20, 200)))
        new = draw.choice(
            (
                "",
                text[start:end] * 2,
                draw.choice(_HOSTILE),
                draw.choice(words or [""]),
                chr(draw.choice((draw.randint(32, 126), draw.randint(0, 0xD7FF)))),
                str(draw.choice((draw.randint(-9, 9), draw.random(), 10.0 ** draw.randint(-9, 9)))),
            )
        )
        text = text[:start] + new + text[end:]
    return text


def steps_of(work: Callable[[], Any]) -> set[tuple[str, int, int]]:
    """Do some work; return the steps from line to line that Discreet took for it."""
    taken: set[tuple[str, int, int]] = set()

    def begun(frame: FrameType, _: str, __: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(_ROOT):
            return None
        last = frame.f_lineno

        def stepped(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal last
            if event == "line":
                taken.add((name, last, frame.f_lineno))
                last = frame.f_lineno
            return stepped

        return stepped

    before = sys.gettrace()
    sys.settrace(begun)
    try:
        work()
    finally:
        sys.settrace(before)
    return taken


@dataclass
class Found:
    """What fuzzing a parser found."""

    runs: int = 0
    seeds: int = 0
    steps: set[tuple[str, int, int]] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)


def _fault(parser: Parser, text: str, folder: Path, taken: set[Any]) -> str | None:
    """Read a text; return what is wrong with how it ended, if anything."""
    start = time.process_time()
    said = ""

    def read() -> None:
        nonlocal said
        try:
            parser.read(text, folder)
        except DiscreetError as error:
            said = str(error)

    try:
        taken |= steps_of(read)
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = "" if place is None else f"{place.tb_frame.f_code.co_name}:{place.tb_lineno}"
        return f"{type(error).__name__} at {where}"
    if "\n" in said or len(said) > 3_000:
        return "refused at length"
    return "too slow" if time.process_time() - start > LONGEST else None


def fuzzed(parser: Parser, runs: int, seed: int) -> Found:
    """Fuzz a parser with so many texts."""
    draw, found = random.Random(seed), Found()  # noqa: S311  (texts of a test, not noise)
    with tempfile.TemporaryDirectory(prefix="discreet-fuzzing-") as name:
        for place in range(runs + len(parser.seeds)):
            valid = place < len(parser.seeds)
            # One of the newest every other time: they reached what is new.
            recent = found.kept[-20:] if draw.random() < 0.5 else found.kept
            text = parser.seeds[place] if valid else changed(draw.choice(recent), found.kept, draw)
            taken: set[tuple[str, int, int]] = set()
            fault = _fault(parser, text, Path(name), taken)
            found.runs += 1
            if fault is not None:
                found.faults.setdefault(fault, text)
            if valid or (taken - found.steps and len(text) < 20_000):
                found.kept.append(text)
            found.steps |= taken
            if valid:
                found.seeds = len(found.steps)
    return found


def recorded(rows: dict[str, Found]) -> str:
    """Return the counts as the page on quality shows them."""
    lines = [f"Run on {today()}, version {__version__}:", ""]
    lines += ["| parser | texts | steps by valid ones | steps in all | kept | faults |"]
    lines += ["|---|---:|---:|---:|---:|---:|"]
    for name, one in rows.items():
        counts = (one.runs, one.seeds, len(one.steps), len(one.kept), len(one.faults))
        lines.append(f"| {name} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description="Fuzz every parser by coverage.")
    parser.add_argument("--runs", type=int, default=3000, help="texts for each parser")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=PARSERS, default=list(PARSERS))
    parser.add_argument("--record", action="store_true", help="write the counts to docs/quality.md")
    asked = parser.parse_args(arguments)
    rows: dict[str, Found] = {}
    for name in asked.only:
        rows[name] = fuzzed(PARSERS[name], asked.runs, asked.seed)
        for fault, text in rows[name].faults.items():
            print(f"{name}: {fault}: {text[:300]!r}", file=sys.stderr, flush=True)
    print(recorded(rows))
    if asked.record:
        write_section(QUALITY, "parsers", recorded(rows))
    return 1 if any(one.faults for one in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
