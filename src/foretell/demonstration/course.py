"""The course of the demonstration: write the events to files, learn from the first months, watch the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import as_file, files
from pathlib import Path
from time import perf_counter

import pyarrow.parquet as pq

from foretell.api.forecasting import train
from foretell.api.run import run
from foretell.arguments.statements import load
from foretell.demonstration.flights import NEW_YORK, WATCHED_SINCE, FlightData
from foretell.demonstration.losses import departed
from foretell.errors import InputError
from foretell.extras import has_extra
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.notify.notifications import Notifications

BAD_RUN, FOGGED_IN, HANDED_ON, TROUBLE_AHEAD, UNHEARD = (
    "bad_run", "fogged_in", "handed_on", "trouble_ahead", "unheard",
)  # fmt: skip

#: Conditions that forecasts may use beside the pattern; training chooses how many past departures count. The reports
#: of the first months come from an archive, in which none is missing.
LEARNING = Learning(order=None, features=("delay >= 30", f"hour(time, '{NEW_YORK.key}') >= 14"), complete=True)

#: The models stay as they were learned, so that every figure is about events that they have not seen.
WATCHING = Learning(online=False)

#: Both cores of a small machine get a part of each file.
_ROW_GROUP = 65_536


@dataclass(frozen=True)
class CourseStage:
    """A part of the work that is done: the events that it read, and its seconds."""

    name: str
    events: int
    seconds: float


@dataclass(frozen=True)
class CourseOutcome:
    """All that the course has found. `learned` and `watched` are the events before and after the models were made."""

    engine: str
    program: Subscriptions
    learned: FlightData
    watched: FlightData
    model: Model
    notifications: Notifications
    stages: tuple[CourseStage, ...]


def statements() -> Subscriptions:
    with as_file(files("foretell.demonstration").joinpath("statements.ftl")) as file:
        return load(file)


def default_engine() -> tuple[str, str]:
    """Spark where it can start; else the engine in this process, and why."""
    if not has_extra("spark"):
        return "embedded", "Spark is not installed: pip install 'foretell[spark]'"
    from foretell.spark.session.java import java_home  # imports PySpark

    try:
        java_home()
    except InputError as error:
        return "embedded", f"{error.message}: {error.hint}" if error.hint else error.message
    return "spark", ""


class FlightCourse:
    """The work in its stages, each of which needs those before it. Files are written to `folder`."""

    def __init__(self, engine: str, folder: Path, data: FlightData, watched_since: datetime = WATCHED_SINCE) -> None:
        self.engine, self.program = engine, statements()
        past, self.watched = data.between(until=watched_since), data.between(since=watched_since)
        self.learned = replace(past, reports=departed(past.flights))
        self._folder = folder
        self.stages: list[CourseStage] = []

    def learn(self) -> Model:
        began = perf_counter()
        history = self._files("learned", self.learned)
        self.model = train(self.program, history, engine=self.engine, learning=LEARNING)
        self.stages.append(CourseStage("learn", self.learned.events, perf_counter() - began))
        return self.model

    def watch(self) -> Notifications:
        began = perf_counter()
        events = self._files("watched", self.watched)
        found = run(self.program, events, engine=self.engine, model=self.model, learning=WATCHING)
        assert isinstance(found, Notifications)  # of files
        self.notifications = found
        self.stages.append(CourseStage("watch", self.watched.events, perf_counter() - began))
        return self.notifications

    def outcome(self) -> CourseOutcome:
        return CourseOutcome(
            engine=self.engine,
            program=self.program,
            learned=self.learned,
            watched=self.watched,
            model=self.model,
            notifications=self.notifications,
            stages=tuple(self.stages),
        )

    def _files(self, name: str, data: FlightData) -> Mapping[str, Path]:
        """The events of each stream as a Parquet file, which the tasks of Spark read in parts."""
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        paths = {stream: folder / f"{stream}.parquet" for stream in data.streams}
        for stream, table in data.streams.items():
            pq.write_table(table, paths[stream], row_group_size=_ROW_GROUP)
        return paths
