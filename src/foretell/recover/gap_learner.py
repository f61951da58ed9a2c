"""Learning what gaps hide while a statement runs: the counts of its model, aged, with the gaps of the stream.

The counts take effect at fixed places in the order of events: an estimate is scored with the gaps that ended in earlier
stretches of `stride` events. So neither batches nor snapshots change a row (decision 0017).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Flags, Ints
from foretell.events.delays.delay_model import DelayModel, GapEnds
from foretell.events.delays.gap_counts import BINS, MOST_EVENTS, MOST_LOSS, GapCounts, bin_of
from foretell.events.delays.seen_places import PLACES, SeenPlaces
from foretell.language.checked import CheckedSubscription
from foretell.machine.matches.results import ResultBatch
from foretell.records import record
from foretell.recover.gap_counter import possible_gaps
from foretell.recover.gap_drift import GapDrift
from foretell.recover.gap_patterns import gap_patterns
from foretell.recover.gap_tally import GapTally, by_statement, unit_of
from foretell.storage.recorded_values import FAR, array, require, require_range, whole

#: The most events of a stretch, and the least stretches in a half-life.
_STRETCH, _STRETCHES = 1_000, 50


#: The steps that may be hidden in a gap, by its ends.
GapSteps = Mapping[GapEnds, tuple[str, ...]]


def learnable(subscription: CheckedSubscription, model: DelayModel) -> GapSteps:
    """The gaps whose counts a run goes on learning. Without WITHIN every two events would be a gap."""
    if model.learning is None or subscription.within is None:
        return {}
    steps = {ends: tuple(hidden) for ends, hidden in possible_gaps(subscription)}
    return {
        ends: counts.hidden
        for ends, counts in model.gaps.items()
        if steps.get(ends) == counts.hidden and all(subscription.loss[h] <= MOST_LOSS for h in counts.hidden)
    }


@record
class ModelVersions:
    """The models that the results of a batch are scored with, by the stretch of events in which they come. Without a
    `stride` there is one for all."""

    stride: int
    by_stretch: Mapping[int, DelayModel]

    def of(self, places: Ints) -> Iterator[tuple[DelayModel, Flags]]:
        """The model of some results, by their places in the order of events, and which these are."""
        stretches = _stretches(places, self.stride)
        for number in np.unique(stretches).tolist():
            yield self.by_stretch[number], stretches == number


class GapLearner:
    """`steps` are the gaps that it counts."""

    def __init__(self, subscription: CheckedSubscription, model: DelayModel, steps: GapSteps) -> None:
        self.model, self.learning = model, model.learning
        half_life = self.learning.half_life if self.learning is not None else np.inf
        self.stride = max(1, min(_STRETCH, int(min(half_life / _STRETCHES, _STRETCH))))
        self._fading = 2.0 ** (-self.stride / half_life)
        self.gaps = {ends: _LearnedGap(subscription, ends, hidden, model) for ends, hidden in steps.items()}

    @property
    def statements(self) -> tuple[CheckedSubscription, ...]:
        return tuple(statement for gap in self.gaps.values() for statement in gap.tally.patterns.statements)

    @property
    def nbytes(self) -> int:
        return sum(gap.tally.nbytes for gap in self.gaps.values())

    def add(self, results: Iterable[ResultBatch]) -> None:
        """Count the gaps that have ended in a batch."""
        found = by_statement(results)
        for gap in self.gaps.values():
            for stretch, counts in gap.tally.gaps(found, self.stride):
                known = gap.waiting.get(stretch)
                gap.waiting[stretch] = counts if known is None else known.merged(counts)

    def versions(self, results: Iterable[ResultBatch]) -> ModelVersions:
        """The models that some results of the latest batch are scored with."""
        places = [_stretches(result.order[:, 0], self.stride) for result in results]
        numbers = np.unique(np.concatenate(places)).tolist() if places else []
        return ModelVersions(self.stride, {number: self._before(number) for number in numbers})

    def _before(self, stretch: int) -> DelayModel:
        """The model with all gaps that have ended before a stretch."""
        changed = [gap.take_up(stretch, self._fading) for gap in self.gaps.values()]
        if any(changed):
            self._renew({ends: gap.counts for ends, gap in self.gaps.items()})
        return self.model

    def _renew(self, counts: Mapping[GapEnds, GapCounts]) -> None:
        """Estimate from other counts. What the model says by delays alone stays so."""
        self.model = self._with(counts)

    def _with(self, counts: Mapping[GapEnds, GapCounts]) -> DelayModel:
        known = self.model.gaps
        fitting = {ends: new for ends, new in counts.items() if ends in known and new.hidden == known[ends].hidden}
        return replace(self.model, gaps={**known, **fitting})

    def learned(self) -> Mapping[GapEnds, GapCounts]:
        """The counts of the model with all gaps that have ended."""
        return self._with({ends: gap.latest(self._fading) for ends, gap in self.gaps.items()}).gaps

    def take_notes(self) -> list[str]:
        return [note for gap in self.gaps.values() for note in gap.drift.take_notes()]

    # ── snapshots ──

    def state(self) -> list[Mapping[str, Any]]:
        return [{"ends": [*ends], "hidden": [*gap.counts.hidden], **gap.state()} for ends, gap in self.gaps.items()]

    def restore(self, state: Sequence[Mapping[str, Any]], positions: int) -> None:
        """Continue from a snapshot; where a model was given for it, with the counts of that."""
        require(len(state) == len(self.gaps), "the gaps")
        for gap, recorded in zip(self.gaps.values(), state, strict=True):
            gap.restore(recorded, positions, afresh=self.learning is not None and self.learning.afresh)
        self._renew({ends: gap.counts for ends, gap in self.gaps.items()})


def recorded_steps(state: Sequence[Mapping[str, Any]]) -> GapSteps:
    """The gaps that a snapshot counts."""
    return {(recorded["ends"][0], recorded["ends"][1]): tuple(recorded["hidden"]) for recorded in state}


class _LearnedGap:
    """`counts` have the gaps of all stretches up to `stretch`, as they weigh then; `waiting` has those after it."""

    def __init__(
        self, subscription: CheckedSubscription, ends: GapEnds, hidden: tuple[str, ...], model: DelayModel
    ) -> None:
        loss = tuple(subscription.loss[step] for step in hidden)
        self.tally = GapTally(gap_patterns(subscription, ends, hidden), loss)
        trained = model.gaps.get(ends)
        if trained is None or trained.hidden != hidden:  # of a snapshot that is restored with another model
            trained = GapCounts(hidden, loss)
        self.counts = trained.thinned(tuple(map(max, trained.loss, loss)))
        edge = int(bin_of(np.array([(subscription.within or 0) / unit_of(subscription)]))[0])
        self.drift = GapDrift(subscription.name, ends, self.counts, edge)
        self.stretch = 0
        self.waiting: dict[int, GapCounts] = {}

    def take_up(self, before: int, fading: float) -> bool:
        """Add the gaps that wait and have ended before a stretch."""
        numbers = sorted(number for number in self.waiting if number < before)
        for number in numbers:
            counts = self.waiting.pop(number)
            self.drift.add(counts.thinned(self.counts.loss))
            self.counts = self._with(counts, number, fading)
            self.stretch = number
        return bool(numbers)

    def _with(self, counts: GapCounts, number: int, fading: float) -> GapCounts:
        return self.counts.aged(fading ** (number - self.stretch)).merged(counts)

    def latest(self, fading: float) -> GapCounts:
        total, since = self.counts, self.stretch
        for number in sorted(self.waiting):
            total, since = total.aged(fading ** (number - since)).merged(self.waiting[number]), number
        return total

    # ── snapshots ──

    def state(self) -> Mapping[str, Any]:
        return {
            "tally": self.tally.state(),
            "counts": _recorded(self.counts),
            "stretch": self.stretch,
            "waiting": [[number, _recorded(counts)] for number, counts in self.waiting.items()],
            "drift": self.drift.state(),
        }

    def restore(self, state: Mapping[str, Any], positions: int, *, afresh: bool) -> None:
        self.tally.restore(state["tally"], positions)
        self.stretch = whole(state["stretch"], "the gaps")
        waiting = {whole(number, "the gaps"): self._restored(counts) for number, counts in state["waiting"]}
        if not afresh:
            self.waiting, self.counts = waiting, self._restored(state["counts"])
            self.drift.restore(state["drift"])

    def _restored(self, recorded: Mapping[str, Any]) -> GapCounts:
        width = len(self.counts.hidden)
        keys = array(recorded["keys"], np.int64, (None, width), "the gaps")
        require(not keys.size or (keys.min() >= 0 and keys.max() <= MOST_EVENTS), "the gaps")
        bins = array(recorded["bins"], np.float64, (len(keys), BINS), "the gaps")
        require(bool(((bins >= 0) & (bins < FAR)).all()), "the gaps")
        loss = array(recorded["loss"], np.float64, (width,), "the gaps")
        require(bool(((loss >= 0) & (loss <= MOST_LOSS)).all()), "the gaps")
        counts = {tuple(key): row for key, row in zip(keys.tolist(), bins, strict=True)}
        held = {step: array(recorded["held"][step], np.float64, (2, BINS), "the gaps") for step in recorded["held"]}
        require(all(step in self.counts.hidden for step in held), "the gaps")
        require(all(bool(((seen >= 0) & (seen < FAR)).all()) for seen in held.values()), "the gaps")
        places = {step: _restored_places(cells) for step, cells in recorded.get("places", {}).items()}
        require(all(step in self.counts.hidden for step in places), "the gaps")
        return GapCounts(self.counts.hidden, tuple(loss.tolist()), counts, held, places)


def _recorded(counts: GapCounts) -> Mapping[str, Any]:
    width = len(counts.hidden)
    return {
        "keys": np.array(list(counts.counts), np.int64).reshape(-1, width),
        "bins": np.array(list(counts.counts.values()), np.float64).reshape(-1, BINS),
        "loss": np.array(counts.loss, np.float64),
        "held": dict(counts.held),
        "places": {step: {"cells": seen.cells, "weights": seen.weights} for step, seen in counts.places.items()},
    }


def _restored_places(recorded: Mapping[str, Any]) -> SeenPlaces:
    cells = array(recorded["cells"], np.int64, (None,), "the gaps")
    require_range(cells, BINS * PLACES, "the gaps")
    weights = array(recorded["weights"], np.float64, (len(cells),), "the gaps")
    require(bool((np.diff(cells) > 0).all() and ((weights >= 0) & (weights < FAR)).all()), "the gaps")
    return SeenPlaces(cells, weights)


def _stretches(places: Ints, stride: int) -> Ints:
    """The stretch of each result: what time completes between two events belongs to the later one's."""
    return np.asarray((places + 1) // 2 // stride, np.int64)
