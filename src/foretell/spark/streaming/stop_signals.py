"""Signals that stop a streaming query: the first after its micro-batch, the second at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import sleep

from pyspark.sql.streaming.query import StreamingQuery

_POLL_SECONDS = 0.25


@dataclass
class StopSignals:
    """The signals that have come. Before a query runs (`deferred` is False) SIGINT interrupts at once, as usual."""

    deferred: bool = False
    numbers: list[int] = field(default_factory=list)

    def receive(self, number: int, _: object) -> None:
        self.numbers.append(number)
        if not self.deferred or len(self.numbers) > 1:
            raise KeyboardInterrupt

    def raise_interrupt(self) -> None:
        """Raise KeyboardInterrupt if the query was stopped by Ctrl-C; SIGTERM is a regular end."""
        if signal.SIGINT in self.numbers:
            raise KeyboardInterrupt


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """Receive SIGINT and SIGTERM, where that is possible: Python receives signals in its main thread."""
    signals = StopSignals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.signal(number, signals.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def await_end(
    query: StreamingQuery, signals: StopSignals, show: Callable[[], object], log: Callable[[str], None]
) -> None:
    """Wait until a query ends or a signal comes; then stop it, after its micro-batch: a cut-off one is repeated."""
    signals.deferred = True
    while not query.awaitTermination(_POLL_SECONDS):  # type: ignore[arg-type]  # it takes fractions
        show()
        if signals.numbers:
            log("stopping after this micro-batch; a second Ctrl-C stops at once")
            await_batch(query)
            query.stop()
            return


def await_batch(query: StreamingQuery) -> None:
    """Wait until the micro-batch that runs, if there is one, has ended."""
    last = _batch_number(query)
    while query.isActive and query.status["isTriggerActive"] and _batch_number(query) == last:
        sleep(0.05)


def _batch_number(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])
