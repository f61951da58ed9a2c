"""Reports of departures of which some never arrive: which ones is known, so that estimates can be compared with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from foretell.events.arrow_interop import arrow_of

#: The share of reports that are lost, as LOSING in the statements has it.
LOSS = 0.1

_SEED = 2013


@dataclass(frozen=True)
class LossyReports:
    """`received` are the reports that arrive, in order; `lost` those that do not."""

    received: pa.Table
    lost: pa.Table


def departed(departures: pa.Table) -> pa.Table:
    """The departures that were not cancelled."""
    return departures.filter(departures["delay"].is_valid())


def lossy_reports(departures: pa.Table, loss: float = LOSS, seed: int = _SEED) -> LossyReports:
    """The departures that took place, each of them lost with the same probability, whatever it is.

    >>> departures = pa.table({"id": range(1_000), "delay": [None, *range(999)]})
    >>> reports = lossy_reports(departures)
    >>> len(reports.received) + len(reports.lost), len(reports.lost)
    (999, 93)
    """
    took_place = departed(departures)
    is_lost = np.random.default_rng(seed).random(len(took_place)) < loss
    return LossyReports(took_place.filter(arrow_of(~is_lost)), took_place.filter(arrow_of(is_lost)))
