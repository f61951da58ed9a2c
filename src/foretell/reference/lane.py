"""One lane of the merged stream, and what follows what in it (LANGUAGE section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from foretell.events.event import Event
from foretell.events.types import Scalar


@dataclass(frozen=True)
class Placed:
    """An event at its place: `number` counts within the lane, `position` within the merged stream."""

    event: Event = field(compare=False)
    number: int
    position: int

    @property
    def name(self) -> Scalar:
        return self.number if self.event.name is None else self.event.name


@dataclass(frozen=True)
class Lane:
    key: Mapping[str, Scalar]
    events: tuple[Placed, ...]
    simultaneous: bool

    def follows(self, later: Placed, earlier: Placed) -> bool:
        """Events of one instant do not follow one another where ties are simultaneous."""
        if self.simultaneous:
            return later.event.end > earlier.event.end
        return later.number > earlier.number

    def after(self, earlier: Placed | None) -> list[Placed]:
        return [e for e in self.events if earlier is None or self.follows(e, earlier)]

    def between(self, earlier: Placed, later: Placed) -> list[Placed]:
        return [e for e in self.after(earlier) if self.follows(later, e)]


def lanes(events: Iterable[Event], per: tuple[str, ...], simultaneous: bool) -> list[Lane]:
    """The merged stream split by the PER attributes, in the order in which their lanes begin."""
    split: dict[tuple[Scalar, ...], list[Placed]] = {}
    for position, event in enumerate(events):
        lane = split.setdefault(tuple(event.attributes.get(a) for a in per), [])
        lane.append(Placed(event, len(lane), position))
    names = [str(attribute) for attribute in per]
    return [Lane(dict(zip(names, key, strict=True)), tuple(some), simultaneous) for key, some in split.items()]
