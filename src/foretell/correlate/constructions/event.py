"""A single event (Fig. 3): waits for one that satisfies the step; cannot fail."""

from __future__ import annotations

from foretell.correlate.constructions.numbering import Numbering
from foretell.correlate.correlation_machine import Module, Span, Transition


def event(numbering: Numbering, step: str) -> Module:
    waiting, success, failure = numbering.state(), numbering.state(), numbering.state()
    none = (numbering.next_counter, numbering.next_counter)
    read = Transition(((waiting,),), Span((waiting, waiting + 1), none), (success,), reads=step)
    return Module(step, Span((waiting, failure + 1), none), (waiting,), (), (read,), success, failure)
