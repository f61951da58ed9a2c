"""A witness as a small table for people: its events, and what each of them notifies.

>>> for line in table([["time", "k", "m"], ["0", "a", ""], ["1", "b", "a=0, b=1"]]):
...     print(line)
time  k  m
0     a
1     b  a=0, b=1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foretell.check.program_parts import part_for
from foretell.check.witness import Witness
from foretell.display import shortened
from foretell.errors import ForetellError
from foretell.events.event import Event, base_key
from foretell.events.notification import Notification, pairs_text
from foretell.events.types import Scalar, Type, format_time
from foretell.language.checked import CheckedProgram
from foretell.reference.run import run

#: So many events of a witness are shown.
MOST_EVENTS = 12

#: The widest cell.
_WIDEST = 50


def notifications_of(witness: Witness, program: CheckedProgram, name: str) -> tuple[Notification, ...]:
    """The notifications of a statement on the events of a witness, by the reference evaluator."""
    part = part_for(program, name)
    events: dict[str, list[Event]] = {}
    for arrival, given in enumerate(witness.events):
        schema = program.streams.get(given.stream)
        tie = None if schema is None or schema.order is None else given.attributes.get(schema.order)
        named = None if schema is None or schema.id is None else given.attributes.get(schema.id)
        key = base_key(given.time, tie, program.ranks.get(given.stream, 0), arrival)
        attributes: dict[str, Scalar] = dict(given.attributes)
        if schema is not None and schema.time is not None:
            attributes.setdefault(schema.time, given.time)
        events.setdefault(given.stream, []).append(Event(given.stream, attributes, given.time, given.time, key, named))
    return tuple(found for found in run(part, events, until=witness.until) if found.subscription == name)


def witness_lines(witness: Witness, program: CheckedProgram, name: str) -> list[str]:
    """The table of a witness with what a statement notifies at its events."""
    columns = {name: _notified(witness, program, name)}
    return columns_lines(witness, columns, _time_type(witness, program))


def _notified(witness: Witness, program: CheckedProgram, name: str) -> tuple[Notification, ...] | None:
    """None where the reference evaluator needs what a witness does not have, such as the delays of lost events."""
    try:
        return notifications_of(witness, program, name)
    except ForetellError:
        return None


def columns_lines(witness: Witness, columns: Mapping[str, Sequence[Notification] | None], time: Type) -> list[str]:
    """The table of a witness with the notifications of each statement in a column."""
    known = {name: found for name, found in columns.items() if found is not None}
    attributes = list(dict.fromkeys(name for event in witness.events for name in event.attributes))
    several = len({event.stream for event in witness.events}) > 1
    ends = [event.time for event in witness.events]
    rows: list[list[str]] = [["stream"] * several + ["time", *attributes]]
    for event in witness.events:
        values = [_cell(event.attributes, name) for name in attributes]
        rows.append([event.stream] * several + [format_time(event.time, time), *values])
    late = [found.end for notified in known.values() for found in notified if not ends or found.end > ends[-1]]
    if late or witness.until is not None:
        until = max([*late, *([] if witness.until is None else [witness.until])])
        ends.append(until)
        rows.append([""] * several + [format_time(until, time), *[""] * len(attributes)])
    for name, notified in known.items():
        for row, text in zip(rows, [name, *_by_row(notified, ends)], strict=True):
            row.append(text)
    if len(rows) > MOST_EVENTS + 1:
        half = MOST_EVENTS // 2
        return [*table([*rows[: half + 1], *rows[-half:]]), f"… {len(rows) - 1 - 2 * half} more events in the middle"]
    return table(rows)


def _by_row(notified: Sequence[Notification], ends: Sequence[int | float]) -> list[str]:
    """The notifications that are known at each row: the last one at or before their end."""
    texts: list[list[str]] = [[] for _ in ends]
    for found in notified:
        rows = [row for row, end in enumerate(ends) if end <= found.end]
        if rows:
            texts[rows[-1]].append(_text(found))
    return ["; ".join(parts) for parts in texts]


def _text(found: Notification) -> str:
    return pairs_text(found.events) or pairs_text(found.bindings) or found.kind


def _cell(attributes: Mapping[str, Scalar], name: str) -> str:
    if name not in attributes:
        return ""
    value: Any = attributes[name]
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return shortened(repr(value) if not value or value != value.strip() else value, _WIDEST)
    return str(value).upper() if isinstance(value, bool) else str(value)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table whose columns are aligned."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in rows]


def _time_type(witness: Witness, program: CheckedProgram) -> Type:
    """The type of the times of a witness: those of a stream nobody declares are whole numbers or fractions."""
    for event in witness.events:
        schema = program.streams.get(event.stream)
        if schema is not None and schema.time_type is Type.TIMESTAMP:
            return Type.TIMESTAMP
    return Type.FLOAT


def compared_lines(
    witness: Witness, program: CheckedProgram, name: str, other_program: CheckedProgram, other: str
) -> list[str]:
    """The table of a witness with what two statements notify, which may have the same name."""
    columns = {
        f"{name} (here)" if name == other else name: _notified(witness, program, name),
        f"{other} (other)" if name == other else other: _notified(witness, other_program, other),
    }
    return columns_lines(witness, columns, _time_type(witness, program))
