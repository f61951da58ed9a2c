"""AFTER MATCH where some matches are estimates: which are reported, and which are withdrawn later.

Certain matches are taken first, and an estimate only from what they leave: not one that could not be taken together
with a certain match, were both certain. In a stream an estimate may come before such a match: then it is reported, and
withdrawn with that match. The same holds where a lost step is seen just outside its gap. Late events may confirm an
estimate or take it back (see `confirmations`); once confirmed it stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from foretell.events.notification import WITHDRAWN
from foretell.language.reduced_patterns import compared, sighting
from foretell.reference.confirmations import LateArrival, Revision, revisions_by_late
from foretell.reference.lane import PlacedEvent
from foretell.reference.matches import Match, ReferenceMatcher, after_match, removes


def reported(
    matcher: ReferenceMatcher, matches: Iterable[Match], arrivals: Sequence[LateArrival] = ()
) -> tuple[list[Match], list[Revision]]:
    """The matches that are reported, and what became of them later. They come in the order of `taking_order`."""
    subscription, lane = matcher.subscription, matcher.lane
    after = subscription.tree.after
    uncertain = list[Match]()
    certain = list[Match]()
    for match in matches:
        (uncertain if _is_estimate(match) else certain).append(match)
    taken = after_match(certain, after, lane, subscription.positive)
    estimates, revisions = list[Match](), list[Revision]()
    for estimate in uncertain:
        rivals = [m for m in taken if removes(*_in_order(m, estimate), after, lane)]
        valid = [e for e in estimates if not _is_withdrawn(e, estimate, revisions)]
        ends = [Revision(estimate, WITHDRAWN, m.end, m.completed_by) for m in rivals]
        seen = _seen_later(matcher, estimate)
        ends += [Revision(estimate, WITHDRAWN, at.event.end, at.event.key) for at in seen]
        if any(r.key <= estimate.completed_by for r in ends) or _seen_before_window(matcher, estimate):
            continue
        if any(removes(e, estimate, after, lane) for e in valid):
            continue
        estimates.append(estimate)
        ends += revisions_by_late(matcher, estimate, arrivals)
        revisions += sorted(ends, key=lambda r: r.key)[:1]
    return sorted([*taken, *estimates], key=matcher.taking_order), revisions


def _is_estimate(match: Match) -> bool:
    return bool(match.lost) or match.probability < 1.0


def _in_order(certain: Match, estimate: Match) -> tuple[Match, Match]:
    """The two as they would be taken if both were certain: the former may remove the latter."""
    return (certain, estimate) if certain.completed_by <= estimate.completed_by else (estimate, certain)


def _is_withdrawn(earlier: Match, estimate: Match, revisions: list[Revision]) -> bool:
    """Whether an earlier estimate was withdrawn before another one is known."""
    return any(r.match is earlier and r.kind == WITHDRAWN and r.key <= estimate.completed_by for r in revisions)


def _seen_later(matcher: ReferenceMatcher, match: Match) -> Iterator[PlacedEvent]:
    """For each lost step that follows an event present, the event after its gap that shows that it was not lost: it
    comes at most a window later, and before another event that it could follow."""
    positive, window = matcher.subscription.positive, matcher.subscription.within
    present = {b.step: b.at for b in match.bound}
    for place, step in enumerate(positive):
        earlier = [s for s in positive[:place] if s in present]
        if step not in match.lost or not earlier:
            continue
        end = next((present[s] for s in positive[place:] if s in present), None)
        until = match.end if end is None else end.event.end
        sought = _with_sightings(matcher, match.lost, step, earlier[-1])
        other: PlacedEvent | None = None
        for at in matcher.lane.after(end or match.last):
            if window is not None and at.event.end > until + window:
                break
            if other is not None and matcher.lane.follows(at, other):
                break
            if at.event.end > until and sought.would_do(step, match, at):
                yield at
                break
            if other is None and sought.would_do(earlier[-1], match, at):
                other = at


def _seen_before_window(matcher: ReferenceMatcher, match: Match) -> bool:
    """Whether a lost first step was seen before its window, at most a window earlier, and after every other event that
    could follow it: then the match's first event has come late, and nothing was lost."""
    positive, window = matcher.subscription.positive, matcher.subscription.within
    first = match.bound[0].step
    step = positive[positive.index(first) - 1] if first != positive[0] else None
    if step is None or window is None:
        return False
    sought = _with_sightings(matcher, match.lost, step, first)
    other: PlacedEvent | None = None
    for at in reversed([e for e in matcher.lane.events if matcher.lane.follows(match.first, e)]):
        if at.event.end < match.last.event.end - 2 * window:
            break
        if other is not None and matcher.lane.follows(other, at):
            break
        if sought.would_do(step, match, at):
            return True
        if other is None and sought.would_do(first, match, at):
            other = at
    return False


def _with_sightings(matcher: ReferenceMatcher, lost: frozenset[str], step: str, neighbour: str) -> ReferenceMatcher:
    """The matcher with a lost step, and the step present beside it, as negated ones that are sought outside its gap."""
    steps = {name: compared(sighting(matcher.subscription, name, lost, neighbour)) for name in (step, neighbour)}
    subscription = matcher.subscription
    return replace(matcher, subscription=replace(subscription, steps={**subscription.steps, **steps}))
