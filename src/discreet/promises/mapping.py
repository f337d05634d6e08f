"""A tolerance as a mapping, as in a YAML file or under `tolerance:` in the spec of a release.

The keys are the flags of `discreet choose` with underscores:

    ratio, posterior, difference    one number each; several must all hold
    unless_ratio                    with posterior: K&R's max{a/(pq), r}
    p, q, box: [P0, P1, Q0, Q1]     the priors it speaks of
    values_known: true              the same as q: 1
    profile: "max(0.25/(p*q), 3)"   a formula
    table: file.csv, or rows        p, q, ratio
    preset: NAME
    counterfactual: R, counts_sensitive_only: true
    all: [...], groups: {NAME: ...} several mappings

`every_output`, `confidence`, `delta` and `sided` say how sure it must be, not what is tolerated;
`promise_of` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InputError, ToleranceError
from discreet.promises.box import Box
from discreet.promises.presets import preset
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
from discreet.reading import text_of, yaml_values

__all__ = [
    "Promise",
    "from_mapping",
    "from_yaml",
    "load_yaml",
    "promise_of",
    "read_text",
    "to_yaml",
]

_SHAPES = {
    "ratio", "posterior", "difference", "unless_ratio", "profile", "table", "preset",
    "counterfactual", "counts_sensitive_only", "all", "groups",
}  # fmt: skip
_PRIORS = {"p", "q", "box", "values_known"}
_PROMISE = {"every_output", "confidence", "delta", "sided"}
_LARGEST_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Promise:
    """How sure a tolerance must be: for every output, or with a confidence and a delta."""

    delta: float = 0.0
    confidence: float = 0.99
    sided: str = "two"


def from_mapping(mapping: Mapping[str, Any], folder: Path | None = None) -> Tolerance:
    """Return the tolerance that a mapping describes; paths in it are relative to `folder`.

    >>> from_mapping({"posterior": 0.25, "unless_ratio": 3, "values_known": True})
    PosteriorUnlessRatio(posterior=0.25, ratio=3.0, box=Box(p0=0.0, p1=1.0, q0=1.0, q1=1.0))
    """
    if not isinstance(mapping, Mapping):
        raise ToleranceError("a tolerance must be a mapping, such as {ratio: 3}.")
    unknown = sorted(str(key) for key in set(mapping) - _SHAPES - _PRIORS - _PROMISE)
    if unknown:
        known = ", ".join(sorted(_SHAPES | _PRIORS | _PROMISE))
        raise ToleranceError(f"a tolerance has no key {unknown[0][:40]!r}; the keys are: {known}.")
    given = {key: value for key, value in mapping.items() if value is not None}
    box = _box(given)
    parts = _parts(given, box, folder)
    if not parts:
        raise ToleranceError(
            "nothing is tolerated or forbidden yet: give a ratio, a posterior, a difference, "
            "a profile, a table or a preset."
        )
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _parts(given: dict[str, Any], box: Box, folder: Path | None) -> list[Tolerance]:
    readers: dict[str, Callable[[Any], Tolerance]] = {
        "ratio": lambda x: Ratio(x, box),
        "difference": lambda x: Difference(x, box),
        "profile": lambda x: Formula(x, box),
        "table": lambda x: _table(x, box, folder),
        "preset": preset,
        "counterfactual": lambda x: Counterfactual(
            x, bool(given.get("counts_sensitive_only", False))
        ),
        "all": lambda x: AllOf(tuple(from_mapping(part, folder) for part in _list("all", x))),
        "groups": lambda x: _groups(x, folder),
    }
    if "counts_sensitive_only" in given and "counterfactual" not in given:
        raise ToleranceError("counts_sensitive_only goes with counterfactual; give both.")
    if "unless_ratio" in given and "posterior" not in given:
        raise ToleranceError("unless_ratio goes with posterior; for a ratio alone write ratio.")
    parts = [_posterior(given, box)] if "posterior" in given else []
    parts += [read(given[key]) for key, read in readers.items() if key in given]
    alone = {"preset", "counterfactual", "all", "groups"} & set(given)
    if alone and _PRIORS & set(given):
        raise ToleranceError(
            f"{min(alone)} names its own priors; leave out {', '.join(_PRIORS & set(given))}."
        )
    return parts


def _posterior(given: dict[str, Any], box: Box) -> Tolerance:
    if "unless_ratio" in given:
        return PosteriorUnlessRatio(given["posterior"], given["unless_ratio"], box)
    if not _PRIORS & set(given):
        raise ToleranceError(
            "posterior alone cannot hold for every prior: someone who is already that sure may "
            "learn nothing. Fix the prior (--p 0.05), restrict it (--box 0 0.05 0 1), or say "
            "--unless-ratio 3."
        )
    return Posterior(given["posterior"], box)


def _box(given: dict[str, Any]) -> Box:
    box = None
    if "box" in given:
        ends = _list("box", given["box"])
        if len(ends) != 4:
            raise ToleranceError(f"box has {len(ends)} ends; it needs four: P0 P1 Q0 Q1.")
        box = Box(*ends)
    known = given.get("values_known", False)
    if not isinstance(known, bool):
        raise ToleranceError(f"values_known is {known!r}; it must be true or false.")
    q = given.get("q")
    if known and q not in (None, 1):
        raise ToleranceError(f"values_known means q = 1, but q is {q!r}; drop one of the two.")
    return priors(p=given.get("p"), q=1 if known else q, box=box)


def _list(key: str, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise ToleranceError(f"{key} must be a list, such as [0, 0.1, 0, 1].")
    return list(value)


def _groups(value: Any, folder: Path | None) -> Groups:
    if not isinstance(value, Mapping):
        raise ToleranceError("groups must be a mapping from a name to a tolerance.")
    return Groups(tuple((str(name), from_mapping(part, folder)) for name, part in value.items()))


def _table(value: Any, box: Box, folder: Path | None) -> Table:
    if isinstance(value, str):
        path = (folder or Path()) / value
        return Table.from_csv(read_text(path), box)
    return Table.from_rows(_list("table", value), box)


def read_text(path: Path) -> str:
    """Return a small text file, or say in one sentence why not."""
    return text_of(path, "the file", InputError, _LARGEST_FILE)


def promise_of(mapping: Mapping[str, Any]) -> Promise:
    """Return how sure the tolerance must be: `every_output`, or `confidence` with `delta`."""
    every, delta = mapping.get("every_output"), mapping.get("delta")
    if every is True and delta not in (None, 0):
        raise ToleranceError(
            f"every_output asks for pure DP, but delta is {delta!r}; drop one of the two."
        )
    confidence, sided = mapping.get("confidence", 0.99), mapping.get("sided", "two")
    if sided not in ("one", "two"):
        raise ToleranceError(f"sided is {sided!r}; it must be one or two.")
    for name, value in (("confidence", confidence), ("delta", 0.0 if delta is None else delta)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise ToleranceError(f"{name} is {value!r}; it must be a probability below 1.")
    return Promise(float(delta or 0.0), float(confidence), sided)


def from_yaml(text: str, folder: Path | None = None) -> Tolerance:
    """Return the tolerance in a YAML text."""
    return from_mapping(load_yaml(text), folder)


def load_yaml(text: str) -> Mapping[str, Any]:
    """Return the mapping in a YAML text, safely loaded: tags and other objects are refused."""
    loaded = yaml_values(text, "the tolerance")
    if not isinstance(loaded, Mapping):
        raise InputError("the YAML must be a mapping, such as `ratio: 3`.")
    return loaded.get("tolerance", loaded) if set(loaded) == {"tolerance"} else loaded


def to_yaml(tolerance: Tolerance) -> str:
    """Return a YAML text that reads back as an equal tolerance."""
    import yaml

    return str(yaml.safe_dump(tolerance.to_mapping(), sort_keys=False, allow_unicode=True))
