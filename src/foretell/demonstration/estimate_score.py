"""How good the estimates are: each beside the truth, which we know, because we took the reports away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from foretell.arrays import Ints
from foretell.demonstration.calibration_point import CalibrationPoint, PauseShare
from foretell.demonstration.course import UNHEARD, CourseOutcome
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import numpy_of
from foretell.events.notification import Notification

#: As in the statement: the airline and the distance of the shuttle, and its window.
_CARRIER, _DISTANCE, _WINDOW = "US", 250, 12 * 3_600_000_000

#: An estimate of so much or more says that there was a departure.
LIKELY = 0.5

_EDGES = (0.0, 0.1, 0.2, 0.4, 0.6, 1.0)
_FEWEST = 10
_HALF_HOUR = 1_800_000_000


@dataclass(frozen=True)
class JudgedEstimate:
    """An estimate and the ids of the departures that really were between its two, of which we took the reports."""

    estimate: Notification
    truth: tuple[str, ...]
    times: tuple[int, ...]

    @property
    def right(self) -> bool:
        return bool(self.truth)

    @property
    def in_interval(self) -> bool:
        """Whether a departure was within the interval that the estimate names."""
        (lost,) = self.estimate.estimate.lost if self.estimate.estimate is not None else ()
        return any(lost.low <= time <= lost.high for time in self.times)


@dataclass(frozen=True)
class EstimateScore:
    """`pairs` are two departures of an aircraft that were heard, one after the other, within the window; in `hiding` of
    them a departure was lost. `likely` are the estimates of 0.5 and more, the likeliest first, `right` of them true."""

    lost: int
    pairs: int
    hiding: int
    likely: tuple[JudgedEstimate, ...]
    right: int
    in_interval: int
    calibration: tuple[CalibrationPoint, ...]
    pauses: tuple[PauseShare, ...]

    @property
    def base_rate(self) -> float:
        return self.hiding / max(1, self.pairs)

    @property
    def precision(self) -> float:
        return self.right / max(1, len(self.likely))

    @property
    def recall(self) -> float:
        return self.right / max(1, self.hiding)


def estimate_score(outcome: CourseOutcome) -> EstimateScore:
    lost = _lost(outcome.watched.flights, outcome.watched.reports)
    by_aircraft = _departures(lost)
    estimates = [n for n in outcome.notifications if (n.subscription, n.kind) == (UNHEARD, "estimate")]
    judged = [_judged(estimate, by_aircraft) for estimate in estimates]
    likely = sorted((j for j in judged if j.estimate.probability >= LIKELY), key=lambda j: -j.estimate.probability)
    right = [each for each in likely if each.right]
    pairs, hiding = _pairs(_departures(_shuttle(outcome.watched.reports)), by_aircraft)
    return EstimateScore(
        lost=len(lost),
        pairs=pairs,
        hiding=hiding,
        likely=tuple(likely),
        right=len(right),
        in_interval=sum(each.in_interval for each in right),
        calibration=tuple(_calibration(judged)),
        pauses=tuple(_pauses(judged)),
    )


@dataclass(frozen=True)
class AircraftDepartures:
    """The departures of an aircraft in their order."""

    times: Ints
    ids: tuple[str, ...]


def _shuttle(departures: pa.Table) -> pa.Table:
    own = pc.equal(departures["carrier"], pa.scalar(_CARRIER))
    near = pc.less(departures["distance"], pa.scalar(_DISTANCE))
    return departures.filter(pc.and_(pc.and_(own, near), departures["tailnum"].is_valid()))


def _lost(flights: pa.Table, reports: pa.Table) -> pa.Table:
    """The shuttle's departures of which there is no report."""
    left = _shuttle(flights.filter(flights["delay"].is_valid()))
    return left.filter(pc.invert(pc.is_in(left["id"], value_set=reports["id"].combine_chunks())))


def _departures(table: pa.Table) -> Mapping[str, AircraftDepartures]:
    times = numpy_of(table["time"].cast(pa.int64()))
    rows: dict[str, list[int]] = {}
    for row, aircraft in enumerate(table["tailnum"].to_pylist()):
        rows.setdefault(str(aircraft), []).append(row)
    ids = table["id"].to_pylist()
    return {
        aircraft: AircraftDepartures(times[own], tuple(str(ids[row]) for row in own)) for aircraft, own in rows.items()
    }


_NONE = AircraftDepartures(np.zeros(0, np.int64), ())


def _judged(estimate: Notification, lost: Mapping[str, AircraftDepartures]) -> JudgedEstimate:
    own = lost.get(str((estimate.key or {})["tailnum"]), _NONE)
    first, end = (int(place) for place in np.searchsorted(own.times, [estimate.start + 1, estimate.end]))
    return JudgedEstimate(estimate, own.ids[first:end], tuple(own.times[first:end].tolist()))


def _pairs(heard: Mapping[str, AircraftDepartures], lost: Mapping[str, AircraftDepartures]) -> tuple[int, int]:
    """How many pairs of departures there are in a window, and how many of them hide a lost one."""
    pairs = hiding = 0
    for aircraft, own in heard.items():
        near = np.flatnonzero(np.diff(own.times) <= _WINDOW)
        missing = lost.get(aircraft, _NONE).times
        first = np.searchsorted(missing, own.times[near], "right")
        end = np.searchsorted(missing, own.times[near + 1], "left")
        pairs, hiding = pairs + len(near), hiding + int((end > first).sum())
    return pairs, hiding


def _calibration(judged: Sequence[JudgedEstimate]) -> Iterator[CalibrationPoint]:
    for low, high in pairwise(_EDGES):
        own = [each for each in judged if low <= each.estimate.probability < high]
        if len(own) >= _FEWEST:
            stated = sum(each.estimate.probability for each in own) / len(own)
            yield CalibrationPoint(stated, sum(each.right for each in own) / len(own), len(own))


def _pauses(judged: Sequence[JudgedEstimate]) -> Iterator[PauseShare]:
    by_length: dict[int, list[JudgedEstimate]] = {}
    for each in judged:
        length = each.estimate.end - each.estimate.start
        by_length.setdefault(int(length // _HALF_HOUR), []).append(each)
    for number, own in sorted(by_length.items()):
        if len(own) >= _FEWEST:
            stated = sum(each.estimate.probability for each in own) / len(own)
            observed = sum(each.right for each in own) / len(own)
            yield PauseShare((number + 0.5) / 2, stated, observed, len(own))
