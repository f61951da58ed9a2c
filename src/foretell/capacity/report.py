"""The report of a scenario: latency, bottleneck and saturation at each point, for people and as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from foretell.capacity.equation import ProcessingTime
from foretell.capacity.findings import SHORT, CapacityFinding, rate_text, time_text
from foretell.capacity.measures import Measured, NetMeasures
from foretell.capacity.saturation import Saturation
from foretell.display import View, Viewed, listed


@dataclass(frozen=True)
class CapacityPoint:
    """A point of the scenario. `latency` is the mean time from an event to its notification, with half the width of its
    confidence interval; None where the net has no steady state. `equation` is the same by equation 7.1."""

    variant: str
    value: float | None
    measures: NetMeasures
    saturation: Saturation | None
    equation: ProcessingTime | None
    findings: tuple[CapacityFinding, ...]

    @property
    def is_stable(self) -> bool:
        return self.measures.growth is None

    @property
    def latency(self) -> Measured | None:
        return self.measures.latency if self.is_stable else None

    @property
    def utilisation(self) -> dict[str, float]:
        """The share of the time that each station is busy, the busiest first."""
        found = {station: self.measures.utilisation(station) for station in self.measures.net.stations}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def times(self) -> dict[str, float]:
        """The mean seconds that events spend in each place, by Little's law."""
        times = {place: self.measures.time_in(place) for place in self.measures.net.places}
        return {place: t for place, t in times.items() if t and place in self.measures.net.events}

    def as_dict(self) -> dict[str, Any]:
        measures, latency = self.measures, self.latency
        return {
            "variant": self.variant or None,
            "value": self.value,
            "stable": self.is_stable,
            "latency": latency and latency.mean,
            "half_width": latency and _finite(latency.half),
            "quantiles": {f"{q:g}": t for q, t in measures.quantiles.items()} if latency else {},
            "equation": self.equation and _finite(self.equation.notified),
            "equation_as_printed": self.equation and _finite(self.equation.printed),
            "created": measures.created,
            "lost": measures.lost,
            "utilisation": self.utilisation,
            "times": self.times if self.is_stable else {},
            "tokens": {place: mean.mean for place, mean in measures.tokens.items()},
            "saturation": self.saturation and self.saturation.rate,
            "bottleneck": self.bottleneck,
            "method": measures.method,
            "precise": measures.precise,
            "firings": measures.firings,
            "findings": [{"code": found.code, "message": found.message} for found in self.findings],
        }

    @property
    def bottleneck(self) -> str | None:
        return self.saturation.bottleneck if self.saturation else self.measures.busiest


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True, repr=False)
class CapacityReport(Viewed):
    """The points of a scenario in its order, and notes on what was measured for it."""

    title: str
    key: str
    points: tuple[CapacityPoint, ...]
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def is_stable(self) -> bool:
        """Whether every point has a steady state."""
        return all(point.is_stable for point in self.points)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; times in seconds."""
        return {
            "title": self.title,
            "key": self.key or None,
            "notes": [*self.notes],
            "points": [point.as_dict() for point in self.points],
        }

    def text(self, width: int = 120) -> str:
        shown = self._view(len(self.points)).text(width) + "\n"
        return shown if len(self.points) > 1 else shown + self._details(width)

    def findings(self) -> list[str]:
        """The findings, each with its point; one that several points of a variant have is said once."""
        groups: dict[tuple[str, str], list[tuple[CapacityPoint, CapacityFinding]]] = {}
        for point in self.points:
            for found in point.findings:
                groups.setdefault((point.variant, found.code), []).append((point, found))
        return [self._finding_text(variant, code, found) for (variant, code), found in groups.items()]

    def _finding_text(self, variant: str, code: str, group: list[tuple[CapacityPoint, CapacityFinding]]) -> str:
        if len(group) == 1:
            ((point, found),) = group
            return f"{self.label(point)}{found.message}"
        values = listed([f"{point.value:g}" for point, _ in group if point.value is not None], most=20)
        named = f"{variant}: " if variant else ""
        return f"{named}{SHORT[code]} at {self.key} {values}"

    def label(self, point: CapacityPoint) -> str:
        parts = [point.variant, f"{self.key} {point.value:g}" if point.value is not None else ""]
        name = ", ".join(part for part in parts if part)
        return f"{name}: " if name else ""

    def _view(self, rows: int) -> View:
        shown = self.points[:rows]
        cells = [[*self._place(point), *_cells(point)] for point in shown]
        header = ("variant", self.key or "value", *_HEADER)
        return View(self.title, header, cells, more=len(self.points) - len(shown))

    def _place(self, point: CapacityPoint) -> tuple[str, str]:
        return point.variant, "" if point.value is None else f"{point.value:g}"

    def _details(self, width: int) -> str:
        """Of a single point also its stations, and the times in its places."""
        (point,) = self.points
        views = []
        if point.utilisation:
            rows = [(name, f"{busy:.1%}") for name, busy in point.utilisation.items()]
            views.append(View("Stations", ("station", "busy"), rows))
        if point.is_stable and point.times:
            rows = [(name, time_text(time)) for name, time in point.times.items()]
            views.append(View("Times by Little's law", ("place", "mean"), rows))
        return "".join(f"{view.text(width)}\n" for view in views)


_HEADER = ("mean time", "±", "95%", "99%", "equation 7.1", "busiest", "breaks down at", "lost")


def _cells(point: CapacityPoint) -> list[str]:
    latency, quantiles = point.latency, point.measures.quantiles
    equation = point.equation
    busiest = next(iter(point.utilisation), None)
    return [
        time_text(latency.mean) if latency else "unstable" if not point.is_stable else "",
        f"{latency.relative:.1%}" if latency and 0 < latency.half < math.inf else "",
        *(time_text(quantiles[q]) if latency and q in quantiles else "" for q in (0.95, 0.99)),
        _equation_text(equation),
        f"{busiest} {point.utilisation[busiest]:.0%}" if busiest else "",
        f"{rate_text(point.saturation.rate)}/s" if point.saturation else "",
        f"{point.measures.lost:.1%}" if point.measures.lost > 0 else "",
    ]


def _equation_text(equation: ProcessingTime | None) -> str:
    if equation is None:
        return ""
    return time_text(equation.notified) if math.isfinite(equation.notified) else "∞"
