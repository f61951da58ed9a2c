"""One shard of a stream: an engine that has the lanes of some keys, kept in Spark's state."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from foretell.engine import ColumnarResult, Engine
from foretell.errors import InputError
from foretell.events.arrow_interop import table_from_bytes, table_to_bytes
from foretell.events.reorder_buffer import LateEvent
from foretell.language.printer import program_text
from foretell.language.subscriptions import Subscriptions
from foretell.language.subscriptions import parse as parse_text
from foretell.language.tree import Program
from foretell.machine.exec.limits import Limits
from foretell.machine.matches.notification_order import notification_order
from foretell.notify.arrow_encoder import notification_columns
from foretell.spark.partitioning.statement_groups import StatementGroup
from foretell.spark.streaming.chunked_state import ChunkedState, StoredState, WriteCost
from foretell.spark.streaming.control_stream import ChangeApplier, StatementChange, StatementDirectory, decode
from foretell.spark.streaming.shuffle_rows import latest_of

#: What a shard tells in a micro-batch: its rows as one block, and figures.
FIGURES = (
    *("events", "matches", "late", "bad", "refused", "partial_matches", "waiting"),
    *("state_bytes", "pages", "pages_written", "bytes_written", "state_ms"),
)
TOLD = "told BINARY, " + ", ".join(f"{name} BIGINT" for name in FIGURES)

_LOG = logging.getLogger(__name__)

# The engines of this worker as they were last written down, by what was written and with which statements. A worker
# that gets a shard again need not build its engine anew; and where the state is another (a task that is repeated, a
# shard that was elsewhere, a query begun again with other statements), it does not find one here.
_engines: dict[bytes, Engine] = {}
_KEPT = 64


class ShardMetadata(msgspec.Struct):
    """What is written down beside an engine: how keys are dealt out, for state of another layout would be that of other
    keys; the statements that the query was started with; and where changes have put others."""

    layout: str
    statements: str
    directory: StatementDirectory


@dataclass
class ShardProcessor(StatefulProcessor):
    """`begin` has for each share an engine that has seen no events yet."""

    shares: Sequence[StatementGroup]
    begin: Mapping[str, bytes]
    tables: Mapping[str, pa.Table]
    schema: pa.Schema
    times: Mapping[str, str]
    limits: Limits | None = None
    _state: ChunkedState = field(init=False)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = ChunkedState(handle)

    # (Names are Spark's, which passes them by keyword; its own type asks for pandas frames, and we take rows.)
    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # type: ignore[override]  # noqa: N802, N803
        (code,) = key
        share = next(share for share in self.shares if code in share.shards)
        packed = sorted(rows, key=lambda row: (row.stream or "", row.part))
        begun = perf_counter()
        before = self._state.read()
        about, engine = self._restored(share, before)
        took = perf_counter() - begun
        changing = ChangeApplier(self.shares, share, code == share.shards[0], about.directory)
        for change in decode([row.other for row in packed if row.stream is None]):
            changing.apply(engine, change)
        batches = _batches(packed)
        told = engine.push_columns(batches, _latest(packed))
        for note in told.notes:
            _LOG.warning("%s", note)
        late = [e for one in told.late if self._tells(share, one.stream) for e in one.events()]
        bad = [bad for row in packed if row.stream is not None and row.other for bad in msgspec.json.decode(row.other)]
        matches = self._matches(told)
        aside = [*map(self._late, late), *map(_bad, bad), *(_refused(*one) for one in changing.refused)]
        told_rows = pa.concat_tables([*matches, pa.Table.from_pylist(aside, self.schema)])
        begun = perf_counter()
        cost = self._write(before, about, engine)
        took += perf_counter() - begun
        yield Row(
            told=table_to_bytes(told_rows) if told_rows.num_rows else None,
            events=sum(len(batch) for name, batch in batches.items() if self._tells(share, name)) + len(bad),
            matches=sum(map(len, matches)),
            late=len(late),
            bad=len(bad),
            refused=len(changing.refused),
            partial_matches=engine.partial_matches,
            waiting=engine.waiting,
            **asdict(cost),
            state_ms=round(1000 * took),
        )

    def close(self) -> None:
        pass

    # ── state ──

    def _restored(self, share: StatementGroup, found: StoredState | None) -> tuple[ShardMetadata, Engine]:
        layout = f"{len(share.shards)} shards {share.name}"
        if found is None:
            return ShardMetadata(layout, share.text, StatementDirectory()), self._engine(None, self.begin[share.name])
        about = msgspec.json.decode(found.about, type=ShardMetadata)
        if about.layout != layout:
            raise InputError(
                "changed-shards",
                f"the checkpoint has its state by {about.layout}, not by {layout}",
                hint="begin with another checkpoint, or go on with as many shards as there were",
            )
        kept = _engines.pop(self._digest(found), None)
        if kept is not None and about.statements == share.text:
            return about, kept
        block = self._state.block(found)
        wanted = None if about.statements == share.text else self._wanted(about, share, block)
        about.statements = share.text
        return about, self._engine(wanted, block)

    def _engine(self, wanted: Subscriptions | None, written: bytes) -> Engine:
        if wanted is None:
            return Engine.restore(None, written, limits=self.limits)
        known = set(Engine.restore(None, written, limits=self.limits).subscriptions.tables)
        tables = {name: self.tables[name] for name in wanted.tables if name in self.tables and name not in known}
        return Engine.restore(wanted, written, tables=tables, limits=self.limits)

    def _wanted(self, about: ShardMetadata, share: StatementGroup, written: bytes) -> Subscriptions:
        """The statements of the query now, with what changes had brought and without what they had taken away."""
        before = {str(s.name) for s in parse_text(about.statements).program.statements}
        there = Engine.restore(None, written, limits=self.limits).subscriptions.program.statements
        names = {str(s.name) for s in there}
        now = parse_text(share.text).program.statements
        kept = [s for s in now if str(s.name) in names or str(s.name) not in before]
        brought = [s for s in there if str(s.name) not in before and str(s.name) not in {str(n.name) for n in now}]
        program = Program((*kept, *brought))
        return Subscriptions(program, program_text(program))

    def _write(self, before: StoredState | None, about: ShardMetadata, engine: Engine) -> WriteCost:
        written, cost = self._state.write(before, msgspec.json.encode(about).decode(), engine.snapshot())
        while len(_engines) >= _KEPT:
            del _engines[next(iter(_engines))]
        _engines[self._digest(written)] = engine
        return cost

    def _digest(self, written: StoredState) -> bytes:
        said = f"{written.about}\0{self.limits}\0".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(said + written.content, digest_size=32).digest()

    # ── rows ──

    def _matches(self, told: ColumnarResult) -> list[pa.Table]:
        """As columns, each statement's in their order: what comes of several shards has no order of its own."""
        order = notification_order(told.results)
        parts = [(one, order.batch == n) for n, one in enumerate(told.results)]
        return [
            notification_columns(one, order.result[mine], order.row[mine]).cast(self.schema)
            for one, mine in parts
            if mine.any()
        ]

    def _tells(self, share: StatementGroup, stream: str) -> bool:
        """Whether this share counts a stream's events and tells of late ones: all that read it find the same late."""
        return next((one for one in self.shares if stream in one.streams), share) is share

    def _late(self, late: LateEvent) -> dict[str, object]:
        time = late.event[self.times[late.stream]]
        return {**_aside("late", late.stream, late.event), "start": time, "end": time}


@dataclass(frozen=True)
class NotificationDecoder:
    """The rows that shards tell, one by one again; what `mapInArrow` is given."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            blocks: list[Any] = batch.column(0).to_pylist()
            for block in blocks:
                if block is not None:
                    yield from table_from_bytes(block).combine_chunks().to_batches()


def _batches(packed: Iterable[Row]) -> dict[str, pa.Table]:
    blocks: dict[str, list[bytes]] = {}
    for row in packed:
        if row.events is not None:
            blocks.setdefault(row.stream, []).append(row.events)
    return {stream: pa.concat_tables(map(table_from_bytes, some)) for stream, some in blocks.items()}


def _latest(packed: Iterable[Row]) -> dict[str, int | float]:
    latest: dict[str, int | float] = {}
    for row in packed:
        if row.latest is not None:
            time = latest_of(row.latest)
            latest[row.stream] = max(latest.get(row.stream, time), time)
    return latest


def _bad(bad: Mapping[str, Any]) -> dict[str, object]:
    return _aside("bad", bad["stream"], {"reason": bad["reason"], "raw": bad["raw"]})


def _refused(change: StatementChange, reason: str) -> dict[str, object]:
    return _aside("refused", change.name or "", {"reason": reason, **msgspec.to_builtins(change)})


def _aside(kind: str, stream: str, content: object) -> dict[str, object]:
    return {"subscription": stream, "kind": kind, "bindings": msgspec.json.encode(content).decode(), "events": "{}"}
