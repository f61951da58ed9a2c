"""The one place that chooses how a subscription is run, and says why (DESIGN, section 3).

Arrival lists pay where nothing is known of a combination before its last step comes: then instances only copy what the
lists hold anyway. A condition between earlier steps is another matter: instances judge it once and drop what fails,
lists judge it again at every last step. Measured on ticks, `a ; b ; c` in one run (CPU time, the best of two): where
few b met a condition with a and half of all events were c, lists took up to 20 times as long; with the condition
between c and one of the others they took from as long down to 1/8. Where a value that all steps share finds the list
they took from 1.3 times as long down to 1/24, whatever else was asked: instances are not looked up by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.arrivals import Asked, ask

ARRIVALS, INSTANCES = "arrival lists", "instances with registers"


class Kind(Enum):
    """What runs a subscription: which kernel, and whether in a machine that it may share."""

    ARRIVALS = "arrivals"
    STRICT = "strict"
    INSTANCES = "instances"
    ALONE = "instances, alone"

    @property
    def shares(self) -> bool:
        return self in (Kind.STRICT, Kind.INSTANCES)


def kind_of(subscription: CheckedSubscription, *, shared: bool = True) -> Kind:
    """How a subscription is run; with `shared` it may join others."""
    if choose(subscription).arrivals:
        return Kind.ARRIVALS
    nodes = list(subscription.pattern.walk())
    # What counts, or looks into gaps, keeps a machine of its own.
    if not shared or any(isinstance(n, tree.Numbered | tree.Negation) for n in nodes):
        return Kind.ALONE
    operators = [p.operator for n in nodes if isinstance(n, tree.Sequence) for p in n.parts[1:]]
    operators += [n.under for n in nodes if isinstance(n, tree.Repeat)]
    strict = all(isinstance(o, tree.Next) for o in operators if o is not None)
    conjoined = any(isinstance(n, tree.Conjunction) for n in nodes)
    return Kind.STRICT if strict and not conjoined and not subscription.simultaneous else Kind.INSTANCES


@dataclass(frozen=True)
class Strategy:
    """How a subscription is run. `why` is one sentence for people."""

    name: str
    why: str

    @property
    def arrivals(self) -> bool:
        return self.name == ARRIVALS


def choose(subscription: CheckedSubscription) -> Strategy:
    """Arrival lists where they can do it and where it pays; instances with registers can do everything."""
    why_not = hindrance(subscription)
    if why_not is not None:
        return Strategy(INSTANCES, why_not)
    asked = ask(subscription)
    every = "every operator is `;`"
    if asked.keys:
        return Strategy(ARRIVALS, f"{every} and a value that all steps share finds the list")
    for question in asked.between:
        if asked.steps[-1] not in question.steps:
            steps = " and ".join(f"`{step}`" for step in asked.steps if step in question.steps)
            return Strategy(
                INSTANCES, f"a condition between {steps} drops combinations before `{asked.steps[-1]}` comes"
            )
    return Strategy(ARRIVALS, f"{every}, so partial combinations need not be copied")


def hindrance(subscription: CheckedSubscription) -> str | None:
    """What keeps a pattern from being run with arrival lists at all; None where nothing does."""
    return next(_hindrances(subscription), None)


def _hindrances(subscription: CheckedSubscription) -> Iterator[str]:
    pattern = subscription.pattern
    if subscription.simultaneous:
        yield "simultaneous events wait for their instant to end"
    yield from filter(None, map(_of_node, pattern.walk()))
    if not isinstance(pattern, tree.Sequence) or len(pattern.parts) == 1:
        yield "one step alone has no partial combinations"
    elif pattern.absent:
        yield f"`!{pattern.absent[0].step.name}` at the end is known only when time has passed"
    elif any(isinstance(part.pattern, tree.Sequence) for part in pattern.parts):
        yield "a group is no single step"
    else:
        yield from _of_absences(ask(subscription))


def _of_node(node: tree.Node) -> str | None:
    match node:
        case tree.Repeat(body=tree.Step(name=name)):
            return f"`{name}` repeats"
        case tree.Repeat():
            return "a group repeats"
        case tree.Numbered(step=step, index=index):
            return f"`{step.name}[{index}]` counts events"
        case tree.Next():
            return "`,` wants the very next event"
        case tree.FirstWhere():
            return "`;{θ}` wants the first event for which θ holds"
        case tree.Conjunction():
            return "`&` takes its sides in any order"
        case tree.Alternation():
            return "`|` goes on in several ways"
        case tree.Silence():
            return "a negation alone waits for no events"
    return None


def _of_absences(asked: Asked) -> Iterator[str]:
    for step in asked.open:
        yield f"`!{step}` compares with events of the match"
