"""Training on Spark: the tasks run statements as for their matches, and count how partial matches go on.

    the pipeline of batch.py up to the engine ──▶ a trace of each statement ──▶ counts ──▶ merged on the driver

Counts are small whatever the history is. Contexts need more than counts: which of them make a difference is found on
the traces of some lanes, as many as the driver takes at once, in a pass of its own before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.events.arrow import table_of
from foretell.events.aside import set_aside
from foretell.forecast.order import MOST_ROWS
from foretell.forecast.training import Alphabet, alphabet_of, counted, learned_from
from foretell.forecast.watchers import Recorders
from foretell.language.checked import CheckedSubscription
from foretell.learn.calibration import AS_IT_IS
from foretell.learn.model import Learned
from foretell.learn.settings import Learning
from foretell.learn.statistics import Statistics
from foretell.learn.trace import Ints, Trace
from foretell.learn.written import document_of, learned_of
from foretell.machine.running import Running
from foretell.spark.batch import Batch, Told, by_kind
from foretell.spark.packing import buffer_of
from foretell.spark.shares import Sent
from foretell.spark.working import REPORTED, Inbox, inboxes, read_and_set_aside, reported, run

#: What a task has found of a statement: counts (JSON), or a trace (an Arrow stream).
FOUND = "found"
_COLUMNS = ("process", "ordinal", "time", "state", "matched", "number")


def train(
    batch: Batch, statements: Mapping[str, CheckedSubscription], settings: Learning
) -> tuple[dict[str, Learned], tuple[str, ...]]:
    """What is learned of each statement that asks for forecasts, and what is to be said of malformed events."""
    sent = batch.plan.sent()
    alphabets = {name: Alphabet() for name in statements}
    if settings.order != 0:
        most = max(1, MOST_ROWS // batch.plan.tasks)
        for name, traces in _grouped(_told(batch, sent, partial(_sample, sent, settings, most))).items():
            alphabets[name] = alphabet_of(statements[name], [_joined(map(_trace, traces))], settings)
    told = _told(batch, sent, partial(_count, sent, settings, alphabets))
    learned = {
        name: learned_from(statements[name], map(_statistics, parts), alphabets[name], settings)
        for name, parts in _grouped(told).items()
    }
    return learned, tuple(set_aside(*batch.set_aside(told)))


def _told(batch: Batch, sent: Sent, work: Any) -> Told:
    return by_kind(batch.packed(sent).mapInArrow(work, REPORTED).toArrow())


def _grouped(told: Told) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for name, data in told.get(FOUND, ()):
        found.setdefault(name, []).append(data)
    return found


# ── in the tasks ──


def _count(
    sent: Sent, settings: Learning, alphabets: Mapping[str, Alphabet], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for task, inbox in inboxes(sent.plan, batches):
        yield from read_and_set_aside(task, inbox)
        for name, trace, code in _traces(sent, settings, task, inbox):
            found = document_of(counted(trace, code, alphabets[name], settings), alphabets[name].contexts, AS_IT_IS)
            yield reported(FOUND, name, pa.py_buffer(json.dumps(found).encode()))


def _sample(sent: Sent, settings: Learning, most: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The first events of a task's lanes."""
    every = (found for one in inboxes(sent.plan, batches) for found in _traces(sent, settings, *one))
    for name, trace, code in every:
        columns: dict[str, Any] = {name: getattr(trace, name)[:most] for name in _COLUMNS}
        columns["code"] = code[:most]
        table = pa.table(columns)
        told = {b"keys": json.dumps(trace.keys).encode(), b"starts": json.dumps(trace.starts).encode()}
        yield reported(FOUND, name, buffer_of(table.replace_schema_metadata(told)))


def _traces(sent: Sent, settings: Learning, task: int, inbox: Inbox) -> Iterator[tuple[str, Trace, Ints]]:
    plan = sent.plan
    share, recorders = plan.share_of(task), Recorders(settings)
    now = max((inbox.seen[n].latest or 0 for n in share.columns if n in inbox.seen), default=None)
    for _ in run(Running(plan.checked(share), plan.tables_of(share), watching=recorders), share, inbox):
        pass
    for name, some in recorders.made.items():
        for recorder in some:
            trace, code = recorder.trace(now)
            yield name, _aged(trace, inbox), code


def _aged(trace: Trace, inbox: Inbox) -> Trace:
    """Events numbered as in the whole stream, as far as a task can tell: its own are spread evenly over it."""
    every = sum(seen.total for seen in inbox.seen.values())
    own = int(trace.number[-1]) + 1 if len(trace) else 1
    return replace(trace, number=(trace.number * max(1.0, every / own)).astype(np.int64))


# ── on the driver ──


def _statistics(data: bytes) -> Statistics:
    return learned_of(json.loads(data))[0]


def _trace(data: bytes) -> tuple[Trace, Ints]:
    table = table_of(data)
    told = table.schema.metadata
    columns = {name: table[name].to_numpy() for name in _COLUMNS}
    keys, starts = tuple(json.loads(told[b"keys"])), json.loads(told[b"starts"])
    return Trace(**columns, keys=keys, starts=starts), table["code"].to_numpy()


def _joined(parts: Iterable[tuple[Trace, Ints]]) -> tuple[Trace, Ints]:
    """The traces of several tasks as one."""
    some = list(parts)
    first = np.cumsum([0, *(trace.processes for trace, _ in some)])
    columns = {
        name: np.concatenate([getattr(trace, name) for trace, _ in some]) for name in _COLUMNS if name != "process"
    }
    process = np.concatenate([trace.process + at for (trace, _), at in zip(some, first)])
    order = np.argsort(columns["number"], kind="stable")
    keys = tuple(key for trace, _ in some for key in trace.keys)
    code = np.concatenate([code for _, code in some])
    ordered = {name: column[order] for name, column in columns.items()}
    return Trace(process[order], **ordered, keys=keys, starts=some[0][0].starts), code[order]
