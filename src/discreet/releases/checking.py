"""A spec without its data: checked by declared columns, and written for columns that are there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from discreet.frames import Tabular, columns_from
from discreet.releases.allowance import require_own
from discreet.releases.engines import is_csv, opened
from discreet.releases.engines.base import Column, fields
from discreet.releases.pipeline import charge_dict
from discreet.releases.planning import Plan, plan_of
from discreet.releases.rows import columns_read, columns_shaped
from discreet.releases.source import Source, kind_declared, options_of
from discreet.releases.spec import Spec, load

_NAMES = re.compile(
    r"(.*[_ -])?(id|person|patient|user|customer|client|resident|pupil|student|employee|member"
    r"|personen|patienten|kunden?|nutzer|mitglieds?|einwohner|schüler|versicherten?|mitarbeiter"
    r"|personne|usager|assuré|adhérent|élève|salarié|habitant|identifiant"
    r"|persona|paciente|usuario|cliente|alumno|empleado|afiliado|identificador)"
    r"([_ .-]?(id|no|number|key|nr|nummer|kennung|schlüssel|num|numéro|número)\.?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Checked(Tabular):
    """A spec that keeps every rule which can be checked without data, with its cost.

    `basis` says where the columns come from: `declared` (given, or by the types of the source), a
    `header`, or `assumed` (that every column which the spec names is there, of a kind that fits).
    """

    plan: Plan
    basis: Literal["declared", "header", "assumed"]
    columns: Mapping[str, Column]

    @property
    def spent(self) -> dict[str, Any]:
        """What the release would charge."""
        return charge_dict(self.plan)

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON-ready values."""
        return {
            "checked": True,
            "account": self.plan.spec.account,
            "basis": self.basis,
            "columns": [{"name": name, "kind": kind} for name, kind in self.columns.items()],
            "spent": self.spent,
            "cut": self.plan.cut(),
            **self.plan.to_dict(),
        }

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the mechanism calls, with what each costs."""
        return columns_from(call.to_dict() for call in self.plan.pricing.calls)

    def __repr__(self) -> str:
        return f"Checked({self.plan.spec.account!r}, columns {self.basis})"


def check(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    columns: Mapping[str, Column] | None = None,
    header: str | Path | None = None,
    folder: str | Path | None = None,
    keys_from: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Checked:
    """Check a spec and price it, with no data and no ledger; what breaks a rule is refused.

    `columns` declares the columns and their kinds; `header` is a file that has them, of which no
    row is read. Without either, every column that the spec names is taken to be there.
    """
    asked = load(spec, folder=folder, keys_from=keys_from, changes=changes)
    require_own(asked)
    basis: Literal["declared", "header", "assumed"] = "declared"
    assumed: dict[str, Column] = {}
    known: dict[str, Column] = dict(columns or {})
    if columns is None and header is not None:
        basis, known = "header", columns_in(elsewhere(asked, header))
    elif columns is None:
        types = options_of(asked.source).types
        known = {name: kind_declared(kind) for name, kind in types.items()}
        seen = _seen(asked)
        assumed = dict.fromkeys(_read(asked, seen), "untyped")
        if not types or not (is_csv(asked.located or "") or assumed.keys() <= types.keys()):
            plan = plan_of(asked.as_shaped(), {**dict.fromkeys(seen, "number"), **known})
            return Checked(plan, "assumed", assumed | known)
    looked_up: dict[str, Column] = {}
    for join in asked.join:
        if assumed and not join.public:  # it is data, as the source is
            looked_up |= dict.fromkeys(join.columns, "untyped")
            continue
        with closing(opened(join.source, asked.path)) as table:
            looked_up |= {name: k for name, k in table.columns.items() if name not in join.by}
    plan = plan_of(asked, columns_shaped(asked, assumed | looked_up | known))
    own = {name: kind for name, kind in assumed.items() if name not in looked_up}
    return Checked(plan, basis, own | known)


def elsewhere(spec: Spec, path: str | Path) -> Source:
    """Return another file, read as the spec says that its source is written."""
    return options_of(spec.source).model_copy(update={"path": str(path)})


def proposed_source(path: str) -> Source:
    """Return a file as a source; of a CSV file, as its header line shows that it is written."""
    from discreet.releases.engines.files import written_as

    source = Source(path=path)
    return written_as(Path(path), source) if is_csv(path) and Path(path).is_file() else source


def proposed_unit(columns: Iterable[str]) -> str | None:
    """Return the column that names one person, by its own name; None if none looks like it."""
    return next((name for name in columns if _NAMES.fullmatch(name)), None)


def columns_in(source: str | Source) -> dict[str, Column]:
    """Return the columns of a source and their kinds, from its header or schema alone."""
    engine = opened(source, lambda name: Path(name).resolve())
    try:
        return dict(engine.columns)
    finally:
        engine.close()


def _seen(spec: Spec) -> list[str]:
    """The columns that statistics and the unit see, which a spec may make itself."""
    names = list(spec.protect.column)
    for statistic in (table for entry in spec.named() for table in entry.tables()):
        names += statistic.grouped_by
        names += [field.column for one in statistic.measures() for field in fields(one)]
    return names


def _read(spec: Spec, seen: Iterable[str]) -> Iterator[str]:
    """Yield the columns of the source that a spec reads for them, as far as it says which."""
    looked_up = {name for join in spec.join for name in join.columns}
    by = (name for join in spec.join for name in join.by)
    return (name for name in columns_read(spec, (*seen, *by)) if name not in looked_up)
