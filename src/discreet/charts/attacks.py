"""A chart of an attack: the belief step by step, with noise and without, beside our bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from discreet.charts.style import COLOURS, FAINT, Row, rows_of, share, styled
from discreet.words import say

if TYPE_CHECKING:
    from discreet.auditing import Attack

__all__ = ["attack_chart", "attack_data"]


def attack_data(attack: Attack) -> list[Row]:
    """Return the beliefs, a row for each line and step."""
    named = {False: say("auditing.attack.noiseless"), True: say("auditing.attack.with_noise")}
    rows = [{"k": s.k, "value": s.belief, "name": named[s.noise]} for s in attack.steps]
    bound = say("auditing.attack.bound")
    return rows + [{"k": s.k, "value": s.bound, "name": bound} for s in attack.noisy]


def attack_chart(attack: Attack) -> Any:
    """Draw the belief without noise, with noise, and at most, against the steps."""
    rows = attack_data(attack)
    names = list(dict.fromkeys(row["name"] for row in rows))
    last = attack.steps[-1].k
    scale = alt.Scale(type="log", nice=False) if last > 10 else alt.Scale(nice=False)
    x = alt.X("k:Q", title=attack.label("k"), scale=scale, axis=alt.Axis(format="d"))
    y = alt.Y("value:Q", title=say("auditing.attack.belief"), **share())
    colour = alt.Color(
        "name:N",
        title=None,
        sort=names,
        scale=alt.Scale(domain=names, range=[COLOURS[1], COLOURS[0], FAINT]),
        legend=alt.Legend(orient="top"),
    )
    dashes = alt.Scale(domain=names, range=[[1, 0], [1, 0], [5, 4]])
    dash = alt.StrokeDash("name:N", scale=dashes, sort=names, legend=None)
    base = rows_of(rows).encode(x=x, y=y, color=colour)
    lines = base.mark_line(strokeWidth=2.2).encode(strokeDash=dash)
    dots = base.transform_filter(alt.datum.name != names[-1]).mark_point(filled=True, size=45)
    before = rows_of([{"value": attack.prior}]).mark_rule(color=FAINT, strokeWidth=0.7)
    chart = alt.layer(before.encode(y="value:Q"), lines, dots).properties(width=460, height=300)
    return styled(chart, attack.title, say("auditing.attack.invented"))
