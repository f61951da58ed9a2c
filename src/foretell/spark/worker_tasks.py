"""Tasks in Spark's Python workers: errors without a traceback, and little to do for the garbage collector.

A worker searches all of its objects for garbage after every task. Those of our modules and of the libraries that they
load are more than a hundred thousand, and the search takes 0.08 s, longer than a small task.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from pyspark import TaskContext

from foretell.errors import ForetellError

#: Runs in a task: record batches in, record batches out.
TaskFunction: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

#: The first tasks of a worker load modules and compiled kernels. Only they freeze what is there: an object that is
#: frozen is never found to be garbage, and a worker may run for months.
LOADING_TASKS = 32
_loading_tasks: set[int] = set()


@contextmanager
def worker_task() -> Iterator[None]:
    """Run a task, or a part of one, in a worker of Spark."""
    _freeze_loaded()
    try:
        yield
    except ForetellError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # the error, a user's mistake, ends the worker
        raise


def as_worker_task(function: TaskFunction) -> TaskFunction:
    """Return a function for `mapInArrow`."""
    return partial(_run, function)


def _run(function: TaskFunction, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with worker_task():
        yield from function(batches)


def _freeze_loaded() -> None:
    """Exempt what earlier tasks have left from the search for garbage. After the last one all garbage was removed."""
    context = TaskContext.get()
    if context is None or len(_loading_tasks) == LOADING_TASKS or context.taskAttemptId() in _loading_tasks:
        return
    _loading_tasks.add(context.taskAttemptId())
    gc.freeze()
