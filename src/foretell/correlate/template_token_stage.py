"""The tokens of a CORRELATE statement that is FOR EACH row of a table.

Rows with equal values share their machines, and a token goes to each of them. The hidden subscription finds the events
that may satisfy a step for some row, once for all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.correlate.pair_lanes import PairLanes
from foretell.correlate.parameter_sets import ParameterSets
from foretell.correlate.row_conditions import RowConditions
from foretell.correlate.token_stage import TokenStage
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Type
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedSubscription
from foretell.language.correlator_events import StepConditions, step_conditions
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.plan.expressions import event_type
from foretell.plan.template_selection import Comparison, TemplateSelection, comparison_of
from foretell.storage.recorded_values import indices


class TemplateTokenStage(TokenStage):
    def __init__(self, correlator: CheckedCorrelator, table: TemplateTable) -> None:
        super().__init__(correlator)
        conditions = step_conditions(correlator)
        nodes = (node for own in conditions.values() for c in own.by_row for node in c.walk())
        read = {node.name for node in nodes if isinstance(node, tree.Parameter)}
        types = {name: kind for name, kind in table.types.items() if name in read}
        self._sets = ParameterSets(types, table.types.get("id", Type.STRING))
        self._first_rows = table
        self._pairs = PairLanes()
        self._begun = 0  # pairs since the memory was last looked at
        self._conditions = RowConditions(
            self._machine.steps,
            conditions,
            correlator.attributes,
            correlator.time,
            common_selection([conditions[step] for step in self._machine.steps], self.events, types),
        )

    def prepare(self, strings: StringDictionary) -> None:
        super().prepare(strings)
        self._strings = strings
        self.add_rows(self._first_rows)

    # ── rows ──

    def texts(self) -> Iterable[Ints]:
        return self._sets.store.texts()

    def add_rows(self, table: TemplateTable) -> None:
        self._sets.add(table, self._strings)
        self._conditions.use(self._sets)

    def remove_rows(self, ids: ArrowArray) -> None:
        numbers = self._sets.remove(ids)
        self._conditions.use(self._sets)
        sets, lanes = self._pairs.pairs
        self._keep(np.flatnonzero(numbers[sets] >= 0), numbers[sets], lanes)

    # ── lanes ──

    @property
    def nbytes(self) -> int:
        return self._form.nbytes + self._pairs.nbytes + self._sets.nbytes

    def needed_lanes(self) -> Ints:
        _, lanes = self._pairs.pairs
        return np.unique(lanes[self._form.moved()])

    def free_lanes(self, freed: Ints) -> None:
        """Forgets the machines in these lanes, and those that are as at first."""
        sets, lanes = self._pairs.pairs
        moved = self._form.moved()
        self._keep(moved[~np.isin(lanes[moved], freed)], sets, lanes)

    def _keep(self, kept: Ints, sets: Ints, lanes: Ints) -> None:
        self._form.keep(kept)
        self._pairs.replace(sets[kept], lanes[kept])

    def take_begun(self) -> int:
        begun, self._begun = self._begun, 0
        return begun

    # ── events ──

    def _emitted(self, events: ResultBatch, by: Ints | None) -> ResultBatch:
        order: Ints | slice = slice(None) if by is None else by
        lane = events.lane[order]
        found, known = [np.zeros((3, 0), np.int64)], len(self._pairs)
        for paired in self._conditions.pairs(events, order, self._sets, self._strings):
            number = self._pairs.numbers(paired.parameters, lane[paired.event])
            pair, token = self._form.run(number, paired.satisfied, len(self._pairs))
            found.append(np.stack([paired.event[pair], paired.parameters[pair], token]))
        self._begun += len(self._pairs) - known
        event, sets, token = np.concatenate(found, axis=1)
        which, row = self._sets.rows_of(sets, event)
        tokens = self._shown(events, _original(event[which], by), token[which])
        return replace(tokens, intervals=(row << SHIFT) + 1, rows=self._sets.indexed)

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        moved = self._form.moved()
        sets, lanes = self._pairs.pairs
        configurations = self._configurations_state(moved)
        return {"rows": self._sets.set_of, "sets": sets[moved], "lanes": lanes[moved], **configurations}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch | None) -> None:
        self._sets.restore(state["rows"])
        self._conditions.use(self._sets)
        lanes = indices(state["lanes"], bounds.lanes, "the lanes of a correlator")
        sets = indices(state["sets"], len(self._sets), "the rows of a correlator", lanes.shape)
        self._pairs.replace(sets, lanes)
        self._restore_configurations(state, np.arange(len(lanes)))


def _original(event: Ints, by: Ints | None) -> Ints:
    return event if by is None else by[event]


def common_selection(
    conditions: Sequence[StepConditions], events: CheckedSubscription, parameters: Mapping[str, Type]
) -> TemplateSelection | None:
    """The comparisons with parameters that all steps have, equalities and at most one bound; None without any."""
    if not conditions or not parameters:
        return None
    compared = [[c for part in own.by_row if (c := comparison_of(part)) is not None] for own in conditions]
    common = list(dict.fromkeys(c for c in compared[0] if all(c in others for others in compared)))
    chosen = tuple(_indexed(common, events, parameters))
    floats = [Type.FLOAT in _types(c, events, parameters) for c in chosen]
    return TemplateSelection(chosen, tuple(floats)) if chosen else None


def _indexed(
    common: Sequence[Comparison], events: CheckedSubscription, parameters: Mapping[str, Type]
) -> Iterator[Comparison]:
    """The comparisons that one index serves."""
    yield from (c for c in common if c.operator == "=")
    bounds = [c for c in common if c.operator != "=" and Type.STRING not in _types(c, events, parameters)]
    yield from bounds[:1]


def _types(comparison: Comparison, events: CheckedSubscription, parameters: Mapping[str, Type]) -> tuple[Type, Type]:
    return event_type(events, comparison.expression), parameters[comparison.parameter]
