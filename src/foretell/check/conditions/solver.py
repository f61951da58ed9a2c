"""Questions about conditions: is there an event that meets them, and does one follow from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from foretell.check.answer import Truth
from foretell.check.conditions.assumed_types import parameter_types, with_assumed_types
from foretell.check.conditions.event_model import EventModel
from foretell.check.conditions.free_frames import FreeFrames
from foretell.check.conditions.model_values import ModelValues, values_of
from foretell.check.conditions.query import Labelled, Outcome, Query
from foretell.check.conditions.values import negation
from foretell.check.deadline import Deadline
from foretell.check.witness import WitnessEvent
from foretell.events.event import Event, base_key
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.records import record
from foretell.reference.derived_attributes import with_derived
from foretell.reference.expressions import Frame, holds

#: References that need more than one event.
_MATCH = tree.Previous, tree.BoundEvent, tree.FirstOf, tree.LastOf, tree.Aggregate, tree.Elapsed, tree.Variable


@record
class EventAnswer:
    """Whether there is an event that meets conditions; where there is, one that the reference evaluator confirmed."""

    truth: Truth
    reason: str = ""
    event: WitnessEvent | None = None


def is_about_one_event(condition: tree.Expression) -> bool:
    """Whether a condition names nothing but the event being tried."""
    return not any(isinstance(node, (*_MATCH, tree.Parameter)) for node in condition.walk())


class ConditionSolver:
    """Answers questions about conditions on the events of one statement, and remembers the answers.

    "Holds" means true, "fails" means not true: false or NULL. A YES of `satisfiable` has an event, a NO of
    `satisfiable` and a YES of `implies` are proofs.
    """

    def __init__(self, statement: CheckedStatement, program: CheckedProgram) -> None:
        self.statement = with_assumed_types(statement)
        self.program = program
        self.model = EventModel.of(self.statement, program)
        self._parameters = parameter_types(statement)
        self._answers: dict[object, EventAnswer] = {}

    def satisfiable(
        self, holding: Sequence[tree.Expression], failing: Sequence[tree.Expression], deadline: Deadline
    ) -> EventAnswer:
        """Whether there is one event for which some conditions are true, and others are not.

        What the conditions say of other events, variables and parameters is left open: then YES needs a match to
        confirm it, and the answer is NO or "cannot tell".
        """
        key = frozenset(holding), frozenset(failing)
        known = self._answers.get(key)
        if known is None:
            known = self._satisfiable(holding, failing, deadline)
            if known.truth is not Truth.UNKNOWN:
                self._answers[key] = known
        return known

    def implies(
        self,
        condition: tree.Expression,
        consequence: tree.Expression,
        deadline: Deadline,
        names: Mapping[str, str] | None = None,
    ) -> Truth:
        """Whether the consequence is true of an event whenever the condition is.

        `names` are the names in the condition of the steps that the consequence names. All that the two say of
        other events has any value, the same in both.
        """
        query, frames = self._query((condition, consequence))
        parts = [
            Labelled(condition, query.encoder.holds(condition, frames.frame())),
            Labelled(consequence, negation(query.encoder.holds(consequence, frames.frame(names)))),
        ]
        outcome = query.outcome(parts, deadline)
        if outcome is Outcome.UNSATISFIABLE:
            return Truth.YES
        if names or not (is_about_one_event(condition) and is_about_one_event(consequence)):
            return Truth.UNKNOWN
        answer = self.satisfiable((condition,), (consequence,), deadline)
        return {Truth.YES: Truth.NO, Truth.NO: Truth.YES}.get(answer.truth, Truth.UNKNOWN)

    def _query(self, conditions: Sequence[tree.Expression]) -> tuple[Query, FreeFrames]:
        query = Query(self.model, conditions)
        variables = self.statement.variables if isinstance(self.statement, CheckedSubscription) else {}
        kinds = {name: Type.FLOAT if kind is Type.UNKNOWN else kind for name, kind in variables.items()}
        return query, FreeFrames(query.encoder, kinds, self._parameters)

    def _satisfiable(
        self, holding: Sequence[tree.Expression], failing: Sequence[tree.Expression], deadline: Deadline
    ) -> EventAnswer:
        query, frames = self._query((*holding, *failing))
        frame = frames.frame()
        parts = [Labelled(c, query.encoder.holds(c, frame)) for c in holding]
        parts += [Labelled(c, negation(query.encoder.holds(c, frame))) for c in failing]
        if not all(map(is_about_one_event, (*holding, *failing))):
            if query.outcome(parts, deadline) is Outcome.UNSATISFIABLE:
                return EventAnswer(Truth.NO)
            return EventAnswer(Truth.UNKNOWN, "the conditions name other events")
        for model in query.models(parts, deadline, simple=True):
            values = ModelValues(model, query.texts, values_of([frames.this]))
            event = values.event(frames.this)
            if self._confirms(event, holding, failing):
                return EventAnswer(Truth.YES, "", event)
        if query.refuted:
            return EventAnswer(Truth.NO)
        return EventAnswer(Truth.UNKNOWN, _reason(query, deadline))

    def _confirms(
        self, witness: WitnessEvent, holding: Sequence[tree.Expression], failing: Sequence[tree.Expression]
    ) -> bool:
        time = witness.time
        event = Event(witness.stream, witness.attributes, time, time, base_key(time, None, 0, 0))
        (event,) = with_derived([event], self.program, witness.stream)
        frame = Frame(self.statement.attributes, self.statement.time, this=event)
        return all(holds(c, frame) for c in holding) and not any(holds(c, frame) for c in failing)


def _reason(query: Query, deadline: Deadline) -> str:
    if deadline.is_over:
        return "time is over"
    if query.facts.notes:
        return f"no event was found by trial; unknown to the solver: {', '.join(query.facts.notes)}"
    return "the solver gave up"
