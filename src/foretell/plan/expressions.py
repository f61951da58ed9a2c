"""Expressions that the planner adds to those of the language: columns and counters that no statement can write.

The *current event* is the event that a guard evaluates (`tree.This`).
"""

from __future__ import annotations

from typing import TypeAlias

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.type_check import Scope, type_of
from foretell.records import record

#: The type of all expressions, of statements and of the planner.
Expression: TypeAlias = tree.Expression


@record
class EventStart(tree.Expression):
    """The start time of the current event. `t(event)` is its end time."""


@record
class MatchStart(tree.Expression):
    """The time at which the match began."""


@record
class PresenceFlag(tree.Expression):
    """1 where an attribute of the current event is not NULL, else 0."""

    attribute: str


@record
class Lagged(tree.Expression):
    """An expression about the event `distance` before the current event in its lane, as SQL's LAG."""

    distance: int
    expression: tree.Expression


@record
class IndexKey(tree.Expression):
    """The dictionary code of an expression's value: the key column of an index of runs."""

    expression: tree.Expression
    kind: Type


@record
class EveryNth(tree.Expression):
    """Whether the number of the current event, among those of its lane that satisfy a step, is a multiple of `index`.

    Events with different values of the `binders` are numbered apart. Unlike the other predicates this one has a memory:
    a counter for each lane.
    """

    step: str
    index: int
    conditions: tuple[tree.Expression, ...] = ()
    binders: tuple[tree.Expression, ...] = ()


@record
class OccurrenceCount(tree.Expression):
    """How many events have satisfied the step `a` of an `a[i]` since the event before it: a register of the run."""

    step: str


@record
class CounterValue(tree.Expression):
    """The value of a counter of the run: rounds of a repetition, or events of a conjunction, less one."""

    counter: int


@record
class BoundPosition(tree.Expression):
    """The position of the event that the run has bound to a step; NULL without one."""

    step: str


@record
class RowSelected(tree.Expression):
    """Whether a match of any row of a template begins with the current event (foretell.filter.template_index)."""


@record
class ProfileSatisfied(tree.Expression):
    """Whether the current event satisfies any profile of the rows of a template at a site (filter.row_profiles)."""

    site: int


@record
class Disjunction(tree.Expression):
    """The OR of predicates, each a conjunction of conditions. Of no predicates it is false."""

    predicates: tuple[tuple[tree.Expression, ...], ...]


def about_current_event(expression: tree.Expression) -> tree.Expression:
    """An expression about one event, with that event replaced by the current event."""
    match expression:
        case tree.Attribute(name=name):
            return tree.Attribute(tree.This(), str(name))
        case tree.StreamOf():
            return tree.StreamOf(tree.This())
        case tree.TimeOf():
            return tree.TimeOf(tree.This())
    return tree.map_children(expression, about_current_event)


def event_type(subscription: CheckedSubscription, expression: tree.Expression) -> Type:
    """The type of an expression about one event."""
    if isinstance(expression, EventStart):
        return subscription.time
    if isinstance(expression, PresenceFlag):
        return Type.INT
    scope = Scope(subscription.attributes, subscription.tree.streams, subscription.time, open=True)
    return type_of(expression, scope)
