"""Curves of measurements up to a limit of time and memory, with the exponent of their growth."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from foretell.bench.result import BenchResult

LONGEST = 300.0  # most seconds for one point of a curve
LARGEST = 6 * 2**30  # most bytes for one process


@dataclass(frozen=True)
class Point(BenchResult):
    """A point of a curve: `y` (in `unit`) over `x`; `figure` is the picture that shows the curve."""

    figure: str = ""
    curve: str = ""
    x: float | None = None
    y: float | None = None
    unit: str = "s"
    exponent: float | None = None
    exponent_last: float | None = None

    def line(self) -> str:
        if self.y is None:
            return super().line()
        y, unit = (self.y * 1e6, "µs") if self.unit == "s" else (self.y, self.unit)
        digits = 0 if isinstance(y, int) or self.unit == "B" else 3
        value = f"{y:>16,.{digits}f} {unit:2}"
        grows = "" if self.exponent is None else f"   grows as x^{self.exponent:.2f}"
        last = "" if self.exponent_last is None else f", in the last decade {self.exponent_last:.2f}"
        return f"{self.bench:10} {self.case:56} {value}{grows}{last}"


@dataclass(frozen=True)
class Sample:
    """One measurement, before the exponent of its curve is known."""

    events: int
    seconds: float
    y: float
    matches: int | None = None
    limit: float | None = None
    unit: str = "s"


Samples = Mapping[tuple[str, str], Sample]  # by figure and curve


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of the points where both axes are logarithmic.

    >>> exponent([(1, 3), (10, 300), (100, 30_000)])
    2.0
    """
    known = [(x, y) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in known}) < 2:
        return None
    slope = statistics.linear_regression(*([math.log(p[k]) for p in known] for k in (0, 1))).slope
    return round(slope, 3)


def curves(xs: Sequence[int], measure: Callable[[int], Samples]) -> Iterator[Point]:
    """Measure at every x, or as far as time and memory allow; then yield the points with the curve's exponent."""
    measured: dict[tuple[str, str], list[tuple[int, Sample]]] = {}
    note, before = None, None
    measure(xs[0])  # a warm-up: loads the kernels
    for x in xs:
        if before is not None and before[1] * x / before[0] > LONGEST:  # assuming linear growth
            note = f"left out from {x:,} on: {before[0]:,} took {before[1]:.0f} s"
            break
        started = time.perf_counter()
        try:
            samples = measure(x)
        except (MemoryError, BrokenProcessPool):
            note = f"left out from {x:,} on: needs more than {LARGEST / 2**30:.0f} GiB"
            break
        before = x, time.perf_counter() - started
        for key, sample in samples.items():
            measured.setdefault(key, []).append((x, sample))
    for (figure, curve), samples_of_curve in measured.items():
        yield from _points(figure, curve, samples_of_curve)
        if note is not None:
            yield left_out(figure, curve, note)


def _points(figure: str, curve: str, measured: Sequence[tuple[int, Sample]]) -> Iterator[Point]:
    points = [(float(x), sample.y) for x, sample in measured]
    last = [(x, y) for x, y in points if x >= points[-1][0] / 10]
    slopes = exponent(points), exponent(last)
    for x, s in measured:
        yield Point(
            bench="growth",
            case=f"{figure}: {curve}, {x:,}",
            events=s.events,
            seconds=s.seconds,
            rate=s.events / s.seconds,
            matches=s.matches,
            limit=s.limit,
            figure=figure,
            curve=curve,
            x=x,
            y=s.y,
            unit=s.unit,
            exponent=slopes[0],
            exponent_last=slopes[1],
        )


def left_out(figure: str, curve: str, note: str) -> Point:
    return Point("growth", f"{figure}: {curve}", 0, 0.0, 0.0, note=note, figure=figure, curve=curve)


def decades(first: int, last: int, between: tuple[int, ...] = (1,)) -> list[int]:
    """Powers of ten and, with `between`, some numbers among them.

    >>> decades(1, 100), decades(10, 200, (1, 2, 5))
    ([1, 10, 100], [10, 20, 50, 100, 200])
    """
    numbers = (k * 10**power for power in range(12) for k in between)
    return [n for n in numbers if first <= n <= last]
