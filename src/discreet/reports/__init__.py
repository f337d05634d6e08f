"""The report of a release, and sentences about what may be learned. No new mathematics.

`sentences` says what may be learned and what else people ask, `worries` answers one person;
`stored` is a release with what the ledger says of it, `facts` its statement, which `written` and
`page` render (with the charts of `pictures`); `folder` is the report that anyone can open and send,
with `verifier` to check it; `published` reads known deployments in the same words.
"""

from __future__ import annotations

from discreet.lazily import found_in

_HOME = {
    "Deployments": "published",
    "Report": "folder",
    "Statement": "facts",
    "Worry": "worries",
    "deployments": "published",
    "guarantee_text": "sentences",
    "not_protected": "sentences",
    "pure_against_approximate": "sentences",
    "report": "folder",
    "sentence": "sentences",
    "series_text": "sentences",
    "statement": "facts",
    "worry": "worries",
}

__all__ = sorted(_HOME)


__getattr__ = found_in(__name__, "A report", _HOME)
