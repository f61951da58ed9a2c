"""What goes through Spark's shuffle: the events of a task as blocks of Arrow, one for each shard.

Rows one by one are what costs in Spark (DESIGN, section 3), so each task packs all its events of a shard into one row.
It sends a row to every shard, also to those it has no events for: with the time of its latest event. So each shard
learns in the same micro-batch how far time has come in all of them, without an aggregate, which streams do not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from foretell.events.arrow_interop import numpy_of, table_to_bytes
from foretell.events.ingest.quarantine import QuarantinedEvent
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read, read_file
from foretell.events.reorder_buffer import Time, event_times
from foretell.spark.partitioning.hash_partitioner import hash_partition, split_by_partition
from foretell.spark.partitioning.statement_groups import StatementGroup

#: The number of a shard; a stream, or nothing where it is changes; the task, by which blocks are put in order; its
#: latest time as text, for it is an INT or a FLOAT and neither holds all of the other; the events; and as JSON the
#: malformed ones, or the changes.
PACKED = "shard BIGINT, stream STRING, part INT, latest STRING, events BINARY, other BINARY"
_FIELDS: Any = [
    ("shard", pa.int64()),
    ("stream", pa.string()),
    ("part", pa.int32()),
    ("latest", pa.string()),
    ("events", pa.binary()),
    ("other", pa.binary()),
]
_PACKED = pa.schema(_FIELDS)

#: Columns of a frame by which its source tells of rows that it could not read: why, or the text; and what came.
MALFORMED = ("malformed", "payload")

#: Of Spark's format binaryFile.
FILE = ("path", "content")


@dataclass(frozen=True)
class MapSidePacker:
    """Packs the rows of one stream; what `mapInArrow` is given. Malformed ones go to the shard `owner` alone.

    With `files` a row is a whole file, its path and its content: events then go through Spark in one piece and are read
    here, at several times the speed of Spark's own readers, and by the same rules as in process.
    """

    declaration: StreamDeclaration
    shares: Sequence[StatementGroup]
    owner: int
    files: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        some = [batch for batch in batches if batch.num_rows]
        if some and self.files:
            files = [file for batch in some for file in zip(*(column.to_pylist() for column in batch.columns))]
            yield self._packed(_joined([read_file(path, content, self.declaration) for path, content in files]), [])
        elif some:
            rows, malformed = self._well_formed(pa.Table.from_batches(some))
            yield self._packed(read(rows, self.declaration), malformed)

    def _well_formed(self, rows: pa.Table) -> tuple[pa.Table, list[QuarantinedEvent]]:
        """Without the rows that their source could not read, whose column MALFORMED says why."""
        count = len(self.declaration.columns)
        events = rows.select(list(range(count)))
        if rows.num_columns == count:
            return events, []
        well = pc.is_null(rows.column(count))
        if pc.all(well).as_py():
            return events, []
        texts = zip(*(rows.filter(pc.invert(well)).column(n).to_pylist() for n in range(count, rows.num_columns)))
        numbers = np.flatnonzero(~numpy_of(well)) + 1
        bad = [self._malformed(int(number), *text) for number, text in zip(numbers, texts)]
        return events.filter(well), bad

    def _malformed(self, number: int, mark: str, payload: bytes | str | None = None) -> QuarantinedEvent:
        stream = self.declaration.stream
        if payload is None:  # Spark's own readers give what they could not read, and do not say why
            return QuarantinedEvent(stream, stream, number, "not as the stream is declared", mark)
        raw = payload if isinstance(payload, str) else payload.decode("utf-8", "replace")
        return QuarantinedEvent(stream, stream, number, mark, raw)

    def _packed(self, loaded: EventBatch, malformed: list[QuarantinedEvent]) -> pa.RecordBatch:
        stream, part, latest = loaded.stream, part_of_task(), _latest(loaded)
        blocks = {code: block for share in self.shares for code, block in self._blocks(share, loaded)}
        aside = [asdict(one) for one in (*malformed, *loaded.quarantined)]
        bad = msgspec.json.encode(aside) if aside else None
        others = {self.owner: bad}
        return packed((code, stream, part, latest, block, others.get(code)) for code, block in blocks.items())

    def _blocks(self, share: StatementGroup, loaded: EventBatch) -> Iterator[tuple[int, bytes | None]]:
        if loaded.stream not in share.streams:
            return ((code, None) for code in share.shards)
        shards = len(share.shards)
        rows = dict(split_by_partition(loaded.table, hash_partition(loaded, share.keys, shards), shards))
        return ((code, table_to_bytes(rows[n]) if n in rows else None) for n, code in enumerate(share.shards))


def _joined(parts: Sequence[EventBatch]) -> EventBatch:
    table = pa.concat_tables([part.table for part in parts])
    bad = tuple(bad for part in parts for bad in part.quarantined)
    return replace(parts[0], table=table, quarantined=bad, total=sum(part.total for part in parts))


def packed(rows: Iterator[tuple[object, ...]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(zip(*rows), _PACKED)], schema=_PACKED)


def part_of_task() -> int:
    task = TaskContext.get()
    return 0 if task is None else task.partitionId()


def latest_of(text: str) -> Time:
    """A time as it was packed.

    >>> latest_of("9007199254740993"), latest_of("0.5")
    (9007199254740993, 0.5)
    """
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _latest(loaded: EventBatch) -> str | None:
    """None where no event has a time."""
    return repr(event_times(loaded).max().item()) if loaded.table.num_rows else None
