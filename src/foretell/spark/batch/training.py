"""Training on Spark: the tasks run statements as for their matches, and count how partial matches go on.

    the pipeline of batch.py up to the engine ──▶ a trace of each statement ──▶ counts ──▶ merged on the driver

Counts are small whatever the history is. Contexts need more than counts, and so does whether a pattern's parts speak
for it: that is found on the traces of some lanes, as many as the driver takes at once, in a pass of its own before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.engine.planning import start_runtime
from foretell.events.arrow_interop import table_from_bytes
from foretell.events.ingest.quarantine import quarantine_summary
from foretell.forecast.training.context_order import MOST_ROWS
from foretell.forecast.training.trace_recorder import Record, Recorders
from foretell.forecast.training.train import Chosen, Counts, chosen_of, counted, learned_from
from foretell.language.checked import CheckedSubscription
from foretell.learn.calibration import AS_IT_IS
from foretell.learn.contexts import NO_CONTEXTS
from foretell.learn.model import Learned
from foretell.learn.model_codec import document_of, learned_of
from foretell.learn.settings import Learning
from foretell.learn.trace import Trace
from foretell.machine.observe.observer import Sides
from foretell.plan.nfa.automaton import build
from foretell.plan.nfa.decomposition import Parts, parts_of
from foretell.spark.batch.job import BatchJob, Reports, by_kind
from foretell.spark.batch.map_side import buffer_of
from foretell.spark.batch.plan import PlanHandle
from foretell.spark.batch.reduce_side import REPORTED, ShardInput, inboxes, read_and_set_aside, reported, run

#: What a task has found of a statement: counts (JSON), or a trace (an Arrow stream).
FOUND = "found"
_COLUMNS = ("process", "ordinal", "time", "state", "matched", "number")


def train(
    batch: BatchJob, statements: Mapping[str, CheckedSubscription], settings: Learning
) -> tuple[dict[str, Learned], tuple[str, ...]]:
    """What is learned of each statement that asks for forecasts, and what is to be said of malformed events."""
    sent = batch.plan.sent()
    parts = {name: parts_of(one, build(one)) for name, one in statements.items()}
    chosen = {name: Chosen() for name in statements}
    if settings.order != 0 or any(some is not None for some in parts.values()):
        most = max(1, MOST_ROWS // batch.plan.tasks)
        for name, found in _grouped(_told(batch, sent, partial(_sample, sent, settings, most))).items():
            record = _joined([_record(one, parts[name]) for one in found])
            chosen[name] = chosen_of(statements[name], [record], settings)
    told = _told(batch, sent, partial(_count, sent, settings, chosen))
    counts = _grouped(told)
    learned = {
        name: learned_from(one, map(_counts, counts[name]), chosen[name], settings)
        for name, one in statements.items()
        if name in counts
    }
    return learned, tuple(quarantine_summary(*batch.set_aside(told)))


def _told(batch: BatchJob, sent: PlanHandle, work: Any) -> Reports:
    return by_kind(batch.packed(sent).mapInArrow(work, REPORTED).toArrow())


def _grouped(told: Reports) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for name, data in told.get(FOUND, ()):
        found.setdefault(name, []).append(data)
    return found


# ── in the tasks ──


def _count(
    sent: PlanHandle, settings: Learning, chosen: Mapping[str, Chosen], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for task, inbox in inboxes(sent.plan, batches):
        yield from read_and_set_aside(task, inbox)
        for name, record in _records(sent, settings, task, inbox):
            found = counted(record, chosen[name], settings)
            whole = document_of(found.whole, chosen[name].contexts, AS_IT_IS)
            parts = [document_of(part, NO_CONTEXTS, AS_IT_IS) for part in found.parts]
            yield reported(FOUND, name, pa.py_buffer(json.dumps({"whole": whole, "parts": parts}).encode()))


def _sample(
    sent: PlanHandle, settings: Learning, most: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The first events of a task's lanes."""
    every = (found for one in inboxes(sent.plan, batches) for found in _records(sent, settings, *one))
    for name, record in every:
        trace = record.trace
        columns: dict[str, Any] = {name: getattr(trace, name)[:most] for name in _COLUMNS}
        columns["code"] = record.code[:most]
        if record.sides is not None:
            for part in range(len(record.sides.parts)):
                columns[f"words{part}"] = record.sides.words[:most, part]
                columns[f"ended{part}"] = record.sides.ended[:most, part]
        table = pa.table(columns)
        told = {b"keys": json.dumps(trace.keys).encode(), b"starts": json.dumps(trace.starts).encode()}
        yield reported(FOUND, name, buffer_of(table.replace_schema_metadata(told)))


def _records(sent: PlanHandle, settings: Learning, task: int, inbox: ShardInput) -> Iterator[tuple[str, Record]]:
    plan = sent.plan
    share, recorders = plan.share_of(task), Recorders(settings)
    now = max((inbox.seen[n].latest or 0 for n in share.columns if n in inbox.seen), default=None)
    for _ in run(start_runtime(plan.checked(share), plan.tables_of(share), observers=recorders), share, inbox):
        pass
    for name, some in recorders.made.items():
        for recorder in some:
            record = recorder.record(now)
            yield name, replace(record, trace=_aged(record.trace, inbox))


def _aged(trace: Trace, inbox: ShardInput) -> Trace:
    """Events numbered as in the whole stream, as far as a task can tell: its own are spread evenly over it."""
    every = sum(seen.total for seen in inbox.seen.values())
    own = int(trace.number[-1]) + 1 if len(trace) else 1
    return replace(trace, number=(trace.number * max(1.0, every / own)).astype(np.int64))


# ── on the driver ──


def _counts(data: bytes) -> Counts:
    found = json.loads(data)
    return Counts(learned_of(found["whole"])[0], tuple(learned_of(part)[0] for part in found["parts"]))


def _record(data: bytes, parts: Parts | None) -> Record:
    table = table_from_bytes(data)
    told = table.schema.metadata
    columns = {name: table[name].to_numpy() for name in _COLUMNS}
    keys, starts = tuple(json.loads(told[b"keys"])), json.loads(told[b"starts"])
    sides = None
    if parts is not None and "words0" in table.column_names:  # who has seen no events has seen no parts
        words, ended = (
            np.stack([table[f"{name}{part}"].to_numpy(zero_copy_only=False) for part in range(len(parts))], axis=1)
            for name in ("words", "ended")
        )
        sides = Sides(parts, words, ended)
    return Record(Trace(**columns, keys=keys, starts=starts), table["code"].to_numpy(), sides)


def _joined(some: Sequence[Record]) -> Record:
    """The records of several tasks as one."""
    traces = [record.trace for record in some]
    first = np.cumsum([0, *(trace.processes for trace in traces)])
    columns = {
        name: np.concatenate([getattr(trace, name) for trace in traces]) for name in _COLUMNS if name != "process"
    }
    process = np.concatenate([trace.process + at for trace, at in zip(traces, first)])
    order = np.argsort(columns["number"], kind="stable")
    keys = tuple(key for trace in traces for key in trace.keys)
    ordered = {name: column[order] for name, column in columns.items()}
    sides = [record.sides for record in some if record.sides is not None]
    return Record(
        Trace(process[order], **ordered, keys=keys, starts=traces[0].starts),
        np.concatenate([record.code for record in some])[order],
        Sides(
            sides[0].parts,
            np.concatenate([one.words for one in sides])[order],
            np.concatenate([one.ended for one in sides])[order],
        )
        if sides
        else None,
    )
