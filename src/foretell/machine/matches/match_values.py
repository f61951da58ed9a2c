"""Values of expressions over finished matches: each leaf of the plan becomes a column with a row for each match."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.types import Type
from foretell.filter.column import Column, as_declared, no_nulls, null_column
from foretell.filter.evaluate.expression import evaluate
from foretell.machine.matches.aggregates import aggregate, mean
from foretell.machine.matches.match_batch import MatchBatch
from foretell.plan.lower.match_expressions import (
    AggregateScope,
    CandidateEvent,
    EventAggregate,
    EventAttribute,
    EventStream,
    EventTime,
    MatchDuration,
    MatchEvent,
    MatchExpression,
    PrecedingEvent,
    RegisterAggregate,
    RegisterValue,
    RowParameter,
    StepEvent,
)
from foretell.records import record


@record
class Candidates:
    """Events that are tried for a step: each one's match and position, and the position of the event bound before it.

    A step that repeats together with the tried one is seen up to the position `until`. `first` is the position of the
    event that the match would begin with.
    """

    match: Ints
    position: Ints
    previous: Ints
    until: Ints
    first: Ints | None = None


def evaluate_matches(expression: MatchExpression, matches: MatchBatch) -> Column:
    """The value of an expression for each match."""
    return _MatchValues(matches).evaluate(expression)


def matches_satisfying(condition: MatchExpression, matches: MatchBatch) -> Flags:
    return _truth(evaluate_matches(condition, matches))


def candidates_satisfying(condition: MatchExpression, matches: MatchBatch, candidates: Candidates) -> Flags:
    return _truth(_CandidateValues(matches, candidates).evaluate(condition))


def _truth(column: Column) -> Flags:
    return np.asarray((column.values != 0) & ~column.nulls, np.bool_)


class _MatchValues:
    """Columns with a row for each match."""

    def __init__(self, matches: MatchBatch) -> None:
        self.matches = matches

    def __len__(self) -> int:
        return len(self.matches)

    def evaluate(self, expression: MatchExpression) -> Column:
        return evaluate(expression.root, self.leaf, self.matches.strings, len(self))

    def leaf(self, leaf: object) -> Column | None:
        match leaf:
            case EventAttribute(event=event, name=name, kind=kind):
                return self._attribute(name, kind, self.positions(event))
            case EventTime(event=event, kind=kind):
                column = self.matches.buffer.gather(lambda events: events.time, self.positions(event))
                return _declared(column, kind)
            case EventStream(event=event):
                column = self.matches.buffer.gather(lambda events: events.stream, self.positions(event))
                return _declared(column, Type.STRING)
            case RegisterValue():
                return self.register(leaf)
            case RegisterAggregate():
                return self._register_aggregate(leaf)
            case EventAggregate():
                return self._event_aggregate(leaf)
            case MatchDuration(kind=kind):
                return self._duration(kind)
            case RowParameter(name=name):
                column = self.matches.parameters[name]
                return self.of_matches(column) if self.matches.by_row else column
        return None

    def of_matches(self, column: Column) -> Column:
        """A column with a row for each match as one with a row for each row of this."""
        return column

    def positions(self, event: MatchEvent) -> Ints:
        assert isinstance(event, StepEvent)
        return self.matches.of_step(event.step, latest=event.latest)

    def last(self) -> Ints:
        return self.matches.last

    def first(self) -> Ints:
        return self.matches.first

    def register(self, register: RegisterValue) -> Column:
        words, nulls = self.matches.register(register.output)
        words = np.ascontiguousarray(words)
        return Column(register.kind, words.view(np.float64) if register.kind is Type.FLOAT else words, nulls != 0)

    def _attribute(self, name: str, kind: Type, positions: Ints) -> Column:
        column = self.matches.buffer.gather(lambda events: events.attributes.get(name), positions)
        return null_column(kind, len(positions)) if column is None else _declared(column, kind)

    def _duration(self, kind: Type) -> Column:
        buffer, first, last = self.matches.buffer, self.first(), self.last()
        ended = buffer.gather(lambda events: events.time, last)
        assert ended is not None
        # An absent event may come before the match: it has no duration.
        return Column(kind, ended.values - buffer.starts(first), ended.nulls | (last < first))

    # ── aggregates ──

    def _register_aggregate(self, leaf: RegisterAggregate) -> Column:
        value = self.register(leaf.value)
        if leaf.function == "count":
            return _zero_for_null(value)
        if leaf.count is None:
            return value
        return mean(value.values, _zero_for_null(self.register(leaf.count)).values, value.kind, value.nulls)

    def _event_aggregate(self, leaf: EventAggregate) -> Column:
        """An aggregate over all events of a step."""
        matches = self.matches
        events = np.flatnonzero(matches.step == leaf.step)
        return self.of_matches(self.aggregate(leaf, matches.match[events], matches.position[events], len(matches)))

    def aggregate(self, leaf: EventAggregate, owner: Ints, positions: Ints, count: int) -> Column:
        """An aggregate for each of `count` rows; `owner` is the row that the event at each position belongs to."""
        if leaf.attribute is None:
            return Column(Type.INT, np.bincount(owner, minlength=count), np.zeros(count, np.bool_))
        values = self._attribute(leaf.attribute, leaf.kind, positions)
        return aggregate(leaf.function, owner, values, count, self.matches.strings)


class _CandidateValues(_MatchValues):
    """Columns with a row for each event that is tried for a step."""

    def __init__(self, matches: MatchBatch, candidates: Candidates) -> None:
        super().__init__(matches)
        self.candidates = candidates

    def __len__(self) -> int:
        return len(self.candidates.match)

    def of_matches(self, column: Column) -> Column:
        return column.take(self.candidates.match)

    def positions(self, event: MatchEvent) -> Ints:
        candidates = self.candidates
        match event:
            case CandidateEvent():
                return candidates.position
            case PrecedingEvent():
                return candidates.previous
            case StepEvent(step=step, latest=True, until_candidate=True):
                return self._latest_until(step)
        positions = self.matches.of_step(event.step, latest=event.latest)[candidates.match]
        return np.where(positions <= candidates.until, positions, -1) if event.until_candidate else positions

    def last(self) -> Ints:
        return self.candidates.position

    def first(self) -> Ints:
        first = self.candidates.first
        return self.matches.first[self.candidates.match] if first is None else first

    def register(self, register: RegisterValue) -> Column:
        return self.of_matches(super().register(register))

    def _latest_until(self, step: int) -> Ints:
        """The latest event of a step up to `until`; -1 without one."""
        matches, candidates = self.matches, self.candidates
        events = np.flatnonzero(matches.step == step)
        if not len(events):
            return np.full(len(self), -1, np.int64)
        width = int(max(matches.position.max(), candidates.until.max(initial=0))) + 1
        keys = matches.match[events] * width + matches.position[events]
        at = np.searchsorted(keys, candidates.match * width + candidates.until, side="right") - 1
        event = np.where(at >= 0, events[np.maximum(at, 0)], -1)
        same = (event >= 0) & (matches.match[np.maximum(event, 0)] == candidates.match)
        return np.where(same, matches.position[np.maximum(event, 0)], -1)

    def _event_aggregate(self, leaf: EventAggregate) -> Column:
        match leaf.scope:
            case AggregateScope.CANDIDATE:
                return self.aggregate(leaf, np.arange(len(self)), self.candidates.position, len(self))
            case AggregateScope.STEP:
                return super()._event_aggregate(leaf)
        return self._running_aggregate(leaf)

    def _running_aggregate(self, leaf: EventAggregate) -> Column:
        """An aggregate over the events before the candidate, which are others for each row."""
        matches, candidates = self.matches, self.candidates
        events = np.flatnonzero(matches.step == leaf.step)
        positions = matches.position[events]
        width = int(max(positions.max(initial=0), candidates.until.max(initial=0))) + 2
        keys, beginning = matches.match[events] * width + positions, candidates.match * width
        own = leaf.scope is AggregateScope.BEFORE_CANDIDATE
        first = np.searchsorted(keys, beginning, side="left")
        last = np.searchsorted(keys, beginning + candidates.until, side="left" if own else "right")
        lengths = np.maximum(last - first, 0)
        owner = np.repeat(np.arange(len(self)), lengths)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.aggregate(leaf, owner, positions[np.repeat(first, lengths) + within], len(self))


def _declared(column: Column | None, kind: Type) -> Column:
    assert column is not None
    return Column(kind, as_declared(column, kind).values, column.nulls)


def _zero_for_null(column: Column) -> Column:
    return Column(column.kind, np.where(column.nulls, 0, column.values), no_nulls(len(column.values)))
