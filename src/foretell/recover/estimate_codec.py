"""Reported estimates of one variant, to be kept: without the event buffer, which grows old, and as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.machine.exec.raw_matches import NO_NODES, RawMatches
from foretell.machine.input.event_buffer import EventBuffer
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.kernels.run_checks import all_held
from foretell.machine.matches.bound_events import BoundEvents
from foretell.machine.matches.codec import columns_state, restore_columns, restore_order
from foretell.machine.matches.event_chains import Gaps
from foretell.machine.matches.results import EstimateColumns, ResultBatch
from foretell.recover.candidates import VariantMatches
from foretell.storage.recorded_values import array, indices, require, times


def positions_of(results: ResultBatch) -> Ints:
    """The positions of the events of estimates, a row for each."""
    return results.bound_events.position.reshape(len(results), -1)


def without_buffer(results: ResultBatch) -> ResultBatch:
    """The results without registers and without a buffer, which grows old, and without what was told of them."""
    matches = results.matches
    assert matches is not None
    count = len(results)
    raw = replace(matches.raw, slots=np.zeros((count, 0), np.int64), nulls=np.zeros((count, 0), np.uint8))
    bare = replace(matches, raw=raw, buffer=EventBuffer(), gathered=(matches.bound, Gaps.none()))
    estimates = None if results.estimates is None else replace(results.estimates, details=None)
    return replace(results, matches=bare, places=results.order, estimates=estimates)


def estimates_state(results: ResultBatch) -> Mapping[str, Any]:
    assert results.estimates is not None
    return {
        "positions": positions_of(results),
        "lane": results.lane,
        "end": results.end,
        "order": results.order,
        "probability": results.estimates.probability,
        "returned": columns_state(results.bindings),
    }


def restored_estimates(
    recorded: Mapping[str, Any], variant: VariantMatches, bounds: StateBounds, like: ResultBatch
) -> ResultBatch:
    """The estimates of a snapshot; `like` is an empty result over the present events, keys and texts."""
    width, schema = len(variant.steps), variant.schema
    positions = indices(recorded["positions"], bounds.positions, "the estimates", (None, width))
    require(bool((np.diff(positions, axis=1) > 0).all()), "the estimates")
    require(all_held(positions.ravel(), bounds.held), "the events of estimates")
    count = len(positions)
    lane = indices(recorded["lane"], bounds.lanes, "the lanes of estimates", (count,))
    matches = like.matches
    assert matches is not None
    nothing = np.zeros(count, np.int64)
    raw = RawMatches(
        state=nothing,
        lane=lane,
        position=positions[:, -1].copy(),
        first=positions[:, 0].copy(),
        chain=nothing - 1,
        rows=nothing,
        slots=np.zeros((count, 0), np.int64),
        nulls=np.zeros((count, 0), np.uint8),
        nodes=NO_NODES,
    )
    starts = np.arange(count + 1) * width
    bound = BoundEvents(lane, starts, positions.reshape(-1), np.tile(variant.steps, count))
    own = replace(matches, plan=variant.plan_of(matches), raw=raw, gathered=(bound, Gaps.none()))
    returned = restore_columns(recorded["returned"], schema.returns, count, bounds.texts)
    require(set(returned) == set(schema.returns), "the returned values of estimates")
    end = recorded["end"]
    require(isinstance(end, np.ndarray), "the ends of estimates")
    likely = array(recorded["probability"], np.float64, (count,), "the probabilities of estimates")
    return replace(
        like,
        schema=schema,
        matches=own,
        lane=lane,
        start=own.start,
        end=times(end, np.float64 if end.dtype.kind == "f" else np.int64, (count,), "the ends of estimates"),
        places=restore_order(recorded["order"], count, bounds.places),
        bindings=returned,
        estimates=EstimateColumns(likely, "estimate", variant.hidden),
    )
