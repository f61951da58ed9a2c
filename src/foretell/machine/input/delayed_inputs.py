"""Events that wait for a derived stream: a statement may not read them before events that are not known yet.

A match of AFTER MATCH LONGEST is an event of its stream at its own end, and is known later. Statements that read the
stream get all events in order, so they wait for it: up to the frontier all events of the stream are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, concatenate_columns
from foretell.filter.predicates import EventColumns
from foretell.machine.input.event_order import OrderedInput, deepened
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.codec import events_state, restore_events, restore_order
from foretell.plan.match_plan import InputPlan
from foretell.storage.recorded_values import require


class Frontier(NamedTuple):
    """A place in the order of all events, and its time: events up to it are known, others after it may still come.

    The time stands second, as in the order of derived events that time completes between the same two events.
    """

    place: int
    time: int | float
    rest: tuple[int, ...] = ()

    @classmethod
    def of(cls, order: Ints, time: NDArray[Any]) -> Frontier:
        """The first of some places."""
        by = np.lexsort((*order.T[:0:-1], time, order[:, 0]))[0]
        return cls(int(order[by, 0]), time[by].item(), tuple(order[by, 1:].tolist()))

    def follows(self, order: Ints, time: NDArray[Any]) -> Flags:
        """Marks the places before the frontier."""
        return self._compared(order, time)[0]

    def passes(self, order: Ints, time: NDArray[Any]) -> Flags:
        """Marks the places that are not after the frontier."""
        before, same = self._compared(order, time)
        return before | same

    def _compared(self, order: Ints, time: NDArray[Any]) -> tuple[Flags, Flags]:
        depth = max(order.shape[1], 1 + len(self.rest))
        places = deepened(order, depth)
        rest = (*self.rest, *[-1] * (depth - 1 - len(self.rest)))
        before, same = np.zeros(len(places), np.bool_), np.ones(len(places), np.bool_)
        for column, value in zip((places[:, 0], time, *places.T[1:]), (self.place, self.time, *rest), strict=True):
            before |= same & (column < value)
            same &= column == value
        return before, same


def earliest(frontiers: Iterable[Frontier | None]) -> Frontier | None:
    """The first of several frontiers; None where there is none."""
    return min((frontier for frontier in frontiers if frontier is not None), default=None)


@dataclass
class DelayedInputs:
    """The events of an input group's streams that are not processed yet, by stream."""

    waiting: dict[str, OrderedInput] = field(default_factory=dict)

    def release(self, inputs: Mapping[str, OrderedInput], frontier: Frontier | None) -> dict[str, OrderedInput]:
        """The events that can be processed, of those that wait and of new ones."""
        together = dict(self.waiting)
        for name, new in inputs.items():
            together[name] = _joined(together[name], new) if name in together else new
        self.waiting = {}
        if frontier is None:
            return together
        released = {}
        for name, events in together.items():
            passes = frontier.passes(events.order, events.events.time.values)
            released[name] = _only(events, passes)
            if not passes.all():
                self.waiting[name] = _only(events, ~passes)
        return released

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts in the events."""
        for waiting in self.waiting.values():
            yield from waiting.events.texts()

    def state(self) -> dict[str, Any]:
        return {
            name: {
                **events_state(waiting.events, waiting.name),
                "types": {attribute: kind.value for attribute, kind in waiting.events.types.items()},
                "order": waiting.order,
            }
            for name, waiting in self.waiting.items()
        }

    def restore(self, state: Mapping[str, Any], plan: InputPlan, bounds: StateBounds) -> None:
        for name, recorded in state.items():
            require(name in plan.streams, "the events that wait")
            types = {attribute: Type(kind) for attribute, kind in recorded["types"].items()}
            # The group that reads them takes the values for those of its own types.
            known = {attribute: plan.attributes.get(attribute, kind) for attribute, kind in types.items()}
            order = restore_order(recorded["order"], len(recorded["order"]), bounds.places)
            events, names = restore_events(recorded, known, len(order), bounds.texts)
            events = replace(events, types=types)
            require(all(types[attribute] is column.kind for attribute, column in events.attributes.items()), "columns")
            self.waiting[name] = OrderedInput(events, names, order)


def _joined(first: OrderedInput, second: OrderedInput) -> OrderedInput:
    parts = [first.events, second.events]
    depth = max(first.order.shape[1], second.order.shape[1])

    def joined(columns: list[Column]) -> Column:
        return concatenate_columns(columns, columns[0].kind)

    # An attribute that a statement needs since the last batch is not known of the events before.
    names = [name for name in first.events.attributes if name in second.events.attributes]
    time = joined([part.time for part in parts])
    plain = all(part.start is part.time for part in parts)
    events = EventColumns(
        {name: joined([part.attributes[name] for part in parts]) for name in names},
        second.events.types,
        time,
        time if plain else joined([part.start for part in parts]),
        joined([part.stream for part in parts]),
    )
    name = None if first.name is None or second.name is None else np.concatenate([first.name, second.name])
    return OrderedInput(events, name, np.concatenate([deepened(part.order, depth) for part in (first, second)]))


def _only(events: OrderedInput, keep: Flags) -> OrderedInput:
    if keep.all():
        return events
    columns = events.events
    time = columns.time.take(keep)
    only = EventColumns(
        {name: column.take(keep) for name, column in columns.attributes.items()},
        columns.types,
        time,
        time if columns.start is columns.time else columns.start.take(keep),
        columns.stream.take(keep),
    )
    return OrderedInput(only, None if events.name is None else events.name[keep], events.order[keep])
