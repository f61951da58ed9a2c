"""The states of the chain, numbered as they appear: a configuration of partial matches together with a context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from foretell.arrays import Ints, Words
from foretell.forecast.chain.kernel import ChainIndex, ConfigurationTable
from foretell.learn.contexts import Contexts
from foretell.learn.statistics import MAX_STATES
from foretell.learn.trace import furthest
from foretell.machine.kernels.hash_table import slot_of_word
from foretell.storage.recorded_values import array, require, require_range

#: Of so many configurations the kernel finds the number without a search: those of eight states, 2 KiB.
_LOW = 256


class ChainStates:
    """`masks` are the configurations by number, `pairs` the chain states by configuration and context; arrays have room
    for `capacity` of them. `configurations` and `index` are for the kernel."""

    def __init__(self, contexts: Contexts | None) -> None:
        self.masks: list[int] = []
        self.pairs: dict[tuple[int, int], int] = {}
        self.configurations = _new_hash_table(64)
        self.capacity = 0
        next_node, context = _context_automaton(contexts)
        state_of = np.zeros((0, int(context.max()) + 1), np.int64)
        self.index = ChainIndex(state_of, next_node, context, np.zeros(0, np.int64))
        self._reserve(4)
        self.state_number(0, 0)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def columns(self) -> tuple[Words, Ints]:
        """The configuration and the context of each chain state."""
        states, contexts = np.zeros(len(self), np.uint64), np.zeros(len(self), np.int64)
        for (number, context), state in self.pairs.items():
            states[state], contexts[state] = self.masks[number], context
        return states, contexts

    def state_number(self, mask: int, context: int) -> int:
        """The number of a chain state, which is added if it is new. With too many, a new one loses its context."""
        number = self.configuration_number(mask)
        if (number, context) not in self.pairs:
            if context and len(self.pairs) >= MAX_STATES:
                state = self.state_number(mask, 0)
                self.index.state_of[number, context] = state
                return state
            if len(self.pairs) == self.capacity:
                self._reserve(2 * self.capacity)
            self.index.configuration[len(self.pairs)] = number
            self.pairs[number, context] = len(self.pairs)
        self.index.state_of[number, context] = self.pairs[number, context]
        return self.pairs[number, context]

    def configuration_number(self, mask: int) -> int:
        """The number of a configuration, which is added if it is new. With too many, a new one counts as its most
        advanced partial match alone."""
        at = self._slot(mask)
        if self.configurations.numbers[at] >= 0:
            return int(self.configurations.numbers[at])
        if len(self.masks) >= MAX_STATES - 65 and mask != (alone := int(furthest(np.array([mask], np.uint64))[0])):
            number = self.configuration_number(alone)
        else:
            number = len(self.masks)
            self.masks.append(mask)
        self._insert(mask, number)
        return number

    def _insert(self, mask: int, number: int) -> None:
        masks, numbers, low = self.configurations
        known = np.flatnonzero(numbers >= 0)
        if 2 * (len(known) + 1) > len(masks):
            self.configurations = _new_hash_table(2 * len(masks))
            for old_mask, old_number in zip(masks[known].tolist(), numbers[known].tolist(), strict=True):
                self._insert(old_mask, old_number)
        at = self._slot(mask)
        self.configurations.masks[at], self.configurations.numbers[at] = mask, number
        if mask < len(low):
            self.configurations.low[mask] = number

    def _slot(self, mask: int) -> int:
        masks, numbers, _ = self.configurations
        return int(slot_of_word(np.uint64(mask), masks, numbers))

    def _reserve(self, capacity: int) -> None:
        old, self.capacity = self.capacity, capacity
        state_of = np.full((capacity, self.index.state_of.shape[1]), -1, np.int64)
        configuration = np.zeros(capacity, np.int64)
        state_of[:old], configuration[:old] = self.index.state_of, self.index.configuration
        self.index = self.index._replace(state_of=state_of, configuration=configuration)

    def snapshot(self) -> dict[str, Any]:
        return {
            "masks": np.array(self.masks, np.uint64),
            "pairs": np.array(list(self.pairs), np.int64).reshape(-1, 2),
        }

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], contexts: Contexts | None) -> ChainStates:
        states = cls(contexts)
        masks = array(snapshot["masks"], np.uint64, (None,), "the configurations")
        pairs = array(snapshot["pairs"], np.int64, (None, 2), "the states of the chain")
        require(0 < len(masks) <= MAX_STATES and masks[0] == 0, "the configurations")
        require(len(np.unique(masks)) == len(masks), "the configurations")
        require(len(masks) <= len(pairs) + MAX_STATES and len(pairs) <= 2 * MAX_STATES, "the states of the chain")
        require_range(pairs[:, 0], len(masks), "the states of the chain")
        require_range(pairs[:, 1], states.index.state_of.shape[1], "the states of the chain")
        for mask in masks.tolist()[1:]:  # the first one, without partial matches, is always there
            states._insert(mask, len(states.masks))
            states.masks.append(mask)
        states._reserve(max(states.capacity, len(masks)))  # the kernel looks up states of every configuration
        for number, context in pairs.tolist():
            states.state_number(states.masks[number], context)
        require(len(states) == len(pairs), "the states of the chain")
        return states


def _new_hash_table(size: int) -> ConfigurationTable:
    return ConfigurationTable(np.zeros(size, np.uint64), np.full(size, -1, np.int64), np.full(_LOW, -1, np.int64))


def _context_automaton(contexts: Contexts | None) -> tuple[Ints, Ints]:
    """The next node by node and symbol, with a last symbol for all unknown ones; and the context of each node."""
    if contexts is None or len(contexts) == 1:
        return np.zeros((1, 1), np.int64), np.zeros(1, np.int64)
    unknown = np.zeros((len(contexts.next_node), 1), np.int64)
    return np.hstack([contexts.next_node.astype(np.int64), unknown]), contexts.context.astype(np.int64)
