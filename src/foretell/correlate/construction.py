"""The correlation machine of an expression: one construction for each kind of expression."""

from __future__ import annotations

from collections.abc import Iterable

from foretell.correlate.constructions.accumulate import accumulate
from foretell.correlate.constructions.again import again, counted
from foretell.correlate.constructions.event import event
from foretell.correlate.constructions.fail import fail
from foretell.correlate.constructions.modes import modes
from foretell.correlate.constructions.parallel import parallel
from foretell.correlate.constructions.push import push
from foretell.correlate.constructions.select import select
from foretell.correlate.constructions.sequential import sequential
from foretell.correlate.constructions.state_numbers import Numbering
from foretell.correlate.constructions.unless import unless
from foretell.correlate.correlation_machine import CorrelationMachine, MachineModule
from foretell.language import tree


def correlation_machine(expression: tree.Correlation) -> CorrelationMachine:
    module = _Construction().module(expression)
    reads = (t.reads for m in module.in_postorder() for t in m.own if t.reads is not None)
    return CorrelationMachine(module, tuple(dict.fromkeys(reads)))


class _Construction:
    def __init__(self) -> None:
        self._numbering = Numbering()

    def module(self, expression: tree.Correlation) -> MachineModule:
        numbering = self._numbering
        match expression:
            case tree.On(step=step):
                return event(numbering, step)
            case tree.Accumulate(parts=parts):
                return accumulate(numbering, self._modules(parts))
            case tree.Select(parts=parts, strict=strict):
                return select(numbering, self._modules(parts), strict=strict)
            case tree.Sequential(parts=parts):
                return sequential(numbering, self._modules(parts))
            case tree.Unless(body=body, stopper=stopper):
                return unless(numbering, *self._modules((body, stopper)))
            case tree.Fail(body=body):
                return fail(numbering, self.module(body))
            case tree.Push(token=token, body=body):
                return push(numbering, token, self.module(body))
            case tree.Again(kind=kind, body=body, count=None):
                return again(numbering, kind, self.module(body))
            case tree.Again(kind=kind, body=body, count=int(rounds)):
                return counted(numbering, kind, self.module(body), rounds)
            case tree.Parallel(parts=parts):
                return parallel(numbering, self._modules(parts))
            case tree.Modes(modes=several):
                guards = [event(numbering, mode.guard) for mode in several]
                return modes(numbering, guards, self._modules(mode.body for mode in several))
        raise AssertionError(expression)

    def _modules(self, expressions: Iterable[tree.Correlation]) -> list[MachineModule]:
        return [self.module(expression) for expression in expressions]
