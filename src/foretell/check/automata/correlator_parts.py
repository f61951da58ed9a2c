"""The parts of a correlator with the modules of its machine, and which of them never start or never complete."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.check.automata.configurations import Configurations, TracedMachine
from foretell.correlate.correlation_machine import MachineModule
from foretell.language import tree
from foretell.records import record


@record
class LocatedPart:
    """A part of an expression, its module, and the part around it."""

    node: tree.Correlation
    module: MachineModule
    around: LocatedPart | None

    @property
    def name(self) -> str:
        """As the language writes it."""
        match self.node:
            case tree.On(step=step):
                return str(step)
            case tree.Unless():
                return "do … unless"
            case tree.Modes():
                return "in … do"
        return self.module.name


def located_parts(expression: tree.Correlation, module: MachineModule) -> Iterator[LocatedPart]:
    """All parts, outer ones first."""
    todo = [LocatedPart(expression, module, None)]
    while todo:
        part = todo.pop()
        yield part
        match part.node:
            case tree.On():
                continue
            case tree.Modes(modes=modes):
                nodes: list[tree.Correlation] = [mode.body for mode in modes]
                modules = list(part.module.ranks[1])
            case _:
                nodes = [child for child in part.node.children() if isinstance(child, tree.Correlation)]
                modules = list(part.module.parts)
        todo += reversed([LocatedPart(n, m, part) for n, m in zip(nodes, modules, strict=True)])


class PartStates:
    """Which parts may start, succeed and fail, by configurations with all that can happen."""

    def __init__(self, traced: TracedMachine, every: Configurations, taken: frozenset[int]) -> None:
        self._active = every.ever_active
        self._targets = {state for number in taken for state in traced.transitions[number][1].targets}

    def starts(self, module: MachineModule) -> bool:
        return bool(self._active[module.span.states[0] : module.span.states[1]].any())

    def succeeds(self, module: MachineModule) -> bool:
        return module.success in self._targets

    def completes(self, module: MachineModule) -> bool:
        return self.succeeds(module) or module.failure in self._targets


def never_starting(parts: list[LocatedPart], states: PartStates) -> Iterator[LocatedPart]:
    """The outermost parts that never start."""
    for part in parts:
        if not states.starts(part.module) and (part.around is None or states.starts(part.around.module)):
            yield part


def never_completing(parts: list[LocatedPart], states: PartStates) -> Iterator[tuple[LocatedPart, LocatedPart]]:
    """The innermost parts that start and never complete, although the part around them, which the second is, waits for
    that and does not succeed without. `repeat`, `parallel` and modes may well be there not to complete."""
    idle = {
        part.module.span.states
        for part in parts
        if part.module.ranks and states.starts(part.module) and not states.completes(part.module)
    }
    for part in parts:
        around = part.around
        if part.module.span.states not in idle or around is None or not _waits(around, part, states):
            continue
        inside = (p for p in parts if p.around is part and p.module.span.states in idle and _waits(part, p, states))
        if next(inside, None) is None:
            yield part, around


def _waits(around: LocatedPart, part: LocatedPart, states: PartStates) -> bool:
    """Whether a part does not succeed unless one inside completes."""
    match around.node:
        case tree.Unless(stopper=stopper):
            return part.node is stopper
        case tree.Accumulate() | tree.Sequential() | tree.Push() | tree.Fail() | tree.Again():
            return not states.succeeds(around.module) and _is_waited_for(around)
    return False


def _is_waited_for(part: LocatedPart) -> bool:
    """Whether it matters that a part completes: it emits a token, or more is to come after it."""
    return not (isinstance(part.node, tree.Again) and part.node.count is None and part.node.kind == "repeat")
