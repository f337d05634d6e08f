"""Checks that need no statistics, or next to none: each can fail, and says by how much.

- `sensitivity`: bounded aggregates of neighbours, the others' rows with the same priorities, differ
  by at most the L1 and L2 that the noise was made for (formulas of `contributions`); for a choice,
  Σ over cells of (largest − smallest change of a score) is at most what the selection pays for.
  Sums that are not made in whole numbers fail here.
- `cells`: every public cell is in the table, whatever the data.
- `charge`: a release made on generated data, with a ledger of its own, is charged at least
  Σ L1/scale in ε, or Σ L2²/(2·scale²) in ρ, over the calls whose noise was drawn.
- `support`: at a scale of 2^52 noise takes odd values beyond 2^53. No double does there, so a
  sampler that works in floating point fails; a right one with probability below 2^-60.
- `fresh`: noise is not used twice, neither by two cells or statistics nor by two releases.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.auditing.claims import at_least
from discreet.auditing.neighbours import Neighbours
from discreet.auditing.path import PRIORITY, Seen, opened
from discreet.frames import JsonReady
from discreet.releases.contributions import Contribution
from discreet.releases.drawing import passes, query_of, with_noise
from discreet.releases.engines.base import Column, Counting, KeySet, Query
from discreet.releases.pipeline import release
from discreet.releases.planning import Plan
from discreet.releases.pricing import Priced
from discreet.releases.rows import sampled
from discreet.releases.source import Source
from discreet.releases.spec import Spec
from discreet.releases.statistics.base import DRAWN
from discreet.releases.statistics.values import Noisy
from discreet.rounding import up
from discreet.words import say

_WIDE = 2.0**52
_DRAWN = 3200
_INVENTED = 2000


@dataclass(frozen=True, slots=True)
class Check(JsonReady):
    """One check: whether it passed, and what was found."""

    name: str
    passed: bool
    found: str


def _check(name: str, passed: bool, found: str, /, **values: Any) -> Check:
    return Check(name, passed, say(f"auditing.check.{found}", **values))


def sensitivity(plan: Plan, made: Neighbours, columns: Mapping[str, Column], draws: int) -> Check:
    """Compare the bounded aggregates of every pair, number by number."""
    worst, share = True, Fraction(0)
    where: tuple[str, str, str] | None = None
    full = _with_all_keys(plan, made)
    calls = {(c.asked.statistic, c.asked.part.name): c for c in full.pricing.calls}
    for draw in range(draws):
        numbers = {name: _aggregates(full, made, name, columns, draw) for name in made.data}
        for pair in (*made.pairs, *made.coupled):
            for call, (l1, l2) in _distances(
                calls, numbers[pair.left], numbers[pair.right]
            ).items():
                part = calls[call].asked.part
                used = max(l1 / part.l1, l2 / part.l2_squared)
                worst = worst and l1 <= part.l1 and l2 <= part.l2_squared
                if used > share:
                    share, where = used, (*call, pair.name)
    if where is None:
        return _check("sensitivity", worst, "unchanged")
    found = dict(zip(("statistic", "part", "pair"), where, strict=True))
    return _check("sensitivity", worst, "largest_change", share=float(share), **found)


def _with_all_keys(plan: Plan, made: Neighbours) -> Plan:
    """Return the plan as if every key of any generated data set were found."""
    found = {}
    for search in plan.searches:
        columns = search.sought.columns
        rows = (row for data in made.data.values() for row in data)
        keys = {tuple(row[column] for column in columns) for row in rows}
        found[search] = KeySet(columns, tuple(sorted(k for k in keys if None not in k)))
    return plan.with_keys(found)


def _aggregates(
    plan: Plan, made: Neighbours, name: str, columns: Mapping[str, Column], draw: int
) -> dict[tuple[str, str], list[list[int]]]:
    """Return the numbers before noise of every call; scores of a choice, a list a cell."""
    seen: dict[str, int] = {}
    rows = []
    for row in made.data[name]:
        # The same row of the same unit has the same priority in every data set.
        text = repr(sorted((k, str(v)) for k, v in row.items()))
        seen[text] = seen.get(text, 0) + 1
        # A shuffle of generated rows protects nobody.
        priority = random.Random(f"{draw} {text} {seen[text]}").random()  # noqa: S311
        rows.append({**row, PRIORITY: priority})
    if draw:
        random.Random(draw).shuffle(rows)  # noqa: S311
    found: dict[tuple[str, str], list[list[int]]] = {}
    # An empty table must have the column of priorities too.
    empty = [{PRIORITY: 0.5}] if not rows and plan.spec.protect.column else []
    with opened(rows or empty, columns) as engine:
        for search in plan.searches:
            units = engine.find_keys(
                plan.spec.protect.column, search.sought.columns, search.contribution
            ).units
            # Which key is which stays inside the engine. Sorted counts are at least as close to
            # each other as matched ones, so what differs too much here does so there.
            padded = sorted(units, reverse=True) + [0] * 64
            found[search.payer, search.sought.part] = [[number] for number in padded[:64]]
        for group in passes(plan.statistics):
            drawn = PRIORITY if plan.spec.protect.column else None
            measured = engine.measure(query_of(plan, group, drawn))
            for planned in group:
                before: dict[str, Noisy] = {}
                asked = {**measured, planned.statistic.measure_name(DRAWN): before}
                for part, call in plan.calls(planned.name).items():
                    if call.asked.part.form == "numbers":
                        numbers = planned.statistic.numbers(part, asked)
                        found[planned.name, part] = [[number] for number in numbers]
                    else:
                        found[planned.name, part] = planned.statistic.scores(part, asked)
                    before[part] = _pretended(found[planned.name, part], call, f"{draw} {part}")
    return found


def _pretended(numbers: list[list[int]], call: Priced, seed: str) -> Noisy:
    """Return what a call might have given, the same for neighbours: parts after it depend on it."""
    chance = random.Random(seed)  # noqa: S311
    part = call.asked.part
    drawn = [cell for cell in numbers for _ in range(max(part.joint, 1))]
    values = [chance.randrange(len(cell) if part.form == "choice" else 1000) for cell in drawn]
    return Noisy(values, 0, call.sd)


def _distances(
    calls: Mapping[tuple[str, str], Priced],
    left: Mapping[tuple[str, str], list[list[int]]],
    right: Mapping[tuple[str, str], list[list[int]]],
) -> dict[tuple[str, str], tuple[Fraction, Fraction]]:
    """Return L1 and L2² of each call, in the units of its `Part`."""
    found = {}
    for call, cells_left in left.items():
        choice = calls[call].asked.part.form == "choice"
        l1 = l2 = Fraction(0)
        for a, b in zip(cells_left, right[call], strict=True):
            changes = [Fraction(x) - Fraction(y) for x, y in zip(a, b, strict=True)]
            if choice:
                spread = max(changes) - min(changes)
                l1, l2 = l1 + spread, l2 + spread**2 / 4
            else:
                l1, l2 = l1 + abs(changes[0]), l2 + changes[0] ** 2
        found[call] = (l1, l2)
    return found


def cells(plan: Plan, shapes: Mapping[str, set[Any]]) -> Check:
    """Check that the rows of the table never depend on the data, where keys are public."""
    if plan.searches:
        return _check("cells", True, "found_keys")
    wanted = sum(
        1 if (found := planned.shown(planned.cells)) is None else len(found)
        for planned in plan.statistics
    )
    short = [name for name, shape in shapes.items() for rows, *_ in shape if len(rows) < wanted]
    if short:
        return _check("cells", False, "missing_rows", data=min(short))
    # The answer of a choice may stand among the labels; all other labels are public.
    chosen = {c.asked.statistic for c in plan.pricing.calls if c.asked.part.form == "choice"}
    labels = {
        tuple(row for row in rows if row[0] not in chosen)
        for shape in shapes.values()
        for rows, *_ in shape
    }
    if len(labels) > 1:
        return _check("cells", False, "rows_depend")
    return _check("cells", True, "all_published", cells=wanted)


def _cost(call: Priced) -> tuple[Fraction, bool]:
    """Return what a call costs by its sensitivity and scale, and whether that is in ρ."""
    part, scale = call.asked.part, Fraction(call.scale)
    if call.rho is not None:
        return part.l2_squared / (2 * scale**2), True
    return part.l1 / scale, False


def charge(plan: Plan, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Column]) -> Check:
    """Make one release on generated rows, charged to a ledger of its own that is then removed."""
    import pyarrow as pa

    from discreet.ledger import Ledger

    spec = plan.spec
    types = {"number": pa.float64()}
    data = pa.table(
        {
            name: pa.array([row.get(name) for row in rows], types.get(kind, pa.string()))
            for name, kind in columns.items()
        }
    )
    # In memory a text is a text; in the file it stood for a number.
    numbers = Source(types={n: "number" for n, kind in columns.items() if kind == "untyped"})
    with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
        url = f"sqlite:///{Path(folder) / 'ledger.db'}"
        output = str(Path(folder) / "out")
        moved = spec.model_copy(update={"source": numbers, "ledger": url, "output": output})
        moved._folder = spec.folder
        book = Ledger.open(url)
        kinds = {c.kind for c in plan.pricing.charges}
        rule = "zcdp" if "concentrated" in kinds else "basic" if "approximate" in kinds else "pure"
        book.open_account(
            spec.account,
            **spec.protect.terms,
            filter=rule,
            approver="audit",
            reason=say("auditing.ledger_reason"),
            cap=None,
        )
        made = release(moved, data=data, who="audit")
        spent = book.account(spec.account).spent.floats("up")
    if not hasattr(made, "plan"):
        return _check("charge", False, "not_made")
    return _covered(made.plan, spent)


def _covered(plan: Plan, spent: Mapping[str, float]) -> Check:
    epsilon = rho = Fraction(0)
    for call in plan.pricing.calls:
        cost, concentrated = _cost(call)
        rho += cost if concentrated else Fraction(0)
        epsilon += Fraction(0) if concentrated else cost
    delta = sum((Fraction(call.asked.delta) for call in plan.pricing.calls), Fraction(0))
    # Costs are rationals of doubles and charges decimals; an ulp between them is no fault.
    slack = 1 + 1e-12
    short = float(delta) > spent.get("delta", 0.0) * slack
    if "rho" in spent:
        pure = [_cost(c)[0] for c in plan.pricing.calls if not _cost(c)[1]]
        needed = float(rho) + math.fsum(float(e) ** 2 / 2 for e in pure)
        covered = not short and needed <= spent["rho"] * slack
        return _check("charge", covered, "charged", sign="ρ", drawn=needed, charged=spent["rho"])
    if rho:
        # ρ is spent through (ε, δ): its tight conversion must stay within what was charged.
        from discreet.composition.concentrated import zcdp_delta

        left = spent["epsilon"] - float(epsilon)
        needed = zcdp_delta(float(rho), left) + float(delta) if left > 0 else 1.0
        covered = needed <= spent["delta"] * (1 + 1e-6)
        return _check("charge", covered, "charged_delta", drawn=needed, **spent)
    covered = not short and float(epsilon) <= spent["epsilon"] * slack
    found = {"sign": "ε", "drawn": float(epsilon), "charged": spent["epsilon"]}
    return _check("charge", covered, "charged", **found)


def support(plan: Plan) -> Check:
    """Draw every kind of noise that the plan uses at a scale where doubles skip numbers."""
    kinds = set()
    for call in plan.pricing.calls:
        if call.asked.part.form != "numbers" or call.mechanism in kinds:
            continue
        kinds.add(call.mechanism)
        wide = replace(call, scale=_WIDE)
        values = with_noise(wide, [0] * _DRAWN)
        if not all(type(value) is int for value in values):
            return _check("support", False, "not_whole", mechanism=call.mechanism)
        far = [value for value in values if abs(value) > 2**53]
        if not any(value % 2 for value in far):
            return _check("support", False, "skips", mechanism=call.mechanism)
    if not kinds:
        return _check("support", True, "no_numbers")
    return _check("support", True, "every_number", mechanisms=", ".join(sorted(kinds)))


def sample(spec: Spec, alpha: float) -> Check:
    """Draw the sample of a spec from invented units, twice: not more often than is said.

    The attacks take every unit as drawn, with the budget that is spent on those drawn. That others
    are charged less rests on the chance to be drawn, all rows or none, afresh each time.
    """
    unit, chance = spec.protect.column, float(spec.sample.chance if spec.sample else 1)
    rows = [dict.fromkeys(unit, f"u{n // 2}") for n in range(2 * _INVENTED)]
    with opened(rows, dict.fromkeys(unit, "text")) as engine:
        once: Any = sampled(engine, spec)
        there = once.measure(Query((), None, Contribution(), (Counting("rows"),)))["rows"][0]
        hits, again = once.units(unit), sampled(once, spec).units(unit)  # type: ignore[attr-defined]
    twice = at_least(min(again, hits), max(hits, 1), alpha / 2)
    share = max(at_least(hits, _INVENTED, alpha / 2), twice)
    passed = share <= up(chance) and there == 2 * hits and again <= hits
    told = {"units": _INVENTED, "drawn": hits, "again": again, "chance": chance}
    return _check("sample", passed, "sampled" if passed else "sampled_more", **told)


def fresh(seen: Sequence[Seen], alpha: float) -> Check:
    """Look for noise that was used twice: by two coordinates of a release, or by two releases.

    Two independent draws of one law coincide with a probability of at most its largest atom m.
    The rate of coincidences may exceed that only by chance, with probability at most α.
    """
    atoms: dict[tuple[str, str], float] = {}
    for call, atom in (pair for one in seen for pair in one.atoms.items()):
        atoms[call] = max(atoms.get(call, 0.0), atom * (1 + 1e-9))
    tests: list[tuple[str, int, int, float]] = []
    for call, atom in atoms.items():
        drawn = [s.noise[call] for s in seen if s.noise.get(call)]
        pairs = [(a, b) for a, b in zip(drawn[::2], drawn[1::2], strict=False) if len(a) == len(b)]
        if pairs:
            same = sum(a == b for a, b in pairs)
            most = max(atom ** len(a) for a, b in pairs)
            name = say("auditing.check.two_releases", statistic=call[0])
            tests.append((name, same, len(pairs), most))
        wide = [d for d in drawn if len(d) > 1]
        if wide:
            name = say("auditing.check.two_cells", statistic=call[0])
            tests.append((name, sum(d[0] == d[1] for d in wide), len(wide), atom))
    for (one, atom), (other, _) in pairwise(atoms.items()):
        both = [
            (s.noise[one], s.noise[other]) for s in seen if s.noise.get(one) and s.noise.get(other)
        ]
        if both:
            same = sum(a[0] == b[0] for a, b in both)
            name = say("auditing.check.two_statistics", one=one[0], other=other[0])
            tests.append((name, same, len(both), atom))
    for name, same, count, most in tests:
        sure = at_least(same, count, alpha / len(tests))
        if sure > most:
            found = {"name": name, "same": same, "count": count, "most": most}
            return _check("fresh", False, "reused", **found)
    return _check("fresh", True, "used_once", releases=len(seen))
