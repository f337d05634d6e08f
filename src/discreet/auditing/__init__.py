"""Attacks: on invented data to show why noise and budgets are there, and on our own releases.

    import discreet
    discreet.attack("averaging")     # an Attack: what is believed step by step, beside our bound
    discreet.audit("clinic.yaml")    # an Audit: passed, epsilon_lower, failure_probability, checks

For `attack`, `attackers` has the five adversaries. For `audit`, `neighbours` makes up data sets,
`path` runs the real release on them, `events` is the adversary, `claims` what a release promises
and what trials show about it, `checks` what needs few trials or none. `probe` is for mechanisms
outside a release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.lazily import found_in

if TYPE_CHECKING:
    from discreet.auditing.attackers import ATTACKERS as ATTACKERS
    from discreet.auditing.attacks import Attack as Attack, attack as attack
    from discreet.auditing.auditing import Audit as Audit, audit as audit
    from discreet.auditing.events import BeliefCheck as BeliefCheck, Probe as Probe, probe as probe

_FILES = {
    "attackers": "ATTACKERS",
    "attacks": "Attack attack",
    "auditing": "Audit audit",
    "events": "BeliefCheck Probe probe",
}

__getattr__, __all__ = found_in(__name__, "An audit", _FILES)
