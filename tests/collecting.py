"""Collecting tests, which every worker does for itself, in half the time.

Loaded as a plugin by `tests/conftest.py`, since hooks of that file see only the files beside it.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Look for no garbage while tests are collected, nor later among what was collected."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)  # a twentieth of the time would go into looking
        gc.enable()


def pytest_unconfigure() -> None:
    """Let everything go at the end: libraries count what is left."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Any, Any]:
    """Import a file for its doctests only if it has one."""
    found = yield
    if file_path.suffix == ".py" and ">>>" not in file_path.read_text(encoding="utf-8"):
        found = [one for one in found if isinstance(one, pytest.Module)]
    return found
