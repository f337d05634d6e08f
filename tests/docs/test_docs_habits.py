"""What says how the project is run agrees with the project: versions, workflows, templates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

import discreet

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version() -> None:
    cited = _read(ROOT / "CITATION.cff")
    assert cited["version"] == discreet.__version__
    assert cited["license"] == PROJECT["license"]
    assert set(cited["keywords"]) == set(PROJECT["keywords"])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"version = {{{discreet.__version__}}}" in readme
    assert f"title   = {{{cited['title']}}}" in readme


def test_the_changelog_begins_with_this_version() -> None:
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert first is not None
    assert first[1] == discreet.__version__


def test_workflows_test_every_version_that_may_be_installed_from_the_first() -> None:
    versions = _read(GITHUB / "workflows" / "test.yml")["jobs"]["test"]["strategy"]["matrix"][
        "python"
    ]
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert all(allowed.contains(version) for version in versions)
    first = min(int(version.split(".")[1]) for version in versions)
    assert not allowed.contains(f"3.{first - 1}")
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert named
    assert set(named) <= set(versions)


@pytest.mark.parametrize("path", sorted(GITHUB.rglob("*.yml")), ids=lambda path: path.stem)
def test_workflows_and_templates_are_read_and_run_targets_that_exist(path: Path) -> None:
    found = _read(path)
    assert isinstance(found, dict)
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    steps = [step for job in found.get("jobs", {}).values() for step in job["steps"]]
    for line in [step.get("run", "") for step in steps]:
        assert set(re.findall(r"\bmake ([a-z]+)", line)) <= targets
    if path.parent.name == "workflows":
        assert found["permissions"] == {"contents": "read"}, "a job that needs more asks for it"


def test_only_publishing_may_prove_who_it_is_and_only_after_the_tests() -> None:
    jobs = _read(GITHUB / "workflows" / "release.yml")["jobs"]
    assert {name for name, job in jobs.items() if "permissions" in job} == {"publish"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert set(jobs["publish"]["needs"]) == {"build", "test"}
    assert [step["uses"].split("@")[0] for step in jobs["publish"]["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


def test_checks_before_a_commit_are_those_of_make() -> None:
    hooks = [
        hook for repo in _read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]
    ]
    makefile = (ROOT / "Makefile").read_text()
    for hook in hooks:
        tool = hook["entry"].removeprefix(".venv/bin/").split(" --")[0]
        assert f"$(BIN)/{tool}" in makefile
