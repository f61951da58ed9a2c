"""Keys of trees: equal for statements that differ only in the names of their steps, their layout, and the order of what
has no order (the operands of AND, the sides of `&` and `|`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import fields

from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedStatement, CheckedSubscription

#: The fields that name steps.
_STEP_FIELDS = {
    tree.Step: "name",
    tree.BoundEvent: "step",
    tree.FirstOf: "step",
    tree.LastOf: "step",
    tree.Aggregate: "step",
    tree.AfterMatch: "step",
    tree.LosingItem: "steps",
    tree.On: "step",
    tree.Mode: "guard",
}

Names = Mapping[str, Hashable]


def statement_key(statement: CheckedStatement) -> Hashable:
    """Equal for statements that mean the same but for the names of their steps."""
    if isinstance(statement, CheckedCorrelator):
        conditions = {name: conditions_key(c, {}) for name, c in statement.conditions.items()}
        own = statement.tree
        clauses = own.table, tree_key(own.forecast, {})
        return ("CORRELATE", tuple(own.streams), tuple(own.per), clauses, tree_key(own.expression, conditions))
    numbers = {name: number for number, name in enumerate(statement.steps)}
    return subscription_key(statement, numbers)


def subscription_key(subscription: CheckedSubscription, names: Names) -> Hashable:
    """The key of a subscription with other names for its steps."""
    own = subscription.tree
    steps = Counter(
        (names[name], conditions_key(step.conditions, names), tuple((v, tree_key(e, names)) for v, e in step.binders))
        for name, step in subscription.steps.items()
    )
    clauses = (own.having, own.after, own.returns, own.forecast, own.losing)
    return (
        tuple(own.streams),
        tuple(own.per),
        own.table,
        tree_key(subscription.pattern, names),
        frozenset(steps.items()),
        subscription.within,
        tree_key(clauses, names),
    )


def conditions_key(conditions: tuple[tree.Expression, ...], names: Names) -> Hashable:
    """The key of conditions that must all hold, in any order."""
    return frozenset(tree_key(part, names) for condition in conditions for part in tree.conjuncts(condition))


def tree_key(value: object, names: Names) -> Hashable:
    """The key of a node, or of what is in the fields of one."""
    if isinstance(value, tuple):
        return tuple(tree_key(item, names) for item in value)
    if not isinstance(value, tree.Node):
        return (type(value), value) if isinstance(value, bool | int | float) else value
    if isinstance(value, tree.Binary) and value.operator == "AND":
        return conditions_key((value,), names)
    kind = type(value)
    if isinstance(value, tree.Conjunction | tree.Alternation):
        sides = value.sides if isinstance(value, tree.Conjunction) else value.branches
        return kind, frozenset(Counter(tree_key(side, names) for side in sides).items())
    naming = _STEP_FIELDS.get(kind)
    return kind, *(
        _named(getattr(value, field), names) if field == naming else tree_key(getattr(value, field), names)
        for field in _compared(kind)
    )


def _named(value: object, names: Names) -> Hashable:
    if isinstance(value, tuple):
        return tuple(names.get(str(name), str(name)) for name in value)
    return None if value is None else names.get(str(value), str(value))


def _compared(kind: type[tree.Node]) -> tuple[str, ...]:
    if kind not in _known_fields:
        _known_fields[kind] = tuple(field.name for field in fields(kind) if field.compare)
    return _known_fields[kind]


_known_fields: dict[type[tree.Node], tuple[str, ...]] = {}
