"""Subscriptions that one executor runs: equal prefixes are matched once (P-ToPSS section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Scalar
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.arrival_executor import ArrivalExecutor
from foretell.machine.exec.limits import RunLedger
from foretell.machine.exec.nfa_executor import NfaExecutor
from foretell.machine.exec.observation import Observation
from foretell.machine.exec.profile_executor import ProfileExecutor
from foretell.machine.exec.raw_matches import RawMatches
from foretell.machine.exec.register_kinds import RegisterKinds
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.event_order import EventOrder
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.codec import ResultLayout
from foretell.machine.matches.exclusions import Exclusions
from foretell.machine.matches.results import ResultBatch
from foretell.machine.observe.arrival_tracker import ArrivalTracker
from foretell.machine.observe.forecast_emitter import ForecastEmitter, ObservedStatement
from foretell.machine.observe.observer import Observer, Probe, observer_state, restore_observer
from foretell.machine.profiled_rows import ProfiledRows
from foretell.machine.result_stage import ResultStages
from foretell.machine.selected_rows import SelectedRows
from foretell.machine.served_rows import ServedRows
from foretell.machine.subscription_runtime import SubscriptionRuntime
from foretell.machine.trie_rows import TrieRows
from foretell.plan.expressions import IndexKey, Lagged
from foretell.plan.lower.program import CompiledNfa, SubscriptionPlan
from foretell.plan.match_plan import NfaGroupPlan
from foretell.plan.strategy import ObservationMode
from foretell.storage.recorded_values import indices

AnyExecutor: TypeAlias = NfaExecutor | ArrivalExecutor | ProfileExecutor


@dataclass(eq=False)
class NfaGroup:
    """The executor of a group plan, and the runtimes of its subscriptions.

    `parameters` and `rows` belong to the one template that has a group to itself.
    """

    plan: NfaGroupPlan
    stream: MergedStream
    strings: StringDictionary
    parameters: Mapping[str, Column] = field(default_factory=dict)
    rows: ServedRows | None = None
    observer: Observer | None = None

    def __post_init__(self) -> None:
        self.members: dict[int, SubscriptionRuntime] = {}
        self.executor: AnyExecutor | None = None
        self.second_executor: NfaExecutor | None = None  # reads each batch again when its exclusions are known
        self.tracker: ArrivalTracker | None = None
        self.excluded: Exclusions | None = None
        self.is_current = False  # whether the executor runs the plan as it is now

    def add(self, plan: NfaGroupPlan, number: int, row_id: Scalar = None) -> None:
        """Runs one more subscription of the plan from the next event on; `row_id` is the row of its template."""
        self.plan = plan
        self.members[number] = SubscriptionRuntime(
            plan.members[number],
            self.strings,
            self.stream,
            row_id,
            self.parameters,
            self.rows,
            since=self.stream.positions,
        )
        if plan.observation is not None:
            self.excluded = Exclusions(self.members[number].after_match)
        if plan.arrivals is not None:
            self.executor = ArrivalExecutor(
                plan.arrivals, self.strings, self.parameters, self._selection, ledger=self.stream.ledger
            )
            if plan.observation is ObservationMode.ARRIVAL_TRACKER:
                self.tracker = ArrivalTracker(plan.arrivals, self.strings)
        if isinstance(self.rows, ProfiledRows):
            self.executor = ProfileExecutor(self.rows, self.strings, self.stream.ledger)
        self.is_current = False

    def name_after(self, row_id: Scalar) -> None:
        """Goes on for another row of its template with the same parameters."""
        for member in self.members.values():
            member.id = row_id

    def remove(self, plan: NfaGroupPlan, number: int) -> None:
        """Stops a subscription that the plan has no more."""
        self.plan = plan
        del self.members[number]
        self.is_current = False

    @property
    def _trie_rows(self) -> TrieRows | None:
        return self.rows if isinstance(self.rows, TrieRows) else None

    @property
    def _selection(self) -> SelectedRows | None:
        return self.rows if isinstance(self.rows, SelectedRows) else None

    def adopt_plan(self) -> None:
        """Gives the executor the NFA as it is planned now. The runtime waits for the next batch before it does so:
        other subscriptions may join and leave before."""
        if not self.is_current and self.plan.nfa is not None:
            self._adopt_nfa(self.plan.nfa.compiled)
        self.is_current = True

    def _adopt_nfa(self, nfa: CompiledNfa) -> None:
        if isinstance(self.executor, NfaExecutor):
            self.executor.adopt(nfa)
            return
        executor = partial(NfaExecutor, nfa, self.strings, self.parameters, self._selection, self._trie_rows)
        probe = None
        if self.plan.observation is not None:
            (member,) = self.members.values()
            probe = Probe.of(nfa, member.plan)
            if self.plan.observation is ObservationMode.SECOND_EXECUTOR:
                self.second_executor = executor(
                    ledger=RunLedger(self.stream.ledger.limits, bytes=self.stream.ledger.bytes), probe=probe
                )
                probe = None
        self.executor = executor(ledger=self.stream.ledger, probe=probe)

    def refresh_rows(self) -> None:
        """Continues with the rows of the template as they are now."""
        if isinstance(self.rows, SelectedRows):
            self.rows.refresh()
        elif isinstance(self.rows, TrieRows):
            move = self.rows.refresh()
            if move is not None and isinstance(self.executor, NfaExecutor):
                self.executor.move_rows(move)

    @property
    def lagged(self) -> set[Lagged]:
        """The columns of earlier events that the executor needs."""
        return self.executor.nfa.lagged if isinstance(self.executor, NfaExecutor) else set()

    def process(self, segment: EventSegment, now: int | float, order: EventOrder, *, ends: bool) -> list[ResultBatch]:
        """The results of a batch, of those subscriptions that have any; `ends` where no more events come."""
        assert self.executor is not None
        self.refresh_rows()
        for member in self.members.values():
            if member.longest is not None:
                self._nfa_executor.undecided = member.longest.undecided_lanes(len(self.stream.lanes))
        matches = self.executor.process(segment, len(self.stream.lanes), now)
        if self.executor.refusals or self.executor.dropped:
            self.record_limits()
        if self.executor.stopped:
            matches = self._without_refused(self.executor, matches)
        if len(self.members) == 1:
            (member,) = self.members.values()
            results = self._member_results(member, matches, now, order, ends=ends)
            return results + self._forecasts(segment, now, results)
        assert isinstance(self.executor, NfaExecutor)
        owner = self.executor.nfa.owners[matches.state]
        by_owner = np.argsort(owner, kind="stable")
        matches, owner = matches.only(by_owner), owner[by_owner]
        numbers = np.array(list(self.members), np.int64)
        spans = np.searchsorted(owner, numbers).tolist(), np.searchsorted(owner, numbers + 1).tolist()
        results = []
        for member, first, last in zip(self.members.values(), *spans, strict=True):
            if first < last or member.waiting:
                results.append(member.process(matches.only(slice(first, last)), now, order))
        return results

    def _member_results(
        self, member: SubscriptionRuntime, matches: RawMatches, now: int | float, order: EventOrder, *, ends: bool
    ) -> list[ResultBatch]:
        """The results of the only subscription of the group."""
        if not len(matches) and not member.waiting:
            return []
        if member.longest is None:
            return [member.process(matches, now, order)]
        live = None if ends else self._nfa_executor.live_starts(now)
        return [member.process(matches, now, order, live)]

    def _forecasts(self, segment: EventSegment, now: int | float, results: list[ResultBatch]) -> list[ResultBatch]:
        """The forecasts of a subscription whose runs are observed."""
        if self.observer is None or self.plan.observation is ObservationMode.CORRELATOR:
            return []
        (member,) = self.members.values()
        assert self.excluded is not None
        excluding = [result.bound_events for result in results if len(result)] if member.selection.excludes else []
        exclusion = self.excluded.after(segment, excluding)
        if self.tracker is not None:
            observation: Observation | None = self.tracker.observe(segment, exclusion)
        elif self.second_executor is not None:
            self.second_executor.exclusion = exclusion
            self.second_executor.process(segment, len(self.stream.lanes), now)
            observation = self.second_executor.observation
        else:
            observation = self._nfa_executor.observation
        return ForecastEmitter(self.observer, member).emit(segment, observation, results)

    def forecasts_of(self, stages: ResultStages, segment: EventSegment) -> list[ResultBatch]:
        """The forecasts of a correlator, after its stage has processed the results of a batch."""
        if self.observer is None or self.plan.observation is not ObservationMode.CORRELATOR:
            return []
        (member,) = self.members.values()
        observed = stages[member.plan.name].observed(segment, member.id)
        emitter = ForecastEmitter(self.observer, member, observed.schema)
        return emitter.emit(segment, observed.observation, observed.results)

    @property
    def waiting(self) -> dict[str, int]:
        """The number of partial matches and undecided matches of each subscription that only need time to pass."""
        timed = self.executor.timed if isinstance(self.executor, NfaExecutor) else np.zeros(0, np.int64)
        return {
            member.plan.name: int((timed == number).sum()) + sum(map(len, member.pending))
            for number, member in self.members.items()
        }

    def observed(self, now: int | float) -> ObservedStatement | None:
        """The observer with the processes it observes; None where nobody observes, or no event has come yet."""
        if self.observer is None or self.executor is None:
            return None
        (member,) = self.members.values()
        if self.tracker is not None:
            variables = member.plan.variables_bound_to(self.tracker.tracking.key)
            return ObservedStatement(self.observer, member, self.tracker.by_value, variables, now)
        executor = self.second_executor or self._nfa_executor
        key = executor.nfa.columns[executor.nfa.process_key] if executor.nfa.has_process_key else None
        if isinstance(key, IndexKey):
            variables = member.plan.variables_bound_to((key.expression,))
            return ObservedStatement(self.observer, member, executor.columns.value_lists.get(key.kind), variables, now)
        return ObservedStatement(self.observer, member, None, (), now)

    @property
    def _nfa_executor(self) -> NfaExecutor:
        assert isinstance(self.executor, NfaExecutor)
        return self.executor

    # ── limits ──

    def compact(self) -> None:
        """Gives back the memory that no run needs."""
        for executor in (self.executor, self.second_executor):
            if executor is not None:
                executor.compact()

    def record_limits(self) -> None:
        """Records in the ledger which lanes the limits refused, and how many runs they dropped."""
        executor, ledger = self.executor, self.stream.ledger
        assert executor is not None
        for number, lanes, limit in executor.refusals:
            if number in self.members:
                ledger.refuse(self.members[number].plan.shown_name, lanes, self.stream.keys, limit)
        for number, count in executor.dropped.items():
            if number in self.members:
                ledger.drop(self.members[number].plan.shown_name, count, executor.dropped_by)
        executor.refusals, executor.dropped = [], {}

    def _without_refused(self, executor: AnyExecutor, matches: RawMatches) -> RawMatches:
        """The matches without those of refused lanes from the event on that exceeded the limit."""
        owner = np.zeros(len(matches), np.int64)
        if isinstance(executor, NfaExecutor):
            owner = executor.nfa.owners[matches.state]
        # A match that time completes has no last event: it counts by its first.
        position = np.where(matches.position < 0, matches.first, matches.position)
        keep = np.ones(len(matches), np.bool_)
        for number in self.members:
            keep &= (owner != number) | (position < executor.stopped.since(number, matches.lane))
        return matches.only(keep)

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        if self.executor is not None:
            self.adopt_plan()
        self.refresh_rows()
        return {
            "kind": self.plan.kind.value,
            "joined": self.plan.record(),
            "moves": list(self.plan.moves),
            "members": {str(number): member.state() for number, member in self.members.items()},
            "stage": None if self.executor is None else self.executor.state(),
            "rows": None if self.rows is None else self.rows.store.since[self.rows.store.numbers],
            "served": None if self.rows is None else self.rows.served,
            "profiles": None if self._trie_rows is None else self._trie_rows.state(),
            "watcher": observer_state(self.observer),
            "standing": None if self.tracker is None else self.tracker.state(),
            "past": None if self.excluded is None else self.excluded.past,
        }

    def restore(self, state: Mapping[str, Any], bounds: StateBounds) -> None:
        """Continues from a snapshot of the same plan, whose numbers reach so far."""
        if state["stage"] is not None:
            self.adopt_plan()
            assert self.executor is not None
            if self.second_executor is not None:  # both have read the same events
                self.second_executor.restore(deepcopy(state["stage"]), bounds, self.plan.members)
            if isinstance(self.executor, NfaExecutor):
                self.executor.restore(state["stage"], bounds, self.plan.members)
            else:
                self.executor.restore(state["stage"], bounds)
            self.executor.account()
        for number, member in self.members.items():
            member.restore(state["members"][str(number)], self._result_layout(member.plan, bounds))
        restore_observer(self.observer, state.get("watcher"))
        if self.tracker is not None and state.get("standing") is not None:
            self.tracker.restore(state["standing"], bounds)
        if self.excluded is not None:
            # Early snapshots have it in the state of the tracker.
            past = state["past"] if "past" in state else (state.get("standing") or {}).get("past")
            if past is not None:
                self.excluded.past = indices(past, bounds.positions, "what AFTER MATCH excludes", low=-1)

    def _result_layout(self, plan: SubscriptionPlan, bounds: StateBounds) -> ResultLayout:
        states = self.executor.nfa.states if isinstance(self.executor, NfaExecutor) else 1
        return ResultLayout(plan, self._register_kinds(plan), states, bounds)

    def unread_results(self, recorded: Mapping[str, Any], bounds: StateBounds) -> ResultBatch:
        """Results of its only subscription from a snapshot, for the statements that read them."""
        (member,) = self.members.values()
        return member.restored(recorded, self._result_layout(member.plan, bounds), refers=False).without_buffer()

    # ── memory ──

    @property
    def keeps_lanes(self) -> bool:
        """Whether the past of a lane counts for good: for an observer, or where an `a[i]` counts in the whole lane."""
        remembers = any(member.plan.remembers for member in self.members.values())
        counts = self.executor is not None and self.executor.counts_in_lanes
        return self.observer is not None or self.plan.observation is not None or remembers or counts

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts that runs, arrivals and matches that wait have."""
        if self.executor is not None:
            yield from self.executor.texts()
        if self.rows is not None:
            yield from self.rows.store.texts()
        for member in self.members.values():
            for result in member.waiting:
                yield from result.texts(self.text_registers(member.plan))

    def text_registers(self, plan: SubscriptionPlan) -> tuple[int, ...]:
        """The registers of matches that have texts."""
        return self._register_kinds(plan).texts

    def _register_kinds(self, plan: SubscriptionPlan) -> RegisterKinds:
        if isinstance(self.executor, NfaExecutor):
            return RegisterKinds.of_nfa(self.executor.nfa)
        return RegisterKinds.of_plan(plan)

    def free_lists(self) -> None:
        """Frees lists of values in which there are no runs, where there are many."""
        if self.executor is not None and self.executor.has_many_lists and not self.keeps_lanes:
            self.executor.sweep()
            self.executor.free_lists()

    def sweep(self) -> None:
        """Frees the runs that can come to nothing."""
        if self.executor is not None:
            self.executor.sweep()

    def needed_lanes(self, now: int | float) -> Ints:
        """The lanes that cannot be freed."""
        needed = [member.needed_lanes(now) for member in self.members.values()]
        if self.executor is not None:
            needed.append(self.executor.needed_lanes())
        return np.concatenate([np.zeros(0, np.int64), *needed])

    def free_lanes(self, freed: Ints) -> None:
        """Goes on without lanes that nothing needs."""
        if self.executor is not None:
            self.executor.free_lanes(freed)
        for member in self.members.values():
            member.free_lanes(freed)

    @property
    def looks_between(self) -> bool:
        """Whether the post filter looks at events that a match has not bound."""
        plans = (member.plan for member in self.members.values())
        return any(plan.leading or plan.deferred or plan.trailing or plan.remembers for plan in plans)

    def referenced(self) -> Ints:
        """The positions of the events that runs, pending results and the tracker refer to."""
        pending = [result.bound_events.position for m in self.members.values() for result in m.waiting]
        held = [holder.referenced() for holder in (self.executor, self.tracker) if holder is not None]
        return np.concatenate([np.zeros(0, np.int64), *pending, *held])

    @property
    def oldest(self) -> int | None:
        """The earliest position that runs, pending results and the tracker refer to."""
        oldest = [m.oldest for m in self.members.values()]
        oldest += [holder.oldest for holder in (self.executor, self.tracker) if holder is not None]
        return min((position for position in oldest if position is not None), default=None)
