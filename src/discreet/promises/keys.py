"""The one reader of a promise's keys: in YAML, in JSON, and as flags with dashes for underscores.

What may be learned, at the most; several must all hold:

    ratio, posterior, difference      one number each
    unless_ratio                      with posterior: K&R's max{a/(pq), r}
    profile: "max(0.25/(p*q), 3)"     a formula
    table: file.csv, or rows          p, q, ratio
    counterfactual: R, counts_sensitive_only: true
    preset: NAME
    all: [...], groups: {NAME: ...}   several mappings

What is guessed: the priors it speaks of.

    about: membership | value | both  q = 1, p = 1, or all
    p, q, box: [P0, P1, Q0, Q1]

How surely, and of whom.

    every_output: true, or confidence: 0.99, or on_average: true (with answers: N)
    sided: two | one                  whether ratio and difference speak of falls too
    adjacency, unit, unit_name, related

`delta` is no part of a promise: it is the δ of the guarantee that is to keep it. It may stand in
the same file, and `delta_in` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from discreet.errors import InputError, ToleranceError
from discreet.guarantees import Adjacency
from discreet.promises.box import Box
from discreet.promises.presets import preset
from discreet.promises.promise import Promise, PromiseLike, Surety, promised
from discreet.promises.shapes import (
    AllOf,
    Counterfactual,
    Difference,
    Formula,
    Groups,
    Posterior,
    PosteriorUnlessRatio,
    Ratio,
    Tolerance,
    priors,
)
from discreet.promises.table import Table
from discreet.promises.unit import PERSON, Unit
from discreet.reading import text_of, yaml_values

__all__ = [
    "KEYS",
    "OF_WHOM",
    "PRIORS",
    "SHAPES",
    "delta_in",
    "load_yaml",
    "promise_from",
    "promise_in",
    "read_text",
    "tolerance_in",
]

SHAPES = frozenset(
    {
        "ratio", "posterior", "difference", "unless_ratio", "profile", "table", "preset",
        "counterfactual", "counts_sensitive_only", "all", "groups",
    }
)  # fmt: skip
PRIORS = frozenset({"about", "p", "q", "box", "values_known"})
_SURETY = frozenset({"every_output", "confidence", "on_average", "answers", "sided"})
OF_WHOM = frozenset({"adjacency", "unit", "unit_name", "related"})
KEYS = SHAPES | PRIORS | _SURETY | OF_WHOM
"""Every key of a promise."""

_ABOUT = ("membership", "value", "both")
_LARGEST_FILE = 1_000_000


def promise_in(mapping: Mapping[str, Any], folder: Path | None = None) -> Promise:
    """Return the promise that a mapping describes; paths in it are relative to `folder`.

    >>> promise_in({"posterior": 0.12, "p": 0.05, "about": "membership"}).tolerance
    Posterior(posterior=0.12, box=Box(p0=0.05, p1=0.05, q0=1.0, q1=1.0))
    """
    _refuse_unknown(mapping, KEYS | {"delta"})
    given = {key: value for key, value in mapping.items() if value is not None}
    adjacency = Adjacency.of(given.get("adjacency", "add-remove"))
    _refuse_membership(given, adjacency)
    surety = _surety(given)
    if surety is not None and surety.reading == "every_output" and delta_in(given):
        raise ToleranceError(
            f"every_output asks for pure DP, but delta is {given['delta']!r}; drop one of the two."
        )
    unit = PERSON
    if "unit" in given or "unit_name" in given:
        unit = Unit.of(str(given.get("unit", "person")), given.get("unit_name"))
    return Promise(
        tolerance_in({key: given[key] for key in given if key in SHAPES | PRIORS}, folder),
        surety,
        _word("sided", given.get("sided", "two"), ("one", "two")),
        adjacency,
        unit,
        given.get("related", 1),
    )


def promise_from(
    thing: PromiseLike | None, keys: Mapping[str, Any], folder: Path | None = None
) -> Promise:
    """Return the promise that something is, or that keys describe, or the first with the second.

    Beside a promise, keys may say how surely and of whom; what may be learned it says itself.
    `prior` is short for p with q = 1, as in `explain`.

    >>> promise_from(None, {"posterior": 0.12, "prior": 0.05}).own_prior
    (0.05, 1.0)
    """
    given = {key: value for key, value in keys.items() if value is not None}
    if "prior" in given:
        given = _with_prior(given)
    if thing is None:
        return promise_in(given, folder)
    twice = sorted((SHAPES | PRIORS) & set(given))
    if twice:
        raise InputError(
            f"{twice[0]} was given beside a promise that says itself what may be learned; drop one "
            "of the two."
        )
    _refuse_unknown(given, _SURETY | OF_WHOM)
    unit = None
    if "unit" in given or "unit_name" in given:
        unit = Unit.of(str(given.get("unit", "person")), given.get("unit_name"))
    return promised(
        thing,
        folder,
        surety=_surety(given),
        sided=given.get("sided"),
        adjacency=given.get("adjacency"),
        related=given.get("related"),
        unit=unit,
    )


def _with_prior(given: dict[str, Any]) -> dict[str, Any]:
    prior = given.pop("prior")
    if Adjacency.of(given.get("adjacency", "add-remove")) is not Adjacency.ADD_REMOVE:
        raise ToleranceError(
            f"prior is the chance of being in the data, which {given['adjacency']!r} does not "
            "protect; give the prior of the value as q."
        )
    if {"p", "q", "box", "about"} & set(given) - {"about"} or given.get("about") not in (
        None,
        "membership",
    ):
        raise ToleranceError("prior means p with q = 1; leave out p, q, box and about.")
    given.pop("about", None)
    return given | {"p": prior, "q": 1.0}


def tolerance_in(mapping: Mapping[str, Any], folder: Path | None = None) -> Tolerance:
    """Return the tolerance alone: what may be learned, and at which priors.

    >>> tolerance_in({"posterior": 0.25, "unless_ratio": 3, "about": "membership"})
    PosteriorUnlessRatio(posterior=0.25, ratio=3.0, box=Box(p0=0.0, p1=1.0, q0=1.0, q1=1.0))
    """
    _refuse_unknown(mapping, SHAPES | PRIORS)
    given = {key: value for key, value in mapping.items() if value is not None}
    parts = _parts(given, _box(given), folder)
    if not parts:
        raise ToleranceError(
            "nothing is promised yet: give a ratio, a posterior, a difference, a profile, a table "
            "or a preset."
        )
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _refuse_unknown(mapping: Mapping[str, Any], known: frozenset[str]) -> None:
    if not isinstance(mapping, Mapping):
        raise ToleranceError("a promise must be a mapping, such as {ratio: 3}.")
    unknown = sorted(str(key) for key in set(mapping) - known)
    if unknown:
        names = ", ".join(sorted(known))
        raise ToleranceError(f"a promise has no key {unknown[0][:40]!r}; the keys are: {names}.")


def delta_in(mapping: Mapping[str, Any]) -> float:
    """Return the δ that stands beside a promise; 0 where there is none."""
    delta = mapping.get("delta")
    if delta is None:
        return 0.0
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 <= delta < 1:
        raise ToleranceError(f"delta is {delta!r}; it must be a probability below 1.")
    return float(delta)


def _surety(given: Mapping[str, Any]) -> Surety | None:
    """Return how surely it must hold; None where nothing is said."""
    said = []
    for key in ("every_output", "on_average"):
        value = given.get(key, False)
        if not isinstance(value, bool):
            raise ToleranceError(f"{key} is {value!r}; it must be true or false.")
        said += [key] if value else []
    said += ["confidence"] if "confidence" in given else []
    if len(said) > 1:
        raise ToleranceError(
            f"{said[0]} and {said[1]} are two ways of being sure; a promise has one. Drop one."
        )
    if "answers" in given and said != ["on_average"]:
        raise ToleranceError("answers goes with on_average; give both.")
    if not said:
        return None
    if said == ["confidence"]:
        return Surety("confidence", given["confidence"])
    if said == ["on_average"]:
        return Surety("on_average", answers=given.get("answers"))
    return Surety("every_output")


def _word(key: str, value: Any, words: tuple[str, ...]) -> Any:
    if value not in words:
        raise ToleranceError(f"{key} is {value!r}; it must be {' or '.join(words)}.")
    return value


def _parts(given: dict[str, Any], box: Box, folder: Path | None) -> list[Tolerance]:
    readers: dict[str, Callable[[Any], Tolerance]] = {
        "ratio": lambda x: Ratio(x, box),
        "difference": lambda x: Difference(x, box),
        "profile": lambda x: Formula(x, box),
        "table": lambda x: _table(x, box, folder),
        "preset": lambda x: preset(str(x)),
        "counterfactual": lambda x: Counterfactual(x, given.get("counts_sensitive_only", False)),
        "all": lambda x: AllOf(tuple(tolerance_in(part, folder) for part in _list("all", x))),
        "groups": lambda x: _groups(x, folder),
    }
    if "counts_sensitive_only" in given and "counterfactual" not in given:
        raise ToleranceError("counts_sensitive_only goes with counterfactual; give both.")
    if not isinstance(alone := given.get("counts_sensitive_only", False), bool):
        raise ToleranceError(f"counts_sensitive_only is {alone!r}; it must be true or false.")
    if "unless_ratio" in given and "posterior" not in given:
        raise ToleranceError("unless_ratio goes with posterior; for a ratio alone write ratio.")
    parts = [_posterior(given, box)] if "posterior" in given else []
    parts += [read(given[key]) for key, read in readers.items() if key in given]
    own = {"preset", "counterfactual", "all", "groups"} & set(given)
    named = PRIORS & set(given)
    if own and named:
        raise ToleranceError(f"{min(own)} names its own priors; leave out {min(named)}.")
    return parts


def _posterior(given: dict[str, Any], box: Box) -> Tolerance:
    if "unless_ratio" in given:
        return PosteriorUnlessRatio(given["posterior"], given["unless_ratio"], box)
    if box.p1 * box.q1 == 1:
        raise ToleranceError(
            "posterior alone cannot hold for every prior: someone who is already that sure may "
            "learn nothing. Fix the prior (p: 0.05), restrict it (box: [0, 0.05, 0, 1]), or add "
            "unless_ratio: 3."
        )
    return Posterior(given["posterior"], box)


def _box(given: dict[str, Any]) -> Box:
    box = None
    about = given.get("about")
    if about is not None:
        _word("about", about, _ABOUT)
    if "box" in given:
        if about is not None:
            raise ToleranceError(
                "about and box both name the priors; drop one of the two (membership is q from 1 "
                "to 1, value is p from 1 to 1)."
            )
        ends = _list("box", given["box"])
        if len(ends) != 4:
            raise ToleranceError(f"box has {len(ends)} ends; it needs four: P0 P1 Q0 Q1.")
        box = Box(*ends)
    known = given.get("values_known", False)
    if not isinstance(known, bool):
        raise ToleranceError(f"values_known is {known!r}; it must be true or false.")
    if known and about == "value":
        raise ToleranceError("values_known means about: membership; drop it, or about: value.")
    p, q = given.get("p"), given.get("q")
    if known or about == "membership":
        if q not in (None, 1):
            what = "values_known" if known else "about: membership"
            raise ToleranceError(f"{what} means q = 1, but q is {q!r}; drop one of the two.")
        q = 1
    if about == "value":
        if p not in (None, 1):
            raise ToleranceError(f"about: value means p = 1, but p is {p!r}; drop one of the two.")
        p = 1
    if about == "both" and p is not None and q is not None:
        raise ToleranceError("about: both leaves a prior free, but p and q are fixed; drop about.")
    return priors(p=p, q=q, box=box)


def _refuse_membership(given: Mapping[str, Any], adjacency: Adjacency) -> None:
    if adjacency is not Adjacency.ADD_REMOVE and given.get("about") == "membership":
        raise ToleranceError(
            f"under {adjacency.value!r} everyone is in the data, so membership is not protected "
            "and cannot be promised; promise a value (about: value), or use add-remove."
        )


def _list(key: str, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise ToleranceError(f"{key} must be a list, such as [0, 0.1, 0, 1].")
    return list(value)


def _groups(value: Any, folder: Path | None) -> Groups:
    if not isinstance(value, Mapping):
        raise ToleranceError("groups must be a mapping from a name to a tolerance.")
    return Groups(tuple((str(name), tolerance_in(part, folder)) for name, part in value.items()))


def _table(value: Any, box: Box, folder: Path | None) -> Table:
    if isinstance(value, str):
        path = (folder or Path()) / value
        return Table.from_csv(read_text(path), box)
    return Table.from_rows(_list("table", value), box)


def read_text(path: Path) -> str:
    """Return a small text file, or say in one sentence why not."""
    return text_of(path, "the file", InputError, _LARGEST_FILE)


def load_yaml(text: str) -> Mapping[str, Any]:
    """Return the mapping in a YAML text, safely loaded; `promise:` or `tolerance:` may wrap it."""
    loaded = yaml_values(text, "the promise")
    if not isinstance(loaded, Mapping):
        raise InputError("the YAML must be a mapping, such as `ratio: 3`.")
    if len(loaded) == 1 and next(iter(loaded)) in ("promise", "tolerance"):
        return next(iter(loaded.values())) or {}
    return loaded
