"""Which streams from outside each statement reads, directly or through others: they are what it goes by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from foretell.language.checked import CheckedStatement


class Clocks:
    """Gone through, it gives each set of streams that some statement reads, once."""

    def __init__(self, statements: Iterable[CheckedStatement] = ()) -> None:
        self._read: dict[str, frozenset[str]] = {}
        self._counts: Counter[frozenset[str]] = Counter()
        for statement in statements:
            self.add(statement)

    def __iter__(self) -> Iterator[frozenset[str]]:
        return iter(self._counts)

    def add(self, statement: CheckedStatement) -> None:
        """A statement after those it reads."""
        names = map(str, statement.tree.streams)
        streams = frozenset().union(*(self._read.get(name, frozenset({name})) for name in names))
        self._read[statement.name] = streams
        self._counts[streams] += 1

    def remove(self, name: str) -> None:
        streams = self._read.pop(name)
        self._counts[streams] -= 1
        if not self._counts[streams]:
            del self._counts[streams]
