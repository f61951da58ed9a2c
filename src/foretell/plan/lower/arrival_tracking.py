"""The tracking of a `;` sequence for an observer: it runs on arrival lists, so partial matches are never built."""

from __future__ import annotations

from foretell.events.types import Type
from foretell.language import tree
from foretell.plan.condition_scope import is_static
from foretell.plan.lower.arrivals import ArrivalPlan
from foretell.plan.nfa.expiry import expiries
from foretell.records import record


@record
class TrackedLimit:
    """A partial match at `state` ends when `amount` has passed since the event of the step."""

    state: int
    step: int
    amount: int | float


@record
class TrackingPlan:
    """State n has bound n + 1 steps.

    `key` are the expressions whose values all steps share: they tell processes of a lane apart. `gaps` has for each
    negated step the state that it ends, or -1 if it compares with events of the match: such conditions are evaluated
    only with the last step.
    """

    key: tuple[tree.Expression, ...]
    limits: tuple[TrackedLimit, ...]
    gaps: tuple[int, ...]
    within: int | float | None
    time: Type


def tracking_plan(plan: ArrivalPlan) -> TrackingPlan:
    subscription, automaton, steps = plan.program.subscription, plan.program.automaton, plan.steps
    keys = set(plan.keys[: len(steps)])
    bound: dict[int | None, int] = {None: 0}
    for edge in automaton.edges:  # of a sequence of steps, one after the other
        bound[edge.target] = bound[edge.source] + 1
    limits = [
        TrackedLimit(bound[expiry.state] - 1, steps.index(expiry.since or steps[0]), expiry.amount)
        for expiry in expiries(subscription, automaton)
        if bound[expiry.state] < len(steps)
    ]
    assert isinstance(subscription.pattern, tree.Sequence)
    negated = [(str(n.step.name), after) for after, p in enumerate(subscription.pattern.parts[1:]) for n in p.absent]
    gaps = [after if all(map(is_static, subscription.steps[name].conditions)) else -1 for name, after in negated]
    return TrackingPlan(
        keys.pop() if len(keys) == 1 else (), tuple(limits), tuple(gaps), subscription.within, subscription.time
    )
