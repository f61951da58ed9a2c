"""Statements with the same FROM and PER at run time: one merged stream, and the executors that read it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar, Type
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.absence_executor import AbsenceExecutor
from foretell.machine.exec.limits import RunLedger
from foretell.machine.exec.memory_size import bytes_held
from foretell.machine.input.delayed_inputs import Frontier, earliest
from foretell.machine.input.event_order import EventOrder, OrderedInput
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.machine.nfa_group import NfaGroup
from foretell.machine.observe.forecast_emitter import ForecastEmitter, ObservedStatement
from foretell.machine.observe.observer import NO_OBSERVERS, Observer, ObserverFactory, observer_state, restore_observer
from foretell.machine.result_stage import ResultStages
from foretell.machine.served_rows import ServedRows, restored_rows, served_rows
from foretell.machine.shared_rows import RowSharing, equal_rows
from foretell.machine.template_rows import RowsById, parameter_columns
from foretell.plan.match_plan import AbsencePlan, InputGroupPlan, NfaGroupPlan, StatementPlan
from foretell.storage.recorded_values import instant, require

#: Matches that wait are joined with those of the next batch, and put in order.
_WORK_ON_WAITING = 3

#: After so many events and matches the memory of a group is counted anew, which takes some hundred microseconds. Where
#: there is much room it is later: when they may have filled a part of it, with so many bytes for each. Events of very
#: many columns take more, so there is a most, too.
ACCOUNTED_EVENTS, _ROOM_PART, _EVENT_BYTES, _MOST_UNACCOUNTED = 4096, 16, 1024, 65_536

#: The executors of a statement: by the ids of its rows where each row has one, else one under None.
RowExecutors = dict[Scalar, AbsenceExecutor | NfaGroup]


@dataclass
class InputGroup:
    plan: InputGroupPlan
    strings: StringDictionary
    ledger: RunLedger = field(default_factory=RunLedger)
    observers: ObserverFactory = NO_OBSERVERS
    now: int | float = -math.inf

    def __post_init__(self) -> None:
        self.stream = MergedStream(self.plan.input, self.strings, self.ledger)
        self.nfa_groups: dict[NfaGroup, None] = {}
        self.absences: dict[AbsenceExecutor, None] = {}
        self._unaccounted = 0  # events and matches since the memory was last counted
        self._waiting = 0  # matches that waited then
        self.stages = ResultStages()
        self._executors: dict[str, RowExecutors] = {}
        self._shared: dict[int, NfaGroup] = {}  # by the numbers of their plans
        self._sharing = RowSharing()

    @property
    def stores(self) -> dict[str, int]:
        """The memory of what the group holds besides runs, by what it is."""
        members = [m for group in self.nfa_groups for m in group.members.values()]
        observers = [group.observer for group in self.nfa_groups] + [a.observer for a in self.absences]
        trackers = [group.tracker for group in self.nfa_groups]
        absences = [absence.silences for absence in self.absences]
        kept = [(m.first_last, m.after_match, m.longest, m.pending) for m in members]
        without = (self.stream, self.strings, self.strings.view, self.stream.buffer, self.stream.keys, self.ledger)
        return {
            "events": self.stream.buffer.nbytes,
            "lanes": self.stream.lanes.nbytes + bytes_held(self.stream.lags, absences, without=without),
            "matches that wait": _WORK_ON_WAITING * bytes_held(kept, without=without),
            "rows of tables": sum(group.rows.nbytes for group in self.nfa_groups if group.rows is not None),
            "forecasts": bytes_held(observers, trackers, without=without),
            **self.stages.stores,
        }

    @property
    def _needs_account(self) -> bool:
        """Whether the events and matches since memory was last counted may take a part of the room that is left."""
        if self._unaccounted < ACCOUNTED_EVENTS:
            return False
        room = self.ledger.remaining_bytes // (_ROOM_PART * _EVENT_BYTES)
        return self._unaccounted >= min(max(ACCOUNTED_EVENTS, room), _MOST_UNACCOUNTED)

    def account(self) -> None:
        """Tells the ledger how much memory the group takes."""
        self.ledger.bytes[id(self)] = sum(self.stores.values())
        self._unaccounted = 0

    def compact(self) -> None:
        """Gives back the memory that nothing needs."""
        for group in self.nfa_groups:
            group.compact()
        if self.stream.buffer.segments:
            self._forget()
        self.account()

    @property
    def keeps_lanes(self) -> bool:
        """Whether no lane can be freed, because its past counts for good: for the numbers of events without an ID, for
        an absence that goes on, for an `a[i]` that counts in the whole lane, or for forecasts."""
        if not self.stream.per or not self.stream.named or self.absences:
            return True
        if len(self.plan.input.streams) > 1:  # the first event of another stream may come late, and have no ID
            return True
        return any(group.keeps_lanes for group in self.nfa_groups)

    @property
    def crowded(self) -> bool:
        """Whether it is worth looking for lanes that nothing needs any more."""
        return self.stream.lanes.crowded and not self.keeps_lanes

    def free_lanes(self, also_needed: list[Ints]) -> None:
        """Frees the lanes that no event, partial match or waiting match has. The caller needs some too."""
        for group in self.nfa_groups:
            group.sweep()
        if self.stream.buffer.segments:
            self._forget()
        held = [segment.lane for segment in self.stream.buffer.segments]
        held += [group.needed_lanes(self.now) for group in self.nfa_groups] + also_needed
        held += self.stages.lanes
        needed = np.zeros(len(self.stream.lanes), np.bool_)
        for lanes in held:
            needed[lanes] = True
        freed = self.stream.free_lanes(needed)
        for group in self.nfa_groups:
            group.free_lanes(freed)
        self.stages.free_lanes(freed)
        self.stages.renew(self.stream.keys, self.strings.view)
        self.account()

    @property
    def keeps_texts(self) -> bool:
        """Whether no text can be freed: forecasts and an `a[i]` that counts in the whole lane keep them for good."""
        return any([g.keeps_lanes for g in self.nfa_groups] + [a.observer is not None for a in self.absences])

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts that the group holds."""
        yield from self.stream.texts()
        for group in self.nfa_groups:
            yield from group.texts()
        yield from self.stages.texts()

    def texts_of(self, name: str, results: ResultBatch) -> Iterator[Ints]:
        """The codes of all texts in results of a statement."""
        group = self._executors[name][results.id if self.plan.statements[name].runs_by_row else None]
        assert isinstance(group, NfaGroup)
        (member,) = group.members.values()
        return results.texts(group.text_registers(member.plan))

    def renew(self) -> None:
        """Goes on after texts were freed."""
        self.stream.renew_keys()
        for group in self.nfa_groups:
            for member in group.members.values():
                member.renew()
        self.stages.renew(self.stream.keys, self.strings.view)

    def free_lists(self) -> None:
        for group in self.nfa_groups:
            group.free_lists()

    def relieve(self) -> bool:
        """Stops or drops runs, and forgets the events that only they need; False where there are none."""
        executors = (group.executor for group in self.nfa_groups if group.executor is not None)
        fullest = max(executors, key=lambda executor: executor.alive, default=None)
        if fullest is None or not fullest.alive:
            return False
        fullest.relieve(self.stream.positions)
        for group in self.nfa_groups:
            group.record_limits()
        self.compact()
        return True

    def process(
        self, inputs: list[OrderedInput], now: int | float, order: EventOrder, *, ends: bool = False
    ) -> list[ResultBatch]:
        """The results of a batch, and of time until `now`; `ends` where no more events come."""
        self.adopt_plans()
        segment = self.stream.append(inputs)
        results: list[ResultBatch] = []
        for group in self.nfa_groups:
            results += self._sharing.results(group, group.process(segment, now, order, ends=ends))
        for absence in self.absences:
            absent = absence.process(segment, now, order)
            results += self._sharing.results(absence, [absent])
            if absence.observer is not None:
                results += ForecastEmitter(absence.observer, absence).emit(segment, None, [absent])
        self.now = now
        if self.stages or self.plan.reads_estimates:
            results = self.stages.process(results, now)
            self.ledger.warnings += self.stages.take_notes()
            results += [forecast for group in self.nfa_groups for forecast in group.forecasts_of(self.stages, segment)]
        if self.stream.crowded:
            self._forget()
        self._unaccounted += len(segment) + sum(map(len, results)) + self.stages.take_begun()
        waiting = 0
        for member in [m for group in self.nfa_groups for m in group.members.values()]:
            waiting += sum(map(len, member.pending))
        if waiting - 2 * self._waiting >= ACCOUNTED_EVENTS or self._needs_account:
            self._waiting = waiting
            self.account()
        return results

    @property
    def waiting(self) -> Counter[str]:
        """The number of partial and undecided matches of each statement that only need time to pass, for each row."""
        return self._sharing.waiting(self.nfa_groups)

    def frontier(self, name: str) -> Frontier | None:
        """Where the first match lies that LONGEST holds for a statement."""
        if not self.plan.statements[name].is_longest:
            return None
        members = [m for g in self._executors[name].values() if isinstance(g, NfaGroup) for m in g.members.values()]
        held = [m.longest.held for m in members if m.longest is not None and m.longest.held is not None]
        return earliest(Frontier.of(results.order, results.end) for results in held)

    @property
    def waits(self) -> bool:
        """Whether a result may end before the event with which it becomes known: time completes it, or a choice among
        matches has to wait."""
        return bool(self.absences) or any(m.waits for group in self.nfa_groups for m in group.members.values())

    @property
    def settled(self) -> int | float:
        """No later result ends before this time."""
        waiting = [result for g in self.nfa_groups for m in g.members.values() for result in m.waiting if len(result)]
        ends: list[int | float] = [result.end.min().item() for result in waiting]
        return min([self.now, *ends])

    def observed(self, name: str) -> Iterator[ObservedStatement]:
        """The observer of a statement, or of each row of a template, with the processes it observes."""
        for executor in self._executors[name].values():
            if isinstance(executor, NfaGroup):
                observed = executor.observed(self.now)
            elif executor.observer is not None:
                observed = ObservedStatement(executor.observer, executor, None, (), self.now)
            else:
                observed = None
            if observed is not None:
                yield observed

    def adopt_plans(self) -> None:
        """Gives executors the plans that changed since the last batch, and the stream the lag columns they need."""
        changed = False
        for group in self.nfa_groups:
            if not group.is_current:
                group.adopt_plan()
                changed = True
        if changed:
            self._want_lags()

    def _want_lags(self) -> None:
        wanted = {lag for group in self.nfa_groups for lag in group.lagged}
        self.stream.lags.keep(sorted(wanted, key=str))

    # ── memory ──

    def _forget(self) -> None:
        """Drops events that no run, pending result or observer can refer to any more."""
        if any(group.looks_between for group in self.nfa_groups):
            oldest = [group.oldest for group in self.nfa_groups]
            for group in self.nfa_groups:
                oldest += [m.leading_from(self.now) for m in group.members.values() if m.plan.leading]
            limit = min((o for o in oldest if o is not None), default=self.stream.positions)
            remembers = any(m.plan.remembers for group in self.nfa_groups for m in group.members.values())
            self.stream.forget(0 if remembers else limit, list(self.stages.referenced))
        else:
            # A run may be old, and most events since are not its own.
            limit = self.stream.keep_only([*(g.referenced() for g in self.nfa_groups), *self.stages.referenced])
        for group in self.nfa_groups:
            for member in group.members.values():
                member.forget(limit)

    # ── statements ──

    def add(self, plan: InputGroupPlan, statement: StatementPlan, table: TemplateTable | None) -> None:
        """Runs a statement of an extended plan from the next event on. `table` has the rows of a template."""
        self.plan = plan
        self._executors[statement.name] = {}
        group = plan.group_of(statement.name)
        if statement.runs_by_row:
            assert table is not None
            self._start_rows(statement, table)
        elif table is not None and isinstance(group, NfaGroupPlan):
            self._start(statement, None, served_rows(group, table, self.strings, self.stream.positions))
        else:
            self._start(statement)

    def _start_rows(self, statement: StatementPlan, table: TemplateTable) -> None:
        """An executor for each row of a template, one for rows that are equal."""
        for row, ids in equal_rows(statement, table):
            executor = self._start(statement, row)
            self._executors[statement.name] |= dict.fromkeys(ids, executor)
            if len(ids) > 1:
                self._sharing.enter(executor, ids)

    def _start(
        self, statement: StatementPlan, row: Mapping[str, Scalar] | None = None, rows: ServedRows | None = None
    ) -> AbsenceExecutor | NfaGroup:
        """The executor of a statement, or of one row of a template."""
        plan = self.plan.group_of(statement.name)
        assert plan is not None
        parameters = {} if row is None else parameter_columns(row, statement.parameters, self.strings)
        row_id = None if row is None else row["id"]
        executor: AbsenceExecutor | NfaGroup
        if isinstance(plan, AbsencePlan):
            executor = AbsenceExecutor(plan, self.strings, self.stream, row_id, parameters)
            executor.observer = self._observer(plan, statement)
            self.absences[executor] = None
        else:
            known = None if statement.group is None else self._shared.get(statement.group)
            executor = known or NfaGroup(
                plan, self.stream, self.strings, parameters, rows, self._observer(plan, statement)
            )
            executor.add(plan, statement.number, row_id)
            self.nfa_groups[executor] = None
            if plan.kind.shares and statement.group is not None:
                self._shared[statement.group] = executor
        self._executors[statement.name][row_id] = executor
        return executor

    def _observer(self, plan: AbsencePlan | NfaGroupPlan, statement: StatementPlan) -> Observer | None:
        return None if plan.observation is None else self.observers.observer(statement)

    def remove(self, plan: InputGroupPlan | None, statement: StatementPlan) -> None:
        """Stops a statement that `plan` has no more; None where it was the last."""
        group = None if plan is None or statement.group is None else plan.groups.get(statement.group)
        for executor in dict.fromkeys(self._executors.pop(statement.name).values()):
            if isinstance(group, NfaGroupPlan) and isinstance(executor, NfaGroup):
                executor.remove(group, statement.number)
            else:
                self._stop(executor)
                self._shared = {n: shared for n, shared in self._shared.items() if shared is not executor}
        self.plan = plan or self.plan

    def _stop(self, executor: AbsenceExecutor | NfaGroup) -> None:
        self._sharing.forget(executor)
        if isinstance(executor, AbsenceExecutor):
            del self.absences[executor]
            return
        del self.nfa_groups[executor]
        self.ledger.forget(executor.executor)
        self.ledger.forget(executor.second_executor)

    def add_rows(self, name: str, table: TemplateTable) -> None:
        statement = self.plan.statements[name]
        if statement.runs_by_row:
            self._start_rows(statement, table)
        elif statement.stage_has_rows:
            self.stages[name].add_rows(table)
        else:
            self._rows(name).add(table, self.strings, self.stream.positions)

    def remove_rows(self, name: str, ids: ArrowArray) -> None:
        self.stages.remove_rows(name, ids)
        statement = self.plan.statements[name]
        if statement.runs_by_row:
            for row_id in ids.to_pylist():
                executor = self._executors[name].pop(row_id)
                if self._sharing.remove(executor, row_id):
                    self._stop(executor)
        elif not statement.stage_has_rows:
            self._rows(name).remove(ids)

    def _rows(self, name: str) -> ServedRows:
        """The rows of a template that one executor serves."""
        group = self._executors[name][None]
        assert isinstance(group, NfaGroup)
        assert group.rows is not None
        return group.rows

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        if self.stream.buffer.segments:
            self._forget()
        return {
            "statements": list(self.plan.statements),
            "now": self.now,
            "feed": self.stream.state(),
            "groups": [group.state() for group in self.nfa_groups],
            "silent": [[a.plan.name, a.id, a.silences.state(), observer_state(a.observer)] for a in self.absences],
            "stages": self.stages.state(),
            "sharing": self._sharing.state(self._executors),
        }

    def restore(self, state: Mapping[str, Any], tables: Mapping[str, TemplateTable], places: int) -> StateBounds:
        """Continues from a snapshot of the same plan, with so many places in the order of all events."""
        self.now = instant(state["now"], "the time", is_float=self.plan.input.time is Type.FLOAT)
        bounds = self.stream.restore(state["feed"], places)
        self._executors = {name: {} for name in self.plan.statements}
        rows = RowsById(tables)
        for recorded in state["groups"]:
            self._restore_group(recorded, rows, tables, bounds)
        self._want_lags()
        self.stream.lags.restore(state["feed"]["lags"], self.stream.no_events(), self.strings)
        for name, row_id, silences, *observer in state["silent"]:
            statement = self.plan.statements[name]
            require(row_id not in self._executors[name], "the groups of statements")
            executor = self._start(statement, None if row_id is None else rows.row(statement.table, row_id))
            assert isinstance(executor, AbsenceExecutor)
            executor.silences.restore(silences, bounds.lanes, self.now - executor.plan.within, self.now)
            restore_observer(executor.observer, observer[0] if observer else None)
        self._sharing.restore(state.get("sharing", {}), self._executors)  # early snapshots have none
        for name, statement in self.plan.statements.items():
            own = {None} if not statement.runs_by_row else set(tables[str(statement.table)].scalars("id"))
            require(set(self._executors[name]) == own, "the groups of statements")
        members = [member for group in self.nfa_groups for member in group.members.values()]
        self.stages.restore(state.get("stages", {}), bounds, members[0].no_results if members else None)
        return bounds

    def unread_results(
        self, name: str, row_id: Scalar, recorded: Mapping[str, Any], bounds: StateBounds
    ) -> ResultBatch:
        """Results of a statement, or of one row of a template, from a snapshot, for the statements that read them."""
        group = self._executors[name][row_id]
        assert isinstance(group, NfaGroup)
        return replace(group.unread_results(recorded, bounds), id=row_id)

    def _restore_group(
        self, state: Mapping[str, Any], rows: RowsById, tables: Mapping[str, TemplateTable], bounds: StateBounds
    ) -> None:
        names = [state["joined"][int(number)][0] for number in state["members"]]
        group: AbsenceExecutor | NfaGroup | None = None
        for name, member in zip(names, state["members"].values(), strict=True):
            statement = self.plan.statements[name]
            row_id = member["id"] if statement.runs_by_row else None
            require(row_id not in self._executors[name], "the groups of statements")
            if statement.runs_by_row:
                group = self._start(statement, rows.row(statement.table, member["id"]))
            elif statement.table is not None and not statement.stage_has_rows:
                plan = self.plan.group_of(name)
                assert isinstance(plan, NfaGroupPlan)
                restored = restored_rows(plan, tables[statement.table], self.strings, state, bounds.positions)
                group = self._start(statement, None, restored)
            else:
                group = self._start(statement)
        assert isinstance(group, NfaGroup)
        group.restore(state, bounds)
