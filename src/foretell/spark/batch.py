"""Finite inputs on Spark: the notifications of the engine in process, row for row, and no event on the driver.

    read, in their types ──▶ packed by shard ──shuffle──▶ sorted, run as the engine in process does ──▶ notifications

One shuffle. Before it, columns are cut to those that some statement names; after it a lane is in one task, which knows
the latest time of the whole stream, since every task that reads tells it to every one that matches.

Events of equal time come in the order of their stream's ORDER BY, then as they arrive: from a file in the order of
files and rows, from a Spark DataFrame in that of its partitions and their rows. The latter is as stable as the plan of
the frame is, so where times can be equal a DataFrame should have an ORDER BY.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from foretell.errors import InputError
from foretell.events.arrow import table_bytes, table_of
from foretell.events.columns import Sheet, gather_sheets
from foretell.events.notification import Notification
from foretell.events.read import BadEvent, Declaration, Loaded, LoadedTable, read, schema_of
from foretell.events.source import parquet_files
from foretell.events.types import Schema, Type
from foretell.given.sources import known_schema
from foretell.given.until import end_of_time
from foretell.language.checked import Checked, CheckedCorrelator
from foretell.language.subscriptions import Subscriptions
from foretell.notify.columns import notifications_of
from foretell.notify.notifications import Notifications
from foretell.notify.rows import to_table
from foretell.spark.packing import BAD, PACKED, READ, ROWS, Piece, pack_files, pack_frame, pack_tables
from foretell.spark.session import session
from foretell.spark.shares import Sent, plan
from foretell.spark.working import MATCH, NOTE, RANGED, REPORTED, in_order, report, sorted_of, tell

#: Shards for each core: lanes are not alike, and a core that has done a short one takes the next.
SHARDS = 4


#: What takes a stream, the pieces of its files and the numbers of those to read.
Reading = Callable[[str, Sequence[Piece], Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class _Source:
    """A stream: `known` is its schema as far as the data show it. One of files, frame and loaded is there."""

    schema: Schema
    known: Schema
    files: tuple[Piece, ...] = ()
    frame: DataFrame | None = None
    loaded: Loaded | None = None


class Batch:
    """Statements and their inputs, checked; nothing has run."""

    def __init__(
        self,
        program: Subscriptions,
        inputs: Mapping[str, object],
        declarations: Mapping[str, Declaration],
        tables: Mapping[str, LoadedTable],
        until: object,
        strict: bool = False,
    ) -> None:
        self._strict = strict
        self._sources = {name: _source(inputs[name], one, strict) for name, one in declarations.items()}
        known = {name: one.known for name, one in self._sources.items()}
        self._checked = program.checked(known, {name: table.types for name, table in tables.items()})
        _refuse_unsupported(self._checked)
        end = end_of_time(until, {one.time_type for one in known.values()} - {Type.UNKNOWN})
        schemas = {name: one.schema for name, one in self._sources.items()}
        cores = self._spark.sparkContext.defaultParallelism
        self._shards = SHARDS * cores
        self.plan = plan(program, self._checked, schemas, known, tables, end, shards=self._shards, cores=cores)

    @cached_property
    def _spark(self) -> SparkSession:
        frames = [one.frame for one in self._sources.values() if one.frame is not None]
        return frames[0].sparkSession if frames else session()

    def notifications(self) -> Notifications:
        """All of them, here."""
        if not self.plan.shares:
            return Notifications(())
        sent = self.plan.sent()
        found = self.packed(sent).mapInArrow(partial(report, sent), REPORTED).toArrow()
        told: dict[str, list[tuple[str, bytes]]] = {kind: [] for kind in (MATCH, NOTE, BAD, READ)}
        for kind, stream, data in zip(*(column.to_pylist() for column in found.columns)):
            told[kind].append((stream, data))
        counts = {stream: int(data) for stream, data in told[READ]}
        return Notifications(
            self._in_order([table_of(data) for _, data in told[MATCH]]),
            self._bad(data for _, data in told[BAD]),
            tuple((name, counts.get(name, 0) + self._set_aside(name)) for name in self._sources),
            tuple(dict.fromkeys(note.decode() for _, note in told[NOTE])),
        )

    def frame(self) -> DataFrame:
        """All of them, as a Spark DataFrame in their order."""
        empty = to_table(()).schema
        kind = _time_type(self._checked)
        schema = pa.schema([pa.field(f.name, kind) if f.name in ("start", "end") else f for f in empty])
        sent = replace(self.plan, strict=self._strict).sent()
        ranged = self.packed(sent).mapInArrow(partial(tell, sent, self._shards), RANGED)
        ranged = ranged.repartitionById(self._shards, "range")
        return ranged.mapInArrow(partial(in_order, schema), from_arrow_schema(schema))

    def packed(self, sent: Sent) -> DataFrame:
        """What each task that matches is to get, in the partition that is its own."""
        frames = [_pack(self._spark, sent, name, one) for name, one in self._sources.items()]
        return reduce(DataFrame.union, frames).repartitionById(self.plan.tasks, "task")

    def read(self, reading: Reading, schema: str) -> list[DataFrame]:
        """What something that reads the pieces of a stream's files makes of them."""
        return [
            _over_files(self._spark, one.files, partial(reading, name), schema)
            for name, one in self._sources.items()
            if one.files
        ]

    def _in_order(self, tables: list[pa.Table]) -> tuple[Notification, ...]:
        times = {one.name: one.time for one in self._checked.statements}
        if len({table.schema for table in tables}) < 2:
            return tuple(notifications_of(sorted_of(pa.concat_tables(tables)), times)) if tables else ()
        # Some times are INT and others FLOAT: no one column holds both exactly.
        rows = [(n, p) for t in tables for n, p in zip(notifications_of(t, times), t["place"].to_pylist())]
        rows.sort(key=lambda row: (row[0].end, row[0].subscription, row[1]))
        return tuple(notification for notification, _ in rows)

    def _bad(self, lists: Iterable[bytes]) -> tuple[BadEvent, ...]:
        """Stream by stream, as they arrived; those of a stream that was read here are in order already."""
        found = [bad for data in lists for bad in msgspec.json.decode(data, type=list[BadEvent])]
        found += [bad for one in self._sources.values() if one.loaded for bad in one.loaded.bad]
        stream = {name: number for number, name in enumerate(self._sources)}
        first = {(name, p.path): p.arrival for name, one in self._sources.items() for p in one.files}

        def place(bad: BadEvent) -> tuple[int, int]:
            arrival = first.get((bad.stream, bad.source))
            return stream[bad.stream], 0 if arrival is None else arrival + bad.row

        found.sort(key=place)
        if self._strict and found:
            raise InputError("bad-event", f"{found[0].source}:{found[0].row}: {found[0].reason}")
        return tuple(found)

    def _set_aside(self, name: str) -> int:
        """Events that were read and set aside here, and so never went to a task."""
        loaded = self._sources[name].loaded
        return 0 if loaded is None else len(loaded.bad)


def _refuse_unsupported(checked: Checked) -> None:
    for one in checked.statements:
        kind = "CORRELATE" if isinstance(one, CheckedCorrelator) else "LOSING" if one.tree.losing is not None else None
        if kind is not None:
            hint = "--engine reference does"
            raise InputError("not-in-engine", f"the engine on Spark does not run {kind} yet", hint=hint)


# ── sources ──


def _source(given: object, declaration: Declaration, strict: bool) -> _Source:
    if isinstance(given, DataFrame):
        return _frame_source(given, declaration)
    files = [str(file) for file in parquet_files(given)]
    if files:
        return _file_source(files, declaration)
    loaded = read(given, declaration, strict=strict)
    return _Source(loaded.schema, known_schema(loaded), loaded=loaded)


def _frame_source(frame: DataFrame, declaration: Declaration) -> _Source:
    arrow = frame.limit(0).toArrow().schema
    schema = schema_of(gather_sheets([_sheet(declaration.stream, arrow)]), declaration)
    return _Source(schema, schema, frame=frame)


def _file_source(files: list[str], declaration: Declaration) -> _Source:
    """What the files' own footers tell: their columns, and where their rows lie."""
    pieces: list[Piece] = []
    sheets: list[Sheet] = []
    arrival = 0
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                row = 0
                for group in range(file.num_row_groups):
                    pieces.append(Piece(path, group, row, arrival))
                    row += file.metadata.row_group(group).num_rows
                sheets.append(_sheet(path, file.schema_arrow))
                arrival += row
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            detail = str(error).splitlines()[0]
            raise InputError("wrong-format", f"{path} is not a Parquet file", hint=detail) from None
    schema = schema_of(gather_sheets(sheets), declaration)
    return _Source(schema, schema, files=tuple(pieces))


def _sheet(name: str, schema: pa.Schema) -> Sheet:
    columns: list[Any] = [pa.chunked_array([pa.array([], field.type)]) for field in schema]
    return Sheet(name, pa.table(columns, schema=schema), schema.names)


def _pack(spark: SparkSession, sent: Sent, name: str, source: _Source) -> DataFrame:
    if source.frame is not None:
        wanted = [f"`{column}`" for column in source.schema.attributes]
        return source.frame.select(*wanted).mapInArrow(partial(pack_frame, sent, name), PACKED)
    if source.files:
        return _over_files(spark, source.files, partial(pack_files, sent, name), PACKED)
    assert source.loaded is not None
    table = source.loaded.table
    rows = [(n, table_bytes(table.slice(n, ROWS))) for n in range(0, max(1, table.num_rows), ROWS)]
    return spark.createDataFrame(rows, "arrival long, data binary").mapInArrow(partial(pack_tables, sent, name), PACKED)


def _over_files(spark: SparkSession, pieces: Sequence[Piece], reading: Any, schema: str) -> DataFrame:
    """Two tasks for each core: as many as row groups would each start at its cost, and one may be slower."""
    tasks = min(len(pieces), 2 * spark.sparkContext.defaultParallelism)
    return spark.range(0, len(pieces), 1, tasks).mapInArrow(partial(reading, pieces), schema)


def _time_type(checked: Checked) -> Any:
    """That of all statements' times, as a table of notifications has it."""
    rows = [Notification("", "", None, 0, 0, 1.0, None, None, {}, {}, one.time) for one in checked.statements]
    return to_table(rows).schema.field("end").type
