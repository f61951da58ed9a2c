"""A prediction beside a measurement, and the scenario that predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foretell.api.capacity import capacity
from foretell.arrays import Floats
from foretell.bench.result import BenchResult
from foretell.capacity.findings import rate_text, time_text
from foretell.capacity.report import CapacityPoint

BENCH = "capacity"

#: Predictions this close to the measurement are called right.
WITHIN = 0.2


@dataclass(frozen=True)
class PredictionRow(BenchResult):
    """`predicted` and `measured` are seconds, or of saturation events a second; `error` is how far the prediction is
    off, as a share of the measurement."""

    quantity: str = "mean"
    predicted: float | None = None
    measured: float | None = None
    error: float | None = None

    def line(self) -> str:
        if self.predicted is None or self.measured is None or self.error is None:
            return super().line()
        shown = [
            f"{rate_text(value)}/s" if self.quantity == "saturation" else time_text(value)
            for value in (self.predicted, self.measured)
        ]
        verdict = "" if abs(self.error) <= WITHIN else f"   beyond {WITHIN:.0%}"
        named = f"{self.case}, {self.quantity}"
        return (
            f"{self.bench:10} {named:58} predicted {shown[0]:>9}   measured {shown[1]:>9}   {self.error:+.0%}{verdict}"
        )


def compared(
    case: str, quantity: str, predicted: float | None, measured: float, events: int, seconds: float
) -> PredictionRow:
    """A row of the comparison; without a prediction where the model has no steady state."""
    return PredictionRow(
        bench=BENCH,
        case=case,
        events=events,
        seconds=seconds,
        rate=events / seconds,
        note=None if predicted else f"{quantity}: measured {measured:.4g}, predicted: no steady state",
        quantity=quantity,
        predicted=predicted,
        measured=measured,
        error=predicted / measured - 1 if predicted else None,
    )


def predicted_point(scenario: Mapping[str, Any]) -> CapacityPoint:
    """The only point of a scenario, predicted to 2%."""
    (point,) = capacity({**scenario, "run": {"precision": 0.02, "seconds": 30}}).points
    return point


def latency_rows(
    case: str, point: CapacityPoint, latencies: Floats, events: int, seconds: float
) -> Sequence[PredictionRow]:
    """The mean and the quantiles, predicted and measured; of what was measured the first tenth does not count."""
    counted = latencies[len(latencies) // 10 :]
    if not len(counted):
        return []
    mean = point.latency.mean if point.latency else None
    quantiles = point.measures.quantiles if point.latency else {}
    rows = [compared(case, "mean", mean, float(counted.mean()), events, seconds)]
    for share in (0.5, 0.95):
        measured = float(np.quantile(counted, share))
        rows.append(compared(case, f"{share:.0%}", quantiles.get(share), measured, events, seconds))
    return rows
