"""From what the kernel found to the matches that count: what is judged on the finished match, and what is absent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretell.filter.predicates import answers
from foretell.language import tree
from foretell.machine.matches import Matches, Rows
from foretell.plan.conditions import is_static
from foretell.plan.registers import Register

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def finished(matches: Matches) -> Matches:
    """Those of which every remaining condition is true."""
    program = matches.program
    for condition in program.automaton.final:
        if len(matches):
            matches = matches.kept(_condition_holds(matches, condition.owner, condition.expression))
    for step in program.leading:
        if len(matches):
            matches = matches.kept(~_came_before(matches, step))
    for number, step in enumerate(program.deferred):
        if len(matches):
            matches = matches.kept(~_came_between(matches, number, step))
    having = program.subscription.tree.having
    if having is not None and len(matches):
        matches = matches.kept(matches.holds(having))
    return matches


def _condition_holds(matches: Matches, owner: str, condition: tree.Expression) -> Flags:
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


def _came_before(matches: Matches, step: str) -> Flags:
    """Whether the step came in the window before the match, up to its first event."""
    within = matches.program.subscription.within
    assert within is not None
    times = matches.history.whole.events.time.values
    ended = matches.history.times(matches.last)
    # Time goes up with the position, so the window is a range of positions.
    low = matches.history.base + np.searchsorted(times + within, ended, side="left")
    low = np.maximum(low, matches.since)
    everyone = np.arange(len(matches))
    asked = matches.register(Register("leading", step))[1] == 0
    nothing = np.full(len(matches), -1, np.int64)
    high = matches.history.instant_of(matches.first, matches.program.subscription.simultaneous)
    return np.asarray(asked) & _came(matches, step, _Where(everyone, low, high, nothing, matches.first))


def _came_between(matches: Matches, number: int, step: str) -> Flags:
    """Whether the step came in one of its gaps, which the kernel has written down."""
    gaps = matches.gaps
    mine = gaps.negation == number
    after, before = gaps.after[mine], gaps.before[mine]
    simultaneous = matches.program.subscription.simultaneous
    low = matches.history.instant_after(after, simultaneous)
    high = matches.history.instant_of(before, simultaneous)
    return _came(matches, step, _Where(gaps.match[mine], low, high, after, before))


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


def _came(matches: Matches, step: str, where: _Where) -> Flags:
    """Whether, in the match's lane, an event satisfies the step."""
    history = matches.history.whole
    conditions = matches.program.subscription.steps[step].conditions
    static = [c for c in conditions if is_static(c)]
    satisfied = np.flatnonzero(answers([static], history.events, matches.strings)[0])
    order = np.lexsort((satisfied, history.lane[satisfied]))
    lanes, positions = history.lane[satisfied][order], satisfied[order] + history.base
    width = int(positions.max(initial=0)) + 2
    keys = lanes * width + np.clip(positions, 0, width - 1)
    lane = matches.lane[where.match] * width
    first = np.searchsorted(keys, lane + np.clip(where.low, 0, width - 1), side="left")
    last = np.searchsorted(keys, lane + np.clip(where.high, 0, width - 1), side="left")
    lengths = np.maximum(last - first, 0)
    pair = np.repeat(np.arange(len(where.match)), lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pair_position = positions[np.repeat(first, lengths) + within]
    pair_match = where.match[pair]
    rows = Rows(pair_match, step, pair_position, where.previous[pair], where.until[pair])
    true = np.ones(len(pair_match), np.bool_)
    for condition in conditions:
        if not is_static(condition):
            true &= matches.holds(condition, rows)
    came = np.zeros(len(matches), np.bool_)
    came[pair_match[true]] = True
    return came
