"""The charge and the files of a synthetic release, in the order of every release.

    recover ──> ask ──> reserve ──> (count, draw) ──> files ──> commit ──> shown

The charge is durable before a row is read. Files are shown whole and recorded or not at all, in the
layout of other releases: a crash may lose the file, never the charge; the next run finds what was
left.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.errors import DiscreetError, InputError, PolicyError
from discreet.guarantees import PureDP, parameters
from discreet.ledger import Account, Entry, Ledger
from discreet.ledger.accounts import remaining_dict
from discreet.promises import Promise, delta_in
from discreet.releases import outputs
from discreet.releases.allowance import allowance, as_pure
from discreet.releases.confirmation import Confirm, Say, confirmed, quiet, user
from discreet.releases.recovery import recover
from discreet.synthetic import files, wording
from discreet.synthetic.cells import Cells
from discreet.synthetic.law import Synthesizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.synthetic.spec import SyntheticSpec

__all__ = ["Desk", "budget_of", "law_for"]


def law_for(spec: SyntheticSpec, epsilon: float, cells: Cells) -> Synthesizer:
    """Return the synthesizer of a spec at a budget."""
    return Synthesizer.of(
        epsilon,
        n_synthetic=spec.n_synthetic,
        cells=cells.size,
        copies=spec.copies,
        records=spec.records,
    )


def budget_of(spec: SyntheticSpec, account: Account | None) -> tuple[float, Promise | None]:
    """Return ε, and the promise that comes with the file if the spec makes one."""
    if delta_in(spec.promise_keys or {}):
        raise InputError("synthetic data are drawn under pure DP: leave delta out of the promise.")
    found = allowance(spec, account)
    return as_pure(found.budget), found.promise


@dataclass(frozen=True, slots=True)
class Desk:
    """Where one spec is charged and its files are stored."""

    spec: SyntheticSpec
    ledger: Ledger

    @classmethod
    def of(cls, spec: SyntheticSpec) -> Desk:
        """Open the spec's ledger."""
        return cls(spec, Ledger.open(spec.ledger_url))

    def account(self) -> Account:
        """Return the account, or refuse: it must be open, with the same unit and adjacency."""
        protect = self.spec.protect
        found = self.ledger.account(
            self.spec.account,
            unit=protect.unit,
            unit_name=protect.name,
            adjacency=protect.adjacency,
            promise=self.spec.promise_keys,
        )
        found.require(unit=protect.unit, adjacency=protect.adjacency, unit_name=protect.name)
        return found

    def remaining(self) -> dict[str, Any]:
        """Return what the account still allows."""
        return remaining_dict(self.account().remaining)

    def preview(
        self, charge: PureDP, promise: Promise | None
    ) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
        """Return what is left, and what a run would be told; nothing is spent."""
        notes = ["Nothing was read but the schema, and nothing was spent."]
        try:
            left = self.remaining()
        except PolicyError as refusal:
            return None, (*notes, str(refusal))
        again = self._again()
        notes += [] if again is None else [again]
        account, unit = self.spec.account, self.spec.protect.unit
        try:
            self.ledger.check(account, charge, promise=promise, unit=unit)
        except DiscreetError as refusal:
            notes.append(f"It would be refused: {refusal}")
        return left, tuple(notes)

    def reserve(
        self,
        charge: PureDP,
        *,
        purpose: str,
        who: str | None,
        promise: Promise | None = None,
        confirm: Confirm | None = None,
        say: Say | None = None,
        guaranteed: bool = True,
    ) -> Entry:
        """Charge before anything is read; a second run of the same spec must be confirmed."""
        self.account()
        outputs.prepare(self.output)
        recover(self.ledger, self.spec.account, self.output, say or quiet)
        notice = self._again()
        if notice is not None:
            confirmed(notice, confirm)
        return self.ledger.reserve(
            self.spec.account,
            charge,
            purpose=purpose,
            who=who or user(),
            spec_hash=self.spec.hash,
            promise=promise,
            unit=self.spec.protect.unit,
            guaranteed=guaranteed,
        )

    @property
    def output(self) -> Path:
        """The folder of all releases of the spec."""
        return self.spec.path(self.spec.output)

    def publish(
        self,
        entry: Entry,
        law: Synthesizer,
        cells: Cells,
        drawn: NDArray[np.int64],
        promise: PureDP,
        *,
        guaranteed: bool = True,
    ) -> tuple[Path, ...]:
        """Store the files of a reserved release, commit and show them; `promise` was charged."""
        account, release_id = self.account(), str(entry.release_id)
        spent = account.spent.floats("up")
        made = self.ledger.made_promises(account)
        standing = wording.Standing.of(self.spec, account, made)
        said = {
            "format": 2,
            "kind": "synthetic",
            "release_id": release_id,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "spent": parameters(epsilon=promise.epsilon),
            "account_spent": parameters(spent.get("epsilon"), spent.get("delta"), spent.get("rho")),
            "remaining": remaining_dict(account.remaining),
            "head": entry.hash,
            "made_with": {"discreet": __version__},
            **wording.describe(self.spec, law, cells, standing, guaranteed=guaranteed),
        }
        words = wording.statement(self.spec, law, cells, standing, guaranteed=guaranteed)
        write = files.written(cells, list(drawn), said, words)
        whole = outputs.store(self.output, release_id, write)
        self.ledger.commit(release_id, outputs.hash_of(whole))
        return tuple(sorted(outputs.publish(whole).iterdir()))

    def _again(self) -> str | None:
        """Say that the spec was drawn before, if it was."""
        runs = self.ledger.runs(self.spec.account, self.spec.hash)
        if not runs:
            return None
        return (
            f"This spec was already drawn {runs} time(s) on account {self.spec.account!r}; "
            "drawing again is a new file with a new charge."
        )
