"""Training of lost events on Spark: each shard counts the gaps of its lanes, and the driver adds the counts up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import pyarrow as pa

from foretell.events.delays.delay_model import DelayModel, gaps_document
from foretell.recover.gap_counter import counting
from foretell.spark.batch.job import BatchJob, by_kind
from foretell.spark.batch.plan import PlanHandle
from foretell.spark.batch.reduce_side import REPORT_COLUMNS, report, report_quarantine, shard_inputs
from foretell.spark.batch.shard import process_shard
from foretell.spark.task_errors import unwrapped_errors
from foretell.spark.worker_tasks import as_worker_task

#: A report of a task: the gaps of a statement, as JSON.
_GAPS_REPORT = "gaps"


def train_gaps(job: BatchJob, *, complete: bool) -> tuple[dict[str, Mapping[str, object]], tuple[str, ...]]:
    """The gaps of each statement with LOSING, as a model file has them, and the notes on the reading of events."""
    handle = job.plan.handle()
    count = as_worker_task(partial(_count, handle, complete))
    with unwrapped_errors("the training"):
        reports = by_kind(job.shuffled(handle).mapInArrow(count, REPORT_COLUMNS).toArrow())
    _, stages = counting(job.checked.statements, complete=complete)
    totals = {stage.subscription.name: stage.counts for stage in stages}
    for name, data in reports.get(_GAPS_REPORT, ()):
        for ends, counts in DelayModel.of(json.loads(data)).gaps.items():
            totals[name][ends] = totals[name][ends].merged(counts)
    return {name: {"gaps": gaps_document(total)} for name, total in totals.items()}, job.reading(reports).summary


def _count(handle: PlanHandle, complete: bool, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Report the counts of a task's lanes."""
    for shard, shard_input in shard_inputs(handle.plan, batches):
        yield from report_quarantine(shard, shard_input)
        group = handle.plan.group_of(shard)
        runtime, stages = handle.plan.counting_runtime(group, complete=complete)
        for _ in process_shard(runtime, group, shard_input):
            pass  # the stages count the matches
        for stage in stages:
            yield report(_GAPS_REPORT, stage.subscription.name, pa.py_buffer(json.dumps(stage.learned()).encode()))
