"""Which contexts make a difference: a prediction suffix tree grown from a trace and pruned.

Counted is which symbol followed each suffix. A suffix stays if knowing its oldest symbol makes what followed likelier
by more than it costs: the log-likelihood ratio against the suffix without it, less ½ log n for each number that has to
be learned (the Bayesian information criterion, with which Csiszár and Talata find the tree of a source). What a longer
suffix gains counts for the shorter ones on its way, so that memory is found that shows only after several symbols.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.learn.contexts import Contexts, Suffix
from foretell.learn.trace import Steps, Trace

#: Suffixes that were followed by fewer events are not looked at.
LEAST = 50
#: More contexts than this are not kept: the price of one is then raised until they are fewer.
MOST_CONTEXTS = 256


@dataclass(frozen=True)
class _Level:
    """The suffixes of one length. `code` is the suffix as a number to the base of the symbols, the latest symbol the
    lowest digit; `parent` its place without the oldest, in the level before; `gain` the log-likelihood ratio; `free`
    how many numbers a law of what follows has."""

    code: Ints
    parent: Ints
    gain: Floats
    free: Ints


@dataclass(frozen=True)
class Suffixes:
    """All suffixes seen often enough, up to a length."""

    symbols: int
    events: int
    levels: tuple[_Level, ...]

    @classmethod
    def of(cls, trace: Trace, order: int, least: int = LEAST) -> Suffixes:
        steps = Steps.of(trace)
        symbol = trace.symbol[steps.row]
        if symbol.min(initial=0) < 0:
            raise ValueError("symbols are numbered from 0")
        base = int(symbol.max(initial=0)) + 1
        while order and base ** (order + 1) >= 1 << 62:  # a suffix and what follows it must fit one number
            order -= 1
        followed = np.flatnonzero(~steps.last)
        age = np.arange(len(symbol)) - np.maximum.accumulate(np.where(steps.first, np.arange(len(symbol)), 0))
        level = _Counted(np.zeros(len(followed), np.int64), symbol[followed + 1], base, 1)
        code, levels = np.zeros(len(followed), np.int64), []
        for length in range(1, order + 1):
            # As far back as the process goes, and only along suffixes that were often enough themselves.
            long_enough = age[followed] >= length - 1
            followed, code = followed[long_enough], code[long_enough]
            code = code + symbol[followed - (length - 1)] * base ** (length - 1)
            deeper = _Counted(code, symbol[followed + 1], base, least)
            levels.append(deeper.below(level, base ** (length - 1)))
            level = deeper
            kept = level.has(code)
            followed, code = followed[kept], code[kept]
        return cls(base, int((~steps.last).sum()), tuple(levels))

    def pruned(self, order: int, most: int = MOST_CONTEXTS) -> Contexts:
        """The contexts worth their price, with at most so many symbols each."""
        price = math.log(max(self.events, 2)) / 2
        while True:
            kept = self._worth(order, price)
            if sum(int(flags.sum()) for flags in kept) < most:
                break
            price *= 1.5
        return self._contexts(kept)

    def whole(self) -> Contexts:
        """All of them, whatever they cost: the paper's full model (P-ToPSS section 6.2)."""
        return self._contexts([np.ones(len(level.code), np.bool_) for level in self.levels])

    def _contexts(self, kept: list[Flags]) -> Contexts:
        found: list[Suffix] = [()]
        for length, (level, flags) in enumerate(zip(self.levels, kept), start=1):
            found += [self._suffix(code, length) for code in level.code[flags].tolist()]
        return Contexts(self.symbols, tuple(found))

    def _worth(self, order: int, price: float) -> list[Flags]:
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


class _Counted:
    """How often each suffix of one length was followed by each symbol; the rare ones left out."""

    def __init__(self, code: Ints, following: Ints, base: int, least: int) -> None:
        pairs, count = np.unique(code * base + following, return_counts=True)
        suffix = pairs // base
        self.code, first = np.unique(suffix, return_index=True)
        total = np.add.reduceat(count, first) if len(first) else count
        often = total >= least
        number = np.searchsorted(self.code, suffix)
        kept = often[number]
        self.base, self.pairs, self.count = base, pairs[kept], count[kept].astype(np.float64)
        self.code, self.total = self.code[often], total[often].astype(np.float64)
        self.number = np.searchsorted(self.code, self.pairs // base)

    def has(self, code: Ints) -> Flags:
        if len(self.code) == 0:
            return np.zeros(len(code), np.bool_)
        place = np.minimum(np.searchsorted(self.code, code), len(self.code) - 1)
        return np.asarray(self.code[place] == code)

    def below(self, shorter: _Counted, modulus: int) -> _Level:
        """As the level below `shorter`: a suffix without its oldest symbol is the rest of dividing by the modulus."""
        parent = np.searchsorted(shorter.code, self.code % modulus)
        same = np.searchsorted(shorter.pairs, (self.pairs // self.base % modulus) * self.base + self.pairs % self.base)
        own = self.count / self.total[self.number]
        above = shorter.count[same] / shorter.total[parent[self.number]]
        gain = np.zeros(len(self.code))
        np.add.at(gain, self.number, self.count * np.log(own / above))
        kinds = np.bincount(shorter.number, minlength=len(shorter.code))
        return _Level(self.code, parent, gain, np.maximum(kinds[parent] - 1, 1))
