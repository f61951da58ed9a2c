"""Chunked state: a shard's snapshot in Spark's state, as one value while it is small, else in pages.

A micro-batch writes only the pages that are new. The content defines where a page ends, not its position: a rolling
hash of the words before the end begins with zeros. So after an insertion, or after the beginning is dropped as a window
moves on, later pages are cut where they were, and are the same as before. (Muthitacharoen, Chen and Mazieres, "A
low-bandwidth network file system", SOSP 2001, section 3.1. The rolling hash is simpler here: each word shifts those
before it by a bit, so that it covers 64.)

The name of a page is a digest of its content. A state is the list of its pages' names, and a page that Spark has
already is not written again, wherever in the state it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.errors import InputError
from foretell.jit import compiled
from foretell.spark.streaming.deferred_processor import StateVariables
from foretell.spark.streaming.local_copies import read_copy, write_copy

#: A state up to this size is one value: pages would cost more calls and save little.
SMALL_BYTES = 1 << 18

# In words of eight bytes.
_LEAST, _MOST = 1 << 9, 1 << 13
_SHIFT = np.uint64(64 - 11)  # one word in 2,048 may end a page: pages have 20 KB on average

_PAGED = b"FTLPAGES"  # the names of pages follow; a snapshot has a magic word of its own (foretell.storage.blob)
_NAME_BYTES = 16


@dataclass(frozen=True)
class StoredState:
    """The value in Spark's state: metadata, and the snapshot itself or the names of its pages."""

    metadata: str
    content: bytes

    @property
    def paged(self) -> bool:
        return self.content.startswith(_PAGED)

    @property
    def page_names(self) -> list[bytes]:
        """The names of all pages, in their order."""
        if not self.paged:
            return []
        starts = range(len(_PAGED), len(self.content), _NAME_BYTES)
        return [self.content[start : start + _NAME_BYTES] for start in starts]


@dataclass(frozen=True)
class WriteCost:
    """The size of a state, the number of its pages (a small one is a single page), and how much of it was written."""

    state_bytes: int
    pages: int
    pages_written: int
    bytes_written: int


class ChunkedState:
    """The state of the key that Spark is processing."""

    def __init__(self, variables: StateVariables) -> None:
        self._value, self._pages = variables.value, variables.pages

    def read(self) -> StoredState | None:
        value = self._value.get()
        return None if value is None else StoredState(value[0], bytes(value[1]))

    def snapshot(self, stored: StoredState) -> bytes:
        """Return the snapshot, put together from its pages unless this machine has a copy."""
        if not stored.paged:
            return stored.content
        copy = read_copy(stored.content)
        if copy is not None:
            return copy
        pages = {bytes(name): page for (name,), (page,) in self._pages.iterator()}
        names = stored.page_names
        if not pages.keys() >= set(names):
            raise InputError(
                "damaged-snapshot",
                "the state in the checkpoint lacks some of its pages",
                hint="start with a new checkpoint, or restore this one from a copy",
            )
        return b"".join(map(pages.__getitem__, names))

    def write(self, before: StoredState | None, metadata: str, snapshot: bytes) -> tuple[StoredState, WriteCost]:
        """Replace the state `before` by a snapshot."""
        pages = [] if len(snapshot) <= SMALL_BYTES else list(_named_pages(snapshot))
        known = set() if before is None else set(before.page_names)
        new = {name: page for name, page in pages if name not in known}
        for name, page in new.items():
            self._pages.updateValue((name,), (bytes(page),))
        for name in known.difference(name for name, _ in pages):
            self._pages.removeKey((name,))
        content = b"".join([_PAGED, *(name for name, _ in pages)]) if pages else snapshot
        self._value.update((metadata, content))
        if pages:
            write_copy(content, snapshot, b"" if before is None else before.content)
        written = len(content) + sum(map(len, new.values()))
        cost = WriteCost(len(snapshot), len(pages) or 1, len(new) if pages else 1, written)
        return StoredState(metadata, content), cost

    def write_metadata(self, before: StoredState, metadata: str) -> StoredState:
        """Replace the metadata alone: the snapshot stays."""
        self._value.update((metadata, before.content))
        return StoredState(metadata, before.content)


def _named_pages(snapshot: bytes) -> Iterator[tuple[bytes, memoryview]]:
    view, start = memoryview(snapshot), 0
    for end in page_ends(snapshot):
        page = view[start:end]
        yield hashlib.sha256(page).digest()[:_NAME_BYTES], page
        start = end


def page_ends(snapshot: bytes) -> list[int]:
    """Return the offsets at which the pages of a snapshot end."""
    words = np.frombuffer(snapshot, np.uint64, len(snapshot) // 8)
    ends = np.empty(len(words) // _LEAST + 1, np.int64)
    offsets: list[int] = (8 * ends[: _cut(words, ends)]).tolist()
    return offsets if offsets and offsets[-1] == len(snapshot) else [*offsets, len(snapshot)]


@compiled
def _cut(words: NDArray[np.uint64], ends: NDArray[np.int64]) -> int:
    """Write the ends of all pages but the last to `ends`, and return their number.

    A cut depends on others only where a page would be too short or too long, so snapshots that continue alike are soon
    cut alike.
    """
    count, first, rolling = 0, 0, np.uint64(0)
    for at in range(words.size):
        # The factor has many ones and zeros; the added one keeps zeros from hashing to zero.
        rolling = (rolling << np.uint64(1)) + (words[at] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        length = at + 1 - first
        if (length >= _LEAST and rolling >> _SHIFT == 0) or length == _MOST:
            first = at + 1
            ends[count] = first
            count += 1
    return count
