"""Additions of an installed package are found by the command line, each through its entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

HERE = Path(__file__).parent
SOURCE = Path(discreet.__file__).parents[1]
GROUPS = {
    "mechanisms": "toy_mechanism",
    "statistics": "toy_statistic",
    "shapes": "toy_shape",
    "engines": "toy_engine",
    "languages": "toy_language",
}
SPEC = """\
account: people
purpose: a statistic and an engine of our own
source: {source}
protect: {{unit: person, column: person, rows: 3}}
budget: {{epsilon: 1.0}}
statistics: [{statistic}]
ledger: sqlite:///ledger.db
output: out
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A package that is installed beside Discreet; its entry points name the modules."""
    about = tmp_path / "site" / "toys-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    lines = [f"[discreet.{group}]\ntoy = {module}\n" for group, module in GROUPS.items()]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return about.parent


def typed(command: str, site: Path | None, folder: Path, **environment: str) -> tuple[int, str]:
    places = [str(place) for place in (site, site and HERE, SOURCE) if place is not None]
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *command.split()],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(places),
            "NO_COLOR": "1",
            **environment,
        },
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("module", [*GROUPS.values(), "toy_noise"])
def test_it_is_short_and_in_the_documentation_as_it_stands(module: str) -> None:
    code = (HERE / f"{module}.py").read_text(encoding="utf-8")
    assert len(code.splitlines()) < 100
    page = (HERE.parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
    assert f'```python title="{module}.py"\n{code}```\n' in page


@pytest.mark.parametrize("group", GROUPS)
def test_its_entry_point_is_in_the_documentation(group: str) -> None:
    page = (HERE.parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
    assert f'[project.entry-points."discreet.{group}"]' in page


def test_the_german_texts_are_in_the_documentation_as_they_stand() -> None:
    page = (HERE.parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
    for texts in sorted((HERE / "toy_german").iterdir()):
        name = f"toy_german/{texts.name}"
        assert f'```toml title="{name}"\n{texts.read_text(encoding="utf-8")}```\n' in page


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("explain --mechanism flipped-bit --epsilon 0.5 --prior 0.1", "at most 16 in 100"),
        ("choose --part-of-the-way 0.2 --about membership", "20 % nearer to certainty"),
        ("choose --file part.yaml", "20 % nearer to certainty"),
    ],
)
def test_a_mechanism_and_a_shape_are_found_by_name(
    command: str, found: str, installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "part.yaml").write_text("part_of_the_way: 0.2\nabout: membership\n")
    code, said = typed(command, installed, tmp_path)
    assert (code, found in said) == (0, True), said
    assert typed(command, None, tmp_path)[0] == 2  # without the package nobody knows it


def test_a_statistic_and_an_engine_are_found_by_name(installed: Path, tmp_path: Path) -> None:
    rows = [{"person": f"p{i}", "colour": "red" if i % 2 else "blue"} for i in range(20)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "rows.csv").write_text("person,colour\np1,red\np2,blue\n")
    opened = "ledger open --account people --ledger sqlite:///ledger.db --unit person --filter pure"
    code, said = typed(f"{opened} --no-cap --approver us --reason test", installed, tmp_path)
    assert code == 0, said
    asked = {
        "portion.yaml": ("rows.csv", "{portion: colour, value: red}"),
        "lines.yaml": ("lines://rows.jsonl", "{count: rows}"),
    }
    for name, (source, statistic) in asked.items():
        (tmp_path / name).write_text(SPEC.format(source=source, statistic=statistic))
        code, said = typed(f"release {name} --dry-run", installed, tmp_path)
        assert code == 0, said
        assert typed(f"release {name} --dry-run", None, tmp_path)[0] == 2


def test_a_language_is_found_by_name(installed: Path, tmp_path: Path) -> None:
    code, said = typed("choose --ratio 3", installed, tmp_path, DISCREET_LANGUAGE="de")
    assert code == 0
    assert "Für alle ändert sich der Glaube, dass" in said
    assert "Das gilt für jedes mögliche Ergebnis." in said
    code, said = typed("choose --ratio 3", None, tmp_path, DISCREET_LANGUAGE="de")
    assert (code, "For everyone" in said) == (0, True)  # as with gettext
    code, said = typed("init release.yaml", installed, tmp_path, DISCREET_LANGUAGE="de")
    assert code == 0, said  # what the language does not have is in English


def test_a_flag_that_nobody_has_is_still_refused(installed: Path, tmp_path: Path) -> None:
    code, said = typed("choose --nobody-has-this 3", installed, tmp_path)
    assert (code, "No such option" in said) == (2, True)
