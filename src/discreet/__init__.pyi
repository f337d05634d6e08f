"""What editors and type checkers see of the package; at run time `__init__.py` loads it lazily."""

from discreet.auditing import Attack, Audit, attack, audit
from discreet.beliefs import Belief, Beliefs, Joining, Prior, explain, join
from discreet.budgets import Choice, Costs, choose, cost
from discreet.composition import Composition, compose
from discreet.errors import DiscreetError
from discreet.guarantees import (
    ZCDP,
    Adjacency,
    ApproxDP,
    PrivacyCurve,
    ProbabilisticDP,
    PureDP,
)
from discreet.ledger import Ledger
from discreet.noise.context import to_opendp
from discreet.promises import Promise
from discreet.releases import (
    Checked,
    Preview,
    Rehearsal,
    Release,
    Repeat,
    check,
    preview,
    rehearse,
    release,
)
from discreet.releases.summary import Summary, summarize
from discreet.reports import (
    Deployments,
    Report,
    Worry,
    deployments,
    report,
    worry,
)
from discreet.series import Horizon, Plan, horizon, plan
from discreet.surveys import Survey, randomize
from discreet.synthetic import Assessment, Search, Synthesis, assess, synthesize

__version__: str

__all__ = [
    "ZCDP",
    "Adjacency",
    "ApproxDP",
    "Assessment",
    "Attack",
    "Audit",
    "Belief",
    "Beliefs",
    "Checked",
    "Choice",
    "Composition",
    "Costs",
    "Deployments",
    "DiscreetError",
    "Horizon",
    "Joining",
    "Ledger",
    "Plan",
    "Preview",
    "Prior",
    "PrivacyCurve",
    "ProbabilisticDP",
    "Promise",
    "PureDP",
    "Rehearsal",
    "Release",
    "Repeat",
    "Report",
    "Search",
    "Summary",
    "Survey",
    "Synthesis",
    "Worry",
    "__version__",
    "assess",
    "attack",
    "audit",
    "check",
    "choose",
    "compose",
    "cost",
    "deployments",
    "explain",
    "horizon",
    "join",
    "plan",
    "preview",
    "randomize",
    "rehearse",
    "release",
    "report",
    "summarize",
    "synthesize",
    "to_opendp",
    "worry",
]
