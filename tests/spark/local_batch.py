"""What Spark does with a batch, done here: parts are packed one by one, each task gets what is its own, in no order.

All that a task runs is the real thing; only the shuffle is played. So whole suites go through it in seconds.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

import foretell as ft
from foretell.arguments.streams import declaration_of, read_tables
from foretell.spark.batch.job import BatchJob
from foretell.spark.batch.plan import PlanHandle
from foretell.spark.batch.reduce_side import in_order, report, tell
from foretell.spark.batch.sources import TaskFunction


class LocalBatchJob(BatchJob):
    """A batch without Spark, on two cores that are not there."""

    _spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))

    def _reported(self, sent: PlanHandle) -> pa.Table:
        return pa.Table.from_batches([row for rows in _shuffled(self._parts(sent)) for row in report(sent, rows)])

    def table(self) -> pa.Table:
        """What the frame would hold."""
        sent, schema = self.plan.sent(), self.schema
        ranged = [row for rows in _shuffled(self._parts(sent)) for row in tell(sent, schema, 3, rows)]
        return pa.Table.from_batches([row for rows in _shuffled(ranged) for row in in_order(schema, rows)], schema)

    def _survey(self, work: TaskFunction, rows: pa.Table) -> list[str]:
        return [str(found) for batch in work(rows.to_batches()) for found in batch.column(0).to_pylist()]

    def _parts(self, sent: PlanHandle) -> Iterator[pa.RecordBatch]:
        """Every row of the input is a task's."""
        for name, source in self._sources.items():
            pack, rows = source.packing(sent, name)
            for number in range(rows.num_rows):
                yield from pack(rows.slice(number, 1).to_batches())


def _shuffled(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """The rows of each task, by the number in the first column."""
    rows: dict[Any, list[pa.RecordBatch]] = {}
    for batch in batches:
        rows.setdefault(batch.column(0)[0].as_py(), []).append(batch)
    for _, mine in sorted(rows.items()):
        random.Random(7).shuffle(mine)
        yield mine


def local_batch(
    text: str,
    inputs: Mapping[str, object],
    *,
    time: Mapping[str, str] | None = None,
    tables: Mapping[str, object] | None = None,
    until: object = None,
) -> LocalBatchJob:
    program = ft.parse(text)
    declarations = {name: declaration_of(program, name, time or {}) for name in program.sources}
    return LocalBatchJob(program, inputs, declarations, read_tables(program.tables, tables or {}), until)
