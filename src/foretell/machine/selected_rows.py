"""The rows of a template that the first event of a match selects, while rows are added and removed.

An index (filter.template_index) finds the rows of an event. A run does not carry them: its first event is in the event
buffer, and selects the same rows when the match is complete. So nothing that lives has to follow when rows come and go.

Rows that are added are an index of their own, made before the next batch: a generation. Each is at least a few times
as large as the next; those that are not become one, so that a row is sorted a few times, however many come after it.
Removed rows stay in their generation, and are left out where matches are made; when they are most, all is made anew.
Each row has the position of the first event that counts for it, and matches that began earlier do not belong to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from foretell.arrays import Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT, TemplateIndex
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.matches.indexed_rows import IndexedRows
from foretell.machine.row_store import RowStore
from foretell.plan.template_selection import TemplateSelection

#: A generation has at least so many times the rows of the next.
_GROWTH = 4

#: So many rows of matches are listed one by one, or as many as there are.
MOST_LISTED = 65_536

_COUNT = (1 << SHIFT) - 1


@dataclass
class SelectedRows:
    """The rows that one executor serves; those with numbers below `_indexed_until` are in a generation."""

    selection: TemplateSelection
    store: RowStore
    strings: StringDictionary
    served: ClassVar[str | None] = None  # as snapshots say that these serve all rows
    _generations: list[TemplateIndex] = field(default_factory=list)
    _indexed_until: int = 0
    _unmarked: bool = True  # whether no row of a generation is removed
    _plain: IndexedRows | None = None

    @classmethod
    def of(
        cls, selection: TemplateSelection, table: TemplateTable, strings: StringDictionary, since: int
    ) -> SelectedRows:
        """The rows of a table that one executor serves."""
        types = {c.parameter: table.types[c.parameter] for c in selection.comparisons}
        return cls(selection, RowStore.of(table, types, strings, since), strings)

    @property
    def nbytes(self) -> int:
        """The memory of the rows and their index."""
        return self.store.nbytes + sum(generation.nbytes for generation in self._generations)

    def figures(self, strings: StringDictionary) -> tuple[str, ...]:
        """How events find rows, for `explain`."""
        self.refresh()
        return tuple(generation.summary for generation in self._generations)

    # ── rows that come and go ──

    def add(self, table: TemplateTable, strings: StringDictionary, since: int) -> None:
        """Adds rows that count from an event on."""
        self.store.add(table, strings, since)

    def remove(self, ids: ArrowArray) -> None:
        """Removes the rows with these ids."""
        self.store.remove(ids)
        self._unmarked, self._plain = False, None
        if self.store.crowded:
            self.store = self.store.compacted()
            self._generations, self._indexed_until, self._unmarked = [], 0, True

    def refresh(self) -> None:
        """Indexes the rows that were added since the last batch."""
        if self._indexed_until == len(self.store):
            return
        new = np.arange(self._indexed_until, len(self.store))
        self._generations.append(self._index(new[self.store.alive[new]]))
        self._indexed_until, self._plain = len(self.store), None
        first, length = len(self._generations) - 1, len(self._generations[-1])
        while first and len(self._generations[first - 1]) < _GROWTH * length:
            first -= 1
            length += len(self._generations[first])
        if first < len(self._generations) - 1:
            self._merge(first)

    def _merge(self, first: int) -> None:
        """Makes the generations from one on one, without the rows that were removed."""
        rows = np.concatenate([generation.sorted_rows for generation in self._generations[first:]])
        self._generations[first:] = [self._index(np.sort(rows[self.store.alive[rows]]))]
        self._plain, self._unmarked = None, self._unmarked or not first

    def _index(self, rows: Ints) -> TemplateIndex:
        selection = self.selection
        return TemplateIndex(selection.comparisons, self.store.columns, list(selection.floats), rows)

    # ── events ──

    def starts(self, events: EventColumns) -> Ints:
        """A number for each event: 0 where it selects no row, so that no match begins with it. It may be another where
        all rows that it selects have been removed."""
        found = np.zeros(len(events), np.int64)
        for generation in self._generations:
            found |= generation.rows(events, self.strings)
        return np.minimum(found, 1)

    def of_matches(self, first: Ints, buffer: EventBuffer) -> tuple[Ints, IndexedRows]:
        """The rows of matches that begin with the events at these positions: an interval of rows for each."""
        if not len(first):
            return first, IndexedRows(self.store.ids.array, first)
        began, which = np.unique(first, return_inverse=True)
        events = buffer.only(began).whole.events
        found = [generation.rows(events, self.strings) for generation in self._generations]
        if len(found) == 1 and self._unmarked:
            return found[0][which], self._in_order
        if sum(int((own & _COUNT).sum()) for own in found) > max(MOST_LISTED, len(self.store)):
            # Listing them would take more than making one generation of all.
            self._merge(0)
            return self._generations[0].rows(events, self.strings)[which], self._in_order
        lists, rows = self._listed(found, began)
        return lists[which], IndexedRows(self.store.ids.array, rows)

    @property
    def _in_order(self) -> IndexedRows:
        """The rows in the order of the only generation, which has none that is removed."""
        if self._plain is None:
            since = self.store.since if self.store.since.any() else None
            self._plain = IndexedRows(self.store.ids.array, self._generations[0].sorted_rows, since)
        return self._plain

    def _listed(self, found: list[Ints], began: Ints) -> tuple[Ints, Ints]:
        """The rows of events at these positions one after the other, and the interval of each event's own; `found` has
        the intervals in each generation."""
        event, row = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for generation, intervals in zip(self._generations, found, strict=True):
            counts = intervals & _COUNT
            ends = np.cumsum(counts)
            event.append(np.repeat(np.arange(len(began)), counts))
            place = np.arange(ends[-1]) + np.repeat((intervals >> SHIFT) - (ends - counts), counts)
            row.append(generation.sorted_rows[place])
        of, rows = np.concatenate(event), np.concatenate(row)
        keep = self.store.alive[rows] & (self.store.since[rows] <= began[of])
        of, rows = of[keep], rows[keep]
        counts = np.bincount(of, minlength=len(began))
        return ((np.cumsum(counts) - counts) << SHIFT) + counts, rows[np.argsort(of, kind="stable")]
