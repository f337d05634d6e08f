"""The report of a release, and sentences about what may be learned. No new mathematics.

`sentences` says what may be learned and what else people ask, and answers one person's worry;
`stored` is a release with what the ledger says of it, `facts` its statement, which `written` and
`page` render; `folder` is the report that anyone can open and send, with `participant`'s page,
with `verifier` to check it; `published` reads known deployments in the same words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.reports.facts import Statement as Statement, statement as statement
    from discreet.reports.folder import Report as Report, report as report
    from discreet.reports.published import Deployments as Deployments, deployments as deployments
    from discreet.reports.sentences import (
        Worry as Worry,
        guarantee_text as guarantee_text,
        not_protected as not_protected,
        pure_against_approximate as pure_against_approximate,
        sentence as sentence,
        series_text as series_text,
        worry as worry,
    )

_FILES = {
    "facts": "Statement statement",
    "folder": "Report report",
    "published": "Deployments deployments",
    "sentences": "guarantee_text not_protected pure_against_approximate sentence series_text Worry "
    "worry",
}

__getattr__, __all__ = found_in(__name__, "A report", _FILES)
