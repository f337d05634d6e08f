"""What an editor sees: real signatures of names that are loaded lazily."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import typing
from importlib import import_module
from pathlib import Path

import pytest

import discreet
from discreet.errors import DiscreetError

SOURCE = Path(discreet.__file__).parent
ROOT = SOURCE.parent.parent

VERBS = {
    "assess": ("discreet.assess('s.yaml')", "Assessment | Search | Synthesis | Linkage"),
    "attack": ("discreet.attack('averaging')", "Attack"),
    "audit": ("discreet.audit('s.yaml')", "Audit"),
    "check": ("discreet.check('s.yaml')", "Checked"),
    "choose": ("discreet.choose({'ratio': 3})", "Choice"),
    "compose": ("discreet.compose([(discreet.PureDP(0.1), 12)])", "Composition"),
    "cost": ("discreet.cost({'ratio': 3})", "Costs"),
    "deployments": ("discreet.deployments(0.1)", "Deployments"),
    "explain": ("discreet.explain(discreet.PureDP(1), 0.1)", "BeliefAtPrior"),
    "explain_posterior": ("discreet.explain(discreet.PureDP(1), 0.1).posterior.upper", "float"),
    "explain_all": ("discreet.explain(discreet.PureDP(1)).posterior", "Bounds | None"),
    "explain_release": ("discreet.explain(discreet.release('s.yaml'), 0.1)", "BeliefAtPrior"),
    "explain_many": ("discreet.explain(discreet.PureDP(1), [0.1, 0.2])", "Beliefs"),
    "horizon": ("discreet.horizon(discreet.PureDP(0.1), ratio=3)", "Horizon"),
    "join": ("discreet.join(discreet.PureDP(1))", "Joining"),
    "ledger": ("discreet.Ledger.open('sqlite:///l.db')", "Ledger"),
    "plan": ("discreet.plan({'ratio': 3}, releases=12)", "Plan"),
    "preview": ("discreet.preview('s.yaml')", "Preview"),
    "randomize": ("discreet.randomize(discreet.Survey.of('?', ['a', 'b'], epsilon=1), 'a')", "str"),
    "rehearse": ("discreet.rehearse('s.yaml', 'twin.csv')", "Rehearsal"),
    "release": ("discreet.release('s.yaml')", "Release"),
    "release_table": ("discreet.release('s.yaml', confirm=True).table", "Table"),
    "release_dry": ("discreet.release('s.yaml', dry_run=True, key='k')", "Preview"),
    "release_key": ("discreet.release('s.yaml', key='k')", "Release | Repeat"),
    "release_either": (
        "discreet.release('s.yaml', dry_run=bool(1))",
        "Release | Preview | Repeat",
    ),
    "report": ("discreet.report('id')", "Report"),
    "release_report": ("discreet.Release.report", "def (self: Made, *, note:"),
    "summarize": (
        "discreet.summarize('d.csv', {}, account='a', protect={}, ledger='l')",
        "Summary | Preview",
    ),
    "synthesize": ("discreet.synthesize('s.yaml')", "Synthesis"),
    "to_opendp": ("discreet.to_opendp", "def ("),
    "worry": ("discreet.worry(discreet.PureDP(1), 0.1)", "Worry"),
}


def test_every_verb_is_looked_at():
    verbs = {name for name in discreet.__all__ if name[0].islower() and name != "__version__"}
    assert verbs <= set(VERBS)


def test_a_type_checker_sees_every_verb(tmp_path):
    program = tmp_path / "notebook.py"
    lines = ["import discreet", *(f"reveal_type({call})" for call, _ in VERBS.values())]
    program.write_text("\n".join([*lines, "discreet.nonsense"]) + "\n", encoding="utf-8")
    done = subprocess.run(
        # A cache of its own: the package may be checked at the same time.
        [sys.executable, "-m", "mypy", f"--cache-dir={ROOT / '.mypy_cache' / 'verbs'}",
         "--no-error-summary", "--follow-imports=silent",
         f"--config-file={ROOT / 'pyproject.toml'}", str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(SOURCE.parent)},
    )  # fmt: skip
    said = re.sub(r"\bdiscreet(\.\w+)*\.", "", done.stdout)
    found = dict(re.findall(r"notebook\.py:(\d+): note: Revealed type is \"(.*)\"", said))
    for line, (name, (_, wanted)) in enumerate(VERBS.items(), 2):
        shown = found[str(line)]
        assert shown.startswith(wanted) if "(" in wanted else shown == wanted, (name, shown)
    assert 'Module has no attribute "nonsense"' in done.stdout


def test_the_stub_names_what_the_package_has():
    tree = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    imported = {
        alias.name: str(node.module).removeprefix("discreet.")
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    (listed,) = (node.value for node in tree.body if isinstance(node, ast.Assign))
    assert sorted(ast.literal_eval(listed)) == sorted(discreet.__all__)
    assert imported == discreet._HOME


def test_it_says_that_it_is_typed():
    assert (SOURCE / "py.typed").is_file()


@pytest.mark.parametrize("name", sorted(set(discreet.__all__) - {"__version__"}))
def test_every_name_is_documented(name):
    assert getattr(discreet, name).__doc__


@pytest.mark.parametrize(
    "verb",
    ["check", "choose", "compose", "cost", "explain", "horizon", "plan", "preview", "release"],
)
def test_tools_that_evaluate_annotations_can(verb: str) -> None:
    """Notebooks, pydantic and typeguard do; an alias that is a text cannot be joined by `|`."""
    assert typing.get_type_hints(getattr(discreet, verb))


_MORE: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {
    "randomize": (("yes",), {}),
    "rehearse": (({"a": [1]},), {}),
    "summarize": (({},), {"account": "a", "protect": {}, "ledger": "sqlite:///no/ledger.db"}),
    "to_opendp": (({"a": [1]},), {}),
    "worry": ((0.3,), {}),
}
_VERBS = [name for name in discreet.__all__ if name[0].islower()]


@pytest.mark.parametrize(
    "wrong", [None, 5, [1], "no such", object(), {"no": 1}, b"no"], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("name", _VERBS)
def test_a_first_argument_of_another_type_is_refused_in_words(
    name: str, wrong: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error from inside reaches the caller: it says what was given, the rule, the next step."""
    monkeypatch.chdir(tmp_path)
    more, named = _MORE.get(name, ((), {}))
    with pytest.raises(DiscreetError) as refused:
        getattr(discreet, name)(wrong, *more, **named)
    assert len(str(refused.value).split()) > 4
    assert list(tmp_path.iterdir()) == []


def test_one_release_that_is_no_list_is_told_how_to_be_one() -> None:
    for wrong in (discreet.PureDP(0.1), 5, "PureDP"):
        with pytest.raises(DiscreetError, match=r"must be a list of releases.*\[PureDP\(0.1\)\]"):
            discreet.compose(wrong)  # type: ignore[arg-type]
    with pytest.raises(DiscreetError, match="tuple is neither a guarantee"):
        discreet.compose([(discreet.PureDP(0.1), 2, 3)])  # type: ignore[list-item]


PYTHON = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
IMPORT = re.compile(r"^(?:>>> )?((?:from discreet[\w.]* import|import discreet\b)[^;#`\n]*)", re.M)


def _imports_shown() -> list[str]:
    """Return every import of ours that the documentation shows, as it is written there."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    blocks = [
        block
        for page in pages
        for block in re.findall(
            r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S
        )
    ]
    return sorted({found.strip() for block in blocks for found in IMPORT.findall(block)})


def test_imports_that_the_documentation_shows_pass_a_strict_type_checker(tmp_path: Path) -> None:
    """A user's mypy has none of our settings: what a package only imports is not exported."""
    shown = _imports_shown()
    assert "from discreet.ledger import Ledger" in shown
    rooms = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
    lazily = [
        f"from discreet.{room} import {', '.join(names)}"
        for room in rooms
        if "found_in" in (SOURCE / room / "__init__.py").read_text(encoding="utf-8")
        for names in [import_module(f"discreet.{room}").__all__]
    ]
    assert len(lazily) > 5
    program = tmp_path / "mine.py"
    tried = [f"def f{place}() -> None:\n    {line}" for place, line in enumerate([*shown, *lazily])]
    program.write_text("\n".join(tried) + "\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", f"--cache-dir={ROOT / '.mypy_cache' / 'users'}",
         "--strict", "--follow-imports=silent", "--config-file=", str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(SOURCE.parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
