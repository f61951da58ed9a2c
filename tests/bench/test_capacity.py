"""The comparison of predictions with pipelines: its parts, on runs of a moment."""

from __future__ import annotations

import time

import numpy as np
import pytest

from foretell.bench.capacity.comparison import compared, latency_rows, predicted_point
from foretell.bench.capacity.event_source import random_events
from foretell.bench.capacity.in_process import engine_times, live_run, processor_run


def test_random_events_are_poisson_arrivals() -> None:
    waits = np.diff(random_events(1_000.0, 50_000, seed=1)["due"]) / 1e6
    assert waits.mean() == pytest.approx(1e-3, rel=0.03)
    assert waits.std() == pytest.approx(1e-3, rel=0.03)


@pytest.mark.parametrize("single", [True, False])
def test_both_clocks_measure_every_notification(single: bool) -> None:
    for run in (processor_run, live_run):
        found = run(500.0, 200, single)
        assert len(found.latencies) == 200  # every event completes a match
        assert (found.latencies > 0).all()
        assert found.seconds > 0.2


def test_rows_of_a_comparison() -> None:
    point = predicted_point({"provider": {"rate": 20}, "filter": {"rate": 50}})
    rows = latency_rows("a", point, np.full(100, 1 / 30), 100, 2.0)
    assert [row.quantity for row in rows] == ["mean", "50%", "95%"]
    assert rows[0].error == pytest.approx(0, abs=0.06)
    assert "beyond" not in rows[0].line()
    assert "beyond 20%" in rows[2].line()
    assert "no steady state" in compared("a", "mean", None, 0.5, 10, 1.0).line()


def test_times_of_the_engine_are_positive() -> None:
    times = engine_times(time.thread_time)
    assert times.single > 0
    assert times.each > 0
