"""Lanes of the merged stream, and the order of their events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from foretell.events.event import Event
from foretell.events.types import Scalar


@dataclass(frozen=True)
class PlacedEvent:
    """An event with its place: `number` counts within the lane, `position` within the merged stream."""

    event: Event = field(compare=False)
    number: int
    position: int

    @property
    def name(self) -> Scalar:
        return self.number if self.event.name is None else self.event.name


@dataclass(frozen=True)
class Lane:
    """The events of one key of PER, in order."""

    key: Mapping[str, Scalar]
    events: tuple[PlacedEvent, ...]
    simultaneous: bool

    def follows(self, later: PlacedEvent, earlier: PlacedEvent) -> bool:
        """Whether an event comes after another; with simultaneous ties, events of one instant do not."""
        if self.simultaneous:
            return later.event.end > earlier.event.end
        return later.number > earlier.number

    def after(self, earlier: PlacedEvent | None) -> list[PlacedEvent]:
        return [e for e in self.events if earlier is None or self.follows(e, earlier)]

    def between(self, earlier: PlacedEvent, later: PlacedEvent) -> list[PlacedEvent]:
        return [e for e in self.after(earlier) if self.follows(later, e)]


def lanes(events: Iterable[Event], per: tuple[str, ...], simultaneous: bool) -> list[Lane]:
    """The merged stream split by the PER attributes, in the order in which their lanes begin."""
    split: dict[tuple[Scalar, ...], list[PlacedEvent]] = {}
    for position, event in enumerate(events):
        lane = split.setdefault(tuple(event.attributes.get(a) for a in per), [])
        lane.append(PlacedEvent(event, len(lane), position))
    names = [str(attribute) for attribute in per]
    return [Lane(dict(zip(names, key, strict=True)), tuple(placed), simultaneous) for key, placed in split.items()]
