"""The events and values that a condition refers to, as symbols. It mirrors the frame of the reference evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from foretell.check.conditions.event_model import SymbolicEvent
from foretell.check.conditions.values import SqlValue
from foretell.language import tree
from foretell.records import record


def _nothing(_: str) -> Sequence[SymbolicEvent]:
    return ()


@record
class SymbolicFrame:
    """`seen` gives the events of a step that a reference sees, `before` those that an aggregate ranges over.
    `open_value` gives a value for what the frame does not decide: aggregates and `duration` of an unknown match.
    """

    this: SymbolicEvent | None = None
    previous: SymbolicEvent | None = None
    first: SymbolicEvent | None = None
    last: SymbolicEvent | None = None
    seen: Callable[[str], Sequence[SymbolicEvent]] = _nothing
    before: Callable[[str], Sequence[SymbolicEvent]] = _nothing
    variables: Mapping[str, SqlValue] = field(default_factory=dict)
    parameters: Mapping[str, SqlValue] = field(default_factory=dict)
    open_value: Callable[[tree.Expression], SqlValue] | None = None

    def event(self, reference: tree.EventReference) -> SymbolicEvent | None:
        match reference:
            case tree.This():
                return self.this
            case tree.Previous():
                return self.previous
            case tree.FirstOf(step=step):
                return next(iter(self.seen(str(step))), None)
            case tree.BoundEvent(step=step) | tree.LastOf(step=step):
                return next(reversed(self.seen(str(step))), None)
        raise AssertionError(reference)
