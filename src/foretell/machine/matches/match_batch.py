"""Finished matches as columns: their events in order, and what expressions about whole matches are worth.

What the kernel could not judge is judged here, for all matches of a batch at once: an expression over a match becomes
an expression over columns that are gathered from the matches' events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, no_nulls, null_column
from foretell.filter.evaluate.expression import evaluate
from foretell.filter.string_dictionary import StringDictionary
from foretell.jit import compiled
from foretell.language import tree
from foretell.machine.exec.raw_matches import RawMatches
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.kernels.actions import overflows
from foretell.machine.matches.bound_events import BoundEvents
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.lower.registers import Register, RegisterKind, aggregate_registers


@compiled
def _sizes(chain: Ints, nodes: Any, places: Ints) -> tuple[Ints, Ints]:
    """Where the events of each match begin when all stand in a row, and where its gaps; one more at the end."""
    (parent, _, step) = nodes
    starts = np.zeros(chain.size + 1, np.int64)
    gap_starts = np.zeros(chain.size + 1, np.int64)
    for i in range(chain.size):
        events, gaps = 0, 0
        for k in range(places.shape[0]):
            if places[k, i] >= 0:
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
def _gather(chain: Ints, nodes: Any, numbers: Ints, places: Ints, events: Any, gaps: Any) -> None:
    """The events of each match, of single steps (at `places`) and from its chain, in order; and its gaps."""
    (parent, node_position, node_step) = nodes
    (starts, match, step, position) = events
    (gap_starts, gap_match, negation, after, before) = gaps
    for i in range(chain.size):
        first, at, gap = starts[i], starts[i], gap_starts[i]
        node = chain[i]
        taken = 0
        while taken < numbers.size or node != -1:
            if taken < numbers.size:
                new_step, new_position = numbers[taken], places[taken, i]
                taken += 1
                if new_position < 0:
                    continue
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
    """The gaps that are looked into at the end: which match, which negation or count, from where to where."""

    match: Ints
    negation: Ints
    after: Ints
    before: Ints

    @classmethod
    def none(cls) -> Gaps:
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))

    def of(self, number: int) -> Gaps:
        mine = self.negation == number
        return Gaps(self.match[mine], self.negation[mine], self.after[mine], self.before[mine])

    def kept(self, keep: Flags, numbers: Ints) -> Gaps:
        mine = keep[self.match]
        return Gaps(numbers[self.match[mine]], self.negation[mine], self.after[mine], self.before[mine])


@dataclass(frozen=True)
class MatchBatch:
    """Finished matches of one subscription. Their events are put together only where somebody asks for them.

    `since` is the position of the first event that the subscription may speak of.
    """

    program: SubscriptionPlan
    buffer: EventBuffer
    strings: StringDictionary
    raw: RawMatches
    parameters: Mapping[str, Column]
    given: tuple[BoundEvents, Gaps] | None = None
    since: int = 0

    @classmethod
    def joined(cls, parts: list[MatchBatch], buffer: EventBuffer) -> MatchBatch:
        """The matches of several batches, all speaking of one history."""
        starts = np.cumsum([0, *(len(p.bound.position) for p in parts)])
        bound = BoundEvents(
            np.concatenate([p.lane for p in parts]),
            np.concatenate([*(p.bound.starts[:-1] + first for p, first in zip(parts, starts)), starts[-1:]]),
            np.concatenate([p.position for p in parts]),
            np.concatenate([p.step for p in parts]),
        )
        return replace(parts[-1], buffer=buffer, raw=RawMatches.joined(_widened(parts)), given=(bound, Gaps.none()))

    def __len__(self) -> int:
        return len(self.raw)

    def filter(self, keep: Flags) -> MatchBatch:
        if keep.all():
            return self
        given = None
        if self.given is not None or "_events" in self.__dict__:
            numbers = np.cumsum(keep) - 1
            given = self.bound.filter(keep), self.gaps.kept(keep, numbers)
        return replace(self, raw=self.raw.only(keep), given=given)

    # ── columns ──

    @property
    def lane(self) -> Ints:
        return self.raw.lane

    @property
    def rows(self) -> Ints:
        return self.raw.rows

    @property
    def late(self) -> Flags:
        """Which are matches because time has passed."""
        return self.raw.position < 0

    @property
    def first(self) -> Ints:
        return self.raw.first

    @cached_property
    def last(self) -> Ints:
        late = self.late
        return np.where(late, self.bound.last, self.raw.position) if late.any() else self.raw.position

    @cached_property
    def start(self) -> NDArray[Any]:
        return self.buffer.starts(self.first)

    @cached_property
    def end(self) -> NDArray[Any]:
        ended = self.buffer.times(self.last)
        late, within = self.late, self.program.subscription.within
        return np.where(late, self.start + within, ended) if within is not None and late.any() else ended

    def register(self, register: Register) -> tuple[Ints, NDArray[np.uint8]]:
        """What a register held when the match was found, as words, and where it is NULL."""
        at = self.program.finals[register]
        return self.raw.slots[:, at], self.raw.nulls[:, at]

    # ── events ──

    @cached_property
    def _events(self) -> tuple[BoundEvents, Gaps]:
        return self.given or self._gathered()

    def _gathered(self) -> tuple[BoundEvents, Gaps]:
        program, found = self.program, self.raw
        chain = found.chain.astype(np.int64, copy=False)
        known = {n: self._place(name) for n, name in enumerate(program.steps)}
        places = [place for place in known.values() if place is not None]
        numbers = np.array([n for n, place in known.items() if place is not None], np.int64)
        together = np.stack(places) if places else np.zeros((0, len(found)), np.int64)
        starts, gap_starts = _sizes(chain, found.nodes, together)
        match, step, position = (np.empty(starts[-1], np.int64) for _ in range(3))
        gaps = tuple(np.empty(gap_starts[-1], np.int64) for _ in range(4))
        events = starts, match, step, position
        _gather(chain, found.nodes, numbers, together, events, (gap_starts, *gaps))
        return BoundEvents(found.lane, starts, position, step), Gaps(*gaps)

    @property
    def bound(self) -> BoundEvents:
        return self._events[0]

    @property
    def gaps(self) -> Gaps:
        return self._events[1]

    @property
    def starts(self) -> Ints:
        """Where the events of each match begin; one more at the end."""
        return self.bound.starts

    @property
    def match(self) -> Ints:
        return self.bound.match

    @property
    def step(self) -> Ints:
        return self.bound.step

    @property
    def position(self) -> Ints:
        return self.bound.position

    @property
    def oldest(self) -> int | None:
        """The position of the earliest event; None where there is none."""
        return int(self.first.min()) if len(self) else None

    def of_step(self, step: str, *, latest: bool) -> Ints:
        """The position of each match's first or latest event of a step; -1 without one."""
        place = self._place(step)
        return self.bound.of_step(self.program.steps.index(step), latest=latest) if place is None else place

    def _place(self, step: str) -> Ints | None:
        """The position of a step's event, -1 without one; None where it may have several."""
        register = Register(RegisterKind.POSITION, step)
        if register in self.program.finals:
            words, nulls = self.register(register)
            return np.where(nulls != 0, -1, words)
        if step == self.program.first:
            return self.first
        return self.raw.position if step == self.program.last else None

    # ── expressions ──

    def evaluate(self, expression: tree.Expression, rows: Rows | None = None) -> Column:
        """What an expression is worth for each match, or for each of the given rows."""
        return _Gathering(self, rows or Rows(np.arange(len(self)))).evaluate(expression)

    def holds(self, condition: tree.Expression, rows: Rows | None = None) -> Flags:
        truth = self.evaluate(condition, rows)
        return np.asarray((truth.values != 0) & ~truth.nulls, np.bool_)


def _widened(parts: list[MatchBatch]) -> list[RawMatches]:
    """What was found, with as many slots each: others may have joined the machine since, and ask for more of them."""
    width = max(p.raw.slots.shape[1] for p in parts)
    more = [((0, 0), (0, width - p.raw.slots.shape[1])) for p in parts]
    return [
        replace(p.raw, slots=np.pad(p.raw.slots, by), nulls=np.pad(p.raw.nulls, by, constant_values=1))
        for p, by in zip(parts, more, strict=True)
    ]


@dataclass(frozen=True)
class Rows:
    """For what an expression is asked: a match each and, where it is a step's condition, an event tried for it."""

    match: Ints
    owner: str | None = None
    this: Ints | None = None
    previous: Ints | None = None
    until: Ints | None = None  # how far steps that are repeated together with the owner are seen
    first: Ints | None = None  # with what the match begins, where that is not its first event


class _Gathering:
    """Turns an expression over matches into one over columns."""

    def __init__(self, matches: MatchBatch, rows: Rows) -> None:
        self.matches, self.rows = matches, rows

    def evaluate(self, expression: tree.Expression) -> Column:
        return evaluate(expression, self._leaf, self.matches.strings, len(self.rows.match))

    def _leaf(self, expression: tree.Expression) -> Column | None:
        match expression:
            case tree.Attribute(event=event) | tree.TimeOf(event=event) | tree.StreamOf(event=event):
                return self._of_event(expression, self._positions(event))
            case tree.Aggregate():
                return self._aggregate(expression)
            case tree.Variable(name=name):
                return self._variable(name)
            case tree.Elapsed():
                return self._elapsed()
            case tree.Parameter(name=name):
                return self.matches.parameters[name]
        return None

    def _positions(self, event: tree.EventReference) -> Ints:
        rows = self.rows
        match event:
            case tree.This():
                assert rows.this is not None
                return rows.this
            case tree.Previous():
                assert rows.previous is not None
                return rows.previous
            case tree.FirstOf(step=step) if step in self.matches.program.steps and not self._is_alone(str(step)):
                found = self.matches.of_step(str(step), latest=False)[rows.match]
                if rows.until is not None and self._runs_with(str(step)):
                    return np.where(found <= rows.until, found, -1)
                return found
            case tree.BoundEvent(step=step) | tree.LastOf(step=step) | tree.FirstOf(step=step):
                if step == rows.owner and rows.this is not None:
                    return rows.this
                if self._runs_with(str(step)):
                    return self._latest(str(step))
                return self.matches.of_step(str(step), latest=True)[rows.match]
        raise AssertionError(event)

    def _is_alone(self, step: str) -> bool:
        """Whether a step is the owner and has but one event: the one that is tried for it."""
        return step == self.rows.owner and not self.matches.program.subscription.steps[step].shape.repeated

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
        history = self.matches.buffer
        subscription = self.matches.program.subscription
        match expression:
            case tree.TimeOf():
                return _retyped(history.gather(lambda events: events.time, positions), subscription.time)
            case tree.StreamOf():
                return _retyped(history.gather(lambda events: events.stream, positions), Type.STRING)
            case tree.Attribute(name=name):
                kind = subscription.attributes.get(name, Type.NULL)
                found = history.gather(lambda events: events.attributes.get(name), positions)
                return null_column(kind, len(positions)) if found is None else _retyped(found, kind)
        raise AssertionError(expression)

    def _variable(self, name: str) -> Column:
        kind = self.matches.program.subscription.variables[name]
        return self._register(Register(RegisterKind.VARIABLE, name), kind)

    def _register(self, register: Register, kind: Type) -> Column:
        """What a register held when the match was found."""
        words, nulls = self.matches.register(register)
        if self.rows.owner is not None or len(self.rows.match) != len(words):
            words, nulls = words[self.rows.match], nulls[self.rows.match]
        words = np.ascontiguousarray(words)
        return Column(kind, words.view(np.float64) if kind is Type.FLOAT else words, nulls != 0)

    def _elapsed(self) -> Column:
        matches, history = self.matches, self.matches.buffer
        until = matches.last[self.rows.match] if self.rows.this is None else self.rows.this
        ended = history.gather(lambda events: events.time, until)
        assert ended is not None
        first = matches.first[self.rows.match] if self.rows.first is None else self.rows.first
        passed = ended.values - history.starts(first)
        kind = (
            Type.DURATION if matches.program.subscription.time is Type.TIMESTAMP else matches.program.subscription.time
        )
        # What comes before the match, as a negation may, has no duration.
        return Column(kind, passed, ended.nulls | (until < first))

    def _aggregate(self, aggregate: tree.Aggregate) -> Column:
        matches = self.matches
        if self.rows.owner is None and all(r in matches.program.finals for r in aggregate_registers(aggregate)):
            return self._kept(aggregate)
        if self._is_alone(str(aggregate.step)):
            return self._of_one(aggregate)
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

    def _of_one(self, aggregate: tree.Aggregate) -> Column:
        """An aggregate over the event being tried."""
        assert self.rows.this is not None
        count = len(self.rows.this)
        if aggregate.attribute is None:
            return Column(Type.INT, np.ones(count, np.int64), no_nulls(count))
        values = self._of_event(tree.Attribute(tree.This(), aggregate.attribute), self.rows.this)
        known = np.flatnonzero(~values.nulls)
        return _aggregated(aggregate.function, known, values.values[known], values.kind, count, self.matches.strings)

    def _kept(self, aggregate: tree.Aggregate) -> Column:
        """An aggregate that was kept on the way."""
        kinds = self.matches.program.subscription.attributes
        kind = Type.INT if aggregate.attribute is None else kinds.get(aggregate.attribute, Type.NULL)
        first, *count = aggregate_registers(aggregate)
        if aggregate.function == "count":
            counted = self._register(first, Type.INT)
            return Column(Type.INT, np.where(counted.nulls, 0, counted.values), no_nulls(len(counted.values)))
        found = self._register(first, kind)
        if not count:
            return found
        counts = self._register(count[0], Type.INT)
        return _mean(found.values, np.where(counts.nulls, 0, counts.values), kind, found.nulls)

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


def _retyped(column: Column | None, kind: Type) -> Column:
    assert column is not None
    if column.kind is Type.INT and kind is Type.FLOAT:
        return Column(kind, column.values.astype(np.float64), column.nulls)
    return Column(kind, column.values, column.nulls)


def _aggregated(
    function: str, owner: Ints, values: NDArray[Any], kind: Type, count: int, strings: StringDictionary
) -> Column:
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
    return _mean(totals, counts, kind, unknown | bad)


def _mean(totals: NDArray[Any], counts: Ints, kind: Type, nulls: Flags) -> Column:
    means = totals / np.maximum(counts, 1)
    if kind is not Type.FLOAT:
        # A long sum is divided exactly, as Python does it, and not as the float nearest to it.
        for i in np.flatnonzero((np.abs(totals) >= 2**53) & ~nulls).tolist():
            means[i] = int(totals[i]) / max(1, int(counts[i]))
    return Column(Type.FLOAT, means, nulls | ~np.isfinite(means))


def _extreme(
    function: str, owner: Ints, values: NDArray[Any], kind: Type, count: int, strings: StringDictionary
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
