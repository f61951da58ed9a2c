"""Transitions that can never be taken are removed, as where an event would have to fail (ECL section 6,
Optimization)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from foretell.correlate.correlation_machine import CorrelationMachine, MachineModule, MachineTransition, State


def pruned(machine: CorrelationMachine) -> CorrelationMachine:
    """The machine without them, and without the states that cannot be reached in what enables the others."""
    reachable = reachable_states(machine)
    return replace(machine, module=_pruned(machine.module, reachable))


def reachable_states(machine: CorrelationMachine) -> frozenset[State]:
    """The states that some sequence of events may activate, and perhaps more: whether states are active together is
    not looked at."""
    waiting: dict[State, list[MachineTransition]] = {}
    for transition in machine.transitions:
        for state in {state for states in transition.enabling for state in states}:
            waiting.setdefault(state, []).append(transition)
    reachable = set[State]()
    added = list(machine.module.initial)
    while added:
        state = added.pop()
        if state not in reachable:
            reachable.add(state)
            for transition in waiting.get(state, ()):
                if _may_be_enabled(transition, reachable):
                    added += transition.targets
    return frozenset(reachable)


def _may_be_enabled(transition: MachineTransition, reachable: Set[State]) -> bool:
    return all(any(state in reachable for state in states) for states in transition.enabling)


def _pruned(module: MachineModule, reachable: frozenset[State]) -> MachineModule:
    own = tuple(
        replace(t, enabling=tuple(tuple(s for s in states if s in reachable) for states in t.enabling))
        for t in module.own
        if _may_be_enabled(t, reachable)
    )
    # An event keeps its transition: where it stands, a reader is.
    ranks = tuple(tuple(_pruned(part, reachable) for part in rank) for rank in module.ranks)
    return replace(module, ranks=ranks, own=own if module.ranks else module.own)
