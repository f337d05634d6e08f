"""Formulas in the columns of a source: `where:`, `let:` and `per_unit:` of a spec.

    age >= 18 and county in ('north', 'south') and day < '2026-02-01'
    bin(age, [0, 18, 65])          if(cost > 100, 'dear', 'cheap')          month(day)

Written by the curator, and safe: numbers, 'texts', true, false and columns (`odd names` between
backticks); + - * /; = != < <= > >=, in (…), between … and …, is null; and, or, not; the functions
below. Every part has a type that is known from the schema, and what does not fit is refused with
its place before anything is charged. `parse` makes a tree, `resolve` finds its types.

Total on every row: what has no value is null, and no row makes an error. Null where a value is
missing or is not of its type, for a division by zero, and for a number beyond 1e150. A condition
that is null is not met.

A column without a type (CSV) is what its place in the formula needs: `age < 18` reads numbers,
`county = 'north'` texts, `day < '2026-02-01'` dates. Where nothing says which, its type has to be
declared; so has that of a text whose order is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any, Literal, NoReturn, TypeAlias

from discreet.errors import SpecError
from discreet.reading import nearest
from discreet.releases.engines.base import Column
from discreet.words import say

Type: TypeAlias = Literal["integer", "number", "text", "date", "moment", "boolean", "untyped"]
"""What a part of a formula is; a moment is a date with a time of day."""

KINDS: dict[Type, Column] = {
    "integer": "integer",
    "number": "number",
    "text": "text",
    "date": "moment",
    "moment": "moment",
    "boolean": "truth",
    "untyped": "untyped",
}
"""What an engine calls the type of a formula."""
_TYPES: dict[Column, Type] = {kind: one for one, kind in KINDS.items()}
PARTS: dict[str, tuple[int, int] | None] = {
    "year": None,
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (1, 7),
    "hour": (0, 23),
}
"""Parts of a moment, with the whole numbers that each may be; weekday 1 is Monday."""
FUNCTIONS: dict[str, tuple[Type, Type]] = {
    **dict.fromkeys(PARTS, ("date", "integer")),
    "hour": ("moment", "integer"),
    "lower": ("text", "text"),
    "abs": ("number", "number"),
    "floor": ("number", "number"),
    "number": ("number", "number"),
    "date": ("date", "date"),
}
"""Functions of one argument: what it takes and what it is. `if` and `bin` are beside them."""
_COMPARE = ("=", "!=", "<=", ">=", "<", ">")
_LONGEST, _DEEPEST, _ARITHMETIC = 2_000, 40, 5
_MOST_EDGES = 1_000
_BY_COMMAS = ("rest", "arguments", "edges", "needs")  # what a decimal comma may be taken for
_WORDS = frozenset({"and", "or", "not", "in", "between", "is", "null", "true", "false"})
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
    r"|(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<quoted>`[^`]+`)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|!=|<>|==|[-+*/=<>()\[\],]))"
)


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a formula: `op` of its `parts`, a column or a constant.

    `op` is "column" or "constant" with a `value`, the name of a function, a sign or a word. `at` is
    the place in the text, from one. `type` is "untyped" until the formula is resolved.
    """

    op: str
    parts: tuple[Term, ...] = ()
    value: Any = None
    at: int = 1
    type: Type = "untyped"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula as it was written, and its tree."""

    text: str
    tree: Term


# ---------------------------------------------------------------------- reading


def parse(text: str) -> Formula:
    """Return the tree of a formula, or say what in it cannot be read, and where.

    >>> parse("age >= 18").tree.op
    '>='
    """
    if len(text) > _LONGEST:
        raise SpecError("releases.formula.long", characters=len(text), most=_LONGEST)
    if not text.strip():
        raise SpecError("releases.formula.empty")
    return Formula(text, _Reader(text).whole())


class _Reader:
    """Reads one formula from left to right, by descent through the ranks of its signs."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._split())
        self.place = 0
        self.depth = 0

    def _split(self) -> Iterator[tuple[str, str, int]]:
        place = 0
        while self.text[place:].strip():
            found = _TOKEN.match(self.text, place)
            if found is None:
                start = place + len(self.text[place:]) - len(self.text[place:].lstrip())
                self.refuse("sign", start + 1, sign=self.text[start])
            kind = str(found.lastgroup)
            yield kind, found[kind], found.start(kind) + 1
            place = found.end()
        yield "end", "", len(self.text) + 1

    def refuse(self, why: str, at: int, **values: Any) -> NoReturn:
        if why in _BY_COMMAS:
            self.refuse_commas(at)
        raise SpecError(f"releases.formula.{why}", formula=_short(self.text), at=at, **values)

    def refuse_commas(self, since: int) -> None:
        """Refuse what was read since a place if a comma in it stands as in a decimal: 0,5."""
        tokens = self.tokens[: self.place + 2]
        read = [one for one in tokens if one[2] + len(one[1]) >= since]
        for (kind, first, at), (_, comma, _), (other, second, then) in zip(
            read, read[1:], read[2:], strict=False
        ):
            close = comma == "," and then == at + len(first) + 1
            if close and kind == other == "number" and (first + second).isdigit():
                point, apart = f"{first}.{second}", f"{first}, {second}"
                self.refuse("comma", at, number=f"{first},{second}", point=point, apart=apart)

    def whole(self) -> Term:
        found = self.either()
        if self.token[0] != "end":
            self.refuse("rest", self.token[2], sign=self.token[1])
        return found

    @property
    def token(self) -> tuple[str, str, int]:
        return self.tokens[self.place]

    def taken(self, *wanted: str) -> str | None:
        """Take the next token if it is one of these signs or words, written in any case."""
        kind, text, _ = self.token
        if kind in ("sign", "name") and text.lower() in wanted:
            self.place += 1
            return text.lower()
        return None

    def need(self, sign: str) -> None:
        if self.taken(sign) is None:
            self.refuse("needs", self.token[2], sign=sign)

    def either(self) -> Term:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse("deep", self.token[2], most=_DEEPEST)
        found = self.joined("or", lambda: self.joined("and", self.negated))
        self.depth -= 1
        return found

    def joined(self, word: str, below: Any) -> Term:
        at = self.token[2]
        parts = [below()]
        while self.taken(word):
            parts.append(below())
        return parts[0] if len(parts) == 1 else Term(word, tuple(parts), at=at)

    def negated(self) -> Term:
        at = self.token[2]
        count = 0
        while self.taken("not"):
            count += 1
        found = self.compared()
        return Term("not", (found,), at=at) if count % 2 else found

    def compared(self) -> Term:
        at = self.token[2]
        left = self.sum()
        sign = self.taken(*_COMPARE, "==", "<>")
        if sign is not None:
            return Term({"==": "=", "<>": "!="}.get(sign, sign), (left, self.sum()), at=at)
        if self.taken("is"):
            negated = self.taken("not") is not None
            self.need("null")
            found = Term("is null", (left,), at=at)
            return Term("not", (found,), at=at) if negated else found
        negated = self.taken("not") is not None
        if self.taken("in"):
            found = Term("in", (left, *self.listed()), at=at)
        elif self.taken("between"):
            low = self.sum()
            self.need("and")
            ends = (Term(">=", (left, low), at=at), Term("<=", (left, self.sum()), at=at))
            found = Term("and", ends, at=at)
        elif negated:
            self.refuse("needs", self.token[2], sign="in")
        else:
            return left
        return Term("not", (found,), at=at) if negated else found

    def listed(self) -> tuple[Term, ...]:
        """Read constants between brackets."""
        start = self.token[2]
        end = {"(": ")", "[": "]"}[self.taken("(", "[") or self.refuse("list", self.token[2])]
        parts = []
        while True:
            at = self.token[2]
            one = self.signed()
            if one.op != "constant":
                self.refuse("list", at)
            parts.append(one)
            if not self.taken(","):
                self.need(end)
                if ", " in self.text[start : self.tokens[self.place - 1][2]]:
                    self.refuse_commas(start)  # as (0,5, 1,5) has spaces where numbers end
                return tuple(parts)

    def sum(self) -> Term:
        return self.chain(("+", "-"), lambda: self.chain(("*", "/"), self.signed))

    def chain(self, signs: tuple[str, ...], below: Any) -> Term:
        at = self.token[2]
        found: Term = below()
        while sign := self.taken(*signs):
            found = Term(sign, (found, below()), at=at)
        return found

    def signed(self) -> Term:
        at = self.token[2]
        minus = 0
        while self.taken("-"):
            minus += 1
        found = self.single()
        if not minus % 2:
            return found
        if found.op == "constant" and found.type in ("integer", "number"):
            return replace(found, value=-found.value, at=at)
        return Term("-", (_constant(0, at), found), at=at)

    def single(self) -> Term:
        kind, text, at = self.token
        if self.taken("("):
            found = self.either()
            self.need(")")
            return found
        self.place += 1
        if kind == "number":
            whole = text.isdigit() and len(text) <= 18
            number = int(text) if whole else float(text)
            if number in (float("inf"), float("-inf")):
                self.refuse("large", at)
            return _constant(number, at)
        if kind == "text":
            mark = text[0]
            value = text[1:-1].replace(2 * mark, mark)
            if not value.isprintable():
                self.refuse("unprintable", at)
            return _constant(value, at)
        if kind == "quoted":
            return Term("column", value=text[1:-1], at=at)
        word = text.lower()
        if kind == "name" and self.taken("("):
            return self.called(word, at)
        if kind == "name" and word in ("true", "false"):
            return _constant(word == "true", at)
        if kind != "name" or word in _WORDS:
            self.refuse("value" if kind != "end" else "ends", at, sign=text)
        return Term("column", value=text, at=at)

    def called(self, name: str, at: int) -> Term:
        if name == "bin":
            value = self.either()
            self.need(",")
            edges = self.listed()
            labels: tuple[Term, ...] = ()
            if self.taken(","):
                labels = self.listed()
            self.need(")")
            return Term("bin", (value,), self._bins(edges, labels, at), at)
        parts = [self.either()]
        while self.taken(","):
            parts.append(self.either())
        self.need(")")
        if name not in FUNCTIONS and name != "if":
            known = ", ".join(sorted({*FUNCTIONS, "if", "bin"}))
            self.refuse("function", at, name=name, known=known)
        takes = 3 if name == "if" else 1
        if len(parts) != takes:
            self.refuse("arguments", at, name=name, takes=takes, given=len(parts))
        return Term(name, tuple(parts), at=at)

    def _bins(
        self, edges: Sequence[Term], labels: Sequence[Term], at: int
    ) -> tuple[tuple[float, str], ...]:
        """Return the edges of bins, each with what the bin from there on is called."""
        numbers = [edge.value for edge in edges]
        if any(edge.type not in ("integer", "number") for edge in edges):
            self.refuse("edges", at)
        if any(not low < high for low, high in pairwise(numbers)):
            self.refuse("edges", at)
        if len(numbers) > _MOST_EDGES:
            self.refuse("many_edges", at, most=_MOST_EDGES)
        texts = [f"{edge:.15g}" for edge in numbers]
        names = [f"{low}-{high}" for low, high in pairwise(texts)]
        names.append(f"{texts[-1]}+")
        if labels:
            names = [label.value for label in labels]
            if len(set(names)) != len(edges) or any(label.type != "text" for label in labels):
                self.refuse("labels", at, bins=len(edges))
        return tuple(zip(map(float, numbers), names, strict=True))


def _constant(value: Any, at: int) -> Term:
    types: dict[type, Type] = {bool: "boolean", int: "integer", float: "number", str: "text"}
    return Term("constant", value=value, at=at, type=types[type(value)])


def _short(text: str) -> str:
    line = " ".join(text.split())  # a formula may have several
    return line if len(line) <= 80 else f"{line[:77]}…"


# ---------------------------------------------------------------------- types


def resolve(
    formula: Formula,
    columns: Mapping[str, Column],
    derived: Mapping[str, Term] | None = None,
    *,
    wanted: Type | None = None,
) -> Term:
    """Return the tree with the types of all its parts; `derived` are columns made by formulas.

    `wanted` is the type that the whole has to be of, as a condition is a boolean.
    """
    types = _Types(formula, columns, derived or {})
    found = types.typed(formula.tree)
    if wanted is not None:
        found = types.as_type(found, wanted)
    if _arithmetic(found) > _ARITHMETIC:
        types.refuse("arithmetic", formula.tree, most=_ARITHMETIC)
    return found


def _arithmetic(term: Term) -> int:
    """How deeply computations are nested in each other: in SQL, each names its parts twice."""
    below = max((_arithmetic(part) for part in term.parts), default=0)
    return below + (term.op in ("+", "-", "*", "/", "floor", "bin"))


class NoColumn(SpecError):
    """A formula names a column that is not there: `column`, and its `place` in the formula."""

    def __init__(self, formula: Formula, term: Term, columns: Iterable[str]) -> None:
        self.column: str = term.value
        self.place: dict[str, Any] = {"formula": _short(formula.text), "at": term.at}
        near = nearest(self.column, columns)
        why = "no_column" if near is None else "near_column"
        super().__init__(f"releases.formula.{why}", column=self.column, near=near, **self.place)


@dataclass(frozen=True, slots=True)
class _Types:
    formula: Formula
    columns: Mapping[str, Column]
    derived: Mapping[str, Term]

    def refuse(self, why: str, term: Term, **values: Any) -> NoReturn:
        text = _short(self.formula.text)
        raise SpecError(f"releases.formula.{why}", formula=text, at=term.at, **values)

    def typed(self, term: Term) -> Term:
        match term.op:
            case "constant":
                return term
            case "column":
                return self._column(term)
            case "and" | "or" | "not":
                parts = tuple(self.as_type(self.typed(part), "boolean") for part in term.parts)
                return replace(term, parts=parts, type="boolean")
            case "is null":
                return replace(term, parts=(self.typed(term.parts[0]),), type="boolean")
            case "in" | "=" | "!=" | "<" | "<=" | ">" | ">=":
                return replace(term, parts=self._alike(term, term.parts), type="boolean")
            case "+" | "-" | "*" | "/":
                parts = tuple(self.typed(part) for part in term.parts)
                if term.op == "-" and any(part.type in ("date", "moment") for part in parts):
                    dates = tuple(self.as_type(part, "date") for part in parts)
                    return replace(term, op="days", parts=dates, type="integer")
                parts = tuple(self.as_type(part, "number") for part in parts)
                return replace(term, parts=parts, type="number")
            case "if":
                test = self.as_type(self.typed(term.parts[0]), "boolean")
                then, other = self._alike(term, term.parts[1:])
                return replace(term, parts=(test, then, other), type=then.type)
            case "bin":
                value = self.as_type(self.typed(term.parts[0]), "number")
                return replace(term, parts=(value,), type="text")
        takes, gives = FUNCTIONS[term.op]
        part = self.as_type(self.typed(term.parts[0]), takes)
        if term.op in ("number", "date"):
            return part
        return replace(term, parts=(part,), type=gives)

    def _column(self, term: Term) -> Term:
        if term.value in self.derived:
            return replace(self.derived[term.value], at=term.at)
        if term.value not in self.columns:
            raise NoColumn(self.formula, term, (*self.columns, *self.derived))
        kind = self.columns[term.value]
        if kind not in _TYPES:
            self.refuse("no_type", term, column=term.value)
        return replace(term, type=_TYPES[kind])

    def _alike(self, whole: Term, parts: Sequence[Term]) -> tuple[Term, ...]:
        """Return parts that are compared with each other in one type."""
        found = [self.typed(part) for part in parts]
        types = {part.type for part in found}
        if types == {"untyped"}:
            self.refuse("which_type", whole)
        if types == {"untyped", "text"} and whole.op in ("<", "<=", ">", ">="):
            # As texts, 9 comes after 10 and 31.01.2026 after 01.02.2026.
            return tuple(self.as_type(part, "date") for part in found)
        quoted = next(
            (part for part in found if part.op == "constant" and part.type == "text"), None
        )
        if quoted is not None and types & {"integer", "number"}:
            self.refuse("quoted", quoted, value=quoted.value)
        if types <= {"integer", "number", "untyped"}:
            wanted: Type = "integer" if types == {"integer"} else "number"
        elif types & {"date", "moment"}:
            wanted = "date"
        else:
            wanted = "boolean" if types <= {"boolean", "untyped"} else "text"
        return tuple(self.as_type(part, wanted) for part in found)

    def as_type(self, term: Term, wanted: Type) -> Term:
        """Return a part in the type that its place needs, or refuse."""
        is_, at = term.type, term.at
        if is_ == wanted or (wanted == "moment" and is_ == "date"):
            return term
        if is_ == "untyped":
            return Term(f"as {wanted}", (term,), at=at, type=wanted)
        if wanted == "number" and is_ == "integer":
            return Term("as number", (term,), at=at, type="number")
        if wanted == "date" and is_ == "moment":
            return Term("as date", (term,), at=at, type="date")
        if wanted in ("date", "moment") and term.op == "constant" and is_ == "text":
            return Term("constant", value=self._day(term), at=at, type="date")
        if wanted in ("number", "date", "moment") and is_ == "text" and term.op != "constant":
            self.refuse("text_type", term, wanted=_name(wanted))
        if wanted in ("date", "moment") and is_ in ("integer", "number"):
            self.refuse("unquoted_date", term, found=_name(is_))
        return self.refuse("type", term, wanted=_name(wanted), found=_name(is_))

    def _day(self, term: Term) -> date:
        try:
            if re.fullmatch(r"\d{4}-\d\d-\d\d", term.value, re.ASCII):
                return date.fromisoformat(term.value)
        except ValueError:
            pass
        return self.refuse("no_date", term, value=term.value)


def _name(one: Type) -> str:
    return say(f"releases.formula.types.{one}")


def kind_declared(declared: str) -> Column:
    """Return what an engine calls what a spec declares: a type, or how dates are written."""
    return {str(one): kind for one, kind in KINDS.items()}.get(declared, "moment")


def column_as_written(name: str) -> str:
    """Return a column as a formula names it; nothing for one that no formula can name.

    >>> column_as_written("cost"), column_as_written("Größe in cm"), column_as_written("and")
    ('cost', '`Größe in cm`', '`and`')
    """
    plain = re.fullmatch(r"[^\W\d]\w*", name) and name.lower() not in _WORDS
    return name if plain else "" if "`" in name else f"`{name}`"


def columns_in(term: Term) -> Iterator[str]:
    """Yield the columns that a formula names."""
    if term.op == "column":
        yield term.value
    for part in term.parts:
        yield from columns_in(part)


def written(column: str) -> str:
    """Return a column as a formula names it.

    >>> written("age"), written("age in years"), written("not")
    ('age', '`age in years`', '`not`')
    """
    plain = re.fullmatch(r"[^\W\d]\w*", column) and column.lower() not in _WORDS
    return column if plain else f"`{column}`"


def casts(term: Term) -> Iterator[tuple[str, Type]]:
    """Yield the columns without a type in a resolved formula, each with the type read in it."""
    for part in term.parts:
        if part.op == "column" and term.op == f"as {term.type}" and part.type == "untyped":
            yield part.value, term.type
        yield from casts(part)


def tested_for_null(term: Term) -> Iterator[str]:
    """Yield the columns that are tested with `is null` in a formula."""
    for part in term.parts:
        yield from columns_in(part) if term.op == "is null" else tested_for_null(part)


def unmet(term: Term, known: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield columns whose nulls take the last value of an `if`, without being tested for.

    One that an outer `if` tests is `known` in what it chooses from.

    >>> list(unmet(parse("if(age > 17, 'adult', 'child')").tree))
    ['age']
    >>> list(unmet(parse("if(age is null or age > 17, 'adult', 'child')").tree))
    []
    """
    if term.op == "if":
        known |= set(tested_for_null(term.parts[0]))
        yield from (name for name in columns_in(term.parts[0]) if name not in known)
    for part in term.parts:
        yield from unmet(part, known)


def domain(term: Term) -> tuple[str, ...] | None:
    """Return the values that a formula may have, as keys, where the formula itself says them."""
    if term.op in (*_COMPARE, "and", "or", "not", "in", "is null"):
        return ("false", "true")
    if term.op == "bin":
        return tuple(label for _, label in term.value)
    ends = PARTS.get(term.op)
    if ends is not None:
        return tuple(map(str, range(ends[0], ends[1] + 1)))
    if term.op == "if" and all(part.op == "constant" for part in term.parts[1:]):
        texts = [str(part.value) for part in term.parts[1:]]
        whole = all(part.type in ("text", "integer") for part in term.parts[1:])
        return tuple(dict.fromkeys(texts)) if whole else None
    return None
