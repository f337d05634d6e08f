"""A spec as a script that makes the same release with OpenDP alone.

    definitions of noise ─ checked by OpenDP's own account ─ rows ─ bounded ─ noise ─ table

The script has the scales that the plan has, and asks OpenDP itself what each draw costs before it
reads a row. Bounding, integer sums and what is made of noisy numbers are written out in plain
Python, to be read by whoever wants to know how a release is made; a release by Discreet is faster,
writes intervals, and is charged to a ledger. Running the script draws new noise, which is a new
release: it has to be charged (`discreet ledger charge`).

Whatever the spec holds is written as a Python literal and never as code.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from discreet.errors import InputError, InternalError, SpecError
from discreet.noise import standalone
from discreet.releases import questions as asked
from discreet.releases.choices import BestOf, QuantileOf
from discreet.releases.engines.base import Bins, Labels, Number, Steps
from discreet.releases.planning import KEYS, Plan, Planned
from discreet.releases.pricing import Priced
from discreet.releases.spec import Spec
from discreet.releases.statistics import CountOf, HistogramOf, Moments, RandomizedOf, SumOf

__all__ = ["opendp_script", "script_of", "write_script"]

_COPIED = "# -- copied from here on\n"


def opendp_script(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    data: Any = None,
    folder: str | Path | None = None,
) -> str:
    """Return the text of a script that makes the release of a spec with OpenDP alone.

    Only the schema of the source is read; nothing is charged and nothing is drawn.
    """
    from discreet.releases.pipeline import Preview, release

    shown = release(spec, data=data, folder=folder, dry_run=True)
    if not isinstance(shown, Preview):
        raise InternalError("a dry run made a release.")
    return script_of(shown.plan)


def script_of(plan: Plan) -> str:
    """Return the script of a plan."""
    lines = [
        "#!/usr/bin/env python3",
        *_head(plan),
        _shared(),
        *_noise(plan),
        *_release(plan),
        *_TAIL,
    ]
    return "\n".join(lines) + "\n"


def write_script(text: str, path: Path) -> None:
    """Write a script whole or not at all, readable and executable by its owner."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=".opendp-", delete=False
        ) as beside:
            beside.write(text)
        Path(beside.name).chmod(0o755)
        shutil.move(beside.name, path)
    except OSError as error:
        with suppress(NameError, OSError):
            Path(beside.name).unlink()
        raise InputError(f"the script cannot be written to {path}: {error.strerror}.") from None


def _said(value: Any) -> str:
    """Return a value as a Python literal in ASCII, on one line."""
    return ascii(value)


def _head(plan: Plan) -> list[str]:
    spec = plan.spec
    unit = spec.protect
    spends = "; ".join(str(charge) for charge in plan.pricing.charges)
    lines = [
        "# The release below, made with OpenDP alone; written by Discreet from its spec.",
        "#",
        f"#   purpose:  {_said(spec.purpose)}",
        f"#   account:  {_said(spec.account)}",
        f"#   protects: {unit.unit}, {unit.adjacency}, columns {_said(unit.column)}",
        f"#   spends:   {spends}",
        f"#   spec:     sha256 {spec.hash}",
        "#",
        "# Running it draws new noise: that is a new release, which counts against the same",
        "# people. Charge it first with `discreet ledger charge`, and run it once.",
        "#",
        "#   python3 SCRIPT DATA.csv > table.csv",
        "#",
        f"# Needs OpenDP (made for {version('opendp')}), and DuckDB for Parquet. Values have no",
        "# intervals. Bounding is drawn for each statistic anew, as the promise allows.",
        "",
    ]
    return [line.encode("ascii", "backslashreplace").decode() for line in lines]


def _shared() -> str:
    text = Path(standalone.__file__).read_text(encoding="utf-8")
    return text.split(_COPIED, 1)[1].strip() + "\n\n"


def _noise(plan: Plan) -> list[str]:
    """Each draw, by name, with its scale; OpenDP says what it costs when it is made."""
    lines = ["# " + "-" * 66 + " this release", "", f"UNIT = {_said(plan.spec.protect.column)}", ""]
    lines += ["def noise() -> dict[str, Any]:", '    """Every draw; each is checked."""']
    lines += ["    return {"]
    for planned in plan.statistics:
        for name, call in plan.calls(planned.name).items():
            key = f"{planned.name}/{name}"
            lines.append(f"        {_said(key)}: {_call(key, planned, call)},")
    return [*lines, "    }", "", ""]


def _call(key: str, planned: Planned, call: Priced) -> str:
    part, scale = call.asked.part, f"scale={call.scale!r}"
    name = _said(key)
    if part.form == "choice":
        price = f"rho={call.rho!r}" if call.epsilon is None else f"epsilon={call.epsilon!r}"
        best = isinstance(planned.statistic, BestOf)
        return f"selection({name}, {scale}, changes={_changes(planned)}, monotonic={best}, {price})"
    if call.mechanism == "gaussian":
        return f"gaussian({name}, {scale}, l2_squared={_whole(part.l2_squared)}, rho={call.rho!r})"
    return f"laplace({name}, {scale}, l1={_whole(part.l1)}, epsilon={call.epsilon!r})"


def _whole(exact: Fraction) -> int:
    if exact.denominator != 1:
        raise SpecError(f"a sensitivity of {exact} is not whole, and no script can be written.")
    return exact.numerator


def _changes(planned: Planned) -> list[int]:
    """The most that a unit moves a score, in each group that it may touch."""
    statistic, bounds = planned.statistic, planned.contribution
    twice = bounds.l1() // bounds.total
    if isinstance(statistic, BestOf):
        return [bounds.l1(max(statistic.prices))]
    size = statistic.size if isinstance(statistic, QuantileOf) else 1
    full, rest = divmod(bounds.total, bounds.rows_per_group)
    rows = [bounds.rows_per_group] * full + ([rest] if rest else [])
    return [twice * size * count for count in rows]


def _release(plan: Plan) -> list[str]:
    lines = ["def release(data: list[Row], draw: dict[str, Any]) -> Table:"]
    lines += ['    """Every statistic, one after another."""']
    lines += [f"    table = Table({_said(plan.columns())})"]
    for planned in plan.statistics:
        lines += ["", f"    # {_said(planned.statistic.explain())}"]
        lines += [f"    {line}" for line in _statistic(plan, planned)]
    return [*lines, "    return table", "", ""]


def _statistic(plan: Plan, planned: Planned) -> Iterator[str]:
    statistic, bounds = planned.statistic, planned.contribution
    name, by = planned.name, planned.by
    yield f"by = {_said(by)}"
    if planned.found_by is not None:
        yield from _found(plan, planned)
    elif planned.cells is None:
        yield "cells: Cells = [()]"
    else:
        columns = [tuple(dict.fromkeys(column)) for column in zip(*planned.cells.keys, strict=True)]
        yield f"cells = cells_of({', '.join(_said(list(column)) for column in columns)})"
    rows = bounds.rows if by else min(bounds.rows, bounds.rows_per_group)
    limits = f"rows={rows}, groups={bounds.groups}, rows_per_group={bounds.rows_per_group}"
    yield f"kept = bounded(placed(data, by, cells), UNIT, {limits})"
    yield from _values(name, statistic)


def _found(plan: Plan, planned: Planned) -> Iterator[str]:
    payer = str(planned.found_by)
    kept = f"found_{_said(planned.by).encode().hex()[:40]}"
    if payer == planned.name:
        call = plan.calls(payer)[KEYS]
        groups = planned.contribution.once_per_group().groups
        yield (
            f"{kept} = found_keys(data, UNIT, by, groups={groups}, threshold={call.threshold}, "
            f"noise=draw[{_said(f'{payer}/{KEYS}')}])"
        )
    yield f"cells = {kept}"


def _field(field: Any) -> str:
    if isinstance(field, Number):
        step = float(field.resolution)
        return f"multiple({_said(field.column)}, {field.low}, {field.high}, {step!r})"
    if isinstance(field, Bins):
        return f"between({_said(field.column)}, {list(field.edges)!r})"
    if isinstance(field, Steps):
        ladder = f"{field.start!r}, {field.step!r}, {field.size}, {field.cap!r}"
        return f"ladder({_said(field.column)}, {ladder})"
    if isinstance(field, Labels):
        return f"label({_said(field.column)}, {_said(list(field.labels))})"
    raise SpecError("a field of this statistic cannot be written as a script.")


def _fraction(value: Fraction) -> str:
    return f"Fraction({value.numerator}, {value.denominator})"


def _values(name: str, statistic: Any) -> Iterator[str]:
    """The lines that measure a statistic, draw its noise and put its values in the table."""

    def drawn(part: str) -> str:
        return f"draw[{_said(f'{name}/{part}')}]"

    each = "for key, value in zip(cells, noisy, strict=True):"
    add = f"table.add({_said(name)}, dict(zip(by, key, strict=True))"
    if isinstance(statistic, CountOf):
        yield f"noisy = {drawn('count')}(counts(kept, len(cells)))"
        yield each
        yield f"    {add}, value)"
    elif isinstance(statistic, SumOf):
        yield f"field = {_field(statistic.number)}"
        yield f"noisy = {drawn('sum')}(sums(kept, len(cells), field))"
        yield each
        yield f"    {add}, value * {_fraction(statistic.number.resolution)})"
    elif isinstance(statistic, Moments):
        yield from _moments(statistic, drawn, add)
    elif isinstance(statistic, HistogramOf | RandomizedOf):
        yield from _tallies(statistic, drawn, add)
    else:
        yield from _choice(statistic, drawn, add)


def _moments(statistic: Moments, drawn: Any, add: str) -> Iterator[str]:
    number, reach, centre = statistic.number, statistic.reach, statistic.centre
    step = number.resolution
    yield f"field = {_field(number)}"
    yield f"count = {drawn('count')}(counts(kept, len(cells), field))"
    yield f"total = {drawn('sum')}(sums(kept, len(cells), field, {centre}))"
    if not statistic.second:
        yield "for key, n, s in zip(cells, count, total, strict=True):"
        yield f"    value = average(s, n, {reach}, signed=True)"
        yield f"    {add}, ({centre} + value) * {_fraction(step)})"
        return
    yield f"squares = {drawn('squares')}(sums(kept, len(cells), field, {centre}, 2))"
    yield "for key, n, s, q in zip(cells, count, total, squares, strict=True):"
    yield f"    {add}, spread(q, s, n, {reach}) * {_fraction(step**2)})"


def _tallies(statistic: HistogramOf | RandomizedOf, drawn: Any, add: str) -> Iterator[str]:
    (measure,) = statistic.measures()
    assert measure.field is not None  # noqa: S101  (a tally always has one)
    size, (column,) = measure.field.size, statistic.extra
    labels = [row.labels[0] for row in _labels(statistic)]
    yield f"tallied = tally(kept, len(cells), {_field(measure.field)}, {size})"
    yield f"noisy = {drawn('count')}([n for cell in tallied for n in cell])"
    yield f"labels = {_said(labels)}"
    yield "for place, key in enumerate(cells):"
    yield f"    given = noisy[{size} * place : {size} * place + {size}]"
    shown = "given"
    if isinstance(statistic, RandomizedOf):
        shown = f"unbiased(given, {_fraction(Fraction(repr(statistic.entry.keep)))})"
    yield f"    for label_, value in zip(labels, {shown}, strict=True):"
    yield f"        {add} | {{{_said(column)}: label_}}, value)"


def _labels(statistic: HistogramOf | RandomizedOf) -> list[Any]:
    """The rows of one made-up cell: their labels are those of every cell."""
    from discreet.releases.statistic import Noisy

    assumed = statistic.assumed(0)
    return statistic.answers({name: Noisy(v, 0, 0.0) for name, v in assumed.items()}, 0.95)[0]


def _choice(statistic: Any, drawn: Any, add: str) -> Iterator[str]:
    field = statistic.measures()[0].field
    low = f", {field.low}" if isinstance(field, Number) else ""
    yield f"tallied = tally(kept, len(cells), {_field(field)}, {field.size}{low})"
    yield "for key, cell in zip(cells, tallied, strict=True):"
    if isinstance(statistic, QuantileOf):
        number = statistic.number
        yield f"    place = {drawn('choice')}(ranks(cell, {_fraction(statistic.share)}))"
        yield f"    {add}, ({number.low} + place) * {_fraction(number.resolution)})"
        return
    if isinstance(statistic.entry, asked.Best) and statistic.entry.score == "count":
        yield f"    place = {drawn('choice')}(cell)"
        yield f"    chosen = {_said(list(field.labels))}[place]"
        yield f"    {add} | {{{_said(statistic.entry.of)}: chosen}}, None)"
        return
    yield f"    prices = {list(statistic.prices)!r}"
    yield f"    place = {drawn('choice')}(revenues(cell, prices))"
    yield f"    {add}, prices[place] * {_fraction(statistic.step)})"


_TAIL = [
    "def main() -> None:",
    '    """Check what the noise costs, read, release, and print the table."""',
    "    if len(sys.argv) != 2:",
    '        stop("give the data: a CSV or Parquet file.")',
    "    draw = noise()",
    "    release(read(sys.argv[1]), draw).write(sys.stdout)",
    "",
    "",
    'if __name__ == "__main__":',
    "    main()",
]
