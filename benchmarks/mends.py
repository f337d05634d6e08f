"""Take each mend back, and demand that the test which makes its attack fails.

    python -m benchmarks.mends [--only WORDS] [--jobs 2] [--record]

`tests/hardening/mends.toml` lists attacks that once succeeded, with the lines that stand against
each and the test that makes the attack. First every test is run on the code as it is, and must
pass. Then, in a copy of the project, the lines of one mend are replaced by what stood there before
(or by what does as little), and its test must fail. A test that passes without the mend does not
make the attack. With `--record` the table of attacks and the counts go to docs/quality.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from benchmarks.tables import QUALITY, today, write_section
from discreet import __version__

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "hardening" / "mends.toml"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "out", "site", "build", "dist"
)


@dataclass(frozen=True)
class Edit:
    """The lines of a file that stand against an attack, and what stands there without them."""

    file: str
    now: str
    before: str


@dataclass(frozen=True)
class Mend:
    """An attack on a promise, what stands against it, and the test that makes the attack."""

    promise: str
    attack: str
    test: str
    edits: tuple[Edit, ...]


def mends(path: Path = LIST) -> tuple[Mend, ...]:
    """Read the list; refuse lines that are not in their file, or are there more than once."""
    found = []
    for one in tomllib.loads(path.read_text(encoding="utf-8"))["mend"]:
        edits = [Edit(one["file"], one["now"], one["before"])]
        edits += [Edit(**{"file": one["file"], **more}) for more in one.get("also", ())]
        for edit in edits:
            times = (ROOT / edit.file).read_text(encoding="utf-8").count(edit.now)
            if times != 1 or edit.now == edit.before:
                raise ValueError(f"{one['attack']}: {times} times in {edit.file}: {edit.now!r}")
        found.append(Mend(one["promise"], one["attack"], one["test"], tuple(edits)))
    return tuple(found)


def _pytest(tree: Path, tests: Sequence[str], *more: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", *more]
    # The tree's own code, also in programs that tests start.
    env = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [*command, *tests], cwd=tree, env=env, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout[-3000:] + ran.stderr[-1000:]


@contextmanager
def _without(mend: Mend, tree: Path) -> Iterator[None]:
    """Replace the lines of a mend in a tree, for a while."""
    whole = {tree / edit.file: (tree / edit.file).read_bytes() for edit in mend.edits}
    try:
        for edit in mend.edits:
            path = tree / edit.file
            text = path.read_text(encoding="utf-8").replace(edit.now, edit.before)
            if path.suffix == ".py":
                compile(text, edit.file, "exec")
            path.write_text(text, encoding="utf-8")
        yield
    finally:
        for path, content in whole.items():
            path.write_bytes(content)


def taken_back(mend: Mend, tree: Path) -> str | None:
    """Take a mend back in a tree and run its test; return what is wrong unless the test fails."""
    with _without(mend, tree):
        code, said = _pytest(tree, [mend.test], "-x")
    if code == 1 and "\nFAILED tests/" in said and "\nERROR " not in said:
        return None
    if code == 0:
        return "its test passes without it" + (" (skipped)" if "skipped" in said else "")
    return f"its test cannot be run: {said[-600:]}"


def campaign(chosen: Sequence[Mend], jobs: int) -> list[str | None]:
    """Take each mend back in a copy of the project; return what is wrong with each."""
    with tempfile.TemporaryDirectory(prefix="discreet-mends-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            tree = Path(folder, str(number))
            shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
            trees.put(tree)
        tests = list(dict.fromkeys(mend.test for mend in chosen))
        tree = trees.get()
        code, said = _pytest(tree, tests)
        trees.put(tree)
        if code != 0:
            raise SystemExit(f"with every mend in place the tests do not pass:\n{said}")

        def one(mend: Mend) -> str | None:
            tree = trees.get()
            try:
                wrong = taken_back(mend, tree)
            finally:
                trees.put(tree)
            if wrong is not None:
                print(f"{mend.attack}: {wrong}", file=sys.stderr, flush=True)
            return wrong

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, chosen))


def recorded(chosen: Sequence[Mend], found: Sequence[str | None]) -> str:
    """Return the counts, and the attacks by promise, as the page on quality shows them."""
    caught = sum(wrong is None for wrong in found)
    lines = [
        f"Run on {today()}, version {__version__}: {len(chosen)} mends were taken back, one at a "
        f"time; {caught} attacks were caught by the tests that make them.",
        "",
        "| promise | attack | test |",
        "|---|---|---|",
    ]
    for mend in chosen:
        name = mend.test.removeprefix("tests/").replace("|", "\\|")
        lines.append(f"| {mend.promise} | {mend.attack.replace('|', chr(92) + '|')} | `{name}` |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description="Take each mend back; its test must fail.")
    parser.add_argument("--only", default="", help="mends whose attack or test has these words")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--record", action="store_true", help="write the table to docs/quality.md")
    asked = parser.parse_args(arguments)
    chosen = [one for one in mends() if asked.only in one.attack or asked.only in one.test]
    found = campaign(chosen, asked.jobs)
    print(recorded(chosen, found))
    if asked.record:
        write_section(QUALITY, "mends", recorded(chosen, found))
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
