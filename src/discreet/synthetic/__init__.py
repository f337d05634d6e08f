"""Synthetic microdata with differential privacy, the risk of every record in it, its utility.

- `law`: the synthesizer, its prior weight α, what it costs, and its exact draws.
- `cells`: the cross of public levels that the records fall into; distances between two files.
- `records`: R and RR of every record, and their expected increase before any data; `region`: which
  are acceptable; `identification`: what declared intruders learn, and links to people;
  `assessment`: a candidate judged, or a list of budgets. Confidential.
- `inference`: what an analyst of the file may infer, and the utility that was lost.
- `spec`, `pipeline`: from one spec to a charged file with a statement;
  `files`: originals counted, files written and read.

The mathematics needs NumPy alone; reading, drawing and writing need the `release` extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.synthetic.assessment import Assessment as Assessment
    from discreet.synthetic.assessment import Search as Search
    from discreet.synthetic.assessment import assess as assess
    from discreet.synthetic.pipeline import Synthesis as Synthesis
    from discreet.synthetic.pipeline import synthesize as synthesize

_HOME = {
    "Assessment": "assessment",
    "Cells": "cells",
    "Distances": "cells",
    "ExpectedRisk": "assessment",
    "Intruder": "identification",
    "Linkage": "identification",
    "Posterior": "inference",
    "RecordRisk": "records",
    "Region": "region",
    "Search": "assessment",
    "Synthesis": "pipeline",
    "SyntheticFile": "files",
    "Synthesizer": "law",
    "assess": "assessment",
    "assess_counts": "assessment",
    "distances": "cells",
    "expected_risk": "assessment",
    "expected_risk_increase": "records",
    "linkage": "identification",
    "posterior": "inference",
    "prior_weight": "law",
    "read": "files",
    "risk": "records",
    "search": "assessment",
    "synthesize": "pipeline",
    "utility": "inference",
    "worst_case": "records",
}

__all__ = sorted(_HOME)


__getattr__ = found_in(__name__, "This", _HOME)


def __dir__() -> list[str]:
    return list(__all__)
