"""The period of the data that training and backtests use: events from `since` on, and before `until`.

>>> import numpy as np
>>> Period(since=2, until=5).mask(np.arange(7)).tolist()
[False, False, True, True, True, False, False]
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arguments.until import parse_until
from foretell.arguments.validation import bad_argument
from foretell.arrays import Flags
from foretell.errors import InputError
from foretell.events.arrow_interop import arrow_of
from foretell.events.ingest.reader import EventBatch
from foretell.events.reorder_buffer import event_times
from foretell.events.types import Type, format_time


@dataclass(frozen=True)
class Period:
    """`since` and `until` are in the unit of the streams' time; None leaves that side open."""

    since: int | float | None = None
    until: int | float | None = None

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None

    def mask(self, times: NDArray[Any]) -> Flags:
        """Which times are within the period."""
        within = np.ones(len(times), np.bool_)
        if self.since is not None:
            within &= times >= self.since
        if self.until is not None:
            within &= times < self.until
        return within


ALL_TIME = Period()


@dataclass(frozen=True)
class PeriodRequest:
    """A period as the caller asks for it. `split` is a fraction of the events within `since` and `until`, in the order
    of time: a training takes those before it, a backtest those from there on."""

    since: object = None
    until: object = None
    split: object = None

    def resolved(self, time_types: Set[Type]) -> Period:
        """The period by `since` and `until` alone."""
        kinds = time_types - {Type.UNKNOWN}
        return Period(parse_until(self.since, kinds, "since"), parse_until(self.until, kinds, "until"))

    def select(self, batches: Mapping[str, EventBatch], *, later: bool) -> dict[str, EventBatch]:
        """The events of the period, and of these the part before `split` or, with `later`, from there on."""
        share = _share(self.split)
        period = self.resolved({batch.schema.time_type for batch in batches.values() if batch.time_known})
        if not period and share is None:
            return dict(batches)
        selected = {name: _within(batch, period) for name, batch in batches.items()}
        if not any(batch.table.num_rows for batch in selected.values()):
            _refuse_empty(batches)
            return selected
        if share is None:
            return selected
        times = np.sort(np.concatenate([event_times(batch) for batch in selected.values()]))
        at: int | float = times[min(int(share * len(times)), len(times) - 1)].item()
        part = Period(since=at) if later else Period(until=at)
        return {name: _within(batch, part) for name, batch in selected.items()}


ANY_TIME = PeriodRequest()


def filtered(batch: EventBatch, within: Flags) -> EventBatch:
    """The batch without the other events, which are not counted either."""
    table = batch.table.filter(arrow_of(within))
    return replace(batch, table=table, total=table.num_rows + len(batch.quarantined))


def _within(batch: EventBatch, period: Period) -> EventBatch:
    within = period.mask(event_times(batch))
    return batch if within.all() else filtered(batch, within)


def _refuse_empty(batches: Mapping[str, EventBatch]) -> None:
    """Raises InputError where there are events, but none in the period."""
    times = np.concatenate([event_times(batch) for batch in batches.values()])
    if len(times):
        kind = next(batch.schema.time_type for batch in batches.values() if batch.table.num_rows)
        first, last = (format_time(time.item(), kind) for time in (times.min(), times.max()))
        hint = f"the events are from {first} to {last}"
        raise InputError("no-events", "there are no events from `since` until `until`", hint=hint)


def _share(split: Any) -> float | None:
    if split is None:
        return None
    if not isinstance(split, int | float) or isinstance(split, bool) or not 0 < split < 1:
        raise bad_argument("split", "a fraction between 0 and 1", split, hint="split=0.8")
    return float(split)
