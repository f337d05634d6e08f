"""Statistics, one file each, with their keys, measures, noise, answers and words.

`base` has what they share and the registry; importing this package registers those below. A
statistic from outside registers in the same way (`docs/extending.md`).
"""

from __future__ import annotations

from discreet.releases.statistics.base import KINDS, Statistic, kind_of, register

# In the order in which they are offered.
# isort: off
from discreet.releases.statistics.count import Count
from discreet.releases.statistics.sum import Sum
from discreet.releases.statistics.moments import Mean, Variance
from discreet.releases.statistics.quantile import Quantile
from discreet.releases.statistics.quantiles import Median, Quantiles
from discreet.releases.statistics.histogram import Histogram
from discreet.releases.statistics.best import Best
from discreet.releases.statistics.randomized import Randomized
from discreet.releases.statistics.weighted import Weighted
from discreet.releases.statistics.derived import Change, Rate, Share
from discreet.releases.statistics.margins import Margins
# isort: on

__all__ = [
    "KINDS",
    "Best",
    "Change",
    "Count",
    "Histogram",
    "Margins",
    "Mean",
    "Median",
    "Quantile",
    "Quantiles",
    "Randomized",
    "Rate",
    "Share",
    "Statistic",
    "Sum",
    "Variance",
    "Weighted",
    "kind_of",
    "register",
]
