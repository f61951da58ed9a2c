"""The rows of a template whose partial matches have rows in common until these differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.ingest.template_tables import TemplateTable
from foretell.filter.column import Column
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.row_profiles import RowProfiles, distinct_values
from foretell.filter.row_trie import RowTrie
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.kernels.structs import RowBatch, Values
from foretell.machine.template_rows import SortedRows, read_rows
from foretell.plan.lower.row_levels import RowLevels
from foretell.storage.recorded_values import array, require

#: A profile that the snapshot of a row has been given.
_RECORDED = "the profiles of template rows"


@dataclass
class TrieRows(SortedRows):
    """Rows by their profiles at the sites of a pattern, and by other parameters, in the order in which runs meet them.

    `parameters` are the columns of the table, as code numbers them.
    """

    levels: RowLevels = field(kw_only=True)
    parameters: Sequence[str] = ()
    recorded: Sequence[Ints] | None = None  # the profiles of each site in a snapshot, by which they are ordered
    served: ClassVar[str | None] = "runs"  # as snapshots say that these serve all rows

    def __post_init__(self) -> None:
        orders: Sequence[Ints | None] = self.recorded or [None] * len(self.levels.sites)
        self.sites = [
            RowProfiles(site, self.columns, len(self.ids), order)
            for site, order in zip(self.levels.sites, orders, strict=True)
        ]
        self._profiles = [site.numbers for site in self.sites]
        self._index()

    @classmethod
    def of(
        cls,
        levels: RowLevels,
        names: Sequence[str],
        parameters: Sequence[str],
        table: TemplateTable,
        strings: StringDictionary,
        since: int,
        recorded: Sequence[Ints] | None = None,
    ) -> TrieRows:
        """The rows of a table; `names` are the columns that are needed."""
        rows = read_rows(names, table, strings, since)
        return cls(*rows, levels=levels, parameters=parameters, recorded=recorded)

    @property
    def sorted_rows(self) -> Ints:
        return self.trie.sorted_rows

    @property
    def nbytes(self) -> int:
        own = sum(profiles.nbytes for profiles in self._profiles) + sum(site.nbytes for site in self.sites)
        return super().nbytes + own + self.trie.nbytes + self._sorted_profiles.nbytes

    @property
    def summary(self) -> tuple[str, ...]:
        """How events find profiles at each site, for `explain`."""
        return tuple(site.summary for site in self.sites)

    def _note(self, added: Mapping[str, Column], kept: Flags | None = None) -> None:
        for number, (site, profiles) in enumerate(zip(self.sites, self._profiles, strict=True)):
            if kept is None:
                new = site.add(added, len(self.ids) - len(profiles))
                self._profiles[number] = np.concatenate([profiles, new])
            else:
                site.remove(profiles[~kept])
                self._profiles[number] = profiles[kept]

    def _index(self) -> None:
        numbers = [
            self._profiles[level.site]
            if level.site >= 0
            else distinct_values([self.columns[name] for name in level.parameters])
            for level in self.levels.levels
        ]
        self.trie = RowTrie(numbers, len(self.ids))
        own = [profiles[self.sorted_rows] for profiles in self._profiles]
        self._sorted_profiles = np.full((max(1, len(own)), max(1, len(self.ids))), -1, np.int32)
        for site, profiles in enumerate(own):
            self._sorted_profiles[site, : len(profiles)] = profiles
        first = self._first_site
        self._begins = np.zeros(1, np.int32)
        if first >= 0:
            self._begins = self.trie.first_of(numbers[0], len(self.sites[first]))
        self.__dict__.pop("parameter_values", None)

    @property
    def _first_site(self) -> int:
        """The site whose profiles are the first level; -1 where that has parameters."""
        return self.levels.levels[0].site if self.levels.levels else -1

    # ── a batch ──

    def matches(
        self, site: int, events: EventColumns, strings: StringDictionary, wanted: Flags | None
    ) -> ProfileMatches:
        """The profiles of a site that each event satisfies."""
        return ProfileMatches.one_after_another(self.sites[site].matches(events, strings, wanted))

    def batch(self, found: Sequence[ProfileMatches], events: int) -> RowBatch:
        """The rows as kernels take them, with the profiles of each site that the events of a batch satisfy."""
        first = np.cumsum([0, *(len(matches.profiles) for matches in found)])
        offsets = np.zeros((max(1, len(found)), events + 1), np.int64)
        for site, matches in enumerate(found):
            offsets[site] = matches.offsets + first[site]
        satisfied = np.concatenate([np.zeros(0, np.int64), *(matches.profiles for matches in found)])
        trie, site = self.trie, self._first_site
        own = found[site].profiles if site >= 0 and found else satisfied[:0]
        starts = self._begins.take(own)
        return RowBatch(
            total=len(self.ids),
            offsets=offsets,
            satisfied=satisfied,
            profiles=self._sorted_profiles,
            ends=trie.ends,
            ranks=trie.ranks,
            begins=self._begins,
            starts=starts,
            stops=trie.ends[0].take(starts, mode="clip"),
            descents=self.levels.descents,
        )

    @cached_property
    def parameter_values(self) -> Values:
        """The parameters that code reads: a row for each row of the table in the order of the trie."""
        names = {name for level in self.levels.levels if level.site < 0 for name in level.parameters}
        rows = max(1, len(self.ids)) if names else 1
        words = np.zeros((rows, max(1, len(self.parameters))), np.int64)
        nulls = np.ones(words.shape, np.uint8)
        for number, name in enumerate(self.parameters):
            if name in names:
                column = self.columns[name].take(self.sorted_rows)
                words[: len(self.ids), number] = np.ascontiguousarray(column.values).view(np.int64)
                nulls[: len(self.ids), number] = column.nulls
        return Values(words.view(np.float64), words, nulls)

    # ── snapshots ──

    def state(self) -> list[Ints]:
        """The profile of each row at each site: their order is that of the trie, to which partial matches refer."""
        return self._profiles


def recorded_profiles(state: Any, sites: int, rows: int) -> list[Ints]:
    """The profiles of a snapshot."""
    require(isinstance(state, list) and len(state) == sites, _RECORDED)
    return [array(profiles, np.int64, (rows,), _RECORDED) for profiles in state]
