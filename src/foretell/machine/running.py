"""The statements of a program at work on batches of events."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow.compute as pc

from foretell.events.notification import Notification
from foretell.events.read import Loaded, LoadedTable
from foretell.events.types import Type
from foretell.filter.columns import Strings
from foretell.filter.selection import Selection
from foretell.language import tree
from foretell.language.checked import Checked, CheckedCorrelator, CheckedStatement, CheckedSubscription
from foretell.machine.feed import Feed, needed
from foretell.machine.group import Group
from foretell.machine.ordering import Input, Order
from foretell.machine.silent import Silent
from foretell.machine.subscription import Subscription, several_values
from foretell.machine.told import Told, derived, rows
from foretell.plan.program import UnsupportedError
from foretell.plan.registers import Registers
from foretell.plan.selection import selection_of
from foretell.plan.strategy import kind_of

#: So many events are worked on at once. On the tick workloads, in one run, this was up to 1.3 times as fast as a
#: million at once, whose columns fall out of the cache, and 1.5 times as fast as 16,384, where each part has its cost.
PART = 262_144


def _parts(loaded: Mapping[str, Loaded]) -> list[Mapping[str, Loaded]]:
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


@dataclass
class Fed:
    """All that reads one feed."""

    feed: Feed
    groups: list[Group] = field(default_factory=list)
    silent: list[Silent] = field(default_factory=list)

    def tell(self, inputs: list[Input], now: int | float, order: Order) -> list[Told]:
        piece = self.feed.take(inputs)
        told = [one for group in self.groups for one in group.tell(piece, now, order)]
        told += [one.tell(piece, now, order) for one in self.silent]
        if self.feed.crowded:
            self._forget(now)
        return told

    def _forget(self, now: int | float) -> None:
        """Lets go of events that nothing can speak of any more."""
        oldest = [group.oldest for group in self.groups]
        for group in self.groups:
            oldest += [self._window(m, now) for m in group.members.values() if m.program.leading]
        limit = min((o for o in oldest if o is not None), default=self.feed.positions)
        remembers = any(m.program.remembers for group in self.groups for m in group.members.values())
        self.feed.forget(0 if remembers else limit)
        for group in self.groups:
            for member in group.members.values():
                member.forget(limit)

    def _window(self, member: Subscription, now: int | float) -> int:
        """From where a negation that leads may still look."""
        within = member.checked.within
        assert within is not None
        whole = self.feed.history.whole
        return whole.base + int(np.searchsorted(whole.events.time.values + within, now, side="left"))


class Running:
    """A checked program on finite or growing inputs."""

    def __init__(self, checked: Checked, tables: Mapping[str, LoadedTable] | None = None) -> None:
        self.checked = checked
        self.strings = Strings()
        self._order = Order(checked.ranks)
        self._clock: dict[str, int | float] = {}
        self._until: int | float = -math.inf
        self._fed: dict[tuple[object, ...], Fed] = {}
        self._needed: dict[str, set[str]] = {}
        self._read: set[str] = set()
        for statement in checked.statements:
            self._add(statement, tables or {})

    # ── statements ──

    def _add(self, statement: CheckedStatement, tables: Mapping[str, LoadedTable]) -> None:
        if isinstance(statement, CheckedCorrelator):
            raise UnsupportedError("CORRELATE")
        if statement.tree.losing is not None:
            raise UnsupportedError("LOSING")
        place = Feed.place(statement)
        fed = self._fed.setdefault(place, Fed(Feed(statement, self.strings)))
        names = needed(statement)
        fed.feed.needed |= names
        for stream in statement.tree.streams:
            self._needed.setdefault(str(stream), set()).update(names)
            self._read.add(str(stream))
        table = None if statement.tree.table is None else tables[statement.tree.table]
        if isinstance(statement.pattern, tree.Silence):
            self._add_silent(fed, statement, table)
        elif table is None:
            self._group(fed, statement).add(statement)
        else:
            self._add_template(fed, statement, table)

    def _group(self, fed: Fed, statement: CheckedSubscription) -> Group:
        """A group that a subscription can join."""
        kind = kind_of(statement)
        for group in fed.groups:
            if group.kind == kind and group.open:
                return group
        group = Group(fed.feed, self.strings, kind=kind)
        fed.groups.append(group)
        return group

    def _add_silent(self, fed: Fed, statement: CheckedSubscription, table: LoadedTable | None) -> None:
        if table is None:
            fed.silent.append(Silent(statement, self.strings, fed.feed))
            return
        for row in table.rows:
            parameters = {n: several_values([row[n]], kind, self.strings) for n, kind in table.types.items()}
            fed.silent.append(Silent(statement, self.strings, fed.feed, row.get("id"), parameters))

    def _add_template(self, fed: Fed, statement: CheckedSubscription, table: LoadedTable) -> None:
        """The rows of a template: one machine for all where their parameters allow it, else one for each."""
        selection = self._selection(statement, table)
        if selection is not None:
            group = Group(fed.feed, self.strings, selection=selection, kind=kind_of(statement, shared=False))
            member = group.add(statement, table.types)
            # What each row is called is looked up when it matches.
            member.row_ids = [table.rows[i].get("id") for i in selection.rows_in_order.tolist()]
            fed.groups.append(group)
            return
        for row in table.rows:
            parameters = {n: several_values([row[n]], kind, self.strings) for n, kind in table.types.items()}
            group = Group(fed.feed, self.strings, parameters, kind=kind_of(statement, shared=False))
            group.add(statement, table.types).id = row.get("id")
            fed.groups.append(group)

    def _selection(self, statement: CheckedSubscription, table: LoadedTable) -> Selection | None:
        comparisons = selection_of(statement)
        if comparisons is None or not table.rows:
            return None
        columns = {n: several_values([r[n] for r in table.rows], k, self.strings) for n, k in table.types.items()}
        kinds = [(Registers(statement).event_type(c.expression), table.types[c.parameter]) for c in comparisons]
        if any(c.operator != "=" and Type.STRING in k for c, k in zip(comparisons, kinds, strict=True)):
            return None
        return Selection(comparisons, columns, [Type.FLOAT in k for k in kinds])

    # ── events ──

    def feed(self, loaded: Mapping[str, Loaded], until: int | float | None = None) -> list[Notification]:
        """The notifications that a batch of each stream brings, in their order."""
        return rows(self.tell(loaded, until))

    def tell(self, loaded: Mapping[str, Loaded], until: int | float | None = None) -> list[Told]:
        """The same as columns. Batches come in the order of time; within one, the order is the engine's to find."""
        *parts, last = _parts(loaded)
        return [*(told for part in parts for told in self._tell(part, None)), *self._tell(last, until)]

    def _tell(self, loaded: Mapping[str, Loaded], until: int | float | None) -> list[Told]:
        inputs = self._order.inputs(loaded, self.strings, self._needed)
        for name, some in inputs.items():
            if len(some):
                self._clock[name] = max(self._clock.get(name, -math.inf), some.events.time.values.max().item())
        if until is not None:
            self._until = max(self._until, until)
        everything: list[Told] = []
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

    def _pass_on(self, fed: Fed, told: list[Told], now: int | float, inputs: dict[str, Input]) -> None:
        """Results as events, for the statements that read them."""
        mine: dict[str, list[Told]] = {}
        for one in told:
            mine.setdefault(one.checked.name, []).append(one)
        for name, some in mine.items():
            self._clock[name] = now
            if name in self._read:
                inputs[name] = derived(some, self.checked.ranks[name])
