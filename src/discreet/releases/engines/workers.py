"""What NumPy does to bound: over keys that DuckDB has sorted, and in Spark's Python workers.

DuckDB. A key is one integer: the unit, below it the priority, below that what a row carries. They
are sorted, and `first_of_units` keeps the first of each unit. Where the bits of a priority do not
tell the last row that is kept from the next, lots are drawn among all rows that share them: they
stand for the bits that had no room. Units that are texts or wide numbers, and rows that do not fit
in memory, are bounded as for Spark, with `Blocks` in place of the exchange.

Spark. Rows come as three columns: the unit, its rank, which is one integer, the least of which are
the best (its lowest bits carry the cell and the values), and the place where rows of the unit are
gathered. They are exchanged in blocks of bytes:

    parted            batches of (unit, rank, place)  →  (place, units, ranks), a row a place
    looking_back      all rows of one place           →  the ranks that are kept

so that Spark writes, sends and reads a few blocks for each batch in place of every row.

Functions are sent to the workers as they stand here: those need NumPy and PyArrow, and
nothing of this package. Both are imported inside, since the driver may have no use for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
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


def sorted_keys(batches: Iterable[Keys], about: int) -> Keys:
    """Return all keys in order, in one array that grows if there are more than told."""
    import numpy as np

    keys, end = np.empty(about, np.int64), 0
    for batch in batches:
        start, end = end, end + len(batch)
        if end > len(keys):
            keys.resize(end + end // 4, refcheck=False)
        keys[start:end] = batch
    found = keys[:end]
    found.sort()
    return found


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


def parted(places: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what divides batches of (unit, rank, place) among so many places."""

    def divided(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        for batch in batches:
            units, ranks, place = batch.columns
            place = place.to_numpy().astype(np.min_scalar_type(places - 1))
            order = place.argsort(kind="stable")
            ends = np.bincount(place, minlength=places).cumsum()
            if pa.types.is_integer(units.type):
                names = [part.tobytes() for part in np.split(units.to_numpy()[order], ends[:-1])]
            else:
                if units.null_count:
                    raise pa.ArrowInvalid
                sorted_ = units.cast(pa.large_binary()).take(pa.array(order))
                starts = zip([0, *ends[:-1]], ends, strict=True)
                names = [_bytes_of(sorted_.slice(start, end - start)) for start, end in starts]
            below = [part.tobytes() for part in np.split(ranks.to_numpy()[order], ends[:-1])]
            columns = [pa.array(range(places), pa.int32()), pa.array(names), pa.array(below)]
            yield pa.RecordBatch.from_arrays(columns, ["place", "units", "ranks"])

    return divided


def _bytes_of(texts: pa.Array) -> bytes:
    """Return the lengths of texts, in four bytes each, and then the texts."""
    import numpy as np

    _, offsets, written = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    whole = b"" if written is None else written[int(ends[0]) : int(ends[-1])].to_pybytes()
    return np.diff(ends).astype(np.int32).tobytes() + whole


def _texts_of(block: pa.Buffer, count: int) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.frombuffer(block, np.int32, count), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), block[4 * count :]]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, buffers)


def looking_back(
    most: int, *, texts: bool = False
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what keeps, of all blocks of a place, the `most` least ranks of each unit."""

    def kept(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        names, below = [], []
        for batch in batches:
            blocks = zip(*(column for column in batch.columns[1:]), strict=True)
            for block, ranks in ((one.as_buffer() for one in pair) for pair in blocks):
                count = len(ranks) // 8
                if count:
                    below.append(np.frombuffer(ranks, np.int64))
                    whole = _texts_of(block, count) if texts else np.frombuffer(block, np.int64)
                    names.append(whole)
        if not below:
            return
        if texts:
            # Each text becomes its number among those of this place; equal ones, and no others,
            # get the same.
            numbered = pa.chunked_array(names).dictionary_encode()
            names = [chunk.indices.to_numpy().astype(np.int64) for chunk in numbered.chunks]
        found = least(np.concatenate(names), np.concatenate(below), most)
        yield pa.RecordBatch.from_arrays([pa.array(found)], [PRIORITY])

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
