"""`preview`: what a release would cost, and how accurate it would be, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from discreet.releases.pipeline import Preview, release
from discreet.releases.spec import Spec

__all__ = ["preview"]


def preview(
    spec: str | Path | Mapping[str, Any] | Spec,
    *,
    data: Any = None,
    folder: str | Path | None = None,
    plan_id: str | None = None,
    key: str | None = None,
) -> Preview:
    """Return what the release that a spec describes would cost; only the schema is read.

    It takes what `release` takes, and is what `release(…, dry_run=True)` returns.
    """
    found = release(spec, data=data, folder=folder, dry_run=True, plan_id=plan_id, key=key)
    return cast("Preview", found)
