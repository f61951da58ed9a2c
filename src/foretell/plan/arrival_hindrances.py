"""The reasons why arrival lists cannot run a pattern."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.arrival_analysis import SequenceConditions, analyse_sequence


def arrival_hindrance(subscription: CheckedSubscription) -> str | None:
    """The reason why arrival lists cannot run a pattern; None where they can."""
    shape = next(shape_hindrances(subscription), None)
    return next(absence_hindrances(analyse_sequence(subscription)), None) if shape is None else shape


def shape_hindrances(subscription: CheckedSubscription) -> Iterator[str]:
    pattern = subscription.pattern
    if subscription.simultaneous:
        yield "simultaneous events wait for their instant to end"
    yield from filter(None, map(_node_hindrance, pattern.walk()))
    if not isinstance(pattern, tree.Sequence) or len(pattern.parts) == 1:
        yield "one step alone has no partial combinations"
    elif pattern.absent:
        yield f"`!{pattern.absent[0].step.name}` at the end is decided only when time has passed"
    elif any(isinstance(part.pattern, tree.Sequence) for part in pattern.parts):
        yield "a group is not a single step"


def _node_hindrance(node: tree.Node) -> str | None:
    match node:
        case tree.Repeat(body=tree.Step(name=name)):
            return f"`{name}` repeats"
        case tree.Repeat():
            return "a group repeats"
        case tree.Numbered(step=step, index=index):
            return f"`{step.name}[{index}]` counts events"
        case tree.Next():
            return "`,` takes only the very next event"
        case tree.FirstWhere():
            return "`;{θ}` takes only the first event for which θ holds"
        case tree.Conjunction():
            return "`&` takes its sides in any order"
        case tree.Alternation():
            return "`|` continues in several ways"
        case tree.Silence():
            return "a negated step alone binds no events"
    return None


def absence_hindrances(conditions: SequenceConditions) -> Iterator[str]:
    for step in conditions.unresolved_gaps:
        yield f"`!{step}` compares with events of the match"
