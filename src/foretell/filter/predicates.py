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
from foretell.filter.evaluate.expression import evaluate, truth
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.tree import Attribute, Expression, StreamOf, This, TimeOf
from foretell.plan.expressions import Disjunction, Lagged
from foretell.records import record


@record
class EventColumns:
    """The events of a batch as columns; `start` differs from `time` only for events that are matches themselves.

    `types` are the declared types of attributes; a column may be narrower (INT in one stream, FLOAT in another).
    `earlier` holds the columns of the lane's earlier events. Expressions are evaluated once, whichever subscriptions
    share them: `cache` holds the results.
    """

    attributes: Mapping[str, Column]
    types: Mapping[str, Type]
    time: Column
    start: Column
    stream: Column
    earlier: dict[Lagged, Column] = field(default_factory=dict)
    cache: dict[tuple[str, Expression], Any] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.time.values)

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts in the columns."""
        for column in (*self.attributes.values(), self.stream, *self.earlier.values()):
            if column.kind is Type.STRING:
                yield column.values

    def evaluate(self, expression: Expression, strings: StringDictionary) -> Column:
        """The value of an expression over one event, for each event."""
        key = "value", expression
        column: Column | None = self.cache.get(key)
        if column is None:
            column = self.cache[key] = evaluate(expression, self.leaf, strings, len(self))
        return column

    def truth(self, condition: Expression, strings: StringDictionary) -> Flags:
        """The events for which a condition is true."""
        key = "truth", condition
        flags: Flags | None = self.cache.get(key)
        if flags is None:
            flags = self.cache[key] = truth(condition, self.leaf, strings, len(self))
        return flags

    def leaf(self, expression: Expression) -> Column | None:
        """The column of a leaf over one event; an attribute without a column is NULL."""
        match expression:
            case Attribute(event=This(), name=name):
                return self._attribute(name)
            case TimeOf(event=This()):
                return self.time
            case StreamOf(event=This()):
                return self.stream
            case Lagged():
                return self.earlier.get(expression)
        return None

    def _attribute(self, name: str) -> Column:
        kind = self.types.get(name, Type.UNKNOWN)
        column = self.attributes.get(name)
        if column is None:
            return null_constant(Type.NULL if kind is Type.UNKNOWN else kind)
        return as_declared(column, kind)


def evaluate_predicates(
    predicates: Sequence[Sequence[Expression]],
    events: EventColumns,
    strings: StringDictionary,
    precomputed: Mapping[Expression, Flags] | None = None,
) -> NDArray[np.uint8]:
    """A row for each predicate (a conjunction of conditions), a flag for each event.

    `precomputed` has the flags of conditions that depend on more than one event, such as `a[3]`.
    """
    result = np.empty((len(predicates), len(events)), np.bool_)
    for number, conditions in enumerate(predicates):
        result[number] = _all_hold(conditions, events, strings, precomputed)
    return result.view(np.uint8)


# Not closures: two that call each other are a cycle, and the batch's columns would live until it is collected.


def _all_hold(
    conditions: Sequence[Expression],
    events: EventColumns,
    strings: StringDictionary,
    precomputed: Mapping[Expression, Flags] | None,
) -> Flags:
    if len(conditions) == 1:
        return _holds(conditions[0], events, strings, precomputed)
    every = [_holds(condition, events, strings, precomputed) for condition in conditions]
    return reduce(np.logical_and, every) if every else np.ones(len(events), np.bool_)


def _holds(
    condition: Expression,
    events: EventColumns,
    strings: StringDictionary,
    precomputed: Mapping[Expression, Flags] | None,
) -> Flags:
    if precomputed and condition in precomputed:
        return precomputed[condition]
    if isinstance(condition, Disjunction):
        any_of = [_all_hold(conditions, events, strings, precomputed) for conditions in condition.predicates]
        return reduce(np.logical_or, any_of, np.zeros(len(events), np.bool_))
    return events.truth(condition, strings)
