"""Contexts of variable order: the longest known suffix of the past symbols (a prediction suffix tree).

A context is a suffix of the symbols so far, the latest symbol last. The suffixes are compiled to an automaton, as Aho
and Corasick do it, so that an event costs one look-up: each node is a prefix of some suffix, and a symbol leads to the
longest such prefix that the symbols so far then end with.

>>> contexts = Contexts(2, ((), (0,), (1, 0)))
>>> contexts.after(np.array([0, 1, 0, 0]), np.zeros(4, np.int64)).tolist()
[1, 0, 2, 1]
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from foretell.arrays import Ints
from foretell.records import record

Suffix = tuple[int, ...]


@record
class Contexts:
    """`suffixes[c]` is context c. The first is empty; each other one without its oldest symbol is a context too.

    `symbols` is the size of the alphabet. A symbol beyond it leads back to the empty context.
    """

    symbols: int
    suffixes: tuple[Suffix, ...] = ((),)

    def __post_init__(self) -> None:
        known = set(self.suffixes)
        if not self.suffixes or self.suffixes[0] != () or len(known) < len(self.suffixes):
            raise ValueError("the first context must be empty, and each must be listed once")
        for suffix in self.suffixes:
            if suffix and suffix[1:] not in known:
                raise ValueError(f"the context {list(suffix)} has no shorter one")
            if not all(0 <= symbol < self.symbols for symbol in suffix):
                raise ValueError(f"the context {list(suffix)} has an unknown symbol")

    def __len__(self) -> int:
        return len(self.suffixes)

    @property
    def order(self) -> int:
        """The length of the longest context."""
        return max(map(len, self.suffixes))

    @cached_property
    def _nodes(self) -> dict[Suffix, int]:
        prefixes = {suffix[:length] for suffix in self.suffixes for length in range(len(suffix) + 1)}
        return {node: number for number, node in enumerate(sorted(prefixes, key=lambda node: (len(node), node)))}

    @cached_property
    def next_node(self) -> NDArray[np.int32]:
        """[node, symbol]: the node after an event. Node 0 is that of an unknown past."""
        table = np.zeros((len(self._nodes), self.symbols), np.int32)
        for node, number in self._nodes.items():
            # Where a node has no longer prefix for a symbol it goes where its failure node goes, filled before.
            failure = next((node[i:] for i in range(1, len(node) + 1) if node[i:] in self._nodes), ())
            table[number] = table[self._nodes[failure]] if node else 0
            for symbol in range(self.symbols):
                longer = self._nodes.get((*node, symbol))
                if longer is not None:
                    table[number, symbol] = longer
        return table

    @cached_property
    def context(self) -> NDArray[np.int32]:
        """[node]: its context."""
        number_of = {suffix: number for number, suffix in enumerate(self.suffixes)}
        longest = [
            next(number_of[node[i:]] for i in range(len(node) + 1) if node[i:] in number_of) for node in self._nodes
        ]
        return np.array(longest, np.int32)

    def after(self, symbol: Ints, process: Ints) -> Ints:
        """The context after each event; each process starts with the empty one."""
        from foretell.learn.context_kernel import advance_contexts  # loads Numba, which reading a model does not need

        contexts = np.zeros(len(symbol), np.int64)
        nodes = np.zeros(int(process.max(initial=-1)) + 1, np.int64)
        advance_contexts(symbol, process, nodes, self.next_node, self.context, contexts)
        return contexts


#: For a chain over configurations alone.
NO_CONTEXTS = Contexts(0)
