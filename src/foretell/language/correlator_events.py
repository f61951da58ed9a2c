"""The events of a correlator as a subscription: those that satisfy one of its steps, with a column for each step.

Only they can move a correlator: it ignores all others (ECL section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from foretell.errors import NOWHERE
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedCorrelator, CheckedStatement, CheckedStep, CheckedSubscription
from foretell.language.pattern_shape import StepShape

#: No name in a text has its first character.
_EVENT = "\0event"


def reading_subscriptions(statements: Iterable[CheckedStatement]) -> list[CheckedSubscription]:
    """The statements as subscriptions that read the same events: correlators by those that may move them."""
    return [correlator_events(s) if isinstance(s, CheckedCorrelator) else s for s in statements]


def correlator_events(correlator: CheckedCorrelator) -> CheckedSubscription:
    """The columns are named as the steps; where an event satisfies the step they are true, else false or NULL."""
    conditions = {step: _all(own) for step, own in correlator.conditions.items()}
    shape = StepShape(_EVENT, NOWHERE, negated=False, loops=frozenset(), conditions=())
    returns = tuple(tree.Returned(_satisfied(condition), step) for step, condition in conditions.items())
    own = correlator.tree
    pattern = tree.Step(_EVENT)
    return CheckedSubscription(
        tree=tree.Subscription(
            correlator.name, own.streams, pattern, per=own.per, returns=returns, forecast=own.forecast
        ),
        pattern=pattern,
        steps={_EVENT: CheckedStep(shape, (_any([*dict.fromkeys(conditions.values())]),), ())},
        variables={},
        attributes=correlator.attributes,
        time=correlator.time,
        simultaneous=False,
        within=None,
        loss={},
        returns=dict.fromkeys(conditions, Type.BOOL),
        known_late={},
        horizon=correlator.horizon,
        hidden=True,
        correlator=correlator,
    )


def _all(conditions: tuple[tree.Expression, ...]) -> tree.Expression:
    whole: tree.Expression = tree.Literal(True)
    for condition in conditions:
        whole = condition if whole == tree.Literal(True) else tree.Binary("AND", whole, condition)
    return whole


def _any(conditions: Sequence[tree.Expression]) -> tree.Expression:
    """As a flat tree: every part of Foretell walks it, and there may be thousands."""
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
