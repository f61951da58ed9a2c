"""The confirmation of a match by the reference evaluator.

As a rule it runs the whole statement on the events. It tries every combination of them, so for many events beside each
other it judges only the match that was found: its conditions, variables, WITHIN, negations and HAVING.
"""

from __future__ import annotations

from collections.abc import Mapping

from foretell.check.replay import event_of, holding, reference_row, replayed
from foretell.check.subscriptions.paths import (
    CountedStep,
    LeadingNegation,
    PathConstraint,
    PathTransition,
    PatternPath,
    Slot,
    Slots,
    TrailingNegation,
)
from foretell.check.witness import Witness
from foretell.events.types import Scalar, Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.records import record
from foretell.reference.derived_attributes import with_derived
from foretell.reference.lane import PlacedEvent, lanes
from foretell.reference.matches import ReferenceMatcher
from foretell.reference.occurrences import (
    Binding,
    Constraint,
    IndexedCount,
    NoneAfter,
    NoneBefore,
    NoneBetween,
    Occurrence,
)

#: The combinations that the reference evaluator may try, and the events of a match that it tries to find.
MOST_COMBINATIONS, MOST_REPLAYED = 3_000, 9


@record
class Confirmation:
    """The statement, with the row of its FOR EACH table and the types of its columns."""

    statement: CheckedSubscription
    program: CheckedProgram
    row: Mapping[str, Scalar]
    kinds: Mapping[str, Type]

    def confirms(self, path: PatternPath, witness: Witness) -> bool:
        """Whether a match on the events binds the steps of the path."""
        if is_costly(self.statement, len(path.slots)):
            return self._confirms_alone(path, witness)
        return self.binds(witness, path.steps)

    def binds(self, witness: Witness, steps: frozenset[str]) -> bool:
        """Whether a match on the events binds these steps, by a run of the statement."""
        notified = replayed(holding(self.statement), self.program, witness, self.row, self.kinds)
        return any(all(n.events.get(step) is not None for step in steps) for n in notified)

    def _confirms_alone(self, path: PatternPath, witness: Witness) -> bool:
        if any(isinstance(c, PathTransition) and isinstance(c.operator, tree.FirstWhere) for c in path.constraints):
            return False
        events = []
        for arrival, event in enumerate(witness.events):
            events += with_derived([event_of(event, self.program, arrival)], self.program, event.stream)
        (lane, *others) = lanes(events, self.statement.tree.per, self.statement.simultaneous)
        if others:
            return False
        placed = dict(zip(path.slots, lane.events, strict=True))
        now = witness.events[-1].time if witness.until is None else witness.until
        matcher = ReferenceMatcher(self.statement, lane, now, reference_row(self.row, self.kinds))
        bound = tuple(Binding(slot.step, placed[slot]) for slot in path.bound)
        constraints = tuple(found for c in path.constraints for found in _constraints(c, placed))
        match = matcher.match_of(Occurrence(bound, constraints))
        return match is not None and match.broken is None


def is_costly(statement: CheckedSubscription, events: int) -> bool:
    """Whether there are too many combinations of the events to try."""
    conjunctions = [node for node in statement.pattern.walk() if isinstance(node, tree.Conjunction)]
    sides = sum(len(node.sides) for node in conjunctions)
    return events > MOST_REPLAYED or (sides > 0 and events**sides > MOST_COMBINATIONS)


def _constraints(constraint: PathConstraint, placed: Mapping[Slot, PlacedEvent]) -> list[Constraint]:
    match constraint:
        case PathTransition(absent=absent, before=before, following=following):
            last, first = _last(before, placed), min((placed[s] for s in following), key=lambda at: at.number)
            return [NoneBetween(step, last, first) for step in absent]
        case LeadingNegation(step=step):
            return [NoneBefore(step)]
        case TrailingNegation(step=step):
            return [NoneAfter(step)]
        case CountedStep(step=step, index=index, at=at, before=before):
            return [IndexedCount(step, index, placed[at], _last(before, placed) if before else None)]
    raise AssertionError(constraint)


def _last(slots: Slots, placed: Mapping[Slot, PlacedEvent]) -> PlacedEvent:
    return max((placed[slot] for slot in slots), key=lambda at: at.number)
