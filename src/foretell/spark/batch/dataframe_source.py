"""A Spark DataFrame as the source of a stream. Where a predicate can be pushed down to Spark, only rows that may matter
come to Python, and Spark aggregates the progress of all rows.

That reads the frame twice, the second time for little more than the time column, so it is done only where that is cheap
(pushdown/plan_inspection.py). Rows with values that do not fit come in any case. With `strict` all rows come: the error
names the number of the row, which is unknown once Spark has dropped rows before it. With markers of missing values all
rows come, too: Spark does not know these.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from foretell.spark.batch.map_side import map_frame, map_progress
from foretell.spark.batch.plan import BatchPlan, PlanHandle
from foretell.spark.column_names import column, numbered_columns
from foretell.spark.partitioning.shuffle_rows import SHUFFLE_COLUMNS
from foretell.spark.pushdown.catalyst import CatalystDialect, MisfitRows, misfit_rows
from foretell.spark.pushdown.plan_inspection import is_cheap
from foretell.spark.pushdown.predicate import pushed_down_predicate
from foretell.spark.worker_tasks import as_worker_task


def frame_shuffle_rows(frame: DataFrame, handle: PlanHandle, stream: str) -> DataFrame:
    """Return the shuffle rows of a frame's events."""
    plan = handle.shipped
    declaration = plan.declaration(stream)
    frame = frame.select(*map(column, declaration.attributes))
    filters = _filters(frame, plan, stream)
    numbered = numbered_columns(declaration.attributes)
    if filters is None:
        encode = as_worker_task(partial(map_frame, handle, stream))
        return frame.select(*numbered).mapInArrow(encode, SHUFFLE_COLUMNS)
    wanted, misfits = filters
    kept = frame.filter(wanted | misfits.any).select(*numbered)
    encode = as_worker_task(partial(map_frame, handle, stream, report_progress=False))
    rows = kept.mapInArrow(encode, SHUFFLE_COLUMNS)
    progress = _progress(frame, declaration.time, misfits)
    return rows.union(progress.mapInArrow(partial(map_progress, handle, stream), SHUFFLE_COLUMNS))


def _filters(frame: DataFrame, plan: BatchPlan, stream: str) -> tuple[Column, MisfitRows] | None:
    """Return the rows that may matter, and those that do not fit; None if Spark cannot tell or would do its work
    twice."""
    declaration, dialect = plan.declaration(stream), CatalystDialect.of(frame.schema)
    if plan.strict or plan.period or declaration.read.nulls:  # with a period, progress is that of the events within
        return None
    attributes, derived = declaration.attributes, declaration.derived.names
    wanted = pushed_down_predicate(stream, attributes, plan.statements, plan.identified, dialect, derived)
    misfits = None if wanted is None else misfit_rows(frame.schema, attributes, declaration.time)
    return None if wanted is None or misfits is None or not is_cheap(frame) else (wanted, misfits)


def _progress(frame: DataFrame, time_column: str, misfits: MisfitRows) -> DataFrame:
    """Aggregate the number of rows, and the times of the first and the latest event."""
    time = f.when(~f.coalesce(misfits.untimed, f.lit(False)), column(time_column))
    return frame.agg(f.count(f.lit(1)).alias("total"), f.min(time).alias("first"), f.max(time).alias("latest"))
