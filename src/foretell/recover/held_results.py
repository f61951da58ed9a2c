"""Results that may have to be shown once more: estimates that were reported and may be withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretell.events.notification import WITHDRAWN
from foretell.machine.input.event_order import deepened
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import EstimateColumns, ResultBatch
from foretell.records import record
from foretell.recover.candidates import VariantMatches
from foretell.recover.estimate_codec import estimates_state, restored_estimates, without_buffer
from foretell.recover.match_exclusions import Name
from foretell.storage.recorded_values import indices, require, whole


@record
class WithdrawnEstimate:
    """An estimate that is withdrawn, and the row of results that ends it."""

    name: Name
    end: int | float
    by: ResultBatch
    row: int


@dataclass
class _Part:
    """Estimates of a batch that were reported together; their events are in the buffer of the stream."""

    results: ResultBatch


class HeldResults:
    """Estimates by their names: where each is in its part."""

    def __init__(self, variants: Sequence[VariantMatches]) -> None:
        self._variants = variants
        self.places: dict[Name, tuple[_Part, int]] = {}

    @property
    def nbytes(self) -> int:
        return sum(result.nbytes for result in self.results) + 200 * len(self.places)

    @property
    def results(self) -> Iterable[ResultBatch]:
        return [part.results for part in self._parts()]

    @property
    def by_variant(self) -> Iterable[tuple[int, ResultBatch]]:
        """The parts that results are in, with the numbers of their variants."""
        variants = {id(part): variant for (variant, _), (part, _) in self.places.items()}
        return [(variants[id(part)], part.results) for part in self._parts()]

    def _parts(self) -> Iterable[_Part]:
        return {id(part): part for part, _ in self.places.values()}.values()

    def add(self, names: Sequence[Name], results: ResultBatch) -> None:
        part = _Part(without_buffer(results))
        self.places |= {name: (part, row) for row, name in enumerate(names)}

    def discard(self, name: Name) -> None:
        del self.places[name]

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch]) -> None:
        for part in self._parts():
            part.results = renewed(part.results)

    def keep(self, names: Collection[Name]) -> None:
        """Drop all others, and from their parts too."""
        kept = {name: place for name, place in self.places.items() if name in names}
        by_part: dict[int, list[Name]] = {}
        for name, (part, _) in kept.items():
            by_part.setdefault(id(part), []).append(name)
        self.places = {}
        for own in by_part.values():
            own.sort(key=lambda name: kept[name][1])
            part = kept[own[0]][0]
            left = np.zeros(len(part.results), np.bool_)
            left[[kept[name][1] for name in own]] = True
            part.results = part.results.filter(left)
            self.places |= {name: (part, row) for row, name in enumerate(own)}

    def withdraw(self, withdrawals: Sequence[WithdrawnEstimate]) -> list[ResultBatch]:
        """The rows that withdraw estimates, which are held no longer."""
        by_part: dict[int, list[tuple[_Part, int, WithdrawnEstimate]]] = {}
        for withdrawal in withdrawals:
            part, row = self.places.pop(withdrawal.name)
            by_part.setdefault(id(part), []).append((part, row, withdrawal))
        return [_withdrawn(rows) for rows in by_part.values()]

    # ── snapshots ──

    def state(self, names: Sequence[Name]) -> list[Mapping[str, Any]]:
        """The results of estimates in this order."""
        return [self._state_of(name) for name in names]

    def _state_of(self, name: Name) -> Mapping[str, Any]:
        part, row = self.places[name]
        only = np.arange(len(part.results)) == row
        state = estimates_state(part.results.filter(only))
        return {"variant": name[0], **state, "positions": state["positions"][0]}

    def restore(self, state: Sequence[Mapping[str, Any]], bounds: StateBounds, like: ResultBatch) -> list[Name]:
        names = []
        for recorded in state:
            number = whole(recorded["variant"], "the estimates", stop=len(self._variants))
            variant = self._variants[number]
            positions = indices(recorded["positions"], bounds.positions, "the estimates", (len(variant.steps),))
            results = restored_estimates({**recorded, "positions": positions.reshape(1, -1)}, variant, bounds, like)
            name = number, positions.tobytes()
            require(name not in self.places, "the estimates")
            self.add([name], results)
            names.append(name)
        return names


def _withdrawn(rows: list[tuple[_Part, int, WithdrawnEstimate]]) -> ResultBatch:
    """The rows that withdraw estimates of a part."""
    rows.sort(key=lambda row: row[1])
    (part, *_), *_ = rows
    withdrawals = [withdrawal for _, _, withdrawal in rows]
    gone = np.zeros(len(part.results), np.bool_)
    gone[[row for _, row, _ in rows]] = True
    results = part.results.filter(gone)
    latest, matches = withdrawals[-1].by.matches, results.matches
    assert latest is not None
    assert matches is not None
    depth = max(withdrawal.by.order.shape[1] for withdrawal in withdrawals)
    places = [deepened(w.by.order[w.row : w.row + 1], depth) for w in withdrawals]
    return replace(
        results,
        matches=replace(matches, buffer=latest.buffer),
        end=np.array([withdrawal.end for withdrawal in withdrawals]),
        places=np.concatenate(places),
        estimates=EstimateColumns(np.zeros(len(results)), WITHDRAWN),
    )
