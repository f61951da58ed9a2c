"""The times that a notification tells of its events, and the steps of its statement in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from foretell.charts.lane_history import LaneEvents
from foretell.events.notification import EventNames, Notification
from foretell.events.types import parse_timestamp
from foretell.language import tree
from foretell.language.checked import CheckedSubscription


@dataclass(frozen=True)
class MatchTimes:
    """The times of a match or an estimate. Without its `statement` and the events of its `lane` only those that the
    notification names are known."""

    notification: Notification
    statement: CheckedSubscription | None = None
    lane: LaneEvents | None = None

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """All steps, negated ones too where the statement is known, in the order of the pattern."""
        return tuple(self.notification.events) if self.statement is None else tuple(self.statement.steps)

    @cached_property
    def negated(self) -> tuple[str, ...]:
        """The negated steps of which the match has seen no event: not those within parts that may not be taken."""
        match self.statement.pattern if self.statement is not None else None:
            case tree.Silence(absent=absent):
                return tuple(negation.step.name for negation in absent)
            case tree.Sequence(parts=parts, absent=absent):
                inner = (negation for part in parts for negation in part.absent)
                return tuple(negation.step.name for negation in (*inner, *absent))
        return ()

    @cached_property
    def lost(self) -> tuple[str, ...]:
        """The steps whose events were lost."""
        if self.notification.estimate is not None:
            return tuple(lost.step for lost in self.notification.estimate.lost)
        if self.notification.kind != "estimate" or self.statement is None or self.statement.tree.losing is None:
            return ()
        return tuple(step for step in self.notification.events if not self.names(step))

    def names(self, step: str) -> list[object]:
        """The names of a step's events."""
        names: EventNames = self.notification.events.get(step)
        if names is None:
            return []
        return list(names) if isinstance(names, Sequence) and not isinstance(names, str) else [names]

    @cached_property
    def bound(self) -> list[str]:
        return [step for step in self.steps if self.names(step)]

    @cached_property
    def known(self) -> dict[str, tuple[int | float, ...]]:
        """The times of events, by step; of a repeated step often only those of its first or last event, unless the lane
        is known."""
        in_lane = self._in_lane()
        if in_lane is not None:
            return in_lane
        times: dict[str, set[int | float]] = {}
        for step, time in self._reported():
            times.setdefault(step, set()).add(time)
        for step, time in self._at_ends():
            if len(times.get(step, ())) < len(self.names(step)):
                times.setdefault(step, set()).add(time)
        return {step: tuple(sorted(found)) for step, found in times.items()}

    def _in_lane(self) -> dict[str, tuple[int | float, ...]] | None:
        """The times of all events; None where the lane lacks one of them."""
        if self.lane is None:
            return None
        names = {step: self.names(step) for step in self.bound}
        if not all(name in self.lane.time_of for found in names.values() for name in found):
            return None
        return {step: tuple(sorted(self.lane.time_of[name] for name in found)) for step, found in names.items()}  # type: ignore[index]

    def _reported(self) -> Iterator[tuple[str, int | float]]:
        """The times of RETURN columns such as `t(x)`."""
        for returned in () if self.statement is None else self.statement.tree.returns:
            match returned.expression:
                case tree.TimeOf(event=tree.BoundEvent(step=step) | tree.FirstOf(step=step) | tree.LastOf(step=step)):
                    value = self.notification.bindings.get(returned.name)
                    if isinstance(value, str):
                        yield step, parse_timestamp(value)
                    elif isinstance(value, int | float):
                        yield step, value

    def _at_ends(self) -> Iterator[tuple[str, int | float]]:
        """The start is the time of the first event, the end that of the last one, unless it is that of the window."""
        if not self.bound or self.notification.start == self.notification.end:
            yield from ((step, self.notification.start) for step in self.bound)
        elif self._is_ordered:
            yield self.bound[0], self.notification.start
            if not self.ends_with_window:
                yield self.bound[-1], self.notification.end

    @property
    def _is_ordered(self) -> bool:
        """Whether the events come in the order of the steps, as those of estimates do."""
        if self.notification.estimate is not None:
            return True
        return self.statement is not None and _is_ordered(self.statement.pattern)

    @cached_property
    def starts_before(self) -> bool:
        """Whether the first event was lost, so that the match began before its `start`."""
        return any(step in self.lost for step in tuple(self.notification.events)[:1])

    @cached_property
    def ends_with_window(self) -> bool:
        """Whether the match ends when time has passed the window, and not with an event."""
        pattern = None if self.statement is None else self.statement.pattern
        awaits = isinstance(pattern, tree.Silence) or (isinstance(pattern, tree.Sequence) and bool(pattern.absent))
        gaps = () if self.notification.estimate is None else self.notification.estimate.gaps
        awaits = awaits or any(gap.before is None for gap in gaps)
        return awaits or any(step in self.lost for step in tuple(self.notification.events)[-1:])

    @cached_property
    def window(self) -> tuple[int | float, int | float] | None:
        """The times between which the first and the last event must lie, lost ones too."""
        within = None if self.statement is None else self.statement.within
        if within is None:
            return None
        start, end = self.notification.start, self.notification.end
        if not self.starts_before:
            return start, start + within
        # Of the last event present the time is not known where the match ends with its window.
        times = [time for times in self.known.values() for time in times]
        last = max(times, default=start) if self.ends_with_window else end
        return last - within, start + within if self.ends_with_window else end


def _is_ordered(pattern: tree.Pattern) -> bool:
    """Whether events follow one another in the order of their steps, and no part ends without an event."""
    for node in pattern.walk():
        match node:
            case tree.Conjunction():
                return False
            case tree.Repeat(body=body) if not isinstance(body, tree.Step | tree.Chosen):
                return False
            case tree.Sequence(absent=absent) if absent and node is not pattern:
                return False
    return True
