"""What a spec would cost and how it stands with its account, before anything is spent.

The dry run reads the schema; the ledger says what was spent. Whether the charge fits is asked of
the account itself, with the same functions that decide it when the release is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetExceeded, InputError, PolicyError, SpecError
from discreet.reading import yaml_values
from discreet.web.release_words import amount_words
from discreet.web.workfolder import Workfolder

if TYPE_CHECKING:
    from discreet.ledger import Account, Ledger
    from discreet.releases import Preview, Spec

__all__ = ["Look", "Refusal", "look", "named_ledger", "read"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a charge is refused: in words, and what is needed, spent, capped, left, and would fit."""

    code: str
    message: str
    amounts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """A dry run, and the account as it stands."""

    spec: Spec
    preview: Preview
    said: dict[str, Any]
    account: Account | None
    after: Account | None
    head: str
    notices: tuple[str, ...]
    refusal: Refusal | None
    learnable: tuple[dict[str, Any], ...]
    holds_with: float | None

    @property
    def ready(self) -> bool:
        """Whether the release could be made now."""
        return self.after is not None


def read(folder: Workfolder, text: str, *, from_file: bool = False) -> Spec:
    """Return the spec in a YAML text, confined to the folder, or refuse it."""
    from discreet.releases import load

    values = yaml_values(text, "the spec", SpecError)
    if not isinstance(values, dict):
        raise SpecError("the spec must be a mapping with keys such as account and source.")
    try:
        repr(values).encode()
    except UnicodeEncodeError:  # YAML may write half of a character as an escape
        raise SpecError("the spec holds escapes that are no characters.") from None
    spec = load(values, folder=folder.root)
    folder.confine(spec, from_file=from_file)
    return spec


def named_ledger(folder: Workfolder, name: str | None, file: str | None) -> tuple[str, Ledger]:
    """Return a ledger of the folder, by its own name or by the spec file that names it."""
    from discreet.ledger import Ledger

    if file is not None:
        spec = read(folder, folder.spec_text(file), from_file=True)
        return file, Ledger.open(spec.ledger_url)
    if name is None:
        raise InputError("Name a ledger of the working folder, such as ledger.db.")
    plain = name.removeprefix("sqlite:///")
    if not folder.inside(plain, "ledger").is_file():
        raise InputError(f"There is no ledger {plain[:200]!r} in the working folder.")
    return plain, Ledger.open(folder.ledger_url(plain))


def look(folder: Workfolder, spec: Spec) -> Look:
    """Run a spec dry and ask its ledger; nothing is read but the schema, and nothing is spent."""
    from discreet.ledger import Ledger
    from discreet.releases import Preview, release

    if spec.source is not None and "://" not in spec.source:
        folder.screened(spec.source)
    preview = release(spec, dry_run=True)
    if not isinstance(preview, Preview):  # pragma: no cover - a dry run is a preview
        raise TypeError("a dry run made a release")
    ledger = Ledger.open(spec.ledger_url)
    head = ledger.head
    account = next((one for one in ledger.accounts() if one.name == spec.account), None)
    refusal: Refusal | None = None
    after: Account | None = None
    if account is not None:
        after, refusal = _charged(account, preview)
    learned = () if after is None else _learned(after, spec)
    return Look(
        spec=spec,
        preview=preview,
        said=preview.to_dict(),
        account=account,
        after=after,
        head=head,
        # Beside the first note, which is always the same, a preview tells of earlier runs.
        notices=() if after is None else preview.notes[1:],
        refusal=refusal,
        learnable=learned,
        holds_with=min((row["holds_with"] for row in learned), default=None),
    )


def _charged(account: Account, preview: Preview) -> tuple[Account | None, Refusal | None]:
    """Ask the account and the tolerance whether they take the charge, as the ledger will."""
    from discreet.ledger import OverBudget

    spec, charges = preview.plan.spec, preview.plan.pricing.charges
    try:
        account.require(unit=spec.protect.unit, adjacency=spec.protect.adjacency)
        after = account.after(account.cost(charges), datetime.now(UTC))
        after.check(charges, account)
        if preview.plan.tolerated is not None:
            preview.plan.tolerated.check(after.total)
    except OverBudget as error:
        fits = "nothing as it is"
        if error.fits is not None:
            fits = amount_words(error.fits.guarantee.to_dict(), "down")
        amounts: tuple[tuple[str, str], ...] = (
            ("This release needs", amount_words(error.needs.to_dict("up"), "up")),
            ("Spent already", amount_words(error.spent.to_dict("up"), "up")),
            ("The cap", amount_words(error.cap.to_dict("down"), "down")),
            ("Left", amount_words(error.left.to_dict("down"), "down")),
            ("What would fit", fits),
        )
        return None, Refusal(error.code, str(error), amounts)
    except BudgetExceeded as error:
        needs = amount_words(account.cost(charges).to_dict("up"), "up")
        spent = amount_words(account.spent.to_dict("up"), "up")
        amounts = (("This release needs", needs), ("Spent already", spent))
        return None, Refusal(error.code, str(error), amounts)
    except PolicyError as error:
        return None, Refusal(error.code, str(error))
    return after, None


def _learned(after: Account, spec: Spec) -> tuple[dict[str, Any], ...]:
    """Return what may be learned from everything charged, this release included."""
    from discreet.releases.statement import SUBJECTS, learnable

    return tuple(learnable(after.total, SUBJECTS[spec.protect.unit]))
