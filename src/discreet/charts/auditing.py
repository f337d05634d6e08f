"""Charts of an audit: what was promised against what was seen.

`promised_against_seen` has two parts: for every test the ε that is certain against the ε that was
promised; and for several priors the posterior, difference and ratio that an attack reached against
the bounds that were promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import COLOURS, FAINT, INK, rows_of, styled
from discreet.words import say

if TYPE_CHECKING:
    from discreet.auditing import Audit, BeliefCheck

_WIDTH = 420


def promised_against_seen(audit: Audit) -> Any:
    """Draw each test and the beliefs of the worst pair: promised as a frame, seen inside it."""
    verdict = say("charts.audit.no_fault" if audit.passed else "charts.audit.broken_promise")
    chart = alt.vconcat(_tests(audit), _beliefs(audit), spacing=28)
    subtitle = say(
        "charts.audit.subtitle",
        epsilon=audit.epsilon_audit,
        releases=audit.releases,
        failure=audit.failure_probability,
    )
    notes = [say("charts.audit.note")] if audit.passed else []
    return styled(
        chart.properties(description=say("charts.audit.description", verdict=verdict)),
        say("charts.audit.title", verdict=verdict),
        [subtitle, *notes],
    )


def _tests(audit: Audit) -> Any:
    kept, broken = say("charts.audit.kept"), say("charts.audit.broken")
    base = rows_of(
        [
            {
                "test": f"{test.pair}: {test.view}",
                "shown": min(test.shown.epsilon_lower, 20.0),
                "promised": test.shown.epsilon,
                "verdict": broken if test.broken else kept,
            }
            for test in audit.tests
        ]
    ).encode(y=alt.Y("test:N", title=None, sort=None, axis=alt.Axis(labelLimit=320)))
    colours = alt.Scale(domain=[kept, broken], range=[COLOURS[0], COLOURS[1]])
    bars = base.mark_bar(height=12).encode(
        x=alt.X("shown:Q", title=say("charts.audit.shown")),
        color=alt.Color("verdict:N", title=say("charts.audit.promise"), scale=colours),
        tooltip=[
            alt.Tooltip("test:N"),
            alt.Tooltip("shown:Q", format=".3f"),
            alt.Tooltip("promised:Q", format=".3f"),
        ],
    )
    ticks = base.mark_tick(color=INK, thickness=3, height=20).encode(x="promised:Q")
    return (bars + ticks).properties(width=_WIDTH)


def _beliefs(audit: Audit) -> Any:
    """Posterior, difference and ratio at several priors, for the pair that went furthest."""

    def reach(belief: BeliefCheck) -> tuple[bool, float, float]:
        return not belief.passed, belief.outside, max(abs(b.loss) for b in belief.bins)

    belief = max(audit.beliefs, key=reach)
    priors = belief.to_dict()["priors"]
    panels = [_panel(priors, name) for name in ("posterior", "difference", "ratio")]
    return alt.hconcat(*panels).properties(
        title=alt.TitleParams(
            say("charts.audit.beliefs", pair=belief.pair),
            anchor="start",
            fontSize=12,
            fontWeight="normal",
            color=INK,
        )
    )


def _panel(priors: list[dict[str, Any]], name: str) -> Any:
    rows = [
        {"prior": f"{entry['prior']:.0%}", "what": what, "low": span[0], "high": span[1]}
        for entry in priors
        for what in ("promised", "seen", "certain")
        for span in [entry[name][what]]
    ]
    form = "~g" if name == "ratio" else "~%"
    scale = alt.Scale(type="log") if name == "ratio" else alt.Scale()
    axis = alt.Axis(format=form, tickCount=4)
    title = say("charts.audit.prior") if name == "posterior" else None
    base = rows_of(rows).encode(
        y=alt.Y("prior:N", title=title, sort=None),
        x=alt.X("low:Q", title=say(f"charts.audit.{name}"), scale=scale, axis=axis, stack=None),
        x2="high:Q",
    )
    promised, seen, certain = (
        base.transform_filter(f"datum.what == '{what}'") for what in ("promised", "seen", "certain")
    )
    # An estimate may pass the frame by chance; only what is certain counts against the promise.
    layers = (
        promised.mark_bar(height=18, fill="white", stroke=FAINT, strokeWidth=1.5)
        + seen.mark_rule(color=COLOURS[0])
        + certain.mark_bar(height=8, color=COLOURS[0])
    )
    return layers.properties(width=160, height=140)
