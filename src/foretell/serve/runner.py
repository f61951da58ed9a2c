"""The runner: a thread in which a pipeline does its work, step by step, and the calls that it makes in between.

Requests that concern the running pipeline, such as a new statement, wait in a queue until a step has ended, so the
pipeline is never used by two threads, and a request never interrupts it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from foretell.errors import ForetellError, InputError
from foretell.serve.recorder import PipelineRecorder

_Answer = TypeVar("_Answer")

#: Seconds between two looks for new events where there were none.
IDLE_SECONDS = 0.2


class ServedPipeline(Protocol):
    """A pipeline that the runner's thread drives. Its answers are as the API has them. `patience` is how many seconds a
    request waits for it at most."""

    patience: float

    def prepare(self) -> None:
        """Check everything that can be wrong; raises ForetellError. The caller's thread calls this."""

    def start(self) -> None:
        """Begin, in the runner's thread."""

    def step(self) -> bool:
        """Process the events that have come; whether there were any. Raises PipelineEnd where no more come."""

    def stop(self) -> None:
        """End regularly, so that the next run goes on from here."""

    def close(self) -> None:
        """Let go of everything, also after an error."""

    def subscribe(self, text: str) -> None: ...
    def replace(self, name: str, text: str) -> None: ...
    def unsubscribe(self, name: str) -> None: ...
    def automaton(self, name: str) -> dict[str, Any]: ...
    def partial_matches(self, name: str, limit: int) -> dict[str, Any]: ...


class PipelineEnd(Exception):  # noqa: N818 - it is no error
    """All events have been processed, and no more will come."""


@dataclass
class _Call:
    run: Callable[[], Any]
    answer: Future[Any]


class PipelineRunner:
    """Runs a prepared pipeline until it is stopped, ends or fails. Its errors are the recorder's."""

    def __init__(self, pipeline: ServedPipeline, recorder: PipelineRecorder) -> None:
        self._pipeline, self._recorder = pipeline, recorder
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="foretell-pipeline", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return not self._ended.is_set()

    def stop(self, seconds: float | None = None) -> bool:
        """End after the present step; whether the pipeline has ended in this time."""
        self._stop.set()
        self._calls.put(None)
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def call(self, run: Callable[[], _Answer]) -> Future[_Answer]:
        """Have the pipeline's thread call a function between two steps."""
        answer: Future[_Answer] = Future()
        if self._ended.is_set():
            answer.set_exception(_ended(self._recorder))
        else:
            self._calls.put(_Call(run, answer))
            if self._ended.is_set():
                self._refuse_calls()
        return answer

    def _run(self) -> None:
        recorder, pipeline = self._recorder, self._pipeline
        try:
            pipeline.start()
            recorder.begin()
            while not self._stop.is_set():
                worked = pipeline.step()
                self._serve_calls(0.0 if worked else IDLE_SECONDS)
            pipeline.stop()
            recorder.end("stopped")
        except PipelineEnd:
            self._finish()
        except ForetellError as error:
            recorder.end("failed", error)
        except Exception as error:  # a thread must not end silently: the page shows it
            recorder.end("failed", InputError("broken", f"the pipeline broke off: {type(error).__name__}: {error}"))
        finally:
            self._ended.set()
            self._refuse_calls()
            pipeline.close()

    def _finish(self) -> None:
        """Nothing more will come: calls that only look are served as long as the service runs."""
        self._recorder.end("finished")
        while not self._stop.is_set():
            self._serve_calls(IDLE_SECONDS)

    def _serve_calls(self, seconds: float) -> None:
        """Make the calls that wait; where there are none, wait for one so long."""
        try:
            call = self._calls.get(timeout=seconds) if seconds else self._calls.get_nowait()
            while call is not None:
                _make(call)
                call = self._calls.get_nowait()
        except queue.Empty:
            return

    def _refuse_calls(self) -> None:
        try:
            while True:
                call = self._calls.get_nowait()
                if call is not None:
                    call.answer.set_exception(_ended(self._recorder))
        except queue.Empty:
            return


def _make(call: _Call) -> None:
    if not call.answer.set_running_or_notify_cancel():
        return
    try:
        call.answer.set_result(call.run())
    except BaseException as error:
        call.answer.set_exception(error)


def _ended(recorder: PipelineRecorder) -> InputError:
    hint = "start the service again"
    return InputError("pipeline-ended", f"the pipeline does not run any more: {recorder.status}", hint=hint)
