"""The suite of cases as streams: cut into micro-batches at random, out of order by as much as LATE BY allows."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

import foretell as ft
from foretell.events.types import Type, format_timestamp, parse_timestamp
from foretell.language import tree
from foretell.language.subscriptions import Subscriptions, of_program
from foretell.spark.streaming.query import follow
from tests.case_files import Case, cases
from tests.spark.test_stream import Event, expected, finish, frame, put, read, rows_of

ALL = [c for c in cases() if c.error is None and "CORRELATE" not in c.text and "LOSING" not in c.text and c.expect]
PARTS = 3
TYPES = {
    Type.BOOL: "BOOLEAN",
    Type.INT: "BIGINT",
    Type.FLOAT: "DOUBLE",
    Type.STRING: "STRING",
    Type.TIMESTAMP: "TIMESTAMP",
}
LOG = logging.getLogger(__name__)
BEAT = "SUBSCRIBE unheard FROM beats MATCH b DEFINE b AS FALSE;"


def schema(case: Case, name: str, declared: tree.Stream | None) -> dict[str, Type]:
    """As the engine reads it off the events, where the text does not tell."""
    said = {str(one.name): one.type for one in declared.attributes} if declared is not None else {}
    rows = case.streams[name]
    found = {column: said.get(column) or _guess([row.get(column) for row in rows]) for row in rows for column in row}
    return said | {n: found[n] for n in found if not said or n in _parts(declared)}


def fits(case: Case) -> bool:
    """Whether a frame can hold the events as they are: of a text for a number Spark makes NULL before we see it."""
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
    """The program with LATE BY, and with a stream of beats that lets the last events go."""
    program = ft.parse(case.text)
    types = {name: schema(case, name, program.declared.get(name)) for name in program.sources}
    times = {n: str(program.declared[n].time) if n in program.declared else "time" for n in types}
    types = {n: {times[n]: Type.INT, **known} for n, known in types.items()}  # what has no events shows no type
    stamped = {n: types[n][times[n]] is Type.TIMESTAMP for n in types}
    first = next(iter(types))
    types["beats"], times["beats"] = {"t": types[first][times[first]]}, "t"
    stamped["beats"] = stamped[first]
    streams = []
    for name, attributes in types.items():
        said = program.declared.get(name) or tree.Stream(name, (), times[name])
        late: Any = tree.Span(lateness, "s") if stamped[name] else tree.Literal(lateness)
        declared = tuple(tree.Declared(n, kind) for n, kind in attributes.items())
        streams.append(replace(said, attributes=declared, lateness=late))
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
    """All events in an order in which each is late by no more than the lateness; those of one instant as they stand."""
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


def told_in_stream(spark: SparkSession, folder: Path, case: Case) -> None:
    random, lateness = Random(case.name), lateness_of(case)
    program, types, times = live(case, lateness)
    engine = ft.Engine(program, tables=case.tables)
    frames = {}
    cut = batches(case, types, times, lateness, random)
    for name, attributes in types.items():
        for number, batch in enumerate(cut):
            put(folder / name, batch[name], number)
        columns = ", ".join(f"`{column}` {TYPES[kind]}" for column, kind in attributes.items())
        frames[name] = frame(spark, folder / name, columns)
    told = [engine.push_together({name: as_types(batch[name], types[name]) for name in types}) for batch in cut]
    finish(follow(program, frames, tables=case.tables, shards=random.choice((1, 2, 5))), folder)
    assert rows_of(read(spark, folder)) == expected(spark, told), f"{case.file}: {case.name}"


def as_types(events: list[Event], types: Mapping[str, Type]) -> list[Event]:
    """As Spark reads them: a FLOAT that is written as an INT is a FLOAT."""
    return [{n: float(v) if types.get(n) is Type.FLOAT and v is not None else v for n, v in e.items()} for e in events]


HELD = [case for case in ALL if fits(case)]
#: One of each file, every fourth file.
SAMPLE = list({case.file: case for case in HELD}.values())[::4]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda c: f"{c.file}: {c.name}")
def test_case(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    told_in_stream(spark, tmp_path, case)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_all_cases(spark: SparkSession, tmp_path: Path) -> None:
    """Several queries at once, for most of their time goes into starting."""

    def run(number: int) -> str | None:
        try:
            told_in_stream(spark, tmp_path / str(number), HELD[number])
        except Exception as error:  # one that fails does not keep the others from being tried
            return f"{HELD[number].file}: {HELD[number].name}: {error}"[:2000]
        return None

    with ThreadPoolExecutor(4) as several:
        wrong = [said for said in several.map(run, range(len(HELD))) if said is not None]
    LOG.info("%d cases, %d wrong", len(HELD), len(wrong))
    assert not wrong, "\n\n".join(wrong)
