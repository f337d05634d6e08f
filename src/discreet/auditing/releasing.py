"""Many releases of generated data sets, gathered into samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from discreet.auditing.events import Name, Sample, collected
from discreet.auditing.path import Replay, Seen, opened, trial
from discreet.releases.engines.base import Column
from discreet.releases.planning import Plan

__all__ = ["Progress", "Releases"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with (what, done, total) every hundred releases."""

_REMEMBERED = 2000


class Releases:
    """Releases of each data set, made when asked for; engines stay open between."""

    def __init__(
        self,
        plan: Plan,
        columns: Mapping[str, Column],
        data: Mapping[str, Sequence[Mapping[str, Any]]],
        draws: int,
        progress: Progress | None,
    ) -> None:
        self._plan, self._columns, self._data, self._draws = plan, columns, data, draws
        self._progress = progress
        self._codes: dict[Hashable, int] = {}
        self._open: dict[str, tuple[Any, Replay]] = {}
        self.noise: list[Seen] = []
        self.shapes: dict[str, set[Any]] = {}
        self.count = 0

    def of(self, name: str, size: int) -> Sample:
        """Release a data set so many times."""
        if name not in self._open:
            manager = opened(self._data[name], self._columns)
            replay = Replay(manager.__enter__(), self._draws)
            self._open[name] = (manager, replay)
        _, replay = self._open[name]
        seen = []
        sums: dict[Name, list[float]] = {}
        for done in range(1, size + 1):
            replay.next()
            one = trial(self._plan, replay)
            seen.append((one.values, one.shape))
            for key, number in one.true.items():
                sums.setdefault(key, []).append(number)
            if len(self.noise) < _REMEMBERED:
                self.noise.append(one)
            if self._progress is not None and done % 100 == 0:
                self._progress(f"releasing {name!r}", done, size)
        self.count += size
        self.shapes.setdefault(name, set()).update(shape for _, shape in seen)
        true = {key: math.fsum(numbers) / len(numbers) for key, numbers in sums.items()}
        return collected(seen, self._codes, true)

    def close(self) -> None:
        """Let go of the engines."""
        for manager, _ in self._open.values():
            manager.__exit__(None, None, None)
