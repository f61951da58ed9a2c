"""The newest notifications, numbered, in bounded memory.

Forecasts may be many times as many as matches, so each of the two has a ring of its own: neither pushes the other out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any

from foretell.records import record

#: So many notifications other than forecasts are kept, and so many forecasts.
MOST_ROWS, MOST_FORECASTS = 5_000, 2_000

Row = dict[str, Any]


@record
class MissedRows:
    """Rows after a number, oldest first, and how many more there were."""

    rows: list[Row]
    dropped: int
    last: int


class NotificationLog:
    """Not safe for threads by itself: the recorder has the lock."""

    def __init__(self, first: int = 1) -> None:
        self.next = first
        self._first = first
        self._others: deque[Row] = deque(maxlen=MOST_ROWS)
        self._forecasts: deque[Row] = deque(maxlen=MOST_FORECASTS)

    def add(self, rows: Sequence[Row], count: int, received: str) -> None:
        """Add the last `rows` of `count` new notifications."""
        self.next += count - len(rows)
        for row in rows:
            numbered = {"number": self.next, "received": received, "estimate": None, **row}
            self.next += 1
            (self._forecasts if row["kind"] == "forecast" else self._others).append(numbered)

    def after(self, number: int, most: int) -> MissedRows:
        """The newest rows after a number, at most so many."""
        newest = list(islice(self._merged(), most))
        rows = [row for row in newest if row["number"] > number][::-1]
        last = self.next - 1
        missed = last - max(number, self._first - 1)
        return MissedRows(rows, max(0, missed - len(rows)), max(last, number))

    def page(
        self, limit: int, before: int | None, statements: Collection[str], kinds: Collection[str]
    ) -> tuple[list[Row], bool]:
        """The newest rows before a number, of some statements and kinds, and whether there are more."""
        found: list[Row] = []
        for row in self._merged():
            if before is not None and row["number"] >= before:
                continue
            if (not statements or row["subscription"] in statements) and (not kinds or row["kind"] in kinds):
                if len(found) == limit:
                    return found, True
                found.append(row)
        return found, False

    def _merged(self) -> Iterable[Row]:
        """All rows, newest first."""
        first, second = reversed(self._others), reversed(self._forecasts)
        one_row, other_row = next(first, None), next(second, None)
        while one_row is not None or other_row is not None:
            if other_row is None or (one_row is not None and one_row["number"] > other_row["number"]):
                assert one_row is not None
                yield one_row
                one_row = next(first, None)
            else:
                yield other_row
                other_row = next(second, None)
