"""Matches of one subscription in one lane: the occurrences of its pattern for which every condition is true.

Conditions are constraints on the finished match, so they are evaluated on the whole of it: first the variables, then
WITHIN, then every condition of every bound step, then the negations and counts of the pattern, then HAVING.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from foretell.events.event import Event, OrderKey, deadline_key
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.estimate_scorer import EstimateScorer
from foretell.reference.expressions import Frame, compare, holds, value
from foretell.reference.functions import Value
from foretell.reference.lane import Lane, PlacedEvent
from foretell.reference.occurrences import (
    Binding,
    Constraint,
    IndexedCount,
    NoneAfter,
    NoneBefore,
    NoneBetween,
    Occurrence,
    OccurrenceSearch,
)


@dataclass(frozen=True)
class Match:
    """A match: its bindings in the order of the lane. One that only time completes ends at its deadline."""

    bound: tuple[Binding, ...]
    variables: Mapping[str, Value]
    start: int | float
    end: int | float
    deadline: int | float | None
    probability: float = 1.0
    lost: frozenset[str] = frozenset()

    #: How the probability was estimated.
    scorer: EstimateScorer | None = None

    #: When an event broke the negation that comes last: then it is no match, but others may have waited to know that.
    broken: int | float | None = None

    @property
    def first(self) -> PlacedEvent:
        return self.bound[0].at

    @property
    def last(self) -> PlacedEvent:
        return self.bound[-1].at

    @property
    def completed_by(self) -> OrderKey:
        return self.last.event.key if self.deadline is None else deadline_key(self.deadline)

    @property
    def identity(self) -> tuple[tuple[str, int], ...]:
        return tuple((b.step, b.at.number) for b in self.bound)

    def events_of(self, step: str) -> list[PlacedEvent]:
        return [b.at for b in self.bound if b.step == step]


@dataclass(frozen=True)
class ReferenceMatcher:
    """The matcher of one subscription (one row of its table, where it has one) on one lane, at a time `now`."""

    subscription: CheckedSubscription
    lane: Lane
    now: int | float
    parameters: Mapping[str, Value]

    def matches(self) -> list[Match]:
        """All matches that FIRST and LAST leave, in the order in which AFTER MATCH takes them."""
        distinct = {m.identity: m for m in self._all()}
        settled = (self._settled(m, distinct.values()) for m in distinct.values())
        return sorted((m for m in settled if m is not None), key=self.taking_order)

    def taking_order(self, match: Match) -> tuple[object, ...]:
        """The sort key of the order in which matches are taken."""
        order = {name: i for i, name in enumerate(self.subscription.positive)}
        return match.completed_by, [b.at.number for b in match.bound], [order[b.step] for b in match.bound]

    def _all(self) -> Iterator[Match]:
        for occurrence in self.search().occurrences(self.subscription.pattern, Occurrence()):
            if occurrence.bound:
                match = self.match_of(occurrence)
                if match is not None:
                    yield match

    def search(self) -> OccurrenceSearch:
        candidates = {
            name: tuple(e for e in self.lane.events if self._could_be(step, e))
            for name, step in self.subscription.steps.items()
        }
        return OccurrenceSearch(self.lane, candidates, self._where)

    def _could_be(self, step: CheckedStep, at: PlacedEvent) -> bool:
        """Whether an event meets the conditions of a step that are about that event alone; others need not be tried."""
        frame = replace(self._frame(), this=at.event)
        return all(holds(c, frame) for c in step.conditions if _about_itself(c))

    def match_of(self, occurrence: Occurrence) -> Match | None:
        """The match of an occurrence, or None where a condition does not hold. A negation that comes last may still
        break it, or may have done so."""
        bound = tuple(sorted(occurrence.bound, key=lambda b: b.at.number))
        variables = self._variables(bound)
        if variables is None:
            return None
        match = self._timed(bound, variables, occurrence.constraints)
        if match is None:
            return None
        for binding in bound:
            frame = self._step_frame(match, binding.step, binding.at)
            if not all(holds(c, frame) for c in self.subscription.steps[binding.step].conditions):
                return None
        if not all(self._is_satisfied(constraint, match) for constraint in occurrence.constraints):
            return None
        having = self.subscription.tree.having
        if having is not None and not holds(having, self.match_frame(match)):
            return None
        broken = (self._broken(c.step, match) for c in occurrence.constraints if isinstance(c, NoneAfter))
        return replace(match, broken=min((time for time in broken if time is not None), default=None))

    def _timed(
        self, bound: tuple[Binding, ...], variables: Mapping[str, Value], constraints: Iterable[Constraint]
    ) -> Match | None:
        """The match with start and end; None where it exceeds its window."""
        window = self.subscription.within
        start, end = bound[0].at.event.start, bound[-1].at.event.end
        if window is not None and end > start + window:
            return None
        waits = [start] if any(isinstance(d, NoneAfter) for d in constraints) else []
        steps = {b.step for b in bound}
        # Another event may still replace that of `LAST a` as long as it fits into one window with the others.
        waits += [
            min((b.at.event.start for b in bound if b.step != chosen), default=math.inf)
            for chosen, settling in self.subscription.known_late.items()
            if chosen in steps and not settling & steps
        ]
        if not waits:
            return Match(bound, variables, start, end, None)
        assert window is not None
        return _ending_at(Match(bound, variables, start, end, None), max(waits) + window)

    # ── variables ──

    def _variables(self, bound: tuple[Binding, ...]) -> dict[str, Value] | None:
        """Variables: the first event with `$v = ...` binds it, every later one must agree, NULL never does."""
        variables: dict[str, Value] = {}
        match = Match(bound, variables, 0, 0, None)
        for binding in bound:
            for name, expression in self.subscription.steps[binding.step].binders:
                bound_value = value(expression, self._step_frame(match, binding.step, binding.at))
                if bound_value is None:
                    return None
                if compare("=", variables.setdefault(name, bound_value), bound_value) is not True:
                    return None
        return variables

    # ── frames ──

    def _frame(self) -> Frame:
        return Frame(self.subscription.attributes, self.subscription.time, parameters=self.parameters)

    def match_frame(self, match: Match) -> Frame:
        """The frame of HAVING and RETURN: the whole match."""

        def events(step: str) -> list[Event]:
            return [e.event for e in match.events_of(step)]

        return replace(
            self._frame(),
            first=match.first.event,
            last=match.last.event,
            seen=events,
            before=events,
            variables=match.variables,
        )

    def _step_frame(self, match: Match, step: str, at: PlacedEvent) -> Frame:
        """The frame of a bound step's condition when `at` is tried for it."""
        earlier = [b.at for b in match.bound if b.at.number < at.number]
        first = earlier[0] if earlier else at
        return replace(
            self.match_frame(match),
            this=at.event,
            previous=earlier[-1].event if earlier else None,
            first=first.event,
            last=at.event,
            seen=self._seen(match, step, at, at),
            before=self._seen(match, step, at, None),
        )

    def _seen(
        self, match: Match, own: str, until: PlacedEvent, this: PlacedEvent | None
    ) -> Callable[[str], list[Event]]:
        """The events of a step as the condition of `own` sees them.

        Steps that are repeated together are seen as far as they are bound so far, all others whole; the step
        itself ends with the event being tried, which its aggregates leave out. (Decision 0002, item 14.)
        """
        shapes = {name: step.shape for name, step in self.subscription.steps.items()}

        def events(step: str) -> list[Event]:
            if step == own and not shapes[own].repeated:
                return [until.event]
            found = match.events_of(step)
            if step == own:
                found = [e for e in found if e.number < until.number] + ([this] if this else [])
            elif shapes[step].loops & shapes[own].loops:
                found = [e for e in found if e.number <= until.number]
            return [e.event for e in found]

        return events

    def _negated_frame(
        self, match: Match, step: str, at: PlacedEvent, after: PlacedEvent | None, until: PlacedEvent
    ) -> Frame:
        """The frame of a negated step: the whole match, and the event bound just before the gap."""
        seen = self._seen(match, step, until, None)

        def events(name: str) -> list[Event]:
            return [at.event] if name == step else seen(name)

        return replace(
            self.match_frame(match),
            this=at.event,
            previous=None if after is None else after.event,
            last=None if after is None else at.event,
            seen=events,
            before=events,
        )

    def _where(self, condition: tree.Expression, at: PlacedEvent, before: Occurrence) -> bool:
        """Whether θ holds for an event; it sees the events bound before, and that event."""
        bound = tuple(sorted(before.bound, key=lambda b: b.at.number))
        variables = self._variables(bound)
        if variables is None:
            return False
        match = Match(bound, variables, 0, 0, None)
        return holds(condition, replace(self.match_frame(match), this=at.event, previous=match.last.event))

    # ── constraints ──

    def _is_satisfied(self, constraint: Constraint, match: Match) -> bool:
        match constraint:
            case NoneBetween(step=step, after=after, before=before):
                tried = self.lane.between(after, before)
                return not any(self._satisfies(step, match, e, after, before) for e in tried)
            case NoneBefore(step=step):
                # Only a lost first step can stand here without a window; then all that came before counts.
                window = math.inf if self.subscription.within is None else self.subscription.within
                earlier = [e for e in self.lane.events if self.lane.follows(match.first, e)]
                tried = [e for e in earlier if match.last.event.end <= e.event.end + window]
                return not any(self._satisfies(step, match, e, None, match.first) for e in tried)
            case NoneAfter():
                return True  # only time shows that
            case IndexedCount():
                return self._has_index(constraint, match)

    def _broken(self, step: str, match: Match) -> int | float | None:
        """When an event broke the negation of a step that comes last."""
        # A choice by LAST may make the match known later, but the negation ends with its own window.
        assert self.subscription.within is not None
        until = match.start + self.subscription.within
        tried = (e for e in self.lane.after(match.last) if e.event.end <= until)
        return next((e.event.end for e in tried if self._satisfies(step, match, e, match.last, match.last)), None)

    def _satisfies(
        self, step: str, match: Match, at: PlacedEvent, after: PlacedEvent | None, until: PlacedEvent
    ) -> bool:
        frame = self._negated_frame(match, step, at, after, until)
        return all(holds(c, frame) for c in self.subscription.steps[step].conditions)

    def would_do(self, step: str, match: Match, at: PlacedEvent) -> bool:
        """Whether an event after a match meets the conditions of a negated step."""
        return self._satisfies(step, match, at, match.last, at)

    def _has_index(self, constraint: IndexedCount, match: Match) -> bool:
        conditions = self.subscription.steps[constraint.step].counted
        others = replace(match, bound=tuple(b for b in match.bound if b.step != constraint.step))

        def satisfies(at: PlacedEvent) -> bool:
            trial = replace(others, bound=_inserted(others.bound, Binding(constraint.step, at)))
            return all(holds(c, self._step_frame(trial, constraint.step, at)) for c in conditions)

        upto = [e for e in self.lane.after(constraint.after) if e.number <= constraint.at.number]
        count = sum(satisfies(e) for e in upto)
        return count % constraint.index == 0 if constraint.after is None else count == constraint.index

    # ── FIRST and LAST ──

    def _settled(self, match: Match, all_matches: Iterable[Match]) -> Match | None:
        """The match as it is reported; None where it is none, where another is the choice of FIRST or LAST, and where
        one of these is not known yet."""
        if match.broken is not None:
            return None
        for rival in self._rivals(match, all_matches):
            if rival.broken is None:
                return None  # it is the choice, or may still become it
            match = _ending_at(match, max(match.end, rival.broken))
        return match if match.deadline is None or self.now > match.deadline else None

    def _rivals(self, match: Match, all_matches: Iterable[Match]) -> Iterator[Match]:
        """The otherwise equal matches with an event that comes before the match's for FIRST, after it for LAST."""
        for name, step in self.subscription.steps.items():
            which = step.shape.chosen
            own = match.events_of(name)
            if which is None or not own:
                continue
            rest = _without(match, name)
            for rival in all_matches:
                event = rival.events_of(name)
                if not event or event == own or _without(rival, name) != rest:
                    continue
                if (event[0].number < own[0].number) == (which == "FIRST"):
                    yield rival


def _ending_at(match: Match, deadline: int | float) -> Match:
    """The match as one that only time completes."""
    return replace(match, end=deadline, deadline=deadline)


def _without(match: Match, step: str) -> tuple[tuple[str, int], ...]:
    return tuple(i for i in match.identity if i[0] != step)


def _inserted(bound: tuple[Binding, ...], binding: Binding) -> tuple[Binding, ...]:
    return tuple(sorted((*bound, binding), key=lambda b: b.at.number))


def _about_itself(condition: tree.Expression) -> bool:
    """Whether a condition names nothing but the event being tried."""
    outside = tree.Previous, tree.BoundEvent, tree.FirstOf, tree.LastOf, tree.Aggregate, tree.Elapsed, tree.Variable
    return not any(isinstance(node, outside) for node in condition.walk())


def after_match(matches: Iterable[Match], after: tree.AfterMatch, lane: Lane, positive: tuple[str, ...]) -> list[Match]:
    """AFTER MATCH: takes matches one by one, each removing others. They come in the order of `taking_order`; `positive`
    are the steps of the pattern that bind events, in its order."""
    taken: list[Match] = []
    if after.policy is tree.Policy.LONGEST:
        order = {name: i for i, name in enumerate(positive)}
        matches = sorted(matches, key=lambda match: _longest_order(match, order))
    for match in matches:
        if not any(removes(earlier, match, after, lane) for earlier in taken):
            taken.append(match)
    return taken


def _longest_order(match: Match, order: Mapping[str, int]) -> tuple[object, ...]:
    """The sort key by which LONGEST takes matches (decision 0002, item 47)."""
    numbers = [b.at.number for b in match.bound]
    return match.first.number, -len(numbers), match.end, numbers, [order[b.step] for b in match.bound]


def removes(taken: Match, other: Match, after: tree.AfterMatch, lane: Lane) -> bool:
    match after.policy:
        case tree.Policy.HOLD:
            return False
        case tree.Policy.CONSUME:
            return bool({b.at for b in taken.bound} & {b.at for b in other.bound})
        case tree.Policy.SKIP_PAST_LAST | tree.Policy.LONGEST:
            return not lane.follows(other.first, taken.last)
        case tree.Policy.SKIP_TO_NEXT:
            return other.first == taken.first
        case tree.Policy.SKIP_TO_FIRST | tree.Policy.SKIP_TO_LAST:
            assert after.step is not None
            events = taken.events_of(after.step)
            if not events:
                return False
            to = events[0] if after.policy is tree.Policy.SKIP_TO_FIRST else events[-1]
            return lane.follows(to, other.first)
