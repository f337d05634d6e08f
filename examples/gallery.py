"""The pictures of the documentation, and the figures of three papers, from our own numbers.

    python examples/gallery.py [FOLDER]

Kazan and Reiter, Figures 1–5; Kazan, Sharma, Zhang, Jiang and Yan, Figures 1–7; McClure and Reiter,
Figures 1–4; and those that explain an idea. Needs discreet[charts]. Where a print and the truth
differ, this is the truth. `docs/images` is such a folder: beside the pictures lies `numbers.json`,
a fingerprint of what each of them shows, by which a test sees that they are current.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from discreet import PureDP, choose
from discreet.charts import explaining, save, series, synthetic, tolerance
from discreet.laws import Gaussian
from discreet.promises import Posterior, PosteriorUnlessRatio, priors
from discreet.synthetic import simulate

SHARES = (0.5, 0.001)
HEAVY = {"kazan-reiter-5"}  # a map of thousands of squares: a PNG is a tenth of the SVG


def _risk(p0: float) -> Any:
    return synthetic.risk_against_utility(simulate(p0), p0=p0)


def _relative(p0: float) -> Any:
    return synthetic.relative_against_absolute(simulate(p0), p0=p0)


def figures() -> dict[str, Callable[[], Any]]:
    """Return every figure of the papers by its name, to be drawn when called."""
    found: dict[str, Callable[[], Any]] = {}
    for number in range(1, 6):
        found[f"kazan-reiter-{number}"] = getattr(tolerance, f"figure_{number}")
    for number in range(1, 8):
        found[f"kazan-sharma-{number}"] = getattr(series, f"figure_{number}")
    for number, p0 in enumerate(SHARES, 1):
        found[f"mcclure-reiter-{number}"] = partial(_risk, p0)
        found[f"mcclure-reiter-{number + 2}"] = partial(_relative, p0)
    return dict(sorted(found.items()))


def ideas() -> dict[str, Callable[[], Any]]:
    """Return the pictures that explain an idea, to be drawn when called."""
    return {
        "learned": lambda: tolerance.implied_posterior(
            choose(Posterior(0.12, priors(p=0.05, q=1)))
        ),
        "tolerated": lambda: tolerance.profile(PosteriorUnlessRatio(0.25, 3, priors(q=1))),
        "before-after": lambda: explaining.before_after(PureDP(0.5), marked=0.3),
        "worry": lambda: explaining.icon_array(30, 42),
        "series": lambda: series.series_chart(Gaussian.of_rho(0.01), 0.5, upto=60),
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
    for name, draw in (ideas() | figures()).items():
        chart = draw()
        numbers[name] = fingerprint(chart)
        sys.stdout.write(f"{save(chart, folder / file_of(name))}\n")
    text = json.dumps(dict(sorted(numbers.items())), indent=2)
    (folder / "numbers.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("gallery"))
