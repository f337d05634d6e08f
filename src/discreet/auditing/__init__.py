"""Attacks on our own releases, to check that beliefs stay within the promise.

    from discreet.auditing import audit
    audit("clinic.yaml")     # an Audit: passed, epsilon_lower, failure_probability, tests, checks

`neighbours` makes up data sets, `path` runs the real release on them, `events` is the adversary,
`promises` what was promised and what trials show about it, `checks` what needs few trials or none.
`attack` is for mechanisms outside a release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.auditing.attacking import Attack, attack
    from discreet.auditing.auditing import Audit, audit
    from discreet.auditing.events import BeliefCheck

__all__ = ["Attack", "Audit", "BeliefCheck", "attack", "audit"]

_HOME = {
    "Attack": "attacking",
    "attack": "attacking",
    "Audit": "auditing",
    "BeliefCheck": "events",
    "audit": "auditing",
}


__getattr__ = found_in(__name__, "An audit", _HOME)
