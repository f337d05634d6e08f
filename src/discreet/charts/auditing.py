"""Charts of attacks: belief step by step beside our bound; what an audit saw beside the promise.

`promised_against_seen` has two parts: for every test the ε that is certain against the ε that was
promised; and for several priors the posterior, difference and ratio that an attack reached against
the bounds that were promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import (
    COLOURS,
    FAINT,
    INK,
    Row,
    apart,
    bare,
    coloured,
    drawn,
    named,
    rows_of,
    share,
    styled,
    whole,
)
from discreet.words import say

if TYPE_CHECKING:
    from discreet.auditing import Attack, Audit, BeliefCheck


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
    bars = base.mark_bar(height=12).encode(
        x=alt.X("shown:Q", title=say("charts.audit.shown")),
        color=apart(
            alt.Color, "verdict", coloured([kept, broken]), title=say("charts.audit.promise")
        ),
        tooltip=["test:N", *(alt.Tooltip(f"{n}:Q", format=".3f") for n in ("shown", "promised"))],
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


# -- an attack, step by step


def attack_data(attack: Attack) -> list[Row]:
    """Return the beliefs, a row for each line and step."""
    called = {False: say("auditing.attack.noiseless"), True: say("auditing.attack.with_noise")}
    rows = [{"k": s.k, "value": s.belief, "name": called[s.noise]} for s in attack.steps]
    bound = say("auditing.attack.bound")
    return rows + [{"k": s.k, "value": s.bound, "name": bound} for s in attack.noisy]


def attack_chart(attack: Attack) -> Any:
    """Draw the belief without noise, with noise, and at most, against the steps."""
    chart = _layers(attack, rows_of(attack_data(attack))).properties(width=460, height=300)
    return styled(chart, attack.title, say("auditing.attack.invented"))


def attack_spec(attack: Attack) -> dict[str, Any]:
    """Return the same as Vega-Lite; its rows may be shown one after the other."""
    chart = _layers(attack, named("steps")).properties(width="container", height=260)
    return drawn(bare(chart, large=True), {"steps": attack_data(attack)})


def _layers(attack: Attack, rows: Any) -> Any:
    names = list(dict.fromkeys(row["name"] for row in attack_data(attack)))
    ends = [attack.steps[0].k, attack.steps[-1].k]
    scale = alt.Scale(type="log" if ends[1] > 10 else "linear", nice=False, domain=ends)
    x = alt.X("k:Q", title=attack.label("k"), scale=scale, axis=whole(*ends))
    y = alt.Y("value:Q", title=say("auditing.attack.belief"), **share())
    colours = dict(zip(names, (COLOURS[1], COLOURS[0], FAINT), strict=True))
    dashes = dict(zip(names, ([1, 0], [1, 0], [5, 4]), strict=True))
    legend = alt.Legend(orient="top", columns=2, symbolType="stroke", symbolStrokeWidth=2.2)
    colour = apart(alt.Color, "name", colours, title=None, sort=names, legend=legend)
    dash = apart(alt.StrokeDash, "name", dashes, sort=names, legend=None)
    base = rows.encode(x=x, y=y, color=colour)
    lines = base.mark_line(strokeWidth=2.2).encode(strokeDash=dash)
    dots = base.transform_filter(alt.datum.name != names[-1]).mark_point(filled=True, size=45)
    before = rows_of([{"value": attack.prior}]).mark_rule(color=FAINT, strokeWidth=0.7)
    return alt.layer(before.encode(y="value:Q"), lines, dots)
