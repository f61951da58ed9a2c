"""Late events that confirm or withdraw estimates which were reported before (decision 0018)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, Times
from foretell.events.notification import CONFIRMED, WITHDRAWN
from foretell.events.types import Scalar
from foretell.machine.input.event_buffer import EventBuffer, EventSegment
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.input.revisions import LateInput
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.run_checks import all_held
from foretell.machine.matches.codec import restore_segment, segment_state
from foretell.machine.matches.results import EstimateColumns, ResultBatch
from foretell.machine.result_stage import ReportedEstimate
from foretell.plan.match_plan import InputPlan
from foretell.records import record
from foretell.recover.candidates import VariantMatches
from foretell.recover.estimate_codec import positions_of
from foretell.recover.late_trials import TrialEvents, TrialOutcomes, Trials, VariantTrials
from foretell.recover.row_estimates import RowEstimates
from foretell.storage.recorded_values import indices, require, whole

#: So many late events are tried at once.
_AT_ONCE = 65_536

#: An estimate: the row of its table, the number of its variant, and the positions of its events.
_Key = tuple[Scalar, int, bytes]


def revised(
    results: ResultBatch,
    rows: Ints,
    time: int | float,
    stream: MergedStream,
    late: Mapping[str, NDArray[np.object_]] | None,
) -> ResultBatch:
    """Some estimates, whose numbers ascend, confirmed with the names of `late` events; withdrawn where that is None."""
    own = results.filter(np.isin(np.arange(len(results)), rows))
    assert own.matches is not None
    kind, likely = (WITHDRAWN, np.zeros(len(rows))) if late is None else (CONFIRMED, np.ones(len(rows)))
    return replace(
        own,
        matches=replace(own.matches, buffer=stream.buffer),
        end=np.full(len(rows), time),
        estimates=EstimateColumns(likely, kind, late=late or {}),
    )


def may_be_revised(results: ResultBatch, within: int | float | None, now: int | float) -> Flags:
    """Whether each estimate may still be confirmed or withdrawn at a time."""
    if within is None:
        return np.ones(len(results), np.bool_)
    return np.asarray(results.end + 2 * within >= now)


def reported_estimates(
    row: RowEstimates, variant: int, results: ResultBatch, stream: MergedStream, now: int | float
) -> Iterator[ReportedEstimate]:
    """The estimates of a part that stand, each with the way to settle it."""
    positions = positions_of(results)
    assert results.matches is not None
    shown = replace(results, matches=replace(results.matches, buffer=stream.buffer))

    def settle(number: int, happened: bool) -> ResultBatch:
        own = np.array([number])
        row.revise(variant, positions[own], confirmed=happened)
        return revised(results, own, now, stream, {} if happened else None)

    for number in np.flatnonzero(row.stands(variant, positions)).tolist():
        yield ReportedEstimate(shown.notification(number), partial(settle, number))


class LateRevisions:
    """The late events of a statement. Where several steps of an estimate were lost, those that came are kept until the
    others have come."""

    def __init__(self, variants: Sequence[VariantMatches]) -> None:
        self._variants = variants
        self._trials = [VariantTrials(variant.variant) for variant in variants]
        self._late = EventBuffer()
        self._arrived = 0
        self._came: dict[_Key, list[int]] = {}

    @property
    def nbytes(self) -> int:
        return self._late.nbytes

    def texts(self) -> Iterator[Ints]:
        """The codes of the texts of late events that are kept."""
        for segment in self._late.segments:
            yield from segment.events.texts()

    def process(
        self, late: LateInput, rows: Mapping[Scalar, RowEstimates], stream: MergedStream
    ) -> Iterator[ResultBatch]:
        """The estimates that late events confirm or withdraw."""
        arrivals = _Arrivals(late, stream, self._append(late))
        for row_id, row in rows.items():
            events = TrialEvents(stream.buffer, self._late, stream.strings, late.tables, row_id)
            for variant, results in list(row.reported):
                near = arrivals.near(results, self._variants[variant])
                near = near.only(row.stands(variant, positions_of(results)[near.estimate]))
                if len(near.estimate):
                    yield from self._revised(row, variant, results, near, events, stream, late.time)
        self._forget(rows)

    def _revised(
        self,
        row: RowEstimates,
        variant: int,
        results: ResultBatch,
        near: _Nearby,
        events: TrialEvents,
        stream: MergedStream,
        time: int | float,
    ) -> Iterator[ResultBatch]:
        positions = positions_of(results)
        found = _Decisions.none(len(results), len(self._variants[variant].scorer.lost))
        if found.steps.shape[1] > 1:
            self._decide_by_rounds(found, variant, positions, near, events)
        else:
            self._decide_at_once(found, variant, positions, near, events)
        if found.confirmed.any():
            rows = np.flatnonzero(found.confirmed)
            row.revise(variant, positions[rows], confirmed=True)
            yield revised(results, rows, time, stream, self._names(variant, found.steps[rows]))
        if found.withdrawn.any():
            rows = np.flatnonzero(found.withdrawn)
            row.revise(variant, positions[rows], confirmed=False)
            yield revised(results, rows, time, stream, None)

    def _decide_at_once(
        self, found: _Decisions, variant: int, positions: Ints, near: _Nearby, events: TrialEvents
    ) -> None:
        """One late event decides by itself."""
        for first in range(0, len(near.estimate), _AT_ONCE):
            part = near.only(slice(first, first + _AT_ONCE)).only_open(found)
            if len(part.estimate):
                trials = Trials(positions[part.estimate], np.arange(len(part.estimate)), part.late)
                found.note(part.estimate, self._trials[variant].outcomes(trials, events))

    def _decide_by_rounds(
        self, found: _Decisions, variant: int, positions: Ints, near: _Nearby, events: TrialEvents
    ) -> None:
        """Each late event of an estimate in turn, with those that came before it."""
        turn = np.arange(len(near.estimate)) - np.searchsorted(near.estimate, near.estimate)
        for number in range(int(turn.max()) + 1):
            part = near.only(turn == number).only_open(found)
            if not len(part.estimate):
                return
            own = positions[part.estimate]
            keys = [(events.row_id, variant, key.tobytes()) for key in own]
            tried = [[*self._came.get(key, ()), late] for key, late in zip(keys, part.late.tolist(), strict=True)]
            trial = np.repeat(np.arange(len(own)), list(map(len, tried)))
            outcomes = self._trials[variant].outcomes(Trials(own, trial, np.concatenate(tried)), events)
            found.note(part.estimate, outcomes)
            alone = self._trials[variant].outcomes(Trials(own, np.arange(len(own)), part.late), events)
            for i in np.flatnonzero(found.open(part.estimate) & ~alone.disputed).tolist():
                self._came[keys[i]] = tried[i]

    def _names(self, variant: int, late: Ints) -> dict[str, NDArray[np.object_]]:
        """The names of late events by the lost steps that they are, None without an ID."""
        matches, known = self._variants[variant], self._late.whole
        lost = [step for step in matches.subscription.positive if step in matches.scorer.lost]
        names = np.full(len(known), None, object) if known.name is None else known.name
        return {step: names[known.rows(late[:, number])] for number, step in enumerate(lost)}

    def _append(self, late: LateInput) -> EventSegment:
        """The late events of a batch as a segment; their lanes and numbers mean nothing."""
        events, nothing = late.events, np.zeros(len(late.events), np.int64)
        segment = EventSegment(self._arrived, events.events, nothing, nothing, events.name, events.order)
        self._arrived += len(segment)
        self._late = self._late.extended(segment)
        return segment

    def _forget(self, rows: Mapping[Scalar, RowEstimates]) -> None:
        """Keep the late events of which others are awaited."""
        self._came = {key: came for key, came in self._came.items() if _stands(rows, key)}
        needed = np.unique(np.array([late for came in self._came.values() for late in came], np.int64))
        self._late = self._late.only(needed) if len(needed) else EventBuffer()

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {
            "arrived": self._arrived,
            "events": segment_state(self._late.whole) if self._late.segments else None,
            "came": [
                [row_id, variant, np.frombuffer(positions, np.int64), np.array(came, np.int64)]
                for (row_id, variant, positions), came in self._came.items()
            ],
        }

    def restore(
        self, state: Mapping[str, Any], bounds: StateBounds, rows: Mapping[Scalar, RowEstimates], plan: InputPlan
    ) -> None:
        """`plan` is that of the statement's streams. The events have no lanes and places."""
        self._arrived = whole(state["arrived"], "the late events")
        if state["events"] is not None:
            own = replace(bounds, lanes=1, positions=self._arrived)
            self._late = EventBuffer((restore_segment(state["events"], plan, own),))
        held = self._late.held
        for row_id, number, positions, came in state["came"]:
            variant = whole(number, "the late events", stop=len(self._variants))
            width = len(self._variants[variant].steps)
            own_positions = indices(positions, bounds.positions, "the late events", (width,))
            late = indices(came, self._arrived, "the late events", (None,))
            require(len(late) > 0 and all_held(late, held), "the late events")
            key = row_id, variant, own_positions.tobytes()
            require(key not in self._came and _stands(rows, key), "the late events")
            self._came[key] = late.tolist()


def _stands(rows: Mapping[Scalar, RowEstimates], key: _Key) -> bool:
    row_id, variant, positions = key
    return row_id in rows and bool(rows[row_id].stands(variant, np.frombuffer(positions, np.int64).reshape(1, -1))[0])


@record
class _Nearby:
    """Pairs of an estimate and the position of a late event that may lie in one of its gaps, by estimates, then as the
    events came."""

    estimate: Ints
    late: Ints

    def only(self, keep: Flags | slice) -> _Nearby:
        return _Nearby(self.estimate[keep], self.late[keep])

    def only_open(self, found: _Decisions) -> _Nearby:
        return self.only(found.open(self.estimate))


@record
class _Decisions:
    """Of each estimate of a part whether late events confirm or withdraw it, and which are its lost steps."""

    confirmed: Flags
    withdrawn: Flags
    steps: Ints

    @classmethod
    def none(cls, count: int, lost: int) -> _Decisions:
        return cls(np.zeros(count, np.bool_), np.zeros(count, np.bool_), np.full((count, lost), -1))

    def open(self, estimates: Ints) -> Flags:
        return ~(self.confirmed | self.withdrawn)[estimates]

    def note(self, estimates: Ints, outcomes: TrialOutcomes) -> None:
        """The first trial of each estimate that decides."""
        deciding = np.flatnonzero(outcomes.complete | ~outcomes.undisputed)
        decided, first = np.unique(estimates[deciding], return_index=True)
        trial = deciding[first]
        self.confirmed[decided] = outcomes.complete[trial]
        self.withdrawn[decided] = ~outcomes.complete[trial]
        self.steps[decided] = outcomes.steps[trial]


class _Arrivals:
    """The late events of a batch, to be found by lane and time."""

    def __init__(self, late: LateInput, stream: MergedStream, segment: EventSegment) -> None:
        self._stream, self._time = stream, late.time
        self._lanes = LaneIndex(stream.lanes.kinds)
        lane = self._lanes.of(stream.key_columns(segment.events), len(segment))
        self._times: Times = segment.events.time.values
        self._instants = np.unique(self._times)
        rank = np.searchsorted(self._instants, self._times)
        self._by = np.lexsort((rank, lane))
        self._places = self._place(lane, rank)[self._by]
        self._first = segment.base

    def _place(self, lane: Ints, rank: Ints) -> Ints:
        """One number by which lanes go first, then instants."""
        return np.asarray(lane * (len(self._instants) + 1) + rank)

    def near(self, results: ResultBatch, variant: VariantMatches) -> _Nearby:
        """The pairs with estimates of a variant."""
        positions = positions_of(results)
        at = self._stream.buffer.times(positions.ravel()).reshape(positions.shape)
        low, high = _span(at, self._stream.buffer.starts(positions[:, 0]), variant)
        current = may_be_revised(results, variant.subscription.within, self._time)
        rows = np.flatnonzero(current & (low <= self._instants[-1]) & (high >= self._instants[0]))
        lane = self._lane_of(results.lane[rows])
        first = np.searchsorted(self._places, self._place(lane, np.searchsorted(self._instants, low[rows])))
        past = np.searchsorted(self._instants, high[rows], side="right")
        count = np.maximum(np.searchsorted(self._places, self._place(lane, past)) - first, 0)
        estimate = np.repeat(rows, count)
        within = np.arange(len(estimate)) - np.repeat(np.cumsum(count) - count, count)
        late = self._by[np.repeat(first, count) + within]
        between = ~(at[estimate] == self._times[late][:, None]).any(axis=1)
        estimate, late = estimate[between], late[between]
        by = np.lexsort((late, estimate))
        return _Nearby(estimate[by], late[by] + self._first)

    def _lane_of(self, lanes: Ints) -> Ints:
        """The numbers that lanes of the stream have here."""
        return self._lanes.of(list(self._stream.keys.columns(lanes).values()), len(lanes))


def _span(at: Times, starts: Times, variant: VariantMatches) -> tuple[Times, Times]:
    """From when to when the steps without an event of each estimate may be: beyond its events, where these are not the
    first and the last of the pattern, as far as the window."""
    subscription = variant.subscription
    steps, within = list(subscription.steps), math.inf if subscription.within is None else subscription.within
    low = at[:, 0] if steps[0] == variant.present[0] else at[:, -1] - within
    high = at[:, -1] if steps[-1] == variant.present[-1] else starts + within
    return low, high
