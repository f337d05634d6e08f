"""How tests are shared out among workers (`pytest -n 2`): what is dear to start is started once.

Loaded as a plugin by `tests/conftest.py`. Tests that need the same server, browser or site go to
one worker together; of the others, each file goes as a whole. What takes longest is given out
first, so that at the end no worker waits for another.

Tests that fork come before all: later on a worker may have threads (of a browser, of Spark, of the
page's server), which a fork leaves behind.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# What goes together, by how its path begins; in the order in which it is given out.
TOGETHER: dict[str, tuple[str, ...]] = {
    "forks": ("tests/hardening/test_hardening_faults.py",),
    "browser": (
        "tests/web/test_web_looks.py",
        "tests/web/test_web_journeys.py",
        "tests/web/test_web_browser_tolerate.py",
        "tests/web/test_web_release_browser.py",
        "tests/web/test_web_explain_browser.py",
        "tests/web/test_web_series_browser.py",
        "tests/reports/test_reports_browser.py",
    ),
    "engines": ("tests/engines/",),
    "docs": ("tests/docs/",),
    "postgresql": (
        "tests/ledger/test_ledger_contract.py",
        "tests/ledger/test_ledger_postgresql.py",
    ),
}
# Single files that take long, the longest first.
LONG = (
    "tests/auditing/test_auditing_faults.py",
    "tests/web/test_web_openapi.py",
    "tests/auditing/test_auditing_sound.py",
    "tests/hardening/test_hardening_parsers.py",
    "tests/releases/test_releases_bounding.py",
    "tests/auditing/test_auditing_parts.py",
    "tests/ledger/test_ledger_processes.py",
    "tests/releases/test_releases_pipeline.py",
    "tests/releases/test_releases_crash.py",
    "tests/releases/test_releases_cuts.py",
    "tests/ledger/test_ledger_machine.py",
    "tests/measuring/",
    "tests/budgets/",
    "tests/reports/",
)


@cache
def unit(nodeid: str) -> str:
    """Return what a test goes with: a name of `TOGETHER`, or its file."""
    for name, beginnings in TOGETHER.items():
        if nodeid.startswith(beginnings):
            return name
    return nodeid.split("::", 1)[0]


@cache
def place(found: str) -> int:
    """Return the place of a unit in the order in which they are given out."""
    if found in TOGETHER:
        return list(TOGETHER).index(found)
    for number, beginning in enumerate(LONG):
        if found.startswith(beginning):
            return len(TOGETHER) + number
    return len(TOGETHER) + len(LONG)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in that order."""
    items.sort(key=lambda item: place(unit(item.nodeid)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Give the tests to workers by units."""
    from xdist.scheduler import LoadScopeScheduling

    class Units(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid)

        def remove_node(self, node: Any) -> str | None:
            # A test that ended its worker has failed, and is not given to the next one too; nor are
            # units that are done, for which the next one would wait for ever.
            work = self.assigned_work[node]
            ended = next(
                (n for tests in work.values() for n, done in tests.items() if not done), None
            )
            if ended is not None:
                work[unit(ended)][ended] = True
            self.assigned_work[node] = {
                k: tests for k, tests in work.items() if not all(tests.values())
            }
            super().remove_node(node)
            return ended

    config.option.loadscopereorder = False  # the order is the one above
    return Units(config, log)
