"""Map side of a stream: tasks read the events of a micro-batch and encode them as shuffle rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.events.arrow_interop import numpy_of
from foretell.events.ingest.input_files import format_of
from foretell.events.ingest.nulled_values import merge_nulled
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read, read_file
from foretell.events.ingest.time_forms import reading_of
from foretell.spark.partitioning.shuffle_rows import ShuffleWriter, StreamProgress, map_task
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.task_errors import hidden_traceback

#: Columns in which a source reports rows that it could not read: the reason, or the text; and the payload.
MALFORMED = ("malformed", "payload")

#: Columns of Spark's format binaryFile that are read here.
FILE = ("path", "content")


@dataclass(frozen=True)
class StreamMapper:
    """Encodes the rows of one stream, for `mapInArrow`: the declared columns in their order, then those of MALFORMED.

    With `files` a row is a whole file, its path and content: events then pass through Spark in one piece and are read
    here, several times as fast as by Spark's own readers, and by the same rules as in process.
    """

    declaration: StreamDeclaration
    groups: Sequence[StatementGroup]
    files: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with hidden_traceback():
            yield from self._mapped(batches)

    def _mapped(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = [batch for batch in batches if batch.num_rows]
        if filled and self.files:
            files = [file for batch in filled for file in zip(*(column.to_pylist() for column in batch.columns))]
            read_files = [batch for path, content in files if (batch := self._read(path, content)) is not None]
            if read_files:
                yield from self._shuffle_rows(_joined(read_files), [])
        elif filled:
            rows, malformed = self._well_formed(pa.Table.from_batches(filled))
            yield from self._shuffle_rows(read(rows, self._timed, whole=False), malformed)

    @property
    def _timed(self) -> StreamDeclaration:
        """The declaration with a reading of times that does not depend on which events come together; times without a
        year go by today's date."""
        return replace(self.declaration, times=reading_of(self.declaration.read))

    def _read(self, path: str, content: bytes) -> EventBatch | None:
        options = self.declaration.read
        if format_of(path) is None and options.format is None and options.pattern is None:
            return None  # another program's file: a batch leaves it out of a folder, too
        return read_file(_local_path(path), content, self._timed)

    def _shuffle_rows(self, batch: EventBatch, malformed: list[QuarantinedEvent]) -> Iterator[pa.RecordBatch]:
        # Shards order the events of a stream by map task: within a micro-batch that is the order of their arrival.
        writer, stream, sequence = ShuffleWriter(self.groups), batch.stream, map_task()
        for group in self.groups:
            if stream in group.columns:
                yield from writer.events(group, batch, batch.table.select(list(group.columns[stream])), sequence)
        yield from writer.progress(stream, StreamProgress.of(batch), sequence)
        yield from writer.quarantined(stream, [*malformed, *batch.quarantined], sequence)
        yield from writer.reading(batch, sequence)

    def _well_formed(self, rows: pa.Table) -> tuple[pa.Table, list[QuarantinedEvent]]:
        """Separate the rows that their source could not read, which have a reason in the column MALFORMED."""
        count = len(self.declaration.columns)
        events = rows.select(list(range(count))).rename_columns(self.declaration.columns)
        if rows.num_columns == count:
            return events, []
        well_formed = pc.is_null(rows.column(count))
        if pc.all(well_formed).as_py():
            return events, []
        malformed = rows.filter(pc.invert(well_formed))
        texts = zip(*(malformed.column(n).to_pylist() for n in range(count, rows.num_columns)))
        numbers = np.flatnonzero(~numpy_of(well_formed)) + 1
        return events.filter(well_formed), [self._malformed(int(n), *text) for n, text in zip(numbers, texts)]

    def _malformed(self, number: int, mark: str, payload: bytes | str | None = None) -> QuarantinedEvent:
        stream = self.declaration.stream
        if payload is None:  # Spark's own readers give the text that they could not read, without a reason
            return QuarantinedEvent(stream, stream, number, "not as the stream is declared", mark)
        raw = payload if isinstance(payload, str) else payload.decode("utf-8", "replace")
        return QuarantinedEvent(stream, stream, number, mark, raw)


def _local_path(uri: str) -> str:
    """Return the path of a local file as its user writes it, and any other address as it is."""
    return unquote(urlsplit(uri).path) if uri.startswith("file:") else uri


def _joined(batches: Sequence[EventBatch]) -> EventBatch:
    table = pa.concat_tables([batch.table for batch in batches])
    return replace(
        batches[0],
        table=table,
        quarantined=tuple(event for batch in batches for event in batch.quarantined),
        total=sum(batch.total for batch in batches),
        nulled=merge_nulled(values for batch in batches for values in batch.nulled),
        notes=tuple(dict.fromkeys(note for batch in batches for note in batch.notes)),
    )
