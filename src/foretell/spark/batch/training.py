"""Training on Spark: the shards of a batch job run with recorders, and each reports counts to the driver.

    batch job up to the MatchRuntime ──▶ a trace of each statement ──▶ counts ──▶ merged on the driver

Counts are small however long the history is. The choice of contexts and of parts needs traces: a first pass collects
those of some lanes, as many as the driver takes at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.events.arrow_interop import table_from_bytes
from foretell.forecast.training.context_order import MAX_ROWS
from foretell.forecast.training.trace_recorder import RecordedTrace, TraceRecorderFactory
from foretell.forecast.training.train import ModelStructure, TrainingCounts, count_transitions, fit, select_structure
from foretell.language.checked import CheckedSubscription
from foretell.learn.calibration import UNCALIBRATED
from foretell.learn.contexts import NO_CONTEXTS
from foretell.learn.event_sample import EventSample
from foretell.learn.model import SubscriptionModel
from foretell.learn.model_codec import decode, encode
from foretell.learn.settings import Learning
from foretell.learn.trace import Trace
from foretell.machine.observe.observer import ObservedParts
from foretell.plan.nfa.automaton import build
from foretell.plan.nfa.decomposition import Decomposition, decompose
from foretell.spark.batch.job import BatchJob, Reports, by_kind
from foretell.spark.batch.plan import PlanHandle
from foretell.spark.batch.reduce_side import REPORT_COLUMNS, report, report_quarantine, shard_inputs
from foretell.spark.batch.shard import BatchShardInput, process_shard
from foretell.spark.partitioning.shuffle_rows import table_buffer
from foretell.spark.task_errors import unwrapped_errors
from foretell.spark.worker_tasks import TaskFunction, as_worker_task

#: A report of a task on a statement: counts (JSON), or a trace (an Arrow stream).
LEARNED_REPORT = "learned"
_TRACE_COLUMNS = ("process", "ordinal", "time", "state", "matched", "number")


def train(
    job: BatchJob, statements: Mapping[str, CheckedSubscription], settings: Learning
) -> tuple[dict[str, SubscriptionModel], tuple[str, ...]]:
    """Return what is learned of each statement with FORECAST, and the notes on the reading of events."""
    handle = job.plan.handle()
    parts = {name: decompose(statement, build(statement)) for name, statement in statements.items()}
    chosen = {name: ModelStructure() for name in statements}
    if settings.order != 0 or any(decomposition is not None for decomposition in parts.values()):
        most_rows = max(1, MAX_ROWS // job.plan.shards)
        samples = _run(job, handle, partial(_sample, handle, settings, most_rows))
        for name, traces in _by_statement(samples).items():
            record = _joined([_decoded_record(data, parts[name]) for data in traces])
            chosen[name] = select_structure(statements[name], [record], settings)
    reports = _run(job, handle, partial(_count, handle, settings, chosen))
    counts = _by_statement(reports)
    learned = {
        name: fit(statement, map(_decoded_counts, counts[name]), chosen[name], settings)
        for name, statement in statements.items()
        if name in counts
    }
    return learned, job.reading(reports).summary


def _run(job: BatchJob, handle: PlanHandle, function: TaskFunction) -> Reports:
    with unwrapped_errors("the training"):
        return by_kind(job.shuffled(handle).mapInArrow(as_worker_task(function), REPORT_COLUMNS).toArrow())


def _by_statement(reports: Reports) -> dict[str, list[bytes]]:
    grouped: dict[str, list[bytes]] = {}
    for name, data in reports.get(LEARNED_REPORT, ()):
        grouped.setdefault(name, []).append(data)
    return grouped


# ── in the tasks ──


def _count(
    handle: PlanHandle, settings: Learning, chosen: Mapping[str, ModelStructure], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Report the counts of a task's lanes."""
    for shard, shard_input in shard_inputs(handle.plan, batches):
        yield from report_quarantine(shard, shard_input)
        for name, record in _records(handle, settings, shard, shard_input):
            counts = count_transitions(record, chosen[name], settings)
            whole = encode(counts.whole, chosen[name].contexts, UNCALIBRATED)
            parts = [encode(part, NO_CONTEXTS, UNCALIBRATED) for part in counts.parts]
            document = json.dumps({"whole": whole, "parts": parts, "sample": counts.sample.to_json()})
            yield report(LEARNED_REPORT, name, pa.py_buffer(document.encode()))


def _sample(
    handle: PlanHandle, settings: Learning, most_rows: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Report traces of the first events of a task's lanes."""
    for shard, shard_input in shard_inputs(handle.plan, batches):
        for name, record in _records(handle, settings, shard, shard_input):
            yield report(LEARNED_REPORT, name, table_buffer(_encoded_record(record, most_rows)))


def _encoded_record(record: RecordedTrace, most_rows: int) -> pa.Table:
    trace = record.trace
    columns: dict[str, Any] = {name: getattr(trace, name)[:most_rows] for name in _TRACE_COLUMNS}
    columns["code"] = record.code[:most_rows]
    if record.observed_parts is not None:
        for part in range(len(record.observed_parts.decomposition)):
            columns[f"words{part}"] = record.observed_parts.words[:most_rows, part]
            columns[f"ended{part}"] = record.observed_parts.ended[:most_rows, part]
    metadata = {b"keys": json.dumps(trace.keys).encode(), b"starts": json.dumps(trace.starts).encode()}
    return pa.table(columns).replace_schema_metadata(metadata)


def _records(
    handle: PlanHandle, settings: Learning, shard: int, shard_input: BatchShardInput
) -> Iterator[tuple[str, RecordedTrace]]:
    """Run a shard with recorders, and yield the record of each statement."""
    group, recorders = handle.plan.group_of(shard), TraceRecorderFactory(settings)
    now = max((shard_input.progress[n].latest or 0 for n in group.columns if n in shard_input.progress), default=None)
    for _ in process_shard(handle.plan.runtime(group, recorders), group, shard_input):
        pass
    for name, of_statement in recorders.recorders.items():
        for recorder in of_statement:
            record = recorder.record(now)
            yield name, replace(record, trace=_numbered_in_stream(record.trace, shard_input))


def _numbered_in_stream(trace: Trace, shard_input: BatchShardInput) -> Trace:
    """Number events as in the whole stream, as well as a task can: it takes its own to be spread evenly over it."""
    total = sum(progress.total for progress in shard_input.progress.values())
    own = int(trace.number[-1]) + 1 if len(trace) else 1
    return replace(trace, number=(trace.number * max(1.0, total / own)).astype(np.int64))


# ── on the driver ──


def _decoded_counts(data: bytes) -> TrainingCounts:
    document = json.loads(data)
    parts = tuple(decode(part)[0] for part in document["parts"])
    return TrainingCounts(decode(document["whole"])[0], parts, EventSample.from_json(document["sample"]))


def _decoded_record(data: bytes, parts: Decomposition | None) -> RecordedTrace:
    table = table_from_bytes(data)
    metadata = table.schema.metadata
    columns = {name: table[name].to_numpy() for name in _TRACE_COLUMNS}
    keys, starts = tuple(json.loads(metadata[b"keys"])), json.loads(metadata[b"starts"])
    observed = None
    if parts is not None and "words0" in table.column_names:  # a task without events has recorded no parts
        words, ended = (
            np.stack([table[f"{name}{part}"].to_numpy(zero_copy_only=False) for part in range(len(parts))], axis=1)
            for name in ("words", "ended")
        )
        observed = ObservedParts(parts, words, ended)
    return RecordedTrace(Trace(**columns, keys=keys, starts=starts), table["code"].to_numpy(), observed)


def _joined(records: Sequence[RecordedTrace]) -> RecordedTrace:
    """Join the records of several tasks."""
    traces = [record.trace for record in records]
    first = np.cumsum([0, *(trace.processes for trace in traces)])
    columns = {
        name: np.concatenate([getattr(trace, name) for trace in traces]) for name in _TRACE_COLUMNS if name != "process"
    }
    process = np.concatenate([trace.process + offset for trace, offset in zip(traces, first)])
    order = np.argsort(columns["number"], kind="stable")
    keys = tuple(key for trace in traces for key in trace.keys)
    ordered = {name: column[order] for name, column in columns.items()}
    observed = [record.observed_parts for record in records if record.observed_parts is not None]
    joined_parts = None
    if observed:
        words = np.concatenate([parts.words for parts in observed])
        ended = np.concatenate([parts.ended for parts in observed])
        joined_parts = ObservedParts(observed[0].decomposition, words[order], ended[order])
    return RecordedTrace(
        Trace(process[order], **ordered, keys=keys, starts=traces[0].starts),
        np.concatenate([record.code for record in records])[order],
        joined_parts,
    )
