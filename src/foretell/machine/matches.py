"""Finished matches as columns: their events in order, and what expressions about whole matches are worth.

What the kernel could not judge is judged here, for all matches of a batch at once: an expression over a match becomes
an expression over columns that are gathered from the matches' events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.compiled import compiled
from foretell.events.types import Type
from foretell.filter.columns import Column, Strings, evaluate
from foretell.language import tree
from foretell.machine.history import History
from foretell.machine.kernel import overflows
from foretell.machine.stage import Found
from foretell.plan.program import Program
from foretell.plan.registers import Register

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled
def _sizes(chain: Ints, nodes: Any, slots: Ints, nulls: Any) -> tuple[Ints, Ints]:
    """Where the events of each match begin when all stand in a row, and where its gaps; one more at the end."""
    (parent, _, step) = nodes
    starts = np.zeros(chain.size + 1, np.int64)
    gap_starts = np.zeros(chain.size + 1, np.int64)
    for i in range(chain.size):
        events, gaps = 0, 0
        for k in range(slots.size):
            if not nulls[i, slots[k]]:
                events += 1
        node = chain[i]
        while node != -1:
            if step[node] >= 0:
                events += 1
            else:
                gaps += 1
            node = parent[node]
        starts[i + 1] = starts[i] + events
        gap_starts[i + 1] = gap_starts[i] + gaps // 2
    return starts, gap_starts


@compiled
def _gather(chain: Ints, nodes: Any, numbers: Ints, slots: Ints, slot: Any, nulls: Any, events: Any, gaps: Any) -> None:
    """The events of each match, from its registers and its chain, in order; and its gaps."""
    (parent, node_position, node_step) = nodes
    (starts, match, step, position) = events
    (gap_starts, gap_match, negation, after, before) = gaps
    for i in range(chain.size):
        first, at, gap = starts[i], starts[i], gap_starts[i]
        node = chain[i]
        taken = 0
        while taken < slots.size or node != -1:
            if taken < slots.size:
                k = slots[taken]
                taken += 1
                if nulls[i, k]:
                    continue
                new_step, new_position = numbers[taken - 1], slot[i, k]
            else:
                new_step, new_position = node_step[node], node_position[node]
                if new_step < 0:
                    # A gap lies in the chain as two nodes, the later one first: see GAP in the kernel.
                    gap_match[gap] = i
                    negation[gap] = -new_step // 2 - 1
                    before[gap] = new_position
                    after[gap] = node_position[parent[node]]
                    gap += 1
                    node = parent[parent[node]]
                    continue
                node = parent[node]
            # Matches are short and come almost sorted, so each event is moved to its place.
            to = at
            while to > first and position[to - 1] > new_position:
                position[to], step[to] = position[to - 1], step[to - 1]
                to -= 1
            match[at], position[to], step[to] = i, new_position, new_step
            at += 1


@dataclass(frozen=True)
class Gaps:
    """The gaps of negations that are looked into at the end: which match, which negation, from where to where."""

    match: Ints
    negation: Ints
    after: Ints
    before: Ints

    @classmethod
    def none(cls) -> Gaps:
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))

    def kept(self, keep: Flags, numbers: Ints) -> Gaps:
        mine = keep[self.match]
        return Gaps(numbers[self.match[mine]], self.negation[mine], self.after[mine], self.before[mine])


@dataclass(frozen=True)
class Matches:
    """`match`, `step` and `position` list the bound events, those of one match together and in order.

    `deadline` is NaN-free: a match that time completed has `late` set and ends at `end`.
    """

    program: Program
    history: History
    strings: Strings
    lane: Ints
    rows: Ints
    slots: Ints
    nulls: NDArray[np.uint8]
    late: Flags
    match: Ints
    step: Ints
    position: Ints
    gaps: Gaps
    parameters: Mapping[str, Column]

    @classmethod
    def of(
        cls,
        program: Program,
        history: History,
        strings: Strings,
        found: Found,
        nodes: tuple[Ints, Ints, Ints],
        parameters: Mapping[str, Column],
    ) -> Matches:
        numbers = [n for n, name in enumerate(program.steps) if Register("position", name) in program.registers]
        slots = [program.registers[Register("position", program.steps[n])] for n in numbers]
        starts, gap_starts = _sizes(found.chain, nodes, np.array(slots, np.int64), found.nulls)
        match, step, position = (np.empty(starts[-1], np.int64) for _ in range(3))
        gaps = tuple(np.empty(gap_starts[-1], np.int64) for _ in range(4))
        _gather(
            found.chain,
            nodes,
            np.array(numbers, np.int64),
            np.array(slots, np.int64),
            found.slots,
            found.nulls,
            (starts, match, step, position),
            (gap_starts, *gaps),
        )
        return cls(
            program,
            history,
            strings,
            found.lane,
            found.rows,
            found.slots,
            found.nulls,
            found.position < 0,
            match,
            step,
            position,
            Gaps(*gaps),
            parameters,
        )

    @classmethod
    def joined(cls, parts: list[Matches], history: History) -> Matches:
        """The matches of several batches, all speaking of one history."""
        firsts = np.cumsum([0, *(len(p) for p in parts)])
        return replace(
            parts[-1],
            history=history,
            lane=np.concatenate([p.lane for p in parts]),
            rows=np.concatenate([p.rows for p in parts]),
            slots=np.concatenate([p.slots for p in parts]),
            nulls=np.concatenate([p.nulls for p in parts]),
            late=np.concatenate([p.late for p in parts]),
            match=np.concatenate([p.match + first for p, first in zip(parts, firsts)]),
            step=np.concatenate([p.step for p in parts]),
            position=np.concatenate([p.position for p in parts]),
            gaps=Gaps.none(),
        )

    def __len__(self) -> int:
        return len(self.lane)

    def kept(self, keep: Flags) -> Matches:
        """Only some of the matches."""
        if keep.all():
            return self
        numbers = np.cumsum(keep) - 1
        events = keep[self.match]
        return replace(
            self,
            lane=self.lane[keep],
            rows=self.rows[keep],
            slots=self.slots[keep],
            nulls=self.nulls[keep],
            late=self.late[keep],
            match=numbers[self.match[events]],
            step=self.step[events],
            position=self.position[events],
            gaps=self.gaps.kept(keep, numbers),
        )

    @cached_property
    def starts(self) -> Ints:
        """Where the events of each match begin; one more at the end."""
        return np.searchsorted(self.match, np.arange(len(self) + 1))

    @cached_property
    def first(self) -> Ints:
        return self.position[self.starts[:-1]]

    @cached_property
    def last(self) -> Ints:
        return self.position[self.starts[1:] - 1]

    @cached_property
    def start(self) -> NDArray[Any]:
        return self.history.events.start.values[self.first - self.history.base]

    @cached_property
    def end(self) -> NDArray[Any]:
        ended = self.history.events.time.values[self.last - self.history.base]
        within = self.program.subscription.within
        return np.where(self.late, self.start + within, ended) if within is not None else ended

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event; None where there is none."""
        return int(self.position.min()) if len(self.position) else None

    def of_step(self, step: str, *, latest: bool) -> Ints:
        """The position of each match's first or latest event of a step; -1 without one."""
        found = np.full(len(self), -1, np.int64)
        mine = np.flatnonzero(self.step == self.program.steps.index(step))
        mine = mine if latest else mine[::-1]
        found[self.match[mine]] = self.position[mine]
        return found

    # ── expressions ──

    def worth(self, expression: tree.Expression, rows: Rows | None = None) -> Column:
        """What an expression is worth for each match, or for each of the given rows."""
        return _Gathering(self, rows or Rows(np.arange(len(self)))).worth(expression)

    def holds(self, condition: tree.Expression, rows: Rows | None = None) -> Flags:
        truth = self.worth(condition, rows)
        return np.asarray((truth.values != 0) & ~truth.nulls, np.bool_)


@dataclass(frozen=True)
class Rows:
    """For what an expression is asked: a match each and, where it is a step's condition, an event tried for it."""

    match: Ints
    owner: str | None = None
    this: Ints | None = None
    previous: Ints | None = None
    until: Ints | None = None  # how far steps that are repeated together with the owner are seen


class _Gathering:
    """Turns an expression over matches into one over columns."""

    def __init__(self, matches: Matches, rows: Rows) -> None:
        self.matches, self.rows = matches, rows
        self.columns: dict[str, Column] = {}

    def worth(self, expression: tree.Expression) -> Column:
        subscription = self.matches.program.subscription
        plain = self._plain(expression)
        count = len(self.rows.match)
        time = Column(subscription.time, np.zeros(count, np.int64), np.ones(count, np.bool_))
        types = {name: column.kind for name, column in self.columns.items()}
        return evaluate(plain, self.columns, time, None, self.matches.strings, subscription.time, types)

    def _plain(self, expression: tree.Expression) -> tree.Expression:
        match expression:
            case tree.Attribute(event=event) | tree.TimeOf(event=event) | tree.StreamOf(event=event):
                return self._given(expression, self._of_event(expression, self._positions(event)))
            case tree.Aggregate():
                return self._given(expression, self._aggregate(expression))
            case tree.Variable(name=name):
                return self._given(expression, self._variable(name))
            case tree.Elapsed():
                return self._given(expression, self._elapsed())
            case tree.Parameter(name=name):
                column = self.matches.parameters[name]
                zeros = np.zeros(len(self.rows.match), np.int64)
                return self._given(expression, Column(column.kind, column.values[zeros], column.nulls[zeros]))
        changes: dict[str, Any] = {}
        for one in fields(expression):
            value = getattr(expression, one.name)
            if isinstance(value, tree.Expression):
                changes[one.name] = self._plain(value)
            elif isinstance(value, tuple):
                changes[one.name] = tuple(self._plain(v) if isinstance(v, tree.Expression) else v for v in value)
        return replace(expression, **changes) if changes else expression

    def _given(self, expression: tree.Expression, column: Column) -> tree.Expression:
        name = f"#{len(self.columns)}"
        self.columns[name] = column
        return tree.Attribute(tree.This(), name)

    def _positions(self, event: tree.EventReference) -> Ints:
        rows = self.rows
        match event:
            case tree.This():
                assert rows.this is not None
                return rows.this
            case tree.Previous():
                assert rows.previous is not None
                return rows.previous
            case tree.First(step=step) if step in self.matches.program.steps:
                found = self.matches.of_step(str(step), latest=False)[rows.match]
                if rows.until is not None and self._runs_with(str(step)):
                    return np.where(found <= rows.until, found, -1)
                return found
            case tree.Bound(step=step) | tree.Last(step=step) | tree.First(step=step):
                if step == rows.owner and rows.this is not None:
                    return rows.this
                if self._runs_with(str(step)):
                    return self._latest(str(step))
                return self.matches.of_step(str(step), latest=True)[rows.match]
        raise AssertionError(event)

    def _runs_with(self, step: str) -> bool:
        """Whether a step is repeated together with the one whose condition this is."""
        steps = self.matches.program.subscription.steps
        if self.rows.owner is None or self.rows.until is None:
            return False
        return bool(steps[self.rows.owner].shape.loops & steps[step].shape.loops)

    def _latest(self, step: str) -> Ints:
        """The latest event of a step up to where it is seen."""
        matches, rows = self.matches, self.rows
        assert rows.until is not None
        mine = np.flatnonzero(matches.step == matches.program.steps.index(step))
        if not len(mine):
            return np.full(len(rows.match), -1, np.int64)
        width = int(max(matches.position.max(), rows.until.max(initial=0))) + 1
        keys = matches.match[mine] * width + matches.position[mine]
        at = np.searchsorted(keys, rows.match * width + rows.until, side="right") - 1
        found = np.where(at >= 0, mine[np.maximum(at, 0)], -1)
        same = (found >= 0) & (matches.match[np.maximum(found, 0)] == rows.match)
        return np.where(same, matches.position[np.maximum(found, 0)], -1)

    def _of_event(self, expression: tree.Expression, positions: Ints) -> Column:
        history = self.matches.history
        subscription = self.matches.program.subscription
        match expression:
            case tree.TimeOf():
                return _retyped(history.gather(history.events.time, positions), subscription.time)
            case tree.StreamOf():
                return history.gather(history.events.stream, positions)
            case tree.Attribute(name=name):
                kind = subscription.attributes.get(name, Type.NULL)
                column = history.events.attributes.get(name)
                if column is None:
                    return Column(kind, np.zeros(len(positions), np.int64), np.ones(len(positions), np.bool_))
                return _retyped(history.gather(column, positions), kind)
        raise AssertionError(expression)

    def _variable(self, name: str) -> Column:
        kind = self.matches.program.subscription.variables[name]
        slot = self.matches.program.registers[Register("variable", name)]
        words = np.ascontiguousarray(self.matches.slots[self.rows.match, slot])
        values = words.view(np.float64) if kind is Type.FLOAT else words
        return Column(kind, values, self.matches.nulls[self.rows.match, slot] != 0)

    def _elapsed(self) -> Column:
        matches, history = self.matches, self.matches.history
        until = matches.last[self.rows.match] if self.rows.this is None else self.rows.this
        ended = history.gather(history.events.time, until)
        passed = ended.values - matches.start[self.rows.match]
        kind = (
            Type.DURATION if matches.program.subscription.time is Type.TIMESTAMP else matches.program.subscription.time
        )
        # What comes before the match, as a negation may, has no duration.
        return Column(kind, passed, ended.nulls | (until < matches.first[self.rows.match]))

    def _aggregate(self, aggregate: tree.Aggregate) -> Column:
        matches = self.matches
        mine = np.flatnonzero(matches.step == matches.program.steps.index(aggregate.step))
        owner = matches.match[mine]
        if self._runs_with(str(aggregate.step)):
            return self._running(aggregate, mine)
        if aggregate.attribute is None:
            counts = np.bincount(owner, minlength=len(matches))
            return Column(Type.INT, counts[self.rows.match], np.zeros(len(self.rows.match), np.bool_))
        attribute = tree.Attribute(tree.This(), aggregate.attribute)
        values = self._of_event(attribute, matches.position[mine])
        known = ~values.nulls
        found = _aggregated(
            aggregate.function, owner[known], values.values[known], values.kind, len(matches), matches.strings
        )
        return Column(found.kind, found.values[self.rows.match], found.nulls[self.rows.match])

    def _running(self, aggregate: tree.Aggregate, mine: Ints) -> Column:
        """An aggregate over the events that are seen, which are others for each row."""
        matches, rows = self.matches, self.rows
        assert rows.until is not None
        own = aggregate.step == rows.owner
        pairs = [
            (row, at)
            for row, (match, until) in enumerate(zip(rows.match.tolist(), rows.until.tolist()))
            for at in mine[matches.match[mine] == match].tolist()
            if matches.position[at] < until or (matches.position[at] == until and not own)
        ]
        owner = np.array([row for row, _ in pairs], np.int64)
        events = np.array([at for _, at in pairs], np.int64)
        count = len(rows.match)
        if aggregate.attribute is None:
            return Column(Type.INT, np.bincount(owner, minlength=count), np.zeros(count, np.bool_))
        values = self._of_event(tree.Attribute(tree.This(), aggregate.attribute), matches.position[events])
        known = ~values.nulls
        return _aggregated(aggregate.function, owner[known], values.values[known], values.kind, count, matches.strings)


def _retyped(column: Column, kind: Type) -> Column:
    if column.kind is Type.INT and kind is Type.FLOAT:
        return Column(kind, column.values.astype(np.float64), column.nulls)
    return Column(kind, column.values, column.nulls)


def _aggregated(function: str, owner: Ints, values: NDArray[Any], kind: Type, count: int, strings: Strings) -> Column:
    """An aggregate for each of `count` matches, in the order of the events, as the reference adds them up."""
    counts = np.bincount(owner, minlength=count)
    if function == "count":
        return Column(Type.INT, counts, np.zeros(count, np.bool_))
    unknown = counts == 0
    if function in ("min", "max"):
        return Column(kind, _extreme(function, owner, values, kind, count, strings), unknown)
    if kind is Type.FLOAT:
        totals = np.full(count, -0.0)  # to which -0.0 can be added
        _add_floats(owner, values, totals)
        bad = ~np.isfinite(totals)
    else:
        totals = np.zeros(count, np.int64)
        bad = np.zeros(count, np.bool_)
        _add_ints(owner, values, totals, bad)
    if function == "sum":
        return Column(kind, totals, unknown | bad)
    means = totals / np.maximum(counts, 1)
    if kind is not Type.FLOAT:
        # A long sum is divided exactly, as Python does it, and not as the float nearest to it.
        for i in np.flatnonzero(np.abs(totals) >= 2**53).tolist():
            means[i] = int(totals[i]) / max(1, int(counts[i]))
    return Column(Type.FLOAT, means, unknown | bad | ~np.isfinite(means))


def _extreme(
    function: str, owner: Ints, values: NDArray[Any], kind: Type, count: int, strings: Strings
) -> NDArray[Any]:
    if kind is Type.STRING:
        texts: dict[int, str] = {}
        choose = min if function == "min" else max
        for one, code in zip(owner.tolist(), values.tolist()):
            text = strings.text(code)
            texts[one] = choose(texts[one], text) if one in texts else text
        result = np.zeros(count, np.int64)
        for one, text in texts.items():
            result[one] = strings.code(text)
        return result
    result = np.zeros(count, values.dtype)
    order = np.argsort(values, kind="stable")
    order = order if function == "max" else order[::-1]
    result[owner[order]] = values[order]  # of several, the one written last stays
    return result


@compiled
def _add_floats(owner: Ints, values: Any, totals: Any) -> None:
    for i in range(owner.size):
        totals[owner[i]] += values[i]


@compiled
def _add_ints(owner: Ints, values: Any, totals: Any, bad: Any) -> None:
    for i in range(owner.size):
        if bad[owner[i]] or overflows(totals[owner[i]], values[i]):
            bad[owner[i]] = True
        else:
            totals[owner[i]] += values[i]
