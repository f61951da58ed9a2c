"""The events of lanes, as the timelines of their matches show them: the times of all events, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foretell.arguments.statements import SubscriptionsLike, as_subscriptions
from foretell.arguments.validation import EVERY_STREAM, as_mapping
from foretell.engine.engine import Engine
from foretell.errors import InputError
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.notification import Notification
from foretell.events.types import Scalar, parse_timestamp
from foretell.language import tree
from foretell.language.subscriptions import Subscriptions, of_program
from foretell.records import record

#: The step of the statements that name every event of a lane.
_STEP = "event"

_Reading = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class LaneEvents:
    """The events of one lane in their order: times of the stream, and names as notifications have them."""

    times: tuple[int | float, ...]
    names: tuple[Scalar, ...]

    @cached_property
    def time_of(self) -> Mapping[Scalar, int | float]:
        return dict(zip(self.names, self.times, strict=True))


@record
class LaneHistory:
    """The events of streams by lane. A statement that reads the results of others has none."""

    readings: Mapping[str, _Reading] = field(default_factory=dict)
    tables: Mapping[_Reading, pa.Table] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        subscriptions: SubscriptionsLike,
        inputs: Mapping[str, object],
        time: Mapping[str, str] | str | None = None,
        read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    ) -> LaneHistory:
        """From the inputs of a run. The engine itself names the events: a statement for each FROM and PER matches every
        event."""
        program = as_subscriptions(subscriptions)
        readings = dict(_readings(program))
        sources = as_mapping(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
        streams = {stream for streams, _ in readings.values() for stream in streams}
        if missing := sorted(streams - set(sources)):
            hint = f"inputs={{'{missing[0]}': ...}}"
            raise InputError("missing-input", f"inputs has no events of stream '{missing[0]}'", hint=hint)
        if not readings:
            return cls()
        names = {reading: f"lane{number}" for number, reading in enumerate(dict.fromkeys(readings.values()))}
        engine = Engine(_matching_all(program, names), time=_only(streams, time), read=_only(streams, read))
        events = {stream: sources[stream] for stream in sorted(streams)}
        parts = [engine.push_together(events), engine.end()]
        tables = {
            reading: pa.concat_tables([part[name].to_arrow(flat=True) for part in parts if len(part[name])] or [_NONE])
            for reading, name in names.items()
        }
        return cls(readings, tables)

    def lane(self, notification: Notification) -> LaneEvents | None:
        """The events of a notification's lane; None where they are not known."""
        reading = self.readings.get(notification.subscription)
        found = None if reading is None else self.tables[reading]
        if found is None or not found.num_rows:
            return None
        for name, value in (notification.key or {}).items():
            column = found[f"key.{name}"]
            chosen = pc.is_null(column) if value is None else _equal(column, value)
            if chosen is None:
                return None
            found = found.filter(chosen)
        times = found["start"]
        numbers = times.cast(pa.int64()) if pa.types.is_timestamp(times.type) else times
        known: list[Any] = numbers.to_pylist()
        return LaneEvents(tuple(known), tuple(found[f"events.{_STEP}"].to_pylist()))


_NONE = pa.table({"start": pa.array([], pa.int64())})


def _equal(column: Any, value: Any) -> Any:
    """Whether values are those of a key, where a TIMESTAMP is a text; None where they have another type."""
    if pa.types.is_timestamp(column.type) and isinstance(value, str):
        return pc.equal(column.cast(pa.int64()), pa.scalar(int(parse_timestamp(value)), pa.int64()))
    try:
        return pc.equal(column, pa.scalar(value, column.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def _readings(program: Subscriptions) -> Iterable[tuple[str, _Reading]]:
    """The FROM and PER of each statement that reads input streams alone."""
    for statement in program.program.statements:
        if isinstance(statement, tree.Subscription) and set(statement.streams) <= set(program.sources):
            yield str(statement.name), (tuple(map(str, statement.streams)), tuple(map(str, statement.per)))


def _matching_all(program: Subscriptions, names: Mapping[_Reading, str]) -> Subscriptions:
    streams = [declared for name, declared in program.declared.items() if any(name in reading[0] for reading in names)]
    matching = [tree.Subscription(name, streams, tree.Step(_STEP), per=per) for (streams, per), name in names.items()]
    return of_program(tree.Program((*streams, *matching)))


def _only(streams: Iterable[str], settings: Any) -> Any:
    """The settings of these streams."""
    if not isinstance(settings, Mapping):
        return settings
    return {name: value for name, value in settings.items() if name in {*streams, EVERY_STREAM}}
