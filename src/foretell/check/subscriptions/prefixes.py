"""The part of a statement before a step: what a match has bound when it waits for the step."""

from __future__ import annotations

from dataclasses import replace

from foretell.check.subscriptions.reduced_statements import has_step
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.pattern_shape import step_shapes


def prefix_before(statement: CheckedSubscription, step: str) -> CheckedSubscription | None:
    """The statement that ends before a step, without conditions on what comes later; None where nothing comes before.

    Its matches are partial matches of the statement that wait for the step.
    """
    pattern = _before(statement.pattern, step)
    if pattern is None:
        return None
    shapes = {shape.name: shape for shape in step_shapes(pattern)}
    bound = frozenset(name for name, shape in shapes.items() if not shape.negated)
    own = replace(statement.tree, having=None, returns=(), after=tree.AfterMatch(), forecast=None)
    steps = {name: _known(statement.steps[name], bound) for name in shapes}
    return replace(statement, tree=own, pattern=pattern, steps=steps, returns={}, known_late={})


def _known(step: CheckedStep, bound: frozenset[str]) -> CheckedStep:
    conditions = tuple(c for c in step.conditions if c.named_steps <= bound | {step.name})
    return replace(step, conditions=conditions)


def _before(pattern: tree.Pattern, step: str) -> tree.Pattern | None:
    match pattern:
        case tree.Sequence(parts=parts):
            place = next((number for number, part in enumerate(parts) if has_step(part.pattern, step)), None)
            if place is None:
                return None
            inner = _before(parts[place].pattern, step)
            last = () if inner is None else (replace(parts[place], pattern=inner),)
            kept = (*parts[:place], *last)
            return tree.sequence(kept) if kept else None
        case tree.Alternation(branches=children) | tree.Conjunction(sides=children):
            found = (_before(child, step) for child in children if has_step(child, step))
            return next(found, None)
        case tree.Repeat(body=body):
            return _before(body, step)
    return None
