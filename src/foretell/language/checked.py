"""The checked program: the input of every engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from foretell.events.event import PROBABILITY
from foretell.events.types import Schema, Type
from foretell.language.pattern_shape import StepShape
from foretell.language.tree import Correlator, Derived, Expression, Pattern, Subscription
from foretell.records import record


@record
class CheckedStep:
    """A step with all its conditions (DEFINE and `@`) and the variables they bind.

    `binders` are the conditions of the form `$v = expression`; `conditions` does not contain them. `counted` are the
    conditions by which `a[i]` counts: its DEFINE alone, as `@(...)` applies to the event that was picked.
    """

    shape: StepShape
    conditions: tuple[Expression, ...]
    binders: tuple[tuple[str, Expression], ...]
    counted: tuple[Expression, ...] = ()

    @property
    def name(self) -> str:
        return self.shape.name


@record
class CheckedSubscription:
    """A subscription with names and types resolved.

    `pattern` is settled (see `pattern_shape.settle`); durations are in the unit of the streams' time. `known_late` has
    each step whose choice by LAST may be known only when the window has passed, with the steps that settle the choice
    once one of them is bound. `horizon` is that of a forecast by time. `event_names` is the type of the names of events
    (INT for numbers and INT IDs, else STRING), `row_ids` that of the ids of the FOR EACH table or of estimates.
    `hidden` is one of the patterns that a statement with LOSING runs as.
    """

    tree: Subscription
    pattern: Pattern
    steps: Mapping[str, CheckedStep]
    variables: Mapping[str, Type]
    attributes: Mapping[str, Type]
    time: Type
    simultaneous: bool
    within: int | float | None
    loss: Mapping[str, float]
    returns: Mapping[str, Type]
    known_late: Mapping[str, frozenset[str]]
    horizon: int | float | None = None
    event_names: Type = Type.INT
    row_ids: Type = Type.NULL
    hidden: bool = False

    @property
    def name(self) -> str:
        return str(self.tree.name)

    @property
    def uncertain(self) -> bool:
        """Whether its matches may be estimates: events of its own may be lost, or those that it reads are estimates."""
        return self.tree.losing is not None or self.reads_estimates

    @property
    def reads_estimates(self) -> bool:
        return PROBABILITY in self.attributes

    @cached_property
    def positive(self) -> tuple[str, ...]:
        """The steps that bind events, in the order of the pattern."""
        return tuple(name for name, step in self.steps.items() if not step.shape.negated)

    @cached_property
    def positive_numbers(self) -> Mapping[str, int]:
        """The number of each step that binds events."""
        return {name: number for number, name in enumerate(self.positive)}

    @cached_property
    def step_numbers(self) -> Mapping[str, int]:
        """The number of each step, of negated ones too."""
        return {name: number for number, name in enumerate(self.steps)}

    @cached_property
    def single(self) -> frozenset[str]:
        """The steps that are not repeated."""
        return frozenset(name for name, step in self.steps.items() if not step.shape.repeated)

    def binding_steps(self, variable: str) -> frozenset[str]:
        """The steps that bind a variable."""
        return self._binding_steps.get(variable, frozenset())

    @cached_property
    def _binding_steps(self) -> Mapping[str, frozenset[str]]:
        steps: dict[str, set[str]] = {}
        for name, step in self.steps.items():
            for variable, _ in step.binders:
                steps.setdefault(variable, set()).add(name)
        return {variable: frozenset(names) for variable, names in steps.items()}


@record
class CheckedCorrelator:
    tree: Correlator
    conditions: Mapping[str, tuple[Expression, ...]]
    attributes: Mapping[str, Type]
    time: Type

    @property
    def name(self) -> str:
        return str(self.tree.name)


CheckedStatement = CheckedSubscription | CheckedCorrelator


@record
class CheckedProgram:
    """Statements in an order in which each reads only streams and statements before it.

    `derived` are the LET attributes of each stream, for the reference evaluator; in other engines the reader of events
    works them out.
    """

    streams: Mapping[str, Schema]
    statements: tuple[CheckedStatement, ...]
    ranks: Mapping[str, int]
    derived: Mapping[str, tuple[Derived, ...]] = field(default_factory=dict)
