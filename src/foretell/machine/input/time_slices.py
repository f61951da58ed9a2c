"""Long batches in slices by time: their columns stay in the cache, and a caller sees the progress."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.events.arrow_interop import arrow_of, numpy_of, take_rows
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Type

Batches = Mapping[str, EventBatch]


def time_slices(batches: Batches, size: int, needed: Mapping[str, Set[str]]) -> list[Batches]:
    """Batches of all streams in slices of about `size` events, each later than the one before.

    Events of one instant stay together unless they come from one stream without a tie-breaker, whose order of arrival
    is their order. `needed` has the attributes of each stream that statements read.
    """
    count = sum(batch.table.num_rows for batch in batches.values())
    kinds = {batch.schema.time_type for batch in batches.values()}
    if count <= size or (Type.TIMESTAMP in kinds and len(kinds) > 1):
        return [batches]
    times = {name: _times(batch) for name, batch in batches.items()}
    if len(batches) == 1:
        ((name, batch),) = batches.items()
        if batch.schema.order is None and _ascend(times[name]):
            return [{name: _rows(batch, first, first + size)} for first in range(0, count, size)]
    ordered: dict[str, EventBatch] = {}
    for name, batch in batches.items():
        ordered[name], times[name] = _in_order(batch, times[name], needed.get(name, frozenset()))
    edges = np.unique(np.sort(np.concatenate(list(times.values())))[size::size])
    bounds = {
        name: [0, *np.searchsorted(column, edges, side="left").tolist(), len(column)] for name, column in times.items()
    }
    return [
        {name: _rows(batch, bounds[name][i], bounds[name][i + 1]) for name, batch in ordered.items()}
        for i in range(len(edges) + 1)
    ]


def _times(batch: EventBatch) -> NDArray[Any]:
    assert batch.schema.time is not None
    column: Any = batch.table[batch.schema.time]
    return numpy_of(column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)


def _ascend(times: NDArray[Any]) -> bool:
    return bool((times[1:] >= times[:-1]).all())


def _rows(batch: EventBatch, first: int, stop: int) -> EventBatch:
    return replace(batch, table=batch.table.slice(first, stop - first))


def _in_order(batch: EventBatch, times: NDArray[Any], needed: Set[str]) -> tuple[EventBatch, NDArray[Any]]:
    """The events of a stream in the order of time, with the columns that are needed."""
    if _ascend(times):
        return batch, times
    schema = batch.schema
    roles = {schema.time, schema.id, schema.order}
    columns = [name for name in batch.table.column_names if name in needed or name in roles]
    by = np.argsort(times, kind="stable")
    return replace(batch, table=take_rows(batch.table.select(columns), arrow_of(by))), times[by]
