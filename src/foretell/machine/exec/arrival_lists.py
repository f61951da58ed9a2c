"""The arrival lists of a sequence: where each begins, and which key finds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints, room_for
from foretell.events.types import Type
from foretell.machine.input.key_index import KeyIndex
from foretell.machine.input.state_bounds import StateBounds
from foretell.storage.recorded_values import FAR, indices, require, require_range


class ListHeads:
    """Of each list the newest arrival of each step (`heads`) and the latest event of each negated step (`latest`), the
    latter for lanes too (`lane_latest`). A list belongs to a lane or, where the sequence is `keyed`, to a key."""

    def __init__(self, steps: int, gaps: int, *, keyed: bool) -> None:
        self._steps, self._gaps, self._keyed = steps, gaps, keyed
        self._keys = KeyIndex()
        self.heads = _nothing(0, steps)
        self.latest, self.lane_latest = _nothing(0, gaps), _nothing(0, gaps)

    def of(self, keys: Ints) -> Ints:
        """The list of each key, a row of words that begins with its lane."""
        starts = np.arange(len(keys) + 1) * keys.shape[1]
        return self._keys.number(starts, keys.reshape(-1))

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return self._keys.nbytes + self.heads.nbytes + self.latest.nbytes + self.lane_latest.nbytes

    @property
    def lanes(self) -> Ints:
        """The lane of each list."""
        if not self._keyed:
            return np.arange(len(self.heads))
        return self._keys.words[self._keys.starts[: len(self._keys)]]

    def grow(self, lane_count: int) -> None:
        """Make room for the lists of all lanes and keys."""
        lists = len(self._keys) if self._keyed else lane_count
        self.heads, self.latest = _with_rows(self.heads, lists), _with_rows(self.latest, lists)
        self.lane_latest = _with_rows(self.lane_latest, lane_count)

    def sweep(self, more: int, front: int) -> None:
        """Forget the keys whose arrivals are all before the front, when room for more is needed and if it helps."""
        count = len(self._keys)
        if not count or count + more <= len(self.heads):
            return
        alive = np.asarray((self.heads[:count] >= front).any(axis=1))
        if 2 * int(alive.sum()) <= count:
            self._keep(alive)

    def free_lanes(self, freed: Ints) -> None:
        """Forget lanes that have no arrivals."""
        self.lane_latest[freed[freed < len(self.lane_latest)]] = -1
        if not self._keyed:
            freed = freed[freed < len(self.heads)]
            self.heads[freed], self.latest[freed] = -1, -1
        elif len(self._keys):
            self._keep(~np.isin(self.lanes, freed))

    def texts(self, kinds: Sequence[Type]) -> Iterator[Ints]:
        """The codes of all texts in keys, whose values have these types."""
        if self._keyed and len(self._keys):
            words = self._keys.words[: self._keys.starts[len(self._keys)]].reshape(len(self._keys), -1)
            for place, kind in enumerate(kinds, 1):
                if kind is Type.STRING:
                    yield words[:, place]

    def _keep(self, alive: Flags) -> None:
        """Keep the lists of some keys."""
        count, kept = len(alive), int(alive.sum())
        self._keys.keep(alive)
        for lists in (self.heads, self.latest):
            lists[:kept] = lists[:count][alive]
            lists[kept:] = -1

    def state(self) -> dict[str, NDArray[Any]]:
        keys = {f"keys.{name}": part for name, part in self._keys.state().items()}
        lists = {"heads": self.heads, "latest": self.latest, "lane_latest": self.lane_latest}
        return {**keys, **{name: part.copy() for name, part in lists.items()}}

    def restore(self, state: Mapping[str, NDArray[Any]], bounds: StateBounds) -> None:
        """Continue from a snapshot. Where the arrivals lie that `heads` lead to is checked with them."""
        keys = {name.removeprefix("keys."): part for name, part in state.items() if name.startswith("keys.")}
        self._keys.restore(keys, least=1)
        positions = bounds.positions
        heads = indices(state["heads"], FAR, "the lists of arrivals", (None, self._steps), low=-1)
        latest = indices(state["latest"], positions, "the negated steps", (len(heads), self._gaps), low=-1)
        lane_latest = indices(state["lane_latest"], positions, "the negated steps", (None, self._gaps), low=-1)
        self.heads, self.latest, self.lane_latest = heads.copy(), latest.copy(), lane_latest.copy()
        require(not self._keyed or len(self._keys) <= len(heads), "the keys of arrivals")
        require_range(self.lanes[: len(self._keys)], bounds.lanes, "the lanes of arrivals")


def _nothing(count: int, width: int) -> Ints:
    return np.full((count, width), -1, np.int64)


def _with_rows(lists: Ints, count: int) -> Ints:
    if count <= len(lists):
        return lists
    return np.concatenate([lists, _nothing(room_for(count, len(lists)) - len(lists), lists.shape[1])])
