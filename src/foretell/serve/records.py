"""Records that a running pipeline publishes: its statements, its streams, and how much state they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from foretell.events.types import Scalar
from foretell.records import record

#: The kinds of notifications, each of which a statement's counts have.
KINDS = ("match", "forecast", "estimate", "confirmed", "withdrawn", "token")

#: An event time as notifications have it: a text where it is a TIMESTAMP.
EventTime = int | float | str | None


@record
class StatementSource:
    """A statement as it runs: `kind` is subscribe, correlate or template. `threshold` is that of FORECAST."""

    name: str
    kind: str
    text: str
    reads: tuple[str, ...]
    threshold: float | None = None
    horizon: str | None = None


@record
class StreamSource:
    """An input stream with its STREAM statement, or an empty text."""

    name: str
    text: str


@record
class StatementLoad:
    """The state of a statement; None where the engine does not know it."""

    partial_matches: int | None = None
    lanes: int | None = None
    state_bytes: int | None = None
    stopped_lanes: int | None = None


@record
class EngineLoad:
    """The state of an engine between two batches. `lag` is how many seconds the watermark is behind the clock."""

    watermark: EventTime = None
    state_bytes: int | None = None
    partial_matches: int | None = None
    lag: float | None = None
    statements: Mapping[str, StatementLoad] = field(default_factory=dict)


@record
class ForecastPoint:
    """The present forecast of a key."""

    statement: str
    key: Mapping[str, Scalar] | None
    probability: float
    at: EventTime


@record
class SideEvent:
    """A late or malformed event with the reason why it is set aside."""

    stream: str
    reason: str
    event: Any
