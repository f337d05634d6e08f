"""One function a chart, from the numbers of the other rooms; saved as PNG, SVG, JSON or HTML."""

from discreet.charts.style import save, styled

__all__ = ["save", "styled"]
