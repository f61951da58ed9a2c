"""The matches of a batch in the order in which AFTER MATCH takes them, as columns.

There may be hundreds of thousands of candidates in a batch, of which AFTER MATCH takes a few. So they are sorted as
columns, and objects are made only of those that nothing excludes before their turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.plan.match_selection import AfterMatchRule
from foretell.records import record
from foretell.recover.candidates import CandidateMatches
from foretell.recover.completions import CompletionKey
from foretell.recover.match_exclusions import ExclusionColumns, MatchEvents, Name


class Turn(IntEnum):
    """The order at the same place: certain matches come first, and what withdraws before what is reported."""

    CERTAIN = 0
    TELLING = 1
    ESTIMATE = 2


@record
class CandidateSource:
    """Matches of a variant that were found together: the positions of their steps in the pattern, and the turn of
    each."""

    variant: int
    matches: CandidateMatches
    steps: tuple[int, ...]
    turns: Ints


@record
class MatchOccurrence:
    """A match, or one that tells of a lost step: the row of a source."""

    known: CompletionKey
    turn: int
    events: MatchEvents
    variant: int
    source: CandidateMatches
    row: int

    @property
    def name(self) -> Name:
        return self.variant, np.array(self.events.positions, np.int64).tobytes()

    @property
    def end(self) -> int | float:
        end: int | float = self.source.results.end[self.row].item()
        return end


class CandidateOrder:
    """`by_time`: events are ranked by their times, as where ties are simultaneous."""

    def __init__(self, sources: Sequence[CandidateSource], rule: AfterMatchRule, *, by_time: bool) -> None:
        self._sources, self._rule = sources, rule
        counts = [len(source.matches) for source in sources]
        self._source = np.repeat(np.arange(len(sources)), counts)
        self._row = np.concatenate([np.arange(count) for count in counts]) if sources else np.zeros(0, np.int64)
        self._ranks = [_ranks(source.matches, by_time=by_time) for source in sources]
        self._keys = [source.matches.known.keys for source in sources]
        self._turn = _joined([source.turns for source in sources])
        self._sort()

    def _sort(self) -> None:
        """By when they are known, their turn, the positions of their events, and their steps."""
        sources = self._sources
        depth = max((source.matches.results.order.shape[1] for source in sources), default=1)
        width = max((source.matches.positions.shape[1] for source in sources), default=1)
        known = [source.matches.known for source in sources]
        places = _joined([_widened(completions.order, depth) for completions in known])
        positions = _joined([_widened(source.matches.positions, width) for source in sources])
        order = {steps: number for number, steps in enumerate(sorted({source.steps for source in sources}))}
        steps = np.repeat([order[source.steps] for source in sources], [len(source.matches) for source in sources])
        ends = _joined([completions.end for completions in known])
        columns = [places[:, 0], ends, *places.T[1:], self._turn, *positions.T, steps]
        taken = np.lexsort(columns[::-1]) if sources else np.zeros(0, np.int64)
        self._source, self._row, self._turn = self._source[taken], self._row[taken], self._turn[taken]
        lanes = _joined([source.matches.results.lane for source in sources])
        first = _joined([ranks[:, 0] for ranks in self._ranks])
        self._columns = ExclusionColumns(positions[taken], lanes[taken], first[taken])

    def stretches(self) -> Iterator[tuple[Turn, Ints]]:
        """The rows of the order, those of the same turn that follow each other together."""
        if not len(self._turn):
            return
        starts = np.flatnonzero(np.diff(self._turn, prepend=-1))
        for rows in np.split(np.arange(len(self._turn)), starts[1:]):
            yield Turn(self._turn[rows[0]].item()), rows

    def columns(self, rows: Ints) -> ExclusionColumns:
        return self._columns.filter(rows)

    def occurrences(self, rows: Ints) -> Iterator[MatchOccurrence]:
        for number, row, turn in zip(
            self._source[rows].tolist(), self._row[rows].tolist(), self._turn[rows].tolist(), strict=True
        ):
            source = self._sources[number]
            yield MatchOccurrence(
                self._keys[number][row], turn, self._events(number, row), source.variant, source.matches, row
            )

    def _events(self, number: int, row: int) -> MatchEvents:
        source, ranks = self._sources[number], self._ranks[number][row].tolist()
        lane = source.matches.results.lane[row].item()
        return match_events(source.matches.positions[row].tolist(), source.steps, lane, ranks, self._rule)


def match_events(
    positions: Sequence[int], steps: tuple[int, ...], lane: int, ranks: Sequence[int | float], rule: AfterMatchRule
) -> MatchEvents:
    to: int | float | None = None
    if rule.skip_to is None:
        to = ranks[-1]
    elif rule.skip_to in steps:
        to = ranks[steps.index(rule.skip_to)]
    return MatchEvents(tuple(positions), steps, lane, ranks[0], to)


def _ranks(matches: CandidateMatches, *, by_time: bool) -> Any:
    if not by_time:
        return matches.positions
    batch = matches.results.matches
    assert batch is not None
    return batch.buffer.times(matches.positions.ravel()).reshape(matches.positions.shape)


def _joined(parts: Sequence[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _widened(rows: Ints, width: int) -> Ints:
    """Shorter rows come before longer ones that begin alike."""
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=-1)
