"""A synthetic file before it is drawn: what it keeps of the data, and what it can tell at the most.

Nothing here looks at a row. In the plane of R (how sure an intruder may be of a record's value) and
RR (how many times as sure as before) the budget alone says where every record of every file lies; a
region of that plane that is acceptable can be held against it. The region is not stored: who knows
it can try values until one fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from discreet.errors import DiscreetError
from discreet.rounding import percent
from discreet.statements.presenter import budget_text
from discreet.web.forms import Number, share
from discreet.web.screens import How, how
from discreet.words import say

if TYPE_CHECKING:
    from discreet.synthetic import Synthesis
    from discreet.web.release.dry_run import Look

_PRIORS = (0.1, 0.5, 0.9)
_PERCENT = Number(low=0, high=100, unit="percent", optional=True)


def accuracy_of_file(found: Synthesis) -> list[str]:
    """Return what the file is and how much of it is blur, a line for each."""
    law = found.synthesizer
    lines = [
        say("web.synthetic.records", records=law.n_synthetic, copies=law.copies, cells=law.cells),
        say("web.synthetic.alpha", alpha=float(law.alpha)),
    ]
    blur = found.prior_share
    blurred = say("web.synthetic.no_size") if blur is None else percent(blur, "up")
    return [*lines, say("web.synthetic.blur", share=blurred)]


def as_file(found: Look, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return what the dry run of a file is shown with; `typed` has the acceptable region."""
    made: Any = found.preview
    return {
        "accuracy": accuracy_of_file(made),
        "mechanism": "",
        "how_charged": _how("charged", 'discreet.synthesize("spec.yaml", dry_run=True).spent'),
        "how_accurate": _how("blur", 'discreet.synthesize("spec.yaml", dry_run=True).prior_share'),
        "kept": [
            [percent(row["share"], "up"), _about(row["expected"]), f"± {_points(row['within_95'])}"]
            for row in made.expected_shares()
        ],
        "worst": [
            [percent(row["prior"], "up"), percent(row["posterior"], "up", 1)]
            for row in made.to_dict()["risk"]["worst_case"]
        ],
        "expected": _expected(found),
        "how_expected": how(
            "expected_risk",
            python='discreet.synthetic.expected_risk("spec.yaml").expected',
            command="discreet assess spec.yaml --expected",
        ),
        "how_region": how(
            "region", python="discreet.synthetic.Region.parse(rules).largest_epsilon()"
        ),
    } | _judged(made.synthesizer.epsilon, typed)


def _how(name: str, python: str) -> How:
    return how(name, python=python, command="discreet synthesize spec.yaml --dry-run")


def _about(part: float) -> str:
    return f"{100 * part:.1f}\N{NO-BREAK SPACE}%"


def _points(part: float) -> str:
    return f"{100 * part:.1f}"


def _expected(found: Look) -> dict[str, Any] | None:
    """Return the expected rise of a record's risk, by share and prior; None if n is not public."""
    from discreet.synthetic import expected_risk

    made: Any = found.preview
    if made.n is None:
        return None
    spec: Any = found.spec  # of a synthetic file
    rows = expected_risk(spec, [made.synthesizer.epsilon], priors=_PRIORS).expected
    cells: dict[float, list[str]] = {}
    for row in rows:
        cells.setdefault(row["share"], []).append(_points(row["increase"]))
    names = [say("web.synthetic.from", prior=percent(prior, "up")) for prior in _PRIORS]
    return {
        "header": [say("web.synthetic.share"), *names],
        "rows": [[percent(one, "up"), *rises] for one, rises in cells.items()],
    }


def _judged(epsilon: float, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the picture of R and RR, and what the region that was typed makes of this budget."""
    from discreet.charts import region_spec
    from discreet.synthetic import Region

    region, told, problem = None, "", ""
    try:
        low, high = (_prior(typed.get(name, ""), at) for name, at in (("low", 0.0), ("high", 1.0)))
        if rules := typed.get("region", "").strip():
            region = Region.parse(rules)
            most, inside = region.largest_epsilon(low, high), region.covers(epsilon, low, high)
            if most is None:
                told = say("web.synthetic.never")
            else:
                name = "web.synthetic.inside" if inside else "web.synthetic.outside"
                told = say(name, epsilon=budget_text(epsilon), most=budget_text(most))
        picture = region_spec(epsilon, region, low, high)
    except (DiscreetError, PydanticCustomError) as error:
        problem, picture = str(error), region_spec(epsilon)
    return {"regions": picture, "judged": told, "region_problem": problem}


def _prior(text: str, default: float) -> float:
    typed = _PERCENT.read(text)
    return default if typed is None else share(typed)
