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
    from discreet.synthetic.assessment import (
        Assessment,
        ExpectedRisk,
        Search,
        assess,
        assess_counts,
        expected_risk,
        search,
    )
    from discreet.synthetic.cells import Cells, Distances, distances
    from discreet.synthetic.files import SyntheticFile, read
    from discreet.synthetic.identification import Intruder, Linkage, linkage
    from discreet.synthetic.inference import Posterior, posterior, utility
    from discreet.synthetic.law import Synthesizer, prior_weight
    from discreet.synthetic.pipeline import Synthesis, synthesize
    from discreet.synthetic.records import RecordRisk, expected_risk_increase, risk, worst_case
    from discreet.synthetic.region import Region

_FILES = {
    "assessment": "Assessment ExpectedRisk Search assess assess_counts expected_risk search",
    "cells": "Cells Distances distances",
    "files": "SyntheticFile read",
    "identification": "Intruder Linkage linkage",
    "inference": "Posterior posterior utility",
    "law": "Synthesizer prior_weight",
    "pipeline": "Synthesis synthesize",
    "records": "RecordRisk expected_risk_increase risk worst_case",
    "region": "Region",
}

__getattr__, __all__ = found_in(__name__, "A synthetic file", _FILES)
