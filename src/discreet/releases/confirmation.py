"""Who asks for a release, and how they are told what happens."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import TypeAlias

from discreet.errors import PolicyError

__all__ = ["Confirm", "Say", "confirmed", "quiet", "user"]

Say: TypeAlias = Callable[[str], None]
Confirm: TypeAlias = Callable[[str], bool] | bool
"""Who is asked whether to go on after a notice, or the answer itself."""


def quiet(_: str) -> None:
    """Say nothing."""


def confirmed(notice: str, confirm: Confirm | None) -> None:
    """Ask whether to go on after a notice; refuse where nobody says so."""
    agreed = confirm(notice) if callable(confirm) else confirm
    if agreed is not True:
        raise PolicyError(
            f"{notice} Nothing was spent. Confirm it (--yes) if that is what you want."
        )


def user() -> str:
    """Return the name under which the process runs, for the ledger; "unknown" where it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
