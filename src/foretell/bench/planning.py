"""`foretell bench plan`: planning of large statements, and of many.

Seconds are of processor time, and of planning alone, without parsing and checking.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from foretell.bench.result import BenchResult
from foretell.errors import LanguageError
from foretell.language.check import check
from foretell.language.checked import CheckedProgram
from foretell.language.parser import parse
from foretell.plan.compile import PlanCompiler
from foretell.plan.explain import Codes

RUNS = 3


def measure() -> Iterator[BenchResult]:
    for case, count, text in _cases():
        program = check(parse(text))
        seconds, outcome = min(_planned(program) for _ in range(RUNS))
        yield BenchResult(
            "plan", f"{case}, {count:,}", count, seconds, count / seconds, note=f"{outcome} in {seconds:.3f} s"
        )


def _planned(program: CheckedProgram) -> tuple[float, str]:
    started, outcome = time.process_time(), "planned"
    try:
        PlanCompiler(Codes()).compile(program)
    except LanguageError as error:
        outcome = f"refused ({error.code})"
    return time.process_time() - started, outcome


def _cases() -> Iterator[tuple[str, int, str]]:
    for operator, name in ((" ; ", "sequence"), (" , ", "strict sequence"), (" | ", "alternation")):
        for count in (1_000, 10_000):
            yield name, count, _statement(operator.join(_steps(count)), count)
    for count in (100, 1_000_000_000):
        yield "a{n}", count, _subscription(f"a{{{count}}}")
        yield "a{0,n}", count, _subscription(f"b ; a{{0,{count}}} ; c")
    for sides in (8, 62):
        yield "sides of &", sides, _statement(" & ".join(_steps(sides)), sides)
    yield "sides of & that are sequences", 12, _subscription(" & ".join(f"(a{i} ; b{i})" for i in range(12)))
    yield "optional steps", 1_000, _subscription(" ; ".join(f"a{i}?" for i in range(1_000)) + " ; z")
    for count in (100, 1_000):
        yield "statements", count, _STREAM + "".join(_pair(f"p{i}", "s", i) for i in range(count))
        yield (
            "derived streams",
            count,
            _STREAM + "".join(_pair(f"p{i}", f"p{i - 1}" if i else "s", 1) for i in range(count)),
        )


_STREAM = "STREAM s (k STRING, v INT) TIME time;\n"


def _steps(count: int) -> list[str]:
    return [f"a{i}" for i in range(count)]


def _statement(pattern: str, count: int) -> str:
    return _subscription(pattern, "DEFINE " + ", ".join(f"{step} AS v = {i}" for i, step in enumerate(_steps(count))))


def _subscription(pattern: str, define: str = "") -> str:
    return f"{_STREAM}SUBSCRIBE p FROM s MATCH {pattern} {define} WITHIN 1000;"


def _pair(name: str, stream: str, value: int) -> str:
    define = f"DEFINE a AS v = {value}, b AS v = {value + 1}"
    return f"SUBSCRIBE {name} FROM {stream} MATCH a ; b {define} WITHIN 10 RETURN a.v AS v;\n"
