"""A bare compiled loop over access sets: what a filter that serves one workload alone could reach.

For each set of attributes that subscriptions fix by equality a hash table leads from their values to a block of
subscriptions, and the bounds of the block are compared one after the other. It knows no NULL, no text, and no change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foretell.arrays import Floats, Ints
from foretell.bench.workloads.conjunctions import Conjunctions
from foretell.jit import compiled


class BareLoop:
    """The subscriptions of a workload in hash tables."""

    name = "a bare loop"

    def __init__(self, workload: Conjunctions, subscriptions: pa.Table) -> None:
        self._workload = workload
        fixed = np.stack([subscriptions[name].is_valid().to_numpy() for name in workload.sizes])
        self._groups = []
        for key in workload.keys:
            wanted = np.array([name in key for name in workload.sizes])
            rows = np.flatnonzero((fixed == wanted[:, None]).all(axis=0))
            if len(rows):
                self._groups.append(
                    (key, *_blocks(self._words(subscriptions, key)[rows], *self._bounds(subscriptions, rows)))
                )

    def _words(self, table: pa.Table, key: tuple[str, ...]) -> Ints:
        """The values of several attributes as one number."""
        words = np.zeros(table.num_rows, np.int64)
        for name in key:
            values = table[name].combine_chunks()
            if name in self._workload.texts:
                values = pc.index_in(values, pa.array([f"N{k:03d}" for k in range(self._workload.sizes[name])]))
            words = words * self._workload.sizes[name] + values.fill_null(0).to_numpy().astype(np.int64)
        return words

    def _bounds(self, table: pa.Table, rows: Ints) -> tuple[Ints, Floats, Floats]:
        low, high = "from" if self._workload.closed else "above", "to"
        lows = [_filled(table, f"{name}_{low}", -np.inf)[rows] for name in self._workload.bounded]
        if not self._workload.closed:
            lows = [np.nextafter(values, np.inf) for values in lows]
            return rows, np.stack(lows, axis=1), np.full((len(rows), len(lows)), np.inf)
        highs = [_filled(table, f"{name}_{high}", np.inf)[rows] for name in self._workload.bounded]
        return rows, np.stack(lows, axis=1), np.stack(highs, axis=1)

    def prepared(self, events: pa.Table) -> list[Any]:
        """The columns of events that the loop reads."""
        values = np.stack([events[name].to_numpy() for name in self._workload.bounded], axis=1)
        return [values, *(self._words(events, key) for key, *_ in self._groups)]

    def matches(self, columns: list[Any]) -> pa.Table:
        values, *words = columns
        found = [_find(w, values, *group) for w, (_, *group) in zip(words, self._groups)]
        joined: dict[str, Any] = {name: np.concatenate(parts) for name, parts in zip(("row", "id"), zip(*found))}
        return pa.table(joined)


def _filled(table: pa.Table, name: str, value: float) -> Floats:
    filled: Floats = table[name].combine_chunks().fill_null(value).to_numpy()
    return filled


def _blocks(words: Ints, rows: Ints, lows: Floats, highs: Floats) -> tuple[Any, ...]:
    """Subscriptions sorted by their words and first bounds; a hash table of the words; where their blocks begin."""
    order = np.lexsort((lows[:, 0], words))
    distinct, starts = np.unique(words[order], return_index=True)
    size = 1 << int(2 * len(distinct)).bit_length()
    table = np.full(size, -1, np.int64)
    _enter(distinct, table)
    return table, distinct, np.append(starts, len(rows)), rows[order], lows[order], highs[order]


@compiled
def _enter(distinct: Ints, table: Ints) -> None:
    for number in range(distinct.size):
        place = _hash(distinct[number]) & (table.size - 1)
        while table[place] >= 0:
            place = (place + 1) & (table.size - 1)
        table[place] = number


@compiled
def _hash(word: int) -> int:
    return (word * 0x9E3779B97F4A7C1) >> 20


@compiled
def _find(
    words: Ints, values: Floats, table: Ints, distinct: Ints, starts: Ints, rows: Ints, lows: Floats, highs: Floats
) -> tuple[Ints, Ints]:
    times, ids = np.empty(words.size + 1024, np.int64), np.empty(words.size + 1024, np.int64)
    count = 0
    for event in range(words.size):
        place = _hash(words[event]) & (table.size - 1)
        while table[place] >= 0 and distinct[table[place]] != words[event]:
            place = (place + 1) & (table.size - 1)
        block = table[place]
        if block < 0:
            continue
        if count + starts[block + 1] - starts[block] > times.size:
            size = 2 * (times.size + starts[block + 1] - starts[block])
            more_times, more_ids = np.empty(size, np.int64), np.empty(size, np.int64)
            more_times[:count], more_ids[:count] = times[:count], ids[:count]
            times, ids = more_times, more_ids
        for at in range(starts[block], starts[block + 1]):
            if lows[at, 0] > values[event, 0]:
                break
            holds = highs[at, 0] >= values[event, 0]
            for k in range(1, lows.shape[1]):
                holds &= lows[at, k] <= values[event, k] <= highs[at, k]
            if holds:
                times[count], ids[count] = event, rows[at]
                count += 1
    return times[:count], ids[:count]


def matched_times(found: pa.Table, events: pa.Table) -> NDArray[np.int64]:
    """The numbers of the matched events."""
    return np.asarray(events["time"].to_numpy()[found["row"].to_numpy()])
