"""One spec → reservation → contribution bounding → aggregation → noise → commit → tables.

    from discreet.releases import release
    made = release("clinic.yaml")          # a Release: release_id, spent, remaining, files, table
    preview("clinic.yaml")                 # a Preview: cost and accuracy; nothing read or spent

`spec` (with `models`) reads what is asked for. `statistics` has one file for each statistic, and
`contributions` how sensitive they are. `pricing` and `planning` compute what a release costs.
`engines` read the rows, `rows` says which of them count, `drawing` adds the noise, and `pipeline`
runs all steps. `charge` is the one way to charge and publish, with `outputs` for the files and
`tables` for what is in them; `script` writes the same release as OpenDP code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.releases.charge import Repeat as Repeat
    from discreet.releases.checking import (
        Checked as Checked,
        Rehearsal as Rehearsal,
        check as check,
        rehearse as rehearse,
    )
    from discreet.releases.contributions import Contribution as Contribution
    from discreet.releases.pipeline import (
        Preview as Preview,
        Release as Release,
        preview as preview,
        release as release,
    )
    from discreet.releases.spec import Spec as Spec, json_schema as json_schema, load as load

_FILES = {
    "charge": "Repeat",
    "checking": "Checked Rehearsal check rehearse",
    "contributions": "Contribution",
    "pipeline": "Preview Release preview release",
    "spec": "Spec json_schema load",
}

__getattr__, __all__ = found_in(__name__, "A release", _FILES)
