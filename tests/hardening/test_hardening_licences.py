"""The page of licences lists what is declared, with a licence that may be passed on with ours."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def _listed() -> dict[str, str]:
    rows = re.findall(
        r"^\| ([a-z0-9-]+) \| (.+?) \| .* \|$", (ROOT / "docs/licences.md").read_text(), re.M
    )
    return {name: said for name, said in rows if name != "package"}


def test_every_declared_dependency_is_listed_with_a_licence() -> None:
    """If this fails: python scripts/licences.py."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"]]
    for extra in ("charts", "release", "accounting", "web", "postgres"):
        lines += extras[extra]
    declared = {re.sub(r"[-_.]+", "-", Requirement(line).name).lower() for line in lines}
    assert declared - {"discreet"} <= set(_listed())


def test_no_licence_is_missing_or_asks_for_ours_to_change() -> None:
    known = re.compile(r"MIT|BSD|Apache|PSF|ISC|LGPL|MPL|Zlib", re.I)
    for name, said in _listed().items():
        assert known.search(said), (name, said)
        assert not re.search(r"\b(A?GPL)", said), (name, said)
