"""A spec as a form, and the form as a spec: each changes the other.

A form is a flat mapping of names to texts, as a browser sends it: `protect.rows`,
`tolerance.ratio`, `statistics.1.kind`, … . An empty field is a key left out. What the form has no
field for it keeps as YAML (`protect.yaml`, `tolerance.yaml`, `statistics.1.yaml`, `rest`), so that
nothing in a spec is lost: spec → form → spec gives an equal spec back.

Lists are written as one line of CSV, so that a key may hold a comma: `0-17, "18, or more"`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discreet.errors import DiscreetError, SpecError
from discreet.reading import yaml_values
from discreet.releases import statistics

__all__ = [
    "KINDS",
    "columns_of",
    "form_of",
    "mapping_of",
    "readable",
    "written",
]

Form = dict[str, str]
Values = dict[str, Any]

KINDS = tuple(statistics.KINDS)

_TEXTS = ("account", "purpose", "source", "mechanism", "nulls", "ledger", "output")
_TOP = (
    "account", "purpose", "source", "protect", "tolerance", "budget", "series", "statistics",
    "mechanism", "nulls", "interval", "ledger", "output",
)  # fmt: skip
_WHOLE = re.compile(r"[+-]?\d{1,300}")
_BREAKS = re.compile("[\x85\u2028\u2029]")
_PLACE = re.compile(r"statistics\.(\d{1,3})\.")


def _number(text: str) -> Any:
    """Return the number that a text is, or the text itself: the spec then says what is wrong."""
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _line(values: Iterable[object]) -> str:
    return ", ".join(_cell(_said(value)) for value in values)


def _cell(text: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([text])
    return out.getvalue().replace("\n", " ")


def _items(text: str) -> list[str]:
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        return [text]


def _numbers(text: str) -> list[Any]:
    return [_number(item.strip()) for item in _items(text)]


def _names(text: str) -> Any:
    found = [item.strip() for item in _items(text)]
    return found[0] if len(found) == 1 else found


def columns_of(text: str) -> list[str]:
    """Return the columns that a field of names says."""
    return _list(text) if text else []


def _list(text: str) -> list[str]:
    return [item.strip() for item in _items(text)]


def _keys(text: str) -> Any:
    """Read keys: a list, or the name of a CSV file."""
    found = _list(text)
    return found[0] if len(found) == 1 and found[0].lower().endswith(".csv") else found


def _mixed(text: str) -> list[Any]:
    return [_number(item) for item in _list(text)]


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, (list, tuple)):
        return _line(value)
    return str(value)


def _yes(text: str) -> Any:
    return True


def _text(text: str) -> str:
    return text


Reader = Callable[[str], Any]
_PROTECT: dict[str, Reader] = {
    "unit": _text,
    "column": _names,
    "adjacency": _text,
    "rows": _number,
    "groups": _number,
    "rows_per_group": _number,
}
_TOLERANCE: dict[str, Reader] = {
    "posterior": _number,
    "unless_ratio": _number,
    "ratio": _number,
    "difference": _number,
    "profile": _text,
    "preset": _text,
    "p": _number,
    "q": _number,
    "about": _text,
    "every_output": _yes,
    "confidence": _number,
    "delta": _number,
}
_BUDGET: dict[str, Reader] = {"epsilon": _number, "delta": _number, "rho": _number}
_STATISTIC: dict[str, Reader] = {
    "name": _text,
    "by": _list,
    "bounds": _numbers,
    "resolution": _number,
    "at": _number,
    "edges": _numbers,
    "answers": _list,
    "keep": _number,
    "score": _text,
    "of": _text,
    "cap": _number,
    "weight": _number,
}


def _fields(values: Mapping[str, Any], readers: Mapping[str, Reader]) -> Form:
    return {name: _said(values[name]) for name in readers if values.get(name) is not None}


def _read(form: Mapping[str, str], readers: Mapping[str, Reader]) -> Values:
    return {name: read(form[name]) for name, read in readers.items() if form.get(name)}


def _statistic_form(values: Mapping[str, Any]) -> Form:
    kind = next((kind for kind in KINDS if kind in values), "")
    form = {"kind": kind, "what": _said(values.get(kind, ""))} | _fields(values, _STATISTIC)
    within = values.get("within")
    if isinstance(within, Mapping):
        form |= {f"within.{name}": _said(within[name]) for name in within}
    keys = values.get("keys")
    found = keys.get("discover") if isinstance(keys, Mapping) else None
    if isinstance(found, Mapping):
        form |= {"find": "yes"} | {f"find.{name}": _said(found[name]) for name in found}
    elif isinstance(keys, Mapping):
        form |= {f"keys.{column}": _said(given) for column, given in keys.items()}
    candidates = values.get("candidates")
    if isinstance(candidates, Mapping):
        form |= {f"grid.{name}": _said(candidates[name]) for name in candidates}
    elif candidates is not None:
        form["candidates"] = _said(candidates)
    return form


def _statistic(form: Mapping[str, str]) -> Values:
    kind = form.get("kind") or "count"
    values: Values = {kind: form.get("what") or ("rows" if kind == "count" else "")}
    values |= _read(form, _STATISTIC)
    by = values.get("by", [])
    if form.get("find"):
        values["keys"] = {"discover": _group(form, "find.")}
    else:
        keys = {name: _keys(form[f"keys.{name}"]) for name in by if form.get(f"keys.{name}")}
        values |= {"keys": keys} if keys else {}
    if form.get("candidates"):
        count = form.get("score") == "count"
        values["candidates"] = (_list if count else _mixed)(form["candidates"])
    elif _group(form, "grid."):
        values["candidates"] = _group(form, "grid.")
    if _group(form, "within."):
        values["within"] = _group(form, "within.")
    return values


def _group(form: Mapping[str, str], prefix: str) -> Values:
    return {
        name.removeprefix(prefix): _number(text)
        for name, text in form.items()
        if name.startswith(prefix) and text
    }


def _plain(value: Any) -> Any:
    """Return values in the form's own terms: keys as texts, defaults that are said left out."""
    if isinstance(value, Mapping):
        said = {str(key): _plain(entry) for key, entry in value.items() if entry is not None}
        known = said.pop("values_known", None)
        if known is True and "about" not in said:  # an older way to write it
            said["about"] = "membership"
        elif known not in (True, False, None):
            said["values_known"] = known
        if said.get("every_output") is False:
            del said["every_output"]
        column = said.get("column")
        if isinstance(column, list) and len(column) == 1 and isinstance(column[0], str):
            said["column"] = column[0]
        return said
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


def _keys_as_text(values: Values) -> Values:
    keys = values.get("keys")
    if not isinstance(keys, dict):
        return values

    def text(key: Any) -> Any:
        whole = isinstance(key, int) and not isinstance(key, bool)
        return str(key) if whole or hasattr(key, "isoformat") else key

    said = {c: [text(k) for k in v] if isinstance(v, list) else v for c, v in keys.items()}
    return values | {"keys": said}


def _part(
    prefix: str, values: Any, there: Callable[[Any], Form], back: Callable[[Form], Any]
) -> Form:
    """Return the fields of a part, or its YAML if they would not give the same part back."""
    if isinstance(values, Mapping):
        form = there(values)
        if back(form) == values:
            return {f"{prefix}.{name}": text for name, text in form.items()}
    return {f"{prefix}.yaml": written(values)}


def form_of(mapping: Mapping[str, Any]) -> Form:
    """Return the fields of a spec's values; they need not be valid."""
    values = _plain(mapping)
    form = {name: _said(values[name]) for name in (*_TEXTS, "interval") if name in values}
    form["promise"] = "budget" if "budget" in values else "tolerance"
    for name, readers in (("protect", _PROTECT), ("tolerance", _TOLERANCE), ("budget", _BUDGET)):
        if name in values:
            form |= _part(
                name,
                values[name],
                lambda part, readers=readers: _fields(part, readers),  # type: ignore[misc]
                lambda fields, readers=readers: _read(fields, readers),  # type: ignore[misc]
            )
    series = values.get("series")
    if isinstance(series, Mapping) and series.get("releases"):
        form["series.releases"] = _said(series["releases"])
    entries = values.get("statistics")
    for place, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
        said = _keys_as_text(entry) if isinstance(entry, dict) else entry
        form |= _part(f"statistics.{place}", said, _statistic_form, _statistic)
    back = mapping_of(form)
    rest = {name: value for name, value in values.items() if back.get(name) != value}
    if isinstance(entries, list) and "statistics" in rest:
        # Keys that YAML read as numbers or dates are texts in the form; the spec is the same.
        same = [_keys_as_text(e) if isinstance(e, dict) else e for e in entries]
        if back.get("statistics") == same:
            del rest["statistics"]
    if rest:
        # These fields would not give the same values back: they stay in YAML, and only there.
        lost = tuple(f"{name}." for name in rest)
        form = {n: t for n, t in form.items() if n not in rest and not n.startswith(lost)}
        form["rest"] = written(rest)
    return form


def mapping_of(form: Mapping[str, str]) -> Values:
    """Return the spec's values that a form says; they need not be valid."""
    form = {name: text.strip() for name, text in form.items()}
    values: Values = {name: form[name] for name in _TEXTS if form.get(name)}
    promise = "budget" if form.get("promise") == "budget" else "tolerance"
    for name, readers in (
        ("protect", _PROTECT),
        (promise, _BUDGET if promise == "budget" else _TOLERANCE),
    ):
        part = _of_part(form, name, lambda fields, readers=readers: _read(fields, readers))  # type: ignore[misc]
        if part:
            values[name] = part
    if form.get("series.releases"):
        values["series"] = {"releases": _number(form["series.releases"])}
    if form.get("interval"):
        values["interval"] = _number(form["interval"])
    places = {int(found[1]) for name in form if (found := _PLACE.match(name))}
    if places:
        values["statistics"] = [
            _of_part(form, f"statistics.{place}", _statistic) for place in sorted(places)
        ]
    rest = yaml_values(form["rest"], "the rest of the spec", SpecError) if form.get("rest") else {}
    if not isinstance(rest, dict):
        raise SpecError("the rest of the spec must be a mapping, such as `about: {name: …}`.")
    values |= rest
    return {name: values[name] for name in sorted(values, key=_order)}


def _order(name: object) -> int:
    return _TOP.index(str(name)) if name in _TOP else len(_TOP)


def _of_part(form: Mapping[str, str], prefix: str, read: Callable[[Form], Values]) -> Any:
    text = form.get(f"{prefix}.yaml")
    if text:
        return yaml_values(text, prefix, SpecError)
    start = f"{prefix}."
    return read({n.removeprefix(start): t for n, t in form.items() if n.startswith(start)})


def written(values: Any) -> str:
    """Return values as YAML that a person can read: lists of words and numbers on one line."""
    import yaml

    class Lines(yaml.SafeDumper):
        def represent_sequence(self, tag: str, sequence: Any, flow_style: Any = None) -> Any:
            plain = not any(isinstance(item, (dict, list, tuple)) for item in sequence)
            return super().represent_sequence(tag, sequence, flow_style=plain)

        def represent_str(self, data: str) -> Any:
            # In single quotes the dumper folds these as line breaks, and they come back as spaces.
            style = '"' if _BREAKS.search(data) else None
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Lines.add_representer(str, Lines.represent_str)

    return str(
        yaml.dump(
            values,
            Dumper=Lines,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=False,
            width=72,
        )
    )


def readable(text: str) -> Values | None:
    """Return the values in a YAML text; None if it cannot be read yet."""
    try:
        values = yaml_values(text, "the spec", SpecError)
    except DiscreetError:
        return None
    return values if isinstance(values, dict) else None
