"""Shard ids of a stream: the keys under which Spark keeps the state of shards."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

#: Shards go to Spark's partitions in turn, for every number of partitions that divides this.
_CYCLE = 840
_CANDIDATES = 1 << 16


def shard_ids(group: str, count: int) -> tuple[int, ...]:
    """Return the ids of a group's shards.

    Spark assigns keys to its partitions by hash, which could put eight small numbers on one of two partitions. These
    ids are chosen so that their hashes go round the partitions, however many there are; when that number changes, the
    ids, and the state under them, stay.
    """
    first = zlib.crc32(group.encode()) << 31
    remainder = spark_hash(np.arange(first, first + _CANDIDATES, dtype=np.int64)) % _CYCLE
    ids = []
    for shard in range(count):
        (candidates,) = np.nonzero(remainder == shard % _CYCLE)
        ids.append(first + int(candidates[shard // _CYCLE]))
    return tuple(ids)


def spark_hash(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return Spark's hash of BIGINTs (Murmur3, 32 bits, seed 42), by which it chooses partitions."""
    words = values.view(np.uint64)
    mixed = np.full(len(values), 42, np.uint32)
    for half in (words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)):
        word = half.astype(np.uint32) * np.uint32(0xCC9E2D51)
        word = (word << np.uint32(15) | word >> np.uint32(17)) * np.uint32(0x1B873593)
        mixed ^= word
        mixed = (mixed << np.uint32(13) | mixed >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)
    mixed ^= np.uint32(8)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ mixed >> np.uint32(shift)) * np.uint32(factor)
    mixed ^= mixed >> np.uint32(16)
    return mixed.view(np.int32).astype(np.int64)
