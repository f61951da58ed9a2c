"""Reduce side of a stream: it runs the engine of one shard from state to state.

The engine, not a bare MatchRuntime as in a batch: a stream needs its reorder buffer for late events, its snapshots for
Spark's state, and statements that come and go.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import Row

from foretell.engine import Engine
from foretell.engine.engine import ColumnarResult
from foretell.errors import InputError
from foretell.events.arrow_interop import table_from_bytes
from foretell.events.ingest.nulled_values import unreadable_values
from foretell.events.reorder_buffer import LateEvent
from foretell.language.printer import program_text
from foretell.language.subscriptions import Subscriptions
from foretell.language.subscriptions import parse as parse_text
from foretell.language.tree import Program
from foretell.machine.exec.limits import Limits
from foretell.spark.notification_columns import NotificationColumns, SideRow
from foretell.spark.partitioning.shard_input import ShardInput, quarantine_rows, reading_lines
from foretell.spark.partitioning.shuffle_rows import ShuffleRow
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.partitioning.task_limits import task_limits
from foretell.spark.streaming.chunked_state import ChunkedState, StoredState, WriteCost
from foretell.spark.streaming.control_stream import (
    ChangeApplier,
    StatementChange,
    StatementDirectory,
    decode_changes,
)
from foretell.spark.streaming.deferred_processor import StateVariables
from foretell.spark.streaming.shard_output import ShardOutput
from foretell.spark.worker_tasks import worker_task

#: The output of a shard in a micro-batch: its rows as an Arrow stream, and metrics.
METRICS = (
    *("events", "matches", "late", "bad", "unreadable", "refused", "partial_matches", "waiting"),
    *("state_bytes", "pages", "pages_written", "bytes_written", "state_ms"),
)
#: A metric that is not added up: the latest event time in microseconds, NULL where times are plain numbers.
LATEST = "latest"
OUTPUT_COLUMNS = "notifications BINARY, " + ", ".join(f"{name} BIGINT" for name in (*METRICS, LATEST))

#: The result of an engine that gets nothing.
_NO_RESULT = ColumnarResult((), (), (), (), (), ())

_LOG = logging.getLogger(__name__)

# The engines of this worker as they were last written, one for each shard. A worker that gets a shard again need not
# restore its engine, unless the state is another: a task is repeated, the shard was on another worker meanwhile, or the
# query has restarted with other statements.
_engines: dict[tuple[str, int], CachedEngine] = {}
_CACHED_ENGINES = 64


class CachedEngine(NamedTuple):
    """An engine, the digest of the snapshot that it has been written to, and the clocks that it has seen since."""

    digest: bytes
    clocks: Mapping[str, int | float]
    engine: Engine

    def comes_to(self, digest: bytes, clocks: Mapping[str, int | float]) -> bool:
        """Whether this engine has the state of a snapshot and clocks once it gets the clocks."""
        past = all(stream in clocks and time <= clocks[stream] for stream, time in self.clocks.items())
        return self.digest == digest and past


class ShardMetadata(msgspec.Struct):
    """Written beside a snapshot. Checkpoints hold it: the names of its fields must not change.

    `layout` is the partitioning: under another, the state would be that of other keys. `statements` are those that the
    query was started with, and `directory` has those that changes have brought. `clocks` are the latest times of the
    streams that the shard has seen since its snapshot was written, in micro-batches that brought it nothing else: the
    snapshot with these times is its state. `state_bytes` is the size of the snapshot, `partial_matches` their number in
    it. `awaits_time` is whether time alone may bring results of it.
    """

    layout: str
    statements: str
    directory: StatementDirectory
    clocks: dict[str, int | float] = msgspec.field(default_factory=dict)
    state_bytes: int = 0
    partial_matches: int = 0
    awaits_time: bool = True


@dataclass(frozen=True)
class ShardProcessor:
    """`initial` has for each group the snapshot of an engine that has processed no events."""

    groups: Sequence[StatementGroup]
    initial: Mapping[str, bytes]
    tables: Mapping[str, pa.Table]
    columns: NotificationColumns
    time_columns: Mapping[str, str]
    limits: Limits | None = None

    def process(self, shard: int, rows: Iterator[Row], variables: StateVariables) -> Iterator[Row]:
        """Process the rows of a shard in a micro-batch: its output in one row or several, the last with metrics."""
        with worker_task():
            outputs, metrics = self._run(shard, rows, ChunkedState(variables))
        for output in outputs[:-1]:
            yield Row(notifications=output, **dict.fromkeys(metrics))
        yield Row(notifications=outputs[-1] if outputs else None, **metrics)

    def _run(self, shard: int, rows: Iterator[Row], state: ChunkedState) -> tuple[list[bytes], dict[str, int | None]]:
        group = next(group for group in self.groups if shard in group.shards)
        shard_input = ShardInput()
        for row in rows:
            shard_input.add(ShuffleRow.of_spark(row))
        started = perf_counter()
        before = state.read()
        metadata = self._metadata(group, before)
        untouched = metadata.statements == group.text and not shard_input.segments and not shard_input.changes
        sleeps = before is not None and untouched and not metadata.awaits_time
        engine = None if sleeps else self._engine(group, shard, state, before, metadata)
        state_seconds = perf_counter() - started
        applier = ChangeApplier(self.groups, group, shard == group.shards[0], metadata.directory)
        if changes := decode_changes(shard_input.changes):
            assert engine is not None
            applier.apply_all(engine, changes)
        outputs, counts = self._processed(engine, group, shard_input, applier)
        started = perf_counter()
        if before is not None and untouched and (engine is None or not outputs):
            stored, cost = self._write_clocks(state, before, metadata, shard_input.clocks)
        else:
            assert engine is not None
            metadata.statements = group.text
            stored, cost = self._write(state, before, metadata, engine)
        if engine is not None:
            metadata.partial_matches = engine.partial_matches
            self._keep(group, shard, stored, metadata, engine)
        state_seconds += perf_counter() - started
        return outputs, {
            **counts,
            "partial_matches": metadata.partial_matches,
            "waiting": 0 if engine is None else engine.waiting,
            **asdict(cost),
            "state_ms": round(1000 * state_seconds),
            "latest": self._latest(shard_input),
        }

    def _latest(self, shard_input: ShardInput) -> int | None:
        if not pa.types.is_timestamp(self.columns.schema.field("end").type):
            return None
        return max(map(int, shard_input.clocks.values()), default=None)

    def _processed(
        self,
        engine: Engine | None,
        group: StatementGroup,
        shard_input: ShardInput,
        applier: ChangeApplier,
    ) -> tuple[list[bytes], dict[str, int]]:
        """Process the events of a micro-batch; return the rows of all kinds, encoded, and the number of each kind. The
        engine is None where nothing comes that it waits for."""
        batches = {
            stream: pa.concat_tables(table for _, table in shard_input.tables(stream))
            for stream in shard_input.segments
        }
        output = ShardOutput(self.columns, task_limits(self.limits))
        if applier.revised:
            output.take(applier.revised)
        result = _NO_RESULT if engine is None else engine.push_columns(batches, shard_input.clocks, output.take)
        for note in (*result.notes, *reading_lines(shard_input)):
            _LOG.warning("%s", note)
        late = [event for events in result.late if self._reports(group, events.stream) for event in events.events()]
        bad = shard_input.quarantined
        side_rows = [
            *map(self._late_row, late),
            *quarantine_rows(bad),
            *(_refused_row(change, reason) for change, reason in applier.refused),
        ]
        counts = {
            "events": sum(len(t) for stream, t in batches.items() if self._reports(group, stream)) + len(bad),
            "matches": output.notifications,
            "late": len(late),
            "bad": len(bad),
            "unreadable": sum(values.count for values in unreadable_values(shard_input.nulled)),
            "refused": len(applier.refused),
        }
        return list(output.rows(side_rows)), counts

    # ── state ──

    def _metadata(self, group: StatementGroup, stored: StoredState | None) -> ShardMetadata:
        layout = f"{len(group.shards)} shards {group.name}"
        if stored is None:
            return ShardMetadata(layout, group.text, StatementDirectory())
        metadata = msgspec.json.decode(stored.metadata, type=ShardMetadata)
        if metadata.layout != layout:
            raise InputError(
                "changed-shards",
                f"the checkpoint holds {metadata.layout}, and the query asks for {layout}",
                hint="keep the number of shards, or start with a new checkpoint",
            )
        return metadata

    def _engine(
        self,
        group: StatementGroup,
        shard: int,
        state: ChunkedState,
        stored: StoredState | None,
        metadata: ShardMetadata,
    ) -> Engine:
        """The engine in the state that was written last."""
        if stored is None:
            return self._restored(None, self.initial[group.name])
        cached, same = _engines.pop((group.text, shard), None), metadata.statements == group.text
        if same and cached is not None and cached.comes_to(self._digest(stored), metadata.clocks):
            engine = cached.engine
        else:
            snapshot = state.snapshot(stored)
            engine = self._restored(None if same else self._wanted(metadata, group, snapshot), snapshot)
        if metadata.clocks:
            engine.push_columns({}, metadata.clocks)
        return engine

    def _restored(self, wanted: Subscriptions | None, snapshot: bytes) -> Engine:
        limits = task_limits(self.limits)
        if wanted is None:
            return Engine.restore(None, snapshot, limits=limits)
        known = set(Engine.restore(None, snapshot, limits=limits).subscriptions.tables)
        tables = {name: self.tables[name] for name in wanted.tables if name in self.tables and name not in known}
        return Engine.restore(wanted, snapshot, tables=tables, limits=limits)

    def _wanted(self, metadata: ShardMetadata, group: StatementGroup, snapshot: bytes) -> Subscriptions:
        """Return the statements of the query now, with those that changes have brought, without those they removed."""
        before = {str(s.name) for s in parse_text(metadata.statements).program.statements}
        running = Engine.restore(None, snapshot, limits=self.limits).subscriptions.program.statements
        running_names = {str(s.name) for s in running}
        now = parse_text(group.text).program.statements
        kept = [s for s in now if str(s.name) in running_names or str(s.name) not in before]
        now_names = {str(s.name) for s in now}
        brought = [s for s in running if str(s.name) not in before and str(s.name) not in now_names]
        program = Program((*kept, *brought))
        return Subscriptions(program, program_text(program))

    def _write(
        self, state: ChunkedState, before: StoredState | None, metadata: ShardMetadata, engine: Engine
    ) -> tuple[StoredState, WriteCost]:
        snapshot = engine.snapshot()
        metadata.clocks, metadata.state_bytes = {}, len(snapshot)
        metadata.partial_matches, metadata.awaits_time = engine.partial_matches, engine.awaits_time
        return state.write(before, msgspec.json.encode(metadata).decode(), snapshot)

    def _write_clocks(
        self, state: ChunkedState, before: StoredState, metadata: ShardMetadata, clocks: Mapping[str, int | float]
    ) -> tuple[StoredState, WriteCost]:
        """Write the times of a micro-batch that brought nothing else and gave no output: a restored engine that gets
        them does the same again. The snapshot, which may be large, stays."""
        later = {stream: max(time, metadata.clocks.get(stream, time)) for stream, time in clocks.items()}
        metadata.clocks |= later
        stored = state.write_metadata(before, msgspec.json.encode(metadata).decode())
        return stored, WriteCost(metadata.state_bytes, len(stored.page_names) or 1, 0, len(stored.content))

    def _keep(
        self, group: StatementGroup, shard: int, stored: StoredState, metadata: ShardMetadata, engine: Engine
    ) -> None:
        while len(_engines) >= _CACHED_ENGINES:
            del _engines[next(iter(_engines))]
        _engines[group.text, shard] = CachedEngine(self._digest(stored), metadata.clocks, engine)

    def _digest(self, stored: StoredState) -> bytes:
        return hashlib.blake2b(f"{self.limits}\0".encode() + stored.content, digest_size=32).digest()

    # ── rows ──

    def _reports(self, group: StatementGroup, stream: str) -> bool:
        """Return whether a group counts a stream's events and reports late ones: all readers find the same late."""
        return next((reader for reader in self.groups if stream in reader.columns), group) is group

    def _late_row(self, late: LateEvent) -> SideRow:
        return SideRow("late", late.stream, late.event, late.event[self.time_columns[late.stream]])


@dataclass(frozen=True)
class NotificationDecoder:
    """Decodes the output of shards into one row for each notification, for `mapInArrow`."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            outputs: list[Any] = batch.column(0).to_pylist()
            for data in outputs:
                if data is not None:
                    yield from table_from_bytes(data).combine_chunks().to_batches()


def _refused_row(change: StatementChange, reason: str) -> SideRow:
    return SideRow("refused", change.name or "", {"reason": reason, **msgspec.to_builtins(change)})
