"""`discreet init`: a commented spec to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.flags import Json, described
from discreet.cli.output import emit
from discreet.errors import InputError
from discreet.words import say

__all__ = ["TEMPLATE", "command"]

TEMPLATE = """\
# The spec of a release. Try it first: discreet release release.yaml --dry-run
account: my-population          # who is charged; new data and joins of it charge the same account
purpose: what this release is for
source: data.csv                # .csv, .parquet or duckdb:///file.db?table=t, beside this file

protect:
  unit: person                  # person | household | record | partition (e.g. a person's day)
# name: one patient             # how statements speak of it
  column: person_id             # the column that names the unit; several for a partition
  adjacency: add-remove         # or replace
  rows: 4                       # most rows of one unit that count in a statistic
  groups: 2                     # most groups that they may fall in
  rows_per_group: 2             # most rows in one of them

tolerance:                      # what is promised of everything charged to the account; or a budget
  posterior: 0.25               # nobody becomes more than 25 % sure that someone is in the data …
  unless_ratio: 3               # … unless their belief grows at most threefold
  about: membership             # the worry is being in the data; or value, or both
  every_output: true            # for every possible output; or confidence: 0.99 with delta: 1e-6
# budget: {epsilon: 1}          # instead of a promise; or {rho: 0.1}
# series: {releases: 12}        # this is one of twelve releases: spend a twelfth of the promise

statistics:                     # bounds and keys must be public: they must not come from these data
  - count: rows                 # or units
    by: [region]
    keys: {region: [north, south, east, west]}   # or a CSV file of them
  - {sum: amount, bounds: [0, 500], resolution: 0.01, weight: 2}
# - {mean: amount, bounds: [0, 500], resolution: 0.01}
# - {variance: amount, bounds: [0, 500], resolution: 0.01}
# - {quantile: amount, at: 0.5, bounds: [0, 500], resolution: 1}
# - {histogram: amount, edges: [0, 50, 100, 500]}
# - {count: units, within: {error: 20, confidence: 0.95}}

mechanism: auto                 # auto | geometric | gaussian
nulls: drop                     # rows with nulls are left out; or refuse
interval: 0.95                  # of the printed error intervals
ledger: sqlite:///ledger.db
output: out/
"""


@described("init")
def command(
    file: Annotated[Path, typer.Argument()] = Path("release.yaml"), as_json: Json = False
) -> None:
    """Write a commented spec to start from; an existing file is left alone."""
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(TEMPLATE)
    except FileExistsError:
        raise InputError("cli.file_exists", file=file) from None
    except OSError as error:
        raise InputError("cli.file_unwritable", file=file, why=error.strerror) from None
    emit({"file": str(file.resolve())}, [say("cli.init.wrote", file=file)], as_json)
