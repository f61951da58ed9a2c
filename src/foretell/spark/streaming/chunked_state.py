"""A shard's state as Spark keeps it: one value while it is small, else pages, of which only those that are new go out.

Where a page ends is said by the content, not by its place: the words before it hash to a number with zeros in front. So
what lies behind something that has grown, or has lost its beginning as a window moved on, is cut where it was, and its
pages are the same as before. (Muthitacharoen, Chen and Mazieres, "A low-bandwidth network file system", SOSP 2001,
section 3.1. The hash that goes along is simpler: each word moves those before it up by a bit, so that it knows 64.)
A page is called by a digest of what it holds. Then a state is the list of its pages' names, and a page that is there
already need not be written, wherever in the state it stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructType

from foretell.errors import InputError
from foretell.jit import compiled

#: Up to so many bytes a state is one value: as pages it would cost more calls and save little.
SMALL = 1 << 18

# In words of eight bytes.
_LEAST, _MOST = 1 << 9, 1 << 13
_SHIFT = np.uint64(64 - 11)  # one word of 2,048 may end a page: they have 20 KB on average

_PAGED = b"FTLPAGES"  # the names of pages follow; a block has a magic word of its own (foretell.storage.blob)
_NAME = 16

_VALUE = StructType().add("about", StringType()).add("engine", BinaryType())
_KEY, _PAGE = StructType().add("name", BinaryType()), StructType().add("page", BinaryType())


@dataclass(frozen=True)
class StoredState:
    """The value of a state: what is said about the block, and the block itself or the names of its pages."""

    about: str
    content: bytes

    @property
    def paged(self) -> bool:
        return self.content.startswith(_PAGED)

    @property
    def names(self) -> list[bytes]:
        """Of all pages, as they stand one after the other."""
        if not self.paged:
            return []
        return [self.content[at : at + _NAME] for at in range(len(_PAGED), len(self.content), _NAME)]


@dataclass(frozen=True)
class WriteCost:
    """How large a state is, in how many pages (a small one is one of them), and how much of it was written."""

    state_bytes: int
    pages: int
    pages_written: int
    bytes_written: int


class ChunkedState:
    """The block of one key: of that which Spark is at."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._value: Any = handle.getValueState("shard", _VALUE)
        self._pages: Any = handle.getMapState("pages", _KEY, _PAGE)

    def read(self) -> StoredState | None:
        found = self._value.get()
        return None if found is None else StoredState(found[0], bytes(found[1]))

    def block(self, written: StoredState) -> bytes:
        if not written.paged:
            return written.content
        pages = {bytes(name): page for (name,), (page,) in self._pages.iterator()}
        names = written.names
        if not pages.keys() >= set(names):
            raise InputError("damaged-snapshot", "the state in the checkpoint lacks some of its pages")
        return b"".join(map(pages.__getitem__, names))

    def write(self, before: StoredState | None, about: str, block: bytes) -> tuple[StoredState, WriteCost]:
        """Puts a block in the place of the one before."""
        pages = [] if len(block) <= SMALL else list(_named(block))
        known = set() if before is None else set(before.names)
        new = {name: page for name, page in pages if name not in known}
        for name, page in new.items():
            self._pages.updateValue((name,), (bytes(page),))
        for name in known.difference(name for name, _ in pages):
            self._pages.removeKey((name,))
        content = b"".join([_PAGED, *(name for name, _ in pages)]) if pages else block
        self._value.update((about, content))
        sent = len(content) + sum(map(len, new.values()))
        cost = WriteCost(len(block), len(pages) or 1, len(new) if pages else 1, sent)
        return StoredState(about, content), cost


def _named(block: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """The pages of a block with their names."""
    view, first = memoryview(block), 0
    for last in cuts(block):
        page = view[first:last]
        yield hashlib.sha256(page).digest()[:_NAME], page
        first = last


def cuts(block: bytes) -> list[int]:
    """Where the pages of a block end."""
    words = np.frombuffer(block, np.uint64, len(block) // 8)
    ends = np.empty(len(words) // _LEAST + 1, np.int64)
    found: list[int] = (8 * ends[: _cut(words, ends)]).tolist()
    return found if found and found[-1] == len(block) else [*found, len(block)]


@compiled
def _cut(words: NDArray[np.uint64], ends: NDArray[np.int64]) -> int:
    """Writes down where pages end, but for the last; how many.

    A cut depends on no other unless a page would be too short or too long, so blocks that go on alike are soon cut
    alike.
    """
    count, first, known = 0, 0, np.uint64(0)
    for at in range(words.size):
        # (A factor of many ones and zeros, and something added, so that zeros do not hash to zero.)
        known = (known << np.uint64(1)) + (words[at] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        length = at + 1 - first
        if (length >= _LEAST and known >> _SHIFT == 0) or length == _MOST:
            first = at + 1
            ends[count] = first
            count += 1
    return count
