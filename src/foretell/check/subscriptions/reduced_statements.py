"""Statements without the steps that no event can be."""

from __future__ import annotations

from dataclasses import replace

from foretell.language import tree
from foretell.language.checked import CheckedSubscription


def without_steps(statement: CheckedSubscription, dead: frozenset[str]) -> CheckedSubscription | None:
    """The statement without what needs one of the steps; None where every match needs one.

    A negation of such a step forbids nothing, but stays: it costs nothing, and the operator beside it needs it.
    """
    pattern = _without(statement.pattern, dead)
    return None if pattern is None else replace(statement, pattern=pattern)


def _without(pattern: tree.Pattern, dead: frozenset[str]) -> tree.Pattern | None:
    """The pattern that binds none of the steps; None where it cannot match. Empty parts stay, as no rounds."""
    match pattern:
        case tree.Step(name=name) | tree.Numbered(step=tree.Step(name=name)) | tree.Chosen(step=tree.Step(name=name)):
            return None if name in dead else pattern
        case tree.Repeat(body=body, low=low):
            inner = _without(body, dead)
            if inner is not None:
                return replace(pattern, body=inner)
            return replace(pattern, high=0) if low == 0 else None
        case tree.Sequence(parts=parts):
            found = [_without(part.pattern, dead) for part in parts]
            kept = tuple(replace(p, pattern=inner) for p, inner in zip(parts, found) if inner is not None)
            return replace(pattern, parts=kept) if len(kept) == len(parts) else None
        case tree.Alternation(branches=branches):
            left = tuple(b for b in (_without(branch, dead) for branch in branches) if b is not None)
            return replace(pattern, branches=left) if left else None
        case tree.Conjunction(sides=sides):
            inside = tuple(s for s in (_without(side, dead) for side in sides) if s is not None)
            return replace(pattern, sides=inside) if len(inside) == len(sides) else None
    return pattern


def has_step(pattern: tree.Node, step: str) -> bool:
    """Whether a pattern may bind a step."""
    match pattern:
        case tree.Negation():
            return False
        case tree.Step(name=name):
            return str(name) == step
    return any(has_step(child, step) for child in pattern.children())
