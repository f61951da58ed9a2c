"""Timelines and waterfalls: the data that they draw, from notifications made by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import foretell as ft
from foretell.charts.estimates import EstimateCharts
from foretell.charts.page import svg
from foretell.charts.time_scale import TimeScale
from foretell.charts.timeline import RowKind, TimelineRow
from foretell.charts.waterfall import Factor
from foretell.events.estimate_detail import EstimateDetail, GapFactor, LostStep
from foretell.events.notification import EventNames, Notification
from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription

NOON, MINUTE = 1_772_366_400_000_000, 60_000_000


def statement(rest: str, time: str = "INT") -> CheckedSubscription:
    """A subscription of the name `m`."""
    (found,) = ft.parse(f"STREAM s (k STRING, t {time}) TIME t; SUBSCRIBE m FROM s {rest};").checked().statements
    assert isinstance(found, CheckedSubscription)
    return found


def notification(
    events: dict[str, EventNames], start: float, end: float, estimate: EstimateDetail | None = None, **more: Any
) -> Notification:
    given: dict[str, Any] = {"probability": 1.0, "time_type": Type.INT, "id": None, "bindings": {}} | more
    kind = "match" if given["probability"] == 1.0 else "estimate"
    return Notification("m", kind, None, start, end, horizon=None, events=events, estimate=estimate, **given)


def rows(found: Notification, rest: str = "", time: str = "INT") -> dict[str, TimelineRow]:
    charts = EstimateCharts("n1", found, statement(rest, time) if rest else None)
    return {row.name: row for row in charts.timeline().rows}


def chart_data(specification: dict[str, Any]) -> list[dict[str, Any]]:
    own = specification.get("data", {"values": []})["values"]
    return [*own, *(row for layer in specification.get("layer", ()) for row in chart_data(layer))]


LOST_AND_NEGATED = "MATCH a ; b ; !w ; c WITHIN 12 hours LOSING 0.1 ABOVE 0.6"
LOST = notification(
    {"a": "A1", "b": None, "c": "C1"},
    NOON,
    NOON + 10 * MINUTE,
    EstimateDetail(
        "both ends",
        (LostStep("b", NOON + 2 * MINUTE, NOON + 5 * MINUTE),),
        (GapFactor("a", "c", 0.7),),
    ),
    probability=0.7,
    time_type=Type.TIMESTAMP,
)


# ── timelines ──


def test_a_timeline_has_events_lost_steps_negated_steps_and_the_window() -> None:
    found = rows(LOST, LOST_AND_NEGATED, "TIMESTAMP")
    assert list(found) == ["WITHIN 12 hours", "a", "b", "w", "c"]
    assert found["a"] == TimelineRow("a", RowKind.EVENTS, "A1", (NOON,))
    assert found["b"].kind is RowKind.LOST
    assert found["b"].label == "lost, 80% between 12:02 and 12:05"
    assert found["b"].times == (NOON + 2 * MINUTE, NOON + 5 * MINUTE)
    # From the earliest time of the lost step: it may have come between that and the end of the gap.
    assert found["w"] == TimelineRow("w", RowKind.ABSENT, "not seen", (NOON + 2 * MINUTE, NOON + 10 * MINUTE))
    assert found["WITHIN 12 hours"].times == (NOON, NOON + 720 * MINUTE)
    assert found["WITHIN 12 hours"].label == "12:00 to 2026-03-02 00:00"


def test_the_specification_of_a_timeline() -> None:
    drawn = EstimateCharts("n1", LOST, statement(LOST_AND_NEGATED, "TIMESTAMP")).timeline().specification()
    scale = drawn["layer"][0]["encoding"]["x"]
    assert scale["title"] == "minutes after 2026-03-01 12:00 UTC"
    # Ten minutes with a margin on either side: the window of half a day is cut off at the end.
    assert scale["scale"]["domain"] == pytest.approx([-0.4, 10.4])
    data = chart_data(drawn)
    assert {"name": "b", "time": 2.0, "until": 5.0} in data
    assert {"name": "WITHIN 12 hours", "time": 0.0, "until": pytest.approx(10.4)} in data
    assert [row["time"] for row in data if row["name"] == "a" and "label" not in row] == [0.0]


def test_an_estimate_without_its_statement() -> None:
    assert {name: row.kind for name, row in rows(LOST).items()} == {
        "a": RowKind.EVENTS,
        "b": RowKind.LOST,
        "c": RowKind.EVENTS,
    }


@pytest.mark.parametrize(
    ("pattern", "events", "times"),
    [
        ("a ; b ; c", {"a": 0, "b": 1, "c": 2}, {"a": (5,), "b": None, "c": (9,)}),
        ("a ; b+", {"a": 0, "b": [1, 2, 3]}, {"a": (5,), "b": (9,)}),
        ("a+ ; b", {"a": [0, 1], "b": 2}, {"a": (5,), "b": (9,)}),
        ("a ; (b | c)", {"a": 0, "b": 1, "c": None}, {"a": (5,), "b": (9,), "c": None}),
        # The order of events is not known: either may be the first.
        ("a & b", {"a": 0, "b": 1}, {"a": None, "b": None}),
        ("(a ; b?)+ ; c", {"a": [0], "b": None, "c": 2}, {"a": None, "b": None, "c": None}),
        # The match ends with its window.
        ("a ; b ; !c", {"a": 0, "b": 1}, {"a": (5,), "b": None}),
    ],
)
def test_times_that_a_match_tells(
    pattern: str, events: dict[str, EventNames], times: dict[str, tuple[float, ...] | None]
) -> None:
    found = rows(notification(events, 5, 9), f"MATCH {pattern} WITHIN 4")
    assert {step: found[step].times if found[step].kind is RowKind.EVENTS else None for step in times} == times


def test_times_that_return_tells() -> None:
    rest = "MATCH a ; b+ ; c RETURN t(first(b)) AS since, t(b) AS until, t(c) - t(a) AS took"
    events: dict[str, EventNames] = {"a": 0, "b": [1, 2, 3], "c": 4}
    found = rows(notification(events, 5, 9, bindings={"since": 6, "until": 8, "took": 4}), rest)
    assert found["b"] == TimelineRow("b", RowKind.EVENTS, "1, 2, 3", (6, 8))
    texts = {"since": "2026-03-01T12:01:00Z", "until": "2026-03-01T12:02:00Z", "took": 180}
    moment = notification(events, NOON, NOON + 3 * MINUTE, time_type=Type.TIMESTAMP, bindings=texts)
    assert rows(moment, rest, "TIMESTAMP")["b"].times == (NOON + MINUTE, NOON + 2 * MINUTE)


def test_an_event_whose_time_is_not_known_lies_within_the_match() -> None:
    found = rows(notification({"a": 0, "b": 1, "c": 2}, 5, 9), "MATCH a ; b ; c")
    assert found["b"] == TimelineRow("b", RowKind.UNTIMED, "1 (time not known)", (5, 9))


def test_the_only_time_of_a_match_is_that_of_all_events() -> None:
    found = rows(notification({"a": 0, "b": 1}, 5, 5), "MATCH a & b")
    assert {row.times for row in found.values()} == {(5,)}


@pytest.mark.parametrize(
    ("rest", "events", "silence"),
    [
        ("MATCH a ; !b ; c WITHIN 100", {"a": 0, "c": 1}, (20, 80)),
        ("MATCH a ; c ; !b WITHIN 60", {"a": 0, "c": 1}, (20, 80)),  # the time of `c` is not known
        ("MATCH !b ; a ; c WITHIN 100", {"a": 0, "c": 1}, (-20, 20)),
        ("MATCH !b WITHIN 60", {}, (20, 80)),
    ],
)
def test_the_time_without_a_negated_step(
    rest: str, events: dict[str, EventNames], silence: tuple[float, float]
) -> None:
    assert rows(notification(events, 20, 80), rest)["b"] == TimelineRow("b", RowKind.ABSENT, "not seen", silence)


def test_the_window_of_lost_edges() -> None:
    """What was lost before `b` came at most a window before it, and what was lost after it at most one after it."""
    rest = "MATCH a ; b ; c WITHIN 100 LOSING 0.1 ABOVE 0.1"
    both = EstimateDetail("both ends", (LostStep("a", 10, 18), LostStep("c", 22, 30)), (GapFactor("b", "b", 0.5),))
    found = rows(notification({"a": None, "b": 1, "c": None}, 20, 120, both, probability=0.5), rest)
    assert found["WITHIN 100"].times == (-80, 120)
    first = EstimateDetail("both ends", (LostStep("a", 10, 18),), (GapFactor(None, "b", 0.5),))
    found = rows(notification({"a": None, "b": 1, "c": 2}, 20, 40, first, probability=0.5), rest)
    assert found["WITHIN 100"].times == (-60, 40)


@pytest.mark.parametrize(
    ("times", "kind", "title"),
    [
        ([NOON, NOON + 5_000], Type.TIMESTAMP, "milliseconds after 2026-03-01 12:00 UTC"),
        ([NOON + 1, NOON + 9], Type.TIMESTAMP, "microseconds after 2026-03-01 12:00:00.000001 UTC"),
        ([NOON, NOON + 90_000_000], Type.TIMESTAMP, "seconds after 2026-03-01 12:00 UTC"),
        ([NOON, NOON + 72 * 60 * MINUTE], Type.TIMESTAMP, "days after 2026-03-01 12:00 UTC"),
        ([NOON, NOON], Type.TIMESTAMP, "milliseconds after 2026-03-01 12:00 UTC"),
        ([3, 40], Type.INT, "time"),
        ([2_000_000_000, 2_000_000_040], Type.INT, "time after 2,000,000,000"),
        ([0.001, 0.002], Type.FLOAT, "time"),
    ],
)
def test_axes_have_units(times: list[float], kind: Type, title: str) -> None:
    scale = TimeScale.over(times, kind, times[0])
    assert scale.title == title
    low, high = scale.domain
    assert low < high
    assert all(low < scale.place(time) < high for time in times)


@pytest.mark.parametrize(
    ("low", "high", "kind", "texts"),
    [
        (NOON, NOON + 40_000_000, Type.TIMESTAMP, ("12:00:00", "12:00:40")),
        (NOON + 123_456, NOON + 323_456, Type.TIMESTAMP, ("12:00:00.123", "12:00:00.323")),
        (NOON + 3, NOON + 5, Type.TIMESTAMP, ("12:00:00.000003", "12:00:00.000005")),
        (NOON, NOON + 24 * 60 * MINUTE, Type.TIMESTAMP, ("12:00", "2026-03-02 12:00")),
        (12.30001, 17.77123, Type.FLOAT, ("12.3", "17.8")),
        (10, 2_000, Type.INT, ("10", "2,000")),
        (7, 7, Type.INT, ("7", "7")),
    ],
)
def test_intervals_are_as_precise_as_they_are_long(low: float, high: float, kind: Type, texts: tuple[str, str]) -> None:
    assert TimeScale.over([low, high], kind, low).interval_texts(low, high) == texts


def test_a_tiny_interval_has_a_mark() -> None:
    """The marks of its two ends, each two pixels wide, however long the axis is."""
    tiny = LostStep("b", NOON + MINUTE, NOON + MINUTE + 1)
    detail = EstimateDetail("both ends", (tiny,), ())
    events: dict[str, EventNames] = {"a": 0, "b": None, "c": 1}
    found = notification(events, NOON, NOON + 600 * MINUTE, detail, probability=0.5, time_type=Type.TIMESTAMP)
    drawn = EstimateCharts("n1", found).timeline().specification()
    (ticks,) = (layer for layer in drawn["layer"] if layer["mark"]["type"] == "tick")
    assert ticks["mark"]["thickness"] == 2
    assert [row["time"] for row in chart_data(ticks)] == pytest.approx([1 / 60, 1 / 60])


# ── waterfalls ──


@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_waterfall_falls_from_1_to_the_probability(count: int) -> None:
    steps = "abcdefgh"[: count + 1]
    gaps = tuple(GapFactor(after, before, 0.9) for after, before in pairwise(steps))
    detail = EstimateDetail("both ends", (), gaps)
    found = notification(dict.fromkeys(steps, 0), 5, 9, detail, probability=0.9**count)
    rest = f"MATCH {' ; '.join(steps)} LOSING 0.1 ABOVE 0.4"
    *_, waterfall = EstimateCharts("n1", found, statement(rest)).charts()
    drawn = waterfall.specification()
    bars = [row for row in chart_data(drawn) if "low" in row]
    assert [row["high"] for row in bars[:-1]] == pytest.approx([0.9**k for k in range(count)])
    assert [row["low"] for row in bars[:-1]] == pytest.approx([0.9 ** (k + 1) for k in range(count)])
    assert bars[-1] == {
        "name": "probability",
        "label": "",
        "low": 0.0,
        "high": 0.9**count,
        "number": f"{0.9**count:.3g}",
        "total": True,
    }
    assert {"at": 0.4, "label": "ABOVE 0.4"} in chart_data(drawn)
    assert [row["name"] for row in bars[:-1]] == [f"{after} → {before}" for after, before in pairwise(steps)]


def test_gaps_are_named_by_their_ends_and_what_they_hide() -> None:
    gaps = (GapFactor(None, "b", 0.9), GapFactor("b", "d", 0.8), GapFactor("d", None, 1.0))
    detail = EstimateDetail("both ends", (LostStep("a", 1, 2), LostStep("c", 6, 7)), gaps)
    rest = "MATCH a ; b ; c ; !w ; d ; !v WITHIN 9 LOSING 0.1 ABOVE 0.1"
    found = notification({"a": None, "b": 1, "c": None, "d": 2}, 5, 9, detail, probability=0.72)
    waterfall = EstimateCharts("n1", found, statement(rest)).waterfall(detail)
    assert waterfall.factors == (
        Factor("before b", "lost a", 0.9),
        Factor("b → d", "lost c, no w", 0.8),
        Factor("after d", "no v", 1.0),
    )
    assert EstimateCharts("n1", found).waterfall(detail).threshold is None


def test_the_gap_of_both_edges() -> None:
    detail = EstimateDetail("both ends", (LostStep("a", 1, 2), LostStep("d", 8, 9)), (GapFactor("c", "b", 0.5),))
    found = notification({"a": None, "b": 1, "c": 2, "d": None}, 5, 9, detail, probability=0.5)
    (factor,) = EstimateCharts("n1", found).waterfall(detail).factors
    assert factor == Factor("before b and after c", "lost a, d", 0.5)


def test_long_names_are_on_two_lines() -> None:
    first, last = "picked_up_from_the_shelf", "leaves_through_the_door"
    detail = EstimateDetail("both ends", (), (GapFactor(first, last, 0.5),))
    found = notification({first: 0, last: 1}, 5, 9, detail, probability=0.5)
    charts = EstimateCharts("n1", found)
    (factor,) = charts.waterfall(detail).factors
    assert factor.name == f"{first}\n→ {last}"
    assert "picked_up_from_the_" in svg(charts.waterfall(detail))


def test_a_match_has_a_timeline_only() -> None:
    (timeline,) = EstimateCharts("n1", notification({"a": 0, "b": 1}, 5, 9)).charts()
    assert timeline.slug == "n1-timeline"
