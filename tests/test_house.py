"""What the house promises a stranger: names, lazy doors, errors, guarantees, rounding."""

import ast
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import errors
from discreet.errors import DiscreetError, GuaranteeError, InputError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.rounding import decimal_down, decimal_up, down, percent, up

SOURCE = Path(discreet.__file__).parent
ROOT = Path(__file__).parents[1]
stable = settings(derandomize=True, deadline=None)


def test_public_names_exist_and_are_sorted():
    names = discreet.__all__
    assert names[1:] == sorted(names[1:])
    for name in names:
        assert getattr(discreet, name) is not None
    assert set(dir(discreet)) == set(names)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = discreet.nonsense


def test_verbs_never_collide_with_packages():
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    assert not packages & set(discreet.__all__)


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="runs in one process")
def test_workers_share_what_is_dear_by_groups(request):
    """pytest-xdist says so in the name; without it every worker would start every server."""
    assert request.node.nodeid.endswith("@tests/test_house.py")


def test_import_costs_nothing():
    program = "import sys, discreet; print(sorted(m for m in sys.modules if 'discreet' in m))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "['discreet']"


def test_every_error_has_a_code_and_is_a_builtin_kind():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert kind.code
        assert kind.exit_code in (2, 3, 4, 5)
        if kind is not DiscreetError:
            assert issubclass(kind, (ValueError, RuntimeError))
            assert name in errors.__doc__


@pytest.mark.parametrize(
    "make",
    [
        lambda: PureDP(math.nan),
        lambda: PureDP(-1),
        lambda: PureDP("1"),
        lambda: PureDP(True),
        lambda: PureDP(1, adjacency="bounded"),
        lambda: ApproxDP(1, 1.5),
        lambda: ApproxDP(1, math.nan),
        lambda: ProbabilisticDP(1, -0.1),
        lambda: ZCDP(-0.1),
        lambda: ZCDP(math.nan),
    ],
)
def test_guarantees_are_checked_when_made(make):
    with pytest.raises(InputError):
        make()


def test_replace_is_twice_add_remove_and_never_back():
    assert PureDP(1).under("replace") == PureDP(2, adjacency="replace")
    assert ZCDP(0.1).under("replace") == ZCDP(0.4, adjacency="replace")
    for stated in (
        PureDP(1, adjacency="replace"),
        ApproxDP(1, 1e-6, adjacency="replace"),
        ZCDP(1, adjacency="replace"),
        ProbabilisticDP(1, 1e-6, adjacency="replace"),
        PrivacyCurve("x", lambda e: 0.0, adjacency="replace"),
        PureDP(1, adjacency="local"),
    ):
        with pytest.raises(GuaranteeError, match="no theorem"):
            stated.under("add-remove")
    with pytest.raises(GuaranteeError):
        ProbabilisticDP(1, 1e-6).under("replace")
    assert PureDP(1).under("add-remove") == PureDP(1)


@stable
@given(st.floats(0, 800), st.floats(0, 1))
def test_approximate_under_replace_rounds_up(epsilon, delta):
    out = ApproxDP(epsilon, delta).under("replace")
    true = min(mp.mpf(1), mp.mpf(delta) * (1 + mp.exp(mp.mpf(epsilon))))
    assert mp.mpf(out.delta) >= true
    assert out.epsilon == 2 * epsilon


def test_curve_under_replace():
    curve = PrivacyCurve("pure 1", lambda e: 0.0 if e >= 1 else 0.5)
    assert curve.under("replace").at(2.0).delta == 0
    assert curve.under("replace").at(1.9).delta == 1
    assert curve.at(1.0) == ApproxDP(1.0, 0.0)


def test_json_of_guarantees():
    assert PureDP(1).to_dict() == {
        "epsilon": 1.0, "delta": None, "rho": None, "kind": "pure", "adjacency": "add-remove",
    }  # fmt: skip
    assert PureDP(math.inf).to_dict()["unbounded"] is True
    assert ProbabilisticDP(1, 0.1).as_approx() == ApproxDP(1, 0.1)
    assert (
        repr(PureDP(1, adjacency=Adjacency.REPLACE)) == "PureDP(epsilon=1.0, adjacency='replace')"
    )


@stable
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_up_and_down(x):
    assert down(x) <= x <= up(x)


@stable
@given(st.floats(-1e6, 1e6), st.integers(0, 6))
def test_printed_figures_round_outward(x, digits):
    unit = 10.0**-digits
    slop = 1e-12 * max(1, abs(x))
    assert decimal_down(x, digits) <= x + slop
    assert decimal_up(x, digits) >= x - slop
    assert decimal_up(x, digits) - decimal_down(x, digits) <= unit * (1 + 1e-6) + slop


def test_percent():
    assert percent(0.52503, "up") == "53 %"
    assert percent(0.47497, "down") == "47 %"
    assert percent(0.07, "up") == "7 %"
    assert percent(up(0.75), "up") == "75 %"


# -- what is private to a room stays in it

# Tests whose folder has another name than the room they look into.
LOOKS_INTO = {"engines": "releases", "interchange": "noise"}
# Private names that others use all the same, and why.
ALLOWED = {
    "discreet.releases.engines.expressions._WIDEST": "the audit plants faults inside releases",
    "discreet.releases.engines.expressions._aggregates": "the audit plants faults inside releases",
    "discreet.releases.drawing._answered": "the audit plants faults inside releases",
    "discreet.cli._COMMANDS": "the documentation lists every command",
    "discreet.cli._app": "the documentation lists every option",
    "discreet.cli.compose._listed": "a parser that hostile text is given to",
    "discreet.cli.compose._part": "a parser that hostile text is given to",
    "discreet.composition.grid.loss._centre": "a benchmark empties a cache between runs",
    "discreet.composition.grid.loss._step": "a benchmark empties a cache between runs",
    "discreet.composition.grid.loss._window": "a benchmark empties a cache between runs",
    "discreet.composition.walk._table": "a benchmark empties a cache between runs",
}


def _room(path: Path) -> str:
    top, *inside = path.relative_to(ROOT).parts
    if top == "src":
        return inside[1].removesuffix(".py")
    return LOOKS_INTO.get(inside[0], inside[0]) if top == "tests" else ""


def _ours(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Every name of ours that is imported: its line, what it is called here, and its full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "discreet":
            for name in node.names:
                yield node.lineno, name.asname or name.name, f"{node.module}.{name.name}"
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("discreet."):
                    yield node.lineno, name.asname or "", name.name


def _named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name of ours that a file uses: imported, read of a module, patched, or in a text."""
    called = {}
    for line, alias, name in _ours(tree):
        called[alias] = name
        yield line, name
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=of), attr=attribute) if of in called:
                yield node.lineno, f"{called[of]}.{attribute}"
            case ast.Call(args=[ast.Name(id=of), ast.Constant(value=str(attribute)), *_]):
                if of in called:
                    yield node.lineno, f"{called[of]}.{attribute}"
            case ast.Constant(value=str(text)) if re.fullmatch(r"discreet(\.\w+)+", text):
                yield node.lineno, text


def _private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def test_what_is_private_to_a_room_stays_in_it():
    found = []
    for top in ("src", "tests", "benchmarks", "scripts", "examples"):
        for path in sorted((ROOT / top).rglob("*.py")):
            for line, name in _named(ast.parse(path.read_text(encoding="utf-8"))):
                known = name in ALLOWED or name.split(".")[1] == _room(path)
                if _private(name) and not known and path != Path(__file__):
                    found.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "from discreet.cli import _app",
        "from discreet.cli import _app as app",
        "from discreet import cli\ncli._app()",
        "import discreet.cli as shell\nshell._app",
        "from discreet import cli\npatch.setattr(cli, '_app', None)",
        "patch.setattr('discreet.cli._app', None)",
    ],
)
def test_a_private_name_is_seen_however_it_is_written(text):
    assert "discreet.cli._app" in {name for _, name in _named(ast.parse(text))}
