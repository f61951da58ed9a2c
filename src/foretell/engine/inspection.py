"""Inspection: what an engine holds between two batches, for people who watch it. It changes nothing.

Call it from the thread that pushes events.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from foretell.engine.engine import Engine
from foretell.events.notification import EventNames
from foretell.events.types import Scalar, Type
from foretell.language.checked import CheckedStatement
from foretell.machine.exec.arrival_executor import ArrivalExecutor
from foretell.machine.exec.nfa_executor import NfaExecutor
from foretell.machine.input_group import InputGroup
from foretell.machine.kernels import layout
from foretell.machine.nfa_group import NfaGroup
from foretell.machine.runtime import MatchRuntime
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.lower.registers import RegisterKind
from foretell.records import record

#: The chain of a run is followed so far.
_MOST_CHAINED = 1_000


@record
class StatementOccupancy:
    """The partial matches of a statement, the keys of its streams, its share of the memory of partial matches, and the
    lanes in which a limit has stopped it."""

    partial_matches: int
    lanes: int
    memory: int
    stopped_lanes: int


@record
class LivePartialMatch:
    """A partial match: its lane's key, its state in the automaton, when it began, and the events it has bound."""

    key: Mapping[str, Scalar]
    state: int
    began: int | float
    events: Mapping[str, EventNames]


@record
class LivePartialMatches:
    """The newest partial matches of a statement, how many there are, and how many at each state, where these are the
    states of its own automaton."""

    newest: tuple[LivePartialMatch, ...] = ()
    total: int = 0
    by_state: Mapping[int, int] = field(default_factory=dict)
    own_states: bool = True


class EngineInspection:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def _runtime(self) -> MatchRuntime | None:
        pipeline = self._engine._deployment.pipeline
        return None if pipeline is None else pipeline.runtime

    @property
    def time_type(self) -> Type:
        """The type of the streams' times."""
        kinds = {schema.time_type for schema in self._engine._deployment.inputs.schemas.values()} - {Type.UNKNOWN}
        return next(iter(kinds), Type.UNKNOWN)

    @property
    def watermark(self) -> int | float | None:
        """How far time is known; None before the first event."""
        pipeline = self._engine._deployment.pipeline
        return None if pipeline is None or not math.isfinite(pipeline.buffer.watermark) else pipeline.buffer.watermark

    @property
    def memory(self) -> int:
        """The bytes that the engine accounts for: partial matches, events, keys, texts and tables."""
        runtime, pipeline = self._runtime, self._engine._deployment.pipeline
        if runtime is None or pipeline is None:
            return 0
        return sum(runtime.ledger.bytes.values()) + pipeline.buffer.nbytes

    def checked(self, name: str) -> CheckedStatement | None:
        """A statement with its types, once it is checked against the streams."""
        runtime = self._runtime
        if runtime is None:
            program = self._engine.subscriptions.checked()
            return next((s for s in program.statements if s.name == name), None)
        if name in runtime.stages:
            checked: CheckedStatement = runtime.stages[name].subscription
            return checked
        return runtime.plan.input_of(name).statements[name].subscription if name in runtime.plan else None

    def occupancies(self) -> dict[str, StatementOccupancy]:
        """The state of each statement."""
        runtime = self._runtime
        if runtime is None:
            return {name: StatementOccupancy(0, 0, 0, 0) for name in self._engine.subscriptions.statements}
        runs, memory, lanes = Counter[str](), Counter[str](), dict[str, int]()
        for group in runtime.groups.values():
            lanes |= dict.fromkeys(map(str, group.plan.statements), len(group.stream.lanes))
            for nfa_group in group.nfa_groups:
                counted = _runs_by_member(nfa_group)
                size = runtime.ledger.bytes.get(id(nfa_group.executor), 0)
                for number, member in nfa_group.members.items():
                    runs[member.plan.name] += counted.get(number, 0)
                    memory[member.plan.name] += size // len(nfa_group.members)
        stopped = self._engine.stopped_lanes
        return {
            name: StatementOccupancy(
                sum(runs[pattern] for pattern in patterns),
                max((lanes.get(pattern, 0) for pattern in patterns), default=0),
                sum(memory[pattern] for pattern in patterns),
                stopped.get(name, 0),
            )
            for name, patterns in self._patterns(runtime).items()
        }

    def _patterns(self, runtime: MatchRuntime) -> dict[str, tuple[str, ...]]:
        """The statements that each statement runs as."""
        stages = runtime.stages
        return {
            name: tuple(stages[name].patterns) if name in stages else (name,)
            for name in self._engine.subscriptions.statements
        }

    def partial_matches(self, name: str, most: int) -> LivePartialMatches:
        """The newest partial matches of a statement, at most so many."""
        runtime = self._runtime
        if runtime is None:
            return LivePartialMatches()
        newest: list[LivePartialMatch] = []
        by_state, total, own_states = Counter[int](), 0, name not in runtime.stages
        patterns = self._patterns(runtime).get(name, (name,))
        for group in runtime.groups.values():
            for nfa_group in group.nfa_groups:
                for number, member in nfa_group.members.items():
                    if member.plan.name in patterns:
                        counts, found = _live(group, nfa_group, number, member.plan, most)
                        by_state.update(counts)
                        total += sum(counts.values())
                        newest += found
                        own_states = own_states and len(nfa_group.members) == 1
        newest.sort(key=lambda run: run.began, reverse=True)
        return LivePartialMatches(tuple(newest[:most]), total, dict(by_state), own_states)


def _runs_by_member(group: NfaGroup) -> dict[int, int]:
    """The partial matches of each subscription of a group; one that several share counts for each."""
    executor = group.executor
    if executor is None:
        return {}
    if len(group.members) == 1 or not isinstance(executor, NfaExecutor):
        return dict.fromkeys(group.members, executor.alive)
    states, counts = np.unique(executor.pool.cells[executor.pool.in_use, layout.RUN_STATE], return_counts=True)
    totals = Counter[int]()
    for state, count in zip(states.tolist(), counts.tolist(), strict=True):
        for number in executor.nfa.members[state]:
            totals[number] += count
    return totals


def _live(
    group: InputGroup, nfa_group: NfaGroup, number: int, plan: SubscriptionPlan, most: int
) -> tuple[Counter[int], list[LivePartialMatch]]:
    executor = nfa_group.executor
    if isinstance(executor, ArrivalExecutor):
        return _live_arrivals(group, executor, most)
    if isinstance(executor, NfaExecutor):
        return _live_runs(group, executor, number, plan, most)
    return Counter(), []


# ── the runs of an NFA ──


def _live_runs(
    group: InputGroup, executor: NfaExecutor, number: int, plan: SubscriptionPlan, most: int
) -> tuple[Counter[int], list[LivePartialMatch]]:
    pool = executor.pool
    runs = pool.in_use
    runs = runs[pool.cells[runs, layout.RUN_OVER] != layout.DEAD]
    mine = np.array([number in members for members in executor.nfa.members], np.bool_)
    runs = runs[mine[pool.cells[runs, layout.RUN_STATE]]] if len(mine) else runs
    counts = Counter(pool.cells[runs, layout.RUN_STATE].tolist())
    newest = runs[np.argsort(-pool.cells[runs, layout.RUN_FIRST], kind="stable")[:most]]
    began = pool.arrays.times[newest, layout.RUN_BEGAN].tolist()
    found = [
        LivePartialMatch(
            key=group.stream.keys[int(pool.cells[run, layout.RUN_LANE])],
            state=int(pool.cells[run, layout.RUN_STATE]),
            began=time,
            events=_events_of_run(group, executor, plan, run),
        )
        for run, time in zip(newest.tolist(), began, strict=True)
    ]
    return counts, found


def _events_of_run(group: InputGroup, executor: NfaExecutor, plan: SubscriptionPlan, run: int) -> dict[str, EventNames]:
    """The names of the events that a run has bound, as far as its registers and its chain know them."""
    pool, finals = executor.pool, executor.nfa.tables.finals
    positions: dict[str, list[int]] = {}
    if plan.first is not None:
        positions[plan.first] = [int(pool.cells[run, layout.RUN_FIRST])]
    for register, place in plan.finals.items():
        slot = int(finals[place])
        if register.kind is RegisterKind.POSITION and not pool.nulls[run, slot]:
            positions[register.name] = [int(pool.cells[run, slot])]
    chained = dict[str, list[int]]()
    steps = {number: name for name, number in plan.subscription.positive_numbers.items()}
    for step, position in _chain(executor, run):
        chained.setdefault(steps[step], []).insert(0, position)
    names = {step: group.stream.buffer.names(np.array(at, np.int64)) for step, at in positions.items()}
    repeated = {step: group.stream.buffer.names(np.array(at, np.int64)) for step, at in chained.items()}
    found = {step: each[0] for step, each in names.items()} | dict(repeated)
    return {step: found[step] for step in plan.subscription.steps if step in found}


def _chain(executor: NfaExecutor, run: int) -> Iterator[tuple[int, int]]:
    """The steps and positions of a run's chain, the latest first; gaps are left out."""
    if not executor.nfa.chains:
        return
    nodes, node = executor.pool.nodes, int(executor.pool.cells[run, layout.RUN_CHAIN])
    for _ in range(_MOST_CHAINED):
        if node < 0:
            return
        if int(nodes.step[node]) >= 0:
            yield int(nodes.step[node]), int(nodes.position[node])
        node = int(nodes.parent[node])


# ── arrival lists ──


def _live_arrivals(
    group: InputGroup, executor: ArrivalExecutor, most: int
) -> tuple[Counter[int], list[LivePartialMatch]]:
    """The stored events of the steps of a sequence: each is a partial match that ends with it."""
    lanes, steps, positions = executor.ring.held_events
    names = executor.plan.steps
    counts = Counter(steps.tolist())
    times = group.stream.buffer.times(positions[-most:]) if len(positions) else positions
    found = []
    for lane, step, position, time in zip(
        *(column[-most:].tolist() for column in (lanes, steps, positions)), times.tolist(), strict=True
    ):
        (name,) = group.stream.buffer.names(np.array([position], np.int64))
        found.append(LivePartialMatch(group.stream.keys[lane], step, time, {names[step]: name}))
    return counts, found
