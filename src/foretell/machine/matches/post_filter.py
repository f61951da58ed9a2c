"""The post filter: conditions that the kernel could not decide, evaluated for all raw matches of a batch at once."""

from __future__ import annotations

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.machine.matches.event_chains import Gaps
from foretell.machine.matches.event_search import events_between
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.match_values import Candidates, candidates_satisfying, matches_satisfying
from foretell.plan.lower.post_match import EventSearch, GapAbsence, GapCount, LeadingAbsence, StepCondition
from foretell.records import record

#: In place of the position of an event that breaks a match: none has come.
NOT_BROKEN = np.iinfo(np.int64).max


def post_filter(matches: MatchBatch) -> MatchBatch:
    """The matches that satisfy step conditions, absences before and between events, counts, and HAVING."""
    plan = matches.plan
    for condition in plan.conditions:
        if len(matches):
            matches = matches.filter(_step_condition_holds(matches, condition))
    for absence in plan.leading:
        if len(matches):
            matches = matches.filter(~_came_before(matches, absence))
    for number, step in enumerate(plan.gaps):
        if len(matches):
            matches = matches.filter(_gap_holds(matches, matches.gaps.of(number), step))
    if plan.having is not None and len(matches):
        matches = matches.filter(matches_satisfying(plan.having, matches))
    return matches


def _step_condition_holds(matches: MatchBatch, condition: StepCondition) -> Flags:
    """Whether every event bound to the step satisfies the condition."""
    events = np.flatnonzero(matches.step == condition.step)
    before = events - 1
    follows = (events > 0) & (matches.match[before] == matches.match[events])
    previous = np.where(follows, matches.position[before], -1)
    position = matches.position[events]
    candidates = Candidates(matches.match[events], position, previous, until=position)
    holds = np.ones(len(matches), np.bool_)
    holds[candidates.match[~candidates_satisfying(condition.condition, matches, candidates)]] = False
    return holds


# ── absence ──


def _came_before(matches: MatchBatch, absence: LeadingAbsence) -> Flags:
    """Whether the absent step came in the window before the match, up to its first event."""
    plan, buffer = matches.plan, matches.buffer
    assert plan.within is not None
    # Time grows with the position, so the window is a range of positions.
    times = buffer.whole.events.time.values
    low = buffer.whole.positions_of(np.searchsorted(times + plan.within, buffer.times(matches.last), side="left"))
    low = np.maximum(low, matches.since)
    high = buffer.instant_of(matches.first, plan.simultaneous)
    nothing = np.full(len(matches), -1, np.int64)
    ranges = _SearchRanges(np.arange(len(matches)), low, high, nothing, matches.first)
    asked = matches.register(absence.output)[1] == 0
    return np.asarray(asked) & _came(matches, absence.search, ranges)


def breaking_events(matches: MatchBatch) -> tuple[Flags, Ints]:
    """The matches that a negation at the end may break, and the position of the first event that did so."""
    plan, buffer = matches.plan, matches.buffer
    assert plan.within is not None
    times = buffer.whole.events.time.values
    low = buffer.instant_after(matches.last, plan.simultaneous)
    high = buffer.whole.positions_of(np.searchsorted(times, matches.start + plan.within, side="right"))
    ranges = _SearchRanges(np.arange(len(matches)), low, high, matches.last, matches.last)
    trails, first = np.zeros(len(matches), np.bool_), np.full(len(matches), NOT_BROKEN)
    for absence in plan.trailing:
        asked = np.isin(matches.raw.state, absence.states)
        trails |= asked
        match, position = _coming(matches, absence.search, ranges)
        asked_for = asked[match]
        np.minimum.at(first, match[asked_for], position[asked_for])
    return trails, first


def _gap_holds(matches: MatchBatch, gaps: Gaps, step: GapAbsence | GapCount) -> Flags:
    if isinstance(step, GapCount):
        return _is_counted(matches, gaps, step)
    buffer, simultaneous = matches.buffer, matches.plan.simultaneous
    low = buffer.instant_after(gaps.after, simultaneous)
    high = buffer.instant_of(gaps.before, simultaneous)
    return ~_came(matches, step.search, _SearchRanges(gaps.match, low, high, gaps.after, gaps.before))


@record
class _SearchRanges:
    """Ranges of positions, from `low` up to and without `high`, each to be searched for a match.

    `previous` is the event bound before; `until` is how far a step sees others that repeat together with it.
    """

    match: Ints
    low: Ints
    high: Ints
    previous: Ints
    until: Ints


def _came(matches: MatchBatch, search: EventSearch, ranges: _SearchRanges) -> Flags:
    """Whether an event of the match's lane within the range satisfies the search."""
    came = np.zeros(len(matches), np.bool_)
    if search.relative:
        came[_coming(matches, search, ranges)[0]] = True
    else:
        found = events_between(matches, search, ranges.match, ranges.low, ranges.high)
        came[ranges.match[found.lengths > 0]] = True
    return came


def _coming(matches: MatchBatch, search: EventSearch, ranges: _SearchRanges) -> tuple[Ints, Ints]:
    """The events of the matches' lanes within the ranges that satisfy the search: the match and position of each."""
    place, position = events_between(matches, search, ranges.match, ranges.low, ranges.high).each()
    match = ranges.match[place]
    candidates = Candidates(match, position, ranges.previous[place], ranges.until[place])
    satisfying = _satisfying(matches, search, candidates)
    return match[satisfying], position[satisfying]


def _satisfying(matches: MatchBatch, search: EventSearch, candidates: Candidates) -> Flags:
    """The candidates that satisfy the other conditions too."""
    holds = np.ones(len(candidates.match), np.bool_)
    for condition in search.relative:
        holds &= candidates_satisfying(condition, matches, candidates)
    return holds


# ── counts ──


def _is_counted(matches: MatchBatch, gaps: Gaps, step: GapCount) -> Flags:
    """Whether the event of an a[i] is the i-th that satisfies the step, with all else of the match as it is."""
    everywhere = gaps.after < 0  # no event precedes it: it counts in the whole lane
    low = np.full(len(gaps.match), matches.since)
    low[~everywhere] = matches.buffer.instant_after(gaps.after[~everywhere], matches.plan.simultaneous)
    ranges = events_between(matches, step.search, gaps.match, low, gaps.before + 1)
    # Where too few events come into question, they need not be tried one by one.
    hopeless = ranges.lengths < step.index
    if (few := np.flatnonzero(hopeless & everywhere)).size:
        hopeless[few] = _takes_step(matches, step, gaps.match[few], gaps.before[few])
    place, position = ranges._replace(lengths=np.where(hopeless, 0, ranges.lengths)).each()
    counted_events = place[_takes_step(matches, step, gaps.match[place], position)]
    counts = np.bincount(counted_events, minlength=len(gaps.match))
    right = ~hopeless & np.where(everywhere, counts % step.index == 0, counts == step.index)
    counted = np.ones(len(matches), np.bool_)
    counted[gaps.match[~right]] = False
    return counted


def _takes_step(matches: MatchBatch, step: GapCount, match: Ints, position: Ints) -> Flags:
    """Whether the events at these positions satisfy the step, with all else of their matches as it is."""
    first, previous = _others(matches, step.step, match, position)
    return _satisfying(matches, step.search, Candidates(match, position, previous, position, first))


def _others(matches: MatchBatch, step: int, match: Ints, position: Ints) -> tuple[Ints, Ints]:
    """The first event of a match, and the event just before, if the event at `position` took the step."""
    others = np.flatnonzero(matches.step != step)
    width = int(max(matches.position.max(initial=0), position.max(initial=0))) + 2
    keys = matches.match[others] * width + matches.position[others]
    beginning = np.searchsorted(keys, match * width, side="left")
    at = np.searchsorted(keys, match * width + position, side="left")
    before = at > beginning
    positions = np.append(matches.position[others], -1)
    return np.where(before, positions[beginning], position), np.where(before, positions[at - 1], -1)
