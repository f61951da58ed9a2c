"""Contexts worth keeping: a prediction suffix tree grown from a trace and pruned.

The tree counts which symbol followed each suffix. A suffix stays if its oldest symbol makes the following symbols
likelier by more than it costs: the log-likelihood ratio against the suffix without that symbol, less ½ log n for each
parameter (the Bayesian information criterion, with which Csiszár and Talata find the tree of a source). The gain of a
longer suffix counts for the shorter ones on its path too, so that memory is found which shows only after several
symbols.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.learn.contexts import Contexts, Suffix
from foretell.learn.trace import Trace, TraceTransitions

#: Suffixes followed by fewer events are ignored.
MIN_COUNT = 50
#: With more contexts than this the price of a context is raised until there are fewer.
MAX_CONTEXTS = 256


@dataclass(frozen=True)
class _TreeLevel:
    """The suffixes of one length. `code` is a suffix as a number to the base of the alphabet, with the latest symbol as
    its lowest digit; `parent` is its index without the oldest symbol in the level above; `gain` the log-likelihood
    ratio; `free` the number of free parameters."""

    code: Ints
    parent: Ints
    gain: Floats
    free: Ints


@dataclass(frozen=True)
class SuffixTree:
    """All suffixes up to a length that were seen often enough."""

    symbols: int
    events: int
    levels: tuple[_TreeLevel, ...]

    @classmethod
    def of(cls, trace: Trace, order: int, min_count: int = MIN_COUNT) -> SuffixTree:
        transitions = TraceTransitions.of(trace)
        symbol = trace.symbol[transitions.row]
        if symbol.min(initial=0) < 0:
            raise ValueError("symbols are numbered from 0")
        base = int(symbol.max(initial=0)) + 1
        while order and base ** (order + 1) >= 1 << 62:  # a suffix and its following symbol must fit one number
            order -= 1
        row = np.arange(len(symbol))
        age = row - np.maximum.accumulate(np.where(transitions.first, row, 0))
        followed = np.flatnonzero(~transitions.last)
        level = _SuffixCounts(np.zeros(len(followed), np.int64), symbol[followed + 1], base, 1)
        code, levels = np.zeros(len(followed), np.int64), []
        for length in range(1, order + 1):
            # Only as far back as the process goes, and only along suffixes that were frequent themselves.
            long_enough = age[followed] >= length - 1
            followed, code = followed[long_enough], code[long_enough]
            code = code + symbol[followed - (length - 1)] * base ** (length - 1)
            deeper = _SuffixCounts(code, symbol[followed + 1], base, min_count)
            levels.append(deeper.below(level, base ** (length - 1)))
            level = deeper
            kept = level.has(code)
            followed, code = followed[kept], code[kept]
        return cls(base, int((~transitions.last).sum()), tuple(levels))

    def pruned(self, order: int, max_contexts: int = MAX_CONTEXTS) -> Contexts:
        """The contexts of at most `order` symbols that are worth their price."""
        price = math.log(max(self.events, 2)) / 2
        while True:
            kept = self._worth_keeping(order, price)
            if sum(int(flags.sum()) for flags in kept) < max_contexts:
                break
            price *= 1.5
        return self._contexts(kept)

    def unpruned(self) -> Contexts:
        """All contexts: the paper's full model (P-ToPSS section 6.2)."""
        return self._contexts([np.ones(len(level.code), np.bool_) for level in self.levels])

    def _contexts(self, kept: list[Flags]) -> Contexts:
        suffixes: list[Suffix] = [()]
        for length, (level, flags) in enumerate(zip(self.levels, kept), start=1):
            suffixes += [self._suffix(code, length) for code in level.code[flags].tolist()]
        return Contexts(self.symbols, tuple(suffixes))

    def _worth_keeping(self, order: int, price: float) -> list[Flags]:
        levels = self.levels[:order]
        values: list[Floats] = []
        below = np.zeros(0)
        for level in reversed(levels):
            value = level.gain - price * level.free
            if len(below):
                deeper = levels[len(levels) - len(values)]
                np.add.at(value, deeper.parent, np.maximum(below, 0.0))
            values.append(value)
            below = value
        kept: list[Flags] = []
        for level, value in zip(levels, reversed(values)):
            flags = value > 0
            if kept:
                flags &= kept[-1][level.parent]
            kept.append(flags)
        return kept

    def _suffix(self, code: int, length: int) -> Suffix:
        digits = []
        for _ in range(length):
            code, digit = divmod(code, self.symbols)
            digits.append(digit)
        return tuple(reversed(digits))


class _SuffixCounts:
    """How often each frequent suffix of one length was followed by each symbol."""

    def __init__(self, code: Ints, following: Ints, base: int, min_count: int) -> None:
        pairs, count = np.unique(code * base + following, return_counts=True)
        suffix = pairs // base
        self.code, first = np.unique(suffix, return_index=True)
        total = np.add.reduceat(count, first) if len(first) else count
        frequent = total >= min_count
        number = np.searchsorted(self.code, suffix)
        kept = frequent[number]
        self.base, self.pairs, self.count = base, pairs[kept], count[kept].astype(np.float64)
        self.code, self.total = self.code[frequent], total[frequent].astype(np.float64)
        self.number = np.searchsorted(self.code, self.pairs // base)

    def has(self, code: Ints) -> Flags:
        if len(self.code) == 0:
            return np.zeros(len(code), np.bool_)
        place = np.minimum(np.searchsorted(self.code, code), len(self.code) - 1)
        return np.asarray(self.code[place] == code)

    def below(self, shorter: _SuffixCounts, modulus: int) -> _TreeLevel:
        """The level below `shorter`: a code modulo `modulus` is the suffix without its oldest symbol."""
        parent = np.searchsorted(shorter.code, self.code % modulus)
        same = np.searchsorted(shorter.pairs, (self.pairs // self.base % modulus) * self.base + self.pairs % self.base)
        own = self.count / self.total[self.number]
        above = shorter.count[same] / shorter.total[parent[self.number]]
        gain = np.zeros(len(self.code))
        np.add.at(gain, self.number, self.count * np.log(own / above))
        kinds = np.bincount(shorter.number, minlength=len(shorter.code))
        return _TreeLevel(self.code, parent, gain, np.maximum(kinds[parent] - 1, 1))
