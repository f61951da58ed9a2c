"""The patterns that find the gaps of a statement with LOSING, and what is seen in them: ordinary statements.

For each gap that an estimate may have, between two positive steps u and v, `u ; v` finds the gaps, and one pattern for
each step that may be hidden, `u ; h ; v`, what was seen in them. At the edge of the window, where v or u is missing,
the events of the other step are the gaps. So a gap is whatever the statement itself would take for one: with its
lanes, variables, conditions and window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from foretell.events.delays.delay_model import GapEnds
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.subscription_check import binders
from foretell.records import record

#: A step that never comes: its negation waits for the end of the window. No name in a text has its first character.
_NEVER = "\0never"


@record
class GapPatterns:
    """`whole` finds the gaps, one of `seen` each hidden step in them."""

    ends: GapEnds
    hidden: tuple[str, ...]
    whole: CheckedSubscription
    seen: tuple[CheckedSubscription, ...]

    @property
    def statements(self) -> tuple[CheckedSubscription, ...]:
        return (self.whole, *self.seen)


def gap_patterns(subscription: CheckedSubscription, ends: GapEnds, hidden: Sequence[str]) -> GapPatterns:
    u, v = ends
    known = [step for step in ends if step is not None]
    whole = _pattern(subscription, ends, known, to_edge=v is None)
    seen = tuple(
        _pattern(subscription, ends, [step for step in (u, h, v) if step is not None], name=f" with {h}")
        for h in hidden
    )
    return GapPatterns(ends, tuple(hidden), whole, seen)


def _pattern(
    subscription: CheckedSubscription, ends: GapEnds, names: Sequence[str], *, name: str = "", to_edge: bool = False
) -> CheckedSubscription:
    """The statement that matches these steps one after the other, with the conditions that they have among each other;
    with `to_edge` it is known when time has passed the window."""
    steps = {step: _positive(subscription.steps[step]) for step in names}
    bound = {variable for step in steps.values() for variable, _ in step.binders}
    steps = {name: _among(step, frozenset(names), bound) for name, step in steps.items()}
    parts = tuple(tree.SequencePart(tree.Step(step), tree.Later() if n else None) for n, step in enumerate(names))
    pattern = tree.sequence(parts)
    if to_edge:
        pattern = tree.Sequence(parts, (tree.Negation(tree.Step(_NEVER)),))
        shape = replace(steps[names[0]].shape, name=_NEVER, negated=True)
        steps[_NEVER] = CheckedStep(shape, (tree.Literal(False),), ())
    variables = {name: kind for name, kind in subscription.variables.items() if name in bound}
    gap = " to ".join("the edge" if end is None else end for end in ends)
    own = replace(
        subscription.tree,
        name=f"{subscription.name}\0 {gap}{name}",
        having=None,
        after=tree.AfterMatch(),
        returns=(),
        losing=None,
    )
    return replace(
        subscription, tree=own, pattern=pattern, steps=steps, variables=variables, returns=variables, known_late={}
    )


def _positive(step: CheckedStep) -> CheckedStep:
    """The step as one that binds its event, and the variables that a negated one compares with."""
    if not step.shape.negated:
        return step
    bound = tuple((v.name, value) for c in step.conditions for v, value in binders(c, step.name))
    conditions = tuple(c for c in step.conditions if not list(binders(c, step.name)))
    return CheckedStep(replace(step.shape, negated=False), conditions, bound)


def _among(step: CheckedStep, names: frozenset[str], bound: set[str]) -> CheckedStep:
    """The step with the conditions that name no other steps and variables."""
    conditions = (c for whole in step.conditions for c in tree.conjuncts(whole))
    return replace(step, conditions=tuple(c for c in conditions if _is_among(c, names, bound)))


def _is_among(condition: tree.Expression, names: frozenset[str], bound: set[str]) -> bool:
    """Whether a condition depends on these steps and variables alone: `prev` and `duration` depend on which events are
    bound before."""
    nodes = list(condition.walk())
    if any(isinstance(node, tree.Previous | tree.Elapsed) for node in nodes):
        return False
    return condition.named_steps <= names and all(n.name in bound for n in nodes if isinstance(n, tree.Variable))
