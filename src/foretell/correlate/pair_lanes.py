"""The lanes of the machines of a FOR EACH correlator: one for each pair of values of rows and a lane of the events."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Ints
from foretell.machine.input.key_index import KeyIndex
from foretell.storage.recorded_values import require


@dataclass
class PairLanes:
    _index: KeyIndex = field(default_factory=KeyIndex)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def nbytes(self) -> int:
        return self._index.nbytes

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """The set of parameters and the lane of each pair."""
        pairs = self._index.words[: 2 * len(self)].reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def numbers(self, sets: Ints, lanes: Ints) -> Ints:
        """The numbers of pairs; a new one gets the next number."""
        words = np.stack([sets, lanes], axis=1).reshape(-1)
        return self._index.number(np.arange(0, len(words) + 1, 2), words)

    def replace(self, sets: Ints, lanes: Ints) -> None:
        """Goes on with these pairs only, numbered in this order."""
        self._index = KeyIndex()
        numbers = self.numbers(sets, lanes)
        require(bool((numbers == np.arange(len(numbers))).all()), "the lanes of a correlator")
