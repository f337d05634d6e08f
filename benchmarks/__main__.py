"""Run benchmarks by name, or all of them, and write what they measure to benchmarks/results."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def names() -> list[str]:
    """The modules that measure something."""
    return sorted(
        path.stem for path in HERE.glob("*.py") if "def run(" in path.read_text(encoding="utf-8")
    )


def show(value: Any, indent: int = 0) -> None:
    """Print nested figures, one a line."""
    for key, inner in value.items():
        if isinstance(inner, dict):
            print("  " * indent + str(key))
            show(inner, indent + 1)
        else:
            figure = f"{inner:.4g}" if isinstance(inner, float) else inner
            print("  " * indent + f"{key}: {figure}")


def main() -> None:
    """Measure, print and keep."""
    asked = sys.argv[1:] or names()
    unknown = set(asked) - set(names())
    if unknown:
        sys.exit(
            f"no benchmark named {', '.join(sorted(unknown))}; there are: {', '.join(names())}"
        )
    RESULTS.mkdir(exist_ok=True)
    for name in asked:
        print(f"\n== {name}", flush=True)
        figures = import_module(f"benchmarks.{name}").run()
        figures["machine"] = {"cores": os.cpu_count()}
        show(figures, 1)
        text = json.dumps(figures, indent=2, default=str)
        (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    print(f"\nKept in {RESULTS}")


if __name__ == "__main__":
    main()
