"""Map side of a stream: tasks read the events of a micro-batch and encode them as shuffle rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from foretell.events.ingest.nulled_values import merge_nulled
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read, read_file
from foretell.events.ingest.time_forms import reading_of
from foretell.events.ingest.watched_files import WatchedFiles
from foretell.spark.partitioning.shuffle_rows import ShuffleWriter, StreamProgress, map_task
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.streaming.malformed_rows import separated_rows
from foretell.spark.worker_tasks import worker_task

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
    files: WatchedFiles | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with worker_task():
            yield from self._mapped(batches)

    def _mapped(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = [batch for batch in batches if batch.num_rows]
        if filled and self.files is not None:
            contents = (zip(*(column.to_pylist() for column in batch.columns)) for batch in filled)
            read_files = [read for rows in contents for path, content in rows for read in self._read(path, content)]
            if read_files:
                yield from self._shuffle_rows(_joined(read_files), [])
        elif filled:
            rows = separated_rows(pa.Table.from_batches(filled), self.declaration)
            batch = read(rows.events, self._timed, whole=False)
            batch = replace(batch, nulled=merge_nulled([*batch.nulled, *rows.nulled]))
            yield from self._shuffle_rows(batch, rows.quarantined)

    @property
    def _timed(self) -> StreamDeclaration:
        """The declaration with a reading of times that does not depend on which events come together; times without a
        year go by today's date."""
        declaration = self.declaration
        return replace(declaration, times=declaration.times or reading_of(declaration.read))

    def _read(self, path: str, content: bytes) -> Iterator[EventBatch]:
        assert self.files is not None
        file = self.files.file(path, self.declaration.read)
        if file is not None:
            yield read_file(file, content, self._timed)

    def _shuffle_rows(self, batch: EventBatch, malformed: list[QuarantinedEvent]) -> Iterator[pa.RecordBatch]:
        # Shards order the events of a stream by map task: within a micro-batch that is the order of their arrival.
        writer, stream, sequence = ShuffleWriter(self.groups), batch.stream, map_task()
        for group in self.groups:
            if stream in group.columns:
                yield from writer.events(group, batch, batch.table.select(list(group.columns[stream])), sequence)
        yield from writer.progress(stream, StreamProgress.of(batch), sequence)
        yield from writer.quarantined(stream, [*malformed, *batch.quarantined], sequence)
        yield from writer.reading(batch, sequence)


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
