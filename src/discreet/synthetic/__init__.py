"""Synthetic microdata with differential privacy, the risk of every record in it, its utility.

- `law`: the synthesizer, its prior weight α and what it costs.
- `cells`: the cross of public levels that the records fall into; distances between two files.
- `records`: R and RR of every record; `region`: which are acceptable.
- `expected`: the expected increase in risk, before any data.
- `inference`: what an analyst of the file may infer, and the utility that was lost; `analysis`:
  the same from a published folder.
- `assessment`: a candidate judged, or a list of budgets. Confidential.
- `spec`, `source`, `pipeline`: from one spec to a charged file (`releasing`, `files`, `wording`);
  `judging`: from a file, or a list of budgets, to its judgement.

The mathematics needs NumPy alone; reading, drawing and writing need the `release` extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.synthetic.assessment import Assessment as Assessment
    from discreet.synthetic.assessment import Search as Search
    from discreet.synthetic.judging import assess as assess
    from discreet.synthetic.pipeline import Synthesis as Synthesis
    from discreet.synthetic.pipeline import synthesize as synthesize

_HOME = {
    "Assessment": "assessment",
    "Cells": "cells",
    "Distances": "cells",
    "Posterior": "inference",
    "RecordRisk": "records",
    "Region": "region",
    "RiskTable": "expected",
    "Run": "experiment",
    "Search": "assessment",
    "Synthesis": "pipeline",
    "SyntheticFile": "analysis",
    "Synthesizer": "law",
    "assess": "judging",
    "assess_counts": "assessment",
    "distances": "cells",
    "expected_risk_increase": "expected",
    "posterior": "inference",
    "prior_weight": "law",
    "read": "analysis",
    "risk": "records",
    "risk_table": "expected",
    "search": "assessment",
    "simulate": "experiment",
    "synthesize": "pipeline",
    "utility": "inference",
    "worst_case": "records",
}

__all__ = sorted(_HOME)


__getattr__ = found_in(__name__, "This", _HOME)


def __dir__() -> list[str]:
    return list(__all__)
