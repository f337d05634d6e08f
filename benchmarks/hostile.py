"""Random hostile formulas: is any answer unsafe, any refusal false, any search slow?

    python -m benchmarks.hostile --seed 1 --formulas 1000

Each formula is searched, and its budget is then held against Theorem 1 of Kazan and Reiter at
thousands of priors: a dense grid, orders of magnitude towards 0 and towards 1, and random ones. The
formula is evaluated there by Python itself, not by our parser, and also on the curve of each
equation in it. A refusal counts as true where some prior leaves hardly any room or has no value.
The seed and every figure are printed, and so is every formula that is unsafe, refused without cause
or slow. Times are the processor's.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product
from types import CodeType

__all__ = ["Tally", "brute", "formulas", "measure"]

_PLACES = ("p", "q", "p*q", "1-p", "1-q", "p+q", "p-q", "q/p", "p**2+q**2", "p**2", "p*q**2")
_EQUATION = re.compile(r"(?<![\w*/+.-])([pq][pq0-9*/+-]*|1-[pq]) (==|!=) ([0-9.]+)")
_NAMED = re.compile(r"p = ([0-9.e-]+), q = ([0-9.e-]+)")
_NAMES = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp, "min": min, "max": max}


def _smooth(rng: random.Random) -> str:
    c, d, e = (
        round(rng.uniform(*ends), rng.choice((1, 2, 5))) for ends in ((1, 4), (0, 2), (0, 1))
    )
    narrow = 10 ** rng.uniform(-6, -1)
    return rng.choice(
        [
            f"{c}",
            f"{e}/(p*q)",
            f"{c}+{d}*p",
            f"{c}-{d}*q/2",
            f"{c}+{d}*(p-{e})**2",
            f"{c}+8*((p-{e})**2+(q-{d}/2)**2)",
            f"1+{c}*sqrt(1-p*q)",
            f"1+{e}*(1-p*q)",
            f"1+{e}*(1-p*q)/(p*q)",
            f"1+{d}*(p*q)**-{e}",
            f"1+{e}*max(1-p,1-q)",
            f"1+{e}*(1-p)+{d}*(1-q)",
            f"1+1/({c}-log(p*q))",
            f"1+{c}*exp(-{d}*p*q)",
            f"{d}/(p+q)+1.01",
            f"1/(p*q)+{narrow:.3g}",
            f"{c}/(1+{d}*p*q)",
            f"min(3,1.1+{e}+((p**2+q**2-{e})/{narrow:.3g})**2)",
            f"1.2+{d}+(p-q)**2/{narrow:.3g}",
        ]
    )


def _condition(rng: random.Random) -> str:
    sign = rng.choice(("<", "<=", ">", ">=", "==", "!="))
    test = f"{rng.choice(_PLACES)} {sign} {round(rng.uniform(0, 1.2), rng.choice((1, 3)))}"
    joined = rng.random()
    if joined < 0.15:
        return f"({test} {rng.choice(('and', 'or'))} {_condition(rng)})"
    return f"not ({test})" if joined < 0.2 else test


def _formula(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.25:
        return _smooth(rng)
    left, right = _formula(rng, depth - 1), _formula(rng, depth - 1)
    if kind < 0.55:
        return f"{rng.choice(('max', 'min'))}({left}, {right})"
    if kind < 0.9:
        return f"({left} if {_condition(rng)} else {right})"
    return f"({left} + {right})/2"


def _box(rng: random.Random) -> tuple[float, float, float, float]:
    kind, at = rng.random(), 10 ** rng.uniform(-5, 0)
    if kind < 0.1:
        return (at, at, 0.0, 1.0)
    if kind < 0.2:
        return (0.0, 1.0, at, at)
    if kind < 0.3:
        return (at / 2, at, 0.0, 1.0)
    return (0.0, 1.0, 0.0, 1.0)


def formulas(seed: int, many: int) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """Yield random formulas and boxes; the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(many):
        yield _formula(rng, rng.choice((1, 1, 2, 3))), _box(rng)


def _axis(low: float, high: float, rng: random.Random) -> list[float]:
    """Return priors to try: none so small that a product of three of them underflows to 0."""
    if low == high:
        return [high]
    steps = [i / 24 for i in range(25)] + [10.0**-k for k in (2, 3, 5, 8, 12, 100)]
    steps += [1 - 10.0**-k for k in (2, 3, 4, 6)] + [rng.random() for _ in range(10)]
    return sorted({low + (high - low) * step for step in steps} - {0.0})


def brute(
    text: str, box: tuple[float, float, float, float], epsilon: float, rng: random.Random
) -> tuple[bool, float]:
    """Say whether the budget holds at every prior tried, and the least ratio less 1 seen there.

    At ε the ratio may grow as far as Theorem 1 says: no prior may be found that asks for less.
    Priors without a value count as leaving no room.
    """
    u, safe, room = math.exp(-epsilon), True, math.inf
    for code, p, q in _priors(text, box, rng):
        try:
            asked = eval(code, {"__builtins__": {}}, {"p": p, "q": q, **_NAMES})  # noqa: S307
        except (ArithmeticError, ValueError):
            room = -math.inf
            continue
        room = min(room, asked - 1)
        allowed = p * q + u * u * (1 - q) * p + u * (1 - p)
        if asked * allowed < 1 - 1e-11 and 1 - p * q > 1e-5:
            safe = False
    return safe, room


def _priors(
    text: str, box: tuple[float, float, float, float], rng: random.Random
) -> Iterator[tuple[CodeType, float, float]]:
    """Yield priors of a grid, and priors on the curve of each equation, on which it holds."""
    lines = _axis(box[0], box[1], rng), _axis(box[2], box[3], rng)
    code = compile(text, "formula", "eval")
    yield from ((code, p, q) for p in lines[0] for q in lines[1])
    for found in _EQUATION.finditer(text):
        curve, answer = f"({found[1]})-({found[3]})", str(found[2] == "==")
        off = compile(curve, "curve", "eval")
        same = rf"(?<![\w*/+.-]){re.escape(found[0])}(?![0-9.])"
        held = compile(re.sub(same, answer, text), "formula", "eval")

        def at(x: float, y: float, axis: int, off: CodeType = off) -> float:
            p, q = (x, y) if axis == 0 else (y, x)
            return float(eval(off, {"__builtins__": {}}, {"p": p, "q": q}))  # noqa: S307

        for axis in (0, 1):
            for x, (low, high) in product(lines[axis], pairwise(lines[1 - axis])):
                if not at(x, low, axis) * at(x, high, axis) < 0:
                    continue
                for _ in range(60):
                    middle = (low + high) / 2
                    same = at(x, low, axis) * at(x, middle, axis) > 0
                    low, high = (middle, high) if same else (low, middle)
                yield (held, x, low) if axis == 0 else (held, low, x)


def _room_at(text: str, p: float, q: float) -> float:
    """Return the ratio less 1 at a prior that is known to six digits: equations hold nearly."""
    nearly = re.sub(r"([pq0-9.][pq0-9.*/+-]*) == ([0-9.]+)", r"abs((\1)-(\2)) < 2e-6", text)
    nearly = re.sub(r"([pq0-9.][pq0-9.*/+-]*) != ([0-9.]+)", r"abs((\1)-(\2)) >= 2e-6", nearly)
    names = {"p": p, "q": q, "abs": abs, **_NAMES}
    try:
        return float(eval(nearly, {"__builtins__": {}}, names)) - 1  # noqa: S307
    except (ArithmeticError, ValueError):
        return -math.inf


@dataclass
class Tally:
    """What came out."""

    seconds: list[float] = field(default_factory=list)
    answers: int = 0
    refused: int = 0
    unproved: int = 0  # refused because nothing could be proved beside p = q = 1
    unsafe: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    loose: int = 0  # gap above 1e-6, which says certified: false
    wrong: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield what to print."""
        times = sorted(self.seconds)
        at = {share: times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.99)}
        yield f"formulas {len(times)}: answered {self.answers}, refused {self.refused}"
        yield f"refused because nothing could be proved beside p = q = 1: {self.unproved}"
        yield f"median {1e3 * at[0.5]:.2f} ms, p99 {1e3 * at[0.99]:.1f} ms, most {times[-1]:.2f} s"
        yield f"not certified to 1e-6, and says so: {self.loose}"
        for name in ("unsafe", "false", "wrong"):
            found = getattr(self, name)
            yield f"{name}: {len(found)}"
            yield from found[:20]


def measure(seed: int, many: int, slow: float = math.inf) -> Tally:
    """Search every formula and hold the answers against brute force."""
    from discreet.budgets.limits import GAP, sought
    from discreet.budgets.search import search
    from discreet.errors import DiscreetError
    from discreet.promises import Box, Formula

    tally, rng = Tally(), random.Random(seed + 1)  # noqa: S311
    for text, ends in formulas(seed, many):
        started = time.process_time()
        part, answer, named = Formula(text, Box(*ends)), None, None
        try:
            expression = part.expression()
            assert expression is not None
            answer = sought(part, search(expression, part.box), "")
        except DiscreetError as error:
            named = _NAMED.search(str(error))
            tally.refused += 1
            tally.unproved += "could be proved" in str(error)
        except Exception as error:
            tally.wrong.append(f"{text} on {ends}: {error!r}")
        tally.seconds.append(time.process_time() - started)
        if tally.seconds[-1] > slow:
            print(f"slow, {tally.seconds[-1]:.2f} s: {text} on {ends}", file=sys.stderr)
        if answer is None:
            room = brute(text, ends, 0.0, rng)[1]
            if room > 0.01 and named is not None:  # the prior that the refusal names
                room = min(room, _room_at(text, float(named[1]), float(named[2])))
            if room > 0.01:
                tally.false.append(f"{text} on {ends}: least room {room:.3g}")
            continue
        tally.answers += 1
        gap = answer.upper - answer.lower if answer.lower < answer.upper else 0.0
        tally.loose += not answer.certified
        if answer.certified and gap > GAP * max(1.0, answer.lower):
            tally.wrong.append(f"{text} on {ends}: gap {gap:.1e} is called certified")
        if not brute(text, ends, min(answer.lower, 700.0), rng)[0]:
            tally.unsafe.append(f"{text} on {ends}: {answer.lower}")
    return tally


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formulas", type=int, default=5_000)
    parser.add_argument("--slow", type=float, default=1.0)
    given = parser.parse_args()
    print(f"seed {given.seed}")
    for line in measure(given.seed, given.formulas, given.slow).lines():
        print(line)


if __name__ == "__main__":
    main()
