"""Limits on partial matches: what is refused, what is dropped, and that nobody else notices."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, Literal

import pytest

import foretell as ft
from foretell.engine.planning import start_runtime
from foretell.machine.exec.arrival_executor import ArrivalExecutor
from foretell.machine.exec.limits import Limits
from foretell.machine.matches.notification_order import notifications_of
from foretell.machine.runtime import MatchRuntime
from tests.engine_pair import EnginePair, comparable_rows

OPEN = "SUBSCRIBE m FROM s PER k MATCH a ; b+ DEFINE a AS v = 1, b AS v = 2;"


def events(*rows: tuple[int, str, int]) -> list[dict[str, object]]:
    return [{"time": time, "k": k, "v": v} for time, k, v in rows]


def run(text: str, given: list[dict[str, object]], limits: Limits) -> tuple[list[Any], MatchRuntime]:
    both = EnginePair(text, {"s": given}, time={"s": "time"})
    running = start_runtime(both.checked, limits=limits)
    return comparable_rows(notifications_of(running.process(both.loaded))), running


def test_a_lane_with_too_many_is_refused_and_others_go_on() -> None:
    rows = events(*((i, "x", 1) for i in range(20)), (30, "y", 1), (31, "x", 2), (32, "y", 2))
    found, running = run(OPEN, rows, Limits(lane=10))
    assert [row[2] for row in found] == [(("k", ("str", "'y'")),)]
    assert running.ledger.refused == [("m", {"k": "x"})]
    assert running.ledger.take_warnings() == (
        "'m' stopped in lane {'k': 'x'}: over 10 partial matches; add WITHIN or raise Limits.lane",
    )
    assert running.ledger.take_warnings() == ()


def test_the_oldest_are_dropped_and_counted() -> None:
    rows = events(*((i, "x", 1) for i in range(20)), (31, "x", 2))
    found, running = run(OPEN, rows, Limits(lane=10, then="drop"))
    assert 7 <= len(found) <= 10
    assert running.ledger.dropped["m"] >= 20 - len(found)
    assert [int(row[3][1]) for row in found] == list(range(20 - len(found), 20))


def test_a_subscription_that_shares_is_not_refused_with_another() -> None:
    """Both wait for b after a; only what the first goes on with is too much."""
    text = """SUBSCRIBE many FROM s PER k MATCH a , b+<;> ; c DEFINE a AS v = 1, b AS v = 2, c AS v = 3;
    SUBSCRIBE few FROM s PER k MATCH a , b , c DEFINE a AS v = 1, b AS v = 2, c AS v = 2;"""
    rows = events((0, "x", 1), *((i, "x", 2) for i in range(1, 12)), (30, "x", 3))
    unlimited, _ = run(text, rows, Limits())
    found, running = run(text, rows, Limits(lane=100))
    assert [name for name, _ in running.ledger.refused] == ["many"]
    assert [row for row in found if row[0] == "few"] == [row for row in unlimited if row[0] == "few"] != []


@pytest.mark.parametrize("then", ["refuse", "drop"])
@pytest.mark.parametrize("pattern", ["a ; b+", "a ; b", "a , c* , b"])
def test_the_engine_as_a_whole_stays_within_bounds(pattern: str, then: str) -> None:
    text = f"SUBSCRIBE m FROM s PER k MATCH {pattern} DEFINE a AS v = 1, b AS v = 2;"
    rows = events(*((i, f"k{i % 7}", 1) for i in range(5000)))
    _, running = run(text, rows, Limits(lane=4000, engine=2000, then=then))  # type: ignore[arg-type]
    assert sum(running.ledger.held.values()) <= 2700
    assert bool(running.ledger.refused) == (then == "refuse")
    assert bool(running.ledger.dropped) == (then == "drop")


@pytest.mark.parametrize("wrong", [{"lane": 0}, {"engine": -1}, {"lane": 1.5}, {"then": "wait"}])
def test_wrong_limits_are_told(wrong: dict[str, object]) -> None:
    with pytest.raises(ft.InputError) as caught:
        Limits(**wrong)  # type: ignore[arg-type]
    assert caught.value.code == "wrong-limit"


# ── arrival lists ──

STREAM = "STREAM s (k STRING, v INT, time INT) TIME time;"
LISTS = (
    STREAM
    + """SUBSCRIBE m FROM s PER k MATCH a ; b ; c DEFINE a AS v = 1, b AS v = 2, c AS v = 3 {}
RETURN a.time AS a, b.time AS b, c.time AS c;"""
)
Then = Literal["refuse", "drop"]


class Lists:
    """What the lists of `a ; b ; c` hold, event by event and lane by lane: arrivals by step and time."""

    def __init__(self, limit: int, then: Then, within: int) -> None:
        self.limit, self.then, self.within = limit, then, within
        self.held: dict[str, list[tuple[int, int]]] = {}
        self.found: list[tuple[int, ...]] = []
        self.refused: list[tuple[str, dict[str, object]]] = []
        self.dropped = 0

    def take(self, time: int, k: str, v: int) -> None:
        if ("m", {"k": k}) in self.refused:
            return
        held, found = self.held.setdefault(k, []), []
        firsts = [t for step, t in held if step == 1 and time - t <= self.within]
        seconds = [t for step, t in held if step == 2]
        if v == 3:
            found = [(a, b, time) for a in firsts for b in seconds if a < b]
        elif v == 1 or firsts:
            held.append((v, time))
        if len(held) > self.limit and self.then == "refuse":
            self.refused.append(("m", {"k": k}))
            held.clear()
        elif len(held) > self.limit:
            lost = max(len(held) // 4, len(held) - self.limit)
            self.dropped += lost
            del held[:lost]
        self.found += found


def pushed(
    text: str, rows: list[dict[str, object]], limits: Limits, cuts: list[int], restored: bool
) -> tuple[ft.Engine, list[Any]]:
    """What is found where a stream is cut, and the engine written down and read again at each cut."""
    engine, found = ft.Engine(text, limits=limits), list[Any]()
    for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        found += [(row["a"], row["b"], row["c"]) for row in (n.bindings for n in engine.push("s", rows[first:last]))]
        if restored:
            engine = ft.Engine.restore(None, engine.snapshot(), limits=limits)
    return engine, found


@pytest.mark.parametrize("then", ["refuse", "drop"])
@pytest.mark.parametrize("seed", range(12))
def test_lists_hold_the_limit_of_each_lane(seed: int, then: Then) -> None:
    """One lane comes three times as often as each of the others; only what is over is refused, or loses its oldest."""
    group = random.Random(seed)
    rows = [(time, group.choice("xxxyz"), group.choice((1, 1, 2, 2, 2, 3))) for time in range(120)]
    limit = group.choice((1, 2, 7, 20))
    lists = Lists(limit, then, 10**9)
    for row in rows:
        lists.take(*row)
    for restored in (False, True):
        cuts = sorted(group.sample(range(1, 120), group.choice((0, 3, 40))))
        engine, found = pushed(LISTS.format(""), events(*rows), Limits(lane=limit, then=then), cuts, restored)
        assert Counter(found) == Counter(lists.found)
        assert list(engine.refused) == lists.refused
        assert engine.dropped_matches.get("m", 0) == lists.dropped
        assert engine.partial_matches == sum(map(len, lists.held.values()))


def test_what_a_window_has_let_go_does_not_count_against_a_lane() -> None:
    rows = [(time, "x", 1) for time in range(0, 200, 2)] + [(200, "x", 2), (201, "x", 3)]
    engine, found = pushed(LISTS.format("WITHIN 11"), events(*rows), Limits(lane=7), [30, 31, 70], True)
    assert sorted(found) == [(a, 200, 201) for a in range(190, 200, 2)]
    assert engine.refused == ()


def test_a_quiet_lane_does_not_keep_what_another_has_dropped() -> None:
    """The oldest arrival of all is of a lane that nothing comes to any more."""
    arrivals = [(0, "y", 1), *((time, "x", 1 + time % 2) for time in range(1, 40_000))]
    both = EnginePair(LISTS.format("").removeprefix(STREAM), {"s": events(*arrivals)}, time={"s": "time"})
    running = start_runtime(both.checked, limits=Limits(lane=100, then="drop"))
    running.process(both.loaded)
    (group,) = next(iter(running.groups.values())).nfa_groups
    assert isinstance(group.executor, ArrivalExecutor)
    assert group.executor.ring.size <= 2048
    assert 76 <= len(group.executor) <= 101


@pytest.mark.parametrize("then", ["refuse", "drop"])
def test_lists_found_by_a_value_hold_the_limit_of_each_lane(then: Then) -> None:
    text = (
        STREAM
        + """SUBSCRIBE m FROM s PER k MATCH a ; b DEFINE a AS v > 0, b AS v = a.v
    RETURN a.time AS a, b.time AS b, b.time AS c;"""
    )
    rows = [(time, "x" if time % 5 else "y", 1 + time % 30) for time in range(300)]
    engine, found = pushed(text, events(*rows), Limits(lane=100, then=then), [10, 90, 200], True)
    assert list(engine.refused) == ([("m", {"k": "x"})] if then == "refuse" else [])
    x, y = ([row for row in rows if row[1] == k] for k in "xy")
    assert {a for a, _, _ in found if a % 5 == 0} == {time for time, _, v in y if v in {w for t, _, w in y if t > time}}
    late = x[100][0]  # the event with which there were 101
    of_x = sorted({b for a, b, _ in found if a % 5})
    assert of_x[-1] < late if then == "refuse" else of_x[-1] > late
    assert (engine.dropped_matches.get("m", 0) > 0) == (then == "drop")


@pytest.mark.parametrize("pattern", ["a ; b", "a ; b+", "a , b+", "a , b+ , c", "(a , b)+ , c"])
def test_what_was_found_before_a_lane_is_refused_is_told_however_batches_are_cut(pattern: str) -> None:
    text = STREAM + f"SUBSCRIBE m FROM s PER k MATCH {pattern};"
    rows = events(*((time, "xy"[time % 3 == 0], 1) for time in range(60)))
    limits = Limits(lane=12)

    def run_cut(step: int) -> tuple[list[object], object]:
        engine = ft.Engine(text, limits=limits)
        found = [row for first in range(0, 60, step) for row in engine.push("s", rows[first : first + step])]
        return [(row.key, row.start, row.end, row.events) for row in found], engine.refused

    found, refused = run_cut(1)
    assert found
    assert refused or pattern == "a , b+ , c"
    assert run_cut(60) == run_cut(7) == (found, refused)


# ── in ft.Engine ──


def test_the_engine_tells() -> None:
    engine = ft.Engine("STREAM s (k STRING, v INT, time INT) TIME time;" + OPEN, limits=ft.Limits(lane=10))
    found = engine.push("s", events(*((i, "x", 1) for i in range(20))))
    assert found.notes == ("'m' stopped in lane {'k': 'x'}: over 10 partial matches; add WITHIN or raise Limits.lane",)
    assert engine.refused == (("m", {"k": "x"}),)
    assert engine.partial_matches == 0
    again = ft.Engine.restore(None, engine.snapshot(), limits=ft.Limits(lane=10))
    assert again.refused == engine.refused
    assert not again.push("s", events((30, "x", 1), (31, "x", 2)))
    assert len(again.push("s", events((32, "y", 1), (33, "y", 2)))) == 1


def test_what_is_dropped_is_counted() -> None:
    text = "STREAM s (k STRING, v INT, time INT) TIME time;" + OPEN
    engine = ft.Engine(text, limits=ft.Limits(lane=10, then="drop"))
    engine.push("s", events(*((i, "x", 1) for i in range(20))))
    assert engine.dropped_matches["m"] >= 10
    assert engine.partial_matches <= 10


def test_limits_of_another_kind_are_refused() -> None:
    with pytest.raises(ft.InputError, match="limits"):
        ft.Engine(OPEN, limits=10)  # type: ignore[arg-type]


# ── memory ──


def pushed_with_memory(
    pattern: str, memory: str, then: Then, events_count: int = 20_000
) -> tuple[ft.Engine, list[str]]:
    text = f"{STREAM} SUBSCRIBE m FROM s PER k MATCH {pattern} DEFINE a AS v = 1, b AS v = 2;"
    engine, notes = ft.Engine(text, limits=Limits(memory=memory, then=then)), list[str]()
    for first in range(0, events_count, 1000):
        rows = events(*((time, f"k{time % 3}", 1) for time in range(first, first + 1000)))
        notes += engine.push("s", rows).notes
    return engine, notes


def held_bytes(engine: ft.Engine) -> int:
    pipeline = engine._deployment.pipeline
    assert pipeline is not None
    return sum(pipeline.runtime.ledger.bytes.values())


@pytest.mark.parametrize("pattern", ["a ; b+", "a ; b"])
def test_partial_matches_stop_at_the_budget(pattern: str) -> None:
    engine, notes = pushed_with_memory(pattern, "2 MiB", "refuse")
    assert {key["k"] for _, key in engine.refused} >= {"k0", "k1"}
    assert notes[0].endswith("over 2 MiB of memory; add WITHIN or raise Limits.memory")
    assert held_bytes(engine) <= 2**21


@pytest.mark.parametrize("pattern", ["a ; b+", "a ; b"])
def test_the_oldest_partial_matches_are_dropped_at_the_budget(pattern: str) -> None:
    engine, notes = pushed_with_memory(pattern, "2 MiB", "drop")
    assert engine.refused == ()
    assert engine.dropped_matches["m"] > 10_000
    assert notes == ["'m' drops its oldest partial matches: over 2 MiB of memory; add WITHIN or raise Limits.memory"]
    assert held_bytes(engine) <= 2**21


def test_memory_that_no_partial_match_takes_refuses_the_batch() -> None:
    """Distinct strings are never forgotten: the engine says what takes its memory, and stays as it was."""
    text = "STREAM s (k STRING, time INT) TIME time; SUBSCRIBE m FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b';"
    engine = ft.Engine(text, limits=Limits(memory="4 MiB"))

    def push_many() -> None:
        for first in range(0, 100_000, 1000):
            engine.push("s", [{"time": time, "k": f"text number {time}"} for time in range(first, first + 1000)])

    with pytest.raises(ft.InputError) as caught:
        push_many()
    assert caught.value.code == "memory-limit"
    assert "Limits.memory is 4 MiB (strings " in str(caught.value)
    engine = ft.Engine.restore(None, engine.snapshot(), limits=Limits(memory="8 MiB"))
    assert len(engine.push("s", [{"time": 10**6, "k": "a"}, {"time": 10**6, "k": "b"}])) == 1


def test_matches_of_one_batch_stop_at_the_budget() -> None:
    """300 events complete four million matches, which take more than the budget."""
    text = f"{STREAM} SUBSCRIBE m FROM s MATCH a ; b ; c RETURN a.time AS a;"
    rows = events(*((time, "x", 1) for time in range(300)))
    engine = ft.Engine(text, limits=Limits(memory="32 MiB"))
    found = engine.push("s", rows)
    assert found.notes == ("'m' stopped: over 32 MiB of memory; add WITHIN or raise Limits.memory",)
    assert 0 < len(found) < 4_000_000


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "much", "4 gallons", "1 KiB"])
def test_wrong_amounts_of_memory_are_told(wrong: object) -> None:
    with pytest.raises(ft.InputError) as caught:
        Limits(memory=wrong)  # type: ignore[arg-type]  # what is refused has the wrong type
    assert caught.value.code == "wrong-limit"
    assert repr(wrong) in str(caught.value)


def test_engines_on_one_computer_share_the_memory_that_nobody_set() -> None:
    assert Limits().shared_by(4).budget == Limits().budget // 4
    assert Limits(memory="1 GiB").shared_by(4).budget == 2**30


def keyed_rows(first: int, count: int) -> list[dict[str, int]]:
    return [{"t": i, "k": i, "id": i, "v": 1} for i in range(first, first + count)]


def test_ever_new_lanes_are_stopped_with_a_message() -> None:
    """Each has a partial match that waits for ever. The lanes that the limit stops take memory, too."""
    text = (
        "STREAM s (t INT, k INT, id INT, v INT) TIME t ID id; SUBSCRIBE p FROM s PER k MATCH a ; b DEFINE b AS v = 2;"
    )
    engine, notes = ft.Engine(text, limits=Limits(memory="8 MiB")), list[str]()
    with pytest.raises(ft.InputError, match=r"Limits\.memory is 8 MiB .*stopped lanes"):
        _push_new_keys(engine, notes)
    assert len(engine.refused) > 1000
    named = [note for note in notes if "stopped in lane {" in note]
    counted = [note for note in notes if "more lanes: over 8 MiB of memory; add WITHIN or raise Limits.memory" in note]
    assert 20 <= len(named) < 1000
    assert counted


def _push_new_keys(engine: ft.Engine, notes: list[str]) -> None:
    for first in range(0, 100_000, 5000):
        notes += engine.push("s", keyed_rows(first, 5000)).notes
