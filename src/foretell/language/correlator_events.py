"""The events of a correlator as a subscription: those that may satisfy one of its steps, with a column for each step.

Only they can move a correlator: it ignores all others (ECL section 2). Of a FOR EACH correlator they are those that may
satisfy a step for some row: the subscription leaves out the conditions with parameters, which the correlator evaluates
for each row, and has the attributes that these read as columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from foretell.errors import NOWHERE
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedStatement, CheckedStep, CheckedSubscription
from foretell.language.pattern_shape import StepShape
from foretell.records import record

#: No name in a text has its first character.
_EVENT = "\0event"


@record
class StepConditions:
    """The conditions of a step, which must all hold: `common` ones are the same for all rows of the FOR EACH table,
    those `by_row` have parameters."""

    common: tuple[tree.Expression, ...]
    by_row: tuple[tree.Expression, ...]


def step_conditions(correlator: CheckedCorrelator) -> dict[str, StepConditions]:
    """The conditions of each step of a correlator."""
    divided = {}
    for step, conditions in correlator.conditions.items():
        if correlator.tree.table is None:
            divided[step] = StepConditions(conditions, ())
            continue
        parts = [part for condition in conditions for part in tree.conjuncts(condition)]
        common = tuple(part for part in parts if not _has_parameter(part))
        divided[step] = StepConditions(common, tuple(part for part in parts if _has_parameter(part)))
    return divided


def event_columns(conditions: Iterable[StepConditions]) -> dict[str, tree.Expression]:
    """The columns of an event that conditions by row read: attributes, and the stream."""
    leaves = [n for step in conditions for part in step.by_row for n in part.walk()]
    return {column_of(n): n for n in leaves if isinstance(n, tree.Attribute | tree.StreamOf)}


def column_of(leaf: tree.Attribute | tree.StreamOf) -> str:
    """The name of the column that has an attribute or the stream: no step is named so."""
    return f"\0.{leaf.name}" if isinstance(leaf, tree.Attribute) else "\0stream"


def reading_subscriptions(statements: Iterable[CheckedStatement]) -> list[CheckedSubscription]:
    """The statements as subscriptions that read the same events: correlators by those that may move them."""
    return [correlator_events(s) if isinstance(s, CheckedCorrelator) else s for s in statements]


def correlator_events(correlator: CheckedCorrelator) -> CheckedSubscription:
    """The columns are named as the steps; where an event satisfies the step they are true, else false or NULL."""
    by_step = step_conditions(correlator)
    conditions = {step: _all(own.common) for step, own in by_step.items()}
    columns = event_columns(by_step.values())
    shape = StepShape(_EVENT, NOWHERE, negated=False, loops=frozenset(), conditions=())
    returned = {**conditions, **columns}
    own = correlator.tree
    pattern = tree.Step(_EVENT)
    return CheckedSubscription(
        tree=tree.Subscription(
            correlator.name,
            own.streams,
            pattern,
            table=own.table,
            per=own.per,
            returns=tuple(tree.Returned(_satisfied(value), name) for name, value in returned.items()),
            forecast=own.forecast,
        ),
        pattern=pattern,
        steps={_EVENT: CheckedStep(shape, (_any([*dict.fromkeys(conditions.values())]),), ())},
        variables={},
        attributes=correlator.attributes,
        time=correlator.time,
        simultaneous=False,
        within=None,
        loss={},
        returns={**dict.fromkeys(conditions, Type.BOOL), **_types(columns, correlator.attributes)},
        known_late={},
        horizon=correlator.horizon,
        row_ids=correlator.row_ids,
        hidden=True,
        correlator=correlator,
    )


def _types(columns: Mapping[str, tree.Expression], attributes: Mapping[str, Type]) -> dict[str, Type]:
    return {
        column: attributes.get(leaf.name, Type.UNKNOWN) if isinstance(leaf, tree.Attribute) else Type.STRING
        for column, leaf in columns.items()
    }


def _has_parameter(condition: tree.Expression) -> bool:
    return any(isinstance(node, tree.Parameter) for node in condition.walk())


def _all(conditions: tuple[tree.Expression, ...]) -> tree.Expression:
    whole: tree.Expression = tree.Literal(True)
    for condition in conditions:
        whole = condition if whole == tree.Literal(True) else tree.Binary("AND", whole, condition)
    return whole


def _any(conditions: Sequence[tree.Expression]) -> tree.Expression:
    """As a flat tree: every part of Foretell walks it, and there may be thousands."""
    if tree.Literal(True) in conditions:
        return tree.Literal(True)
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return tree.Binary("OR", _any(conditions[:half]), _any(conditions[half:]))


def _satisfied(condition: tree.Expression) -> tree.Expression:
    """A condition of the event, by its name in the pattern."""
    match condition:
        case tree.Attribute(event=tree.This()) | tree.StreamOf(event=tree.This()) | tree.TimeOf(event=tree.This()):
            return replace(condition, event=tree.BoundEvent(_EVENT))
    return tree.map_children(condition, _satisfied)
