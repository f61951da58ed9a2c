"""The selection of a template's rows, as executors see it: which events select any."""

from __future__ import annotations

from typing import Protocol

from foretell.arrays import Ints
from foretell.filter.predicates import EventColumns

#: The bound for the rows that runs of a snapshot carry: that they carry some is all that counts.
MOST_ROWS = 1 << 32


class RowSelection(Protocol):
    def starts(self, events: EventColumns) -> Ints:
        """A number for each event: 0 where it selects no row, so that no match begins with it."""
