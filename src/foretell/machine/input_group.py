"""All that reads one feed: groups of subscriptions and silences, as they come and go."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.types import Scalar, Type
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.machine.exec.absence_executor import AbsenceExecutor
from foretell.machine.input.event_order import EventOrder, OrderedInput
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.matches.results import ResultBatch
from foretell.machine.nfa_group import NfaGroup
from foretell.machine.observe.forecast_emitter import ForecastEmitter, ObservedStatement
from foretell.machine.observe.observer import NO_OBSERVERS, ObserverFactory, go_on, kept
from foretell.machine.subscription_runtime import SubscriptionRuntime
from foretell.machine.template_rows import TemplateRows, parameters_of
from foretell.plan.strategy import GroupKind, Strategy, TemplateMode, choose_strategy

#: What runs a subscription or one row of a template: its silence, or its group and its number there.
Part = AbsenceExecutor | tuple[NfaGroup, int]


@dataclass
class PlacedStatement:
    """A statement at work. `parts` are those of each row of a template, by its id; of any other, and of a template
    whose rows one machine serves, there is one, under None."""

    checked: CheckedSubscription
    types: Mapping[str, Type]
    parts: dict[Scalar, Part] = field(default_factory=dict)

    @property
    def serving(self) -> NfaGroup | None:
        """The group that serves all rows of a template."""
        match self.parts.get(None):
            case (group, _) if group.rows is not None:
                return group
        return None


@dataclass
class InputGroup:
    feed: MergedStream
    strings: StringDictionary
    placed: dict[str, PlacedStatement] = field(default_factory=dict)
    groups: dict[NfaGroup, None] = field(default_factory=dict)
    silent: dict[AbsenceExecutor, None] = field(default_factory=dict)
    watching: ObserverFactory = NO_OBSERVERS
    now: int | float = -math.inf
    _open: dict[GroupKind, NfaGroup] = field(default_factory=dict)

    def tell(self, inputs: list[OrderedInput], now: int | float, order: EventOrder) -> list[ResultBatch]:
        self._settle()
        piece = self.feed.take(inputs)
        told = [one for group in self.groups for one in group.tell(piece, now, order)]
        for silent in self.silent:
            silences = silent.tell(piece, now, order)
            told.append(silences)
            if silent.watcher is not None:
                told += ForecastEmitter(silent.watcher, silent).tell(piece, None, [silences])
        self.now = now
        if self.feed.crowded:
            self._forget()
        return told

    def watched(self, name: str) -> Iterator[ObservedStatement]:
        """A statement, or each row of a template, as those who watch see it."""
        for part in self.placed[name].parts.values():
            if isinstance(part, AbsenceExecutor):
                whose = None if part.watcher is None else ObservedStatement(part.watcher, part, None, (), self.now)
            else:
                whose = part[0].whose(self.now)
            if whose is not None:
                yield whose

    def _settle(self) -> None:
        """Puts to work what has come and gone, and asks for the columns of earlier events that is wanted now."""
        changed = [group for group in self.groups if not group.settled]
        for group in changed:
            group.settle()
        if changed:
            wanted = {one for group in self.groups for one in group.lagged}
            self.feed.lags.want(sorted(wanted, key=str))

    def _forget(self) -> None:
        """Lets go of events that nothing can speak of any more."""
        oldest = [group.oldest for group in self.groups]
        for group in self.groups:
            oldest += [self._window(m) for m in group.members.values() if m.program.leading]
        limit = min((o for o in oldest if o is not None), default=self.feed.positions)
        remembers = any(m.program.remembers for group in self.groups for m in group.members.values())
        self.feed.forget(0 if remembers else limit)
        if not any(group.looks_between for group in self.groups):
            # A partial match may be old, and all that came since is not its own.
            self.feed.keep_only([group.referenced() for group in self.groups])
        for group in self.groups:
            for member in group.members.values():
                member.forget(limit)

    def _window(self, member: SubscriptionRuntime) -> int:
        """From where a negation that leads may still look: a window back from a match that began a window ago, as one
        has that waits for a negation that trails."""
        within = member.checked.within
        assert within is not None
        whole = self.feed.history.whole
        return whole.base + int(np.searchsorted(whole.events.time.values + 2 * within, self.now, side="left"))

    # ── statements ──

    def add(self, statement: CheckedSubscription, table: TemplateTable | None) -> None:
        """A statement more, from the next event on; of a template all rows, in one machine where that can be."""
        placed = PlacedStatement(statement, {} if table is None else table.types)
        strategy = self._strategy(placed)
        if table is not None and strategy.template and strategy.template.value is TemplateMode.ONE_EXECUTOR:
            rows = TemplateRows.of(statement, table, self.strings, self.feed.positions)
            group = NfaGroup(self.feed, self.strings, rows=rows, kind=strategy.group_kind)
            placed.parts[None] = self._joined(group, placed)
        elif table is None:
            placed.parts[None] = self._one(placed)
        elif table.rows or not table.types or isinstance(statement.pattern, tree.Silence):
            self._add_each(placed, table)
        else:  # what cannot be run is refused now, not when the first row comes
            NfaGroup(self.feed, self.strings, kind=strategy.group_kind).add(statement, table.types)
        self.placed[statement.name] = placed

    def remove(self, name: str) -> None:
        for part in self.placed.pop(name).parts.values():
            self._remove(part)

    def add_rows(self, name: str, table: TemplateTable) -> None:
        placed = self.placed[name]
        serving = placed.serving
        if serving is None:
            self._add_each(placed, table)
            return
        assert serving.rows is not None
        serving.move_rows(serving.rows.add(table, self.strings, self.feed.positions))

    def remove_rows(self, name: str, ids: list[Scalar]) -> None:
        placed = self.placed[name]
        serving = placed.serving
        if serving is None:
            for row in ids:
                self._remove(placed.parts.pop(row))
            return
        assert serving.rows is not None
        serving.move_rows(serving.rows.remove(ids))

    def _add_each(self, placed: PlacedStatement, table: TemplateTable) -> None:
        for row in table.rows:
            placed.parts[row["id"]] = self._one(placed, row)

    def _one(self, placed: PlacedStatement, row: Mapping[str, Scalar] | None = None) -> Part:
        """A subscription, or that of one row of a template."""
        statement = placed.checked
        parameters = {} if row is None else parameters_of(row, placed.types, self.strings)
        row_id = None if row is None else row["id"]
        if isinstance(statement.pattern, tree.Silence):
            silent = AbsenceExecutor(statement, self.strings, self.feed, row_id, parameters)
            silent.watcher = self.watching.watcher(statement)
            self.silent[silent] = None
            return silent
        watcher = self.watching.watcher(statement)
        kind = self._strategy(placed).group_kind
        if kind.shares:
            return self._joined(self._group(kind), placed)
        return self._joined(NfaGroup(self.feed, self.strings, parameters, kind=kind, watcher=watcher), placed, row_id)

    def _strategy(self, placed: PlacedStatement) -> Strategy:
        observed = self.watching.watches(placed.checked)
        return choose_strategy(placed.checked, placed.types, observed=observed)

    def _group(self, kind: GroupKind) -> NfaGroup:
        """A group that a subscription can join."""
        group = self._open.get(kind)
        return group if group is not None and group.open else NfaGroup(self.feed, self.strings, kind=kind)

    def _joined(self, group: NfaGroup, placed: PlacedStatement, row_id: Scalar = None) -> Part:
        number = group.add(placed.checked, placed.types, row_id)
        self.groups[group] = None
        if group.open:
            self._open[group.kind] = group
        return group, number

    def _remove(self, part: Part) -> None:
        if isinstance(part, AbsenceExecutor):
            del self.silent[part]
            return
        group, number = part
        group.remove(number)
        if not group.members:
            del self.groups[group]
            self.feed.ledger.held.pop(id(group.stage), None)
            if self._open.get(group.kind) is group:
                del self._open[group.kind]

    # ── state ──

    def state(self) -> dict[str, Any]:
        if self.feed.history.pieces:
            self._forget()
        return {
            "statements": list(self.placed),
            "now": self.now,
            "feed": self.feed.state(),
            "groups": [group.state() for group in self.groups],
            "silent": [[one.checked.name, one.id, one.silences.state(), kept(one.watcher)] for one in self.silent],
        }

    def restore(
        self,
        state: Mapping[str, Any],
        statements: Mapping[str, CheckedSubscription],
        tables: Mapping[str, TemplateTable],
        rechecked: Callable[[str], CheckedSubscription],
    ) -> None:
        """Everybody comes and goes as before, and goes on from where they were."""
        self.now = state["now"]
        self.feed.restore(state["feed"])
        for name in state["statements"]:
            table = statements[name].tree.table
            self.placed[name] = PlacedStatement(statements[name], {} if table is None else tables[table].types)
        rows = _Rows(tables)
        for one in state["groups"]:
            self._restore_group(one, rows, rechecked)
        self.feed.lags.want(sorted({one for group in self.groups for one in group.lagged}, key=str))
        self.feed.lags.restore(state["feed"]["lags"])
        for name, row_id, silences, *watched in state["silent"]:
            placed = self.placed[name]
            part = self._one(placed, None if row_id is None else rows.of(placed.checked, row_id))
            assert isinstance(part, AbsenceExecutor)
            part.silences.restore(silences)
            go_on(part.watcher, watched[0] if watched else None)
            placed.parts[row_id] = part

    def _restore_group(
        self, state: Mapping[str, Any], rows: _Rows, rechecked: Callable[[str], CheckedSubscription]
    ) -> None:
        joined = [self.placed[name].checked if text is None else rechecked(text) for name, text in state["joined"]]
        group = NfaGroup(self.feed, self.strings, kind=GroupKind(state["kind"]))
        if state.get("watcher") is not None:
            group.watcher = self.watching.watcher(joined[0])
        first, row_id = joined[0], next((member["id"] for member in state["members"].values()), None)
        types: Mapping[str, Type] = {}
        if first.tree.table is not None:  # a template has a group to itself
            types, table = self.placed[first.name].types, rows.table(first)
            if row_id is not None:
                group.parameters = parameters_of(rows.of(first, row_id), types, self.strings)
            if state["rows"] is not None:
                group.rows = TemplateRows.of(first, table, self.strings, 0)
                assert group.rows is not None
                group.rows.since = state["rows"]
        for move in state["moves"]:
            if move < 0:
                group.remove(~move)
            else:
                group.add(joined[move], types, row_id)
        group.restore(state)
        self.groups[group] = None
        if group.open:
            self._open[group.kind] = group
        for number, member in group.members.items():
            self.placed[member.checked.name].parts[member.id] = group, number


class _Rows:
    """Rows of tables by their ids."""

    def __init__(self, tables: Mapping[str, TemplateTable]) -> None:
        self._tables = tables
        self._known: dict[str, dict[Scalar, Mapping[str, Scalar]]] = {}

    def table(self, statement: CheckedSubscription) -> TemplateTable:
        return self._tables[str(statement.tree.table)]

    def of(self, statement: CheckedSubscription, row_id: Scalar) -> Mapping[str, Scalar]:
        name = str(statement.tree.table)
        if name not in self._known:
            self._known[name] = {row["id"]: row for row in self._tables[name].rows}
        return self._known[name][row_id]
