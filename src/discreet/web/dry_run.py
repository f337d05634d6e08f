"""What a spec would cost and how it stands with its account, before anything is spent.

The dry run reads the schema; whether the charge fits, its preview says, as the ledger decides it
when the release is made. Nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetExceeded, InputError, SpecError
from discreet.reading import yaml_values
from discreet.web.release_words import amount_words
from discreet.web.workfolder import Workfolder

if TYPE_CHECKING:
    from discreet.ledger import Account, Ledger
    from discreet.releases import Preview, Spec
    from discreet.statements import Learned

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
    learned: dict[str, Any] | None

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
    after = preview.after
    found = None if after is None else _learned(after, spec, preview)
    return Look(
        spec=spec,
        preview=preview,
        said=preview.to_dict(),
        account=preview.account,
        after=after,
        head=Ledger.open(spec.ledger_url).head,
        notices=() if after is None or preview.again is None else (preview.again,),
        refusal=None if preview.refused is None else _refusal(preview),
        learned=None if found is None else found.to_dict(),
    )


def _refusal(preview: Preview) -> Refusal:
    """Return why the ledger would refuse the charge, with the amounts in words."""
    from discreet.ledger import OverBudget

    error, account = preview.refused, preview.account
    if isinstance(error, OverBudget):
        fits = "nothing of this kind"
        if error.fits is not None:
            fits = amount_words(error.fits.guarantee.to_dict(), "down")
        amounts: tuple[tuple[str, str], ...] = (
            ("This release needs", amount_words(error.needs.to_dict("up"), "up")),
            ("Spent already", amount_words(error.spent.to_dict("up"), "up")),
            ("The cap", amount_words(error.cap.to_dict("down"), "down")),
            ("Left", amount_words(error.left.to_dict("down"), "down")),
            ("What would fit", fits),
        )
    elif isinstance(error, BudgetExceeded) and account is not None:
        amounts = (
            ("This release needs", amount_words(preview.spent, "up")),
            ("Spent already", amount_words(account.spent.to_dict("up"), "up")),
        )
    else:
        amounts = ()
    code = "" if error is None else error.code
    return Refusal(code, str(error), amounts)


def _learned(after: Account, spec: Spec, preview: Preview) -> Learned | None:
    """Return what may be learned from everything charged, this release included."""
    from discreet.statements import learned

    promises = [one.registered.promise(after) for one in preview.promises]
    return learned(after.total, after.called(spec.unit), promises)
