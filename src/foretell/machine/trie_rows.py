"""The rows of a template whose partial matches have rows in common until these differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from foretell.arrays import Appendable, Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.filter.column import Column
from foretell.filter.optimisations import chosen_optimisations
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.row_profiles import UNSATISFIABLE, RowProfiles, distinct_values
from foretell.filter.row_trie import RowTrie
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.kernels import layout
from foretell.machine.kernels.structs import RowBatch, Values
from foretell.machine.matches.indexed_rows import IndexedRows
from foretell.machine.row_intervals import Move, interval_move
from foretell.machine.row_store import RowStore
from foretell.plan.lower.row_levels import RowLevels
from foretell.storage.recorded_values import array, require

#: The values of a snapshot that an error names.
_RECORDED = "the profiles of template rows"


@dataclass
class TrieRows:
    """Rows by their profiles at the sites of a pattern, and by other parameters, in the order in which runs meet them.

    `parameters` are the columns of the table, as code numbers them.
    """

    store: RowStore
    levels: RowLevels
    parameters: Sequence[str] = ()
    recorded: Sequence[Ints] | None = None  # the profiles of each site in a snapshot, by which they are ordered
    served: ClassVar[str | None] = "runs"  # as snapshots say that these serve all rows
    _indexed: IndexedRows | None = field(default=None, init=False)
    _is_current: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        orders: Sequence[Ints | None] = self.recorded or [None] * len(self.levels.sites)
        self.sites = [
            RowProfiles(site, self.store.columns, len(self.store), order)
            for site, order in zip(self.levels.sites, orders, strict=True)
        ]
        self._profiles = [Appendable(np.int64) for _ in self.sites]
        for site, profiles in zip(self.sites, self._profiles, strict=True):
            profiles.append(site.numbers)
        self._waits = self.levels.waits
        if not chosen_optimisations().instances:
            self._waits = np.full_like(self._waits, layout.NONE)
        self._sorted_rows, self._renumbered = np.zeros(0, np.int64), False
        self._index()

    @classmethod
    def of(
        cls,
        levels: RowLevels,
        names: Sequence[str],
        table: TemplateTable,
        strings: StringDictionary,
        since: int,
        recorded: Sequence[Ints] | None = None,
    ) -> TrieRows:
        """The rows of a table; `names` are the columns that are needed."""
        store = RowStore.of(table, {name: table.types[name] for name in names}, strings, since)
        return cls(store, levels, list(table.types), recorded)

    @property
    def sorted_rows(self) -> Ints:
        """The numbers of the rows in the order of the trie."""
        return self._sorted_rows

    @property
    def indexed(self) -> IndexedRows:
        """The rows in the order of the trie."""
        if self._indexed is None:
            since = self.store.since
            self._indexed = IndexedRows(self.store.ids.array, self._sorted_rows, since if since.any() else None)
        return self._indexed

    def values(self, places: Ints) -> Mapping[str, Column]:
        """The parameters of the rows at places in the order of the trie."""
        return self._values(self._sorted_rows[places])

    def _values(self, rows: Ints) -> dict[str, Column]:
        return {name: column.take(rows) for name, column in self.store.columns.items()}

    @property
    def nbytes(self) -> int:
        """The memory of the rows and their profiles."""
        own = sum(profiles.nbytes for profiles in self._profiles) + sum(site.nbytes for site in self.sites)
        rows = self.store.nbytes + self._sorted_rows.nbytes + self._sorted_profiles.nbytes
        return rows + own + self.trie.nbytes

    def figures(self, strings: StringDictionary) -> tuple[str, ...]:
        """How events find profiles at each site, for `explain`."""
        return tuple(site.figures(strings) for site in self.sites)

    # ── rows that come and go ──

    def add(self, table: TemplateTable, strings: StringDictionary, since: int) -> None:
        """Adds rows that count from an event on."""
        rows = self.store.add(table, strings, since)
        added = self._values(rows)
        for site, profiles in zip(self.sites, self._profiles, strict=True):
            profiles.append(site.add(added, len(rows)))
        self._is_current = False

    def remove(self, ids: ArrowArray) -> None:
        """Removes rows."""
        rows = self.store.remove(ids)
        for site, profiles in zip(self.sites, self._profiles, strict=True):
            site.remove(profiles.array[rows])
        self._is_current = False

    def refresh(self) -> Move | None:
        """Builds the trie again if rows have come or gone since; before the next batch, so that many changes cost it
        once. None where nothing moves."""
        if self._is_current:
            return None
        numbers = np.arange(len(self.store))
        if self.store.crowded:
            self._renumber()
            numbers = np.where(self.store.alive, np.cumsum(self.store.alive) - 1, -1)
            self.store = self.store.compacted()
        before, self._indexed, self._is_current = numbers[self._sorted_rows], None, True
        self._index()
        place = np.full(len(self.store) + 1, -1, np.int64)  # a row without a number is -1, the last place
        place[self._sorted_rows] = np.arange(len(self._sorted_rows))
        return interval_move(place[before])

    def _renumber(self) -> None:
        """Gives the rows that are there the numbers from 0 on: others are left out."""
        for number, profiles in enumerate(self._profiles):
            self._profiles[number] = Appendable(np.int64)
            self._profiles[number].append(profiles.array[self.store.numbers])
        self._renumbered = True

    def _known_order(self, rows: Ints) -> Ints:
        """The places among these rows of those that are in the trie, in its order; none where they have new numbers."""
        if self._renumbered:
            self._renumbered = False
            return np.zeros(0, np.int64)
        place = np.empty(len(self.store), np.int64)
        place[rows] = np.arange(len(rows))
        return place[self._sorted_rows[self.store.alive[self._sorted_rows]]]

    def _index(self) -> None:
        """Builds the trie of the rows that are there. Rows that stay keep their order."""
        rows, columns = self.store.numbers, self.store.columns
        numbers = [
            self._profiles[level.site].array[rows]
            if level.site >= 0
            else distinct_values([columns[name].take(rows) for name in level.parameters])
            for level in self.levels.levels
        ]
        self.trie = RowTrie(numbers, len(rows), self._known_order(rows))
        self._sorted_rows = rows[self.trie.sorted_rows]
        own = [profiles.array[self._sorted_rows] for profiles in self._profiles]
        self._sorted_profiles = np.full((max(1, len(own)), max(1, len(rows))), UNSATISFIABLE, np.int32)
        for site, profiles in enumerate(own):
            self._sorted_profiles[site, : len(profiles)] = profiles
        self._begins = np.full(1, -1, np.int32)
        if self._first_site >= 0:
            self._begins = self.trie.first_of(numbers[0], len(self.sites[self._first_site]))
        self.__dict__.pop("parameter_values", None)

    @property
    def _first_site(self) -> int:
        """The site whose profiles are the first level; -1 where that has parameters."""
        return self.levels.levels[0].site if self.levels.levels else -1

    # ── a batch ──

    def batch(self, found: Sequence[ProfileMatches], begin: int, events: int) -> RowBatch:
        """The rows as kernels take them, with the profiles that some of so many events satisfy at each site, from event
        `begin` on."""
        first = np.cumsum([0, *(len(matches.profiles) for matches in found)])
        offsets = np.zeros((max(1, len(found)), events + 1), np.int64)
        for site, matches in enumerate(found):
            stop = begin + len(matches)
            offsets[site, :begin], offsets[site, stop:] = first[site], first[site] + matches.offsets[-1]
            offsets[site, begin : stop + 1] = first[site] + matches.offsets
        satisfied = np.concatenate([np.zeros(0, np.int64), *(matches.profiles for matches in found)])
        trie, site = self.trie, self._first_site
        own = found[site].profiles if site >= 0 and found else satisfied[:0]
        starts = self._begins.take(own)
        return RowBatch(
            total=len(self._sorted_rows),
            offsets=offsets,
            satisfied=satisfied,
            profiles=self._sorted_profiles,
            ends=trie.ends,
            ranks=trie.ranks,
            begins=self._begins,
            first=int(first[site]) if site >= 0 and found else 0,
            starts=starts,
            stops=trie.ends[0].take(starts, mode="clip"),
            descents=self.levels.descents,
            waits=self._waits,
        )

    @cached_property
    def parameter_values(self) -> Values:
        """The parameters that code reads: a row for each row of the table in the order of the trie."""
        names = {name for level in self.levels.levels if level.site < 0 for name in level.parameters}
        count = len(self._sorted_rows)
        words = np.zeros((max(1, count) if names else 1, max(1, len(self.parameters))), np.int64)
        nulls = np.ones(words.shape, np.uint8)
        for number, name in enumerate(self.parameters):
            if name in names:
                column = self.store.columns[name].take(self._sorted_rows)
                words[:count, number] = np.ascontiguousarray(column.values).view(np.int64)
                nulls[:count, number] = column.nulls
        return Values(words.view(np.float64), words, nulls)

    # ── snapshots ──

    def state(self) -> list[Ints]:
        """The profile of each row at each site: their order is that of the trie, to which partial matches refer."""
        return [profiles.array[self.store.numbers] for profiles in self._profiles]


def recorded_profiles(state: Any, sites: int, rows: int) -> list[Ints]:
    """The profiles of a snapshot."""
    require(isinstance(state, list) and len(state) == sites, _RECORDED)
    return [array(profiles, np.int64, (rows,), _RECORDED) for profiles in state]
