"""One spec → reservation → contribution bounding → aggregation → noise → commit → tables.

    from discreet.releases import release
    made = release("clinic.yaml")          # a Release: release_id, spent, remaining, files, table
    preview("clinic.yaml")                 # a Preview: cost and accuracy; nothing read or spent

`spec` and `questions` are what is asked; `contributions`, `statistic` and `statistics` (with
`choices`) what it measures and how sensitive that is; `pricing` and `planning` what it costs;
`engines` where the rows are; `pipeline` the way through, by `drawing`, with `recovery` of what an
earlier run left and `confirmation` for whoever asks; `tables`, `outputs` and `statement` what is
left on disk; `dry_run` the preview alone; `script` the same release as OpenDP code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.releases.contributions import Contribution
    from discreet.releases.dry_run import preview
    from discreet.releases.pipeline import Preview, Release, release
    from discreet.releases.recovery import Repeat
    from discreet.releases.spec import Spec, json_schema, load

_HOME = {
    "Contribution": "contributions",
    "Preview": "pipeline",
    "Release": "pipeline",
    "Repeat": "recovery",
    "Spec": "spec",
    "json_schema": "spec",
    "load": "spec",
    "preview": "dry_run",
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
