"""What people wrote, read as plain values in bounded time: text, YAML, JSON; and single lines.

What comes out is made of mappings, lists, texts, numbers, truth values, dates and None. Refused, in
one sentence: what is not UTF-8 or too large, tags (`!!python/…`, `!!binary`, …), a key written
twice, a list or mapping inside itself, nesting beyond `DEPTH`, aliases that unfold to more than
`MOST` values (a few lines of them can stand for billions), and numbers of absurd length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.words import say

__all__ = [
    "DEPTH",
    "LARGEST",
    "MOST",
    "fraction_of",
    "json_values",
    "like",
    "line",
    "nearest",
    "number_text",
    "share_of",
    "text_of",
    "write_new",
    "yaml_values",
]

LARGEST = 2**19
"""The most characters of a YAML file; lists that are longer belong into a CSV file beside it."""

DEPTH = 40
MOST = 500_000
_DIGITS = 400
_UNCLOSED = 1_000
# YAML 1.1 wants a point and a sign, 1.0e-6; people, JSON and YAML 1.2 do without.
_EXPONENT = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+\Z")
_PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%\s*")
_PLAIN = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("bool", "float", "int", "map", "merge", "null", "seq", "str", "timestamp")
)


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, whole or not at all."""
    try:
        with path.open("x", encoding="utf-8") as out:
            try:
                out.write(text)
                out.flush()
            except OSError:
                path.unlink()
                raise
    except FileExistsError:
        raise InputError("errors.file_exists", file=path) from None
    except OSError as error:
        raise InputError("errors.file_unwritable", file=path, why=error.strerror) from None


def text_of(
    path: Path, what: str, error: type[InputError] = InputError, most: int = LARGEST
) -> str:
    """Return the text of a file; `what` is what it is called in a refusal."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            text = lines.read(most + 1)
    except OSError as fault:
        raise error("reading.cannot_read", what=what, path=path, why=fault.strerror) from None
    except UnicodeDecodeError:
        raise error("reading.not_utf8", what=what, path=path) from None
    if len(text) > most:
        raise error("reading.too_long", what=what, path=path, most=most)
    return text


def share_of(value: Any) -> Any:
    """Return the share that a percentage in a text is; anything else is returned as it is.

    >>> share_of("12.3 %"), share_of(0.12), share_of("a few")
    (0.123, 0.12, 'a few')
    """
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    return value if found is None else float(Decimal(found[1]) / 100)


def yaml_values(
    text: str, what: str, error: type[InputError] = InputError, *, texts: Collection[str] = ()
) -> Any:
    """Return the plain values of a YAML text; under the keys `texts`, as they are written.

    >>> yaml_values("{ratio: 3, delta: 1e-6}", "the file")
    {'ratio': 3, 'delta': 1e-06}
    """
    import yaml

    if len(text) > LARGEST:
        raise error("reading.yaml_too_long", what=what, most=LARGEST)
    if _unclosed(text) > _UNCLOSED:  # the scanner's time grows with the square of it
        raise error("reading.not_yaml.depth", what=what, where="")
    loader: Any = None
    try:
        loader = _loader_class()(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _size(node, {}, 0, what, error)
        _as_written(node, texts)
        return loader.construct_document(node)
    except yaml.YAMLError as fault:
        raise _unreadable(fault, what, error) from None
    except RecursionError:
        raise error("reading.not_yaml.depth", what=what, where="") from None
    except (ValueError, LookupError, AttributeError, ArithmeticError) as fault:
        if isinstance(fault, error):
            raise
        # The date 2026-02-30, the number 0b, or !!bool perhaps: the loader trips over each.
        raise error("reading.absurd_value", what=what, where=_place(loader.at)) from None
    finally:
        if loader is not None:
            loader.dispose()


def _as_written(node: Any, keys: Collection[str]) -> None:
    """Keep the values of some keys as texts: an answer may be `no`, which is false in YAML."""
    for key, value in node.value if node.tag.endswith(":map") else ():
        if key.value in keys:
            for one in value.value if value.tag.endswith(":seq") else (value,):
                if isinstance(one.value, str):
                    one.tag = "tag:yaml.org,2002:str"


@cache
def _loader_class() -> Any:
    """The safe loader, which also reads 1e-6 as the number that people mean by it."""
    import yaml

    class Loader(yaml.SafeLoader):
        at: Any = None  # where the value that is being made begins

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            self.at = node.start_mark
            return super().construct_object(node, deep)

    Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+.0123456789"))
    return Loader


def _unclosed(text: str) -> int:
    """Return how many brackets are open at once, at most; those in quotes count too."""
    level = most = 0
    for character in text:
        if character in "[{":
            level += 1
            most = max(most, level)
        elif character in "]}":
            level = max(0, level - 1)
    return most


# What PyYAML says of a fault, as a pattern, with the text that says it here; its mark is that of
# the fault, or, after a star, that of what it belongs to: a bracket or quotation mark that is open.
_FAULTS = {
    r"found character '\\t'|tab": "tab",
    r"start any token|alias|alphabetic or numeric": "sign",
    r"a flow node": "missing",
    r"expected ',' or '[}\]]'|a flow .* not find": "*bracket",
    r"a simple key": "*colon",
    r"quoted scalar .*(end of stream|document separator)": "*quote",
    r"unknown escape|escape sequence": "escape",
    r"another document": "document",
    r"mapping values are": "two_colons",
    r"found '<scalar>'": "after_quote",
    r"block end|sequence entries|block entry|block mapping": "indent",
    r"special characters": "unprintable",
}


def _unreadable(fault: Any, what: str, error: type[InputError]) -> InputError:
    """Say what a YAML parser stumbled over: where, and what to do."""
    said = " ".join(
        str(getattr(fault, part, None) or "") for part in ("context", "problem", "reason")
    )
    found = (name for pattern, name in _FAULTS.items() if re.search(pattern, said))
    name = next(found, "unparsed")
    marked = "context_mark" if name.startswith("*") else "problem_mark"
    mark = getattr(fault, marked, None) or getattr(fault, "problem_mark", None)
    return error(f"reading.not_yaml.{name.strip('*')}", what=what, where=_place(mark))


def _line(mark: Any) -> str:
    return "" if mark is None else f", line {mark.line + 1}"


def _place(mark: Any) -> str:
    return "" if mark is None else f"{_line(mark)}, column {mark.column + 1}"


def _size(node: Any, seen: dict[int, int], depth: int, what: str, error: type[InputError]) -> int:
    """Return how many values a node unfolds to; refuse what is not plain."""
    where = _line(node.start_mark)
    if id(node) in seen:
        found = seen[id(node)]
        if not found:
            raise error("reading.not_yaml.itself", what=what, where=where)
        return found
    if depth > DEPTH:
        raise error("reading.not_yaml.depth", what=what, where=where)
    if node.tag not in _PLAIN:
        raise error("reading.not_yaml.tags", what=what, where=where)
    seen[id(node)] = 0  # being looked at
    if isinstance(node.value, str):
        if node.tag.endswith((":int", ":float")) and len(node.value) > _DIGITS:
            raise error("reading.not_yaml.number", what=what, where=where)
        total = 1
    else:
        keys: set[tuple[str, str]] = set()
        total = 1
        before: Any = None
        for item in node.value:
            parts = item if isinstance(item, tuple) else (item,)
            if len(parts) == 2:
                _refuse_comma(before, parts, what, error)
                _once(parts[0], keys, what, error)
                before = parts[1]
            total += sum(_size(part, seen, depth + 1, what, error) for part in parts)
            if total > MOST:
                raise error("reading.not_yaml.aliases", what=what, where=where)
    seen[id(node)] = total
    return total


def _refuse_comma(before: Any, pair: Any, what: str, error: type[InputError]) -> None:
    """Refuse {epsilon: 0,5}, which YAML reads as a 0, and a key 5 that holds nothing."""
    key, value = pair
    if before is None or not (before.tag.endswith(":int") and key.tag.endswith(":int")):
        return
    if value.value == "" and before.end_mark.index + 1 == key.start_mark.index:
        given, where = f"{before.value},{key.value}", _place(before.start_mark)
        raise error("reading.comma", what=what, where=where, value=given, shown=given)


def _once(key: Any, keys: set[tuple[str, str]], what: str, error: type[InputError]) -> None:
    if not isinstance(key.value, str):
        raise error("reading.not_yaml.key", what=what, where=_line(key.start_mark))
    if (key.tag, key.value) in keys:
        where = _place(key.start_mark)
        raise error("reading.key_twice", what=what, key=key.value[:100], where=where)
    keys.add((key.tag, key.value))


def json_values(text: str, what: str, error: type[InputError] = InputError) -> Any:
    """Return the values of a JSON text; NaN and Infinity, which JSON has not, are refused.

    >>> json_values('{"ratio": 3}', "the file")
    {'ratio': 3}
    """

    def refuse(name: str) -> Any:
        raise error("reading.json_constant", what=what, name=name)

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as fault:
        raise error("reading.not_json", what=what, line=fault.lineno) from None
    except RecursionError:
        raise error("reading.json_depth", what=what) from None
    except ValueError as fault:
        if isinstance(fault, error):
            raise
        raise error("reading.long_number", what=what) from None


def line(name: str, value: str, longest: int = 1000) -> str:
    """Return a text that people gave (a name, a purpose, a reason) if it is one printable line."""
    if not isinstance(value, str) or not value.strip():
        raise InputError("ledger.text_empty", name=name)
    if len(value) > longest:
        raise InputError("ledger.text_long", name=name, length=len(value), longest=longest)
    if not value.isprintable():
        raise InputError("ledger.text_unprintable", name=name)
    return value


_NUMBER = re.compile(r" *[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?) *", re.ASCII)


def fraction_of(text: str) -> Fraction:
    """Return a number exactly; raise ValueError for none, and for one of very many digits.

    Of 1e999999999, a short text, the exact value would fill the memory.

    >>> fraction_of("2.5e-1"), fraction_of("3/4")
    (Fraction(1, 4), Fraction(3, 4))
    """
    return Fraction(number_text(text))


def number_text(text: str) -> str:
    """Return a text that is a number of not too many digits; raise ValueError for any other."""
    if len(text) > 1_000 or not _NUMBER.fullmatch(text):
        raise ValueError(text[:40])
    return text


def like(given: object, known: Iterable[str]) -> str:
    """Say which of some words is nearest to another, after a blank; nothing if none is.

    >>> like("persn", ["person", "household"]), like("x", ["person"])
    (" The nearest is 'person'.", '')
    """
    near = nearest(str(given), known)
    return "" if near in (None, given) else say("reading.like", near=near)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like another, whatever its case; None if none is.

    >>> nearest("dep_dely", ["dep_delay", "carrier"]), nearest("Age ", ["age"]), nearest("x", ["y"])
    ('dep_delay', 'age', None)
    >>> nearest("county", ["county of residence"]), nearest("alter", ["date"])
    ('county of residence', None)
    """
    from difflib import get_close_matches

    names, given = {one.strip().lower(): one for one in known}, name.strip().lower()
    longer = [one for one in names if len(given) > 3 and one.startswith(given)]
    # What shares most letters may still be another word, unless it also begins in the same way.
    alike = [one for one in names if one[:1] == given[:1]]
    found = get_close_matches(given, names, 1, 0.75) or get_close_matches(given, alike, 1) or longer
    return names[found[0]] if found else None
