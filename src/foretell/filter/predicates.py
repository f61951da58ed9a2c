"""Predicates over the events of a batch: each distinct one is evaluated once for the whole batch, column by column.

An index may take the place of this evaluation later; its interface (a row of flags for each predicate) can stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, as_declared, null_constant
from foretell.filter.evaluate.expression import PreparedExpression, prepared
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.tree import Attribute, Expression, StreamOf, This, TimeOf
from foretell.plan.expressions import Disjunction, Lagged
from foretell.records import record


@record
class EventColumns:
    """The events of a batch as columns; `start` differs from `time` only for events that are matches themselves.

    `types` are the declared types of attributes; a column may be narrower (INT in one stream, FLOAT in another).
    `earlier` holds the columns of the lane's earlier events. Expressions are evaluated once, whichever subscriptions
    share them: `cache` holds the results, `truths` those of conditions.
    """

    attributes: Mapping[str, Column]
    types: Mapping[str, Type]
    time: Column
    start: Column
    stream: Column
    earlier: dict[Lagged, Column] = field(default_factory=dict)
    cache: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)
    truths: dict[PreparedExpression, Flags] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.time.values)

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts in the columns."""
        for column in (*self.attributes.values(), self.stream, *self.earlier.values()):
            if column.kind is Type.STRING:
                yield column.values

    def evaluate(self, expression: Expression, strings: StringDictionary) -> Column:
        """The value of an expression over one event, for each event."""
        ready = prepared(expression)
        column: Column | None = self.cache.get(ready)
        if column is None:
            column = self.cache[ready] = ready.values(self.leaf, strings, len(self.time.values))
        return column

    def truth(self, condition: Expression, strings: StringDictionary) -> Flags:
        """The events for which a condition is true."""
        return self.holds(prepared(condition), strings)

    def holds(self, condition: PreparedExpression, strings: StringDictionary) -> Flags:
        """The same for a prepared condition."""
        flags = self.truths.get(condition)
        if flags is None:
            flags = self.truths[condition] = condition.truth(self.leaf, strings, len(self.time.values))
        return flags

    def leaf(self, expression: Expression) -> Column | None:
        """The column of a leaf over one event; an attribute without a column is NULL."""
        match expression:
            case Attribute(event=This(), name=name):
                column = self.attributes.get(name)
                kind = self.types.get(name, Type.UNKNOWN)
                if column is None:
                    return null_constant(Type.NULL if kind is Type.UNKNOWN else kind)
                return column if column.kind is kind else as_declared(column, kind)
            case TimeOf(event=This()):
                return self.time
            case StreamOf(event=This()):
                return self.stream
            case Lagged():
                return self.earlier.get(expression)
        return None


def evaluate_predicates(
    predicates: Sequence[Sequence[Expression]], events: EventColumns, strings: StringDictionary
) -> NDArray[np.uint8]:
    """A row for each predicate (a conjunction of conditions), a flag for each event."""
    return Predicates(predicates).evaluate(events, strings)


class Predicates:
    """Predicates that are evaluated batch after batch: conjunctions of conditions, which are prepared once."""

    def __init__(self, predicates: Sequence[Sequence[Expression]]) -> None:
        self._conjunctions = [[prepared(condition) for condition in conditions] for conditions in predicates]

    def __len__(self) -> int:
        return len(self._conjunctions)

    def evaluate(
        self, events: EventColumns, strings: StringDictionary, precomputed: Mapping[Expression, Flags] | None = None
    ) -> NDArray[np.uint8]:
        """A row for each predicate, a flag for each event.

        `precomputed` has the flags of conditions that depend on more than one event, such as `a[3]`.
        """
        result = np.empty((len(self._conjunctions), len(events)), np.bool_)
        self.write(result, events, strings, precomputed)
        return result.view(np.uint8)

    def write(
        self,
        result: Flags,
        events: EventColumns,
        strings: StringDictionary,
        precomputed: Mapping[Expression, Flags] | None,
    ) -> None:
        """The same, written to the beginning of the rows of `result`."""
        count = len(events.time.values)
        for number, conditions in enumerate(self._conjunctions):
            hold = _holds if len(conditions) == 1 else _all_hold
            result[number, :count] = hold(conditions, events, strings, precomputed)


# Not closures: two that call each other are a cycle, and the batch's columns would live until it is collected.


def _all_hold(
    conditions: Sequence[PreparedExpression],
    events: EventColumns,
    strings: StringDictionary,
    precomputed: Mapping[Expression, Flags] | None,
) -> Flags:
    every = [_holds((condition,), events, strings, precomputed) for condition in conditions]
    return reduce(np.logical_and, every) if every else np.ones(len(events), np.bool_)


def _holds(
    conditions: Sequence[PreparedExpression],
    events: EventColumns,
    strings: StringDictionary,
    precomputed: Mapping[Expression, Flags] | None,
) -> Flags:
    (condition,) = conditions
    expression = condition.expression
    if precomputed and expression in precomputed:
        return precomputed[expression]
    if isinstance(expression, Disjunction):
        every = [[prepared(part) for part in conditions] for conditions in expression.predicates]
        any_of = [_all_hold(conditions, events, strings, precomputed) for conditions in every]
        return reduce(np.logical_or, any_of, np.zeros(len(events), np.bool_))
    return events.holds(condition, strings)
