"""A summary of a table: every column with its public type and bounds, from one release.

What is public about a column is declared, never found: `bounds` (and perhaps a `resolution`) of a
number, or the `keys` of a text. From that a spec is written: how many rows and units there are; for
a number how many values are present, and its quantiles; for a text how many rows each key has. The
spec is charged and released like any other, once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError, model_validator

from discreet.errors import SpecError
from discreet.frames import Tabular, columns_from
from discreet.reading import write_new
from discreet.releases.charge import Say
from discreet.releases.engines import is_csv
from discreet.releases.models import Closed, Keys, Pair, refusal
from discreet.releases.pipeline import Preview, Release, release
from discreet.releases.planning import Plan
from discreet.releases.quotients import Sum
from discreet.releases.spec import Spec, load
from discreet.releases.statistics.histogram import Histogram
from discreet.releases.statistics.quantiles import Quantiles
from discreet.releases.statistics.values import decimal
from discreet.words import say as text

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of a number."""

_NEARLY_ALL = 0.9  # Of the rows of a column, by the intervals.
_STEPS = 500  # A resolution that is not given has about so many steps between the bounds.
_ANY = Histogram(histogram="any", edges=(-1e300, 1e300))  # Its one bin has all numbers.


class Known(Closed):
    """What is public about a column: bounds of a number, or keys of a text."""

    bounds: Pair | None = None
    resolution: float | None = Field(default=None, gt=0)
    keys: Keys | None = None

    @model_validator(mode="after")
    def _one(self) -> Known:
        if (self.bounds is None) == (self.keys is None):
            raise SpecError("releases.summary.bounds_or_keys")
        low, high = self.bounds or (0.0, 1.0)
        if not low < high:
            raise SpecError("releases.spec.bounds_order", low=low, high=high)
        if self.resolution is None and math.isinf(high - low):
            raise SpecError("releases.rows.too_fine")
        return self


@dataclass(frozen=True, slots=True)
class Summary(Tabular):
    """The columns of a table as they were released, with the release and its spec."""

    release: Release
    columns: tuple[Mapping[str, Any], ...] = field(repr=False)

    @property
    def spec(self) -> Spec:
        """The spec that was released."""
        return self.release.plan.spec

    @property
    def unclear(self) -> tuple[str, ...]:
        """Say which columns have hardly a listed key, and which numbers the noise hides.

        These are counts that may be 0, and quantiles that may be any.
        """
        hidden, unlisted = Counter[str](), []
        named = self.spec.named()
        bounds = {one.name: one.bounds for one in named if isinstance(one, Quantiles)}
        (every,) = (row for row in self.columns[0]["rows"] if row["what"] == "rows")
        for one in self.columns:
            missing = next((row for row in one["rows"] if row["what"] == "missing"), None)
            keys = any(row["what"] == "keys" for row in one["rows"])
            if keys and missing and missing["interval_low"] > _NEARLY_ALL * every["interval_high"]:
                unlisted.append(text("releases.summary.unlisted", column=one["column"]))
                continue
            for row in one["rows"]:
                low, high = row["interval_low"], row["interval_high"]
                if row["what"] == "quantiles":
                    least, most = bounds[f"quantiles of {one['column']}"]
                    hidden["quantiles"] += low <= least and high >= most
                elif row["what"] != "missing":
                    hidden["counts"] += low <= 0
        found = (text(f"releases.summary.hidden_{name}", n=n) for name, n in hidden.items() if n)
        return (*unlisted, *found)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON-ready values."""
        made = self.release.to_dict()
        kept = ("release_id", "spent", "remaining", "files", "statement", "head", "cut")
        return {name: made[name] for name in kept} | {
            "columns": [dict(c) for c in self.columns],
            "unclear": list(self.unclear),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each number of each column."""
        return columns_from(
            {"column": one["column"], **row} for one in self.columns for row in one["rows"]
        )

    def __repr__(self) -> str:
        return f"Summary({self.release.release_id!r}, {len(self.columns)} columns)"


def summarize(
    source: str | Path | Mapping[str, Any] | None,
    columns: Mapping[str, Any],
    *,
    account: str,
    protect: Mapping[str, Any],
    ledger: str,
    output: str | Path = "out",
    data: Any = None,
    folder: str | Path | None = None,
    write: str | Path | None = None,
    dry_run: bool = False,
    confirm: bool = False,
    say: Say | None = None,
    before_charge: Callable[[Preview], None] | None = None,
    who: str | None = None,
    **promise: Any,
) -> Summary | Preview:
    """Release a summary of every column that is described; the spec is written to `write`.

    `source` is a path or URL, or the mapping that a spec has there. `columns` maps a column to what
    is public about it: `{"bounds": [0, 120]}` or `{"keys": ["f", "m"]}`. `protect` is that of a
    spec. `promise` has either `tolerance` or `budget`, and perhaps `cut`, as in a spec. `confirm`,
    `say`, `before_charge` and `who` are those of a release. If `write` is a file that holds
    the very same spec, as a dry run left it, it stays; any other file is refused.
    """
    place = Path(folder) if folder else Path.cwd()
    asked = summary_spec(source, columns, account, protect, ledger, output, promise)
    spec = load(asked, folder=place)
    wrote = write is not None and _written(place / write, spec.to_yaml())
    try:
        how: dict[str, Any] = {"confirm": confirm, "say": say, "before_charge": before_charge}
        made = release(spec, data=data, dry_run=dry_run, who=who, **how)
    except BaseException:
        if write is not None and wrote:
            (place / write).unlink(missing_ok=True)
        raise
    if not isinstance(made, Release):
        return made  # type: ignore[return-value]  # a preview; a spec without a plan is no repeat
    return Summary(made, tuple(_told(made, name) for name in ("", *columns)))


def _written(path: Path, spec: str) -> bool:
    """Write a spec to a new file; False where the file holds the same already."""
    with suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="utf-8") == spec:
            return False
    write_new(path, spec)
    return True


def summary_spec(
    source: str | Path | Mapping[str, Any] | None,
    columns: Mapping[str, Any],
    account: str,
    protect: Mapping[str, Any],
    ledger: str,
    output: str | Path,
    promise: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the spec of a summary, as it would be written."""
    statistics: list[dict[str, Any]] = [{"count": "rows", "name": "rows"}]
    if protect.get("unit") != "record":
        statistics.append({"count": "units", "name": "units"})
    numbers: list[str] = []
    for name, said in columns.items():
        try:
            known = Known.model_validate(said)
        except ValidationError as error:
            words = ("releases.summary.unknown_key", "releases.spec.missing_key")
            fault = refusal(
                error, unknown=words[0], missing=words[1], schema=Known.model_json_schema
            )
            raise SpecError("releases.summary.column", column=name, says=str(fault)) from None
        statistics += _entries(name, known)
        numbers += [] if known.bounds is None else [name]
    return {
        "account": account,
        "purpose": f"summary of {len(columns)} columns",
        **({} if source is None else {"source": _typed(source, numbers)}),
        "protect": dict(protect),
        **promise,
        "statistics": statistics,
        "ledger": ledger,
        "output": str(output),
        "labels": dict.fromkeys(_ANY.labels, text("releases.summary.any_number")),
    }


def _typed(source: str | Path | Mapping[str, Any], numbers: Sequence[str]) -> Any:
    """Return the source as a spec has it; a CSV file's columns with bounds are declared numbers."""
    said = dict(source) if isinstance(source, Mapping) else {"path": str(source)}
    types: Any = said.get("types", {})
    if numbers and is_csv(str(said.get("path", ""))) and isinstance(types, Mapping):
        return said | {"types": dict.fromkeys(numbers, "number") | dict(types)}
    return said if isinstance(source, Mapping) else str(source)


def _entries(name: str, known: Known) -> list[dict[str, Any]]:
    if known.keys is not None:
        keys = known.keys if isinstance(known.keys, str) else list(known.keys)
        return [{"count": "rows", "by": [name], "keys": {name: keys}, "name": f"keys of {name}"}]
    low, high = known.bounds or (0.0, 1.0)
    asked = {
        "of": name,
        "at": list(SHARES),
        "bounds": [low, high],
        "resolution": known.resolution or _step(low, high),
    }
    return [
        {"histogram": name, "edges": list(_ANY.edges), "name": f"present in {name}"},
        {"quantiles": asked, "name": f"quantiles of {name}"},
    ]


def _step(low: float, high: float) -> float:
    """Return 1, 2 or 5 times a power of ten, of which about 500 lie between the bounds.

    >>> _step(0, 120), _step(0, 50_000), _step(-1, 1)
    (0.5, 100.0, 0.005)
    """
    raw = (high - low) / _STEPS
    power = 10.0 ** math.floor(math.log10(raw))
    size = next(n for n in (1, 2, 5, 10) if n * power >= raw * (1 - 1e-9))
    return float(decimal(size * power)) if size * power >= 1 else float(f"{size * power:.12g}")


def _told(made: Release, name: str) -> dict[str, Any]:
    """Return what was released of one column, or ("") of the whole table."""
    columns = made.to_columns()
    wanted = [f"present in {name}", f"quantiles of {name}", f"keys of {name}"]
    names: Sequence[str] = wanted if name else ["rows", "units"]
    rows = []
    for place, statistic in enumerate(columns["statistic"]):
        if statistic not in names:
            continue
        what = str(statistic).split(" of ")[0].split(" in ")[0] if name else str(statistic)
        label = f"{columns['at'][place]:g}" if what == "quantiles" else None
        if what == "keys":
            label = columns[name][place]
        ends = {end: columns[end][place] for end in ("value", "interval_low", "interval_high")}
        rows.append({"what": what, "label": label, **ends})
    if name:
        # What is not there: of a text, also what is none of its keys. A difference of noisy counts.
        counted = Counter(one for one in columns["statistic"] if one in {"rows", *names})
        del counted[f"quantiles of {name}"]
        every = columns["value"][columns["statistic"].index("rows")]
        value = every - math.fsum(row["value"] for row in rows if row["what"] != "quantiles")
        within = _within(made.plan, counted)
        ends = {"interval_low": value - within, "interval_high": value + within}
        rows.append({"what": "missing", "label": None, "value": value, **ends})
    return {"column": name or None, "rows": rows}


def _within(plan: Plan, counted: Mapping[str, int]) -> int:
    """What the noise in a sum of so many counts of these statistics stays within, signs aside."""
    calls = [(call.law, times) for n, times in counted.items() for call in plan.calls(n).values()]
    noise = Sum((law, np.ones(1), np.full(1, float(times))) for law, times in calls)
    return math.floor(noise.half_width(plan.spec.interval))
