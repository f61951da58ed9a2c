"""The demonstration as a live pipeline: the flights of 2013 from March on, replayed a thousand times faster.

The statements are those of `foretell demo`, the models learn from January and February when the service starts. After
the last flight the replay begins again, some weeks later in event time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.api.forecasting import train
from foretell.demonstration.course import LEARNING, statements
from foretell.demonstration.flights import WATCHED_SINCE, ReplayBatch, event_batches, flight_data, microseconds
from foretell.demonstration.losses import departed
from foretell.engine import Engine
from foretell.events.arrow_interop import arrow_of, numpy_of
from foretell.learn.model import Model
from foretell.serve.engine_session import EngineSession
from foretell.serve.recent_events import RecentEvents
from foretell.serve.recorder import PipelineRecorder
from foretell.serve.statement_sources import statement_sources, stream_sources

#: So many seconds of event time pass in a second of the clock.
SPEED = 1_000
#: Events come together by so much event time.
_STEP = timedelta(minutes=2)
#: Another round begins so much later: longer than a round, and on the same day of the week.
_ROUND = timedelta(weeks=44)
#: So many batches are pushed before the runner serves a request.
_MOST_BATCHES = 20


class DemoPipeline:
    """Replays batches in the order of time, each when the clock of the replay has come to its end."""

    patience = 20.0

    def __init__(self, recorder: PipelineRecorder, speed: float = SPEED) -> None:
        self._recorder, self._speed = recorder, speed
        self._program = statements()
        self._began, self._first = 0.0, microseconds(WATCHED_SINCE)
        self._next: ReplayBatch | None = None
        self.recent = RecentEvents()

    def prepare(self) -> None:
        self._recorder.describe(statement_sources(self._program), stream_sources(self._program))
        self._recorder.note("the models learn from the flights of January and February when the service starts")

    def start(self) -> None:
        model = _learned_model()
        self.session = EngineSession(
            Engine(self._program, model=model), self._recorder, model=model, recent=self.recent
        )
        self._batches = _rounds()
        self._next = next(self._batches)
        self._began = time.monotonic()
        self.session.look(always=True)

    def step(self) -> bool:
        now = self._first + (time.monotonic() - self._began) * self._speed * 1_000_000
        for _ in range(_MOST_BATCHES):
            assert self._next is not None
            if microseconds(self._next.until) > now:
                self.session.look()
                return False
            if self._next.streams:
                self.session.push(self._next.streams, dict.fromkeys(self._next.streams, "time"))
            self._next = next(self._batches)
        self.session.look()
        return True

    def stop(self) -> None:
        """The next replay begins anew."""
        self.session.look(always=True)

    def close(self) -> None:
        """Nothing is open."""

    def subscribe(self, text: str) -> None:
        self.session.subscribe(text)

    def replace(self, name: str, text: str) -> None:
        self.session.replace(name, text)

    def unsubscribe(self, name: str) -> None:
        self.session.unsubscribe(name)

    def automaton(self, name: str) -> dict[str, Any]:
        return self.session.automaton(name)

    def partial_matches(self, name: str, limit: int) -> dict[str, Any]:
        return self.session.partial_matches(name, limit)


def _learned_model() -> Model:
    """The model of the first months, whose reports come from an archive in which none is missing."""
    past = flight_data().between(until=WATCHED_SINCE)
    past = replace(past, reports=departed(past.flights))
    return train(statements(), past.streams, engine="embedded", learning=LEARNING)


def _rounds() -> Iterator[ReplayBatch]:
    """The events from March on, again and again."""
    begun = 0
    while True:
        later = begun * _ROUND
        for batch in event_batches(_STEP, WATCHED_SINCE):
            streams = {name: _moved(table, later) for name, table in batch.streams.items()} if begun else batch.streams
            yield ReplayBatch(batch.until + later, streams)
        begun += 1


def _moved(table: pa.Table, later: timedelta) -> pa.Table:
    """The same events, whose times are later."""
    micros, columns = later // timedelta(microseconds=1), dict[str, Any]()
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            times = numpy_of(column.cast(pa.int64()))
            columns[name] = arrow_of(np.asarray(times + micros)).cast(column.type)
        else:
            columns[name] = column
    return pa.table(columns)
