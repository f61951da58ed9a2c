"""How far back in the lane the events of a match lie, where every operator is `,`: they follow one another there.

Then `prev.price` is the price of the lane's event before, and `a.price`, if `a` was bound two events ago, that of the
event before the event before: columns, which the filter compares for a whole batch, and nothing for the kernel to keep.
"""

from __future__ import annotations

from collections.abc import Mapping

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.expressions import Lagged, about_current_event, map_children
from foretell.plan.nfa.automaton import Automaton
from foretell.plan.nfa.derivatives import Done, Wait

#: Further back than this a register is cheaper than one more column.
FURTHEST = 3


def is_strict(automaton: Automaton, subscription: CheckedSubscription) -> bool:
    """Whether only the very next event of the lane can ever be bound."""
    return not subscription.simultaneous and all(
        (isinstance(s.term, Wait) and isinstance(s.term.connector.operator, tree.Next)) or s.term == Done()
        for s in automaton.states
    )


def distances(automaton: Automaton) -> dict[int | None, dict[str, int]]:
    """For each state how far before the next event a step's latest event is, where that is always the same."""
    found: dict[int | None, dict[str, int]] = {}
    todo: list[int | None] = [None]
    while todo:
        source = todo.pop()
        before = {} if source is None else found[source]
        for edge in automaton.leaving(source):
            now = {step: far + 1 for step, far in before.items() if far < FURTHEST} | {edge.leaf.step: 1}
            known = found.get(edge.target)
            agreed = now if known is None else {s: far for s, far in known.items() if now.get(s) == far}
            if agreed != known:
                found[edge.target] = agreed
                todo.append(edge.target)
    return found


def lagged(condition: tree.Expression, own: str, known: Mapping[str, int]) -> tree.Expression | None:
    """A condition with the events it names as so many events before; None where one is not known."""

    def distance(event: tree.EventReference) -> int | None:
        match event:
            case tree.This():
                return 0
            case tree.Previous():
                return 1
            case tree.BoundEvent(step=step) | tree.LastOf(step=step):
                return 0 if step == own else known.get(str(step))
        return None

    unknown = False

    def change(expression: tree.Expression) -> tree.Expression:
        nonlocal unknown
        match expression:
            case tree.Attribute(event=event) | tree.TimeOf(event=event) | tree.StreamOf(event=event):
                far = distance(event)
                unknown |= far is None
                return Lagged(far, about_current_event(expression)) if far else about_current_event(expression)
        return map_children(expression, change)

    found = change(condition)
    return None if unknown else found
