"""External sort: a task's events that exceed its memory are written as sorted files and merged in the order of time.

The runtime drops events that its windows have passed, so even a single key may have more events than memory holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.arrays import Times
from foretell.events.arrow_interop import arrow_of, numpy_of, take_rows

#: Events of each sorted file that are in memory at once.
BUFFERED_ROWS = 65_536


@dataclass
class ExternalSort:
    """Sorted files of several streams, merged by time. The last column of a table is the arrival number."""

    time_columns: Mapping[str, str]
    folder: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)
    _files: list[tuple[str, Path]] = field(default_factory=list)

    def spill(self, stream: str, table: pa.Table) -> None:
        """Write events of a stream as a sorted file."""
        by = np.lexsort((numpy_of(table.columns[-1]), _numbers(table[self.time_columns[stream]])))
        table = take_rows(_plain_texts(table), arrow_of(by))
        path = Path(self.folder.name) / str(len(self._files))
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=BUFFERED_ROWS)
        self._files.append((stream, path))

    def merge(self) -> Iterator[dict[str, pa.Table]]:
        """Yield the events of all streams in the order of time, in slices that never split an instant."""
        files = [_SortedFile(stream, self.time_columns[stream], path) for stream, path in self._files]
        while unfinished := [file for file in files if file.has_more]:
            until = min(file.latest for file in unfinished)
            due = [(file.stream, file.take_before(until)) for file in files]
            if any(table.num_rows for _, table in due):
                yield _by_arrival(due)
            for file in unfinished:
                if file.latest == until:
                    file.read_next()
        yield _by_arrival([(file.stream, file.buffered) for file in files])


class _SortedFile:
    """A sorted file, of which some events are in memory: `buffered`, in the order of time."""

    def __init__(self, stream: str, time_column: str, path: Path) -> None:
        self.stream, self._time_column = stream, time_column
        self._reader = pa.ipc.open_stream(pa.memory_map(str(path)))
        self.buffered = self._reader.schema.empty_table()
        self.has_more = True
        self.read_next()

    @property
    def latest(self) -> Any:
        return _numbers(self.buffered[self._time_column])[-1]

    def read_next(self) -> None:
        try:
            batch = self._reader.read_next_batch()
        except StopIteration:
            self.has_more = False
        else:
            self.buffered = pa.concat_tables([self.buffered, pa.Table.from_batches([batch])])

    def take_before(self, time: Any) -> pa.Table:
        """Remove the buffered events before a time, and return them."""
        end = int(np.searchsorted(_numbers(self.buffered[self._time_column]), time, side="left"))
        due, self.buffered = self.buffered.slice(0, end), self.buffered.slice(end)
        return due


def _by_arrival(tables: list[tuple[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the events of each stream in the order of their arrival."""
    merged = {}
    for stream in dict.fromkeys(stream for stream, _ in tables):
        table = pa.concat_tables(table for name, table in tables if name == stream)
        merged[stream] = take_rows(table, pc.array_sort_indices(table.columns[-1].combine_chunks()))
    return merged


def _numbers(column: Any) -> Times:
    return numpy_of(column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)


def _plain_texts(table: pa.Table) -> pa.Table:
    """Decode dictionaries: an Arrow stream has room for one in a column."""
    for number, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(number, table.column_names[number], column.cast(pa.string()))
    return table
