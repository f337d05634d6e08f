"""Charts of an audit: what was promised against what was seen.

`promised_against_seen` has two parts: for every test the ε that is certain against the ε that was
promised; and for several priors the posterior, difference and ratio that an attack reached against
the bounds that were promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import COLOURS, FAINT, INK, styled

if TYPE_CHECKING:
    from discreet.auditing import Audit

__all__ = ["promised_against_seen"]

_WIDTH = 420


def promised_against_seen(audit: Audit) -> Any:
    """Draw each test and the beliefs of the worst pair: promised as a frame, seen inside it."""
    chart = alt.vconcat(_tests(audit), _beliefs(audit), spacing=28)
    verdict = "no fault was found" if audit.passed else "the promise is broken"
    return styled(
        chart.properties(description=f"Promised against seen in an audit: {verdict}."),
        f"Promised against seen: {verdict}",
        [
            f"Budget raised to ε = {audit.epsilon_audit:g}; {audit.releases:,} releases of made-up "
            f"data; wrong with probability at most {audit.failure_probability:g}.",
            "Passing proves nothing: these attacks found no fault.",
        ],
    )


def _tests(audit: Audit) -> Any:
    rows = [
        {
            "test": f"{test.pair}: {test.view}",
            "shown": min(test.shown.epsilon_lower, 20.0),
            "promised": test.shown.epsilon,
            "verdict": "broken" if test.broken else "kept",
        }
        for test in audit.tests
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("test:N", title=None, sort=None, axis=alt.Axis(labelLimit=320))
    )
    bars = base.mark_bar(height=12).encode(
        x=alt.X("shown:Q", title="ε: at least this was shown (bar), this was promised (line)"),
        color=alt.Color(
            "verdict:N",
            title="promise",
            scale=alt.Scale(domain=["kept", "broken"], range=[COLOURS[0], COLOURS[1]]),
        ),
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

    def reach(belief: Any) -> tuple[bool, float, float]:
        return not belief.passed, belief.outside, max(abs(b.loss) for b in belief.bins)

    belief = max(audit.beliefs, key=reach)
    priors = belief.to_dict()["priors"]
    panels = [_panel(priors, name) for name in ("posterior", "difference", "ratio")]
    return alt.hconcat(*panels).properties(
        title=alt.TitleParams(
            f"Beliefs, pair “{belief.pair}”: promised (frame), certain (bar), estimated (line)",
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
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("prior:N", title="prior" if name == "posterior" else None, sort=None),
        x=alt.X(
            "low:Q", title=name, scale=scale, axis=alt.Axis(format=form, tickCount=4), stack=None
        ),
        x2="high:Q",
    )
    frame = base.transform_filter("datum.what == 'promised'").mark_bar(
        height=18, fill="white", stroke=FAINT, strokeWidth=1.5
    )
    # An estimate may pass the frame by chance; only what is certain counts against the promise.
    seen = base.transform_filter("datum.what == 'seen'").mark_rule(color=COLOURS[0])
    sure = base.transform_filter("datum.what == 'certain'").mark_bar(height=8, color=COLOURS[0])
    return (frame + seen + sure).properties(width=160, height=140)
