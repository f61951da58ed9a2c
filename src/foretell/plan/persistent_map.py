"""A persistent map: immutable, and cheap to extend, because most of a new version is shared with the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: Keys lie in so many buckets, by their hashes. An update copies one bucket: of 10,000 keys about 40.
BUCKETS = 256


class PersistentMap(Mapping[K, V], Generic[K, V]):
    """An immutable mapping in the order of insertion; `updated` and `without` give the next version.

    >>> one = PersistentMap().updated({"a": 1, "b": 2})
    >>> two = one.updated({"a": 3, "c": 4}).without("b")
    >>> dict(one), dict(two)
    ({'a': 1, 'b': 2}, {'a': 3, 'c': 4})
    """

    __slots__ = ("_buckets", "_next", "_size")

    def __init__(
        self, buckets: tuple[Mapping[K, tuple[int, V]], ...] = ({},) * BUCKETS, size: int = 0, following: int = 0
    ) -> None:
        self._buckets, self._size, self._next = buckets, size, following

    def __getitem__(self, key: K) -> V:
        return self._buckets[hash(key) % BUCKETS][key][1]

    def __contains__(self, key: object) -> bool:
        return key in self._buckets[hash(key) % BUCKETS]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        numbered = [(number, key) for bucket in self._buckets for key, (number, _) in bucket.items()]
        return (key for _, key in sorted(numbered, key=lambda entry: entry[0]))

    def updated(self, entries: Mapping[K, V] | Iterable[tuple[K, V]]) -> PersistentMap[K, V]:
        """The map with these entries added or replaced."""
        copied: dict[int, dict[K, tuple[int, V]]] = {}
        size, following = self._size, self._next
        for key, value in entries.items() if isinstance(entries, Mapping) else entries:
            at = hash(key) % BUCKETS
            if at not in copied:
                copied[at] = dict(self._buckets[at])
            known = copied[at].get(key)
            copied[at][key] = (following if known is None else known[0]), value
            size, following = size + (known is None), following + (known is None)
        return PersistentMap(self._with(copied), size, following)

    def without(self, key: K) -> PersistentMap[K, V]:
        """The map without a key that it has."""
        at = hash(key) % BUCKETS
        bucket = dict(self._buckets[at])
        del bucket[key]
        return PersistentMap(self._with({at: bucket}), self._size - 1, self._next)

    def _with(self, copied: Mapping[int, Mapping[K, tuple[int, V]]]) -> tuple[Mapping[K, tuple[int, V]], ...]:
        buckets = list(self._buckets)
        for at, bucket in copied.items():
            buckets[at] = bucket
        return tuple(buckets)
