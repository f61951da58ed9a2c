"""The charts of one notification: its timeline, and the waterfall of an estimate's probability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from foretell.charts.chart import Chart
from foretell.charts.lane_history import LaneEvents
from foretell.charts.match_times import MatchTimes
from foretell.charts.time_scale import TimeScale
from foretell.charts.timeline import RowKind, Timeline, TimelineRow
from foretell.charts.waterfall import Factor, Waterfall
from foretell.display import counted, listed
from foretell.events.estimate_detail import CONFIDENCE, EstimateDetail, GapFactor, LostStep
from foretell.events.notification import Notification
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text

#: A window that is longer than the rest of the chart by such a factor reaches beyond it.
_LONG_WINDOW = 3

#: Both ends of a gap are in one line where they have fewer characters.
_ONE_LINE = 20

_LOST = "lost"

#: The room around a match for other events of its lane, as a share of its length, or as a number of events on either
#: side; the name of their row.
_AROUND, _NEAREST, _LANE = 0.2, 3, "lane"


@dataclass(frozen=True)
class EstimateCharts:
    """The charts of a match or an estimate. `slug` begins the names of their elements. The statement has the window,
    the negated steps and the threshold, the lane its other events."""

    slug: str
    notification: Notification
    statement: CheckedSubscription | None = None
    lane: LaneEvents | None = None

    @cached_property
    def _times(self) -> MatchTimes:
        return MatchTimes(self.notification, self.statement, self.lane)

    def charts(self) -> list[Chart]:
        detail = self.notification.estimate
        return [self.timeline(), *([self.waterfall(detail)] if detail is not None and detail.gaps else [])]

    # ── timeline ──

    def timeline(self) -> Timeline:
        scale = TimeScale.over(self._wide_span(), self.notification.time_type, self.notification.start)
        steps = (self._row(step, scale) for step in self._times.steps)
        rows = [*self._window_row(scale), *steps, *self._lane_row(scale)]
        return Timeline(f"{self.slug}-timeline", "timeline", "", scale, tuple(rows))

    def _wide_span(self) -> list[int | float]:
        """The span, and so much around it that other events of the lane are seen."""
        times = self._span()
        if self.lane is None:
            return times
        low, high = min(times), max(times)
        room = _AROUND * (high - low)
        # The nearest events too, where they are no farther away than the match is long.
        near = [time for time in self.lane.times if 2 * low - high <= time <= 2 * high - low]
        before, after = [time for time in near if time < low], [time for time in near if time > high]
        return [*times, low - room, high + room, *before[-_NEAREST:], *after[:_NEAREST]]

    def _lane_row(self, scale: TimeScale) -> Iterator[TimelineRow]:
        """The other events of the lane, as far as the axis goes."""
        if self.lane is None:
            return
        bound = {name for step in self._times.bound for name in self._times.names(step)}
        others = tuple(
            time
            for time, name in zip(self.lane.times, self.lane.names, strict=True)
            if scale.low <= time <= scale.high and name not in bound
        )
        label = counted(len(others), "other event") if others else "no other event"
        yield TimelineRow(_LANE, RowKind.AROUND, f"{label} of the lane", others)

    def _span(self) -> list[int | float]:
        """Times that the axis must have: of events, of lost steps, and of a window that is not much longer."""
        detail = self.notification.estimate
        times = [time for times in self._times.known.values() for time in times]
        times += [time for lost in (detail.lost if detail is not None else ()) for time in (lost.low, lost.high)]
        times.append(self.notification.start)
        if not self._times.lost or not self._times.ends_with_window or len(set(times)) == 1:
            times.append(self.notification.end)
        window = self._times.window or ()
        length = max(times) - min(times)
        is_short = max(*window, *times) - min(*window, *times) <= _LONG_WINDOW * length if window else False
        return [*times, *window] if is_short or not length else times

    def _window_row(self, scale: TimeScale) -> Iterator[TimelineRow]:
        if self._times.window is None or self.statement is None or self.statement.tree.within is None:
            return
        first, last = scale.interval_texts(*self._times.window)
        name = f"WITHIN {expression_text(self.statement.tree.within)}"
        yield TimelineRow(name, RowKind.WINDOW, f"{first} to {last}", self._times.window)

    def _row(self, step: str, scale: TimeScale) -> TimelineRow:
        if step in self._times.negated:
            return TimelineRow(step, RowKind.ABSENT, "not seen", self._silence(step))
        if (lost := self._lost_step(step)) is not None:
            first, last = scale.interval_texts(lost.low, lost.high)
            label = f"{_LOST}, {CONFIDENCE:.0%} between {first} and {last}"
            return TimelineRow(step, RowKind.LOST, label, (lost.low, lost.high))
        names = self._times.names(step)
        if not names:
            return TimelineRow(step, RowKind.LOST, _LOST if step in self._times.lost else "no event", ())
        label, known = listed([str(name) for name in names]), self._times.known.get(step, ())
        if len(known) == len(names) or (known and len(names) > 1):
            return TimelineRow(step, RowKind.EVENTS, label, known)
        start, end = self.notification.start, self.notification.end
        return TimelineRow(step, RowKind.UNTIMED, f"{label} (time not known)", (start, end))

    def _silence(self, step: str) -> tuple[int | float, int | float]:
        """The time in which no event of a negated step came: between the events around it, or from or to the edge of
        the window."""
        times, place = self._times, self._times.steps.index(step)
        earlier, later = times.steps[:place], times.steps[place + 1 :]
        start, end = self.notification.start, self.notification.end
        low, high = times.window or (start, end)
        if times.bound and not any(step in times.bound or step in times.lost for step in earlier):
            low = end - (high - low)  # a window before the last event
        before = [end for name in earlier for _, end in self._known_interval(name)]
        after = [start for name in later for start, _ in self._known_interval(name)]
        return max(before, default=low), min(after, default=high)

    def _known_interval(self, step: str) -> list[tuple[int | float, int | float]]:
        """The times of a step's first and last event. Of a lost one these are the latest and the earliest that it may
        have: what comes before it has as much room as it may have, and so has what comes after it."""
        if (lost := self._lost_step(step)) is not None:
            return [(lost.high, lost.low)]
        known = self._times.known.get(step)
        return [(known[0], known[-1])] if known else []

    def _lost_step(self, step: str) -> LostStep | None:
        detail = self.notification.estimate
        return None if detail is None else next((lost for lost in detail.lost if lost.step == step), None)

    # ── waterfall ──

    def waterfall(self, detail: EstimateDetail) -> Waterfall:
        losing = None if self.statement is None else self.statement.tree.losing
        factors = tuple(Factor(self._ends(gap), self._hidden(gap), gap.factor) for gap in detail.gaps)
        threshold = None if losing is None else losing.above
        return Waterfall(f"{self.slug}-waterfall", "probability", "", factors, self.notification.probability, threshold)

    def _ends(self, gap: GapFactor) -> str:
        if gap.after is None or gap.before is None:
            return f"before {gap.before}" if gap.after is None else f"after {gap.after}"
        around = f"before {gap.before}", f"and after {gap.after}"
        lines = around if self._is_around(gap) else (gap.after, f"→ {gap.before}")
        return (" " if sum(map(len, lines)) < _ONE_LINE else "\n").join(lines)

    def _is_around(self, gap: GapFactor) -> bool:
        """Whether a gap is that of both edges: it begins at or after its end."""
        steps = self._times.steps
        return gap.after is not None and gap.before is not None and steps.index(gap.after) >= steps.index(gap.before)

    def _hidden(self, gap: GapFactor) -> str:
        """The lost and the negated steps of a gap."""
        steps = self._times.steps
        low = 0 if gap.after is None else steps.index(gap.after) + 1
        high = len(steps) if gap.before is None else steps.index(gap.before)
        hidden = (*steps[:high], *steps[low:]) if self._is_around(gap) else steps[low:high]
        lost = [step for step in hidden if step in self._times.lost]
        negated = [step for step in hidden if step in self._times.negated]
        texts = [f"{_LOST} {', '.join(lost)}"] if lost else []
        return ", ".join([*texts, *(f"no {step}" for step in negated)])
