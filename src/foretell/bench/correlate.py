"""`foretell bench correlate`: correlators over many lanes, by processor time.

Two machines of about a hundred states: one whose table is small, and one that runs concurrently, since its parts are
independent. Of each the public call, from Arrow to Arrow, and beside it the kernel alone over the same events; of the
first also the call with a FORECAST, which learns as it runs. Then a machine FOR EACH of a thousand rows: rows that an
index finds by their lane, rows of which many are equal, and rows that every event is tried with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.bench.result import BenchResult
from foretell.correlate.running_machine import RunningMachine
from foretell.engine import Engine
from foretell.language import tree
from foretell.language.parser import parse

EVENTS, LANES = 1_000_000, 10_000
RUNS = 3
KINDS = "abcdefghijkl"

_STREAM = "STREAM s (time INT, lane INT, kind STRING) TIME time;"

#: An aircraft's displays: in each mode of operation other events belong together, and a watchdog starts a mode anew.
_MODES = """
in(a) do{repeat{do{push('navigation'){accumulate{sequential{b, c}, sequential{d, e}, f}}} unless{l}}}
in(g) do{repeat{do{push('landing'){sequential{accumulate{b, d}, select{c, e}, h}}} unless{sequential{l, l}}}}
in(i) do{repeat{persist(3){push('retry'){do{sequential{j, k}} unless{l}}}}}
"""

#: Twelve watches that have nothing to do with each other.
_WATCHES = ", ".join(f"repeat{{push('{x}'){{sequential{{{x}, {y}, {x}}}}}}}" for x, y in zip(KINDS, KINDS[1:] + "a"))

MACHINES = {"determinised": _MODES, "concurrent": f"parallel{{{_WATCHES}}}"}


#: Of a thousand rows; each is a sequence that an event of another kind stops.
ROWS = 1_000

_TEMPLATE = f"{_STREAM} CORRELATE m FOR EACH rows FROM s DO repeat{{do{{push('x'){{sequential{{a, b}}}}}} unless{{c}}}}"

#: What is different between the rows, by case, and how many events are pushed.
TEMPLATES = {
    "rows found by their lane": (
        "DEFINE a AS lane = :lane AND kind = 'a', b AS lane = :lane AND kind = :kind, "
        "c AS lane = :lane AND kind = 'c';",
        EVENTS,
    ),
    "132 different rows": ("DEFINE a AS kind = :first, b AS kind = :kind, c AS kind = 'c';", EVENTS // 10),
    "every event with every row": (
        "DEFINE a AS lane < :lane, b AS lane > 9000 + :lane / 2 AND kind = :kind, c AS kind = 'c';",
        EVENTS // 10,
    ),
}


def measure() -> Iterator[BenchResult]:
    yield from _measured_machines()
    yield from _measured_templates()


def _measured_templates() -> Iterator[BenchResult]:
    rows, events = _rows(), _events()
    for case, (define, count) in TEMPLATES.items():
        seconds, tokens = _best(partial(_public, f"{_TEMPLATE} {define}", events.slice(0, count), {"rows": rows}))
        name = f"FOR EACH {ROWS:,} rows, {case}: public call"
        yield BenchResult("correlate", name, count, seconds, count / seconds, tokens)


def _rows() -> pa.Table:
    """Rows of different lanes, with a few different kinds."""
    numbers = np.arange(ROWS)
    kinds = np.array([*KINDS])
    first, second = numbers % len(KINDS), (numbers // len(KINDS) + numbers + 1) % len(KINDS)
    columns = {"id": numbers, "lane": numbers, "first": kinds[first], "kind": kinds[second]}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def _measured_machines() -> Iterator[BenchResult]:
    events = _events()
    for form, expression in MACHINES.items():
        text = _statement(expression)
        running = RunningMachine.of(_expression(text))
        assert running.decision.value.value == form
        size = f"{form}, {running.flat.machine.states} states"
        kernel = _best(partial(_kernel, running, events))
        public = _best(partial(_public, text, events))
        yield _result(f"{size}: kernel", *kernel)
        yield _result(f"{size}: public call", *public)
        if form == "determinised":
            forecasting = f"{text.removesuffix(';')} FORECAST WITHIN 20 EVENTS ABOVE 0.9;"
            yield _result(f"{size}: public call with FORECAST", *_best(partial(_public, forecasting, events)))


def _result(case: str, seconds: float, tokens: int) -> BenchResult:
    return BenchResult("correlate", case, EVENTS, seconds, EVENTS / seconds, tokens)


def _best(measured: Callable[[], tuple[float, int]]) -> tuple[float, int]:
    measured()  # kernels are compiled
    return min(measured() for _ in range(RUNS))


def _statement(expression: str) -> str:
    define = ", ".join(f"{kind} AS kind = '{kind}'" for kind in KINDS if kind in _steps(expression))
    return f"{_STREAM} CORRELATE m FROM s PER lane DO {expression} DEFINE {define};"


def _steps(expression: str) -> tuple[str, ...]:
    whole = _expression(f"CORRELATE m FROM s DO {expression};")
    guards = [node.guard for node in whole.walk() if isinstance(node, tree.Mode)]
    return (*(node.step for node in whole.walk() if isinstance(node, tree.On)), *guards)


def _expression(text: str) -> tree.Correlation:
    statement = parse(text).statements[-1]
    assert isinstance(statement, tree.Correlator)
    return statement.expression


def _events() -> pa.Table:
    chance = np.random.default_rng(1)
    codes = chance.integers(0, len(KINDS), EVENTS).astype(np.int8)
    kinds = pa.DictionaryArray.from_arrays(codes, pa.array([*KINDS]))
    lanes = pa.array(chance.integers(0, LANES, EVENTS))
    return pa.table({"time": pa.array(np.arange(EVENTS)), "lane": lanes, "kind": kinds})


def _public(text: str, events: pa.Table, tables: Mapping[str, pa.Table] | None = None) -> tuple[float, int]:
    engine = Engine(text, tables=tables)
    started = time.process_time()
    found = engine.push("s", events).to_arrow().num_rows
    return time.process_time() - started, found


def _kernel(running: RunningMachine, events: pa.Table) -> tuple[float, int]:
    kinds = events.column("kind").to_numpy()
    satisfied = np.array([kinds == step for step in running.steps], np.uint8)
    lanes: Ints = events.column("lane").to_numpy().astype(np.int64)
    form = running.form()
    started = time.process_time()
    row, _ = form.run(lanes, satisfied, LANES)
    return time.process_time() - started, len(row)
