"""Negations that can never take effect: no event between the others of a match meets the negated step's conditions."""

from __future__ import annotations

from foretell.check.conditions.assumed_types import with_assumed_types
from foretell.check.conditions.event_model import EventModel
from foretell.check.conditions.query import Labelled, Outcome
from foretell.check.conditions.solver import is_about_one_event
from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.check.subscriptions.culprits import culprits, listed
from foretell.check.subscriptions.match_formulas import MatchFormulas, Origin
from foretell.check.subscriptions.paths import PathSearch, PathTransition, PatternPath, Slot
from foretell.language.checked import CheckedProgram, CheckedStep, CheckedSubscription

#: The paths that are tried for one negation.
MOST_TRIED = 20


def impossible_negation(
    statement: CheckedSubscription, program: CheckedProgram, step: CheckedStep, deadline: Deadline
) -> Finding | None:
    """The finding about a negation between two parts that no event can break; None where one can, or nobody can tell.

    Of each match there is, an event in the gap would have to meet conditions that contradict those of the match.
    """
    if all(map(is_about_one_event, step.conditions)):
        return None  # its own conditions alone decide, see `own_conditions`
    typed = with_assumed_types(statement)
    model = EventModel.of(typed, program)
    cores = []
    for number, path in enumerate(PathSearch().paths(typed.pattern, None)):
        ways = [c for c in path.constraints if isinstance(c, PathTransition) and step.name in c.absent]
        if number >= MOST_TRIED or path.gaps or deadline.is_over:
            return None
        if _has_edge(path, step.name):
            return None
        for way in ways:
            core = _core(typed, model, path, way, step, deadline)
            if core is None:
                return None
            cores.append(core)
    if not cores:
        return None
    found = culprits(cores)
    message = f"no event can be '{step.name}', so '!{step.name}' forbids nothing: {listed(found)} contradict each other"
    hint = f"delete '!{step.name}', or correct the conditions of '{step.name}'"
    return Finding("impossible-negation", statement.name, message, step.shape.place, hint)


def _has_edge(path: PatternPath, step: str) -> bool:
    return any(getattr(c, "step", None) == step for c in path.constraints)


def _core(
    statement: CheckedSubscription,
    model: EventModel,
    path: PatternPath,
    way: PathTransition,
    step: CheckedStep,
    deadline: Deadline,
) -> tuple[Labelled, ...] | None:
    """The conditions that no event in a gap can meet, together with those of a match; None where one may."""
    places = {slot: place for place, slot in enumerate(path.slots)}
    place = places[max(way.before, key=places.__getitem__)] + 1
    trial = Slot(step.name, counted=True)
    longer = PatternPath((*path.slots[:place], trial, *path.slots[place:]), ())
    formulas = MatchFormulas(statement, model, longer)
    last = max(way.before, key=places.__getitem__)
    first = min(way.following, key=places.__getitem__)
    frame = formulas.frames.of_negation(trial, step.name, last, first)
    parts = list(formulas.parts)
    for condition in step.conditions:
        origin = Origin("condition", step.name, condition, condition.place)
        parts.append(Labelled(origin, formulas.query.encoder.holds(condition, frame)))
    if formulas.query.outcome(parts, deadline) is not Outcome.UNSATISFIABLE:
        return None
    return formulas.query.smallest_core(parts, deadline)
