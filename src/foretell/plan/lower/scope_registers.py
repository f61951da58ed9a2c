"""Registers of the sides of `&`: the start of a side, and the variables as a side sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from foretell.language.checked import CheckedSubscription
from foretell.plan.lower.registers import Register, RegisterAllocator, RegisterKind
from foretell.plan.nfa.conjunction_scopes import ConjunctionScope, ConjunctionScopes


@dataclass
class ScopeRegisters:
    """Collects the registers of scopes as operators ask for them.

    `starts` has for each register the steps whose first event it holds the start of; `variables` the scope that sees a
    variable through it.
    """

    subscription: CheckedSubscription
    allocator: RegisterAllocator
    starts: dict[Register, frozenset[str]] = field(default_factory=dict)
    variables: dict[Register, ConjunctionScope] = field(default_factory=dict)
    _enclosing: dict[str, list[ConjunctionScope]] = field(default_factory=dict)

    def enclosing(self, step: str) -> list[ConjunctionScope]:
        """The scopes that a step stands in, the outer ones first."""
        if step not in self._enclosing:
            self._enclosing[step] = self._scopes.enclosing(step)
        return self._enclosing[step]

    @cached_property
    def _scopes(self) -> ConjunctionScopes:
        return ConjunctionScopes(self.subscription.pattern)

    def start(self, scope: ConjunctionScope, depth: int) -> Register:
        """The register with the start of a scope's first event."""
        register = Register(RegisterKind.SCOPE_START, min(scope.steps), depth=depth)
        self.starts[register] = scope.steps
        return register

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {step: number for number, step in enumerate(self.subscription.steps)}

    def _number(self, scope: ConjunctionScope) -> int:
        """The number of a scope: that of its first step."""
        return min(map(self._numbers.__getitem__, scope.steps))

    def other_sides(self, scopes: list[ConjunctionScope]) -> dict[str, tuple[int, int]]:
        """The steps of the other sides of the scopes' conjunctions, each with the number and depth of its scope."""
        numbered = [(scope, (self._number(scope), scope.depth)) for scope in scopes]  # each may have many others
        return {step: number for scope, number in numbered for step in scope.others}

    def scope_of(self, register: Register) -> ConjunctionScope:
        """The scope of a register before a `&`."""
        first = list(self.subscription.steps)[register.scope]
        return self.enclosing(first)[register.depth - 1]

    def visible_variables(self, scopes: list[ConjunctionScope], variables: Iterable[str]) -> dict[str, Register]:
        """The registers of those variables that other sides of the scopes' conjunctions may bind too."""
        registers: dict[str, Register] = {}
        for scope in scopes:
            for name in variables:
                if name in registers or self.subscription.binding_steps(name) & scope.others:
                    first = self._number(scope)
                    register = Register(RegisterKind.SCOPE_VARIABLE, name, scope=first, depth=scope.depth)
                    self.allocator.slot(register, self.subscription.variables[name])
                    self.variables[register] = scope
                    registers[name] = register
        return registers
