"""Trials of two subscriptions whose conditions compare events: short streams with random values, until one shows a
difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from foretell.check.automata.alphabet import Example
from foretell.check.automata.event_conditions import constants_of
from foretell.check.automata.event_scope import EventScope
from foretell.check.automata.trial import notified_events, time_step, witness_of
from foretell.check.deadline import Deadline
from foretell.check.witness import Witness
from foretell.events.types import Scalar, Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription

#: The streams that are tried, and their least and greatest number of events.
_TRIALS = 60
_LENGTHS = (1, 6)

_VALUES: dict[Type, tuple[Scalar, ...]] = {
    Type.BOOL: (False, True),
    Type.INT: (0, 1, 2, 5),
    Type.TIMESTAMP: (0, 1_000_000),
    Type.STRING: ("a", "b", "c"),
}


class ValueTrials:
    """Streams of examples of letters, in which the attributes that conditions name have random values."""

    def __init__(
        self, statements: Sequence[CheckedSubscription], programs: Sequence[CheckedProgram], scope: EventScope
    ) -> None:
        self._statements, self._programs, self._scope = statements, programs, scope
        conditions = [c for statement in statements for c in _expressions(statement)]
        named = {str(n.name) for c in conditions for n in c.walk() if isinstance(n, tree.Attribute)}
        self._constants = [constant for condition in conditions for constant in constants_of(condition)]
        self._values = {name: self._values_of(name) for name in sorted(named - scope.bound_together)}

    def difference(self, examples: Sequence[Example], deadline: Deadline) -> Witness | None:
        """Events at the last of which the first statement notifies and the second does not."""
        chance = Random(0)
        low, high = _LENGTHS
        for number in range(_TRIALS):
            if deadline.is_over or not examples:
                return None
            length = low + number * (high - low) // _TRIALS
            found = self._tried([self._changed(chance.choice(examples), chance) for _ in range(length + 1)])
            if found is not None:
                return found
        return None

    def _tried(self, examples: Sequence[Example]) -> Witness | None:
        step = time_step(self._scope, len(examples), self._statements[0].within)
        witness = witness_of(examples, self._scope, [number * step for number in range(len(examples))])
        last = min(self._differences(witness), default=None)
        return None if last is None else self._shortened(Witness(witness.events[: last + 1]))

    def _differences(self, witness: Witness) -> frozenset[int]:
        ours, theirs = (
            notified_events(statement, program, witness)
            for statement, program in zip(self._statements, self._programs, strict=True)
        )
        return ours - theirs

    def _shortened(self, witness: Witness) -> Witness:
        """Without the events that the difference at the last one does not need."""
        place = 0
        while place < len(witness.events) - 1:
            shorter = Witness(witness.events[:place] + witness.events[place + 1 :])
            if len(shorter.events) - 1 in self._differences(shorter):
                witness = shorter
            else:
                place += 1
        return witness

    def _changed(self, example: Example, chance: Random) -> Example:
        """The event with half of its values, and others."""
        values = {name: chance.choice(values) for name, values in self._values.items() if chance.random() < 0.5}
        source = next(source for source in self._scope.sources if source.name == example.stream)
        return replace(example, attributes={**example.attributes, **{n: v for n, v in values.items() if source.has(n)}})

    def _values_of(self, name: str) -> tuple[Scalar, ...]:
        kind = self._scope.types.get(name, Type.UNKNOWN)
        if kind is Type.STRING:
            texts = [constant for constant in self._constants if isinstance(constant, str)]
            return (*_VALUES[kind], *dict.fromkeys(texts))[:8]
        numbers = [c for c in self._constants if isinstance(c, int | float) and not isinstance(c, bool)]
        if kind in (Type.FLOAT, Type.UNKNOWN):
            near = (value for number in numbers for value in (float(number), number + 1.0))
            return (0.0, 1.0, 2.0, *dict.fromkeys(near))[:10]
        if kind is Type.INT:
            return (*_VALUES[kind], *dict.fromkeys(int(n) + more for n in numbers for more in (0, 1)))[:10]
        return _VALUES.get(kind, (None,))


def _expressions(statement: CheckedSubscription) -> Iterator[tree.Expression]:
    for step in statement.steps.values():
        yield from step.conditions
        yield from (value for _, value in step.binders)
    yield from (n.condition for n in statement.pattern.walk() if isinstance(n, tree.FirstWhere))
    if statement.tree.having is not None:
        yield statement.tree.having
