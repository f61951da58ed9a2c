"""How patterns begin: subscriptions with the same first steps join the same NFA, where those steps are one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TypeAlias

from foretell.language import tree
from foretell.language.checked import CheckedSubscription

#: With more steps hardly any patterns begin alike that would not be in one NFA by fewer.
MOST_STEPS = 4

#: Equal for patterns that are likely to have states in common.
Opening: TypeAlias = tuple[Hashable, ...]


def openings(subscription: CheckedSubscription) -> tuple[Opening, ...]:
    """The first step, the first two, and so on, each with its conditions and the operator that follows it.

    They end before a condition that names another step, since names of steps differ, and before anything that is no
    single step. Whether states are equivalent is decided in the NFA: this only tells which NFA may have them.
    """
    steps = tuple(_first_steps(subscription))
    return tuple(steps[:count] for count in range(1, len(steps) + 1))


def _first_steps(subscription: CheckedSubscription) -> Iterator[Hashable]:
    pattern = subscription.pattern
    parts = pattern.parts if isinstance(pattern, tree.Sequence) else (tree.SequencePart(pattern),)
    operators = [*(part.operator for part in parts[1:]), None]
    for part, following in zip(parts[:MOST_STEPS], operators):
        if not isinstance(part.pattern, tree.Step) or part.absent:
            return
        step = subscription.steps[part.pattern.name]
        conditions = [*step.conditions, *(expression for _, expression in step.binders)]
        if isinstance(following, tree.FirstWhere):
            conditions.append(following.condition)
        if any(condition.named_steps for condition in conditions):
            return
        yield step.conditions, step.binders, following
