"""A program that was checked: what every engine starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.events.types import Schema, Type
from foretell.language.pattern_shape import StepShape
from foretell.language.tree import Correlator, Expression, Pattern, Subscription


@dataclass(frozen=True)
class CheckedStep:
    """A step with all its conditions (DEFINE and `@`) and the variables they bind.

    `binders` are the conditions of the form `$v = expression`; they are not among `conditions`.
    A numbered step counts by its DEFINE alone; what `@` adds is asked of the event that was picked.
    """

    shape: StepShape
    conditions: tuple[Expression, ...]
    binders: tuple[tuple[str, Expression], ...]
    counted: tuple[Expression, ...] = ()

    @property
    def name(self) -> str:
        return self.shape.name


@dataclass(frozen=True)
class CheckedSubscription:
    """`pattern` is settled (see shape.settle); lengths of time are in the unit of the streams' time.

    `known_late` has each step whose choice by LAST may be known only when the window has passed, with the steps that
    settle it when one of them is bound. `horizon` is that of forecasts which look ahead by time.
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

    @property
    def name(self) -> str:
        return str(self.tree.name)

    @property
    def positive(self) -> tuple[str, ...]:
        """The steps that bind events, in the order of the pattern."""
        return tuple(name for name, step in self.steps.items() if not step.shape.negated)


@dataclass(frozen=True)
class CheckedCorrelator:
    tree: Correlator
    conditions: Mapping[str, tuple[Expression, ...]]
    attributes: Mapping[str, Type]
    time: Type

    @property
    def name(self) -> str:
        return str(self.tree.name)


CheckedStatement = CheckedSubscription | CheckedCorrelator


@dataclass(frozen=True)
class CheckedProgram:
    """Statements in an order in which each reads only streams and statements before it."""

    streams: Mapping[str, Schema]
    statements: tuple[CheckedStatement, ...]
    ranks: Mapping[str, int]
