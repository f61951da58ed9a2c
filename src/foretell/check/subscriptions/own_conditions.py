"""The conditions of single steps: those that contradict each other, and those that say nothing new.

All that a condition says of other events, variables and parameters may have any value; so what is found here holds
whatever the match. "cannot tell" gives no finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from foretell.check.answer import Truth
from foretell.check.conditions.domains import opposite_domain, plain_domain
from foretell.check.conditions.own_references import with_bare_references
from foretell.check.conditions.solver import ConditionSolver
from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.check.subscriptions.culprits import Culprit, listed
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.printer import expression_text


def contradiction(step: CheckedStep, solver: ConditionSolver, deadline: Deadline) -> tuple[tree.Expression, ...]:
    """The fewest conditions of a step that contradict each other; none where they do not, or nobody can tell."""
    conditions = step.conditions
    if not conditions or not _impossible(step, conditions, (), solver, deadline):
        return ()
    kept = list(conditions)
    for condition in conditions:
        fewer = [other for other in kept if other is not condition]
        if _impossible(step, fewer, (), solver, deadline):
            kept = fewer
    return tuple(kept)


def _impossible(
    step: CheckedStep,
    holding: Sequence[tree.Expression],
    failing: Sequence[tree.Expression],
    solver: ConditionSolver,
    deadline: Deadline,
) -> bool:
    """Whether it is proved that no event of the step meets some conditions and fails others."""
    asked = with_bare_references(holding, step.name), with_bare_references(failing, step.name)
    return solver.satisfiable(*asked, deadline).truth is Truth.NO


def contradiction_finding(
    statement: CheckedSubscription, step: CheckedStep, conditions: Sequence[tree.Expression], *, never: bool
) -> Finding:
    """The finding about a step whose conditions no event meets. `never` says that the statement needs the step."""
    parts = [Culprit("condition", step.name, expression_text(c), c.place) for c in conditions]
    if len(parts) == 1:
        reason = f"{parts[0].text} is never true"
    else:
        reason = f"{listed(parts)} contradict each other"
    if step.shape.negated:
        message = f"no event can be '{step.name}', so '!{step.name}' forbids nothing: {reason}"
        hint = f"delete '!{step.name}', or correct the conditions of '{step.name}'"
        return Finding("impossible-negation", statement.name, message, parts[-1].place, hint)
    result = f"'{statement.name}' never matches" if never else f"no match binds '{step.name}'"
    message = f"no event can be '{step.name}', so {result}: {reason}"
    return Finding("contradiction", statement.name, message, parts[-1].place, "correct or delete one of them")


def redundant_conditions(
    statement: CheckedSubscription, step: CheckedStep, solver: ConditionSolver, deadline: Deadline
) -> Iterator[Finding]:
    """The conditions that are true wherever the others of the step are."""
    kept = list(step.conditions)
    for condition in reversed(step.conditions):
        others = [other for other in kept if other is not condition]
        related = [other for other in others if _subjects(other) & _subjects(condition)]
        if not _may_follow(condition, related) or _is_plainly_needed(condition, related, statement.attributes):
            continue
        if _impossible(step, related, (condition,), solver, deadline):
            kept = others
            yield _redundant(statement, step, condition, related, solver, deadline)


def _redundant(
    statement: CheckedSubscription,
    step: CheckedStep,
    condition: tree.Expression,
    related: Sequence[tree.Expression],
    solver: ConditionSolver,
    deadline: Deadline,
) -> Finding:
    needed = list(related)
    for other in related:
        fewer = [each for each in needed if each is not other]
        if _impossible(step, fewer, (condition,), solver, deadline):
            needed = fewer
    text = expression_text(condition)
    if not needed:
        message = f"{text} is always true"
    else:
        causes = [Culprit("condition", step.name, expression_text(other), other.place) for other in needed]
        message = f"{text} says nothing new: it follows from {listed(causes)}"
    hint = "delete it, or correct it" if needed else "delete it, or write IS NOT NULL if NULL is meant"
    return Finding("always-true", statement.name, message, condition.place, hint)


def _subjects(condition: tree.Expression) -> frozenset[tree.Expression]:
    """The values that a condition is about."""
    kinds = tree.Attribute | tree.TimeOf | tree.StreamOf | tree.Aggregate | tree.Elapsed | tree.Variable
    return frozenset(node for node in condition.walk() if isinstance(node, kinds))


def _is_plainly_needed(
    condition: tree.Expression, related: Sequence[tree.Expression], kinds: Mapping[str, Type]
) -> bool:
    """Whether it is known without a solver that the others hold for a value for which the condition does not."""
    own, opposite = plain_domain(condition, kinds), opposite_domain(condition, kinds)
    others = [plain_domain(other, kinds) for other in related]
    if own is None or opposite is None or not related:
        return False
    for other in others:
        if other is None or other[0] != own[0]:
            return False
        opposite &= other[1]
    kind = kinds.get(own[0])
    return kind is not None and opposite.has_value(kind) is True


def _may_follow(condition: tree.Expression, related: Sequence[tree.Expression]) -> bool:
    """Whether to ask if a condition follows from others. TRUE and a guard against NULL are meant as they are."""
    match condition:
        case tree.Literal() | tree.IsNull():
            return False
    if related:
        return True
    own = list(condition.walk())
    compared = any(isinstance(n, tree.IsNull | tree.Case) or _combines(n) for n in own)
    return compared or not _subjects(condition)


def _combines(node: tree.Node) -> bool:
    match node:
        case tree.Binary(operator="AND" | "OR") | tree.Unary(operator="NOT"):
            return True
        case tree.Call(function="coalesce"):
            return True
        case tree.Binary(left=left, right=right):
            return left == right
    return False
