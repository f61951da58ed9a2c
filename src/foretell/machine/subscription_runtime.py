"""One subscription at work, after the kernel: which of the matches found count, and what is told of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.events.types import Scalar
from foretell.filter.column import Column
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.machine.exec.nfa_executor import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.input.event_order import EventOrder, deepened
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.matches.after_match import AT_ONCE, LATER, AfterMatchPolicy, FirstLastFilter, Rank, known
from foretell.machine.matches.codec import told_of, told_state
from foretell.machine.matches.match_batch import MatchBatch
from foretell.machine.matches.post_filter import finished
from foretell.machine.matches.results import ResultBatch
from foretell.machine.template_rows import TemplateRows
from foretell.plan.lower.program import SubscriptionPlan
from foretell.plan.result_schema import result_schema


@dataclass
class SubscriptionRuntime:
    """`id` and `parameters` are those of its row where it is a template's; `rows` are all rows that it serves.

    `since` is the position of the first event that it may speak of.
    """

    program: SubscriptionPlan
    strings: StringDictionary
    feed: MergedStream
    id: Scalar = None
    parameters: Mapping[str, Column] = field(default_factory=dict)
    rows: TemplateRows | None = None
    since: int = 0

    def __post_init__(self) -> None:
        self.schema = result_schema(self.checked)
        steps, after = self.checked.positive, self.checked.tree.after
        shapes = {n: s.shape for n, s in self.checked.steps.items()}
        self.chooser = FirstLastFilter(
            tuple((steps.index(n), s.chosen) for n, s in shapes.items() if s.chosen is not None)
        )
        self.taker = AfterMatchPolicy(after.policy, None if after.step is None else steps.index(after.step))
        self.waiting: list[ResultBatch] = []
        self.due: int | float = -math.inf  # nothing of what waits is known before; -inf where nobody has looked
        self._chooses = bool(
            self.chooser.choices
            or self.checked.known_late
            or after.policy is not tree.Policy.HOLD
            or self.program.ambiguous
        )

    @property
    def checked(self) -> CheckedSubscription:
        return self.program.subscription

    @property
    def oldest(self) -> int | None:
        """The earliest event that a match speaks of which is not told yet."""
        waiting = [t.matches.oldest for t in self.waiting if t.matches is not None]
        return min((o for o in waiting if o is not None), default=None)

    def process(self, found: RawMatches, now: int | float, order: EventOrder) -> ResultBatch:
        """What is told of the matches that a batch brought, and of those that time settles by now."""
        if self.since:
            found = found.only(found.first >= self.since)
        told = self._told(finished(self._matches(found)), order)
        if self.rows is not None:
            rows = self.rows
            return replace(told, intervals=found_rows(told), row_ids=rows.row_ids, row_since=rows.row_since)
        return self._taken(told, now, order) if self._chooses else told

    def forget(self, oldest: int) -> None:
        self.chooser.forget(oldest)
        self.taker.forget(oldest)

    def _matches(self, found: RawMatches) -> MatchBatch:
        return MatchBatch(self.program, self.feed.history, self.strings, found, self.parameters, since=self.since)

    def _told(self, matches: MatchBatch, order: EventOrder) -> ResultBatch:
        places = matches.buffer.order(matches.last)
        late = matches.late
        if late.any():
            places[late] = -1
            places[late, 0] = order.deadlines(matches.end[late])
        return ResultBatch(
            self.schema,
            matches,
            matches.lane,
            matches.start,
            matches.end,
            places,
            self._returned(matches),
            self.feed.keys,
            self.id,
            self.strings,
        )

    def _returned(self, matches: MatchBatch) -> dict[str, Column]:
        if self.checked.tree.returns:
            return {str(r.name): matches.evaluate(r.expression) for r in self.checked.tree.returns}
        return {v: matches.evaluate(tree.Variable(v)) for v in self.checked.variables}

    # ── FIRST, LAST, AFTER MATCH ──

    def _taken(self, told: ResultBatch, now: int | float, order: EventOrder) -> ResultBatch:
        """Those that FIRST, LAST and AFTER MATCH leave."""
        if self.checked.known_late:
            told = self._known(told, now, order)
        if self.program.ambiguous:
            told = told.filter(told.bound_events.distinct())
        if self.chooser.choices:
            told = told.filter(self.chooser.chosen(told.bound_events))
        if self.taker.policy is not tree.Policy.HOLD:
            told = told.filter(self.taker.taken(told.bound_events, told.completion_order(), self._rank(told)))
        return told

    def _known(self, told: ResultBatch, now: int | float, order: EventOrder) -> ResultBatch:
        """With a LAST that nothing follows, what is known by now; the rest waits (decision 0002, item 11)."""
        # What waits is looked at when the first of it is due, not with each batch.
        looks = self.due < now
        together = _joined([*(self.waiting if looks else ()), told], self.feed.history)
        when, at = self._known_at(together)
        passed = (when == LATER) & (at < now)
        waits = (when == LATER) & ~passed
        if looks:
            self.waiting, self.due = [], math.inf
        if waits.any():
            self.waiting = _fewer([*self.waiting, together.filter(waits)], self.feed.history)
            self.due = min(self.due, at[waits].min().item())
        keep = passed | (when == AT_ONCE)
        ready, at, passed = together.filter(keep), at[keep], passed[keep]
        places = ready.order.copy()
        places[passed] = -1
        places[passed, 0] = order.deadlines(at[passed])
        return replace(ready, end=np.where(passed, at, ready.end), order=places)

    def _known_at(self, told: ResultBatch) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Whether each match is known with its last event, later or never; and when, if later."""
        steps, within, bound = self.checked.positive, self.checked.within, told.bound_events
        assert told.matches is not None
        assert within is not None
        last = np.array([steps.index(name) for name in self.checked.known_late], np.int64)
        settles = np.array([[name in some for name in steps] for some in self.checked.known_late.values()], np.bool_)
        begins = told.matches.buffer.starts(bound.position)
        when, since = known(told.matches.late, bound.starts, bound.step, begins, last, settles)
        return when, since + within

    def _rank(self, told: ResultBatch) -> Rank:
        """What orders events: their positions, or their instants where ties are simultaneous."""
        if not self.checked.simultaneous:
            return lambda positions: positions
        assert told.matches is not None
        return told.matches.buffer.times

    # ── state ──

    def state(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "since": self.since,
            "chooser": self.chooser.state(),
            "taker": self.taker.state(),
            "waiting": [told_state(told) for told in self.waiting],
            "due": self.due,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Its feed must have its events already."""
        self.since, self.due = state["since"], state["due"]
        self.chooser.restore(state["chooser"])
        self.taker.restore(state["taker"])
        nothing = np.zeros(0, np.int64)
        for waiting in state["waiting"]:
            matches = self._matches(RawMatches(*(nothing,) * 6, waiting["slots"][:0], waiting["nulls"][:0], NO_NODES))
            like = ResultBatch(
                self.schema, matches, nothing, nothing, nothing, nothing, {}, self.feed.keys, self.id, self.strings
            )
            self.waiting.append(told_of(waiting, like))


def found_rows(told: ResultBatch) -> Ints:
    """The rows of a template that each match is of."""
    assert told.matches is not None
    return told.matches.rows


def _joined(parts: list[ResultBatch], buffer: EventBuffer) -> ResultBatch:
    """Results of several batches as one, all speaking of the same history."""
    matches = [p.matches for p in parts if p.matches is not None]
    return replace(
        parts[-1],
        matches=MatchBatch.joined(matches, buffer),
        lane=np.concatenate([p.lane for p in parts]),
        start=np.concatenate([p.start for p in parts]),
        end=np.concatenate([p.end for p in parts]),
        order=np.concatenate([deepened(p.order, max(q.order.shape[1] for q in parts)) for p in parts]),
        bindings={
            n: Column(
                c.kind,
                np.concatenate([p.bindings[n].values for p in parts]),
                np.concatenate([p.bindings[n].nulls for p in parts]),
            )
            for n, c in parts[-1].bindings.items()
        },
    )


def _fewer(parts: list[ResultBatch], buffer: EventBuffer) -> list[ResultBatch]:
    """The same in few parts: short ones at the end are joined in twos."""
    while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
        parts = [*parts[:-2], _joined(parts[-2:], buffer)]
    return parts
