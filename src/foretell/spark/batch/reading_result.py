"""The result of reading all sources of a batch: what the driver has read, and what the tasks report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from foretell.events.ingest.nulled_values import NulledValues, marker_notes, merge_nulled, unreadable_summary
from foretell.events.ingest.quarantine import QuarantinedEvent, malformed_at, quarantine_summary
from foretell.language.checked import CheckedProgram
from foretell.spark.batch.plan import BatchPlan
from foretell.spark.batch.sources import BatchSource
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.pushdown.quenching import acceptable

Misfit = QuarantinedEvent | NulledValues


@dataclass(frozen=True)
class MisfitOrder:
    """The order in which misfits arrived. What the driver has read, and a frame's rows, are in order already."""

    sources: Mapping[str, BatchSource]

    @cached_property
    def _streams(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.sources)}

    @cached_property
    def _firsts(self) -> dict[tuple[str, str], int]:
        """The arrival number of each file's first row."""
        return {(name, split.path): split.arrival for name, source in self.sources.items() for split in source.splits}

    def place(self, misfit: Misfit) -> tuple[int, int]:
        first = self._firsts.get((misfit.stream, misfit.source))
        return self._streams[misfit.stream], 0 if first is None else first + misfit.row

    def column(self, values: NulledValues) -> tuple[int, int]:
        names = list(self.sources[values.stream].schema.attributes)
        return self._streams[values.stream], names.index(values.column)


@dataclass(frozen=True)
class ReadingResult:
    """Malformed events, by stream, as they arrived; values that were set to NULL, by stream and column; the number of
    events of each stream; notes for the user."""

    bad: tuple[QuarantinedEvent, ...]
    nulled: tuple[NulledValues, ...]
    totals: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    order: MisfitOrder

    @property
    def summary(self) -> tuple[str, ...]:
        """The notes, and what was set to NULL and set aside, for the user."""
        unreadable = unreadable_summary(self.nulled, self.totals)
        return (*self.notes, *unreadable, *quarantine_summary(self.bad, self.totals))

    def refuse_misfits(self) -> None:
        """Raise for the first malformed event, or value that could not be read."""
        misfits: list[Misfit] = [*self.bad, *self.nulled]
        for first in sorted(misfits, key=self.order.place):
            raise malformed_at(first.source, first.row, first.reason)


def collect_reading(
    sources: Mapping[str, BatchSource],
    counts: Mapping[str, int],
    bad: Iterable[QuarantinedEvent],
    nulled: Iterable[NulledValues],
    notes: Iterable[str],
) -> ReadingResult:
    """Add the reports of tasks (the number of events of each stream, malformed events, values that were set to NULL,
    notes) to what the driver has read."""
    order = MisfitOrder(sources)
    loaded = [source.loaded for source in sources.values() if source.loaded is not None]
    all_bad = sorted([*bad, *(event for batch in loaded for event in batch.quarantined)], key=order.place)
    merged = merge_nulled([*nulled, *(values for batch in loaded for values in batch.nulled)], order.place)
    all_nulled = tuple(sorted(merged, key=order.column))
    source_notes = [note for source in sources.values() for note in source.notes]
    aside = {name: 0 if source.loaded is None else len(source.loaded.quarantined) for name, source in sources.items()}
    return ReadingResult(
        tuple(all_bad),
        all_nulled,
        totals=tuple((name, counts.get(name, 0) + aside[name]) for name in sources),
        notes=tuple(dict.fromkeys([*source_notes, *notes, *marker_notes(all_nulled)])),
        order=order,
    )


def lane_counts(
    plan: BatchPlan, checked: CheckedProgram, reported: Sequence[tuple[str, bytes]]
) -> tuple[tuple[str, int | None], ...]:
    """Return the number of lanes of each statement: None where tasks have dropped events, or have only some rows of a
    FOR EACH table and all lanes for them."""
    counts: dict[str, int] = {}
    for name, data in reported:
        counts[name] = counts.get(name, 0) + int(data)
    unknown = {name for group in plan.groups if _drops(plan, group) for name in group.statements}
    return tuple((s.name, None if s.name in unknown else counts.get(s.name)) for s in checked.statements)


def _drops(plan: BatchPlan, group: StatementGroup) -> bool:
    """Return whether tasks may drop events before they reach a group, or several groups share its lanes."""
    statements = plan.statements_of(group)
    readers = [[s for s in statements if stream in map(str, s.tree.streams)] for stream in group.columns]
    quenched = any(all(acceptable(s, plan.identified) is not None for s in of_stream) for of_stream in readers)
    return group.table_slice.count > 1 or (quenched and bool(group.keys))
