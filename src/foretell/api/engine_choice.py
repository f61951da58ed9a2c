"""Which engine runs a program: Spark, the compiled engine in process, or the reference evaluator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from foretell.api.input_size import estimated_events
from foretell.arguments.input_settings import InputSettings
from foretell.arguments.validation import describe
from foretell.errors import InputError, suggestion
from foretell.events.ingest.input_files import is_pipe, needs_spark
from foretell.extras import has_extra, require_extra
from foretell.language.subscriptions import Subscriptions

ENGINES = ("embedded", "reference", "spark")
_PLACES = {"spark": "on Spark", "embedded": "in this process", "reference": "by the reference evaluator"}

#: From this number of events on, files are processed on Spark. The reason is memory, since in process all events are in
#: it: 5 million events of four columns took 0.8 GB, 20 million 2.2 GB. More than two cores were not measured.
SPARK_FROM = 5_000_000


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and why it was chosen: an empty text where the caller or the kind of the data decides."""

    engine: str
    reason: str = ""

    @property
    def place(self) -> str:
        return {"spark": "on Spark", "embedded": "in this process", "reference": "by the reference evaluator"}[
            self.engine
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"runs {self.place}: {self.reason}",) if self.reason else ()


def check_engine(engine: object) -> None:
    if engine is not None and engine not in ENGINES:
        message = f"unknown engine {describe(engine)}"
        raise InputError("unknown-engine", message, hint=suggestion(str(engine), ENGINES))


def choose_engine(
    program: Subscriptions, sources: Mapping[str, object], settings: InputSettings, engine: str | None = None
) -> EngineChoice:
    """The engine of a run. Events in memory are processed in this process, Spark DataFrames on Spark, files by their
    size, where Spark is installed; statements that are not compiled yet by the reference evaluator."""
    if engine is not None:
        if engine == "spark":
            require_extra("spark", "the engine 'spark'")
        return EngineChoice(engine)
    if any(map(is_spark_frame, sources.values())):
        return EngineChoice("spark")
    paths = {name: source for name, source in sources.items() if isinstance(source, str | os.PathLike)}
    for name, path in paths.items():
        if needs_spark(path, settings.options(name)):
            require_extra("spark", f"only Spark reads '{os.fspath(path)}', which")
            return EngineChoice("spark", f"only Spark reads {os.fspath(path)}")
    files = {name: path for name, path in paths.items() if not is_pipe(path)}
    return _by_size(files, settings) if files else EngineChoice("embedded")


def _by_size(paths: Mapping[str, str | os.PathLike[str]], settings: InputSettings) -> EngineChoice:
    counts = [estimated_events(path, settings.options(name)) for name, path in paths.items()]
    total = sum(count.events for count in counts)
    number = f"{'' if all(count.exact for count in counts) else 'about '}{_rounded(total)}"
    events = "event" if total == 1 else "events"
    if total >= SPARK_FROM and not has_extra("spark"):
        return EngineChoice("embedded", f"{number} {events}; for Spark, pip install 'foretell[spark]'")
    return EngineChoice(
        "spark" if total >= SPARK_FROM else "embedded", f"{number} {events}; Spark from {_rounded(SPARK_FROM)} on"
    )


def _rounded(events: int) -> str:
    """
    >>> _rounded(5), _rounded(12_345), _rounded(5_000_000), _rounded(12_600_000)
    ('5', '12,000', '5 million', '13 million')
    """
    if events >= 1_000_000:
        return f"{float(f'{events / 1e6:.2g}'):,g} million"
    return f"{events if events < 1_000 else int(float(f'{events:.2g}')):,}"


def is_spark_frame(source: object) -> bool:
    """Whether a source is a Spark DataFrame, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql.")


def is_streaming(source: object) -> bool:
    return bool(getattr(source, "isStreaming", False))
