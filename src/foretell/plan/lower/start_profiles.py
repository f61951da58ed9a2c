"""The conditions of the edges that runs begin along, as profiles: an index finds those that an event satisfies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from foretell.events.types import Scalar, Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.expressions import event_type
from foretell.records import record

#: Fewer profiles of one shape are evaluated as whole columns.
FEWEST_PROFILES = 16


@record
class ConstantComparison:
    """A comparison of an expression about one event with a constant, without the constant."""

    expression: tree.Expression
    kind: Type
    operator: str
    constant_kind: Type


@record
class StartProfiles:
    """Edges whose conditions differ in constants alone: `constants` has a row for each edge, a value for each
    comparison."""

    comparisons: tuple[ConstantComparison, ...]
    edges: tuple[int, ...]
    constants: tuple[tuple[Scalar, ...], ...]


def start_profiles(
    predicates: Mapping[int, Sequence[tree.Expression]], subscription: CheckedSubscription
) -> tuple[StartProfiles, ...]:
    """The profiles of the predicates of edges, by shape: those that are conjunctions of comparisons with constants."""
    shapes: defaultdict[tuple[ConstantComparison, ...], list[tuple[int, tuple[Scalar, ...]]]] = defaultdict(list)
    for edge, conditions in predicates.items():
        known = [list(_comparisons(condition, subscription)) for condition in conditions]
        if known and all(known):
            parts = [part for parts in known for part in parts]
            shapes[tuple(comparison for comparison, _ in parts)].append((edge, tuple(value for _, value in parts)))
    return tuple(
        StartProfiles(shape, tuple(edge for edge, _ in rows), tuple(values for _, values in rows))
        for shape, rows in shapes.items()
        if len(rows) >= FEWEST_PROFILES
    )


def _comparisons(
    condition: tree.Expression, subscription: CheckedSubscription
) -> Iterator[tuple[ConstantComparison, Scalar]]:
    match condition:
        case tree.Binary(operator=operator, left=left, right=tree.Literal(value=value)):
            sides = operator, left, value
        case tree.Binary(operator=operator, left=tree.Literal(value=value), right=right):
            sides = tree.MIRRORED_COMPARISON.get(operator, ""), right, value
        case _:
            return
    operator, expression, value = sides
    if operator not in tree.MIRRORED_COMPARISON or isinstance(expression, tree.Literal) or value is None:
        return
    kind, constant_kind = event_type(subscription, expression), _kind(value)
    if kind is constant_kind or {kind, constant_kind} == {Type.INT, Type.FLOAT}:
        yield ConstantComparison(expression, kind, operator, constant_kind), value


def _kind(value: Scalar) -> Type:
    match value:
        case bool():
            return Type.BOOL
        case int():
            return Type.INT
        case float():
            return Type.FLOAT
    return Type.STRING
