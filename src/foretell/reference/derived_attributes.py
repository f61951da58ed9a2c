"""LET attributes, one event after the other. (The reader has put them there too; here they are worked out again.)"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from foretell.events.event import Event
from foretell.language.checked import CheckedProgram
from foretell.reference.expressions import Frame, scalar, value


def with_derived(events: Iterable[Event], program: CheckedProgram, stream: str) -> list[Event]:
    """The events of a stream with the attributes that its STREAM statement adds."""
    derived, found = program.derived.get(stream, ()), list(events)
    for item in derived:
        schema = program.streams[stream]
        frame = Frame(schema.attributes, schema.time_type)
        for number, event in enumerate(found):
            result = scalar(value(item.expression, replace(frame, this=event)), schema.attributes[item.name])
            found[number] = replace(event, attributes={**event.attributes, str(item.name): result})
    return found
