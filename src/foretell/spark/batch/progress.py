"""Progress of a batch on Spark, for a person who waits: which stage runs, and how many of its tasks are done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.core.status import StatusTracker

STARTING, READING, MATCHING = "starting Spark", "reading", "matching"


@dataclass(frozen=True)
class BatchProgress:
    """`stage` is "starting Spark", "reading" or "matching"; `done` of its `tasks` have ended (0 of 0: none yet)."""

    stage: str
    done: int = 0
    tasks: int = 0


@contextmanager
def watching(show: Callable[[BatchProgress], object], seconds: float = 0.25) -> Iterator[None]:
    """Call `show` from another thread with the progress of Spark's jobs, at intervals of so many seconds."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(seconds):
            try:
                progress = _progress()
            except (Py4JError, OSError):  # Spark is stopping
                return
            if progress is not None and not ended.is_set():
                show(progress)

    thread = threading.Thread(target=watch, name="foretell-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(1.0)


def _progress() -> BatchProgress | None:
    context = SparkContext._active_spark_context
    # Spark registers a context as the active one seconds before its JVM has one, and takes `_jsc` away on stopping.
    if context is None or getattr(context, "_jsc", None) is None:
        return BatchProgress(STARTING)
    return _progress_of_jobs(context.statusTracker())


def _progress_of_jobs(tracker: StatusTracker) -> BatchProgress | None:
    """Return the progress of the last active job, or None where there is none."""
    for number in sorted(tracker.getActiveJobsIds(), reverse=True):
        job = tracker.getJobInfo(number)
        stages = [] if job is None else sorted(job.stageIds)
        infos = [(stage, tracker.getStageInfo(stage)) for stage in stages]
        for stage, info in infos:
            if info is not None and info.numActiveTasks:
                # A job reads in its first stages and runs the statements in its last.
                name = MATCHING if len(stages) > 1 and stage == stages[-1] else READING
                return BatchProgress(name, info.numCompletedTasks, info.numTasks)
    return None
