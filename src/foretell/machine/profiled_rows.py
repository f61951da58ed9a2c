"""The rows of a template of a single step: an index finds the profiles of rows that an event satisfies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar
from foretell.filter.column import Column
from foretell.filter.row_profiles import UNSATISFIABLE, RowProfiles
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.matches.indexed_rows import IndexedRows, ListedRows, RowsOfProfiles
from foretell.machine.template_rows import joined_column, read_rows
from foretell.plan.lower.single_step import SingleStepPlan


@dataclass
class ProfiledRows:
    """The rows in the order in which they were added, with the columns that an index or the results need.

    `since` has the position of the first event that counts for each row, for snapshots. `found` are the profiles of the
    present batch: intervals of matches are intervals of this list.
    """

    plan: SingleStepPlan
    columns: dict[str, Column]
    ids: NDArray[np.object_]
    since: Ints
    served: ClassVar[str | None] = "profiles"  # as snapshots say that these serve all rows
    profiles: RowProfiles = field(init=False)
    found: Ints = field(default_factory=lambda: np.zeros(0, np.int64), init=False)

    def __post_init__(self) -> None:
        self.profiles = RowProfiles(self.plan.template.profile, self.columns, len(self.ids))
        self._profile_of = self.profiles.numbers
        self._renew()

    @classmethod
    def of(cls, plan: SingleStepPlan, table: TemplateTable, strings: StringDictionary, since: int) -> ProfiledRows:
        """The rows of a table."""
        return cls(plan, *read_rows(plan.parameters, table, strings, since))

    @property
    def nbytes(self) -> int:
        """The memory of the index and of what it refers to."""
        own = self.ids.nbytes + self.since.nbytes + self._profile_of.nbytes
        own += self._rows.begin.nbytes + self._rows.sizes.nbytes + self._rows.order.nbytes
        return own + self.profiles.nbytes + sum(c.values.nbytes + c.nulls.nbytes for c in self.columns.values())

    @property
    def indexed(self) -> ListedRows:
        """The rows of the matches of the present batch."""
        return ListedRows(self._base, self.found, self._rows)

    def values(self, rows: Ints) -> Mapping[str, Column]:
        """The parameters of rows that matches belong to."""
        return {name: column.take(rows) for name, column in self.columns.items()}

    def add(self, table: TemplateTable, strings: StringDictionary, since: int) -> None:
        """Adds rows that count from an event on."""
        columns, ids, since_ = read_rows(self.columns, table, strings, since)
        self.columns = {name: joined_column(column, columns[name]) for name, column in self.columns.items()}
        self.ids, self.since = np.concatenate([self.ids, ids]), np.concatenate([self.since, since_])
        self._profile_of = np.concatenate([self._profile_of, self.profiles.add(columns, len(ids))])
        self._renew()

    def remove(self, ids: Iterable[Scalar]) -> None:
        """Removes rows."""
        removed = set(ids)
        kept = np.array([row_id not in removed for row_id in self.ids.tolist()], np.bool_)
        self.profiles.remove(self._profile_of[~kept])
        self.columns = {n: Column(c.kind, c.values[kept], c.nulls[kept]) for n, c in self.columns.items()}
        self.ids, self.since, self._profile_of = self.ids[kept], self.since[kept], self._profile_of[kept]
        self._renew()

    def _renew(self) -> None:
        """Finds the rows of each profile. Results that nobody has read yet keep those of before."""
        own = np.flatnonzero(self._profile_of != UNSATISFIABLE)
        profiles = self._profile_of[own]
        order = own if (profiles[1:] > profiles[:-1]).all() else own[np.argsort(profiles, kind="stable")]
        sizes = np.bincount(profiles, minlength=len(self.profiles))
        self._rows = RowsOfProfiles(np.cumsum(sizes) - sizes, sizes, order, bool((sizes <= 1).all()))
        self._base = IndexedRows(self.ids)
