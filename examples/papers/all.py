"""Every paper by the name that its table and its figures have in the documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from papers import kazan_reiter, kazan_sharma, knightbrook, mcclure_reiter

__all__ = ["FIGURES", "TABLES"]

_PAPERS = {
    "kazan-reiter": kazan_reiter,
    "kazan-sharma": kazan_sharma,
    "mcclure-reiter": mcclure_reiter,
    "intro": knightbrook,
}

TABLES: dict[str, Callable[..., Any]] = {name: paper.rows for name, paper in _PAPERS.items()}
FIGURES: dict[str, Callable[[], Any]] = {
    f"{name}-{figure.removeprefix('figure_')}": getattr(paper, figure)
    for name, paper in _PAPERS.items()
    for figure in paper.__all__
    if figure.startswith("figure_")
}
