"""The frames of a match on a path: the events and values that each condition sees, as in the reference evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from foretell.check.conditions.encoder import Encoder
from foretell.check.conditions.event_model import SymbolicEvent
from foretell.check.conditions.frames import SymbolicFrame
from foretell.check.conditions.values import SqlValue
from foretell.check.subscriptions.paths import PatternPath, RepetitionGap, Slot, Slots
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.records import record


@record
class PlacedStep:
    """An event of a step at a place of the path. Events of gaps have places between those of others."""

    place: float
    step: str
    event: SymbolicEvent


class MatchFrames:
    """The events of a path as symbols, and the frames in which its conditions are judged."""

    def __init__(self, statement: CheckedSubscription, path: PatternPath, encoder: Encoder) -> None:
        self._statement = statement
        self._path = path
        self._encoder = encoder
        self._lane: dict[str, SqlValue] = {}
        self._places = {slot: place for place, slot in enumerate(path.slots)}
        self.events = {slot: self._event(f"{slot.step} {place}") for slot, place in self._places.items()}
        own = [PlacedStep(self._places[slot], slot.step, self.events[slot]) for slot in path.bound]
        unknown = [found for gap in path.gaps for found in self._gap(gap)]
        self._bound = sorted((*own, *unknown), key=lambda placed: placed.place)
        parallel = any(isinstance(node, tree.Conjunction) for node in statement.pattern.walk())
        #: Beside a gap in a side of `&` any event may come just before another.
        self._mixed = bool(path.gaps) and parallel
        self.variables: Mapping[str, SqlValue] = {}
        self.parameters: Mapping[str, SqlValue] = {}

    def _event(self, name: str, *, free: bool = False) -> SymbolicEvent:
        return SymbolicEvent(name, self._encoder.model, self._encoder.facts, self._lane, free=free)

    def _gap(self, gap: RepetitionGap) -> list[PlacedStep]:
        place = max((self._places[slot] for slot in gap.before), default=-1.0) + 0.5
        return [PlacedStep(place, step, self._event(f"{step} {place}", free=True)) for step in sorted(gap.steps)]

    def place(self, slot: Slot) -> int:
        return self._places[slot]

    def last_of(self, slots: Slots) -> Slot:
        return max(slots, key=self.place)

    def first_of(self, slots: Slots) -> Slot:
        return min(slots, key=self.place)

    def between(self, after: Slot, before: Slot) -> Slots:
        """The events at places between two others."""
        return self._path.slots[self.place(after) + 1 : self.place(before)]

    # ── frames ──

    def whole(self) -> SymbolicFrame:
        """The frame of HAVING."""
        bound = self._path.bound
        return SymbolicFrame(
            first=self.events[self.first_of(bound)],
            last=self.events[self.last_of(bound)],
            seen=self._all_of,
            before=self._all_of,
            variables=self.variables,
            parameters=self.parameters,
        )

    def of_step(self, slot: Slot) -> SymbolicFrame:
        """The frame of a condition of a bound step."""
        own, this = self.place(slot), self.events[slot]
        earlier = [placed for placed in self._bound if placed.place < own]
        return replace(
            self.whole(),
            this=this,
            previous=self._previous(earlier),
            first=earlier[0].event if earlier else this,
            last=this,
            seen=self._seen(slot.step, own, (this,)),
            before=self._seen(slot.step, own, ()),
        )

    def of_trial(self, slot: Slot, step: str) -> SymbolicFrame:
        """The frame of an event tried for a[i]: as if it were bound to the step, whose own event counts no more."""
        own, this = self.place(slot), self.events[slot]
        trial = [p for p in self._bound if p.step != step]
        earlier = [placed for placed in trial if placed.place < own]

        def seen(name: str) -> Sequence[SymbolicEvent]:
            return (this,) if name == step else self._all_of(name)

        return replace(
            self.whole(),
            this=this,
            previous=self._previous(earlier),
            first=earlier[0].event if earlier else this,
            last=this,
            seen=seen,
            before=seen,
        )

    def of_negation(self, slot: Slot, step: str, after: Slot | None, until: Slot) -> SymbolicFrame:
        """The frame of an event tried for a negated step."""
        this, seen_before = self.events[slot], self._seen(step, self.place(until), ())

        def seen(name: str) -> Sequence[SymbolicEvent]:
            return (this,) if name == step else seen_before(name)

        previous = None if after is None else self._beside_gap(after)
        last = None if after is None else this
        return replace(self.whole(), this=this, previous=previous, last=last, seen=seen, before=seen)

    def of_operator(self, slot: Slot, before: Slots) -> SymbolicFrame:
        """The frame of the θ of an operator, which sees the events bound before, and the event that it is about."""
        last = self.last_of(before)
        bound = [p for p in self._bound if p.event.free or p.event in {self.events[b] for b in before}]
        known = [p for p in bound if p.place <= self.place(last)]

        def seen(name: str) -> Sequence[SymbolicEvent]:
            return tuple(p.event for p in known if p.step == name)

        return replace(
            self.whole(),
            this=self.events[slot],
            previous=self._beside_gap(last),
            first=self.events[self.first_of(before)],
            last=self.events[last],
            seen=seen,
            before=seen,
        )

    def _previous(self, earlier: Sequence[PlacedStep]) -> SymbolicEvent | None:
        if earlier and self._mixed:
            return self._event("previous", free=True)
        return earlier[-1].event if earlier else None

    def _beside_gap(self, slot: Slot) -> SymbolicEvent:
        return self._event("previous", free=True) if self._mixed else self.events[slot]

    def _all_of(self, step: str) -> Sequence[SymbolicEvent]:
        return tuple(placed.event for placed in self._bound if placed.step == step)

    def _seen(self, own: str, until: int, this: tuple[SymbolicEvent, ...]) -> Callable[[str], Sequence[SymbolicEvent]]:
        """The events of a step as the condition of `own` sees them (decision 0002, item 14)."""
        steps = self._statement.steps

        def events(step: str) -> Sequence[SymbolicEvent]:
            if step == own and not steps[own].shape.repeated:
                # Not of a negated step: its event is none of the match.
                return tuple(p.event for p in self._bound if p.step == own) if this == () else this
            found = [placed for placed in self._bound if placed.step == step]
            if step == own:
                return (*(p.event for p in found if p.place < until), *this)
            if steps[step].shape.loops & steps[own].shape.loops:
                found = [placed for placed in found if placed.place <= until]
            return tuple(placed.event for placed in found)

        return events
