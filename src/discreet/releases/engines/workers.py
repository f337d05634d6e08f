"""What NumPy does to bound: over keys that DuckDB has sorted, and in Spark's Python workers.

DuckDB. A key is one integer: the unit, below it the priority, below that what a row carries. They
come sorted, and `first_of_units` keeps the first of each unit. Where the bits of a priority do not
tell the last row that is kept from the next, lots are drawn among all rows that share them: they
stand for the bits that had no room. Units that are texts come beside their keys (`first_of_texts`).

Spark. Rows come as two columns, the unit and its rank: one integer, the least of which are the best
(its lowest bits carry the cell and the values). They are exchanged by unit in blocks of bytes:

    parted            batches of (unit, rank)  →  (place, units, ranks), a row a place and batch
    looking_back      all rows of one place    →  the ranks that are kept

so that Spark writes, sends and reads a few blocks for each batch in place of every row.

Functions are sent to the workers as they stand here: those need NumPy and PyArrow, and
nothing of this package. Both are imported inside, since the driver may have no use for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.releases.engines.bounding import PRIORITY

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Keys: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

BLOCKS = "place int, units binary, ranks binary"
"""The columns of the blocks, for Spark."""

# Twelve bits are left to the rank: of a unit's rows one pair in 4,096 has to be sorted again.
_WIDEST = 52


def first_of_units(sorted_: Iterable[Keys], most: int, below: int, width: int) -> Iterator[Keys]:
    """Yield, of batches of sorted keys, the first `most` of each unit.

    A key has its unit above the lowest `below` bits, and its priority above the lowest `width`.
    """
    import numpy as np

    begun = np.empty(0, np.int64)
    for batch in sorted_:
        keys = np.concatenate((begun, batch))
        # The last unit of a batch may go on in the next.
        end = int(np.searchsorted(keys, keys[-1] >> below << below)) if len(keys) else 0
        begun = keys[end:]
        yield _first(keys[:end], most, below, width)
    yield _first(begun, most, below, width)


def _first(keys: Keys, most: int, below: int, width: int) -> Keys:
    import numpy as np

    kept = np.ones(len(keys), bool)
    np.not_equal((keys[most:] ^ keys[:-most]) >> below, 0, out=kept[most:])
    (last,) = np.nonzero(kept[:-1] & ~kept[1:])
    tied = last[(keys[last] ^ keys[last + 1]) >> width == 0]
    if len(tied):
        start, end = (np.searchsorted(keys, (keys[tied] >> width) + up << width) for up in (0, 1))
        sizes, wanted = end - start, tied + 1 - start
        offsets = np.cumsum(sizes) - sizes
        place = np.arange(sizes.sum()) - np.repeat(offsets, sizes)
        of = np.repeat(np.arange(len(tied)), sizes)
        lots = np.lexsort((np.random.default_rng().random(len(of)), of))
        kept[(start[of] + place)[lots]] = place < wanted[of]
    return keys[kept]


def first_of_texts(sorted_: Iterable[tuple[pa.Array, pa.Array]], most: int) -> Iterator[pa.Array]:
    """Yield, of batches of units that are texts and their ranks, the first `most` of each unit."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    last: pa.Array | None = None
    for names, ranks in sorted_:
        units = names if last is None else pa.concat_arrays([last, names])
        kept = np.ones(len(units), bool)
        if len(units) > most:
            kept[most:] = pc.not_equal(units[most:], units[:-most]).to_numpy(zero_copy_only=False)
        yield ranks.filter(pa.array(kept[len(units) - len(names) :]))
        last = units[-most:]


def parted(places: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what divides batches of (unit, rank) among so many places, by unit."""

    def divided(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        for batch in batches:
            units, ranks = (column.to_numpy() for column in batch.columns)
            # The upper half of the product depends on every bit of the unit.
            mixed = units.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
            place = (mixed % np.uint64(places)).astype(np.min_scalar_type(places - 1))
            order = place.argsort(kind="stable")
            ends = np.bincount(place, minlength=places).cumsum()
            blocks = (
                [part.tobytes() for part in np.split(column[order], ends[:-1])]
                for column in (units.astype(np.int64), ranks)
            )
            columns = [pa.array(range(places), pa.int32()), *map(pa.array, blocks)]
            yield pa.RecordBatch.from_arrays(columns, ["place", "units", "ranks"])

    return divided


def looking_back(most: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what keeps, of all blocks of a place, the `most` least ranks of each unit."""

    def kept(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        blocks: tuple[list[Any], list[Any]] = ([], [])
        for batch in batches:
            for parts, column in zip(blocks, batch.columns[1:], strict=True):
                parts += [np.frombuffer(block.as_buffer(), np.int64) for block in column]
        if blocks[0]:
            units, ranks = (np.concatenate(parts) for parts in blocks)
            yield pa.RecordBatch.from_arrays([pa.array(least(units, ranks, most))], [PRIORITY])

    return kept


def least(units: Keys, ranks: Keys, most: int) -> Keys:
    """Return the `most` least ranks of each unit.

    Unit, the upper bits of the rank, and the row's place are put into one 64-bit number, since
    NumPy sorts plain numbers many times faster than pairs. After the sort a row is kept if the row
    `most` places before it belongs to another unit. Rows that agree in the unit and in the bits of
    the rank that had room are few; they are put in order by the whole rank.
    """
    import numpy as np

    def wide(bits: int) -> np.uint64:
        return np.uint64(bits)

    def from_zero(numbers: Any) -> tuple[Any, int]:
        # As unsigned numbers, which wrap around, so that every difference fits.
        moved = numbers.view(np.uint64) - np.int64(numbers.min()).view(np.uint64)
        return moved, int(moved.max()).bit_length()

    count = len(units)
    if count <= most:
        return ranks
    places = (count - 1).bit_length()
    who, width = from_zero(units)
    if width + places > _WIDEST:
        order = who.argsort()
        sorted_ = who[order]
        who = np.zeros(count, np.uint64)
        np.cumsum(sorted_[1:] != sorted_[:-1], out=who[1:])
        ranks, width = ranks[order], int(who[-1]).bit_length()
    offset, length = from_zero(ranks)
    room = min(length, 64 - width - places)
    keys = (who << wide(room)) | (offset >> wide(length - room))
    keys = np.sort((keys << wide(places)) | np.arange(count, dtype=np.uint64))
    ranks = ranks[keys & wide((1 << places) - 1)]
    keys >>= wide(places)
    if length > room:
        same = np.zeros(count + 1, dtype=bool)
        same[1:-1] = keys[1:] == keys[:-1]
        (tied,) = np.nonzero(same[1:] | same[:-1])
        ranks[tied] = ranks[tied][np.lexsort((ranks[tied], keys[tied]))]
    keys >>= wide(room)
    first = np.ones(count, dtype=bool)
    first[most:] = keys[most:] != keys[:-most]
    return ranks[first]
