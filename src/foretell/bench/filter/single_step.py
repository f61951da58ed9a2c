"""Single-step detection (A-MEDIAS, section 7.3): counted filter operations and time, by operators and parameters.

The events are messages of an office: a code of a thousand, and a text. The first step compares the code, so that it is
rare; the later steps look into the text. Each statement runs with single-step detection as the planner chooses it, and
with all predicates evaluated for all events. A filter operation is the evaluation of one predicate on one event; a
two-step filter hands each event that satisfies a predicate on to the composition besides, which is an operation more.
Time is that of the filter and the partial matches; reading an event and its text takes another microsecond.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.bench.result import BenchResult
from foretell.engine.planning import start_runtime
from foretell.events.ingest.reader import EventBatch, StreamDeclaration, read
from foretell.events.types import Type
from foretell.language.checked import CheckedProgram
from foretell.language.subscriptions import parse
from foretell.machine.exec.absence_executor import AbsenceExecutor
from foretell.machine.exec.arrival_executor import ArrivalExecutor
from foretell.machine.exec.nfa_executor import NfaExecutor
from foretell.machine.nfa_group import NfaGroup
from foretell.machine.runtime import MatchRuntime
from foretell.plan.lower.detection import detection_of_arrivals, detection_of_nfa

EVENTS, QUICK_EVENTS = 100_000, 20_000
RUNS, PUSH = 3, 10_000
ROOMS = 20
_STEPS = ("window", "presence", "smoke", "alarm", "door", "light", "voice")


@dataclass(frozen=True)
class DetectionCase:
    """A statement, and how many of a thousand codes its first step accepts."""

    name: str
    match: str
    rest: str = "WITHIN 50"
    codes: int = 1
    per: str = ""

    @property
    def text(self) -> str:
        defines = [f"{step} AS message LIKE '%{step}%in room%'" for step in _STEPS[1:] if step in self.match]
        first = [f"window AS code < {self.codes}"] if "window" in self.match else []
        define = ", ".join(first + defines)
        return f"SUBSCRIBE s FROM office {self.per} MATCH {self.match} DEFINE {define} {self.rest};"

    def primitive_matches(self, batch: EventBatch) -> int:
        """How many events satisfy a step, each counted once for each step: a two-step filter composes them."""
        codes, texts = batch.table["code"].to_numpy(), batch.table["message"].to_pylist()
        first = int(np.count_nonzero(codes < self.codes)) if "window" in self.match else 0
        later = [f": {step} in room" for step in _STEPS[1:] if step in self.match]
        return first + sum(part in str(text) for text in texts for part in later)


#: Table 7.3, and below it what our language has of Table 7.4.
OPERATORS = (
    DetectionCase("sequence", "window ; presence"),
    DetectionCase("sequence of three", "window ; presence ; smoke"),
    DetectionCase("sequence of five", "window ; presence ; smoke ; alarm ; door"),
    DetectionCase("sequence of seven", "window ; presence ; smoke ; alarm ; door ; light ; voice"),
    DetectionCase("sequence of seven, next events", "window , presence , smoke , alarm , door , light , voice", ""),
    DetectionCase("sequence, by room", "window ; presence", per="PER room"),
    DetectionCase("conjunction", "window & presence"),
    DetectionCase("conjunction after a step", "window ; (presence & smoke)"),
    DetectionCase("disjunction", "window | presence", ""),
    DetectionCase("disjunction after a step", "window ; (presence | smoke)"),
    DetectionCase("negation", "!presence"),
    DetectionCase("negation in a sequence", "window ; !smoke ; presence"),
    DetectionCase("selection", "presence[3]", ""),
    DetectionCase("selection after a step", "window ; presence[3]"),
)
PARAMETERS = (
    DetectionCase("all duplicates, all pairs", "window ; presence"),
    DetectionCase("first duplicate", "window ; FIRST presence"),
    DetectionCase("last duplicate", "LAST window ; presence"),
    DetectionCase("unique pairs", "window ; presence", "WITHIN 50 AFTER MATCH CONSUME"),
)
RARITIES = tuple(
    DetectionCase(f"first step {codes / 10:g}% of the events", "window ; presence ; smoke", "WITHIN 20", codes)
    for codes in (1, 10, 100, 500)
)


def measure(quick: bool = False) -> Iterator[BenchResult]:
    count = QUICK_EVENTS if quick else EVENTS
    batches = [office(first, PUSH) for first in range(0, count, PUSH)]
    for group, cases in (("operator", OPERATORS), ("parameter", PARAMETERS), ("rarity", RARITIES)):
        for case in cases:
            yield _compared(f"single step, {group}: {case.name}", case, batches)


def office(first: int, count: int) -> EventBatch:
    """Messages: one in eight names each kind of event, and all are different."""
    chance = np.random.default_rng(first)
    kinds = np.array([*_STEPS, "nothing"])[chance.integers(0, len(_STEPS) + 1, count)]
    rooms = chance.integers(0, ROOMS, count)
    texts = [f"sensor {first + i}: {kind} in room {room}" for i, (kind, room) in enumerate(zip(kinds, rooms))]
    columns: dict[str, Any] = {
        "ts": np.arange(first, first + count),
        "room": rooms,
        "code": chance.integers(0, 1000, count),
        "message": texts,
    }
    return read(pa.table(columns), StreamDeclaration("office", {"ts": Type.INT}, "ts", open=True))


@dataclass(frozen=True)
class DetectionRun:
    """The processor time and filter operations of a statement for all events, and its matches."""

    seconds: float
    operations: int
    matches: int


def _compared(name: str, case: DetectionCase, batches: list[EventBatch]) -> BenchResult:
    checked = parse(case.text).checked({"office": batches[0].schema}, {})
    events = sum(batch.table.num_rows for batch in batches)
    on, off = None, None
    for _ in range(RUNS):  # in turn, so that both meet the same machine
        on = _better(on, run_detection(checked, batches, single_step=True))
        off = _better(off, run_detection(checked, batches, single_step=False))
    assert on is not None
    assert off is not None
    assert on.matches == off.matches
    two_step = off.operations + sum(case.primitive_matches(batch) for batch in batches)
    note = (
        f"{on.operations / events:.3f} operations an event, {off.operations / events:.0f} without, "
        f"{two_step / events:.2f} in two steps ({1 - on.operations / max(1, off.operations):.0%} saved, "
        f"{1 - on.operations / max(1, two_step):.0%} of two steps); {on.seconds / events * 1e9:.0f} ns, "
        f"{off.seconds / events * 1e9:.0f} without ({1 - on.seconds / off.seconds:.0%} saved); {on.matches:,} matches"
    )
    return BenchResult("filter", name, events, on.seconds, events / on.seconds, on.matches, note=note)


def _better(best: DetectionRun | None, last: DetectionRun) -> DetectionRun:
    return last if best is None or last.seconds < best.seconds else best


def run_detection(checked: CheckedProgram, batches: list[EventBatch], *, single_step: bool) -> DetectionRun:
    """Run a statement on all batches, each pushed by itself."""
    runtime = start_runtime(checked)
    if not single_step:
        _evaluate_everywhere(runtime)
    clock, matches = _Clock(), 0
    timed: list[NfaGroup | AbsenceExecutor] = []
    for group in runtime.groups.values():
        timed += [*group.nfa_groups, *group.absences]
    for part in timed:
        vars(part)["process"] = clock.timing(part.process)
    for batch in batches:
        matches += sum(result.notification_count for result in runtime.process({"office": batch}))
    events = sum(batch.table.num_rows for batch in batches)
    counted = [executor.columns.predicates for executor in _executors(runtime)]
    # An absence clock has one predicate, which it evaluates for every event (Table 7.3).
    absences = sum(len(group.absences) for group in runtime.groups.values())
    operations = sum(predicates.operations for predicates in counted) + absences * events
    return DetectionRun(clock.seconds, operations, matches)


class _Clock:
    """Adds up the processor time of calls."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.process_time() - started

        return timed


def _executors(runtime: MatchRuntime) -> list[NfaExecutor | ArrivalExecutor]:
    groups = (group for input_group in runtime.groups.values() for group in input_group.nfa_groups)
    return [group.executor for group in groups if isinstance(group.executor, NfaExecutor | ArrivalExecutor)]


def _evaluate_everywhere(runtime: MatchRuntime) -> None:
    for executor in _executors(runtime):
        if isinstance(executor, NfaExecutor):
            executor.columns.detect(detection_of_nfa(executor.nfa, ()))
        else:
            executor.columns.detect(detection_of_arrivals(executor.plan, ()))
