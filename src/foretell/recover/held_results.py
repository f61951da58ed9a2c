"""Results that may have to be shown once more: estimates that were reported and may be withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.events.notification import WITHDRAWN
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.input.event_order import deepened
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.run_checks import all_held
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.codec import columns_state, restore_columns, restore_order
from foretell.machine.matches.event_chains import Gaps
from foretell.machine.matches.results import EstimateColumns, ResultBatch
from foretell.records import record
from foretell.recover.candidates import VariantMatches
from foretell.recover.match_exclusions import Name
from foretell.storage.recorded_values import array, ascending, indices, require, times, whole


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

    def _parts(self) -> Iterable[_Part]:
        return {id(part): part for part, _ in self.places.values()}.values()

    def add(self, names: Sequence[Name], results: ResultBatch) -> None:
        part = _Part(_without_buffer(results))
        self.places |= {name: (part, row) for row, name in enumerate(names)}

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
        results = part.results.filter(only)
        assert results.estimates is not None
        return {
            "variant": name[0],
            "positions": np.frombuffer(name[1], np.int64),
            "lane": results.lane,
            "end": results.end,
            "order": results.order,
            "probability": results.estimates.probability,
            "returned": columns_state(results.bindings),
        }

    def restore(self, state: Sequence[Mapping[str, Any]], bounds: StateBounds, like: ResultBatch) -> list[Name]:
        names = []
        for recorded in state:
            number = whole(recorded["variant"], "the estimates", stop=len(self._variants))
            positions, results = _restored(recorded, self._variants[number], bounds, like)
            name = number, positions.tobytes()
            require(name not in self.places, "the estimates")
            self.add([name], results)
            names.append(name)
        return names


def _without_buffer(results: ResultBatch) -> ResultBatch:
    """The results without registers and without a buffer, which grows old, and without what was told of them."""
    matches = results.matches
    assert matches is not None
    count = len(results)
    raw = replace(matches.raw, slots=np.zeros((count, 0), np.int64), nulls=np.zeros((count, 0), np.uint8))
    bare = replace(matches, raw=raw, buffer=EventBuffer(), gathered=(matches.bound, Gaps.none()))
    estimates = None if results.estimates is None else replace(results.estimates, details=None)
    return replace(results, matches=bare, places=results.order, estimates=estimates)


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


def _restored(
    recorded: Mapping[str, Any], variant: VariantMatches, bounds: StateBounds, like: ResultBatch
) -> tuple[Ints, ResultBatch]:
    """The positions of an estimate of a snapshot, and the estimate."""
    width, schema = len(variant.steps), variant.schema
    positions = indices(recorded["positions"], bounds.positions, "the estimates", (width,))
    ascending(positions, "the estimates")
    require(all_held(positions, bounds.held), "the events of estimates")
    lane = indices(recorded["lane"], bounds.lanes, "the estimates", (1,))
    matches = like.matches
    assert matches is not None
    nothing = np.zeros(1, np.int64)
    last = np.full(1, positions[-1])
    no_slots, no_nulls = np.zeros((1, 0), np.int64), np.zeros((1, 0), np.uint8)
    raw = RawMatches(
        state=nothing,
        lane=lane,
        position=last,
        first=positions[:1],
        chain=nothing - 1,
        rows=nothing,
        slots=no_slots,
        nulls=no_nulls,
        nodes=NO_NODES,
    )
    bound = BoundEvents(lane, np.array([0, width]), positions, variant.steps)
    own = replace(matches, plan=variant.plan_of(matches), raw=raw, gathered=(bound, Gaps.none()))
    returned = restore_columns(recorded["returned"], schema.returns, 1, bounds.texts)
    require(set(returned) == set(schema.returns), "the returned values of estimates")
    end = recorded["end"]
    require(isinstance(end, np.ndarray), "the ends of estimates")
    likely = array(recorded["probability"], np.float64, (1,), "the probabilities of estimates")
    return positions, replace(
        like,
        schema=schema,
        matches=own,
        lane=lane,
        start=own.start,
        end=times(end, np.float64 if end.dtype.kind == "f" else np.int64, (1,), "the ends of estimates"),
        places=restore_order(recorded["order"], 1, bounds.places),
        bindings=returned,
        estimates=EstimateColumns(likely, "estimate", variant.hidden),
    )
