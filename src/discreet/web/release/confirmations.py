"""The explicit yes to a charge that was shown.

    asked ──> shown ──> made (its release is what every later visit finds)

A yes is bound to one spec and one head of the ledger, and used once. It keeps the spec itself, so
that what is released is what was shown. If the ledger has moved on since, the charge was shown
beside a sum that is no longer true, and it is refused; asked again, everything is shown anew.
Reloading, going back or pressing twice finds the release that was made, and never draws again.
Confirmations live in memory: when the server ends, nothing is pending.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, PolicyError
from discreet.web.release.dry_run import Look
from discreet.web.release.spec_form import is_synthetic, written
from discreet.web.workfolder import Workfolder
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases import Spec
    from discreet.synthetic.spec import SyntheticSpec

MOST = 200


@dataclass(slots=True)
class Pending:
    """One confirmation: what was shown, and what came of it."""

    look: Look
    file: str | None
    release_id: str | None = None
    used: bool = False


class Confirmations:
    """The confirmations of one server, by their secret names; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Pending] = OrderedDict()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def ask(self, look: Look, file: str | None) -> str:
        """Keep what was looked at, which can be made, and return its name."""
        name = secrets.token_urlsafe(24)
        with self._lock:
            self._known[name] = Pending(look, file)
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return name

    def find(self, name: str) -> Pending:
        """Return a confirmation, or say that it is not known."""
        with self._lock:
            found = self._known.get(name)
        if found is None:
            raise InputError("web.confirm.unknown")
        return found

    def make(self, name: str, folder: Workfolder, *, again: bool) -> str:
        """Make the release that was confirmed, once, and return its id.

        `again` is the yes to a second run of the same spec, which is a new charge.
        """
        pending = self.find(name)
        # One at a time: the head that is compared is the head that is charged on.
        with self._making:
            if pending.release_id is None:
                pending.release_id = _made(pending, folder, again)
            return pending.release_id


def _made(pending: Pending, folder: Workfolder, again: bool) -> str:
    from discreet.ledger import Ledger
    from discreet.releases import Spec, release
    from discreet.synthetic import synthesize

    spec = pending.look.spec
    if pending.used:
        raise PolicyError("web.confirm.used")
    if Ledger.open(spec.ledger_url).head != pending.look.head:
        raise PolicyError("web.confirm.moved")
    if pending.look.notices and not again:
        raise PolicyError("web.confirm.again")
    if pending.file is None:
        _keep(spec, folder)
    pending.used = True
    made: Any
    if isinstance(spec, Spec):
        made = release(spec, confirm=lambda _: again)
    else:
        made = synthesize(spec, confirm=lambda _: again)
    return str(made.release_id)


def spec_name(spec_hash: str) -> str:
    """Return the name of the file that keeps a spec which was released from the page."""
    return f"spec-{spec_hash[:12]}.yaml"


def _keep(spec: Spec | SyntheticSpec, folder: Workfolder) -> None:
    """Write the spec into the folder, so that the command line can run it too."""
    path = folder.root / spec_name(spec.hash)
    command = "synthesize" if is_synthetic(spec.to_dict()) else "release"
    text = say("web.confirm.kept", name=path.name, command=command) + "\n"
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise InputError("web.confirm.not_stored", why=error.strerror) from None
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text + written(spec.to_dict()))
