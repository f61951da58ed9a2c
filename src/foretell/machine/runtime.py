"""The statements of a program at work on batches of events."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from foretell.events.ingest.reader import EventBatch
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.machine.exec.limits import Limits, RunLedger
from foretell.machine.input.event_order import EventOrder, OrderedInput
from foretell.machine.input.merged_stream import MergedStream, needed
from foretell.machine.input_group import InputGroup
from foretell.machine.matches.derived_events import derived_events
from foretell.machine.matches.results import ResultBatch
from foretell.machine.observe.forecast_emitter import ObservedStatement
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory
from foretell.plan.lower.program import UnsupportedError

#: So many events are worked on at once. On the tick workloads, in one run, this was up to 1.3 times as fast as a
#: million at once, whose columns fall out of the cache, and 1.5 times as fast as 16,384, where each part has its cost.
PART = 262_144


def _parts(loaded: Mapping[str, EventBatch]) -> list[Mapping[str, EventBatch]]:
    """A long batch in parts, where it can be cut: one stream that comes in the order of time."""
    if len(loaded) != 1:
        return [loaded]
    ((name, one),) = loaded.items()
    count = one.table.num_rows
    assert one.schema.time is not None
    if count <= PART or one.schema.order is not None:
        return [loaded]
    times = one.table[one.schema.time]
    if pc.any(pc.less(times.slice(1), times.slice(0, count - 1))).as_py():
        return [loaded]
    return [{name: replace(one, table=one.table.slice(first, PART))} for first in range(0, count, PART)]


class MatchRuntime:
    """A checked program on finite or growing inputs. Statements may come and go between batches.

    `ranks` is of those who add statements: it has grown by the time that one comes.
    """

    def __init__(
        self,
        checked: CheckedProgram,
        tables: Mapping[str, TemplateTable] | None = None,
        limits: Limits | None = None,
        watching: ObserverFactory = NO_OBSERVERS,
    ) -> None:
        self._begin(checked.ranks, StringDictionary(), limits or Limits(), watching)
        for statement in checked.statements:
            table = None if isinstance(statement, CheckedCorrelator) else statement.tree.table
            self.add(statement, None if table is None else (tables or {})[table])

    def _begin(
        self, ranks: Mapping[str, int], strings: StringDictionary, limits: Limits, watching: ObserverFactory
    ) -> None:
        self.strings = strings
        self._watching = watching
        self.ledger = RunLedger(limits)
        self._order = EventOrder(ranks)
        self._clock: dict[str, int | float] = {}
        self._until: int | float = -math.inf
        self._fed: dict[tuple[object, ...], InputGroup] = {}
        self._where: dict[str, tuple[object, ...]] = {}
        self._needed: dict[str, set[str]] = {}

    # ── statements ──

    def add(self, statement: CheckedStatement, table: TemplateTable | None = None) -> None:
        """A statement more, from the next event on. One that is not supported changes nothing."""
        if isinstance(statement, CheckedCorrelator):
            raise UnsupportedError("CORRELATE")
        if statement.tree.losing is not None:
            raise UnsupportedError("LOSING")
        place = MergedStream.place(statement)
        fed = self._fed.get(place) or self._new_fed(statement)
        fed.add(statement, table)
        self._fed[place] = fed
        self._note(place, statement)

    def _new_fed(self, statement: CheckedSubscription) -> InputGroup:
        return InputGroup(MergedStream(statement, self.strings, self.ledger), self.strings, watching=self._watching)

    def _note(self, place: tuple[object, ...], statement: CheckedSubscription) -> None:
        self._where[statement.name] = place
        names = needed(statement) | self._watching.attributes(statement)
        self._fed[place].feed.needed |= names
        for stream in statement.tree.streams:
            self._needed.setdefault(str(stream), set()).update(names)

    def __contains__(self, name: object) -> bool:
        """Whether a statement is at work."""
        return name in self._where

    def remove(self, name: str) -> None:
        """A statement less, which no other reads. What it needed of its streams is asked for on, as long as others
        read them."""
        place = self._where.pop(name)
        fed = self._fed[place]
        fed.remove(name)
        self._clock.pop(name, None)
        self._needed.pop(name, None)
        if not fed.placed:
            del self._fed[place]

    def add_rows(self, name: str, table: TemplateTable) -> None:
        """More rows of a template, from the next event on."""
        self._fed[self._where[name]].add_rows(name, table)

    def remove_rows(self, name: str, ids: list[Scalar]) -> None:
        self._fed[self._where[name]].remove_rows(name, ids)

    def watched(self, name: str) -> list[ObservedStatement]:
        """What is watched of a statement: of a template, each row by itself."""
        return list(self._fed[self._where[name]].watched(name))

    # ── events ──

    def tell(
        self,
        loaded: Mapping[str, EventBatch],
        until: int | float | None = None,
        clocks: Mapping[str, int | float] | None = None,
    ) -> list[ResultBatch]:
        """What a batch of each stream brings, as columns. Batches come in the order of time; within one, the order is
        the engine's to find.

        Time goes on to `until` for all statements, and to a stream's clock for those that read the stream.
        """
        *parts, last = _parts(loaded)
        told = [told for part in parts for told in self._tell(part, None, {})]
        return [*told, *self._tell(last, until, clocks or {})]

    def _tell(
        self, loaded: Mapping[str, EventBatch], until: int | float | None, clocks: Mapping[str, int | float]
    ) -> list[ResultBatch]:
        inputs = self._order.inputs(loaded, self.strings, self._needed)
        for name, some in inputs.items():
            if len(some):
                self._clock[name] = max(self._clock.get(name, -math.inf), some.events.time.values.max().item())
        for name, time in clocks.items():
            self._clock[name] = max(self._clock.get(name, -math.inf), time)
        if until is not None:
            self._until = max(self._until, until)
        everything: list[ResultBatch] = []
        for fed in self._fed.values():
            streams = [str(s) for s in fed.feed.checked.tree.streams]
            times = [self._clock[n] for n in streams if n in self._clock]
            if math.isfinite(self._until):
                times.append(self._until)
            if times:
                told = fed.tell([inputs[n] for n in streams if n in inputs], max(times), self._order)
                self._pass_on(fed, told, max(times), inputs)
                everything += told
        return everything

    def _pass_on(
        self, fed: InputGroup, told: list[ResultBatch], now: int | float, inputs: dict[str, OrderedInput]
    ) -> None:
        """Results as events, for the statements that read them."""
        mine: dict[str, list[ResultBatch]] = {}
        for one in told:
            if one.forecasts is None:
                mine.setdefault(one.schema.name, []).append(one)
        for name in self._needed:
            if name in fed.placed:
                self._clock[name] = now
                if name in mine:
                    inputs[name] = derived_events(mine[name], self._order.ranks[name])

    # ── state ──

    def state(self) -> dict[str, Any]:
        """All that a later batch needs, as plain values and arrays."""
        return {
            "strings": self.strings.state(),
            "order": self._order.count,
            "clock": dict(self._clock),
            "until": self._until,
            "ledger": self.ledger.state(),
            "fed": [fed.state() for fed in self._fed.values()],
        }

    @classmethod
    def restore(
        cls,
        state: Mapping[str, Any],
        checked: CheckedProgram,
        tables: Mapping[str, TemplateTable],
        rechecked: Callable[[str], CheckedSubscription],
        limits: Limits | None = None,
        watching: ObserverFactory = NO_OBSERVERS,
    ) -> MatchRuntime:
        """`checked` are the statements that were at work; `rechecked` gives one that had left, from its text."""
        running = cls.__new__(cls)
        running._begin(checked.ranks, StringDictionary.restore(state["strings"]), limits or Limits(), watching)
        running.ledger.restore(state["ledger"])
        running._order.count = state["order"]
        running._clock, running._until = dict(state["clock"]), state["until"]
        statements = {s.name: s for s in checked.statements if isinstance(s, CheckedSubscription)}
        for one in state["fed"]:
            first = statements[one["statements"][0]]
            place = MergedStream.place(first)
            running._fed[place] = running._new_fed(first)
            running._fed[place].restore(one, statements, tables, rechecked)
            for name in one["statements"]:
                running._note(place, statements[name])
        return running
