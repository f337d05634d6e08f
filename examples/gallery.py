"""The pictures of the documentation: the figures of three papers, and those that explain an idea.

    python examples/gallery.py [FOLDER]

The papers' figures are drawn by the modules of `papers`, from our own numbers. Needs
discreet[charts]. Where a print and the truth differ, this is the truth. `docs/images` is such a
folder: beside the pictures lies `numbers.json`, a fingerprint of what each of them shows, by which
a test sees that they are current.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from papers.all import FIGURES

from discreet import PureDP, choose
from discreet.charts import (
    before_after,
    icon_array,
    implied_posterior,
    profile,
    save,
    series_chart,
)
from discreet.laws import Gaussian
from discreet.promises import Posterior, PosteriorUnlessRatio, priors

HEAVY = {"kazan-reiter-5"}  # a map of thousands of squares: a PNG is a tenth of the SVG

IDEAS: dict[str, Callable[[], Any]] = {
    "learned": lambda: implied_posterior(choose(Posterior(0.12, priors(p=0.05, q=1)))),
    "tolerated": lambda: profile(PosteriorUnlessRatio(0.25, 3, priors(q=1))),
    "before-after": lambda: before_after(PureDP(0.5), marked=0.3),
    "worry": lambda: icon_array(30, 42),
    "series": lambda: series_chart(Gaussian.of_rho(0.01), 0.5, upto=60),
}


def file_of(name: str) -> str:
    """Return the file that a picture is kept in."""
    return f"{name}.png" if name in HEAVY or name == "learned" else f"{name}.svg"


def fingerprint(chart: Any) -> str:
    """Return a hash of what a chart shows: its numbers to six digits, and its words."""
    shown = json.dumps(list(_shown(chart.to_dict(validate=False))), ensure_ascii=False)
    return hashlib.sha256(shown.encode()).hexdigest()[:16]


def _shown(part: Any) -> Iterator[Any]:
    if isinstance(part, dict):
        for name in sorted(part):
            counted = name == "name" and str(part[name]).startswith("view_")  # differs by run
            if not counted and name not in ("config", "$schema", "usermeta", "params"):
                yield from _shown(part[name])
    elif isinstance(part, list):
        for one in part:
            yield from _shown(one)
    elif isinstance(part, float):
        yield f"{part:.6g}"
    else:
        yield part


def main(folder: Path) -> None:
    """Write every picture, and a fingerprint of what it shows."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {}
    for name, draw in (IDEAS | FIGURES).items():
        chart = draw()
        numbers[name] = fingerprint(chart)
        sys.stdout.write(f"{save(chart, folder / file_of(name))}\n")
    text = json.dumps(dict(sorted(numbers.items())), indent=2)
    (folder / "numbers.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("gallery"))
