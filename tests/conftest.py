"""What tests of every room may ask for, how workers share them, and what Hypothesis does.

`pytest -n 4` gives tests to workers by groups (`--dist loadgroup`). What is dear to start is
started once: tests that ask for the same server or Spark are one group; a file may name a group
(`pytestmark = pytest.mark.xdist_group("docs")`), and a room may be one (`ROOMS`); each other file
is one by itself. Tests in a browser take longest of all, and a browser starts soon: those are a
group for each file, so that no worker has them all. Dear groups are given out first, then those
with a slow test and those that are long all the same, so that no worker is left with one at the
end. Before them come tests that fork: later on a worker may have threads (of a browser, of Spark),
which a fork leaves behind.

A test that hangs is ended by `faulthandler_timeout`, and its worker with it; that, like a crash,
ends the run and names the test (`--max-worker-restart 0`).
"""

from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from soaking import soaked

pytest_plugins = ["collecting", "servers", "browsers"]
collect_ignore_glob = ["extending/toy_*.py"]  # they register themselves when they are imported

# On a busy machine, or with more code to take constants from, an example may be slow or a strategy
# filter much; neither is a fault of what is tested.
settings.register_profile(
    "steady",
    deadline=None,
    max_examples=20,  # of properties that do not say how many
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
# `make soak`: soaking.py
settings.register_profile("soak", settings.get_profile("steady"), max_examples=200)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def private_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A private folder of its own for each test: work in progress, and heads that were seen."""
    folder = tmp_path_factory.getbasetemp() / "state" / str(next(_NUMBERS))
    monkeypatch.setenv("DISCREET_STATE", str(folder))
    return folder


_NUMBERS = count()


@pytest.fixture
def brief_audits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let audits that nothing is to be found by choose their events on fewer releases.

    How often a sound release fails does not depend on it; how surely a fault is found does.
    """
    if not soaked():
        monkeypatch.setattr("discreet.auditing.auditing.training_size", lambda trials: 30)


@pytest.fixture(scope="session")
def figures() -> dict[str, Callable[[], Any]]:
    """Give what draws each figure of the papers; each is drawn once."""
    from papers.all import FIGURES

    return {name: cache(draw) for name, draw in FIGURES.items()}


# Groups that are given out first, in this order; a fixture's name is that of its group.
FIRST = ("forks", "browser", "spark_running", "reports", "postgres", "docs", "figures")
# Each kind of report is made once; files that make their own are groups by themselves.
ROOMS = {"reports": ("browser", "every_spec", "mutations", "notebooks", "promises", "sentences")}
# Files that take long without a slow test: nothing long is left for the end.
LONG = (
    "tests/composition/test_composition_guesses.py",
    "tests/engines/test_engines_odd_values.py",
    "tests/hardening/test_hardening_secrets.py",
    "tests/measuring/test_measuring.py",
    "tests/releases/test_releases_adding_up.py",
    "tests/releases/test_releases_quantiles.py",
    "tests/releases/test_releases_rows.py",
    "tests/releases/test_releases_source.py",
    "tests/series/test_series_promises.py",
    "tests/web/test_web_releasing.py",
)


def group(item: pytest.Item) -> str:
    """Return what a test goes with: what it is marked with, what it asks for, or its file."""
    mark = item.get_closest_marker("xdist_group")
    if mark is not None:
        return str(mark.args[0])
    file = item.nodeid.split("::")[0]
    room = file.removeprefix("tests/").split("/")[0]
    if room in ROOMS and not file.removesuffix(".py").endswith(ROOMS[room]):
        return room
    asked = getattr(item, "fixturenames", ())
    name = next((name for name in FIRST if name in asked), file)
    return f"{name} {file}" if name == "browser" else name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test with its group, and put the shared groups and the slow ones first."""
    names = {item: group(item) for item in items}
    slow = {name for item, name in names.items() if item.get_closest_marker("slow")} | {*LONG}
    for item, name in names.items():
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(name))

    def order(item: pytest.Item) -> int:
        name = names[item]
        kind = name.split(" ")[0]
        return FIRST.index(kind) if kind in FIRST else len(FIRST) + (name not in slow)

    items.sort(key=order)
