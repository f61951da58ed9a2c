"""The keys of lanes as notifications have them: one by one, and as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np

from foretell.arrays import Ints
from foretell.events.types import Scalar, Type
from foretell.filter.column import Column, no_nulls
from foretell.filter.string_dictionary import StringDictionary
from foretell.machine.input.lane_index import LaneIndex
from foretell.machine.matches.rendering import scalar_of

#: So many keys are kept rendered: lanes may be millions, of which most never return.
_MOST_RENDERED = 65_536


class LaneKeys(Sequence[Mapping[str, Scalar]]):
    """The key of each lane as notifications show it, rendered on first use.

    Results that were handed over keep them. When lanes are freed, whose numbers others will have, these keys are frozen
    and the stream makes new ones.
    """

    def __init__(self, names: Sequence[str], lanes: LaneIndex, strings: StringDictionary) -> None:
        self._names, self._lanes, self._strings = tuple(names), lanes, strings.view
        self._rendered: dict[int, Mapping[str, Scalar]] = {}

    def __len__(self) -> int:
        return len(self._lanes)

    def freeze(self) -> None:
        """Stays as it is when lanes are freed."""
        self._lanes = self._lanes.frozen()

    @overload
    def __getitem__(self, lane: int) -> Mapping[str, Scalar]: ...
    @overload
    def __getitem__(self, lane: slice) -> Sequence[Mapping[str, Scalar]]: ...
    def __getitem__(self, lane: int | slice) -> Mapping[str, Scalar] | Sequence[Mapping[str, Scalar]]:
        if isinstance(lane, slice):
            return [self[i] for i in range(*lane.indices(len(self)))]
        lane = int(lane)
        if lane not in self._rendered:
            if len(self._rendered) >= _MOST_RENDERED:
                self._rendered.clear()
            values = [scalar_of(value, kind, self._strings) for kind, value in self._lanes.key(lane)]
            self._rendered[lane] = dict(zip(self._names, values, strict=True))
        return self._rendered[lane]

    def columns(self, lanes: Ints) -> dict[str, Column]:
        """The attributes of the keys of these lanes."""
        columns = {}
        for i, (name, kind) in enumerate(zip(self._names, self._lanes.kinds, strict=True)):
            words, nulls = self._lanes.keys[:, 2 * i + 1].take(lanes), self._lanes.keys[:, 2 * i].take(lanes) != 0
            values = words.view(np.float64) if kind is Type.FLOAT else words
            columns[name] = Column(kind, values, nulls if nulls.any() else no_nulls(len(lanes)))
        return columns
