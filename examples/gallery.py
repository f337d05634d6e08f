"""The figures of three papers, drawn again from our own numbers.

    python examples/gallery.py [FOLDER]

Kazan and Reiter, Figures 1–5; Kazan, Sharma, Zhang, Jiang and Yan, Figures 1–7; McClure and Reiter,
Figures 1–4. Needs discreet[charts]. Where a print and the truth differ, this is the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from discreet.charts import save, series, synthetic, tolerance
from discreet.synthetic import simulate

SHARES = (0.5, 0.001)


def _risk(p0: float) -> Any:
    return synthetic.risk_against_utility(simulate(p0), p0=p0)


def _relative(p0: float) -> Any:
    return synthetic.relative_against_absolute(simulate(p0), p0=p0)


def figures() -> dict[str, Callable[[], Any]]:
    """Return every figure by its name, to be drawn when called."""
    found: dict[str, Callable[[], Any]] = {}
    for number in range(1, 6):
        found[f"kazan-reiter-{number}"] = getattr(tolerance, f"figure_{number}")
    for number in range(1, 8):
        found[f"kazan-sharma-{number}"] = getattr(series, f"figure_{number}")
    for number, p0 in enumerate(SHARES, 1):
        found[f"mcclure-reiter-{number}"] = partial(_risk, p0)
        found[f"mcclure-reiter-{number + 2}"] = partial(_relative, p0)
    return dict(sorted(found.items()))


def main(folder: Path) -> None:
    """Write every figure as SVG, and a page that shows them all."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = []
    for name, draw in figures().items():
        path = save(draw(), folder / f"{name}.svg")
        shown.append(
            f"<figure><figcaption>{escape(name)}</figcaption>"
            f'<img src="{path.name}" alt="{escape(name)}"></figure>'
        )
        sys.stdout.write(f"{path}\n")
    title = "<title>Gallery</title>"
    head = f'<!doctype html><html lang="en"><meta charset="utf-8">{title}'
    (folder / "index.html").write_text(f"{head}<h1>Gallery</h1>{''.join(shown)}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("gallery"))
