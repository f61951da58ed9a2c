"""The page of a report: every curve of every subscription, and nothing that a browser would have to fetch."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from foretell.charts import forecasts
from foretell.charts.curves import LineChart
from foretell.charts.forecasts import forecast_page, report_charts
from foretell.charts.page import svg
from foretell.forecast.evaluation.report import Report
from tests.forecast.simulated_chain import heat


def test_pictures_of_each_subscription() -> None:
    other = [replace(scorecard, subscription='odd "name" </script>') for scorecard in heat(days=300)]
    report = Report.of([*heat(days=300), *other], ["very <old>"])
    drawn = report_charts(report)
    parts = ("reliability", "precision", "recall", "true", "false", "notified", "foreseen", "trade")
    assert [p.slug for p in drawn] == [f"s{number}-{part}" for number in range(2) for part in parts]
    for word in ("heat: precision", "within 1 event", "within 6 events", "threshold", "0.8"):
        assert word in svg(drawn[1])
    text = forecast_page(report).html()
    assert not re.search(r"<script[^>]*\bsrc=|<link\b|@import", text)
    assert "very &lt;old&gt;" in text
    assert "Probability forecasts" in text
    assert text.count("</script>") == 2


def test_what_was_never_forecast_is_not_drawn() -> None:
    silent = heat(days=50, horizons=(3,), distort=lambda p: np.full(len(p), np.nan))
    assert report_charts(Report.of(silent)) == []
    assert "without a forecast" in forecast_page(Report.of(silent)).html()


def test_a_page_has_curves_of_some_subscriptions_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "MAX_SUBSCRIPTIONS", 2)
    (scorecard,) = heat(days=100, horizons=(3,))
    rare = replace(scorecard, subscription="rare", overall=replace(scorecard.overall, positives=0))
    report = Report.of([replace(scorecard, subscription="first"), rare, replace(scorecard, subscription="second")])
    assert {p.title.split(":")[0] for p in report_charts(report)} == {"first", "second"}
    assert "1 more are left out" in forecast_page(report).html()


def test_rare_matches_have_logarithmic_axes() -> None:
    """With 8% of hot days, a match comes at one point in two thousand."""
    calibration, precision, *_ = report_charts(Report.of(heat(hot=0.08, horizons=(1, 3))))
    assert isinstance(calibration, LineChart)
    assert isinstance(precision, LineChart)
    assert calibration.x.span == calibration.y.span == (1e-4, 1.0)
    assert calibration.x.log
    assert calibration.y.log
    assert all(min(point) >= 1e-4 for curve in calibration.curves for point in curve.points)
    assert {"0.0001", "0.01", "1"} <= set(re.findall(r">([0-9.]+)</text>", svg(calibration)))
    assert (precision.x.log, precision.x.span, precision.y.span) == (True, (1e-3, 1.0), (1e-3, 1.0))
    assert min(x for curve in precision.curves for x, _ in curve.points) == 0.001
    often = report_charts(Report.of(heat(days=300, horizons=(3,))))[0]
    assert isinstance(often, LineChart)
    assert not often.x.log
