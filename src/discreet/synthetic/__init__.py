"""Synthetic microdata with differential privacy, the risk of every record in it, its utility.

- `law`: the synthesizer, its prior weight α, what it costs, its exact draws, and what an analyst of
  a file may infer by it.
- `cells`: the cross of public levels that the records fall into; distances between two files.
- `records`: R and RR of every record, their expected increase before any data, what declared
  intruders learn, and links to people; `assessment`: which risks are acceptable, a candidate judged
  by them, or a list of budgets. Confidential.
- `spec`, `pipeline`: from one spec to a charged file with a statement, or to a judgement;
  `files`: originals counted, files written and read.

The mathematics needs NumPy alone; reading, drawing and writing need the `release` extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.synthetic.assessment import (
        Assessment as Assessment,
        Region as Region,
        Search as Search,
        assess_counts as assess_counts,
        search as search,
    )
    from discreet.synthetic.cells import (
        Cells as Cells,
        Distances as Distances,
        distances as distances,
    )
    from discreet.synthetic.files import SyntheticFile as SyntheticFile, read as read
    from discreet.synthetic.law import (
        Posterior as Posterior,
        Synthesizer as Synthesizer,
        posterior as posterior,
        prior_weight as prior_weight,
        utility as utility,
    )
    from discreet.synthetic.pipeline import (
        ExpectedRisk as ExpectedRisk,
        Synthesis as Synthesis,
        assess as assess,
        expected_risk as expected_risk,
        synthesize as synthesize,
    )
    from discreet.synthetic.records import (
        Intruder as Intruder,
        Linkage as Linkage,
        RecordRisk as RecordRisk,
        expected_risk_increase as expected_risk_increase,
        linkage as linkage,
        risk as risk,
        worst_case as worst_case,
    )

_FILES = {
    "assessment": "Assessment Region Search assess_counts search",
    "cells": "Cells Distances distances",
    "files": "SyntheticFile read",
    "law": "Posterior Synthesizer posterior prior_weight utility",
    "pipeline": "ExpectedRisk Synthesis assess expected_risk synthesize",
    "records": "Intruder Linkage RecordRisk expected_risk_increase linkage risk worst_case",
}

__getattr__, __all__ = found_in(__name__, "A synthetic file", _FILES)
