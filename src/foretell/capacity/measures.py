"""The measures of a net in its steady state, however they were found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from foretell.capacity.net.petri_net import Ending, PetriNet
from foretell.records import record


@record
class Measured:
    """A mean, and half the width of its confidence interval (0 where it is exact)."""

    mean: float
    half: float = 0.0

    @property
    def relative(self) -> float:
        """Half the width as a share of the mean."""
        return self.half / abs(self.mean) if self.mean else (0.0 if self.half == 0 else math.inf)


@record
class TokenGrowth:
    """A place whose tokens grow without bound, by so many a second."""

    place: str
    rate: float


@record
class NetMeasures:
    """Mean tokens of places, firings a second and busy servers of transitions, and the time from event to notification.

    `quantiles` are of that time. `growth` is there where the net has no steady state; the other measures are then those
    of the time that was simulated. `precise` says whether the wished precision was reached.
    """

    net: PetriNet
    method: str
    tokens: Mapping[str, Measured]
    throughput: Mapping[str, Measured]
    busy: Mapping[str, Measured]
    latency: Measured | None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    growth: TokenGrowth | None = None
    precise: bool = True
    firings: int = 0

    @property
    def created(self) -> float:
        """Events a second that occur and enter the net."""
        return sum(self.throughput[name].mean * self._events_out(name) for name in self.net.sources)

    def ended(self, *endings: Ending) -> float:
        """Tokens of events a second whose way ends in one of these ways; in any, if none is given."""
        names = [name for each in endings or Ending for name in self.net.endings(each)]
        return sum(self.throughput[name].mean * self._events_in(name) for name in names)

    @property
    def lost(self) -> float:
        """The share of the events that are lost."""
        return self.ended(Ending.LOST) / self.created if self.created else 0.0

    def utilisation(self, station: str) -> float:
        """The share of a station's servers that are busy."""
        found = self.net.stations[station]
        return sum(self.busy[name].mean for name in found.transitions) / found.servers

    def flow(self, station: str) -> float:
        """The services of a station in a second."""
        return sum(self.throughput[name].mean for name in self.net.stations[station].transitions)

    @property
    def busiest(self) -> str | None:
        """The station with the highest utilisation; None in a net without."""
        return max(self.net.stations, key=self.utilisation, default=None)

    def time_in(self, place: str) -> float | None:
        """The mean time of an event in a place, by Little's law; None where no event comes."""
        transitions = self.net.transitions.items()
        flow = sum(self.throughput[name].mean * each.inputs.get(place, 0) for name, each in transitions)
        return self.tokens[place].mean / flow if flow else None

    def _events_in(self, transition: str) -> int:
        return sum(self.net.transitions[transition].inputs.get(place, 0) for place in self.net.events)

    def _events_out(self, transition: str) -> int:
        return sum(self.net.transitions[transition].outputs.get(place, 0) for place in self.net.events)
