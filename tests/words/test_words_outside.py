"""What a person reads stands in the catalogue: no other text of the code reads like a sentence.

A sentence is four or more words of letters in a row, in one text; an f-string is one text, its
values left out. Exempt are docstrings, SQL, what programmers alone read (`AssertionError`,
`KeyError`, `TypeError`, `NotImplementedError`), patterns, and the modules in `ALONE`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
_WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)?"
SENTENCE = re.compile(rf"(?<![\w`./-]){_WORD}(?:,? {_WORD}){{3,}}")
SQL = re.compile(
    r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|BEGIN|PRAGMA|GRANT|WITH|SET|COPY|LOCK|BEFORE|WHERE)\b"
)
FOR_PROGRAMMERS = {"AssertionError", "KeyError", "TypeError", "NotImplementedError"}
# A program that others run, code that is written for them, and the catalogue's own faults.
ALONE = {"reports/verifier.py", "releases/script.py", "noise/standalone.py", "words/texts.py"}
# Lines of programs: what statistics and the page write for people to run, types for Spark, and the
# descriptions of a schema, which are the same in every language.
CODE = re.compile(
    r"\bfor \w+(?:, \w+)* in \b|from discreet import|place int|language sql|on commit drop"
)
SCHEMA = {"Field"}


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "id", getattr(node.func, "attr", "")))


def _exempt(tree: ast.AST) -> Iterator[ast.AST]:
    """What is no text for a person: docstrings, and what is said to programmers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
        elif isinstance(node, ast.Call) and _called(node) in FOR_PROGRAMMERS | SCHEMA:
            yield from ast.walk(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            yield from node.args[:1]
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield from ast.walk(node.msg)


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of a module with its line; an f-string as one, its values as a mark."""
    left = {id(node) for node in _exempt(tree)}
    for node in ast.walk(tree):
        if id(node) in left:
            continue
        if isinstance(node, ast.JoinedStr):
            left |= {id(part) for part in node.values}
            parts = [p.value if isinstance(p, ast.Constant) else "{}" for p in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def sentences(source: str) -> list[tuple[int, str]]:
    """Return the texts of a module that read like a sentence, with their lines."""
    tree = ast.parse(source)
    # Which names a room's files have is a table of names.
    tree.body = [node for node in tree.body if not ast.unparse(node).startswith("_FILES = ")]
    return sorted(
        (line, found[0])
        for line, text in _texts(tree)
        if (found := SENTENCE.search(text)) and not SQL.match(text) and not CODE.search(text)
    )


def test_no_sentence_stands_outside_the_catalogue() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE)
        if inside.as_posix() in ALONE:
            continue
        for line, text in sentences(path.read_text(encoding="utf-8")):
            found.append(f"src/discreet/{inside}:{line}: {text}")
    assert not found, "\n".join([f"{len(found)} sentences", *found])


@pytest.mark.parametrize(
    "source",
    [
        'raise InputError("ratio must be above one")',
        'f"There are {n} rows too many in {table}"',
        'say("The account has " "nothing left")',
        'title = "What may be learned, at most"',
        'x = "it\'s not what you think"',
    ],
)
def test_a_sentence_is_found(source: str) -> None:
    assert sentences(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""This module is about a thing."""',
        'def f():\n    """Return what is asked for here."""',
        'raise TypeError("this is for programmers only")',
        'run("SELECT name FROM people WHERE name IS NOT NULL")',
        'raise InputError("promises.ratio_too_small", ratio=2)',
        'title = "three words only"',
        'f"{a} of {b} at {c} in {d}"',
        're.compile("of a kind of thing")',
    ],
)
def test_what_is_no_sentence_is_left_alone(source: str) -> None:
    assert not sentences(source)
