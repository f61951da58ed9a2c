"""The runtime: executes a `MatchPlan` on batches of events."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

from foretell.arrays import Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.reader import EventBatch
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.notification import WITHDRAWN
from foretell.events.reorder_buffer import time_span
from foretell.events.types import Type
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.exec.limits import Limits, RunLedger
from foretell.machine.input.delayed_inputs import DelayedInputs, Frontier, earliest
from foretell.machine.input.event_order import EventOrder, OrderedInput
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.input.time_slices import NO_TIME, SliceSize, TimePassed, TimeSlices, events_in
from foretell.machine.input_group import InputGroup
from foretell.machine.matches.codec import results_state
from foretell.machine.matches.derived_events import derived_events
from foretell.machine.matches.results import ResultBatch, ResultPiece
from foretell.machine.observe.forecast_emitter import ObservedStatement
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory
from foretell.machine.result_stage import ResultStage
from foretell.machine.runtime_memory import RuntimeMemory
from foretell.plan.match_plan import InputGroupPlan, InputPlan, MatchPlan, StatementPlan
from foretell.progress import advance, begin_stage
from foretell.storage.recorded_values import instant, require

#: The number of events that are processed at once, unless they have very many matches. On the tick workloads, in one
#: run, this was up to 1.3 times as fast as a million at once, whose columns fall out of the cache, and 1.5 times as
#: fast as 16,384, where each slice has its fixed cost.
SLICE = 262_144

#: After so many events it is looked again for lanes and texts that nothing needs.
LOOK_AGAIN = 64


class MatchRuntime:
    """Executes a plan on finite or growing inputs. Statements may be added and removed between batches.

    `strings` is the dictionary whose codes the plan was compiled with; `tables` has the rows of FOR EACH tables.
    """

    def __init__(
        self,
        plan: MatchPlan,
        strings: StringDictionary,
        tables: Mapping[str, TemplateTable] | None = None,
        limits: Limits | None = None,
        observers: ObserverFactory = NO_OBSERVERS,
        stages: Mapping[str, ResultStage] | None = None,
    ) -> None:
        self._begin(plan, strings, limits, observers, stages)
        for statement in plan.statements:
            self._add(plan.input_of(statement.name), statement, tables or {})

    def _begin(
        self,
        plan: MatchPlan,
        strings: StringDictionary,
        limits: Limits | None,
        observers: ObserverFactory,
        stages: Mapping[str, ResultStage] | None,
    ) -> None:
        self.plan = plan
        self.strings = strings
        self.stages = self._prepared(stages)
        self.observers = observers
        self.ledger = RunLedger(limits or Limits())
        self._order = EventOrder(plan.ranks)
        self._slice_size = SliceSize(SLICE, self.ledger.limits.budget)
        self._clocks: dict[str, int | float] = {}
        self._until: int | float = -math.inf
        self._looked = 0  # the number of events when it was last looked for what nothing needs
        self.groups: dict[InputPlan, InputGroup] = {}
        self.memory = RuntimeMemory(self.groups, strings, self.ledger)
        self._needed: dict[str, set[str]] = {}
        self._delayed: dict[InputPlan, DelayedInputs] = {}
        self._unread: dict[str, list[ResultBatch]] = {}  # results of LONGEST that readers may not get yet

    # ── statements ──

    def extend(
        self,
        plan: MatchPlan,
        names: Iterable[str],
        tables: Mapping[str, TemplateTable] | None = None,
        stages: Mapping[str, ResultStage] | None = None,
    ) -> None:
        """Adopts a plan that has these statements more; they take part from the next event on."""
        self.stages |= self._prepared(stages)
        for name in names:
            group = plan.input_of(name)
            self._add(group, group.statements[name], tables or {})
        self.plan = plan

    def _prepared(self, stages: Mapping[str, ResultStage] | None) -> dict[str, ResultStage]:
        for stage in (stages or {}).values():
            stage.prepare(self.strings)
        return dict(stages or {})

    def _add(self, plan: InputGroupPlan, statement: StatementPlan, tables: Mapping[str, TemplateTable]) -> None:
        group = self._group(plan)
        group.add(plan, statement, None if statement.table is None else tables[statement.table])
        if statement.name in self.stages:
            group.stages[statement.name] = self.stages[statement.name]
        self._read_columns(group, statement)

    def _group(self, plan: InputGroupPlan) -> InputGroup:
        if plan.input not in self.groups:
            self.groups[plan.input] = InputGroup(plan, self.strings, self.ledger, self.observers)
        return self.groups[plan.input]

    def _read_columns(self, group: InputGroup, statement: StatementPlan) -> None:
        """Asks the streams of a statement for the attributes that it reads."""
        names = statement.attributes
        group.stream.needed |= names
        for stream in group.plan.input.streams:
            self._needed.setdefault(stream, set()).update(names)

    def __contains__(self, name: object) -> bool:
        return name in self.plan

    def remove(self, name: str) -> None:
        """Removes a statement that no other statement reads. Its columns are read on, as long as others read the
        streams."""
        patterns = self._patterns(name)
        if self.stages.pop(name, None) is not None:
            del self.groups[self.plan.input_of(name).input].stages[name]
        for pattern in patterns:
            self._remove(pattern)

    def _remove(self, name: str) -> None:
        before = self.plan.input_of(name)
        self.plan = self.plan.without(name)
        group = self.groups[before.input]
        group.remove(self.plan.inputs.get(before.input), before.statements[name])
        self._clocks.pop(name, None)
        self._needed.pop(name, None)
        self._unread.pop(name, None)
        if before.input not in self.plan.inputs:
            del self.groups[before.input]
            self._delayed.pop(before.input, None)

    def add_rows(self, name: str, table: TemplateTable) -> None:
        """Adds rows to a template, from the next event on."""
        for pattern in self._patterns(name):
            self._group(self.plan.input_of(pattern)).add_rows(pattern, table)

    def remove_rows(self, name: str, ids: ArrowArray) -> None:
        for pattern in self._patterns(name):
            self._group(self.plan.input_of(pattern)).remove_rows(pattern, ids)

    def _patterns(self, name: str) -> Sequence[str]:
        """The statements that a statement runs as."""
        return self.stages[name].patterns if name in self.stages else (name,)

    def observed(self, name: str) -> list[ObservedStatement]:
        """The observers of a statement, of a template one for each row."""
        return list(self._group(self.plan.input_of(name)).observed(name))

    @property
    def lane_counts(self) -> dict[str, int]:
        """The number of lanes of each statement so far."""
        return {
            name: self.groups[group.input].stream.lanes.begun
            for group in self.plan.inputs.values()
            for name in group.statements
        }

    @property
    def waiting_counts(self) -> dict[str, int]:
        """The number of partial and undecided matches of each statement that only need time to pass, where there are
        any. A negated step alone always waits: it is not counted."""
        counts: Counter[str] = Counter()
        for group in self.groups.values():
            counts.update(group.waiting)
        for name, stage in self.stages.items():
            counts[name] = sum(counts.pop(pattern) for pattern in stage.patterns)
        return {name: count for name, count in counts.items() if count}

    # ── events ──

    def process(
        self,
        batches: Mapping[str, EventBatch],
        until: int | float | None = None,
        clocks: Mapping[str, int | float] | None = None,
        *,
        ends: bool = False,
    ) -> list[ResultBatch]:
        """The results of one batch of each stream. Batches come in the order of time; within one, events may have any
        order.

        Time advances to `until` for all statements, and to a stream's clock for the statements that read the stream.
        With `ends` no more events come, which settles the matches that LONGEST holds.
        """
        results: list[ResultBatch] = []
        for piece in self.pieces(batches, until, clocks, ends=ends):
            results += piece.results
            self.ledger.bytes[id(self)] = sum(result.nbytes for result in results)
        del self.ledger.bytes[id(self)]
        return results

    def pieces(
        self,
        batches: Mapping[str, EventBatch],
        until: int | float | None = None,
        clocks: Mapping[str, int | float] | None = None,
        *,
        ends: bool = False,
    ) -> Iterator[ResultPiece]:
        """The results of `process` as they come: those of a slice of the events at a time. The caller has to take all
        pieces."""
        count, passed = events_in(batches), TimePassed(until, clocks or {}, ends)
        begin_stage("matching", count, "events")
        if count <= self._slice_size.next or not self._share_time(batches):
            yield ResultPiece(self._process_slice(batches, count, passed), math.inf)
            return
        slices = TimeSlices(batches, self._needed)
        while slices.remaining:
            part = slices.take(self._slice_size.next)
            is_last = not slices.remaining
            results = self._process_slice(part, events_in(part), passed if is_last else NO_TIME)
            yield ResultPiece(results, math.inf if is_last else self._settled(slices.next_time))

    def _process_slice(self, batches: Mapping[str, EventBatch], events: int, passed: TimePassed) -> list[ResultBatch]:
        """The results of a slice of so many events, from which the size of the next one follows."""
        since = monotonic()
        results = self._process(batches, passed)
        matches = sum([result.weight for result in results if result.forecasts is None]) if results else 0
        advance(events, matches)
        self._slice_size.adapt(events, matches, monotonic() - since, sum(self.ledger.held.values()))
        self.memory.stay_within_budget()
        return results

    def _settled(self, next_time: int | float) -> int | float:
        """No later result ends before this time, where no event that remains is before `next_time`."""
        groups = [group for group in self.groups.values() if math.isfinite(group.now)]
        if not any(group.waits for group in groups):
            return next_time
        return min([next_time, *(group.settled for group in groups)])

    def _share_time(self, batches: Mapping[str, EventBatch]) -> bool:
        """Whether time passes at the same events for all statements: only then do slices keep the order of matches that
        time completes among those of other statements."""
        read = [set(group.plan.input.streams) & set(batches) for group in self.groups.values()]
        return all(not streams or len(streams) == len(batches) for streams in read)

    def _process(self, batches: Mapping[str, EventBatch], passed: TimePassed) -> list[ResultBatch]:
        inputs = self._order.inputs(batches, self.strings, self._needed)
        self._advance(batches, passed)
        results: list[ResultBatch] = []
        frontiers: dict[str, Frontier] = {}
        for group in self.groups.values():
            now: int | float = -math.inf
            for name in group.plan.input.streams:
                now = max(now, self._clocks.get(name, now))
            if math.isfinite(self._until):
                now = max(now, self._until)
            if now > -math.inf:
                results += self._process_group(group, inputs, now, frontiers, ends=passed.ends)
        self._free_what_nothing_needs()
        first = earliest(frontiers.values()) if frontiers else None
        self._order.oldest = None if first is None else first.place // 2
        return results

    def _free_what_nothing_needs(self) -> None:
        """Frees lanes in groups where there are many more than before, and texts where there are, which keys hold."""
        if self._order.count < self._looked + LOOK_AGAIN:
            return
        self._looked = self._order.count
        texts = self.strings.crowded and not any(group.keeps_texts for group in self.groups.values())
        for group in self.groups.values():
            group.free_lists()
            if group.crowded or (texts and not group.keeps_lanes):
                unread = [name for name in self._unread if name in group.plan.statements]
                group.free_lanes([result.lane for name in unread for result in self._unread[name]])
                self._renew_unread(group)
        if texts:
            self.strings.free(self._texts())
            self.ledger.bytes[id(self.strings)] = self.strings.nbytes
            for group in self.groups.values():
                group.renew()
                self._renew_unread(group)

    def _texts(self) -> Iterator[Ints]:
        """The codes of all texts that are held."""
        for group in self.groups.values():
            yield from group.texts()
            for name in group.plan.statements:
                for result in self._unread.get(name, ()):
                    yield from group.texts_of(name, result)
        for delayed in self._delayed.values():
            yield from delayed.texts()

    def _renew_unread(self, group: InputGroup) -> None:
        """Give results that have not been read yet the present keys and texts."""
        keys, texts = group.stream.keys, self.strings.view
        for name in group.plan.statements:
            if name in self._unread:
                self._unread[name] = [replace(result, keys=keys, strings=texts) for result in self._unread[name]]

    def _process_group(
        self,
        group: InputGroup,
        inputs: dict[str, OrderedInput],
        now: int | float,
        frontiers: dict[str, Frontier],
        *,
        ends: bool,
    ) -> list[ResultBatch]:
        """The results of a group, up to the frontier of the streams that it reads; adds those of its statements."""
        key = group.plan.input
        own = {name: inputs[name] for name in key.streams if name in inputs}
        frontier = earliest(frontiers.get(name) for name in key.streams) if frontiers else None
        if frontier is not None:
            now = min(now, frontier.time)
        if frontier is not None or (self._delayed and key in self._delayed):
            own = self._delayed.setdefault(key, DelayedInputs()).release(own, frontier)
            if frontier is None:
                del self._delayed[key]
        results = group.process(list(own.values()), now, self._order, ends=ends)
        held = self._derive_inputs(group, results, now, inputs)
        for name, own_frontier in held.items():
            first = earliest((frontier, own_frontier))
            if first is not None:
                frontiers[name] = first
        return results

    def _advance(self, batches: Mapping[str, EventBatch], passed: TimePassed) -> None:
        for name, batch in batches.items():
            span = time_span(batch)
            if span is not None:
                self._clocks[name] = max(self._clocks.get(name, -math.inf), span.latest)
        for name, time in passed.clocks.items():
            self._clocks[name] = max(self._clocks.get(name, -math.inf), time)
        if passed.until is not None:
            self._until = max(self._until, passed.until)

    def _derive_inputs(
        self, group: InputGroup, results: list[ResultBatch], now: int | float, inputs: dict[str, OrderedInput]
    ) -> dict[str, Frontier | None]:
        """Turns results into events, for the statements that read them; returns where LONGEST holds the first match of
        each statement that is read."""
        matches: dict[str, list[ResultBatch]] = {}
        for result in results:
            if result.forecasts is None and result.kind != WITHDRAWN:
                matches.setdefault(result.schema.name, []).append(result)
        held: dict[str, Frontier | None] = {}
        for name in self._needed:
            if name in group.plan.statements:
                self._clocks[name] = now
                held[name] = group.frontier(name)
                known = self._known(name, matches.get(name, []), held[name])
                if known:
                    inputs[name] = derived_events(known, self._order.ranks[name], self.strings)
        return held

    def _known(self, name: str, results: list[ResultBatch], frontier: Frontier | None) -> list[ResultBatch]:
        """The results that are events for readers now: none that LONGEST still holds comes before them."""
        results = [*self._unread.pop(name, ()), *results]
        if frontier is None:
            return results
        known = [frontier.follows(result.order, result.end) for result in results]
        later = [result.filter(~before) for result, before in zip(results, known, strict=True) if not before.all()]
        if later:
            self._unread[name] = [result.without_buffer() for result in later]
        return [result.filter(before) for result, before in zip(results, known, strict=True)]

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        """All that a later batch needs, as plain values and arrays."""
        return {
            "strings": self.strings.state(),
            "order": self._order.count,
            "times": self._order.state() if self._order.oldest is not None else None,
            "clock": dict(self._clocks),
            "until": self._until,
            "ledger": self.ledger.state(),
            "fed": [group.state() for group in self.groups.values()],
            "delayed": [self._delayed[key].state() if key in self._delayed else None for key in self.groups],
            "unread": {name: [[r.id, results_state(r)] for r in results] for name, results in self._unread.items()},
        }

    @classmethod
    def restore(
        cls,
        state: Mapping[str, Any],
        plan: MatchPlan,
        strings: StringDictionary,
        tables: Mapping[str, TemplateTable],
        limits: Limits | None = None,
        observers: ObserverFactory = NO_OBSERVERS,
        stages: Mapping[str, ResultStage] | None = None,
    ) -> MatchRuntime:
        """The runtime that a snapshot describes. `plan` restores `records(state)`, `strings` is `strings_of(state)`."""
        runtime = cls.__new__(cls)
        runtime._begin(plan, strings, limits, observers, stages)
        runtime.ledger.restore(state["ledger"])
        runtime._order.restore(state["order"], state.get("times"))
        runtime._restore_clocks(state)
        bounds: dict[InputPlan, StateBounds] = {}
        for recorded in state["fed"]:
            group = runtime._group(plan.input_of(recorded["statements"][0]))
            require(group.plan.input not in bounds, "groups of statements")
            group.stages |= {name: s for name, s in runtime.stages.items() if name in group.plan.statements}
            bounds[group.plan.input] = group.restore(recorded, tables, 2 * runtime._order.count)
            for statement in group.plan.statements.values():
                runtime._read_columns(group, statement)
        runtime._restore_delayed(state, bounds)
        runtime._check_clocks()
        return runtime

    def _restore_clocks(self, state: Mapping[str, Any]) -> None:
        is_float = all(key.time is Type.FLOAT for key in self.plan.inputs)
        for name, time in state["clock"].items():
            self._clocks[str(name)] = instant(time, "the time of a stream", is_float=is_float)
        self._until = instant(state["until"], "the time", is_float=is_float)

    def _check_clocks(self) -> None:
        """Refuse clocks that are ahead of a group: time would pass that the group has not processed."""
        for key, group in self.groups.items():
            times = [self._clocks[name] for name in key.streams if name in self._clocks]
            if math.isfinite(group.now) and key not in self._delayed:
                require(max([self._until, *times]) <= group.now, "the times of streams")

    def _restore_delayed(self, state: Mapping[str, Any], bounds: Mapping[InputPlan, StateBounds]) -> None:
        """Continues with the events that wait. Early snapshots have none."""
        recorded_inputs = state.get("delayed", [])
        require(len(recorded_inputs) in (0, len(self.groups)), "the events that wait")
        for key, delayed in zip(self.groups, recorded_inputs, strict=False):
            if delayed is not None:
                self._delayed[key] = DelayedInputs()
                self._delayed[key].restore(delayed, key, bounds[key])
        for name, results in state.get("unread", {}).items():
            key = self.plan.input_of(name).input
            group = self.groups[key]
            self._unread[name] = [
                group.unread_results(name, row_id, recorded, bounds[key]) for row_id, recorded in results
            ]
