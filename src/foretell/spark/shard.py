"""One shard of a stream: an engine that has the lanes of some keys, kept as one value of Spark's state."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from foretell.engine import Engine
from foretell.errors import InputError
from foretell.events.arrow import table_bytes, table_of
from foretell.events.read import BadEvent
from foretell.events.waiting import LateEvent
from foretell.machine.limits import Limits
from foretell.notify.notifications import Notifications
from foretell.notify.rows import to_table
from foretell.spark.parcels import latest_of

#: What a shard tells in a micro-batch: its rows as one block.
TOLD = "told BINARY"

_STATE = "layout STRING, engine BINARY"
_LOG = logging.getLogger(__name__)

# The engines of this worker as they were last written down, by what was written and with which statements. A worker
# that gets a shard again need not build its engine anew; and where the state is another (a task that is repeated, a
# shard that was elsewhere, a query begun again with other statements), it does not find one here.
_engines: dict[bytes, Engine] = {}
_KEPT = 64


@dataclass
class Shard(StatefulProcessor):
    """`begin` is an engine that has seen no events yet, `layout` how keys are dealt out to shards: state of another
    layout would be that of other keys."""

    statements: str
    begin: bytes
    layout: str
    schema: pa.Schema
    times: Mapping[str, str]
    limits: Limits | None = None
    _state: Any = field(default=None, init=False)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("shard", _STATE)

    # (The parameter's name is Spark's.)
    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # type: ignore[override]  # noqa: N802, N803
        packed = sorted(rows, key=lambda row: (row.stream, row.part))
        engine = self._engine()
        told = self._rows(engine.push_together(_batches(packed), _latest(packed)))
        written = engine.snapshot()
        self._state.update((self.layout, written))
        _keep(self._digest(written), engine)
        if told.num_rows:
            yield Row(told=table_bytes(told))

    def close(self) -> None:
        pass

    def _engine(self) -> Engine:
        found = self._state.get()
        layout, written = (self.layout, self.begin) if found is None else found
        if layout != self.layout:
            raise InputError(
                "changed-shards",
                f"the checkpoint has its state by {layout}, not by {self.layout}",
                hint="begin with another checkpoint, or go on with the shards and PER attributes as they were",
            )
        kept = None if found is None else _engines.pop(self._digest(written), None)
        return kept or Engine.restore(self.statements, bytes(written), limits=self.limits)

    def _digest(self, written: bytes) -> bytes:
        return hashlib.sha256(f"{self.statements}\0{self.limits}\0".encode("utf-8", "surrogatepass") + written).digest()

    def _rows(self, told: Notifications) -> pa.Table:
        for note in told.notes:
            _LOG.warning("%s", note)
        late = [self._late(event) for event in told.late]
        aside = pa.Table.from_pylist([*late, *map(_bad, told.bad)], self.schema)
        return pa.concat_tables([to_table(told.rows).cast(self.schema), aside]) if told.rows else aside

    def _late(self, late: LateEvent) -> dict[str, object]:
        time = late.event[self.times[late.stream]]
        return {**_aside("late", late.stream, late.event), "start": time, "end": time}


@dataclass(frozen=True)
class Unpacker:
    """The rows that shards tell, one by one again; what `mapInArrow` is given."""

    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            blocks: list[Any] = batch.column(0).to_pylist()
            for block in blocks:
                yield from table_of(block).cast(self.schema).to_batches()


def _batches(packed: Iterable[Row]) -> dict[str, pa.Table]:
    blocks: dict[str, list[bytes]] = {}
    for row in packed:
        if row.events is not None:
            blocks.setdefault(row.stream, []).append(row.events)
    return {stream: pa.concat_tables(map(table_of, some)) for stream, some in blocks.items()}


def _latest(packed: Iterable[Row]) -> dict[str, int | float]:
    latest: dict[str, int | float] = {}
    for row in packed:
        if row.latest is not None:
            time = latest_of(row.latest)
            latest[row.stream] = max(latest.get(row.stream, time), time)
    return latest


def _bad(bad: BadEvent) -> dict[str, object]:
    return _aside("bad", bad.stream, {"reason": bad.reason, "raw": bad.raw})


def _aside(kind: str, stream: str, content: object) -> dict[str, object]:
    return {"subscription": stream, "kind": kind, "bindings": msgspec.json.encode(content).decode(), "events": "{}"}


def _keep(digest: bytes, engine: Engine) -> None:
    while len(_engines) >= _KEPT:
        del _engines[next(iter(_engines))]
    _engines[digest] = engine
