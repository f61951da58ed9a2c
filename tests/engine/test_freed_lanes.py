"""Streams of keys that never return: lanes that can no longer match are freed, and memory stays as it is."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import foretell as ft
from foretell.arrays import Ints
from foretell.engine import Engine
from foretell.machine.input import time_slices
from foretell.machine.input_group import InputGroup
from foretell.machine.runtime import MatchRuntime

STREAM = "STREAM s (k INT, v INT, t INT, e INT) TIME t ID e;"
TWO = "DEFINE a AS v = 1, b AS v = 2 WITHIN 1000"
THREE = "DEFINE a AS v = 1, b AS v = 2, c AS v = 0 WITHIN 1000"

#: By what they exercise: a kernel, an executor, or what is kept after the match.
STATEMENTS = {
    "strict": f"MATCH a , b {TWO}",
    "lag columns": f"MATCH a , b {TWO.replace('b AS v = 2', 'b AS v = prev.v + 1')}",
    "counted": f"MATCH a{{2,3}} , b {TWO}",
    "reverse scan": "MATCH a , b+ , c DEFINE a AS v = 1, b AS v = 2, c AS v = 0 RETURN sum(b.t) AS t WITHIN 1000",
    "arrivals": f"MATCH a ; b {TWO}",
    "arrivals by value": f"MATCH a ; b {TWO.replace('b AS v = 2', 'b AS v = 2 AND e = a.e')}",
    "arrivals with a negation": f"MATCH a ; !c ; b {THREE}",
    "general": f"MATCH a ; b+ ; c {THREE}",
    "general by value": f"MATCH a ; b+ ; c {THREE.replace('b AS v = 2', 'b AS v = 2 AND e = a.e')}",
    "absence at the end": f"MATCH a ; !b {TWO}",
    "absence at the beginning": f"MATCH !b ; a {TWO}",
    "consume": f"MATCH a ; b {TWO} AFTER MATCH CONSUME",
    "skip": f"MATCH a ; b+ {TWO} AFTER MATCH SKIP PAST LAST",
    "longest": "MATCH a+ DEFINE a AS v >= 0 WITHIN 1000 AFTER MATCH LONGEST",
    "first": f"MATCH a ; FIRST b {TWO}",
    "last": f"MATCH a ; LAST b {TWO}",
}

#: What needs the past of a lane for good.
LASTING = {
    "absence alone": "MATCH !a DEFINE a AS v = 1 WITHIN 100000000",
    "every second": "MATCH a[2] DEFINE a AS v = 1 WITHIN 1000",
    "without a window": "MATCH a ; b DEFINE a AS v < 3, b AS v = 3",
}


def events(first: int, stop: int, again: int = 1) -> pa.Table:
    """Events of ever new keys, each key so many times in a row."""
    number = np.arange(first, stop)
    return table(number // again, number)


def table(keys: Ints, number: Ints) -> pa.Table:
    columns = {"k": keys, "v": number % 3, "t": number, "e": number}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def runtime(engine: Engine) -> MatchRuntime:
    pipeline = engine._deployment.pipeline
    assert pipeline is not None
    return pipeline.runtime


def group(engine: Engine) -> InputGroup:
    (only,) = runtime(engine).groups.values()
    return only


def engine_of(statement: str, stream: str = STREAM) -> Engine:
    return Engine(f"{stream} SUBSCRIBE m FROM s PER k {statement};")


def held(engine: Engine) -> int:
    group(engine).account()
    return sum(runtime(engine).ledger.bytes.values())


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
@pytest.mark.parametrize("again", [1, 3])
def test_memory_stays_as_it_is(statement: str, again: int) -> None:
    engine, sizes = engine_of(statement), []
    for first, stop in pairwise(range(0, 300_001 * again, 10_000 * again)):
        engine.push("s", events(first, stop, again))
        sizes.append(held(engine))
    assert len(group(engine).stream.lanes) < 65_536
    assert group(engine).stream.lanes.begun == 300_000
    assert max(sizes[10:]) <= 1.1 * max(sizes[:10])


def test_lanes_whose_machines_are_as_at_first_are_freed() -> None:
    """Each key comes three times, with which its machine starts anew."""
    engine = Engine(
        f"{STREAM} CORRELATE m FROM s PER k DO repeat{{push('x'){{sequential{{a, a, a}}}}}} DEFINE a AS v >= 0;"
    )
    found = 0
    for first, stop in pairwise(range(0, 300_001, 30_000)):
        found += len(engine.push("s", events(first, stop, 3)))
    assert found == 100_000
    assert len(group(engine).stream.lanes) < 65_536
    assert group(engine).stream.lanes.begun == 100_000


@pytest.mark.parametrize("statement", LASTING.values(), ids=LASTING)
def test_lanes_stay_where_their_past_counts(statement: str) -> None:
    engine = engine_of(statement)
    for first, stop in pairwise(range(0, 60_001, 10_000)):
        engine.push("s", events(first, stop))
    assert group(engine).stream.lanes.used == 60_000


def test_lanes_stay_where_numbers_name_events() -> None:
    engine = engine_of(STATEMENTS["arrivals"], STREAM.replace(" ID e", ""))
    for first, stop in pairwise(range(0, 60_001, 10_000)):
        engine.push("s", events(first, stop))
    engine.push("s", [{"k": 0, "v": 1, "t": 60_001, "e": 0}, {"k": 0, "v": 2, "t": 60_002, "e": 0}])
    (row,) = engine.push("s", [{"k": 0, "v": 2, "t": 60_003, "e": 0}])
    assert row.events == {"a": 1, "b": 3}


def test_keys_that_return_and_results_that_are_read_late() -> None:
    engine, rows = engine_of(STATEMENTS["absence at the end"]), []
    for first, stop in pairwise(range(0, 96_001, 8_000)):
        number = np.arange(first, stop)
        rows.append(engine.push("s", table(number % 48_000, number)))
    rows.append(engine.advance(200_000))
    found = [row.key["k"] for part in rows for row in part if row.key is not None]
    assert found == [k for k in [*range(48_000), *range(48_000)] if k % 3 == 1]
    assert group(engine).stream.lanes.begun > 48_000


@pytest.mark.soak
def test_a_hundred_million_keys() -> None:
    """Each key comes once. Lanes that WITHIN closes are freed; without it they stay until the budget of memory ends."""
    engine, sizes = engine_of(STATEMENTS["arrivals"]), []
    for first, stop in pairwise(range(0, 100_000_001, 500_000)):
        engine.push("s", events(first, stop))
        sizes.append(held(engine))
    assert group(engine).stream.lanes.begun == 100_000_000
    assert max(sizes[10:]) <= 1.1 * max(sizes[:10])


@pytest.mark.soak
def test_a_hundred_million_keys_that_stay() -> None:
    text = f"{STREAM} SUBSCRIBE m FROM s PER k {LASTING['without a window']};"
    engine = Engine(text, limits=ft.Limits(memory="1 GiB"))

    def push_all() -> None:
        for first, stop in pairwise(range(0, 100_000_001, 500_000)):
            engine.push("s", events(first, stop))

    with pytest.raises(ft.ForetellError) as caught:
        push_all()
    assert caught.value.code == "memory-limit"
    assert sum(runtime(engine).ledger.bytes.values()) <= 1.1 * (1 << 30)  # lanes of the last batch may be over it
    assert group(engine).stream.lanes.begun >= 1_000_000


def test_snapshots_have_what_is_left() -> None:
    engine, sizes = engine_of(STATEMENTS["general"]), []
    for first, stop in pairwise(range(0, 300_001, 10_000)):
        engine.push("s", events(first, stop))
        sizes.append(len(engine.snapshot()))
        engine = Engine.restore(None, engine.snapshot())
    assert max(sizes[10:]) <= 1.1 * max(sizes[:10])


def test_a_budget_is_enough_for_keys_that_never_return() -> None:
    engine = Engine(f"{STREAM} SUBSCRIBE m FROM s PER k {STATEMENTS['general']};", limits=ft.Limits(memory="16 MiB"))
    for first, stop in pairwise(range(0, 400_001, 5_000)):
        engine.push("s", events(first, stop))
    assert engine.refused == ()


# ── texts ──

TEXTS = "STREAM s (k STRING, w STRING, v INT, t INT, e INT) TIME t ID e;"

#: Statements that hold texts in keys, registers, arrivals, lag columns, waiting matches and function results.
HOLDING = {
    "keys": f"PER k MATCH a ; b {TWO}",
    "registers": f"MATCH a ; b+ ; c {THREE.replace('b AS v = 2', 'b AS v = 2 AND w > a.w')}",
    "arrivals by value": f"MATCH a ; b {TWO.replace('b AS v = 2', 'b AS v = 2 AND w = a.w')}",
    "general by value": f"MATCH a ; b+ ; c {THREE.replace('b AS v = 2', 'b AS v = 2 AND w = a.w')}",
    "lag columns": f"PER k MATCH a , b {TWO.replace('b AS v = 2', 'b AS w > prev.w')}",
    "functions": f"MATCH a ; b+ ; c {THREE.replace('b AS v = 2', 'b AS v = 2 AND upper(w) > lower(a.w)')}",
    "waiting": f"MATCH a ; LAST b {TWO.replace(' WITHIN', ' RETURN a.w AS x WITHIN')}",
}


def texts(first: int, stop: int) -> pa.Table:
    number = np.arange(first, stop)
    plain = events(first, stop, 3).drop(["k"])
    return plain.append_column("k", pa.array([f"key {n // 3}" for n in number])).append_column(
        "w", pa.array([f"Word {n}" for n in number])
    )


@pytest.mark.parametrize("statement", HOLDING.values(), ids=HOLDING)
def test_texts_that_nothing_holds_are_freed(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_slices, "SLICE_SECONDS", math.inf)  # on a slow machine slices are small
    engine, sizes = Engine(f"{TEXTS} SUBSCRIBE m FROM s {statement};"), []
    for first, stop in pairwise(range(0, 180_001, 10_000)):
        engine.push("s", texts(first, stop))
        sizes.append(held(engine) + runtime(engine).strings.nbytes)
    assert len(runtime(engine).strings) < 100_000
    assert max(sizes[10:]) <= 1.1 * max(sizes[:10])


def test_texts_of_results_that_are_read_late() -> None:
    statement = f"PER k MATCH a ; b {TWO.replace(' WITHIN', ' RETURN a.w AS x, b.w AS y WITHIN')}"
    engine = Engine(f"{TEXTS} SUBSCRIBE m FROM s {statement};")
    parts = [engine.push("s", texts(first, stop)) for first, stop in pairwise(range(0, 120_001, 12_000))]
    rows = [(row.key, row.bindings) for part in parts for row in part]
    assert rows == [({"k": f"key {n}"}, {"x": f"Word {3 * n + 1}", "y": f"Word {3 * n + 2}"}) for n in range(40_000)]
    assert len(runtime(engine).strings) < 60_000


def test_snapshots_have_the_texts_that_are_left() -> None:
    engine, sizes = Engine(f"{TEXTS} SUBSCRIBE m FROM s {HOLDING['registers']};"), []
    for first, stop in pairwise(range(0, 120_001, 5_000)):
        engine.push("s", texts(first, stop))
        sizes.append(len(engine.snapshot()))
        engine = Engine.restore(None, engine.snapshot())
    assert max(sizes[14:]) <= 1.1 * max(sizes[:14])
