"""Patterns without the steps that were lost (AYAC sections 2 and 3), and the places of a pattern in its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise

from foretell.events.delays.pattern_gaps import PatternPlace
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.loss_rates import losable_steps, not_passed_over
from foretell.records import record


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
    """Every set of steps that may be lost together: at least one step stays."""
    may = losable_steps(subscription)
    for size in range(1, len(may) + 1):
        for lost in combinations(may, size):
            if len(lost) < len(subscription.positive):
                yield frozenset(lost)


@record
class MissingSteps:
    """Steps of a subscription that have no event, and the variables that have no value without them."""

    subscription: CheckedSubscription
    names: frozenset[str]
    variables: frozenset[str]

    @classmethod
    def lost(cls, subscription: CheckedSubscription, names: frozenset[str]) -> MissingSteps:
        unbound = frozenset(v for v in subscription.variables if subscription.binding_steps(v) <= names)
        return cls(subscription, names, unbound)

    def concern(self, expression: tree.Expression, step: str | None = None) -> bool:
        """Whether a condition of a step, or of the operator before it, refers to one of them: by name, by a variable,
        by `prev`, or by `duration`."""
        own = frozenset[str]() if step is None else frozenset({step})
        if expression.named_steps & (self.names - own):
            return True
        for node in expression.walk():
            match node:
                case tree.Variable(name=name) if name in self.variables:
                    return True
                case tree.Previous() if self._before(step) in self.names:
                    return True
                case tree.Elapsed() if self.subscription.positive[0] in self.names:
                    return True
        return False

    def _before(self, step: str | None) -> str | None:
        """The positive step just before a step, which may be a negated one."""
        before = None
        for name, checked in self.subscription.steps.items():
            if name == step:
                return before
            if not checked.shape.negated:
                before = name
        return before

    def remaining(self, name: str) -> CheckedStep:
        """A step without the conditions that refer to a missing step: these hold."""
        step = self.subscription.steps[name]
        conditions = tuple(_of_this(c, name) for c in step.conditions if not self.concern(c, name))
        return replace(
            step, conditions=conditions, binders=tuple(b for b in step.binders if b[0] not in self.variables)
        )


def compared(step: CheckedStep) -> CheckedStep:
    """A positive step as a negated one, whose variables compare."""
    comparisons = tuple(tree.Binary("=", tree.Variable(v), value) for v, value in step.binders)
    shape = replace(step.shape, negated=True)
    return replace(step, shape=shape, conditions=(*step.conditions, *comparisons), binders=())


def without(subscription: CheckedSubscription, lost: frozenset[str]) -> CheckedSubscription:
    """The subscription whose matches are those of this one without the lost steps."""
    missing = MissingSteps.lost(subscription, lost)
    parts: list[tree.SequencePart] = []
    hidden: list[tree.Negation] = []
    for part in pattern_parts(subscription):
        assert isinstance(part.pattern, tree.Step)
        hidden += part.absent
        if part.pattern.name in lost:
            hidden.append(tree.Negation(part.pattern))
        else:
            operator = _operator(part, missing) if parts else None
            parts.append(tree.SequencePart(part.pattern, operator, tuple(hidden)))
            hidden = []
    trailing = subscription.pattern.absent if isinstance(subscription.pattern, tree.Sequence) else ()
    having = subscription.tree.having
    if having is not None and _having_holds(having, missing):
        having = None
    return replace(
        subscription,
        tree=replace(subscription.tree, having=having),
        pattern=tree.Sequence(tuple(parts), (*hidden, *trailing)),
        steps={n: compared(missing.remaining(n)) if n in lost else missing.remaining(n) for n in subscription.steps},
    )


def undisputed(subscription: CheckedSubscription, lost: frozenset[str]) -> CheckedSubscription:
    """The same, but an event that would do for a lost step may be seen in its gap."""
    reduced = without(subscription, lost)
    assert isinstance(reduced.pattern, tree.Sequence)

    def others(absent: tuple[tree.Negation, ...]) -> tuple[tree.Negation, ...]:
        return tuple(negation for negation in absent if negation.step.name not in lost)

    parts = tuple(replace(part, absent=others(part.absent)) for part in reduced.pattern.parts)
    steps = {name: step for name, step in reduced.steps.items() if name not in lost}
    return replace(reduced, pattern=tree.sequence(parts, others(reduced.pattern.absent)), steps=steps)


def changed_operators(subscription: CheckedSubscription, lost: frozenset[str]) -> set[str | None]:
    """The places of the operators that are `;` where these steps are lost, because their condition refers to one."""
    missing = MissingSteps.lost(subscription, lost)
    return {
        not_passed_over(part) for part in pattern_parts(subscription) if _operator(part, missing) is not part.operator
    }


def _operator(part: tree.SequencePart, missing: MissingSteps) -> tree.Operator | None:
    operator = part.operator
    if isinstance(operator, tree.FirstWhere) and missing.concern(operator.condition, step_name(part)):
        return tree.Later()
    return operator


def _having_holds(having: tree.Expression, missing: MissingSteps) -> bool:
    """HAVING that refers to a lost step holds; `duration` refers to the first and the last."""
    has_duration = any(isinstance(node, tree.Elapsed) for node in having.walk())
    return missing.concern(having) or (has_duration and missing.subscription.positive[-1] in missing.names)


def sighting(subscription: CheckedSubscription, step: str, lost: frozenset[str], neighbour: str) -> CheckedStep:
    """The step as which an event outside a gap would do, beside which `neighbour` may be another event than that of
    the match. `prev` is unknown there, and before the first step there is no `duration`: such conditions hold."""
    unbound = MissingSteps.lost(subscription, lost).variables
    found = MissingSteps(subscription, lost | {neighbour}, unbound).remaining(step)
    loose = (tree.Previous, tree.Elapsed) if step == subscription.positive[0] else (tree.Previous,)
    kept = tuple(c for c in found.conditions if not any(isinstance(node, loose) for node in c.walk()))
    return replace(found, conditions=kept)


def _of_this(expression: tree.Expression, step: str) -> tree.Expression:
    """A condition of a step in which the step's own event goes without its name."""
    match expression:
        case tree.Aggregate(function="count", step=name) if name == step:
            return tree.Literal(1)
        case tree.Aggregate(step=name, attribute=str(attribute)) if name == step:
            return tree.Attribute(tree.This(), attribute)
        case tree.Attribute(event=event) | tree.StreamOf(event=event) | tree.TimeOf(event=event) if (
            getattr(event, "step", None) == step
        ):
            return replace(expression, event=tree.This())
    return tree.map_children(expression, lambda inner: _of_this(inner, step))
