"""Cases as streams: cut into micro-batches at random, and out of order by as much as LATE BY allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import foretell as ft
from foretell.events.types import Type, format_timestamp, parse_timestamp
from foretell.language import tree
from foretell.language.subscriptions import Subscriptions, of_program
from tests.case_files import Case, cases
from tests.spark.streaming_queries import Event

ALL = [c for c in cases() if c.error is None and c.is_compiled and c.expect]
PARTS = 3
SPARK_TYPES = {
    Type.BOOL: "BOOLEAN",
    Type.INT: "BIGINT",
    Type.FLOAT: "DOUBLE",
    Type.STRING: "STRING",
    Type.TIMESTAMP: "TIMESTAMP",
}
BEAT = "SUBSCRIBE unheard FROM beats MATCH b DEFINE b AS FALSE;"


def schema(case: Case, name: str, declared: tree.Stream | None) -> dict[str, Type]:
    """Return the types of a stream: as declared, or as the engine infers them from the events."""
    declaration = (
        {str(attribute.name): attribute.type for attribute in declared.attributes} if declared is not None else {}
    )
    rows = case.streams[name]
    found = {
        column: declaration.get(column) or _guess([row.get(column) for row in rows]) for row in rows for column in row
    }
    return declaration | {n: found[n] for n in found if not declaration or n in _parts(declared)}


def fits(case: Case) -> bool:
    """Return whether a frame can hold the events: Spark turns a text in a column of numbers into NULL."""
    program = ft.parse(case.text)
    return not any(
        isinstance(row.get(column), str)
        for name in program.sources
        for column, kind in schema(case, name, program.declared.get(name)).items()
        for row in case.streams[name]
        if kind in (Type.INT, Type.FLOAT)
    )


def _parts(declared: tree.Stream | None) -> set[str]:
    return set() if declared is None else {str(p) for p in (declared.time, declared.id, declared.order) if p}


def _guess(values: list[object]) -> Type:
    known = [v for v in values if v is not None]
    for kind, python in ((Type.BOOL, bool), (Type.INT, int), (Type.FLOAT, (int, float))):
        if known and all(isinstance(v, python) and (kind is Type.BOOL or not isinstance(v, bool)) for v in known):
            return kind
    if known and all(isinstance(v, str) and _is_time(v) for v in known):
        return Type.TIMESTAMP
    return Type.STRING


def _is_time(text: str) -> bool:
    try:
        parse_timestamp(text)
    except ValueError:
        return False
    return True


def live(case: Case, lateness: int) -> tuple[Subscriptions, dict[str, dict[str, Type]], dict[str, str]]:
    """Return the program with LATE BY, and with a stream of beats that releases the last events."""
    program = ft.parse(case.text)
    types = {name: schema(case, name, program.declared.get(name)) for name in program.sources}
    times = {n: str(program.declared[n].time) if n in program.declared else "time" for n in types}
    types = {n: {times[n]: Type.INT, **known} for n, known in types.items()}  # a stream without events shows no type
    stamped = {n: types[n][times[n]] is Type.TIMESTAMP for n in types}
    first = next(iter(types))
    types["beats"], times["beats"] = {"t": types[first][times[first]]}, "t"
    stamped["beats"] = stamped[first]
    streams = []
    for name, attributes in types.items():
        declaration = program.declared.get(name) or tree.Stream(name, (), times[name])
        late: Any = tree.Span(lateness, "s") if stamped[name] else tree.Literal(lateness)
        declared = tuple(tree.Declared(n, kind) for n, kind in attributes.items())
        streams.append(replace(declaration, attributes=declared, lateness=late))
    others = [s for s in program.program.statements if not isinstance(s, tree.Stream)]
    beat = ft.parse(BEAT).program.statements
    return of_program(tree.Program((*streams, *others, *beat))), types, times


def moment(value: Any) -> float:
    return parse_timestamp(value) / 1_000_000 if isinstance(value, str) else float(value)


def lateness_of(case: Case) -> int:
    return Random(case.name).choice((1, 3, 20))


def batches(
    case: Case, types: Mapping[str, Mapping[str, Type]], times: Mapping[str, str], lateness: int, random: Random
) -> list[dict[str, Any]]:
    """Return micro-batches in which no event is later than the lateness; those of one instant keep their order."""
    events = []
    for name, rows in case.streams.items():
        shifts: dict[float, float] = {}
        for row in rows:
            if row.get(times.get(name, "time")) is not None and name in times:
                at = moment(row[times[name]])
                events.append((at + shifts.setdefault(at, random.uniform(0, lateness)), name, row))
    events.sort(key=lambda event: event[0])
    cuts = sorted(random.randrange(len(events) + 1) for _ in range(PARTS - 1))
    parts = [events[a:b] for a, b in zip([0, *cuts], [*cuts, len(events)])]
    found: list[dict[str, Any]] = [{n: [row for _, m, row in part if m == n] for n in times} for part in parts]
    last = int(max(at for at, _, _ in events)) + 10 * lateness + 10
    stamped = types["beats"]["t"] is Type.TIMESTAMP
    found[-1]["beats"] = [{"t": format_timestamp(last * 1_000_000) if stamped else last}]
    return found


def as_types(events: list[Event], types: Mapping[str, Type]) -> list[Event]:
    """Return events as Spark reads them: a FLOAT that is written as an INT is a FLOAT, and one that is a text NULL."""
    return [{n: _as_float(v) if types.get(n) is Type.FLOAT else v for n, v in e.items()} for e in events]


def _as_float(value: Any) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)
