"""All that the demonstration finds, worked out once more with pandas alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from foretell.demonstration.course import (
    BAD_RUN,
    FOGGED_IN,
    HANDED_ON,
    TROUBLE_AHEAD,
    UNHEARD,
    CourseOutcome,
    FlightCourse,
)
from foretell.demonstration.findings import Findings, findings
from foretell.demonstration.report import statement_text
from tests.demonstration.slices import WATCHED_SINCE, weeks

HOUR = pd.Timedelta(hours=1)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> CourseOutcome:
    course = FlightCourse("embedded", tmp_path_factory.mktemp("course"), weeks(), WATCHED_SINCE)
    course.learn()
    course.watch()
    return course.outcome()


@pytest.fixture(scope="module")
def found(outcome: CourseOutcome) -> Findings:
    return findings(outcome)


@pytest.fixture(scope="module")
def flights(outcome: CourseOutcome) -> pd.DataFrame:
    frame = outcome.watched.flights.to_pandas()
    frame["bad"] = frame["delay"].isna() | (frame["delay"] >= 60)
    return frame


def stretches(flags: np.ndarray) -> list[tuple[int, int]]:
    """The first and the last place of each stretch of flags that are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(first), int(end) - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def test_bad_runs(outcome: CourseOutcome, flights: pd.DataFrame) -> None:
    expected = {
        (tuple(lane["id"].iloc[first : last + 1]), last + 1 - first)
        for _, lane in flights.groupby(["carrier", "origin"])
        for first, last in stretches(lane["bad"].to_numpy())
        if last + 1 - first >= 10
    }
    matches = outcome.notifications[BAD_RUN]
    assert {(tuple(match.events["f"]), match.bindings["departures"]) for match in matches} == expected
    assert len(expected) == len(matches) > 10


def test_fogs(outcome: CourseOutcome, flights: pd.DataFrame) -> None:
    """From the first hour of fog that five cancellations follow within six hours, all that do; then from the first
    such hour after these."""
    expected = []
    weather = outcome.watched.weather.to_pandas()
    for origin, hours in weather[weather["visibility"] <= 0.5].groupby("origin"):
        cancelled = flights[(flights["origin"] == origin) & flights["delay"].isna()]
        free = pd.Timestamp.min.tz_localize("UTC")
        for hour in hours["time"]:
            # At equal times the weather comes first: FROM names it first.
            within = cancelled[(cancelled["time"] >= hour) & (cancelled["time"] <= hour + 6 * HOUR)]
            if hour > free and len(within) >= 5:
                expected.append((origin, hour, len(within)))
                free = within["time"].iloc[-1]
    matches = outcome.notifications[FOGGED_IN]
    assert sorted(((m.key or {})["origin"], m.started, m.bindings["departures"]) for m in matches) == sorted(expected)
    assert expected


def test_delays_handed_on(outcome: CourseOutcome, flights: pd.DataFrame) -> None:
    """The longest chain from each departure, of those that do not begin within an earlier one."""
    expected = set()
    for _, aircraft in flights.groupby("tailnum"):
        times, late = aircraft["time"].to_numpy(), (aircraft["delay"] >= 60).to_numpy()
        for first, last in stretches(late):
            begin = first
            while begin <= last:
                end = begin
                while end < last and times[end + 1] - times[begin] <= np.timedelta64(16, "h"):
                    end += 1
                if end - begin >= 2:
                    expected.add(tuple(aircraft["id"].iloc[begin : end + 1]))
                    begin = end
                begin += 1
    matches = outcome.notifications[HANDED_ON]
    assert {tuple(match.events["f"]) for match in matches} == expected
    assert len(expected) == len(matches) > 5


def test_trouble(outcome: CourseOutcome, flights: pd.DataFrame) -> None:
    """Every five in a row."""
    expected = sum(
        last - first - 3
        for _, lane in flights.groupby(["carrier", "origin"])
        for first, last in stretches(lane["bad"].to_numpy())
        if last - first >= 4
    )
    assert sum(match.kind == "match" for match in outcome.notifications[TROUBLE_AHEAD]) == expected > 100


def test_warnings_and_what_came_of_them(outcome: CourseOutcome, found: Findings, flights: pd.DataFrame) -> None:
    """A loop over the departures counts as the score does, and so does `backtest`."""
    happened: dict[str, bool | None] = {}
    for _, lane in flights.groupby(["carrier", "origin"]):
        bad, names = lane["bad"].to_numpy(), lane["id"].to_list()
        completes = [place >= 4 and bool(bad[place - 4 : place + 1].all()) for place in range(len(bad))]
        for place, name in enumerate(names):
            happened[name] = any(completes[place + 1 : place + 11]) if place + 10 < len(bad) else None
    known = [value for value in happened.values() if value is not None]
    assert found.forecasts.points == len(known)
    assert found.forecasts.base_rate == pytest.approx(np.mean(known))
    warned = [n for n in outcome.notifications[TROUBLE_AHEAD] if n.kind == "forecast"]
    outcomes = [happened[[name for name in n.events["f"] if name is not None][-1]] for n in warned]
    true = [value for value in outcomes if value is not None]
    assert found.forecasts.warnings.warnings == len(warned) > 50
    assert found.forecasts.warnings.precision == pytest.approx(np.mean(true))
    assert found.forecasts.warnings.precision > 5 * found.forecasts.base_rate
    assert found.forecasts.auc > found.forecasts.rule_auc > 0.7


def test_the_curve_of_a_day_is_that_of_the_warnings(found: Findings) -> None:
    """Probabilities come from a backtest in this process, warnings from the run."""
    day = found.forecasts.day
    curve = dict(zip(day.places.tolist(), day.probability.tolist(), strict=True))
    assert day.warnings
    assert all(curve[warning.place] == pytest.approx(warning.probability) for warning in day.warnings)


def test_estimates_and_the_truth(outcome: CourseOutcome, found: Findings, flights: pd.DataFrame) -> None:
    shuttle = flights[(flights["carrier"] == "US") & (flights["distance"] < 250) & flights["delay"].notna()].copy()
    shuttle["heard"] = shuttle["id"].isin(outcome.watched.reports["id"].to_pylist())
    pairs, hidden_ids = 0, {}
    for _, aircraft in shuttle.groupby("tailnum"):
        heard = aircraft[aircraft["heard"]]
        for (_, out), (_, again) in zip(heard.iterrows(), heard.iloc[1:].iterrows(), strict=False):
            if again["time"] - out["time"] <= 12 * HOUR:
                pairs += 1
                between = aircraft[(aircraft["time"] > out["time"]) & (aircraft["time"] < again["time"])]
                if len(between):
                    hidden_ids[out["id"], again["id"]] = set(between["id"])
    score = found.estimates
    assert (score.lost, score.pairs, score.hiding) == (int((~shuttle["heard"]).sum()), pairs, len(hidden_ids))
    assert score.lost == pytest.approx(0.1 * len(shuttle), rel=0.3)
    likely = [n for n in outcome.notifications[UNHEARD] if n.kind == "estimate" and n.probability >= 0.5]
    right = [n for n in likely if (n.events["out"], n.events["again"]) in hidden_ids]
    assert (len(score.likely), score.right) == (len(likely), len(right))
    assert score.precision == pytest.approx(len(right) / len(likely))
    assert score.precision > 5 * score.base_rate


def test_the_page_shows_the_statements_as_they_are(outcome: CourseOutcome) -> None:
    for name in outcome.program.statements:
        assert statement_text(outcome.program, name) in outcome.program.text
