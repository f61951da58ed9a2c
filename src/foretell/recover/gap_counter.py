"""Training of lost events: counts of what the gaps of a history hide.

For each gap that an estimate may have, between two positive steps u and v or between one and the edge of the window,
an ordinary statement `u ; v` finds the gaps of the history, and one for each step that may be hidden, `u ; h ; v`, what
was seen in them. So a gap is whatever the statement itself would take for one: with its lanes, variables, conditions
and window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from foretell.arrays import Floats, Ints
from foretell.errors import InputError
from foretell.events.delays.delay_model import GapEnds
from foretell.events.delays.gap_counts import BINS, MOST_LOSS, GapCounts, bin_of
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.gap_statements import LENGTH, gap_statement
from foretell.records import record

#: Runs a statement over the history: its notifications as a flat table.
Runner = Callable[[tree.Subscription], pa.Table]


#: Events whose distances are counted together; each takes a row of bins.
_EVENTS_AT_ONCE = 20_000


@record
class GapCounter:
    """`complete` says that the history has lost nothing; else it has lost what LOSING and LOSS say."""

    checked: CheckedSubscription
    run: Runner
    complete: bool

    def counts(self) -> dict[GapEnds, GapCounts]:
        """The counts of every gap that an estimate may have."""
        return dict(self._counts())

    def _counts(self) -> Iterator[tuple[GapEnds, GapCounts]]:
        order = list(self.checked.steps)
        positive = [name for name in order if not self.checked.steps[name].shape.negated]
        for u, v in combinations(positive, 2):  # some thousands: MOST_STEPS
            hidden = order[order.index(u) + 1 : order.index(v)]
            if self._may_hide(hidden):
                yield (u, v), self._between(u, hidden, v)
        if self.checked.within is None:
            return
        for step in positive:
            before, after = order[: order.index(step)], order[order.index(step) + 1 :]
            if self._may_hide(before):
                yield (None, step), self._at_edge(step, before, backwards=True)
            if self._may_hide(after):
                yield (step, None), self._at_edge(step, after, backwards=False)

    def _may_hide(self, hidden: Sequence[str]) -> bool:
        """Whether there may be a gap with these steps: its positive ones may be lost, and any of them may be hidden."""
        loss, steps = self.checked.loss, self.checked.steps
        return any(loss[h] > 0 for h in hidden) and all(loss[h] > 0 for h in hidden if not steps[h].shape.negated)

    def _losses(self, hidden: Sequence[str]) -> list[float]:
        losses = [0.0 if self.complete else self.checked.loss[h] for h in hidden]
        for step, loss in zip(hidden, losses, strict=True):
            if loss > MOST_LOSS:
                message = (
                    f"subscription '{self.checked.name}': a history that lost {loss:g} of '{step}' shows nothing of it"
                )
                raise InputError("too-lossy", message, hint="train on events that are complete, with --complete")
        return losses

    def _between(self, u: str, hidden: Sequence[str], v: str) -> GapCounts:
        gaps = self._found(u, v)
        seen = np.zeros((len(gaps), len(hidden)), np.int64)
        for column, step in enumerate(hidden):
            seen[:, column] = gaps.occurrences(self._found(u, step, v))
        return GapCounts.of(hidden, self._losses(hidden), bin_of(gaps.lengths), seen)

    def _at_edge(self, step: str, hidden: Sequence[str], *, backwards: bool) -> GapCounts:
        """Of each event of the step, how many hidden ones there were up to each distance."""
        events = self._found(step)
        near = [self._found(h, step) if backwards else self._found(step, h) for h in hidden]
        end = "last" if backwards else "first"
        reached = [(_places(events.of_end("first"), found.of_end(end)), bin_of(found.lengths)) for found in near]
        total = GapCounts(tuple(hidden), tuple(self._losses(hidden)))
        for first in range(0, len(events), _EVENTS_AT_ONCE):
            count = min(_EVENTS_AT_ONCE, len(events) - first)
            seen = [_up_to_each_bin(place - first, bins, count) for place, bins in reached]
            number = np.tile(np.arange(BINS), count)
            total = total.merged(
                GapCounts.of(hidden, total.loss, number, np.stack(seen, axis=-1).reshape(-1, len(seen)))
            )
        return total

    def _found(self, *steps: str) -> Found:
        return Found.of(self.run(gap_statement(self.checked.tree, steps)), steps)


def _up_to_each_bin(place: Ints, bins: Ints, count: int) -> Ints:
    """Of each of `count` events, how many hidden ones there were up to each distance."""
    own = (place >= 0) & (place < count)
    cells = np.bincount(place[own] * BINS + bins[own], minlength=count * BINS)
    return np.cumsum(cells.reshape(count, BINS), axis=1)


@record
class Found:
    """Matches of a gap statement. `names` identify the first and the last event of each, with the lane."""

    names: pa.Table
    lengths: Floats

    @classmethod
    def of(cls, table: pa.Table, steps: Sequence[str]) -> Found:
        lanes = [name for name in table.column_names if name == "id" or name.split(".")[0] == "key"]
        ends = [table.column(f"events.{steps[place]}") for place in (0, -1)]
        names = pa.table([*(table.column(name) for name in lanes), *ends], [*lanes, "first", "last"])
        lengths = table.column(f"bindings.{LENGTH}").to_numpy().astype(float)
        return cls(names, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def occurrences(self, inner: Found) -> Ints:
        """How many of other matches have both ends of each match of these."""
        return np.bincount(_places(self.names, inner.names), minlength=len(self))[: len(self)]

    def of_end(self, end: str) -> pa.Table:
        """The columns that identify the first or the last event of each match."""
        return self.names.select(
            [name for name in self.names.column_names if name not in ("first", "last") or name == end]
        )


def _places(known: pa.Table, rows: pa.Table) -> Ints:
    """The row of `known` that equals each of `rows`."""
    codes = [pa.chunked_array([*a.chunks, *b.chunks]).combine_chunks().dictionary_encode(null_encoding="encode").indices
             for a, b in zip(known.columns, rows.columns, strict=True)]  # fmt: skip
    stacked = np.stack([code.to_numpy() for code in codes], axis=1)
    _, group = np.unique(stacked, axis=0, return_inverse=True)
    place = np.empty(group.max(initial=-1) + 1, np.int64)
    group = group.ravel()
    place[group[: len(known)]] = np.arange(len(known))
    return place[group[len(known) :]]
