"""The events of a model of z3, as the reference evaluator takes them."""

from __future__ import annotations

from collections.abc import Iterable

import z3

from foretell.check.conditions.event_model import SymbolicEvent
from foretell.check.conditions.texts import TextTheory
from foretell.check.conditions.values import SqlValue, Term
from foretell.check.witness import WitnessEvent
from foretell.events.types import Scalar, Type


class ModelValues:
    """The values that a model gives to symbols."""

    def __init__(self, model: z3.ModelRef, texts: TextTheory, values: Iterable[SqlValue]) -> None:
        self._model = model
        found = (self._term(v.value) for v in values if v.kind is Type.STRING and not self._holds(v.null))
        self._texts = texts.decoded(found)

    def scalar(self, found: SqlValue) -> Scalar:
        """A value; timestamps are microseconds."""
        if found.kind is Type.NULL or self._holds(found.null):
            return None
        term = self._term(found.value)
        if found.kind is Type.STRING:
            return self._texts[term]
        if found.kind is Type.BOOL:
            return bool(z3.is_true(term))
        return self.number(found.value, found.kind)

    def number(self, term: Term, kind: Type) -> int | float:
        value = self._term(term)
        if kind is not Type.FLOAT:
            return int(value.as_long())
        if z3.is_algebraic_value(value):
            value = value.approx(20)
        try:
            return float(value.as_fraction())
        except OverflowError:
            return float("inf") if value.as_fraction() > 0 else float("-inf")

    def event(self, event: SymbolicEvent) -> WitnessEvent:
        """An event with the attributes that conditions name, and those of the lane."""
        number = self._term(event.stream).as_long()
        source = event.model.sources[number]
        attributes = {name: self.scalar(value) for name, value in {**event.lane, **event.attributes}.items()}
        own = {
            name: value
            for name, value in attributes.items()
            if name not in source.lets and (source.attributes is None or name in source.attributes)
        }
        time = self.number(event.end, event.model.time)
        if source.time is not None:
            own[source.time] = time
        start = self.number(event.start, event.model.time) if source.is_derived else time
        return WitnessEvent(source.name, time, own, None if start == time else start)

    def _term(self, term: Term) -> Term:
        return self._model.eval(term, model_completion=True)

    def _holds(self, formula: z3.BoolRef) -> bool:
        return bool(z3.is_true(self._model.eval(formula, model_completion=True)))


def values_of(events: Iterable[SymbolicEvent]) -> list[SqlValue]:
    """All values of some events."""
    return [value for event in events for value in (*event.lane.values(), *event.attributes.values())]
