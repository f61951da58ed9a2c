"""Events of one task that are more than its memory holds: sorted by time and put down in runs, then taken up together
piece by piece. The engine lets go of what its windows have passed, so a key may have more events than memory holds.
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

#: So many events of each run are in memory at once.
TAKEN = 65_536


@dataclass
class ExternalSort:
    """Sorted runs of several streams. A table has its number in the stream as the last column."""

    times: Mapping[str, str]  # the time column of each stream
    folder: TemporaryDirectory[str] = field(default_factory=TemporaryDirectory)
    files: list[tuple[str, Path]] = field(default_factory=list)

    def put_down(self, stream: str, table: pa.Table) -> None:
        last = table.num_columns - 1
        by = np.lexsort((numpy_of(table.column(last)), _numbers(table[self.times[stream]])))
        table = take_rows(_plain(table), arrow_of(by))
        path = Path(self.folder.name) / str(len(self.files))
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=TAKEN)
        self.files.append((stream, path))

    def pieces(self) -> Iterator[dict[str, pa.Table]]:
        """The events of all streams in the order of time. An instant is never cut."""
        runs = [_SortedFile(stream, self.times[stream], path) for stream, path in self.files]
        while any(run.more for run in runs):
            open_ = [run for run in runs if run.more]
            until = min(run.latest for run in open_)
            piece = [(run.stream, run.before(until)) for run in runs]
            if any(table.num_rows for _, table in piece):
                yield _together(piece)
            for run in open_:
                if run.latest == until:
                    run.read_on()
        yield _together([(run.stream, run.held) for run in runs])


class _SortedFile:
    """One run, of which some events are in memory: `held`, in the order of time."""

    def __init__(self, stream: str, time: str, path: Path) -> None:
        self.stream, self._time = stream, time
        self._reader = pa.ipc.open_stream(pa.memory_map(str(path)))
        self.held = self._reader.schema.empty_table()
        self.more = True
        self.read_on()

    @property
    def latest(self) -> Any:
        return _numbers(self.held[self._time])[-1]

    def read_on(self) -> None:
        try:
            self.held = pa.concat_tables([self.held, pa.Table.from_batches([self._reader.read_next_batch()])])
        except StopIteration:
            self.more = False

    def before(self, time: Any) -> pa.Table:
        """Takes the events before a time."""
        cut = int(np.searchsorted(_numbers(self.held[self._time]), time, side="left"))
        due, self.held = self.held.slice(0, cut), self.held.slice(cut)
        return due


def _together(piece: list[tuple[str, pa.Table]]) -> dict[str, pa.Table]:
    """The events of each stream as they arrived."""
    streams = dict.fromkeys(stream for stream, _ in piece)
    found = {}
    for stream in streams:
        table = pa.concat_tables(table for one, table in piece if one == stream)
        arrival = table.column(table.num_columns - 1).combine_chunks()
        found[stream] = take_rows(table, pc.array_sort_indices(arrival))
    return found


def _numbers(column: Any) -> Times:
    return numpy_of(column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)


def _plain(table: pa.Table) -> pa.Table:
    """Texts themselves: a file has room for one set of codes."""
    for number, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(number, table.column_names[number], column.cast(pa.string()))
    return table
