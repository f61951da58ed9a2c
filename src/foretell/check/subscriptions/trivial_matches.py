"""Statements that notify on every event."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from foretell.check.answer import Truth
from foretell.check.conditions.own_references import with_bare_references
from foretell.check.conditions.solver import ConditionSolver, is_about_one_event
from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.check.replay import replayed
from foretell.check.witness import Witness
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStep, CheckedSubscription


def trivial_finding(
    statement: CheckedSubscription, program: CheckedProgram, solver: ConditionSolver, deadline: Deadline
) -> Finding | None:
    """The finding about a pattern of one event whose conditions every event meets.

    A step without any condition is meant to accept everything.
    """
    pattern = statement.pattern
    branches = pattern.branches if isinstance(pattern, tree.Alternation) else (pattern,)
    names = [str(branch.name) for branch in branches if isinstance(branch, tree.Step)]
    steps = [statement.steps[name] for name in names]
    if len(names) < len(branches) or statement.tree.having is not None or any(step.binders for step in steps):
        return None
    conditions = [c for step in steps for c in with_bare_references(step.conditions, step.name)]
    if not all(step.conditions for step in steps) or not all(map(is_about_one_event, conditions)):
        return None
    if not any(map(_may_be_true_of_nulls, conditions)):
        return None
    whole = reduce(lambda left, right: tree.Binary("OR", left, right), map(_conjunction, steps))
    if solver.satisfiable((), (whole,), deadline).truth is not Truth.NO:
        return None
    event = solver.satisfiable((whole,), (), deadline).event
    witness = None if event is None else Witness((event,))
    if witness is not None and not replayed(solver.statement, program, witness):
        witness = None
    message = f"'{statement.name}' notifies on every event: its conditions are always true"
    return Finding("trivial", statement.name, message, conditions[0].place, "correct the conditions", witness)


def _may_be_true_of_nulls(condition: tree.Expression) -> bool:
    """Whether a condition may hold of an event without values: a comparison with NULL does not."""
    never_null = tree.IsNull | tree.Case | tree.Call | tree.TimeOf | tree.StreamOf | tree.Literal
    return any(isinstance(node, never_null) for node in _outside_of_comparisons(condition))


def _outside_of_comparisons(condition: tree.Expression) -> Iterator[tree.Node]:
    """The parts of a condition without constants that are compared with attributes."""
    for node in condition.walk():
        match node:
            case tree.Literal() if node is not condition:
                continue
        yield node


def _conjunction(step: CheckedStep) -> tree.Expression:
    own = with_bare_references(step.conditions, step.name)
    return reduce(lambda left, right: tree.Binary("AND", left, right), own)
