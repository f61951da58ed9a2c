"""Statements that find the gaps of a history: two or three steps of a pattern, one after the other, under `;`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from foretell.language import tree

#: The RETURN column with the time from the first step to the last.
LENGTH = "length"


def gap_statement(subscription: tree.Subscription, steps: Sequence[str]) -> tree.Subscription:
    """The statement that matches these steps with the conditions that they have among each other.

    >>> from foretell.language.parser import parse
    >>> from foretell.language.printer import program_text
    >>> text = "SUBSCRIBE m FROM s MATCH x ; !y ; z DEFINE x AS k = $k, y AS k = $k, z AS v > x.v AND v > y.v WITHIN 5"
    >>> (m,) = parse(text + " LOSING 0.1 ABOVE 0.5").statements
    >>> print(program_text(tree.Program((gap_statement(m, ["x", "z"]),))))
    SUBSCRIBE m
    FROM s
    MATCH x ; z
    DEFINE x AS k = $k,
           z AS v > x.v
    WITHIN 5
    RETURN t(z) - t(x) AS length;
    """
    conditions = {step: _conditions(subscription, step, set(steps)) for step in steps}
    bound = {variable for found in conditions.values() for c in found for variable in _bound_variables(c)}
    definitions = []
    for step, found in conditions.items():
        kept = [c for c in found if bound.issuperset(variables_in(c))]
        if kept:
            definitions.append(tree.Definition((step,), reduce(_both, kept)))
    first, last = (tree.TimeOf(tree.BoundEvent(step)) for step in (steps[0], steps[-1]))
    parts = tuple(
        tree.SequencePart(tree.Step(step), tree.Later() if number else None) for number, step in enumerate(steps)
    )
    return replace(
        subscription,
        pattern=tree.sequence(parts),
        definitions=tuple(definitions),
        having=None,
        after=tree.AfterMatch(),
        returns=(tree.Returned(tree.Binary("-", last, first), LENGTH),),
        losing=None,
    )


def _both(first: tree.Expression, second: tree.Expression) -> tree.Expression:
    return tree.Binary("AND", first, second)


def _conditions(subscription: tree.Subscription, step: str, steps: set[str]) -> list[tree.Expression]:
    """The conditions of a step that name none but these steps."""
    written = [d.condition for d in subscription.definitions if step in d.steps]
    written += _conditions_in_pattern(subscription.pattern, step)
    return [c for whole in written for c in tree.conjuncts(whole) if c.named_steps <= steps and not is_relative(c)]


def _conditions_in_pattern(pattern: tree.Pattern, step: str) -> Iterator[tree.Expression]:
    for node in pattern.walk():
        match node:
            case tree.Conditioned(pattern=inner, condition=condition) if step in set(_names(inner)):
                yield condition
            case tree.Negation(step=tree.Step(name=name), conditions=conditions) if name == step:
                yield from conditions


def _names(pattern: tree.Pattern) -> Iterator[str]:
    return (str(node.name) for node in pattern.walk() if isinstance(node, tree.Step))


def is_relative(condition: tree.Expression) -> bool:
    """Whether a condition depends on which events are bound before: `prev` and `duration`."""
    return any(isinstance(node, tree.Previous | tree.Elapsed) for node in condition.walk())


def variables_in(condition: tree.Expression) -> Iterable[str]:
    return {str(node.name) for node in condition.walk() if isinstance(node, tree.Variable)}


def _bound_variables(condition: tree.Expression) -> Iterator[str]:
    match condition:
        case (
            tree.Binary(operator="=", left=tree.Variable(name=name))
            | tree.Binary(operator="=", right=tree.Variable(name=name))
        ):
            yield str(name)
