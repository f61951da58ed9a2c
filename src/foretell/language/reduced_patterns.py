"""Patterns without the steps that were lost (AYAC sections 2 and 3), and the places of a pattern in its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise

from foretell.events.delays.pattern_gaps import PatternPlace
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.loss_rates import not_passed_over


def places(subscription: CheckedSubscription) -> tuple[PatternPlace, ...]:
    """The places of a sequence of single steps, in order."""
    loss, found = subscription.loss, list[PatternPlace]()
    last: str | None = None
    for part in pattern_parts(subscription):
        name = step_name(part)
        found += [PatternPlace(n.step.name, True, loss[n.step.name], last, name) for n in part.absent]
        if (passing := not_passed_over(part)) is not None:
            found.append(PatternPlace(passing, True, loss.get(passing, 0.0), last, name, operator=True))
        found.append(PatternPlace(name, False, loss[name], last, None))
        last = name
    trailing = subscription.pattern.absent if isinstance(subscription.pattern, tree.Sequence) else ()
    found += [PatternPlace(n.step.name, True, loss[n.step.name], last, None) for n in trailing]
    following = pairwise([*(p.name for p in found if not p.negated), None])
    nexts = dict(following)
    return tuple(p if p.negated else replace(p, before=nexts[p.name]) for p in found)


def pattern_parts(subscription: CheckedSubscription) -> tuple[tree.SequencePart, ...]:
    pattern = subscription.pattern
    return pattern.parts if isinstance(pattern, tree.Sequence) else (tree.SequencePart(pattern),)


def step_name(part: tree.SequencePart) -> str:
    assert isinstance(part.pattern, tree.Step)
    return part.pattern.name


def lost_sets(subscription: CheckedSubscription) -> Iterator[frozenset[str]]:
    """Every set of steps that may be lost together: at least one step stays, the last is lost only with a window."""
    positive = subscription.positive
    may = [name for name in positive if subscription.loss[name] > 0]
    if subscription.within is None and positive[-1] in may:
        may.remove(positive[-1])
    for size in range(1, len(may) + 1):
        for lost in combinations(may, size):
            if len(lost) < len(positive):
                yield frozenset(lost)


def without(subscription: CheckedSubscription, lost: frozenset[str]) -> CheckedSubscription:
    """The subscription whose matches are those of this one without the lost steps."""
    parts: list[tree.SequencePart] = []
    hidden: list[tree.Negation] = []
    for part in pattern_parts(subscription):
        assert isinstance(part.pattern, tree.Step)
        hidden += part.absent
        if part.pattern.name in lost:
            hidden.append(tree.Negation(part.pattern))
        else:
            operator = _operator(part.operator, lost) if parts else None
            parts.append(tree.SequencePart(part.pattern, operator, tuple(hidden)))
            hidden = []
    trailing = subscription.pattern.absent if isinstance(subscription.pattern, tree.Sequence) else ()
    having = subscription.tree.having
    if having is not None and _having_holds(having, lost, subscription):
        having = None
    return replace(
        subscription,
        tree=replace(subscription.tree, having=having),
        pattern=tree.Sequence(tuple(parts), (*hidden, *trailing)),
        steps={name: _step(step, lost, subscription) for name, step in subscription.steps.items()},
    )


def _operator(operator: tree.Operator | None, lost: frozenset[str]) -> tree.Operator | None:
    if isinstance(operator, tree.FirstWhere) and mentions(operator.condition, lost):
        return tree.Later()
    return operator


def _having_holds(having: tree.Expression, lost: frozenset[str], subscription: CheckedSubscription) -> bool:
    """HAVING that mentions a lost step holds; `duration` mentions the first and the last."""
    ends = {subscription.positive[0], subscription.positive[-1]}
    return mentions(having, lost) or (bool(lost & ends) and _has(having, tree.Elapsed))


def _step(step: CheckedStep, lost: frozenset[str], subscription: CheckedSubscription) -> CheckedStep:
    """A condition that mentions a lost step holds; a lost step's variables compare, as a negated step's do.

    `prev` mentions the step before, `duration` the first one.
    """
    others = lost - {step.name}
    first, before = subscription.positive[0], _step_before(step.name, subscription)
    conditions = tuple(
        c
        for c in step.conditions
        if not mentions(c, others)
        and not (first in others and _has(c, tree.Elapsed))
        and not (before in others and _has(c, tree.Previous))
    )
    binders = tuple((v, e) for v, e in step.binders if not mentions(e, others))
    if step.name in lost:
        conditions += tuple(tree.Binary("=", tree.Variable(v), e) for v, e in binders)
        binders = ()
    shape = replace(step.shape, negated=step.shape.negated or step.name in lost)
    return replace(step, shape=shape, conditions=conditions, binders=binders)


def _step_before(step: str, subscription: CheckedSubscription) -> str | None:
    """The positive step just before a step, negated ones included."""
    before = None
    for name, checked in subscription.steps.items():
        if name == step:
            return before
        if not checked.shape.negated:
            before = name
    return before


def _has(expression: tree.Expression, kind: type[tree.Node]) -> bool:
    return any(isinstance(node, kind) for node in expression.walk())


def mentions(expression: tree.Expression, steps: frozenset[str]) -> bool:
    return any(getattr(node, "step", None) in steps for node in expression.walk())
