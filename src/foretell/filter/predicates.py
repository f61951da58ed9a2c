"""Which predicates does each event of a batch satisfy.

The first, simple way: every distinct predicate once for the whole batch, column by column. What is asked and what is
answered (a row of flags for each predicate) is meant to stay when an index takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags
from foretell.events.types import Type
from foretell.filter.column import Column, StringDictionary, evaluate, truth
from foretell.language.tree import Attribute, Expression, This
from foretell.plan.lower.registers import AnyOf, Lagged, mapped


@dataclass(frozen=True)
class EventColumns:
    """The events of a batch as columns; `start` differs from `time` only for events that are matches themselves.

    What is asked of them is worked out once, whichever subscription asks: `known` remembers it.
    """

    attributes: Mapping[str, Column]
    types: Mapping[str, Type]
    time: Column
    start: Column
    stream: Column
    earlier: Mapping[Lagged, Column] = field(default_factory=dict)
    known: dict[tuple[str, Expression], Any] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.time.values)

    def worth(self, expression: Expression, strings: StringDictionary) -> Column:
        """What an expression about one event is worth for each of them."""
        asked = "worth", expression
        if asked not in self.known:
            self.known[asked] = evaluate(expression, *self._given(strings))
        found: Column = self.known[asked]
        return found

    def true(self, condition: Expression, strings: StringDictionary) -> Flags:
        """For which of them a condition is true."""
        asked = "true", condition
        if asked not in self.known:
            self.known[asked] = truth(*self._with_earlier(condition), *self._given(strings)[1:])
        found: Flags = self.known[asked]
        return found

    def _with_earlier(self, condition: Expression) -> tuple[Expression, Mapping[str, Column]]:
        """A condition and the attributes it speaks of: those of earlier events of the lane have names of their own."""
        attributes = dict(self.attributes)

        def change(expression: Expression) -> Expression:
            if isinstance(expression, Lagged):
                name = f"{expression.distance} before: {expression.expression}"
                attributes[name] = self.earlier[expression]
                return Attribute(This(), name)
            return mapped(expression, change)

        plain = change(condition) if self.earlier else condition
        return plain, attributes

    def _given(self, strings: StringDictionary) -> tuple[Any, ...]:
        return self.attributes, self.time, self.stream, strings, self.time.kind, self._types

    @property
    def _types(self) -> Mapping[str, Type]:
        names = {f"{one.distance} before: {one.expression}": column.kind for one, column in self.earlier.items()}
        return {**self.types, **names} if names else self.types


def answers(
    predicates: Sequence[Sequence[Expression]],
    events: EventColumns,
    strings: StringDictionary,
    given: Mapping[Expression, Flags] | None = None,
) -> NDArray[np.uint8]:
    """A row for each predicate (a conjunction of conditions), a flag for each event.

    `given` are the answers to conditions that are not about one event alone, such as being every third.
    """
    given = given or {}

    def true(condition: Expression) -> Flags:
        if condition in given:
            return given[condition]
        if isinstance(condition, AnyOf):
            return reduce(np.logical_or, map(together, condition.predicates), np.zeros(len(events), np.bool_))
        return events.true(condition, strings)

    def together(conditions: Sequence[Expression]) -> Flags:
        return reduce(np.logical_and, map(true, conditions)) if conditions else np.ones(len(events), np.bool_)

    result = np.empty((len(predicates), len(events)), np.bool_)
    for row, conditions in zip(result, predicates, strict=True):
        row[:] = together(conditions)
    return result.view(np.uint8)
