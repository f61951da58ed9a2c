"""A running sample of events in bounded memory, in which old events lose weight.

Priority sampling (Duffield, Lund, Thorup 2007) with forward decay: an event of weight w has the priority w / u, with u
uniform in (0, 1]. The events with the largest priorities are kept, and each counts as much as the larger of its weight
and the largest priority that was dropped. So the weight of every set of values is estimated without bias, and exactly
as long as nothing was dropped. Weights are kept as logarithms, since that of the latest event grows without end.
"""

from __future__ import annotations

import math

import numpy as np

from foretell.arrays import Flags, Floats, Ints
from foretell.filter.profile_tree.event_distribution import JointDistribution

#: Enough that the drawn probability of a branch is within 0.01 of the true one.
SAMPLE_EVENTS = 8192

#: Of larger batches so many events are drawn, and stand for the others.
MOST_OF_A_BATCH = 256


#: So many batches wait at most, whose arrays stay alive.
_MOST_WAITING = 32


class AgeingSample:
    """An event one half-life, counted in events, before the latest counts half."""

    def __init__(
        self, attributes: int, *, size: int = SAMPLE_EVENTS, half_life: float = math.inf, seed: int = 1
    ) -> None:
        if size < 1 or not half_life > 0:
            raise ValueError(f"a sample needs a size and a half-life above 0, not {size} and {half_life}")
        self.events = 0
        self._size, self._half_life = size, half_life
        self._chance = np.random.default_rng(seed)
        self._keys: Ints = np.zeros((attributes, 0), np.int64)
        self._nulls: Flags = np.zeros((attributes, 0), np.bool_)
        self._weight: Floats = np.zeros(0)  # by their logarithms to base 2
        self._priority: Floats = np.zeros(0)
        self._dropped = -math.inf
        self._waiting: list[tuple[Ints, Flags, Floats]] = []
        self._waiting_events = 0

    def __len__(self) -> int:
        self._merge()
        return len(self._weight)

    def add(self, keys: Ints, nulls: Flags) -> None:
        """Add a batch of events: a row of keys and of NULLs for each attribute, which nobody writes to any more."""
        count = keys.shape[1]
        weight = (self.events + np.arange(count)) / self._half_life
        self.events += count
        if count > MOST_OF_A_BATCH:
            drawn = np.sort(self._chance.integers(0, count, MOST_OF_A_BATCH))
            keys, nulls = keys[:, drawn], nulls[:, drawn]
            weight = weight[drawn] + math.log2(count / MOST_OF_A_BATCH)
        self._waiting.append((keys, nulls, weight))
        self._waiting_events += len(weight)
        if self._waiting_events >= self._size or len(self._waiting) >= _MOST_WAITING:
            self._merge()

    def distribution(self) -> JointDistribution:
        self._merge()
        return self._part(np.arange(len(self._weight)))

    def halves(self) -> tuple[JointDistribution, JointDistribution]:
        """Two samples of different events: what is chosen by the first is judged by the second."""
        numbers = self._chance.permutation(len(self))
        return self._part(numbers[::2]), self._part(numbers[1::2])

    def _merge(self) -> None:
        """Take the batches that wait: many at once, since it takes about 0.5 ms."""
        if not self._waiting:
            return
        keys, nulls, weights = zip(*self._waiting)
        self._waiting.clear()
        self._waiting_events = 0
        weight = np.concatenate(weights)
        self._keep(
            np.concatenate([self._keys, *keys], axis=1),
            np.concatenate([self._nulls, *nulls], axis=1),
            np.concatenate([self._weight, weight]),
            np.concatenate([self._priority, weight - np.log2(1.0 - self._chance.random(len(weight)))]),
        )

    def _part(self, rows: Ints) -> JointDistribution:
        weight = np.maximum(self._weight[rows], self._dropped)
        relative = np.exp2(weight - weight.max()) if len(rows) else weight
        return JointDistribution.of(self._keys[:, rows].copy(), self._nulls[:, rows].copy(), relative)

    def _keep(self, keys: Ints, nulls: Flags, weight: Floats, priority: Floats) -> None:
        if len(priority) > self._size:
            by_priority = np.argpartition(-priority, self._size)
            self._dropped = max(self._dropped, float(priority[by_priority[self._size :]].max()))
            kept = np.sort(by_priority[: self._size])
            keys, nulls, weight, priority = keys[:, kept], nulls[:, kept], weight[kept], priority[kept]
        self._keys, self._nulls, self._weight, self._priority = keys, nulls, weight, priority
