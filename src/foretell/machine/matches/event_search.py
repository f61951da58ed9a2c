"""Searches for events between others: by lane and by the values that they share with a match (AYAC's negative arrival
queues, section 4.2, hashed as in 5.2). All searches of a batch are answered by bisection in one sorted list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.filter.column import may_be_null
from foretell.filter.predicates import evaluate_predicates
from foretell.machine.input.key_index import KeyIndex
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.match_values import evaluate_matches
from foretell.plan.lower.post_match import EventSearch


class FoundEvents(NamedTuple):
    """The events in some ranges: those of a range are `positions` from `first` on, so many each."""

    positions: Ints
    first: Ints
    lengths: Ints

    def each(self) -> tuple[Ints, Ints]:
        """Of each event the number of its range, and its position."""
        place = np.repeat(np.arange(len(self.first)), self.lengths)
        within = np.arange(len(place)) - np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        return place, self.positions[np.repeat(self.first, self.lengths) + within]


def events_between(matches: MatchBatch, search: EventSearch, match: Ints, low: Ints, high: Ints) -> FoundEvents:
    """The events of the matches' lanes, from `low` up to and without `high`, that satisfy the static conditions and
    share the values of a search."""
    segment = matches.buffer.whole
    rows = np.flatnonzero(evaluate_predicates([search.static], segment.events, matches.strings)[0])
    lists, wanted, rows = _lists(matches, search, match, rows)
    order = _order(lists)
    positions = segment.positions_of(rows[order])
    width = int(positions.max(initial=0)) + 2
    keys = lists[order] * width + np.clip(positions, 0, width - 1)
    first = np.searchsorted(keys, wanted * width + np.clip(low, 0, width - 1), side="left")
    last = np.searchsorted(keys, wanted * width + np.clip(high, 0, width - 1), side="left")
    return FoundEvents(positions, first, np.where(wanted < 0, 0, np.maximum(last - first, 0)))


def _lists(matches: MatchBatch, search: EventSearch, match: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """The list in which each event is, the one that each match wants (-1 for none), and the rows of the events that are
    in one: without shared values lists are lanes."""
    segment = matches.buffer.whole
    if not search.shared:
        return segment.lane[rows], matches.lane[match], rows
    columns = [segment.events.attributes.get(shared.attribute) for shared in search.shared]
    values = [evaluate_matches(shared.of_match, matches).take(match) for shared in search.shared]
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):  # no event has the attribute
        return rows[:0], np.full(len(match), -1, np.int64), rows[:0]
    present = np.ones(len(rows), np.bool_)
    for column in known:
        if may_be_null(column.nulls):
            present &= ~column.nulls[rows]
    rows = rows[present]
    numbers = _numbered(
        [np.concatenate([segment.lane[rows], matches.lane[match]])]
        + [np.concatenate([c.values[rows], v.values]) for c, v in zip(known, values, strict=True)]
    )
    wanted: Ints = np.where(_null_anywhere([value.nulls for value in values]), -1, numbers[len(rows) :])
    return numbers[: len(rows)], wanted, rows


def _null_anywhere(nulls: list[Flags]) -> Flags:
    return np.asarray(np.any(nulls, axis=0), np.bool_)


def _numbered(columns: list[Ints]) -> Ints:
    """Equal numbers for equal rows."""
    words = np.stack(columns, axis=1)
    return KeyIndex().number(np.arange(len(words) + 1) * len(columns), words.reshape(-1))


def _order(numbers: Ints) -> Ints:
    """The stable order of small numbers: by sixteen bits at a time, which NumPy sorts in linear time."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    shift = 16
    while int(numbers.max(initial=0)) >> shift:
        order = order[np.argsort((numbers[order] >> shift).astype(np.uint16), kind="stable")]
        shift += 16
    return order
