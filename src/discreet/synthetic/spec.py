"""The spec of a synthetic file: the words of a release's spec, with columns instead of statistics.

    account: clinic-patients
    purpose: open microdata
    source: patients.parquet
    protect: {unit: person, column: patient_id, rows: 1, adjacency: add-remove}
    budget: {epsilon: 2}
    columns: [sex, pregnant, county]
    keys: {sex: [f, m], pregnant: ["no", "yes"], county: counties.csv}
    impossible: [{sex: m, pregnant: "yes"}]
    n_synthetic: 1000
    copies: 1
    ledger: sqlite:///ledger.db
    output: out/

Levels are public (`keys`, a list or a CSV file of them); what is not listed is left out. The number
of synthetic records is a choice, never taken from the data; `n`, if the size of the original is
public anyway, is printed for analysts. Paths are relative to the spec's folder. The JSON Schema
beside this file (`spec.schema.json`) is made from these classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from discreet.errors import PolicyError
from discreet.releases.models import Keys, NamesOrOne, as_tuple, key_text, refusal
from discreet.releases.spec import InFolder, PublicFiles, written
from discreet.synthetic.cells import Cells
from discreet.words import say


def _levels(value: object) -> object:
    """An impossible combination names a level or a list of levels a column."""
    if not isinstance(value, Mapping):
        return value
    return {
        str(column): tuple(map(key_text, levels))
        if isinstance(levels, (list, tuple))
        else key_text(levels)
        for column, levels in value.items()
    }


Impossible = Annotated[dict[str, str | tuple[str, ...]], BeforeValidator(_levels)]


class SyntheticSpec(InFolder):
    """One synthetic file, as it is asked for."""

    purpose: str = Field(min_length=1, max_length=900)
    columns: NamesOrOne = Field(min_length=1)
    keys: dict[str, Keys] = Field(default_factory=dict)
    weights: dict[str, dict[str, int]] = Field(
        default_factory=dict, description=say("synthetic.spec.weights")
    )
    impossible: Annotated[tuple[Impossible, ...], BeforeValidator(as_tuple)] = ()
    n_synthetic: int = Field(ge=1, description=say("synthetic.spec.n_synthetic"))
    copies: int = Field(default=1, ge=1, le=1000)
    n: int | None = Field(default=None, ge=1, description=say("synthetic.spec.n"))

    @model_validator(mode="after")
    def _whole(self) -> SyntheticSpec:
        if self.budget is not None and self.budget.epsilon is None:
            raise ValueError(say("synthetic.spec.not_rho"))
        if self.budget is not None and self.budget.delta is not None:
            raise ValueError(say("synthetic.spec.no_delta"))
        if self.protect.rows_choice is not None:
            raise ValueError(say("synthetic.spec.no_choice"))
        if len(set(self.columns)) != len(self.columns):
            raise ValueError(say("synthetic.spec.column_twice"))
        if "copy" in self.columns:
            raise ValueError(say("synthetic.spec.column_copy"))
        stray = sorted(set(self.keys) - set(self.columns))
        if stray:
            raise ValueError(say("synthetic.spec.stray_keys", column=stray[0]))
        return self

    def records(self, cells: Cells) -> int:
        """The most records that one unit may have in the counts of these cells."""
        return self.protect.contribution(grouped=True).over(cells.size).total

    def drawn(self, cells: Cells) -> dict[str, Any]:
        """Return what the synthesizer draws over these cells, by its own names."""
        return {
            "n_synthetic": self.n_synthetic,
            "copies": self.copies,
            "records": self.records(cells),
            "weights": cells.weights(self.weights) if self.weights else None,
        }

    def cells(self) -> Cells:
        """Return the possible cells, reading the files of levels; all of it is public."""
        self.refuse_unit_column(self.columns, "columns")
        levels, files = {}, PublicFiles(self)
        for column in self.columns:
            keys = self.keys.get(column)
            if keys is None:
                raise PolicyError("synthetic.spec.no_keys", column=column)
            levels[column] = files.keys(keys, column) if isinstance(keys, str) else keys
        return Cells.of(levels, impossible=self.impossible)


def load(
    source: str | Path | Mapping[str, Any],
    *,
    folder: str | Path | None = None,
    keys_from: str | Path | None = None,
) -> SyntheticSpec:
    """Read a spec from a YAML file or a mapping; refuse with one sentence what breaks a rule."""
    mapping, place = written(source, folder, say("synthetic.spec.needs"))
    try:
        return SyntheticSpec.model_validate(mapping).placed(place, keys_from, source)
    except ValidationError as error:
        raise refusal(
            error,
            unknown="synthetic.spec.unknown_key",
            missing="synthetic.spec.missing_key",
            schema=json_schema,
        ) from None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a spec, as published in `spec.schema.json` beside this file."""
    schema = SyntheticSpec.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = say("synthetic.spec.title")
    return schema
