"""LATE BY in the engine: disorder within it makes no difference, later events are late."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.engine import Engine
from tests.engine_pair import comparable_rows

Row = dict[str, Any]

quick = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

S = "STREAM s (k STRING, q INT, time INT) TIME time LATE BY 5;\n"
R = "STREAM r (k STRING, q INT, time INT) TIME time;\n"
AB = " DEFINE a AS k = 'a', b AS k = 'b'"
PAIR = f"{S}SUBSCRIBE m FROM s MATCH a ; b{AB};"
ABSENT = f"MATCH a ; !b{AB} WITHIN 4;"

PROGRAMS = {
    "pairs": PAIR,
    "next": f"{S}SUBSCRIBE m FROM s MATCH a , b{AB};",
    "tie-breaker": f"{S.replace('LATE', 'ORDER BY q LATE')}SUBSCRIBE m FROM s MATCH a , b{AB};",
    "simultaneous": f"{S.replace('LATE', 'TIES SIMULTANEOUS LATE')}SUBSCRIBE m FROM s MATCH a , b{AB};",
    "absence": f"{S}SUBSCRIBE m FROM s {ABSENT}",
    "silence": f"{S}SUBSCRIBE m FROM s PER k MATCH !a WITHIN 3;",
    "two streams": f"{S}{R}SUBSCRIBE m FROM r, s MATCH a , b{AB};",
    "two latenesses": f"{S}{R.replace('TIME time;', 'TIME time LATE BY 2.5;')}SUBSCRIBE m FROM r, s {ABSENT}",
    "derived": f"{S}{R}SUBSCRIBE m FROM s MATCH a , b{AB}; SUBSCRIBE n FROM m, r MATCH x ; y WITHIN 4;",
    "apart": f"{S}{R}SUBSCRIBE m FROM s {ABSENT} SUBSCRIBE n FROM r {ABSENT}",
}
LATENESS = {"two latenesses": {"s": 5, "r": 2}}


@dataclass(frozen=True)
class Arrival:
    stream: str
    row: Row
    delay: int

    @property
    def time(self) -> int:
        return int(self.row["time"])


@st.composite
def arrivals(draw: st.DrawFn, lateness: dict[str, int], beyond: int = 0) -> list[Arrival]:
    """Events of these streams, each at most so much later than its time; `beyond` is how much too late they may be."""
    found = []
    for number in range(draw(st.integers(0, 14))):
        stream = draw(st.sampled_from(sorted(lateness)))
        row = {
            "time": draw(st.integers(0, 20)),
            "k": draw(st.sampled_from("abc")),
            "q": draw(st.integers(0, 3)),
            "number": number,
        }
        found.append(Arrival(stream, row, draw(st.integers(0, lateness[stream] + beyond))))
    return sorted(found, key=lambda a: a.time + a.delay)


def pieces(arriving: Sequence[Arrival], cuts: Iterable[int]) -> list[list[Arrival]]:
    """Cut at these places, and wherever another stream goes on."""
    edges = set(cuts)
    numbered = groupby(enumerate(arriving), key=lambda item: (item[1].stream, sum(e <= item[0] for e in edges)))
    return [[arrival for _, arrival in group] for _, group in numbered]


def in_order(text: str, arriving: Iterable[Arrival], until: int | None = None) -> list[tuple[Any, ...]]:
    """What a bounded run tells of the events, sorted by time."""
    inputs: dict[str, list[Row]] = {name: [] for name in ft.parse(text).sources}
    for item in sorted(arriving, key=lambda a: a.time):
        inputs[item.stream].append(item.row)
    return comparable_rows(ft.run(text, inputs, engine="embedded", until=until))


@pytest.mark.parametrize("name", PROGRAMS)
@quick
@given(data=st.data(), cuts=st.sets(st.integers(0, 14)), until=st.sampled_from([None, 99]), kept=st.booleans())
def test_disorder_within_the_lateness_makes_no_difference(
    name: str, data: st.DataObject, cuts: set[int], until: int | None, kept: bool
) -> None:
    text = PROGRAMS[name]
    arriving = data.draw(arrivals(LATENESS.get(name, {"s": 5, "r": 0} if R in text else {"s": 5})))
    engine = Engine(text)
    found: list[ft.Notification] = []
    for piece in pieces(arriving, cuts):
        got = engine.push(piece[0].stream, [a.row for a in piece])
        assert got.late == ()
        found += got
        if not kept:
            engine = Engine.restore(None, engine.snapshot())
    found += engine.end() if until is None else engine.advance(until)
    assert sorted(comparable_rows(found)) == sorted(in_order(text, arriving, until))
    assert [n.end for n in found] == sorted(n.end for n in found) or name == "apart"


@quick
@given(arrivals({"s": 5}, beyond=12), st.sets(st.integers(0, 14)))
def test_late_events_are_reported_once(arriving: list[Arrival], cuts: set[int]) -> None:
    engine = Engine(PAIR.replace("k STRING", "k STRING, number INT"))
    found: list[ft.Notification] = []
    late: list[Arrival] = []
    latest = -math.inf
    for piece in pieces(arriving, cuts):
        expected = [(i, a) for i, a in enumerate(piece, 1) if a.time < latest - 5]
        got = engine.push("s", [a.row for a in piece])
        assert [(e.stream, e.row, e.event) for e in got.late] == [("s", i, a.row) for i, a in expected]
        late += [a for _, a in expected]
        latest = max(latest, *(a.time for a in piece))
        found += got
    found += engine.end()
    assert engine.late == ({"s": len(late)} if late else {})
    assert comparable_rows(found) == in_order(PAIR, [a for a in arriving if a not in late])


# ── by example ──


def event(time: Any, k: str = "a", **more: Any) -> Row:
    return {"time": time, "k": k, **more}


def refused(work: Any) -> tuple[str, str]:
    with pytest.raises(ft.ForetellError) as caught:
        work()
    return caught.value.code, str(caught.value).splitlines()[0]


def test_events_wait_until_time_less_the_lateness_has_passed_them() -> None:
    engine = Engine(PAIR)
    assert len(engine.push("s", [event(4, "b")])) == 0
    assert len(engine.push("s", [event(3, "a")])) == 0
    assert len(engine.push("s", [event(9, "c")])) == 0  # another event may still come at 4
    assert [(n.start, n.end) for n in engine.push("s", [event(10, "c")])] == [(3, 4)]


def test_a_held_match_is_completed_by_time() -> None:
    engine = Engine(PROGRAMS["absence"])
    engine.push("s", [event(1, "a")])
    assert len(engine.push("s", [event(10, "c")])) == 0
    assert [(n.start, n.end) for n in engine.push("s", [event(11, "c")])] == [(1, 5)]


def test_advance_waits_for_the_last_instant() -> None:
    engine = Engine(PROGRAMS["tie-breaker"])
    engine.push("s", [event(1, "a", q=1), event(2, "b", q=2)])
    assert len(engine.advance(2)) == 0
    assert len(engine.push("s", [event(2, "c", q=1)])) == 0  # goes before the b
    assert len(engine.advance(3)) == 0
    assert refused(lambda: engine.advance(2)) == ("out-of-order", "time cannot go back: it is 3 already")
    assert [e.event["time"] for e in engine.push("s", [event(2), event(3)]).late] == [2]


def test_a_batch_comes_all_at_once() -> None:
    assert Engine(PAIR).push("s", [event(99), event(1)]).late == ()


def test_end_processes_held_events() -> None:
    engine = Engine(PAIR)
    assert len(engine.end()) == 0
    engine.push("s", [event(2, "b"), event(1, "a")])
    assert len(engine.end()) == 1
    assert len(engine.end()) == 0


def test_late_events_of_a_stream_without_lateness_are_refused() -> None:
    engine = Engine(PROGRAMS["two streams"])
    engine.push("s", [event(20)])
    assert engine.push("r", [event(15)]).late == ()  # can still be put in its place
    message = "stream 'r': row 2 has time 14, but time is 15 already"
    assert refused(lambda: engine.push("r", [event(16), event(14)])) == ("out-of-order", message)
    assert [e.row for e in engine.push("s", [event(16), event(14)]).late] == [2]


def test_no_lateness_at_all_can_be_declared() -> None:
    engine = Engine(PAIR.replace("LATE BY 5", "LATE BY 0"))
    engine.push("s", [event(1, "a")])
    assert len(engine.push("s", [event(2, "b")])) == 1
    assert len(engine.push("s", [event(1, "a")]).late) == 1


def test_timestamps() -> None:
    engine = Engine("STREAM s (k STRING) TIME time LATE BY 10 s; SUBSCRIBE m FROM s MATCH a;")
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    engine.push("s", [event(noon)])
    assert len(engine.push("s", [event(noon + timedelta(seconds=10, microseconds=1))])) == 1
    assert [e.event["time"] for e in engine.push("s", [event(noon)]).late] == [noon]
    assert len(engine.advance(noon + timedelta(minutes=1))) == 1


def test_a_lateness_that_does_not_fit_the_time() -> None:
    engine = Engine("STREAM s (k STRING) TIME time LATE BY 10 s; SUBSCRIBE m FROM s MATCH a;")
    assert refused(lambda: engine.push("s", [event(1)]))[0] == "number-wanted"
    assert len(engine.push("s", [event("2026-03-01T12:00:00")])) == 0


@pytest.mark.parametrize(
    ("stream", "batch"),
    [
        ("s", pa.table({"time": [30], "k": ["b"]})),
        ("s", pa.table({"time": [30], "k": [1], "q": [1]})),
        ("s", [event(30), event(None)]),
        ("s", [event(30), event(31, "b", q="x")]),
        ("s", [{"k": "b"}]),
        ("s", "no such file.csv"),
        ("r", [event(30), event(14)]),
        ("t", [event(30)]),
    ],
)
def test_a_refused_batch_changes_nothing(stream: str, batch: object) -> None:
    engine = Engine(PROGRAMS["two streams"])
    engine.push("s", [event(20, "b"), event(17, "a")])
    before = engine.snapshot()
    refused(lambda: engine.push(stream, batch, strict=True))
    assert engine.snapshot() == before
    assert [(n.start, n.end) for n in engine.push("r", [event(18, "b")])] == []
    assert [(n.start, n.end) for n in engine.end()] == [(17, 18)]


def test_types_are_settled_by_the_first_events() -> None:
    engine = Engine("STREAM s TIME time LATE BY 5; SUBSCRIBE m FROM s MATCH a DEFINE a AS v > 1;")
    assert len(engine.push("s", [])) == 0
    engine.push("s", [{"time": 1, "v": 1.5}])
    assert engine.push("s", [{"time": 2, "v": "x"}]).summary.unreadable == {"s": {"v": 1}}
    assert len(engine.end()) == 1
