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
from importlib.metadata import version
from pathlib import Path
from typing import Any

from discreet.errors import InputError, SpecError
from discreet.laws import DiscreteGaussian, Geometric
from discreet.noise import standalone
from discreet.releases.engines.base import fields
from discreet.releases.pipeline import preview
from discreet.releases.planning import Plan, Planned
from discreet.releases.pricing import Priced
from discreet.releases.source import options_of
from discreet.releases.spec import Spec
from discreet.releases.statistics.base import ScriptLines

_COPIED = "# -- copied from here on\n"


def opendp_script(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    data: Any = None,
    folder: str | Path | None = None,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> str:
    """Return the text of a script that makes the release of a spec with OpenDP alone.

    Only the schema of the source is read; nothing is charged and nothing is drawn. `changes` set
    keys of the spec, as in `release`.
    """
    plan = preview(spec, data, folder=folder, keys_from=keys_from, changes=changes).plan
    if plan.limits:
        raise SpecError("releases.script.no_choice")
    if plan.spec.reshaped:
        raise SpecError("releases.script.no_formulas")
    written = _written(plan)
    copied = Path(standalone.__file__).read_text(encoding="utf-8").split(_COPIED, 1)[1].strip()
    head, shared = ["#!/usr/bin/env python3", *_head(plan)], copied + "\n\n"
    return "\n".join([*head, shared, *_noise(plan), *written, *_release(plan), *_TAIL]) + "\n"


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
        raise InputError("releases.script.unwritten", path=path, reason=error.strerror) from None


def _head(plan: Plan) -> list[str]:
    spec = plan.spec
    unit = spec.protect
    spends = "; ".join(str(charge) for charge in plan.pricing.charges)
    lines = [
        "# The release below, made with OpenDP alone; written by Discreet from its spec.",
        "#",
        f"#   purpose:  {spec.purpose!a}",
        f"#   account:  {spec.account!a}",
        f"#   protects: {unit.unit}, {unit.adjacency}, columns {unit.column!a}",
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


def _written(plan: Plan) -> list[str]:
    """How the CSV file is written; refuse columns with declared values that a script cannot read.

    Keys are compared as texts, or as whole numbers where they are declared so.
    """
    source = options_of(plan.spec.source)
    by = {column for one in plan.statistics for column in one.by}
    measures = (m for one in plan.statistics for m in one.statistic.measures())
    used = by | {field.column for measure in measures for field in fields(measure)}
    for column in sorted(used & source.types.keys()):
        known = ("text", "integer") if column in by else ("text", "integer", "number")
        if (declared := source.types[column]) not in known:
            raise SpecError("releases.script.no_type", column=column, type=declared)
    named = ("delimiter", "encoding", "nulls", "decimal", "grouping")
    said = {name: getattr(source, name) for name in named}
    said = {name: value for name, value in said.items() if value != standalone.WRITTEN[name]}
    said["columns"] = sorted(used.union(plan.spec.protect.column))
    if whole := sorted(column for column in used if source.types.get(column) == "integer"):
        said["whole"] = whole
    return [f"WRITTEN.update({said!a})", "", ""]


def _noise(plan: Plan) -> list[str]:
    """Each draw, by name, with its scale; OpenDP says what it costs when it is made."""
    lines = ["# " + "-" * 66 + " this release", "", f"UNIT = {plan.spec.protect.column!a}", ""]
    lines += ["def noise() -> dict[str, Any]:", '    """Every draw; each is checked."""']
    lines += ["    return {"]
    for call in plan.pricing.calls:
        key = f"{call.asked.statistic}/{call.asked.part.name}"
        lines.append(f"        {key!a}: {_call(key, call)},")
    return [*lines, "    }", "", ""]


def _call(key: str, call: Priced) -> str:
    part, scale = call.asked.part, f"scale={call.scale!r}"
    name = ascii(key)
    if part.form == "choice":
        price = f"rho={call.rho!r}" if call.epsilon is None else f"epsilon={call.epsilon!r}"
        changes = f"changes={list(part.changes)}, monotonic={part.monotone}"
        return f"selection({name}, {scale}, {changes}, {price})"
    if isinstance(call.law, DiscreteGaussian):
        return f"gaussian({name}, {scale}, l2_squared={part.l2_squared}, rho={call.rho!r})"
    if isinstance(call.law, Geometric):
        return f"laplace({name}, {scale}, l1={part.l1}, epsilon={call.epsilon!r})"
    raise SpecError("releases.script.no_noise", mechanism=call.mechanism)


def _release(plan: Plan) -> list[str]:
    lines = ["def release(data: list[Row], draw: dict[str, Any]) -> Table:"]
    lines += ['    """Every statistic, one after another."""']
    lines += [f"    table = Table({plan.columns()!a})"]
    for planned in plan.statistics:
        lines += ["", f"    # {planned.statistic.explain()!a}"]
        lines += [f"    {line}" for line in _statistic(plan, planned)]
    return [*lines, "    return table", "", ""]


def _statistic(plan: Plan, planned: Planned) -> Iterator[str]:
    bounds, by = planned.contribution, planned.by
    yield f"by = {by!a}"
    if planned.searches:
        yield from _found(plan, planned)
    elif planned.cells is None:
        yield "cells: Cells = [()]"
    else:
        columns = [tuple(dict.fromkeys(planned.cells.column(name))) for name in by]
        yield f"cells = cells_of({', '.join(ascii(list(column)) for column in columns)})"
    rows = bounds.rows if by else min(bounds.rows, bounds.rows_per_group)
    limits = f"rows={rows}, groups={bounds.groups}, rows_per_group={bounds.rows_per_group}"
    yield f"kept = bounded(placed(data, by, cells), UNIT, {limits})"
    yield from planned.statistic.script(ScriptLines(planned.name))


def _found(plan: Plan, planned: Planned) -> Iterator[str]:
    (search, *others), payer = planned.searches, planned.searches[0].payer
    if others or search.sought.most or planned.statistic.public_keys:
        raise SpecError("releases.script.known_keys", statistic=planned.name)
    kept = f"found_{ascii(planned.by).encode().hex()[:40]}"
    if payer == planned.name:
        groups = planned.contribution.once_per_group().groups
        yield (
            f"{kept} = found_keys(data, UNIT, by, groups={groups}, "
            f"threshold={plan.searches[search].threshold}, "
            f"noise=draw[{f'{payer}/{search.sought.part}'!a}])"
        )
    yield f"cells = {kept}"


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
