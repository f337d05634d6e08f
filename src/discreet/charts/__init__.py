"""Charts, one function each, from the numbers of other packages; saved as PNG, SVG, JSON or HTML.

- `beliefs`: a hundred figures, belief before and after, belief over many releases.
- `promises`: what is tolerated at each prior, what the budget allows there, what promises cost.
- `releases`: what noise does to a count, released values, what an account has spent.
- `auditing`: what an attacker believes, step by step; what was promised against what was seen.
- `synthetic`: the risk of every record.

A function `…_data` returns the rows that a chart draws. A function `…_spec` returns Vega-Lite for a
page: its shape is made once, so that only its rows change while a handle moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Altair looks for NumPy among the modules: it must not find one that another thread still imports.
import numpy

from discreet.lazily import found_in, missing

try:
    import altair
except ModuleNotFoundError as fault:
    raise missing("A chart", fault) from None

if TYPE_CHECKING:
    from discreet.charts.auditing import (
        attack_chart as attack_chart,
        attack_data as attack_data,
        attack_spec as attack_spec,
        promised_against_seen as promised_against_seen,
    )
    from discreet.charts.beliefs import (
        before_after as before_after,
        before_after_data as before_after_data,
        before_after_spec as before_after_spec,
        belief_over_time_spec as belief_over_time_spec,
        icon_array as icon_array,
        icon_data as icon_data,
        implied_posterior as implied_posterior,
        likelihood_data as likelihood_data,
        likelihood_ratios as likelihood_ratios,
        series_chart as series_chart,
        series_data as series_data,
    )
    from discreet.charts.promises import (
        adversaries_data as adversaries_data,
        adversaries_spec as adversaries_spec,
        cost_chart as cost_chart,
        cost_data as cost_data,
        profile as profile,
        profile_data as profile_data,
        profile_line_data as profile_line_data,
        profile_line_spec as profile_line_spec,
        tolerated as tolerated,
        tolerated_data as tolerated_data,
        tolerated_spec as tolerated_spec,
    )
    from discreet.charts.releases import (
        account_chart as account_chart,
        belief_spent_spec as belief_spent_spec,
        error_chart as error_chart,
        error_spec as error_spec,
        noisy_counts_data as noisy_counts_data,
        noisy_counts_spec as noisy_counts_spec,
        rehearsal_chart as rehearsal_chart,
        relative_error_spec as relative_error_spec,
        released_chart as released_chart,
        released_spec as released_spec,
    )
    from discreet.charts.style import (
        COLOURS as COLOURS,
        FAINT as FAINT,
        GRID as GRID,
        INK as INK,
        MUTED as MUTED,
        limit_rule as limit_rule,
        lines as lines,
        save as save,
        styled as styled,
    )
    from discreet.charts.synthetic import (
        frontier as frontier,
        region_spec as region_spec,
        risk_map as risk_map,
    )

_FILES = {
    "auditing": "attack_chart attack_data attack_spec promised_against_seen",
    "beliefs": "before_after before_after_data before_after_spec belief_over_time_spec "
    "icon_array icon_data implied_posterior likelihood_data likelihood_ratios "
    "series_chart series_data",
    "promises": "adversaries_data adversaries_spec cost_chart cost_data profile "
    "profile_data profile_line_data profile_line_spec tolerated tolerated_data "
    "tolerated_spec",
    "releases": "account_chart belief_spent_spec error_chart error_spec noisy_counts_data "
    "noisy_counts_spec rehearsal_chart relative_error_spec released_chart "
    "released_spec",
    "style": "COLOURS FAINT GRID INK MUTED limit_rule lines save styled",
    "synthetic": "frontier region_spec risk_map",
}

__getattr__, __all__ = found_in(__name__, "A chart", _FILES)
