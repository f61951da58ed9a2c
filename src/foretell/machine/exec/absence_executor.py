"""A subscription to silence at work: `!b` alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column
from foretell.filter.evaluate.expression import evaluate
from foretell.filter.predicates import evaluate_predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.machine.exec.silences import Silences
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.event_order import EventOrder
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.matches.results import ResultBatch
from foretell.machine.observe.observer import Observer
from foretell.plan.expressions import map_children
from foretell.plan.result_schema import result_schema


@dataclass(eq=False)
class AbsenceExecutor:
    checked: CheckedSubscription
    strings: StringDictionary
    stream: MergedStream
    id: Scalar = None
    parameters: Mapping[str, Column] = field(default_factory=dict)
    silences: Silences = field(default_factory=Silences)
    watcher: Observer | None = None

    def __post_init__(self) -> None:
        self.schema = result_schema(self.checked)

    def tell(self, piece: EventSegment, now: int | float, order: EventOrder) -> ResultBatch:
        """The silences that a batch completes, and time until `now`."""
        within = self.checked.within
        assert within is not None
        breaks = self._breaks(piece)
        # On INT time a window may be 2.5 long, and so are the silences.
        times = piece.events.time.values if within == int(within) else piece.events.time.values.astype(np.float64)
        lane, start = self.silences.process(piece.lane, times, breaks, within, now)
        return self._told(lane, start, start + start.dtype.type(within), order)

    def _breaks(self, piece: EventSegment) -> NDArray[np.bool_]:
        """Which events are a b."""
        pattern = self.checked.pattern
        assert isinstance(pattern, tree.Silence)
        given = {f":{name}": column for name, column in self.parameters.items()}
        steps = [[_with_given(c) for c in self.checked.steps[str(n.step.name)].conditions] for n in pattern.absent]
        events = replace(
            piece.events,
            attributes={**piece.events.attributes, **{n: _repeated(c, len(piece)) for n, c in given.items()}},
            types={**piece.events.types, **{n: c.kind for n, c in given.items()}},
            cache={},
        )
        return np.asarray(evaluate_predicates(steps, events, self.strings).any(axis=0))

    def _told(self, lane: Ints, start: NDArray[Any], end: NDArray[Any], order: EventOrder) -> ResultBatch:
        """Silences as results, where HAVING holds. The duration of one is its length."""
        checked = self.checked
        places = order.deadlines(end).reshape(-1, 1)
        kind = Type.DURATION if checked.time is Type.TIMESTAMP else checked.time
        duration = Column(kind, end - start, np.zeros(len(lane), np.bool_))

        def leaf(expression: tree.Expression) -> Column | None:
            match expression:
                case tree.Elapsed():
                    return duration
                case tree.Parameter(name=name):
                    return self.parameters[name]
            return None

        def worth(expression: tree.Expression) -> Column:
            return evaluate(expression, leaf, self.strings, len(lane))

        returned = {str(r.name): worth(r.expression) for r in checked.tree.returns}
        told = ResultBatch(
            self.schema, None, lane, start, end, places, returned, self.stream.keys, self.id, self.strings
        )
        if checked.tree.having is None:
            return told
        truth = worth(checked.tree.having)
        return told.filter(np.asarray((truth.values != 0) & ~truth.nulls))


def _with_given(expression: tree.Expression) -> tree.Expression:
    """An expression with the parameters of its row as attributes."""
    if isinstance(expression, tree.Parameter):
        return tree.Attribute(tree.This(), f":{expression.name}")
    return map_children(expression, _with_given)


def _repeated(column: Column, count: int) -> Column:
    zeros = np.zeros(count, np.int64)
    return Column(column.kind, column.values[zeros], column.nulls[zeros])
