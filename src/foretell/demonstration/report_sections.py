"""The findings as charts of the report, with their captions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from foretell.charts.chart import Chart
from foretell.charts.estimates import EstimateCharts
from foretell.charts.theme import VegaSpec
from foretell.charts.time_scale import TimeScale
from foretell.charts.timeline import RowKind, Timeline, TimelineRow
from foretell.demonstration.departure_lanes import TROUBLE
from foretell.demonstration.estimate_score import JudgedEstimate
from foretell.demonstration.findings import Findings
from foretell.demonstration.flights import local
from foretell.demonstration.forecast_score import LaneDay
from foretell.demonstration.match_figures import ChainChart, DepartureChart, HourChart, VisibilityChart, YearChart
from foretell.demonstration.score_figures import (
    CalibrationChart,
    ForecastDot,
    ForecastMark,
    LaneDayChart,
    PauseChart,
    RuleChart,
)
from foretell.demonstration.stories import AIRPORTS, Stories, day_text, departure_text
from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription


def year_chart(stories: Stories) -> Chart:
    border = local(stories.outcome.watched.flights["scheduled"][0].as_py())
    caption = (
        "The share of each day's departures that went wrong: cancelled, or an hour late or more. Grey: the days from "
        "which the models were learned."
    )
    return YearChart("year", "the year", caption, stories.year(), datetime(border.year, border.month, border.day))


def match_charts(stories: Stories) -> tuple[Chart | None, Chart | None, Chart | None, Chart | None]:
    dots = fog = hours = chain = None
    if stories.bad_runs:
        story = stories.bad_runs[0]
        caption = (
            f"{story.day}, {story.where}. Each point is a departure: when, and how many minutes late. Blue ones are "
            f"the match, {story.departures} in a row; the dashed line is one hour."
        )
        dots = DepartureChart("run", "a bad run", caption, stories.run_dots(story))
    if stories.fogs:
        story = stories.fogs[0]
        shares = stories.hours(story)
        fog = VisibilityChart("fog", "visibility", f"{story.day}, {story.where}: how far one could see.", shares)
        caption = (
            f"The same day: departures by the hour in which they should have left. Red: cancelled. The match has "
            f"{story.departures} of these, from {local(story.match.start):%H:%M} to {local(story.match.end):%H:%M}."
        )
        hours = HourChart("hours", "departures by the hour", caption, shares)
    if stories.handed_on:
        story = stories.handed_on[0]
        caption = (
            f"{story.day}, aircraft {story.where}: its departures from New York by their schedule, and their delays."
        )
        chain = ChainChart("chain", "a delay handed on", caption, stories.chain(story))
    return dots, fog, hours, chain


# ── forecasts ──


def forecast_charts(found: Findings) -> tuple[Chart, Chart, Chart]:
    score = found.forecasts
    calibration = CalibrationChart(
        "forecast-calibration",
        "said and true",
        "All forecasts, by what they said. On the dashed line as much comes true as was said. Larger points stand for "
        f"more departures. On average the two differ by {100 * score.error:.1f} points.",
        "probability that Foretell said",
        "came true",
        score.calibration,
    )
    rules = (
        ("any departure", score.base_rate, f"{score.points:,} departures"),
        *((rule.name, rule.precision, f"{rule.warnings:,} warnings") for rule in score.rules),
        ("Foretell, 50% or more", score.warnings.precision, f"{score.warnings.warnings:,} warnings"),
    )
    caption = (
        "How often trouble follows, if one warns at just any departure, each time so many have gone wrong in a row, or "
        "when Foretell does."
    )
    return _lane_day(found, score.day), calibration, RuleChart("rules", "ways to warn", caption, rules)


def _lane_day(found: Findings, day: LaneDay) -> LaneDayChart:
    lane = found.forecasts.lanes[day.lane]
    rows = found.outcome.watched.flights.take(lane.rows[day.places]).to_pylist()
    points = tuple(
        ForecastDot(local(row["time"]), probability, f"{departure_text(row)}: {probability:.0%}")
        for row, probability in zip(rows, day.probability.tolist(), strict=True)
        if probability == probability  # not before enough was seen
    )
    row_of = dict(zip(day.places.tolist(), rows, strict=True))
    marks = tuple(
        ForecastMark(
            local(row_of[warning.place]["time"]),
            warning.probability,
            f"{local(row_of[warning.place]['time']):%H:%M} warned, {warning.probability:.0%}: "
            f"{'it came' if warning.came_true else 'it did not come'}",
            bool(warning.came_true),
        )
        for warning in day.warnings
    )
    matches, begun = [], None
    run = lane.run[day.places].tolist()
    for k, length in enumerate([*run, 0]):
        if length >= TROUBLE and begun is None:
            begun = max(0, k - TROUBLE + 1)
        if length < TROUBLE and begun is not None:
            first, last = local(rows[begun]["time"]), local(rows[k - 1]["time"])
            matches.append((first, last, f"{first:%H:%M} to {last:%H:%M}: {run[k - 1]} in a row went wrong"))
            begun = None
    airline, airport = rows[0]["airline"], AIRPORTS[day.lane[1]]
    caption = (
        f"{day_text(day.day)}, {airline} at {airport}: the probability after each departure. Points are the warnings, "
        "green where trouble came, red where it did not. Orange bands: five departures or more in a row go wrong."
    )
    return LaneDayChart("day", "a day", caption, points, marks, tuple(matches), 0.5)


# ── estimates ──

#: The room for labels beside a timeline, as a share of its length.
_LABEL_ROOM = 0.1


@dataclass(frozen=True, repr=False)
class WideTimeline(Timeline):
    """A timeline that is as wide as the page."""

    def specification(self) -> VegaSpec:
        size = {"type": "fit-x", "contains": "padding", "resize": True}
        return {**super().specification(), "width": "container", "autosize": size}


def estimate_charts(found: Findings) -> tuple[Chart | None, Chart | None, Chart, Chart]:
    score = found.estimates
    pauses = PauseChart(
        "pauses",
        "by the length of the pause",
        "Line: what Foretell said. Points: in how many of these pauses there was a departure. There and back takes "
        "four hours, so after eight it was most likely away once more. In shorter pauses an estimate is below 5%.",
        score.pauses,
    )
    calibration = CalibrationChart(
        "estimate-calibration",
        "said and true",
        "All estimates of 5% and more, by what they said. Two months are little to learn from: here estimates are "
        "too cautious on both sides.",
        "probability that Foretell said",
        "true",
        score.calibration,
    )
    if found.example is None:
        return None, None, pauses, calibration
    statement = next(
        s
        for s in found.outcome.notifications.statements
        if isinstance(s, CheckedSubscription) and s.name == found.example.estimate.subscription
    )
    charts = EstimateCharts("estimate", found.example.estimate, statement)
    detail = found.example.estimate.estimate
    waterfall = None
    if detail is not None and detail.gaps:
        caption = "A probability falls from 1 by a factor for each gap in which something may be hidden: here one."
        waterfall = replace(charts.waterfall(detail), caption=caption, threshold=None)
    return _timeline(found.example), waterfall, pauses, calibration


def _timeline(judged: JudgedEstimate) -> Timeline:
    estimate = judged.estimate
    first, last = (str(estimate.events[step]) for step in ("out", "again"))
    rows = [_heard("heard", first, estimate.start)]
    if estimate.estimate is not None:
        for lost in estimate.estimate.lost:
            label = f"between {local(lost.low):%H:%M} and {local(lost.high):%H:%M}"
            rows.append(TimelineRow("Foretell", RowKind.LOST, label, (lost.low, lost.high)))
    for name, time in zip(judged.truth, judged.times, strict=True):
        rows.append(_heard("the truth", name, time))
    rows.append(_heard("heard again", last, estimate.end))
    times = [time for row in rows for time in row.times]
    room = _LABEL_ROOM * (max(times) - min(times))
    scale = TimeScale.over([min(times) - room, *times, max(times) + room], Type.TIMESTAMP, estimate.start)
    scale = replace(scale, title=f"hours after {local(estimate.start):%H:%M} on {day_text(local(estimate.start))}")
    caption = (
        "Orange: when it left, with a probability of 80%, by all that Foretell knew. The truth is what we took away."
    )
    return WideTimeline("estimate-timeline", "a pause", caption, scale, tuple(rows))


def _heard(name: str, departure: str, time: float) -> TimelineRow:
    flight = " ".join(departure.split(" ")[:2])
    return TimelineRow(name, RowKind.EVENTS, f"{flight}, {local(time):%H:%M}", (time,))
