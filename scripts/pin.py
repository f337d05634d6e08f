"""Pin the demo: requirements-demo.txt, every package of `.[all]` with the hashes of its files.

    python scripts/pin.py PIP_COMPILE       (pip-compile of pip-tools, in an environment of its own)

What is pinned is what `make demo` installs, and what builds the project itself, so that nothing
unpinned is fetched. Pinned under Python 3.11; a machine on which a pinned file does not exist
installs by ranges instead and says so (scripts/setup.sh).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "requirements-demo.txt"
HEADER = "# Made by scripts/pin.py; do not edit. Every package of .[all], and what builds it.\n"


def expanded(extra: str, extras: dict[str, list[str]]) -> list[str]:
    """Return the requirements of an extra, those that it names of our own unfolded."""
    found: list[str] = []
    for requirement in extras[extra]:
        ours = re.fullmatch(r"discreet\[(.+)\]", requirement)
        if ours is None:
            found.append(requirement)
            continue
        for name in ours[1].split(","):
            found += expanded(name.strip(), extras)
    return found


def main(pip_compile: str) -> None:
    """Compile the pins, without a word of where they were looked up."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *project["project"]["dependencies"],
        *expanded("all", project["project"]["optional-dependencies"]),
        *project["build-system"]["requires"],
        "editables",  # hatchling asks for it when it installs a project in place
    ]
    with tempfile.TemporaryDirectory() as folder:
        asked, pinned = Path(folder, "demo.in"), Path(folder, "demo.txt")
        asked.write_text("\n".join(dict.fromkeys(wanted)) + "\n")
        how = ["--quiet", "--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-header"]
        silent = ["--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
        silent += ["--no-emit-trusted-host", "--output-file", str(pinned), str(asked)]
        subprocess.run([pip_compile, *how, *silent], check=True)  # noqa: S603  (given by hand)
        OUT.write_text(HEADER + pinned.read_text())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/pin.py PIP_COMPILE")
    main(sys.argv[1])
