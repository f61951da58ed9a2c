"""Transitions that can never be taken are removed (ECL section 6, Optimization): as where an event would have to fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from foretell.correlate.correlation_machine import CorrelationMachine, Module, State, Transition


def pruned(machine: CorrelationMachine) -> CorrelationMachine:
    """The machine without them, and without the states that cannot be reached in what enables the others."""
    reachable = reachable_states(machine)
    return replace(machine, module=_pruned(machine.module, reachable))


def reachable_states(machine: CorrelationMachine) -> frozenset[State]:
    """The states that some sequence of events may activate, and perhaps more: whether states are active together is
    not looked at."""
    reachable = set(machine.module.initial)
    transitions = machine.transitions
    while enabled := [t for t in transitions if _may_be_enabled(t, reachable)]:
        transitions = [t for t in transitions if not _may_be_enabled(t, reachable)]
        reachable.update(state for t in enabled for state in t.targets)
    return frozenset(reachable)


def _may_be_enabled(transition: Transition, reachable: Iterable[State]) -> bool:
    return all(not set(reachable).isdisjoint(states) for states in transition.enabling)


def _pruned(module: Module, reachable: frozenset[State]) -> Module:
    own = tuple(
        replace(t, enabling=tuple(tuple(s for s in states if s in reachable) for states in t.enabling))
        for t in module.own
        if _may_be_enabled(t, reachable)
    )
    # An event keeps its transition: where it stands, a reader is.
    ranks = tuple(tuple(_pruned(part, reachable) for part in rank) for rank in module.ranks)
    return replace(module, ranks=ranks, own=own if module.ranks else module.own)
