"""One spec → reservation → contribution bounding → aggregation → noise → commit → tables.

    from discreet.releases import release
    made = release("clinic.yaml")          # a Release: release_id, spent, remaining, files, table
    preview("clinic.yaml")                 # a Preview: cost and accuracy; nothing read or spent

`spec` (read by `models`) is what is asked; `statistics`, one file each, what is measured, with
`contributions` how sensitive that is; `pricing` and `planning` what it costs; `engines` where the
rows are; `pipeline` the way through, by `drawing`; `charge` the one way to charge and publish, with
`outputs` for the files; `tables` and `statement` what is
left on disk; `script` the same release as OpenDP code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.releases.charge import Repeat
    from discreet.releases.contributions import Contribution
    from discreet.releases.pipeline import Preview, Release, preview, release
    from discreet.releases.spec import Spec, json_schema, load

_HOME = {
    "Contribution": "contributions",
    "Preview": "pipeline",
    "Release": "pipeline",
    "Repeat": "charge",
    "Spec": "spec",
    "json_schema": "spec",
    "load": "spec",
    "preview": "pipeline",
    "release": "pipeline",
}

__all__ = [
    "Contribution",
    "Preview",
    "Release",
    "Repeat",
    "Spec",
    "json_schema",
    "load",
    "preview",
    "release",
]


__getattr__ = found_in(__name__, "A release", _HOME)
