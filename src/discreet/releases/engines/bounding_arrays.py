"""Contribution bounding in arrays, by NumPy: the rule of `bounding` where only rows are limited.

DuckDB, for rows that it has read. A key is one integer: the unit, below it the priority, below that
what a row carries. `first_of_units` sorts them and keeps the first of each unit. Where the bits of
a priority do not tell the last row that is kept from the next, lots are drawn among all rows that
share them: they stand for the bits that had no room. Units that are texts or wide numbers, and rows
that do not fit in memory, are bounded as for Spark, with `Blocks` in place of the exchange.

Spark. Rows come as columns: the unit, the payload (cell and values in one integer), and for a text
the place where rows of the unit are gathered. They are exchanged in blocks of bytes:

    parted            batches of (unit, payload)  →  (place, number, payloads, units), a row a place
    looking_back      all rows of one place       →  the ranks that are kept

so that Spark writes, sends and reads a few blocks for each batch in place of every row. Priorities
are drawn at the place, so they do not travel: by a generator that is seeded with a secret of the
release and the place, over blocks in the order of their numbers. A task that runs again, for which
blocks may arrive in another order, draws the same. Where priorities are given, ranks travel.

Functions are sent to the workers as they stand here: those need NumPy and PyArrow, and
nothing of this package. Both are imported inside, since the driver may have no use for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.releases.engines.bounding import PRIORITY

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Keys: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Drawn: TypeAlias = tuple[int, int]
"""A secret number, and how many of a rank's lowest bits are the payload."""

BLOCKS = "place int, number bigint, ranks binary, units binary"
TEXT_BLOCKS = f"{BLOCKS}, lengths binary"
"""The columns of the blocks, for Spark."""
_NAMES = [column.split()[0] for column in TEXT_BLOCKS.split(", ")]

_BATCH = 1 << 17  # how many sorted keys are looked at at once
LEAST_PRIORITY = 8
"""The fewest bits of a priority beside which the rest of a key may stand."""
# Twelve bits are left to the rank: of a unit's rows one pair in 4,096 has to be sorted again.
_WIDEST = 52


def first_of_units(
    keys: Keys, most: int, below: int, width: int, chance: Any = None, batch: int = _BATCH
) -> Iterator[Keys]:
    """Sort keys in place, and yield the first `most` of each unit.

    A key has its unit above the lowest `below` bits, and its priority above the lowest `width`.
    """
    import numpy as np

    chance = chance or np.random.default_rng()
    keys.sort()
    start = 0
    while start < len(keys):
        last = keys[min(start + batch, len(keys)) - 1] | ((1 << below) - 1)
        end = int(np.searchsorted(keys, last, side="right"))  # with all rows of its last unit
        yield _first(keys[start:end], most, below, width, chance)
        start = end


def _first(keys: Keys, most: int, below: int, width: int, chance: Any) -> Keys:
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
        lots = np.lexsort((chance.random(len(of)), of))
        kept[(start[of] + place)[lots]] = place < wanted[of]
    return keys[kept]


def gathered(batches: Iterable[Keys], about: int) -> Keys:
    """Return all keys in one array, which grows if there are more than told."""
    import numpy as np

    keys, end = np.empty(about, np.int64), 0
    for batch in batches:
        start, end = end, end + len(batch)
        if end > len(keys):
            keys.resize(end + end // 4, refcheck=False)
        keys[start:end] = batch
    return keys[:end]


class Blocks:
    """What `parted` gives, place by place, in memory or in files of a folder until it is read."""

    def __init__(self, folder: Path | None, places: int) -> None:
        self._held: list[list[pa.RecordBatch]] = [[] for _ in range(places)]
        self._files = [] if folder is None else [folder / str(place) for place in range(places)]
        self._writers: list[Any] = []
        if folder is not None:
            folder.mkdir(mode=0o700)

    def write(self, batch: pa.RecordBatch) -> None:
        """Keep a batch: one row for each place."""
        import pyarrow as pa

        if self._files and not self._writers:
            self._writers = [pa.ipc.new_stream(str(file), batch.schema) for file in self._files]
        for place, held in enumerate(self._held):
            one = batch.slice(place, 1)
            if self._writers:
                self._writers[place].write_batch(one)
            else:
                held.append(one)

    def read(self, place: int) -> Iterator[pa.RecordBatch]:
        """Give what was kept of a place, and let go of it."""
        import pyarrow as pa

        if not self._writers:
            held, self._held[place] = self._held[place], []
            yield from held
            return
        self._writers[place].close()
        with pa.ipc.open_stream(str(self._files[place])) as reader:
            yield from reader
        self._files[place].unlink()


def parted(
    places: int, *, tasks: bool = False, size: int = 2**31 - 1
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what divides batches among so many places; `tasks` of Spark number their own.

    A column of blocks has `size` bytes at most: a batch with longer texts is taken in parts.
    """

    def divided(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        first = 0
        if tasks:
            from pyspark import TaskContext

            task = TaskContext.get()
            first = 0 if task is None else task.partitionId() << 32

        def blocks(whole: Any, ends: Any) -> pa.Array:
            if ends[-1] >= 2**31:  # a single text
                raise pa.ArrowInvalid
            offsets = np.concatenate((np.zeros(1, np.int32), ends.astype(np.int32)))
            buffers = [None, pa.py_buffer(offsets), pa.py_buffer(whole)]
            return pa.BinaryArray.from_buffers(pa.binary(), places, buffers)

        def fitting(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            half = len(batch) // 2
            if half and max(column.nbytes for column in batch.columns) > size:
                yield from fitting(batch.slice(0, half))
                yield from fitting(batch.slice(half))
            else:
                yield batch

        parts = (part for batch in batches for part in fitting(batch))
        for number, batch in enumerate(parts, first):
            units, ranks = batch.columns[0], batch.columns[1].to_numpy()
            if len(batch.columns) > 2:
                place = batch.columns[2].to_numpy()
            else:
                # The upper half of a product, scaled: neighbours go to different places.
                mixed = units.to_numpy().astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
                place = (mixed >> np.uint64(32)) * np.uint64(places) >> np.uint64(32)
            place = place.astype(np.min_scalar_type(places - 1))
            order = place.argsort(kind="stable")
            ends = np.bincount(place, minlength=places).cumsum()
            columns = [pa.array(range(places), pa.int32()), pa.array([number] * places, pa.int64())]
            columns.append(blocks(ranks[order], ends * ranks.itemsize))
            if len(batch.columns) > 2:
                if units.null_count:
                    raise pa.ArrowInvalid
                sorted_ = units.cast(pa.large_binary()).take(pa.array(order))
                _, offsets, written = sorted_.buffers()
                starts = np.frombuffer(offsets, np.int64)[: len(order) + 1]
                columns.append(blocks(b"" if written is None else written, starts[ends]))
                columns.append(blocks(np.diff(starts).astype(np.int32), 4 * ends))
            else:
                whole = units.to_numpy()
                columns.append(blocks(whole[order], ends * whole.itemsize))
            yield pa.RecordBatch.from_arrays(columns, _NAMES[: len(columns)])

    return divided


def looking_back(
    most: int, *, texts: bool = False, narrow: bool = False, drawn: Drawn | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what keeps, of all blocks of a place, the `most` least ranks of each unit.

    `narrow` units are numbers of 32 bits. Where priorities are still to be `drawn`, blocks carry
    the payload alone.
    """

    def kept(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        blocks = [
            (place.as_py(), number.as_py(), *(block.as_buffer() for block in more))
            for batch in batches
            for place, number, *more in zip(*batch.columns, strict=True)
            if len(more[0].as_buffer())
        ]
        if not blocks:
            return
        # They arrive in any order. A task that runs again draws the same for the same rows.
        blocks.sort(key=lambda block: block[:2])
        wide = np.int64 if drawn is None else np.int32
        ranks = [np.frombuffer(block[2], wide) for block in blocks]
        if texts:
            # Each text becomes its number among those of this place; equal ones, and no others,
            # get the same.
            written = [_texts_of(*block[3:]) for block in blocks]
            numbered = pa.chunked_array(written).dictionary_encode()
            names = [chunk.indices.to_numpy() for chunk in numbered.chunks]
        else:
            names = [np.frombuffer(block[3], np.int32 if narrow else np.int64) for block in blocks]
        if drawn is None:
            units = np.concatenate(names).astype(np.int64)
            found = iter([least(units, np.concatenate(ranks), most)])
        else:
            secret, width = drawn
            chance = np.random.default_rng([secret, blocks[0][0]])
            found = drawn_least(names, ranks, most, width, chance)
        for some in found:
            yield pa.RecordBatch.from_arrays([pa.array(some)], [PRIORITY])

    return kept


def _texts_of(block: pa.Buffer, lengths: pa.Buffer) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    count = len(lengths) // 4
    ends = np.zeros(count + 1, np.int64)
    np.cumsum(np.frombuffer(lengths, np.int32), out=ends[1:])
    buffers = [None, pa.py_buffer(ends), block]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, buffers)


def drawn_least(
    units: Sequence[Any], payloads: Sequence[Any], most: int, width: int, chance: Any
) -> Iterator[Keys]:
    """Yield the `most` least ranks of each unit, of blocks with priorities that are drawn here.

    As in DuckDB a key is the unit, below it the priority, below that `width` bits of payload. It is
    made block by block, since to take fresh memory for all rows at once takes longer than to sort.
    """
    import numpy as np

    low = min(int(block.min()) for block in units)
    span = max(int(block.max()) for block in units) - low
    room = 63 - width - span.bit_length()
    enough = room >= LEAST_PRIORITY
    ends = np.cumsum([len(block) for block in units])
    keys = np.empty(ends[-1], np.int64)
    for who, payload, end in zip(units, payloads, ends, strict=True):
        above = chance.integers(1 << (room if enough else 63 - width), size=len(who))
        if enough:
            above |= (who.astype(np.int64) - low) << room
        below = payload ^ (above & ((1 << width) - 1))
        keys[end - len(who) : end] = (above << width) | below
    if not enough:
        yield least(np.concatenate(units).astype(np.int64), keys, most)
        return
    yield from first_of_units(keys, most, width + room, width, chance)


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
