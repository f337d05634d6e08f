"""The shapes of tolerance, one file each.

| shape                        | r*(p, q)       | in words                                     |
|------------------------------|----------------|----------------------------------------------|
| `Ratio(r)`                   | r              | nobody's belief grows more than r-fold       |
| `Posterior(a)`               | a/(pq)         | nobody becomes more than a sure              |
| `PosteriorUnlessRatio(a, r)` | max{a/(pq), r} | … unless their belief grows at most r-fold   |
| `Difference(b)`              | 1 + b/(pq)     | nobody's belief grows by more than b         |
| `Formula(text)`              | as written     |                                              |
| `Function(f)`                | f(p, q)        |                                              |
| `Table(rows)`                | from a grid    | the least ratio around                       |

`Counterfactual(R)` compares worlds, not times: the odds if a person joins are at most R times the
odds if they do not. Presets are tolerances with a name.

Closed forms. ε_i(p, q) is the largest ε at one prior (`beliefs.one_prior`); the budget is its
infimum over the box. Every closed form of K&R (their Table 3) is ε_i at a prior that can be named
in advance, so a shape's `closed_form` names a prior. Three facts name them:

1. At fixed r, ε_i rises in q; in p it falls for q < 1/(r+1), is flat at equality and rises above.
2. The bound on the posterior itself rises in p and in q, so a posterior alone is worst at the
   largest priors of the box.
3. At a fixed product s = pq the bound on r rises in p. A profile in pq alone is therefore worst on
   two edges of the box: q = q0, then p = p1.
"""

from discreet.promises.shapes.counterfactual import Counterfactual
from discreet.promises.shapes.difference import Difference
from discreet.promises.shapes.function import Function
from discreet.promises.shapes.posterior import Posterior, PosteriorUnlessRatio
from discreet.promises.shapes.presets import Preset
from discreet.promises.shapes.profile import Formula
from discreet.promises.shapes.ratio import Ratio
from discreet.promises.shapes.table import Table
from discreet.promises.tolerance import AllOf, Groups, Tolerance, shape

__all__ = [
    "AllOf",
    "Counterfactual",
    "Difference",
    "Formula",
    "Function",
    "Groups",
    "Posterior",
    "PosteriorUnlessRatio",
    "Ratio",
    "Table",
    "Tolerance",
]

# The order is that of a promise's parts, and so part of its name.
for each in (Posterior, Ratio, Difference, Formula, Table, Preset, Counterfactual, AllOf, Groups):
    shape(each)
