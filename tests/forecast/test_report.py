"""A report of forecasts that are right, and of some that are not."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from foretell.forecast.evaluation.metrics import auc, calibration_bins
from foretell.forecast.evaluation.model_warnings import DataSpan, drift, drift_warnings, staleness_warnings
from foretell.forecast.evaluation.report import Report
from foretell.forecast.evaluation.scorecard import ForecastPoints, scorecard
from foretell.learn.horizon import Horizon
from foretell.learn.outcomes import times_to_match
from tests.forecast.simulated_chain import heat, within


def test_true_probabilities_are_calibrated() -> None:
    report = Report.of(heat())
    assert report.warnings == ()
    for card in report.scorecards:
        assert card.overall.reliability.error < 0.02
        assert card.overall.brier.skill > 0
        assert card.overall.auc > 0.6
        assert card.overall.censored == 8 * card.horizon.amount
        assert [key for key, _ in card.keys] == [f'{{"city": "C{lane}"}}' for lane in range(8)]
        assert sum(figures.points for _, figures in card.keys) == card.overall.points


def test_precision_of_true_probabilities_is_what_they_say() -> None:
    (scorecard,) = heat(horizons=(1,), days=5000)
    # Only the states with two hot days or more have a forecast, of 0.6, for one day.
    place = scorecard.overall.confusion.thresholds.tolist().index(0.5)
    assert scorecard.overall.confusion.precision[place] == pytest.approx(0.6, abs=0.02)
    assert scorecard.overall.confusion.recall[place] == 1


def test_bad_calibration_is_said() -> None:
    report = Report.of(heat(horizons=(3,), distort=lambda p: p / 2))
    assert report.warnings[0].startswith("'heat' within 3 events: badly calibrated: expected calibration error 0.")
    worse = Report.of(heat(horizons=(3,), distort=lambda p: 1 - p))
    assert any("worse than always forecasting the base rate" in w for w in worse.warnings)


def test_bad_calibration_of_rare_forecasts_is_said() -> None:
    """One in a hundred forecasts says 0.2 where 0.02 come true: that hardly changes the calibration error."""
    random = np.random.default_rng(6)
    count = 100_000
    rare = random.random(count) < 0.01
    matched = random.random(count) < np.where(rare, 0.02, 0.002)
    process, ordinal = np.zeros(count, int), np.arange(count)
    times = times_to_match(process, ordinal, ordinal.astype(float), np.append(False, matched[:-1]))
    for stated, wanted in ((0.02, False), (0.2, True)):
        points = ForecastPoints(process, matched, times, np.where(rare, stated, 0.002))
        report = Report.of([scorecard("s", Horizon(events=1), points)])
        assert report.scorecards[0].overall.reliability.error < 0.01
        found = [w for w in report.warnings if "badly calibrated from 0.1 to 0.3: 0.2 forecast, 0.0" in w]
        assert bool(found) == wanted


def test_a_threshold_that_no_forecast_reaches_is_said() -> None:
    random = np.random.default_rng(7)
    count = 10_000
    matched = random.random(count) < 0.1
    process, ordinal = np.zeros(count, int), np.arange(count)
    times = times_to_match(process, ordinal, ordinal.astype(float), np.append(False, matched[:-1]))
    points = ForecastPoints(process, matched, times, np.where(random.random(count) < 0.5, 0.101, 0.1))
    card = scorecard("s", Horizon(events=1), points)
    message = "'s': forecasts reach only 0.1: write a lower ABOVE than 0.2"
    assert message in Report.of([replace(card, above=0.2)]).warnings
    assert not [w for w in Report.of([replace(card, above=0.1)]).warnings if "ABOVE" in w]
    assert not [w for w in Report.of([card]).warnings if "ABOVE" in w]


def test_too_little_is_said() -> None:
    (warning,) = Report.of(heat(days=20, lanes=1, hot=0.3, horizons=(3,))).warnings
    assert "points came true: the metrics are rough" in warning
    (warning,) = Report.of(heat(days=3, lanes=1, horizons=(5,))).warnings
    assert warning == "'heat' within 5 events: no forecasts to evaluate: 3 points censored, 0 without a forecast"


def test_silence_is_counted_not_judged() -> None:
    def unsure(chances: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(chances)) == 0, np.nan, chances)

    (scorecard,) = heat(horizons=(3,), distort=unsure)
    assert scorecard.overall.silent > 0
    assert scorecard.overall.points + scorecard.overall.censored + scorecard.overall.silent == 8 * 2000


def test_text_and_plain_values() -> None:
    report = Report.of(heat(horizons=(1, 3)), ["old"])
    text = report.text()
    for word in ("heat", "1 event", "3 events", "calibr.", "warning: old", "city=C3", "0.7"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 80
    assert len(repr(report).splitlines()) <= 10
    found = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    scorecard = found["scorecards"][1]
    assert scorecard["horizon"] == {"events": 3, "time": None, "text": "3 events"}
    assert scorecard["at"]["threshold"] == 0.7
    assert 0.5 < scorecard["auc"] < 1
    assert len(scorecard["confusion"]["precision"]) == len(scorecard["confusion"]["thresholds"]) == 24
    assert found["warnings"] == ["old", "'heat': forecasts reach only 0.6: write a lower ABOVE than 0.7"]


def test_tables_fit_whatever_the_names_and_durations() -> None:
    """A long name goes on in the next line: no figure is cut off."""
    cards = [
        replace(card, subscription="a_subscription_with_a_rather_long_name", horizon=Horizon(time=432_000, unit="s"))
        for card in heat(horizons=(1, 3))
    ]
    text = Report.of([replace(card, keys=tuple((key * 5, m) for key, m in card.keys)) for card in cards]).tables()
    assert max(map(len, text.splitlines())) <= 80
    assert "5 days" in text
    assert "432" not in text
    for card in cards:
        assert f" {card.overall.points:,} " in text
        assert f" {card.overall.auc:.3f} " in text


def test_calibration_shows_rare_matches() -> None:
    random = np.random.default_rng(5)
    probability = np.where(random.random(200_000) < 0.01, 0.02, 0.0005)
    happened = random.random(len(probability)) < probability
    bins = calibration_bins(probability, happened)
    assert bins.low.tolist() == [0.0003, 0.01]
    assert bins.count.sum() == len(probability)
    assert bins.observed == pytest.approx(bins.forecast, rel=0.3)
    table = Report.of(heat(horizons=(1,), distort=lambda p: p / 1000)).tables()
    assert re.search(r"0\.0003 to 0\.001 +[\d,]+ +0\.0006 +0\.6", table), table


# ── stale models ──


def test_an_old_model() -> None:
    trained = DataSpan(1000, 50, 0, 1000)
    assert list(staleness_warnings("s", trained, DataSpan(1000, 52, 1001, 2000))) == []
    (doubt,) = staleness_warnings("s", trained, DataSpan(1000, 52, 4000, 5000))
    assert doubt == "'s': stale model: training ended before these data by 3.0 times the length of its data"
    (doubt,) = staleness_warnings("s", DataSpan(10_000, 500, 0, 1000), DataSpan(10_000, 2000, 1001, 2000))
    assert doubt == "'s': stale model: 5.00% of events completed a match in training, 20.00% now"


def test_no_doubt_without_cause() -> None:
    """Data of one law raise none, in a hundred tries."""
    random = np.random.default_rng(2)
    law = np.array([[0.9, 0.08, 0.02], [0.5, 0.2, 0.3], [0.3, 0.3, 0.4]])
    for _ in range(100):
        counts = [np.array([random.multinomial(n, row) for n, row in zip((900, 90, 10), law)], float) for _ in range(2)]
        assert list(drift_warnings("s", *counts)) == []
        seen = [DataSpan(1000, random.binomial(1000, 0.05), k, k + 1) for k in range(2)]
        assert list(staleness_warnings("s", *seen)) == []


def test_drift() -> None:
    random = np.random.default_rng(3)
    before = random.multinomial(5000, [0.7, 0.2, 0.1])[None].astype(float)
    after = random.multinomial(5000, [0.5, 0.4, 0.1])[None].astype(float)
    assert drift(before, after)[0] == pytest.approx(0.2, abs=0.02)
    (doubt,) = drift_warnings("s", before, after)
    assert doubt.startswith("'s': stale model: ")
    again = random.multinomial(5000, [0.7, 0.2, 0.1], 200).astype(float)
    found = np.array([drift(again[k][None], again[k + 1][None]) for k in range(198)])
    assert found[:, 0].mean() == pytest.approx(found[:, 1].mean(), rel=0.1)  # chance is what it says
    assert drift(np.zeros((1, 2)), np.ones((1, 2))) == (0.0, 0.0)


def test_the_simulated_chain_is_right() -> None:
    assert within(0.5, 1, 3)[0] == pytest.approx(1 - 0.5**3)
    assert within(0.5, 2, 2)[0] == pytest.approx(0.25)


def test_the_keys_with_most_points_are_judged_by_themselves() -> None:
    """A lane of several processes is one key; the figures are those of its rows alone."""
    random = np.random.default_rng(4)
    process = random.integers(0, 300, 5000)
    ordinal = np.zeros(5000, int)
    for item in range(300):
        ordinal[process == item] = np.arange((process == item).sum())
    matched = random.random(5000) < 0.2
    outcome = times_to_match(process, ordinal, ordinal.astype(float), matched)
    forecasts = random.random(5000)
    keys = [f"k{item // 2}" for item in range(300)]
    horizon = Horizon(events=2)
    found = scorecard("s", horizon, ForecastPoints(process, matched, outcome, forecasts), keys=keys)
    assert (len(found.keys), found.more_keys) == (100, 50)
    rows = [figures.points + figures.censored for _, figures in found.keys]
    assert rows == sorted(rows, reverse=True)
    used = outcome.known(horizon)
    for key, figures_of_key in found.keys[:5]:
        mine = used & np.isin(process, [item for item in range(300) if keys[item] == key])
        assert figures_of_key.points == mine.sum()
        assert figures_of_key.auc == pytest.approx(auc(forecasts[mine], outcome.happened(horizon)[mine]))
    assert "… 140 more" in Report.of([found]).text()


def test_views_of_its_parts() -> None:
    (card,) = heat(horizons=(1,))
    assert repr(card).splitlines()[:2] == ["Scorecard of heat within 1 event", "  points             15,992"]
    assert repr(card.overall).startswith("Metrics of forecasts\n")
