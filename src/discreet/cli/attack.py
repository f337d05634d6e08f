"""`discreet attack NAME`: an adversary on invented data, with noise and without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.flags import Json, described
from discreet.cli.output import emit, table
from discreet.words import say

if TYPE_CHECKING:
    from discreet.auditing import Attack

_WIDE = 16
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@described("attack")
def attack(
    name: str,
    epsilon: float | None = None,
    rho: float | None = None,
    mechanism: str | None = None,
    prior: float = 0.1,
    times: int | None = None,
    cap: float | None = None,
    confidence: float = 0.99,
    repeats: int = 100,
    spec: Path | None = None,
    png: Path | None = None,
    as_json: Json = False,
) -> None:
    """Show what an attacker comes to believe, with noise and without, on invented data."""
    from discreet.auditing import attack

    if png is not None:
        from discreet.charts import attack_chart, save  # missing extras are told now

    shown = attack(
        name,
        epsilon=epsilon,
        rho=rho,
        mechanism=mechanism,
        prior=prior,
        times=times,
        cap=cap,
        confidence=confidence,
        repeats=repeats,
        spec=spec,
    )
    if png is not None:
        save(attack_chart(shown), png)
    emit(shown.to_dict(), _lines(shown), as_json)


def _lines(shown: Attack) -> list[str]:
    from discreet.statements.presenter import belief_text, bound_text

    def number(x: float | None) -> str:
        return "–" if x is None else f"{x:.4g}"

    rows = []
    for exact, noisy in zip(shown.exact, shown.noisy, strict=True):
        rows.append(
            [
                str(exact.k),
                number(noisy.truth),
                number(exact.estimate),
                f"{_bar(exact.belief)} {belief_text(exact.belief)}",
                number(noisy.estimate),
                f"{_bar(noisy.belief)} {belief_text(noisy.belief)}",
                bound_text(noisy.bound or 0.0),
            ]
        )
    noiseless, with_noise = say("auditing.attack.noiseless"), say("auditing.attack.with_noise")
    header = [
        shown.label("k"),
        shown.label("truth"),
        noiseless,
        say("auditing.attack.belief"),
        with_noise,
        say("auditing.attack.belief"),
        say("auditing.attack.bound"),
    ]
    scene, *rest = shown.sentences
    columns = say("auditing.attack.columns", estimate=shown.label("estimate"))
    return [
        shown.title,
        "",
        scene,
        "",
        *table(rows, header),
        columns,
        "",
        *rest,
        say("auditing.attack.invented"),
    ]


def _bar(share: float) -> str:
    """Return a share of 1 as a bar of fixed width."""
    eighths = round(8 * _WIDE * share)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_WIDE, "·")
