"""The one reader of a promise's keys: in YAML, in JSON, and as flags with dashes for underscores.

What may be learned, at the most: the keys of a shape (`tolerance.SHAPES`), such as `ratio: 3`.
Several must all hold.

What is guessed: the priors it speaks of.

    about: membership | value | both  q = 1, p = 1, or all
    p, q, box: [P0, P1, Q0, Q1]

How surely, and of whom.

    every_output: true, or confidence: 0.99, or on_average: true (with answers: N)
    sided: two | one                  whether ratio and difference speak of falls too
    adjacency, unit, unit_name, related
    odds, with neighbours or chain    how strongly the data of units depend on each other

Priors can also follow from public figures: `sensitive` and `sampled` (`public_shares`), which are
mappings and therefore no flags.

`delta` is no part of a promise: it is the δ of the guarantee that is to keep it. It may stand in
the same file, and `delta_in` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from discreet.beliefs.prior import check_probability
from discreet.errors import InputError, ToleranceError
from discreet.guarantees import Adjacency
from discreet.outside import load_from_outside
from discreet.promises import public_shares
from discreet.promises.box import Box, priors
from discreet.promises.dependence import Dependence
from discreet.promises.formula import refuse_comma
from discreet.promises.promise import Promise, PromiseLike, Surety, promised
from discreet.promises.shapes import AllOf, Function
from discreet.promises.tolerance import DEPENDENCE, OF_WHOM, PRIORS, SHAPES, SURETY, Tolerance
from discreet.promises.unit import PERSON, Unit
from discreet.reading import like, share_of, text_of, yaml_values
from discreet.words import say

SHARES = frozenset({"p", "q", "prior", "value_prior", "posterior", "difference", "confidence"})
"""Numbers between 0 and 1, which may be written as percentages: `posterior: 12%`."""
_ABOUT = ("membership", "value", "both")
_LARGEST_FILE = 1_000_000


def shape_keys() -> frozenset[str]:
    """Return the keys of every registered shape: those that say what may be learned."""
    return frozenset(key.name for known in SHAPES.values() for key in known.keys)


def promise_keys() -> frozenset[str]:
    """Return every key of a promise."""
    return shape_keys() | PRIORS | SURETY.keys() | OF_WHOM


def written_keys() -> frozenset[str]:
    """Return every key that a promise in a file may have: also those that are no flags.

    Its `sentence`, as results have it, is read over: the keys say it.
    """
    return promise_keys() | public_shares.KEYS | {"sentence"}


def promise_in(
    mapping: Mapping[str, Any], folder: Path | None = None, *, stored: bool = False
) -> Promise:
    """Return the promise that a mapping describes; paths in it are relative to `folder`.

    One that is `stored` was made before: it is read as it was then.

    >>> promise_in({"posterior": 0.12, "p": 0.05, "about": "membership"}).tolerance
    Posterior(posterior=0.12, box=Box(p0=0.05, p1=0.05, q0=1.0, q1=1.0))

    `prior` is short for p with q = 1, as in `explain`.

    >>> promise_in({"posterior": 0.12, "prior": 0.05}).own_prior
    (0.05, 1.0)
    """
    _refuse_unknown(mapping, lambda: written_keys() | {"delta", "prior"})
    for formula in () if stored else _said_as("profile", mapping):
        refuse_comma(formula)
    given = _given(mapping)
    if "prior" in given:
        given = _with_prior(given)
    given, basis = public_shares.priors_in(given, folder)
    adjacency = Adjacency.of(given.get("adjacency", "add-remove"))
    _refuse_membership(given, adjacency)
    surety = _surety(given)
    if surety is not None and surety.reading == "every_output" and delta_in(given):
        raise ToleranceError("promises.every_output_with_delta", delta=given["delta"])
    said = shape_keys() | PRIORS
    return Promise(
        tolerance_in({key: given[key] for key in given if key in said}, folder),
        surety,
        _word("sided", given.get("sided", "two"), ("one", "two")),
        adjacency,
        _unit(given) or PERSON,
        *dependence_in(given),
        tuple(basis),
    )


def promise_from(
    thing: PromiseLike | None, keys: Mapping[str, Any], folder: Path | None = None
) -> Promise:
    """Return the promise that something is, or that keys describe, or the first with the second.

    Beside a promise, keys may say how surely and of whom; what may be learned it says itself.
    """
    given = _given(keys)
    if thing is None:
        return promise_in(given, folder)
    if callable(thing):
        declared = {key: given.pop(key) for key in ("monotone_p", "monotone_q") if key in given}
        thing = Function(thing, **declared)
    twice = sorted((shape_keys() | PRIORS | {"prior"}) & set(given))
    if twice:
        raise InputError("promises.beside_a_promise", key=twice[0])
    _refuse_unknown(given, lambda: SURETY.keys() | OF_WHOM)
    return promised(
        thing,
        folder,
        surety=_surety(given),
        sided=given.get("sided"),
        adjacency=given.get("adjacency"),
        related=given.get("related"),
        dependence=dependence_in(given)[1],
        unit=_unit(given),
    )


def _given(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that hold something, with percentages as shares."""
    given = {key: value for key, value in keys.items() if value is not None}
    for key in SHARES & given.keys():
        given[key] = share_of(given[key])
    if isinstance(given.get("box"), (list, tuple)):
        given["box"] = [share_of(end) for end in given["box"]]
    return given


def _unit(given: Mapping[str, Any]) -> Unit | None:
    if "unit" not in given and "unit_name" not in given:
        return None
    return Unit.of(str(given.get("unit", "person")), given.get("unit_name"))


def dependence_in(given: Mapping[str, Any]) -> tuple[int, Dependence | None]:
    """Return how many units are related, and how strongly units depend on each other, if said."""
    keys = DEPENDENCE.keys() - {"related"}
    said = {
        key: given[key] for key in keys if given.get(key) is not None and given[key] is not False
    }
    related = given.get("related", 1)
    if not said:
        return related, None
    if "odds" not in said or ("neighbours" in said) == ("chain" in said):
        raise InputError("promises.dependence_keys")
    return related, Dependence(**said)


def _with_prior(given: dict[str, Any]) -> dict[str, Any]:
    prior = given.pop("prior")
    if Adjacency.of(given.get("adjacency", "add-remove")) is not Adjacency.ADD_REMOVE:
        raise ToleranceError("promises.prior_not_protected", adjacency=given["adjacency"])
    if given.get("about") == "value" and not {"p", "q", "box"} & set(given):
        raise ToleranceError("promises.prior_of_a_value", prior=check_probability("prior", prior))
    if {"p", "q", "box"} & set(given) or given.get("about") not in (None, "membership"):
        raise ToleranceError("promises.prior_and_others")
    given.pop("about", None)
    return given | {"p": prior, "q": 1.0}


def tolerance_in(mapping: Mapping[str, Any], folder: Path | None = None) -> Tolerance:
    """Return the tolerance alone: what may be learned, and at which priors.

    >>> tolerance_in({"posterior": 0.25, "unless_ratio": 3, "about": "membership"})
    PosteriorUnlessRatio(posterior=0.25, ratio=3.0, box=Box(p0=0.0, p1=1.0, q0=1.0, q1=1.0))
    """
    whole = (SURETY.keys() | OF_WHOM) & set(mapping) if isinstance(mapping, Mapping) else ()
    if whole:
        raise ToleranceError("promises.of_the_whole", key=min(whole))
    _refuse_unknown(mapping, lambda: shape_keys() | PRIORS)
    given = _given(mapping)
    parts = _parts(given, _box(given), folder)
    if not parts:
        raise ToleranceError("promises.nothing_promised")
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _refuse_unknown(mapping: Mapping[str, Any], known: Callable[[], Set[str]]) -> None:
    if not isinstance(mapping, Mapping):
        raise ToleranceError("promises.not_a_mapping", value=mapping)
    if set(mapping) - known():
        load_from_outside("shapes")
    unknown = sorted(str(key) for key in set(mapping) - known())
    if unknown:
        names, key = ", ".join(sorted(known())), unknown[0][:40]
        near = like(key, known())
        raise ToleranceError("promises.unknown_key", key=key, keys=names, like=near)


def files_in(said: object) -> list[str]:
    """Return the files that the keys of a promise name, wherever in them.

    >>> files_in({"all": [{"table": "a.csv"}, {"ratio": 3}], "sensitive": {"shares": "b.csv"}})
    ['a.csv', 'b.csv']
    """
    return [*_said_as("table", said), *_said_as("shares", said)]


def _said_as(key: str, said: object) -> Iterator[str]:
    """Yield the texts under a key, wherever in what was said."""
    if isinstance(said, Mapping):
        yield from [said[key]] if isinstance(said.get(key), str) else ()
        said = list(said.values())
    for part in said if isinstance(said, list) else ():
        yield from _said_as(key, part)


def delta_in(thing: PromiseLike) -> float:
    """Return the δ that stands beside a promise, in its keys or in a choice; 0 where none does."""
    if not isinstance(thing, Mapping):
        return float(getattr(getattr(thing, "guarantee", None), "delta", 0.0))
    delta = thing.get("delta")
    if delta is None:
        return 0.0
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 <= delta < 1:
        raise ToleranceError("promises.delta", delta=delta)
    return float(delta)


def _surety(given: Mapping[str, Any]) -> Surety | None:
    """Return how surely it must hold; None where nothing is said."""
    said = []
    for key in ("every_output", "on_average"):
        value = given.get(key, False)
        if not isinstance(value, bool):
            raise ToleranceError("promises.not_true_or_false", key=key, value=value)
        said += [key] if value else []
    said += ["confidence"] if "confidence" in given else []
    if len(said) > 1:
        raise ToleranceError("promises.two_sureties", first=said[0], second=said[1])
    if "answers" in given and said != ["on_average"]:
        raise ToleranceError("promises.goes_with", key="answers", other="on_average")
    if not said:
        return None
    if said == ["confidence"]:
        return Surety("confidence", given["confidence"])
    if said == ["on_average"]:
        return Surety("on_average", answers=given.get("answers"))
    return Surety("every_output")


def _word(key: str, value: Any, words: tuple[str, ...]) -> Any:
    if value not in words:
        said = {"words": " or ".join(words), "like": like(value, words)}
        raise ToleranceError("promises.not_one_of", key=key, value=value, **said)
    return value


def _parts(given: dict[str, Any], box: Box, folder: Path | None) -> list[Tolerance]:
    for name, kind in SHAPES.items():
        for key in kind.keys:
            if key.name in given and name not in given:
                raise ToleranceError("promises.goes_with", key=key.name, other=name)
            if key.kind is bool and not isinstance(value := given.get(key.name, False), bool):
                raise ToleranceError("promises.not_true_or_false", key=key.name, value=value)
    asked = {name: kind for name, kind in SHAPES.items() if name in given}
    parts = [kind.from_keys(given, box, folder) for kind in asked.values()]
    own = {name for name, kind in asked.items() if kind.own_priors}
    named = PRIORS & set(given)
    if own and named:
        raise ToleranceError("promises.names_own_priors", key=min(own), prior=min(named))
    return parts


def _box(given: dict[str, Any]) -> Box:
    box = None
    about = given.get("about")
    if about is not None:
        _word("about", about, _ABOUT)
    if "box" in given:
        if about is not None:
            raise ToleranceError("promises.about_and_box")
        ends = list_of("box", given["box"])
        if len(ends) != 4:
            raise ToleranceError("promises.box_ends", ends=len(ends))
        box = Box(*ends)
    known = given.get("values_known", False)
    if not isinstance(known, bool):
        raise ToleranceError("promises.not_true_or_false", key="values_known", value=known)
    if known and about == "value":
        raise ToleranceError("promises.values_known_and_value")
    p, q = given.get("p"), given.get("q")
    found = priors(p=p, q=q, box=box)
    if known or about == "membership":
        what = "values_known" if known else "about: membership"
        return _fixed(found, "q", what, "p" if p is None else None)
    if about == "value":
        return _fixed(found, "p", "about: value", "q" if q is None else None)
    if about == "both" and p is not None and q is not None:
        raise ToleranceError("promises.both_but_fixed")
    return found


def _fixed(box: Box, name: str, what: str, other: str | None) -> Box:
    """Return a box with a prior fixed at 1; one that was given as another belongs to `other`."""
    low, high = getattr(box, f"{name}0"), getattr(box, f"{name}1")
    if low == high < 1:
        said: dict[str, Any] = {"what": what, "name": name, "value": high}
        if other is None:
            raise ToleranceError("promises.means_one", **said)
        prior = say(f"promises.prior_of.{other}")
        raise ToleranceError("promises.means_other", other=other, prior=prior, **said)
    return priors(**{name: 1}, box=box)


def _refuse_membership(given: Mapping[str, Any], adjacency: Adjacency) -> None:
    if adjacency is not Adjacency.ADD_REMOVE and given.get("about") == "membership":
        raise ToleranceError("promises.membership_not_protected", adjacency=adjacency.value)


def list_of(key: str, value: Any) -> list[Any]:
    """Return the list that a key holds, or say that it must be one."""
    if not isinstance(value, (list, tuple)):
        example = say(f"promises.lists.{key}")
        raise ToleranceError("promises.not_a_list", key=key, value=value, example=example)
    return list(value)


def read_text(path: Path) -> str:
    """Return a small text file, or say in one sentence why not."""
    return text_of(path, "the file", InputError, _LARGEST_FILE)


def load_yaml(text: str) -> Mapping[str, Any]:
    """Return the mapping in a YAML text, safely loaded; `promise:` or `tolerance:` may wrap it.

    Of a spec it is its promise, with the unit and the adjacency that it protects.
    """
    loaded = yaml_values(text, "the promise")
    if not isinstance(loaded, Mapping):
        raise InputError("promises.yaml_no_mapping")
    held = [key for key in ("promise", "tolerance") if key in loaded]
    protect = loaded.get("protect", {} if len(loaded) == 1 else None)
    if len(held) != 1 or not isinstance(protect, Mapping):
        return loaded
    whom = {"unit": "unit", "name": "unit_name", "adjacency": "adjacency"}
    of_whom = {key: protect[name] for name, key in whom.items() if name in protect}
    return {**(loaded[held[0]] or {}), **of_whom}
