"""Predicates over the events of a batch: each distinct one is evaluated once, column by column.

Most are evaluated for the whole batch. Single-step detection evaluates some for chosen rows only.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
from foretell.plan.lower.condition_costs import nanoseconds
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

    def rows(self, rows: Ints, leaves: Iterable[Expression]) -> EventColumns:
        """Some of the events, with the columns of some leaves."""
        names = (leaf.name for leaf in leaves if isinstance(leaf, Attribute) and leaf.name in self.attributes)
        lags = (leaf for leaf in leaves if isinstance(leaf, Lagged) and leaf in self.earlier)
        return EventColumns(
            {name: self.attributes[name].take(rows) for name in names},
            self.types,
            self.time.take(rows),
            self.start.take(rows),
            self.stream.take(rows),
            {lag: self.earlier[lag].take(rows) for lag in lags},
        )

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
    """Predicates that are evaluated batch after batch: conjunctions of conditions, which are prepared once.

    `operations` counts evaluations of one predicate on one event (A-MEDIAS: filter operations). A predicate that says
    that any of others holds, takes their flags and counts for nothing.
    """

    def __init__(self, predicates: Sequence[Sequence[Expression]]) -> None:
        self._conjunctions = [[prepared(condition) for condition in conditions] for conditions in predicates]
        self._unions = _unions(predicates)
        self._by_cost: dict[int, tuple[list[PreparedExpression], list[Expression]]] = {}
        self.operations = 0

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
        self.write_unions(result, len(events))
        return result.view(np.uint8)

    def write(
        self,
        result: Flags,
        events: EventColumns,
        strings: StringDictionary,
        precomputed: Mapping[Expression, Flags] | None,
        without: Container[int] = (),
    ) -> None:
        """Writes the flags of all predicates but unions, and those without which it shall do, to the beginning of the
        rows of `result`."""
        count = len(events.time.values)
        for number, conditions in enumerate(self._conjunctions):
            if number not in self._unions and number not in without:
                hold = _holds if len(conditions) == 1 else _all_hold
                result[number, :count] = hold(conditions, events, strings, precomputed)
                self.operations += count

    def write_unions(self, result: Flags, count: int, without: Container[int] = ()) -> None:
        """Writes the flags of unions, from those of the predicates that they unite."""
        for number, options in self._unions.items():
            if number in without:
                continue
            union = result[number, :count]
            union[:] = result[options[0], :count]
            for option in options[1:]:
                np.logical_or(union, result[option, :count], out=union)

    def write_rows(
        self, number: int, rows: Ints | None, result: Flags, events: EventColumns, strings: StringDictionary
    ) -> None:
        """Writes the flags of one predicate for some rows, or for all (None). Its conditions narrow the rows, the
        cheapest one first."""
        count = len(events)
        self.operations += count if rows is None else len(rows)
        if rows is None:
            result[number, :count] = _all_hold(self._conjunctions[number], events, strings, None)
            return
        conditions, leaves = self._parts(number)
        held = rows
        for condition in conditions:
            known = events.truths.get(condition)
            if known is not None:
                held = held[known[held]]
            elif len(held):
                held = held[condition.truth(events.rows(held, leaves).leaf, strings, len(held))]
        result[number, rows] = False
        result[number, held] = True

    def _parts(self, number: int) -> tuple[list[PreparedExpression], list[Expression]]:
        """The conditions of a predicate by their costs, and the columns that they read."""
        if number not in self._by_cost:
            conditions = sorted(self._conjunctions[number], key=lambda c: nanoseconds([c.expression]))
            nodes = (node for condition in conditions for node in condition.expression.walk())
            leaves = dict.fromkeys(node for node in nodes if isinstance(node, Attribute | Lagged))
            self._by_cost[number] = conditions, list(leaves)
        return self._by_cost[number]


def _unions(predicates: Sequence[Sequence[Expression]]) -> dict[int, tuple[int, ...]]:
    """The predicates that say that any of others holds, with the numbers of these."""
    numbers = {tuple(conditions): number for number, conditions in enumerate(predicates)}
    unions: dict[int, tuple[int, ...]] = {}
    for number, conditions in enumerate(predicates):
        match tuple(conditions):
            case (Disjunction(predicates=options),) if options and all(option in numbers for option in options):
                unions[number] = tuple(numbers[option] for option in options)
    return unions


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
