"""The conditions of a FOR EACH correlator, for pairs of an event and the values of rows.

Comparisons with parameters that every step has select the rows of an event by the template index. What is left is
evaluated for each pair of an event and one of these rows: column by column, for a limited number of pairs at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.correlate.parameter_sets import ParameterSets
from foretell.events.types import Type
from foretell.filter.column import Column, may_be_null, no_nulls
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT, TemplateIndex
from foretell.language import tree
from foretell.language.correlator_events import StepConditions, column_of
from foretell.machine.matches.results import ResultBatch
from foretell.plan.template_selection import TemplateSelection, comparison_of

#: So many pairs of an event and a row are evaluated at once, whose columns stay in the cache; fewer where a machine has
#: thousands of steps, of which each is evaluated for each pair.
MOST_PAIRS, _MOST_CELLS = 1 << 17, 1 << 23


class PairedEvents(NamedTuple):
    """Pairs of an event and a set of parameters for which some step is satisfied: by step, whether it is."""

    event: Ints
    parameters: Ints
    satisfied: NDArray[np.uint8]


@dataclass
class RowConditions:
    """`steps` are those of the machine, in its order. `selection` has the comparisons that all of them have."""

    steps: Sequence[str]
    conditions: Mapping[str, StepConditions]
    attributes: Mapping[str, Type]
    time: Type
    selection: TemplateSelection | None

    def __post_init__(self) -> None:
        selected = () if self.selection is None else self.selection.comparisons
        self._by_row = {
            step: [_by_name(c) for c in self.conditions[step].by_row if comparison_of(c) not in selected]
            for step in self.steps
        }
        leaves = [n for own in self.conditions.values() for c in own.by_row for n in c.walk()]
        self._leaves = [n for n in leaves if isinstance(n, tree.Attribute | tree.StreamOf)]
        nodes = [node for conditions in self._by_row.values() for c in conditions for node in c.walk()]
        self._named = {str(node.name) for node in nodes if isinstance(node, tree.Attribute)}
        self._placed = any(isinstance(node, tree.TimeOf | tree.StreamOf) for node in nodes)
        self._index: TemplateIndex | None = None

    def use(self, sets: ParameterSets) -> None:
        """Goes on with these rows."""
        self._index = None
        if self.selection is not None and len(sets):
            self._index = TemplateIndex(
                self.selection.comparisons, sets.by_set, list(self.selection.floats), np.arange(len(sets))
            )

    def pairs(
        self, events: ResultBatch, by: Ints | slice, sets: ParameterSets, strings: StringDictionary
    ) -> Iterator[PairedEvents]:
        """The pairs of the events in the order `by`, some events at a time."""
        if not len(sets):
            return
        columns = self._columns(events, by)
        common = {step: _true(_full(events, step, by)) for step in self.steps}
        for event, parameters in self._candidates(columns, sets, strings):
            satisfied = np.empty((len(self.steps), len(event)), np.uint8)
            paired = self._paired(columns, event, sets, parameters)
            for number, step in enumerate(self.steps):
                holds = common[step][event]
                for condition in self._by_row[step]:
                    holds &= paired.truth(condition, strings)
                satisfied[number] = holds
            kept = np.flatnonzero(satisfied.any(axis=0))
            yield PairedEvents(event[kept], parameters[kept], satisfied[:, kept])

    def _columns(self, events: ResultBatch, by: Ints | slice) -> EventColumns:
        named = {leaf.name: column_of(leaf) for leaf in self._leaves if isinstance(leaf, tree.Attribute)}
        attributes = {name: _full(events, column, by) for name, column in named.items()}
        time = Column(self.time, events.end[by], no_nulls(len(events)))
        streams = [leaf for leaf in self._leaves if isinstance(leaf, tree.StreamOf)]
        stream = _full(events, column_of(streams[0]), by) if streams else time
        return EventColumns(attributes, self.attributes, time, time, stream)

    def _candidates(
        self, events: EventColumns, sets: ParameterSets, strings: StringDictionary
    ) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of an event and a set that the comparisons common to all steps select, in the order of events."""
        count = len(events)
        if self._index is None:
            begin, counts = np.zeros(count, np.int64), np.full(count, len(sets))
            order = np.arange(len(sets))
        else:
            intervals = self._index.rows(events, strings)
            begin, counts, order = intervals >> SHIFT, intervals & ((1 << SHIFT) - 1), self._index.sorted_rows
        ends = np.cumsum(counts)
        starts, pairs = ends - counts, int(ends[-1]) if count else 0
        most = max(1, min(MOST_PAIRS, _MOST_CELLS // len(self.steps)))
        for first in range(0, pairs, most):
            stop = min(pairs, first + most)
            low, high = np.searchsorted(ends, [first, stop - 1], side="right").tolist()
            own = slice(low, high + 1)
            event = np.repeat(np.arange(low, high + 1), np.minimum(ends[own], stop) - np.maximum(starts[own], first))
            yield event, order[np.arange(first, stop) - starts[event] + begin[event]]

    def _paired(self, events: EventColumns, event: Ints, sets: ParameterSets, parameters: Ints) -> EventColumns:
        """The columns of pairs: those that conditions read besides the comparisons of the index."""
        attributes = {name: c.take(event) for name, c in events.attributes.items() if name in self._named}
        values = {f":{name}": column for name, column in sets.by_set.items() if f":{name}" in self._named}
        attributes |= {name: column.take(parameters) for name, column in values.items()}
        types = {**self.attributes, **{name: column.kind for name, column in values.items()}}
        if self._placed:
            time, stream = events.time.take(event), events.stream.take(event)
        else:  # only their length counts
            time = stream = Column(Type.INT, event, no_nulls(len(event)))
        return EventColumns(attributes, types, time, time, stream)


def _true(column: Column) -> Flags:
    return column.values.astype(np.bool_) & ~column.nulls


def _full(events: ResultBatch, name: str, by: Ints | slice) -> Column:
    """A column of the events, which may be of one row where all have the same value."""
    column = events.bindings[name]
    values = np.ascontiguousarray(np.broadcast_to(column.values, len(events))[by])
    if not may_be_null(column.nulls):
        return Column(column.kind, values, no_nulls(len(values)))
    return Column(column.kind, values, np.ascontiguousarray(np.broadcast_to(column.nulls, len(events))[by]))


def _by_name(condition: tree.Expression) -> tree.Expression:
    """A condition with its parameters as attributes of the event."""
    if isinstance(condition, tree.Parameter):
        return tree.Attribute(tree.This(), f":{condition.name}")
    return tree.map_children(condition, _by_name)
