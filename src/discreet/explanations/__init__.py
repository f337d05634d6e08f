"""The numbers in words: sentences, the statement of a release, the report. No new mathematics.

`sentences` says what may be learned, `topics` what else people ask, `worries` answers one person;
`statements` is the record of a release, `reporting` the file that anyone can open, with `verifier`
to check it; `published` reads known deployments in the same words. The words are in `texts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.explanations.published import Deployments, deployments
    from discreet.explanations.reporting import Report, report
    from discreet.explanations.worries import Worry, worry

_HOME = {
    "Deployments": "published",
    "Report": "reporting",
    "Statement": "statements",
    "Worry": "worries",
    "deployments": "published",
    "guarantee_text": "topics",
    "not_protected": "topics",
    "pure_against_approximate": "topics",
    "report": "reporting",
    "sentence": "sentences",
    "series_text": "topics",
    "statement": "statements",
    "worry": "worries",
}

__all__ = [
    "Deployments",
    "Report",
    "Statement",
    "Worry",
    "deployments",
    "guarantee_text",
    "not_protected",
    "pure_against_approximate",
    "report",
    "sentence",
    "series_text",
    "statement",
    "worry",
]


__getattr__ = found_in(__name__, "An explanation", _HOME)
