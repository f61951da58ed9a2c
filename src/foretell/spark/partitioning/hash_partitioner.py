"""Hash partitioner: events with equal keys, of any stream, come to the same partition, in batches and in streams.

A stream's state lies under the id of its shard, so the hash must not change: old checkpoints have keys where it put
them.
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


def hash_partition(batch: EventBatch, keys: Iterable[str], partitions: int) -> Ints:
    """Return the partition number of each event.

    All numbers are hashed as FLOATs, so that an INT and an equal FLOAT meet; large INTs that round to the same FLOAT
    merely share a partition. The low bits of a small whole FLOAT are zero, and so may be those of its hash: the
    remainder by a prime spreads them.
    """
    mixed = np.zeros(batch.table.num_rows, np.uint64)
    for name in keys:
        kind = batch.schema.attributes.get(name)  # an attribute that the stream lacks is NULL in all events
        words = np.uint64(0) if kind is None else _words(batch.table[name], Type.FLOAT if kind.numeric else kind)
        mixed = (mixed ^ words) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return (mixed % _PRIME).astype(np.int64) % partitions


def _words(column: Any, kind: Type) -> Words:
    """Return 64 bits for each value; NULL is zero."""
    if kind is Type.STRING:
        encoded: Any = column.combine_chunks()
        encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
        words: Words = np.array([zlib.crc32(text.encode()) for text in encoded.dictionary.to_pylist()] + [0], np.uint64)
        codes = numpy_of(encoded.indices)
        return words[np.where(nulls_of(encoded), len(words) - 1, codes) if encoded.null_count else codes]
    plain = column.cast(ARROW_TYPES[kind], safe=False)
    plain = plain if kind is Type.FLOAT else plain.cast(pa.int64())
    values = np.where(nulls_of(plain), 0, numpy_of(plain))
    if kind is Type.FLOAT:
        values = np.where(np.isnan(values), 0.0, values) + 0.0  # -0.0 is 0.0
    return values.astype(np.float64 if kind is Type.FLOAT else np.int64).view(np.uint64)


def split_by_partition(table: pa.Table, partition: Ints, partitions: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each partition that has any, in their present order."""
    if partitions > 1:  # NumPy sorts small numbers by counting
        by = np.argsort(partition.astype(np.int16 if partitions < 1 << 15 else np.int64), kind="stable")
        table = table.take(arrow_of(by)).combine_chunks()
    ends = np.cumsum(np.bincount(partition, minlength=partitions)).tolist()
    for number, (begin, end) in enumerate(zip([0, *ends], ends)):
        if begin < end:
            yield number, table.slice(begin, end - begin)
