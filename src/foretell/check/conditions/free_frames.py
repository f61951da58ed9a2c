"""A frame of one event in a match of which nothing is known: all else that a condition names may have any value.

Equal references give equal values, so that what two conditions say of the same step is comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foretell.check.conditions.encoder import Encoder
from foretell.check.conditions.event_model import SymbolicEvent
from foretell.check.conditions.frames import SymbolicFrame
from foretell.check.conditions.values import NULL, SqlValue
from foretell.events.types import Type
from foretell.language import tree


class FreeFrames:
    """Frames that share the events and values of one unknown match."""

    def __init__(self, encoder: Encoder, variables: Mapping[str, Type], parameters: Mapping[str, Type]) -> None:
        self._encoder = encoder
        self._events: dict[str, SymbolicEvent] = {}
        self._values: dict[tree.Expression, SqlValue] = {}
        self._variables = {name: self._named(f"${name}", kind) for name, kind in variables.items()}
        self._parameters = {name: self._named(f":{name}", kind) for name, kind in parameters.items()}
        self.this = self.event("this")

    def frame(self, names: Mapping[str, str] | None = None) -> SymbolicFrame:
        """The frame of a condition whose steps have other names."""
        renamed = names or {}

        def seen(step: str) -> Sequence[SymbolicEvent]:
            name = renamed.get(step, step)
            return self.event(f"first {name}"), self.event(f"last {name}")

        return SymbolicFrame(
            this=self.this,
            previous=self.event("prev"),
            seen=seen,
            variables=self._variables,
            parameters=self._parameters,
            open_value=lambda expression: self._open_value(_with_names(expression, renamed)),
        )

    def event(self, name: str) -> SymbolicEvent:
        if name not in self._events:
            self._events[name] = SymbolicEvent(name, self._encoder.model, self._encoder.facts)
        return self._events[name]

    def _named(self, name: str, kind: Type) -> SqlValue:
        return NULL if kind is Type.NULL else self._encoder.unknown(kind)

    def _open_value(self, expression: tree.Expression) -> SqlValue:
        if expression not in self._values:
            self._values[expression] = self._encoder.unknown(self._kind(expression))
        return self._values[expression]

    def _kind(self, expression: tree.Expression) -> Type:
        match expression:
            case tree.Elapsed():
                return self._encoder.model.length
            case tree.Aggregate(function="count"):
                return Type.INT
            case tree.Aggregate(function="min" | "max" | "sum", attribute=str(name)):
                return self._encoder.model.types.get(name, Type.FLOAT)
        return Type.FLOAT


def _with_names(expression: tree.Expression, names: Mapping[str, str]) -> tree.Expression:
    if isinstance(expression, tree.Aggregate):
        step = str(expression.step)
        return tree.Aggregate(expression.function, names.get(step, step), expression.attribute)
    return expression
