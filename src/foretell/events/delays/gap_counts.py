"""Counts of what gaps hide: how many events of the hidden steps were seen in the gaps of a history.

Of gaps with the same two ends, `counts[m]` has by their length how many had m = (m1, m2, …) events of the hidden steps.
Let K be how many happened in a gap. Of them the history lost each with probability η, and the stream loses each with ε.
A sum over the counts then gives every mean of the form E[z1^K1 · z2^K2 …], since E[z^K] = E[(1 + (z - 1) / (1 - η))^M]:
with z = ε that nothing is seen, with z = 0 that nothing happened. For η = ε it is a series in ρ = ε / (1 - ε)
(decision 0015). Nothing is assumed about how the end depends on what is hidden.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.errors import InputError
from foretell.records import record

#: Lengths are counted in so many bins for each factor of ten; the first has those of 0, too.
BINS_PER_DECADE = 8
_FIRST, _DECADES = -7, 18
BINS = BINS_PER_DECADE * _DECADES

#: More gaps than any history has; sums of their products stay finite.
_MOST_GAPS = 1e15

#: A count of more events is as this one.
MOST_EVENTS = 12

#: The most that a history may have lost of a step: what was lost cannot be worked out of almost nothing.
MOST_LOSS = 0.999

#: A probability is the mean over neighbouring bins that have so many gaps, if there are so many.
_ENOUGH = 400.0


def bin_of(length: Floats) -> Ints:
    """The bin of each length."""
    with np.errstate(divide="ignore"):
        place = np.floor((np.log10(length) - _FIRST) * BINS_PER_DECADE)
    return np.asarray(np.clip(np.nan_to_num(place, neginf=0), 0, BINS - 1), np.int64)


@record
class GapCounts:
    """`hidden` are the steps that may be hidden; `loss` is how likely the history lost an event of each."""

    hidden: tuple[str, ...]
    loss: tuple[float, ...]
    counts: Mapping[tuple[int, ...], Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, hidden: Sequence[str], loss: Sequence[float], bins: Ints, seen: Ints) -> GapCounts:
        """Count gaps: the bin of the length of each, and a row for each with what was seen of the hidden steps."""
        kinds, kind = np.unique(np.minimum(seen, MOST_EVENTS), axis=0, return_inverse=True)
        cells = np.bincount(kind.ravel() * BINS + bins, minlength=len(kinds) * BINS).reshape(-1, BINS)
        counts = {tuple(map(int, row)): cells[number].astype(float) for number, row in enumerate(kinds)}
        return cls(tuple(hidden), tuple(loss), counts)

    def merged(self, other: GapCounts) -> GapCounts:
        keys = {**self.counts, **other.counts}
        nothing = np.zeros(BINS)
        both = {key: self.counts.get(key, nothing) + other.counts.get(key, nothing) for key in keys}
        return GapCounts(self.hidden, self.loss, both)

    def probability(self, length: float, wanted: Sequence[bool], losses: Sequence[float]) -> float | None:
        """The probability that the wanted steps happened and the others did not, given that none was seen; None where
        the history has no gap like it. `losses` are those of the stream."""
        weights = self._weights(length)
        if weights is None:
            return None
        near = {key: float(weights @ bins) for key, bins in self.counts.items()}
        required = [place for place, happened in enumerate(wanted) if happened]
        unseen = self._mean(near, losses)
        absent = [0.0 if not happened else loss for happened, loss in zip(wanted, losses, strict=True)]
        likely = 0.0
        # All wanted steps happened: by inclusion and exclusion of those that did not.
        for missing in chain.from_iterable(combinations(required, size) for size in range(len(required) + 1)):
            without = [0.0 if place in missing else z for place, z in enumerate(absent)]
            likely += (-1) ** len(missing) * self._mean(near, without)
        return None if unseen <= 0 else min(1.0, max(0.0, likely / unseen))

    def _mean(self, near: Mapping[tuple[int, ...], float], values: Sequence[float]) -> float:
        """The mean of z1^K1 · z2^K2 …, not divided by the number of gaps."""
        factors = [1 + (z - 1) / (1 - loss) for z, loss in zip(values, self.loss, strict=True)]
        return sum(n * math.prod(f**m for f, m in zip(factors, key, strict=True)) for key, n in near.items())

    def _weights(self, length: float) -> Floats | None:
        """The weights of the bins: a bell around the length, as wide as it takes to have enough gaps."""
        total = self._totals
        if not total.any():
            return None
        with np.errstate(divide="ignore"):
            at = (math.log10(length) - _FIRST) * BINS_PER_DECADE - 0.5 if length > 0 else 0.0
        distance = np.abs(np.arange(BINS) - at)
        width = 0.5
        while True:
            weights = np.asarray(np.exp(-((distance / width) ** 2) / 2), np.float64)
            if weights @ total >= _ENOUGH or width > BINS:
                return weights
            width *= 1.5

    @cached_property
    def _totals(self) -> Floats:
        return np.sum(list(self.counts.values()), axis=0) if self.counts else np.zeros(BINS)

    # ── the form in model files ──

    def to_json(self) -> dict[str, object]:
        return {"hidden": [*self.hidden], "loss": [*self.loss], "counts": [*self._cells()]}

    def _cells(self) -> Iterator[list[object]]:
        for key, bins in sorted(self.counts.items()):
            places = np.flatnonzero(bins)
            yield [[*key], [[int(place), float(bins[place])] for place in places]]

    @classmethod
    def from_json(cls, document: object, name: str) -> GapCounts:
        """Raises InputError for what `to_json` does not make."""
        try:
            assert isinstance(document, Mapping)
            hidden = tuple(str(step) for step in document["hidden"])
            loss = tuple(float(p) for p in document["loss"])
            counts: dict[tuple[int, ...], Floats] = {}
            for key, cells in document["counts"]:
                bins = np.zeros(BINS)
                for place, weight in cells:
                    if not (0 <= place < BINS and 0 <= weight <= _MOST_GAPS):
                        raise ValueError(f"bin {place} has {weight} gaps")
                    bins[place] = weight
                counts[tuple(int(m) for m in key)] = bins
            fits = len(hidden) == len(loss) and all(len(key) == len(hidden) for key in counts)
            possible = all(0 <= p <= MOST_LOSS for p in loss) and all(0 <= m <= MOST_EVENTS for k in counts for m in k)
            if not fits or not possible:
                raise ValueError("its steps, losses and counts do not fit each other")
        except (AssertionError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise InputError("bad-model", f"the gap '{name}' of the model cannot be read: {error}") from None
        return cls(hidden, loss, counts)
