"""The sides of `&`: a θ of one of them goes by that side's own events, and by what was there before the conjunction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.registers import Register, Registers
from foretell.plan.nfa import automaton as machine


@dataclass(frozen=True)
class Side:
    """The steps of a side of `&`, those of the other sides, and in how many conjunctions it stands."""

    steps: frozenset[str]
    others: frozenset[str]
    depth: int


def _sides_of(pattern: tree.Pattern, step: str) -> list[Side]:
    """The sides of `&` in which a step stands, the outer ones first."""
    found: list[Side] = []
    for node in pattern.walk():
        if isinstance(node, tree.Conjunction):
            sides = [frozenset(str(n.name) for n in side.walk() if isinstance(n, tree.Step)) for side in node.sides]
            everyone = frozenset().union(*sides)
            found += [Side(side, everyone - side, len(found) + 1) for side in sides if step in side]
    return found


@dataclass
class SideRegisters:
    """What is kept for the sides of `&`, as it is asked for.

    By register: the steps whose beginning it has, and the side for which it has a variable.
    """

    subscription: CheckedSubscription
    registers: Registers
    beginnings: dict[Register, frozenset[str]] = field(default_factory=dict)
    variables: dict[Register, Side] = field(default_factory=dict)

    def of(self, step: str) -> list[Side]:
        return _sides_of(self.subscription.pattern, step)

    def began(self, side: Side, own: int) -> Register:
        """When the first event of a side began."""
        register = Register(f"began in {own}", min(side.steps))
        self.beginnings[register] = side.steps
        return register

    def see(self, sides: list[Side], variables: Iterable[str]) -> dict[str, Register]:
        """The registers of variables that other sides of `&` may bind too: a θ sees only what its own side has."""
        found: dict[str, Register] = {}
        steps = list(self.subscription.steps)
        for side in sides:
            for name in variables:
                if name in found or machine.binders(self.subscription, name) & side.others:
                    first = min(map(steps.index, side.steps))
                    found[name] = Register(f"variable of {first} in {side.depth}", name)
                    self.variables[found[name]] = side
                    self.registers.register(found[name], self.subscription.variables[name])
        return found
