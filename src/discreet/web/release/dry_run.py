"""What a spec would cost and how it stands with its account, before anything is spent.

The dry run reads the schema; whether the charge fits, its preview says, as the ledger decides it
when the release is made. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, SpecError
from discreet.reading import yaml_values
from discreet.statements.presenter import refusal_facts
from discreet.web.screens import how
from discreet.web.workfolder import Workfolder
from discreet.words import say

if TYPE_CHECKING:
    from discreet.ledger import Account, Ledger
    from discreet.releases import Preview, Spec
    from discreet.releases.charge import Outlook
    from discreet.synthetic import Synthesis
    from discreet.synthetic.spec import SyntheticSpec

HOW_LEARNED = how(
    "learned",
    python="discreet.explain(account.total, prior).posterior.upper",
    command="discreet explain --epsilon E --prior P",
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a charge is refused, what to do next, and whether a larger cap would help."""

    code: str
    message: str
    next: str
    by_cap: bool
    amounts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """A dry run, of a table or of a synthetic file, and the account as it stands."""

    spec: Spec | SyntheticSpec
    preview: Preview | Synthesis
    outlook: Outlook
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


def is_synthetic(values: Mapping[str, Any]) -> bool:
    """Whether the values of a spec are those of a synthetic file: columns, and no statistics."""
    return "statistics" not in values and bool({"columns", "n_synthetic"} & values.keys())


def read(folder: Workfolder, text: str, *, from_file: bool = False) -> Spec | SyntheticSpec:
    """Return the spec in a YAML text, confined to the folder, or refuse it."""
    from discreet.releases import load
    from discreet.synthetic.spec import load as load_synthetic

    values = yaml_values(text, say("web.spec.is"), SpecError)
    if not isinstance(values, dict):
        raise SpecError("web.spec.mapping")
    try:
        repr(values).encode()
    except UnicodeEncodeError:  # YAML may write half of a character as an escape
        raise SpecError("web.spec.no_characters") from None
    spec: Spec | SyntheticSpec
    if is_synthetic(values):
        spec = load_synthetic(values, folder=folder.root)
    else:
        spec = load(values, folder=folder.root)
    folder.confine(spec, from_file=from_file)
    return spec


def named_ledger(folder: Workfolder, name: str, file: str) -> tuple[str, Ledger]:
    """Return a ledger of the folder, by its own name or by the spec file that names it."""
    from discreet.ledger import Ledger

    if file:
        spec = read(folder, folder.spec_text(file), from_file=True)
        return file, Ledger.open(spec.ledger_url)
    if not name:
        raise InputError("web.ledger.unnamed")
    plain = name.removeprefix("sqlite:///")
    if not folder.inside(plain, "ledger").is_file():
        raise InputError("web.ledger.unknown", name=plain[:200])
    return plain, Ledger.open(folder.ledger_url(plain))


def look(folder: Workfolder, spec: Spec | SyntheticSpec) -> Look:
    """Run a spec dry and ask its ledger; nothing is read but the schema, and nothing is spent."""
    from discreet.ledger import Ledger
    from discreet.releases import Preview, Spec, release
    from discreet.releases.source import options_of
    from discreet.synthetic import Synthesis, synthesize

    if spec.located is not None and "://" not in spec.located:
        folder.screened(spec.located, options_of(spec.source))
    made = release(spec, dry_run=True) if isinstance(spec, Spec) else synthesize(spec, dry_run=True)
    seen = made.outlook if isinstance(made, (Preview, Synthesis)) else None
    if seen is None or not isinstance(made, (Preview, Synthesis)):  # pragma: no cover
        raise TypeError("a dry run made a release")
    after = seen.after
    most = None if after is None else seen.learned
    return Look(
        spec=spec,
        preview=made,
        outlook=seen,
        said=made.to_dict(),
        account=seen.account,
        after=after,
        head=Ledger.open(spec.ledger_url).head,
        notices=tuple(one for one in (seen.elsewhere, seen.again) if one is not None),
        refusal=_refusal(seen),
        learned=None if most is None else most.to_dict(),
    )


def _refusal(seen: Outlook) -> Refusal | None:
    """Return why the ledger would refuse the charge, if it would."""
    from discreet.ledger import OverBudget

    error = seen.refused
    if error is None:
        return None
    amounts = refusal_facts(error, seen.account, seen.charging.spent)
    by_cap = isinstance(error, OverBudget)
    return Refusal(error.code, str(error), error.next or "", by_cap, tuple(amounts))
