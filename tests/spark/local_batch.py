"""A batch job without Spark: splits are mapped one by one, and each shard gets its rows in random order.

Tasks run the real code; only the shuffle is simulated. So whole suites run in seconds.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

import foretell as ft
from foretell.arguments.input_settings import as_input_settings
from foretell.arguments.model import as_model, delay_models
from foretell.arguments.streams import declaration_of, read_tables
from foretell.notify.notifications import Notifications
from foretell.plan.result_schema import result_schema
from foretell.spark.batch.job import BatchJob
from foretell.spark.batch.plan import PlanHandle
from foretell.spark.batch.reduce_side import run_and_report, run_by_range, sort_range
from foretell.spark.notification_columns import notification_columns
from foretell.spark.worker_tasks import TaskFunction


class LocalBatchJob(BatchJob):
    """A batch job without Spark, on two imaginary cores."""

    _spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))

    def _reports(self, handle: PlanHandle) -> pa.Table:
        rows = by_first_column(self.shuffle_rows(handle))
        return pa.Table.from_batches([batch for shard in rows for batch in run_and_report(handle, shard)])

    def table(self, *, json: bool) -> pa.Table:
        """Return the rows of the frame."""
        handle = self.plan.handle()
        columns = notification_columns(list(map(result_schema, self.checked.statements)), json=json)
        rows = by_first_column(self.shuffle_rows(handle))
        ranges = by_first_column(batch for shard in rows for batch in run_by_range(handle, 3, shard))
        return pa.Table.from_batches(
            [batch for item in ranges for batch in sort_range(handle, columns, item)], columns.schema
        )

    def frame_matches(self, expected: Notifications) -> bool:
        """Return whether the frame has these notifications, as JSON text and as structs."""
        text, typed = self.table(json=True), self.table(json=False)
        return bool(
            text.equals(expected.table().cast(text.schema))
            and typed.drop_columns(["detail"]).equals(expected.to_arrow())
        )

    def _survey(self, function: TaskFunction, rows: pa.Table) -> list[str]:
        return [str(text) for batch in function(rows.to_batches()) for text in batch.column(0).to_pylist()]

    def shuffle_rows(self, handle: PlanHandle) -> Iterator[pa.RecordBatch]:
        """Yield the shuffle rows of all streams; every row of the input is a map task."""
        for name, source in self._sources.items():
            function, rows = source.map_work(handle, name)
            for number in range(rows.num_rows):
                yield from function(rows.slice(number, 1).to_batches())


def by_first_column(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Group rows by the number in their first column: the shard, or the range of time."""
    rows: dict[Any, list[pa.RecordBatch]] = {}
    for batch in batches:
        rows.setdefault(batch.column(0)[0].as_py(), []).append(batch)
    for _, group in sorted(rows.items()):
        random.Random(7).shuffle(group)
        yield group


def local_batch(
    text: str,
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | None = None,
    read: ft.ReadOptions | None = None,
    tables: Mapping[str, object] | None = None,
    until: object = None,
    strict: bool = False,
    model: Mapping[str, object] | None = None,
) -> LocalBatchJob:
    program = ft.parse(text)
    delays = delay_models(as_model(model), [str(s.name) for s in program.program.statements])
    settings = as_input_settings(time, read)
    declarations = {name: declaration_of(program, name, settings) for name in program.sources}
    loaded = read_tables(program.tables, tables or {})
    return LocalBatchJob(program, inputs, declarations, loaded, until, strict, delays=delays)
