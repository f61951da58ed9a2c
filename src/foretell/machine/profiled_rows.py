"""The rows of a template of a single step: an index finds the profiles of rows that an event satisfies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from foretell.arrays import Appendable, Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.filter.column import Column
from foretell.filter.row_profiles import UNSATISFIABLE, RowProfiles
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.matches.indexed_rows import ListedRows, RowsOfProfiles
from foretell.machine.row_store import RowStore
from foretell.plan.lower.single_step import SingleStepPlan


@dataclass
class ProfiledRows:
    """The rows with the columns that an index or the results need. `found` are the profiles of the present batch:
    intervals of matches are intervals of this list.

    Adding and removing rows takes time for these rows alone.
    """

    plan: SingleStepPlan
    store: RowStore
    served: ClassVar[str | None] = "profiles"  # as snapshots say that these serve all rows
    profiles: RowProfiles = field(init=False)
    found: Ints = field(default_factory=lambda: np.zeros(0, np.int64), init=False)

    def __post_init__(self) -> None:
        self._build()

    @classmethod
    def of(cls, plan: SingleStepPlan, table: TemplateTable, strings: StringDictionary, since: int) -> ProfiledRows:
        """The rows of a table."""
        types = {name: table.types[name] for name in plan.parameters}
        return cls(plan, RowStore.of(table, types, strings, since))

    @property
    def nbytes(self) -> int:
        """The memory of the rows and of the index."""
        own = self._profile_of.nbytes + self._begin.nbytes + self._sizes.nbytes + self._order.nbytes
        return own + self.store.nbytes + self.profiles.nbytes

    def figures(self, strings: StringDictionary) -> tuple[str, ...]:
        """How events find profiles, for `explain`."""
        return (self.profiles.figures(strings),)

    @property
    def indexed(self) -> ListedRows:
        """The rows of the matches of the present batch."""
        rows = RowsOfProfiles(self._begin.array, self._sizes.array, self._order.array, self._single)
        return ListedRows(self.store.ids.array, self.found, rows)

    def values(self, places: Ints) -> Mapping[str, Column]:
        """The parameters of rows that matches belong to."""
        return {name: column.take(places) for name, column in self.store.columns.items()}

    def _build(self) -> None:
        """Finds the profiles of all rows anew."""
        self._profile_of, self._begin, self._sizes, self._order = (Appendable(np.int64) for _ in range(4))
        self._single = True
        self.profiles = RowProfiles(self.plan.template.profile, self.store.columns, len(self.store))
        self._enter(self.profiles.numbers, 0)
        gone = np.flatnonzero(~self.store.alive)
        if len(gone):
            self._leave(gone)

    def add(self, table: TemplateTable, strings: StringDictionary, since: int) -> None:
        """Adds rows that count from an event on."""
        rows = self.store.add(table, strings, since)
        if len(rows):
            known = len(self.profiles)
            self._enter(self.profiles.add(self.values(rows), len(rows)), known)

    def remove(self, ids: ArrowArray) -> None:
        """Removes rows."""
        self._leave(self.store.remove(ids))
        if self.store.crowded:
            self.store = self.store.compacted()
            self._build()

    def _enter(self, profiles: Ints, known: int) -> None:
        """Notes the profiles of the rows added last: of a number from `known` on are those that are new."""
        first = len(self._profile_of.array)
        self._profile_of.append(profiles)
        own = np.flatnonzero(profiles != UNSATISFIABLE)
        by = own[np.argsort(profiles[own], kind="stable")]
        sizes = np.bincount(profiles[by] - known, minlength=len(self.profiles) - known)
        self._begin.append(len(self._order.array) + np.cumsum(sizes) - sizes)
        self._sizes.append(sizes)
        self._order.append(first + by)
        self._single &= bool((sizes <= 1).all())

    def _leave(self, rows: Ints) -> None:
        """Lets rows go. Results that nobody has read yet keep those of before."""
        profiles = self._profile_of.array[rows]
        self.profiles.remove(profiles)
        several = np.unique(profiles[(profiles != UNSATISFIABLE)])
        several = several[self._sizes.array[several] > 1]
        if len(several):
            self._sizes, self._order = self._sizes.copy(), self._order.copy()
            begin, sizes, order = self._begin.array, self._sizes.array, self._order.array
            for profile in several.tolist():
                own = slice(begin[profile], begin[profile] + sizes[profile])
                kept = order[own][self.store.alive[order[own]]]
                order[own.start : own.start + len(kept)] = kept
                sizes[profile] = len(kept)
