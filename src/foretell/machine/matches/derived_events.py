"""Results of a statement as events, for the statements that read it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Type
from foretell.filter.column import Column, dtype_of
from foretell.filter.predicates import EventColumns
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.input.event_order import OrderedInput, deepened
from foretell.machine.matches.notification_order import NotificationIndex
from foretell.machine.matches.results import ResultBatch, completion_columns
from foretell.machine.matches.uncertainty import estimate_attributes


def derived_events(batches: Sequence[ResultBatch], rank: int, strings: StringDictionary) -> OrderedInput:
    """The matches of one statement as events, each directly after the event that completed it.

    `rank` is the statement's: it orders events that one event completed.
    """
    schema = batches[0].schema
    every = NotificationIndex.of(batches)
    depth = max(batch.order.shape[1] for batch in batches) + 2
    order = np.concatenate([deepened(batch.order, depth) for batch in batches])
    by = every.at[every.order(completion_columns(order[every.at], every.ends()))]
    count = len(by)
    order = order[by]
    level = np.argmax(order == -1, axis=1) if count else np.zeros(0, np.int64)
    number = np.arange(count)
    order[number, level] = rank
    order[number, level + 1] = number
    never = np.zeros(count, np.bool_)
    start, end = (np.concatenate([b.start for b in batches])[by], np.concatenate([b.end for b in batches])[by])
    attributes = {n: _attribute([batch.bindings[n] for batch in batches], by, k) for n, k in schema.returns.items()}
    types = dict(schema.returns)
    if schema.uncertain:
        own = estimate_attributes(batches, strings)
        attributes |= {name: column.take(by) for name, column in own.items()}
        types |= {name: column.kind for name, column in own.items()}
    events = EventColumns(
        attributes,
        types,
        Column(schema.time, end.astype(dtype_of(schema.time)), never),
        Column(schema.time, start.astype(dtype_of(schema.time)), never),
        Column(Type.STRING, np.full(count, strings.code(schema.name), np.int64), never),
    )
    return OrderedInput(events, None, order)


def _attribute(parts: list[Column], by: Ints, kind: Type) -> Column:
    """A RETURN column as an attribute: a DURATION in seconds, and FLOAT where it is declared so."""
    values = np.concatenate([part.values for part in parts])[by]
    nulls = np.concatenate([part.nulls for part in parts])[by]
    if parts[0].kind is Type.DURATION:
        return Column(Type.FLOAT, values / 1_000_000, nulls)
    return Column(kind, values.astype(np.float64) if kind is Type.FLOAT else values, nulls)
