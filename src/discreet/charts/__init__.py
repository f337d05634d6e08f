"""One function a chart, from the numbers of the other rooms; saved as PNG, SVG, JSON or HTML."""

from discreet.lazily import missing

try:
    from discreet.charts.style import save, styled
except ModuleNotFoundError as fault:
    raise missing("A chart", fault) from None

__all__ = ["save", "styled"]
