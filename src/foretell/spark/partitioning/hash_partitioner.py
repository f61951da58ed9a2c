"""Events dealt out to shards: equal keys, of whatever stream, come to the same one, in batches and in streams alike.

The state of a stream lies under the number of its shard: what is dealt out here otherwise would not find it again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints, Words
from foretell.events.arrow_interop import arrow_of, nulls_of, numpy_of
from foretell.events.ingest.raw_columns import ARROW_TYPES
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Type

_PRIME = np.uint64(2_147_483_629)


def hash_partition(loaded: EventBatch, keys: Iterable[str], shards: int) -> Ints:
    """The shard of each event.

    All numbers are dealt out as FLOATs, so that an INT is where the FLOAT is that equals it; large ones that are the
    same FLOAT only share a shard. The last bits of a FLOAT that is a small whole number are zero, and so may be those
    of its hash: the rest by a prime is not.
    """
    mixed = np.zeros(loaded.table.num_rows, np.uint64)
    for name in keys:
        kind = loaded.schema.attributes.get(name)  # of what no event has, all are NULL
        words = np.uint64(0) if kind is None else _words(loaded.table[name], Type.FLOAT if kind.numeric else kind)
        mixed = (mixed ^ words) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return (mixed % _PRIME).astype(np.int64) % shards


def _words(column: Any, kind: Type) -> Words:
    if kind is Type.STRING:
        coded: Any = column.combine_chunks()
        coded = coded if pa.types.is_dictionary(coded.type) else coded.dictionary_encode()
        words: Words = np.array([zlib.crc32(text.encode()) for text in coded.dictionary.to_pylist()] + [0], np.uint64)
        at = numpy_of(coded.indices)
        return words[np.where(nulls_of(coded), len(words) - 1, at) if coded.null_count else at]
    plain = column.cast(ARROW_TYPES[kind], safe=False)
    plain = plain if kind is Type.FLOAT else plain.cast(pa.int64())
    values = np.where(nulls_of(plain), 0, numpy_of(plain))
    if kind is Type.FLOAT:
        values = np.where(np.isnan(values), 0.0, values) + 0.0  # -0.0 is 0.0
    return values.astype(np.float64 if kind is Type.FLOAT else np.int64).view(np.uint64)


def split_by_partition(table: pa.Table, number: Ints, count: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each number below `count` that has some, as they came."""
    if count == 1:
        by = None
    else:  # NumPy sorts small numbers by counting
        by = np.argsort(number.astype(np.int16 if count < 1 << 15 else np.int64), kind="stable")
    table = table if by is None else table.take(arrow_of(by)).combine_chunks()
    ends = np.cumsum(np.bincount(number, minlength=count)).tolist()
    for one, (begin, end) in enumerate(zip([0, *ends], ends)):
        if begin < end:
            yield one, table.slice(begin, end - begin)
