"""How mappings that people write are read: closed models, lists as tuples, faults in our words.

A spec is checked by pydantic. What pydantic says of a fault is never shown: `refusal` says where it
is, what was given and which rule it breaks, in the words of the catalogue. A rule of our own is
raised inside a model as a `SpecError`, and keeps its words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import date
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from discreet.errors import DiscreetError, SpecError
from discreet.reading import nearest
from discreet.words import has, say


class Closed(BaseModel):
    """A mapping whose every key is known; frozen once read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True
    )


def as_tuple(value: object) -> object:
    """Return a list as a tuple, and anything else as it is."""
    return tuple(value) if isinstance(value, list) else value


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else as_tuple(value)


def key_text(value: object) -> str:
    """Return a key as the text that data are compared with; refuse what YAML has changed."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, date)):
        raise SpecError("releases.spec.key_type", key=value, type=type(value).__name__)
    return value.isoformat() if isinstance(value, date) else str(value)


def only_drop(nulls: object) -> object:
    """Refuse `nulls: refuse`, which old specs may have: one row would decide what is published."""
    if nulls == "refuse":
        raise SpecError("releases.spec.nulls_refuse")
    return nulls


def distinct_keys(value: object) -> object:
    """Return a list of keys as texts; refuse an empty one, and a key that is listed twice."""
    if not isinstance(value, (list, tuple)):
        return value
    keys = tuple(key_text(key) for key in value)
    if not keys:
        raise SpecError("releases.spec.keys_empty")
    if len(set(keys)) != len(keys):
        raise SpecError("releases.spec.key_twice")
    return keys


Keys: TypeAlias = Annotated[
    tuple[str, ...] | str,
    BeforeValidator(distinct_keys, json_schema_input_type=list[str | int] | str),
]
Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
NamesOrOne: TypeAlias = Annotated[
    tuple[str, ...], BeforeValidator(_one_or_more, json_schema_input_type=str | list[str])
]
Whole: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
Pair: TypeAlias = Annotated[tuple[Whole, Whole], BeforeValidator(as_tuple)]

_TYPES = {"model_type": "dict_type", "mapping_type": "dict_type", "list_type": "tuple_type"}


def refusal(
    error: ValidationError,
    *,
    unknown: str,
    missing: str,
    tags: Collection[str] = (),
    place: Callable[[list[str | int]], list[str | int]] = list,
    keys: Callable[[], Collection[str]] = tuple,
) -> SpecError:
    """Return the first fault in words: where, what was given, and the rule.

    `unknown` and `missing` name the texts for a key that is not known, and for one that is not
    there; `tags` are steps of pydantic's own that nobody wrote; `place` may rename the others. Of
    `keys`, the one that is most like an unknown one is proposed. An unknown key comes before a
    missing one, for it may be that one, misspelt.
    """
    faults = error.errors(include_url=False)
    first = min(faults, key=lambda one: one["type"] != "extra_forbidden")
    last = len(first["loc"]) - 1 if first["type"] == "extra_forbidden" else None  # was written
    steps = place([s for i, s in enumerate(first["loc"]) if s not in tags or i == last])
    where = ".".join(map(str, steps)) or say("releases.spec.whole")
    context = first.get("ctx", {})
    fault = context.get("error")
    if isinstance(fault, DiscreetError):
        text = "releases.spec.fault_next" if fault.next else "releases.spec.fault"
        said = {"says": fault.message, "next": fault.next, "flags": fault.flags or fault.next}
        return SpecError(text, where=where, **said)
    if isinstance(fault, ValueError):
        return SpecError("releases.spec.fault", where=where, says=f"{str(fault).rstrip('.')}.")
    if first["type"] == "missing":
        return SpecError(missing, where=where)
    if first["type"] == "extra_forbidden":
        near = nearest(str(steps[-1]), keys())
        if near not in (None, steps[-1]):  # a key of other entries is no better here
            return SpecError("releases.spec.near_key", where=where, near=near)
        return SpecError(unknown, where=where)
    rule = f"releases.rules.{_TYPES.get(first['type'], first['type'])}"
    says = say(rule if has(rule) else "releases.rules.other", **context)
    given = first["input"]
    below_one = 1 in (context.get("lt"), context.get("le"))
    if isinstance(given, (int, float)) and 1 < given <= 100 and below_one:
        share = float(given) / 100
        return SpecError("promises.in_percent", name=where, value=given, share=share)
    if isinstance(given, (str, int, float, bool)):
        return SpecError("releases.spec.fault_given", where=where, given=_short(given), says=says)
    return SpecError("releases.spec.fault", where=where, says=says)


def _short(given: Any) -> str:
    shown = repr(given)
    return shown if len(shown) <= 200 else f"{shown[:200]}…"
