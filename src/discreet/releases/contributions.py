"""How much one unit may add to a statistic: bounds, and the sensitivities that follow.

Notation. R = most rows of a unit, G = most groups it touches, c = most rows in one group (R if not
said), T = min(R, G·c) the most rows that count. m is the largest size of one row's whole number.

Sensitivity, adding or removing a unit (every row kept adds at most m to one cell of its group):
    L1 = T·m,   L2² = (⌊T/c⌋·c² + (T mod c)²)·m²,
the second because a sum of squares with at most c in a place and T in all is largest when places
are filled one after the other. Replacing a unit takes one away and adds another: L1 doubles; L2²
doubles where no number is negative (‖a−b‖² ≤ ‖a‖² + ‖b‖² for a, b ≥ 0), else it is fourfold.

There is no parallel composition across groups: one unit may touch G of them, and L1 and L2 say so.

Over N public cells G is min(G, N), and T follows. Proof: rows that count lie in these cells, up to
c in each, so a unit touches at most N of them with at most N·c rows; and where G ≥ N no group of a
unit is ever dropped, so the rows that are kept are the same as without the limit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from discreet.guarantees import Adjacency


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one unit may contribute to one statistic, after bounding.

    >>> Contribution(rows=4, groups=2, rows_per_group=2).l1(), Contribution(4, 2, 2).l2_squared()
    (4, 8)
    >>> Contribution(rows=5, groups=3, rows_per_group=2).l2_squared()
    9
    """

    rows: int = 1
    groups: int = 1
    rows_per_group: int = 1
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    all_groups: bool = False
    """Whether there are no more groups than a unit may touch, so that none is dropped."""

    @classmethod
    def of(
        cls,
        rows: int | None,
        groups: int | None,
        rows_per_group: int | None,
        *,
        adjacency: str,
        grouped: bool,
    ) -> Contribution:
        """Return the bounds as declared, with what follows filled in; None means one record."""
        most = rows or 1
        spread = min(groups or most, most) if grouped else 1
        deep = min(rows_per_group or most, most)
        total = min(most, spread * deep)
        return cls(total, spread, min(deep, total), Adjacency.of(adjacency))

    def over(self, cells: int) -> Contribution:
        """Return the bounds where there are so many public cells, and no other groups.

        >>> Contribution(rows=20, groups=20, rows_per_group=3).over(5).l1()
        15
        """
        if cells > self.groups:
            return self
        rows = min(self.rows, cells * self.rows_per_group)
        return replace(self, rows=rows, groups=cells, all_groups=True)

    def once_per_group(self) -> Contribution:
        """Return the bounds for counting units: one row in each group is enough."""
        spread = min(self.groups, self.rows)
        return replace(self, rows=spread, groups=spread, rows_per_group=1)

    def gathered(self, groups: int) -> Contribution:
        """Return the bounds for cells that each gather so many groups, of rows bounded before."""
        deep = min(self.total, self.rows_per_group * min(groups, self.groups))
        return replace(self, rows=self.total, rows_per_group=deep)

    @property
    def total(self) -> int:
        """T, the most rows that count."""
        return min(self.rows, self.groups * self.rows_per_group)

    @property
    def filled(self) -> list[int]:
        """The most rows in each group, where a unit fills one after the other."""
        full, rest = divmod(self.total, self.rows_per_group)
        return [self.rows_per_group] * full + ([rest] if rest else [])

    @property
    def untouched(self) -> int:
        """The most rows with which a unit keeps all of them, in whatever groups they are."""
        return min(self.rows, self.ranked, self.rows_per_group)

    @property
    def ranked(self) -> int:
        """The most groups for bounding: as many as rows where no group is ever dropped."""
        return self.rows if self.all_groups else self.groups

    @property
    def only_rows(self) -> bool:
        """Whether rows alone are limited: no limit of groups, or in a group, can bind."""
        return self.rows_per_group >= self.rows <= self.ranked

    def kept(self, *, grouped: bool) -> int:
        """The most rows with which a unit keeps all: so many are kept of one that loses some."""
        return self.untouched if grouped else min(self.rows, self.rows_per_group)

    def keeps_all(self, most: int | None, *, grouped: bool, once: bool) -> bool:
        """Whether no unit loses a row, if none has more than `most` (None: nobody knows how many).

        With `once`, where bounds count units, a second row in the same group is no loss. Then a
        unit loses something only if it touches more groups than are kept; it touches no more than
        there are, and no more than it has rows.

        >>> units = Contribution(rows=2, groups=2).over(2)
        >>> units.keeps_all(None, grouped=True, once=True)
        True
        >>> units.keeps_all(None, grouped=True, once=False)
        False
        """
        if once and (not grouped or self.all_groups):
            return True
        return most is not None and most <= (self.groups if once else self.kept(grouped=grouped))

    def l1(self, size: int = 1) -> int:
        """L1 sensitivity, each row adding at most `size`."""
        return self.total * size * (2 if self.adjacency is Adjacency.REPLACE else 1)

    def l2_squared(self, size: int = 1, *, signed: bool = False) -> int:
        """Squared L2 sensitivity; `signed` where a row may also take away."""
        square = sum(rows**2 for rows in self.filled) * size**2
        if self.adjacency is Adjacency.REPLACE:
            return square * (4 if signed else 2)
        return square

    def to_dict(self) -> dict[str, Any]:
        """Return the bounds as JSON-ready values."""
        said = asdict(self) | {"adjacency": self.adjacency.value}
        said.pop("all_groups")
        return said
