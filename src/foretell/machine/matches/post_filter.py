"""From what the kernel found to the matches that count: what is judged on the finished match, and what is absent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.filter.predicates import evaluate_predicates
from foretell.language import tree
from foretell.machine.matches.match_batch import MatchBatch, Rows
from foretell.plan.condition_scope import is_static
from foretell.plan.lower.registers import Register, RegisterKind


def finished(matches: MatchBatch) -> MatchBatch:
    """Those of which every remaining condition is true."""
    program = matches.program
    for condition in program.automaton.final:
        if len(matches):
            matches = matches.filter(_condition_holds(matches, condition.owner, condition.expression))
    for step in program.leading:
        if len(matches):
            matches = matches.filter(~_came_before(matches, step))
    for number, step in enumerate(program.deferred):
        if len(matches):
            numbered = program.subscription.steps[step].shape.numbered
            matches = matches.filter(
                _is_counted(matches, number, step) if numbered else ~_came_between(matches, number, step)
            )
    having = program.subscription.tree.having
    if having is not None and len(matches):
        matches = matches.filter(matches.holds(having))
    return matches


def _condition_holds(matches: MatchBatch, owner: str, condition: tree.Expression) -> Flags:
    """A step's condition, for every event bound to the step."""
    mine = np.flatnonzero(matches.step == matches.program.steps.index(owner))
    before = mine - 1
    follows = (mine > 0) & (matches.match[before] == matches.match[mine])
    previous = np.where(follows, matches.position[before], -1)
    rows = Rows(matches.match[mine], owner, matches.position[mine], previous, matches.position[mine])
    holds = np.ones(len(matches), np.bool_)
    holds[rows.match[~matches.holds(condition, rows)]] = False
    return holds


# ── absence ──


def _came_before(matches: MatchBatch, step: str) -> Flags:
    """Whether the step came in the window before the match, up to its first event."""
    within = matches.program.subscription.within
    assert within is not None
    times = matches.buffer.whole.events.time.values
    ended = matches.buffer.times(matches.last)
    # Time goes up with the position, so the window is a range of positions.
    low = matches.buffer.base + np.searchsorted(times + within, ended, side="left")
    low = np.maximum(low, matches.since)
    everyone = np.arange(len(matches))
    asked = matches.register(Register(RegisterKind.LEADING, step))[1] == 0
    nothing = np.full(len(matches), -1, np.int64)
    high = matches.buffer.instant_of(matches.first, matches.program.subscription.simultaneous)
    return np.asarray(asked) & _came(matches, step, _Where(everyone, low, high, nothing, matches.first))


def _came_between(matches: MatchBatch, number: int, step: str) -> Flags:
    """Whether the step came in one of its gaps, which the kernel has written down."""
    gaps = matches.gaps.of(number)
    simultaneous = matches.program.subscription.simultaneous
    low = matches.buffer.instant_after(gaps.after, simultaneous)
    high = matches.buffer.instant_of(gaps.before, simultaneous)
    return _came(matches, step, _Where(gaps.match, low, high, gaps.after, gaps.before))


@dataclass(frozen=True)
class _Where:
    """Where to look: for a match, at positions from `low` up to and without `high`.

    `previous` is the event bound before, `until` how far the match is seen by a step repeated with others.
    """

    match: Ints
    low: Ints
    high: Ints
    previous: Ints
    until: Ints


def _came(matches: MatchBatch, step: str, where: _Where) -> Flags:
    """Whether, in the match's lane, an event satisfies the step."""
    conditions = matches.program.subscription.steps[step].conditions
    place, position = _candidates(matches, conditions, where.match, where.low, where.high)
    match = where.match[place]
    rows = Rows(match, step, position, where.previous[place], where.until[place])
    came = np.zeros(len(matches), np.bool_)
    came[match[_satisfied(matches, conditions, rows)]] = True
    return came


def _candidates(
    matches: MatchBatch, conditions: tuple[tree.Expression, ...], match: Ints, low: Ints, high: Ints
) -> tuple[Ints, Ints]:
    """The events of the matches' lanes from `low` up to and without `high` that satisfy what is static.

    For each of them: for which of the given places it was found, and its position.
    """
    history = matches.buffer.whole
    static = [c for c in conditions if is_static(c)]
    satisfied = np.flatnonzero(evaluate_predicates([static], history.events, matches.strings)[0])
    order = np.lexsort((satisfied, history.lane[satisfied]))
    lanes, positions = history.lane[satisfied][order], satisfied[order] + history.base
    width = int(positions.max(initial=0)) + 2
    keys = lanes * width + np.clip(positions, 0, width - 1)
    lane = matches.lane[match] * width
    first = np.searchsorted(keys, lane + np.clip(low, 0, width - 1), side="left")
    last = np.searchsorted(keys, lane + np.clip(high, 0, width - 1), side="left")
    lengths = np.maximum(last - first, 0)
    place = np.repeat(np.arange(len(match)), lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return place, positions[np.repeat(first, lengths) + within]


def _satisfied(matches: MatchBatch, conditions: tuple[tree.Expression, ...], rows: Rows) -> Flags:
    """Whether the conditions that are not static are true."""
    true = np.ones(len(rows.match), np.bool_)
    for condition in conditions:
        if not is_static(condition):
            true &= matches.holds(condition, rows)
    return true


# ── counts ──


def _is_counted(matches: MatchBatch, number: int, step: str) -> Flags:
    """Whether the event of an a[i] is the i-th that would do, with all else of the match as it is."""
    checked = matches.program.subscription
    index = next(n.index for n in checked.pattern.walk() if isinstance(n, tree.Numbered) and n.step.name == step)
    gaps, conditions = matches.gaps.of(number), checked.steps[step].counted
    everywhere = gaps.after < 0  # nothing precedes it: it counts in the whole lane
    low = np.full(len(gaps.match), matches.since)
    low[~everywhere] = matches.buffer.instant_after(gaps.after[~everywhere], checked.simultaneous)
    place, position = _candidates(matches, conditions, gaps.match, low, gaps.before + 1)
    first, previous = _others(matches, step, gaps.match[place], position)
    rows = Rows(gaps.match[place], step, position, previous, position, first)
    counts = np.bincount(place[_satisfied(matches, conditions, rows)], minlength=len(gaps.match))
    right = np.where(everywhere, counts % index == 0, counts == index)
    counted = np.ones(len(matches), np.bool_)
    counted[gaps.match[~right]] = False
    return counted


def _others(matches: MatchBatch, step: str, match: Ints, position: Ints) -> tuple[Ints, Ints]:
    """With what a match begins if an event at some position is tried for the step, and what is bound just before it."""
    others = np.flatnonzero(matches.step != matches.program.steps.index(step))
    width = int(max(matches.position.max(initial=0), position.max(initial=0))) + 2
    keys = matches.match[others] * width + matches.position[others]
    beginning = np.searchsorted(keys, match * width, side="left")
    at = np.searchsorted(keys, match * width + position, side="left")
    before = at > beginning
    found = np.append(matches.position[others], -1)
    return np.where(before, found[beginning], position), np.where(before, found[at - 1], -1)
