"""Counts of what gaps hide: how many events of the hidden steps were seen in the gaps of a history.

Of gaps with the same two ends, `counts[m]` has by their length how many had m = (m1, m2, …) events of the hidden steps.
Let K be how many happened in a gap. Of them the history lost each with probability η, and the stream loses each with ε.
A sum over the counts then gives every mean of the form E[z1^K1 · z2^K2 …], since E[z^K] = E[(1 + (z - 1) / (1 - η))^M]:
with z = ε that nothing is seen, with z = 0 that nothing happened. For η = ε it is a series in ρ = ε / (1 - ε)
(decision 0015). Nothing is assumed about how the end depends on what is hidden.

Thinned counts, as if the history had lost more, have the same means: so counts of histories with different losses are
merged (decision 0017).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import chain, combinations
from typing import TypeVar

import numpy as np

from foretell.arrays import Floats, Ints
from foretell.errors import InputError
from foretell.events.delays.bandwidths import bells, enough_gaps
from foretell.events.delays.seen_places import NOWHERE, PLACES, SeenPlaces
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

#: Less than so much of a gap weighs nothing.
_NOTHING = 1e-6


def bin_of(length: Floats) -> Ints:
    """The bin of each length."""
    with np.errstate(divide="ignore"):
        place = np.floor((np.log10(length) - _FIRST) * BINS_PER_DECADE)
    return np.asarray(np.clip(np.nan_to_num(place, neginf=0), 0, BINS - 1), np.int64)


def _places(lengths: Floats) -> Floats:
    """The place of each length among the middles of the bins."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(lengths > 0, (np.log10(lengths) - _FIRST) * BINS_PER_DECADE - 0.5, 0.0)


Key = TypeVar("Key")

#: By how many were seen of each hidden step, the number of gaps in each bin.
Counts = Mapping[tuple[int, ...], Floats]


def length_of(place: int) -> float:
    """The length at which a bin begins."""
    return float(10 ** (place / BINS_PER_DECADE + _FIRST))


@record
class SeenNear:
    """Events of hidden steps near other events: the number of the other event, that of the step, and the bin of the
    distance."""

    event: Ints
    step: Ints
    bins: Ints


@record
class GapCounts:
    """`hidden` are the steps that may be hidden; `loss` is how likely the history lost an event of each. `held` has for
    steps on whose values the steps present have conditions, by length, how many events were seen, and how many of them
    met the conditions. `places` has where in gaps between two events each step was seen; at the edge of the window the
    counts themselves tell the distances."""

    hidden: tuple[str, ...]
    loss: tuple[float, ...]
    counts: Counts = field(default_factory=dict)
    held: Mapping[str, Floats] = field(default_factory=dict)
    places: Mapping[str, SeenPlaces] = field(default_factory=dict)

    @classmethod
    def of(cls, hidden: Sequence[str], loss: Sequence[float], bins: Ints, seen: Ints) -> GapCounts:
        """Count gaps: the bin of the length of each, and a row for each with what was seen of the hidden steps."""
        kinds, kind = np.unique(np.minimum(seen, MOST_EVENTS), axis=0, return_inverse=True)
        cells = np.bincount(kind.ravel() * BINS + bins, minlength=len(kinds) * BINS).reshape(-1, BINS)
        counts = {tuple(map(int, row)): cells[number].astype(float) for number, row in enumerate(kinds)}
        return cls(tuple(hidden), tuple(loss), counts)

    @classmethod
    def at_edge(cls, hidden: Sequence[str], loss: Sequence[float], events: int, seen: SeenNear) -> GapCounts:
        """Count the gaps from each of some events to the edge of the window: what was seen up to each distance."""
        order = np.lexsort((seen.bins, seen.event))
        event, bins, step = seen.event[order], seen.bins[order], seen.step[order]
        passed = np.cumsum(step[:, None] == np.arange(len(hidden)), axis=0)
        first = np.searchsorted(event, event)
        after = passed - np.where(first[:, None] > 0, passed[first - 1], 0)
        before = after.copy()
        before[np.arange(len(step)), step] -= 1
        # From the distance of each one seen on, a gap is of another kind.
        keys = np.minimum(np.concatenate([before, after, np.zeros((1, len(hidden)), np.int64)]), MOST_EVENTS)
        kinds, kind = np.unique(keys, axis=0, return_inverse=True)
        changes = np.concatenate([np.full(len(step), -1.0), np.ones(len(step)), [float(events)]])
        at = kind.ravel() * BINS + np.concatenate([bins, bins, [0]])
        cells = np.bincount(at, changes, minlength=len(kinds) * BINS).reshape(-1, BINS).cumsum(axis=1)
        return cls(tuple(hidden), tuple(loss), {tuple(map(int, k)): row for k, row in zip(kinds, cells, strict=True)})

    def merged(self, other: GapCounts) -> GapCounts:
        """The counts of both, with the greater of the losses."""
        loss = tuple(map(max, self.loss, other.loss))
        mine, added = self.thinned(loss), other.thinned(loss)
        places = dict(mine.places)
        for step, seen in added.places.items():
            places[step] = places[step].merged(seen) if step in places else seen
        return GapCounts(self.hidden, loss, _sum(mine.counts, added.counts), _sum(mine.held, added.held), places)

    def thinned(self, loss: Sequence[float]) -> GapCounts:
        """The expected counts of a history that lost as much, which is no less than this one."""
        counts, held, places = self.counts, dict(self.held), dict(self.places)
        for place, (before, after) in enumerate(zip(self.loss, loss, strict=True)):
            if after > before:
                kept = (1 - after) / (1 - before)
                counts = _thinned(counts, place, kept)
                step = self.hidden[place]
                held |= {step: held[step] * kept} if step in held else {}
                places |= {step: places[step].scaled(kept)} if step in places else {}
        return GapCounts(self.hidden, tuple(loss), counts, held, places)

    def aged(self, factor: float) -> GapCounts:
        """The counts with another weight; what weighs next to nothing is left out."""
        aged = {key: np.where(bins * factor > _NOTHING, bins * factor, 0.0) for key, bins in self.counts.items()}
        held = {step: seen * factor for step, seen in self.held.items()}
        places = {step: seen.scaled(factor, _NOTHING) for step, seen in self.places.items()}
        return replace(self, counts={key: bins for key, bins in aged.items() if bins.any()}, held=held, places=places)

    def probabilities(self, lengths: Floats, wanted: Sequence[bool], losses: Sequence[float]) -> Floats:
        """The probability for each length that the wanted steps happened and the others did not, given that none was
        seen; NaN where the history has no gap like it. `losses` are those of the stream."""
        if not self.totals.any():
            return np.full(len(lengths), math.nan)
        required = [place for place, happened in enumerate(wanted) if happened]
        absent = [0.0 if not happened else loss for happened, loss in zip(wanted, losses, strict=True)]
        likely = np.zeros(len(self.counts))
        # All wanted steps happened: by inclusion and exclusion of those that did not.
        for missing in chain.from_iterable(combinations(required, size) for size in range(len(required) + 1)):
            without = [0.0 if place in missing else z for place, z in enumerate(absent)]
            likely += (-1) ** len(missing) * self._factors(without)
        cells, of_all = np.stack([*self.counts.values()]), self._factors(losses)
        choice = (tuple(wanted), tuple(losses))
        if choice not in self._enough:
            self._enough[choice] = enough_gaps(cells, likely, of_all)
        # The sums are those of each length alone, to the last digit, whatever the others are.
        weights = bells(_places(lengths), self.totals, self._enough[choice])
        near = np.einsum("lb,kb->lk", weights, cells)
        unseen = np.einsum("lk,k->l", near, of_all)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.clip(np.einsum("lk,k->l", near, likely) / unseen, 0.0, 1.0)
        for place in required:
            found *= self._share_held(self.hidden[place], weights)
        return np.where(unseen > 0, found, math.nan)

    def places_lost(self, step: str, lengths: Floats, low: Floats, high: Floats) -> Floats:
        """For each length the interval of where a lost step happened between two places; places are parts of a gap."""
        seen = self.places.get(step, NOWHERE)
        return seen.intervals(_places(lengths), low, high, BINS)

    def distances(self, step: str) -> list[tuple[float, float]] | None:
        """Distances from the event at which a gap begins, each with the share of steps that were seen first up to it;
        None where none was seen. For gaps to the edge of the window."""
        seen = np.maximum.accumulate(
            sum((row for key, row in self.counts.items() if key[self.hidden.index(step)]), np.zeros(BINS))
        )
        if not seen[-1] > _NOTHING:
            return None
        places = np.flatnonzero(np.diff(seen, prepend=0.0) > 0)
        shares = np.append(0.0, seen / seen[-1])
        return [(length_of(n), float(shares[n])) for n in range(int(places[0]), int(places[-1]) + 2)]

    def _share_held(self, step: str, weights: Floats) -> Floats:
        """How often the conditions on a step's values held; where that is unknown they hold."""
        if step not in self.held:
            return np.ones(len(weights))
        seen, held = np.einsum("lb,kb->kl", weights, self.held[step])
        return np.where(seen > _NOTHING, held / np.maximum(seen, _NOTHING), 1.0)

    def _factors(self, values: Sequence[float]) -> Floats:
        """The factor of each kind of gap in the mean of z1^K1 · z2^K2 …"""
        bases = [1 + (z - 1) / (1 - loss) for z, loss in zip(values, self.loss, strict=True)]
        return np.array([math.prod(b**m for b, m in zip(bases, key, strict=True)) for key in self.counts])

    @cached_property
    def _enough(self) -> dict[tuple[tuple[bool, ...], tuple[float, ...]], float]:
        """How many gaps to take means over, by what is wanted and the losses."""
        return {}

    @cached_property
    def totals(self) -> Floats:
        """The number of gaps in each bin."""
        return np.asarray(sum(self.counts.values(), np.zeros(BINS)), np.float64)

    # ── the form in model files ──

    def to_json(self) -> dict[str, object]:
        held = {
            step: [[int(b), *map(float, seen[:, b])] for b in np.flatnonzero(seen[0])]
            for step, seen in self.held.items()
        }
        document: dict[str, object] = {"hidden": [*self.hidden], "loss": [*self.loss], "counts": [*self._cells()]}
        places = {step: seen.to_json() for step, seen in self.places.items() if len(seen.cells)}
        return document | ({"held": held} if held else {}) | ({"places": places} if places else {})

    def _cells(self) -> Iterator[list[object]]:
        for key, bins in sorted(self.counts.items()):
            if len(places := np.flatnonzero(bins)):  # how events were divided may leave kinds without gaps
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
            held = {str(step): _held_from_json(cells) for step, cells in document.get("held", {}).items()}
            places = {str(step): _places_from_json(cells) for step, cells in document.get("places", {}).items()}
            fits = len(hidden) == len(loss) and all(len(key) == len(hidden) for key in counts)
            possible = all(0 <= p <= MOST_LOSS for p in loss) and all(0 <= m <= MOST_EVENTS for k in counts for m in k)
            if not fits or not possible or not {*held, *places} <= set(hidden):
                raise ValueError("its steps, losses and counts do not fit each other")
        except (AssertionError, AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise InputError("bad-model", f"the gap '{name}' of the model cannot be read: {error}") from None
        return cls(hidden, loss, counts, held, places)


def _held_from_json(cells: Sequence[Sequence[float]]) -> Floats:
    seen = np.zeros((2, BINS))
    for place, number, held in cells:
        if not (0 <= place < BINS and 0 <= held <= number <= _MOST_GAPS):
            raise ValueError(f"{held} of {number} events have met their conditions")
        seen[:, int(place)] = number, held
    return seen


def _places_from_json(cells: Sequence[Sequence[float]]) -> SeenPlaces:
    bins, places, weights = np.array(cells, np.float64).reshape(-1, 3).T
    if not (
        _whole_below(bins, BINS) and _whole_below(places, PLACES) and ((weights >= 0) & (weights <= _MOST_GAPS)).all()
    ):
        raise ValueError("events were seen outside of gaps")
    return SeenPlaces.of(bins.astype(np.int64), places.astype(np.int64), weights)


def _whole_below(numbers: Floats, stop: int) -> bool:
    return bool(((numbers >= 0) & (numbers < stop) & (numbers == np.floor(numbers))).all())


def _sum(first: Mapping[Key, Floats], second: Mapping[Key, Floats]) -> dict[Key, Floats]:
    total = dict(first)
    for key, bins in second.items():
        total[key] = total[key] + bins if key in total else bins
    return total


def _thinned(counts: Counts, place: int, kept: float) -> Counts:
    """The expected counts where each event of the step at a place is kept with this probability."""
    found: dict[tuple[int, ...], Floats] = {}
    for key, bins in counts.items():
        seen = key[place]
        for left in range(seen + 1):
            share = math.comb(seen, left) * kept**left * (1 - kept) ** (seen - left)
            thinner = (*key[:place], left, *key[place + 1 :])
            found[thinner] = found.get(thinner, 0.0) + share * bins
    return found
