"""How mappings that people write are read: closed models, lists as tuples, faults in our words.

A spec is checked by pydantic. What pydantic says of a fault is never shown: `refusal` says where it
is, what was given and which rule it breaks, in the words of the catalogue. A rule of our own is
raised inside a model as a `SpecError`, and keeps its words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from discreet.errors import DiscreetError, SpecError
from discreet.reading import like, nearest, share_of
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
    schema: Callable[[], Mapping[str, Any]],
) -> SpecError:
    """Return the first fault in words: where, what was given, the rule, and how it is written.

    `unknown` and `missing` name the texts for a key that is not known, and for one that is not
    there; `tags` are steps of pydantic's own that nobody wrote; `place` may rename the others. Of
    the keys that the `schema` has there, the one that is most like an unknown one is proposed. An
    unknown key comes before a missing one, for it may be that one, misspelt.
    """
    faults = error.errors(include_url=False)
    first = min(faults, key=lambda one: one["type"] != "extra_forbidden")
    loc, kind, context = first["loc"], first["type"], first.get("ctx", {})
    last = len(loc) - 1 if kind == "extra_forbidden" else None  # was written
    if kind == "missing" and isinstance(loc[-1], int):  # one end of a pair
        loc, kind = loc[:-1], "pair"
    written = [
        step
        for at, step in enumerate(loc)
        if step not in tags or at == last or step in _keys(loc[:at], schema())
    ]
    steps = place(written)
    where = ".".join(map(str, steps)) or say("releases.spec.whole")
    fault = context.get("error")
    if isinstance(fault, DiscreetError):
        if steps and fault.message.startswith((f"{steps[-1]} ", f"{steps[-1]}: ")):
            where = ".".join(map(str, steps[:-1]))  # it says so itself
        text = "releases.spec.fault_next" if fault.next else "releases.spec.fault"
        said = {"says": fault.message, "next": fault.next, "flags": fault.flags or fault.next}
        return SpecError(text, where=where and f"{where}: ", **said)
    if isinstance(fault, ValueError):
        return SpecError(
            "releases.spec.fault", where=f"{where}: ", says=f"{str(fault).rstrip('.')}."
        )
    example = _example(written)
    if kind == "missing":
        return _with_next(missing, example, where=where)
    if kind == "extra_forbidden":
        known = _keys(loc[:-1], schema())
        near = nearest(str(steps[-1]), known)
        if near not in (None, steps[-1]):
            return SpecError("releases.spec.near_key", where=where, near=near)
        few = len(loc) > 1 and len(known) <= 12
        here = say("releases.spec.keys_here", keys=", ".join(sorted(known))) if few else None
        return _with_next(unknown, here, where=where)
    rule = f"releases.rules.{_TYPES.get(kind, kind)}"
    limits = {key: int(n) if n == int(n) else n for key, n in _numbers(context).items()}
    expected = str(context.get("expected", "")).replace("True", "true")
    says = say(
        rule if has(rule) else "releases.rules.other", **context | limits | {"expected": expected}
    )
    given = first["input"]
    share = share_of(given) if kind == "float_type" else None
    if isinstance(given, (int, float)) and 1 < given <= 100 and 1 in limits.values():
        share = float(given) / 100
        return SpecError("promises.in_percent", name=where, value=given, share=share)
    near = like(given, re.findall("'([^']*)'", context.get("expected", ""))).strip()
    if near:
        example = near
    elif isinstance(share, float):
        example = say("releases.spec.share", share=share)
    elif rule.endswith("tuple_type") and str(given).isidentifier() and written:
        example = say("releases.spec.example", example=f"{written[-1]}: [{given}]")
    elif kind == "too_long" and all(isinstance(one, int) for one in given):
        example = say("releases.spec.commas")
    said = {"where": where, "says": says, "shown": _shown(given), "given": given}
    return _with_next("releases.spec.fault_given", example, **said)


def _keys(steps: Sequence[str | int], schema: Mapping[str, Any]) -> set[str]:
    """Return the keys that a person may write where some steps lead in a schema."""
    here: list[Any] = [schema]
    for step in steps:
        inside = [one for model in here for one in _below(model, step, schema)]
        here = inside or here  # a step that only pydantic makes
    found = {key for model in here for one in _models(model, schema) for key in one["properties"]}
    return found - {"rows_choice"}


def _models(part: Mapping[str, Any], schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the mappings with keys of their own that a part of a schema allows."""
    if "$ref" in part:
        return _models(schema["$defs"][part["$ref"].rsplit("/", 1)[1]], schema)
    either = [*part.get("anyOf", ()), *part.get("oneOf", ())]
    found = [one for other in either for one in _models(other, schema)]
    return [part] if "properties" in part else found


def _below(part: Mapping[str, Any], step: str | int, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what a part of a schema allows under a key, or in a list."""
    lists = [part, *part.get("anyOf", ())]
    if isinstance(step, int):
        yield from (one["items"] for one in lists if "items" in one)
    for model in _models(part, schema):
        if step in model["properties"]:
            yield model["properties"][step]
    yield from (
        one["additionalProperties"]
        for one in lists
        if isinstance(step, str) and isinstance(one.get("additionalProperties"), dict)
    )


def _numbers(context: Mapping[str, Any]) -> dict[str, float]:
    """The limits of a rule."""
    return {key: context[key] for key in ("gt", "ge", "lt", "le") if key in context}


_OPEN = ("labels", "let", "per_unit", "types")  # whose keys are names of the spec's own


def _example(steps: Sequence[str | int]) -> str | None:
    """Say how a key is written: by its own name and that of the key above, or by its own."""
    named = [step for step in steps if isinstance(step, str)]
    for name in ("_".join(named[-2:]), *named[-1:], *(one for one in named if one in _OPEN)):
        if has(f"releases.examples.{name}"):
            return say("releases.spec.example", example=say(f"releases.examples.{name}"))
    return None


def wrong_choice(name: str, given: str, known: Collection[str]) -> SpecError:
    """Return the refusal of what is none of the words that there are, with the nearest of them."""
    return _with_next(name, like(given, known).strip(), given=given, known=", ".join(known))


def _with_next(name: str, following: str | None, **said: Any) -> SpecError:
    """Return a refusal with what to do next, unless it says so already."""
    found = SpecError(name, **said)
    if not following or found.next:
        return found
    return SpecError("releases.spec.then", says=found.message, next=following)


def _shown(given: Any) -> str:
    """Return what was given as it is written in YAML, cut short, and without a password."""
    if given is None:
        return say("releases.spec.empty")
    try:
        text = json.dumps(given, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # a mapping of Python's whose keys are no texts, or in itself
        text = repr(given)
    text = repr(given) if isinstance(given, str) else text
    shown = re.sub(r"(?<=://)[^/?]*@|(?<=password=)[^&\"']*", "", text)
    return shown if len(shown) <= 200 else f"{shown[:200]}…"
