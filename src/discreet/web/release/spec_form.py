"""A spec as a form, and the form as a spec: each changes the other.

A form is a flat mapping of names to texts, as a browser sends it: `protect.rows`,
`tolerance.ratio`, `statistics.1.kind`, … . An empty field is a key left out. What the form has no
field for it keeps as YAML (`protect.yaml`, `tolerance.yaml`, `statistics.1.yaml`, `rest`), so that
nothing in a spec is lost: spec → form → spec gives an equal spec back.

Each part of a spec is a form of its own, whose rules say what its fields take; a statistic's follow
from what its class says of itself (`Statistic.form`). A field that breaks its rule is told at the
field, and stands in the spec as it was typed.

Where a spec begins, and what is still to be said before it can be looked at, is decided here too.

Lists are written as one line of CSV, so that a key may hold a comma: `0-17, "18, or more"`. Between
keys a semicolon is read like a comma.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticCustomError

from discreet.errors import DiscreetError, SpecError
from discreet.reading import nearest, yaml_values
from discreet.releases.checking import proposed_unit
from discreet.statements.presenter import spaced_text
from discreet.web.forms import (
    Filled,
    Form,
    Number,
    Rule,
    Text,
    Ticked,
    Value,
    columns_of,
    in_yaml,
    percentage,
    raw,
    refused,
    share,
)
from discreet.web.thread import Thread, named_unit, promise_of
from discreet.words import say

if TYPE_CHECKING:
    from discreet.releases.statistics.base import FormField, Statistic

Fields = dict[str, str]
Values = dict[str, Any]

_TEXTS = ("account", "purpose", "source", "where", "mechanism", "nulls", "ledger", "output")
_TOP = (
    "account", "purpose", "source", "where", "let",
    "protect", "tolerance", "budget", "series", "statistics",
    "columns", "keys", "impossible", "n_synthetic", "copies", "n",
    "cut", "mechanism", "nulls", "interval", "ledger", "output",
)  # fmt: skip
_CUT = {"weight": 0.05}  # what a tick stands for; any other is kept as YAML
_UP_TO = re.compile(r"up to (\d{1,2}) (?:columns )?of\s+(.+)", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(r'(?:"(?:[^"]|"")*"|[^;"])+')
_PAIR = re.compile(r"(.*?\S)\s*:\s*(%.*|[^:%]+)")
_BREAKS = re.compile("[\x85\u2028\u2029]")
PLACE = re.compile(r"statistics\.(\d{1,3})\.")
_GROUPED = re.compile(r"(?<![\w.])[1-9]\d{0,2}\.\d{3}(?![\w.])", re.ASCII)
_BLANKS = {"tab": "\t", "space": " "}  # signs that a form writes as words


# -- what the fields take


@dataclass(frozen=True)
class Items(Rule):
    """A line of CSV: names (one alone is a text), keys (or the name of a CSV file), numbers."""

    of: Literal["texts", "names", "keys", "numbers"] = "texts"

    def read(self, given: object) -> Any:
        """Return the list."""
        if given is None:
            return None
        found = columns_of(str(given))
        if self.of == "numbers":
            if "," in (text := str(given)) and ";" in text:
                raise refused("web.spec.both_signs")
            return [_NUMBER.read(item) for item in found]
        alone = len(found) == 1 and (
            self.of == "names" or (self.of == "keys" and found[0].lower().endswith(".csv"))
        )
        return found[0] if alone else found


@dataclass(frozen=True)
class Sets(Rule):
    """Sets of columns: `county, age; sex`, or `up to 2 of county, age, sex`; or YAML."""

    def read(self, given: object) -> Any:
        """Return the sets, as a spec writes them."""
        text = str(given or "").strip()
        if text.startswith(("[", "{")):
            return Value().read(text)
        if found := _UP_TO.fullmatch(text):
            return {"up_to": int(found[1]), "of": columns_of(found[2])}
        return [columns_of(one.strip()) for one in _BETWEEN.findall(text)] or None

    def said(self, sets: object) -> str:
        """Return sets as they are typed; the rest as YAML."""
        if isinstance(sets, Mapping) and sets.keys() == {"up_to", "of"}:
            return say("web.spec.up_to", most=sets["up_to"], columns=_said(sets["of"]))
        if isinstance(sets, list) and all(isinstance(one, list) and one for one in sets):
            return "; ".join(map(_said, sets))
        return in_yaml(sets)


@dataclass(frozen=True)
class Pairs(Rule):
    """Names, and a word for each of them: `cost: number, at: %d.%m.%Y %H:%M`."""

    def read(self, given: object) -> Any:
        """Return the words by name."""
        pairs = [_PAIR.fullmatch(one) for one in columns_of(str(given))]
        if None in pairs:
            raise refused("web.spec.pairs")
        return {pair[1].strip(): pair[2].strip() for pair in pairs if pair}


def _number(**bounds: Any) -> Number:
    return Number(**bounds, optional=True, as_written=True)


def _part(name: str, /, **rules: Rule) -> type[Form]:
    made: dict[str, Any] = {key: (Annotated[Any, rule], None) for key, rule in rules.items()}
    return create_model(name, __base__=Form, **made)


_NUMBER = Number(as_written=True)
_COUNT = _number(low=1, whole=True)
_POSITIVE = _number(above=0)
_SHARE = _number(above=0, high=1, unit="fraction")
_SURE = _number(above=0, below=1, unit="fraction")
_DELTA = _number(low=0, below=1)
_FOLD = _number(above=1)

_PARTS: dict[str, type[Form]] = {
    "source": _part(
        "Source",
        delimiter=Text(),
        decimal=Text(),
        thousands=Text(),
        encoding=Text(),
        types=Pairs(),
    ),
    "protect": _part(
        "Protect",
        unit=Text(),
        name=Text(),
        column=Items("names"),
        adjacency=Text(),
        rows=_COUNT,
        groups=_COUNT,
        rows_per_group=_COUNT,
    ),
    "tolerance": _part(
        "Tolerance",
        posterior=_SHARE,
        unless_ratio=_FOLD,
        ratio=_FOLD,
        difference=_SHARE,
        profile=Text(),
        preset=Text(),
        p=_SHARE,
        q=_SHARE,
        about=Text(),
        every_output=Ticked(),
        confidence=_SURE,
        delta=_DELTA,
    ),
    "budget": _part("Budget", epsilon=_POSITIVE, delta=_DELTA, rho=_POSITIVE),
    "series": _part("Series", releases=_COUNT),
    "file": _part("File", columns=Items(), n_synthetic=_COUNT, copies=_COUNT, n=_COUNT),
    "top": _part("Top", **{name: Text() for name in _TEXTS}, interval=_SURE),
}
_GROUPS: dict[str, type[Form]] = {
    "find": _part("Discover", delta=_SURE, weight=_POSITIVE),
    "within": _part("Within", error=_POSITIVE, confidence=_SURE),
}
_OF_ALL = {"name": Text(), "by": Items(), "weight": _POSITIVE}
_TAKES: dict[str, Rule] = {
    "number": _number(),
    "share": _number(low=0, high=1, unit="fraction"),
    "texts": Items(),
    "numbers": Items("numbers"),
    "sets": Sets(),
    "flag": Ticked(),
    "other": Value(),
}


def kinds() -> Mapping[str, type[Statistic]]:
    """Return the statistics that there are, by the key that names each."""
    from discreet.releases.statistics import KINDS

    return KINDS


def own_fields(kind: str) -> dict[str, FormField]:
    """Return the fields of a statistic by their names in the form; its own key is `what`."""
    model = kinds().get(kind)
    found = () if model is None else _asked(model)
    return {"what" if one.name == kind else one.name: one for one in found}


def grouped(kind: str) -> bool:
    """Whether a statistic has groups that are named by themselves."""
    sets = any(one.takes == "sets" for one in own_fields(kind).values())
    return kind in kinds() and "by" in kinds()[kind].model_fields and not sets


def of_kind(fields: Fields) -> Fields:
    """Return a statistic's fields after its kind was changed: what both kinds ask for stays."""
    was, kind = fields.get("was", ""), fields.get("kind", "")
    fields = {name: text for name, text in fields.items() if name != "was"}
    if was == kind or not {was, kind} <= kinds().keys():
        return fields
    old, new = own_fields(was), own_fields(kind)
    typed = {one.name: fields.pop(name, "") for name, one in old.items()}
    columns = _said(columns_of(fields.pop("by", ""))) or next(
        (typed[one.name] for one in old.values() if one.takes == "sets"), ""
    )
    for name, one in new.items():
        same = name == "what" and old["what"].takes == one.takes
        fields[name] = typed.get(one.name, "") or (typed[was] if same else "")
        if one.takes == "sets":
            fields[name] = fields[name] or columns
    if grouped(kind) and ";" not in columns and not _UP_TO.fullmatch(columns):
        fields["by"] = columns
    return fields


def begun(kind: str) -> Fields:
    """Return the fields of a statistic that was just added."""
    asked = own_fields(kind).items()
    return {"kind": kind} | {name: one.options[0][0] for name, one in asked if one.options}


def keyed_by(fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of a statistic whose public keys are asked for."""
    model = kinds().get(fields.get("kind", ""))
    return () if model is None else tuple(filter(None, model.keyed_by(_statistic(fields).values)))


@cache
def _asked(model: type[Statistic]) -> tuple[FormField, ...]:
    return model.form()


@cache
def _part_of(model: type[Statistic]) -> type[Form]:
    own = {name: _TAKES.get(one.takes, Text()) for name, one in own_fields(model.kind).items()}
    shared = {n: r for n, r in _OF_ALL.items() if n != "by" and n in model.model_fields}
    by = {"by": _OF_ALL["by"]} if grouped(model.kind) else {}
    return _part("Statistic", **shared, **by, **own)


@dataclass(frozen=True, slots=True)
class Draft:
    """The values that a form says, which need not be valid, and what is wrong at its fields."""

    values: Values
    problems: dict[str, str] = field(default_factory=dict)


def _read(part: type[Form], given: Mapping[str, str], at: str = "") -> Draft:
    """Read one part; what breaks a rule stands in it as it was typed."""
    typed = {name: text for name, text in given.items() if text}
    found = Filled.of(part, typed)
    wrong = {name.partition(".")[0]: problem for name, problem in found.problems.items()}
    values = {
        name: raw(typed[name]) if name in wrong else getattr(found.state, name)
        for name in part.model_fields
        if name in typed
    }
    return Draft(values, {f"{at}{name}": problem for name, problem in wrong.items()})


def _said(value: object, rule: object = None) -> str:
    if isinstance(rule, Value):
        return in_yaml(value)
    if isinstance(rule, Sets):
        return rule.said(value)
    if isinstance(rule, Pairs) and isinstance(value, Mapping):
        return ", ".join(_cell(f"{name}: {word}") for name, word in value.items())
    if isinstance(rule, Number) and rule.unit == "fraction" and (said := _in_percent(value)):
        return said
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, (list, tuple)):
        return ", ".join(_cell(_said(item)) for item in value)
    return str(value)


def _in_percent(value: object) -> str | None:
    """Return a share as the percentage that gives it back; None if there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        return None
    text = f"{percentage(value):.15g}"
    return f"{text} %" if share(float(text)) == value else None


def _rules(part: type[Form]) -> dict[str, object]:
    return {name: one.metadata[0] for name, one in part.model_fields.items()}


def _cell(text: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([text])
    cell = out.getvalue().replace("\n", " ")
    return f'"{cell}"' if ";" in cell and not cell.startswith('"') else cell


def _fields(values: Mapping[str, Any], part: type[Form]) -> Fields:
    rules = _rules(part)
    return {n: _said(values[n], rules[n]) for n in rules if values.get(n) is not None}


def under(form: Mapping[str, str], prefix: str) -> Fields:
    """Return the fields of a part, by their names in it."""
    return {n.removeprefix(prefix): t for n, t in form.items() if n.startswith(prefix)}


# -- a statistic


def _statistic_form(values: Mapping[str, Any]) -> Fields:
    from discreet.releases.statistics.base import kind_of

    kind = kind_of(dict(values))
    if kind is None:
        return {}
    form = {"kind": kind} | _fields({**values, "what": values[kind]}, _part_of(kinds()[kind]))
    groups = {"within": values.get("within")}
    keys = values.get("keys")
    if isinstance(keys, Mapping) and isinstance(keys.get("discover"), Mapping):
        groups["find"], form["find"] = keys["discover"], "yes"
    elif isinstance(keys, Mapping):
        groups["keys"] = keys
    for name, group in groups.items():
        if isinstance(group, Mapping):
            rules = _rules(_GROUPS[name]) if name in _GROUPS else {}
            form |= {f"{name}.{key}": _said(value, rules.get(key)) for key, value in group.items()}
    return form


def _statistic(form: Mapping[str, str], at: str = "") -> Draft:
    kind = form.get("kind") or next(iter(kinds()))
    if kind not in kinds():
        return Draft({kind: form.get("what", "")})
    own = _read(_part_of(kinds()[kind]), form, at)
    options = own_fields(kind)["what"].options
    first = own.values.pop("what", options[0][0] if options else "")
    values: Values = {kind: first} | own.values
    problems = dict(own.problems)
    groups = {
        name: _read(part, under(form, f"{name}."), f"{at}{name}.") for name, part in _GROUPS.items()
    }
    finds = bool(form.get("find")) and grouped(kind)
    for name, group in groups.items():
        if name != "find" or finds:
            problems |= group.problems
    by = kinds()[kind].keyed_by(values)
    keys = {name: Items("keys").read(text) for name in by if (text := form.get(f"keys.{name}"))}
    if finds and by:
        values["keys"] = {"discover": groups["find"].values}
    elif keys:
        values["keys"] = keys
    if groups["within"].values:
        values["within"] = groups["within"].values
    return Draft(values, problems)


# -- a spec


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


def _keys_as_text(values: Any) -> Any:
    """Return a statistic whose keys are texts: YAML reads some as numbers or dates."""
    keys = values.get("keys") if isinstance(values, dict) else None
    if not isinstance(keys, dict):
        return values

    def text(key: Any) -> Any:
        whole = isinstance(key, int) and not isinstance(key, bool)
        return str(key) if whole or hasattr(key, "isoformat") else key

    said = {c: [text(k) for k in v] if isinstance(v, list) else v for c, v in keys.items()}
    return values | {"keys": said}


def _shown(
    prefix: str, values: Any, there: Callable[[Any], Fields], back: Callable[[Fields], Draft]
) -> Fields:
    """Return the fields of a part, or its YAML if they would not give the same part back."""
    if isinstance(values, Mapping):
        form = there(values)
        if form and back(form).values == values:
            return {f"{prefix}.{name}": text for name, text in form.items()}
    return {f"{prefix}.yaml": written(values)}


def form_of(mapping: Mapping[str, Any]) -> Fields:
    """Return the fields of a spec's values; they need not be valid."""
    values = _plain(mapping)
    form = _fields(values, _PARTS["top"])
    form |= _source_form(values.get("source"))
    form["promise"] = "budget" if "budget" in values else "tolerance"
    for name in ("protect", "tolerance", "budget"):
        if name in values:
            part = _PARTS[name]
            form |= _shown(
                name,
                values[name],
                lambda said, part=part: _fields(said, part),  # type: ignore[misc]
                lambda fields, part=part: _read(part, fields),  # type: ignore[misc]
            )
    series = values.get("series")
    if isinstance(series, Mapping) and series.get("releases"):
        form["series.releases"] = _said(series["releases"])
    if values.get("cut") == _CUT:
        form["cut"] = "yes"
    if "columns" in values:
        values = _keys_as_text(values)
        form |= {"file.columns": ""}
        form |= {f"file.{name}": text for name, text in _fields(values, _PARTS["file"]).items()}
        levels = values.get("keys")
        if isinstance(levels, Mapping):
            form |= {f"file.keys.{column}": _said(value) for column, value in levels.items()}
    entries = values.get("statistics")
    same = [_keys_as_text(entry) for entry in entries] if isinstance(entries, list) else []
    for place, entry in enumerate(same, start=1):
        form |= _shown(f"statistics.{place}", entry, _statistic_form, _statistic)
    back = mapping_of(form)
    rest = {name: value for name, value in values.items() if back.get(name) != value}
    if "statistics" in rest and isinstance(entries, list) and back.get("statistics") == same:
        del rest["statistics"]  # the keys alone differ, and the spec is the same
    if rest:
        # These fields would not give the same values back: they stay in YAML, and only there.
        lost = tuple(f"{name}." for name in rest)
        form = {n: t for n, t in form.items() if n not in rest and not n.startswith(lost)}
        form["rest"] = written(rest)
    return form


def mapping_of(form: Mapping[str, str]) -> Values:
    """Return the spec's values that a form says; they need not be valid."""
    return draft_of(form).values


def draft_of(form: Mapping[str, str]) -> Draft:
    """Return the spec's values that a form says, and what is wrong at its fields."""
    form = {name: text.strip() for name, text in form.items()}
    promise = "budget" if form.get("promise") == "budget" else "tolerance"
    found = {"": _read(_PARTS["top"], form)}
    found |= {name: _of_part(form, name) for name in ("protect", promise, "series")}
    problems = {name: text for draft in found.values() for name, text in draft.problems.items()}
    values = dict(found.pop("").values)
    source = source_of(form)
    values |= source.values
    problems |= source.problems
    values |= {name: draft.values for name, draft in found.items() if draft.values}
    places = sorted({int(match[1]) for name in form if (match := PLACE.match(name))})
    if places:
        entries = [_of_part(form, f"statistics.{place}") for place in places]
        values["statistics"] = [entry.values for entry in entries]
        problems |= {name: text for entry in entries for name, text in entry.problems.items()}
        if form.get("source.decimal") == ",":
            problems |= _two_readings(form)
    if form.get("cut"):
        values["cut"] = dict(_CUT)
    if "file.columns" in form:
        file = _read(_PARTS["file"], own := under(form, "file."), "file.")
        columns = file.values.setdefault("columns", [])
        keys = {name: Items("keys").read(t) for name in columns if (t := own.get(f"keys.{name}"))}
        values |= file.values | ({"keys": keys} if keys else {})
        problems |= file.problems
    rest = yaml_values(form["rest"], say("web.spec.rest"), SpecError) if form.get("rest") else {}
    if not isinstance(rest, dict):
        raise SpecError("web.spec.rest_mapping")
    values |= rest
    ordered = [*(name for name in _TOP if name in values), *(n for n in values if n not in _TOP)]
    return Draft({name: values[name] for name in ordered}, problems)


def _two_readings(form: Mapping[str, str]) -> dict[str, str]:
    """Return where a number of a statistic is a thousand times as large if commas are decimal."""
    found = {}
    for name, text in form.items():
        at = PLACE.match(name)
        one = _GROUPED.search(text)
        if at and one and _numeric(form.get(f"{at[0]}kind", ""), name.removeprefix(at[0])):
            words = {"large": one[0].replace(".", ""), "small": f"{float(one[0]):g}"}
            found[name] = say("web.spec.two_readings", **words)
    return found


def _numeric(kind: str, name: str) -> bool:
    own = own_fields(kind).get(name)
    takes = "number" if name in ("weight", "within.error") else own.takes if own else ""
    return takes in ("number", "numbers", "other")


def numbers_read(typed: str | None) -> str:
    """Return a list of numbers as it was read, with signs that mean the same in every country."""
    try:
        found = Items("numbers").read(typed or None) or ()
    except PydanticCustomError:
        return ""  # what is wrong is told at the field
    said = [spaced_text(x) for x in found]
    sign = say("web.spec.read_to") if len(said) == 2 else "; "
    return say("web.spec.read_as", numbers=sign.join(said)) if said else ""


def _of_part(form: Mapping[str, str], prefix: str) -> Draft:
    if text := form.get(f"{prefix}.yaml"):
        return Draft(yaml_values(text, prefix, SpecError))
    fields, at = under(form, f"{prefix}."), f"{prefix}."
    return _read(_PARTS[prefix], fields, at) if prefix in _PARTS else _statistic(fields, at)


def source_of(form: Mapping[str, str]) -> Draft:
    """Return the source that a form says: a file, with what it does not say of itself."""
    path, said = form.get("source", ""), _read(_PARTS["source"], under(form, "source."), "source.")
    for name, sign in said.values.items():
        if name in ("delimiter", "thousands"):
            said.values[name] = _BLANKS.get(sign, sign)
    if said.values.get("thousands") == said.values.get("decimal", "."):
        del said.values["thousands"]  # left from before the decimal mark was changed
    source = {"path": path, **said.values} if said.values else path
    return Draft({"source": source} if path else {}, said.problems)


def _source_form(source: Any) -> Fields:
    if not isinstance(source, Mapping):
        return {}
    said = _fields(source, _PARTS["source"])
    words = {sign: word for word, sign in _BLANKS.items()}
    said |= {n: words[t] for n, t in said.items() if t in words}
    path = {"source": str(source["path"])} if source.get("path") else {}
    return path | {f"source.{name}": text for name, text in said.items()}


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
        values = yaml_values(text, say("web.spec.is"), SpecError)
    except DiscreetError:
        return None
    return values if isinstance(values, dict) else None


# -- a spec that is not whole yet: where it begins, and what is still to be said

_FIRST = {
    "tolerance": {
        "posterior": 0.25,
        "unless_ratio": 3,
        "about": "membership",
        "every_output": True,
    }
}


def is_synthetic(values: Mapping[str, Any]) -> bool:
    """Whether the values of a spec are those of a synthetic file: columns, and no statistics."""
    return "statistics" not in values and bool({"columns", "n_synthetic"} & values.keys())


def start(
    source: str | Mapping[str, str],
    thread: Thread,
    columns: Iterable[str] = (),
    *,
    synthetic: bool = False,
) -> dict[str, Any]:
    """Return the spec that a file begins with: what can be said without knowing the data."""
    unit, said = proposed_unit(columns), promise_of(thread.promise)
    if not (said or synthetic):
        said = dict(_FIRST)
    tolerance = dict(said.get("tolerance") or {})
    # A spec says these where it says who.
    adjacency = tolerance.pop("adjacency", "add-remove")
    whom = {"unit": tolerance.pop("unit", "person"), "name": tolerance.pop("unit_name", None)}
    if tolerance:
        said["tolerance"] = tolerance
    asked: dict[str, Any] = {
        "statistics": [{"count": "rows"}],
        "mechanism": "auto",
        "interval": 0.95,
    }
    if thread.series:
        asked["series"] = {"releases": int(thread.series)}
    if synthetic:
        asked = {"columns": [], "n_synthetic": 100}
    return {
        "source": source,
        "protect": {key: value for key, value in whom.items() if value}
        | ({"column": unit} if unit else {})
        | {"adjacency": adjacency},
        **said,
        **asked,
        "ledger": "sqlite:///ledger.db",
        "output": "out/",
    }


def missing(
    values: Mapping[str, Any], columns: Iterable[str] = (), *, encoding: bool = False
) -> list[str]:
    """Return what is still to be said before a spec can be looked at, in words.

    That is not an error: nobody is told off for a form that is not filled in yet. Of a group that
    is like one of the columns, and none itself, not the keys are missing but the right name. The
    `encoding` is missing where letters would be compared and nothing shows how they are written.
    """
    protect = values.get("protect")
    unit = protect if isinstance(protect, Mapping) else {}
    named = unit.get("unit") == "record"
    needed = {
        "source": values.get("source"),
        "encoding": not encoding,
        "account": values.get("account"),
        "purpose": values.get("purpose"),
        "column": named or unit.get("column"),
        "rows": named or unit.get("rows"),
        "promise": any(values.get(name) for name in ("tolerance", "promise", "budget")),
    }
    if is_synthetic(values):
        needed |= {name: values.get(name) for name in ("columns", "n_synthetic")}
    else:
        needed["statistics"] = values.get("statistics")
    one = named_unit({"unit": unit.get("unit"), "unit_name": unit.get("name")})
    one = one or say("web.sentence.anyone")
    found = [say(f"web.missing.{name}", unit=one) for name, there in needed.items() if not there]
    entries, known = values.get("statistics"), keys_said(values)
    derives = any(values.get(name) for name in ("let", "per_unit", "join"))
    there = frozenset[str]() if derives else frozenset(columns)
    for place, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
        for what in _needs(entry, known, there):
            found.append(say("web.missing.statistic", place=place, what=what))
    return found + _unlisted(values.get("columns"), values.get("keys"))


def keys_said(values: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    """Return the public keys that a draft itself says, by column; of an odd one, nothing."""
    from discreet.releases.rows import Condition, Features, keys_known

    try:
        let = TypeAdapter(dict[str, Condition]).validate_python(values.get("let") or {})
        per_unit = TypeAdapter(Features).validate_python(values.get("per_unit") or {})
        return keys_known(let, per_unit)
    except (DiscreetError, ValidationError):
        return {}  # the dry run says what is wrong with it


def _unlisted(columns: object, keys: object, there: Collection[str] = ()) -> list[str]:
    """Return the columns whose public keys are still to be listed, in words."""
    listed = keys if isinstance(keys, Mapping) else {}
    names = columns if isinstance(columns, list) and "discover" not in listed else []
    open_ones = [name for name in names if isinstance(name, str) and not listed.get(name)]
    return [_named(column, there) or say("web.missing.keys", column=column) for column in open_ones]


def _named(column: str, there: Collection[str]) -> str | None:
    """Return that a column is not there but another like it is, in words; None for any other."""
    near = None if column in there else nearest(column, there)
    return None if near is None else say("web.missing.near", column=column, near=near)


def _needs(entry: object, known: Mapping[str, object], there: Collection[str] = ()) -> list[str]:
    """Return what a statistic still needs, in words; of an odd one, nothing."""
    from discreet.releases.statistics.base import kind_of

    kind = kind_of(entry)
    if kind is None or not isinstance(entry, Mapping):
        return []
    fields = own_fields(kind).values()
    needed = [one for one in fields if one.required and entry.get(one.name) in (None, "", [], {})]
    found = [say("web.missing.field", label=one.label) for one in needed]
    asked = [name for name in kinds()[kind].keyed_by(entry) if name not in known]
    return found + _unlisted(asked, entry.get("keys"), there)
