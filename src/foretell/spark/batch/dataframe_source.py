"""A Spark DataFrame on its way to the tasks that match. Where Spark's own plan can tell which rows cannot matter, only
the others come to Python; what those that stay behind do to time is asked of Spark as well.

That reads the frame twice, the second time for little more than the time column, so it is done only where that is
cheap (scans.py). Rows that may be malformed come in any case. With `strict` all rows come: the error tells the number
of the row, which nobody knows of one that is left after others are gone.
"""

from __future__ import annotations

from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from foretell.events.types import Schema
from foretell.spark.batch.map_side import PACKED, pack_frame, pack_seen
from foretell.spark.batch.plan import BatchPlan, PlanHandle
from foretell.spark.pushdown.catalyst import CatalystDialect, column, malformed
from foretell.spark.pushdown.plan_inspection import is_cheap
from foretell.spark.pushdown.predicate import pushed_down_predicate


def packed(frame: DataFrame, sent: PlanHandle, plan: BatchPlan, stream: str) -> DataFrame:
    """`sent` is the plan as the tasks have it."""
    schema = plan.schemas[stream]
    frame = frame.select(*map(column, schema.attributes))
    sifted = _sifted(frame, plan, stream)
    if sifted is None:
        return frame.mapInArrow(partial(pack_frame, sent, stream), PACKED)
    wanted, misfits = sifted
    kept = frame.filter(wanted | misfits).mapInArrow(partial(pack_frame, sent, stream, sieved=True), PACKED)
    return kept.union(_seen(frame, schema, misfits).mapInArrow(partial(pack_seen, sent, stream), PACKED))


def _sifted(frame: DataFrame, plan: BatchPlan, stream: str) -> tuple[Column, Column] | None:
    """Which rows may matter, and which are malformed; None where Spark cannot tell, or would work twice."""
    schema = plan.schemas[stream]
    if plan.strict:
        return None
    wanted = pushed_down_predicate(
        stream, schema.attributes, plan.statements, plan.named, CatalystDialect.of(frame.schema)
    )
    misfits = None if wanted is None else malformed(frame.schema, schema)
    return None if wanted is None or misfits is None or not is_cheap(frame) else (wanted, misfits)


def _seen(frame: DataFrame, schema: Schema, misfits: Column) -> DataFrame:
    """How many rows there are, and the times of the first and the latest event."""
    assert schema.time is not None
    time = f.when(~f.coalesce(misfits, f.lit(False)), column(schema.time))
    return frame.agg(f.count(f.lit(1)), f.min(time), f.max(time))
