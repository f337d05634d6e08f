"""Count lines of code of the package, room by room: files, and lines of code.

    python scripts/lines.py              # the package beside this script
    python scripts/lines.py --largest 10 # with its largest files
    python scripts/lines.py --source OTHER/src

Blank lines, comments, docstrings and imports do not count.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

NOT_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    """Return how many lines hold code.

    >>> code_lines("import os\\n\\n# a comment\\nx = [\\n    1,\\n]\\n")
    3
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            lines.difference_update(range(first.lineno, (first.end_lineno or 0) + 1))
    return len(lines)


def main() -> None:
    """Print a line for each room, the total, and the largest files."""
    parser = argparse.ArgumentParser(description=__doc__)
    here = Path(__file__).resolve().parents[1] / "src"
    parser.add_argument("--source", type=Path, default=here)
    parser.add_argument("--largest", type=int, default=0)
    given = parser.parse_args()
    package = given.source / "discreet"
    found = {
        path.relative_to(package): code_lines(path.read_text(encoding="utf-8"))
        for path in package.rglob("*.py")
    }
    files, lines = Counter(path.parts[0] for path in found), Counter[str]()
    for path, count in found.items():
        lines[path.parts[0]] += count
    for room, count in sorted(lines.items(), key=lambda one: one[1]):
        sys.stdout.write(f"{room:<16}{files[room]:>5} files{count:>8} lines\n")
    total = sum(found.values())
    sys.stdout.write(f"{'in all':<16}{len(found):>5} files{total:>8} lines\n")
    for path, count in sorted(found.items(), key=lambda one: -one[1])[: given.largest]:
        sys.stdout.write(f"{count:>8} {path}\n")


if __name__ == "__main__":
    main()
