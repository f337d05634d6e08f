"""A chart of an attack: the belief step by step, with noise and without, beside our bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import (
    COLOURS,
    FAINT,
    Row,
    bare,
    drawn,
    named,
    rows_of,
    share,
    styled,
    whole,
)
from discreet.words import say

if TYPE_CHECKING:
    from discreet.auditing import Attack


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
    colour = alt.Color(
        "name:N",
        title=None,
        sort=names,
        scale=alt.Scale(domain=names, range=[COLOURS[1], COLOURS[0], FAINT]),
        legend=alt.Legend(orient="top", columns=2, symbolType="stroke", symbolStrokeWidth=2.2),
    )
    dashes = alt.Scale(domain=names, range=[[1, 0], [1, 0], [5, 4]])
    dash = alt.StrokeDash("name:N", scale=dashes, sort=names, legend=None)
    base = rows.encode(x=x, y=y, color=colour)
    lines = base.mark_line(strokeWidth=2.2).encode(strokeDash=dash)
    dots = base.transform_filter(alt.datum.name != names[-1]).mark_point(filled=True, size=45)
    before = rows_of([{"value": attack.prior}]).mark_rule(color=FAINT, strokeWidth=0.7)
    return alt.layer(before.encode(y="value:Q"), lines, dots)
