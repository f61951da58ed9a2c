"""repeat, persist and loop, which the paper does not draw: repeat starts again whatever the outcome, persist after a
failure, loop after a success.

With a number they are over after so many rounds. The paper's machines count with a copy of the body for each round; of
the copies one is active at a time, so that here a counter stands for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foretell.correlate.constructions.state_numbers import Numbering, around, internal
from foretell.correlate.correlation_machine import MachineModule, MachineTransition, Round, State, States, StateSpan


def again(numbering: Numbering, kind: str, body: MachineModule) -> MachineModule:
    def added(inside: StateSpan, success: State, failure: State) -> Sequence[MachineTransition]:
        return (
            internal([body.success], clears=inside, to=[success] if kind == "persist" else body.initial),
            internal([body.failure], clears=inside, to=[failure] if kind == "loop" else body.initial),
        )

    return around(kind, numbering, [(body,)], body.initial, added)


def counted(numbering: Numbering, kind: str, body: MachineModule, rounds: int) -> MachineModule:
    counter = numbering.counter()

    def added(inside: StateSpan, success: State, failure: State) -> Iterator[MachineTransition]:
        outcomes = (
            (body.success, (success,), kind != "persist"),
            (body.failure, (failure,) if kind != "repeat" else (success,), kind != "loop"),
        )
        for outcome, final, goes_on in outcomes:
            if not goes_on:
                yield internal([outcome], clears=inside, to=final)
                continue
            yield _in_round(outcome, body.span, body.initial, Round(counter, rounds, is_last=False))
            yield _in_round(outcome, inside, final, Round(counter, rounds, is_last=True))

    return around(f"{kind}({rounds})", numbering, [(body,)], body.initial, lambda *given: [*added(*given)])


def _in_round(outcome: State, clears: StateSpan, to: States, bounds: Round) -> MachineTransition:
    return MachineTransition(((outcome,),), clears, to, round=bounds)
