"""Published budgets, read as beliefs: what a known deployment lets a suspicion grow to.

The table is `deployments.toml`, each row with its unit and its source. Membership and value attacks
of a strong adversary end at the same bound, expit(logit p + ε′), so the reading needs no more than
the budget; the unit says what the belief is about, and no row is shown without it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from discreet.beliefs import Belief, Prior, explain
from discreet.errors import DiscreetError, GuaranteeError, InputError
from discreet.frames import Results
from discreet.guarantees import Guarantee, of_kind, parameters
from discreet.reading import json_values, text_of
from discreet.reports import verifier
from discreet.reports.stored import Stored, find
from discreet.reports.verifier import MANIFEST, repeated
from discreet.statements.tables import crowd_for, frequency, level, plain
from discreet.words import say

_STATED = "statement.json"


@dataclass(frozen=True, slots=True)
class Deployment:
    """One published budget, with its unit, its source, and the belief that it allows."""

    name: str
    curator: str
    year: int
    model: str
    unit: str
    adjacency: str
    kind: str
    source: str
    prior: float
    guarantee: Guarantee
    belief: Belief | None
    note: str | None = None
    about: str = "membership"

    @property
    def text(self) -> str:
        """The deployment in one sentence, its unit included."""
        if self.belief is None or self.belief.posterior is None:
            return say("reports.deployment.no_bound", name=self.name, unit=self.unit)
        upper = self.belief.posterior.upper
        crowd = crowd_for(self.prior, upper)
        sure = self.belief.holds_with
        said = "" if sure == 1 else say("reports.deployment.confidence", level=level(sure))
        return say(
            f"reports.deployment.says{'_value' if self.about == 'value' else ''}",
            name=self.name,
            unit=self.unit,
            before=plain(self.prior, crowd),
            after=frequency(upper, "up", crowd),
            confidence=said,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the deployment as JSON-ready values."""
        upper = None if self.belief is None else self.belief.posterior
        first = ("name", "curator", "year", "unit", "model", "adjacency", "kind", "about")
        return {
            **{name: getattr(self, name) for name in first},
            **_numbers(self.guarantee),
            "prior": self.prior,
            "posterior": None if upper is None else upper.upper,
            "holds_with": None if self.belief is None else self.belief.holds_with,
            **{name: getattr(self, name) for name in ("text", "source", "note")},
        }

    def __repr__(self) -> str:
        return f"Deployment({self.text})"


class Deployments(Results[Deployment]):
    """Published budgets, oldest first: a sequence, and a table with a row for each."""

    named = "deployments"
    tabled = (
        *("name", "curator", "year", "unit", "model", "adjacency", "about"),
        *("epsilon", "delta", "rho", "prior", "posterior", "holds_with"),
    )


def _numbers(guarantee: Guarantee) -> dict[str, Any]:
    return parameters(*(getattr(guarantee, name, None) for name in ("epsilon", "delta", "rho")))


def deployments(
    prior: float = 0.5,
    *,
    confidence: float = 0.99,
    release: str | None = None,
    ledger: str | None = None,
    output: str | Path | None = None,
) -> Deployments:
    """Return the known deployments, oldest first, read for someone who starts at this prior.

    With `release`, one's own stands last, and after it everything charged to its account so far,
    each with a row for a value where being in the data is protected too. It is found by its
    `ledger`, by its `output` folder, or by both, as for `report`. The folder of a report is all
    that is needed of a release, or account, of others.

    >>> deployments(0.5)[0].unit
    "one worker's home block, given where they work"
    """
    prior = Prior.of(prior).p
    found = [_deployment(row, prior, confidence) for row in _rows()]
    found.sort(key=lambda one: (one.year, one.name))
    if release is not None:
        folder = Path(release)
        if (folder / MANIFEST).is_file() and (folder / _STATED).is_file():
            found += _reported(folder, prior, confidence)
        else:
            found += _own(find(release, ledger=ledger, output=output), prior, confidence)
    return Deployments(found)


def _own(stored: Stored, prior: float, confidence: float) -> Iterator[Deployment]:
    """Return a stored release, and its account, as deployments."""
    if not stored.promised:
        raise InputError("reports.deployment.no_guarantee", release_id=stored.release_id)
    account = stored.account
    common = {
        "curator": ", ".join(repeated(dict(stored.said))["identity"]["curators"]) or account.name,
        "year": int(stored.entry.at[:4]),
        "model": "central",
        "unit": str(account.subject),
        "adjacency": account.adjacency.value,
        "source": say("reports.deployment.own", release_id=stored.release_id),
    }
    spent = stored.said["spent"]
    if not (spent.get("rho") and spent.get("delta")):  # no single guarantee says both
        budget = {name: value for name, value in spent.items() if value}
        kind = "concentrated" if "rho" in budget else "approximate" if "delta" in budget else "pure"
        name = say("reports.deployment.release", release_id=stored.release_id)
        yield from _both({**common, **budget, "kind": kind, "name": name}, prior, confidence)
    if not stored.unpromised:
        name = say("reports.deployment.account", account=account.name)
        row = {**common, "kind": stored.total().kind, "name": name}
        yield from _both(row, prior, confidence, stored.total())


def _reported(folder: Path, prior: float, confidence: float) -> list[Deployment]:
    """Return what the statement of a report is about, as deployments; nothing in it is checked."""
    from discreet.ledger.accounts import Account
    from discreet.ledger.amounts import Amount
    from discreet.ledger.entries import UNREADABLE

    path = folder / _STATED
    try:
        said = json_values(text_of(path, "the statement"), str(path))
        identity, unit, spending = said["identity"], said["unit"], said["spending"]
        release_id, account = identity.get("release_id"), str(identity["account"])
        kind, rule = unit["unit"], said["composition"]["filter"]
        if said["guarantee"]["kind"] == "none":
            raise InputError("reports.deployment.no_guarantee", release_id=release_id)
        terms = {"unit": kind, "adjacency": unit["adjacency"], "filter": rule}
        books = Account.opened(account, **terms, cap=None, period=None)
        common = {
            "curator": ", ".join(identity.get("curators") or [account]),
            "year": int(spending["as_of"][:4]),
            "model": "central",
            "unit": str(unit["subject"]),
            "adjacency": unit["adjacency"],
            "source": say("reports.deployment.reported", folder=folder),
        }
        told = {} if release_id is None else {"release": spending["this"]}
        if verifier.UNPROMISED not in {one["name"] for one in said["not_covered"]}:
            told["account"] = spending["account_now"]
        rows: list[Deployment] = []
        for name, amount in told.items():
            numbers = {key: amount[key] for key in books.filter.coordinates if amount[key]}
            total = books.promise(Amount.of(**numbers))
            named = say(f"reports.deployment.{name}", release_id=release_id, account=account)
            row = common | {"kind": total.kind, "name": named}
            rows += _both(row, prior, confidence, total)
    except InputError:
        raise
    except (OSError, DiscreetError, *UNREADABLE):
        raise InputError("reports.deployment.unreadable", path=path) from None
    return rows


@cache
def _rows() -> tuple[dict[str, Any], ...]:
    path = Path(__file__).parent / "deployments.toml"
    return tuple(tomllib.loads(path.read_text(encoding="utf-8"))["deployment"])


def _both(
    row: dict[str, Any], prior: float, confidence: float, stated: Guarantee | None = None
) -> Iterator[Deployment]:
    """Yield one's own about being in the data and about a value; about that alone if all are in."""
    yield _deployment(row, prior, confidence, stated)
    if row["adjacency"] == "add-remove":
        yield _deployment(row, prior, confidence, stated, about="value")


def _deployment(
    row: dict[str, Any],
    prior: float,
    confidence: float,
    stated: Guarantee | None = None,
    about: str = "membership",
) -> Deployment:
    adjacency = "add-remove" if row["adjacency"] == "not stated" else row["adjacency"]
    about = "value" if adjacency in ("replace", "local") else about
    at = Prior(1.0, prior) if about == "value" and adjacency == "add-remove" else prior
    guarantee = of_kind(row["kind"], row, adjacency=adjacency) if stated is None else stated
    belief = None
    with suppress(GuaranteeError):  # where δ allows no bound at this confidence, that is said
        belief = explain(guarantee, at, confidence=confidence, unit=row["unit"])
    kept = ("name", "curator", "year", "model", "unit", "adjacency", "kind", "source", "note")
    return Deployment(
        **{name: row[name] for name in kept if name in row},
        prior=float(prior),
        guarantee=guarantee,
        belief=belief,
        about=about,
    )
