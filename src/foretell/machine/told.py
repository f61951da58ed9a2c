"""What a statement tells of a batch, as columns; rows for people are made only where they are asked for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.events.notification import Notification
from foretell.events.types import Scalar, Type, format_timestamp
from foretell.filter.columns import Column, Strings
from foretell.filter.predicates import Events
from foretell.filter.selection import SHIFT
from foretell.language.checked import CheckedSubscription
from foretell.machine.matches import Matches
from foretell.machine.ordering import Input, deepened

Ints = NDArray[np.int64]
Place = tuple[object, ...]


@dataclass(frozen=True)
class Told:
    """Notifications of one statement. `order` has each one's place in the order of all events.

    `matches` is None for silences, which have no events. `returned` are the RETURN columns or the variables.
    """

    checked: CheckedSubscription
    matches: Matches | None
    lane: Ints
    start: NDArray[Any]
    end: NDArray[Any]
    order: Ints
    returned: Mapping[str, Column]
    keys: Sequence[Mapping[str, Scalar]]
    id: Scalar
    strings: Strings
    selected: Ints | None = None
    row_ids: Sequence[Scalar] = ()

    def __len__(self) -> int:
        return len(self.lane)

    @property
    def count(self) -> int:
        """How many notifications these are: of a template, one for each row that a match is of."""
        return len(self) if self.selected is None else int((self.selected & ((1 << SHIFT) - 1)).sum())

    def by_row(self) -> list[Told]:
        """Of a template that ran as one, each row's own."""
        if self.selected is None:
            return [self]
        first, count = self.selected >> SHIFT, self.selected & ((1 << SHIFT) - 1)
        parts = []
        for row in range(int(first.min(initial=0)), int((first + count).max(initial=0))):
            mine = (first <= row) & (row < first + count)
            if mine.any():
                parts.append(replace(self.kept(mine), id=self.row_ids[row], selected=None))
        return parts

    def kept(self, keep: NDArray[np.bool_]) -> Told:
        """Only some of them."""
        return replace(
            self,
            matches=None if self.matches is None else self.matches.kept(keep),
            lane=self.lane[keep],
            start=self.start[keep],
            end=self.end[keep],
            order=self.order[keep],
            returned={n: Column(c.kind, c.values[keep], c.nulls[keep]) for n, c in self.returned.items()},
            selected=None if self.selected is None else self.selected[keep],
        )

    # ── rows ──

    def bound(self, i: int) -> tuple[tuple[int, int], ...]:
        """The positions and steps of a match's events, in order."""
        if self.matches is None:
            return ()
        events = slice(self.matches.starts[i], self.matches.starts[i + 1])
        return tuple(zip(self.matches.position[events].tolist(), self.matches.step[events].tolist()))

    def place(self, i: int) -> Place:
        """By end, then subscription, then the positions of the events (LANGUAGE section 7)."""
        bound = self.bound(i)
        number = (self.id, "") if isinstance(self.id, int | float) else (math.inf, str(self.id))
        key = json.dumps(self.keys[self.lane[i]], sort_keys=True, default=str)
        return (
            self.end[i].item(),
            self.checked.name,
            tuple(p for p, _ in bound),
            tuple(s for _, s in bound),
            number,
            key,
        )

    def in_order_of_taking(self) -> Ints | None:
        """By completion, then by first events; None where that does not settle it."""
        assert self.matches is not None
        keys = (self.matches.first, *self.order.T[:0:-1], self.end, self.order[:, 0])
        by = np.lexsort(keys)
        same = np.ones(max(0, len(by) - 1), np.bool_)
        for key in keys:
            same &= key[by][1:] == key[by][:-1]
        return None if same.any() else by

    def completion(self, i: int) -> tuple[int | float, ...]:
        """When it was completed. What time completes between the same two events goes by its end."""
        first, *rest = self.order[i].tolist()
        return first, self.end[i].item(), *rest

    def notification(self, i: int) -> Notification:
        return Notification(
            subscription=self.checked.name,
            kind="match",
            key=dict(self.keys[self.lane[i]]) if self.checked.tree.per else None,
            start=self.start[i].item(),
            end=self.end[i].item(),
            probability=1.0,
            horizon=None,
            id=self.id,
            bindings={n: self._binding(c, i, self.checked.returns[n]) for n, c in self.returned.items()},
            events={} if self.matches is None else self._names(self.matches, i),
            time_type=self.checked.time,
        )

    def _names(self, matches: Matches, i: int) -> dict[str, Any]:
        names: dict[str, Any] = dict.fromkeys(self.checked.positive)
        history = matches.history
        for position, step in self.bound(i):
            at = position - history.base
            called = None if history.name is None else history.name[at]
            name = int(history.number[at]) if called is None else called
            step_name = self.checked.positive[step]
            if self.checked.steps[step_name].shape.repeated:
                names[step_name] = [*(names[step_name] or []), name]
            else:
                names[step_name] = name
        return names

    def _binding(self, column: Column, i: int, kind: Type) -> Scalar:
        shown = shown_value(column, i, self.strings)
        if kind is Type.FLOAT and isinstance(shown, int) and not isinstance(shown, bool):
            return float(shown)
        return shown


def derived(told: Sequence[Told], rank: int) -> Input:
    """The results of a statement as events, each directly after what completed it, for the statements that read it."""
    checked, strings = told[0].checked, told[0].strings
    told = [one for some in told for one in some.by_row()] or [told[0].kept(np.zeros(len(told[0]), np.bool_))]
    placed = sorted((one.completion(i), one.place(i), n, i) for n, one in enumerate(told) for i in range(len(one)))
    starts = np.cumsum([0, *(len(one) for one in told)])
    by = np.array([starts[n] + i for _, _, n, i in placed], np.int64)
    count = len(by)
    depth = max(one.order.shape[1] for one in told) + 2
    order = np.concatenate([deepened(one.order, depth) for one in told])[by]
    level = np.argmax(order == -1, axis=1) if count else np.zeros(0, np.int64)
    number = np.arange(count)
    order[number, level] = rank
    order[number, level + 1] = number
    dtype = np.float64 if checked.time is Type.FLOAT else np.int64
    known = np.zeros(count, np.bool_)
    start, end = (np.concatenate([t.start for t in told])[by], np.concatenate([t.end for t in told])[by])
    events = Events(
        {n: _attribute([t.returned[n] for t in told], by, kind) for n, kind in checked.returns.items()},
        checked.returns,
        Column(checked.time, end.astype(dtype), known),
        Column(checked.time, start.astype(dtype), known),
        Column(Type.STRING, np.full(count, strings.code(checked.name), np.int64), known),
    )
    return Input(events, None, order)


def rows(told: Sequence[Told]) -> list[Notification]:
    """All notifications, in their order."""
    told = [one for some in told for one in some.by_row()]
    placed = sorted((one.place(i), n, i) for n, one in enumerate(told) for i in range(len(one)))
    return [told[n].notification(i) for _, n, i in placed]


def shown_value(column: Column, at: int, strings: Strings) -> Scalar:
    """A value as a notification carries it."""
    if column.nulls[at]:
        return None
    value = column.values[at].item()
    match column.kind:
        case Type.STRING:
            return strings.text(value)
        case Type.BOOL:
            return bool(value)
        case Type.TIMESTAMP:
            return format_timestamp(value)
        case Type.DURATION:
            return float(value) / 1_000_000
    return value  # type: ignore[no-any-return]


def _attribute(parts: list[Column], by: Ints, kind: Type) -> Column:
    """A RETURN column as an attribute: a duration in seconds, and FLOAT where it is declared so."""
    values = np.concatenate([p.values for p in parts])[by]
    nulls = np.concatenate([p.nulls for p in parts])[by]
    if parts[0].kind is Type.DURATION:
        return Column(Type.FLOAT, values / 1_000_000, nulls)
    return Column(kind, values.astype(np.float64) if kind is Type.FLOAT else values, nulls)
