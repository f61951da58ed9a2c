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

from foretell.check.replay import replayed
from foretell.check.witness import Witness
from foretell.display import duration_text, shortened
from foretell.events.notification import Notification, pairs_text
from foretell.events.types import Scalar, Type, format_time
from foretell.language import tree
from foretell.language.checked import CheckedProgram

#: So many events of a witness are shown.
MOST_EVENTS = 12

_DAY = 86_400_000_000

#: The widest cell.
_WIDEST = 50

#: The notifications of a statement; None where they are not known.
Notified = tuple[Notification, ...] | None


def witness_lines(witness: Witness, program: CheckedProgram, name: str) -> list[str]:
    """The table of a witness with what a statement notifies at its events."""
    return _lines(witness, program, {name: _notified(witness, program, name)})


def compared_lines(
    witness: Witness, program: CheckedProgram, name: str, other_program: CheckedProgram, other: str
) -> list[str]:
    """The table of a witness with what two statements notify, which may have the same name."""
    columns = {
        f"{name} (here)" if name == other else name: _notified(witness, program, name),
        f"{other} (other)" if name == other else other: _notified(witness, other_program, other),
    }
    return _lines(witness, program, columns)


def _notified(witness: Witness, program: CheckedProgram, name: str) -> Notified:
    """The notifications by the reference evaluator; None where they depend on what a witness does not have: the row of
    a table, the delays of lost events."""
    statement = next(own for own in program.statements if own.name == name)
    own = statement.tree
    if isinstance(own, tree.Subscription) and (own.table is not None or own.losing is not None):
        return None
    return tuple(replayed(statement, program, witness))


def _lines(witness: Witness, program: CheckedProgram, columns: Mapping[str, Notified]) -> list[str]:
    known = {name: found for name, found in columns.items() if found is not None}
    rows, ends = _event_rows(witness, program, [found.end for notified in known.values() for found in notified])
    for name, notified in known.items():
        for row, text in zip(rows, [name, *_by_row(notified, ends)], strict=True):
            row.append(text)
    if len(rows) <= MOST_EVENTS + 1:
        return table(rows)
    half = MOST_EVENTS // 2
    return [*table([*rows[: half + 1], *rows[-half:]]), f"({len(rows) - 1 - 2 * half} more events in the middle)"]


def _event_rows(
    witness: Witness, program: CheckedProgram, ends: Sequence[int | float]
) -> tuple[list[list[str]], list[int | float]]:
    """The header and a row for each event, and for the time that passes after them; with the times of these rows.
    `ends` are those of the notifications."""
    times: list[int | float] = [event.time for event in witness.events]
    passed = [end for end in ends if not times or end > times[-1]]
    if witness.until is not None:
        passed.append(witness.until)
    times += [max(passed)] if passed else []
    shown = _time_texts(times, _time_type(witness, program))
    clocks = {schema.time for schema in program.streams.values()}
    attributes = list(dict.fromkeys(n for event in witness.events for n in event.attributes if n not in clocks))
    several = len({event.stream for event in witness.events}) > 1
    rows: list[list[str]] = [["stream"] * several + ["time", *attributes]]
    for event, time in zip(witness.events, shown, strict=False):
        rows.append([event.stream] * several + [time, *(_cell(event.attributes, name) for name in attributes)])
    if passed:
        rows.append([""] * several + [shown[-1], *[""] * len(attributes)])
    return rows, times


def _time_texts(times: Sequence[int | float], kind: Type) -> list[str]:
    """Times as texts. TIMESTAMPs that are near 1970 are chosen freely: there only the time since counts."""
    if kind is Type.TIMESTAMP and all(0 <= time < _DAY for time in times):
        return [duration_text(time / 1e6, exact=True) for time in times]
    return [format_time(time, kind) for time in times]


def _by_row(notified: Sequence[Notification], ends: Sequence[int | float]) -> list[str]:
    """The notifications that are known at each row: the last of those at their end, or the first one after it."""
    texts: list[list[str]] = [[] for _ in ends]
    for found in notified:
        at_end = [row for row, end in enumerate(ends) if end == found.end]
        later = [row for row, end in enumerate(ends) if end > found.end]
        for row in at_end[-1:] or later[:1]:
            texts[row].append(_text(found))
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
    """The type of the times of a witness; those of a stream that nobody declares are TIMESTAMPs where a duration has a
    unit."""
    schemas = [program.streams[event.stream] for event in witness.events if event.stream in program.streams]
    types = {schema.time_type for schema in schemas}
    if types <= {Type.UNKNOWN}:
        nodes = (node for statement in program.statements for node in statement.tree.walk())
        return Type.TIMESTAMP if any(isinstance(node, tree.Span) for node in nodes) else Type.FLOAT
    return Type.TIMESTAMP if Type.TIMESTAMP in types else Type.FLOAT
