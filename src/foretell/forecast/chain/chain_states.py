"""The states of a chain, numbered as they are met: a configuration of partial matches together with a context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints, Words
from foretell.learn.contexts import Contexts
from foretell.learn.statistics import MOST_STATES
from foretell.learn.trace import furthest
from foretell.machine.kernels.hash_table import slot_of_word


class States:
    """`masks` are the configurations by their numbers, `pairs` the chain states by configuration and context. There is
    room for `size` of them. The rest is what the kernel wants: see foretell.forecast.chain.kernel."""

    def __init__(self, contexts: Contexts | None) -> None:
        self.masks: list[int] = []
        self.pairs: dict[tuple[int, int], int] = {}
        self.known = _new_known(64)
        self.following, self.context = _automaton(contexts)
        self.size = 0
        self.state_of = np.zeros((0, int(self.context.max()) + 1), np.int64)
        self.configuration = np.zeros(0, np.int64)
        self._make_room(4)
        self.state(0, 0)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def columns(self) -> tuple[Words, Ints]:
        """The configuration and the context of each chain state."""
        states, contexts = np.zeros(len(self), np.uint64), np.zeros(len(self), np.int64)
        for (number, context), at in self.pairs.items():
            states[at], contexts[at] = self.masks[number], context
        return states, contexts

    def state(self, mask: int, context: int) -> int:
        number = self.number(mask)
        if (number, context) not in self.pairs:
            if context and len(self.pairs) >= MOST_STATES:
                self.state_of[number, context] = self.state(mask, 0)  # what is rare goes without its context
                return int(self.state_of[number, context])
            if len(self.pairs) == self.size:
                self._make_room(2 * self.size)
            self.configuration[len(self.pairs)] = number
            self.pairs[number, context] = len(self.pairs)
        self.state_of[number, context] = self.pairs[number, context]
        return self.pairs[number, context]

    def number(self, mask: int) -> int:
        """The number of a configuration. Too many, and a new one counts as its furthest partial match alone."""
        at = int(slot_of_word(np.uint64(mask), *self.known))
        if self.known[1][at] >= 0:
            return int(self.known[1][at])
        if len(self.masks) >= MOST_STATES - 65 and mask != (alone := int(furthest(np.array([mask], np.uint64))[0])):
            number = self.number(alone)
        else:
            number = len(self.masks)
            self.masks.append(mask)
        self._enter(mask, number)
        return number

    def _enter(self, mask: int, number: int) -> None:
        masks, numbers = self.known
        if 2 * (np.count_nonzero(numbers >= 0) + 1) > len(masks):
            self.known = _new_known(2 * len(masks))
            for old, its in zip(masks[numbers >= 0], numbers[numbers >= 0]):
                at = int(slot_of_word(old, *self.known))
                self.known[0][at], self.known[1][at] = old, its
            masks, numbers = self.known
        at = int(slot_of_word(np.uint64(mask), masks, numbers))
        masks[at], numbers[at] = mask, number

    def _make_room(self, size: int) -> None:
        old, self.size = self.size, size
        state_of, configuration = self.state_of, self.configuration
        self.state_of = np.full((size, state_of.shape[1]), -1, np.int64)
        self.configuration = np.zeros(size, np.int64)
        self.state_of[:old], self.configuration[:old] = state_of, configuration

    def written(self) -> dict[str, Any]:
        return {
            "masks": np.array(self.masks, np.uint64),
            "pairs": np.array(list(self.pairs), np.int64).reshape(-1, 2),
        }

    @classmethod
    def read(cls, state: Mapping[str, Any], contexts: Contexts | None) -> States:
        found = cls(contexts)
        for mask in state["masks"].tolist()[1:]:  # the first is that of no partial matches
            found._enter(mask, len(found.masks))
            found.masks.append(mask)
        for number, context in state["pairs"].tolist():
            found.state(found.masks[number], context)
        return found


def _new_known(size: int) -> tuple[NDArray[np.uint64], Ints]:
    return np.zeros(size, np.uint64), np.full(size, -1, np.int64)


def _automaton(contexts: Contexts | None) -> tuple[Ints, Ints]:
    """The node after a node and a symbol, the last of which stands for all unknown ones; and the context of a node."""
    if contexts is None or len(contexts) == 1:
        return np.zeros((1, 1), np.int64), np.zeros(1, np.int64)
    unknown = np.zeros((len(contexts.following), 1), np.int64)
    return np.hstack([contexts.following.astype(np.int64), unknown]), contexts.context.astype(np.int64)
