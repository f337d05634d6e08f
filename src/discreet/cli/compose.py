"""`discreet compose`: what many releases add up to."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.flags import Json, OneRelease, described
from discreet.words import say

if TYPE_CHECKING:
    from discreet.composition import Composition, PrivacyLoss
    from discreet.ledger import Account, Ledger

_PRIORS = (0.01, 0.05, 0.1, 0.3, 0.5)
_WORDS = ("epsilon", "delta", "rho", "sigma", "scale", "times", "mechanism", "sensitivity")


@described("compose")
def compose(
    release: OneRelease,
    delta_each: float | None = None,
    times: int = 1,
    delta: float | None = None,
    method: str | None = None,
    add: list[str] | None = None,
    file: Path | None = None,
    event: Path | None = None,
    distribution: Path | None = None,
    adjacency: str = "add-remove",
    accounts: list[str] | None = None,
    more: Annotated[list[str] | None, typer.Argument()] = None,
    ledger: list[str] | None = None,
    confidence: float | None = None,
    as_json: Json = False,
) -> None:
    """What many releases add up to: one guarantee, the theorem that gave it, and the others."""
    from discreet.cli.output import emit, table
    from discreet.composition import compose
    from discreet.errors import InputError

    first = asdict(release) | {"delta": delta_each}
    parts = [{k: v for k, v in first.items() if v is not None} | {"times": times}]
    if len(parts[0]) == 1:
        parts = []
    parts += [_words(text) for text in add or []]
    if file is not None:
        parts += _listed(file)
    names = [*(accounts or []), *(more or [])]
    if bool(ledger) != bool(accounts) or (more and not accounts):
        raise InputError("cli.accounts_alone")
    curves = _curves(event, distribution, adjacency)
    found_accounts: list[Account] = []
    books: list[Ledger] = []
    if ledger:
        from discreet.ledger import Ledger
        from discreet.ledger.accounts import spent_together

        books = [Ledger.open(url) for url in ledger]
        known = {one.name for book in books for one in book.accounts()}
        both = ([name] if name in known else name.split(",") for name in names)  # a,b or a b
        _, found_accounts = books[0].together((x.strip() for xs in both for x in xs), *books[1:])
        curves += spent_together(found_accounts)
        adjacency = found_accounts[0].adjacency.value  # what was spent carries its own
    if not parts and not curves:
        raise InputError("cli.nothing_to_compose")
    every = [*curves, *((_part(words, adjacency), _times(words)) for words in parts)]
    asked = None if adjacency == "add-remove" else adjacency
    found = compose(every, delta=delta, method=method, adjacency=asked)
    rows = [
        [
            name,
            _shown(value),
            "<- chosen" if name == found.method else "",
        ]
        for name, value in found.others.items()
        if value is not None and value < float("inf")
    ]
    payload = found.to_dict()
    lines = [_headline(found), f"  by {found.theorem}"]
    lines += ["", *table(rows, ["method", "epsilon", ""])] if rows else []
    if delta is None and rows and (len(curves) + sum(map(_times, parts)) > 1):
        larger = min(1.0, 10 * found.delta) or 1e-6
        lines += ["", say("cli.compose.with_delta", delta=larger, found=found.delta)]
    if found_accounts or confidence is not None:
        loss = _loss(every, adjacency)
        if found_accounts:
            names = [one.name for one in found_accounts]
            lines.insert(0, say("cli.compose.accounts", names=", ".join(names)))
            payload["accounts"] = [_held(one, books, loss) for one in found_accounts]
            alone = len(every) == len(found_accounts) == 1
            lines += ["", *_held_lines(found_accounts, [] if alone else payload["accounts"])]
        payload["beliefs"] = told = _beliefs(loss, 0.99 if confidence is None else confidence)
        lines += ["", *_beliefs_lines(told), *(f"  {one}" for one in found.assumptions)]
    emit(payload, lines, as_json)


def _curves(event: Path | None, distribution: Path | None, adjacency: str) -> list[Any]:
    """The curve of an event or a distribution that was made elsewhere; it is composed alone."""
    found: list[Any] = []
    if event is not None:
        from discreet.composition.events import read_event

        found.append(read_event(event))
    if distribution is not None:
        from discreet.composition.events import read_distribution

        found.append(read_distribution(distribution, adjacency=adjacency))
    return found


def _loss(parts: list[Any], adjacency: str) -> PrivacyLoss:
    """Return the loss of all parts; beside what is only promised, a mechanism counts as it does."""
    from dataclasses import replace

    from discreet.composition import loss_of
    from discreet.guarantees import Adjacency
    from discreet.laws.mechanism import Mechanism

    pairs = [part if isinstance(part, tuple) else (part, 1) for part in parts]
    if len({isinstance(part, Mechanism) for part, _ in pairs}) > 1:
        where = Adjacency.of(adjacency)
        pairs = [
            (replace(p.guarantee(), adjacency=where) if isinstance(p, Mechanism) else p, times)
            for p, times in pairs
        ]
    return loss_of(*pairs, adjacency=None if adjacency == "add-remove" else adjacency)


def _held(account: Account, books: list[Ledger], loss: PrivacyLoss) -> dict[str, Any]:
    """What an account spent and promises, and whether all that was spent would keep that."""
    from discreet.budgets.keeping import kept
    from discreet.budgets.limits import limits_of

    holding = [book for book in books if account.name in [one.name for one in book.accounts()]]
    book = max(holding, key=lambda book: account in book.accounts())  # two may have the name
    promises = []
    for one in book.show(account.name).promises:
        promise = one.registered.promise(account)
        within = kept(promise, limits_of(promise), loss).kept
        promises.append({"id": one.registered.id, "sentence": one.sentence, "kept_by_sum": within})
    return {"account": account.name, "spent": account.spent.to_dict(), "promises": promises}


def _held_lines(accounts: list[Account], held: list[dict[str, Any]]) -> list[str]:
    from discreet.cli.output import table
    from discreet.statements.presenter import spent_text

    lines = table([[one.name, spent_text(one.spent)] for one in accounts], ["account", "spent"])
    for one in held:
        for promise in one["promises"]:
            how = "within" if promise["kept_by_sum"] else "beyond"
            lines.append(say(f"cli.compose.{how}", account=one["account"], **promise))
    return [*lines, say("cli.compose.nobody_promised")] if held else lines


def _beliefs(loss: PrivacyLoss, confidence: float) -> dict[str, Any]:
    """What may be believed at most, from a few beliefs before, as `explain` has it."""
    from discreet.beliefs import Prior, explain
    from discreet.errors import GuaranteeError
    from discreet.guarantees import Adjacency

    sure = 1.0

    def most(prior: Prior) -> float:
        nonlocal sure
        try:
            belief = explain(loss, prior, confidence=confidence)
        except GuaranteeError:  # more δ was spent than the confidence leaves
            return 1.0
        sure = min(sure, belief.holds_with)
        return belief.posterior.upper

    central = loss.adjacency is Adjacency.ADD_REMOVE
    rows = [
        {
            "prior": p,
            "membership": most(Prior(p)) if central else None,
            "value": most(Prior(1.0, p)),
        }
        for p in _PRIORS
    ]
    return {"holds_with": sure, "at": rows}


def _beliefs_lines(told: dict[str, Any]) -> list[str]:
    from discreet.cli.output import table
    from discreet.statements.presenter import belief_text, bound_text

    sure = told["holds_with"]
    how = "always" if sure == 1 else "confidence"
    asked = [name for name in ("membership", "value") if told["at"][0][name] is not None]
    header = [say(f"cli.compose.{name}") for name in ("before", *asked)]
    rows = [[belief_text(r["prior"]), *(bound_text(r[name]) for name in asked)] for r in told["at"]]
    return [say(f"cli.compose.believed_{how}", sure=f"{100 * sure:g} %"), *table(rows, header)]


def _headline(found: Composition) -> str:
    if found.epsilon == float("inf"):
        return say("cli.compose.no_epsilon", guarantee=found.guarantee)
    return f"together epsilon = {_shown(found.epsilon)}, delta = {found.delta:g}"


def _shown(value: float) -> str:
    """An ε rounded up, to four decimals, or to three digits where it is small."""
    from math import floor, log10

    from discreet.rounding import decimal_up

    digits = 4 if value >= 0.01 or value == 0 else 2 - floor(log10(value))
    return f"{decimal_up(value, digits):.{digits}f}"


def _words(text: str) -> dict[str, Any]:
    """Read 'epsilon=0.1,times=12' as words and values."""
    from discreet.errors import InputError

    found: dict[str, Any] = {}
    for item in text.split(","):
        name, sign, value = item.partition("=")
        if not sign:
            raise InputError("cli.part_unreadable", text=text)
        found[name.strip()] = value.strip()
    return found


def _listed(file: Path) -> list[dict[str, Any]]:
    from discreet.errors import InputError
    from discreet.reading import text_of, yaml_values

    read = yaml_values(text_of(file, "the file"), f"the file {file}")
    if not isinstance(read, list) or not all(isinstance(item, dict) for item in read):
        raise InputError("cli.parts_no_list", file=file)
    return read


def _number(words: dict[str, Any], name: str) -> float | None:
    from discreet.errors import InputError

    value = words.get(name)
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise InputError("cli.no_number", name=name, value=value) from None


def _times(words: dict[str, Any]) -> int:
    from discreet.errors import InputError

    value = _number(words, "times")
    if value is None:
        return 1
    if value != value or value < 1 or value != int(value):
        raise InputError("cli.times_no_count", times=words["times"])
    return int(value)


def _part(words: dict[str, Any], adjacency: str) -> Any:
    """Read one part: a guarantee, or a mechanism with its noise."""
    from discreet.errors import InputError

    unknown = sorted(str(word) for word in words if word not in _WORDS)
    if unknown:
        raise InputError("composition.unknown_word", word=unknown[0], words=", ".join(_WORDS))
    numbers = {name: _number(words, name) for name in ("epsilon", "rho", "sigma", "scale")}
    named = None if words.get("mechanism") is None else str(words["mechanism"])
    release = OneRelease(**numbers, mechanism=named, sensitivity=_number(words, "sensitivity"))
    return release.read(_number(words, "delta"), None if named else adjacency)
