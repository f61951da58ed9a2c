"""The letters that each part of a pattern takes, so that the language has at least, or at most, the pattern's matches.

A condition that names more than the event that is tried is not a question of letters. Taken as true it gives a language
with all matches and more (`AT_LEAST`); taken as false one without some of them (`AT_MOST`). In a negation it is the
other way around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cached_property

from foretell.check.automata.alphabet import Alphabet
from foretell.check.automata.event_conditions import about_one_event
from foretell.language import tree
from foretell.language.checked import CheckedStep, CheckedSubscription
from foretell.language.pattern_shape import can_be_empty
from foretell.records import record


class Bound(Enum):
    """Whether a language has at least the matches of a pattern, or at most."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


@record
class OneEventConditions:
    """The conditions of a step that are about one event, and whether these are all of them."""

    own: tuple[tree.Expression, ...]
    whole: bool


class SubscriptionConditions:
    """The one-event conditions of a subscription, by step and by operator."""

    def __init__(self, subscription: CheckedSubscription) -> None:
        self.subscription = subscription
        self.steps = {name: self._of_step(step) for name, step in subscription.steps.items()}
        self.counted = {
            name: _one_event(step.counted, name) for name, step in subscription.steps.items() if step.shape.numbered
        }

    @cached_property
    def operators(self) -> Mapping[tree.Expression, OneEventConditions]:
        """The conditions of `;{θ}`."""
        nodes = self.subscription.pattern.walk()
        return {
            node.condition: _one_event((node.condition,), None) for node in nodes if isinstance(node, tree.FirstWhere)
        }

    def all(self) -> Iterator[tree.Expression]:
        for conditions in (*self.steps.values(), *self.counted.values(), *self.operators.values()):
            yield from conditions.own

    @cached_property
    def are_whole(self) -> bool:
        """Whether all conditions are about one event."""
        return all(c.whole for c in (*self.steps.values(), *self.counted.values(), *self.operators.values()))

    def _of_step(self, step: CheckedStep) -> OneEventConditions:
        found = _one_event(step.conditions, step.name)
        own, whole = found.own, found.whole
        for variable, value in step.binders:
            # A variable that one step alone binds, and nothing compares, asks for a value.
            bare = about_one_event(value, step.name)
            if bare is None or step.shape.repeated or not self._is_bound_once(variable):
                whole = False
            else:
                own = (*own, tree.IsNull(bare, negated=True))
        return OneEventConditions(own, whole)

    def _is_bound_once(self, variable: str) -> bool:
        return sum(name == variable for step in self.subscription.steps.values() for name, _ in step.binders) == 1


def _one_event(conditions: tuple[tree.Expression, ...], own: str | None) -> OneEventConditions:
    bare = [about_one_event(condition, own) for condition in conditions]
    found = tuple(condition for condition in bare if condition is not None)
    return OneEventConditions(found, len(found) == len(bare))


class StepLetters:
    """The letters of steps, negations, operators and counts of one subscription, for one of the two bounds."""

    def __init__(self, conditions: SubscriptionConditions, alphabet: Alphabet, bound: Bound) -> None:
        self._conditions, self.alphabet, self.bound = conditions, alphabet, bound
        subscription = conditions.subscription
        late = frozenset(last_steps(subscription.pattern))
        #: Steps that FIRST or LAST chooses: the choice may change where matches end if the step may come last.
        self._unsure = {
            name for name, step in subscription.steps.items() if step.shape.chosen is not None and name in late
        }

    def binding(self, step: str) -> int:
        """The letters that a step takes."""
        found = self._conditions.steps[step]
        if self.bound is Bound.AT_MOST and (not found.whole or step in self._unsure):
            return 0
        return self.alphabet.satisfying(found.own)

    def breaking(self, step: str) -> int:
        """The letters that break the negation of a step."""
        found = self._conditions.steps[step]
        return 0 if self.bound is Bound.AT_LEAST and not found.whole else self.alphabet.satisfying(found.own)

    def counting(self, step: str) -> int | None:
        """The letters that `a[i]` counts; None where that is no question of letters."""
        found = self._conditions.counted[step]
        return self.alphabet.satisfying(found.own) if found.whole else None

    def leading(self, operator: tree.Operator | None) -> tuple[int, int]:
        """The letters that an operator lets be bound, and those that it lets pass."""
        everything = self.alphabet.everything
        match operator:
            case tree.Next():
                return everything, 0
            case tree.FirstWhere(condition=condition):
                found = self._conditions.operators[condition]
                if not found.whole:
                    return (everything, everything) if self.bound is Bound.AT_LEAST else (0, 0)
                fitting = self.alphabet.satisfying(found.own)
                return fitting, everything & ~fitting
        return everything, everything


def last_steps(pattern: tree.Pattern) -> Iterator[str]:
    """The steps that may bind the last event of a match."""
    match pattern:
        case tree.Step(name=name) | tree.Numbered(step=tree.Step(name=name)) | tree.Chosen(step=tree.Step(name=name)):
            yield str(name)
        case tree.Repeat(body=body):
            yield from last_steps(body)
        case tree.Sequence(parts=parts):
            for part in reversed(parts):
                yield from last_steps(part.pattern)
                if not can_be_empty(part.pattern):
                    return
        case tree.Conjunction(sides=children) | tree.Alternation(branches=children):
            for child in children:
                yield from last_steps(child)
