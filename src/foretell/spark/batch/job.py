"""Finite inputs on Spark: the notifications of the engine in process, row for row, and no event on the driver.

    read, in their types ──▶ packed by shard ──shuffle──▶ sorted, run as the engine in process does ──▶ notifications

One shuffle. Before it, columns are cut to those that some statement names; after it a lane is in one task, which knows
the latest time of the whole stream, since every task that reads tells it to every one that matches.

Events of equal time come in the order of their stream's ORDER BY, then as they arrive: from a file in the order of
files and rows, from a Spark DataFrame in that of its partitions and their rows. The latter is as stable as the plan of
the frame is, so where times can be equal a DataFrame should have an ORDER BY.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import TypeAlias

import msgspec
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from foretell.arguments.until import parse_until
from foretell.errors import InputError
from foretell.events.arrow_interop import table_from_bytes
from foretell.events.ingest.quarantine import QuarantinedEvent, malformed_event
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.language.checked import CheckedCorrelator, CheckedProgram
from foretell.language.subscriptions import Subscriptions
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory
from foretell.notify.lazy_notifications import LazyNotifications, decode_notifications
from foretell.notify.notifications import Notifications
from foretell.notify.row_encoder import to_table
from foretell.spark.batch import dataframe_source
from foretell.spark.batch.map_side import BAD, COUNTED, PACKED, READ, count_files
from foretell.spark.batch.plan import SHARDS_PER_CORE, PlanHandle, plan
from foretell.spark.batch.reduce_side import MATCH, NOTE, RANGED, REPORTED, in_order, report, sorted_of, tell
from foretell.spark.batch.sources import BatchSource, TaskFunction, numbered, source_of
from foretell.spark.session.spark_session import session

#: What foretell.api.run gives back where a stream is one.
Frame: TypeAlias = DataFrame

#: What tasks have reported, by its kind: of which stream or statement, and what.
Reports: TypeAlias = Mapping[str, Sequence[tuple[str, bytes]]]

#: Ranges of time for each core, in which notifications are put in order.
RANGES = 2


class BatchJob:
    """Statements and their inputs, checked; nothing has run."""

    def __init__(
        self,
        program: Subscriptions,
        inputs: Mapping[str, object],
        declarations: Mapping[str, StreamDeclaration],
        tables: Mapping[str, TemplateTable],
        until: object,
        strict: bool = False,
        watching: ObserverFactory = NO_OBSERVERS,
    ) -> None:
        self._strict, self._inputs = strict, inputs
        self._sources = {name: source_of(inputs[name], one, strict, self._survey) for name, one in declarations.items()}
        known = {name: one.known for name, one in self._sources.items()}
        self.checked = program.checked(known, {name: table.types for name, table in tables.items()})
        _refuse_unsupported(self.checked)
        end = parse_until(until, {one.time_type for one in known.values()} - {Type.UNKNOWN})
        schemas = {name: one.schema for name, one in self._sources.items()}
        self._cores = self._spark.sparkContext.defaultParallelism
        named = frozenset(name for name, one in self._sources.items() if one.named)
        given = program, self.checked, schemas, known, tables, end
        self.plan = plan(
            *given, named=named, shards=SHARDS_PER_CORE * self._cores, cores=self._cores, watching=watching
        )

    @cached_property
    def _spark(self) -> SparkSession:
        theirs = next((one.sparkSession for one in self._inputs.values() if isinstance(one, DataFrame)), None)
        return theirs or _session()

    def notifications(self) -> Notifications:
        """All of them, here."""
        if not self.plan.shares:
            return Notifications(())
        told = by_kind(self._reported(self.plan.sent()))
        bad, totals = self.set_aside(told)
        matches = self._in_order([table_from_bytes(data) for _, data in told.get(MATCH, ())])
        return Notifications(matches, bad, totals, tuple(dict.fromkeys(n.decode() for _, n in told.get(NOTE, ()))))

    def set_aside(self, told: Reports) -> tuple[tuple[QuarantinedEvent, ...], tuple[tuple[str, int], ...]]:
        """The malformed events, and how many there were of each stream in all."""
        counts = {stream: int(data) for stream, data in told.get(READ, ())}
        totals = tuple((name, counts.get(name, 0) + self._set_aside(name)) for name in self._sources)
        return self._bad(data for _, data in told.get(BAD, ())), totals

    def frame(self) -> DataFrame:
        """All of them, as a Spark DataFrame in their order; then the malformed events, as rows of the kind "bad"."""
        schema = self.schema
        sent = replace(self.plan, strict=self._strict).sent()
        ranges = RANGES * self._cores
        ranged = self.packed(sent).mapInArrow(partial(tell, sent, schema, ranges), RANGED)
        ranged = ranged.repartitionById(ranges + 1, "range")
        return ranged.mapInArrow(partial(in_order, schema), from_arrow_schema(schema))

    @property
    def schema(self) -> pa.Schema:
        """Of a table of the notifications: times are of the type that all statements have."""
        times = {one.time for one in self.checked.statements} - {Type.UNKNOWN}
        return to_table(Notification("", "", None, 0, 0, 1.0, None, None, {}, {}, time) for time in times).schema

    def _reported(self, sent: PlanHandle) -> pa.Table:
        return self.packed(sent).mapInArrow(partial(report, sent), REPORTED).toArrow()

    def packed(self, sent: PlanHandle) -> DataFrame:
        """What each task that matches is to get, in the partition that is its own."""
        parts = [self._pack(sent, name, one) for name, one in self._sources.items()]
        return reduce(DataFrame.union, parts).repartitionById(self.plan.tasks, "task")

    def _pack(self, sent: PlanHandle, name: str, source: BatchSource) -> DataFrame:
        if source.frame is None:
            return self._over(*source.packing(sent, name), PACKED)
        return dataframe_source.packed(source.frame, sent, sent.given, name)

    def _over(self, work: TaskFunction, rows: pa.Table, schema: str) -> DataFrame:
        """Work over the rows of a table. Two tasks a core: each has its start to pay, and one may be slower."""
        if rows.column_names == ["number"]:
            tasks = max(1, min(rows.num_rows, 2 * self._spark.sparkContext.defaultParallelism))
            return self._spark.range(0, rows.num_rows, 1, tasks).mapInArrow(work, schema)
        return self._spark.createDataFrame(rows).mapInArrow(work, schema)

    def _survey(self, work: TaskFunction, rows: pa.Table) -> list[str]:
        return [row["found"] for row in self._over(work, rows, "found string").collect()]

    def counted(self, sent: PlanHandle) -> DataFrame:
        """How many events the tasks read, which do nothing else."""
        files = [(partial(count_files, sent, name, one.files), one) for name, one in self._sources.items()]
        return reduce(DataFrame.union, [self._over(work, numbered(len(one.files)), COUNTED) for work, one in files])

    def _in_order(self, tables: list[pa.Table]) -> Sequence[Notification]:
        times = {one.name: one.time for one in self.checked.statements}
        if len({table.schema for table in tables}) < 2:
            return (
                LazyNotifications(sorted_of(pa.concat_tables(tables)).drop_columns(["place"]), times) if tables else ()
            )
        # Some times are INT and others FLOAT: no one column holds both exactly.
        rows = [(n, p) for t in tables for n, p in zip(decode_notifications(t, times), t["place"].to_pylist())]
        rows.sort(key=lambda row: (row[0].end, row[0].subscription, row[1]))
        return tuple(notification for notification, _ in rows)

    def _bad(self, lists: Iterable[bytes]) -> tuple[QuarantinedEvent, ...]:
        """Stream by stream, as they arrived; those of a stream that was read here are in order already."""
        found = [bad for data in lists for bad in msgspec.json.decode(data, type=list[QuarantinedEvent])]
        found += [bad for one in self._sources.values() if one.loaded for bad in one.loaded.quarantined]
        stream = {name: number for number, name in enumerate(self._sources)}
        first = {(name, p.path): p.arrival for name, one in self._sources.items() for p in one.files}

        def place(bad: QuarantinedEvent) -> tuple[int, int]:
            arrival = first.get((bad.stream, bad.source))
            return stream[bad.stream], 0 if arrival is None else arrival + bad.row

        found.sort(key=place)
        if self._strict and found:
            raise malformed_event(found[0])
        return tuple(found)

    def _set_aside(self, name: str) -> int:
        """Events that were read and set aside here, and so never went to a task."""
        loaded = self._sources[name].loaded
        return 0 if loaded is None else len(loaded.quarantined)


def by_kind(reported: pa.Table) -> Reports:
    found: dict[str, list[tuple[str, bytes]]] = {}
    for kind, stream, data in zip(*(column.to_pylist() for column in reported.columns), strict=True):
        found.setdefault(kind, []).append((stream, data))
    return found


def _session() -> SparkSession:
    """Nobody asked for Spark by name: where it does not start, what runs without it should be said."""
    without = "--engine embedded (engine='embedded') runs the same without Spark"
    try:
        return session()
    except InputError as error:
        raise InputError(error.code, error.message, hint=f"{error.hint}; {without}") from error
    except (PySparkException, OSError) as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError("no-spark", f"Spark does not start: {said}", hint=without) from error


def _refuse_unsupported(checked: CheckedProgram) -> None:
    for one in checked.statements:
        kind = "CORRELATE" if isinstance(one, CheckedCorrelator) else "LOSING" if one.tree.losing is not None else None
        if kind is not None:
            hint = "--engine reference does"
            raise InputError("not-in-engine", f"the engine on Spark does not run {kind} yet", hint=hint)
