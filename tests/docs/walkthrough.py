"""A page of the documentation, followed literally from top to bottom.

A reader is given a folder with a copy of `examples/` in it, and does what the page says, in order:

- ```` ```python ````: run; with `>>>`, what is printed is compared. One page is one session.
- ```` ```console ````: lines after `$ ` are typed; what stands below them is compared, `...` being
  anything (nothing below: nothing is compared). A command must succeed, unless the next one is
  `echo $?`.
- indented lines that start with `discreet `: typed as well, nothing is compared.
- any block with `title="FILE"`: written to that file.

`discreet` runs in this process, which saves its start; everything else runs in bash.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from discreet.cli import main

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```\s*$", re.M | re.S)
_TYPED = re.compile(r"^    discreet (?:[^\n]*\\\n)*[^\n]*$", re.M)
_TITLE = re.compile(r'title="([^"]+)"')
_FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
_SHELL = re.compile(r"[|;&<>]")
_WITHIN = re.compile(r"\$\([^()]*\)|'[^']*'|\"[^\"$`]*\"")


@dataclass(frozen=True)
class Block:
    """A piece of a page that a reader would do something with."""

    kind: str
    text: str
    line: int
    file: str | None = None


def blocks(page: str) -> Iterator[Block]:
    """Yield what there is to do on a page, in order."""
    found = []
    for fence in _FENCE.finditer(page):
        kind = fence["info"].split()[0] if fence["info"].strip() else ""
        title = _TITLE.search(fence["info"])
        line = page.count("\n", 0, fence.start()) + 2
        found.append((fence.start(), Block(kind, fence["body"], line, title and title[1])))
    outside = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), page)
    for typed in _TYPED.finditer(outside):
        line = page.count("\n", 0, typed.start()) + 1
        found.append((typed.start(), Block("typed", typed[0].strip(), line)))
    yield from (block for _, block in sorted(found, key=lambda one: one[0]))


@dataclass
class Reader:
    """Someone who does what a page says."""

    page: Path
    synopsis: bool = False  # its indented commands name files that only a reader has
    done: int = 0
    code: int = 0
    module: types.ModuleType = field(default_factory=lambda: types.ModuleType("page"))

    def follow(self) -> int:
        """Do everything on the page; return how much that was."""
        sys.modules["page"] = self.module  # dataclasses look themselves up
        for block in blocks(self.page.read_text(encoding="utf-8")):
            if block.file is not None:
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.kind == "python":
                self._python(block)
            elif block.kind == "console":
                self._console(block)
            elif block.kind == "typed" and not self.synopsis:
                self._type(block.text, "", block, more="")
        return self.done

    def _where(self, block: Block) -> str:
        return f"{self.page.name}:{block.line}"

    def _python(self, block: Block) -> None:
        self.done += 1
        if ">>>" not in block.text:
            exec(compile(block.text, self._where(block), "exec"), self.module.__dict__)  # noqa: S102
            return
        test = doctest.DocTestParser().get_doctest(
            block.text, self.module.__dict__, self._where(block), str(self.page), block.line
        )
        said = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=_FLAGS)
        runner.run(test, out=said.write, clear_globs=False)
        self.module.__dict__.update(test.globs)
        assert runner.failures == 0, said.getvalue()

    def _console(self, block: Block) -> None:
        text = re.sub(r"\\\n\s*", "", block.text)
        steps = re.split(r"^\$ ", text, flags=re.M)[1:]
        for place, step in enumerate(steps):
            command, _, expected = step.partition("\n")
            following = steps[place + 1] if place + 1 < len(steps) else ""
            self._type(command, expected, block, more=following)

    def _type(self, command: str, expected: str, block: Block, more: str) -> None:
        self.done += 1
        command = re.sub(r"\s+# .*$", "", command)
        out = self._run(command)
        where = f"{self._where(block)}: $ {command}\n{out}"
        assert self.code == 0 or more.startswith("echo $?"), f"exit {self.code} at {where}"
        if expected.strip():
            checker = doctest.OutputChecker()
            same = checker.check_output(expected.strip() + "\n", out.strip() + "\n", _FLAGS)
            assert same, f"expected:\n{expected}\ngot, at {where}"

    def _run(self, command: str) -> str:
        if command == "echo $?":
            shown, self.code = f"{self.code}\n", 0
            return shown
        if command.startswith("cd "):
            os.chdir(command[3:].strip())
            self.code = 0
            return ""
        if command.startswith("discreet ") and not _SHELL.search(_WITHIN.sub("", command)):
            return self._discreet(command)
        done = subprocess.run(
            ["bash", "-c", command],
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.code = done.returncode
        return done.stdout

    def _discreet(self, command: str) -> str:
        # bash splits and fills in the words, as it would for the reader
        words = subprocess.run(
            ["bash", "-c", f"printf '%s\\0' {command}"], stdout=subprocess.PIPE, check=True
        ).stdout.decode()
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                main(words.split("\0")[1:-1])
            except SystemExit as way_out:
                self.code = way_out.code if isinstance(way_out.code, int) else 0
        return said.getvalue()
