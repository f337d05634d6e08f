"""Tables for notebooks: those of all results."""

from discreet.beliefs.notebook import html_grid as html_table

__all__ = ["html_table"]
