"""The gaps of matches: the probability of each, and when the steps that it hides happened (decision 0016).

The times rest on what the probability of the gap rests on: counts of a history, the delays between both its ends, or
the delays regardless of its end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from foretell.arrays import Flags, Floats
from foretell.events.delays.delay_model import GapEnds
from foretell.events.delays.densities import Density
from foretell.events.delays.distributions import DelayDistribution
from foretell.events.delays.lost_times import LostSteps, lost_at_edge, lost_between
from foretell.events.delays.pattern_gaps import Gap, edge_probability, gap_probability
from foretell.events.delays.scores import Score
from foretell.events.estimate_detail import INTERVAL_ENDS
from foretell.records import record


@record
class GapEstimate:
    """For each length of a gap its probability, whether it was scored regardless of the gap's end though both ends
    were asked for, and of each lost step the interval of its distance from the event at which the gap begins."""

    probability: Floats
    independent: Flags
    distances: Floats


@record
class GapOutline:
    """The part that is the same for all lengths: the steps at the ends of a gap, and its lost steps, each with the step
    present from which its distance counts, in which direction."""

    ends: GapEnds
    lost: tuple[tuple[str, str, int], ...]


def outline(*gaps: Gap) -> GapOutline | None:
    """Of a gap between events present, or of those at both edges; None where nothing can be hidden."""
    losable = [gap for gap in gaps if gap.losable]
    if not losable:
        return None
    lost = tuple((step, gap.origin, -1 if gap.backwards else 1) for gap in gaps for step in gap.lost)
    after = next((gap.origin for gap in losable if not gap.backwards), None)
    before = next((gap.origin if gap.backwards else gap.end for gap in losable if gap.backwards or gap.end), None)
    return GapOutline((after, before), lost)


def estimate_between(gap: Gap, score: Score, lengths: Floats) -> GapEstimate:
    """The gap between two events present, for each of these lengths."""
    scored = gap_probability(gap, score, lengths)
    found = np.full((len(lengths), len(gap.lost), len(INTERVAL_ENDS)), math.nan)
    if gap.lost:
        if score is Score.BOTH_ENDS:
            if (known := ~np.isnan(gap.learned(lengths))).any():
                found[known] = _by_places(gap, lengths[known])
            if (hidden := gap.reaching(lengths).hidden_steps) is not None:
                _fill(found, lengths, [lost_between(hidden, gap.end or "")])
        _fill_without_end(found, gap, lengths)
    return GapEstimate(scored.probability, scored.independent, found)


def estimate_at_edges(before: Gap, after: Gap, score: Score, rooms: Floats) -> GapEstimate:
    """The gaps before the first and after the last event present, for each of what the window may leave."""
    scored = edge_probability(before, after, score, rooms)
    distances = [_at_edge(gap, other, score, rooms) for gap, other in ((before, after), (after, before))]
    return GapEstimate(scored.probability, scored.independent, np.concatenate(distances, axis=1))


def _at_edge(gap: Gap, other: Gap, score: Score, rooms: Floats) -> Floats:
    found = np.full((len(rooms), len(gap.lost), len(INTERVAL_ENDS)), math.nan)
    if not gap.lost:
        return found
    if score is Score.BOTH_ENDS:
        if (known := ~np.isnan(np.prod([g.learned(rooms) for g in (gap, other) if g.losable], axis=0))).any():
            seen = found[known]
            _fill(seen, rooms[known], [_seen_at_edge(gap, step, other, rooms) for step in gap.lost])
            found[known] = seen
        own, others = gap.reaching(rooms).hidden_steps, other.reaching(rooms).hidden_steps
        if own is not None and others is not None:
            _fill(found, rooms, [lost_at_edge(own, others)])
    _fill_without_end(found, gap, rooms)
    return found


def _fill(found: Floats, lengths: Floats, chains: Sequence[LostSteps | None]) -> None:
    """Put in what is missing: the intervals of these steps, in their order."""
    missing = np.isnan(found).any(axis=(1, 2))
    if missing.any() and None not in chains:
        found[missing] = np.concatenate([c.intervals(lengths[missing]) for c in chains if c is not None], axis=1)


def _fill_without_end(found: Floats, gap: Gap, lengths: Floats) -> None:
    """Put in what is missing regardless of the end; where nothing is known, a step may have happened at any time."""
    independent = gap.reaching(lengths).independent
    _fill(found, lengths, [None if independent is None else independent.lost_steps()])
    missing = np.isnan(found).any(axis=(1, 2))
    whole = np.where(np.isfinite(lengths), lengths, 0.0)[missing]
    found[missing] = whole[:, None, None] * np.array(INTERVAL_ENDS)


# ── by the counts of a history ──


def _by_places(gap: Gap, lengths: Floats) -> Floats:
    """By where the steps were seen in gaps of about these lengths."""
    assert gap.counts is not None
    found = [np.empty((len(lengths), 0, len(INTERVAL_ENDS)))]
    for place in (place for place in gap.hidden if not place.negated):
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = (np.clip(np.nan_to_num(bound / lengths), 0.0, 1.0) for bound in place.bounds)
        parts = gap.counts.places_lost(place.name, lengths, low, np.maximum(low, high))
        found.append((parts * lengths[:, None])[:, None])
    return np.concatenate(found, axis=1)


def _seen_at_edge(gap: Gap, step: str, other: Gap, rooms: Floats) -> LostSteps | None:
    """By how far from the event present a step was seen, with those at the other edge in what the window leaves."""
    seen, beyond = _seen_delay(gap, step), [_seen_delay(other, lost) for lost in other.lost[-1:]]
    if seen is None:
        return None

    def log_rest(left: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            known = (np.log(delay.cdf(left)) for delay in beyond if delay is not None)
            return np.asarray(sum(known, np.where(left >= 0, 0.0, -math.inf)))

    landmarks = np.unique(np.concatenate([np.empty(0), *(d.landmarks for d in beyond if d is not None)]))
    rest = Density(log_rest, landmarks, kinks=tuple(k for d in beyond if d is not None for k in d.law.kinks))
    bounds = next(place.bounds for place in gap.hidden if place.name == step)
    return LostSteps((Density.of(seen),), (bounds,), rest, float(rooms.max(initial=0.0)))


def _seen_delay(gap: Gap, step: str) -> DelayDistribution | None:
    counts = gap.counts
    points = None if counts is None or step not in counts.hidden else counts.distances(step)
    return None if points is None else DelayDistribution.of({"distribution": "points", "points": points})
