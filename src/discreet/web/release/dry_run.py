"""A spec before its charge: the dry run, and what it is shown with.

The dry run reads the schema; whether the charge fits, its preview says, as the ledger decides it
when the release is made. Nothing is decided here, and nothing looks at a row. The yes that follows
is in `confirmations`.

Of a synthetic file it is shown what it keeps of the data, and what it can tell at the most. In the
plane of R (how sure an intruder may be of a record's value) and RR (how many times as sure as
before) the budget alone says where every record of every file lies; a region of that plane that is
acceptable can be held against it. The region is not stored: who knows it can try values until one
fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from discreet.errors import DiscreetError, InputError, SpecError
from discreet.reading import yaml_values
from discreet.rounding import percent
from discreet.statements.presenter import accuracy_lines, budget_text, learned_facts
from discreet.web.forms import Number, share
from discreet.web.release.spec_form import is_synthetic
from discreet.web.screens import How, how
from discreet.web.workfolder import Workfolder
from discreet.words import say

if TYPE_CHECKING:
    from discreet.ledger import Ledger
    from discreet.releases import Preview, Spec
    from discreet.releases.charge import Outlook
    from discreet.synthetic import Synthesis
    from discreet.synthetic.spec import SyntheticSpec

_MOST_LINES = 8  # of errors in one chart
_PRIORS = (0.1, 0.5, 0.9)
_PERCENT = Number(low=0, high=100, unit="percent", optional=True)


@dataclass(frozen=True, slots=True)
class Look:
    """A dry run, of a table or of a synthetic file, and the head of the ledger beside it."""

    spec: Spec | SyntheticSpec
    preview: Preview | Synthesis
    outlook: Outlook
    said: dict[str, Any]
    head: str

    @property
    def ready(self) -> bool:
        """Whether the release could be made now."""
        return self.outlook.after is not None

    @property
    def notices(self) -> tuple[str, ...]:
        """What has to be read before the charge: that it is made again, or on another account."""
        return tuple(one for one in (self.outlook.elsewhere, self.outlook.again) if one)

    @property
    def written(self) -> tuple[str, ...]:
        """How the source is taken to be written."""
        made: Any = self.preview
        found: tuple[str, ...] = made.plan.as_written if hasattr(made, "plan") else made.written
        return found

    @property
    def told(self) -> tuple[str, ...]:
        """The other warnings and notes, those that a job is told."""
        made: Any = self.preview
        in_short = made.plan.in_short if hasattr(made, "plan") else made.in_short
        shown = {*self.written, *in_short, *self.notices}
        return tuple(one for one in self.preview.unasked if one not in shown)

    @property
    def learned(self) -> dict[str, Any] | None:
        """What may be learned from everything charged, this included; a table."""
        most = self.outlook.learned if self.ready else None
        return None if most is None else learned_facts(most.to_dict())


def read(folder: Workfolder, text: str, *, from_file: bool = False) -> Spec | SyntheticSpec:
    """Return the spec in a YAML text, confined to the folder, or refuse it."""
    from discreet.releases import load
    from discreet.synthetic.spec import load as load_synthetic

    values = yaml_values(text, say("web.spec.is"), SpecError)
    if not isinstance(values, dict):
        raise SpecError("web.spec.mapping")
    try:
        repr(values).encode()
    except UnicodeEncodeError:  # YAML may write half of a character as an escape
        raise SpecError("web.spec.no_characters") from None
    spec: Spec | SyntheticSpec
    if is_synthetic(values):
        spec = load_synthetic(values, folder=folder.root)
    else:
        spec = load(values, folder=folder.root)
    folder.confine(spec, from_file=from_file)
    return spec


def named_ledger(folder: Workfolder, name: str, file: str) -> tuple[str, Ledger]:
    """Return a ledger of the folder, by its own name or by the spec file that names it."""
    from discreet.ledger import Ledger

    if file:
        spec = read(folder, folder.spec_text(file), from_file=True)
        return file, Ledger.open(spec.ledger_url)
    if not name:
        raise InputError("web.ledger.unnamed")
    plain = name.removeprefix("sqlite:///")
    if not folder.inside(plain, "ledger").is_file():
        raise InputError("web.ledger.unknown", name=plain[:200])
    return plain, Ledger.open(folder.ledger_url(plain))


def look(folder: Workfolder, spec: Spec | SyntheticSpec) -> Look:
    """Run a spec dry and ask its ledger; nothing is read but the schema, and nothing is spent."""
    from discreet.ledger import Ledger
    from discreet.releases import Preview, Spec, release
    from discreet.releases.source import options_of
    from discreet.synthetic import Synthesis, synthesize

    if spec.located is not None and "://" not in spec.located:
        folder.screened(spec.located, options_of(spec.source))
    # Whether a second run is meant is asked before the charge.
    how: dict[str, Any] = {"dry_run": True, "confirm": True}
    made = release(spec, **how) if isinstance(spec, Spec) else synthesize(spec, **how)
    seen = made.outlook if isinstance(made, (Preview, Synthesis)) else None
    if seen is None or not isinstance(made, (Preview, Synthesis)):  # pragma: no cover
        raise TypeError("a dry run made a release")
    return Look(spec, made, seen, made.to_dict(), Ledger.open(spec.ledger_url).head)


# -- what it is shown with


def in_words(found: Look, region: Mapping[str, str]) -> dict[str, Any]:
    """Return what a dry run is shown with; `region` has what is acceptable of a file, as typed."""
    from discreet.releases import Preview

    if isinstance(found.preview, Preview):
        return _as_table(found)
    return _as_file(found) | _judged(found, region)


def _how(name: str, command: str, what: str) -> How:
    python = f'discreet.{command}("spec.yaml", dry_run=True).{what}'
    return how(name, python=python, command=f"discreet {command} spec.yaml --dry-run")


def _as_table(found: Look) -> dict[str, Any]:
    """Return the errors of a table's statistics.

    The chart has those statistics whose error does not depend on their size.
    """
    from discreet.charts import error_spec, relative_error_spec

    rows = found.said["accuracy"]
    widths = {row["statistic"]: row["half_width"] for row in rows if row.get("half_width")}
    errors = relative_error_spec(widths) if widths else None
    return {
        "accuracy": accuracy_lines(found.said),
        "errors": error_spec(rows) if len(widths) > _MOST_LINES else errors,  # margins: bars
        "how_charged": _how("charged", "release", "spent"),
        "how_accurate": _how("accurate", "release", "plan.accuracy()"),
    }


def _as_file(found: Look) -> dict[str, Any]:
    """Return what a synthetic file is, how much of it is blur, and what it can tell at the most."""
    made: Any = found.preview
    law = made.synthesizer
    blur = say("web.synthetic.no_size")
    if made.prior_share is not None:
        blur = percent(made.prior_share, "up", 1)
    records = {"records": law.n_synthetic, "copies": law.copies, "cells": law.cells}
    return {
        "accuracy": [
            say("web.synthetic.records", **records),
            say("web.synthetic.alpha", alpha=float(law.alpha)),
            say("web.synthetic.blur", share=blur),
        ],
        "how_charged": _how("charged", "synthesize", "spent"),
        "how_accurate": _how("blur", "synthesize", "prior_share"),
        "kept": [
            [
                percent(row["share"], "up"),
                f"{_points(row['expected'])}\N{NO-BREAK SPACE}%",
                f"± {_points(row['within_95'])}",
            ]
            for row in made.expected_shares()
        ],
        "worst": [
            [percent(row["prior"], "up"), percent(row["posterior"], "up", 1)]
            for row in found.said["risk"]["worst_case"]
        ],
        "expected": _expected(found),
    }


def _points(part: float) -> str:
    return f"{100 * part:.1f}"


def _expected(found: Look) -> dict[str, Any] | None:
    """Return the expected rise of a record's risk, by share and prior; None if n is not public."""
    from discreet.synthetic import expected_risk

    made: Any = found.preview
    if made.n is None:
        return None
    spec: Any = found.spec  # of a synthetic file
    rows = expected_risk(spec, [made.synthesizer.epsilon], priors=_PRIORS).expected
    cells: dict[float, list[str]] = {}
    for row in rows:
        cells.setdefault(row["share"], []).append(_points(row["increase"]))
    names = [say("web.synthetic.from", prior=percent(prior, "up")) for prior in _PRIORS]
    return {
        "header": [say("web.synthetic.share"), *names],
        "rows": [[percent(one, "up"), *rises] for one, rises in cells.items()],
    }


def _judged(found: Look, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the picture of R and RR, and what the region that was typed makes of this budget."""
    from discreet.charts import region_spec
    from discreet.synthetic import Region

    made: Any = found.preview
    epsilon = made.synthesizer.epsilon
    region, told, problem = None, "", ""
    try:
        low, high = (_prior(typed.get(name, ""), at) for name, at in (("low", 0.0), ("high", 1.0)))
        if rules := typed.get("region", "").strip():
            region = Region.parse(rules)
            most, inside = region.largest_epsilon(low, high), region.covers(epsilon, low, high)
            if most is None:
                told = say("web.synthetic.never")
            else:
                name = "web.synthetic.inside" if inside else "web.synthetic.outside"
                told = say(name, epsilon=budget_text(epsilon), most=budget_text(most))
        picture = region_spec(epsilon, region, low, high)
    except (DiscreetError, PydanticCustomError) as error:
        problem, picture = str(error), region_spec(epsilon)
    return {"regions": picture, "judged": told, "region_problem": problem}


def _prior(text: str, default: float) -> float:
    typed = _PERCENT.read(text)
    return default if typed is None else share(typed)
