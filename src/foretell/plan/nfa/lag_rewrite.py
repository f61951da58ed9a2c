"""Rewriting of bound events to lagged columns, where every operator is `,`.

The events of such a match follow one another in the lane: `prev.price` is the price of the event before the current
one, and `a.price`, where `a` was bound two events ago, that of the second event before. These are columns (SQL's LAG),
which the filter compares for a whole batch, and the run needs no register.
"""

from __future__ import annotations

from collections.abc import Mapping

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.expressions import Lagged, about_current_event
from foretell.plan.nfa.automaton import Automaton
from foretell.plan.nfa.terms import Done, Wait

#: For an event further back than this, a register is cheaper than one more column.
MOST_LAG = 3


def is_strict(automaton: Automaton, subscription: CheckedSubscription) -> bool:
    """Whether only the very next event of the lane can ever be bound."""
    return not subscription.simultaneous and all(
        (isinstance(s.term, Wait) and isinstance(s.term.connector.operator, tree.Next)) or s.term == Done()
        for s in automaton.states
    )


def distances(automaton: Automaton) -> dict[int | None, dict[str, int]]:
    """For each state: by step, the distance of its last event from the next event, where all paths agree on it."""
    known: dict[int | None, dict[str, int]] = {}
    todo: list[int | None] = [None]
    while todo:
        source = todo.pop()
        before = {} if source is None else known[source]
        for edge in automaton.leaving(source):
            now = {step: far + 1 for step, far in before.items() if far < MOST_LAG} | {edge.leaf.step: 1}
            old = known.get(edge.target)
            agreed = now if old is None else {step: far for step, far in old.items() if now.get(step) == far}
            if agreed != old:
                known[edge.target] = agreed
                todo.append(edge.target)
    return known


def lagged(condition: tree.Expression, current: str, distances: Mapping[str, int]) -> tree.Expression | None:
    """A condition with its events as lags of the current event; None where the distance of one is not known.

    `current` is the step that the current event is tried for.
    """

    def distance(event: tree.EventReference) -> int | None:
        match event:
            case tree.This():
                return 0
            case tree.Previous():
                return 1
            case tree.BoundEvent(step=step) | tree.LastOf(step=step):
                return 0 if step == current else distances.get(str(step))
        return None

    unknown = False

    def change(expression: tree.Expression) -> tree.Expression:
        nonlocal unknown
        match expression:
            case tree.Attribute(event=event) | tree.TimeOf(event=event) | tree.StreamOf(event=event):
                far = distance(event)
                unknown |= far is None
                return Lagged(far, about_current_event(expression)) if far else about_current_event(expression)
        return tree.map_children(expression, change)

    rewritten = change(condition)
    return None if unknown else rewritten
