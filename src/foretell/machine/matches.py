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

from foretell.events.types import Type
from foretell.filter.columns import Column, Strings, evaluate
from foretell.language import tree
from foretell.machine.compiled import compiled
from foretell.machine.history import History
from foretell.machine.kernel import overflows
from foretell.machine.stage import Found
from foretell.plan.program import Program
from foretell.plan.registers import Register

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled
def _chain_lengths(chain: Ints, parent: Ints) -> Ints:
    lengths = np.zeros(chain.size, np.int64)
    for i in range(chain.size):
        node = chain[i]
        while node != -1:
            lengths[i] += 1
            node = parent[node]
    return lengths


@compiled
def _walk(chain: Ints, nodes: Any, starts: Ints, step: Ints, position: Ints) -> None:
    (parent, node_position, node_step) = nodes
    for i in range(chain.size):
        node = chain[i]
        at = starts[i]
        while node != -1:
            position[at] = node_position[node]
            step[at] = node_step[node]
            at += 1
            node = parent[node]


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

    @classmethod
    def among(cls, match: Ints, step: Ints, position: Ints) -> Gaps:
        """Gaps lie in the chains as pairs of nodes, the later one first: see GAP in the kernel."""
        later = np.flatnonzero((step < 0) & (step % 2 == 0))
        return cls(match[later], -step[later] // 2 - 1, position[later + 1], position[later])

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
        count = len(found)
        matches, steps, positions = [], [], []
        gaps = Gaps.none()
        for number, name in enumerate(program.steps):
            slot = program.registers.get(Register("position", name))
            if slot is not None:
                bound = np.flatnonzero(found.nulls[:, slot] == 0)
                matches.append(bound)
                steps.append(np.full(len(bound), number, np.int64))
                positions.append(found.slots[bound, slot])
        if (found.chain != -1).any():
            lengths = _chain_lengths(found.chain, nodes[0])
            starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
            step, position = np.empty(lengths.sum(), np.int64), np.empty(lengths.sum(), np.int64)
            _walk(found.chain, nodes, starts, step, position)
            owner = np.repeat(np.arange(count), lengths)
            gaps = Gaps.among(owner, step, position)
            events = step >= 0
            matches.append(owner[events])
            steps.append(step[events])
            positions.append(position[events])
        nothing = [np.zeros(0, np.int64)]
        match, step, position = (np.concatenate(some or nothing) for some in (matches, steps, positions))
        order = np.lexsort((position, match))
        return cls(
            program,
            history,
            strings,
            found.lane,
            found.slots,
            found.nulls,
            found.position < 0,
            match[order],
            step[order],
            position[order],
            gaps,
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
            case tree.Bound(step=step) | tree.Last(step=step) | tree.First(step=step):
                if step == rows.owner and rows.this is not None:
                    return rows.this
                latest = not isinstance(event, tree.First)
                if latest and self._runs_with(str(step)):
                    return self._latest(str(step))
                return self.matches.of_step(str(step), latest=latest)[rows.match]
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
        totals = np.zeros(count, np.float64)
        _add_floats(owner, values, totals)
        bad = ~np.isfinite(totals)
    else:
        totals = np.zeros(count, np.int64)
        bad = np.zeros(count, np.bool_)
        _add_ints(owner, values, totals, bad)
    if function == "sum":
        return Column(kind, totals, unknown | bad)
    with np.errstate(all="ignore"):
        means = np.array([t / c if c else 0.0 for t, c in zip(totals.tolist(), counts.tolist())], np.float64)
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
