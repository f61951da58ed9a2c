"""One subscription at run time, after the kernel: post filter, FIRST, LAST and AFTER MATCH, results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Scalar
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.filter.template_index import SHIFT
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.input.event_order import EventOrder
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.matches.after_match import AfterMatchPolicy, FirstLastFilter, Rank
from foretell.machine.matches.codec import ResultLayout, restore_results, results_state
from foretell.machine.matches.late_choices import LateChoices
from foretell.machine.matches.longest import NOTHING_LIVES, LiveStarts, LongestSelection, longest_by_start
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.match_values import evaluate_matches
from foretell.machine.matches.post_filter import post_filter
from foretell.machine.matches.results import ResultBatch, joined_results
from foretell.machine.profiled_rows import ProfiledRows
from foretell.machine.selected_rows import SelectedRows
from foretell.machine.served_rows import ServedRows
from foretell.machine.trie_rows import TrieRows
from foretell.plan.lower.program import SubscriptionPlan
from foretell.storage.recorded_values import instant, whole


@dataclass
class SubscriptionRuntime:
    """From raw matches to the results of one subscription.

    `id` and `parameters` belong to its row where each row of a template runs apart; `rows` are all rows where it serves
    them all. `since` is the position of the first event that its matches may bind.
    """

    plan: SubscriptionPlan
    strings: StringDictionary
    stream: MergedStream
    id: Scalar = None
    parameters: Mapping[str, Column] = field(default_factory=dict)
    rows: ServedRows | None = None
    since: int = 0

    def __post_init__(self) -> None:
        self.schema = self.plan.schema
        self.selection = self.plan.selection
        self.first_last = FirstLastFilter(self.selection.choices)
        self.late_choices = LateChoices(self.selection, self.first_last)
        self.after_match = AfterMatchPolicy(self.selection.after_match)
        self.longest: LongestSelection | None = None
        if self.selection.after_match.longest:
            in_order = not self.selection.late_choices and not self.plan.waits
            self.longest = LongestSelection(self.after_match, self.selection.most_events, in_order)
        # Whether matches become known later than they end.
        self.waits = self.plan.waits or self.longest is not None or bool(self.selection.late_choices)
        self.pending: list[ResultBatch] = []  # matches that a LAST leaves undecided
        self.due: int | float = -math.inf  # no pending match is decided before; -inf where that is not known

    @property
    def waiting(self) -> list[ResultBatch]:
        """The matches that a LAST or LONGEST leaves undecided."""
        held = None if self.longest is None else self.longest.held
        return self.pending if held is None else [*self.pending, held]

    @property
    def oldest(self) -> int | None:
        """The earliest position that a waiting match refers to."""
        oldest = [result.matches.oldest for result in self.waiting if result.matches is not None]
        return min((position for position in oldest if position is not None), default=None)

    def process(
        self, matches: RawMatches, now: int | float, order: EventOrder, live: LiveStarts | None = None
    ) -> ResultBatch:
        """The results of the matches of a batch, and of waiting matches that are decided by now. With LONGEST, `live`
        are the partial matches that these wait for; None where no more events come."""
        if self.since:
            matches = matches.only(matches.first >= self.since)
        if isinstance(self.rows, ProfiledRows | TrieRows) and self.plan.post_match.parameters:
            return self._row_results(matches, self.rows, order)
        found = self._match_batch(matches)
        if self.plan.wants_longest and len(found):
            found = found.filter(longest_by_start(found))
        results = self._results(post_filter(found), order)
        if self.rows is not None:
            if isinstance(self.rows, SelectedRows):
                assert results.matches is not None
                intervals, rows = self.rows.of_matches(results.matches.first, self.stream.buffer)
                return replace(results, intervals=intervals, rows=rows)
            part = isinstance(self.rows, TrieRows)
            return replace(results, intervals=_row_intervals(results), rows=self.rows.indexed, rows_part=part)
        return self._selected(results, now, order, live) if self.selection.selects else results

    def _row_results(self, matches: RawMatches, rows: ProfiledRows | TrieRows, order: EventOrder) -> ResultBatch:
        """The results of matches that HAVING or RETURN make others for each row."""
        indexed = rows.indexed
        own = indexed.of(matches.rows, matches.first)
        each = matches.only(np.repeat(np.arange(len(matches)), indexed.counts(matches.rows, matches.first)))
        each = replace(each, rows=(own << SHIFT) + 1)
        found = replace(self._match_batch(each), parameters=rows.values(own), by_row=True)
        results = self._results(post_filter(found), order)
        return replace(results, intervals=_row_intervals(results), rows=indexed.whole, rows_part=True)

    def leading_from(self, now: int | float) -> int:
        """The first position that a leading negation may still look at: a window before a match that began a window
        ago, as a match may that waits for a trailing negation."""
        within = self.selection.within
        assert within is not None
        whole = self.stream.buffer.whole
        row = np.searchsorted(whole.events.time.values + 2 * within, now, side="left")
        return int(whole.positions_of(np.atleast_1d(row))[0])

    def forget(self, oldest: int) -> None:
        """Drops what only matches with events before a position could need."""
        self.first_last.forget(oldest)
        self.after_match.forget(oldest)

    # ── lanes that can be freed ──

    def needed_lanes(self, now: int | float) -> Ints:
        """The lanes of matches that wait, and those in which FIRST, LAST or AFTER MATCH keep what later events need."""
        lanes = [result.lane for result in self.waiting] + [self.first_last.needed_lanes]
        if self.selection.simultaneous:  # what is excluded up to an instant, is so for more events of this instant
            lanes.append(np.flatnonzero(self.after_match.past >= now))
        return np.concatenate(lanes)

    def free_lanes(self, freed: Ints) -> None:
        """Goes on without lanes that nothing needs; the stream has new keys."""
        self.after_match.free_lanes(freed)
        if self.longest is not None:
            self.longest.free_lanes(freed)
        self.renew()

    def renew(self) -> None:
        """Matches that wait will show the keys and texts of now: those of before go with results handed over."""
        self.pending = [self.renewed(result) for result in self.pending]
        if self.longest is not None and self.longest.held is not None:
            self.longest.held = self.renewed(self.longest.held)

    def renewed(self, results: ResultBatch) -> ResultBatch:
        return replace(results, keys=self.stream.keys, strings=self.strings.view)

    def _match_batch(self, matches: RawMatches) -> MatchBatch:
        return MatchBatch(
            self.plan.post_match, self.stream.buffer, self.strings, matches, self.parameters, since=self.since
        )

    def _results(self, matches: MatchBatch, order: EventOrder) -> ResultBatch:
        places, late = None, matches.completed_by_time
        if late.any():
            places = matches.buffer.order(matches.last)
            places[late] = -1
            places[late, 0] = order.deadlines(matches.end[late])
        return ResultBatch(
            schema=self.schema,
            matches=matches,
            lane=matches.lane,
            start=matches.start,
            end=matches.end,
            places=places,
            bindings={name: evaluate_matches(column, matches) for name, column in self.plan.post_match.returns.items()},
            keys=self.stream.keys,
            id=self.id,
            strings=self.strings.view,
        )

    # ── FIRST, LAST, AFTER MATCH ──

    def _selected(
        self, results: ResultBatch, now: int | float, order: EventOrder, live: LiveStarts | None
    ) -> ResultBatch:
        """The results that FIRST, LAST and AFTER MATCH leave."""
        if self.selection.ambiguous:
            results = results.filter(results.bound_events.distinct())
        if self.selection.late_choices or self.plan.trailing:
            results = self._decided(results, now, order)
        elif self.selection.choices:
            results = results.filter(self.first_last.keep(results.bound_events))
        if self.longest is not None:
            held = [] if self.longest.held is None else [self.longest.held]
            results = joined_results([*held, results], self.stream.buffer)
            live = NOTHING_LIVES if live is None else live.with_results(self.pending)
            return self.longest.take(results, live, now, self._rank(results))
        if self.selection.excludes:
            taken = self.after_match.take(results.bound_events, results.completion_order(), self._rank(results))
            results = results.filter(taken)
        return results

    def _decided(self, results: ResultBatch, now: int | float, order: EventOrder) -> ResultBatch:
        """With a LAST that the last event does not settle, the matches that are decided by now; the others stay
        pending. Until a match is decided, its end is a time before which it is not."""
        # Pending matches are looked at when the first of them is due, not with each batch.
        is_due = self.due < now
        together = joined_results([*(self.pending if is_due else ()), results], self.stream.buffer)
        assert together.matches is not None
        decided = self.late_choices.decide(together.matches, len(together) - len(results), together.end, now)
        if is_due:
            self.pending, self.due = [], math.inf
        if decided.waits.any():
            waiting = replace(together.filter(decided.waits), end=decided.at[decided.waits])
            self.pending = _compacted([*self.pending, waiting], self.stream.buffer)
            # An event may break a match that LAST would prefer at any time.
            self.due = -math.inf if self.plan.trailing else min(self.due, waiting.end.min().item())
        settled = decided.settled
        matches, at, late = together.filter(settled), decided.at[settled], decided.late[settled]
        places = matches.order.copy()
        places[late] = -1
        places[late, 0] = order.deadlines(at[late])
        return replace(matches, end=at, places=places)

    def _rank(self, results: ResultBatch) -> Rank:
        """The order of events: their positions, or their times where ties are simultaneous."""
        if not self.selection.simultaneous:
            return lambda positions: positions
        assert results.matches is not None
        return results.matches.buffer.times

    # ── snapshots ──

    def state(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "since": self.since,
            "chooser": self.first_last.state(),
            "taker": self.after_match.state(),
            "waiting": [results_state(result) for result in self.pending],
            "due": self.due,
            "longest": None if self.longest is None else self.longest.state(results_state),
        }

    def restore(self, state: Mapping[str, Any], layout: ResultLayout) -> None:
        """Continues from a snapshot. The stream must have its events already."""
        self.since = whole(state["since"], "the first event", stop=layout.bounds.positions + 1)
        self.due = instant(state["due"], "the time of waiting matches")
        self.first_last.restore(state["chooser"])
        self.after_match.restore(state["taker"])
        self.pending = [self.restored(recorded, layout) for recorded in state["waiting"]]
        if not self.plan.trailing:
            for waiting in self.pending:  # earlier versions compared only decided matches
                self.first_last.improve(waiting.bound_events)
        if self.longest is not None:
            held = state["longest"]["held"]
            self.longest.restore(state["longest"], None if held is None else self.restored(held, layout))

    @property
    def no_results(self) -> ResultBatch:
        """No results, over the present events, keys and texts."""
        empty = np.zeros(0, np.int64)
        raw = RawMatches(
            state=empty,
            lane=empty,
            position=empty,
            first=empty,
            chain=empty,
            rows=empty,
            slots=empty.reshape(0, 0),
            nulls=np.zeros((0, 0), np.uint8),
            nodes=NO_NODES,
        )
        return ResultBatch(
            schema=self.schema,
            matches=self._match_batch(raw),
            lane=empty,
            start=empty,
            end=empty,
            places=None,
            bindings={},
            keys=self.stream.keys,
            id=self.id,
            strings=self.strings.view,
        )

    def restored(self, recorded: Mapping[str, Any], layout: ResultLayout, *, refers: bool = True) -> ResultBatch:
        """Results of this subscription from a snapshot, which may refer to events."""
        return restore_results(recorded, self.no_results, layout, refers=refers)


def _row_intervals(results: ResultBatch) -> Ints:
    """The rows of a template that each match is of, as intervals."""
    assert results.matches is not None
    return results.matches.raw.rows


def _compacted(parts: list[ResultBatch], buffer: EventBuffer) -> list[ResultBatch]:
    """The same results in few parts: short parts at the end are joined in pairs."""
    while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
        parts = [*parts[:-2], joined_results(parts[-2:], buffer)]
    return parts
