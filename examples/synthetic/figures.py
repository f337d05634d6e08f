"""Figures 1–4 of McClure and Reiter (2012) from runs of our own, as SVG files.

`python figures.py FOLDER` (needs discreet[charts]).
"""

from __future__ import annotations

import sys
from pathlib import Path

import vl_convert

from discreet.charts.synthetic import relative_against_absolute, risk_against_utility
from discreet.synthetic import simulate


def main(folder: Path) -> None:
    """Write the four figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, p0 in ((1, 0.5), (2, 0.001)):
        runs = simulate(p0)
        for figure, chart in (
            (number, risk_against_utility(runs, p0=p0)),
            (number + 2, relative_against_absolute(runs, p0=p0)),
        ):
            svg = vl_convert.vegalite_to_svg(chart.to_json())
            (folder / f"figure-{figure}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "figures"))
