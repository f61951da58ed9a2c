"""A single event (Fig. 3): waits for one that satisfies the step; cannot fail."""

from __future__ import annotations

from foretell.correlate.constructions.state_numbers import Numbering
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, StateSpan


def event(numbering: Numbering, step: str) -> MachineModule:
    waiting, success, failure = numbering.state(), numbering.state(), numbering.state()
    none = (numbering.next_counter, numbering.next_counter)
    read = MachineTransition(((waiting,),), StateSpan((waiting, waiting + 1), none), (success,), reads=step)
    return MachineModule(step, StateSpan((waiting, failure + 1), none), (waiting,), (), (read,), success, failure)
