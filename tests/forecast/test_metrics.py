"""Every figure by its definition, slowly, and by hand where a hand can."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.errors import InputError
from foretell.forecast.evaluation.metrics import auc, brier_score, confusion_counts, interval_metrics, reliability_curve
from foretell.forecast.evaluation.notification_metrics import notification_metrics
from foretell.learn.horizon import Horizon
from foretell.learn.outcomes import times_to_match

THRESHOLDS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
# Few distinct values, so that there are ties, some of them on a threshold.
POINTS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.9, 1.0]), st.booleans()), max_size=40)


def columns(points: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p for p, _ in points], float), np.array([y for _, y in points], bool)


@given(POINTS)
def test_predictions_by_counting(points: list[tuple[float, bool]]) -> None:
    found = confusion_counts(*columns(points), THRESHOLDS)
    for k, threshold in enumerate(THRESHOLDS):
        assert found.true_positives[k] == sum(y and p >= threshold for p, y in points)
        assert found.false_positives[k] == sum(not y and p >= threshold for p, y in points)
        assert found.false_negatives[k] == sum(y and p < threshold for p, y in points)
        assert found.true_negatives[k] == sum(not y and p < threshold for p, y in points)
        predicted = [y for p, y in points if p >= threshold]
        assert found.precision[k] == pytest.approx(np.mean(predicted) if predicted else np.nan, nan_ok=True)
        forecasts = [p >= threshold for p, y in points if y]
        assert found.recall[k] == pytest.approx(np.mean(forecasts) if forecasts else np.nan, nan_ok=True)


@given(POINTS)
def test_auc_by_all_pairs(points: list[tuple[float, bool]]) -> None:
    pairs = [(p, q) for (p, y), (q, z) in itertools.product(points, points) if y and not z]
    expected = np.mean([(p > q) + (p == q) / 2 for p, q in pairs]) if pairs else np.nan
    assert auc(*columns(points)) == pytest.approx(expected, nan_ok=True)


def test_auc_by_hand() -> None:
    assert auc(np.array([0.9, 0.8, 0.3]), np.array([True, True, False])) == 1
    assert auc(np.array([0.9, 0.8, 0.3]), np.array([False, False, True])) == 0
    assert auc(np.full(5, 0.5), np.array([True, False, False, True, False])) == 0.5
    assert np.isnan(auc(np.array([0.5]), np.array([True])))


@given(POINTS)
def test_reliability_groups_equal_forecasts(points: list[tuple[float, bool]]) -> None:
    """With a bin for each distinct forecast the error is that of the distinct forecasts."""
    probability, happened = columns(points)
    curve = reliability_curve(probability, happened, bins=10_000)
    distinct = sorted(set(probability))
    assert curve.forecast == pytest.approx(np.array(distinct))
    assert curve.observed == pytest.approx(np.array([happened[probability == p].mean() for p in distinct]))
    expected = sum((probability == p).mean() * abs(p - happened[probability == p].mean()) for p in distinct)
    assert curve.error == pytest.approx(expected if points else np.nan, nan_ok=True)


def test_bins_hold_equally_many() -> None:
    probability = np.linspace(0, 1, 1000) ** 4
    curve = reliability_curve(probability, probability > 0.5, bins=20)
    assert curve.count.tolist() == [50] * 20
    assert (np.diff(curve.forecast) > 0).all()


def test_calibration_by_hand() -> None:
    """Said 0.2 five times, came once: right. Said 0.8 five times, came twice: 0.4 too much, half of the time."""
    probability = np.array([0.2] * 5 + [0.8] * 5)
    happened = np.array([1, 0, 0, 0, 0, 1, 1, 0, 0, 0], bool)
    assert reliability_curve(probability, happened).error == pytest.approx(0.2)
    found = brier_score(probability, happened)
    # (0.64 + 4 · 0.04 + 2 · 0.04 + 3 · 0.64) / 10
    assert found.score == pytest.approx(0.28)
    assert found.reliability == pytest.approx(0.16 / 2)
    assert found.resolution == pytest.approx(0.1**2)
    assert found.uncertainty == pytest.approx(0.3 * 0.7)
    assert found.within == pytest.approx(0)
    assert found.skill == pytest.approx(1 - 0.28 / 0.21)


@given(POINTS)
def test_brier_parts_make_the_score(points: list[tuple[float, bool]]) -> None:
    probability, happened = columns(points)
    found = brier_score(probability, happened, reliability_curve(probability, happened, bins=10_000))
    if points:
        assert found.score == pytest.approx(np.mean((probability - happened) ** 2))
        assert found.within == pytest.approx(0, abs=1e-12)


def test_what_is_calibrated_has_a_small_error() -> None:
    random = np.random.default_rng(1)
    probability = random.beta(0.3, 2, 100_000)
    happened = random.random(100_000) < probability
    assert reliability_curve(probability, happened).error < 0.005
    assert reliability_curve(probability / 2, happened).error > 0.05
    assert brier_score(probability, happened).skill > 0


def test_nothing_is_no_error() -> None:
    nothing = np.zeros(0), np.zeros(0, bool)
    assert np.isnan(auc(*nothing))
    assert np.isnan(brier_score(*nothing).score)
    assert np.isnan(reliability_curve(*nothing).error)
    assert np.isnan(confusion_counts(*nothing, THRESHOLDS).precision).all()


# ── what came of them ──

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.sampled_from([0.0, 0.5, 2.0]), st.booleans(), st.floats(0, 1)),
    min_size=1,
    max_size=40,
)


class Traced:
    """Rows with gaps in numbers and in time, of several processes that come in turn."""

    def __init__(self, rows: list[tuple[int, int, float, bool, float]]) -> None:
        numbers: dict[int, int] = {}
        clock = 0.0
        self.process, self.ordinal, self.time = ([] for _ in range(3))
        for process, step, later, _, _ in rows:
            numbers[process] = numbers.get(process, -1) + step
            clock += later
            self.process.append(process)
            self.ordinal.append(numbers[process])
            self.time.append(clock)
        self.matched = [row[3] for row in rows]
        self.probability = np.array([row[4] for row in rows])
        self.lasts = np.array([numbers.get(process, -1) for process in range(4)])
        self.arrays = np.array(self.process), np.array(self.ordinal), np.array(self.time), np.array(self.matched)

    def following(self, i: int) -> list[int]:
        """The rows of the same process after a row."""
        return [j for j in range(i + 1, len(self.process)) if self.process[j] == self.process[i]]


@given(ROWS, st.integers(1, 4), st.sampled_from([0.25, 1.0, 2.0]))
def test_outcomes_by_looking(rows: list[tuple[int, int, float, bool, float]], events: int, span: float) -> None:
    traced = Traced(rows)
    found = times_to_match(*traced.arrays)
    assert all(
        np.array_equal(getattr(found, name), getattr(times_to_match(*traced.arrays, last_ordinal=traced.lasts), name))
        for name in ("events", "time", "events_left", "time_left")
    )
    near, soon = Horizon(events=events), Horizon(time=span)
    for i in range(len(rows)):
        after = [j for j in traced.following(i) if traced.matched[j]]
        assert found.happened(near)[i] == any(traced.ordinal[j] - traced.ordinal[i] <= events for j in after)
        assert found.happened(soon)[i] == any(traced.time[j] - traced.time[i] <= span for j in after)
        assert found.known(near)[i] == (traced.ordinal[i] + events <= traced.lasts[traced.process[i]])
        assert found.known(soon)[i] == (traced.time[i] + span <= traced.time[-1])


def test_a_lane_goes_on_after_the_last_row_of_a_binding() -> None:
    rows = np.zeros(2, int), np.array([3, 5]), np.array([3.0, 5.0]), np.array([False, False])
    assert times_to_match(*rows).known(Horizon(events=2)).tolist() == [True, False]
    assert times_to_match(*rows, last_ordinal=np.array([7])).known(Horizon(events=2)).tolist() == [True, True]
    assert times_to_match(*rows, last_time=5.5).known(Horizon(time=2.0)).tolist() == [True, False]


@given(ROWS, st.integers(1, 4))
def test_alarms_by_looking(rows: list[tuple[int, int, float, bool, float]], events: int) -> None:
    traced = Traced(rows)
    horizon = Horizon(events=events)
    found_waits = times_to_match(*traced.arrays)
    process, _, _, matched = traced.arrays
    found = notification_metrics(process, traced.probability, matched, found_waits, horizon, THRESHOLDS)
    happened, known = found_waits.happened(horizon), found_waits.known(horizon)
    for k, threshold in enumerate(THRESHOLDS):
        rises = []
        for i in range(len(rows)):
            before = [j for j in range(i) if process[j] == process[i]]
            above = [traced.probability[j] >= threshold for j in (*before[-1:], i)]
            if above[-1] and not any(above[:-1]):
                rises.append(i)
        assert found.made[k] == len(rises)
        assert found.true[k] == sum(happened[i] and known[i] for i in rises)
        assert found.false[k] == sum(not happened[i] and known[i] for i in rises)
        foreseen = [
            m
            for m in range(len(rows))
            if matched[m]
            and any(m in traced.following(i) and traced.ordinal[m] - traced.ordinal[i] <= events for i in rises)
        ]
        assert (found.foreseen[k], found.matches) == (len(foreseen), sum(matched))


def test_one_notification_until_it_falls() -> None:
    process, matched = np.zeros(6, int), np.array([False, False, True, False, False, True])
    found_waits = times_to_match(process, np.arange(6), np.arange(6.0), matched)
    forecasts = np.array([0.6, 0.7, 0.6, 0.1, 0.6, np.nan])
    found = notification_metrics(process, forecasts, matched, found_waits, Horizon(events=2), np.array([0.5]))
    assert (found.made[0], found.true[0], found.false[0]) == (2, 1, 0)  # the second is censored
    assert (found.foreseen[0], found.matches, found.lead[0]) == (2, 2, 1.5)
    assert found.precision[0] == found.recall[0] == 1


def test_intervals_by_hand() -> None:
    start, end = np.array([0.0, 2.0, 1.0, np.nan]), np.array([2.0, 4.0, 50.0, np.nan])
    found = interval_metrics(start, end, np.array([1.0, 5.0, 3.0, 2.0]), np.array([10.0, 9.0, 8.0, 7.0]))
    assert (found.made, found.censored) == (2, 1)
    assert (found.precision, found.spread, found.distance) == (0.5, 2.0, 1.0)


@pytest.mark.parametrize("wrong", [{}, {"events": 1, "time": 2.0}, {"events": 0}, {"time": -1.0}])
def test_wrong_horizons(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="a horizon"):
        Horizon(**wrong)
