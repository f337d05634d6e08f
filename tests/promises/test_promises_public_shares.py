"""Priors from public figures: the shares of sensitive sets, and sampling fractions."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from discreet import choose
from discreet.errors import ToleranceError
from discreet.promises import promise_in

SOURCE = {"source": "Registry 2024"}


def box_of(keys: dict[str, Any], folder: Path | None = None) -> Any:
    (part,) = promise_in({"ratio": 3} | keys, folder).parts
    return part[1].box


def test_values_give_q() -> None:
    shares = {"C18": 0.02, "C19": 0.01, "other": 0.97}
    box = box_of({"sensitive": {"values": ["C18", "C19"], "shares": shares, **SOURCE}})
    assert (box.q0, box.q1) == (0.03, 0.03)
    assert (box.p0, box.p1) == (0.0, 1.0)
    promise = promise_in(
        {"posterior": 0.12, "about": "value"}
        | {"sensitive": {"values": ["C18", "C19"], "shares": shares, **SOURCE}}
    )
    same = choose({"posterior": 0.12, "p": 1, "q": 0.03}).epsilon
    assert choose(promise).epsilon == pytest.approx(same)
    assert "Registry 2024" in promise.sentence()
    assert promise_in(promise.to_mapping()) == promise  # the basis is kept


def test_groups_give_a_box(tmp_path: Path) -> None:
    (tmp_path / "shares.csv").write_text(
        "group,value,share\nyoung,yes,0.01\nyoung,no,0.99\nold,yes,0.2\nold,no,0.8\n"
    )
    sensitive = {"values": ["yes"], "shares": "shares.csv", **SOURCE}
    box = box_of({"sensitive": sensitive}, tmp_path)
    assert (box.p0, box.p1, box.q0, box.q1) == (0, 1, 0.01, 0.2)
    box = box_of({"sensitive": sensitive, "about": "value"}, tmp_path)
    assert (box.p0, box.p1, box.q0, box.q1) == (1, 1, 0.01, 0.2)
    box = box_of({"sensitive": sensitive, "sampled": {"units": 5, "of": 100, **SOURCE}}, tmp_path)
    assert box.p0 == box.p1 == pytest.approx(0.05)


def test_ranges_touch_and_cover(tmp_path: Path) -> None:
    (tmp_path / "ages.csv").write_text("low,high,share\n0,18,0.2\n18,65,0.6\n65,120,0.2\n")
    sensitive = {"ranges": [[18, 65], [90, 100]], "shares": "ages.csv", **SOURCE}
    box = box_of({"sensitive": sensitive}, tmp_path)
    assert (box.q0, box.q1) == (0.6, pytest.approx(0.8))


def test_within_is_the_range_over_all_places(tmp_path: Path) -> None:
    """Against a dense grid of people's own incomes."""
    chance = random.Random(3)  # noqa: S311  (nothing secret)
    ends = [1000.0 * 1.3**i for i in range(12)]
    weights = [chance.random() for _ in ends[1:]]
    shares = [w / sum(weights) for w in weights]
    lines = [f"{a},{b},{s}" for a, b, s in zip(ends, ends[1:], shares, strict=False)]
    (tmp_path / "incomes.csv").write_text("low,high,share\n" + "\n".join(lines) + "\n")
    for within in (0.05, 0.4, 0.9):
        sensitive = {"within": within, "shares": "incomes.csv", **SOURCE}
        box = box_of({"sensitive": sensitive}, tmp_path)
        for step in range(20_000):
            x = ends[0] * (ends[-1] / ends[0]) ** (step / 20_000)
            a, b = x * (1 - within), x * (1 + within)
            classes = list(zip(ends, ends[1:], shares, strict=False))
            touched = math.fsum(s for low, high, s in classes if a < high and low <= b)
            covered = math.fsum(s for low, high, s in classes if a <= low and high <= b)
            assert touched <= box.q1 + 1e-12
            assert covered >= box.q0 - 1e-12


def test_sampling_gives_p() -> None:
    box = box_of({"about": "both", "sampled": {"units": 5000, "of": 100_000, **SOURCE}})
    assert box.p0 == box.p1
    assert 0.05 <= box.p1 < 0.05 + 1e-12
    # the budget for a fraction in p is not amplified besides: 5 % to 12 % allows what it says
    sampled = choose({"posterior": 0.12, "q": 1, "sampled": {"units": 5, "of": 100, **SOURCE}})
    assert sampled.epsilon == pytest.approx(choose({"posterior": 0.12, "p": 0.05, "q": 1}).epsilon)


SHARES = {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"sensitive": {"values": ["a"], "shares": SHARES}}, "no source"),
        ({"sensitive": {"values": ["c"], "shares": SHARES, **SOURCE}}, "no line"),
        ({"sensitive": {"values": [], "shares": SHARES, **SOURCE}}, "at least one value"),
        ({"sensitive": {"shares": SHARES, **SOURCE}}, "exactly one"),
        (
            {"sensitive": {"values": ["a"], "within": 0.1, "shares": SHARES, **SOURCE}},
            "exactly one",
        ),
        ({"sensitive": {"values": ["a"], "shares": {"a": 0.7, "b": 0.7}, **SOURCE}}, "more than 1"),
        ({"sensitive": {"values": ["a"], "shares": {"a": 0.0}, **SOURCE}}, "nobody"),
        ({"sensitive": {"values": ["a"], "shares": {"a": "x"}, **SOURCE}}, "cannot be read"),
        ({"sensitive": {"values": ["a"], "shares": 3, **SOURCE}}, "mapping from value"),
        ({"sensitive": {"within": 2, "shares": SHARES, **SOURCE}}, "between 0 and 1"),
        ({"sensitive": {"ranges": [[2, 1]], "shares": SHARES, **SOURCE}}, "pairs"),
        ({"sensitive": {"values": ["a"], "shares": SHARES, "x": 1, **SOURCE}}, "keys among"),
        ({"q": 0.1, "sensitive": {"values": ["a"], "shares": SHARES, **SOURCE}}, "q gives too"),
        ({"p": 0.1, "sampled": {"units": 1, "of": 2, **SOURCE}}, "p gives too"),
        ({"sampled": {"units": 3, "of": 2, **SOURCE}}, "whole numbers"),
        ({"sampled": {"units": 1.5, "of": 2, **SOURCE}}, "whole numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ToleranceError, match=says):
        promise_in({"ratio": 3} | keys)
