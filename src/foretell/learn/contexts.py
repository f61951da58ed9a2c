"""Contexts of variable order: the last symbols, as many as make a difference (a prediction suffix tree).

A context is a suffix of what has been, the latest symbol last; the present one is the longest that is known. So that
an event costs one look-up, the suffixes become an automaton: each node is the beginning of a suffix, and an event leads
from the node to the longest one that what has been then ends with (as Aho and Corasick do it).

>>> contexts = Contexts(2, ((), (0,), (1, 0)))
>>> contexts.after(np.array([0, 1, 0, 0]), np.zeros(4, np.int64)).tolist()
[1, 0, 2, 1]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints

Suffix = tuple[int, ...]


@dataclass(frozen=True)
class Contexts:
    """`suffixes[c]` is context c; the first is empty, and without its oldest symbol each is one of them too.

    `symbols` is how many symbols there are; one unknown when this was learned leads back to the empty context.
    """

    symbols: int
    suffixes: tuple[Suffix, ...] = ((),)

    def __post_init__(self) -> None:
        known = set(self.suffixes)
        if not self.suffixes or self.suffixes[0] != () or len(known) < len(self.suffixes):
            raise ValueError("the first context is the empty one, and each stands once")
        for suffix in self.suffixes:
            if suffix and suffix[1:] not in known:
                raise ValueError(f"the context {list(suffix)} has no shorter one")
            if not all(0 <= symbol < self.symbols for symbol in suffix):
                raise ValueError(f"the context {list(suffix)} has an unknown symbol")

    def __len__(self) -> int:
        return len(self.suffixes)

    @property
    def order(self) -> int:
        """The most symbols that a context has."""
        return max(map(len, self.suffixes))

    @cached_property
    def _nodes(self) -> dict[Suffix, int]:
        beginnings = {suffix[:length] for suffix in self.suffixes for length in range(len(suffix) + 1)}
        return {node: number for number, node in enumerate(sorted(beginnings, key=lambda node: (len(node), node)))}

    @cached_property
    def following(self) -> NDArray[np.int32]:
        """[node, symbol]: the node after an event. Node 0 is where nothing is known of the past."""
        table = np.zeros((len(self._nodes), self.symbols), np.int32)
        for node, number in self._nodes.items():
            # What a node has no beginning of its own for, it does as the longest shorter one: that has been filled.
            shorter = next((node[i:] for i in range(1, len(node) + 1) if node[i:] in self._nodes), ())
            table[number] = table[self._nodes[shorter]] if node else 0
            for symbol in range(self.symbols):
                longer = self._nodes.get((*node, symbol))
                if longer is not None:
                    table[number, symbol] = longer
        return table

    @cached_property
    def context(self) -> NDArray[np.int32]:
        """[node]: its context."""
        place = {suffix: number for number, suffix in enumerate(self.suffixes)}
        longest = [next(place[node[i:]] for i in range(len(node) + 1) if node[i:] in place) for node in self._nodes]
        return np.array(longest, np.int32)

    def after(self, symbol: Ints, process: Ints) -> Ints:
        """The context after each event: its process begins with the empty one."""
        from foretell.learn.context_kernel import follow  # which loads Numba: who only reads a model can do without

        found = np.zeros(len(symbol), np.int64)
        nodes = np.zeros(int(process.max(initial=-1)) + 1, np.int64)
        follow(symbol, process, nodes, self.following, self.context, found)
        return found


#: For a chain over configurations alone.
NO_CONTEXTS = Contexts(0)
