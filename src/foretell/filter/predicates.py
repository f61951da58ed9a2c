"""Which predicates does each event of a batch satisfy.

The first, simple way: every distinct predicate once for the whole batch, column by column. What is asked and what is
answered (a row of flags for each predicate) is meant to stay when an index takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.events.types import Type
from foretell.filter.columns import Column, Strings, evaluate
from foretell.language.tree import Expression
from foretell.plan.registers import AnyOf


@dataclass(frozen=True)
class Events:
    """The events of a batch as columns; `start` differs from `time` only for events that are matches themselves."""

    attributes: Mapping[str, Column]
    types: Mapping[str, Type]
    time: Column
    start: Column
    stream: Column

    def __len__(self) -> int:
        return len(self.time.values)

    def worth(self, expression: Expression, strings: Strings) -> Column:
        """What an expression about one event is worth for each of them."""
        return evaluate(expression, self.attributes, self.time, self.stream, strings, self.time.kind, self.types)


def answers(
    predicates: Sequence[Sequence[Expression]],
    events: Events,
    strings: Strings,
    given: Mapping[Expression, NDArray[np.bool_]] | None = None,
) -> NDArray[np.uint8]:
    """A row for each predicate (a conjunction of conditions), a flag for each event.

    `given` are the answers to conditions that are not about one event alone, such as being every third.
    """
    known: dict[Expression, NDArray[np.bool_]] = dict(given or {})

    def truth(condition: Expression) -> NDArray[np.bool_]:
        if condition not in known:
            if isinstance(condition, AnyOf):
                known[condition] = np.zeros(len(events), np.bool_)
                for option in condition.predicates:
                    known[condition] |= both(option)
            else:
                found = events.worth(condition, strings)
                known[condition] = (found.values != 0) & ~found.nulls
        return known[condition]

    def both(conditions: Sequence[Expression]) -> NDArray[np.bool_]:
        result = np.ones(len(events), np.bool_)
        for condition in conditions:
            result &= truth(condition)
        return result

    result = np.empty((len(predicates), len(events)), np.uint8)
    for row, conditions in zip(result, predicates, strict=True):
        row[:] = both(conditions)
    return result
