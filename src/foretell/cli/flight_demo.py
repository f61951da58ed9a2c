"""`foretell demo` on the flights of a year: says what happens, shows progress, prints a summary, writes a report."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from foretell.cli.output import say
from foretell.cli.progress_display import progress
from foretell.demonstration.course import TROUBLE_AHEAD, CourseOutcome, FlightCourse, default_engine
from foretell.demonstration.findings import Findings, findings
from foretell.demonstration.flights import WATCHED_SINCE, FlightData, flight_data
from foretell.demonstration.report import is_report, report_page
from foretell.demonstration.summary import parts
from foretell.errors import InputError
from foretell.events.atomic_files import atomic_write, check_writable
from foretell.learn.model import Model
from foretell.notify.files import standard_output, writing_to

_PLACES = {"spark": "on Spark, on this machine", "embedded": "in this process"}


@dataclass(frozen=True)
class FlightDemo:
    """The demonstration. A file at `report` is replaced if it is an earlier report, or if `replaces` allows it."""

    report: Path
    replaces: bool
    engine: str | None

    def show(self) -> None:
        self._check_report()
        engine, reason = (self.engine, "") if self.engine is not None else default_engine()
        if reason:
            say(f"note: runs in this process: {reason}")
        self._show(engine)

    def _check_report(self) -> None:
        if self.report.is_file() and not self.replaces and not is_report(self.report):
            message = f"'{self.report}' is not a report of this demonstration, which would replace it"
            raise InputError("cannot-write", message, hint="name another file: --output FILE")
        check_writable(self.report)

    def _show(self, engine: str) -> None:
        began = time.monotonic()
        _print(Text("A year of flights from New York", "bold"), "")
        with progress("reading the flights"):
            data = flight_data()
        _print(
            f"{data.flights.num_rows:,} flights of 2013, the weather, and five patterns of events: two months to",
            f"learn from, ten to watch, {_PLACES[engine]}.",
            "",
        )
        outcome = _course(engine, data)
        with progress("comparing"):
            found = findings(outcome)
        _summarize(found)
        with progress("writing the report"), atomic_write(self.report) as file:
            file.write(report_page(found).encode())
        _print(
            "",
            Text.assemble(("Report  ", "bold"), str(self.report), "  (open it in a browser; it needs no network)"),
            f"{time.monotonic() - began:.0f} s in all.",
        )


def _course(engine: str, data: FlightData) -> CourseOutcome:
    with TemporaryDirectory(prefix="foretell-demo-") as folder:
        course = FlightCourse(engine, Path(folder), data, WATCHED_SINCE)
        _print(f"1  Learning from January and February: {course.learned.events:,} events …")
        with progress("learning", on_spark=engine == "spark"):
            model = course.learn()
        _print(f"   {_done(course)}; {_model_text(model)}")
        _print(f"2  Watching March to December: {course.watched.events:,} events …")
        with progress("watching", on_spark=engine == "spark"):
            found = course.watch()
        _print(f"   {_done(course)}; {len(found):,} matches, forecasts and estimates")
        _print("3  Comparing with what really happened …", "")
        return course.outcome()


def _done(course: FlightCourse) -> str:
    return f"{course.stages[-1].seconds:.0f} s"


def _model_text(model: Model) -> str:
    """How much the model of the forecasts has."""
    learned = model.subscriptions[TROUBLE_AHEAD].statistics
    return f"{learned.matches:,} times trouble in {learned.events:,} departures"


def _summarize(found: Findings) -> None:
    for part in parts(found):
        _print(Text(part.heading, "bold"), *part.lines, "")


def _print(*lines: str | Text) -> None:
    console = Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")
    # Captured first: rich handles a closed pipe in its own way.
    with console.capture() as shown:
        for line in lines:
            console.print(line if isinstance(line, Text) else Text(line), soft_wrap=True)
    stream = standard_output()
    with writing_to(stream):
        stream.write(shown.get().encode())
        stream.flush()
