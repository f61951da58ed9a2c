"""AFTER MATCH LONGEST in a live engine: when matches are told, and what it takes to hold them."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import foretell as ft
from foretell.engine import Engine
from foretell.events.notification import Notification
from foretell.plan.compile import PlanCompiler
from foretell.plan.explain import Codes
from foretell.plan.match_plan import NfaGroupPlan
from foretell.plan.strategy import Kernel
from tests.case_files import Case, cases, rows
from tests.engine.letter_events import STREAM, events, names

RUN = "SUBSCRIBE run FROM s MATCH b{2,} DEFINE b AS k = 'b' AFTER MATCH LONGEST RETURN count(b) AS n;\n"
READER = "SUBSCRIBE pairs FROM run MATCH x , y;\n"
LONGEST = [case for case in cases() if case.file == "longest" and case.error is None]


def lengths(notifications: ft.Notifications) -> list[object]:
    return [n.bindings["n"] for n in notifications if n.subscription == "run"]


def test_the_event_that_ends_a_run_tells_it() -> None:
    engine = Engine(STREAM + RUN)
    assert lengths(engine.push("s", events("bbb"))) == []
    (notified,) = engine.push("s", events("x", 9))
    assert (notified.start, notified.end, notified.bindings) == (1, 3, {"n": 3})
    assert lengths(engine.push("s", events("bb", 10))) == []
    assert lengths(engine.advance(100)) == []
    assert lengths(engine.end()) == [2]
    assert lengths(engine.end()) == []


def test_time_tells_it_where_there_is_a_window() -> None:
    engine = Engine(STREAM + RUN.replace("AFTER", "WITHIN 5 AFTER"))
    assert lengths(engine.push("s", events("bb"))) == []
    assert lengths(engine.advance(6)) == []
    assert lengths(engine.advance(7)) == [2]


def test_what_can_be_no_longer_does_not_wait() -> None:
    """`a ; b` binds two events; the a stays, but no later b makes a better match."""
    engine = Engine(STREAM + "SUBSCRIBE m FROM s MATCH a ; b DEFINE a AS k = 'a', b AS k = 'b' AFTER MATCH LONGEST;")
    assert names(engine.push("s", events("ab"))) == []
    assert names(engine.push("s", events("x", 3))) == ["m"]


def test_late_events_come_into_their_run() -> None:
    engine = Engine(STREAM.replace("TIME time", "TIME time LATE BY 5") + RUN)
    assert lengths(engine.push("s", events("b", 1))) == []
    assert lengths(engine.push("s", events("x", 4))) == []
    assert lengths(engine.push("s", events("b", 2))) == []
    assert lengths(engine.push("s", events("x", 12))) == [2]


def test_statements_come_and_go() -> None:
    engine = Engine(STREAM + RUN)
    engine.push("s", events("bb"))
    engine.subscribe(RUN.replace("run", "more"))
    engine.push("s", events("bb", 3))
    assert [(n.subscription, n.bindings["n"]) for n in engine.push("s", events("x", 5))] == [("more", 2), ("run", 4)]
    engine.push("s", events("bb", 6))
    engine.unsubscribe("run")
    assert names(engine.end()) == ["more"]


def test_limits_count_the_runs_that_live() -> None:
    engine = Engine(STREAM + RUN, limits=ft.Limits(lane=2))
    engine.push("s", events("b" * 1000))
    assert engine.partial_matches == 1
    assert engine.refused == ()
    assert lengths(engine.end()) == [1000]


@pytest.mark.parametrize("pattern", ["b{3,}", "b+", "a , b+", "b+ , c?", "b{2,}<;{k = 'b'}>"])
def test_a_long_run_is_one_run(pattern: str) -> None:
    """Otherwise this would take 5 billion matches."""
    text = f"""
        SUBSCRIBE m FROM s MATCH {pattern} DEFINE b AS k = 'b' WITHIN 100000 AFTER MATCH LONGEST RETURN count(b) AS n;
    """
    attack = pa.table({"time": range(100_000), "k": ["b"] * 100_000})
    engine = Engine(text, time={"s": "time"})
    notified: list[Notification] = []
    for first in range(0, 100_000, 20_000):
        notified += engine.push("s", attack.slice(first, 20_000))
        assert engine.partial_matches <= 4
    notified += engine.end()
    assert [n.bindings for n in notified] == [{"n": 100_000 - ("a" in pattern)}]


def test_a_reader_waits_for_what_is_held() -> None:
    """The run of lane 1 ends first and is known last."""
    stream = "STREAM s (k STRING, lane INT, time INT) TIME time;\n"
    engine = Engine(stream + RUN.replace("FROM s", "FROM s PER lane") + READER)

    def push(*letters: tuple[int, int, str]) -> list[str]:
        return names(engine.push("s", [{"time": time, "lane": lane, "k": k} for time, lane, k in letters]))

    assert push((1, 1, "b"), (2, 1, "b"), (3, 2, "b"), (4, 2, "b")) == []
    assert push((5, 2, "x")) == ["run"]
    engine = Engine.restore(None, engine.snapshot())
    assert push((6, 2, "b"), (7, 2, "b")) == []
    assert push((8, 1, "x")) == ["run", "pairs"]
    engine = Engine.restore(None, engine.snapshot())
    assert names(engine.end()) == ["pairs", "run"]


def _stopped_everywhere(case: Case) -> list[Notification]:
    """Each event alone, and a new engine after each."""
    engine = Engine(case.text, time=case.time, tables=case.tables)
    arrivals = [(row, name) for name, stream in case.streams.items() for row in stream]
    time = {"s": "at"} if "TIME at" in case.text else {}
    notified: list[Notification] = []
    for row, name in sorted(arrivals, key=lambda arrival: str(arrival[0][time.get(arrival[1], "time")]).zfill(9)):
        notified += engine.push(name, [row])
        engine = Engine.restore(None, engine.snapshot())
    if case.until is not None:
        notified += engine.advance(case.until)
    return [*notified, *engine.end()]


def _counted(notifications: list[Notification]) -> Counter[str]:
    return Counter(str(row) for row in rows(notifications))


@pytest.mark.parametrize("case", LONGEST, ids=lambda case: case.name)
def test_snapshots_hold_what_waits(case: Case) -> None:
    whole = ft.run(case.text, case.streams, time=case.time, tables=case.tables, until=case.until, engine="reference")
    assert _counted(_stopped_everywhere(case)) == _counted(list(whole))


@pytest.mark.parametrize(
    ("clauses", "kernel"),
    [
        ("MATCH a , b+", Kernel.LONGEST),
        ("MATCH b{3,} WITHIN 5", Kernel.LONGEST),
        ("MATCH a , b+ HAVING count(b) > 2", Kernel.LOCKSTEP),
        ("MATCH a ;{k = 'b'} b+ WITHIN 5", Kernel.LONGEST_GENERAL),
        ("MATCH a ; b+ WITHIN 5", Kernel.GENERAL),
    ],
)
def test_the_kernel(clauses: str, kernel: Kernel) -> None:
    checked = ft.parse(f"{STREAM} SUBSCRIBE m FROM s {clauses} AFTER MATCH LONGEST;").checked({}, {})
    (group,) = PlanCompiler(Codes()).compile(checked).input_of("m").groups.values()
    assert isinstance(group, NfaGroupPlan)
    assert group.nfa is not None
    assert group.nfa.compiled.kernel.kernel.value is kernel
